module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x32xf32>, %arg1: tensor<32x16xf32>, %arg2: tensor<32x16xf32>, %arg3: tensor<32x24xf32>) -> (tensor<128x24xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x32xf32>, tensor<32x16xf32>) -> tensor<128x16xf32>
    %1 = stablehlo.dot_general %arg0, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x32xf32>, tensor<32x24xf32>) -> tensor<128x24xf32>
    %2 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x32xf32>, tensor<32x16xf32>) -> tensor<128x16xf32>
    %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<128x16xf32>) -> tensor<16x128xf32>
    %4 = stablehlo.dot_general %0, %3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x16xf32>, tensor<16x128xf32>) -> tensor<128x128xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<128x128xf32>, tensor<f32>) -> tensor<128xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [1] : (tensor<128xf32>) -> tensor<1x128xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<1x128xf32>) -> tensor<128x128xf32>
    %8 = stablehlo.divide %4, %7 : tensor<128x128xf32>
    %9 = stablehlo.dot_general %8, %1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x128xf32>, tensor<128x24xf32>) -> tensor<128x24xf32>
    return %9 : tensor<128x24xf32>
  }
}
