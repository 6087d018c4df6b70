#!/usr/bin/env python3
# label: unit
# timeout: 240
"""One model lowered by JAX and by torch (tests/support/generate_twins.py) gets one plan: of the usual layouts the same one is
best, and where the race (which has more) ends alike, every argument is sharded alike, dimension by dimension; what `auto`
finds splits tokens and logits alike. Both have the same segments, of the same strategies."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
models = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/models/twins'
MIB = 1 << 20
USUAL = re.compile(r'((batch|fsdp|zero[12]|megatron|sequence(\[1\])?):\w+\+?)+')   # without groups alone
# mesh, limit a device, planner
CASES = [('data=8', None, 'baselines'), ('data=4,model=4', 44 * MIB, 'baselines'), ('data=8,model=8', 24 * MIB, 'baselines'),
         ('data=8', None, 'auto')]


def check(ok, what):
    if not ok:
        sys.exit(f'failed: {what}')


def plan(framework, mesh, limit, planner):
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([toast, 'plan', models / f'{framework}.mlir', '--mesh', mesh, '--device', 'a100-40', '--planner', planner,
                               '--rollouts', '300', '--outputs', 'plan,report', '--quiet', '-o', scratch,
                               *(['--memory-limit', str(limit)] if limit else [])], capture_output=True, text=True)
        check(done.returncode == 0, f'{framework} on {mesh}: status {done.returncode} {done.stderr}')
        return [json.loads((pathlib.Path(scratch) / f'{name}.json').read_text()) for name in ('plan', 'report')]


def shardings(rows):
    """how often each (dimension's size, its axes) is; weights of torch are JAX's transposed, so dimensions go by size"""
    found = collections.Counter()
    for row in rows:
        sizes = row['type'].split('[')[1].rstrip(']').split(',')
        found[tuple(sorted((int(size), tuple(sorted(axes))) for size, axes in zip(sizes, row['dims'], strict=True)))] += 1
    return found


def segments(framework):
    done = subprocess.run([toast, 'analyze', models / f'{framework}.mlir', '--mesh', 'data=4', '--blocks', '--json'], capture_output=True, text=True)
    check(done.returncode == 0, done.stderr)
    found = json.loads(done.stdout)
    # the lookup apart: torch's tokens are in one dimension, JAX's in two
    blocks = [block['strategies'] for block in found['blocks'][1:]]
    return blocks, found['segments'], [kind['configurations'] for kind in found['kinds']]


check(segments('jax') == segments('torch'), f"{segments('jax')} {segments('torch')}")
for mesh, limit, planner in CASES:
    (jax, of_jax), (torch, of_torch) = (plan(framework, mesh, limit, planner) for framework in ('jax', 'torch'))
    where = f'{mesh}, {limit}, {planner}'
    if planner == 'baselines':
        usual = [[row for row in report['baselines'] if row['fits'] and USUAL.fullmatch(row['name'])] for report in (of_jax, of_torch)]
        first = [min(rows, key=lambda row: row['cost'])['name'] for rows in usual]
        check(first[0] == first[1], f'{where}: {first}')
        winners = [report['summary']['found_by'] for report in (of_jax, of_torch)]
        if winners[0] == winners[1]:
            check(shardings(jax['arguments']) == shardings(torch['arguments']), f'{where}: arguments')
    data = [[row for row in plan['arguments'] if row['role'] == 'data'] for plan in (jax, torch)]
    check(len(data[0]) == len(data[1]) == 1 and shardings(data[0]) == shardings(data[1]), f'{where}: tokens')
    check(shardings(jax['results']) == shardings(torch['results']), f'{where}: logits')
    check(any(axes for row in jax['arguments'] for axes in row['dims']), f'{where}: something is split')
