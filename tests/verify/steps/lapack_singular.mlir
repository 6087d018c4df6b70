module @jit_singular attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x6x4xf32>, %arg1: tensor<8x5x3xf32>) -> (tensor<8x6x4xf32> {jax.result_info = "result[0]"}, tensor<8x4xf32> {jax.result_info = "result[1]"}, tensor<8x5x3xf32> {jax.result_info = "result[2]"}, tensor<8x5x5xf32> {jax.result_info = "result[3]"}, tensor<8x3xf32> {jax.result_info = "result[4]"}, tensor<8x4x6xf32> {jax.result_info = "result[5]"}, tensor<8x6x6xf32> {jax.result_info = "result[6]"}) {
    %0:3 = call @svd(%arg0) : (tensor<8x6x4xf32>) -> (tensor<8x6x4xf32>, tensor<8x4xf32>, tensor<8x4x4xf32>)
    %1:3 = call @svd_0(%arg1) : (tensor<8x5x3xf32>) -> (tensor<8x5x5xf32>, tensor<8x3xf32>, tensor<8x3x3xf32>)
    %2 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<8x6x4xf32>) -> tensor<8x4x6xf32>
    %3:3 = call @svd_1(%2) : (tensor<8x4x6xf32>) -> (tensor<8x4x4xf32>, tensor<8x4xf32>, tensor<8x6x6xf32>)
    %4 = stablehlo.dot_general %0#1, %0#2, batching_dims = [0, 1] x [0, 1], contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<8x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %5 = stablehlo.dot_general %0#0, %4, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x6x4xf32>, tensor<8x4x4xf32>) -> tensor<8x6x4xf32>
    %6 = stablehlo.slice %1#0 [0:8, 0:5, 0:3] : (tensor<8x5x5xf32>) -> tensor<8x5x3xf32>
    %7 = stablehlo.broadcast_in_dim %1#1, dims = [0, 2] : (tensor<8x3xf32>) -> tensor<8x1x3xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<8x1x3xf32>) -> tensor<8x5x3xf32>
    %9 = stablehlo.multiply %6, %8 : tensor<8x5x3xf32>
    %10 = stablehlo.dot_general %9, %1#2, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x5x3xf32>, tensor<8x3x3xf32>) -> tensor<8x5x3xf32>
    %11 = stablehlo.dot_general %1#0, %1#0, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x5x5xf32>, tensor<8x5x5xf32>) -> tensor<8x5x5xf32>
    %12 = call @svd_2(%arg1) : (tensor<8x5x3xf32>) -> tensor<8x3xf32>
    %13 = stablehlo.broadcast_in_dim %3#1, dims = [0, 2] : (tensor<8x4xf32>) -> tensor<8x1x4xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<8x1x4xf32>) -> tensor<8x4x4xf32>
    %15 = stablehlo.multiply %3#0, %14 : tensor<8x4x4xf32>
    %16 = stablehlo.slice %3#2 [0:8, 0:4, 0:6] : (tensor<8x6x6xf32>) -> tensor<8x4x6xf32>
    %17 = stablehlo.dot_general %15, %16, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x4x4xf32>, tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
    %18 = stablehlo.dot_general %3#2, %3#2, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x6x6xf32>, tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
    return %5, %0#1, %10, %11, %12, %17, %18 : tensor<8x6x4xf32>, tensor<8x4xf32>, tensor<8x5x3xf32>, tensor<8x5x5xf32>, tensor<8x3xf32>, tensor<8x4x6xf32>, tensor<8x6x6xf32>
  }
  func.func private @svd(%arg0: tensor<8x6x4xf32>) -> (tensor<8x6x4xf32>, tensor<8x4xf32>, tensor<8x4x4xf32>) {
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {backend_config = "", mhlo.backend_config = {mode = 83 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i, o, p], [i, q, r], [i]) {i=8, j=6, k=4, l=6, m=4, n=4, o=6, p=4, q=4, r=4}, custom>} : (tensor<8x6x4xf32>) -> (tensor<8x6x4xf32>, tensor<8x4xf32>, tensor<8x6x4xf32>, tensor<8x4x4xf32>, tensor<8xi32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xi1>) -> tensor<8x1xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<8x1xi1>) -> tensor<8x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<8x4xi1>, tensor<8x4xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xi1>) -> tensor<8x1x1xi1>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x6x4xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<8x1x1xi1>) -> tensor<8x6x4xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<8x6x4xi1>, tensor<8x6x4xf32>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xi1>) -> tensor<8x1x1xi1>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x4x4xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<8x1x1xi1>) -> tensor<8x4x4xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<8x4x4xi1>, tensor<8x4x4xf32>
    return %10, %6, %14 : tensor<8x6x4xf32>, tensor<8x4xf32>, tensor<8x4x4xf32>
  }
  func.func private @svd_0(%arg0: tensor<8x5x3xf32>) -> (tensor<8x5x5xf32>, tensor<8x3xf32>, tensor<8x3x3xf32>) {
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {backend_config = "", mhlo.backend_config = {mode = 65 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i, o, p], [i, q, r], [i]) {i=8, j=5, k=3, l=5, m=3, n=3, o=5, p=5, q=3, r=3}, custom>} : (tensor<8x5x3xf32>) -> (tensor<8x5x3xf32>, tensor<8x3xf32>, tensor<8x5x5xf32>, tensor<8x3x3xf32>, tensor<8xi32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xi1>) -> tensor<8x1xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x3xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<8x1xi1>) -> tensor<8x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<8x3xi1>, tensor<8x3xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xi1>) -> tensor<8x1x1xi1>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x5x5xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<8x1x1xi1>) -> tensor<8x5x5xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<8x5x5xi1>, tensor<8x5x5xf32>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xi1>) -> tensor<8x1x1xi1>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x3x3xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<8x1x1xi1>) -> tensor<8x3x3xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<8x3x3xi1>, tensor<8x3x3xf32>
    return %10, %6, %14 : tensor<8x5x5xf32>, tensor<8x3xf32>, tensor<8x3x3xf32>
  }
  func.func private @svd_1(%arg0: tensor<8x4x6xf32>) -> (tensor<8x4x4xf32>, tensor<8x4xf32>, tensor<8x6x6xf32>) {
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {backend_config = "", mhlo.backend_config = {mode = 65 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i, o, p], [i, q, r], [i]) {i=8, j=4, k=6, l=4, m=6, n=4, o=4, p=4, q=6, r=6}, custom>} : (tensor<8x4x6xf32>) -> (tensor<8x4x6xf32>, tensor<8x4xf32>, tensor<8x4x4xf32>, tensor<8x6x6xf32>, tensor<8xi32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xi1>) -> tensor<8x1xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<8x1xi1>) -> tensor<8x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<8x4xi1>, tensor<8x4xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xi1>) -> tensor<8x1x1xi1>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x4x4xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<8x1x1xi1>) -> tensor<8x4x4xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<8x4x4xi1>, tensor<8x4x4xf32>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xi1>) -> tensor<8x1x1xi1>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x6x6xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<8x1x1xi1>) -> tensor<8x6x6xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<8x6x6xi1>, tensor<8x6x6xf32>
    return %10, %6, %14 : tensor<8x4x4xf32>, tensor<8x4xf32>, tensor<8x6x6xf32>
  }
  func.func private @svd_2(%arg0: tensor<8x5x3xf32>) -> tensor<8x3xf32> {
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {backend_config = "", mhlo.backend_config = {mode = 78 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i, o, p], [i, q, r], [i]) {i=8, j=5, k=3, l=5, m=3, n=3, o=5, p=5, q=3, r=3}, custom>} : (tensor<8x5x3xf32>) -> (tensor<8x5x3xf32>, tensor<8x3xf32>, tensor<8x5x5xf32>, tensor<8x3x3xf32>, tensor<8xi32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xi1>) -> tensor<8x1xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x3xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<8x1xi1>) -> tensor<8x3xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<8x3xi1>, tensor<8x3xf32>
    return %6 : tensor<8x3xf32>
  }
}

