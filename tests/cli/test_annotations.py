#!/usr/bin/env python3
# label: unit
# timeout: 120
"""Shardings that a module brings, in Shardy's words or in GSPMD's: pinned, raced as `yours`, or ignored with a warning; nothing of them is
dropped in silence."""
import importlib.util, itertools, json, os, pathlib, re, subprocess, sys, tempfile

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
failures = []
MODULE = '''module {
  sdy.mesh @mesh = <["data"=4, "model"=2]>
  func.func @main(%%x: tensor<64x256xf32>%s, %%w: tensor<256x512xf32>%s) -> tensor<64x512xf32> {
    %%0 = stablehlo.dot_general %%x, %%w, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x512xf32>) -> tensor<64x512xf32>
    %s
    return %%1 : tensor<64x512xf32>
  }
}
'''
PLAIN = '%1 = stablehlo.tanh %0 : tensor<64x512xf32>'


def check(condition, what):
    if not condition:
        failures.append(what)
        print('FAILED', what)


with tempfile.TemporaryDirectory() as scratch:
    def plan(text, **request):
        request = {'mesh': {'axes': [{'name': 'data', 'size': 4}, {'name': 'model', 'size': 2}]}, 'device': 'a100-40',
                   'budget': {'rollouts': 50}, **request}
        pathlib.Path(f'{scratch}/m.mlir').write_text(text)
        pathlib.Path(f'{scratch}/r.json').write_text(json.dumps(request))
        run = subprocess.run([toast, 'plan', f'{scratch}/m.mlir', '--request', f'{scratch}/r.json', '--quiet', '-o', f'{scratch}/out'],
                             capture_output=True, text=True)
        if run.returncode not in (0, 3):
            return run.returncode, run.stderr, None
        return run.returncode, *[json.loads(pathlib.Path(f'{scratch}/out/{f}.json').read_text()) for f in ('report', 'plan')]

    text = MODULE % (' {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}', ' {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}',
                     PLAIN)
    _, report, written = plan(text)
    check('yours' in [b['name'] for b in report['baselines']], 'the module\'s shardings race as `yours`')
    check(report['summary']['cost'] <= min(b['cost'] for b in report['baselines']), 'and nothing of the table is better than the plan')
    check(written.get('module_pins') is False and not report['warnings'], f'they are no pins: {report["warnings"]}')
    lowered = subprocess.run([toast, 'lower', f'{scratch}/m.mlir', '--plan', f'{scratch}/out/plan.json', '--form', 'local', '-o', '/dev/null'],
                             capture_output=True, text=True)
    check(lowered.returncode == 0, f'the plan file replays: {lowered.stderr}')
    # what JAX writes around random keys says nothing: a constraint on a mesh without axes
    empty = MODULE.replace('<["data"=4, "model"=2]>', '<[]>') % ('', '', '%1 = sdy.sharding_constraint %0 <@mesh, [{}, {}]> : tensor<64x512xf32>')
    _, report, _ = plan(empty)
    check('yours' not in [b['name'] for b in report['baselines']] and not report['warnings'], f'an empty mesh: {report["warnings"]}')
    _, report, written = plan(text, annotations='pin')
    check([a['dims'] for a in written['arguments']] == [[['data'], []], [[], ['model']]] and 'module_pins' not in written,
          f'pinned: {written["arguments"]}')
    _, report, _ = plan(text, annotations='ignore')
    check(any('2 shardings are ignored' in w for w in report['warnings']) and 'yours' not in [b['name'] for b in report['baselines']],
          f'ignored with a warning: {report["warnings"]}')
    status, said, _ = plan(text, annotations='drop')
    check(status == 2 and 'pin, baseline, ignore' in said, f'an unknown choice: {status} {said}')
    foreign = text.replace('{"data"}, {}', '{"rows"}, {}')
    _, report, _ = plan(foreign)
    check(any('do not race as `yours`' in w and 'rows' in w for w in report['warnings']), f'another mesh: {report["warnings"]}')
    check(plan(foreign, annotations='pin')[0] == 2, 'which `pin` refuses')
    _, report, _ = plan(text.replace('{"data"}, {}', '{"data"}p1, {}'))
    check(any('1 priorities' in w for w in report['warnings']), f'priorities are named: {report["warnings"]}')

    # what the module says of its ops' results: each kind races, is pinned, or is named
    result = 'tensor<64x512xf32>'
    pinned = {'a reshard': f'%1 = sdy.reshard %0 <@mesh, [{{"data"}}, {{"model"}}]> : {result}',
              'an op': f'%1 = stablehlo.tanh %0 {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"data"}}, {{"model"}}]>]>}} : {result}',
              'an op of two results': f"""%k = stablehlo.iota dim = 1 : tensor<64x512xi32>
    %1:2 = "stablehlo.sort"(%0, %k) <{{dimension = 1 : i64, is_stable = true}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }}) {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"data"}}, {{}}], replicated={{"model"}}>, <@mesh, [{{?}}, {{?}}]>]>}} : ({result}, tensor<64x512xi32>) -> ({result}, tensor<64x512xi32>)"""}
    for what, op in pinned.items():
        text = (MODULE % ('', '', op)).replace('return %1 :', 'return %1#0 :' if '%1:2' in op else 'return %1 :')
        _, report, written = plan(text, memory_limit_bytes=600000)
        check('yours' in [b['name'] for b in report['baselines']], f'{what}: its sharding races as `yours`: {report["baselines"]}')
        _, report, written = plan(text, annotations='pin')
        check(written['arguments'][0]['dims'][0] == ['data'], f'{what}: its sharding is a pin: {written["arguments"]}')
        status, said, _ = plan(text.replace('{"data"}', '{"rows"}'), annotations='pin')
        check(status == 2 and 'axis rows' in said, f'{what}: an axis that is none: {status} {said}')
    few = pinned['an op of two results'].replace(', <@mesh, [{?}, {?}]>', '')
    status, said, _ = plan((MODULE % ('', '', few)).replace('return %1 :', 'return %1#0 :'), annotations='pin')
    check(status == 2 and 'says 1 of 2 results' in said, f'too few shardings: {status} {said}')
    status, said, _ = plan(MODULE % ('', '', f'%1 = sdy.sharding_constraint %0 <@mesh, [{{}}, {{}}], unreduced={{"model"}}> : {result}'), annotations='pin')
    check(status == 2 and 'unreduced' in said, f'an unreduced sum is no replicated value: {status} {said}')
    host = PLAIN.replace('%0 :', '%0 {sdy.sharding = #sdy.sharding_per_value<[<@host, []>]>} :')
    one = (MODULE % ('', '', host)).replace('  func.func', '  sdy.mesh @host = <[], device_ids=[0]>\n  func.func', 1)
    status, report, _ = plan(one, annotations='pin')
    check(status == 0 and not report['warnings'], f'a mesh without axes says nothing: {status} {report}')
    for op in (f'sdy.sharding_group %0 group_id=0 : {result}\n    {PLAIN}',
               f'%1 = sdy.propagation_barrier %0 allowed_direction=BACKWARD : {result}'):
        _, report, _ = plan(MODULE % ('', '', op))
        check(any('1 sharding groups and propagation barriers' in w for w in report['warnings']), f'{op}: {report["warnings"]}')

    # ---- toast price takes them, and the size up to which collectives are joined, as toast plan does
    def price(path, *options):
        run = subprocess.run([toast, 'price', str(path), '--mesh', 'data=4,model=2', '--device', 'a100-40', '--json', *options],
                             capture_output=True, text=True)
        return json.loads(run.stdout) if run.returncode == 0 else run.stderr

    text = MODULE % (' {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}', ' {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}', PLAIN)
    _, report, _ = plan(text)
    module, yours = f'{scratch}/m.mlir', next(b for b in report['baselines'] if b['name'] == 'yours')
    priced = price(module, '--annotations', 'baseline')
    check(all(priced[k] == yours[k] for k in ('step_ps', 'peak_bytes')), f'priced as `yours`: {priced} {yours}')
    by_hand = price(module, '--decisions', 'batch@data')
    both = price(module, '--decisions', 'batch@data', '--annotations', 'pin')
    check(both['argument_bytes'] == priced['argument_bytes'] < by_hand['argument_bytes'], f'decisions beside pins: {both} {by_hand}')
    check(price(module, '--decisions', 'batch@data', '--annotations', 'ignore') == by_hand, 'ignored')
    for options, why in ((('--annotations', 'drop'), 'pin, baseline or ignore'), (('--combine-bytes', '0'), 'at least 1'), (('--combine-bytes', 'much'), 'needs bytes'),
                         (('--annotations', 'baseline', '--decisions', 'batch@data'), 'a plan of its own')):
        check(why in str(price(module, *options)), f'{options}: {price(module, *options)}')
    pathlib.Path(module).write_text(MODULE % ('', '', PLAIN))
    check('says nothing about shardings' in str(price(module, '--annotations', 'pin')), 'pins of a module without shardings')
    deep = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/models/small/gpt.mlir'
    count = {size: sum(c['count'] for c in price(deep, '--baseline', 'batch:data', '--combine-bytes', size)['collectives']) for size in ('1', '1MB')}
    check(count['1'] > count['1MB'], f'collectives joined up to 1 byte and up to 1 MB: {count}')

    # ---- GSPMD's: tiles by device instead of axes
    found = importlib.util.spec_from_file_location('gspmd', pathlib.Path(os.environ['TOAST_SOURCE']) / 'clients/python/src/toast/gspmd.py')
    gspmd = importlib.util.module_from_spec(found)
    found.loader.exec_module(gspmd)
    AXES = {'data': 4, 'model': 2}

    def listed(tiles):
        """a reshaped and transposed 0, 1, 2 .. as a list of devices"""
        match = re.fullmatch(r'{(devices=\[[\d,]+\])<=\[([\d,]+)\](?:T\(([\d,]+)\))?(.*)}', tiles)
        shape = [int(n) for n in match[2].split(',')]
        order = [int(n) for n in (match[3] or ','.join(map(str, range(len(shape))))).split(',')]
        stride = [1] * len(shape)
        for i in reversed(range(len(shape) - 1)):
            stride[i] = stride[i + 1] * shape[i + 1]
        places = itertools.product(*(range(shape[i]) for i in order))
        devices = [sum(stride[i] * n for i, n in zip(order, place)) for place in places]
        return f'{{{match[1]}{",".join(map(str, devices))}{match[4]}}}'

    def mhlo(tiles):
        return f' {{mhlo.sharding = "{tiles}"}}'

    def dims_of(*arguments, op=PLAIN, **request):
        status, report, written = plan(MODULE % (*arguments, op), annotations='pin', planner='propagate', **request)
        return [a['dims'] for a in written['arguments']] if written else report

    choices = [[], ['data'], ['model'], ['data', 'model'], ['model', 'data']]
    for one, two in itertools.product(choices, choices):
        if set(one) & set(two):
            continue
        tiles = gspmd.hlo_sharding([one, two], AXES)
        for text in {tiles, listed(tiles) if 'devices' in tiles else tiles}:
            check(dims_of(mhlo(text), '')[0] == [one, two], f'{text}: {dims_of(mhlo(text), "")}')
    # JAX's words for a signature and a constraint race as `yours` as those of Shardy do, cost as much, and can be pinned
    call = ('%1 = stablehlo.custom_call @Sharding(%0) {backend_config = "BACK", mhlo.sharding = "TILES"} : '
            f'(tensor<64x512xf32>) -> {result}')
    both = gspmd.hlo_sharding([['data'], ['model']], AXES)
    shardy = f'%1 = sdy.sharding_constraint %0 <@mesh, [{{"data"}}, {{"model"}}]> : {result}'
    costs = []
    for op in shardy, call.replace('TILES', both).replace('BACK', ''):
        _, report, _ = plan(MODULE % ('', '', op))
        costs.append([b['cost'] for b in report['baselines'] if b['name'] in ('yours', 'replicated')])
        check(len(costs[-1]) == 2 and not report['warnings'], f'{op}: {report["baselines"]} {report["warnings"]}')
        check(dims_of('', '', op=op) == [[['data'], []], [[], ['model']]], f'{op}: {dims_of("", "", op=op)}')
    check(costs[0] == costs[1], f'both cost the same: {costs}')
    # a dimension that is left open is not pinned, and what leaves all open says nothing
    opened = call.replace('TILES', gspmd.hlo_sharding([['data'], []], AXES)).replace('BACK', 'unspecified_dims=[1]')
    model = mhlo(gspmd.hlo_sharding([[], ['model']], AXES))
    check(dims_of('', model, op=opened) == [[['data'], []], [[], ['model']]], f'an open dimension: {dims_of("", model, op=opened)}')
    _, report, _ = plan(MODULE % ('', '', call.replace('TILES', '{replicated}').replace('BACK', 'unspecified_dims=[0,1]')))
    check('yours' not in [b['name'] for b in report['baselines']] and not report['warnings'], f'all open: {report["warnings"]}')
    _, report, _ = plan(MODULE % (mhlo(both), '', PLAIN), annotations='ignore')
    check(any('1 shardings are ignored' in w for w in report['warnings']), f'ignored with a warning: {report["warnings"]}')
    for text, why in (('{devices=[2,2]<=[4]}', 'another number of devices'), ('{devices=[2,1,4]<=[8] last_tile_dim_replicate}', 'whole axes'),
                      ('{devices=[4,2]7,6,5,4,3,2,1,0}', 'whole axes'), ('{devices=[4,2]0,1,2,3,4,5,6,6}', 'not read'), ('{manual}', 'by hand'),
                      ('{devices=[2,1,4]<=[8] last_tile_dims={manual}}', 'by hand'), ('{maximal device=3}', 'one device'),
                      ('{devices=[8]<=[8]}', 'another rank'), ('{devices=[4,2]<=[8', 'not read'), ('{devices=[99999999,1]<=[8]}', 'not read')):
        status, said, _ = plan(MODULE % (mhlo(text), '', PLAIN), annotations='pin')
        check(status == 2 and why in said, f'{text}: {status} {said}')
        _, report, _ = plan(MODULE % (mhlo(text), '', PLAIN))
        check(any('do not race as `yours`' in w and why in w for w in report['warnings']), f'{text} of a baseline: {report["warnings"]}')

sys.exit(bool(failures))
