module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x10xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<16x16xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<6x16xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<16x16xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<16x16xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<16x16xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<8x12x16xf32>, %arg7: tensor<8x10xf32>) -> (tensor<16x10xf32> {jax.result_info = "result[0]['head']"}, tensor<16x16xf32> {jax.result_info = "result[0]['k']"}, tensor<6x16xf32> {jax.result_info = "result[0]['latents']"}, tensor<16x16xf32> {jax.result_info = "result[0]['o']"}, tensor<16x16xf32> {jax.result_info = "result[0]['q']"}, tensor<16x16xf32> {jax.result_info = "result[0]['v']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [1, 2] : (tensor<6x16xf32>) -> tensor<8x6x16xf32>
    %1 = stablehlo.dot_general %0, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x6x16xf32>, tensor<16x16xf32>) -> tensor<8x6x16xf32>
    %2 = stablehlo.reshape %1 : (tensor<8x6x16xf32>) -> tensor<8x6x2x8xf32>
    %3 = stablehlo.dot_general %arg6, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x12x16xf32>, tensor<16x16xf32>) -> tensor<8x12x16xf32>
    %4 = stablehlo.reshape %3 : (tensor<8x12x16xf32>) -> tensor<8x12x2x8xf32>
    %5 = stablehlo.dot_general %arg6, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x12x16xf32>, tensor<16x16xf32>) -> tensor<8x12x16xf32>
    %6 = stablehlo.reshape %5 : (tensor<8x12x16xf32>) -> tensor<8x12x2x8xf32>
    %7 = stablehlo.dot_general %2, %4, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<8x6x2x8xf32>, tensor<8x12x2x8xf32>) -> tensor<8x2x6x12xf32>
    %8 = stablehlo.exponential %7 : tensor<8x2x6x12xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%8 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<8x2x6x12xf32>, tensor<f32>) -> tensor<8x2x6xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<8x2x6xf32>) -> tensor<8x2x6x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<8x2x6x1xf32>) -> tensor<8x2x6x12xf32>
    %12 = stablehlo.divide %8, %11 : tensor<8x2x6x12xf32>
    %13 = stablehlo.multiply %10, %10 : tensor<8x2x6x1xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x2x6x1xf32>
    %15 = stablehlo.divide %14, %13 : tensor<8x2x6x1xf32>
    %16 = stablehlo.dot_general %6, %12, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<8x12x2x8xf32>, tensor<8x2x6x12xf32>) -> tensor<8x2x8x6xf32>
    %17 = stablehlo.transpose %16, dims = [0, 3, 1, 2] : (tensor<8x2x8x6xf32>) -> tensor<8x6x2x8xf32>
    %18 = stablehlo.reshape %17 : (tensor<8x6x2x8xf32>) -> tensor<8x6x16xf32>
    %19 = stablehlo.dot_general %18, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x6x16xf32>, tensor<16x16xf32>) -> tensor<8x6x16xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<8x6x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    %cst_2 = stablehlo.constant dense<6.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %22 = stablehlo.divide %20, %21 : tensor<8x16xf32>
    %23 = stablehlo.dot_general %22, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x10xf32>) -> tensor<8x10xf32>
    %24 = stablehlo.subtract %23, %arg7 : tensor<8x10xf32>
    %25 = stablehlo.multiply %24, %24 : tensor<8x10xf32>
    %cst_3 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %27 = stablehlo.multiply %26, %24 : tensor<8x10xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.reduce(%25 init: %cst_4) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<f32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %30 = stablehlo.multiply %29, %27 : tensor<8x10xf32>
    %31 = stablehlo.dot_general %30, %22, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x10xf32>, tensor<8x16xf32>) -> tensor<10x16xf32>
    %32 = stablehlo.transpose %31, dims = [1, 0] : (tensor<10x16xf32>) -> tensor<16x10xf32>
    %33 = stablehlo.dot_general %30, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x10xf32>, tensor<16x10xf32>) -> tensor<8x16xf32>
    %cst_6 = stablehlo.constant dense<6.000000e+00> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %35 = stablehlo.divide %33, %34 : tensor<8x16xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 2] : (tensor<8x16xf32>) -> tensor<8x6x16xf32>
    %37 = stablehlo.dot_general %36, %18, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x6x16xf32>, tensor<8x6x16xf32>) -> tensor<16x16xf32>
    %38 = stablehlo.transpose %37, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %39 = stablehlo.dot_general %36, %arg3, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x6x16xf32>, tensor<16x16xf32>) -> tensor<8x6x16xf32>
    %40 = stablehlo.reshape %39 : (tensor<8x6x16xf32>) -> tensor<8x6x2x8xf32>
    %41 = stablehlo.transpose %40, dims = [0, 2, 3, 1] : (tensor<8x6x2x8xf32>) -> tensor<8x2x8x6xf32>
    %42 = stablehlo.dot_general %41, %6, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<8x2x8x6xf32>, tensor<8x12x2x8xf32>) -> tensor<8x2x6x12xf32>
    %43 = stablehlo.dot_general %41, %12, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x2x8x6xf32>, tensor<8x2x6x12xf32>) -> tensor<8x2x8x12xf32>
    %44 = stablehlo.transpose %43, dims = [0, 3, 1, 2] : (tensor<8x2x8x12xf32>) -> tensor<8x12x2x8xf32>
    %45 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<8x2x6x1xf32>) -> tensor<8x2x6x12xf32>
    %46 = stablehlo.multiply %42, %45 : tensor<8x2x6x12xf32>
    %47 = stablehlo.multiply %46, %8 : tensor<8x2x6x12xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %48 = stablehlo.reduce(%47 init: %cst_7) applies stablehlo.add across dimensions = [3] : (tensor<8x2x6x12xf32>, tensor<f32>) -> tensor<8x2x6xf32>
    %49 = stablehlo.reshape %48 : (tensor<8x2x6xf32>) -> tensor<8x2x6x1xf32>
    %50 = stablehlo.negate %49 : tensor<8x2x6x1xf32>
    %51 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<8x2x6x1xf32>) -> tensor<8x2x6x12xf32>
    %52 = stablehlo.divide %42, %51 : tensor<8x2x6x12xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %53 = stablehlo.reduce(%50 init: %cst_8) applies stablehlo.add across dimensions = [3] : (tensor<8x2x6x1xf32>, tensor<f32>) -> tensor<8x2x6xf32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2] : (tensor<8x2x6xf32>) -> tensor<8x2x6x12xf32>
    %55 = stablehlo.add %52, %54 : tensor<8x2x6x12xf32>
    %56 = stablehlo.multiply %55, %8 : tensor<8x2x6x12xf32>
    %57 = stablehlo.dot_general %56, %2, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x2x6x12xf32>, tensor<8x6x2x8xf32>) -> tensor<8x2x12x8xf32>
    %58 = stablehlo.transpose %57, dims = [0, 2, 1, 3] : (tensor<8x2x12x8xf32>) -> tensor<8x12x2x8xf32>
    %59 = stablehlo.dot_general %56, %4, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x2x6x12xf32>, tensor<8x12x2x8xf32>) -> tensor<8x2x6x8xf32>
    %60 = stablehlo.transpose %59, dims = [0, 2, 1, 3] : (tensor<8x2x6x8xf32>) -> tensor<8x6x2x8xf32>
    %61 = stablehlo.reshape %44 : (tensor<8x12x2x8xf32>) -> tensor<8x12x16xf32>
    %62 = stablehlo.dot_general %61, %arg6, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x12x16xf32>, tensor<8x12x16xf32>) -> tensor<16x16xf32>
    %63 = stablehlo.transpose %62, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %64 = stablehlo.reshape %58 : (tensor<8x12x2x8xf32>) -> tensor<8x12x16xf32>
    %65 = stablehlo.dot_general %64, %arg6, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x12x16xf32>, tensor<8x12x16xf32>) -> tensor<16x16xf32>
    %66 = stablehlo.transpose %65, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %67 = stablehlo.reshape %60 : (tensor<8x6x2x8xf32>) -> tensor<8x6x16xf32>
    %68 = stablehlo.dot_general %67, %0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x6x16xf32>, tensor<8x6x16xf32>) -> tensor<16x16xf32>
    %69 = stablehlo.transpose %68, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %70 = stablehlo.dot_general %67, %arg4, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x6x16xf32>, tensor<16x16xf32>) -> tensor<8x6x16xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %71 = stablehlo.reduce(%70 init: %cst_9) applies stablehlo.add across dimensions = [0] : (tensor<8x6x16xf32>, tensor<f32>) -> tensor<6x16xf32>
    %cst_10 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %72 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %73 = stablehlo.multiply %72, %32 : tensor<16x10xf32>
    %74 = stablehlo.subtract %arg0, %73 : tensor<16x10xf32>
    %cst_11 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %75 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %76 = stablehlo.multiply %75, %66 : tensor<16x16xf32>
    %77 = stablehlo.subtract %arg1, %76 : tensor<16x16xf32>
    %cst_12 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %78 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<6x16xf32>
    %79 = stablehlo.multiply %78, %71 : tensor<6x16xf32>
    %80 = stablehlo.subtract %arg2, %79 : tensor<6x16xf32>
    %cst_13 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %82 = stablehlo.multiply %81, %38 : tensor<16x16xf32>
    %83 = stablehlo.subtract %arg3, %82 : tensor<16x16xf32>
    %cst_14 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %84 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %85 = stablehlo.multiply %84, %69 : tensor<16x16xf32>
    %86 = stablehlo.subtract %arg4, %85 : tensor<16x16xf32>
    %cst_15 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %87 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %88 = stablehlo.multiply %87, %63 : tensor<16x16xf32>
    %89 = stablehlo.subtract %arg5, %88 : tensor<16x16xf32>
    return %74, %77, %80, %83, %86, %89, %28 : tensor<16x10xf32>, tensor<16x16xf32>, tensor<6x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>
  }
}
