module @jit_biaskey attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8x8xf32>, %arg3: tensor<16x8x8xf32>, %arg4: tensor<16x8x8xf32>) -> (tensor<8x8xf32> {jax.result_info = "result['k']"}, tensor<8xf32> {jax.result_info = "result['kb']"}, tensor<8x8xf32> {jax.result_info = "result['q']"}) {
    %0 = stablehlo.dot_general %arg3, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8x8xf32>, tensor<8x8xf32>) -> tensor<16x8x8xf32>
    %1 = stablehlo.dot_general %arg3, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8x8xf32>, tensor<8x8xf32>) -> tensor<16x8x8xf32>
    %2 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2] : (tensor<1x1x8xf32>) -> tensor<16x8x8xf32>
    %4 = stablehlo.add %1, %3 : tensor<16x8x8xf32>
    %5 = stablehlo.dot_general %0, %4, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<16x8x8xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<16x8x8xf32>, tensor<f32>) -> tensor<16x8xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %8 = stablehlo.maximum %7, %6 : tensor<16x8xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<16x8xf32>) -> tensor<16x8x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<16x8x1xf32>) -> tensor<16x8x8xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<16x8x8xf32>
    %12 = stablehlo.exponential %11 : tensor<16x8x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<16x8x8xf32>, tensor<f32>) -> tensor<16x8xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<16x8xf32>) -> tensor<16x8x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<16x8x1xf32>) -> tensor<16x8x8xf32>
    %16 = stablehlo.divide %12, %15 : tensor<16x8x8xf32>
    %17 = stablehlo.multiply %14, %14 : tensor<16x8x1xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x8x1xf32>
    %19 = stablehlo.divide %18, %17 : tensor<16x8x1xf32>
    %20 = stablehlo.dot_general %16, %arg3, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<16x8x8xf32>
    %21 = stablehlo.subtract %20, %arg4 : tensor<16x8x8xf32>
    %cst_3 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<16x8x8xf32>
    %23 = stablehlo.multiply %22, %21 : tensor<16x8x8xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_5 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %24 = stablehlo.divide %cst_4, %cst_5 : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [] : (tensor<f32>) -> tensor<16x8x8xf32>
    %26 = stablehlo.multiply %25, %23 : tensor<16x8x8xf32>
    %27 = stablehlo.dot_general %26, %arg3, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<16x8x8xf32>
    %28 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2] : (tensor<16x8x1xf32>) -> tensor<16x8x8xf32>
    %29 = stablehlo.multiply %27, %28 : tensor<16x8x8xf32>
    %30 = stablehlo.multiply %29, %12 : tensor<16x8x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.reduce(%30 init: %cst_6) applies stablehlo.add across dimensions = [2] : (tensor<16x8x8xf32>, tensor<f32>) -> tensor<16x8xf32>
    %32 = stablehlo.reshape %31 : (tensor<16x8xf32>) -> tensor<16x8x1xf32>
    %33 = stablehlo.negate %32 : tensor<16x8x1xf32>
    %34 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<16x8x1xf32>) -> tensor<16x8x8xf32>
    %35 = stablehlo.divide %27, %34 : tensor<16x8x8xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %36 = stablehlo.reduce(%33 init: %cst_7) applies stablehlo.add across dimensions = [2] : (tensor<16x8x1xf32>, tensor<f32>) -> tensor<16x8xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1] : (tensor<16x8xf32>) -> tensor<16x8x8xf32>
    %38 = stablehlo.add %35, %37 : tensor<16x8x8xf32>
    %39 = stablehlo.multiply %38, %12 : tensor<16x8x8xf32>
    %40 = stablehlo.dot_general %39, %0, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<16x8x8xf32>
    %41 = stablehlo.dot_general %39, %4, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<16x8x8xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %42 = stablehlo.reduce(%40 init: %cst_8) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %43 = stablehlo.reshape %42 : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.reduce(%43 init: %cst_9) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %45 = stablehlo.dot_general %40, %arg3, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<8x8xf32>
    %46 = stablehlo.transpose %45, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %47 = stablehlo.dot_general %41, %arg3, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<8x8xf32>
    %48 = stablehlo.transpose %47, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %46, %44, %48 : tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>
  }
}
