// sums of z over dimension 0 stand along the other one beside z: a path of M crosses the box of z and the division (figure 6)
func.func @main(%x: tensor<32x4xf32>) -> tensor<32x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<32x4xf32>) -> tensor<4x32xf32>
  %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<32x4xf32>, tensor<4x32xf32>) -> tensor<32x32xf32>
  %s = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
  %c = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<32xf32>) -> tensor<32x32xf32>
  %w = stablehlo.divide %z, %c : tensor<32x32xf32>
  return %w : tensor<32x32xf32>
}
