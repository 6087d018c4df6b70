#!/usr/bin/env python3
# label: unit
# timeout: 240
"""What a reader may believe of a report, over many models, meshes and memory limits: the answer is the best that fits of
all that the report names; nearly all bytes moved are put down to a decision with its worth; every large dimension that is left whole has
its reason; where nothing fits there is advice that can be followed."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
tests = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests'
sys.path.insert(0, str(tests / 'support'))
from networks import network   # noqa: E402

EQUAL = 1e-9        # costs nearer than this are equal: the text of a report has nine digits
ATTRIBUTED = 0.95   # of the bytes moved
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
        if not row['fits']:
            continue
        check(answer['fits'] and answer['cost'] <= row['cost'] * (1 + EQUAL), f'{case}: {name} fits and costs {row["cost"]}: {answer}')
        if abs(row['cost'] - answer['cost']) <= EQUAL * row['cost']:
            check(answer['peak_bytes'] <= row['peak_bytes'], f'{case}: {name} costs the same and takes {row["peak_bytes"]}: {answer}')


def attributes(report, case):
    """(bytes, bytes put down to something that has a worth)"""
    worth = {d['decision'] for d in report['decisions']} | {c['choice'] for c in report['choices'] if c['worth_ps'] is not None}
    moved = sum(c['bytes'] for c in report['collectives'])
    put = sum(c['bytes'] for c in report['collectives'] if c['because'] in worth)
    check(put >= ATTRIBUTED * moved, f'{case}: {put} of {moved} bytes have a cause with a worth')
    return moved, put


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name, arguments in (('wide', (6, 4096, 512, False)), ('mixed', (8, 2048, 4096, True))):
            (folder / f'{name}.mlir').write_text(network(*arguments))
        modules = sorted((tests / 'models/small').glob('*.mlir')) + [tests / 'models/mlp.mlir', tests / 'models/paper_attention.mlir',
                                                                     folder / 'wide.mlir', folder / 'mixed.mlir']
        import time
        for module in modules:
            for mesh in ('data=4', 'data=2,model=2'):
                limit = 0
                for share in (None, 0.5, 0.2):
                    start = time.time()
                    report = run(module, mesh, limit and int(limit * share), folder / 'plan')
                    limit = limit or next(b['peak_bytes'] for b in report['baselines'] if b['name'] == 'replicated')
                    case = f'{module.stem} {mesh} {share}'
                    answers_best(report, case)
                    attributes(report, case)
                    print(case, report['summary']['found_by'], report['summary']['fits'], len(report['collectives']), len(report['whole']), round(time.time() - start, 2))
    sys.exit(1 if failures else 0)
