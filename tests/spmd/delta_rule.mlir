module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32>, %arg2: tensor<8x8xf32>, %arg3: tensor<8x6x8xf32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<8x8xf32> {jax.result_info = "result[1]['k']"}, tensor<8x8xf32> {jax.result_info = "result[1]['q']"}, tensor<8x8xf32> {jax.result_info = "result[1]['v']"}) {
    %0 = stablehlo.dot_general %arg3, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x6x8xf32>, tensor<8x8xf32>) -> tensor<8x6x8xf32>
    %1 = stablehlo.dot_general %arg3, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x6x8xf32>, tensor<8x8xf32>) -> tensor<8x6x8xf32>
    %2 = stablehlo.dot_general %arg3, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x6x8xf32>, tensor<8x8xf32>) -> tensor<8x6x8xf32>
    %3:2 = call @norm(%1) : (tensor<8x6x8xf32>) -> (tensor<8x6x1xf32>, tensor<8x6x1xf32>)
    %4 = stablehlo.broadcast_in_dim %3#0, dims = [0, 1, 2] : (tensor<8x6x1xf32>) -> tensor<8x6x8xf32>
    %5 = stablehlo.divide %1, %4 : tensor<8x6x8xf32>
    %6 = stablehlo.multiply %3#0, %3#0 : tensor<8x6x1xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x6x1xf32>
    %8 = stablehlo.divide %7, %6 : tensor<8x6x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x8x8xf32>
    %10 = stablehlo.transpose %0, dims = [1, 0, 2] : (tensor<8x6x8xf32>) -> tensor<6x8x8xf32>
    %11 = stablehlo.transpose %5, dims = [1, 0, 2] : (tensor<8x6x8xf32>) -> tensor<6x8x8xf32>
    %12 = stablehlo.transpose %2, dims = [1, 0, 2] : (tensor<8x6x8xf32>) -> tensor<6x8x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<6x8x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<6x8x8x8xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<6x8x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<6x8x8x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %17:9 = stablehlo.while(%iterArg = %10, %iterArg_17 = %11, %iterArg_18 = %12, %iterArg_19 = %c, %iterArg_20 = %9, %iterArg_21 = %13, %iterArg_22 = %14, %iterArg_23 = %15, %iterArg_24 = %16) : tensor<6x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8xf32>, tensor<i32>, tensor<8x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8x8xf32>
    cond {
      %c_25 = stablehlo.constant dense<6> : tensor<i32>
      %51 = stablehlo.compare LT, %iterArg_19, %c_25, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %51 : tensor<i1>
    } do {
      %51 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_19) : (tensor<6x8x8xf32>, tensor<i32>) -> tensor<8x8xf32>
      %52 = func.call @dynamic_index_in_dim(%iterArg_17, %iterArg_19) : (tensor<6x8x8xf32>, tensor<i32>) -> tensor<8x8xf32>
      %53 = func.call @dynamic_index_in_dim(%iterArg_18, %iterArg_19) : (tensor<6x8x8xf32>, tensor<i32>) -> tensor<8x8xf32>
      %54:5 = func.call @closed_call(%iterArg_20, %51, %52, %53) : (tensor<8x8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8x8xf32>, tensor<8x8xf32>, tensor<8x8x8xf32>, tensor<8x8xf32>, tensor<8x8x8xf32>)
      %55 = func.call @dynamic_update_index_in_dim(%iterArg_21, %54#1, %iterArg_19) : (tensor<6x8x8xf32>, tensor<8x8xf32>, tensor<i32>) -> tensor<6x8x8xf32>
      %56 = func.call @dynamic_update_index_in_dim_0(%iterArg_22, %54#2, %iterArg_19) : (tensor<6x8x8x8xf32>, tensor<8x8x8xf32>, tensor<i32>) -> tensor<6x8x8x8xf32>
      %57 = func.call @dynamic_update_index_in_dim(%iterArg_23, %54#3, %iterArg_19) : (tensor<6x8x8xf32>, tensor<8x8xf32>, tensor<i32>) -> tensor<6x8x8xf32>
      %58 = func.call @dynamic_update_index_in_dim_0(%iterArg_24, %54#4, %iterArg_19) : (tensor<6x8x8x8xf32>, tensor<8x8x8xf32>, tensor<i32>) -> tensor<6x8x8x8xf32>
      %c_25 = stablehlo.constant dense<1> : tensor<i32>
      %59 = stablehlo.add %iterArg_19, %c_25 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_17, %iterArg_18, %59, %54#0, %55, %56, %57, %58 : tensor<6x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8xf32>, tensor<i32>, tensor<8x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8x8xf32>
    }
    %18 = stablehlo.multiply %17#5, %17#5 : tensor<6x8x8xf32>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<6x8x8xf32>
    %20 = stablehlo.multiply %19, %17#5 : tensor<6x8x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.reduce(%18 init: %cst_6) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<6x8x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_7 = stablehlo.constant dense<3.840000e+02> : tensor<f32>
    %22 = stablehlo.divide %21, %cst_7 : tensor<f32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x8x8xf32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_10 = stablehlo.constant dense<3.840000e+02> : tensor<f32>
    %24 = stablehlo.divide %cst_9, %cst_10 : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [] : (tensor<f32>) -> tensor<6x8x8xf32>
    %26 = stablehlo.multiply %25, %20 : tensor<6x8x8xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<8x8x8xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<6x8x8xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<6x8x8xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<6x8x8xf32>
    %c_15 = stablehlo.constant dense<0> : tensor<i32>
    %31:11 = stablehlo.while(%iterArg = %26, %iterArg_17 = %11, %iterArg_18 = %17#6, %iterArg_19 = %17#7, %iterArg_20 = %10, %iterArg_21 = %17#8, %iterArg_22 = %c_15, %iterArg_23 = %27, %iterArg_24 = %28, %iterArg_25 = %29, %iterArg_26 = %30) : tensor<6x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8x8xf32>, tensor<i32>, tensor<8x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8xf32>
    cond {
      %c_27 = stablehlo.constant dense<6> : tensor<i32>
      %51 = stablehlo.compare LT, %iterArg_22, %c_27, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %51 : tensor<i1>
    } do {
      %c_27 = stablehlo.constant dense<6> : tensor<i32>
      %51 = stablehlo.subtract %c_27, %iterArg_22 : tensor<i32>
      %c_28 = stablehlo.constant dense<1> : tensor<i32>
      %52 = stablehlo.subtract %51, %c_28 : tensor<i32>
      %53 = func.call @dynamic_index_in_dim(%iterArg, %52) : (tensor<6x8x8xf32>, tensor<i32>) -> tensor<8x8xf32>
      %54 = func.call @dynamic_index_in_dim(%iterArg_17, %52) : (tensor<6x8x8xf32>, tensor<i32>) -> tensor<8x8xf32>
      %55 = func.call @dynamic_index_in_dim_1(%iterArg_18, %52) : (tensor<6x8x8x8xf32>, tensor<i32>) -> tensor<8x8x8xf32>
      %56 = func.call @dynamic_index_in_dim(%iterArg_19, %52) : (tensor<6x8x8xf32>, tensor<i32>) -> tensor<8x8xf32>
      %57 = func.call @dynamic_index_in_dim(%iterArg_20, %52) : (tensor<6x8x8xf32>, tensor<i32>) -> tensor<8x8xf32>
      %58 = func.call @dynamic_index_in_dim_1(%iterArg_21, %52) : (tensor<6x8x8x8xf32>, tensor<i32>) -> tensor<8x8x8xf32>
      %59:4 = func.call @closed_call_2(%iterArg_23, %53, %54, %55, %56, %57, %58) : (tensor<8x8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8x8xf32>) -> (tensor<8x8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>)
      %60 = func.call @dynamic_update_index_in_dim(%iterArg_24, %59#1, %52) : (tensor<6x8x8xf32>, tensor<8x8xf32>, tensor<i32>) -> tensor<6x8x8xf32>
      %61 = func.call @dynamic_update_index_in_dim(%iterArg_25, %59#2, %52) : (tensor<6x8x8xf32>, tensor<8x8xf32>, tensor<i32>) -> tensor<6x8x8xf32>
      %62 = func.call @dynamic_update_index_in_dim(%iterArg_26, %59#3, %52) : (tensor<6x8x8xf32>, tensor<8x8xf32>, tensor<i32>) -> tensor<6x8x8xf32>
      %c_29 = stablehlo.constant dense<1> : tensor<i32>
      %63 = stablehlo.add %iterArg_22, %c_29 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_17, %iterArg_18, %iterArg_19, %iterArg_20, %iterArg_21, %63, %59#0, %60, %61, %62 : tensor<6x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8x8xf32>, tensor<i32>, tensor<8x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8xf32>, tensor<6x8x8xf32>
    }
    %32 = stablehlo.transpose %31#10, dims = [1, 0, 2] : (tensor<6x8x8xf32>) -> tensor<8x6x8xf32>
    %33 = stablehlo.transpose %31#9, dims = [1, 0, 2] : (tensor<6x8x8xf32>) -> tensor<8x6x8xf32>
    %34 = stablehlo.transpose %31#8, dims = [1, 0, 2] : (tensor<6x8x8xf32>) -> tensor<8x6x8xf32>
    %35 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<8x6x1xf32>) -> tensor<8x6x8xf32>
    %36 = stablehlo.multiply %33, %35 : tensor<8x6x8xf32>
    %37 = stablehlo.multiply %36, %1 : tensor<8x6x8xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %38 = stablehlo.reduce(%37 init: %cst_16) applies stablehlo.add across dimensions = [2] : (tensor<8x6x8xf32>, tensor<f32>) -> tensor<8x6xf32>
    %39 = stablehlo.reshape %38 : (tensor<8x6xf32>) -> tensor<8x6x1xf32>
    %40 = stablehlo.negate %39 : tensor<8x6x1xf32>
    %41 = stablehlo.broadcast_in_dim %3#0, dims = [0, 1, 2] : (tensor<8x6x1xf32>) -> tensor<8x6x8xf32>
    %42 = stablehlo.divide %33, %41 : tensor<8x6x8xf32>
    %43 = call @norm_3(%1, %3#1, %40) : (tensor<8x6x8xf32>, tensor<8x6x1xf32>, tensor<8x6x1xf32>) -> tensor<8x6x8xf32>
    %44 = stablehlo.add %42, %43 : tensor<8x6x8xf32>
    %45 = stablehlo.dot_general %32, %arg3, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x6x8xf32>, tensor<8x6x8xf32>) -> tensor<8x8xf32>
    %46 = stablehlo.transpose %45, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %47 = stablehlo.dot_general %44, %arg3, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x6x8xf32>, tensor<8x6x8xf32>) -> tensor<8x8xf32>
    %48 = stablehlo.transpose %47, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %49 = stablehlo.dot_general %34, %arg3, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x6x8xf32>, tensor<8x6x8xf32>) -> tensor<8x8xf32>
    %50 = stablehlo.transpose %49, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %22, %48, %50, %46 : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
  func.func private @norm(%arg0: tensor<8x6x8xf32>) -> (tensor<8x6x1xf32>, tensor<8x6x1xf32>) {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<8x6x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<8x6x8xf32>, tensor<f32>) -> tensor<8x6xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<8x6xf32>) -> tensor<8x6x1xf32>
    %3 = stablehlo.sqrt %2 : tensor<8x6x1xf32>
    %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x6x1xf32>
    %5 = stablehlo.divide %4, %3 : tensor<8x6x1xf32>
    return %3, %5 : tensor<8x6x1xf32>, tensor<8x6x1xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<6x8x8xf32>, %arg1: tensor<i32>) -> tensor<8x8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 8, 8] : (tensor<6x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
  func.func private @closed_call(%arg0: tensor<8x8x8xf32>, %arg1: tensor<8x8xf32>, %arg2: tensor<8x8xf32>, %arg3: tensor<8x8xf32>) -> (tensor<8x8x8xf32>, tensor<8x8xf32>, tensor<8x8x8xf32>, tensor<8x8xf32>, tensor<8x8x8xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg2, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.subtract %arg3, %0 : tensor<8x8xf32>
    %2 = stablehlo.dot_general %1, %arg2, batching_dims = [0] x [0], contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8x8xf32>
    %3 = stablehlo.add %arg0, %2 : tensor<8x8x8xf32>
    %4 = stablehlo.dot_general %3, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %3, %4, %arg0, %1, %3 : tensor<8x8x8xf32>, tensor<8x8xf32>, tensor<8x8x8xf32>, tensor<8x8xf32>, tensor<8x8x8xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<6x8x8xf32>, %arg1: tensor<8x8xf32>, %arg2: tensor<i32>) -> tensor<6x8x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<6x8x8xf32>, tensor<1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x8x8xf32>
    return %1 : tensor<6x8x8xf32>
  }
  func.func private @dynamic_update_index_in_dim_0(%arg0: tensor<6x8x8x8xf32>, %arg1: tensor<8x8x8xf32>, %arg2: tensor<i32>) -> tensor<6x8x8x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3] : (tensor<8x8x8xf32>) -> tensor<1x8x8x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0, %c_1 : (tensor<6x8x8x8xf32>, tensor<1x8x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x8x8x8xf32>
    return %1 : tensor<6x8x8x8xf32>
  }
  func.func private @dynamic_index_in_dim_1(%arg0: tensor<6x8x8x8xf32>, %arg1: tensor<i32>) -> tensor<8x8x8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, %c_1, sizes = [1, 8, 8, 8] : (tensor<6x8x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8x8xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x8x8x8xf32>) -> tensor<8x8x8xf32>
    return %1 : tensor<8x8x8xf32>
  }
  func.func private @closed_call_2(%arg0: tensor<8x8x8xf32>, %arg1: tensor<8x8xf32>, %arg2: tensor<8x8xf32>, %arg3: tensor<8x8x8xf32>, %arg4: tensor<8x8xf32>, %arg5: tensor<8x8xf32>, %arg6: tensor<8x8x8xf32>) -> (tensor<8x8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %0 = stablehlo.dot_general %arg1, %arg6, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x8xf32>, tensor<8x8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.dot_general %arg1, %arg5, batching_dims = [0] x [0], contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8x8xf32>
    %2 = stablehlo.add %arg0, %1 : tensor<8x8x8xf32>
    %3 = stablehlo.dot_general %2, %arg4, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %4 = stablehlo.dot_general %2, %arg2, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %5 = stablehlo.negate %4 : tensor<8x8xf32>
    %6 = stablehlo.dot_general %5, %arg3, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x8xf32>, tensor<8x8x8xf32>) -> tensor<8x8xf32>
    %7 = stablehlo.add %3, %6 : tensor<8x8xf32>
    %8 = stablehlo.dot_general %5, %arg2, batching_dims = [0] x [0], contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8x8xf32>
    %9 = stablehlo.add %2, %8 : tensor<8x8x8xf32>
    return %9, %0, %7, %4 : tensor<8x8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
  func.func private @norm_3(%arg0: tensor<8x6x8xf32>, %arg1: tensor<8x6x1xf32>, %arg2: tensor<8x6x1xf32>) -> tensor<8x6x8xf32> {
    %0 = stablehlo.multiply %arg2, %arg1 : tensor<8x6x1xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<8x6x1xf32>, tensor<f32>) -> tensor<8x6xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<8x6xf32>) -> tensor<8x6x8xf32>
    %3 = stablehlo.multiply %arg0, %2 : tensor<8x6x8xf32>
    %4 = stablehlo.multiply %2, %arg0 : tensor<8x6x8xf32>
    %5 = stablehlo.add %3, %4 : tensor<8x6x8xf32>
    return %5 : tensor<8x6x8xf32>
  }
}
