module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x16xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<16x8xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<i32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<8x16xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<16x8xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<8x16xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<16x8xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<32x8xf32>, %arg8: tensor<32x8xf32>) -> (tensor<8x16xf32> {jax.result_info = "result[0]['w1']"}, tensor<16x8xf32> {jax.result_info = "result[0]['w2']"}, tensor<i32> {jax.result_info = "result[1][1][0].count"}, tensor<8x16xf32> {jax.result_info = "result[1][1][0].mu['w1']"}, tensor<16x8xf32> {jax.result_info = "result[1][1][0].mu['w2']"}, tensor<8x16xf32> {jax.result_info = "result[1][1][0].nu['w1']"}, tensor<16x8xf32> {jax.result_info = "result[1][1][0].nu['w2']"}, tensor<f32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.dot_general %arg7, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x8xf32>, tensor<8x16xf32>) -> tensor<32x16xf32>
    %1 = stablehlo.tanh %0 : tensor<32x16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %3 = stablehlo.subtract %2, %1 : tensor<32x16xf32>
    %4 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
    %cst_0 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.multiply %cst_0, %cst_1 : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.compare GT, %5, %cst_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %7 = stablehlo.subtract %4, %arg8 : tensor<32x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %8:5 = call @_var(%7, %c) : (tensor<32x8xf32>, tensor<i32>) -> (tensor<f32>, tensor<32x8xf32>, tensor<f32>, tensor<i1>, tensor<f32>)
    %cst_3 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %9:2 = call @_where_0(%6, %8#0, %cst_3) : (tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = call @_where_1(%6, %9#1, %cst_4) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %11 = call @_var_2(%8#1, %8#2, %8#3, %8#4, %10) : (tensor<32x8xf32>, tensor<f32>, tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<32x8xf32>
    %12 = stablehlo.dot_general %11, %1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x8xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    %13 = stablehlo.transpose %12, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %14 = stablehlo.dot_general %11, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x8xf32>, tensor<16x8xf32>) -> tensor<32x16xf32>
    %15 = stablehlo.multiply %14, %3 : tensor<32x16xf32>
    %16 = stablehlo.multiply %15, %1 : tensor<32x16xf32>
    %17 = stablehlo.add %15, %16 : tensor<32x16xf32>
    %18 = stablehlo.dot_general %17, %arg7, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
    %19 = stablehlo.transpose %18, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %20 = chlo.square %19 : tensor<8x16xf32> -> tensor<8x16xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %22 = chlo.square %21 : tensor<8x16xf32> -> tensor<8x16xf32>
    %23 = stablehlo.add %20, %22 : tensor<8x16xf32>
    %24 = chlo.square %13 : tensor<16x8xf32> -> tensor<16x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %26 = chlo.square %25 : tensor<16x8xf32> -> tensor<16x8xf32>
    %27 = stablehlo.add %24, %26 : tensor<16x8xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.reduce(%23 init: %cst_7) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %29 = stablehlo.reduce(%27 init: %cst_8) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %30 = stablehlo.add %cst_9, %28 : tensor<f32>
    %31 = stablehlo.add %30, %29 : tensor<f32>
    %32 = stablehlo.sqrt %31 : tensor<f32>
    %cst_10 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %33 = stablehlo.compare LT, %32, %cst_10, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %34 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %35 = stablehlo.divide %19, %34 : tensor<8x16xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %37 = stablehlo.multiply %35, %36 : tensor<8x16xf32>
    %38 = stablehlo.select %33, %19, %37 : tensor<i1>, tensor<8x16xf32>
    %39 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %40 = stablehlo.divide %13, %39 : tensor<16x8xf32>
    %cst_12 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %42 = stablehlo.multiply %40, %41 : tensor<16x8xf32>
    %43 = stablehlo.select %33, %13, %42 : tensor<i1>, tensor<16x8xf32>
    %cst_13 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %45 = stablehlo.multiply %44, %38 : tensor<8x16xf32>
    %cst_14 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %47 = stablehlo.multiply %46, %arg3 : tensor<8x16xf32>
    %48 = stablehlo.add %45, %47 : tensor<8x16xf32>
    %cst_15 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %50 = stablehlo.multiply %49, %43 : tensor<16x8xf32>
    %cst_16 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %52 = stablehlo.multiply %51, %arg4 : tensor<16x8xf32>
    %53 = stablehlo.add %50, %52 : tensor<16x8xf32>
    %54 = stablehlo.multiply %38, %38 : tensor<8x16xf32>
    %cst_17 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %55 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %56 = stablehlo.multiply %55, %54 : tensor<8x16xf32>
    %cst_18 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %57 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %58 = stablehlo.multiply %57, %arg5 : tensor<8x16xf32>
    %59 = stablehlo.add %56, %58 : tensor<8x16xf32>
    %60 = stablehlo.multiply %43, %43 : tensor<16x8xf32>
    %cst_19 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %62 = stablehlo.multiply %61, %60 : tensor<16x8xf32>
    %cst_20 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %63 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %64 = stablehlo.multiply %63, %arg6 : tensor<16x8xf32>
    %65 = stablehlo.add %62, %64 : tensor<16x8xf32>
    %c_21 = stablehlo.constant dense<2147483647> : tensor<i32>
    %66 = stablehlo.compare LT, %arg2, %c_21, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_22 = stablehlo.constant dense<1> : tensor<i32>
    %67 = stablehlo.add %arg2, %c_22 : tensor<i32>
    %c_23 = stablehlo.constant dense<2147483647> : tensor<i32>
    %68 = call @_where_4(%66, %67, %c_23) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %69 = stablehlo.convert %68 : (tensor<i32>) -> tensor<f32>
    %cst_24 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %70 = stablehlo.convert %68 : (tensor<i32>) -> tensor<f32>
    %71 = stablehlo.power %cst_24, %70 : tensor<f32>
    %cst_25 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %72 = stablehlo.subtract %cst_25, %71 : tensor<f32>
    %73 = stablehlo.broadcast_in_dim %72, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %74 = stablehlo.divide %48, %73 : tensor<8x16xf32>
    %75 = stablehlo.broadcast_in_dim %72, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %76 = stablehlo.divide %53, %75 : tensor<16x8xf32>
    %77 = stablehlo.convert %68 : (tensor<i32>) -> tensor<f32>
    %cst_26 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %78 = stablehlo.convert %68 : (tensor<i32>) -> tensor<f32>
    %79 = stablehlo.power %cst_26, %78 : tensor<f32>
    %cst_27 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %80 = stablehlo.subtract %cst_27, %79 : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %80, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %82 = stablehlo.divide %59, %81 : tensor<8x16xf32>
    %83 = stablehlo.broadcast_in_dim %80, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %84 = stablehlo.divide %65, %83 : tensor<16x8xf32>
    %cst_28 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %85 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %86 = stablehlo.add %82, %85 : tensor<8x16xf32>
    %87 = stablehlo.sqrt %86 : tensor<8x16xf32>
    %cst_29 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %88 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %89 = stablehlo.add %87, %88 : tensor<8x16xf32>
    %90 = stablehlo.divide %74, %89 : tensor<8x16xf32>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %91 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %92 = stablehlo.add %84, %91 : tensor<16x8xf32>
    %93 = stablehlo.sqrt %92 : tensor<16x8xf32>
    %cst_31 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %94 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %95 = stablehlo.add %93, %94 : tensor<16x8xf32>
    %96 = stablehlo.divide %76, %95 : tensor<16x8xf32>
    %cst_32 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %97 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %98 = stablehlo.multiply %97, %90 : tensor<8x16xf32>
    %cst_33 = stablehlo.constant dense<-0.00999999977> : tensor<f32>
    %99 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %100 = stablehlo.multiply %99, %96 : tensor<16x8xf32>
    %101 = stablehlo.add %arg0, %98 : tensor<8x16xf32>
    %102 = stablehlo.add %arg1, %100 : tensor<16x8xf32>
    return %101, %102, %68, %48, %53, %59, %65, %9#0 : tensor<8x16xf32>, tensor<16x8xf32>, tensor<i32>, tensor<8x16xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<16x8xf32>, tensor<f32>
  }
  func.func private @_var(%arg0: tensor<32x8xf32>, %arg1: tensor<i32>) -> (tensor<f32>, tensor<32x8xf32>, tensor<f32>, tensor<i1>, tensor<f32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x1xf32>
    %cst_0 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<1x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<32x8xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<32x8xf32>
    %6 = chlo.square %5 : tensor<32x8xf32> -> tensor<32x8xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %8 = stablehlo.multiply %7, %5 : tensor<32x8xf32>
    %9 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %10 = stablehlo.subtract %cst_2, %9 : tensor<f32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%6 init: %cst_3) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<f32>
    %12 = stablehlo.divide %11, %10 : tensor<f32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.compare GT, %10, %cst_4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_5 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14:2 = call @_where(%13, %12, %cst_5) : (tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    return %14#0, %8, %10, %13, %14#1 : tensor<f32>, tensor<32x8xf32>, tensor<f32>, tensor<i1>, tensor<f32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<i1>, tensor<f32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    return %1, %cst : tensor<f32>, tensor<f32>
  }
  func.func private @_where_0(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<i1>, tensor<f32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    return %1, %cst : tensor<f32>, tensor<f32>
  }
  func.func private @_where_1(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.select %arg0, %arg2, %cst : tensor<i1>, tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @_var_2(%arg0: tensor<32x8xf32>, %arg1: tensor<f32>, %arg2: tensor<i1>, %arg3: tensor<f32>, %arg4: tensor<f32>) -> tensor<32x8xf32> {
    %0 = call @_where_3(%arg2, %arg3, %arg4) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.divide %0, %arg1 : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %3 = stablehlo.multiply %2, %arg0 : tensor<32x8xf32>
    %4 = stablehlo.negate %3 : tensor<32x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<f32>
    %6 = stablehlo.reshape %5 : (tensor<f32>) -> tensor<1x1xf32>
    %cst_0 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x1xf32>
    %8 = stablehlo.divide %6, %7 : tensor<1x1xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%8 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1xf32>, tensor<f32>) -> tensor<f32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %11 = stablehlo.add %3, %10 : tensor<32x8xf32>
    return %11 : tensor<32x8xf32>
  }
  func.func private @_where_3(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.select %arg0, %arg2, %cst : tensor<i1>, tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @_where_4(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
}

