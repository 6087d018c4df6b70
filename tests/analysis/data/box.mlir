// the paper's section 3.3: x meets its own transpose; one use of z, so one box (figure 6, left)
func.func @main(%x: tensor<32x4xf32>) -> tensor<32x32xf32> {
  %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<32x4xf32>) -> tensor<4x32xf32>
  %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<32x4xf32>, tensor<4x32xf32>) -> tensor<32x32xf32>
  return %z : tensor<32x32xf32>
}
