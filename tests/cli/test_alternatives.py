#!/usr/bin/env python3
# label: unit
# timeout: 300
"""toast plan --alternatives: plans that really differ, best first, priced in full, proved, with the files of a plan each.

The shares of arguments' bytes are computed here once more, from the files: in that axes of equal size and links are taken as one."""
import json, os, pathlib, re, subprocess, sys, tempfile

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
models = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/models'
failures = []
WIDTH = {'f32': 4, 'bf16': 2, 'f16': 2, 'i32': 4, 'f64': 8, 'i64': 8, 'i1': 1, 'pred': 1, 'ui32': 4, 's32': 4}


def check(condition, what):
    if not condition:
        failures.append(what)
        print('FAILED', what)


def run(*arguments):
    return subprocess.run([toast, *map(str, arguments)], capture_output=True, text=True)


def plan(module, out, *arguments):
    done = run('plan', models / module, '-o', out, '--quiet', *arguments)
    check(done.returncode in (0, 3), f'toast plan: {done.returncode} {done.stderr}')
    return done


def read(path):
    return json.loads(pathlib.Path(path).read_text())


def size(type_text):
    kind, dims = re.fullmatch(r'(\w+)\[([\d,]*)\]', type_text).groups()
    count = 1
    for extent in filter(None, dims.split(',')):
        count *= int(extent)
    return WIDTH[kind] * count


def share(one, other, turned=lambda axis: axis):
    """bytes of arguments sharded otherwise / all; which axis of a dimension is the major one does not count"""
    total = sum(size(a['type']) for a in one['arguments'])
    return sum(size(a['type']) for a, b in zip(one['arguments'], other['arguments'])
               if [{turned(x) for x in dim} for dim in a['dims']] != [set(dim) for dim in b['dims']]) / total


def tree(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(pathlib.Path(folder).rglob('*'))
            if p.is_file() and p.name != 'timing.json'}


with tempfile.TemporaryDirectory() as scratch:
    common = ['--mesh', 'data=4,model=2', '--device', 'a100-40', '--rollouts', '600', '--memory-limit', '1500000', '--alternatives', '4',
              '--proof']
    for threads in ('1', '2'):
        plan('small/t2b.mlir', f'{scratch}/t{threads}', *common, '--threads', threads)
    files = tree(f'{scratch}/t1')
    check(files == tree(f'{scratch}/t2'), 'the same files with 1 and 2 threads')
    report = read(f'{scratch}/t1/report.json')
    said = report['alternatives']
    check(said['wanted'] == 4 and said['least_share'] == 0.05 and len(said['plans']) == 4, f'four alternatives: {said}')
    plans = [read(f'{scratch}/t1/plan.json')] + [read(f'{scratch}/t1/alternatives/{k + 1}/plan.json') for k in range(len(said['plans']))]
    cost = report['summary']['cost']
    for k, row in enumerate(said['plans']):
        here = f'{scratch}/t1/alternatives/{k + 1}'
        check({p.name for p in pathlib.Path(here).iterdir()} == {'plan.json', 'report.json', 'annotated.mlir', 'manual.mlir', 'local.mlir'},
              f'files of {here}')
        own = read(f'{here}/report.json')
        check(row['number'] == k + 1 and row['plan'] == plans[k + 1]['hash'] == own['provenance']['plan'], f'hash of {k + 1}')
        for name in ('step_ps', 'peak_bytes', 'fits', 'cost', 'found_by'):
            check(row[name] == own['summary'][name], f'{name} of {k + 1}: {row[name]} {own["summary"][name]}')
        check(not row['fits'] or row['cost'] >= cost, f'best first: {cost} before {row["cost"]}')
        cost = row['cost'] if row['fits'] else cost
        check(row['proof'] == 'equal', f'proof of {k + 1}: {row["proof"]}')
        priced = run('price', models / 'small/t2b.mlir', '--plan', f'{here}/plan.json', '--json')
        check(json.loads(priced.stdout)['step_ps'] == row['step_ps'] and json.loads(priced.stdout)['peak_bytes'] == row['peak_bytes'],
              f'toast price of {k + 1} says the same: {priced.stderr}')
        check(abs(share(plans[0], plans[k + 1]) - row['argument_share']) < 1e-9,
              f'share of arguments of {k + 1}: {share(plans[0], plans[k + 1])} {row["argument_share"]}')
        check(row['nearest_share'] >= 0.05 and max(row['argument_share'], row['result_share']) >= row['nearest_share'], f'{k + 1} is apart')
        moved = sum(x['count'] for x in row['shardings'])
        check(moved == sum([set(x) for x in a['dims']] != [set(x) for x in b['dims']] for a, b in zip(plans[0]['arguments'], plans[k + 1]['arguments'])),
              f'arguments that {k + 1} shards otherwise: {moved}')
        check(all(x['here'] != x['plan'] for x in row['collectives']), f'collectives of {k + 1} that differ')
    check(len({p['hash'] for p in plans}) == len(plans), 'all plans are different')
    text = files['report.txt'].decode()
    check('Alternatives: the best plans that really differ' in text and ' 4. ' in text, 'report.txt has them')
    check(b'id="alternatives"' in files['report.html'], 'report.html has them')
    check(max(map(len, text.splitlines())) <= 160, f'lines of report.txt: {max(map(len, text.splitlines()))}')

    # axes that nobody can tell apart: a plan with them exchanged is the same plan
    plan('small/t2b.mlir', f'{scratch}/square', '--mesh', 'data=2,model=2', '--device', 'a100-40', '--rollouts', '300', '--alternatives', '6')
    rows = read(f'{scratch}/square/report.json')['alternatives']['plans']
    square = [read(f'{scratch}/square/plan.json')] + [read(f'{scratch}/square/alternatives/{k + 1}/plan.json') for k in range(len(rows))]
    swap = {'data': 'model', 'model': 'data'}
    for k, row in enumerate(rows):
        least = min(share(square[0], square[k + 1], turned) for turned in (lambda axis: axis, swap.get))
        check(row['argument_share'] >= least - 1e-9 and row['nearest_share'] >= 0.05, f'square, {k + 1}: {row["argument_share"]} {least}')
        # the same price for all that is exchanged would be the same plan
        for other in square[:k + 1]:
            check(share(other, square[k + 1], swap.get) > 0 or row['result_share'] >= 0.05, f'{k + 1} is another with its axes exchanged')

    # nothing is asked for, nothing is said; none can be had; too many are refused
    plan('small/t2b.mlir', f'{scratch}/none', '--mesh', 'data=2', '--device', 'a100-40', '--planner', 'baselines')
    check(read(f'{scratch}/none/report.json')['alternatives'] is None and not pathlib.Path(f'{scratch}/none/alternatives').exists(), 'none')
    plan('small/t2b.mlir', f'{scratch}/few', '--mesh', 'data=2', '--device', 'a100-40', '--planner', 'propagate', '--alternatives', '2')
    check(read(f'{scratch}/few/report.json')['alternatives']['plans'] == [], 'nothing races beside what propagation gives')
    check('0 of 2' in pathlib.Path(f'{scratch}/few/report.txt').read_text(), 'and the report says so')
    refused = run('plan', models / 'small/t2b.mlir', '--mesh', 'data=2', '--device', 'a100-40', '--alternatives', '17')
    check(refused.returncode == 2 and '/alternatives' in refused.stderr, f'17: {refused.stderr}')

    # where nothing fits the compiler can be asked
    tight = plan('small/t2b.mlir', f'{scratch}/tight', '--mesh', 'data=2', '--device', 'h100', '--planner', 'baselines', '--memory-limit',
                 '1600000', '--alternatives', '1')
    check(tight.returncode == 3, f'nothing fits: {tight.returncode}')
    check(f'toast-referee --target h100 {scratch}/tight/ {scratch}/tight/alternatives/*' in tight.stderr, f'the confirming compile: {tight.stderr}')
    confirm = read(f'{scratch}/tight/report.json')['if_nothing_fits']['confirm']
    check(confirm == 'toast-referee --target h100 DIR/ DIR/alternatives/*', confirm)
    check(confirm in pathlib.Path(f'{scratch}/tight/report.txt').read_text(), 'report.txt offers it')
    for device, mesh, target in (('tpu-v5p', 'data=4,model=4', 'v5p:2x2x4'), ('tpu-v6e', 'data=8', 'v6e:2x4'), ('tpu-v5p', 'data=4', 'v5p:2x2x1'),
                                 ('v100', 'data=2', 'here')):
        plan('small/t2b.mlir', f'{scratch}/other', '--mesh', mesh, '--device', device, '--planner', 'propagate', '--memory-limit', '1000000')
        confirm = read(f'{scratch}/other/report.json')['if_nothing_fits']
        check(confirm and confirm['confirm'] == f'toast-referee --target {target} DIR/', f'{device} {mesh}: {confirm}')

print('FAILED' if failures else 'ok')
sys.exit(1 if failures else 0)
