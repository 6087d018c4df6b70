#!/usr/bin/env python3
# label: unit
# timeout: 120
"""toast price, lower and prove --cut: a dimension of any plan (an expert's, a list of decisions, a plan.json with decisions or factors, a random one)
cut otherwise, by that and nothing else; refusals say what is wrong."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

toast = os.path.join(os.environ['TOAST_BIN'], 'toast')
model = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/models/small/t2b.mlir'
OPTIONS = ['--mesh', 'data=4,model=2', '--device', 'a100-40']


def check(ok, what):
    if not ok:
        sys.exit(f'failed: {what}')


def run(command, *args, status=0):
    done = subprocess.run([toast, command, model, *args], capture_output=True, text=True)
    check(done.returncode == status, f'toast {command} {args}: status {done.returncode} {done.stderr}')
    return done


def step(*args):
    return json.loads(run('price', *args, '--json').stdout)['step_ps']


# a cut of an expert's plan is the list of its other decisions with the cut before them
listed = step(*OPTIONS, '--decisions', 'ffn@model,batch@data')
check(step(*OPTIONS, '--decisions', 'batch@data', '--cut', 'ffn@model') == listed, 'a cut joins a list, first')
check(step(*OPTIONS, '--decisions', 'batch@data,ffn@model', '--cut', 'ffn@') == step(*OPTIONS, '--decisions', 'batch@data'), 'a dimension left whole')
check(step(*OPTIONS, '--baseline', 'batch:data', '--cut', 'ffn@data+model, batch@') == step(*OPTIONS, '--decisions', 'ffn@data,ffn@model'),
      'several cuts, over several axes')
check(step(*OPTIONS, '--random-plan', '7', '--cut', 'batch@model') != step(*OPTIONS, '--random-plan', '7'), "a random plan's factors are cut, too")

# a list may be longer than what a cut can edit, as long as none is asked for
long = ','.join(['batch@data'] * 70)
check(step(*OPTIONS, '--decisions', long) == step(*OPTIONS, '--decisions', 'batch@data'), 'a long list')
refused = subprocess.run([toast, 'price', model, *OPTIONS, '--decisions', long, '--cut', 'ffn@model'], capture_output=True, text=True)
check(refused.returncode == 2 and 'at most 64 decisions' in refused.stderr, f'a long list to be cut: {refused.returncode} {refused.stderr}')

with tempfile.TemporaryDirectory() as scratch:
    for planner in 'propagate', 'segments':
        out = f'{scratch}/{planner}'
        done = subprocess.run([toast, 'plan', model, *OPTIONS, '--planner', planner, '-o', out, '--quiet', '--rollouts', '20'], capture_output=True, text=True)
        check(done.returncode == 0, done.stderr)
        plan = json.loads(pathlib.Path(f'{out}/plan.json').read_text())
        cuts = {dim: '+'.join(axes) for argument in plan['arguments'] for dims, names in zip(argument['dims'], argument['groups'])
                for dim in names[:1] if len(names) == 1 and (axes := dims)}
        whole = step('--plan', f'{out}/plan.json')
        check(plan['machine'] and whole == json.loads(pathlib.Path(f'{out}/report.json').read_text())['summary']['step_ps'], f'{planner}: its own price')
        for dim in list(cuts)[:2]:
            check(step('--plan', f'{out}/plan.json', '--cut', f'{dim}@') != whole, f'{planner}: {dim} left whole costs something else')

proved = run('prove', '--mesh', 'data=4,model=2', '--baseline', 'fsdp:data', '--cut', 'ffn@model')
check('equal' in proved.stdout + proved.stderr, 'a plan with a cut is proved')
module = run('lower', '--mesh', 'data=4,model=2', '--decisions', 'batch@data', '--cut', 'ffn@model', '--form', 'annotated').stdout
check(module == run('lower', '--mesh', 'data=4,model=2', '--decisions', 'ffn@model,batch@data', '--form', 'annotated').stdout, 'lowered alike')

for cut, status, says in (('nothing@data', 2, "no dimension named 'nothing'"), ('ffn@pipe', 2, "no axis 'pipe'"), ('ffn', 2, 'DIMENSION@AXIS'), ('@data', 2, 'DIMENSION@AXIS'),
                          ('ffn@data+data', 2, 'cannot be cut'), ('ffn@data+', 2, 'no axis'), (','.join(f'x{i}@data' for i in range(70)), 2, 'at most 64')):
    refused = subprocess.run([toast, 'price', model, *OPTIONS, '--cut', cut], capture_output=True, text=True)
    check(refused.returncode == status and says in refused.stderr, f'--cut {cut}: {refused.returncode} {refused.stderr}')
