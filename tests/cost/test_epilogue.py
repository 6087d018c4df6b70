#!/usr/bin/env python3
# label: unit
"""Where libtpu's kernels store what is computed from a product instead of the product: peaks beside arguments and results, worked out by hand.
XLA:GPU stores the product. Each array has 32 MiB."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/support'))
from prices import price_of   # noqa: E402

MIB = 1 << 20
LARGE = 'tensor<2048x4096xf32>'
ARGUMENTS = f'%dy: tensor<2048x1024xf32>, %w: tensor<1024x4096xf32>, %gate: {LARGE}'
PRODUCT = f'%dh = stablehlo.dot_general %dy, %w, contracting_dims = [1] x [0] : (tensor<2048x1024xf32>, tensor<1024x4096xf32>) -> {LARGE}'
SORTED = (f'%late = "stablehlo.sort"(%gate) <{{dimension = 1 : i64}}> ({{\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n'
          '    %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n'
          f'    stablehlo.return %less : tensor<i1>\n  }}) : ({LARGE}) -> {LARGE}')
ENDS = {'multiply': '%x', 'add': '%y', 'subtract': '%z'}
CASES = [  # before the product, behind it, how many read it beside which value; MiB stored beside arguments and results, TPU and GPU
    ('one reader', [], [], 1, '%gate', 0, 32),
    ('two readers', [], [], 2, '%gate', 0, 32),
    ('three results are more than a kernel stores', [], [], 3, '%gate', 32, 32),
    ('what is read beside it is there before', [SORTED], [], 2, '%late', 32, 64),
    ('.. or comes later: then the product waits for it', [], [SORTED], 2, '%late', 64, 64),
]


def stored(before, behind, readers, other, device):
    ends = list(ENDS.items())[:readers]
    lines = [*before, PRODUCT, *behind, *(f'{name} = stablehlo.{op} %dh, {other} : {LARGE}' for op, name in ends)]
    kinds = ', '.join([LARGE] * readers)
    text = f'func.func @main({ARGUMENTS}) -> ({kinds}) {{\n' + ''.join(f'  {line}\n' for line in lines)
    text += f'  return {", ".join(name for _, name in ends)} : {kinds}\n}}\n'
    price = price_of(text, device)
    return (price['peak_bytes'] - price['argument_bytes'] - price['output_bytes']) / MIB


for name, before, behind, readers, other, tpu, gpu in CASES:
    for device, expected in (('tpu-v5p', tpu), ('h100', gpu)):
        found = stored(before, behind, readers, other, device)
        if not expected <= found <= expected * 1.03:      # a TPU's heap idles a little
            sys.exit(f'{name} on {device}: {found} MiB, not {expected}')
print(f'{len(CASES)} modules')
