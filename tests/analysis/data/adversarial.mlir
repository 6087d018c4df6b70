module @jit_gan attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x32xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<32x16xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<16x32xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<32x8xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<8x32xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<32x16xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<16x32xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<32x8xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<16x8xf32>, %arg9: tensor<16x16xf32>) -> (tensor<8x32xf32> {jax.result_info = "result[0]['w1']"}, tensor<32x16xf32> {jax.result_info = "result[0]['w2']"}, tensor<16x32xf32> {jax.result_info = "result[1]['w1']"}, tensor<32x8xf32> {jax.result_info = "result[1]['w2']"}, tensor<8x32xf32> {jax.result_info = "result[2]['w1']"}, tensor<32x16xf32> {jax.result_info = "result[2]['w2']"}, tensor<16x32xf32> {jax.result_info = "result[3]['w1']"}, tensor<32x8xf32> {jax.result_info = "result[3]['w2']"}, tensor<f32> {jax.result_info = "result[4]"}, tensor<f32> {jax.result_info = "result[5]"}) {
    %0 = stablehlo.dot_general %arg8, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
    %1 = stablehlo.tanh %0 : tensor<16x32xf32>
    %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
    %3 = stablehlo.dot_general %2, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %4 = stablehlo.tanh %3 : tensor<16x32xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %6 = stablehlo.subtract %5, %4 : tensor<16x32xf32>
    %7 = stablehlo.dot_general %4, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
    %8 = stablehlo.multiply %7, %7 : tensor<16x8xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %10 = stablehlo.multiply %9, %7 : tensor<16x8xf32>
    %11 = stablehlo.dot_general %arg9, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %12 = stablehlo.tanh %11 : tensor<16x32xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %14 = stablehlo.subtract %13, %12 : tensor<16x32xf32>
    %15 = stablehlo.dot_general %12, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
    %16 = stablehlo.multiply %15, %15 : tensor<16x8xf32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %18 = stablehlo.multiply %17, %15 : tensor<16x8xf32>
    %19 = stablehlo.add %8, %16 : tensor<16x8xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_3) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_4 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %21 = stablehlo.divide %20, %cst_4 : tensor<f32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %22 = stablehlo.divide %cst_5, %cst_6 : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %24 = stablehlo.multiply %23, %18 : tensor<16x8xf32>
    %25 = stablehlo.dot_general %24, %12, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %26 = stablehlo.transpose %25, dims = [1, 0] : (tensor<8x32xf32>) -> tensor<32x8xf32>
    %27 = stablehlo.dot_general %24, %arg3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<32x8xf32>) -> tensor<16x32xf32>
    %28 = stablehlo.multiply %27, %14 : tensor<16x32xf32>
    %29 = stablehlo.multiply %28, %12 : tensor<16x32xf32>
    %30 = stablehlo.add %28, %29 : tensor<16x32xf32>
    %31 = stablehlo.dot_general %30, %arg9, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
    %32 = stablehlo.transpose %31, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    %33 = stablehlo.multiply %23, %10 : tensor<16x8xf32>
    %34 = stablehlo.dot_general %33, %4, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %35 = stablehlo.transpose %34, dims = [1, 0] : (tensor<8x32xf32>) -> tensor<32x8xf32>
    %36 = stablehlo.add %26, %35 : tensor<32x8xf32>
    %37 = stablehlo.dot_general %33, %arg3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<32x8xf32>) -> tensor<16x32xf32>
    %38 = stablehlo.multiply %37, %6 : tensor<16x32xf32>
    %39 = stablehlo.multiply %38, %4 : tensor<16x32xf32>
    %40 = stablehlo.add %38, %39 : tensor<16x32xf32>
    %41 = stablehlo.dot_general %40, %2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
    %42 = stablehlo.transpose %41, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    %43 = stablehlo.add %32, %42 : tensor<16x32xf32>
    %cst_7 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %45 = stablehlo.multiply %44, %arg6 : tensor<16x32xf32>
    %46 = stablehlo.add %45, %43 : tensor<16x32xf32>
    %cst_8 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %48 = stablehlo.multiply %47, %arg7 : tensor<32x8xf32>
    %49 = stablehlo.add %48, %36 : tensor<32x8xf32>
    %cst_9 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %51 = stablehlo.multiply %50, %46 : tensor<16x32xf32>
    %52 = stablehlo.subtract %arg2, %51 : tensor<16x32xf32>
    %cst_10 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %53 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %54 = stablehlo.multiply %53, %49 : tensor<32x8xf32>
    %55 = stablehlo.subtract %arg3, %54 : tensor<32x8xf32>
    %56 = stablehlo.dot_general %arg8, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
    %57 = stablehlo.tanh %56 : tensor<16x32xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %59 = stablehlo.subtract %58, %57 : tensor<16x32xf32>
    %60 = stablehlo.dot_general %57, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
    %61 = stablehlo.dot_general %60, %52, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %62 = stablehlo.tanh %61 : tensor<16x32xf32>
    %cst_12 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %63 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %64 = stablehlo.subtract %63, %62 : tensor<16x32xf32>
    %65 = stablehlo.dot_general %62, %55, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
    %cst_13 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %66 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %67 = stablehlo.subtract %65, %66 : tensor<16x8xf32>
    %68 = stablehlo.multiply %67, %67 : tensor<16x8xf32>
    %cst_14 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %69 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %70 = stablehlo.multiply %69, %67 : tensor<16x8xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %71 = stablehlo.reduce(%68 init: %cst_15) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_16 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %72 = stablehlo.divide %71, %cst_16 : tensor<f32>
    %cst_17 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_18 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %73 = stablehlo.divide %cst_17, %cst_18 : tensor<f32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %75 = stablehlo.multiply %74, %70 : tensor<16x8xf32>
    %76 = stablehlo.dot_general %75, %55, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<32x8xf32>) -> tensor<16x32xf32>
    %77 = stablehlo.multiply %76, %64 : tensor<16x32xf32>
    %78 = stablehlo.multiply %77, %62 : tensor<16x32xf32>
    %79 = stablehlo.add %77, %78 : tensor<16x32xf32>
    %80 = stablehlo.dot_general %79, %52, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x16xf32>
    %81 = stablehlo.dot_general %80, %57, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %82 = stablehlo.transpose %81, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
    %83 = stablehlo.dot_general %80, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<32x16xf32>) -> tensor<16x32xf32>
    %84 = stablehlo.multiply %83, %59 : tensor<16x32xf32>
    %85 = stablehlo.multiply %84, %57 : tensor<16x32xf32>
    %86 = stablehlo.add %84, %85 : tensor<16x32xf32>
    %87 = stablehlo.dot_general %86, %arg8, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
    %88 = stablehlo.transpose %87, dims = [1, 0] : (tensor<32x8xf32>) -> tensor<8x32xf32>
    %cst_19 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %89 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %90 = stablehlo.multiply %89, %arg4 : tensor<8x32xf32>
    %91 = stablehlo.add %90, %88 : tensor<8x32xf32>
    %cst_20 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %92 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %93 = stablehlo.multiply %92, %arg5 : tensor<32x16xf32>
    %94 = stablehlo.add %93, %82 : tensor<32x16xf32>
    %cst_21 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %95 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %96 = stablehlo.multiply %95, %91 : tensor<8x32xf32>
    %97 = stablehlo.subtract %arg0, %96 : tensor<8x32xf32>
    %cst_22 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %98 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %99 = stablehlo.multiply %98, %94 : tensor<32x16xf32>
    %100 = stablehlo.subtract %arg1, %99 : tensor<32x16xf32>
    return %97, %100, %52, %55, %91, %94, %46, %49, %72, %21 : tensor<8x32xf32>, tensor<32x16xf32>, tensor<16x32xf32>, tensor<32x8xf32>, tensor<8x32xf32>, tensor<32x16xf32>, tensor<16x32xf32>, tensor<32x8xf32>, tensor<f32>, tensor<f32>
  }
}
