module @jit_sampler attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<32x16xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<16x64xf32>, %arg2: tensor<64x16xf32>, %arg3: tensor<f32>) -> (tensor<32x16xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<16x64xf32>) -> tensor<32x64xf32>
    %1 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %2 = stablehlo.add %0, %1 : tensor<32x64xf32>
    %3 = stablehlo.tanh %2 : tensor<32x64xf32>
    %cst = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %5 = stablehlo.multiply %4, %3 : tensor<32x64xf32>
    %6 = stablehlo.dot_general %5, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
    %7 = stablehlo.subtract %arg0, %6 : tensor<32x16xf32>
    return %7 : tensor<32x16xf32>
  }
}
