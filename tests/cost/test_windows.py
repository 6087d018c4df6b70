#!/usr/bin/env python3
# label: unit
"""What libtpu stores because a convolution reads it, in bytes beside arguments and results, worked out by hand: what it reads with
strides (no bf16 arithmetic: v5p, not v6e) or as a part of a concatenation, or a pooling reads, and what repeats inner rows of something, behind a
concatenation, too. XLA:GPU stores what a convolution reads whatever it is. Each array of 64 x 64 pixels has 32 MiB."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/support'))
from prices import price_of   # noqa: E402

MIB = 1 << 20


def image(channels=128, pixels=64):
    return f'tensor<32x{pixels}x{pixels}x{channels}xbf16>'


def convolved(name, of, weights, channels, stride=1):
    out, wide = image(pixels=64 // stride), f'tensor<3x3x{channels}x128xbf16>'
    return (f'{name} = "stablehlo.convolution"(%{of}, %{weights}) <{{batch_group_count = 1 : i64, dimension_numbers = '
            '#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, '
            f'padding = dense<{"[[0, 1], [0, 1]]" if stride > 1 else 1}> : tensor<2x2xi64>, rhs_dilation = array<i64: 1, 1>, '
            f'window_strides = array<i64: {stride}, {stride}>}}> : ({image(channels)}, {wide}) -> {out}')


FIRST = [convolved('%y', 'x', 'k', 128), f'%s = stablehlo.logistic %y : {image()}', f'%a = stablehlo.multiply %y, %s : {image()}']
JOINED = f'%j = stablehlo.concatenate %a, %x, dim = 3 : ({image()}, {image()}) -> {image(256)}'
POOLED = ['%init = stablehlo.constant dense<0xFF80> : tensor<bf16>',
          '%z = "stablehlo.reduce_window"(%a, %init) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({\n'
          '  ^bb0(%l: tensor<bf16>, %r: tensor<bf16>):\n    %m = stablehlo.maximum %l, %r : tensor<bf16>\n    stablehlo.return %m : tensor<bf16>\n'
          f'  }}) : ({image()}, tensor<bf16>) -> {image(pixels=32)}']
CASES = [  # lines behind the first convolution, how many pixels a side the result has; MiB stored on v5p and v6e
    # y is a result, so what is stored is the activation alone
    ('read as it is', [convolved('%z', 'a', 'k', 128)], 64, 0, 0),
    ('with strides', [convolved('%z', 'a', 'k', 128, 2)], 32, 32, 0),
    ('pooled', POOLED, 32, 32, 32),
    ('in a concatenation', [JOINED, convolved('%z', 'j', 'w', 256)], 64, 32, 32),
]


def stored(lines, pixels, device):
    text = f'func.func @main(%x: {image()}, %k: tensor<3x3x128x128xbf16>, %w: tensor<3x3x256x128xbf16>) -> ({image()}, {image(pixels=pixels)}) {{\n'
    text += ''.join(f'  {line}\n' for line in FIRST + lines) + f'  return %y, %z : {image()}, {image(pixels=pixels)}\n}}\n'
    price = price_of(text, device)
    return (price['peak_bytes'] - price['argument_bytes'] - price['output_bytes']) / MIB


for name, lines, pixels, v5p, v6e in CASES:
    for device, expected in (('tpu-v5p', v5p), ('tpu-v6e', v6e)):
        found = stored(lines, pixels, device)
        if not expected <= found <= expected * 1.03:      # a TPU's heap idles a little
            sys.exit(f'{name} on {device}: {found} MiB, not {expected}')
print(f'{len(CASES)} modules')
