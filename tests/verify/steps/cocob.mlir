module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<32x1xf32>, %arg1: tensor<16x8xf32>, %arg2: tensor<32x1xf32>, %arg3: tensor<16x8xf32>, %arg4: tensor<32x1xf32>, %arg5: tensor<16x8xf32>, %arg6: tensor<32x1xf32>, %arg7: tensor<16x8xf32>, %arg8: tensor<32x1xf32>, %arg9: tensor<16x8xf32>, %arg10: tensor<32x1xf32>, %arg11: tensor<16x8xf32>, %arg12: tensor<32x16xf32>, %arg13: tensor<32x8xf32>) -> (tensor<32x1xf32> {jax.result_info = "result[0]['shift']"}, tensor<16x8xf32> {jax.result_info = "result[0]['w']"}, tensor<32x1xf32> {jax.result_info = "result[1][2].init_particles['shift']"}, tensor<16x8xf32> {jax.result_info = "result[1][2].init_particles['w']"}, tensor<32x1xf32> {jax.result_info = "result[1][2].cumulative_gradients['shift']"}, tensor<16x8xf32> {jax.result_info = "result[1][2].cumulative_gradients['w']"}, tensor<32x1xf32> {jax.result_info = "result[1][2].scale['shift']"}, tensor<16x8xf32> {jax.result_info = "result[1][2].scale['w']"}, tensor<32x1xf32> {jax.result_info = "result[1][2].subgradients['shift']"}, tensor<16x8xf32> {jax.result_info = "result[1][2].subgradients['w']"}, tensor<32x1xf32> {jax.result_info = "result[1][2].reward['shift']"}, tensor<16x8xf32> {jax.result_info = "result[1][2].reward['w']"}) {
    %0 = stablehlo.dot_general %arg12, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x8xf32>
    %2 = stablehlo.add %0, %1 : tensor<32x8xf32>
    %3:2 = call @log_softmax(%2) : (tensor<32x8xf32>) -> (tensor<32x8xf32>, tensor<32x1xf32>)
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%arg13 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<32xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.negate %cst_0 : tensor<f32>
    %cst_1 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %6 = stablehlo.divide %5, %cst_1 : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %8 = stablehlo.divide %7, %4 : tensor<32xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<32xf32>) -> tensor<32x8xf32>
    %10 = stablehlo.multiply %9, %arg13 : tensor<32x8xf32>
    %11 = call @log_softmax_0(%3#0, %3#1, %10) : (tensor<32x8xf32>, tensor<32x1xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.reduce(%11 init: %cst_2) applies stablehlo.add across dimensions = [1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<32xf32>
    %13 = stablehlo.reshape %12 : (tensor<32xf32>) -> tensor<32x1xf32>
    %14 = stablehlo.dot_general %11, %arg12, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x8xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    %15 = stablehlo.transpose %14, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %17 = stablehlo.multiply %16, %13 : tensor<32x1xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %19 = stablehlo.multiply %18, %15 : tensor<16x8xf32>
    %20 = stablehlo.abs %17 : tensor<32x1xf32>
    %21 = stablehlo.maximum %arg6, %20 : tensor<32x1xf32>
    %22 = stablehlo.abs %19 : tensor<16x8xf32>
    %23 = stablehlo.maximum %arg7, %22 : tensor<16x8xf32>
    %24 = stablehlo.abs %17 : tensor<32x1xf32>
    %25 = stablehlo.add %arg8, %24 : tensor<32x1xf32>
    %26 = stablehlo.abs %19 : tensor<16x8xf32>
    %27 = stablehlo.add %arg9, %26 : tensor<16x8xf32>
    %28 = stablehlo.subtract %arg0, %arg2 : tensor<32x1xf32>
    %29 = stablehlo.multiply %17, %28 : tensor<32x1xf32>
    %30 = stablehlo.subtract %arg10, %29 : tensor<32x1xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %32 = stablehlo.maximum %30, %31 : tensor<32x1xf32>
    %33 = stablehlo.subtract %arg1, %arg3 : tensor<16x8xf32>
    %34 = stablehlo.multiply %19, %33 : tensor<16x8xf32>
    %35 = stablehlo.subtract %arg11, %34 : tensor<16x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %37 = stablehlo.maximum %35, %36 : tensor<16x8xf32>
    %38 = stablehlo.subtract %arg4, %17 : tensor<32x1xf32>
    %39 = stablehlo.subtract %arg5, %19 : tensor<16x8xf32>
    %40 = stablehlo.negate %arg0 : tensor<32x1xf32>
    %41 = stablehlo.add %25, %21 : tensor<32x1xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+02> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %43 = stablehlo.multiply %42, %21 : tensor<32x1xf32>
    %44 = stablehlo.maximum %41, %43 : tensor<32x1xf32>
    %45 = stablehlo.multiply %21, %44 : tensor<32x1xf32>
    %46 = stablehlo.divide %38, %45 : tensor<32x1xf32>
    %47 = stablehlo.add %21, %32 : tensor<32x1xf32>
    %48 = stablehlo.multiply %46, %47 : tensor<32x1xf32>
    %49 = stablehlo.add %arg2, %48 : tensor<32x1xf32>
    %50 = stablehlo.add %40, %49 : tensor<32x1xf32>
    %51 = stablehlo.negate %arg1 : tensor<16x8xf32>
    %52 = stablehlo.add %27, %23 : tensor<16x8xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+02> : tensor<f32>
    %53 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %54 = stablehlo.multiply %53, %23 : tensor<16x8xf32>
    %55 = stablehlo.maximum %52, %54 : tensor<16x8xf32>
    %56 = stablehlo.multiply %23, %55 : tensor<16x8xf32>
    %57 = stablehlo.divide %39, %56 : tensor<16x8xf32>
    %58 = stablehlo.add %23, %37 : tensor<16x8xf32>
    %59 = stablehlo.multiply %57, %58 : tensor<16x8xf32>
    %60 = stablehlo.add %arg3, %59 : tensor<16x8xf32>
    %61 = stablehlo.add %51, %60 : tensor<16x8xf32>
    %62 = stablehlo.add %arg0, %50 : tensor<32x1xf32>
    %63 = stablehlo.add %arg1, %61 : tensor<16x8xf32>
    return %62, %63, %arg2, %arg3, %38, %39, %21, %23, %25, %27, %32, %37 : tensor<32x1xf32>, tensor<16x8xf32>, tensor<32x1xf32>, tensor<16x8xf32>, tensor<32x1xf32>, tensor<16x8xf32>, tensor<32x1xf32>, tensor<16x8xf32>, tensor<32x1xf32>, tensor<16x8xf32>, tensor<32x1xf32>, tensor<16x8xf32>
  }
  func.func private @log_softmax(%arg0: tensor<32x8xf32>) -> (tensor<32x8xf32>, tensor<32x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<32xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<32xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x8xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<32x8xf32>
    %6 = stablehlo.exponential %5 : tensor<32x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<32xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    return %6, %8 : tensor<32x8xf32>, tensor<32x1xf32>
  }
  func.func private @log_softmax_0(%arg0: tensor<32x8xf32>, %arg1: tensor<32x1xf32>, %arg2: tensor<32x8xf32>) -> tensor<32x8xf32> {
    %0 = stablehlo.negate %arg2 : tensor<32x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<32xf32>
    %2 = stablehlo.reshape %1 : (tensor<32xf32>) -> tensor<32x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<32x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<32x1xf32>, tensor<f32>) -> tensor<32xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<32xf32>) -> tensor<32x8xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<32x8xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<32x8xf32>
    return %7 : tensor<32x8xf32>
  }
}

