module @jit_loss attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x32xf32>, %arg1: tensor<128x128xf32>, %arg2: tensor<128x128xf32>, %arg3: tensor<128x32xf32>, %arg4: tensor<16x32x128xf32>) -> (tensor<128x32xf32> {jax.result_info = "result['k']"}, tensor<128x128xf32> {jax.result_info = "result['o']"}, tensor<128x128xf32> {jax.result_info = "result['q']"}, tensor<128x32xf32> {jax.result_info = "result['v']"}) {
    %0 = stablehlo.dot_general %arg4, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<128x128xf32>) -> tensor<16x32x128xf32>
    %1 = stablehlo.reshape %0 : (tensor<16x32x128xf32>) -> tensor<16x32x8x16xf32>
    %2 = stablehlo.dot_general %arg4, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<128x32xf32>) -> tensor<16x32x32xf32>
    %3 = stablehlo.reshape %2 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %4 = stablehlo.dot_general %arg4, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<128x32xf32>) -> tensor<16x32x32xf32>
    %5 = stablehlo.reshape %4 : (tensor<16x32x32xf32>) -> tensor<16x32x2x16xf32>
    %6 = stablehlo.reshape %1 : (tensor<16x32x8x16xf32>) -> tensor<16x32x2x4x16xf32>
    %7 = stablehlo.dot_general %6, %3, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x32x2x4x16xf32>, tensor<16x32x2x16xf32>) -> tensor<16x2x32x4x32xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x2x32x4x32xf32>
    %9 = stablehlo.multiply %7, %8 : tensor<16x2x32x4x32xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %10 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<16x2x32x32xi1>
    %c_0 = stablehlo.constant dense<true> : tensor<i1>
    %11 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %12 = call @tril(%11) : (tensor<32x32xi1>) -> tensor<32x32xi1>
    %13 = stablehlo.broadcast_in_dim %12, dims = [2, 3] : (tensor<32x32xi1>) -> tensor<1x1x32x32xi1>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x1x32x32xi1>) -> tensor<16x2x32x32xi1>
    %15 = stablehlo.and %10, %14 : tensor<16x2x32x32xi1>
    %cst_1 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
    %16:2 = call @_where(%15, %9, %cst_1) : (tensor<16x2x32x32xi1>, tensor<16x2x32x4x32xf32>, tensor<f32>) -> (tensor<4x16x2x32x32xf32>, tensor<4x16x2x32x32xi1>)
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %17 = stablehlo.reduce(%16#0 init: %cst_2) applies stablehlo.maximum across dimensions = [4] : (tensor<4x16x2x32x32xf32>, tensor<f32>) -> tensor<4x16x2x32xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x16x2x32xf32>
    %19 = stablehlo.maximum %18, %17 : tensor<4x16x2x32xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<4x16x2x32xf32>) -> tensor<4x16x2x32x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3, 4] : (tensor<4x16x2x32x1xf32>) -> tensor<4x16x2x32x32xf32>
    %22 = stablehlo.subtract %16#0, %21 : tensor<4x16x2x32x32xf32>
    %23 = stablehlo.exponential %22 : tensor<4x16x2x32x32xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.reduce(%23 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<4x16x2x32x32xf32>, tensor<f32>) -> tensor<4x16x2x32xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<4x16x2x32xf32>) -> tensor<4x16x2x32x1xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3, 4] : (tensor<4x16x2x32x1xf32>) -> tensor<4x16x2x32x32xf32>
    %27 = stablehlo.divide %23, %26 : tensor<4x16x2x32x32xf32>
    %28 = stablehlo.multiply %25, %25 : tensor<4x16x2x32x1xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x16x2x32x1xf32>
    %30 = stablehlo.divide %29, %28 : tensor<4x16x2x32x1xf32>
    %31 = stablehlo.dot_general %5, %27, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<16x32x2x16xf32>, tensor<4x16x2x32x32xf32>) -> tensor<16x2x16x4x32xf32>
    %32 = stablehlo.transpose %31, dims = [3, 0, 4, 1, 2] : (tensor<16x2x16x4x32xf32>) -> tensor<4x16x32x2x16xf32>
    %33 = stablehlo.transpose %32, dims = [1, 2, 3, 0, 4] : (tensor<4x16x32x2x16xf32>) -> tensor<16x32x2x4x16xf32>
    %34 = stablehlo.reshape %33 : (tensor<16x32x2x4x16xf32>) -> tensor<16x32x8x16xf32>
    %35 = stablehlo.reshape %34 : (tensor<16x32x8x16xf32>) -> tensor<16x32x128xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<16x32x128xf32>
    %37 = stablehlo.dot_general %36, %35, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<16x32x128xf32>) -> tensor<128x128xf32>
    %38 = stablehlo.transpose %37, dims = [1, 0] : (tensor<128x128xf32>) -> tensor<128x128xf32>
    %39 = stablehlo.dot_general %36, %arg1, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<128x128xf32>) -> tensor<16x32x128xf32>
    %40 = stablehlo.reshape %39 : (tensor<16x32x128xf32>) -> tensor<16x32x8x16xf32>
    %41 = stablehlo.reshape %40 : (tensor<16x32x8x16xf32>) -> tensor<16x32x2x4x16xf32>
    %42 = stablehlo.transpose %41, dims = [3, 0, 1, 2, 4] : (tensor<16x32x2x4x16xf32>) -> tensor<4x16x32x2x16xf32>
    %43 = stablehlo.transpose %42, dims = [1, 3, 4, 0, 2] : (tensor<4x16x32x2x16xf32>) -> tensor<16x2x16x4x32xf32>
    %44 = stablehlo.dot_general %43, %5, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x2x16x4x32xf32>, tensor<16x32x2x16xf32>) -> tensor<16x2x4x32x32xf32>
    %45 = stablehlo.transpose %44, dims = [2, 0, 1, 3, 4] : (tensor<16x2x4x32x32xf32>) -> tensor<4x16x2x32x32xf32>
    %46 = stablehlo.dot_general %43, %27, batching_dims = [0, 1] x [1, 2], contracting_dims = [3, 4] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<16x2x16x4x32xf32>, tensor<4x16x2x32x32xf32>) -> tensor<16x2x16x32xf32>
    %47 = stablehlo.transpose %46, dims = [0, 3, 1, 2] : (tensor<16x2x16x32xf32>) -> tensor<16x32x2x16xf32>
    %48 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2, 3, 4] : (tensor<4x16x2x32x1xf32>) -> tensor<4x16x2x32x32xf32>
    %49 = stablehlo.multiply %45, %48 : tensor<4x16x2x32x32xf32>
    %50 = stablehlo.multiply %49, %23 : tensor<4x16x2x32x32xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %51 = stablehlo.reduce(%50 init: %cst_7) applies stablehlo.add across dimensions = [4] : (tensor<4x16x2x32x32xf32>, tensor<f32>) -> tensor<4x16x2x32xf32>
    %52 = stablehlo.reshape %51 : (tensor<4x16x2x32xf32>) -> tensor<4x16x2x32x1xf32>
    %53 = stablehlo.negate %52 : tensor<4x16x2x32x1xf32>
    %54 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3, 4] : (tensor<4x16x2x32x1xf32>) -> tensor<4x16x2x32x32xf32>
    %55 = stablehlo.divide %45, %54 : tensor<4x16x2x32x32xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %56 = stablehlo.reduce(%53 init: %cst_8) applies stablehlo.add across dimensions = [4] : (tensor<4x16x2x32x1xf32>, tensor<f32>) -> tensor<4x16x2x32xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0, 1, 2, 3] : (tensor<4x16x2x32xf32>) -> tensor<4x16x2x32x32xf32>
    %58 = stablehlo.add %55, %57 : tensor<4x16x2x32x32xf32>
    %59 = stablehlo.multiply %58, %23 : tensor<4x16x2x32x32xf32>
    %60 = call @_where_0(%16#1, %59) : (tensor<4x16x2x32x32xi1>, tensor<4x16x2x32x32xf32>) -> tensor<16x2x32x4x32xf32>
    %cst_9 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16x2x32x4x32xf32>
    %62 = stablehlo.multiply %60, %61 : tensor<16x2x32x4x32xf32>
    %63 = stablehlo.dot_general %62, %6, batching_dims = [0, 1] x [0, 2], contracting_dims = [2, 3] x [1, 3], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x4x32xf32>, tensor<16x32x2x4x16xf32>) -> tensor<16x2x32x16xf32>
    %64 = stablehlo.transpose %63, dims = [0, 2, 1, 3] : (tensor<16x2x32x16xf32>) -> tensor<16x32x2x16xf32>
    %65 = stablehlo.dot_general %62, %3, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x2x32x4x32xf32>, tensor<16x32x2x16xf32>) -> tensor<16x2x32x4x16xf32>
    %66 = stablehlo.transpose %65, dims = [0, 2, 1, 3, 4] : (tensor<16x2x32x4x16xf32>) -> tensor<16x32x2x4x16xf32>
    %67 = stablehlo.reshape %66 : (tensor<16x32x2x4x16xf32>) -> tensor<16x32x8x16xf32>
    %68 = stablehlo.reshape %47 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %69 = stablehlo.dot_general %68, %arg4, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<16x32x128xf32>) -> tensor<32x128xf32>
    %70 = stablehlo.transpose %69, dims = [1, 0] : (tensor<32x128xf32>) -> tensor<128x32xf32>
    %71 = stablehlo.reshape %64 : (tensor<16x32x2x16xf32>) -> tensor<16x32x32xf32>
    %72 = stablehlo.dot_general %71, %arg4, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x32xf32>, tensor<16x32x128xf32>) -> tensor<32x128xf32>
    %73 = stablehlo.transpose %72, dims = [1, 0] : (tensor<32x128xf32>) -> tensor<128x32xf32>
    %74 = stablehlo.reshape %67 : (tensor<16x32x8x16xf32>) -> tensor<16x32x128xf32>
    %75 = stablehlo.dot_general %74, %arg4, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x128xf32>, tensor<16x32x128xf32>) -> tensor<128x128xf32>
    %76 = stablehlo.transpose %75, dims = [1, 0] : (tensor<128x128xf32>) -> tensor<128x128xf32>
    return %73, %38, %76, %70 : tensor<128x32xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x32xf32>
  }
  func.func private @tril(%arg0: tensor<32x32xi1>) -> tensor<32x32xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<32x32xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
    %2 = stablehlo.add %0, %1 : tensor<32x32xi32>
    %3 = stablehlo.iota dim = 1 : tensor<32x32xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<32x32xi1>, tensor<32x32xi1>
    return %6 : tensor<32x32xi1>
  }
  func.func private @_where(%arg0: tensor<16x2x32x32xi1>, %arg1: tensor<16x2x32x4x32xf32>, %arg2: tensor<f32>) -> (tensor<4x16x2x32x32xf32>, tensor<4x16x2x32x32xi1>) {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<16x2x32x32xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3, 4] : (tensor<16x2x32x32xi1>) -> tensor<4x16x2x32x32xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<16x2x32x32xf32>) -> tensor<4x16x2x32x32xf32>
    %3 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<16x2x32x4x32xf32>) -> tensor<4x16x2x32x32xf32>
    %4 = stablehlo.select %1, %3, %2 : tensor<4x16x2x32x32xi1>, tensor<4x16x2x32x32xf32>
    return %4, %1 : tensor<4x16x2x32x32xf32>, tensor<4x16x2x32x32xi1>
  }
  func.func private @_where_0(%arg0: tensor<4x16x2x32x32xi1>, %arg1: tensor<4x16x2x32x32xf32>) -> tensor<16x2x32x4x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16x2x32x32xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<4x16x2x32x32xi1>, tensor<4x16x2x32x32xf32>
    %2 = stablehlo.transpose %1, dims = [1, 2, 3, 0, 4] : (tensor<4x16x2x32x32xf32>) -> tensor<16x2x32x4x32xf32>
    return %2 : tensor<16x2x32x4x32xf32>
  }
}
