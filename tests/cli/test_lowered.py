#!/usr/bin/env python3
# label: unit
# timeout: 120
"""toast prove --lowered: what toast lower wrote is equal in each form; planted errors are different, told with the result's name, the first place and how many
elements; what cannot be read is told by its own file."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
models = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/models/small'
OPTIONS = ['--mesh', 'data=2,model=2', '--baseline', 'fsdp:data+megatron:model']


def check(ok, what):
    if not ok:
        sys.exit(f'failed: {what}')


def run(*args):
    done = subprocess.run([toast, *map(str, args)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def every(pattern, text, replacement, most=0):
    changed, count = re.subn(pattern, replacement, text, count=most)
    check(count > 0, f'{pattern} is in the module')
    return changed


def once(pattern, text, replacement):
    return every(pattern, text, replacement, 1)


PLANTED = {   # edits of a manual or local module
    'groups that meet the wrong devices': lambda t: every(r'\[\[0, 1\], \[2, 3\]\]', t, '[[0, 3], [2, 1]]'),
    'a maximum for a sum': lambda t: once(r'("stablehlo.all_reduce"[^$]*?)stablehlo\.add', t, r'\1stablehlo.maximum'),
    'a sum for a difference': lambda t: once(r'stablehlo\.subtract', t, 'stablehlo.add'),
    'another learning rate': lambda t: once(r'dense<1\.000000e-03> : tensor<f32>', t, 'dense<2.0e-03> : tensor<f32>'),
}

with tempfile.TemporaryDirectory() as scratch:
    model, lowered = models / 't2b.mlir', f'{scratch}/lowered.mlir'
    for form in 'annotated', 'manual', 'local':
        status, out, err = run('lower', model, *OPTIONS, '--form', form, '-o', lowered)
        check(status == 0, err)
        status, out, err = run('prove', model, *OPTIONS, '--lowered', lowered)
        check(status == 0 and out.startswith('equal: ') and 'of each form' not in out, f'{form}: {status} {out} {err}')
    text = pathlib.Path(lowered).read_text()
    for what, edit in PLANTED.items():
        pathlib.Path(lowered).write_text(edit(text))
        status, out, err = run('prove', model, *OPTIONS, '--lowered', lowered)
        told = re.search(r'result \d+ \((params|state)/[\w/]+\) is .* instead of .* at \[\d+(, \d+)*\], \d+ of \d+ elements differ \(error', out)
        check(status == 1 and out.startswith('different: ') and told, f'{what}: {status} {out} {err}')
    status, out, err = run('prove', model, *OPTIONS, '--lowered', lowered, '--json')
    proof = json.loads(out)
    check(status == 1 and proof['status'] == proof['local']['status'] == 'different' and proof['manual']['status'] == 'not_run' and
          proof['manual']['reason'] == 'not given', f'{proof}')
    other = f'{scratch}/other.mlir'
    check(run('lower', models / 'gpt.mlir', '--mesh', 'data=2,model=2', '--baseline', 'batch:data', '--form', 'local', '-o', other)[0] == 0, 'another module')
    status, out, err = run('prove', model, *OPTIONS, '--lowered', other)
    check(status == 1 and 'other arguments or results' in out, f'another module: {status} {out} {err}')
    pathlib.Path(other).write_text('module {\n  nothing\n')
    status, out, err = run('prove', model, *OPTIONS, '--lowered', other)
    check(status == 6 and 'other.mlir:' in err, f'no module: {status} {err}')
    status, out, err = run('prove', model, '--mesh', 'data=2', '--random-plans', 2, '--lowered', other)
    check(status == 2 and '--lowered is one module' in err, f'random plans: {status} {err}')
