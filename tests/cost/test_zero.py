#!/usr/bin/env python3
# label: unit
# timeout: 60
"""ZeRO-1, 2 and 3 by name: the memory of each is the textbook's (docs/report.md has the formulas) on generated networks with
Adam, in float32 and in mixed precision; they reduce as the textbook does, and mean what the module means."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
sys.path.insert(0, str(pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/support'))
from networks import network   # noqa: E402

failures = []


def check(ok, message):
    if not ok:
        failures.append(message)
        print('FAILED', message)


def price(module, devices, name):
    run = subprocess.run([toast, 'price', module, '--mesh', f'data={devices}', '--device', 'a100-40', '--baseline', name, '--json'],
                         capture_output=True, text=True)
    check(run.returncode == 0, f'{name}: {run.stderr}')
    return json.loads(run.stdout)


def kinds(priced):
    return {c['kind'] for c in priced['collectives'] if c['bytes'] > 1 << 16}


MIB = 1 << 20
BUCKET = 30 * MIB  # results of reduce_scatters that XLA combines: their operands, N times as large, wait for the last of them
AT_ONCE = 4        # matrices that exist beside the states while one layer is computed or updated
WINDOW = 14        # weights that a walk which gathers again holds: those of 12 products, and the next


def judge(module, mixed, layers, width, devices):
    psi = layers * width * width
    # bytes a parameter: of the parameter, of its gradient, of the optimizer's state (the paper's K)
    p, g, k = (2, 2, 12) if mixed else (4, 4, 8)
    textbook = {'batch:data': (p + g + k, 0, {'all_reduce'}), 'zero1:data': (p + g + k / devices, 0, {'all_reduce', 'all_gather'}),
                'zero2:data': (p + (g + k) / devices, BUCKET * devices, {'reduce_scatter', 'all_gather'}),
                'zero3:data+regather:data': ((p + g + k) / devices, BUCKET * devices + WINDOW * p * width * width,
                                             {'reduce_scatter', 'all_gather'})}
    peaks = {}
    for name, (states, waiting, reduces) in textbook.items():
        got = price(module, devices, name)
        peaks[name] = got['program_peak_bytes']   # a GPU's compiler hides gathers and holds more (docs/price.md)
        beside = peaks[name] - states * psi
        room = waiting + AT_ONCE * width * width * (4 if mixed else p)
        print(f'{"mixed" if mixed else "float32"} {layers} x {width}, N = {devices}, {name}: {peaks[name] / psi:.3f} bytes a parameter, '
              f'textbook {states:.3f}')
        check(-0.01 * states * psi <= beside <= room, f'{name}: {beside} bytes beside the states, at most {room}')
        check(kinds(got) == reduces, f'{name}: {kinds(got)}, not {reduces}')
        check(waiting or beside < 0.025 * states * psi, f'{name}: {beside} bytes beside {states * psi} of states')
    check(list(peaks.values()) == sorted(peaks.values(), reverse=True), f'each stage takes less than the one before: {peaks}')
    # the states alone: what the arguments take needs no model of what is alive when
    for name, stored in (('batch:data', p + k), ('zero1:data', p + k / devices), ('zero2:data', p + k / devices),
                         ('zero3:data', (p + k) / devices)):
        got = price(module, devices, name)['argument_bytes'] / psi
        check(abs(got - stored) < 0.01, f'{name} stores {got:.3f} bytes a parameter, not {stored}')


def proves(folder):
    """what zero1 emits means what the module means, in all forms, over two axes as well"""
    module = str(folder / 'small.mlir')
    pathlib.Path(module).write_text(network(2, 8, 16, False))
    for mesh, name in (('data=4', 'zero1:data'), ('data=2,model=2', 'zero1:data+zero1:model'),
                       ('data=2,model=2', 'zero1:data+megatron:model'), ('data=2,model=2', 'zero1:data+fsdp:model')):
        run = subprocess.run([toast, 'prove', module, '--mesh', mesh, '--baseline', name], capture_output=True, text=True)
        check(run.returncode == 0, f'{mesh} {name}: {run.returncode} {run.stdout} {run.stderr}')
    one, other = (price(module, 4, name)['peak_bytes'] for name in ('zero3:data', 'fsdp:data'))
    check(one == other, 'zero3 is fsdp')


with tempfile.TemporaryDirectory() as temporary:
    path = pathlib.Path(temporary)
    for mixed in (False, True):
        for layers in (24, 48):
            (path / 'step.mlir').write_text(network(layers, 4096, 16, mixed))
            for devices in (4, 16):
                judge(str(path / 'step.mlir'), mixed, layers, 4096, devices)
    proves(path)
sys.exit(1 if failures else 0)
