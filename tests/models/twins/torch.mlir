module @IrToHlo.514 attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.use_auto_spmd_partitioning = false} {
  func.func @main(%arg0: tensor<8192x512xf32>, %arg1: tensor<512xf32>, %arg2: tensor<512xf32>, %arg3: tensor<512x2048xf32>, %arg4: tensor<2048xf32>, %arg5: tensor<2048x512xf32>, %arg6: tensor<512xf32>, %arg7: tensor<512xf32>, %arg8: tensor<512x512xf32>, %arg9: tensor<1536xf32>, %arg10: tensor<1536x512xf32>, %arg11: tensor<512xf32>, %arg12: tensor<512xf32>, %arg13: tensor<512x2048xf32>, %arg14: tensor<2048xf32>, %arg15: tensor<2048x512xf32>, %arg16: tensor<512xf32>, %arg17: tensor<512xf32>, %arg18: tensor<512x512xf32>, %arg19: tensor<1536xf32>, %arg20: tensor<1536x512xf32>, %arg21: tensor<512xf32>, %arg22: tensor<32x256xi32>, %arg23: tensor<8192x512xf32>, %arg24: tensor<512xf32>, %arg25: tensor<512xf32>, %arg26: tensor<512xf32>, %arg27: tensor<512xf32>, %arg28: tensor<512xf32>) -> tensor<32x256x8192xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<32x256x2048xf32>
    %cst_0 = stablehlo.constant dense<0.707106769> : tensor<32x256x2048xf32>
    %cst_1 = stablehlo.constant dense<5.000000e-01> : tensor<32x256x2048xf32>
    %cst_2 = stablehlo.constant dense<8.000000e+00> : tensor<32x8x256x256xf32>
    %cst_3 = stablehlo.constant dense<-1.000000e+09> : tensor<32x8x256x256xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<256x256xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<256x256xf32>
    %c = stablehlo.constant dense<0> : tensor<256x256xi64>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<8192xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<8192xf32>
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c_9 = stablehlo.constant dense<"0x00000000000000000100000000000000020000000000000003000000000000000400000000000000050000000000000006000000000000000700000000000000080000000000000009000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F0000000000000010000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000019000000000000001A000000000000001B000000000000001C000000000000001D000000000000001E000000000000001F0000000000000020000000000000002100000000000000220000000000000023000000000000002400000000000000250000000000000026000000000000002700000000000000280000000000000029000000000000002A000000000000002B000000000000002C000000000000002D000000000000002E000000000000002F0000000000000030000000000000003100000000000000320000000000000033000000000000003400000000000000350000000000000036000000000000003700000000000000380000000000000039000000000000003A000000000000003B000000000000003C000000000000003D000000000000003E000000000000003F0000000000000040000000000000004100000000000000420000000000000043000000000000004400000000000000450000000000000046000000000000004700000000000000480000000000000049000000000000004A000000000000004B000000000000004C000000000000004D000000000000004E000000000000004F0000000000000050000000000000005100000000000000520000000000000053000000000000005400000000000000550000000000000056000000000000005700000000000000580000000000000059000000000000005A000000000000005B000000000000005C000000000000005D000000000000005E000000000000005F0000000000000060000000000000006100000000000000620000000000000063000000000000006400000000000000650000000000000066000000000000006700000000000000680000000000000069000000000000006A000000000000006B000000000000006C000000000000006D000000000000006E000000000000006F0000000000000070000000000000007100000000000000720000000000000073000000000000007400000000000000750000000000000076000000000000007700000000000000780000000000000079000000000000007A000000000000007B000000000000007C000000000000007D000000000000007E000000000000007F0000000000000080000000000000008100000000000000820000000000000083000000000000008400000000000000850000000000000086000000000000008700000000000000880000000000000089000000000000008A000000000000008B000000000000008C000000000000008D000000000000008E000000000000008F0000000000000090000000000000009100000000000000920000000000000093000000000000009400000000000000950000000000000096000000000000009700000000000000980000000000000099000000000000009A000000000000009B000000000000009C000000000000009D000000000000009E000000000000009F00000000000000A000000000000000A100000000000000A200000000000000A300000000000000A400000000000000A500000000000000A600000000000000A700000000000000A800000000000000A900000000000000AA00000000000000AB00000000000000AC00000000000000AD00000000000000AE00000000000000AF00000000000000B000000000000000B100000000000000B200000000000000B300000000000000B400000000000000B500000000000000B600000000000000B700000000000000B800000000000000B900000000000000BA00000000000000BB00000000000000BC00000000000000BD00000000000000BE00000000000000BF00000000000000C000000000000000C100000000000000C200000000000000C300000000000000C400000000000000C500000000000000C600000000000000C700000000000000C800000000000000C900000000000000CA00000000000000CB00000000000000CC00000000000000CD00000000000000CE00000000000000CF00000000000000D000000000000000D100000000000000D200000000000000D300000000000000D400000000000000D500000000000000D600000000000000D700000000000000D800000000000000D900000000000000DA00000000000000DB00000000000000DC00000000000000DD00000000000000DE00000000000000DF00000000000000E000000000000000E100000000000000E200000000000000E300000000000000E400000000000000E500000000000000E600000000000000E700000000000000E800000000000000E900000000000000EA00000000000000EB00000000000000EC00000000000000ED00000000000000EE00000000000000EF00000000000000F000000000000000F100000000000000F200000000000000F300000000000000F400000000000000F500000000000000F600000000000000F700000000000000F800000000000000F900000000000000FA00000000000000FB00000000000000FC00000000000000FD00000000000000FE00000000000000FF00000000000000"> : tensor<256xi64>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reshape %arg22 : (tensor<32x256xi32>) -> tensor<8192xi32>
    %1 = "stablehlo.gather"(%arg23, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 512>}> : (tensor<8192x512xf32>, tensor<8192xi32>) -> tensor<8192x512xf32>
    %2 = stablehlo.reshape %1 : (tensor<8192x512xf32>) -> tensor<32x256x512xf32>
    %3 = stablehlo.reshape %1 : (tensor<8192x512xf32>) -> tensor<1x8192x512xf32>
    %output, %batch_mean, %batch_var = "stablehlo.batch_norm_training"(%3, %cst_7, %cst_6) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<1x8192x512xf32>, tensor<8192xf32>, tensor<8192xf32>) -> (tensor<1x8192x512xf32>, tensor<8192xf32>, tensor<8192xf32>)
    %4 = stablehlo.broadcast_in_dim %c_9, dims = [1] : (tensor<256xi64>) -> tensor<256x256xi64>
    %5 = stablehlo.broadcast_in_dim %c_9, dims = [0] : (tensor<256xi64>) -> tensor<256x256xi64>
    %6 = stablehlo.subtract %4, %5 : tensor<256x256xi64>
    %7 = stablehlo.compare  LE, %6, %c : (tensor<256x256xi64>, tensor<256x256xi64>) -> tensor<256x256xi1>
    %8 = stablehlo.select %7, %cst_5, %cst_4 : tensor<256x256xi1>, tensor<256x256xf32>
    %9 = stablehlo.compare  EQ, %8, %cst_4 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xi1>
    %10 = stablehlo.broadcast_in_dim %9, dims = [2, 3] : (tensor<256x256xi1>) -> tensor<32x8x256x256xi1>
    %11 = stablehlo.broadcast_in_dim %arg24, dims = [2] : (tensor<512xf32>) -> tensor<32x256x512xf32>
    %12 = stablehlo.reshape %output : (tensor<1x8192x512xf32>) -> tensor<32x256x512xf32>
    %13 = stablehlo.broadcast_in_dim %arg21, dims = [2] : (tensor<512xf32>) -> tensor<32x256x512xf32>
    %14 = stablehlo.multiply %12, %13 : tensor<32x256x512xf32>
    %15 = stablehlo.add %11, %14 : tensor<32x256x512xf32>
    %16 = stablehlo.reshape %15 : (tensor<32x256x512xf32>) -> tensor<8192x512xf32>
    %17 = stablehlo.transpose %arg20, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[512,1536]{0,1}"} : (tensor<1536x512xf32>) -> tensor<512x1536xf32>
    %18 = stablehlo.dot_general %16, %17, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8192x512xf32>, tensor<512x1536xf32>) -> tensor<8192x1536xf32>
    %19 = stablehlo.broadcast_in_dim %arg19, dims = [1] : (tensor<1536xf32>) -> tensor<8192x1536xf32>
    %20 = stablehlo.add %18, %19 : tensor<8192x1536xf32>
    %21 = stablehlo.reshape %20 : (tensor<8192x1536xf32>) -> tensor<32x256x3x8x64xf32>
    %22 = stablehlo.transpose %21, dims = [2, 0, 3, 1, 4] {result_layout = dense<[4, 2, 0, 3, 1]> : tensor<5xindex>, xla_shape = "f32[3,32,8,256,64]{4,2,0,3,1}"} : (tensor<32x256x3x8x64xf32>) -> tensor<3x32x8x256x64xf32>
    %23 = stablehlo.slice %22 [0:1, 0:32, 0:8, 0:256, 0:64] : (tensor<3x32x8x256x64xf32>) -> tensor<1x32x8x256x64xf32>
    %24 = stablehlo.reshape %23 : (tensor<1x32x8x256x64xf32>) -> tensor<256x256x64xf32>
    %25 = stablehlo.slice %22 [1:2, 0:32, 0:8, 0:256, 0:64] : (tensor<3x32x8x256x64xf32>) -> tensor<1x32x8x256x64xf32>
    %26 = stablehlo.reshape %25 : (tensor<1x32x8x256x64xf32>) -> tensor<32x8x256x64xf32>
    %27 = stablehlo.transpose %26, dims = [0, 1, 3, 2] {result_layout = dense<[2, 3, 1, 0]> : tensor<4xindex>, xla_shape = "f32[32,8,64,256]{2,3,1,0}"} : (tensor<32x8x256x64xf32>) -> tensor<32x8x64x256xf32>
    %28 = stablehlo.reshape %27 : (tensor<32x8x64x256xf32>) -> tensor<256x64x256xf32>
    %29 = stablehlo.dot_general %24, %28, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<256x256x64xf32>, tensor<256x64x256xf32>) -> tensor<256x256x256xf32>
    %30 = stablehlo.reshape %29 : (tensor<256x256x256xf32>) -> tensor<32x8x256x256xf32>
    %31 = stablehlo.divide %30, %cst_2 : tensor<32x8x256x256xf32>
    %32 = stablehlo.select %10, %cst_3, %31 : tensor<32x8x256x256xi1>, tensor<32x8x256x256xf32>
    %33 = stablehlo.reduce(%32 init: %cst_8) applies stablehlo.maximum across dimensions = [3] : (tensor<32x8x256x256xf32>, tensor<f32>) -> tensor<32x8x256xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2] : (tensor<32x8x256xf32>) -> tensor<32x8x256x256xf32>
    %35 = stablehlo.subtract %32, %34 : tensor<32x8x256x256xf32>
    %36 = stablehlo.exponential %35 : tensor<32x8x256x256xf32>
    %37 = stablehlo.reduce(%36 init: %cst_10) applies stablehlo.add across dimensions = [3] : (tensor<32x8x256x256xf32>, tensor<f32>) -> tensor<32x8x256xf32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2] : (tensor<32x8x256xf32>) -> tensor<32x8x256x256xf32>
    %39 = stablehlo.divide %36, %38 : tensor<32x8x256x256xf32>
    %40 = stablehlo.reshape %39 : (tensor<32x8x256x256xf32>) -> tensor<256x256x256xf32>
    %41 = stablehlo.slice %22 [2:3, 0:32, 0:8, 0:256, 0:64] : (tensor<3x32x8x256x64xf32>) -> tensor<1x32x8x256x64xf32>
    %42 = stablehlo.reshape %41 : (tensor<1x32x8x256x64xf32>) -> tensor<256x256x64xf32>
    %43 = stablehlo.dot_general %40, %42, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<256x256x256xf32>, tensor<256x256x64xf32>) -> tensor<256x256x64xf32>
    %44 = stablehlo.reshape %43 : (tensor<256x256x64xf32>) -> tensor<32x8x256x64xf32>
    %45 = stablehlo.transpose %44, dims = [0, 2, 1, 3] {result_layout = dense<[3, 1, 2, 0]> : tensor<4xindex>, xla_shape = "f32[32,256,8,64]{3,1,2,0}"} : (tensor<32x8x256x64xf32>) -> tensor<32x256x8x64xf32>
    %46 = stablehlo.reshape %45 : (tensor<32x256x8x64xf32>) -> tensor<8192x512xf32>
    %47 = stablehlo.transpose %arg18, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[512,512]{0,1}"} : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %48 = stablehlo.dot_general %46, %47, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8192x512xf32>, tensor<512x512xf32>) -> tensor<8192x512xf32>
    %49 = stablehlo.broadcast_in_dim %arg17, dims = [1] : (tensor<512xf32>) -> tensor<8192x512xf32>
    %50 = stablehlo.add %48, %49 : tensor<8192x512xf32>
    %51 = stablehlo.reshape %50 : (tensor<8192x512xf32>) -> tensor<32x256x512xf32>
    %52 = stablehlo.add %2, %51 : tensor<32x256x512xf32>
    %53 = stablehlo.reshape %52 : (tensor<32x256x512xf32>) -> tensor<1x8192x512xf32>
    %output_11, %batch_mean_12, %batch_var_13 = "stablehlo.batch_norm_training"(%53, %cst_7, %cst_6) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<1x8192x512xf32>, tensor<8192xf32>, tensor<8192xf32>) -> (tensor<1x8192x512xf32>, tensor<8192xf32>, tensor<8192xf32>)
    %54 = stablehlo.broadcast_in_dim %arg25, dims = [2] : (tensor<512xf32>) -> tensor<32x256x512xf32>
    %55 = stablehlo.reshape %output_11 : (tensor<1x8192x512xf32>) -> tensor<32x256x512xf32>
    %56 = stablehlo.broadcast_in_dim %arg16, dims = [2] : (tensor<512xf32>) -> tensor<32x256x512xf32>
    %57 = stablehlo.multiply %55, %56 : tensor<32x256x512xf32>
    %58 = stablehlo.add %54, %57 : tensor<32x256x512xf32>
    %59 = stablehlo.reshape %58 : (tensor<32x256x512xf32>) -> tensor<8192x512xf32>
    %60 = stablehlo.transpose %arg15, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[512,2048]{0,1}"} : (tensor<2048x512xf32>) -> tensor<512x2048xf32>
    %61 = stablehlo.dot_general %59, %60, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8192x512xf32>, tensor<512x2048xf32>) -> tensor<8192x2048xf32>
    %62 = stablehlo.broadcast_in_dim %arg14, dims = [1] : (tensor<2048xf32>) -> tensor<8192x2048xf32>
    %63 = stablehlo.add %61, %62 : tensor<8192x2048xf32>
    %64 = stablehlo.reshape %63 : (tensor<8192x2048xf32>) -> tensor<32x256x2048xf32>
    %65 = stablehlo.multiply %64, %cst_1 : tensor<32x256x2048xf32>
    %66 = stablehlo.multiply %64, %cst_0 : tensor<32x256x2048xf32>
    %67 = stablehlo.custom_call @mhlo.erf(%66) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<32x256x2048xf32>) -> tensor<32x256x2048xf32>
    %68 = stablehlo.add %67, %cst : tensor<32x256x2048xf32>
    %69 = stablehlo.multiply %65, %68 : tensor<32x256x2048xf32>
    %70 = stablehlo.reshape %69 : (tensor<32x256x2048xf32>) -> tensor<8192x2048xf32>
    %71 = stablehlo.transpose %arg13, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[2048,512]{0,1}"} : (tensor<512x2048xf32>) -> tensor<2048x512xf32>
    %72 = stablehlo.dot_general %70, %71, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8192x2048xf32>, tensor<2048x512xf32>) -> tensor<8192x512xf32>
    %73 = stablehlo.broadcast_in_dim %arg12, dims = [1] : (tensor<512xf32>) -> tensor<8192x512xf32>
    %74 = stablehlo.add %72, %73 : tensor<8192x512xf32>
    %75 = stablehlo.reshape %74 : (tensor<8192x512xf32>) -> tensor<32x256x512xf32>
    %76 = stablehlo.add %52, %75 : tensor<32x256x512xf32>
    %77 = stablehlo.reshape %76 : (tensor<32x256x512xf32>) -> tensor<1x8192x512xf32>
    %output_14, %batch_mean_15, %batch_var_16 = "stablehlo.batch_norm_training"(%77, %cst_7, %cst_6) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<1x8192x512xf32>, tensor<8192xf32>, tensor<8192xf32>) -> (tensor<1x8192x512xf32>, tensor<8192xf32>, tensor<8192xf32>)
    %78 = stablehlo.broadcast_in_dim %arg26, dims = [2] : (tensor<512xf32>) -> tensor<32x256x512xf32>
    %79 = stablehlo.reshape %output_14 : (tensor<1x8192x512xf32>) -> tensor<32x256x512xf32>
    %80 = stablehlo.broadcast_in_dim %arg11, dims = [2] : (tensor<512xf32>) -> tensor<32x256x512xf32>
    %81 = stablehlo.multiply %79, %80 : tensor<32x256x512xf32>
    %82 = stablehlo.add %78, %81 : tensor<32x256x512xf32>
    %83 = stablehlo.reshape %82 : (tensor<32x256x512xf32>) -> tensor<8192x512xf32>
    %84 = stablehlo.transpose %arg10, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[512,1536]{0,1}"} : (tensor<1536x512xf32>) -> tensor<512x1536xf32>
    %85 = stablehlo.dot_general %83, %84, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8192x512xf32>, tensor<512x1536xf32>) -> tensor<8192x1536xf32>
    %86 = stablehlo.broadcast_in_dim %arg9, dims = [1] : (tensor<1536xf32>) -> tensor<8192x1536xf32>
    %87 = stablehlo.add %85, %86 : tensor<8192x1536xf32>
    %88 = stablehlo.reshape %87 : (tensor<8192x1536xf32>) -> tensor<32x256x3x8x64xf32>
    %89 = stablehlo.transpose %88, dims = [2, 0, 3, 1, 4] {result_layout = dense<[4, 2, 0, 3, 1]> : tensor<5xindex>, xla_shape = "f32[3,32,8,256,64]{4,2,0,3,1}"} : (tensor<32x256x3x8x64xf32>) -> tensor<3x32x8x256x64xf32>
    %90 = stablehlo.slice %89 [0:1, 0:32, 0:8, 0:256, 0:64] : (tensor<3x32x8x256x64xf32>) -> tensor<1x32x8x256x64xf32>
    %91 = stablehlo.reshape %90 : (tensor<1x32x8x256x64xf32>) -> tensor<256x256x64xf32>
    %92 = stablehlo.slice %89 [1:2, 0:32, 0:8, 0:256, 0:64] : (tensor<3x32x8x256x64xf32>) -> tensor<1x32x8x256x64xf32>
    %93 = stablehlo.reshape %92 : (tensor<1x32x8x256x64xf32>) -> tensor<32x8x256x64xf32>
    %94 = stablehlo.transpose %93, dims = [0, 1, 3, 2] {result_layout = dense<[2, 3, 1, 0]> : tensor<4xindex>, xla_shape = "f32[32,8,64,256]{2,3,1,0}"} : (tensor<32x8x256x64xf32>) -> tensor<32x8x64x256xf32>
    %95 = stablehlo.reshape %94 : (tensor<32x8x64x256xf32>) -> tensor<256x64x256xf32>
    %96 = stablehlo.dot_general %91, %95, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<256x256x64xf32>, tensor<256x64x256xf32>) -> tensor<256x256x256xf32>
    %97 = stablehlo.reshape %96 : (tensor<256x256x256xf32>) -> tensor<32x8x256x256xf32>
    %98 = stablehlo.divide %97, %cst_2 : tensor<32x8x256x256xf32>
    %99 = stablehlo.select %10, %cst_3, %98 : tensor<32x8x256x256xi1>, tensor<32x8x256x256xf32>
    %100 = stablehlo.reduce(%99 init: %cst_8) applies stablehlo.maximum across dimensions = [3] : (tensor<32x8x256x256xf32>, tensor<f32>) -> tensor<32x8x256xf32>
    %101 = stablehlo.broadcast_in_dim %100, dims = [0, 1, 2] : (tensor<32x8x256xf32>) -> tensor<32x8x256x256xf32>
    %102 = stablehlo.subtract %99, %101 : tensor<32x8x256x256xf32>
    %103 = stablehlo.exponential %102 : tensor<32x8x256x256xf32>
    %104 = stablehlo.reduce(%103 init: %cst_10) applies stablehlo.add across dimensions = [3] : (tensor<32x8x256x256xf32>, tensor<f32>) -> tensor<32x8x256xf32>
    %105 = stablehlo.broadcast_in_dim %104, dims = [0, 1, 2] : (tensor<32x8x256xf32>) -> tensor<32x8x256x256xf32>
    %106 = stablehlo.divide %103, %105 : tensor<32x8x256x256xf32>
    %107 = stablehlo.reshape %106 : (tensor<32x8x256x256xf32>) -> tensor<256x256x256xf32>
    %108 = stablehlo.slice %89 [2:3, 0:32, 0:8, 0:256, 0:64] : (tensor<3x32x8x256x64xf32>) -> tensor<1x32x8x256x64xf32>
    %109 = stablehlo.reshape %108 : (tensor<1x32x8x256x64xf32>) -> tensor<256x256x64xf32>
    %110 = stablehlo.dot_general %107, %109, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<256x256x256xf32>, tensor<256x256x64xf32>) -> tensor<256x256x64xf32>
    %111 = stablehlo.reshape %110 : (tensor<256x256x64xf32>) -> tensor<32x8x256x64xf32>
    %112 = stablehlo.transpose %111, dims = [0, 2, 1, 3] {result_layout = dense<[3, 1, 2, 0]> : tensor<4xindex>, xla_shape = "f32[32,256,8,64]{3,1,2,0}"} : (tensor<32x8x256x64xf32>) -> tensor<32x256x8x64xf32>
    %113 = stablehlo.reshape %112 : (tensor<32x256x8x64xf32>) -> tensor<8192x512xf32>
    %114 = stablehlo.transpose %arg8, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[512,512]{0,1}"} : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %115 = stablehlo.dot_general %113, %114, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8192x512xf32>, tensor<512x512xf32>) -> tensor<8192x512xf32>
    %116 = stablehlo.broadcast_in_dim %arg7, dims = [1] : (tensor<512xf32>) -> tensor<8192x512xf32>
    %117 = stablehlo.add %115, %116 : tensor<8192x512xf32>
    %118 = stablehlo.reshape %117 : (tensor<8192x512xf32>) -> tensor<32x256x512xf32>
    %119 = stablehlo.add %76, %118 : tensor<32x256x512xf32>
    %120 = stablehlo.reshape %119 : (tensor<32x256x512xf32>) -> tensor<1x8192x512xf32>
    %output_17, %batch_mean_18, %batch_var_19 = "stablehlo.batch_norm_training"(%120, %cst_7, %cst_6) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<1x8192x512xf32>, tensor<8192xf32>, tensor<8192xf32>) -> (tensor<1x8192x512xf32>, tensor<8192xf32>, tensor<8192xf32>)
    %121 = stablehlo.broadcast_in_dim %arg27, dims = [2] : (tensor<512xf32>) -> tensor<32x256x512xf32>
    %122 = stablehlo.reshape %output_17 : (tensor<1x8192x512xf32>) -> tensor<32x256x512xf32>
    %123 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<512xf32>) -> tensor<32x256x512xf32>
    %124 = stablehlo.multiply %122, %123 : tensor<32x256x512xf32>
    %125 = stablehlo.add %121, %124 : tensor<32x256x512xf32>
    %126 = stablehlo.reshape %125 : (tensor<32x256x512xf32>) -> tensor<8192x512xf32>
    %127 = stablehlo.transpose %arg5, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[512,2048]{0,1}"} : (tensor<2048x512xf32>) -> tensor<512x2048xf32>
    %128 = stablehlo.dot_general %126, %127, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8192x512xf32>, tensor<512x2048xf32>) -> tensor<8192x2048xf32>
    %129 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<2048xf32>) -> tensor<8192x2048xf32>
    %130 = stablehlo.add %128, %129 : tensor<8192x2048xf32>
    %131 = stablehlo.reshape %130 : (tensor<8192x2048xf32>) -> tensor<32x256x2048xf32>
    %132 = stablehlo.multiply %131, %cst_1 : tensor<32x256x2048xf32>
    %133 = stablehlo.multiply %131, %cst_0 : tensor<32x256x2048xf32>
    %134 = stablehlo.custom_call @mhlo.erf(%133) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<32x256x2048xf32>) -> tensor<32x256x2048xf32>
    %135 = stablehlo.add %134, %cst : tensor<32x256x2048xf32>
    %136 = stablehlo.multiply %132, %135 : tensor<32x256x2048xf32>
    %137 = stablehlo.reshape %136 : (tensor<32x256x2048xf32>) -> tensor<8192x2048xf32>
    %138 = stablehlo.transpose %arg3, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[2048,512]{0,1}"} : (tensor<512x2048xf32>) -> tensor<2048x512xf32>
    %139 = stablehlo.dot_general %137, %138, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8192x2048xf32>, tensor<2048x512xf32>) -> tensor<8192x512xf32>
    %140 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<512xf32>) -> tensor<8192x512xf32>
    %141 = stablehlo.add %139, %140 : tensor<8192x512xf32>
    %142 = stablehlo.reshape %141 : (tensor<8192x512xf32>) -> tensor<32x256x512xf32>
    %143 = stablehlo.add %119, %142 : tensor<32x256x512xf32>
    %144 = stablehlo.reshape %143 : (tensor<32x256x512xf32>) -> tensor<1x8192x512xf32>
    %output_20, %batch_mean_21, %batch_var_22 = "stablehlo.batch_norm_training"(%144, %cst_7, %cst_6) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<1x8192x512xf32>, tensor<8192xf32>, tensor<8192xf32>) -> (tensor<1x8192x512xf32>, tensor<8192xf32>, tensor<8192xf32>)
    %145 = stablehlo.broadcast_in_dim %arg28, dims = [2] : (tensor<512xf32>) -> tensor<32x256x512xf32>
    %146 = stablehlo.reshape %output_20 : (tensor<1x8192x512xf32>) -> tensor<32x256x512xf32>
    %147 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<512xf32>) -> tensor<32x256x512xf32>
    %148 = stablehlo.multiply %146, %147 : tensor<32x256x512xf32>
    %149 = stablehlo.add %145, %148 : tensor<32x256x512xf32>
    %150 = stablehlo.reshape %149 : (tensor<32x256x512xf32>) -> tensor<8192x512xf32>
    %151 = stablehlo.transpose %arg0, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[512,8192]{0,1}"} : (tensor<8192x512xf32>) -> tensor<512x8192xf32>
    %152 = stablehlo.dot_general %150, %151, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8192x512xf32>, tensor<512x8192xf32>) -> tensor<8192x8192xf32>
    %153 = stablehlo.reshape %152 : (tensor<8192x8192xf32>) -> tensor<32x256x8192xf32>
    return %153 : tensor<32x256x8192xf32>
  }
}
