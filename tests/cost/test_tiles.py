#!/usr/bin/env python3
# label: unit
"""Bytes of arguments in a TPU's tiles of 8 x 128, worked out by hand; for other compilers a value takes its elements."""
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


for kind, elements, tiled in CASES:
    size = 2 if kind.endswith('bf16') else 4
    for device, expected in (('tpu-v5p', tiled), ('h100', elements)):
        found = argument_bytes(kind, device)
        if found != expected * size:
            sys.exit(f'{kind} on {device}: {found} bytes, not {expected * size}')
print(f'{len(CASES)} types')
