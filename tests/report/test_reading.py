#!/usr/bin/env python3
# label: unit
# timeout: 480
"""What stood in reports and could not be believed, as readers of public models' reports found it: layers that are equal lie alike or the report says what
that would cost; communication sums up by cause; what is whole is whole where it is said to be; another size helps no window; a plan
that is an expert's is called so; layers that hold the same are one row."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
models = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/models'
failures = []


def check(ok, message):
    if not ok:
        failures.append(message)
        print('FAILED', message)


def plan(module, mesh, out, *more):
    command = [toast, 'plan', str(models / module), '--mesh', mesh, '--device', 'a100-40', '-o', str(out), '--quiet', '--rollouts', '100', '--outputs', 'plan,report', *more]
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode in (0, 3), f'{module} {mesh}: {done.stderr}')
    return json.loads((out / 'report.json').read_text()), (out / 'report.txt').read_text()


def layers_are_alike(folder):
    """plans of the network, which is solved op by op (tests/plan_cfn/test_alike.c judges them); a plan of decisions says nothing"""
    for name, mesh, limit in (('llama_6', 'data=2,model=4', 9000000), ('moe_6', 'data=4,model=2', 9000000)):
        report, text = plan(f'segments/{name}.mlir.gz', mesh, folder, '--planner', 'cfn', '--no-baselines', '--memory-limit', str(limit))
        case, alike = f'{name} {mesh}', report['classes']['alike']
        factors = json.loads((folder / 'plan.json').read_text())['factors']
        check(('Equal layers are split alike.' in text) == bool(factors and alike is None), f'{case}: {alike} of {len(factors)} factors')
        check(('lie otherwise than most of their like' in text) == (alike is not None), f'{case}: {alike}')


def causes_sum_up(report, text, case):
    check(report['collectives'], f'{case}: nothing to sum up')
    if not report['collectives']:
        return
    section = text[text.index('\nby cause, what'):text.index('\none by one')].splitlines()[3:]
    count = sum(int(line[50:].split()[0]) for line in section if line.strip())
    check(count == sum(c['count'] for c in report['collectives']), f'{case}: {count} collectives by cause')
    check({line[:50].strip() for line in section if line.strip()} == {c['because'] for c in report['collectives']}, f'{case}: causes: {section}')


def windows(folder):
    report, _ = plan('small/unet.mlir', 'data=2,model=2', folder, '--planner', 'baselines')
    kernels = [w for w in report['whole'] if w['size'] == 3]
    check(kernels and all(w['reason'] == 'no_rule' and w['op'] == 'stablehlo.convolution' for w in kernels), f'kernels: {kernels}')


def gathered(folder):
    """an argument that is split in a dimension is not whole in it: what is whole was gathered of it"""
    seen = 0
    for module, mesh in (('small/gns.mlir', 'data=4,model=2'), ('small/gpt.mlir', 'data=4,model=2'), ('small/t2b.mlir', 'data=4,model=2')):
        report, text = plan(module, mesh, folder, '--planner', 'baselines', '--memory-limit', '300000')
        causes_sum_up(report, text, module)
        arguments = {a['name']: a for a in json.loads((folder / 'plan.json').read_text())['arguments']}
        for row in report['whole']:
            name = (row['example'] or '').rsplit(' of ', 1)[-1]
            if name not in arguments:
                continue
            split = any(row['dimension'] in groups and axes for groups, axes in zip(arguments[name]['groups'], arguments[name]['dims']))
            check(split <= row['example'].startswith('the gathered '), f'{module}: {row} but {arguments[name]}')
            seen += split
    print(f'{seen} rows name what was gathered')
    check(seen, 'no row names what was gathered')


def takers_are_named(folder):
    """who has the axes of what lost them, as the plan has it, and what the best try takes from whom; tries that split nothing of it are none"""
    report, text = plan('gpt_torch.mlir.gz', 'data=4,model=2', folder, '--planner', 'baselines')
    lost = [row for row in report['whole'] if row['reason'] == 'conflict_lost']
    check(lost, 'gpt_torch: nothing lost its conflict')
    for row in lost:
        check(row['taken'].startswith('batch has data'), f'gpt_torch: {row}')
        check(f"conflict lost: {row['taken']};" in text, f'gpt_torch: not in the text: {row}')
    tries = [row['best_try'] for row in report['whole'] if row['best_try']]
    check(all(t['splits'] >= 0.1 or t['splits_stored'] >= 0.1 for t in tries), f'gpt_torch: tries that split nothing: {tries}')
    first = [t for t in tries if t['first']]
    check(first and all(re.fullmatch(r'batch (loses|keeps) (data|model).*', t['displaced']) for t in first), f'gpt_torch: {first}')


def experts_are_named(folder):
    """the network finds what an expert does, but for 17 ps of 3.7 ms"""
    report, _ = plan('itx.mlir.gz', 'data=2,model=4', folder)
    equal = [b['name'] for b in report['baselines'] if b['name'] != 'cfn' and abs(b['cost'] / report['summary']['cost'] - 1) < 1e-6]
    check(not equal or report['summary']['found_by'] != 'cfn', f'itx: found by {report["summary"]["found_by"]}, as good as {equal}')
    check(equal, 'itx: no expert is as good')


ROWS = '''func.func @main(%x: tensor<4096x512xf32>) -> tensor<4096x512xf32> {
  %y = stablehlo.exponential %x : tensor<4096x512xf32>
  return %y : tensor<4096x512xf32>
}
'''


def nothing_is_moved(folder):
    (folder / 'rows.mlir').write_text(ROWS)
    report, text = plan(folder / 'rows.mlir', 'data=2,model=4', folder)
    check(report['collectives'] == [], f'rows: {report["collectives"]}')
    check('no communication\n' in text and 'of the communication blocks' not in text, 'rows: communication of none')


def kinds_are_counted(folder):
    """a hundred towers of a hundred widths are some decisions, and the report says so; twenty are twenty, and it says nothing"""
    for count in (20, 100):
        widths = [16 * (5 + i) for i in range(count)]
        rows = [f'  %y{i} = stablehlo.dot_general %x, %w{i}, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x{width}xf32>) -> tensor<64x{width}xf32>'
                for i, width in enumerate(widths)]
        arguments = ', '.join(['%x: tensor<64x32xf32>'] + [f'%w{i}: tensor<32x{width}xf32>' for i, width in enumerate(widths)])
        types = ', '.join(f'tensor<64x{width}xf32>' for width in widths)
        results = ', '.join(f'%y{i}' for i in range(count))
        (folder / 'wide.mlir').write_text(f'func.func @main({arguments}) -> ({types}) {{\n' + '\n'.join(rows) + f'\n  return {results} : {types}\n}}\n')
        report, text = plan(folder / 'wide.mlir', 'data=2,model=2', folder, '--planner', 'baselines')
        said = [w for w in report['warnings'] if re.search(rf'the module has {count + 2} kinds of dimensions, .* are decided together, as \d+', str(w))]
        check(len(said) == (count > 96), f'{count} widths: {report["warnings"]}')
        check(('are decided together' in text) == (count > 96), f'{count} widths: not in the text')


def layers_are_one_row(folder):
    """what twelve layers keep alive stands in one row, not in twelve of which eleven are `all others`; so do constraints"""
    report, text = plan('segments/gpt_6.mlir.gz', 'data=4,model=2', folder, '--planner', 'baselines')
    rows = report['memory']['at_peak']
    check(any(row['count'] >= 6 for row in rows), f'gpt_6: no row of six layers: {rows}')
    kinds = [(row['name'], row['type'], row['location']) for row in rows if not row['location'] == '' or row['count'] > 1]
    check(len(kinds) == len(set(kinds)), f'gpt_6: two rows of a kind: {kinds}')
    check(all('*' in row['name'] for row in rows if row['count'] > 1 and not row['location'] and row['name'] != 'loop value'), f'gpt_6: names: {rows}')
    section = text[text.index('\nAlive at the peak'):text.index(' all others\n')]
    check(' x 6 ' in section, f'gpt_6: {section}')
    listed = text[text.index('\nWhat to write into the model'):text.index('\nSearch\n') if '\nSearch\n' in text else len(text)]
    said = sum(int(x or 1) for x in re.findall(r'^ ?\d+\. with_sharding_constraint\(.*?\)(?:  x (\d+))?$', listed, re.M))
    more = re.search(r'and (\d+) more in plan', listed)
    check(said + int(more[1] if more else 0) == report['constraints']['count'], f'gpt_6: {said} of {report["constraints"]["count"]} constraints: {listed}')


def lines_of_the_text_are_no_places(folder):
    """modules without locations: their layers are one row all the same"""
    report, text = plan('small/t2b.mlir', 'data=2,model=2', folder, '--planner', 'baselines')
    rows = [row for row in report['memory']['at_peak'] if row['location'].startswith('line ')]
    kinds = [(row['name'], row['type'], row['gathered']) for row in rows]
    check(rows and len(kinds) == len(set(kinds)) and any(row['count'] > 1 for row in rows), f't2b: {rows}')
    section = text[text.index('\none by one'):text.index('\nMemory over')]
    said = sum(int(count) for count in re.findall(r'^\w+ +[\w,]+ +(\d+) ', section, re.M))
    check(' to line ' in section, f't2b: {section}')
    check(' more kinds' in section or said == sum(c['count'] for c in report['collectives']), f't2b: {said}: {section}')


def exposed_adds_up(folder):
    """what computation waits for is put down to collectives, all of it; unet's had a permutation beside computation, and what waited for that was nobody's"""
    for module, mesh, device, decisions in (
            ('unet.mlir.gz', 'data=2,model=2,pipe=2', 'tpu-v5e', 'heads@pipe,embed@model,ffn@pipe,batch@data,batch@model,batch@pipe'),
            ('t2b.mlir.gz', 'data=4,model=4', 'h100', 'batch@data,ffn@model,heads@model,vocab@model')):
        command = [toast, 'price', str(models / module), '--mesh', mesh, '--device', device, '--decisions', decisions, '--trace', str(folder / 'trace.json'), '--json']
        done = subprocess.run(command, capture_output=True, text=True)
        check(done.returncode in (0, 3), f'{module}: {done.stderr}')
        priced, events = json.loads(done.stdout), json.loads((folder / 'trace.json').read_text())
        waited = sum(float(e.get('args', {}).get('exposed_us') or 0) for e in (events['traceEvents'] if isinstance(events, dict) else events))
        check(waited > 0 and abs(waited - priced['exposed_ps'] / 1e6) < 1e-6 * waited, f'{module}: by collective {waited} us, in all {priced["exposed_ps"]} ps')


def fused(parts):
    """a product whose result has `parts` arrays side by side, each sliced out by itself; the last one is not, where parts is 5"""
    width, rows = 48 * parts, []
    for i in range(min(parts, 4)):
        rows.append(f'  %s{i} = stablehlo.slice %y [0:64, {48 * i}:{48 * i + 48}] : (tensor<64x{width}xf32>) -> tensor<64x48xf32>')
        rows.append(f'  %t{i} = stablehlo.tanh %s{i} : tensor<64x48xf32>')
    results, types = ', '.join(f'%t{i}' for i in range(min(parts, 4))), ', '.join(['tensor<64x48xf32>'] * min(parts, 4))
    return (f'func.func @main(%x: tensor<64x48xf32>, %w: tensor<48x{width}xf32>) -> ({types}) {{\n'
            f'  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x48xf32>, tensor<48x{width}xf32>) -> tensor<64x{width}xf32>\n'
            + '\n'.join(rows) + f'\n  return {results} : {types}\n}}\n')


def arrays_side_by_side(folder):
    """queries, keys and values in one matrix are three arrays: nobody can have a fourth, as it said of 3 of 144 (nearest size: 192)"""
    for parts, apart in ((3, True), (5, False)):
        (folder / 'fused.mlir').write_text(fused(parts))
        report, text = plan(folder / 'fused.mlir', 'data=2,model=2', folder, '--planner', 'baselines')
        rows = [w for w in report['whole'] if w['size'] == parts]
        said = f'each of the {parts} is sliced out by itself, so no padding helps: split the 48 that each is made of, or have {parts} arrays'
        check(rows and all((w['sizes'] or '').endswith(said) == apart for w in rows), f'{parts} side by side: {report["whole"]}')
        check((said in text) == apart and ('nearest' in text) != apart, f'{parts} side by side: {text}')


def nothing_is_said_twice(folder):
    """rows of the search that print alike are one, an expert that is this plan with its axes exchanged is not compared with it, and constraints
    without bytes say what they are for"""
    for module in ('small/t2b.mlir', 'small/gpt.mlir', 'small/itx.mlir'):
        report, text = plan(module, 'data=2,model=2', folder)
        curve = [' '.join(row.split()[2:]) for row in re.findall(r'^ *\d+ rollouts  cost .*$', text, re.M)]
        check(curve and all(one != other for one, other in zip(curve, curve[1:])), f'{module}: {curve}')
        ours = report['summary']
        rows = {b['name']: (b['step_ps'], b['peak_bytes']) == (ours['step_ps'], ours['peak_bytes']) for b in report['baselines']
                if b['name'] not in ('cfn', 'yours')}
        check(not rows.get(report['classes']['expert'], False) or all(rows.values()), f'{module}: compared with {report["classes"]["expert"]}')
        worths = [c['worth_bytes'] for c in json.loads((folder / 'plan.json').read_text())['constraints']]
        if len(worths) <= 20:
            check(('An entry without bytes' in text) == any(not worth for worth in worths), f'{module}: {worths}')


def stacked_sums_are_counted(folder):
    """gradients that a loop over layers stacks in a loop over microbatches are reduced once by the plan; the annotated module has no way to say so
    (XLA for CPUs reduces them in every iteration of both loops), and the report does not claim it"""
    module = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/report/data/layers_in_microbatches.mlir.gz'
    report, text = plan(module, 'data=8', folder, '--planner', 'baselines', '--memory-limit', '3500000')
    moved = report['constraints']['moved_bytes']
    check(any(c['decision'] for c in report['collectives']) and moved['plan'] > 0, f'microbatches: {report["summary"]}')
    check(moved['annotated'] > 1.1 * moved['plan'], f'microbatches: the annotated module moves what the plan does: {moved}')
    check(moved['sums'] <= moved['constraints'] <= 1.01 * moved['annotated'], f'microbatches: {moved}')
    check('The annotated module moves more than the plan (at most so much)' in text, 'microbatches: not in the text')


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    arrays_side_by_side(folder)
    nothing_is_said_twice(folder)
    stacked_sums_are_counted(folder)
    layers_are_one_row(folder)
    lines_of_the_text_are_no_places(folder)
    exposed_adds_up(folder)
    layers_are_alike(folder)
    windows(folder)
    gathered(folder)
    takers_are_named(folder)
    experts_are_named(folder)
    nothing_is_moved(folder)
    kinds_are_counted(folder)
sys.exit(1 if failures else 0)
