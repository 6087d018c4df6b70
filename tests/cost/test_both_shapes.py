#!/usr/bin/env python3
# label: unit
"""What libtpu stores in two shapes, because it is read as it is and transposed, and with it what that is computed of: peaks beside
arguments and results, worked out by hand. Each array has 32 MiB. XLA:GPU stores all of them once."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/support'))
from prices import price_of   # noqa: E402

MIB = 1 << 20
LARGE, TURNED, NARROW, SMALL = 'tensor<2048x4096xf32>', 'tensor<4096x2048xf32>', 'tensor<4096x8xf32>', 'tensor<2048x8xf32>'
# s is read by products before and behind g, which is computed of it
TEXT = """func.func @main(%x: tensor<2048x1024xf32>, %w: tensor<1024x4096xf32>, %v: NARROW, %gate: LARGE, %one: LARGE, %two: LARGE) ->
     (SMALL, tensor<8x8xf32>, NARROW) {
  %dot = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2048x1024xf32>, tensor<1024x4096xf32>) -> LARGE
  %s = stablehlo.add %dot, %gate : LARGE
  %first = stablehlo.dot_general %s, %v, contracting_dims = [1] x [0] : (LARGE, NARROW) -> SMALL
  %mid = stablehlo.dot_general %first, %first, contracting_dims = [0] x [0] : (SMALL, SMALL) -> tensor<8x8xf32>
  %row = stablehlo.dot_general %v, %mid, contracting_dims = [1] x [0] : (NARROW, tensor<8x8xf32>) -> NARROW
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %few = stablehlo.reduce(%row init: %zero) applies stablehlo.add across dimensions = [1] : (NARROW, tensor<f32>) -> tensor<4096xf32>
  %wide = stablehlo.broadcast_in_dim %few, dims = [1] : (tensor<4096xf32>) -> LARGE
  %h = stablehlo.multiply %s, %wide : LARGE
  %i = stablehlo.multiply %h, %one : LARGE
  %j = stablehlo.add %i, %two : LARGE
  %g = stablehlo.multiply %j, %gate : LARGE
  %along = stablehlo.dot_general %g, %v, contracting_dims = [1] x [0] : (LARGE, NARROW) -> SMALL
READERS
  %sum = stablehlo.add %along, %across : SMALL
  %square = stablehlo.dot_general %sum, %sum, contracting_dims = [0] x [0] : (SMALL, SMALL) -> tensor<8x8xf32>
  %last = stablehlo.dot_general %s, %sum, contracting_dims = [0] x [0] : (LARGE, SMALL) -> NARROW
  return %sum, %square, %last : SMALL, tensor<8x8xf32>, NARROW
}
"""
PLAIN = '  %across = stablehlo.dot_general %g, %v, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (LARGE, NARROW) -> SMALL'
TURN = ('  %turned = stablehlo.transpose %g, dims = [1, 0] : (LARGE) -> TURNED\n'
        '  %across = stablehlo.dot_general %turned, %v, contracting_dims = [0] x [0] : (TURNED, NARROW) -> SMALL')
CASES = [  # how g is read, MiB stored beside arguments and results on a TPU and on a GPU
    ('as it is', PLAIN, 64, 64),
    ('and transposed: both shapes of it, made of both shapes of what it is computed of', TURN, 128, 64),
]

for name, read, tpu, gpu in CASES:
    text = TEXT.replace('READERS', read)
    for word, kind in (('LARGE', LARGE), ('TURNED', TURNED), ('NARROW', NARROW), ('SMALL', SMALL)):
        text = text.replace(word, kind)
    for device, expected in (('tpu-v5p', tpu), ('h100', gpu)):
        price = price_of(text, device)
        found = (price['peak_bytes'] - price['argument_bytes'] - price['output_bytes']) / MIB
        if not expected <= found <= expected * 1.2 + 1:   # a TPU's heap idles by a fifth at most
            sys.exit(f'{name} on {device}: {found} MiB, not {expected}')
print(f'{len(CASES)} modules')
