module @jit_loss attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x128xf32>, %arg1: tensor<128x128xf32>, %arg2: tensor<128x128xf32>, %arg3: tensor<4x32x128xf32>) -> (tensor<128x128xf32> {jax.result_info = "result[0]['k']"}, tensor<128x128xf32> {jax.result_info = "result[0]['q']"}, tensor<128x128xf32> {jax.result_info = "result[0]['v']"}) {
    %0 = stablehlo.dot_general %arg3, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x128xf32>, tensor<128x128xf32>) -> tensor<4x32x128xf32>
    %1 = stablehlo.reshape %0 : (tensor<4x32x128xf32>) -> tensor<4x32x8x16xf32>
    %2 = stablehlo.dot_general %arg3, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x128xf32>, tensor<128x128xf32>) -> tensor<4x32x128xf32>
    %3 = stablehlo.reshape %2 : (tensor<4x32x128xf32>) -> tensor<4x32x8x16xf32>
    %4 = stablehlo.dot_general %arg3, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x128xf32>, tensor<128x128xf32>) -> tensor<4x32x128xf32>
    %5 = stablehlo.reshape %4 : (tensor<4x32x128xf32>) -> tensor<4x32x8x16xf32>
    %6 = stablehlo.reshape %1 : (tensor<4x32x8x16xf32>) -> tensor<4x32x8x1x16xf32>
    %7 = stablehlo.dot_general %6, %3, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x32x8x1x16xf32>, tensor<4x32x8x16xf32>) -> tensor<4x8x32x1x32xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8x32x1x32xf32>
    %9 = stablehlo.multiply %7, %8 : tensor<4x8x32x1x32xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<4x8x32x1x32xf32>, tensor<f32>) -> tensor<4x8x32x1xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x8x32x1xf32>
    %12 = stablehlo.maximum %11, %10 : tensor<4x8x32x1xf32>
    %13 = stablehlo.transpose %12, dims = [3, 0, 1, 2] : (tensor<4x8x32x1xf32>) -> tensor<1x4x8x32xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x4x8x32xf32>) -> tensor<1x4x8x32x1xf32>
    %15 = stablehlo.transpose %9, dims = [3, 0, 1, 2, 4] : (tensor<4x8x32x1x32xf32>) -> tensor<1x4x8x32x32xf32>
    %16 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<1x4x8x32x1xf32>) -> tensor<1x4x8x32x32xf32>
    %17 = stablehlo.subtract %15, %16 : tensor<1x4x8x32x32xf32>
    %18 = stablehlo.exponential %17 : tensor<1x4x8x32x32xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %19 = stablehlo.reduce(%18 init: %cst_2) applies stablehlo.add across dimensions = [4] : (tensor<1x4x8x32x32xf32>, tensor<f32>) -> tensor<1x4x8x32xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<1x4x8x32xf32>) -> tensor<1x4x8x32x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3, 4] : (tensor<1x4x8x32x1xf32>) -> tensor<1x4x8x32x32xf32>
    %22 = stablehlo.divide %18, %21 : tensor<1x4x8x32x32xf32>
    %23 = stablehlo.multiply %20, %20 : tensor<1x4x8x32x1xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x4x8x32x1xf32>
    %25 = stablehlo.divide %24, %23 : tensor<1x4x8x32x1xf32>
    %26 = stablehlo.dot_general %5, %22, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<4x32x8x16xf32>, tensor<1x4x8x32x32xf32>) -> tensor<4x8x16x1x32xf32>
    %27 = stablehlo.transpose %26, dims = [3, 0, 4, 1, 2] : (tensor<4x8x16x1x32xf32>) -> tensor<1x4x32x8x16xf32>
    %28 = stablehlo.transpose %27, dims = [1, 2, 3, 0, 4] : (tensor<1x4x32x8x16xf32>) -> tensor<4x32x8x1x16xf32>
    %29 = stablehlo.reshape %28 : (tensor<4x32x8x1x16xf32>) -> tensor<4x32x8x16xf32>
    %30 = stablehlo.reshape %29 : (tensor<4x32x8x16xf32>) -> tensor<4x32x128xf32>
    %cst_4 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x32x128xf32>
    %32 = stablehlo.multiply %31, %30 : tensor<4x32x128xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.638400e+04> : tensor<f32>
    %33 = stablehlo.divide %cst_5, %cst_6 : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [] : (tensor<f32>) -> tensor<4x32x128xf32>
    %35 = stablehlo.multiply %34, %32 : tensor<4x32x128xf32>
    %36 = stablehlo.reshape %35 : (tensor<4x32x128xf32>) -> tensor<4x32x8x16xf32>
    %37 = stablehlo.reshape %36 : (tensor<4x32x8x16xf32>) -> tensor<4x32x8x1x16xf32>
    %38 = stablehlo.transpose %37, dims = [3, 0, 1, 2, 4] : (tensor<4x32x8x1x16xf32>) -> tensor<1x4x32x8x16xf32>
    %39 = stablehlo.transpose %38, dims = [1, 3, 4, 0, 2] : (tensor<1x4x32x8x16xf32>) -> tensor<4x8x16x1x32xf32>
    %40 = stablehlo.dot_general %39, %5, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16x1x32xf32>, tensor<4x32x8x16xf32>) -> tensor<4x8x1x32x32xf32>
    %41 = stablehlo.transpose %40, dims = [2, 0, 1, 3, 4] : (tensor<4x8x1x32x32xf32>) -> tensor<1x4x8x32x32xf32>
    %42 = stablehlo.dot_general %39, %22, batching_dims = [0, 1] x [1, 2], contracting_dims = [3, 4] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16x1x32xf32>, tensor<1x4x8x32x32xf32>) -> tensor<4x8x16x32xf32>
    %43 = stablehlo.transpose %42, dims = [0, 3, 1, 2] : (tensor<4x8x16x32xf32>) -> tensor<4x32x8x16xf32>
    %44 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3, 4] : (tensor<1x4x8x32x1xf32>) -> tensor<1x4x8x32x32xf32>
    %45 = stablehlo.multiply %41, %44 : tensor<1x4x8x32x32xf32>
    %46 = stablehlo.multiply %45, %18 : tensor<1x4x8x32x32xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %47 = stablehlo.reduce(%46 init: %cst_7) applies stablehlo.add across dimensions = [4] : (tensor<1x4x8x32x32xf32>, tensor<f32>) -> tensor<1x4x8x32xf32>
    %48 = stablehlo.reshape %47 : (tensor<1x4x8x32xf32>) -> tensor<1x4x8x32x1xf32>
    %49 = stablehlo.negate %48 : tensor<1x4x8x32x1xf32>
    %50 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3, 4] : (tensor<1x4x8x32x1xf32>) -> tensor<1x4x8x32x32xf32>
    %51 = stablehlo.divide %41, %50 : tensor<1x4x8x32x32xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %52 = stablehlo.reduce(%49 init: %cst_8) applies stablehlo.add across dimensions = [0, 4] : (tensor<1x4x8x32x1xf32>, tensor<f32>) -> tensor<4x8x32xf32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [1, 2, 3] : (tensor<4x8x32xf32>) -> tensor<1x4x8x32xf32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2, 3] : (tensor<1x4x8x32xf32>) -> tensor<1x4x8x32x32xf32>
    %55 = stablehlo.add %51, %54 : tensor<1x4x8x32x32xf32>
    %56 = stablehlo.multiply %55, %18 : tensor<1x4x8x32x32xf32>
    %57 = stablehlo.transpose %56, dims = [1, 2, 3, 0, 4] : (tensor<1x4x8x32x32xf32>) -> tensor<4x8x32x1x32xf32>
    %cst_9 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<4x8x32x1x32xf32>
    %59 = stablehlo.multiply %57, %58 : tensor<4x8x32x1x32xf32>
    %60 = stablehlo.dot_general %59, %6, batching_dims = [0, 1] x [0, 2], contracting_dims = [2, 3] x [1, 3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32x1x32xf32>, tensor<4x32x8x1x16xf32>) -> tensor<4x8x32x16xf32>
    %61 = stablehlo.transpose %60, dims = [0, 2, 1, 3] : (tensor<4x8x32x16xf32>) -> tensor<4x32x8x16xf32>
    %62 = stablehlo.dot_general %59, %3, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32x1x32xf32>, tensor<4x32x8x16xf32>) -> tensor<4x8x32x1x16xf32>
    %63 = stablehlo.transpose %62, dims = [0, 2, 1, 3, 4] : (tensor<4x8x32x1x16xf32>) -> tensor<4x32x8x1x16xf32>
    %64 = stablehlo.reshape %63 : (tensor<4x32x8x1x16xf32>) -> tensor<4x32x8x16xf32>
    %65 = stablehlo.reshape %43 : (tensor<4x32x8x16xf32>) -> tensor<4x32x128xf32>
    %66 = stablehlo.dot_general %65, %arg3, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x128xf32>, tensor<4x32x128xf32>) -> tensor<128x128xf32>
    %67 = stablehlo.transpose %66, dims = [1, 0] : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %68 = stablehlo.reshape %61 : (tensor<4x32x8x16xf32>) -> tensor<4x32x128xf32>
    %69 = stablehlo.dot_general %68, %arg3, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x128xf32>, tensor<4x32x128xf32>) -> tensor<128x128xf32>
    %70 = stablehlo.transpose %69, dims = [1, 0] : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %71 = stablehlo.reshape %64 : (tensor<4x32x8x16xf32>) -> tensor<4x32x128xf32>
    %72 = stablehlo.dot_general %71, %arg3, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x128xf32>, tensor<4x32x128xf32>) -> tensor<128x128xf32>
    %73 = stablehlo.transpose %72, dims = [1, 0] : (tensor<128x128xf32>) -> tensor<128x128xf32>
    return %70, %73, %67 : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>
  }
}
