#!/usr/bin/env python3
# label: unit
"""Bytes of arguments in a TPU's tiles of 8 x 128, of products with batches, whose batches no tile has, and of masks that a rectifier
stores, worked out by hand; for other compilers a value takes its elements."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/support'))
from prices import price_of   # noqa: E402

CASES = [  # type, elements, what they take in tiles
    ('1024x512xf32', 1024 * 512, 1024 * 512),
    ('16x64x64x96xbf16', 16 * 64 * 64 * 96, 16 * 64 * 64 * 128),
    ('512x3x192xf32', 512 * 3 * 192, 512 * 3 * 192),     # 512 lanes, 192 rows
    ('3x3x384x96xbf16', 3 * 3 * 384 * 96, 3 * 3 * 384 * 96),
    ('5x7x9x100xf32', 5 * 7 * 9 * 100, 5 * 9 * 8 * 128),  # 7 rows in 8: 9 would be in 16
    ('300x100xf32', 300 * 100, 304 * 128),
    ('4x30000xf32', 4 * 30000, 4 * 30080),               # four rows are a tile
    ('1x60000xf32', 60000, 60032),
    ('1x60000xbf16', 60000, 2 * 60032),                  # two rows share words
    ('10x10xf32', 100, 100),                             # less than 64 KiB is not looked at
]


def argument_bytes(kind, device):
    price = price_of(f'func.func @main(%arg0: tensor<{kind}>) -> tensor<{kind}> {{\n'
                     f'  %0 = stablehlo.add %arg0, %arg0 : tensor<{kind}>\n  return %0 : tensor<{kind}>\n}}\n', device)
    if price['peak_bytes'] != price['argument_bytes'] + price['output_bytes'] or price['output_bytes'] != price['argument_bytes']:
        sys.exit(f'{kind} on {device}: result and argument are alike: {price}')
    return price['argument_bytes']


def product_bytes(batch, device):
    """of a product of 197 rows and columns, negated and turned"""
    left, product = f'tensor<{batch}x197x64xf32>', f'tensor<{batch}x197x197xf32>'
    turned = f'tensor<197x{batch}x197xf32>'
    price = price_of(f'func.func @main(%a: {left}) -> {turned} {{\n'
                     f'  %0 = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [2] x [2] : '
                     f'({left}, {left}) -> {product}\n  %1 = stablehlo.transpose %0, dims = [1, 0, 2] : ({product}) -> {turned}\n'
                     f'  %2 = stablehlo.negate %1 : {turned}\n  return %2 : {turned}\n}}\n', device)
    return price['output_bytes']


MASKS = [  # a product's dimensions; bytes that a TPU stores of the rectifier's mask
    ([8, 512, 1024], 512 * 1024),           # 8 bits in each byte
    ([2, 512, 1024], 512 * 1024),           # 2
    ([12, 512, 1024], 2 * 512 * 1024),      # 12 in 16
    ([64, 512, 1024], 64 * 512 * 1024),     # more than a word has
]


def mask_bytes(dims, device):
    """of one of the two masks that are there at once: a comparison, and what a sort makes of it"""
    shape, rank = 'x'.join(map(str, dims)), len(dims)
    kind, mask = f'tensor<{shape}xf32>', f'tensor<{shape}xi1>'
    lines = [f'  %m = stablehlo.compare GT, %x, %y : ({kind}, {kind}) -> {mask}']
    for i in range(2):
        lines += [f'  %s{i} = "stablehlo.sort"(%m) <{{dimension = {rank - 1} : i64}}> ({{', '  ^bb0(%a: tensor<i1>, %b: tensor<i1>):',
                  '    stablehlo.return %a : tensor<i1>', f'  }}) : ({mask}) -> {mask}',
                  f'  %{i} = stablehlo.select %s{i}, %x, %y : {mask}, {kind}']
    text = f'func.func @main(%x: {kind}, %y: {kind}) -> ({kind}, {kind}) {{\n' + '\n'.join(lines)
    price = price_of(text + f'\n  return %0, %1 : {kind}, {kind}\n}}\n', device)
    return (price['peak_bytes'] - price['argument_bytes'] - price['output_bytes']) / 2


for kind, elements, tiled in CASES:
    size = 2 if kind.endswith('bf16') else 4
    for device, expected in (('tpu-v5p', tiled), ('h100', elements)):
        found = argument_bytes(kind, device)
        if found != expected * size:
            sys.exit(f'{kind} on {device}: {found} bytes, not {expected * size}')
for device, expected in (('tpu-v5p', 128 * 200 * 256), ('h100', 128 * 197 * 197)):
    found = product_bytes(128, device)
    if found != expected * 4:
        sys.exit(f'a product with 128 batches on {device}: {found} bytes, not {expected * 4}')
for dims, packed in MASKS:
    found = mask_bytes(dims, 'tpu-v6e')
    if not packed <= found <= packed * 1.03:      # a TPU's heap idles a little
        sys.exit(f'mask of {dims}: {found} bytes, not {packed}')
print(f'{len(CASES)} types, {len(MASKS)} masks')
