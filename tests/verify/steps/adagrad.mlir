module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<32xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<8xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<16x32xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<32x8xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<32xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<8xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<16x32xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<32x8xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<32x16xf32>, %arg9: tensor<32x8xf32>) -> (tensor<32xf32> {jax.result_info = "result[0]['b1']"}, tensor<8xf32> {jax.result_info = "result[0]['b2']"}, tensor<16x32xf32> {jax.result_info = "result[0]['w1']"}, tensor<32x8xf32> {jax.result_info = "result[0]['w2']"}, tensor<32xf32> {jax.result_info = "result[1][0].sum_of_squares['b1']"}, tensor<8xf32> {jax.result_info = "result[1][0].sum_of_squares['b2']"}, tensor<16x32xf32> {jax.result_info = "result[1][0].sum_of_squares['w1']"}, tensor<32x8xf32> {jax.result_info = "result[1][0].sum_of_squares['w2']"}, tensor<f32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.dot_general %arg8, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<16x32xf32>) -> tensor<32x32xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<32xf32>) -> tensor<1x32xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x32xf32>) -> tensor<32x32xf32>
    %3 = stablehlo.add %0, %2 : tensor<32x32xf32>
    %4 = call @relu(%3) : (tensor<32x32xf32>) -> tensor<32x32xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %6 = stablehlo.compare GT, %3, %5, FLOAT : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xi1>
    %7 = stablehlo.dot_general %4, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x32xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
    %8 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<32x8xf32>
    %10 = stablehlo.add %7, %9 : tensor<32x8xf32>
    %11 = stablehlo.subtract %10, %arg9 : tensor<32x8xf32>
    %12 = stablehlo.multiply %11, %11 : tensor<32x8xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %14 = stablehlo.multiply %13, %11 : tensor<32x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.reduce(%12 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %16 = stablehlo.divide %15, %cst_2 : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_4 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %17 = stablehlo.divide %cst_3, %cst_4 : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %19 = stablehlo.multiply %18, %14 : tensor<32x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_5) applies stablehlo.add across dimensions = [0] : (tensor<32x8xf32>, tensor<f32>) -> tensor<8xf32>
    %21 = stablehlo.reshape %20 : (tensor<8xf32>) -> tensor<1x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %22 = stablehlo.reduce(%21 init: %cst_6) applies stablehlo.add across dimensions = [0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %23 = stablehlo.dot_general %19, %4, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x8xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
    %24 = stablehlo.transpose %23, dims = [1, 0] : (tensor<8x32xf32>) -> tensor<32x8xf32>
    %25 = stablehlo.dot_general %19, %arg3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<32x32xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %27 = stablehlo.select %6, %25, %26 : tensor<32x32xi1>, tensor<32x32xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.reduce(%27 init: %cst_8) applies stablehlo.add across dimensions = [0] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
    %29 = stablehlo.reshape %28 : (tensor<32xf32>) -> tensor<1x32xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %30 = stablehlo.reduce(%29 init: %cst_9) applies stablehlo.add across dimensions = [0] : (tensor<1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %31 = stablehlo.dot_general %27, %arg8, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x32xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
    %32 = stablehlo.transpose %31, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    %33 = stablehlo.multiply %30, %30 : tensor<32xf32>
    %34 = stablehlo.add %33, %arg4 : tensor<32xf32>
    %35 = stablehlo.multiply %22, %22 : tensor<8xf32>
    %36 = stablehlo.add %35, %arg5 : tensor<8xf32>
    %37 = stablehlo.multiply %32, %32 : tensor<16x32xf32>
    %38 = stablehlo.add %37, %arg6 : tensor<16x32xf32>
    %39 = stablehlo.multiply %24, %24 : tensor<32x8xf32>
    %40 = stablehlo.add %39, %arg7 : tensor<32x8xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %42 = stablehlo.compare GT, %34, %41, FLOAT : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xi1>
    %cst_11 = stablehlo.constant dense<1.000000e-07> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %44 = stablehlo.add %34, %43 : tensor<32xf32>
    %45 = stablehlo.rsqrt %44 : tensor<32xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = call @_where(%42, %45, %cst_12) : (tensor<32xi1>, tensor<32xf32>, tensor<f32>) -> tensor<32xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %48 = stablehlo.compare GT, %36, %47, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
    %cst_14 = stablehlo.constant dense<1.000000e-07> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %50 = stablehlo.add %36, %49 : tensor<8xf32>
    %51 = stablehlo.rsqrt %50 : tensor<8xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %52 = call @_where_0(%48, %51, %cst_15) : (tensor<8xi1>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %53 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %54 = stablehlo.compare GT, %38, %53, FLOAT : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xi1>
    %cst_17 = stablehlo.constant dense<1.000000e-07> : tensor<f32>
    %55 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %56 = stablehlo.add %38, %55 : tensor<16x32xf32>
    %57 = stablehlo.rsqrt %56 : tensor<16x32xf32>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %58 = call @_where_1(%54, %57, %cst_18) : (tensor<16x32xi1>, tensor<16x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %59 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %60 = stablehlo.compare GT, %40, %59, FLOAT : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<32x8xi1>
    %cst_20 = stablehlo.constant dense<1.000000e-07> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %62 = stablehlo.add %40, %61 : tensor<32x8xf32>
    %63 = stablehlo.rsqrt %62 : tensor<32x8xf32>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %64 = call @_where_2(%60, %63, %cst_21) : (tensor<32x8xi1>, tensor<32x8xf32>, tensor<f32>) -> tensor<32x8xf32>
    %65 = stablehlo.multiply %46, %30 : tensor<32xf32>
    %66 = stablehlo.multiply %52, %22 : tensor<8xf32>
    %67 = stablehlo.multiply %58, %32 : tensor<16x32xf32>
    %68 = stablehlo.multiply %64, %24 : tensor<32x8xf32>
    %cst_22 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %69 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %70 = stablehlo.multiply %69, %65 : tensor<32xf32>
    %cst_23 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %71 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %72 = stablehlo.multiply %71, %66 : tensor<8xf32>
    %cst_24 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %73 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %74 = stablehlo.multiply %73, %67 : tensor<16x32xf32>
    %cst_25 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %75 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %76 = stablehlo.multiply %75, %68 : tensor<32x8xf32>
    %77 = stablehlo.add %arg0, %70 : tensor<32xf32>
    %78 = stablehlo.add %arg1, %72 : tensor<8xf32>
    %79 = stablehlo.add %arg2, %74 : tensor<16x32xf32>
    %80 = stablehlo.add %arg3, %76 : tensor<32x8xf32>
    return %77, %78, %79, %80, %34, %36, %38, %40, %16 : tensor<32xf32>, tensor<8xf32>, tensor<16x32xf32>, tensor<32x8xf32>, tensor<32xf32>, tensor<8xf32>, tensor<16x32xf32>, tensor<32x8xf32>, tensor<f32>
  }
  func.func private @relu(%arg0: tensor<32x32xf32>) -> tensor<32x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<32x32xf32>
    return %1 : tensor<32x32xf32>
  }
  func.func private @_where(%arg0: tensor<32xi1>, %arg1: tensor<32xf32>, %arg2: tensor<f32>) -> tensor<32xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<32xi1>, tensor<32xf32>
    return %2 : tensor<32xf32>
  }
  func.func private @_where_0(%arg0: tensor<8xi1>, %arg1: tensor<8xf32>, %arg2: tensor<f32>) -> tensor<8xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<8xi1>, tensor<8xf32>
    return %2 : tensor<8xf32>
  }
  func.func private @_where_1(%arg0: tensor<16x32xi1>, %arg1: tensor<16x32xf32>, %arg2: tensor<f32>) -> tensor<16x32xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<16x32xi1>, tensor<16x32xf32>
    return %2 : tensor<16x32xf32>
  }
  func.func private @_where_2(%arg0: tensor<32x8xi1>, %arg1: tensor<32x8xf32>, %arg2: tensor<f32>) -> tensor<32x8xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<32x8xi1>, tensor<32x8xf32>
    return %2 : tensor<32x8xf32>
  }
}
