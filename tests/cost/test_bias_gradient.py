#!/usr/bin/env python3
# label: unit
"""The loss of a language model on a TPU: the float32 logits that its labels are picked from lie beside the bf16 ones while the forward
pass' activations are held, as their product writes both; where the gradient of a bias is summed up from them that kernel writes them, at the end,
when the activations are gone. In bytes beside arguments and results, by hand: activations 64 MiB, logits 16, in float32 32."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/support'))
from prices import price_of   # noqa: E402

MIB = 1 << 20
NARROW, WIDE, ROWS = 'tensor<1024x8192xbf16>', 'tensor<1024x8192xf32>', 'tensor<1024xf32>'
BIAS = f"""
  %db = stablehlo.reduce(%b init: %none) applies stablehlo.add across dimensions = [0] : ({NARROW}, tensor<bf16>) -> tensor<8192xbf16>"""
TEXT = f"""func.func @main(%h: tensor<1024x64xbf16>, %w: tensor<64x8192xbf16>, %c: tensor<8192xbf16>, %u: tensor<64x32768xbf16>,
    %l: tensor<1024x1x1xi32>) -> (tensor<32768x64xbf16>, tensor<f32>RESULT) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<0.0> : tensor<bf16>
  %a = stablehlo.dot_general %h, %u, contracting_dims = [1] x [0] : (tensor<1024x64xbf16>, tensor<64x32768xbf16>) -> tensor<1024x32768xbf16>
  %back = stablehlo.dot_general %a, %u, contracting_dims = [1] x [1] : (tensor<1024x32768xbf16>, tensor<64x32768xbf16>) -> tensor<1024x64xbf16>
  %dot = stablehlo.dot_general %back, %w, contracting_dims = [1] x [0] : (tensor<1024x64xbf16>, tensor<64x8192xbf16>) -> {NARROW}
  %cb = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<8192xbf16>) -> {NARROW}
  %s = stablehlo.add %dot, %cb : {NARROW}
  %f = stablehlo.convert %s : ({NARROW}) -> {WIDE}
  %m = stablehlo.reduce(%f init: %low) applies stablehlo.maximum across dimensions = [1] : ({WIDE}, tensor<f32>) -> {ROWS}
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : ({ROWS}) -> {WIDE}
  %d = stablehlo.subtract %f, %mb : {WIDE}
  %e = stablehlo.exponential %d : {WIDE}
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : ({WIDE}, tensor<f32>) -> {ROWS}
  %log = stablehlo.log %sum : {ROWS}
  %picked = "stablehlo.gather"(%d, %l) <{{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0],
    start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}}>
    : ({WIDE}, tensor<1024x1x1xi32>) -> tensor<1024x1xf32>
  %p = stablehlo.reshape %picked : (tensor<1024x1xf32>) -> {ROWS}
  %each = stablehlo.subtract %log, %p : {ROWS}
  %loss = stablehlo.reduce(%each init: %zero) applies stablehlo.add across dimensions = [0] : ({ROWS}, tensor<f32>) -> tensor<f32>
  %sb = stablehlo.broadcast_in_dim %sum, dims = [0] : ({ROWS}) -> {WIDE}
  %grad = stablehlo.divide %e, %sb : {WIDE}
  %b = stablehlo.convert %grad : ({WIDE}) -> {NARROW}BIAS
  %dh = stablehlo.dot_general %b, %w, contracting_dims = [1] x [1] : ({NARROW}, tensor<64x8192xbf16>) -> tensor<1024x64xbf16>
  %du = stablehlo.dot_general %a, %dh, contracting_dims = [0] x [0] : (tensor<1024x32768xbf16>, tensor<1024x64xbf16>) -> tensor<32768x64xbf16>
  return %du, %lossNAME : tensor<32768x64xbf16>, tensor<f32>RESULT
}}
"""


def temporaries(bias):
    text = TEXT.replace('BIAS', BIAS if bias else '').replace('NAME', ', %db' if bias else '').replace('RESULT', ', tensor<8192xbf16>' if bias else '')
    price = price_of(text, 'tpu-v6e')
    return (price['peak_bytes'] - price['argument_bytes'] - price['output_bytes']) / MIB


for bias, least, most in ((False, 64 + 16 + 32, 116), (True, 64 + 16, 100)):
    found = temporaries(bias)
    print(f'{found:.1f} MiB')
    if not least <= found <= most:
        sys.exit(f'{"with" if bias else "without"} a gradient of the bias {found} MiB, not {least} to {most}')
