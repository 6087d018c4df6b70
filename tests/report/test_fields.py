#!/usr/bin/env python3
# label: unit
# timeout: 200
"""report.json and plan.json have the members that they promise, and no other; what they say of gathering again is true."""
import json, os, pathlib, subprocess, sys, tempfile

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
models = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/models/small'
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print('FAILED', what)


def members(value, expected, what):
    expected = set(expected.split())
    check(set(value) == expected, f'{what}: {sorted(set(value) ^ expected)}')


def plan(module, out, *arguments):
    run = subprocess.run([toast, 'plan', str(models / module), '-o', out, '--device', 'a100-40', '--quiet', *arguments],
                         capture_output=True, text=True)
    check(run.returncode in (0, 3), f'{module}: {run.stderr}')
    return [json.loads((pathlib.Path(out) / name).read_text()) for name in ('report.json', 'plan.json')]


def check_report(r):
    price = 'step_ps peak_bytes fits cost'
    members(r, 'format summary baselines collectives proof time memory decisions choices classes conflicts whole constraints search bound segments alternatives referee warnings if_nothing_fits '
               'provenance', 'report.json')
    members(r['summary'], price + ' memory_limit_bytes found_by', 'summary')
    check(len(r['baselines']) > 1 and len(r['collectives']) > 0, 'there are baselines and collectives')
    for b in r['baselines']:
        members(b, price + ' name estimated', 'baseline')
    for c in r['collectives']:
        members(c, 'kind axes bytes count time_ps exposed_ps algorithm location decision because members member_bytes', 'collective')
        check(len(c['member_bytes']) == c['members'] and sum(c['member_bytes']) == c['bytes'], f'members of a collective: {c}')
    members(r['proof'], 'status reason max_error', 'proof')
    time = r['time']
    members(time, 'compute_ps matmul_ps communication_ps reshards_ps exposed_ps hidden_ps critical_path_ps collectives timeline', 'time')
    lanes = time['timeline']
    members(lanes, 'step_ps compute communication', 'time.timeline')
    check(lanes['step_ps'] == r['summary']['step_ps'] and len(lanes['compute']) == len(lanes['communication']) == 240, f'spans: {lanes["step_ps"]}')
    for lane, total in (('compute', time['compute_ps']), ('communication', time['communication_ps'])):
        busy = sum(lanes[lane]) / 240 / 1000 * lanes['step_ps']
        check(max(lanes[lane]) <= 1000 and abs(busy - total) <= 0.02 * lanes['step_ps'] + 0.05 * total, f'{lane}: {busy} of {total}')
    kinds = time['collectives']
    members(kinds, 'all_gather all_reduce reduce_scatter all_to_all collective_permute', 'time.collectives')
    members(r['constraints'], 'count candidates sums moved_bytes', 'constraints')
    moved = r['constraints']['moved_bytes']
    members(moved, 'plan specs constraints sums annotated', 'moved_bytes')
    # partial sums that the plan adds up before it reduces them are reduced one by one with specs and list
    check(moved['constraints'] <= 1.25 * max(moved['plan'], moved['annotated']), f'the list is nearly as good as the annotated module: {moved}')
    check(moved['sums'] <= moved['constraints'], f'sums that are added first move no more: {moved}')
    check(moved['constraints'] <= 1.02 * moved['specs'], f'the list is no worse than specs alone: {moved}')
    check(r['constraints']['count'] > 0 or moved['specs'] == moved['constraints'], f'no constraints, no difference: {moved}')
    check(time['reshards_ps'] == kinds['all_gather'] + kinds['all_to_all'] + kinds['collective_permute'], f'reshards: {time}')
    for kind, ps in kinds.items():
        check(ps == sum(c['time_ps'] for c in r['collectives'] if c['kind'] == kind), f'time of {kind}')
    members(r['memory'], 'limit_bytes peak_bytes peak_bytes_by_order order peak_step argument_bytes output_bytes alias_bytes steps '
                         'timeline at_peak', 'memory')
    for t in r['memory']['at_peak']:
        members(t, 'name type location bytes count gathered', 'at_peak')
    for d in r['decisions']:
        members(d, 'decision worth_ps', 'decision')
    for c in r['choices']:
        members(c, 'choice worth_ps factors of', 'choice')
    members(r['classes'], 'expert rows alike', 'classes')
    for c in r['classes']['rows']:
        members(c, 'kind name type count bytes ours expert yours', 'class')
        check(c['kind'] in ('weight', 'activation') and (c['expert'] is None) == (r['classes']['expert'] is None), f'class: {c}')
    for w in r['whole']:
        members(w, 'dimension size memory time partly example reason sizes taken op location best_try', 'whole')
        check(0 <= w['memory'] <= 1 and 0 <= w['time'] <= 1 and max(w['memory'], w['time']) > 0.01, f'parts: {w}')
        check((w['reason'] == 'does_not_divide') == (w['sizes'] is not None), f'sizes: {w}')
        check(w['best_try'] is not None or w['reason'] not in ('no_gain', 'conflict_lost'), f'a try is priced: {w}')
        if w['best_try']:
            members(w['best_try'], 'decision first splits splits_stored displaced step_ps peak_bytes', 'best try')
    for c in r['conflicts']:
        members(c, 'group bit sets conflicts side' + (' decision other_side' if c['side'] is not None else ' by_choices'), 'conflict')
    search = r['search']
    members(search, 'rollouts evaluations epochs stop_reason offered pruned fold lengths curve', 'search')
    check(search['offered'] > 0 and search['pruned'] > 0, f'decisions are offered and left out: {search["offered"]}, {search["pruned"]}')
    check(0 < sum(search['lengths']) <= search['rollouts'] and search['lengths'][-1] > 0, f'rollouts by decisions: {search["lengths"]}')
    for point in search['curve']:
        members(point, 'rollouts cost step_ps', 'curve')
    members(r['provenance'], 'build module plan mesh machine seed reproducible cut', 'provenance')


def check_plan(p):
    members(p, 'format mesh module arguments results pins decisions factors walk constraints sums machine memory_limit_bytes hash found_by '
               'reproducible build', 'plan.json')
    sharding = 'index name type dims partition_spec bytes_per_device'
    for a in p['arguments']:
        members(a, sharding + ' role role_by groups', 'argument')
    for a in p['results']:
        members(a, sharding, 'result')
    for d in p['decisions']:
        members(d, 'group axis bits scope at worth_ps', 'decision of plan.json')
        check(d['at'] == 'last' and d['scope'] in ('all', 'update', 'regather', 'whole'), d)
    for c in p['constraints']:
        members(c, 'op location name result occurrence alike type dims partition_spec arguments uses worth_bytes', 'constraint')
        check(c['occurrence'] < c['alike'] or c['op'] == 'argument', f'occurrence: {c}')
        for u in c['uses'] or ():
            members(u, 'op location name', 'use of a constraint')
        check(c['arguments'], f'what a constrained value is made of is named: {c}')
    members(p['walk'], 'combine_bytes axis_order regather defer_partials keep_layouts', 'walk')
    members(p['walk']['regather'], 'all arguments', 'walk.regather')
    check(p['walk']['keep_layouts'] is True, 'XLA:GPU lays arrays out, so modules for it ask for nothing')
    check(p['walk']['combine_bytes'] == 32 << 20, f'collectives are combined up to {p["walk"]["combine_bytes"]} bytes')


with tempfile.TemporaryDirectory() as scratch:
    report, written = plan('t2b.mlir', f'{scratch}/t2b', '--mesh', 'data=4,model=2', '--rollouts', '200', '--memory-limit', '1500000')
    check_report(report)
    check_plan(written)
    check(written['walk']['regather'] == {'all': False, 'arguments': []}, f'nothing is gathered again: {written["walk"]}')

    # a mesh that divides nothing: said of every dimension, the batch first, with the sizes that it would divide
    report, _ = plan('t2b.mlir', f'{scratch}/thirds', '--mesh', 'data=3', '--planner', 'baselines')
    batch = [w for w in report['whole'] if w['dimension'] == 'batch']
    check(batch and batch[0]['reason'] == 'does_not_divide' and '6, 9' in batch[0]['sizes'], f'a batch of 8 over 3: {batch}')
    check(any('the batch' in w and '6, 9' in w for w in report['warnings']), f'a warning for it: {report["warnings"]}')

    # one axis: what it splits takes it from the others, and a vocabulary that loses says to whom and for how much
    report, _ = plan('t2b.mlir', f'{scratch}/one', '--mesh', 'data=8', '--planner', 'baselines')
    whole = {w['dimension']: w for w in report['whole']}
    check(any(w['best_try'] and w['best_try']['step_ps'] > report['summary']['step_ps'] for w in whole.values()), f'tries cost more: {whole}')

    # memory that binds: decisions of scope regather say which weights are gathered again, over which axes
    report, written = plan('gpt.mlir', f'{scratch}/gpt', '--mesh', 'data=8', '--memory-limit', '1060000')
    check_report(report)
    check_plan(written)
    again = [d for d in written['decisions'] if d['scope'] == 'regather']
    listed = written['walk']['regather']
    check(again and not listed['all'] and listed['arguments'], f'decisions {again} gather {listed}')
    arguments = {a['index']: a for a in written['arguments']}
    for a in listed['arguments']:
        members(a, 'index name axes', 'walk.regather.arguments')
        kept = arguments[a['index']]
        check(kept['name'] == a['name'] and kept['role'] == 'parameter' and a['axes'] == ['data'] and ['data'] in kept['dims'], f'{a}: {kept}')

    # a person's edit of it is priced; plans of before, with a text, mean what they meant; anything else is refused
    def price(regather, **more):
        edited = dict(written, **more, walk=dict(written['walk'], regather=regather))
        path = pathlib.Path(scratch) / 'edited.json'
        path.write_text(json.dumps(edited))
        return subprocess.run([toast, 'price', str(models / 'gpt.mlir'), '--plan', str(path), '--json'], capture_output=True, text=True)

    none = {'decisions': [d for d in written['decisions'] if d['scope'] != 'regather'], 'hash': ''}
    del_hash = {k: v for k, v in none.items() if k != 'hash'}
    written.pop('hash')
    peaks = {}
    for name, regather in (('all', {'all': True}), ('none', {'all': False, 'arguments': []}), ('region', 'region'), ('never', 'never')):
        run = price(regather, **del_hash)
        check(run.returncode in (0, 3), f'{regather}: {run.stderr}')
        peaks[name] = json.loads(run.stdout)['peak_bytes'] if run.returncode in (0, 3) else None
    check(peaks['all'] == peaks['region'] < peaks['never'] == peaks['none'], f'peaks: {peaks}')
    for wrong, where in (('sometimes', '/walk/regather'), ({'all': 1}, '/walk/regather/all'), ({'some': True}, '/walk/regather/some'), (7, '/walk/regather')):
        run = price(wrong)
        check(run.returncode == 2 and where in run.stderr, f'{wrong}: {run.stderr}')
print('failures:', len(failures))
sys.exit(1 if failures else 0)
