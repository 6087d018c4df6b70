#!/usr/bin/env python3
# label: unit
"""Loops on a TPU, in MiB beside arguments and results, by hand. Stacked weights that a loop converts slice by slice are converted as a whole before
it, once for two loops that read the same (16 for a stack of 32), unless something reads a slice as it is; a parameter whose new value is
gathered into its buffer is copied before the loop that reads it."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/support'))
from prices import price_of   # noqa: E402

MIB = 1 << 20
ROWS, WIDE, NARROW, STACK = 'tensor<256x1024xbf16>', 'tensor<1024x1024xf32>', 'tensor<1024x1024xbf16>', 'tensor<8x1024x1024xf32>'
STATE = f'tensor<i32>, {ROWS}, {STACK}'
HEAD = f"""func.func @main(%x: {ROWS}, %w: {STACK} {{tf.aliasing_output = 1 : i32}}, %m: {STACK} {{tf.aliasing_output = 2 : i32}}) -> ({ROWS}, {STACK}, {STACK}) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %eight = stablehlo.constant dense<8> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<bf16>"""
LOOP = f"""
  %NAME:3 = stablehlo.while(%i = %zero, %h = %FROM, %s = %w) : {STATE}
  cond {{
    %go = stablehlo.compare LT, %i, %eight : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  }} do {{
    %layer = stablehlo.dynamic_slice %s, %i, %zero, %zero, sizes = [1, 1024, 1024] : ({STACK}, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1024x1024xf32>
    %flat = stablehlo.reshape %layer : (tensor<1x1024x1024xf32>) -> {WIDE}
    %low = stablehlo.convert READS : ({WIDE}) -> {NARROW}
    %next = stablehlo.dot_general %h, %low, contracting_dims = [1] x [0] : ({ROWS}, {NARROW}) -> {ROWS}
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %next, %s : {STATE}
  }}"""
TAIL = f"""
  %sum = stablehlo.reduce(%LAST#1 init: %none) applies stablehlo.add across dimensions = [0, 1] : ({ROWS}, tensor<bf16>) -> tensor<bf16>
  %f = stablehlo.convert %sum : (tensor<bf16>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> {STACK}
  %m2 = stablehlo.add %m, %b : {STACK}
  %w2 = stablehlo.subtract %w, %m2 : {STACK}
  return %LAST#1, %w2, %m2 : {ROWS}, {STACK}, {STACK}
}}
"""


def loop(name, start, reads='%flat'):
    return LOOP.replace('NAME', name).replace('FROM', start).replace('READS', reads)


def temporaries(text, *options):
    price = price_of(text, 'tpu-v6e', *options)
    return (price['peak_bytes'] - price['argument_bytes'] - price['output_bytes'] + price['alias_bytes']) / MIB


def stacks(*loops, plan=()):
    return temporaries(HEAD + ''.join(loops) + TAIL.replace('LAST', 'r'), *plan)


CASES = {
    'converted': (stacks(loop('r', 'x')), 16, 20),
    'converted, two loops': (stacks(loop('q', 'x'), loop('r', 'q#1')), 16, 20),
    'read as it is, too': (stacks(loop('r', 'x').replace('    %low =', f'    %sq = stablehlo.multiply %flat, %flat : {WIDE}\n    %low =')
                                  .replace('convert %flat', 'convert %sq')), 0, 8),
    'gathered anew': (stacks(loop('r', 'x'), plan=('--baseline', 'zero2:x')), 32 + 16, 32 + 20),
}
for name, (found, least, most) in CASES.items():
    print(f'{name}: {found:.1f} MiB')
    if not least <= found <= most:
        sys.exit(f'{name}: {found} MiB, not {least} to {most}')
