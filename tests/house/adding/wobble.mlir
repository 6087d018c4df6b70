// what tests/house/test_adding.py reads with the op that it has added
module @wobble {
  func.func public @main(%arg0: tensor<16x8xf32>, %arg1: tensor<8x4xf32>) -> tensor<16x4xf32> {
    %0 = stablehlo.wobble %arg0 : tensor<16x8xf32>
    %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
    return %1 : tensor<16x4xf32>
  }
}
