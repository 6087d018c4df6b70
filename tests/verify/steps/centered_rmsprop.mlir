module @jit_centered attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x16xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<16xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<16x8xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<8x16xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<16xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<16x8xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<8x16xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<16xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<16x8xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<i32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<16x8xf32>) -> (tensor<8x16xf32> {jax.result_info = "result[0]['a']"}, tensor<16xf32> {jax.result_info = "result[0]['b']"}, tensor<16x8xf32> {jax.result_info = "result[0]['c']"}, tensor<8x16xf32> {jax.result_info = "result[1][0]['a']"}, tensor<16xf32> {jax.result_info = "result[1][0]['b']"}, tensor<16x8xf32> {jax.result_info = "result[1][0]['c']"}, tensor<8x16xf32> {jax.result_info = "result[1][1]['a']"}, tensor<16xf32> {jax.result_info = "result[1][1]['b']"}, tensor<16x8xf32> {jax.result_info = "result[1][1]['c']"}, tensor<i32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.dot_general %arg10, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<16x16xf32>
    %3 = stablehlo.add %0, %2 : tensor<16x16xf32>
    %4 = stablehlo.tanh %3 : tensor<16x16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %6 = stablehlo.subtract %5, %4 : tensor<16x16xf32>
    %7 = stablehlo.dot_general %4, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
    %8 = stablehlo.multiply %7, %7 : tensor<16x8xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %10 = stablehlo.multiply %9, %7 : tensor<16x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%8 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %12 = stablehlo.divide %11, %cst_2 : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %13 = stablehlo.divide %cst_3, %cst_4 : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %15 = stablehlo.multiply %14, %10 : tensor<16x8xf32>
    %16 = stablehlo.dot_general %15, %4, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %17 = stablehlo.transpose %16, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %18 = stablehlo.dot_general %15, %arg2, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x16xf32>
    %19 = stablehlo.multiply %18, %6 : tensor<16x16xf32>
    %20 = stablehlo.multiply %19, %4 : tensor<16x16xf32>
    %21 = stablehlo.add %19, %20 : tensor<16x16xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %22 = stablehlo.reduce(%21 init: %cst_5) applies stablehlo.add across dimensions = [0] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
    %23 = stablehlo.reshape %22 : (tensor<16xf32>) -> tensor<1x16xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.reduce(%23 init: %cst_6) applies stablehlo.add across dimensions = [0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %25 = stablehlo.dot_general %21, %arg10, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
    %26 = stablehlo.transpose %25, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %cst_7 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %28 = stablehlo.multiply %27, %arg3 : tensor<8x16xf32>
    %cst_8 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %30 = stablehlo.multiply %29, %26 : tensor<8x16xf32>
    %31 = stablehlo.add %28, %30 : tensor<8x16xf32>
    %cst_9 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %33 = stablehlo.multiply %32, %arg4 : tensor<16xf32>
    %cst_10 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %35 = stablehlo.multiply %34, %24 : tensor<16xf32>
    %36 = stablehlo.add %33, %35 : tensor<16xf32>
    %cst_11 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %38 = stablehlo.multiply %37, %arg5 : tensor<16x8xf32>
    %cst_12 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %40 = stablehlo.multiply %39, %17 : tensor<16x8xf32>
    %41 = stablehlo.add %38, %40 : tensor<16x8xf32>
    %cst_13 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %43 = stablehlo.multiply %42, %arg6 : tensor<8x16xf32>
    %cst_14 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %45 = stablehlo.multiply %44, %26 : tensor<8x16xf32>
    %46 = stablehlo.multiply %45, %26 : tensor<8x16xf32>
    %47 = stablehlo.add %43, %46 : tensor<8x16xf32>
    %cst_15 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %48 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %49 = stablehlo.multiply %48, %arg7 : tensor<16xf32>
    %cst_16 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %51 = stablehlo.multiply %50, %24 : tensor<16xf32>
    %52 = stablehlo.multiply %51, %24 : tensor<16xf32>
    %53 = stablehlo.add %49, %52 : tensor<16xf32>
    %cst_17 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %55 = stablehlo.multiply %54, %arg8 : tensor<16x8xf32>
    %cst_18 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %56 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %57 = stablehlo.multiply %56, %17 : tensor<16x8xf32>
    %58 = stablehlo.multiply %57, %17 : tensor<16x8xf32>
    %59 = stablehlo.add %55, %58 : tensor<16x8xf32>
    %cst_19 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %60 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %61 = stablehlo.multiply %60, %26 : tensor<8x16xf32>
    %62 = stablehlo.multiply %31, %31 : tensor<8x16xf32>
    %63 = stablehlo.subtract %47, %62 : tensor<8x16xf32>
    %cst_20 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %65 = stablehlo.add %63, %64 : tensor<8x16xf32>
    %66 = stablehlo.rsqrt %65 : tensor<8x16xf32>
    %67 = stablehlo.multiply %61, %66 : tensor<8x16xf32>
    %68 = stablehlo.subtract %arg0, %67 : tensor<8x16xf32>
    %cst_21 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %69 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %70 = stablehlo.multiply %69, %24 : tensor<16xf32>
    %71 = stablehlo.multiply %36, %36 : tensor<16xf32>
    %72 = stablehlo.subtract %53, %71 : tensor<16xf32>
    %cst_22 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %73 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %74 = stablehlo.add %72, %73 : tensor<16xf32>
    %75 = stablehlo.rsqrt %74 : tensor<16xf32>
    %76 = stablehlo.multiply %70, %75 : tensor<16xf32>
    %77 = stablehlo.subtract %arg1, %76 : tensor<16xf32>
    %cst_23 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %78 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %79 = stablehlo.multiply %78, %17 : tensor<16x8xf32>
    %80 = stablehlo.multiply %41, %41 : tensor<16x8xf32>
    %81 = stablehlo.subtract %59, %80 : tensor<16x8xf32>
    %cst_24 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %82 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %83 = stablehlo.add %81, %82 : tensor<16x8xf32>
    %84 = stablehlo.rsqrt %83 : tensor<16x8xf32>
    %85 = stablehlo.multiply %79, %84 : tensor<16x8xf32>
    %86 = stablehlo.subtract %arg2, %85 : tensor<16x8xf32>
    %c = stablehlo.constant dense<1> : tensor<i32>
    %87 = stablehlo.add %arg9, %c : tensor<i32>
    return %68, %77, %86, %31, %36, %41, %47, %53, %59, %87 : tensor<8x16xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<i32>
  }
}
