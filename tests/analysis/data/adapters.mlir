module @jit_ad attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x4xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4x64xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<16x64xf32>, %arg3: tensor<32x16xf32>, %arg4: tensor<32x64xf32>) -> (tensor<16x4xf32> {jax.result_info = "result[0]['a']"}, tensor<4x64xf32> {jax.result_info = "result[0]['b']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg3, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<16x64xf32>) -> tensor<32x64xf32>
    %1 = stablehlo.dot_general %arg3, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<16x4xf32>) -> tensor<32x4xf32>
    %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x4xf32>, tensor<4x64xf32>) -> tensor<32x64xf32>
    %3 = stablehlo.add %0, %2 : tensor<32x64xf32>
    %4 = stablehlo.tanh %3 : tensor<32x64xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %6 = stablehlo.subtract %5, %4 : tensor<32x64xf32>
    %7 = stablehlo.subtract %4, %arg4 : tensor<32x64xf32>
    %8 = stablehlo.multiply %7, %7 : tensor<32x64xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %10 = stablehlo.multiply %9, %7 : tensor<32x64xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%8 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<2.048000e+03> : tensor<f32>
    %12 = stablehlo.divide %11, %cst_2 : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_4 = stablehlo.constant dense<2.048000e+03> : tensor<f32>
    %13 = stablehlo.divide %cst_3, %cst_4 : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %15 = stablehlo.multiply %14, %10 : tensor<32x64xf32>
    %16 = stablehlo.multiply %15, %6 : tensor<32x64xf32>
    %17 = stablehlo.multiply %16, %4 : tensor<32x64xf32>
    %18 = stablehlo.add %16, %17 : tensor<32x64xf32>
    %19 = stablehlo.dot_general %18, %1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x4xf32>) -> tensor<64x4xf32>
    %20 = stablehlo.transpose %19, dims = [1, 0] : (tensor<64x4xf32>) -> tensor<4x64xf32>
    %21 = stablehlo.dot_general %18, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<4x64xf32>) -> tensor<32x4xf32>
    %22 = stablehlo.dot_general %21, %arg3, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x4xf32>, tensor<32x16xf32>) -> tensor<4x16xf32>
    %23 = stablehlo.transpose %22, dims = [1, 0] : (tensor<4x16xf32>) -> tensor<16x4xf32>
    %cst_5 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<16x4xf32>
    %25 = stablehlo.multiply %24, %23 : tensor<16x4xf32>
    %26 = stablehlo.subtract %arg0, %25 : tensor<16x4xf32>
    %cst_6 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x64xf32>
    %28 = stablehlo.multiply %27, %20 : tensor<4x64xf32>
    %29 = stablehlo.subtract %arg1, %28 : tensor<4x64xf32>
    return %26, %29, %12 : tensor<16x4xf32>, tensor<4x64xf32>, tensor<f32>
  }
}
