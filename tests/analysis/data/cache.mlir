module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1024x8xf32>, %arg1: tensor<8x2x4xf32>, %arg2: tensor<2x4x8xf32>, %arg3: tensor<8x2x4xf32>, %arg4: tensor<8x1024xf32>, %arg5: tensor<8x2x4xf32>, %arg6: tensor<4x16x2x4xf32> {tf.aliasing_output = 1 : i32}, %arg7: tensor<4x16x2x4xf32> {tf.aliasing_output = 2 : i32}, %arg8: tensor<4x8xf32>, %arg9: tensor<i32>) -> (tensor<4x8xf32> {jax.result_info = "result[0]"}, tensor<4x16x2x4xf32> {jax.result_info = "result[1]['k']"}, tensor<4x16x2x4xf32> {jax.result_info = "result[1]['v']"}) {
    %0 = stablehlo.dot_general %arg8, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x2x4xf32>) -> tensor<4x2x4xf32>
    %1 = stablehlo.dot_general %arg8, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x2x4xf32>) -> tensor<4x2x4xf32>
    %2 = stablehlo.dot_general %arg8, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x2x4xf32>) -> tensor<4x2x4xf32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 2, 3] : (tensor<4x2x4xf32>) -> tensor<4x1x2x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.compare LT, %arg9, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<16> : tensor<i32>
    %5 = stablehlo.add %arg9, %c_0 : tensor<i32>
    %6 = stablehlo.select %4, %5, %arg9 : tensor<i1>, tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.dynamic_update_slice %arg6, %3, %c_1, %6, %c_2, %c_3 : (tensor<4x16x2x4xf32>, tensor<4x1x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x2x4xf32>
    %8 = stablehlo.broadcast_in_dim %2, dims = [0, 2, 3] : (tensor<4x2x4xf32>) -> tensor<4x1x2x4xf32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.compare LT, %arg9, %c_4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_5 = stablehlo.constant dense<16> : tensor<i32>
    %10 = stablehlo.add %arg9, %c_5 : tensor<i32>
    %11 = stablehlo.select %9, %10, %arg9 : tensor<i1>, tensor<i32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %12 = stablehlo.dynamic_update_slice %arg7, %8, %c_6, %11, %c_7, %c_8 : (tensor<4x16x2x4xf32>, tensor<4x1x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x2x4xf32>
    %13 = stablehlo.dot_general %0, %7, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x2x4xf32>, tensor<4x16x2x4xf32>) -> tensor<4x2x16xf32>
    %14 = stablehlo.iota dim = 0 : tensor<16xi32>
    %c_9 = stablehlo.constant dense<-2147483648> : tensor<i32>
    %15 = stablehlo.reduce(%arg9 init: %c_9) applies stablehlo.maximum across dimensions = [] : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<i32>) -> tensor<16xi32>
    %17 = stablehlo.compare LE, %14, %16, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %cst = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %18 = call @_where(%17, %13, %cst) : (tensor<16xi1>, tensor<4x2x16xf32>, tensor<f32>) -> tensor<4x2x16xf32>
    %cst_10 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %19 = stablehlo.reduce(%18 init: %cst_10) applies stablehlo.maximum across dimensions = [2] : (tensor<4x2x16xf32>, tensor<f32>) -> tensor<4x2xf32>
    %cst_11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x2xf32>
    %21 = stablehlo.maximum %20, %19 : tensor<4x2xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1] : (tensor<4x2xf32>) -> tensor<4x2x1xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<4x2x1xf32>) -> tensor<4x2x16xf32>
    %24 = stablehlo.subtract %18, %23 : tensor<4x2x16xf32>
    %25 = stablehlo.exponential %24 : tensor<4x2x16xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %26 = stablehlo.reduce(%25 init: %cst_12) applies stablehlo.add across dimensions = [2] : (tensor<4x2x16xf32>, tensor<f32>) -> tensor<4x2xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1] : (tensor<4x2xf32>) -> tensor<4x2x1xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<4x2x1xf32>) -> tensor<4x2x16xf32>
    %29 = stablehlo.divide %25, %28 : tensor<4x2x16xf32>
    %30 = stablehlo.dot_general %29, %12, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x2x16xf32>, tensor<4x16x2x4xf32>) -> tensor<4x2x4xf32>
    %31 = stablehlo.dot_general %30, %arg2, contracting_dims = [1, 2] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x2x4xf32>, tensor<2x4x8xf32>) -> tensor<4x8xf32>
    %32 = stablehlo.add %arg8, %31 : tensor<4x8xf32>
    %33 = stablehlo.dot_general %32, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x1024xf32>) -> tensor<4x1024xf32>
    %34 = call @relu(%33) : (tensor<4x1024xf32>) -> tensor<4x1024xf32>
    %35 = stablehlo.dot_general %34, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x1024xf32>, tensor<1024x8xf32>) -> tensor<4x8xf32>
    %36 = stablehlo.add %32, %35 : tensor<4x8xf32>
    return %36, %7, %12 : tensor<4x8xf32>, tensor<4x16x2x4xf32>, tensor<4x16x2x4xf32>
  }
  func.func private @_where(%arg0: tensor<16xi1>, %arg1: tensor<4x2x16xf32>, %arg2: tensor<f32>) -> tensor<4x2x16xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<16xi1>) -> tensor<4x2x16xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x2x16xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<4x2x16xi1>, tensor<4x2x16xf32>
    return %3 : tensor<4x2x16xf32>
  }
  func.func private @relu(%arg0: tensor<4x1024xf32>) -> tensor<4x1024xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x1024xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x1024xf32>
    return %1 : tensor<4x1024xf32>
  }
}
