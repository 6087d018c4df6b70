module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4x8xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<48x32xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<32xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<32x64xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<64x32xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<32x4x8xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<4x8x32xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<32x4x8xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<32x4x8xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<i32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<64xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<4x8xf32> {tf.aliasing_output = 12 : i32}, %arg13: tensor<48x32xf32> {tf.aliasing_output = 13 : i32}, %arg14: tensor<32xf32> {tf.aliasing_output = 14 : i32}, %arg15: tensor<32x64xf32> {tf.aliasing_output = 15 : i32}, %arg16: tensor<64x32xf32> {tf.aliasing_output = 16 : i32}, %arg17: tensor<32x4x8xf32> {tf.aliasing_output = 17 : i32}, %arg18: tensor<4x8x32xf32> {tf.aliasing_output = 18 : i32}, %arg19: tensor<32x4x8xf32> {tf.aliasing_output = 19 : i32}, %arg20: tensor<32x4x8xf32> {tf.aliasing_output = 20 : i32}, %arg21: tensor<64xf32> {tf.aliasing_output = 21 : i32}, %arg22: tensor<4x8xf32> {tf.aliasing_output = 22 : i32}, %arg23: tensor<48x32xf32> {tf.aliasing_output = 23 : i32}, %arg24: tensor<32xf32> {tf.aliasing_output = 24 : i32}, %arg25: tensor<32x64xf32> {tf.aliasing_output = 25 : i32}, %arg26: tensor<64x32xf32> {tf.aliasing_output = 26 : i32}, %arg27: tensor<32x4x8xf32> {tf.aliasing_output = 27 : i32}, %arg28: tensor<4x8x32xf32> {tf.aliasing_output = 28 : i32}, %arg29: tensor<32x4x8xf32> {tf.aliasing_output = 29 : i32}, %arg30: tensor<32x4x8xf32> {tf.aliasing_output = 30 : i32}, %arg31: tensor<8x16xi32>, %arg32: tensor<8x16xi32>) -> (tensor<64xf32> {jax.result_info = "result[0]['b1']"}, tensor<4x8xf32> {jax.result_info = "result[0]['bk']"}, tensor<48x32xf32> {jax.result_info = "result[0]['emb']"}, tensor<32xf32> {jax.result_info = "result[0]['g']"}, tensor<32x64xf32> {jax.result_info = "result[0]['w1']"}, tensor<64x32xf32> {jax.result_info = "result[0]['w2']"}, tensor<32x4x8xf32> {jax.result_info = "result[0]['wk']"}, tensor<4x8x32xf32> {jax.result_info = "result[0]['wo']"}, tensor<32x4x8xf32> {jax.result_info = "result[0]['wq']"}, tensor<32x4x8xf32> {jax.result_info = "result[0]['wv']"}, tensor<i32> {jax.result_info = "result[1][1][0].count"}, tensor<64xf32> {jax.result_info = "result[1][1][0].mu['b1']"}, tensor<4x8xf32> {jax.result_info = "result[1][1][0].mu['bk']"}, tensor<48x32xf32> {jax.result_info = "result[1][1][0].mu['emb']"}, tensor<32xf32> {jax.result_info = "result[1][1][0].mu['g']"}, tensor<32x64xf32> {jax.result_info = "result[1][1][0].mu['w1']"}, tensor<64x32xf32> {jax.result_info = "result[1][1][0].mu['w2']"}, tensor<32x4x8xf32> {jax.result_info = "result[1][1][0].mu['wk']"}, tensor<4x8x32xf32> {jax.result_info = "result[1][1][0].mu['wo']"}, tensor<32x4x8xf32> {jax.result_info = "result[1][1][0].mu['wq']"}, tensor<32x4x8xf32> {jax.result_info = "result[1][1][0].mu['wv']"}, tensor<64xf32> {jax.result_info = "result[1][1][0].nu['b1']"}, tensor<4x8xf32> {jax.result_info = "result[1][1][0].nu['bk']"}, tensor<48x32xf32> {jax.result_info = "result[1][1][0].nu['emb']"}, tensor<32xf32> {jax.result_info = "result[1][1][0].nu['g']"}, tensor<32x64xf32> {jax.result_info = "result[1][1][0].nu['w1']"}, tensor<64x32xf32> {jax.result_info = "result[1][1][0].nu['w2']"}, tensor<32x4x8xf32> {jax.result_info = "result[1][1][0].nu['wk']"}, tensor<4x8x32xf32> {jax.result_info = "result[1][1][0].nu['wo']"}, tensor<32x4x8xf32> {jax.result_info = "result[1][1][0].nu['wq']"}, tensor<32x4x8xf32> {jax.result_info = "result[1][1][0].nu['wv']"}, tensor<f32> {jax.result_info = "result[2]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x16xi32>
    %1 = stablehlo.compare LT, %arg31, %0, SIGNED : (tensor<8x16xi32>, tensor<8x16xi32>) -> tensor<8x16xi1>
    %c_0 = stablehlo.constant dense<48> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<8x16xi32>
    %3 = stablehlo.add %arg31, %2 : tensor<8x16xi32>
    %4 = stablehlo.select %1, %3, %arg31 : tensor<8x16xi1>, tensor<8x16xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<8x16xi32>) -> tensor<8x16x1xi32>
    %6 = "stablehlo.gather"(%arg2, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 32>}> : (tensor<48x32xf32>, tensor<8x16x1xi32>) -> tensor<8x16x32xf32>
    %7 = stablehlo.multiply %6, %6 : tensor<8x16x32xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<8x16x32xf32>, tensor<f32>) -> tensor<8x16xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<8x16xf32>) -> tensor<8x16x1xf32>
    %cst_1 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x16x1xf32>
    %11 = stablehlo.divide %9, %10 : tensor<8x16x1xf32>
    %cst_2 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x16x1xf32>
    %13 = stablehlo.add %11, %12 : tensor<8x16x1xf32>
    %14 = stablehlo.rsqrt %13 : tensor<8x16x1xf32>
    %15 = stablehlo.divide %14, %13 : tensor<8x16x1xf32>
    %cst_3 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x16x1xf32>
    %17 = stablehlo.multiply %16, %15 : tensor<8x16x1xf32>
    %18 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<8x16x1xf32>) -> tensor<8x16x32xf32>
    %19 = stablehlo.multiply %6, %18 : tensor<8x16x32xf32>
    %20 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<8x16x32xf32>
    %22 = stablehlo.multiply %19, %21 : tensor<8x16x32xf32>
    %23 = stablehlo.dot_general %22, %arg8, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16x32xf32>, tensor<32x4x8xf32>) -> tensor<8x16x4x8xf32>
    %24 = stablehlo.dot_general %22, %arg6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16x32xf32>, tensor<32x4x8xf32>) -> tensor<8x16x4x8xf32>
    %25 = stablehlo.broadcast_in_dim %arg1, dims = [2, 3] : (tensor<4x8xf32>) -> tensor<1x1x4x8xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3] : (tensor<1x1x4x8xf32>) -> tensor<8x16x4x8xf32>
    %27 = stablehlo.add %24, %26 : tensor<8x16x4x8xf32>
    %28 = stablehlo.dot_general %22, %arg9, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16x32xf32>, tensor<32x4x8xf32>) -> tensor<8x16x4x8xf32>
    %29 = stablehlo.dot_general %23, %27, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<8x16x4x8xf32>, tensor<8x16x4x8xf32>) -> tensor<8x4x16x16xf32>
    %cst_4 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<8x4x16x16xf32>
    %31 = stablehlo.divide %29, %30 : tensor<8x4x16x16xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %32 = stablehlo.reduce(%31 init: %cst_5) applies stablehlo.maximum across dimensions = [3] : (tensor<8x4x16x16xf32>, tensor<f32>) -> tensor<8x4x16xf32>
    %cst_6 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<8x4x16xf32>
    %34 = stablehlo.maximum %33, %32 : tensor<8x4x16xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2] : (tensor<8x4x16xf32>) -> tensor<8x4x16x1xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2, 3] : (tensor<8x4x16x1xf32>) -> tensor<8x4x16x16xf32>
    %37 = stablehlo.subtract %31, %36 : tensor<8x4x16x16xf32>
    %38 = stablehlo.exponential %37 : tensor<8x4x16x16xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.reduce(%38 init: %cst_7) applies stablehlo.add across dimensions = [3] : (tensor<8x4x16x16xf32>, tensor<f32>) -> tensor<8x4x16xf32>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0, 1, 2] : (tensor<8x4x16xf32>) -> tensor<8x4x16x1xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2, 3] : (tensor<8x4x16x1xf32>) -> tensor<8x4x16x16xf32>
    %42 = stablehlo.divide %38, %41 : tensor<8x4x16x16xf32>
    %43 = stablehlo.multiply %40, %40 : tensor<8x4x16x1xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x4x16x1xf32>
    %45 = stablehlo.divide %44, %43 : tensor<8x4x16x1xf32>
    %46 = stablehlo.dot_general %28, %42, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<8x16x4x8xf32>, tensor<8x4x16x16xf32>) -> tensor<8x4x8x16xf32>
    %47 = stablehlo.dot_general %46, %arg7, contracting_dims = [1, 2] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x4x8x16xf32>, tensor<4x8x32xf32>) -> tensor<8x16x32xf32>
    %48 = stablehlo.add %6, %47 : tensor<8x16x32xf32>
    %49 = stablehlo.dot_general %48, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16x32xf32>, tensor<32x64xf32>) -> tensor<8x16x64xf32>
    %50 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2] : (tensor<1x1x64xf32>) -> tensor<8x16x64xf32>
    %52 = stablehlo.add %49, %51 : tensor<8x16x64xf32>
    %53 = stablehlo.multiply %52, %52 : tensor<8x16x64xf32>
    %54 = stablehlo.multiply %53, %52 : tensor<8x16x64xf32>
    %55 = stablehlo.multiply %52, %52 : tensor<8x16x64xf32>
    %cst_9 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %56 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8x16x64xf32>
    %57 = stablehlo.multiply %56, %55 : tensor<8x16x64xf32>
    %cst_10 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<8x16x64xf32>
    %59 = stablehlo.multiply %58, %54 : tensor<8x16x64xf32>
    %60 = stablehlo.add %52, %59 : tensor<8x16x64xf32>
    %cst_11 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<8x16x64xf32>
    %62 = stablehlo.multiply %61, %60 : tensor<8x16x64xf32>
    %63 = stablehlo.tanh %62 : tensor<8x16x64xf32>
    %cst_12 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<8x16x64xf32>
    %65 = stablehlo.subtract %64, %63 : tensor<8x16x64xf32>
    %cst_13 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %66 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<8x16x64xf32>
    %67 = stablehlo.add %66, %63 : tensor<8x16x64xf32>
    %cst_14 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %68 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<8x16x64xf32>
    %69 = stablehlo.multiply %68, %67 : tensor<8x16x64xf32>
    %70 = stablehlo.multiply %52, %69 : tensor<8x16x64xf32>
    %71 = stablehlo.dot_general %70, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16x64xf32>, tensor<64x32xf32>) -> tensor<8x16x32xf32>
    %72 = stablehlo.add %48, %71 : tensor<8x16x32xf32>
    %73 = stablehlo.transpose %arg2, dims = [1, 0] : (tensor<48x32xf32>) -> tensor<32x48xf32>
    %74 = stablehlo.dot_general %72, %73, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16x32xf32>, tensor<32x48xf32>) -> tensor<8x16x48xf32>
    %75:3 = call @log_softmax(%74) : (tensor<8x16x48xf32>) -> (tensor<8x16x48xf32>, tensor<8x16x48xf32>, tensor<8x16x1xf32>)
    %76 = stablehlo.broadcast_in_dim %arg32, dims = [0, 1] : (tensor<8x16xi32>) -> tensor<8x16x1xi32>
    %77:2 = call @take_along_axis(%75#0, %76) : (tensor<8x16x48xf32>, tensor<8x16x1xi32>) -> (tensor<8x16x1xf32>, tensor<8x16x1x1xi32>)
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %78 = stablehlo.reduce(%77#0 init: %cst_15) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<8x16x1xf32>, tensor<f32>) -> tensor<f32>
    %cst_16 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %79 = stablehlo.divide %78, %cst_16 : tensor<f32>
    %80 = stablehlo.negate %79 : tensor<f32>
    %cst_17 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %81 = stablehlo.negate %cst_17 : tensor<f32>
    %cst_18 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %82 = stablehlo.divide %81, %cst_18 : tensor<f32>
    %83 = stablehlo.broadcast_in_dim %82, dims = [] : (tensor<f32>) -> tensor<8x16x1xf32>
    %84 = call @take_along_axis_0(%77#1, %83) : (tensor<8x16x1x1xi32>, tensor<8x16x1xf32>) -> tensor<8x16x48xf32>
    %85 = call @log_softmax_1(%75#1, %75#2, %84) : (tensor<8x16x48xf32>, tensor<8x16x1xf32>, tensor<8x16x48xf32>) -> tensor<8x16x48xf32>
    %86 = stablehlo.dot_general %85, %72, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x16x48xf32>, tensor<8x16x32xf32>) -> tensor<48x32xf32>
    %87 = stablehlo.transpose %86, dims = [1, 0] : (tensor<48x32xf32>) -> tensor<32x48xf32>
    %88 = stablehlo.dot_general %85, %73, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x16x48xf32>, tensor<32x48xf32>) -> tensor<8x16x32xf32>
    %89 = stablehlo.transpose %87, dims = [1, 0] : (tensor<32x48xf32>) -> tensor<48x32xf32>
    %90 = stablehlo.dot_general %88, %70, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x16x32xf32>, tensor<8x16x64xf32>) -> tensor<32x64xf32>
    %91 = stablehlo.transpose %90, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
    %92 = stablehlo.dot_general %88, %arg5, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x16x32xf32>, tensor<64x32xf32>) -> tensor<8x16x64xf32>
    %93 = stablehlo.multiply %52, %92 : tensor<8x16x64xf32>
    %94 = stablehlo.multiply %92, %69 : tensor<8x16x64xf32>
    %cst_19 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %95 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<8x16x64xf32>
    %96 = stablehlo.multiply %95, %93 : tensor<8x16x64xf32>
    %97 = stablehlo.multiply %96, %65 : tensor<8x16x64xf32>
    %98 = stablehlo.multiply %97, %63 : tensor<8x16x64xf32>
    %99 = stablehlo.add %97, %98 : tensor<8x16x64xf32>
    %cst_20 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %100 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<8x16x64xf32>
    %101 = stablehlo.multiply %100, %99 : tensor<8x16x64xf32>
    %102 = stablehlo.add %94, %101 : tensor<8x16x64xf32>
    %cst_21 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %103 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<8x16x64xf32>
    %104 = stablehlo.multiply %103, %101 : tensor<8x16x64xf32>
    %105 = stablehlo.multiply %104, %57 : tensor<8x16x64xf32>
    %106 = stablehlo.add %102, %105 : tensor<8x16x64xf32>
    %cst_22 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %107 = stablehlo.reduce(%106 init: %cst_22) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16x64xf32>, tensor<f32>) -> tensor<64xf32>
    %108 = stablehlo.reshape %107 : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %109 = stablehlo.reduce(%108 init: %cst_23) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %110 = stablehlo.dot_general %106, %48, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x16x64xf32>, tensor<8x16x32xf32>) -> tensor<64x32xf32>
    %111 = stablehlo.transpose %110, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
    %112 = stablehlo.dot_general %106, %arg4, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x16x64xf32>, tensor<32x64xf32>) -> tensor<8x16x32xf32>
    %113 = stablehlo.add %88, %112 : tensor<8x16x32xf32>
    %114 = stablehlo.dot_general %113, %46, contracting_dims = [0, 1] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<8x16x32xf32>, tensor<8x4x8x16xf32>) -> tensor<32x4x8xf32>
    %115 = stablehlo.transpose %114, dims = [1, 2, 0] : (tensor<32x4x8xf32>) -> tensor<4x8x32xf32>
    %116 = stablehlo.dot_general %113, %arg7, contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x16x32xf32>, tensor<4x8x32xf32>) -> tensor<8x16x4x8xf32>
    %117 = stablehlo.transpose %116, dims = [0, 2, 3, 1] : (tensor<8x16x4x8xf32>) -> tensor<8x4x8x16xf32>
    %118 = stablehlo.dot_general %117, %28, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<8x4x8x16xf32>, tensor<8x16x4x8xf32>) -> tensor<8x4x16x16xf32>
    %119 = stablehlo.dot_general %117, %42, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x4x8x16xf32>, tensor<8x4x16x16xf32>) -> tensor<8x4x8x16xf32>
    %120 = stablehlo.transpose %119, dims = [0, 3, 1, 2] : (tensor<8x4x8x16xf32>) -> tensor<8x16x4x8xf32>
    %121 = stablehlo.broadcast_in_dim %45, dims = [0, 1, 2, 3] : (tensor<8x4x16x1xf32>) -> tensor<8x4x16x16xf32>
    %122 = stablehlo.multiply %118, %121 : tensor<8x4x16x16xf32>
    %123 = stablehlo.multiply %122, %38 : tensor<8x4x16x16xf32>
    %cst_24 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %124 = stablehlo.reduce(%123 init: %cst_24) applies stablehlo.add across dimensions = [3] : (tensor<8x4x16x16xf32>, tensor<f32>) -> tensor<8x4x16xf32>
    %125 = stablehlo.reshape %124 : (tensor<8x4x16xf32>) -> tensor<8x4x16x1xf32>
    %126 = stablehlo.negate %125 : tensor<8x4x16x1xf32>
    %127 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2, 3] : (tensor<8x4x16x1xf32>) -> tensor<8x4x16x16xf32>
    %128 = stablehlo.divide %118, %127 : tensor<8x4x16x16xf32>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %129 = stablehlo.reduce(%126 init: %cst_25) applies stablehlo.add across dimensions = [3] : (tensor<8x4x16x1xf32>, tensor<f32>) -> tensor<8x4x16xf32>
    %130 = stablehlo.broadcast_in_dim %129, dims = [0, 1, 2] : (tensor<8x4x16xf32>) -> tensor<8x4x16x16xf32>
    %131 = stablehlo.add %128, %130 : tensor<8x4x16x16xf32>
    %132 = stablehlo.multiply %131, %38 : tensor<8x4x16x16xf32>
    %cst_26 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %133 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<8x4x16x16xf32>
    %134 = stablehlo.divide %132, %133 : tensor<8x4x16x16xf32>
    %135 = stablehlo.dot_general %134, %23, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x4x16x16xf32>, tensor<8x16x4x8xf32>) -> tensor<8x4x16x8xf32>
    %136 = stablehlo.transpose %135, dims = [0, 2, 1, 3] : (tensor<8x4x16x8xf32>) -> tensor<8x16x4x8xf32>
    %137 = stablehlo.dot_general %134, %27, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x4x16x16xf32>, tensor<8x16x4x8xf32>) -> tensor<8x4x16x8xf32>
    %138 = stablehlo.transpose %137, dims = [0, 2, 1, 3] : (tensor<8x4x16x8xf32>) -> tensor<8x16x4x8xf32>
    %139 = stablehlo.dot_general %120, %22, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x16x4x8xf32>, tensor<8x16x32xf32>) -> tensor<4x8x32xf32>
    %140 = stablehlo.transpose %139, dims = [2, 0, 1] : (tensor<4x8x32xf32>) -> tensor<32x4x8xf32>
    %141 = stablehlo.dot_general %120, %arg9, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<8x16x4x8xf32>, tensor<32x4x8xf32>) -> tensor<8x16x32xf32>
    %cst_27 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %142 = stablehlo.reduce(%136 init: %cst_27) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16x4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %143 = stablehlo.reshape %142 : (tensor<4x8xf32>) -> tensor<1x1x4x8xf32>
    %cst_28 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %144 = stablehlo.reduce(%143 init: %cst_28) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %145 = stablehlo.dot_general %136, %22, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x16x4x8xf32>, tensor<8x16x32xf32>) -> tensor<4x8x32xf32>
    %146 = stablehlo.transpose %145, dims = [2, 0, 1] : (tensor<4x8x32xf32>) -> tensor<32x4x8xf32>
    %147 = stablehlo.dot_general %136, %arg6, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<8x16x4x8xf32>, tensor<32x4x8xf32>) -> tensor<8x16x32xf32>
    %148 = stablehlo.add %141, %147 : tensor<8x16x32xf32>
    %149 = stablehlo.dot_general %138, %22, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x16x4x8xf32>, tensor<8x16x32xf32>) -> tensor<4x8x32xf32>
    %150 = stablehlo.transpose %149, dims = [2, 0, 1] : (tensor<4x8x32xf32>) -> tensor<32x4x8xf32>
    %151 = stablehlo.dot_general %138, %arg8, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<8x16x4x8xf32>, tensor<32x4x8xf32>) -> tensor<8x16x32xf32>
    %152 = stablehlo.add %148, %151 : tensor<8x16x32xf32>
    %153 = stablehlo.multiply %19, %152 : tensor<8x16x32xf32>
    %cst_29 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %154 = stablehlo.reduce(%153 init: %cst_29) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %155 = stablehlo.reshape %154 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %156 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<8x16x32xf32>
    %157 = stablehlo.multiply %152, %156 : tensor<8x16x32xf32>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %158 = stablehlo.reduce(%155 init: %cst_30) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %159 = stablehlo.multiply %6, %157 : tensor<8x16x32xf32>
    %cst_31 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %160 = stablehlo.reduce(%159 init: %cst_31) applies stablehlo.add across dimensions = [2] : (tensor<8x16x32xf32>, tensor<f32>) -> tensor<8x16xf32>
    %161 = stablehlo.reshape %160 : (tensor<8x16xf32>) -> tensor<8x16x1xf32>
    %162 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<8x16x1xf32>) -> tensor<8x16x32xf32>
    %163 = stablehlo.multiply %157, %162 : tensor<8x16x32xf32>
    %164 = stablehlo.add %113, %163 : tensor<8x16x32xf32>
    %165 = stablehlo.multiply %161, %17 : tensor<8x16x1xf32>
    %cst_32 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %166 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<8x16x1xf32>
    %167 = stablehlo.divide %165, %166 : tensor<8x16x1xf32>
    %cst_33 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %168 = stablehlo.reduce(%167 init: %cst_33) applies stablehlo.add across dimensions = [2] : (tensor<8x16x1xf32>, tensor<f32>) -> tensor<8x16xf32>
    %169 = stablehlo.broadcast_in_dim %168, dims = [0, 1] : (tensor<8x16xf32>) -> tensor<8x16x32xf32>
    %170 = stablehlo.multiply %6, %169 : tensor<8x16x32xf32>
    %171 = stablehlo.add %164, %170 : tensor<8x16x32xf32>
    %172 = stablehlo.multiply %169, %6 : tensor<8x16x32xf32>
    %173 = stablehlo.add %171, %172 : tensor<8x16x32xf32>
    %cst_34 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %174 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %175 = "stablehlo.scatter"(%174, %5, %173) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg33: tensor<f32>, %arg34: tensor<f32>):
      %538 = stablehlo.add %arg33, %arg34 : tensor<f32>
      stablehlo.return %538 : tensor<f32>
    }) : (tensor<48x32xf32>, tensor<8x16x1xi32>, tensor<8x16x32xf32>) -> tensor<48x32xf32>
    %176 = stablehlo.add %89, %175 : tensor<48x32xf32>
    %177 = chlo.square %109 : tensor<64xf32> -> tensor<64xf32>
    %cst_35 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %178 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %179 = chlo.square %178 : tensor<64xf32> -> tensor<64xf32>
    %180 = stablehlo.add %177, %179 : tensor<64xf32>
    %181 = chlo.square %144 : tensor<4x8xf32> -> tensor<4x8xf32>
    %cst_36 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %182 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %183 = chlo.square %182 : tensor<4x8xf32> -> tensor<4x8xf32>
    %184 = stablehlo.add %181, %183 : tensor<4x8xf32>
    %185 = chlo.square %176 : tensor<48x32xf32> -> tensor<48x32xf32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %186 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %187 = chlo.square %186 : tensor<48x32xf32> -> tensor<48x32xf32>
    %188 = stablehlo.add %185, %187 : tensor<48x32xf32>
    %189 = chlo.square %158 : tensor<32xf32> -> tensor<32xf32>
    %cst_38 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %190 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %191 = chlo.square %190 : tensor<32xf32> -> tensor<32xf32>
    %192 = stablehlo.add %189, %191 : tensor<32xf32>
    %193 = chlo.square %111 : tensor<32x64xf32> -> tensor<32x64xf32>
    %cst_39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %194 = stablehlo.broadcast_in_dim %cst_39, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %195 = chlo.square %194 : tensor<32x64xf32> -> tensor<32x64xf32>
    %196 = stablehlo.add %193, %195 : tensor<32x64xf32>
    %197 = chlo.square %91 : tensor<64x32xf32> -> tensor<64x32xf32>
    %cst_40 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %198 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %199 = chlo.square %198 : tensor<64x32xf32> -> tensor<64x32xf32>
    %200 = stablehlo.add %197, %199 : tensor<64x32xf32>
    %201 = chlo.square %146 : tensor<32x4x8xf32> -> tensor<32x4x8xf32>
    %cst_41 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %202 = stablehlo.broadcast_in_dim %cst_41, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %203 = chlo.square %202 : tensor<32x4x8xf32> -> tensor<32x4x8xf32>
    %204 = stablehlo.add %201, %203 : tensor<32x4x8xf32>
    %205 = chlo.square %115 : tensor<4x8x32xf32> -> tensor<4x8x32xf32>
    %cst_42 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %206 = stablehlo.broadcast_in_dim %cst_42, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %207 = chlo.square %206 : tensor<4x8x32xf32> -> tensor<4x8x32xf32>
    %208 = stablehlo.add %205, %207 : tensor<4x8x32xf32>
    %209 = chlo.square %150 : tensor<32x4x8xf32> -> tensor<32x4x8xf32>
    %cst_43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %210 = stablehlo.broadcast_in_dim %cst_43, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %211 = chlo.square %210 : tensor<32x4x8xf32> -> tensor<32x4x8xf32>
    %212 = stablehlo.add %209, %211 : tensor<32x4x8xf32>
    %213 = chlo.square %140 : tensor<32x4x8xf32> -> tensor<32x4x8xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %214 = stablehlo.broadcast_in_dim %cst_44, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %215 = chlo.square %214 : tensor<32x4x8xf32> -> tensor<32x4x8xf32>
    %216 = stablehlo.add %213, %215 : tensor<32x4x8xf32>
    %cst_45 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %217 = stablehlo.reduce(%180 init: %cst_45) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %cst_46 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %218 = stablehlo.reduce(%184 init: %cst_46) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_47 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %219 = stablehlo.reduce(%188 init: %cst_47) applies stablehlo.add across dimensions = [0, 1] : (tensor<48x32xf32>, tensor<f32>) -> tensor<f32>
    %cst_48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %220 = stablehlo.reduce(%192 init: %cst_48) applies stablehlo.add across dimensions = [0] : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
    %cst_49 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %221 = stablehlo.reduce(%196 init: %cst_49) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<f32>
    %cst_50 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %222 = stablehlo.reduce(%200 init: %cst_50) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x32xf32>, tensor<f32>) -> tensor<f32>
    %cst_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %223 = stablehlo.reduce(%204 init: %cst_51) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<32x4x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %224 = stablehlo.reduce(%208 init: %cst_52) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<f32>
    %cst_53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %225 = stablehlo.reduce(%212 init: %cst_53) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<32x4x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_54 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %226 = stablehlo.reduce(%216 init: %cst_54) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<32x4x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %227 = stablehlo.add %cst_55, %217 : tensor<f32>
    %228 = stablehlo.add %227, %218 : tensor<f32>
    %229 = stablehlo.add %228, %219 : tensor<f32>
    %230 = stablehlo.add %229, %220 : tensor<f32>
    %231 = stablehlo.add %230, %221 : tensor<f32>
    %232 = stablehlo.add %231, %222 : tensor<f32>
    %233 = stablehlo.add %232, %223 : tensor<f32>
    %234 = stablehlo.add %233, %224 : tensor<f32>
    %235 = stablehlo.add %234, %225 : tensor<f32>
    %236 = stablehlo.add %235, %226 : tensor<f32>
    %237 = stablehlo.sqrt %236 : tensor<f32>
    %cst_56 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %238 = stablehlo.compare LT, %237, %cst_56, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %239 = stablehlo.broadcast_in_dim %237, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %240 = stablehlo.divide %109, %239 : tensor<64xf32>
    %cst_57 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %241 = stablehlo.broadcast_in_dim %cst_57, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %242 = stablehlo.multiply %240, %241 : tensor<64xf32>
    %243 = stablehlo.select %238, %109, %242 : tensor<i1>, tensor<64xf32>
    %244 = stablehlo.broadcast_in_dim %237, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %245 = stablehlo.divide %144, %244 : tensor<4x8xf32>
    %cst_58 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %246 = stablehlo.broadcast_in_dim %cst_58, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %247 = stablehlo.multiply %245, %246 : tensor<4x8xf32>
    %248 = stablehlo.select %238, %144, %247 : tensor<i1>, tensor<4x8xf32>
    %249 = stablehlo.broadcast_in_dim %237, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %250 = stablehlo.divide %176, %249 : tensor<48x32xf32>
    %cst_59 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %251 = stablehlo.broadcast_in_dim %cst_59, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %252 = stablehlo.multiply %250, %251 : tensor<48x32xf32>
    %253 = stablehlo.select %238, %176, %252 : tensor<i1>, tensor<48x32xf32>
    %254 = stablehlo.broadcast_in_dim %237, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %255 = stablehlo.divide %158, %254 : tensor<32xf32>
    %cst_60 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %256 = stablehlo.broadcast_in_dim %cst_60, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %257 = stablehlo.multiply %255, %256 : tensor<32xf32>
    %258 = stablehlo.select %238, %158, %257 : tensor<i1>, tensor<32xf32>
    %259 = stablehlo.broadcast_in_dim %237, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %260 = stablehlo.divide %111, %259 : tensor<32x64xf32>
    %cst_61 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %261 = stablehlo.broadcast_in_dim %cst_61, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %262 = stablehlo.multiply %260, %261 : tensor<32x64xf32>
    %263 = stablehlo.select %238, %111, %262 : tensor<i1>, tensor<32x64xf32>
    %264 = stablehlo.broadcast_in_dim %237, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %265 = stablehlo.divide %91, %264 : tensor<64x32xf32>
    %cst_62 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %266 = stablehlo.broadcast_in_dim %cst_62, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %267 = stablehlo.multiply %265, %266 : tensor<64x32xf32>
    %268 = stablehlo.select %238, %91, %267 : tensor<i1>, tensor<64x32xf32>
    %269 = stablehlo.broadcast_in_dim %237, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %270 = stablehlo.divide %146, %269 : tensor<32x4x8xf32>
    %cst_63 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %271 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %272 = stablehlo.multiply %270, %271 : tensor<32x4x8xf32>
    %273 = stablehlo.select %238, %146, %272 : tensor<i1>, tensor<32x4x8xf32>
    %274 = stablehlo.broadcast_in_dim %237, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %275 = stablehlo.divide %115, %274 : tensor<4x8x32xf32>
    %cst_64 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %276 = stablehlo.broadcast_in_dim %cst_64, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %277 = stablehlo.multiply %275, %276 : tensor<4x8x32xf32>
    %278 = stablehlo.select %238, %115, %277 : tensor<i1>, tensor<4x8x32xf32>
    %279 = stablehlo.broadcast_in_dim %237, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %280 = stablehlo.divide %150, %279 : tensor<32x4x8xf32>
    %cst_65 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %281 = stablehlo.broadcast_in_dim %cst_65, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %282 = stablehlo.multiply %280, %281 : tensor<32x4x8xf32>
    %283 = stablehlo.select %238, %150, %282 : tensor<i1>, tensor<32x4x8xf32>
    %284 = stablehlo.broadcast_in_dim %237, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %285 = stablehlo.divide %140, %284 : tensor<32x4x8xf32>
    %cst_66 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %286 = stablehlo.broadcast_in_dim %cst_66, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %287 = stablehlo.multiply %285, %286 : tensor<32x4x8xf32>
    %288 = stablehlo.select %238, %140, %287 : tensor<i1>, tensor<32x4x8xf32>
    %cst_67 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %289 = stablehlo.broadcast_in_dim %cst_67, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %290 = stablehlo.multiply %289, %243 : tensor<64xf32>
    %cst_68 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %291 = stablehlo.broadcast_in_dim %cst_68, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %292 = stablehlo.multiply %291, %arg11 : tensor<64xf32>
    %293 = stablehlo.add %290, %292 : tensor<64xf32>
    %cst_69 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %294 = stablehlo.broadcast_in_dim %cst_69, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %295 = stablehlo.multiply %294, %248 : tensor<4x8xf32>
    %cst_70 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %296 = stablehlo.broadcast_in_dim %cst_70, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %297 = stablehlo.multiply %296, %arg12 : tensor<4x8xf32>
    %298 = stablehlo.add %295, %297 : tensor<4x8xf32>
    %cst_71 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %299 = stablehlo.broadcast_in_dim %cst_71, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %300 = stablehlo.multiply %299, %253 : tensor<48x32xf32>
    %cst_72 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %301 = stablehlo.broadcast_in_dim %cst_72, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %302 = stablehlo.multiply %301, %arg13 : tensor<48x32xf32>
    %303 = stablehlo.add %300, %302 : tensor<48x32xf32>
    %cst_73 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %304 = stablehlo.broadcast_in_dim %cst_73, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %305 = stablehlo.multiply %304, %258 : tensor<32xf32>
    %cst_74 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %306 = stablehlo.broadcast_in_dim %cst_74, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %307 = stablehlo.multiply %306, %arg14 : tensor<32xf32>
    %308 = stablehlo.add %305, %307 : tensor<32xf32>
    %cst_75 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %309 = stablehlo.broadcast_in_dim %cst_75, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %310 = stablehlo.multiply %309, %263 : tensor<32x64xf32>
    %cst_76 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %311 = stablehlo.broadcast_in_dim %cst_76, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %312 = stablehlo.multiply %311, %arg15 : tensor<32x64xf32>
    %313 = stablehlo.add %310, %312 : tensor<32x64xf32>
    %cst_77 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %314 = stablehlo.broadcast_in_dim %cst_77, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %315 = stablehlo.multiply %314, %268 : tensor<64x32xf32>
    %cst_78 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %316 = stablehlo.broadcast_in_dim %cst_78, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %317 = stablehlo.multiply %316, %arg16 : tensor<64x32xf32>
    %318 = stablehlo.add %315, %317 : tensor<64x32xf32>
    %cst_79 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %319 = stablehlo.broadcast_in_dim %cst_79, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %320 = stablehlo.multiply %319, %273 : tensor<32x4x8xf32>
    %cst_80 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %321 = stablehlo.broadcast_in_dim %cst_80, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %322 = stablehlo.multiply %321, %arg17 : tensor<32x4x8xf32>
    %323 = stablehlo.add %320, %322 : tensor<32x4x8xf32>
    %cst_81 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %324 = stablehlo.broadcast_in_dim %cst_81, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %325 = stablehlo.multiply %324, %278 : tensor<4x8x32xf32>
    %cst_82 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %326 = stablehlo.broadcast_in_dim %cst_82, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %327 = stablehlo.multiply %326, %arg18 : tensor<4x8x32xf32>
    %328 = stablehlo.add %325, %327 : tensor<4x8x32xf32>
    %cst_83 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %329 = stablehlo.broadcast_in_dim %cst_83, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %330 = stablehlo.multiply %329, %283 : tensor<32x4x8xf32>
    %cst_84 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %331 = stablehlo.broadcast_in_dim %cst_84, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %332 = stablehlo.multiply %331, %arg19 : tensor<32x4x8xf32>
    %333 = stablehlo.add %330, %332 : tensor<32x4x8xf32>
    %cst_85 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %334 = stablehlo.broadcast_in_dim %cst_85, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %335 = stablehlo.multiply %334, %288 : tensor<32x4x8xf32>
    %cst_86 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %336 = stablehlo.broadcast_in_dim %cst_86, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %337 = stablehlo.multiply %336, %arg20 : tensor<32x4x8xf32>
    %338 = stablehlo.add %335, %337 : tensor<32x4x8xf32>
    %339 = stablehlo.multiply %243, %243 : tensor<64xf32>
    %cst_87 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %340 = stablehlo.broadcast_in_dim %cst_87, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %341 = stablehlo.multiply %340, %339 : tensor<64xf32>
    %cst_88 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %342 = stablehlo.broadcast_in_dim %cst_88, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %343 = stablehlo.multiply %342, %arg21 : tensor<64xf32>
    %344 = stablehlo.add %341, %343 : tensor<64xf32>
    %345 = stablehlo.multiply %248, %248 : tensor<4x8xf32>
    %cst_89 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %346 = stablehlo.broadcast_in_dim %cst_89, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %347 = stablehlo.multiply %346, %345 : tensor<4x8xf32>
    %cst_90 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %348 = stablehlo.broadcast_in_dim %cst_90, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %349 = stablehlo.multiply %348, %arg22 : tensor<4x8xf32>
    %350 = stablehlo.add %347, %349 : tensor<4x8xf32>
    %351 = stablehlo.multiply %253, %253 : tensor<48x32xf32>
    %cst_91 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %352 = stablehlo.broadcast_in_dim %cst_91, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %353 = stablehlo.multiply %352, %351 : tensor<48x32xf32>
    %cst_92 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %354 = stablehlo.broadcast_in_dim %cst_92, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %355 = stablehlo.multiply %354, %arg23 : tensor<48x32xf32>
    %356 = stablehlo.add %353, %355 : tensor<48x32xf32>
    %357 = stablehlo.multiply %258, %258 : tensor<32xf32>
    %cst_93 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %358 = stablehlo.broadcast_in_dim %cst_93, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %359 = stablehlo.multiply %358, %357 : tensor<32xf32>
    %cst_94 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %360 = stablehlo.broadcast_in_dim %cst_94, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %361 = stablehlo.multiply %360, %arg24 : tensor<32xf32>
    %362 = stablehlo.add %359, %361 : tensor<32xf32>
    %363 = stablehlo.multiply %263, %263 : tensor<32x64xf32>
    %cst_95 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %364 = stablehlo.broadcast_in_dim %cst_95, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %365 = stablehlo.multiply %364, %363 : tensor<32x64xf32>
    %cst_96 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %366 = stablehlo.broadcast_in_dim %cst_96, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %367 = stablehlo.multiply %366, %arg25 : tensor<32x64xf32>
    %368 = stablehlo.add %365, %367 : tensor<32x64xf32>
    %369 = stablehlo.multiply %268, %268 : tensor<64x32xf32>
    %cst_97 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %370 = stablehlo.broadcast_in_dim %cst_97, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %371 = stablehlo.multiply %370, %369 : tensor<64x32xf32>
    %cst_98 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %372 = stablehlo.broadcast_in_dim %cst_98, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %373 = stablehlo.multiply %372, %arg26 : tensor<64x32xf32>
    %374 = stablehlo.add %371, %373 : tensor<64x32xf32>
    %375 = stablehlo.multiply %273, %273 : tensor<32x4x8xf32>
    %cst_99 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %376 = stablehlo.broadcast_in_dim %cst_99, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %377 = stablehlo.multiply %376, %375 : tensor<32x4x8xf32>
    %cst_100 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %378 = stablehlo.broadcast_in_dim %cst_100, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %379 = stablehlo.multiply %378, %arg27 : tensor<32x4x8xf32>
    %380 = stablehlo.add %377, %379 : tensor<32x4x8xf32>
    %381 = stablehlo.multiply %278, %278 : tensor<4x8x32xf32>
    %cst_101 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %382 = stablehlo.broadcast_in_dim %cst_101, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %383 = stablehlo.multiply %382, %381 : tensor<4x8x32xf32>
    %cst_102 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %384 = stablehlo.broadcast_in_dim %cst_102, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %385 = stablehlo.multiply %384, %arg28 : tensor<4x8x32xf32>
    %386 = stablehlo.add %383, %385 : tensor<4x8x32xf32>
    %387 = stablehlo.multiply %283, %283 : tensor<32x4x8xf32>
    %cst_103 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %388 = stablehlo.broadcast_in_dim %cst_103, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %389 = stablehlo.multiply %388, %387 : tensor<32x4x8xf32>
    %cst_104 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %390 = stablehlo.broadcast_in_dim %cst_104, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %391 = stablehlo.multiply %390, %arg29 : tensor<32x4x8xf32>
    %392 = stablehlo.add %389, %391 : tensor<32x4x8xf32>
    %393 = stablehlo.multiply %288, %288 : tensor<32x4x8xf32>
    %cst_105 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %394 = stablehlo.broadcast_in_dim %cst_105, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %395 = stablehlo.multiply %394, %393 : tensor<32x4x8xf32>
    %cst_106 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %396 = stablehlo.broadcast_in_dim %cst_106, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %397 = stablehlo.multiply %396, %arg30 : tensor<32x4x8xf32>
    %398 = stablehlo.add %395, %397 : tensor<32x4x8xf32>
    %c_107 = stablehlo.constant dense<2147483647> : tensor<i32>
    %399 = stablehlo.compare LT, %arg10, %c_107, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_108 = stablehlo.constant dense<1> : tensor<i32>
    %400 = stablehlo.add %arg10, %c_108 : tensor<i32>
    %c_109 = stablehlo.constant dense<2147483647> : tensor<i32>
    %401 = call @_where(%399, %400, %c_109) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %cst_110 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %402 = stablehlo.convert %401 : (tensor<i32>) -> tensor<f32>
    %403 = stablehlo.power %cst_110, %402 : tensor<f32>
    %cst_111 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %404 = stablehlo.subtract %cst_111, %403 : tensor<f32>
    %405 = stablehlo.broadcast_in_dim %404, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %406 = stablehlo.divide %293, %405 : tensor<64xf32>
    %407 = stablehlo.broadcast_in_dim %404, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %408 = stablehlo.divide %298, %407 : tensor<4x8xf32>
    %409 = stablehlo.broadcast_in_dim %404, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %410 = stablehlo.divide %303, %409 : tensor<48x32xf32>
    %411 = stablehlo.broadcast_in_dim %404, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %412 = stablehlo.divide %308, %411 : tensor<32xf32>
    %413 = stablehlo.broadcast_in_dim %404, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %414 = stablehlo.divide %313, %413 : tensor<32x64xf32>
    %415 = stablehlo.broadcast_in_dim %404, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %416 = stablehlo.divide %318, %415 : tensor<64x32xf32>
    %417 = stablehlo.broadcast_in_dim %404, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %418 = stablehlo.divide %323, %417 : tensor<32x4x8xf32>
    %419 = stablehlo.broadcast_in_dim %404, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %420 = stablehlo.divide %328, %419 : tensor<4x8x32xf32>
    %421 = stablehlo.broadcast_in_dim %404, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %422 = stablehlo.divide %333, %421 : tensor<32x4x8xf32>
    %423 = stablehlo.broadcast_in_dim %404, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %424 = stablehlo.divide %338, %423 : tensor<32x4x8xf32>
    %cst_112 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %425 = stablehlo.convert %401 : (tensor<i32>) -> tensor<f32>
    %426 = stablehlo.power %cst_112, %425 : tensor<f32>
    %cst_113 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %427 = stablehlo.subtract %cst_113, %426 : tensor<f32>
    %428 = stablehlo.broadcast_in_dim %427, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %429 = stablehlo.divide %344, %428 : tensor<64xf32>
    %430 = stablehlo.broadcast_in_dim %427, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %431 = stablehlo.divide %350, %430 : tensor<4x8xf32>
    %432 = stablehlo.broadcast_in_dim %427, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %433 = stablehlo.divide %356, %432 : tensor<48x32xf32>
    %434 = stablehlo.broadcast_in_dim %427, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %435 = stablehlo.divide %362, %434 : tensor<32xf32>
    %436 = stablehlo.broadcast_in_dim %427, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %437 = stablehlo.divide %368, %436 : tensor<32x64xf32>
    %438 = stablehlo.broadcast_in_dim %427, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %439 = stablehlo.divide %374, %438 : tensor<64x32xf32>
    %440 = stablehlo.broadcast_in_dim %427, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %441 = stablehlo.divide %380, %440 : tensor<32x4x8xf32>
    %442 = stablehlo.broadcast_in_dim %427, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %443 = stablehlo.divide %386, %442 : tensor<4x8x32xf32>
    %444 = stablehlo.broadcast_in_dim %427, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %445 = stablehlo.divide %392, %444 : tensor<32x4x8xf32>
    %446 = stablehlo.broadcast_in_dim %427, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %447 = stablehlo.divide %398, %446 : tensor<32x4x8xf32>
    %cst_114 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %448 = stablehlo.broadcast_in_dim %cst_114, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %449 = stablehlo.add %429, %448 : tensor<64xf32>
    %450 = stablehlo.sqrt %449 : tensor<64xf32>
    %cst_115 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %451 = stablehlo.broadcast_in_dim %cst_115, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %452 = stablehlo.add %450, %451 : tensor<64xf32>
    %453 = stablehlo.divide %406, %452 : tensor<64xf32>
    %cst_116 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %454 = stablehlo.broadcast_in_dim %cst_116, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %455 = stablehlo.add %431, %454 : tensor<4x8xf32>
    %456 = stablehlo.sqrt %455 : tensor<4x8xf32>
    %cst_117 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %457 = stablehlo.broadcast_in_dim %cst_117, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %458 = stablehlo.add %456, %457 : tensor<4x8xf32>
    %459 = stablehlo.divide %408, %458 : tensor<4x8xf32>
    %cst_118 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %460 = stablehlo.broadcast_in_dim %cst_118, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %461 = stablehlo.add %433, %460 : tensor<48x32xf32>
    %462 = stablehlo.sqrt %461 : tensor<48x32xf32>
    %cst_119 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %463 = stablehlo.broadcast_in_dim %cst_119, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %464 = stablehlo.add %462, %463 : tensor<48x32xf32>
    %465 = stablehlo.divide %410, %464 : tensor<48x32xf32>
    %cst_120 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %466 = stablehlo.broadcast_in_dim %cst_120, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %467 = stablehlo.add %435, %466 : tensor<32xf32>
    %468 = stablehlo.sqrt %467 : tensor<32xf32>
    %cst_121 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %469 = stablehlo.broadcast_in_dim %cst_121, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %470 = stablehlo.add %468, %469 : tensor<32xf32>
    %471 = stablehlo.divide %412, %470 : tensor<32xf32>
    %cst_122 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %472 = stablehlo.broadcast_in_dim %cst_122, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %473 = stablehlo.add %437, %472 : tensor<32x64xf32>
    %474 = stablehlo.sqrt %473 : tensor<32x64xf32>
    %cst_123 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %475 = stablehlo.broadcast_in_dim %cst_123, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %476 = stablehlo.add %474, %475 : tensor<32x64xf32>
    %477 = stablehlo.divide %414, %476 : tensor<32x64xf32>
    %cst_124 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %478 = stablehlo.broadcast_in_dim %cst_124, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %479 = stablehlo.add %439, %478 : tensor<64x32xf32>
    %480 = stablehlo.sqrt %479 : tensor<64x32xf32>
    %cst_125 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %481 = stablehlo.broadcast_in_dim %cst_125, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %482 = stablehlo.add %480, %481 : tensor<64x32xf32>
    %483 = stablehlo.divide %416, %482 : tensor<64x32xf32>
    %cst_126 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %484 = stablehlo.broadcast_in_dim %cst_126, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %485 = stablehlo.add %441, %484 : tensor<32x4x8xf32>
    %486 = stablehlo.sqrt %485 : tensor<32x4x8xf32>
    %cst_127 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %487 = stablehlo.broadcast_in_dim %cst_127, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %488 = stablehlo.add %486, %487 : tensor<32x4x8xf32>
    %489 = stablehlo.divide %418, %488 : tensor<32x4x8xf32>
    %cst_128 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %490 = stablehlo.broadcast_in_dim %cst_128, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %491 = stablehlo.add %443, %490 : tensor<4x8x32xf32>
    %492 = stablehlo.sqrt %491 : tensor<4x8x32xf32>
    %cst_129 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %493 = stablehlo.broadcast_in_dim %cst_129, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %494 = stablehlo.add %492, %493 : tensor<4x8x32xf32>
    %495 = stablehlo.divide %420, %494 : tensor<4x8x32xf32>
    %cst_130 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %496 = stablehlo.broadcast_in_dim %cst_130, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %497 = stablehlo.add %445, %496 : tensor<32x4x8xf32>
    %498 = stablehlo.sqrt %497 : tensor<32x4x8xf32>
    %cst_131 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %499 = stablehlo.broadcast_in_dim %cst_131, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %500 = stablehlo.add %498, %499 : tensor<32x4x8xf32>
    %501 = stablehlo.divide %422, %500 : tensor<32x4x8xf32>
    %cst_132 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %502 = stablehlo.broadcast_in_dim %cst_132, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %503 = stablehlo.add %447, %502 : tensor<32x4x8xf32>
    %504 = stablehlo.sqrt %503 : tensor<32x4x8xf32>
    %cst_133 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %505 = stablehlo.broadcast_in_dim %cst_133, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %506 = stablehlo.add %504, %505 : tensor<32x4x8xf32>
    %507 = stablehlo.divide %424, %506 : tensor<32x4x8xf32>
    %cst_134 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %508 = stablehlo.broadcast_in_dim %cst_134, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %509 = stablehlo.multiply %508, %453 : tensor<64xf32>
    %cst_135 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %510 = stablehlo.broadcast_in_dim %cst_135, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %511 = stablehlo.multiply %510, %459 : tensor<4x8xf32>
    %cst_136 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %512 = stablehlo.broadcast_in_dim %cst_136, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %513 = stablehlo.multiply %512, %465 : tensor<48x32xf32>
    %cst_137 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %514 = stablehlo.broadcast_in_dim %cst_137, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %515 = stablehlo.multiply %514, %471 : tensor<32xf32>
    %cst_138 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %516 = stablehlo.broadcast_in_dim %cst_138, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %517 = stablehlo.multiply %516, %477 : tensor<32x64xf32>
    %cst_139 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %518 = stablehlo.broadcast_in_dim %cst_139, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %519 = stablehlo.multiply %518, %483 : tensor<64x32xf32>
    %cst_140 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %520 = stablehlo.broadcast_in_dim %cst_140, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %521 = stablehlo.multiply %520, %489 : tensor<32x4x8xf32>
    %cst_141 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %522 = stablehlo.broadcast_in_dim %cst_141, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %523 = stablehlo.multiply %522, %495 : tensor<4x8x32xf32>
    %cst_142 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %524 = stablehlo.broadcast_in_dim %cst_142, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %525 = stablehlo.multiply %524, %501 : tensor<32x4x8xf32>
    %cst_143 = stablehlo.constant dense<-1.000000e-03> : tensor<f32>
    %526 = stablehlo.broadcast_in_dim %cst_143, dims = [] : (tensor<f32>) -> tensor<32x4x8xf32>
    %527 = stablehlo.multiply %526, %507 : tensor<32x4x8xf32>
    %528 = stablehlo.add %arg0, %509 : tensor<64xf32>
    %529 = stablehlo.add %arg1, %511 : tensor<4x8xf32>
    %530 = stablehlo.add %arg2, %513 : tensor<48x32xf32>
    %531 = stablehlo.add %arg3, %515 : tensor<32xf32>
    %532 = stablehlo.add %arg4, %517 : tensor<32x64xf32>
    %533 = stablehlo.add %arg5, %519 : tensor<64x32xf32>
    %534 = stablehlo.add %arg6, %521 : tensor<32x4x8xf32>
    %535 = stablehlo.add %arg7, %523 : tensor<4x8x32xf32>
    %536 = stablehlo.add %arg8, %525 : tensor<32x4x8xf32>
    %537 = stablehlo.add %arg9, %527 : tensor<32x4x8xf32>
    return %528, %529, %530, %531, %532, %533, %534, %535, %536, %537, %401, %293, %298, %303, %308, %313, %318, %323, %328, %333, %338, %344, %350, %356, %362, %368, %374, %380, %386, %392, %398, %80 : tensor<64xf32>, tensor<4x8xf32>, tensor<48x32xf32>, tensor<32xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<32x4x8xf32>, tensor<4x8x32xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<i32>, tensor<64xf32>, tensor<4x8xf32>, tensor<48x32xf32>, tensor<32xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<32x4x8xf32>, tensor<4x8x32xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<64xf32>, tensor<4x8xf32>, tensor<48x32xf32>, tensor<32xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<32x4x8xf32>, tensor<4x8x32xf32>, tensor<32x4x8xf32>, tensor<32x4x8xf32>, tensor<f32>
  }
  func.func private @log_softmax(%arg0: tensor<8x16x48xf32>) -> (tensor<8x16x48xf32>, tensor<8x16x48xf32>, tensor<8x16x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<8x16x48xf32>, tensor<f32>) -> tensor<8x16xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<8x16xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<8x16xf32>) -> tensor<8x16x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<8x16x1xf32>) -> tensor<8x16x48xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<8x16x48xf32>
    %6 = stablehlo.exponential %5 : tensor<8x16x48xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<8x16x48xf32>, tensor<f32>) -> tensor<8x16xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<8x16xf32>) -> tensor<8x16x1xf32>
    %9 = stablehlo.log %8 : tensor<8x16x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<8x16x1xf32>) -> tensor<8x16x48xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<8x16x48xf32>
    return %11, %6, %8 : tensor<8x16x48xf32>, tensor<8x16x48xf32>, tensor<8x16x1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<8x16x48xf32>, %arg1: tensor<8x16x1xi32>) -> (tensor<8x16x1xf32>, tensor<8x16x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x16x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<8x16x1xi32>, tensor<8x16x1xi32>) -> tensor<8x16x1xi1>
    %c_0 = stablehlo.constant dense<48> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<8x16x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<8x16x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<8x16x1xi1>, tensor<8x16x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<8x16x1xi32>) -> tensor<8x16x1x1xi32>
    %c_1 = stablehlo.constant dense<47> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<8x16x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<8x16x1x1xi32>, tensor<8x16x1x1xi32>) -> tensor<8x16x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<8x16x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<8x16x1x1xi32>, tensor<8x16x1x1xi32>) -> tensor<8x16x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<8x16x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [3] : (tensor<8x16x1x1xi1>, tensor<i1>) -> tensor<8x16x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<8x16x48xf32>, tensor<8x16x1x1xi32>) -> tensor<8x16x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x16x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<8x16x1xi1>, tensor<8x16x1xf32>
    return %15, %5 : tensor<8x16x1xf32>, tensor<8x16x1x1xi32>
  }
  func.func private @take_along_axis_0(%arg0: tensor<8x16x1x1xi32>, %arg1: tensor<8x16x1xf32>) -> tensor<8x16x48xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x16x48xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<8x16x48xf32>, tensor<8x16x1x1xi32>, tensor<8x16x1xf32>) -> tensor<8x16x48xf32>
    return %1 : tensor<8x16x48xf32>
  }
  func.func private @log_softmax_1(%arg0: tensor<8x16x48xf32>, %arg1: tensor<8x16x1xf32>, %arg2: tensor<8x16x48xf32>) -> tensor<8x16x48xf32> {
    %0 = stablehlo.negate %arg2 : tensor<8x16x48xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<8x16x48xf32>, tensor<f32>) -> tensor<8x16xf32>
    %2 = stablehlo.reshape %1 : (tensor<8x16xf32>) -> tensor<8x16x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<8x16x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<8x16x1xf32>, tensor<f32>) -> tensor<8x16xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<8x16xf32>) -> tensor<8x16x48xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<8x16x48xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<8x16x48xf32>
    return %7 : tensor<8x16x48xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
}
