module @ops {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(
      %m: tensor<8x16xf32>, %m2: tensor<8x16xf32>, %w: tensor<16x32xf32>, %b3: tensor<4x8x16xf32>, %b4: tensor<4x16x32xf32>,
      %p: tensor<i1>, %s: tensor<f32>, %one: tensor<1x16xf32>, %img: tensor<2x12x12x8xf32>, %k3: tensor<3x3x8x24xf32>,
      %k1: tensor<1x1x8x24xf32>, %kg: tensor<3x3x4x24xf32>, %ft: tensor<16xf32>, %table: tensor<64x16xf32>, %ids: tensor<8x1xi32>,
      %bids: tensor<4x6x1xi32>, %upd: tensor<8x16xf32>, %i: tensor<i32>, %flag: tensor<i1>, %mb: tensor<64x16xi1>,
      %sq: tensor<4x8x8xf32>, %rhs: tensor<4x8x3xf32>, %key: tensor<2xui64>, %qkv: tensor<8x48xf32>, %seq: tensor<64x32xf32>,
      %odd: tensor<6x4xf32>, %ints: tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<16x8xf32>) {
    %c = stablehlo.constant dense<1.0> : tensor<8x16xf32>
    %cd = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %e0 = stablehlo.add %m, %m2 : tensor<8x16xf32>
    %e1 = stablehlo.select %p, %e0, %c : tensor<i1>, tensor<8x16xf32>
    %e2 = stablehlo.clamp %s, %e1, %s : (tensor<f32>, tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    %e3 = stablehlo.convert %e2 : (tensor<8x16xf32>) -> tensor<8x16xbf16>
    %b0 = stablehlo.broadcast_in_dim %one, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<8x16xf32>
    %b1 = stablehlo.broadcast_in_dim %ft, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
    %t0 = stablehlo.transpose %m, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %r0 = stablehlo.reshape %b3 : (tensor<4x8x16xf32>) -> tensor<32x16xf32>
    %r1 = stablehlo.reshape %seq : (tensor<64x32xf32>) -> tensor<4x16x1x32xf32>
    %r2 = stablehlo.reshape %odd : (tensor<6x4xf32>) -> tensor<8x3xf32>
    %d0 = stablehlo.dot_general %m, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %d1 = stablehlo.dot_general %b3, %b4, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x8x16xf32>, tensor<4x16x32xf32>) -> tensor<4x8x32xf32>
    %c0 = stablehlo.convolution(%img, %k3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x12x12x8xf32>, tensor<3x3x8x24xf32>) -> tensor<2x12x12x24xf32>
    %c1 = stablehlo.convolution(%img, %k1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x12x12x8xf32>, tensor<1x1x8x24xf32>) -> tensor<2x12x12x24xf32>
    %c2 = stablehlo.convolution(%img, %kg) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x12x12x8xf32>, tensor<3x3x4x24xf32>) -> tensor<2x10x10x24xf32>
    %c3 = stablehlo.convolution(%img, %k3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x12x12x8xf32>, tensor<3x3x8x24xf32>) -> tensor<1x10x10x24xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %izero = stablehlo.constant dense<0> : tensor<i32>
    %red = stablehlo.reduce(%b3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x16xf32>
    %mx = stablehlo.reduce(%b3 init: %zero) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<8xf32>
    %am:2 = "stablehlo.reduce"(%m, %ints, %zero, %izero) ({
    ^bb0(%a0: tensor<f32>, %a1: tensor<i32>, %a2: tensor<f32>, %a3: tensor<i32>):
      %g = stablehlo.compare GT, %a0, %a2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %v = stablehlo.select %g, %a0, %a2 : tensor<i1>, tensor<f32>
      %x = stablehlo.select %g, %a1, %a3 : tensor<i1>, tensor<i32>
      stablehlo.return %v, %x : tensor<f32>, tensor<i32>
    }) {dimensions = array<i64: 1>} : (tensor<8x16xf32>, tensor<8x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
    %rw = "stablehlo.reduce_window"(%img, %zero) ({
    ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
      %v = stablehlo.maximum %a0, %a1 : tensor<f32>
      stablehlo.return %v : tensor<f32>
    }) {window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>} : (tensor<2x12x12x8xf32>, tensor<f32>) -> tensor<2x6x6x8xf32>
    %sas = "stablehlo.select_and_scatter"(%img, %rw, %zero) ({
    ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
      %v = stablehlo.compare GE, %a0, %a1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %v : tensor<i1>
    }, {
    ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
      %v = stablehlo.add %a0, %a1 : tensor<f32>
      stablehlo.return %v : tensor<f32>
    }) {window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>} : (tensor<2x12x12x8xf32>, tensor<2x6x6x8xf32>, tensor<f32>) -> tensor<2x12x12x8xf32>
    %bn:3 = "stablehlo.batch_norm_training"(%m, %ft, %ft) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>, tensor<16xf32>)
    %bi = "stablehlo.batch_norm_inference"(%m, %ft, %ft, %ft, %ft) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
    %bg:3 = "stablehlo.batch_norm_grad"(%m, %ft, %ft, %ft, %m2) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>, tensor<16xf32>)
    %g0 = "stablehlo.gather"(%table, %ids) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>} : (tensor<64x16xf32>, tensor<8x1xi32>) -> tensor<8x16xf32>
    %g1 = "stablehlo.gather"(%b3, %bids) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 16>} : (tensor<4x8x16xf32>, tensor<4x6x1xi32>) -> tensor<4x6x16xf32>
    %g2 = "stablehlo.gather"(%mb, %ids) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>} : (tensor<64x16xi1>, tensor<8x1xi32>) -> tensor<8x4xi1>
    %s0 = "stablehlo.scatter"(%table, %ids, %upd) ({
    ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
      %v = stablehlo.add %a0, %a1 : tensor<f32>
      stablehlo.return %v : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<64x16xf32>, tensor<8x1xi32>, tensor<8x16xf32>) -> tensor<64x16xf32>
    %s1 = "stablehlo.scatter"(%table, %ids, %upd) ({
    ^bb0(%a0: tensor<f32>, %a1: tensor<f32>):
      stablehlo.return %a1 : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<64x16xf32>, tensor<8x1xi32>, tensor<8x16xf32>) -> tensor<64x16xf32>
    %sl0 = stablehlo.slice %m [0:8, 3:7] : (tensor<8x16xf32>) -> tensor<8x4xf32>
    %sl1 = stablehlo.slice %qkv [0:8, 16:32] : (tensor<8x48xf32>) -> tensor<8x16xf32>
    %pd0 = stablehlo.pad %m, %s, low = [0, 1], high = [0, 2], interior = [0, 0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x19xf32>
    %pd1 = stablehlo.pad %sl1, %s, low = [0, 16], high = [0, 16], interior = [0, 0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x48xf32>
    %cc = stablehlo.concatenate %m, %d0, dim = 1 : (tensor<8x16xf32>, tensor<8x32xf32>) -> tensor<8x48xf32>
    %rv = stablehlo.reverse %m, dims = [1] : tensor<8x16xf32>
    %ds = stablehlo.dynamic_slice %m, %i, %i, sizes = [1, 16] : (tensor<8x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>
    %ds2 = stablehlo.dynamic_slice %m, %i, %i, sizes = [4, 16] : (tensor<8x16xf32>, tensor<i32>, tensor<i32>) -> tensor<4x16xf32>
    %du = stablehlo.dynamic_update_slice %m, %ds2, %i, %i : (tensor<8x16xf32>, tensor<4x16xf32>, tensor<i32>, tensor<i32>) -> tensor<8x16xf32>
    %io = stablehlo.iota dim = 1 : tensor<8x16xi32>
    %so:2 = "stablehlo.sort"(%m, %io) ({
    ^bb0(%a0: tensor<f32>, %a1: tensor<f32>, %a2: tensor<i32>, %a3: tensor<i32>):
      %v = stablehlo.compare LT, %a0, %a1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %v : tensor<i1>
    }) {dimension = 1 : i64, is_stable = true} : (tensor<8x16xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xi32>)
    %tk:2 = "chlo.top_k"(%m) {k = 4 : i64} : (tensor<8x16xf32>) -> (tensor<8x4xf32>, tensor<8x4xi32>)
    %rng:2 = stablehlo.rng_bit_generator %key, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x16xui32>)
    %ch = stablehlo.cholesky %sq, lower = true : tensor<4x8x8xf32>
    %ts = "stablehlo.triangular_solve"(%sq, %rhs) {left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false} : (tensor<4x8x8xf32>, tensor<4x8x3xf32>) -> tensor<4x8x3xf32>
    %bc0 = stablehlo.bitcast_convert %m : (tensor<8x16xf32>) -> tensor<8x16xi32>
    %bc1 = stablehlo.bitcast_convert %m : (tensor<8x16xf32>) -> tensor<8x16x2xi16>
    %wh:2 = stablehlo.while(%it = %i, %acc = %m) : tensor<i32>, tensor<8x16xf32>
    cond {
      %n = stablehlo.constant dense<5> : tensor<i32>
      %v = stablehlo.compare LT, %it, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %v : tensor<i1>
    } do {
      %o = stablehlo.constant dense<1> : tensor<i32>
      %nx = stablehlo.add %it, %o : tensor<i32>
      %ac = stablehlo.multiply %acc, %m2 : tensor<8x16xf32>
      stablehlo.return %nx, %ac : tensor<i32>, tensor<8x16xf32>
    }
    %if = "stablehlo.if"(%flag) ({
      %v = stablehlo.negate %m : tensor<8x16xf32>
      stablehlo.return %v : tensor<8x16xf32>
    }, {
      stablehlo.return %m2 : tensor<8x16xf32>
    }) : (tensor<i1>) -> tensor<8x16xf32>
    %cs = "stablehlo.case"(%i) ({
      stablehlo.return %m : tensor<8x16xf32>
    }, {
      stablehlo.return %m2 : tensor<8x16xf32>
    }) : (tensor<i32>) -> tensor<8x16xf32>
    %ob:2 = stablehlo.optimization_barrier %m, %ft : tensor<8x16xf32>, tensor<16xf32>
    %cu0 = stablehlo.custom_call @mhlo.erf(%m) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %cu1 = stablehlo.custom_call @something_else(%m) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %cu2:2 = stablehlo.custom_call @with_rule(%m, %ft) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk], [l])->([i, m], [i]) {i=8, j=2, k=8, l=16, m=16}, reduction={l}, custom>} : (tensor<8x16xf32>, tensor<16xf32>) -> (tensor<8x16xf32>, tensor<8xf32>)
    %cu3 = stablehlo.custom_call @with_exceptions(%m) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, z_1])->([i, z_1]) {i=8, z_1=16}, need_replication={z_1}, custom>} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %cu4 = stablehlo.custom_call @with_another_rank(%m) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i, j]) {i=8, j=16}, custom>} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %cu5 = stablehlo.custom_call @with_large_numbers(%m) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, z_4294967296])->([i, z]) {i=8, z_4294967296=16, z=16}, custom>} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %sc = sdy.sharding_constraint %m <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
    %keep = stablehlo.custom_call @keep(%e3, %b0, %b1, %r0, %r1, %r2, %d1, %c0, %c1, %c2, %c3, %red, %mx, %am#1, %sas, %bn#0, %bi, %bg#0, %g0, %g1, %g2, %s0, %s1, %sl0, %pd0, %pd1, %cc, %rv, %ds, %du, %so#0, %tk#0, %rng#1, %ch, %ts, %bc0, %bc1, %wh#1, %if, %cs, %ob#0, %ob#1, %cu0, %cu1, %sc, %cd, %cu2#0, %cu2#1, %cu3, %cu4, %cu5) {has_side_effect = true} : (tensor<8x16xbf16>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<32x16xf32>, tensor<4x16x1x32xf32>, tensor<8x3xf32>, tensor<4x8x32xf32>, tensor<2x12x12x24xf32>, tensor<2x12x12x24xf32>, tensor<2x10x10x24xf32>, tensor<1x10x10x24xf32>, tensor<4x16xf32>, tensor<8xf32>, tensor<8xi32>, tensor<2x12x12x8xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x6x16xf32>, tensor<8x4xi1>, tensor<64x16xf32>, tensor<64x16xf32>, tensor<8x4xf32>, tensor<8x19xf32>, tensor<8x48xf32>, tensor<8x48xf32>, tensor<8x16xf32>, tensor<1x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x4xf32>, tensor<8x16xui32>, tensor<4x8x8xf32>, tensor<4x8x3xf32>, tensor<8x16xi32>, tensor<8x16x2xi16>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<4xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %keep, %t0 : tensor<8x16xf32>, tensor<16x8xf32>
  }
}
