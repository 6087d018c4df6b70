// accumulated_step of tests/truth/programs.py: three parameters, four microbatches in a scan
module @jit_accumulated_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<32x16xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<16x8xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<16xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<32x16xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<16x8xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<4x16x32xf32>, %arg7: tensor<4x16x8xf32>) -> (tensor<16xf32> {jax.result_info = "result[0][0]['b1']"}, tensor<32x16xf32> {jax.result_info = "result[0][0]['w1']"}, tensor<16x8xf32> {jax.result_info = "result[0][0]['w2']"}, tensor<16xf32> {jax.result_info = "result[0][1]['b1']"}, tensor<32x16xf32> {jax.result_info = "result[0][1]['w1']"}, tensor<16x8xf32> {jax.result_info = "result[0][1]['w2']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3:10 = stablehlo.while(%iterArg = %arg6, %iterArg_13 = %arg7, %iterArg_14 = %arg1, %iterArg_15 = %arg0, %iterArg_16 = %arg2, %iterArg_17 = %c, %iterArg_18 = %cst_2, %iterArg_19 = %0, %iterArg_20 = %1, %iterArg_21 = %2) : tensor<4x16x32xf32>, tensor<4x16x8xf32>, tensor<32x16xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<i32>, tensor<f32>, tensor<16xf32>, tensor<32x16xf32>, tensor<16x8xf32>
    cond {
      %c_22 = stablehlo.constant dense<4> : tensor<i32>
      %29 = stablehlo.compare LT, %iterArg_17, %c_22, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %29 : tensor<i1>
    } do {
      %29 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_17) : (tensor<4x16x32xf32>, tensor<i32>) -> tensor<16x32xf32>
      %30 = func.call @dynamic_index_in_dim_0(%iterArg_13, %iterArg_17) : (tensor<4x16x8xf32>, tensor<i32>) -> tensor<16x8xf32>
      %31:4 = func.call @closed_call(%iterArg_14, %iterArg_15, %iterArg_16, %iterArg_18, %iterArg_19, %iterArg_20, %iterArg_21, %29, %30) : (tensor<32x16xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<f32>, tensor<16xf32>, tensor<32x16xf32>, tensor<16x8xf32>, tensor<16x32xf32>, tensor<16x8xf32>) -> (tensor<f32>, tensor<16xf32>, tensor<32x16xf32>, tensor<16x8xf32>)
      %c_22 = stablehlo.constant dense<1> : tensor<i32>
      %32 = stablehlo.add %iterArg_17, %c_22 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_13, %iterArg_14, %iterArg_15, %iterArg_16, %32, %31#0, %31#1, %31#2, %31#3 : tensor<4x16x32xf32>, tensor<4x16x8xf32>, tensor<32x16xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<i32>, tensor<f32>, tensor<16xf32>, tensor<32x16xf32>, tensor<16x8xf32>
    }
    %cst_3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %5 = stablehlo.multiply %4, %arg3 : tensor<16xf32>
    %cst_4 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %7 = stablehlo.divide %3#7, %6 : tensor<16xf32>
    %8 = stablehlo.add %5, %7 : tensor<16xf32>
    %cst_5 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %10 = stablehlo.multiply %9, %arg4 : tensor<32x16xf32>
    %cst_6 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %12 = stablehlo.divide %3#8, %11 : tensor<32x16xf32>
    %13 = stablehlo.add %10, %12 : tensor<32x16xf32>
    %cst_7 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %15 = stablehlo.multiply %14, %arg5 : tensor<16x8xf32>
    %cst_8 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %17 = stablehlo.divide %3#9, %16 : tensor<16x8xf32>
    %18 = stablehlo.add %15, %17 : tensor<16x8xf32>
    %cst_9 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %20 = stablehlo.multiply %19, %8 : tensor<16xf32>
    %21 = stablehlo.subtract %arg0, %20 : tensor<16xf32>
    %cst_10 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %23 = stablehlo.multiply %22, %13 : tensor<32x16xf32>
    %24 = stablehlo.subtract %arg1, %23 : tensor<32x16xf32>
    %cst_11 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %26 = stablehlo.multiply %25, %18 : tensor<16x8xf32>
    %27 = stablehlo.subtract %arg2, %26 : tensor<16x8xf32>
    %cst_12 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %28 = stablehlo.divide %3#6, %cst_12 : tensor<f32>
    return %21, %24, %27, %8, %13, %18, %28 : tensor<16xf32>, tensor<32x16xf32>, tensor<16x8xf32>, tensor<16xf32>, tensor<32x16xf32>, tensor<16x8xf32>, tensor<f32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<4x16x32xf32>, %arg1: tensor<i32>) -> tensor<16x32xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 16, 32] : (tensor<4x16x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x16x32xf32>) -> tensor<16x32xf32>
    return %1 : tensor<16x32xf32>
  }
  func.func private @dynamic_index_in_dim_0(%arg0: tensor<4x16x8xf32>, %arg1: tensor<i32>) -> tensor<16x8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 16, 8] : (tensor<4x16x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x8xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x16x8xf32>) -> tensor<16x8xf32>
    return %1 : tensor<16x8xf32>
  }
  func.func private @closed_call(%arg0: tensor<32x16xf32>, %arg1: tensor<16xf32>, %arg2: tensor<16x8xf32>, %arg3: tensor<f32>, %arg4: tensor<16xf32>, %arg5: tensor<32x16xf32>, %arg6: tensor<16x8xf32>, %arg7: tensor<16x32xf32>, %arg8: tensor<16x8xf32>) -> (tensor<f32>, tensor<16xf32>, tensor<32x16xf32>, tensor<16x8xf32>) {
    %0 = stablehlo.dot_general %arg7, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<16x16xf32>
    %3 = stablehlo.add %0, %2 : tensor<16x16xf32>
    %4 = stablehlo.tanh %3 : tensor<16x16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %6 = stablehlo.subtract %5, %4 : tensor<16x16xf32>
    %7 = stablehlo.dot_general %4, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
    %8 = stablehlo.subtract %7, %arg8 : tensor<16x8xf32>
    %9 = stablehlo.multiply %8, %8 : tensor<16x8xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %11 = stablehlo.multiply %10, %8 : tensor<16x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.reduce(%9 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %13 = stablehlo.divide %12, %cst_2 : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %14 = stablehlo.divide %cst_3, %cst_4 : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %16 = stablehlo.multiply %15, %11 : tensor<16x8xf32>
    %17 = stablehlo.dot_general %16, %4, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %18 = stablehlo.transpose %17, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %19 = stablehlo.dot_general %16, %arg2, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x16xf32>
    %20 = stablehlo.multiply %19, %6 : tensor<16x16xf32>
    %21 = stablehlo.multiply %20, %4 : tensor<16x16xf32>
    %22 = stablehlo.add %20, %21 : tensor<16x16xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.reduce(%22 init: %cst_5) applies stablehlo.add across dimensions = [0] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
    %24 = stablehlo.reshape %23 : (tensor<16xf32>) -> tensor<1x16xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_6) applies stablehlo.add across dimensions = [0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %26 = stablehlo.dot_general %22, %arg7, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %27 = stablehlo.transpose %26, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
    %28 = stablehlo.add %arg3, %13 : tensor<f32>
    %29 = stablehlo.add %arg4, %25 : tensor<16xf32>
    %30 = stablehlo.add %arg5, %27 : tensor<32x16xf32>
    %31 = stablehlo.add %arg6, %18 : tensor<16x8xf32>
    return %28, %29, %30, %31 : tensor<f32>, tensor<16xf32>, tensor<32x16xf32>, tensor<16x8xf32>
  }
}
