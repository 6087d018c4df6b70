#!/usr/bin/env python3
# label: unit
# timeout: 300
"""toast plan: the same bytes with 1 and 2 threads, plan.json reaches its hash again, never worse than a baseline, exit statuses."""
import json, os, pathlib, re, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/support'))
from networks import network   # noqa: E402

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
models = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/models'
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print('FAILED', what)


def plan(module, out, *arguments):
    run = subprocess.run([toast, 'plan', str(models / module), '-o', out, '--quiet', *arguments], capture_output=True, text=True)
    if run.returncode not in (0, 3, 4):
        print(run.stderr)
    return run.returncode


def contents(folder):
    return {p.name: p.read_bytes() for p in sorted(pathlib.Path(folder).iterdir()) if p.name != 'timing.json'}


def layers_with_loops(count):
    """a train step of `count` equal layers, each with a loop of its own (as dropout's random bits are), and its gradients by weight"""
    x, w = 'tensor<64x64xf32>', 'tensor<64x64xf32>'
    args = ', '.join(f'%w{i}: {w}' for i in range(count))
    body, h = [], '%x'
    for i in range(count):
        body += [f'%d{i} = stablehlo.dot_general {h}, %w{i}, contracting_dims = [1] x [0] : ({x}, {w}) -> {x}',
                 f'%l{i}:2 = stablehlo.while(%i{i} = %zero, %c{i} = %d{i}) : tensor<i32>, {x}', 'cond {',
                 f'%t{i} = stablehlo.compare LT, %i{i}, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>',
                 f'stablehlo.return %t{i} : tensor<i1>', '} do {',
                 f'%s{i} = stablehlo.tanh %c{i} : {x}', f'%n{i} = stablehlo.add %i{i}, %one : tensor<i32>',
                 f'stablehlo.return %n{i}, %s{i} : tensor<i32>, {x}', '}']
        h = f'%l{i}#1'
    results = []
    for i in reversed(range(count)):
        body += [f'%g{i} = stablehlo.dot_general %d{i}, {h}, contracting_dims = [0] x [0] : ({x}, {x}) -> {w}',
                 f'%u{i} = stablehlo.subtract %w{i}, %g{i} : {w}',
                 f'%b{i} = stablehlo.dot_general {h}, %w{i}, contracting_dims = [1] x [1] : ({x}, {w}) -> {x}']
        h = f'%b{i}'
        results.insert(0, f'%u{i}')
    constants = ['%%%s = stablehlo.constant dense<%d> : tensor<i32>' % c for c in (('zero', 0), ('one', 1), ('three', 3))]
    out = ', '.join([w] * count)
    return '\n'.join([f'func.func public @main(%x: {x}, {args}) -> ({out}) {{', *constants, *body, f'return {", ".join(results)} : {out}', '}'])


with tempfile.TemporaryDirectory() as scratch:
    common = ['--mesh', 'data=4,model=2', '--device', 'a100-40', '--rollouts', '600', '--memory-limit', '1500000']
    for threads in ('1', '2'):
        status = plan('small/t2b.mlir', f'{scratch}/t{threads}', *common, '--threads', threads, '--proof')
        check(status == 0, f'small/t2b with {threads} threads ends with 0, not {status}')
    one, two = contents(f'{scratch}/t1'), contents(f'{scratch}/t2')
    check(set(one) == {'annotated.mlir', 'local.mlir', 'manual.mlir', 'plan.json', 'proof.json', 'report.html', 'report.json',
                       'report.txt', 'trace.json'},
          f'the files are the promised ones: {sorted(one)}')
    for name in one:
        check(one[name] == two.get(name), f'{name} is the same with 1 and 2 threads')

    report, written = json.loads(one['report.json']), json.loads(one['plan.json'])
    check(report['proof']['status'] == 'equal', f'proof: {report["proof"]}')
    check(report['summary']['fits'] is True, 'the plan fits')
    fitting = [b['step_ps'] for b in report['baselines'] if b['fits']]
    check(fitting == [] or report['summary']['step_ps'] <= min(fitting), 'no expert plan that fits is faster')
    for key in ('summary', 'baselines', 'collectives', 'proof', 'time', 'memory', 'decisions', 'conflicts', 'search', 'warnings',
                'if_nothing_fits', 'provenance'):
        check(key in report, f'report.json has {key}')
    memory = report['memory']
    orders = memory['peak_bytes_by_order']
    check(memory['peak_bytes'] == orders.get('hiding', max(orders['program'], orders.get('depth_first', 0))) == orders[memory['order']],
          'the order that counts')
    check(max(memory['timeline']) == memory['peak_bytes'], 'the timeline is of the order that takes most')
    person = one['report.txt'].decode()
    worths = [d['worth_ps'] for d in written['decisions']]
    check(('saves no time a step' in person) == (0 in worths) and ' 0 ps a step' not in person, 'a decision worth nothing saves no time')
    check(('is there for memory' in person) == (min(worths) <= 0), 'why a decision may cost time')
    check(len(written['arguments']) == 63 and len(written['results']) >= 62, 'every argument and result has its sharding')
    check(written['decisions'], 'the plan decides something')

    # the plan file is enough to write the modules again, byte for byte
    for form in ('annotated', 'manual', 'local'):
        again = f'{scratch}/again.mlir'
        run = subprocess.run([toast, 'lower', str(models / 'small/t2b.mlir'), '--plan', f'{scratch}/t1/plan.json', '--form', form,
                              '-o', again], capture_output=True, text=True)
        check(run.returncode == 0, f'toast lower --form {form}: {run.stderr}')
        check(run.returncode == 0 and pathlib.Path(again).read_bytes() == one[f'{form}.mlir'], f'{form}.mlir is written again')

    # side by side, decisions are called as in the report, with what they save or cost
    other = pathlib.Path(f'{scratch}/edited')
    other.mkdir()
    first = next(decision for decision in written['decisions'] if decision.get('scope') != 'update')
    edited = dict(written, decisions=[dict(first, scope='update', worth_ps=-5_000_000_000), dict(first, worth_ps=0)])
    (other / 'plan.json').write_text(json.dumps(edited))
    (other / 'report.json').write_bytes(one['report.json'])
    run = subprocess.run([toast, 'diff', f'{scratch}/t1', str(other)], capture_output=True, text=True)
    check(run.returncode == 0 and f'update:{first["group"]}' in run.stdout and 'costs 5.00 ms' in run.stdout and
          'saves no time' in run.stdout, f'toast diff: {run.stdout[:1500]} {run.stderr}')

    # the time asked for bounds the whole run: what is left out for it is said by name, and what is written is a plan
    check(report['provenance']['cut'] == [] and 'cut by time' not in person, 'nothing is cut where no time was asked for')
    status = plan('small/t2b.mlir', f'{scratch}/short', '--mesh', 'data=4,model=2', '--device', 'a100-40', '--seconds', '0.001', '--proof',
                  '--memory-limit', '1800000')
    short = {name: contents(f'{scratch}/short')[name].decode() for name in ('plan.json', 'report.json', 'report.txt')}
    cut, bounded = ['experts', 'search', 'network', 'why not split', 'constraints', 'proof'], json.loads(short['report.json'])
    check(status == 4 and bounded['provenance']['cut'] == cut, f'left out for time: status {status}, {bounded["provenance"]["cut"]}')
    check(f'cut by time   {", ".join(cut)}\n' in short['report.txt'] and 'not tried: the time was over' in short['report.txt'], 'what was left out is said')
    check(bounded['constraints'] is None and bounded['proof'] == {'status': 'not_run', 'reason': 'deadline', 'max_error': None} and
          json.loads(short['plan.json'])['reproducible'] is False, f'no list, no proof: {bounded["proof"]}')
    check(len(bounded['baselines']) == 16 and bounded['summary']['step_ps'] <= min(b['step_ps'] for b in bounded['baselines'] if b['fits']) and
          json.loads(short['plan.json'])['decisions'],
          'the first experts race all the same')

    # --json without a report says why nothing is printed
    run = subprocess.run([toast, 'plan', str(models / 'mlp.mlir'), '--mesh', 'data=2', '--device', 'a100-40', '--rollouts', '20', '--quiet',
                          '--json', '--outputs', 'plan', '-o', f'{scratch}/bare'], capture_output=True, text=True)
    check(run.returncode == 0 and not run.stdout and "'report' is not among the outputs" in run.stderr, f'--json: {run}')

    # a program of few steps has a row a step
    plan('mlp.mlir', f'{scratch}/few', '--mesh', 'data=4,model=2', '--device', 'a100-40', '--rollouts', '50')
    few = (pathlib.Path(f'{scratch}/few') / 'report.txt').read_text()
    rows = len(re.findall(r'^ *[\d.]+ [KMG]?B #', few.split('each row a step; a full bar is the peak')[1].split('Alive at the peak')[0], re.M))
    steps = json.loads((pathlib.Path(f'{scratch}/few') / 'report.json').read_text())['memory']['steps']
    check(rows == steps < 16, f'{rows} rows for {steps} steps')

    # where layers that repeat have loops of their own, a fold of them is tried
    loops = pathlib.Path(f'{scratch}/loops.mlir')
    loops.write_text(layers_with_loops(12))
    code = plan(loops, f'{scratch}/loops', '--mesh', 'data=4,model=2', '--device', 'a100-40', '--rollouts', '20', '--outputs', 'plan,report')
    check(code == 0, f'twelve layers with a loop each: {code}')
    classes = json.loads((pathlib.Path(f'{scratch}/loops') / 'report.json').read_text())['classes']['rows']
    check([(c['kind'], c['count']) for c in classes if c['kind'] == 'weight'] == [('weight', 12)], f'equal layers are one class: {classes}')
    text = (pathlib.Path(f'{scratch}/loops') / 'report.txt').read_text()
    check(f'ours {classes[0]["ours"]}' in text and 'x 12' in text, 'classes and kinds of arguments are in the text')

    # a million devices are planned for, but not interpreted (the machine's memory would go first)
    plan('mlp.mlir', f'{scratch}/million', '--mesh', 'a=1024,b=1024', '--device', 'a100-40', '--rollouts', '20', '--proof')
    proof = json.loads((pathlib.Path(f'{scratch}/million') / 'proof.json').read_text())
    check(proof['status'] == 'not_run' and proof['reason'] == 'too_large', f'a million devices: {proof}')

    # experts' names over three axes are written whole
    plan('small/t2b.mlir', f'{scratch}/three', '--mesh', 'slowest_links=2,middle_links=2,fastest_links=2', '--device', 'a100-40',
         '--planner', 'baselines')
    lines = (pathlib.Path(f'{scratch}/three') / 'report.txt').read_text().split('best first')[1].split('\n\n')[0].split('\n')
    names = {b['name'] for b in json.loads((pathlib.Path(f'{scratch}/three') / 'report.json').read_text())['baselines']}
    shown = [line.split()[0] for line in lines[3:] if ':' in line.split(' ')[0]]
    check(len(shown) > 5 and set(shown) <= names and any(len(n) > 48 for n in shown), f'names of experts: {shown}')

    # memory that is given to a result that cannot have it is said not to be
    given = pathlib.Path(scratch, 'given.mlir')
    given.write_text('func.func @main(%a: tensor<16x8xf32> {tf.aliasing_output = 7 : i32}, %b: tensor<16x8xf32> {tf.aliasing_output = 0 : i32}, '
                     '%c: tensor<16x8xf32> {tf.aliasing_output = 0 : i32}, %d: tensor<16x8xbf16> {tf.aliasing_output = 1 : i32}) '
                     '-> (tensor<16x8xf32>, tensor<16x8xf32>) {\n'
                     '  %0 = stablehlo.add %a, %b : tensor<16x8xf32>\n  return %0, %c : tensor<16x8xf32>, tensor<16x8xf32>\n}\n')
    plan(given, f'{scratch}/given', '--mesh', 'x=2', '--device', 'a100-40', '--outputs', 'plan,report')
    warned = [w for w in json.loads((pathlib.Path(f'{scratch}/given') / 'report.json').read_text())['warnings'] if 'tf.aliasing_output' in w]
    check(len(warned) == 3 and all(why in ' '.join(warned) for why in ('argument 0 to result 7', 'argument 2 to result 0', 'another type')),
          f'donations that cannot be: {warned}')

    # nothing goes in, nothing comes out
    nothing = pathlib.Path(scratch, 'nothing.mlir')
    nothing.write_text('func.func @main() {\n  return\n}\n')
    run = subprocess.run([toast, 'plan', str(nothing), '--mesh', 'x=2', '--device', 'a100-40', '--quiet', '--proof', '-o', f'{scratch}/nothing'],
                         capture_output=True, text=True)
    check(run.returncode == 0 and 'proof         equal' in run.stdout, f'no arguments, no results: {run.returncode} {run.stdout[:300]}')

    # numbers drawn by the device: the annotated form is written and the report says why the others are not
    drawn = pathlib.Path(scratch, 'drawn.mlir')
    drawn.write_text('func.func @main(%a: tensor<f32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {\n'
                     '  %s = stablehlo.constant dense<8> : tensor<2xi64>\n  %0 = stablehlo.rng %a, %a, %s, distribution = UNIFORM : '
                     '(tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<8x8xf32>\n  %1 = stablehlo.add %0, %w : tensor<8x8xf32>\n'
                     '  return %1 : tensor<8x8xf32>\n}\n')
    for outputs, wanted in (('annotated,manual,local,report,plan', 0), ('manual,report', 6)):
        run = subprocess.run([toast, 'plan', str(drawn), '--mesh', 'x=2', '--device', 'a100-40', '--rollouts', '20', '--quiet', '--proof',
                              '--outputs', outputs, '-o', f'{scratch}/drawn{wanted}'], capture_output=True, text=True)
        check(run.returncode == wanted, f'drawn numbers, {outputs}: {run.returncode} {run.stderr}')
    written = {p.name for p in pathlib.Path(f'{scratch}/drawn0').iterdir()}
    check('annotated.mlir' in written and not written & {'manual.mlir', 'local.mlir'}, f'drawn numbers: {written}')
    said = json.loads((pathlib.Path(f'{scratch}/drawn0') / 'report.json').read_text())
    check(any('stablehlo.rng draws other numbers' in w for w in said['warnings']) and said['proof']['status'] == 'not_run',
          f'drawn numbers: {said["warnings"]} {said["proof"]}')

    # a plan of another module is refused
    run = subprocess.run([toast, 'lower', str(models / 'small/gpt.mlir'), '--plan', f'{scratch}/t1/plan.json', '--form', 'manual',
                          '-o', f'{scratch}/other.mlir'], capture_output=True, text=True)
    check(run.returncode == 2, f'a plan for another module is refused with 2, not {run.returncode}: {run.stderr}')

    status = plan('small/t2b.mlir', f'{scratch}/tight', '--mesh', 'data=2', '--device', 'a100-40', '--rollouts', '50',
                  '--memory-limit', '1000000')
    check(status == 3, f'nothing fits ends with 3, not {status}')
    # cut by a clock: 4, with the best so far; a deadline that must not be missed: 4, and nothing
    long = ['--mesh', 'data=8,model=8', '--device', 'a100-40', '--rollouts', '20000']
    for name, limit, reason in (('seconds', {'budget': {'seconds': 0.02, 'rollouts': 20000}}, 'best so far'),
                                ('deadline', {'deadline_s': 0.05}, 'best so far'),
                                ('missed', {'deadline_s': 0.05, 'on_deadline': 'fail'}, 'nothing')):
        asked = pathlib.Path(scratch) / f'{name}.json'
        asked.write_text(json.dumps(limit))
        run = subprocess.run([toast, 'plan', str(models / 't2b.mlir.gz'), *long, '--request', str(asked), '-o', f'{scratch}/{name}',
                              '--quiet'], capture_output=True, text=True)
        made = pathlib.Path(scratch, name, 'plan.json')
        check(run.returncode == 4, f'cut by {name} ends with 4, not {run.returncode}: {run.stderr}')
        check(made.exists() == (reason != 'nothing'), f'cut by {name} leaves {reason}')
        if made.exists():
            check(json.loads(made.read_text())['reproducible'] is False, f'cut by {name} says so')
        else:
            check('deadline of 0.05 s' in run.stderr, f'why: {run.stderr}')
    tight = json.loads(pathlib.Path(f'{scratch}/tight/report.json').read_text())
    check(tight['summary']['fits'] is False and tight['if_nothing_fits']['smallest_budget_bytes'] > 1000000, 'nothing fits is told')
    parts = tight['if_nothing_fits']['parts']
    check(sum(parts.values()) > 0.9 * tight['summary']['peak_bytes'] and parts['parameters'] > 0, f'what the peak is made of: {parts}')
    advice = tight['if_nothing_fits']
    check(advice['devices'] > 2 and (advice['batch'] is None or advice['batch']['at_most'] < advice['batch']['now']), f'{advice}')
    text = pathlib.Path(f'{scratch}/tight/report.txt').read_text()
    check(re.search(r"\ncost +[\d.]+: [\d.]+, the step time beside one device's, the rest for [\d.]+ [KM]B over the limit\n", text), text[:600])
    # the larger mesh that it names was tried: there a plan fits
    for model, mesh, limit in (('small/t2b.mlir', 'data=2,model=2', '700KiB'), ('small/gpt.mlir', 'data=2,model=2', '450KiB')):
        plan(model, f'{scratch}/small', '--mesh', mesh, '--device', 'h100', '--rollouts', '50', '--memory-limit', limit)
        larger = json.loads(pathlib.Path(f'{scratch}/small/report.json').read_text())['if_nothing_fits']['larger']
        check(larger and larger['devices'] > 4 and f"as {larger['mesh']}: " in pathlib.Path(f'{scratch}/small/report.txt').read_text(), f'{model}: {larger}')
        plan(model, f'{scratch}/larger', '--mesh', larger['mesh'], '--device', 'h100', '--rollouts', '50', '--memory-limit', limit)
        row = [b for b in json.loads(pathlib.Path(f'{scratch}/larger/report.json').read_text())['baselines'] if b['name'] == larger['plan']]
        check(row and row[0]['fits'] and row[0]['peak_bytes'] == larger['peak_bytes'], f'{model}: {larger}, {row}')
    check('devices: ' in text and 'batch' in text and 'rematerialisation' in text, 'ways out are named')
    # so was the smaller batch: with it a plan fits, with twice as many examples the one that was found does not
    chain = pathlib.Path(scratch, 'chain.mlir')
    limited = ['--mesh', 'data=4,model=2', '--device', 'h100', '--rollouts', '50', '--memory-limit', '20MB']
    chain.write_text(network(6, 512, 8192, False))
    plan(chain, f'{scratch}/chain', *limited)
    batch = json.loads(pathlib.Path(f'{scratch}/chain/report.json').read_text())['if_nothing_fits']['batch']
    said = f"a smaller batch: {batch['at_most']} instead of 8192: this plan fits then with"
    check(0 < batch['at_most'] < 8192 and 10e6 < batch['peak_bytes'] <= 20e6 and said in pathlib.Path(f'{scratch}/chain/report.txt').read_text(), f'{batch}')
    chain.write_text(network(6, 512, batch['at_most'], False))
    plan(chain, f'{scratch}/fits', *limited)
    check(json.loads(pathlib.Path(f'{scratch}/fits/report.json').read_text())['summary']['fits'], f"a batch of {batch['at_most']} fits")
    plan(chain, f'{scratch}/less', *limited[:-1], '5MB')
    batch = json.loads(pathlib.Path(f'{scratch}/less/report.json').read_text())['if_nothing_fits']['batch']
    check(batch['at_most'] == 0 and batch['peak_bytes'] > 5e6, f'weights alone are too large: {batch}')
    # an axis that divides nothing does nothing: told
    plan('small/gpt.mlir', f'{scratch}/idle', '--mesh', 'odd=7,x=2', '--device', 'a100-40', '--planner', 'baselines', '--outputs', 'report')
    idle = json.loads(pathlib.Path(f'{scratch}/idle/report.json').read_text())['warnings']
    check(sum('the axis odd splits nothing: its 7 devices do the same work' in w for w in idle) == 1, f'an idle axis: {idle}')
    # a batch of 8 that only the smaller axis divides: told
    plan('small/t2b.mlir', f'{scratch}/thirds', '--mesh', 'x=3,y=2', '--device', 'a100-40', '--planner', 'baselines', '--outputs', 'report')
    thirds = json.loads(pathlib.Path(f'{scratch}/thirds/report.json').read_text())
    check('the batch (batch) is not split over the largest axis: 8 is not divided by x=3; the nearest sizes that are: 6, 9' in thirds['warnings'],
          f"warnings: {thirds['warnings']}")
    status = plan('small/t2b.mlir', f'{scratch}/pinned', '--mesh', 'data=4', '--device', 'a100-40', '--rollouts', '50', '--pin',
                  '*/embed=data,-')
    pinned = json.loads(pathlib.Path(f'{scratch}/pinned/plan.json').read_text())
    embeds = [a for a in pinned['arguments'] if a['name'].endswith('/embed')]
    check(embeds and all(a['dims'] == [['data'], []] for a in embeds), f'pins are respected: {[a["dims"] for a in embeds]}')
    # names that a request gave (those of torch's parameters) and the module has not: pins are found by the file's own list
    for argument in pinned['arguments']:
        argument['name'] = 'mine/' + argument['name']
    for pin in pinned['pins']:
        pin['argument'] = 'mine/' + pin['argument']
    named = pathlib.Path(f'{scratch}/named.json')
    named.write_text(json.dumps(pinned))
    run = subprocess.run([toast, 'lower', str(models / 'small/t2b.mlir'), '--plan', str(named), '--form', 'manual'], capture_output=True)
    check(pinned['pins'] and run.returncode == 0 and run.stdout == pathlib.Path(f'{scratch}/pinned/manual.mlir').read_bytes(),
          f'pins by the names that the plan has: {run.stderr}')
    pinned['pins'][0]['argument'] = 'mine/nobody'
    named.write_text(json.dumps(pinned))
    run = subprocess.run([toast, 'price', str(models / 'small/t2b.mlir'), '--plan', str(named)], capture_output=True, text=True)
    check(run.returncode == 2 and '/pins/0: no argument is named like this' in run.stderr, f'a pin of nobody: {run.stderr}')

    # planner propagate: only completes the pins, and its plan file reaches its hash again
    status = plan('small/t2b.mlir', f'{scratch}/completed', '--mesh', 'data=4', '--device', 'a100-40', '--planner', 'propagate',
                  '--pin', '*/layer_00/gate=-,data')
    completed = json.loads(pathlib.Path(f'{scratch}/completed/plan.json').read_text())
    dims = {a['name']: a['dims'] for a in completed['arguments']}
    check(completed['decisions'] == [] and dims['params/layer_00/down'] == [['data'], []], f'pins are completed: {dims}')
    run = subprocess.run([toast, 'lower', str(models / 'small/t2b.mlir'), '--plan', f'{scratch}/completed/plan.json', '--form',
                          'manual', '-o', f'{scratch}/c.mlir'], capture_output=True, text=True)
    check(run.returncode == 0 and pathlib.Path(f'{scratch}/c.mlir').read_bytes() ==
          pathlib.Path(f'{scratch}/completed/manual.mlir').read_bytes(), f'the completed plan is replayed: {run.stderr}')
print('failures:', len(failures))
sys.exit(1 if failures else 0)
