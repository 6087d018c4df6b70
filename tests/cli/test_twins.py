#!/usr/bin/env python3
# label: unit
# timeout: 240
"""One model lowered by JAX and by torch (tests/support/generate_twins.py) gets one plan: of the usual layouts the same one is best, or, of
one of both, as good as the best (they reshape in other places, so that what hides collectives differs). Where the race (which has more)
ends alike, every argument is sharded alike, dimension by dimension; logits are split alike in any case, tokens in what `auto` finds, too.
Both have the same segments, of the same strategies."""
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
EQUAL = 1.01   # .. or, of one of both, as good as the best
USUAL = re.compile(r'((batch|fsdp|zero[12]|megatron|sequence(\[1\])?):\w+\+?)+')   # without groups alone
# mesh, limit a device, planner
CASES = [('data=8', None, 'baselines'), ('data=4,model=4', 48 * MIB, 'baselines'), ('data=8,model=8', 24 * MIB, 'baselines'),
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
    alike = True
    if planner == 'baselines':
        usual = [[row for row in report['baselines'] if row['fits'] and USUAL.fullmatch(row['name'])] for report in (of_jax, of_torch)]
        costs = [{row['name']: row['cost'] for row in rows} for rows in usual]
        first = [min(of, key=of.get) for of in costs]
        check(any(costs[1 - i].get(first[i], 1e9) <= EQUAL * costs[1 - i][first[1 - i]] for i in range(2)), f'{where}: {first}')
        winners = [report['summary']['found_by'] for report in (of_jax, of_torch)]
        alike = winners[0] == winners[1]
        if alike:
            check(shardings(jax['arguments']) == shardings(torch['arguments']), f'{where}: arguments')
    data = [[row for row in plan['arguments'] if row['role'] == 'data'] for plan in (jax, torch)]
    check(len(data[0]) == len(data[1]) == 1 and (not alike or shardings(data[0]) == shardings(data[1])), f'{where}: tokens')
    check(shardings(jax['results']) == shardings(torch['results']), f'{where}: logits')
    check(any(axes for row in jax['arguments'] for axes in row['dims']), f'{where}: something is split')
