module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x32x2xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2x2x64xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<2x64x32xf32>, %arg3: tensor<2x32xf32>, %arg4: tensor<2x32x64xf32>, %arg5: tensor<40x32xf32>, %arg6: tensor<32x24xf32>, %arg7: tensor<24x32xf32>, %arg8: tensor<8x4xi32>, %arg9: tensor<32xf32>, %arg10: tensor<8x4xf32>) -> (tensor<2x32x2xf32> {jax.result_info = "result[0][0]"}, tensor<2x2x64xf32> {jax.result_info = "result[0][1]"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x4xi32>
    %1 = stablehlo.compare LT, %arg8, %0, SIGNED : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
    %c_0 = stablehlo.constant dense<40> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<8x4xi32>
    %3 = stablehlo.add %arg8, %2 : tensor<8x4xi32>
    %4 = stablehlo.select %1, %3, %arg8 : tensor<8x4xi1>, tensor<8x4xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<8x4xi32>) -> tensor<8x4x1xi32>
    %6 = "stablehlo.gather"(%arg5, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 32>}> : (tensor<40x32xf32>, tensor<8x4x1xi32>) -> tensor<8x4x32xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x1x1x32xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x8x4x32xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x8x4x2xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x8x4x64xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x8x4x64xf32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %12:12 = stablehlo.while(%iterArg = %arg2, %iterArg_17 = %arg3, %iterArg_18 = %arg4, %iterArg_19 = %arg0, %iterArg_20 = %arg1, %iterArg_21 = %c_5, %iterArg_22 = %6, %iterArg_23 = %7, %iterArg_24 = %8, %iterArg_25 = %9, %iterArg_26 = %10, %iterArg_27 = %11) : tensor<2x64x32xf32>, tensor<2x32xf32>, tensor<2x32x64xf32>, tensor<2x32x2xf32>, tensor<2x2x64xf32>, tensor<i32>, tensor<8x4x32xf32>, tensor<2x1x1x32xf32>, tensor<2x8x4x32xf32>, tensor<2x8x4x2xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
    cond {
      %c_28 = stablehlo.constant dense<2> : tensor<i32>
      %45 = stablehlo.compare LT, %iterArg_21, %c_28, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %45 : tensor<i1>
    } do {
      %45 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_21) : (tensor<2x64x32xf32>, tensor<i32>) -> tensor<64x32xf32>
      %46 = func.call @dynamic_index_in_dim_0(%iterArg_17, %iterArg_21) : (tensor<2x32xf32>, tensor<i32>) -> tensor<32xf32>
      %47 = func.call @dynamic_index_in_dim_1(%iterArg_18, %iterArg_21) : (tensor<2x32x64xf32>, tensor<i32>) -> tensor<32x64xf32>
      %48 = func.call @dynamic_index_in_dim_2(%iterArg_19, %iterArg_21) : (tensor<2x32x2xf32>, tensor<i32>) -> tensor<32x2xf32>
      %49 = func.call @dynamic_index_in_dim_3(%iterArg_20, %iterArg_21) : (tensor<2x2x64xf32>, tensor<i32>) -> tensor<2x64xf32>
      %50:6 = func.call @closed_call(%iterArg_22, %45, %46, %47, %48, %49) : (tensor<8x4x32xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<32x64xf32>, tensor<32x2xf32>, tensor<2x64xf32>) -> (tensor<8x4x32xf32>, tensor<1x1x32xf32>, tensor<8x4x32xf32>, tensor<8x4x2xf32>, tensor<8x4x64xf32>, tensor<8x4x64xf32>)
      %51 = func.call @dynamic_update_index_in_dim(%iterArg_23, %50#1, %iterArg_21) : (tensor<2x1x1x32xf32>, tensor<1x1x32xf32>, tensor<i32>) -> tensor<2x1x1x32xf32>
      %52 = func.call @dynamic_update_index_in_dim_4(%iterArg_24, %50#2, %iterArg_21) : (tensor<2x8x4x32xf32>, tensor<8x4x32xf32>, tensor<i32>) -> tensor<2x8x4x32xf32>
      %53 = func.call @dynamic_update_index_in_dim_5(%iterArg_25, %50#3, %iterArg_21) : (tensor<2x8x4x2xf32>, tensor<8x4x2xf32>, tensor<i32>) -> tensor<2x8x4x2xf32>
      %54 = func.call @dynamic_update_index_in_dim_6(%iterArg_26, %50#4, %iterArg_21) : (tensor<2x8x4x64xf32>, tensor<8x4x64xf32>, tensor<i32>) -> tensor<2x8x4x64xf32>
      %55 = func.call @dynamic_update_index_in_dim_6(%iterArg_27, %50#5, %iterArg_21) : (tensor<2x8x4x64xf32>, tensor<8x4x64xf32>, tensor<i32>) -> tensor<2x8x4x64xf32>
      %c_28 = stablehlo.constant dense<1> : tensor<i32>
      %56 = stablehlo.add %iterArg_21, %c_28 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_17, %iterArg_18, %iterArg_19, %iterArg_20, %56, %50#0, %51, %52, %53, %54, %55 : tensor<2x64x32xf32>, tensor<2x32xf32>, tensor<2x32x64xf32>, tensor<2x32x2xf32>, tensor<2x2x64xf32>, tensor<i32>, tensor<8x4x32xf32>, tensor<2x1x1x32xf32>, tensor<2x8x4x32xf32>, tensor<2x8x4x2xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
    }
    %13 = stablehlo.dot_general %6, %arg6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4x32xf32>, tensor<32x24xf32>) -> tensor<8x4x24xf32>
    %14 = stablehlo.tanh %13 : tensor<8x4x24xf32>
    %15 = stablehlo.dot_general %14, %arg7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4x24xf32>, tensor<24x32xf32>) -> tensor<8x4x32xf32>
    %16 = stablehlo.subtract %12#6, %15 : tensor<8x4x32xf32>
    %17 = stablehlo.multiply %16, %16 : tensor<8x4x32xf32>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<8x4x32xf32>
    %19 = stablehlo.multiply %18, %16 : tensor<8x4x32xf32>
    %20 = stablehlo.broadcast_in_dim %arg10, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<8x4x1xf32>) -> tensor<8x4x32xf32>
    %22 = stablehlo.multiply %17, %21 : tensor<8x4x32xf32>
    %23 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<8x4x32xf32>
    %25 = stablehlo.multiply %22, %24 : tensor<8x4x32xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %26 = stablehlo.reduce(%25 init: %cst_7) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<8x4x32xf32>, tensor<f32>) -> tensor<f32>
    %cst_8 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %27 = stablehlo.divide %26, %cst_8 : tensor<f32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8x4x32xf32>
    %cst_10 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_11 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %29 = stablehlo.divide %cst_10, %cst_11 : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [] : (tensor<f32>) -> tensor<8x4x32xf32>
    %31 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<8x4x32xf32>
    %32 = stablehlo.multiply %30, %31 : tensor<8x4x32xf32>
    %33 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<8x4x1xf32>) -> tensor<8x4x32xf32>
    %34 = stablehlo.multiply %32, %33 : tensor<8x4x32xf32>
    %35 = stablehlo.multiply %34, %19 : tensor<8x4x32xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<2x32x2xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<2x2x64xf32>
    %c_14 = stablehlo.constant dense<0> : tensor<i32>
    %38:13 = stablehlo.while(%iterArg = %12#7, %iterArg_17 = %arg4, %iterArg_18 = %arg0, %iterArg_19 = %12#8, %iterArg_20 = %arg1, %iterArg_21 = %12#9, %iterArg_22 = %12#10, %iterArg_23 = %12#11, %iterArg_24 = %arg2, %iterArg_25 = %c_14, %iterArg_26 = %35, %iterArg_27 = %36, %iterArg_28 = %37) : tensor<2x1x1x32xf32>, tensor<2x32x64xf32>, tensor<2x32x2xf32>, tensor<2x8x4x32xf32>, tensor<2x2x64xf32>, tensor<2x8x4x2xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>, tensor<2x64x32xf32>, tensor<i32>, tensor<8x4x32xf32>, tensor<2x32x2xf32>, tensor<2x2x64xf32>
    cond {
      %c_29 = stablehlo.constant dense<2> : tensor<i32>
      %45 = stablehlo.compare LT, %iterArg_25, %c_29, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %45 : tensor<i1>
    } do {
      %c_29 = stablehlo.constant dense<2> : tensor<i32>
      %45 = stablehlo.subtract %c_29, %iterArg_25 : tensor<i32>
      %c_30 = stablehlo.constant dense<1> : tensor<i32>
      %46 = stablehlo.subtract %45, %c_30 : tensor<i32>
      %47 = func.call @dynamic_index_in_dim_7(%iterArg, %46) : (tensor<2x1x1x32xf32>, tensor<i32>) -> tensor<1x1x32xf32>
      %48 = func.call @dynamic_index_in_dim_1(%iterArg_17, %46) : (tensor<2x32x64xf32>, tensor<i32>) -> tensor<32x64xf32>
      %49 = func.call @dynamic_index_in_dim_2(%iterArg_18, %46) : (tensor<2x32x2xf32>, tensor<i32>) -> tensor<32x2xf32>
      %50 = func.call @dynamic_index_in_dim_8(%iterArg_19, %46) : (tensor<2x8x4x32xf32>, tensor<i32>) -> tensor<8x4x32xf32>
      %51 = func.call @dynamic_index_in_dim_3(%iterArg_20, %46) : (tensor<2x2x64xf32>, tensor<i32>) -> tensor<2x64xf32>
      %52 = func.call @dynamic_index_in_dim_9(%iterArg_21, %46) : (tensor<2x8x4x2xf32>, tensor<i32>) -> tensor<8x4x2xf32>
      %53 = func.call @dynamic_index_in_dim_10(%iterArg_22, %46) : (tensor<2x8x4x64xf32>, tensor<i32>) -> tensor<8x4x64xf32>
      %54 = func.call @dynamic_index_in_dim_10(%iterArg_23, %46) : (tensor<2x8x4x64xf32>, tensor<i32>) -> tensor<8x4x64xf32>
      %55 = func.call @dynamic_index_in_dim(%iterArg_24, %46) : (tensor<2x64x32xf32>, tensor<i32>) -> tensor<64x32xf32>
      %56:3 = func.call @closed_call_11(%iterArg_26, %47, %48, %49, %50, %51, %52, %53, %54, %55) : (tensor<8x4x32xf32>, tensor<1x1x32xf32>, tensor<32x64xf32>, tensor<32x2xf32>, tensor<8x4x32xf32>, tensor<2x64xf32>, tensor<8x4x2xf32>, tensor<8x4x64xf32>, tensor<8x4x64xf32>, tensor<64x32xf32>) -> (tensor<8x4x32xf32>, tensor<32x2xf32>, tensor<2x64xf32>)
      %57 = func.call @dynamic_update_index_in_dim_12(%iterArg_27, %56#1, %46) : (tensor<2x32x2xf32>, tensor<32x2xf32>, tensor<i32>) -> tensor<2x32x2xf32>
      %58 = func.call @dynamic_update_index_in_dim_13(%iterArg_28, %56#2, %46) : (tensor<2x2x64xf32>, tensor<2x64xf32>, tensor<i32>) -> tensor<2x2x64xf32>
      %c_31 = stablehlo.constant dense<1> : tensor<i32>
      %59 = stablehlo.add %iterArg_25, %c_31 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_17, %iterArg_18, %iterArg_19, %iterArg_20, %iterArg_21, %iterArg_22, %iterArg_23, %iterArg_24, %59, %56#0, %57, %58 : tensor<2x1x1x32xf32>, tensor<2x32x64xf32>, tensor<2x32x2xf32>, tensor<2x8x4x32xf32>, tensor<2x2x64xf32>, tensor<2x8x4x2xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>, tensor<2x64x32xf32>, tensor<i32>, tensor<8x4x32xf32>, tensor<2x32x2xf32>, tensor<2x2x64xf32>
    }
    %cst_15 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<2x32x2xf32>
    %40 = stablehlo.multiply %39, %38#11 : tensor<2x32x2xf32>
    %41 = stablehlo.subtract %arg0, %40 : tensor<2x32x2xf32>
    %cst_16 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<2x2x64xf32>
    %43 = stablehlo.multiply %42, %38#12 : tensor<2x2x64xf32>
    %44 = stablehlo.subtract %arg1, %43 : tensor<2x2x64xf32>
    return %41, %44, %27 : tensor<2x32x2xf32>, tensor<2x2x64xf32>, tensor<f32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<2x64x32xf32>, %arg1: tensor<i32>) -> tensor<64x32xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 64, 32] : (tensor<2x64x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x32xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x64x32xf32>) -> tensor<64x32xf32>
    return %1 : tensor<64x32xf32>
  }
  func.func private @dynamic_index_in_dim_0(%arg0: tensor<2x32xf32>, %arg1: tensor<i32>) -> tensor<32xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, sizes = [1, 32] : (tensor<2x32xf32>, tensor<i32>, tensor<i32>) -> tensor<1x32xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x32xf32>) -> tensor<32xf32>
    return %1 : tensor<32xf32>
  }
  func.func private @dynamic_index_in_dim_1(%arg0: tensor<2x32x64xf32>, %arg1: tensor<i32>) -> tensor<32x64xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 32, 64] : (tensor<2x32x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x64xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x32x64xf32>) -> tensor<32x64xf32>
    return %1 : tensor<32x64xf32>
  }
  func.func private @dynamic_index_in_dim_2(%arg0: tensor<2x32x2xf32>, %arg1: tensor<i32>) -> tensor<32x2xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 32, 2] : (tensor<2x32x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x2xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x32x2xf32>) -> tensor<32x2xf32>
    return %1 : tensor<32x2xf32>
  }
  func.func private @dynamic_index_in_dim_3(%arg0: tensor<2x2x64xf32>, %arg1: tensor<i32>) -> tensor<2x64xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 2, 64] : (tensor<2x2x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x64xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x2x64xf32>) -> tensor<2x64xf32>
    return %1 : tensor<2x64xf32>
  }
  func.func private @closed_call(%arg0: tensor<8x4x32xf32>, %arg1: tensor<64x32xf32>, %arg2: tensor<32xf32>, %arg3: tensor<32x64xf32>, %arg4: tensor<32x2xf32>, %arg5: tensor<2x64xf32>) -> (tensor<8x4x32xf32>, tensor<1x1x32xf32>, tensor<8x4x32xf32>, tensor<8x4x2xf32>, tensor<8x4x64xf32>, tensor<8x4x64xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<8x4x32xf32>
    %2 = stablehlo.multiply %arg0, %1 : tensor<8x4x32xf32>
    %3 = stablehlo.dot_general %2, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4x32xf32>, tensor<32x64xf32>) -> tensor<8x4x64xf32>
    %4 = stablehlo.dot_general %2, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4x32xf32>, tensor<32x2xf32>) -> tensor<8x4x2xf32>
    %5 = stablehlo.dot_general %4, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4x2xf32>, tensor<2x64xf32>) -> tensor<8x4x64xf32>
    %6 = stablehlo.add %3, %5 : tensor<8x4x64xf32>
    %7 = stablehlo.tanh %6 : tensor<8x4x64xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x4x64xf32>
    %9 = stablehlo.subtract %8, %7 : tensor<8x4x64xf32>
    %10 = stablehlo.dot_general %7, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4x64xf32>, tensor<64x32xf32>) -> tensor<8x4x32xf32>
    return %10, %0, %2, %4, %7, %9 : tensor<8x4x32xf32>, tensor<1x1x32xf32>, tensor<8x4x32xf32>, tensor<8x4x2xf32>, tensor<8x4x64xf32>, tensor<8x4x64xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<2x1x1x32xf32>, %arg1: tensor<1x1x32xf32>, %arg2: tensor<i32>) -> tensor<2x1x1x32xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3] : (tensor<1x1x32xf32>) -> tensor<1x1x1x32xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0, %c_1 : (tensor<2x1x1x32xf32>, tensor<1x1x1x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x1x1x32xf32>
    return %1 : tensor<2x1x1x32xf32>
  }
  func.func private @dynamic_update_index_in_dim_4(%arg0: tensor<2x8x4x32xf32>, %arg1: tensor<8x4x32xf32>, %arg2: tensor<i32>) -> tensor<2x8x4x32xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3] : (tensor<8x4x32xf32>) -> tensor<1x8x4x32xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0, %c_1 : (tensor<2x8x4x32xf32>, tensor<1x8x4x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x8x4x32xf32>
    return %1 : tensor<2x8x4x32xf32>
  }
  func.func private @dynamic_update_index_in_dim_5(%arg0: tensor<2x8x4x2xf32>, %arg1: tensor<8x4x2xf32>, %arg2: tensor<i32>) -> tensor<2x8x4x2xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3] : (tensor<8x4x2xf32>) -> tensor<1x8x4x2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0, %c_1 : (tensor<2x8x4x2xf32>, tensor<1x8x4x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x8x4x2xf32>
    return %1 : tensor<2x8x4x2xf32>
  }
  func.func private @dynamic_update_index_in_dim_6(%arg0: tensor<2x8x4x64xf32>, %arg1: tensor<8x4x64xf32>, %arg2: tensor<i32>) -> tensor<2x8x4x64xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3] : (tensor<8x4x64xf32>) -> tensor<1x8x4x64xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0, %c_1 : (tensor<2x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x8x4x64xf32>
    return %1 : tensor<2x8x4x64xf32>
  }
  func.func private @dynamic_index_in_dim_7(%arg0: tensor<2x1x1x32xf32>, %arg1: tensor<i32>) -> tensor<1x1x32xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, %c_1, sizes = [1, 1, 1, 32] : (tensor<2x1x1x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1x1x32xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x1x1x32xf32>) -> tensor<1x1x32xf32>
    return %1 : tensor<1x1x32xf32>
  }
  func.func private @dynamic_index_in_dim_8(%arg0: tensor<2x8x4x32xf32>, %arg1: tensor<i32>) -> tensor<8x4x32xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, %c_1, sizes = [1, 8, 4, 32] : (tensor<2x8x4x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x4x32xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x8x4x32xf32>) -> tensor<8x4x32xf32>
    return %1 : tensor<8x4x32xf32>
  }
  func.func private @dynamic_index_in_dim_9(%arg0: tensor<2x8x4x2xf32>, %arg1: tensor<i32>) -> tensor<8x4x2xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, %c_1, sizes = [1, 8, 4, 2] : (tensor<2x8x4x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x4x2xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x8x4x2xf32>) -> tensor<8x4x2xf32>
    return %1 : tensor<8x4x2xf32>
  }
  func.func private @dynamic_index_in_dim_10(%arg0: tensor<2x8x4x64xf32>, %arg1: tensor<i32>) -> tensor<8x4x64xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, %c_1, sizes = [1, 8, 4, 64] : (tensor<2x8x4x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x4x64xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x8x4x64xf32>) -> tensor<8x4x64xf32>
    return %1 : tensor<8x4x64xf32>
  }
  func.func private @closed_call_11(%arg0: tensor<8x4x32xf32>, %arg1: tensor<1x1x32xf32>, %arg2: tensor<32x64xf32>, %arg3: tensor<32x2xf32>, %arg4: tensor<8x4x32xf32>, %arg5: tensor<2x64xf32>, %arg6: tensor<8x4x2xf32>, %arg7: tensor<8x4x64xf32>, %arg8: tensor<8x4x64xf32>, %arg9: tensor<64x32xf32>) -> (tensor<8x4x32xf32>, tensor<32x2xf32>, tensor<2x64xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg9, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x4x32xf32>, tensor<64x32xf32>) -> tensor<8x4x64xf32>
    %1 = stablehlo.multiply %0, %arg8 : tensor<8x4x64xf32>
    %2 = stablehlo.multiply %1, %arg7 : tensor<8x4x64xf32>
    %3 = stablehlo.add %1, %2 : tensor<8x4x64xf32>
    %4 = stablehlo.dot_general %3, %arg6, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x4x64xf32>, tensor<8x4x2xf32>) -> tensor<64x2xf32>
    %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<64x2xf32>) -> tensor<2x64xf32>
    %6 = stablehlo.dot_general %3, %arg5, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x4x64xf32>, tensor<2x64xf32>) -> tensor<8x4x2xf32>
    %7 = stablehlo.dot_general %6, %arg4, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x4x2xf32>, tensor<8x4x32xf32>) -> tensor<2x32xf32>
    %8 = stablehlo.transpose %7, dims = [1, 0] : (tensor<2x32xf32>) -> tensor<32x2xf32>
    %9 = stablehlo.dot_general %6, %arg3, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x4x2xf32>, tensor<32x2xf32>) -> tensor<8x4x32xf32>
    %10 = stablehlo.dot_general %3, %arg2, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x4x64xf32>, tensor<32x64xf32>) -> tensor<8x4x32xf32>
    %11 = stablehlo.add %9, %10 : tensor<8x4x32xf32>
    %12 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<8x4x32xf32>
    %13 = stablehlo.multiply %11, %12 : tensor<8x4x32xf32>
    return %13, %8, %5 : tensor<8x4x32xf32>, tensor<32x2xf32>, tensor<2x64xf32>
  }
  func.func private @dynamic_update_index_in_dim_12(%arg0: tensor<2x32x2xf32>, %arg1: tensor<32x2xf32>, %arg2: tensor<i32>) -> tensor<2x32x2xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<32x2xf32>) -> tensor<1x32x2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<2x32x2xf32>, tensor<1x32x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x32x2xf32>
    return %1 : tensor<2x32x2xf32>
  }
  func.func private @dynamic_update_index_in_dim_13(%arg0: tensor<2x2x64xf32>, %arg1: tensor<2x64xf32>, %arg2: tensor<i32>) -> tensor<2x2x64xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<2x64xf32>) -> tensor<1x2x64xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<2x2x64xf32>, tensor<1x2x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x2x64xf32>
    return %1 : tensor<2x2x64xf32>
  }
}

