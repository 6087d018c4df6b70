#!/usr/bin/env python3
# label: unit
"""Softmax' probabilities that two products read: stored on a TPU without bf16 arithmetic (v5p) where the gradient of what they weigh
is read by one weight's gradient alone; not where it goes on, not on v6e, not where one product reads them. In bytes beside arguments
and results, of which the scores are one; an array of 16 x 256 x 512 has 4 MiB."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/support'))
from prices import price_of   # noqa: E402

MIB = 1 << 20
SCORES, ROWS, OUT, VALUES, INPUT = ('tensor<16x256x512xbf16>', 'tensor<16x256xbf16>', 'tensor<16x256x128xbf16>', 'tensor<16x512x128xbf16>',
                                    'tensor<16x512x256xbf16>')
WEIGHT = 'tensor<256x128xbf16>'
FORWARD = f"""
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : ({OUT}, {VALUES}) -> {SCORES}
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %r = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [2] : ({SCORES}, tensor<bf16>) -> {ROWS}
  %b = stablehlo.broadcast_in_dim %r, dims = [0, 1] : ({ROWS}) -> {SCORES}
  %p = stablehlo.divide %s, %b : {SCORES}
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ({SCORES}, {VALUES}) -> {OUT}"""
BACKWARD = f"""
  %g = stablehlo.dot_general %p, %o, batching_dims = [0] x [0], contracting_dims = [1] x [1] : ({SCORES}, {OUT}) -> {VALUES}
  %w = stablehlo.dot_general %y, %g, contracting_dims = [0, 1] x [0, 1] : ({INPUT}, {VALUES}) -> {WEIGHT}"""
ONWARD = f"""
  %n = stablehlo.dot_general %g, %u, contracting_dims = [2] x [1] : ({VALUES}, {WEIGHT}) -> {INPUT}"""
CASES = [   # body, results, stored on v5p beyond what v6e stores
    ('into a weight alone', FORWARD + BACKWARD, (('%s', SCORES), ('%o', OUT), ('%w', WEIGHT)), 4 * MIB),
    ('onward, too', FORWARD + BACKWARD + ONWARD, (('%s', SCORES), ('%o', OUT), ('%w', WEIGHT), ('%n', INPUT)), 0),
    ('nowhere', FORWARD, (('%s', SCORES), ('%o', OUT)), 0),
]
ARGUMENTS = f'%q: {OUT}, %k: {VALUES}, %v: {VALUES}, %y: {INPUT}, %u: {WEIGHT}'


def stored(body, results, device):
    names, types = zip(*results)
    price = price_of(f'func.func @main({ARGUMENTS}) -> ({", ".join(types)}) {{{body}\n  return {", ".join(names)} : {", ".join(types)}\n}}\n', device)
    return price['peak_bytes'] - price['argument_bytes'] - price['output_bytes']


for name, body, results, more in CASES:
    found = stored(body, results, 'tpu-v5p') - stored(body, results, 'tpu-v6e')
    if not more <= found <= more * 1.03:      # a TPU's heap idles a little
        sys.exit(f'{name}: {found} bytes, not {more}')
print(f'{len(CASES)} modules')
