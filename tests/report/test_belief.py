#!/usr/bin/env python3
# label: unit
# timeout: 400
"""What a reader may believe of a report, over many models, meshes and memory limits: the answer is the best that fits of
all that the report names; nearly all bytes moved are put down to a decision with its worth; every large dimension that is left whole has
its reason; where nothing fits there is advice that can be followed."""
import gzip
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
tests = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests'
sys.path.insert(0, str(tests / 'support'))
from networks import network   # noqa: E402

EQUAL = 1e-6        # costs nearer than this are equal: report.txt prints six digits
ATTRIBUTED = 0.95   # of the bytes moved
PARTS = 1e-6        # the parts of a peak sum to it
ROOM = 1.05         # another limit is another search, which may end a little beside the plan that the limit was read from
failures = []


def check(ok, message):
    if not ok:
        failures.append(message)
        print('FAILED', message)


def run(module, mesh, limit, out, *more):
    command = [toast, 'plan', str(module), '--mesh', mesh, '--device', 'a100-40', '-o', str(out), '--quiet', '--rollouts', '200',
               '--outputs', 'plan,report', *more]
    if limit:
        command += ['--memory-limit', str(limit)]
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode in (0, 3), f'{module} {mesh}: {done.stderr}')
    return json.loads((out / 'report.json').read_text())


def rows(report):
    """every plan that the report names beside the answer, with its figures"""
    for expert in report['baselines']:
        yield expert['name'], expert
    for alternative in report['alternatives'] or []:
        yield 'an alternative', alternative['summary']


def answers_best(report, case):
    answer = report['summary']
    for name, row in rows(report):
        check(row['peak_bytes'] > 0 and row['step_ps'] > 0, f'{case}: {name} has a price that nobody found: {row}')
        if not row['fits']:
            continue
        check(answer['fits'] and answer['cost'] <= row['cost'] * (1 + EQUAL), f'{case}: {name} fits and costs {row["cost"]}: {answer}')
        if abs(row['cost'] - answer['cost']) <= EQUAL * row['cost']:
            check(answer['peak_bytes'] <= row['peak_bytes'] * (1 + EQUAL), f'{case}: {name} costs the same and takes {row["peak_bytes"]}: {answer}')


def causes(because):
    """'batch@data+model, ffn@model': each decision or choice in it"""
    for part in because.split(', '):
        stem, _, axes = part.partition('@')
        yield from (f'{stem}@{axis}' for axis in axes.split('+'))


def attributes(report, case):
    """(bytes, bytes put down to something that has a worth)"""
    worth = {d['decision'] for d in report['decisions']} | {c['choice'] for c in report['choices'] if c['worth_ps'] is not None}
    moved = sum(c['bytes'] for c in report['collectives'])
    put = sum(c['bytes'] for c in report['collectives'] if worth >= set(causes(c['because'])))
    check(put >= ATTRIBUTED * moved, f'{case}: {put} of {moved} bytes have a cause with a worth')
    return moved, put


def sums(report, case, lines):
    """the timeline is of the peak; what is listed there is no more than it; no row's place is the line that returns"""
    memory = report['memory']
    check(max(memory['timeline']) == memory['peak_bytes'], f'{case}: a timeline up to {max(memory["timeline"])}, a peak of {memory["peak_bytes"]}')
    check(sum(t['bytes'] for t in memory['at_peak']) <= memory['peak_bytes'], f'{case}: more alive at the peak than the peak')
    check(report['time']['compute_ps'] + report['time']['exposed_ps'] == report['summary']['step_ps'], f'{case}: time: {report["time"]}')
    for c in report['collectives']:
        check(c['location'] not in lines, f'{case}: a collective at the line that returns: {c}')


BYTES = {'f32': 4, 'bf16': 2, 'f16': 2, 'i32': 4, 'ui32': 4, 'i64': 8, 'f64': 8}


def explains_whole(report, case):
    """Each tensor of more than 1 % of the peak that is split nowhere has a line for each of its dimensions: of their size, or of
    a part of it (a dimension may be several, as heads and features are). Each line has its reason."""
    peak = report['memory']['peak_bytes']
    sizes = {w['size'] for w in report['whole']}
    for tensor in report['memory']['at_peak']:
        kind, dims = tensor['type'].rstrip(']').split('[')
        dims = [int(d) for d in dims.split(',') if d]
        if kind not in BYTES or tensor['bytes'] != tensor['count'] * BYTES[kind] * math.prod(dims) or tensor['bytes'] <= 0.01 * peak:
            continue
        for size in dims:
            check(size < 2 or any(size % s == 0 for s in sizes), f'{case}: no line says why {size} of {tensor} is whole: {sizes}')
    for w in report['whole']:
        figure = {'does_not_divide': w['sizes'], 'conflict_lost': w['best_try'], 'no_gain': w['best_try']}.get(w['reason'], True)
        check(figure, f'{case}: a reason without its figure: {w}')
        check(w['example'] or w['memory'] == 0, f'{case}: it is not said where: {w}')
        free = [axis['name'] for axis in report['provenance']['mesh']['axes'] if axis['size'] > 1 and w['size'] % axis['size'] == 0 and
                not re.search(rf"\b{axis['name']}\b", w['taken'] or '')]
        check(w['reason'] != 'conflict_lost' or not free, f'{case}: a conflict is lost to nobody: {free} {w}')
    limit, step = report['summary']['memory_limit_bytes'], report['summary']['step_ps']
    for w in report['whole']:
        best = w['best_try'] or {'step_ps': step, 'peak_bytes': 0}
        beaten = report['summary']['fits'] and best['peak_bytes'] <= limit and best['step_ps'] < step * (1 - 1e-6)
        check(beaten <= (w['reason'] == 'missed'), f'{case}: a better plan that is not called so: {w}')
    for w in report['whole'][:24]:
        check(w['reason'] != 'not_tried', f'{case}: among the largest, and not tried: {w}')


def advises(report, mesh, case):
    summary, advice = report['summary'], report['if_nothing_fits']
    check((advice is None) == summary['fits'], f'{case}: advice where it fits, or none: {advice}')
    if advice is None:
        return
    devices = math.prod(int(axis.split('=')[1]) for axis in mesh.split(','))
    check(abs(sum(advice['parts'].values()) - summary['peak_bytes']) <= PARTS * summary['peak_bytes'], f'{case}: parts of the peak: {advice}')
    over = summary['peak_bytes'] / summary['memory_limit_bytes']
    check(over * devices <= advice['devices'] < 2 * over * devices + 1, f'{case}: devices: {advice["devices"]} for {over} of {devices}')
    batch = advice['batch']
    check(batch is None or 0 <= batch['at_most'] < batch['now'], f'{case}: a smaller batch: {batch}')
    check(advice['smallest_budget_bytes'] == summary['peak_bytes'], f'{case}: the limit that would do: {advice}')


def places_are_work(folder):
    """An image that a convolution makes smaller is gone over once: what the positions behind it displace is a share of the work, in which
    the two convolutions do not stand for nearly everything."""
    report = run(tests / 'analysis/data/speech.mlir.gz', 'data=2,model=4', 0, folder / 'speech', '--planner', 'baselines')
    row = next(w for w in report['whole'] if w['dimension'] == 'sequence_2')
    keeps = re.search(r'sequence_2\[.\]@model first \(batch keeps model in (\d+) %', (folder / 'speech/report.txt').read_text())
    check(row['reason'] == 'conflict_lost' and keeps and 30 <= int(keeps.group(1)) <= 70, f'what the positions displace: {keeps} {row}')


def rows_are_prices(folder):
    """Each expert of the table has the step and the memory that its plan has when it is priced by itself: the race gives up early on what
    is hopeless beside one plan, and that is no price beside another."""
    module, mesh = tests / 'models/paper_attention.mlir', 'data=4,model=2'
    for row in run(module, mesh, 0, folder / 'plan', '--planner', 'baselines')['baselines']:
        done = subprocess.run([toast, 'price', str(module), '--mesh', mesh, '--device', 'a100-40', '--baseline', row['name'], '--json'],
                              capture_output=True, text=True)
        price = json.loads(done.stdout) if done.returncode == 0 else {}
        check((price.get('step_ps'), price.get('peak_bytes')) == (row['step_ps'], row['peak_bytes']), f'{row}: priced by itself {price}')


def models(folder):
    for name, arguments in (('wide', (6, 4096, 512, False)), ('mixed', (8, 2048, 4096, True))):
        (folder / f'{name}.mlir').write_text(network(*arguments))
    unlike = [tests / f'analysis/data/{name}.mlir.gz' for name in ('state_space', 'experts_shared', 'registers')]
    return sorted((tests / 'models/small').glob('*.mlir')) + unlike + [tests / 'models/mlp.mlir', tests / 'models/paper_attention.mlir',
                                                              folder / 'wide.mlir', folder / 'mixed.mlir']


def returns(module):
    """the places of the lines that return, of a module that has no locations"""
    text = (gzip.decompress(module.read_bytes()) if module.suffix == '.gz' else module.read_bytes()).decode()
    return {f'line {i}' for i, line in enumerate(text.splitlines(), 1) if line.strip().startswith('return ')}


def sizes_can_be_had(report, case):
    """sizes that would divide a part of a dimension are sizes of the dimension"""
    parts = 0
    for w in report['whole']:
        part = re.match(r'(\d+) of (\d+) = \1 x (\d+) is (?:divided by none|not divided by)', w['sizes'] or '')
        if not part:
            continue
        size, whole, times = (int(x) for x in part.groups())
        if 'sliced out by itself' in w['sizes']:
            check(size * times == whole and 'nearest' not in w['sizes'], f'{case}: sizes of arrays side by side: {w}')
            continue
        nearest = [int(x) for x in re.findall(r'\d+', w['sizes'].split('nearest size', 1)[1].split(';')[0])]
        check(size * times == whole and nearest and all(n % times == 0 for n in nearest), f'{case}: sizes of a part: {w}')
        parts += 1
    return parts


def small_times_are_explained(text, case):
    """a collective of no time is said to be sent together with others; returns how many are"""
    rows = re.findall(r'^(?:all|reduce)_\w+ +\S+ +\d+ +\S+ \wB? +([\d.]+) (ns|ps) ', text, re.M)
    check(not rows or 'sent together with others' in text, f'{case}: {len(rows)} collectives take next to nothing')
    return len(rows)


def judge(report, module, mesh, case):
    sums(report, case, returns(module))
    answers_best(report, case)
    attributes(report, case)
    explains_whole(report, case)
    advises(report, mesh, case)


def read_all(folder):
    reports, moved, put, advised, parts, small = 0, 0, 0, [], 0, 0
    for module in models(folder):
        for mesh in ('data=4', 'data=2,model=2'):
            report = run(module, mesh, 0, folder / 'plan')
            whole = next(b['peak_bytes'] for b in report['baselines'] if b['name'] == 'replicated')
            for share in (None, 0.6, 0.3):
                case = f'{module.stem} {mesh} limit {share or "the device"}'
                if share:
                    report = run(module, mesh, int(whole * share), folder / 'plan')
                judge(report, module, mesh, case)
                parts += sizes_can_be_had(report, case)
                small += small_times_are_explained((folder / 'plan/report.txt').read_text(), case)
                reports += 1
                bytes_, caused = attributes(report, case)
                moved, put = moved + bytes_, put + caused
                if report['if_nothing_fits']:
                    advised.append((module, mesh, report))
    print(f'{reports} reports; {put} of {moved} bytes have a cause with a worth; {len(advised)} do not fit')
    check(reports >= 50 and moved > 0, f'{reports} reports')
    check(parts and small, f'{parts} parts of dimensions that do not divide, {small} collectives that are sent together')
    check(len({module for module, _, _ in advised}) >= 3, f'at least three modules do not fit: {len(advised)}')
    # advice that is followed helps: the limit that the report names is enough
    for module, mesh, report in advised[:6]:
        again = run(module, mesh, int(report['if_nothing_fits']['smallest_budget_bytes'] * ROOM), folder / 'plan')
        check(again['summary']['fits'], f'{module.stem} {mesh}: with the limit that was named: {again["summary"]}')


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as temporary:
        places_are_work(pathlib.Path(temporary))
        rows_are_prices(pathlib.Path(temporary))
        read_all(pathlib.Path(temporary))
    sys.exit(1 if failures else 0)
