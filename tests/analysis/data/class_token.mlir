module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x1x16xf32>, %arg1: tensor<12x16xf32>, %arg2: tensor<16x10xf32>, %arg3: tensor<16x16xf32>, %arg4: tensor<16x48xf32>, %arg5: tensor<32x9x12xf32>, %arg6: tensor<32x10xf32>) -> (tensor<1x1x16xf32> {jax.result_info = "result[0]['cls']"}, tensor<12x16xf32> {jax.result_info = "result[0]['embed']"}, tensor<16x10xf32> {jax.result_info = "result[0]['head']"}, tensor<16x16xf32> {jax.result_info = "result[0]['o']"}, tensor<16x48xf32> {jax.result_info = "result[0]['qkv']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<32x1x16xf32>
    %1 = stablehlo.dot_general %arg5, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x9x12xf32>, tensor<12x16xf32>) -> tensor<32x9x16xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<32x1x16xf32>, tensor<32x9x16xf32>) -> tensor<32x10x16xf32>
    %3 = stablehlo.dot_general %2, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x10x16xf32>, tensor<16x48xf32>) -> tensor<32x10x48xf32>
    %4 = stablehlo.reshape %3 : (tensor<32x10x48xf32>) -> tensor<32x10x3x2x8xf32>
    %5 = stablehlo.transpose %4, dims = [2, 0, 1, 3, 4] : (tensor<32x10x3x2x8xf32>) -> tensor<3x32x10x2x8xf32>
    %6 = stablehlo.slice %5 [0:1, 0:32, 0:10, 0:2, 0:8] : (tensor<3x32x10x2x8xf32>) -> tensor<1x32x10x2x8xf32>
    %7 = stablehlo.reshape %6 : (tensor<1x32x10x2x8xf32>) -> tensor<32x10x2x8xf32>
    %8 = stablehlo.slice %5 [1:2, 0:32, 0:10, 0:2, 0:8] : (tensor<3x32x10x2x8xf32>) -> tensor<1x32x10x2x8xf32>
    %9 = stablehlo.reshape %8 : (tensor<1x32x10x2x8xf32>) -> tensor<32x10x2x8xf32>
    %10 = stablehlo.slice %5 [2:3, 0:32, 0:10, 0:2, 0:8] : (tensor<3x32x10x2x8xf32>) -> tensor<1x32x10x2x8xf32>
    %11 = stablehlo.reshape %10 : (tensor<1x32x10x2x8xf32>) -> tensor<32x10x2x8xf32>
    %12 = stablehlo.dot_general %7, %9, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<32x10x2x8xf32>, tensor<32x10x2x8xf32>) -> tensor<32x2x10x10xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst) applies stablehlo.maximum across dimensions = [3] : (tensor<32x2x10x10xf32>, tensor<f32>) -> tensor<32x2x10xf32>
    %14 = stablehlo.reshape %13 : (tensor<32x2x10xf32>) -> tensor<32x2x10x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<32x2x10x1xf32>) -> tensor<32x2x10x10xf32>
    %16 = stablehlo.compare EQ, %12, %15, FLOAT : (tensor<32x2x10x10xf32>, tensor<32x2x10x10xf32>) -> tensor<32x2x10x10xi1>
    %17 = stablehlo.convert %16 : (tensor<32x2x10x10xi1>) -> tensor<32x2x10x10xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_0) applies stablehlo.add across dimensions = [3] : (tensor<32x2x10x10xf32>, tensor<f32>) -> tensor<32x2x10xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x2x10xf32>
    %20 = stablehlo.maximum %19, %13 : tensor<32x2x10xf32>
    %21 = stablehlo.compare EQ, %13, %20, FLOAT : (tensor<32x2x10xf32>, tensor<32x2x10xf32>) -> tensor<32x2x10xi1>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<32x2x10xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<32x2x10xf32>
    %24 = stablehlo.select %21, %22, %23 : tensor<32x2x10xi1>, tensor<32x2x10xf32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<32x2x10xf32>
    %26 = stablehlo.compare EQ, %25, %20, FLOAT : (tensor<32x2x10xf32>, tensor<32x2x10xf32>) -> tensor<32x2x10xi1>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<32x2x10xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<32x2x10xf32>
    %29 = stablehlo.select %26, %27, %28 : tensor<32x2x10xi1>, tensor<32x2x10xf32>
    %30 = stablehlo.divide %24, %29 : tensor<32x2x10xf32>
    %31 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<32x2x10xf32>) -> tensor<32x2x10x1xf32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3] : (tensor<32x2x10x1xf32>) -> tensor<32x2x10x10xf32>
    %33 = stablehlo.subtract %12, %32 : tensor<32x2x10x10xf32>
    %34 = stablehlo.exponential %33 : tensor<32x2x10x10xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %35 = stablehlo.reduce(%34 init: %cst_7) applies stablehlo.add across dimensions = [3] : (tensor<32x2x10x10xf32>, tensor<f32>) -> tensor<32x2x10xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2] : (tensor<32x2x10xf32>) -> tensor<32x2x10x1xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2, 3] : (tensor<32x2x10x1xf32>) -> tensor<32x2x10x10xf32>
    %38 = stablehlo.divide %34, %37 : tensor<32x2x10x10xf32>
    %39 = stablehlo.multiply %36, %36 : tensor<32x2x10x1xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<32x2x10x1xf32>
    %41 = stablehlo.divide %40, %39 : tensor<32x2x10x1xf32>
    %42 = stablehlo.dot_general %11, %38, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<32x10x2x8xf32>, tensor<32x2x10x10xf32>) -> tensor<32x2x8x10xf32>
    %43 = stablehlo.transpose %42, dims = [0, 3, 1, 2] : (tensor<32x2x8x10xf32>) -> tensor<32x10x2x8xf32>
    %44 = stablehlo.reshape %43 : (tensor<32x10x2x8xf32>) -> tensor<32x10x16xf32>
    %45 = stablehlo.dot_general %44, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x10x16xf32>, tensor<16x16xf32>) -> tensor<32x10x16xf32>
    %46 = stablehlo.add %2, %45 : tensor<32x10x16xf32>
    %47 = stablehlo.slice %46 [0:32, 0:1, 0:16] : (tensor<32x10x16xf32>) -> tensor<32x1x16xf32>
    %48 = stablehlo.reshape %47 : (tensor<32x1x16xf32>) -> tensor<32x16xf32>
    %49 = stablehlo.dot_general %48, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<16x10xf32>) -> tensor<32x10xf32>
    %50 = stablehlo.subtract %49, %arg6 : tensor<32x10xf32>
    %51 = stablehlo.multiply %50, %50 : tensor<32x10xf32>
    %cst_9 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %52 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<32x10xf32>
    %53 = stablehlo.multiply %52, %50 : tensor<32x10xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %54 = stablehlo.reduce(%51 init: %cst_10) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x10xf32>, tensor<f32>) -> tensor<f32>
    %cst_11 = stablehlo.constant dense<3.200000e+02> : tensor<f32>
    %55 = stablehlo.divide %54, %cst_11 : tensor<f32>
    %cst_12 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_13 = stablehlo.constant dense<3.200000e+02> : tensor<f32>
    %56 = stablehlo.divide %cst_12, %cst_13 : tensor<f32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [] : (tensor<f32>) -> tensor<32x10xf32>
    %58 = stablehlo.multiply %57, %53 : tensor<32x10xf32>
    %59 = stablehlo.dot_general %58, %48, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x10xf32>, tensor<32x16xf32>) -> tensor<10x16xf32>
    %60 = stablehlo.transpose %59, dims = [1, 0] : (tensor<10x16xf32>) -> tensor<16x10xf32>
    %61 = stablehlo.dot_general %58, %arg2, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x10xf32>, tensor<16x10xf32>) -> tensor<32x16xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0, 2] : (tensor<32x16xf32>) -> tensor<32x1x16xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %63 = stablehlo.pad %62, %cst_14, low = [0, 0, 0], high = [0, 9, 0], interior = [0, 0, 0] : (tensor<32x1x16xf32>, tensor<f32>) -> tensor<32x10x16xf32>
    %64 = stablehlo.dot_general %63, %44, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x10x16xf32>, tensor<32x10x16xf32>) -> tensor<16x16xf32>
    %65 = stablehlo.transpose %64, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %66 = stablehlo.dot_general %63, %arg3, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x10x16xf32>, tensor<16x16xf32>) -> tensor<32x10x16xf32>
    %67 = stablehlo.reshape %66 : (tensor<32x10x16xf32>) -> tensor<32x10x2x8xf32>
    %68 = stablehlo.transpose %67, dims = [0, 2, 3, 1] : (tensor<32x10x2x8xf32>) -> tensor<32x2x8x10xf32>
    %69 = stablehlo.dot_general %68, %11, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<32x2x8x10xf32>, tensor<32x10x2x8xf32>) -> tensor<32x2x10x10xf32>
    %70 = stablehlo.dot_general %68, %38, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<32x2x8x10xf32>, tensor<32x2x10x10xf32>) -> tensor<32x2x8x10xf32>
    %71 = stablehlo.transpose %70, dims = [0, 3, 1, 2] : (tensor<32x2x8x10xf32>) -> tensor<32x10x2x8xf32>
    %72 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 2, 3] : (tensor<32x2x10x1xf32>) -> tensor<32x2x10x10xf32>
    %73 = stablehlo.multiply %69, %72 : tensor<32x2x10x10xf32>
    %74 = stablehlo.multiply %73, %34 : tensor<32x2x10x10xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %75 = stablehlo.reduce(%74 init: %cst_15) applies stablehlo.add across dimensions = [3] : (tensor<32x2x10x10xf32>, tensor<f32>) -> tensor<32x2x10xf32>
    %76 = stablehlo.reshape %75 : (tensor<32x2x10xf32>) -> tensor<32x2x10x1xf32>
    %77 = stablehlo.negate %76 : tensor<32x2x10x1xf32>
    %78 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2, 3] : (tensor<32x2x10x1xf32>) -> tensor<32x2x10x10xf32>
    %79 = stablehlo.divide %69, %78 : tensor<32x2x10x10xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %80 = stablehlo.reduce(%77 init: %cst_16) applies stablehlo.add across dimensions = [3] : (tensor<32x2x10x1xf32>, tensor<f32>) -> tensor<32x2x10xf32>
    %81 = stablehlo.broadcast_in_dim %80, dims = [0, 1, 2] : (tensor<32x2x10xf32>) -> tensor<32x2x10x10xf32>
    %82 = stablehlo.add %79, %81 : tensor<32x2x10x10xf32>
    %83 = stablehlo.multiply %82, %34 : tensor<32x2x10x10xf32>
    %84 = stablehlo.dot_general %83, %7, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x2x10x10xf32>, tensor<32x10x2x8xf32>) -> tensor<32x2x10x8xf32>
    %85 = stablehlo.transpose %84, dims = [0, 2, 1, 3] : (tensor<32x2x10x8xf32>) -> tensor<32x10x2x8xf32>
    %86 = stablehlo.dot_general %83, %9, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x2x10x10xf32>, tensor<32x10x2x8xf32>) -> tensor<32x2x10x8xf32>
    %87 = stablehlo.transpose %86, dims = [0, 2, 1, 3] : (tensor<32x2x10x8xf32>) -> tensor<32x10x2x8xf32>
    %88 = stablehlo.broadcast_in_dim %71, dims = [1, 2, 3, 4] : (tensor<32x10x2x8xf32>) -> tensor<1x32x10x2x8xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %89 = stablehlo.pad %88, %cst_17, low = [2, 0, 0, 0, 0], high = [0, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x32x10x2x8xf32>, tensor<f32>) -> tensor<3x32x10x2x8xf32>
    %90 = stablehlo.broadcast_in_dim %85, dims = [1, 2, 3, 4] : (tensor<32x10x2x8xf32>) -> tensor<1x32x10x2x8xf32>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %91 = stablehlo.pad %90, %cst_18, low = [1, 0, 0, 0, 0], high = [1, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x32x10x2x8xf32>, tensor<f32>) -> tensor<3x32x10x2x8xf32>
    %92 = stablehlo.add %89, %91 : tensor<3x32x10x2x8xf32>
    %93 = stablehlo.broadcast_in_dim %87, dims = [1, 2, 3, 4] : (tensor<32x10x2x8xf32>) -> tensor<1x32x10x2x8xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %94 = stablehlo.pad %93, %cst_19, low = [0, 0, 0, 0, 0], high = [2, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x32x10x2x8xf32>, tensor<f32>) -> tensor<3x32x10x2x8xf32>
    %95 = stablehlo.add %92, %94 : tensor<3x32x10x2x8xf32>
    %96 = stablehlo.transpose %95, dims = [1, 2, 0, 3, 4] : (tensor<3x32x10x2x8xf32>) -> tensor<32x10x3x2x8xf32>
    %97 = stablehlo.reshape %96 : (tensor<32x10x3x2x8xf32>) -> tensor<32x10x48xf32>
    %98 = stablehlo.dot_general %97, %2, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x10x48xf32>, tensor<32x10x16xf32>) -> tensor<48x16xf32>
    %99 = stablehlo.transpose %98, dims = [1, 0] : (tensor<48x16xf32>) -> tensor<16x48xf32>
    %100 = stablehlo.dot_general %97, %arg4, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x10x48xf32>, tensor<16x48xf32>) -> tensor<32x10x16xf32>
    %101 = stablehlo.add %63, %100 : tensor<32x10x16xf32>
    %102 = stablehlo.slice %101 [0:32, 0:1, 0:16] : (tensor<32x10x16xf32>) -> tensor<32x1x16xf32>
    %103 = stablehlo.slice %101 [0:32, 1:10, 0:16] : (tensor<32x10x16xf32>) -> tensor<32x9x16xf32>
    %104 = stablehlo.dot_general %103, %arg5, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x9x16xf32>, tensor<32x9x12xf32>) -> tensor<16x12xf32>
    %105 = stablehlo.transpose %104, dims = [1, 0] : (tensor<16x12xf32>) -> tensor<12x16xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %106 = stablehlo.reduce(%102 init: %cst_20) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %107 = stablehlo.broadcast_in_dim %106, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %cst_21 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %108 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<1x1x16xf32>
    %109 = stablehlo.multiply %108, %107 : tensor<1x1x16xf32>
    %110 = stablehlo.subtract %arg0, %109 : tensor<1x1x16xf32>
    %cst_22 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %111 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<12x16xf32>
    %112 = stablehlo.multiply %111, %105 : tensor<12x16xf32>
    %113 = stablehlo.subtract %arg1, %112 : tensor<12x16xf32>
    %cst_23 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %114 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %115 = stablehlo.multiply %114, %60 : tensor<16x10xf32>
    %116 = stablehlo.subtract %arg2, %115 : tensor<16x10xf32>
    %cst_24 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %117 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %118 = stablehlo.multiply %117, %65 : tensor<16x16xf32>
    %119 = stablehlo.subtract %arg3, %118 : tensor<16x16xf32>
    %cst_25 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %120 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<16x48xf32>
    %121 = stablehlo.multiply %120, %99 : tensor<16x48xf32>
    %122 = stablehlo.subtract %arg4, %121 : tensor<16x48xf32>
    return %110, %113, %116, %119, %122, %55 : tensor<1x1x16xf32>, tensor<12x16xf32>, tensor<16x10xf32>, tensor<16x16xf32>, tensor<16x48xf32>, tensor<f32>
  }
}
