module @jit_undonated attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x64xf32>, %arg1: tensor<64x8xf32>, %arg2: tensor<16x64xf32>, %arg3: tensor<64x8xf32>, %arg4: tensor<16x64xf32>, %arg5: tensor<64x8xf32>, %arg6: tensor<32x16xf32>, %arg7: tensor<32x8xf32>) -> (tensor<16x64xf32> {jax.result_info = "result[0]['a']"}, tensor<64x8xf32> {jax.result_info = "result[0]['b']"}, tensor<16x64xf32> {jax.result_info = "result[1]['a']"}, tensor<64x8xf32> {jax.result_info = "result[1]['b']"}, tensor<16x64xf32> {jax.result_info = "result[2]['a']"}, tensor<64x8xf32> {jax.result_info = "result[2]['b']"}, tensor<f32> {jax.result_info = "result[3]"}, tensor<f32> {jax.result_info = "result[4]"}) {
    %0 = stablehlo.dot_general %arg6, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<16x64xf32>) -> tensor<32x64xf32>
    %1 = stablehlo.tanh %0 : tensor<32x64xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %3 = stablehlo.subtract %2, %1 : tensor<32x64xf32>
    %4 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x8xf32>) -> tensor<32x8xf32>
    %5 = stablehlo.subtract %4, %arg7 : tensor<32x8xf32>
    %6 = stablehlo.multiply %5, %5 : tensor<32x8xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %8 = stablehlo.multiply %7, %5 : tensor<32x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %10 = stablehlo.divide %9, %cst_2 : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_4 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %11 = stablehlo.divide %cst_3, %cst_4 : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %13 = stablehlo.multiply %12, %8 : tensor<32x8xf32>
    %14 = stablehlo.dot_general %13, %1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x8xf32>, tensor<32x64xf32>) -> tensor<8x64xf32>
    %15 = stablehlo.transpose %14, dims = [1, 0] : (tensor<8x64xf32>) -> tensor<64x8xf32>
    %16 = stablehlo.dot_general %13, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x8xf32>, tensor<64x8xf32>) -> tensor<32x64xf32>
    %17 = stablehlo.multiply %16, %3 : tensor<32x64xf32>
    %18 = stablehlo.multiply %17, %1 : tensor<32x64xf32>
    %19 = stablehlo.add %17, %18 : tensor<32x64xf32>
    %20 = stablehlo.dot_general %19, %arg6, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
    %21 = stablehlo.transpose %20, dims = [1, 0] : (tensor<64x16xf32>) -> tensor<16x64xf32>
    %22 = stablehlo.multiply %21, %21 : tensor<16x64xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.reduce(%22 init: %cst_5) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<f32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.add %cst_6, %23 : tensor<f32>
    %25 = stablehlo.multiply %15, %15 : tensor<64x8xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %26 = stablehlo.reduce(%25 init: %cst_7) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x8xf32>, tensor<f32>) -> tensor<f32>
    %27 = stablehlo.add %24, %26 : tensor<f32>
    %28 = stablehlo.sqrt %27 : tensor<f32>
    %cst_8 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %30 = stablehlo.multiply %29, %arg2 : tensor<16x64xf32>
    %cst_9 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %32 = stablehlo.multiply %31, %21 : tensor<16x64xf32>
    %33 = stablehlo.add %30, %32 : tensor<16x64xf32>
    %cst_10 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<64x8xf32>
    %35 = stablehlo.multiply %34, %arg3 : tensor<64x8xf32>
    %cst_11 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<64x8xf32>
    %37 = stablehlo.multiply %36, %15 : tensor<64x8xf32>
    %38 = stablehlo.add %35, %37 : tensor<64x8xf32>
    %cst_12 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %40 = stablehlo.multiply %39, %arg4 : tensor<16x64xf32>
    %cst_13 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %42 = stablehlo.multiply %41, %21 : tensor<16x64xf32>
    %43 = stablehlo.multiply %42, %21 : tensor<16x64xf32>
    %44 = stablehlo.add %40, %43 : tensor<16x64xf32>
    %cst_14 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<64x8xf32>
    %46 = stablehlo.multiply %45, %arg5 : tensor<64x8xf32>
    %cst_15 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<64x8xf32>
    %48 = stablehlo.multiply %47, %15 : tensor<64x8xf32>
    %49 = stablehlo.multiply %48, %15 : tensor<64x8xf32>
    %50 = stablehlo.add %46, %49 : tensor<64x8xf32>
    %cst_16 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %52 = stablehlo.multiply %51, %33 : tensor<16x64xf32>
    %53 = stablehlo.sqrt %44 : tensor<16x64xf32>
    %cst_17 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %55 = stablehlo.add %53, %54 : tensor<16x64xf32>
    %56 = stablehlo.divide %52, %55 : tensor<16x64xf32>
    %57 = stablehlo.subtract %arg0, %56 : tensor<16x64xf32>
    %cst_18 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<64x8xf32>
    %59 = stablehlo.multiply %58, %38 : tensor<64x8xf32>
    %60 = stablehlo.sqrt %50 : tensor<64x8xf32>
    %cst_19 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<64x8xf32>
    %62 = stablehlo.add %60, %61 : tensor<64x8xf32>
    %63 = stablehlo.divide %59, %62 : tensor<64x8xf32>
    %64 = stablehlo.subtract %arg1, %63 : tensor<64x8xf32>
    return %57, %64, %33, %38, %44, %50, %10, %28 : tensor<16x64xf32>, tensor<64x8xf32>, tensor<16x64xf32>, tensor<64x8xf32>, tensor<16x64xf32>, tensor<64x8xf32>, tensor<f32>, tensor<f32>
  }
}
