#!/usr/bin/env python3
# label: unit
# timeout: 120
"""toast analyze: JSON with the promised keys, the dimension graph, decisions with a mesh, and refusals."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

toast = os.environ['TOAST_BIN'] + '/toast'
models = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/models'


def run(*args):
    return subprocess.run([toast, 'analyze', *map(str, args)], capture_output=True, text=True)


def check(ok, what):
    if not ok:
        sys.exit(f'failed: {what}')


for name in ['mlp.mlir', 'paper_attention.mlir', 'small/t2b.mlir', 'small/t2b.loc.mlir.gz', 'itx.mlir.gz']:
    done = run(models / name, '--json', '--mesh', 'data=4,model=2')
    check(done.returncode == 0, f'{name}: {done.stderr}')
    found = json.loads(done.stdout)
    for key in ['operations', 'values', 'names', 'colors', 'conflicts', 'sets', 'classes', 'groups', 'arguments',
                'decisions', 'baselines']:
        check(key in found, f'{name}: no {key}')
    labels = {g['label'] for g in found['groups']}
    check(len(labels) == len(found['groups']), f'{name}: labels repeat')
    names = [a['name'] for a in found['arguments']]
    check(len(set(names)) == len(names), f'{name}: argument names repeat')
    for argument in found['arguments']:
        check(argument['role'] in ('parameter', 'optimizer', 'data', 'cache'), argument)
        check(all(g in labels for d in argument['dims'] for g in d['groups']), argument)

# positions of a text from which a loss takes the target's score are no edges of a graph; a graph's are
for module, named in ((models.parent / 'analysis/data/positions.mlir.gz', 'sequence'),
                      (models.parent / 'analysis/data/positions_shifted.mlir.gz', 'sequence'), (models / 'small/gns.mlir', 'edges')):
    labels = {g['label'] for g in json.loads(run(module, '--json').stdout)['groups']}
    check(named in labels and (named == 'edges' or 'edges' not in labels), f'{module.name}: {sorted(labels)}')

loc = json.loads(run(models / 'small/t2b.loc.mlir.gz', '--json').stdout)
check(loc['arguments'][0]['name'] == 'params/embed' and loc['arguments'][-1]['name'] == 'batch/1', 'names by location')

with tempfile.TemporaryDirectory() as scratch:
    dot = pathlib.Path(scratch) / 'graph.dot'
    check(run(models / 'paper_attention.mlir', '--dot', dot).returncode == 0, '--dot')
    text = dot.read_text()
    check(text.count('color=red, constraint=false') == 5 and text.count('[label=') == 17, 'figure 5d: 5 conflicts, 17 names')
    bad = pathlib.Path(scratch) / 'bad.mlir'
    bad.write_text('func.func @main() {\n  %0 = stablehlo.add %a, %b : tensor<4xf32>\n  return\n}\n')
    done = run(bad)
    check(done.returncode == 6 and ':2:' in done.stderr, f'undefined value: {done.returncode} {done.stderr}')
    bad.write_text('func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n  return %a : tensor<?xf32>\n}\n')
    check(run(bad).returncode == 6, 'dynamic dimension')

# gradients of jax.nn.dot_product_attention alone, without a loss: weights and input change places where the sum over the keys'
# positions is taken for one over a hidden layer's features
data = pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/analysis/data'
for name in 'sum', 'square', 'grouped':
    found = json.loads(run(data / f'attention_gradient_{name}.mlir', '--json', '--mesh', 'data=4,model=2').stdout)
    *weights, given = found['arguments']
    check(all(a['role'] == 'parameter' for a in weights) and given['role'] == 'data', f'{name}: {[a["role"] for a in found["arguments"]]}')
    check([d['groups'] for d in given['dims']][:2] == [['batch'], ['sequence']], f'{name}: {given}')
    check(not any('batch' in d['groups'] for a in weights for d in a['dims']), f'{name}: a batch in a weight')
    check('fsdp:data' in found['baselines'], f'{name}: {found["baselines"]}')

# two towers that donate nothing, with positions that are learnt: a table of positions has a dimension of the examples, and is a weight
# with moments all the same (left out, its new value took the backward pass for forward, and the batch for a sequence)
found = json.loads(run(data / 'retrieval.mlir.gz', '--json', '--mesh', 'data=4,model=2').stdout)
names = {a['name']: a for a in found['arguments']}
check([a['role'] for a in found['arguments']].count('data') == 2, f'roles: {[(n, a["role"]) for n, a in names.items()]}')
for tower in 'item', 'query':
    check(names[f'params/{tower}/pos']['role'] == 'parameter' and names[f'state/1/0/mu/{tower}/pos']['role'] == 'optimizer', tower)
check(all(d['groups'][-1].startswith('batch') for a in found['arguments'] if a['role'] == 'data' for d in a['dims'][:1]), names)
check('fsdp:data' in found['baselines'] and 'zero2:data+megatron:model' in found['baselines'], found['baselines'])

check(run().returncode == 2, 'no module')
check(run(models / 'mlp.mlir', '--mesh', 'a=0').returncode == 2, 'zero axis')
check(run(models / 'mlp.mlir', '--nothing').returncode == 2, 'unknown option')
check(run('/nonexistent.mlir').returncode != 0, 'no such file')
