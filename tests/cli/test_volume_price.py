#!/usr/bin/env python3
# label: unit
# timeout: 120
"""toast plan --price volume: collectives take their bytes over the link, products their FLOPs, nothing else takes time; plan.json says so, and
an unknown price is refused."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
mlp = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/models/mlp.mlir'
BYTES, DEVICES, GIGABYTES_PER_S = 256 * 16 * 4, 8, 10.0  # mlp's result in f32, reduced by a ring
FLOPS = 2 * 256 * 32 * 64 + 2 * 256 * 64 * 16


def check(ok, what):
    if not ok:
        sys.exit(f'failed: {what}')


def plan(folder, price, pins=(), status=0):
    request = pathlib.Path(folder) / 'request.json'
    link = {'gigabytes_per_s': GIGABYTES_PER_S, 'latency_us': 3}
    request.write_text(json.dumps({'mesh': {'axes': [{'name': 'model', 'size': DEVICES, 'link': link}]}, 'device': 'a100-40',
                                   'planner': 'propagate'}))
    done = subprocess.run([toast, 'plan', mlp, '--request', request, '-o', pathlib.Path(folder) / 'out', '--quiet', *(['--price', price] if price else []),
                           *(part for pin in pins for part in ('--pin', pin))], capture_output=True, text=True)
    check(done.returncode == status, f'--price {price}: status {done.returncode} {done.stderr}')
    return {name: json.loads((pathlib.Path(folder) / 'out' / f'{name}.json').read_text()) for name in ('plan', 'report')} if status == 0 else done.stderr


with tempfile.TemporaryDirectory() as scratch:
    megatron = ['*0=-,-', '*1=-,model', '*2=model,-']
    volume, full = plan(scratch, 'volume', megatron), plan(scratch, None, megatron)
    check(volume['plan']['machine'].get('price') == 'volume' and 'price' not in full['plan']['machine'], 'plan.json says which price')
    check(volume['plan']['hash'] == full['plan']['hash'], 'the plan is pinned')
    rows = [row for row in volume['report']['collectives'] if row['kind'] == 'all_reduce']
    check(len(rows) == 1, f'one all_reduce: {volume["report"]["collectives"]}')
    achieved = volume['plan']['machine']['links'][0]['gigabytes_per_s']
    check(0 < achieved <= GIGABYTES_PER_S, 'the request'"'"'s link, as far as it is achieved')
    ring_ps = 2 * (DEVICES - 1) / DEVICES * BYTES / (achieved * 1e9) * 1e12
    time = volume['report']['time']
    check(abs(time['communication_ps'] / ring_ps - 1) < 0.01, f'a ring of {BYTES} bytes takes {ring_ps:.0f} ps, not {time["communication_ps"]}')
    check(full['report']['time']['communication_ps'] > ring_ps + 3e6, 'the full price has latencies')
    check(volume['report']['summary']['step_ps'] < full['report']['summary']['step_ps'], 'a volume is less than a full price')
    whole, split = (plan(scratch, 'volume', pins)['report']['summary']['step_ps'] for pins in (['*0=-,-', '*1=-,-', '*2=-,-'], ['*0=model,-', '*1=-,-', '*2=-,-']))
    check(abs(whole / split / DEVICES - 1) < 0.01, f'products count: unsharded {whole} ps, on {DEVICES} devices {split} ps')
    refused = plan(scratch, 'bytes', status=2)
    check('price' in refused and 'full' in refused and 'volume' in refused, refused)
