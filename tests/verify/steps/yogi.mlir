module @jit_yogi attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
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
    %c = stablehlo.constant dense<1> : tensor<i32>
    %27 = stablehlo.add %arg9, %c : tensor<i32>
    %cst_7 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %29 = stablehlo.multiply %28, %arg3 : tensor<8x16xf32>
    %cst_8 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %31 = stablehlo.multiply %30, %26 : tensor<8x16xf32>
    %32 = stablehlo.add %29, %31 : tensor<8x16xf32>
    %cst_9 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %34 = stablehlo.multiply %33, %arg4 : tensor<16xf32>
    %cst_10 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %36 = stablehlo.multiply %35, %24 : tensor<16xf32>
    %37 = stablehlo.add %34, %36 : tensor<16xf32>
    %cst_11 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %38 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %39 = stablehlo.multiply %38, %arg5 : tensor<16x8xf32>
    %cst_12 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %41 = stablehlo.multiply %40, %17 : tensor<16x8xf32>
    %42 = stablehlo.add %39, %41 : tensor<16x8xf32>
    %43 = stablehlo.multiply %26, %26 : tensor<8x16xf32>
    %44 = stablehlo.subtract %arg6, %43 : tensor<8x16xf32>
    %45 = stablehlo.sign %44 : tensor<8x16xf32>
    %cst_13 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %47 = stablehlo.multiply %46, %45 : tensor<8x16xf32>
    %48 = stablehlo.multiply %26, %26 : tensor<8x16xf32>
    %49 = stablehlo.multiply %47, %48 : tensor<8x16xf32>
    %50 = stablehlo.subtract %arg6, %49 : tensor<8x16xf32>
    %51 = stablehlo.multiply %24, %24 : tensor<16xf32>
    %52 = stablehlo.subtract %arg7, %51 : tensor<16xf32>
    %53 = stablehlo.sign %52 : tensor<16xf32>
    %cst_14 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %55 = stablehlo.multiply %54, %53 : tensor<16xf32>
    %56 = stablehlo.multiply %24, %24 : tensor<16xf32>
    %57 = stablehlo.multiply %55, %56 : tensor<16xf32>
    %58 = stablehlo.subtract %arg7, %57 : tensor<16xf32>
    %59 = stablehlo.multiply %17, %17 : tensor<16x8xf32>
    %60 = stablehlo.subtract %arg8, %59 : tensor<16x8xf32>
    %61 = stablehlo.sign %60 : tensor<16x8xf32>
    %cst_15 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %63 = stablehlo.multiply %62, %61 : tensor<16x8xf32>
    %64 = stablehlo.multiply %17, %17 : tensor<16x8xf32>
    %65 = stablehlo.multiply %63, %64 : tensor<16x8xf32>
    %66 = stablehlo.subtract %arg8, %65 : tensor<16x8xf32>
    %67 = stablehlo.convert %27 : (tensor<i32>) -> tensor<f32>
    %cst_16 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %68 = stablehlo.convert %27 : (tensor<i32>) -> tensor<f32>
    %69 = stablehlo.power %cst_16, %68 : tensor<f32>
    %cst_17 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %70 = stablehlo.subtract %cst_17, %69 : tensor<f32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %72 = stablehlo.divide %32, %71 : tensor<8x16xf32>
    %73 = stablehlo.convert %27 : (tensor<i32>) -> tensor<f32>
    %cst_18 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %74 = stablehlo.convert %27 : (tensor<i32>) -> tensor<f32>
    %75 = stablehlo.power %cst_18, %74 : tensor<f32>
    %cst_19 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %76 = stablehlo.subtract %cst_19, %75 : tensor<f32>
    %77 = stablehlo.broadcast_in_dim %76, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %78 = stablehlo.divide %37, %77 : tensor<16xf32>
    %79 = stablehlo.convert %27 : (tensor<i32>) -> tensor<f32>
    %cst_20 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %80 = stablehlo.convert %27 : (tensor<i32>) -> tensor<f32>
    %81 = stablehlo.power %cst_20, %80 : tensor<f32>
    %cst_21 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %82 = stablehlo.subtract %cst_21, %81 : tensor<f32>
    %83 = stablehlo.broadcast_in_dim %82, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %84 = stablehlo.divide %42, %83 : tensor<16x8xf32>
    %85 = stablehlo.convert %27 : (tensor<i32>) -> tensor<f32>
    %cst_22 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %86 = stablehlo.convert %27 : (tensor<i32>) -> tensor<f32>
    %87 = stablehlo.power %cst_22, %86 : tensor<f32>
    %cst_23 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %88 = stablehlo.subtract %cst_23, %87 : tensor<f32>
    %89 = stablehlo.broadcast_in_dim %88, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %90 = stablehlo.divide %50, %89 : tensor<8x16xf32>
    %91 = stablehlo.convert %27 : (tensor<i32>) -> tensor<f32>
    %cst_24 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %92 = stablehlo.convert %27 : (tensor<i32>) -> tensor<f32>
    %93 = stablehlo.power %cst_24, %92 : tensor<f32>
    %cst_25 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %94 = stablehlo.subtract %cst_25, %93 : tensor<f32>
    %95 = stablehlo.broadcast_in_dim %94, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %96 = stablehlo.divide %58, %95 : tensor<16xf32>
    %97 = stablehlo.convert %27 : (tensor<i32>) -> tensor<f32>
    %cst_26 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %98 = stablehlo.convert %27 : (tensor<i32>) -> tensor<f32>
    %99 = stablehlo.power %cst_26, %98 : tensor<f32>
    %cst_27 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %100 = stablehlo.subtract %cst_27, %99 : tensor<f32>
    %101 = stablehlo.broadcast_in_dim %100, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %102 = stablehlo.divide %66, %101 : tensor<16x8xf32>
    %cst_28 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %103 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %104 = stablehlo.multiply %103, %72 : tensor<8x16xf32>
    %105 = stablehlo.sqrt %90 : tensor<8x16xf32>
    %cst_29 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %106 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %107 = stablehlo.add %105, %106 : tensor<8x16xf32>
    %108 = stablehlo.divide %104, %107 : tensor<8x16xf32>
    %109 = stablehlo.subtract %arg0, %108 : tensor<8x16xf32>
    %cst_30 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %110 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %111 = stablehlo.multiply %110, %78 : tensor<16xf32>
    %112 = stablehlo.sqrt %96 : tensor<16xf32>
    %cst_31 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %113 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %114 = stablehlo.add %112, %113 : tensor<16xf32>
    %115 = stablehlo.divide %111, %114 : tensor<16xf32>
    %116 = stablehlo.subtract %arg1, %115 : tensor<16xf32>
    %cst_32 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %117 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %118 = stablehlo.multiply %117, %84 : tensor<16x8xf32>
    %119 = stablehlo.sqrt %102 : tensor<16x8xf32>
    %cst_33 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %120 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %121 = stablehlo.add %119, %120 : tensor<16x8xf32>
    %122 = stablehlo.divide %118, %121 : tensor<16x8xf32>
    %123 = stablehlo.subtract %arg2, %122 : tensor<16x8xf32>
    return %109, %116, %123, %32, %37, %42, %50, %58, %66, %27 : tensor<8x16xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<i32>
  }
}
