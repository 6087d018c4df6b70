module @jit_forward attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8192x512xf32>, %arg1: tensor<512x8192xf32>, %arg2: tensor<2048x512xf32>, %arg3: tensor<512xf32>, %arg4: tensor<512xf32>, %arg5: tensor<512xf32>, %arg6: tensor<512xf32>, %arg7: tensor<512xf32>, %arg8: tensor<512x512xf32>, %arg9: tensor<512xf32>, %arg10: tensor<512x1536xf32>, %arg11: tensor<1536xf32>, %arg12: tensor<512x2048xf32>, %arg13: tensor<2048xf32>, %arg14: tensor<2048x512xf32>, %arg15: tensor<512xf32>, %arg16: tensor<512xf32>, %arg17: tensor<512xf32>, %arg18: tensor<512xf32>, %arg19: tensor<512xf32>, %arg20: tensor<512x512xf32>, %arg21: tensor<512xf32>, %arg22: tensor<512x1536xf32>, %arg23: tensor<1536xf32>, %arg24: tensor<512x2048xf32>, %arg25: tensor<2048xf32>, %arg26: tensor<512xf32>, %arg27: tensor<512xf32>, %arg28: tensor<32x256xi32>) -> (tensor<32x256x8192xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32x256xi32>
    %1 = stablehlo.compare LT, %arg28, %0, SIGNED : (tensor<32x256xi32>, tensor<32x256xi32>) -> tensor<32x256xi1>
    %c_0 = stablehlo.constant dense<8192> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<32x256xi32>
    %3 = stablehlo.add %arg28, %2 : tensor<32x256xi32>
    %4 = stablehlo.select %1, %3, %arg28 : tensor<32x256xi1>, tensor<32x256xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<32x256xi32>) -> tensor<32x256x1xi32>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 512>}> : (tensor<8192x512xf32>, tensor<32x256x1xi32>) -> tensor<32x256x512xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<32x256x512xf32>, tensor<f32>) -> tensor<32x256xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<32x256xf32>) -> tensor<32x256x1xf32>
    %cst_1 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %10 = stablehlo.divide %8, %9 : tensor<32x256x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %12 = stablehlo.subtract %6, %11 : tensor<32x256x512xf32>
    %13 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %14 = stablehlo.subtract %6, %13 : tensor<32x256x512xf32>
    %15 = stablehlo.multiply %14, %14 : tensor<32x256x512xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.reduce(%15 init: %cst_2) applies stablehlo.add across dimensions = [2] : (tensor<32x256x512xf32>, tensor<f32>) -> tensor<32x256xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<32x256xf32>) -> tensor<32x256x1xf32>
    %cst_3 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %19 = stablehlo.divide %17, %18 : tensor<32x256x1xf32>
    %cst_4 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %21 = stablehlo.add %19, %20 : tensor<32x256x1xf32>
    %22 = stablehlo.rsqrt %21 : tensor<32x256x1xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %24 = stablehlo.multiply %12, %23 : tensor<32x256x512xf32>
    %25 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %27 = stablehlo.multiply %24, %26 : tensor<32x256x512xf32>
    %28 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %30 = stablehlo.add %27, %29 : tensor<32x256x512xf32>
    %31 = stablehlo.dot_general %30, %arg10, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256x512xf32>, tensor<512x1536xf32>) -> tensor<32x256x1536xf32>
    %32 = stablehlo.broadcast_in_dim %arg11, dims = [2] : (tensor<1536xf32>) -> tensor<1x1x1536xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2] : (tensor<1x1x1536xf32>) -> tensor<32x256x1536xf32>
    %34 = stablehlo.add %31, %33 : tensor<32x256x1536xf32>
    %35 = stablehlo.reshape %34 : (tensor<32x256x1536xf32>) -> tensor<32x256x3x8x64xf32>
    %36 = stablehlo.transpose %35, dims = [2, 0, 1, 3, 4] : (tensor<32x256x3x8x64xf32>) -> tensor<3x32x256x8x64xf32>
    %37 = stablehlo.slice %36 [0:1, 0:32, 0:256, 0:8, 0:64] : (tensor<3x32x256x8x64xf32>) -> tensor<1x32x256x8x64xf32>
    %38 = stablehlo.reshape %37 : (tensor<1x32x256x8x64xf32>) -> tensor<32x256x8x64xf32>
    %39 = stablehlo.slice %36 [1:2, 0:32, 0:256, 0:8, 0:64] : (tensor<3x32x256x8x64xf32>) -> tensor<1x32x256x8x64xf32>
    %40 = stablehlo.reshape %39 : (tensor<1x32x256x8x64xf32>) -> tensor<32x256x8x64xf32>
    %41 = stablehlo.slice %36 [2:3, 0:32, 0:256, 0:8, 0:64] : (tensor<3x32x256x8x64xf32>) -> tensor<1x32x256x8x64xf32>
    %42 = stablehlo.reshape %41 : (tensor<1x32x256x8x64xf32>) -> tensor<32x256x8x64xf32>
    %43 = stablehlo.dot_general %38, %40, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<32x256x8x64xf32>, tensor<32x256x8x64xf32>) -> tensor<32x8x256x256xf32>
    %cst_5 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<32x8x256x256xf32>
    %45 = stablehlo.divide %43, %44 : tensor<32x8x256x256xf32>
    %c_6 = stablehlo.constant dense<true> : tensor<i1>
    %46 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i1>) -> tensor<256x256xi1>
    %47 = call @tril(%46) : (tensor<256x256xi1>) -> tensor<256x256xi1>
    %cst_7 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %48 = call @_where(%47, %45, %cst_7) : (tensor<256x256xi1>, tensor<32x8x256x256xf32>, tensor<f32>) -> tensor<32x8x256x256xf32>
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %49 = stablehlo.reduce(%48 init: %cst_8) applies stablehlo.maximum across dimensions = [3] : (tensor<32x8x256x256xf32>, tensor<f32>) -> tensor<32x8x256xf32>
    %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<32x8x256xf32>
    %51 = stablehlo.maximum %50, %49 : tensor<32x8x256xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2] : (tensor<32x8x256xf32>) -> tensor<32x8x256x1xf32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [0, 1, 2, 3] : (tensor<32x8x256x1xf32>) -> tensor<32x8x256x256xf32>
    %54 = stablehlo.subtract %48, %53 : tensor<32x8x256x256xf32>
    %55 = stablehlo.exponential %54 : tensor<32x8x256x256xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %56 = stablehlo.reduce(%55 init: %cst_10) applies stablehlo.add across dimensions = [3] : (tensor<32x8x256x256xf32>, tensor<f32>) -> tensor<32x8x256xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0, 1, 2] : (tensor<32x8x256xf32>) -> tensor<32x8x256x1xf32>
    %58 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2, 3] : (tensor<32x8x256x1xf32>) -> tensor<32x8x256x256xf32>
    %59 = stablehlo.divide %55, %58 : tensor<32x8x256x256xf32>
    %60 = stablehlo.dot_general %42, %59, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<32x256x8x64xf32>, tensor<32x8x256x256xf32>) -> tensor<32x8x64x256xf32>
    %61 = stablehlo.transpose %60, dims = [0, 3, 1, 2] : (tensor<32x8x64x256xf32>) -> tensor<32x256x8x64xf32>
    %62 = stablehlo.reshape %61 : (tensor<32x256x8x64xf32>) -> tensor<32x256x512xf32>
    %63 = stablehlo.dot_general %62, %arg8, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256x512xf32>, tensor<512x512xf32>) -> tensor<32x256x512xf32>
    %64 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %66 = stablehlo.add %63, %65 : tensor<32x256x512xf32>
    %67 = stablehlo.add %6, %66 : tensor<32x256x512xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %68 = stablehlo.reduce(%67 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<32x256x512xf32>, tensor<f32>) -> tensor<32x256xf32>
    %69 = stablehlo.broadcast_in_dim %68, dims = [0, 1] : (tensor<32x256xf32>) -> tensor<32x256x1xf32>
    %cst_12 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %70 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %71 = stablehlo.divide %69, %70 : tensor<32x256x1xf32>
    %72 = stablehlo.broadcast_in_dim %71, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %73 = stablehlo.subtract %67, %72 : tensor<32x256x512xf32>
    %74 = stablehlo.broadcast_in_dim %71, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %75 = stablehlo.subtract %67, %74 : tensor<32x256x512xf32>
    %76 = stablehlo.multiply %75, %75 : tensor<32x256x512xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %77 = stablehlo.reduce(%76 init: %cst_13) applies stablehlo.add across dimensions = [2] : (tensor<32x256x512xf32>, tensor<f32>) -> tensor<32x256xf32>
    %78 = stablehlo.broadcast_in_dim %77, dims = [0, 1] : (tensor<32x256xf32>) -> tensor<32x256x1xf32>
    %cst_14 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %79 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %80 = stablehlo.divide %78, %79 : tensor<32x256x1xf32>
    %cst_15 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %82 = stablehlo.add %80, %81 : tensor<32x256x1xf32>
    %83 = stablehlo.rsqrt %82 : tensor<32x256x1xf32>
    %84 = stablehlo.broadcast_in_dim %83, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %85 = stablehlo.multiply %73, %84 : tensor<32x256x512xf32>
    %86 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %87 = stablehlo.broadcast_in_dim %86, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %88 = stablehlo.multiply %85, %87 : tensor<32x256x512xf32>
    %89 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %90 = stablehlo.broadcast_in_dim %89, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %91 = stablehlo.add %88, %90 : tensor<32x256x512xf32>
    %92 = stablehlo.dot_general %91, %arg12, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256x512xf32>, tensor<512x2048xf32>) -> tensor<32x256x2048xf32>
    %93 = stablehlo.broadcast_in_dim %arg13, dims = [2] : (tensor<2048xf32>) -> tensor<1x1x2048xf32>
    %94 = stablehlo.broadcast_in_dim %93, dims = [0, 1, 2] : (tensor<1x1x2048xf32>) -> tensor<32x256x2048xf32>
    %95 = stablehlo.add %92, %94 : tensor<32x256x2048xf32>
    %cst_16 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %96 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<32x256x2048xf32>
    %97 = stablehlo.multiply %96, %95 : tensor<32x256x2048xf32>
    %98 = stablehlo.negate %95 : tensor<32x256x2048xf32>
    %cst_17 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %99 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<32x256x2048xf32>
    %100 = stablehlo.multiply %98, %99 : tensor<32x256x2048xf32>
    %101 = chlo.erfc %100 : tensor<32x256x2048xf32> -> tensor<32x256x2048xf32>
    %102 = stablehlo.multiply %97, %101 : tensor<32x256x2048xf32>
    %103 = stablehlo.dot_general %102, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256x2048xf32>, tensor<2048x512xf32>) -> tensor<32x256x512xf32>
    %104 = stablehlo.add %67, %103 : tensor<32x256x512xf32>
    %105 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %106 = stablehlo.broadcast_in_dim %105, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %107 = stablehlo.add %104, %106 : tensor<32x256x512xf32>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %108 = stablehlo.reduce(%107 init: %cst_18) applies stablehlo.add across dimensions = [2] : (tensor<32x256x512xf32>, tensor<f32>) -> tensor<32x256xf32>
    %109 = stablehlo.broadcast_in_dim %108, dims = [0, 1] : (tensor<32x256xf32>) -> tensor<32x256x1xf32>
    %cst_19 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %110 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %111 = stablehlo.divide %109, %110 : tensor<32x256x1xf32>
    %112 = stablehlo.broadcast_in_dim %111, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %113 = stablehlo.subtract %107, %112 : tensor<32x256x512xf32>
    %114 = stablehlo.broadcast_in_dim %111, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %115 = stablehlo.subtract %107, %114 : tensor<32x256x512xf32>
    %116 = stablehlo.multiply %115, %115 : tensor<32x256x512xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %117 = stablehlo.reduce(%116 init: %cst_20) applies stablehlo.add across dimensions = [2] : (tensor<32x256x512xf32>, tensor<f32>) -> tensor<32x256xf32>
    %118 = stablehlo.broadcast_in_dim %117, dims = [0, 1] : (tensor<32x256xf32>) -> tensor<32x256x1xf32>
    %cst_21 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %119 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %120 = stablehlo.divide %118, %119 : tensor<32x256x1xf32>
    %cst_22 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %121 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %122 = stablehlo.add %120, %121 : tensor<32x256x1xf32>
    %123 = stablehlo.rsqrt %122 : tensor<32x256x1xf32>
    %124 = stablehlo.broadcast_in_dim %123, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %125 = stablehlo.multiply %113, %124 : tensor<32x256x512xf32>
    %126 = stablehlo.broadcast_in_dim %arg17, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %127 = stablehlo.broadcast_in_dim %126, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %128 = stablehlo.multiply %125, %127 : tensor<32x256x512xf32>
    %129 = stablehlo.broadcast_in_dim %arg16, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %130 = stablehlo.broadcast_in_dim %129, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %131 = stablehlo.add %128, %130 : tensor<32x256x512xf32>
    %132 = stablehlo.dot_general %131, %arg22, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256x512xf32>, tensor<512x1536xf32>) -> tensor<32x256x1536xf32>
    %133 = stablehlo.broadcast_in_dim %arg23, dims = [2] : (tensor<1536xf32>) -> tensor<1x1x1536xf32>
    %134 = stablehlo.broadcast_in_dim %133, dims = [0, 1, 2] : (tensor<1x1x1536xf32>) -> tensor<32x256x1536xf32>
    %135 = stablehlo.add %132, %134 : tensor<32x256x1536xf32>
    %136 = stablehlo.reshape %135 : (tensor<32x256x1536xf32>) -> tensor<32x256x3x8x64xf32>
    %137 = stablehlo.transpose %136, dims = [2, 0, 1, 3, 4] : (tensor<32x256x3x8x64xf32>) -> tensor<3x32x256x8x64xf32>
    %138 = stablehlo.slice %137 [0:1, 0:32, 0:256, 0:8, 0:64] : (tensor<3x32x256x8x64xf32>) -> tensor<1x32x256x8x64xf32>
    %139 = stablehlo.reshape %138 : (tensor<1x32x256x8x64xf32>) -> tensor<32x256x8x64xf32>
    %140 = stablehlo.slice %137 [1:2, 0:32, 0:256, 0:8, 0:64] : (tensor<3x32x256x8x64xf32>) -> tensor<1x32x256x8x64xf32>
    %141 = stablehlo.reshape %140 : (tensor<1x32x256x8x64xf32>) -> tensor<32x256x8x64xf32>
    %142 = stablehlo.slice %137 [2:3, 0:32, 0:256, 0:8, 0:64] : (tensor<3x32x256x8x64xf32>) -> tensor<1x32x256x8x64xf32>
    %143 = stablehlo.reshape %142 : (tensor<1x32x256x8x64xf32>) -> tensor<32x256x8x64xf32>
    %144 = stablehlo.dot_general %139, %141, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<32x256x8x64xf32>, tensor<32x256x8x64xf32>) -> tensor<32x8x256x256xf32>
    %cst_23 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %145 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<32x8x256x256xf32>
    %146 = stablehlo.divide %144, %145 : tensor<32x8x256x256xf32>
    %c_24 = stablehlo.constant dense<true> : tensor<i1>
    %147 = stablehlo.broadcast_in_dim %c_24, dims = [] : (tensor<i1>) -> tensor<256x256xi1>
    %148 = call @tril(%147) : (tensor<256x256xi1>) -> tensor<256x256xi1>
    %cst_25 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %149 = call @_where(%148, %146, %cst_25) : (tensor<256x256xi1>, tensor<32x8x256x256xf32>, tensor<f32>) -> tensor<32x8x256x256xf32>
    %cst_26 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %150 = stablehlo.reduce(%149 init: %cst_26) applies stablehlo.maximum across dimensions = [3] : (tensor<32x8x256x256xf32>, tensor<f32>) -> tensor<32x8x256xf32>
    %cst_27 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %151 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<32x8x256xf32>
    %152 = stablehlo.maximum %151, %150 : tensor<32x8x256xf32>
    %153 = stablehlo.broadcast_in_dim %152, dims = [0, 1, 2] : (tensor<32x8x256xf32>) -> tensor<32x8x256x1xf32>
    %154 = stablehlo.broadcast_in_dim %153, dims = [0, 1, 2, 3] : (tensor<32x8x256x1xf32>) -> tensor<32x8x256x256xf32>
    %155 = stablehlo.subtract %149, %154 : tensor<32x8x256x256xf32>
    %156 = stablehlo.exponential %155 : tensor<32x8x256x256xf32>
    %cst_28 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %157 = stablehlo.reduce(%156 init: %cst_28) applies stablehlo.add across dimensions = [3] : (tensor<32x8x256x256xf32>, tensor<f32>) -> tensor<32x8x256xf32>
    %158 = stablehlo.broadcast_in_dim %157, dims = [0, 1, 2] : (tensor<32x8x256xf32>) -> tensor<32x8x256x1xf32>
    %159 = stablehlo.broadcast_in_dim %158, dims = [0, 1, 2, 3] : (tensor<32x8x256x1xf32>) -> tensor<32x8x256x256xf32>
    %160 = stablehlo.divide %156, %159 : tensor<32x8x256x256xf32>
    %161 = stablehlo.dot_general %143, %160, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<32x256x8x64xf32>, tensor<32x8x256x256xf32>) -> tensor<32x8x64x256xf32>
    %162 = stablehlo.transpose %161, dims = [0, 3, 1, 2] : (tensor<32x8x64x256xf32>) -> tensor<32x256x8x64xf32>
    %163 = stablehlo.reshape %162 : (tensor<32x256x8x64xf32>) -> tensor<32x256x512xf32>
    %164 = stablehlo.dot_general %163, %arg20, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256x512xf32>, tensor<512x512xf32>) -> tensor<32x256x512xf32>
    %165 = stablehlo.broadcast_in_dim %arg21, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %166 = stablehlo.broadcast_in_dim %165, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %167 = stablehlo.add %164, %166 : tensor<32x256x512xf32>
    %168 = stablehlo.add %107, %167 : tensor<32x256x512xf32>
    %cst_29 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %169 = stablehlo.reduce(%168 init: %cst_29) applies stablehlo.add across dimensions = [2] : (tensor<32x256x512xf32>, tensor<f32>) -> tensor<32x256xf32>
    %170 = stablehlo.broadcast_in_dim %169, dims = [0, 1] : (tensor<32x256xf32>) -> tensor<32x256x1xf32>
    %cst_30 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %171 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %172 = stablehlo.divide %170, %171 : tensor<32x256x1xf32>
    %173 = stablehlo.broadcast_in_dim %172, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %174 = stablehlo.subtract %168, %173 : tensor<32x256x512xf32>
    %175 = stablehlo.broadcast_in_dim %172, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %176 = stablehlo.subtract %168, %175 : tensor<32x256x512xf32>
    %177 = stablehlo.multiply %176, %176 : tensor<32x256x512xf32>
    %cst_31 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %178 = stablehlo.reduce(%177 init: %cst_31) applies stablehlo.add across dimensions = [2] : (tensor<32x256x512xf32>, tensor<f32>) -> tensor<32x256xf32>
    %179 = stablehlo.broadcast_in_dim %178, dims = [0, 1] : (tensor<32x256xf32>) -> tensor<32x256x1xf32>
    %cst_32 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %180 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %181 = stablehlo.divide %179, %180 : tensor<32x256x1xf32>
    %cst_33 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %182 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %183 = stablehlo.add %181, %182 : tensor<32x256x1xf32>
    %184 = stablehlo.rsqrt %183 : tensor<32x256x1xf32>
    %185 = stablehlo.broadcast_in_dim %184, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %186 = stablehlo.multiply %174, %185 : tensor<32x256x512xf32>
    %187 = stablehlo.broadcast_in_dim %arg19, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %188 = stablehlo.broadcast_in_dim %187, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %189 = stablehlo.multiply %186, %188 : tensor<32x256x512xf32>
    %190 = stablehlo.broadcast_in_dim %arg18, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %191 = stablehlo.broadcast_in_dim %190, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %192 = stablehlo.add %189, %191 : tensor<32x256x512xf32>
    %193 = stablehlo.dot_general %192, %arg24, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256x512xf32>, tensor<512x2048xf32>) -> tensor<32x256x2048xf32>
    %194 = stablehlo.broadcast_in_dim %arg25, dims = [2] : (tensor<2048xf32>) -> tensor<1x1x2048xf32>
    %195 = stablehlo.broadcast_in_dim %194, dims = [0, 1, 2] : (tensor<1x1x2048xf32>) -> tensor<32x256x2048xf32>
    %196 = stablehlo.add %193, %195 : tensor<32x256x2048xf32>
    %cst_34 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %197 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<32x256x2048xf32>
    %198 = stablehlo.multiply %197, %196 : tensor<32x256x2048xf32>
    %199 = stablehlo.negate %196 : tensor<32x256x2048xf32>
    %cst_35 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %200 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<32x256x2048xf32>
    %201 = stablehlo.multiply %199, %200 : tensor<32x256x2048xf32>
    %202 = chlo.erfc %201 : tensor<32x256x2048xf32> -> tensor<32x256x2048xf32>
    %203 = stablehlo.multiply %198, %202 : tensor<32x256x2048xf32>
    %204 = stablehlo.dot_general %203, %arg14, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256x2048xf32>, tensor<2048x512xf32>) -> tensor<32x256x512xf32>
    %205 = stablehlo.add %168, %204 : tensor<32x256x512xf32>
    %206 = stablehlo.broadcast_in_dim %arg15, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %207 = stablehlo.broadcast_in_dim %206, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %208 = stablehlo.add %205, %207 : tensor<32x256x512xf32>
    %cst_36 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %209 = stablehlo.reduce(%208 init: %cst_36) applies stablehlo.add across dimensions = [2] : (tensor<32x256x512xf32>, tensor<f32>) -> tensor<32x256xf32>
    %210 = stablehlo.broadcast_in_dim %209, dims = [0, 1] : (tensor<32x256xf32>) -> tensor<32x256x1xf32>
    %cst_37 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %211 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %212 = stablehlo.divide %210, %211 : tensor<32x256x1xf32>
    %213 = stablehlo.broadcast_in_dim %212, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %214 = stablehlo.subtract %208, %213 : tensor<32x256x512xf32>
    %215 = stablehlo.broadcast_in_dim %212, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %216 = stablehlo.subtract %208, %215 : tensor<32x256x512xf32>
    %217 = stablehlo.multiply %216, %216 : tensor<32x256x512xf32>
    %cst_38 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %218 = stablehlo.reduce(%217 init: %cst_38) applies stablehlo.add across dimensions = [2] : (tensor<32x256x512xf32>, tensor<f32>) -> tensor<32x256xf32>
    %219 = stablehlo.broadcast_in_dim %218, dims = [0, 1] : (tensor<32x256xf32>) -> tensor<32x256x1xf32>
    %cst_39 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %220 = stablehlo.broadcast_in_dim %cst_39, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %221 = stablehlo.divide %219, %220 : tensor<32x256x1xf32>
    %cst_40 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %222 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<32x256x1xf32>
    %223 = stablehlo.add %221, %222 : tensor<32x256x1xf32>
    %224 = stablehlo.rsqrt %223 : tensor<32x256x1xf32>
    %225 = stablehlo.broadcast_in_dim %224, dims = [0, 1, 2] : (tensor<32x256x1xf32>) -> tensor<32x256x512xf32>
    %226 = stablehlo.multiply %214, %225 : tensor<32x256x512xf32>
    %227 = stablehlo.broadcast_in_dim %arg27, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %228 = stablehlo.broadcast_in_dim %227, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %229 = stablehlo.multiply %226, %228 : tensor<32x256x512xf32>
    %230 = stablehlo.broadcast_in_dim %arg26, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %231 = stablehlo.broadcast_in_dim %230, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<32x256x512xf32>
    %232 = stablehlo.add %229, %231 : tensor<32x256x512xf32>
    %233 = stablehlo.dot_general %232, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256x512xf32>, tensor<512x8192xf32>) -> tensor<32x256x8192xf32>
    return %233 : tensor<32x256x8192xf32>
  }
  func.func private @tril(%arg0: tensor<256x256xi1>) -> tensor<256x256xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<256x256xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %2 = stablehlo.add %0, %1 : tensor<256x256xi32>
    %3 = stablehlo.iota dim = 1 : tensor<256x256xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<256x256xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<256x256xi1>, tensor<256x256xi1>
    return %6 : tensor<256x256xi1>
  }
  func.func private @_where(%arg0: tensor<256x256xi1>, %arg1: tensor<32x8x256x256xf32>, %arg2: tensor<f32>) -> tensor<32x8x256x256xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<256x256xi1>) -> tensor<32x8x256x256xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<32x8x256x256xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<32x8x256x256xi1>, tensor<32x8x256x256xf32>
    return %3 : tensor<32x8x256x256xf32>
  }
}
