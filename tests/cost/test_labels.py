#!/usr/bin/env python3
# label: unit
"""The loss of a language model with a gradient: what XLA:GPU holds of its logits, by hand. The picked labels' gradient is added into that of
the softmax, where it lies, and the loss picks from the logits before that gradient is padded to the whole sequence: so the logits are gone by
then. Without one of the two it would be 64 MiB."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(os.environ['TOAST_SOURCE']) / 'tests/support'))
from prices import price_of   # noqa: E402

MIB = 1 << 20
TEXT = """func.func @main(%h: tensor<1024x64xbf16>, %w: tensor<64x8192xbf16>, %l: tensor<1023x1x1xi32>) -> (tensor<64x8192xbf16>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %share = stablehlo.constant dense<-0.001> : tensor<1023x1xf32>
  %logits = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<1024x64xbf16>, tensor<64x8192xbf16>) -> tensor<1024x8192xbf16>
  %s = stablehlo.slice %logits [0:1023, 0:8192] : (tensor<1024x8192xbf16>) -> tensor<1023x8192xbf16>
  %f = stablehlo.convert %s : (tensor<1023x8192xbf16>) -> WIDE
  %m = stablehlo.reduce(%f init: %low) applies stablehlo.maximum across dimensions = [1] : (WIDE, tensor<f32>) -> tensor<1023xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<1023xf32>) -> WIDE
  %d = stablehlo.subtract %f, %mb : WIDE
  %e = stablehlo.exponential %d : WIDE
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (WIDE, tensor<f32>) -> tensor<1023xf32>
  %log = stablehlo.log %sum : tensor<1023xf32>
  %picked = "stablehlo.gather"(%d, %l) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0],
    start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}>
    : (WIDE, tensor<1023x1x1xi32>) -> tensor<1023x1xf32>
  %p = stablehlo.reshape %picked : (tensor<1023x1xf32>) -> tensor<1023xf32>
  %each = stablehlo.subtract %log, %p : tensor<1023xf32>
  %loss = stablehlo.reduce(%each init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1023xf32>, tensor<f32>) -> tensor<f32>
  %sb = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<1023xf32>) -> WIDE
  %grad = stablehlo.divide %e, %sb : WIDE
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> WIDE
  %rows = "stablehlo.scatter"(%zeros, %l, %share) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1],
    input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%one: tensor<f32>, %two: tensor<f32>):
    %both = stablehlo.add %one, %two : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (WIDE, tensor<1023x1x1xi32>, tensor<1023x1xf32>) -> WIDE
  %g = stablehlo.add %grad, %rows : WIDE
  %b = stablehlo.convert %g : (WIDE) -> tensor<1023x8192xbf16>
  %none = stablehlo.constant dense<0.0> : tensor<bf16>
  %pad = stablehlo.pad %b, %none, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<1023x8192xbf16>, tensor<bf16>) -> tensor<1024x8192xbf16>
  %dw = stablehlo.dot_general %h, %pad, contracting_dims = [0] x [0] : (tensor<1024x64xbf16>, tensor<1024x8192xbf16>) -> tensor<64x8192xbf16>
  return %dw, %loss : tensor<64x8192xbf16>, tensor<f32>
}
""".replace('WIDE', 'tensor<1023x8192xf32>')

price = price_of(TEXT, 'h100')
found = (price['peak_bytes'] - price['argument_bytes']) / MIB
if not 48 <= found <= 50:
    sys.exit(f'{found} MiB beside the arguments, not 48')
print(f'{found:.2f} MiB')
