// Weights that are donated and handed back by a loop as they came: no gradient of the examples, which they are not.
func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x32xf32> {tf.aliasing_output = 1 : i32}, %b: tensor<32xf32>) -> (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:4 = stablehlo.while(%i = %zero, %a = %x, %m = %w, %c = %b) : tensor<i32>, tensor<16x32xf32>, tensor<32x32xf32>, tensor<32xf32>
    cond {
    %1 = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.dot_general %a, %m, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<32xf32>) -> tensor<16x32xf32>
    %3 = stablehlo.add %1, %2 : tensor<16x32xf32>
    %4 = stablehlo.tanh %3 : tensor<16x32xf32>
    %5 = stablehlo.dot_general %4, %m, contracting_dims = [1] x [1] : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
    %6 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %6, %5, %m, %c : tensor<i32>, tensor<16x32xf32>, tensor<32x32xf32>, tensor<32xf32>
  }
  return %0#1, %0#2, %0#3 : tensor<16x32xf32>, tensor<32x32xf32>, tensor<32xf32>
}
