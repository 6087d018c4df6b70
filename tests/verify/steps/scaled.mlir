module @jit_scaled1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x32xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<32x16xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<f32>, %arg3: tensor<16x16xf32>) -> (tensor<16x32xf32> {jax.result_info = "result[0]['a']"}, tensor<32x16xf32> {jax.result_info = "result[0]['b']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg3, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %1 = stablehlo.tanh %0 : tensor<16x32xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %3 = stablehlo.subtract %2, %1 : tensor<16x32xf32>
    %4 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %6 = stablehlo.multiply %5, %4 : tensor<16x16xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %7 = stablehlo.multiply %arg2, %cst_1 : tensor<f32>
    %cst_2 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %8 = stablehlo.divide %7, %cst_2 : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %10 = stablehlo.multiply %9, %6 : tensor<16x16xf32>
    %11 = stablehlo.dot_general %10, %1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %12 = stablehlo.transpose %11, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
    %13 = stablehlo.dot_general %10, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<32x16xf32>) -> tensor<16x32xf32>
    %14 = stablehlo.multiply %13, %3 : tensor<16x32xf32>
    %15 = stablehlo.multiply %14, %1 : tensor<16x32xf32>
    %16 = stablehlo.add %14, %15 : tensor<16x32xf32>
    %17 = stablehlo.dot_general %16, %arg3, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
    %18 = stablehlo.transpose %17, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %19 = stablehlo.reduce(%18 init: %cst_3) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x32xf32>, tensor<f32>) -> tensor<f32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.add %cst_4, %19 : tensor<f32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.reduce(%12 init: %cst_5) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<f32>
    %22 = stablehlo.add %20, %21 : tensor<f32>
    %23 = stablehlo.is_finite %22 : (tensor<f32>) -> tensor<i1>
    %cst_6 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %25 = stablehlo.multiply %24, %18 : tensor<16x32xf32>
    %26 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %27 = stablehlo.divide %25, %26 : tensor<16x32xf32>
    %28 = stablehlo.subtract %arg0, %27 : tensor<16x32xf32>
    %29 = call @_where(%23, %28, %arg0) : (tensor<i1>, tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %cst_7 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %31 = stablehlo.multiply %30, %12 : tensor<32x16xf32>
    %32 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %33 = stablehlo.divide %31, %32 : tensor<32x16xf32>
    %34 = stablehlo.subtract %arg1, %33 : tensor<32x16xf32>
    %35 = call @_where_0(%23, %34, %arg1) : (tensor<i1>, tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
    %cst_8 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %36 = stablehlo.multiply %arg2, %cst_8 : tensor<f32>
    %cst_9 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %37 = stablehlo.multiply %arg2, %cst_9 : tensor<f32>
    %38 = call @_where_1(%23, %36, %37) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    return %29, %35, %38 : tensor<16x32xf32>, tensor<32x16xf32>, tensor<f32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<16x32xf32>, %arg2: tensor<16x32xf32>) -> tensor<16x32xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<16x32xf32>
    return %0 : tensor<16x32xf32>
  }
  func.func private @_where_0(%arg0: tensor<i1>, %arg1: tensor<32x16xf32>, %arg2: tensor<32x16xf32>) -> tensor<32x16xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<32x16xf32>
    return %0 : tensor<32x16xf32>
  }
  func.func private @_where_1(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<f32>
    return %0 : tensor<f32>
  }
}
