module @jit_adafactor attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x16xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<16xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<16x8xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<8xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<16xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<16xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<16xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<16xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<8xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<8x16xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<16xf32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<16x8xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<i32> {tf.aliasing_output = 12 : i32}, %arg13: tensor<16x8xf32>) -> (tensor<8x16xf32> {jax.result_info = "result[0][0]['a']"}, tensor<16xf32> {jax.result_info = "result[0][0]['b']"}, tensor<16x8xf32> {jax.result_info = "result[0][0]['c']"}, tensor<8xf32> {jax.result_info = "result[0][1]['a']"}, tensor<16xf32> {jax.result_info = "result[0][1]['b']"}, tensor<16xf32> {jax.result_info = "result[0][1]['c']"}, tensor<16xf32> {jax.result_info = "result[0][2]['a']"}, tensor<16xf32> {jax.result_info = "result[0][2]['b']"}, tensor<8xf32> {jax.result_info = "result[0][2]['c']"}, tensor<8x16xf32> {jax.result_info = "result[0][3]['a']"}, tensor<16xf32> {jax.result_info = "result[0][3]['b']"}, tensor<16x8xf32> {jax.result_info = "result[0][3]['c']"}, tensor<i32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg13, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
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
    %25 = stablehlo.dot_general %21, %arg13, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
    %26 = stablehlo.transpose %25, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %27 = stablehlo.convert %arg12 : (tensor<i32>) -> tensor<f32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %28 = stablehlo.add %27, %cst_7 : tensor<f32>
    %cst_8 = stablehlo.constant dense<-8.000000e-01> : tensor<f32>
    %29 = stablehlo.power %28, %cst_8 : tensor<f32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.subtract %cst_9, %29 : tensor<f32>
    %31 = stablehlo.multiply %26, %26 : tensor<8x16xf32>
    %cst_10 = stablehlo.constant dense<1.000000e-30> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %33 = stablehlo.add %31, %32 : tensor<8x16xf32>
    %34 = stablehlo.broadcast_in_dim %30, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %35 = stablehlo.multiply %34, %arg3 : tensor<8xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %36 = stablehlo.subtract %cst_11, %30 : tensor<f32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %37 = stablehlo.reduce(%33 init: %cst_12) applies stablehlo.add across dimensions = [1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_13 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %38 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %39 = stablehlo.divide %37, %38 : tensor<8xf32>
    %40 = stablehlo.broadcast_in_dim %36, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %41 = stablehlo.multiply %40, %39 : tensor<8xf32>
    %42 = stablehlo.add %35, %41 : tensor<8xf32>
    %43 = stablehlo.broadcast_in_dim %30, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %44 = stablehlo.multiply %43, %arg6 : tensor<16xf32>
    %cst_14 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %45 = stablehlo.subtract %cst_14, %30 : tensor<f32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.reduce(%33 init: %cst_15) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_16 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %48 = stablehlo.divide %46, %47 : tensor<16xf32>
    %49 = stablehlo.broadcast_in_dim %45, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %50 = stablehlo.multiply %49, %48 : tensor<16xf32>
    %51 = stablehlo.add %44, %50 : tensor<16xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %52 = stablehlo.reduce(%42 init: %cst_17) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %cst_18 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %53 = stablehlo.divide %52, %cst_18 : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %55 = stablehlo.divide %42, %54 : tensor<8xf32>
    %56 = stablehlo.rsqrt %55 : tensor<8xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %58 = stablehlo.broadcast_in_dim %57, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x16xf32>
    %59 = stablehlo.multiply %26, %58 : tensor<8x16xf32>
    %60 = stablehlo.rsqrt %51 : tensor<16xf32>
    %61 = stablehlo.broadcast_in_dim %60, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<8x16xf32>
    %63 = stablehlo.multiply %59, %62 : tensor<8x16xf32>
    %64 = stablehlo.multiply %63, %63 : tensor<8x16xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %65 = stablehlo.reduce(%64 init: %cst_19) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
    %cst_20 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %66 = stablehlo.divide %65, %cst_20 : tensor<f32>
    %67 = stablehlo.sqrt %66 : tensor<f32>
    %cst_21 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %68 = stablehlo.maximum %cst_21, %67 : tensor<f32>
    %69 = stablehlo.broadcast_in_dim %68, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %70 = stablehlo.divide %63, %69 : tensor<8x16xf32>
    %71 = stablehlo.multiply %arg0, %arg0 : tensor<8x16xf32>
    %cst_22 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %72 = stablehlo.reduce(%71 init: %cst_22) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
    %cst_23 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %73 = stablehlo.divide %72, %cst_23 : tensor<f32>
    %74 = stablehlo.sqrt %73 : tensor<f32>
    %cst_24 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %75 = stablehlo.maximum %74, %cst_24 : tensor<f32>
    %76 = stablehlo.broadcast_in_dim %75, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %77 = stablehlo.multiply %70, %76 : tensor<8x16xf32>
    %cst_25 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %78 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %79 = stablehlo.multiply %77, %78 : tensor<8x16xf32>
    %80 = stablehlo.subtract %arg0, %79 : tensor<8x16xf32>
    %81 = stablehlo.multiply %24, %24 : tensor<16xf32>
    %cst_26 = stablehlo.constant dense<1.000000e-30> : tensor<f32>
    %82 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %83 = stablehlo.add %81, %82 : tensor<16xf32>
    %84 = stablehlo.broadcast_in_dim %30, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %85 = stablehlo.multiply %84, %arg10 : tensor<16xf32>
    %cst_27 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %86 = stablehlo.subtract %cst_27, %30 : tensor<f32>
    %87 = stablehlo.broadcast_in_dim %86, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %88 = stablehlo.multiply %87, %83 : tensor<16xf32>
    %89 = stablehlo.add %85, %88 : tensor<16xf32>
    %90 = stablehlo.rsqrt %89 : tensor<16xf32>
    %91 = stablehlo.multiply %24, %90 : tensor<16xf32>
    %92 = stablehlo.multiply %91, %91 : tensor<16xf32>
    %cst_28 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %93 = stablehlo.reduce(%92 init: %cst_28) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    %cst_29 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %94 = stablehlo.divide %93, %cst_29 : tensor<f32>
    %95 = stablehlo.sqrt %94 : tensor<f32>
    %cst_30 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %96 = stablehlo.maximum %cst_30, %95 : tensor<f32>
    %97 = stablehlo.broadcast_in_dim %96, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %98 = stablehlo.divide %91, %97 : tensor<16xf32>
    %99 = stablehlo.multiply %arg1, %arg1 : tensor<16xf32>
    %cst_31 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %100 = stablehlo.reduce(%99 init: %cst_31) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    %cst_32 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %101 = stablehlo.divide %100, %cst_32 : tensor<f32>
    %102 = stablehlo.sqrt %101 : tensor<f32>
    %cst_33 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %103 = stablehlo.maximum %102, %cst_33 : tensor<f32>
    %104 = stablehlo.broadcast_in_dim %103, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %105 = stablehlo.multiply %98, %104 : tensor<16xf32>
    %cst_34 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %106 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %107 = stablehlo.multiply %105, %106 : tensor<16xf32>
    %108 = stablehlo.subtract %arg1, %107 : tensor<16xf32>
    %109 = stablehlo.multiply %17, %17 : tensor<16x8xf32>
    %cst_35 = stablehlo.constant dense<1.000000e-30> : tensor<f32>
    %110 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %111 = stablehlo.add %109, %110 : tensor<16x8xf32>
    %112 = stablehlo.broadcast_in_dim %30, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %113 = stablehlo.multiply %112, %arg5 : tensor<16xf32>
    %cst_36 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %114 = stablehlo.subtract %cst_36, %30 : tensor<f32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %115 = stablehlo.reduce(%111 init: %cst_37) applies stablehlo.add across dimensions = [1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_38 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %116 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %117 = stablehlo.divide %115, %116 : tensor<16xf32>
    %118 = stablehlo.broadcast_in_dim %114, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %119 = stablehlo.multiply %118, %117 : tensor<16xf32>
    %120 = stablehlo.add %113, %119 : tensor<16xf32>
    %121 = stablehlo.broadcast_in_dim %30, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %122 = stablehlo.multiply %121, %arg8 : tensor<8xf32>
    %cst_39 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %123 = stablehlo.subtract %cst_39, %30 : tensor<f32>
    %cst_40 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %124 = stablehlo.reduce(%111 init: %cst_40) applies stablehlo.add across dimensions = [0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_41 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %125 = stablehlo.broadcast_in_dim %cst_41, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %126 = stablehlo.divide %124, %125 : tensor<8xf32>
    %127 = stablehlo.broadcast_in_dim %123, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %128 = stablehlo.multiply %127, %126 : tensor<8xf32>
    %129 = stablehlo.add %122, %128 : tensor<8xf32>
    %cst_42 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %130 = stablehlo.reduce(%120 init: %cst_42) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    %cst_43 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %131 = stablehlo.divide %130, %cst_43 : tensor<f32>
    %132 = stablehlo.broadcast_in_dim %131, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %133 = stablehlo.divide %120, %132 : tensor<16xf32>
    %134 = stablehlo.rsqrt %133 : tensor<16xf32>
    %135 = stablehlo.broadcast_in_dim %134, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %136 = stablehlo.broadcast_in_dim %135, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x8xf32>
    %137 = stablehlo.multiply %17, %136 : tensor<16x8xf32>
    %138 = stablehlo.rsqrt %129 : tensor<8xf32>
    %139 = stablehlo.broadcast_in_dim %138, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %140 = stablehlo.broadcast_in_dim %139, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<16x8xf32>
    %141 = stablehlo.multiply %137, %140 : tensor<16x8xf32>
    %142 = stablehlo.multiply %141, %141 : tensor<16x8xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %143 = stablehlo.reduce(%142 init: %cst_44) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_45 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %144 = stablehlo.divide %143, %cst_45 : tensor<f32>
    %145 = stablehlo.sqrt %144 : tensor<f32>
    %cst_46 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %146 = stablehlo.maximum %cst_46, %145 : tensor<f32>
    %147 = stablehlo.broadcast_in_dim %146, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %148 = stablehlo.divide %141, %147 : tensor<16x8xf32>
    %149 = stablehlo.multiply %arg2, %arg2 : tensor<16x8xf32>
    %cst_47 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %150 = stablehlo.reduce(%149 init: %cst_47) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_48 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %151 = stablehlo.divide %150, %cst_48 : tensor<f32>
    %152 = stablehlo.sqrt %151 : tensor<f32>
    %cst_49 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %153 = stablehlo.maximum %152, %cst_49 : tensor<f32>
    %154 = stablehlo.broadcast_in_dim %153, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %155 = stablehlo.multiply %148, %154 : tensor<16x8xf32>
    %cst_50 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %156 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %157 = stablehlo.multiply %155, %156 : tensor<16x8xf32>
    %158 = stablehlo.subtract %arg2, %157 : tensor<16x8xf32>
    %c = stablehlo.constant dense<1> : tensor<i32>
    %159 = stablehlo.add %arg12, %c : tensor<i32>
    return %80, %108, %158, %42, %arg4, %120, %51, %arg7, %129, %arg9, %89, %arg11, %159 : tensor<8x16xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<i32>
  }
}
