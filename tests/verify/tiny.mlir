// Tiny programs, one or a few a family of ops, that random plans are proved on. Split at the lines of dashes;
// the first comment line of each piece is its name. All shapes have factors of 8 to cut.
// -----
// elementwise
func.func public @main(%a: tensor<8x16xf32>, %b: tensor<8x16xf32>, %p: tensor<8x16xi1>, %i: tensor<8x16xi32>, %s: tensor<f32>) -> (tensor<8x16xf32>, tensor<8x16xi32>, tensor<8x16xi1>, tensor<8x16xf32>) {
  %0 = stablehlo.add %a, %b : tensor<8x16xf32>
  %1 = stablehlo.tanh %0 : tensor<8x16xf32>
  %2 = stablehlo.select %p, %1, %b : tensor<8x16xi1>, tensor<8x16xf32>
  %3 = stablehlo.convert %i : (tensor<8x16xi32>) -> tensor<8x16xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<8x16xf32>
  %5 = stablehlo.compare GT, %4, %a, FLOAT : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xi1>
  %6 = stablehlo.xor %i, %i : tensor<8x16xi32>
  %7 = stablehlo.clamp %s, %4, %s : (tensor<f32>, tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
  return %4, %6, %5, %7 : tensor<8x16xf32>, tensor<8x16xi32>, tensor<8x16xi1>, tensor<8x16xf32>
}
// -----
// dots: plain, batched, transposed, chained as Megatron
func.func public @main(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>, %v: tensor<64x16xf32>, %q: tensor<8x16x8xf32>, %k: tensor<8x8x16xf32>) -> (tensor<16x16xf32>, tensor<8x16x16xf32>, tensor<16x32xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %1 = stablehlo.tanh %0 : tensor<16x64xf32>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
  %3 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x16x8xf32>, tensor<8x8x16xf32>) -> tensor<8x16x16xf32>
  %4 = stablehlo.transpose %w, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %5 = stablehlo.dot_general %1, %4, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  return %2, %3, %5 : tensor<16x16xf32>, tensor<8x16x16xf32>, tensor<16x32xf32>
}
// -----
// partials: sums of dots, linear ops on them, dots of partial sums
func.func public @main(%x: tensor<16x32xf32>, %w: tensor<32x16xf32>, %y: tensor<16x64xf32>, %v: tensor<64x16xf32>, %s: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
  %1 = stablehlo.dot_general %y, %v, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
  %2 = stablehlo.add %0, %1 : tensor<16x16xf32>
  %3 = stablehlo.negate %2 : tensor<16x16xf32>
  %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %5 = stablehlo.multiply %4, %s : tensor<16x16xf32>
  %6 = stablehlo.subtract %0, %s : tensor<16x16xf32>
  return %5, %6 : tensor<16x16xf32>, tensor<16x16xf32>
}
// -----
// reductions with every reducer and non-zero initial values
func.func public @main(%a: tensor<8x16x8xf32>, %i: tensor<8x16xi32>, %p: tensor<8x16xi1>, %s: tensor<f32>) -> (tensor<16x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<16xi32>, tensor<8xi1>, tensor<16xi1>, tensor<8x16xf32>, tensor<16xi32>) {
  %c1 = stablehlo.constant dense<1.500000e+00> : tensor<f32>
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %pinf = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %i3 = stablehlo.constant dense<3> : tensor<i32>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %im = stablehlo.constant dense<-1> : tensor<i32>
  %0 = stablehlo.reduce(%a init: %c1) applies stablehlo.add across dimensions = [0] : (tensor<8x16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %1 = stablehlo.reduce(%a init: %ninf) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<8x16x8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = stablehlo.reduce(%a init: %pinf) applies stablehlo.minimum across dimensions = [1] : (tensor<8x16x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %3 = stablehlo.reduce(%i init: %i3) applies stablehlo.add across dimensions = [0] : (tensor<8x16xi32>, tensor<i32>) -> tensor<16xi32>
  %4 = stablehlo.reduce(%p init: %true) applies stablehlo.and across dimensions = [1] : (tensor<8x16xi1>, tensor<i1>) -> tensor<8xi1>
  %5 = stablehlo.reduce(%p init: %false) applies stablehlo.or across dimensions = [0] : (tensor<8x16xi1>, tensor<i1>) -> tensor<16xi1>
  %6 = stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [2] : (tensor<8x16x8xf32>, tensor<f32>) -> tensor<8x16xf32>
  %7 = stablehlo.reduce(%i init: %im) applies stablehlo.and across dimensions = [0] : (tensor<8x16xi32>, tensor<i32>) -> tensor<16xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<16x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<16xi32>, tensor<8xi1>, tensor<16xi1>, tensor<8x16xf32>, tensor<16xi32>
}
// -----
// products: reduction by multiplication
func.func public @main(%a: tensor<8x16xf32>) -> (tensor<8xf32>, tensor<16xf32>) {
  %c = stablehlo.constant dense<2.000000e+00> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.multiply across dimensions = [1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.reduce(%a init: %c) applies stablehlo.multiply across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
  return %0, %1 : tensor<8xf32>, tensor<16xf32>
}
// -----
// argmax: an opaque reducer of two operands
func.func public @main(%a: tensor<8x16xf32>, %i: tensor<8x16xi32>) -> (tensor<8xf32>, tensor<8xi32>) {
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%a init: %ninf), (%i init: %zero) across dimensions = [1] : (tensor<8x16xf32>, tensor<8x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
    reducer(%x: tensor<f32>, %y: tensor<f32>) (%xi: tensor<i32>, %yi: tensor<i32>) {
      %g = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %m = stablehlo.select %g, %x, %y : tensor<i1>, tensor<f32>
      %n = stablehlo.select %g, %xi, %yi : tensor<i1>, tensor<i32>
      stablehlo.return %m, %n : tensor<f32>, tensor<i32>
    }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}
// -----
// shapes: reshape with and without common factors, transpose, broadcast
func.func public @main(%a: tensor<8x4x16xf32>, %b: tensor<32x16xf32>, %c: tensor<6x4xf32>, %d: tensor<16xf32>) -> (tensor<32x16xf32>, tensor<8x4x16xf32>, tensor<8x3xf32>, tensor<8x64xf32>, tensor<4x8x16xf32>, tensor<64x8xf32>) {
  %0 = stablehlo.reshape %a : (tensor<8x4x16xf32>) -> tensor<32x16xf32>
  %1 = stablehlo.add %0, %b : tensor<32x16xf32>
  %2 = stablehlo.tanh %1 : tensor<32x16xf32>
  %3 = stablehlo.reshape %2 : (tensor<32x16xf32>) -> tensor<8x4x16xf32>
  %4 = stablehlo.reshape %c : (tensor<6x4xf32>) -> tensor<8x3xf32>
  %5 = stablehlo.reshape %3 : (tensor<8x4x16xf32>) -> tensor<8x64xf32>
  %6 = stablehlo.broadcast_in_dim %d, dims = [2] : (tensor<16xf32>) -> tensor<4x8x16xf32>
  %7 = stablehlo.transpose %3, dims = [1, 0, 2] : (tensor<8x4x16xf32>) -> tensor<4x8x16xf32>
  %8 = stablehlo.multiply %6, %7 : tensor<4x8x16xf32>
  %9 = stablehlo.transpose %5, dims = [1, 0] : (tensor<8x64xf32>) -> tensor<64x8xf32>
  return %2, %3, %4, %5, %8, %9 : tensor<32x16xf32>, tensor<8x4x16xf32>, tensor<8x3xf32>, tensor<8x64xf32>, tensor<4x8x16xf32>, tensor<64x8xf32>
}
// -----
// positions: iota along sharded and flattened dimensions, constants that are not splats
func.func public @main(%a: tensor<8x16xi32>, %f: tensor<32x4xf32>) -> (tensor<8x16xi32>, tensor<32x4xf32>, tensor<8xf32>) {
  %0 = stablehlo.iota dim = 0 : tensor<8x16xi32>
  %1 = stablehlo.iota dim = 1 : tensor<8x16xi32>
  %2 = stablehlo.multiply %0, %1 : tensor<8x16xi32>
  %3 = stablehlo.add %2, %a : tensor<8x16xi32>
  %4 = stablehlo.reshape %f : (tensor<32x4xf32>) -> tensor<8x16xf32>
  %5 = stablehlo.convert %3 : (tensor<8x16xi32>) -> tensor<8x16xf32>
  %6 = stablehlo.add %4, %5 : tensor<8x16xf32>
  %7 = stablehlo.reshape %6 : (tensor<8x16xf32>) -> tensor<32x4xf32>
  %8 = stablehlo.iota dim = 0 : tensor<32x4xf32>
  %9 = stablehlo.add %7, %8 : tensor<32x4xf32>
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %10 = stablehlo.reduce(%6 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  %11 = stablehlo.multiply %10, %c : tensor<8xf32>
  return %3, %9, %11 : tensor<8x16xi32>, tensor<32x4xf32>, tensor<8xf32>
}
// -----
// lookup: rows of a table by index, and the gradient scattered back onto a non-zero operand
func.func public @main(%t: tensor<64x16xf32>, %i: tensor<8x4xi32>, %g: tensor<8x4x16xf32>, %o: tensor<64x16xf32>) -> (tensor<8x4x16xf32>, tensor<64x16xf32>) {
  %0 = stablehlo.reshape %i : (tensor<8x4xi32>) -> tensor<8x4x1xi32>
  %1 = "stablehlo.gather"(%t, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 16>}> : (tensor<64x16xf32>, tensor<8x4x1xi32>) -> tensor<8x4x16xf32>
  %2 = stablehlo.multiply %1, %g : tensor<8x4x16xf32>
  %3 = "stablehlo.scatter"(%o, %0, %2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<64x16xf32>, tensor<8x4x1xi32>, tensor<8x4x16xf32>) -> tensor<64x16xf32>
  return %1, %3 : tensor<8x4x16xf32>, tensor<64x16xf32>
}
// -----
// scatter with max, min and an overwriting body
func.func public @main(%o: tensor<32x8xf32>, %i: tensor<16x1xi32>, %u: tensor<16x8xf32>, %n: tensor<32xi32>, %v: tensor<16xi32>) -> (tensor<32x8xf32>, tensor<32x8xf32>, tensor<32x8xf32>, tensor<32xi32>) {
  %0 = "stablehlo.scatter"(%o, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<32x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<32x8xf32>
  %1 = "stablehlo.scatter"(%o, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.minimum %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<32x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<32x8xf32>
  %2 = "stablehlo.scatter"(%o, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<32x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<32x8xf32>
  %3 = "stablehlo.scatter"(%n, %i, %v) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<32xi32>, tensor<16x1xi32>, tensor<16xi32>) -> tensor<32xi32>
  return %0, %1, %2, %3 : tensor<32x8xf32>, tensor<32x8xf32>, tensor<32x8xf32>, tensor<32xi32>
}
// -----
// gather with batching dimensions (take along an axis)
func.func public @main(%t: tensor<8x16x4xf32>, %i: tensor<8x8x1xi32>) -> tensor<8x8x4xf32> {
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<8x16x4xf32>, tensor<8x8x1xi32>) -> tensor<8x8x4xf32>
  return %0 : tensor<8x8x4xf32>
}
// -----
// labels picked by index vectors that count: the iota as JAX writes it (moved only if negative), and the gradient
func.func public @main(%x: tensor<16x32xf32>, %y: tensor<16xi32>, %g: tensor<16xf32>) -> (tensor<16xf32>, tensor<16x32xf32>) {
  %z = stablehlo.constant dense<0> : tensor<16xi32>
  %n = stablehlo.constant dense<16> : tensor<16xi32>
  %m = stablehlo.constant dense<32> : tensor<16xi32>
  %i = stablehlo.iota dim = 0 : tensor<16xi32>
  %0 = stablehlo.compare LT, %i, %z, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
  %1 = stablehlo.add %i, %n : tensor<16xi32>
  %2 = stablehlo.select %0, %1, %i : tensor<16xi1>, tensor<16xi32>
  %3 = stablehlo.compare LT, %y, %z, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
  %4 = stablehlo.add %y, %m : tensor<16xi32>
  %5 = stablehlo.select %3, %4, %y : tensor<16xi1>, tensor<16xi32>
  %6 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<16xi32>) -> tensor<16x1xi32>
  %7 = stablehlo.reshape %5 : (tensor<16xi32>) -> tensor<16x1xi32>
  %8 = stablehlo.concatenate %6, %7, dim = 1 : (tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x2xi32>
  %9 = "stablehlo.gather"(%x, %8) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<16x32xf32>, tensor<16x2xi32>) -> tensor<16xf32>
  %10 = stablehlo.multiply %9, %g : tensor<16xf32>
  %11 = "stablehlo.scatter"(%x, %8, %10) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x32xf32>, tensor<16x2xi32>, tensor<16xf32>) -> tensor<16x32xf32>
  return %9, %11 : tensor<16xf32>, tensor<16x32xf32>
}
// -----
// rows picked by vectors that count in two of three places, behind a clamp of all three; windows; vectors along dim 0
func.func public @main(%x: tensor<8x16x4x8xf32>, %y: tensor<8x4xi32>) -> tensor<8x4x8xf32> {
  %i = stablehlo.constant dense<[[[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3], [4, 4, 4, 4], [5, 5, 5, 5], [6, 6, 6, 6], [7, 7, 7, 7]]]> : tensor<1x8x4xi32>
  %j = stablehlo.iota dim = 0 : tensor<4x8xi64>
  %0 = stablehlo.transpose %j, dims = [1, 0] : (tensor<4x8xi64>) -> tensor<8x4xi64>
  %1 = stablehlo.convert %0 : (tensor<8x4xi64>) -> tensor<8x4xi32>
  %2 = stablehlo.reshape %1 : (tensor<8x4xi32>) -> tensor<1x8x4xi32>
  %3 = stablehlo.broadcast_in_dim %y, dims = [1, 2] : (tensor<8x4xi32>) -> tensor<1x8x4xi32>
  %4 = stablehlo.concatenate %2, %3, %i, dim = 0 : (tensor<1x8x4xi32>, tensor<1x8x4xi32>, tensor<1x8x4xi32>) -> tensor<3x8x4xi32>
  %lo = stablehlo.constant dense<0> : tensor<3x8x4xi32>
  %h = stablehlo.constant dense<[3, 15, 7]> : tensor<3xi32>
  %hi = stablehlo.broadcast_in_dim %h, dims = [0] : (tensor<3xi32>) -> tensor<3x8x4xi32>
  %5 = stablehlo.clamp %lo, %4, %hi : tensor<3x8x4xi32>
  %6 = "stablehlo.gather"(%x, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1, 2], start_index_map = [2, 1, 0], index_vector_dim = 0>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1, 8>}> : (tensor<8x16x4x8xf32>, tensor<3x8x4xi32>) -> tensor<8x4x8xf32>
  return %6 : tensor<8x4x8xf32>
}
// -----
// a cache written at a place of its own in each row (positions that count, an overwriting body)
func.func public @main(%c: tensor<16x8x4xf32>, %p: tensor<16xui32>, %u: tensor<16x4xf32>) -> tensor<16x8x4xf32> {
  %i = stablehlo.iota dim = 0 : tensor<24x2xui32>
  %k = stablehlo.constant dense<4> : tensor<16x1xui32>
  %0 = stablehlo.slice %i [4:20, 0:1] : (tensor<24x2xui32>) -> tensor<16x1xui32>
  %1 = stablehlo.subtract %0, %k : tensor<16x1xui32>
  %2 = stablehlo.reshape %p : (tensor<16xui32>) -> tensor<16x1xui32>
  %3 = stablehlo.concatenate %1, %2, dim = 1 : (tensor<16x1xui32>, tensor<16x1xui32>) -> tensor<16x2xui32>
  %4 = "stablehlo.scatter"(%c, %3, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<16x8x4xf32>, tensor<16x2xui32>, tensor<16x4xf32>) -> tensor<16x8x4xf32>
  return %4 : tensor<16x8x4xf32>
}
// -----
// cutting and joining: slice, pad, concatenate, reverse
func.func public @main(%a: tensor<8x16xf32>, %b: tensor<8x16xf32>, %s: tensor<f32>) -> (tensor<8x8xf32>, tensor<8x32xf32>, tensor<8x20xf32>, tensor<8x16xf32>, tensor<16x16xf32>) {
  %0 = stablehlo.slice %a [0:8, 4:12] : (tensor<8x16xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
  %2 = stablehlo.pad %b, %s, low = [0, 1], high = [0, 3], interior = [0, 0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x20xf32>
  %3 = stablehlo.reverse %a, dims = [1] : tensor<8x16xf32>
  %4 = stablehlo.add %3, %b : tensor<8x16xf32>
  %5 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  return %0, %1, %2, %4, %5 : tensor<8x8xf32>, tensor<8x32xf32>, tensor<8x20xf32>, tensor<8x16xf32>, tensor<16x16xf32>
}
// -----
// fused projections: slices at multiples of a piece
func.func public @main(%x: tensor<8x16xf32>, %w: tensor<16x48xf32>, %b: tensor<48xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x48xf32>) -> tensor<8x48xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<48xf32>) -> tensor<8x48xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x48xf32>
  %3 = stablehlo.slice %2 [0:8, 0:16] : (tensor<8x48xf32>) -> tensor<8x16xf32>
  %4 = stablehlo.slice %2 [0:8, 16:32] : (tensor<8x48xf32>) -> tensor<8x16xf32>
  %5 = stablehlo.slice %2 [0:8, 32:48] : (tensor<8x48xf32>) -> tensor<8x16xf32>
  %6 = stablehlo.multiply %3, %4 : tensor<8x16xf32>
  %7 = stablehlo.add %6, %5 : tensor<8x16xf32>
  return %7 : tensor<8x16xf32>
}
// -----
// dynamic slices and updates, the starts inside and past the end
func.func public @main(%a: tensor<8x16x8xf32>, %u: tensor<8x1x8xf32>, %w: tensor<8x4x8xf32>, %i: tensor<i32>, %j: tensor<i32>) -> (tensor<8x16x8xf32>, tensor<8x1x8xf32>, tensor<8x4x8xf32>, tensor<8x16x8xf32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %z, %i, %z : (tensor<8x16x8xf32>, tensor<8x1x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x16x8xf32>
  %1 = stablehlo.dynamic_slice %0, %z, %j, %z, sizes = [8, 1, 8] : (tensor<8x16x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x1x8xf32>
  %2 = stablehlo.dynamic_slice %a, %z, %i, %z, sizes = [8, 4, 8] : (tensor<8x16x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x4x8xf32>
  %3 = stablehlo.dynamic_update_slice %0, %w, %z, %j, %z : (tensor<8x16x8xf32>, tensor<8x4x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x16x8xf32>
  return %0, %1, %2, %3 : tensor<8x16x8xf32>, tensor<8x1x8xf32>, tensor<8x4x8xf32>, tensor<8x16x8xf32>
}
// -----
// sort, with a payload, along one dimension
func.func public @main(%a: tensor<8x16xf32>, %i: tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xi32>) {
  %0:2 = "stablehlo.sort"(%a, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %c = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<8x16xf32>, tensor<8x16xi32>) -> (tensor<8x16xf32>, tensor<8x16xi32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xi32>
}
// -----
// loop: a carried sum, a carried counter, a body that contracts
func.func public @main(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %0:4 = stablehlo.while(%i = %zero, %a = %x, %m = %w, %s = %b) : tensor<i32>, tensor<8x16xf32>, tensor<16x16xf32>, tensor<16xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %d = stablehlo.dot_general %a, %m, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %t = stablehlo.tanh %d : tensor<8x16xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %u = stablehlo.add %s, %r : tensor<16xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %t, %m, %u : tensor<i32>, tensor<8x16xf32>, tensor<16x16xf32>, tensor<16xf32>
  }
  return %0#1, %0#3 : tensor<8x16xf32>, tensor<16xf32>
}
// -----
// accumulation: sums carried through two loops, from values that are not zero and from zeros
func.func public @main(%x: tensor<4x16x32xf32>, %w: tensor<32x8xf32>, %a0: tensor<32x8xf32>, %b0: tensor<8xf32>) -> (tensor<32x8xf32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %o:3 = stablehlo.while(%i = %zero, %oa = %a0, %ob = %b0) : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>
    cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %zeros = stablehlo.constant dense<0.0> : tensor<8xf32>
    %r:3 = stablehlo.while(%i1 = %zero, %a = %oa, %b = %zeros) : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>
      cond {
      %n = stablehlo.constant dense<2> : tensor<i32>
      %c = stablehlo.compare LT, %i1, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<4x16x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>
    %m = stablehlo.reshape %xi : (tensor<1x16x32xf32>) -> tensor<16x32xf32>
    %d = stablehlo.dot_general %m, %w, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
    %t = stablehlo.tanh %d : tensor<16x8xf32>
    %gw = stablehlo.dot_general %m, %t, contracting_dims = [0] x [0] : (tensor<16x32xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %gb = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<8xf32>
    %p = stablehlo.add %a, %gw : tensor<32x8xf32>
    %q = stablehlo.add %b, %gb : tensor<8xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
      %j1 = stablehlo.add %i1, %one : tensor<i32>
      stablehlo.return %j1, %p, %q : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>
    }
    %nb = stablehlo.subtract %ob, %r#2 : tensor<8xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %r#1, %nb : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>
  }
  %s = stablehlo.tanh %o#1 : tensor<32x8xf32>
  return %s, %o#2 : tensor<32x8xf32>, tensor<8xf32>
}
// -----
// mixed accumulation: bf16, f16 and f32 added up in f32 and f64, over two loops, one of which stacks
func.func public @main(%x: tensor<4x16x32xbf16>, %w: tensor<3x32x8xf32>, %s0: tensor<3x32x8xf32>, %b0: tensor<8xf32>, %c0: tensor<8xf64>) -> (tensor<3x32x8xf32>, tensor<8xf32>, tensor<8xf64>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %o:4 = stablehlo.while(%i = %zero, %s = %s0, %b = %b0, %c = %c0) : tensor<i32>, tensor<3x32x8xf32>, tensor<8xf32>, tensor<8xf64>
    cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %l = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  } do {
    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<4x16x32xbf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x32xbf16>
    %m = stablehlo.reshape %xi : (tensor<1x16x32xbf16>) -> tensor<16x32xbf16>
    %empty = stablehlo.constant dense<0.0> : tensor<3x32x8xf32>
    %bi = stablehlo.constant dense<0.0> : tensor<8xf32>
    %r:3 = stablehlo.while(%k = %zero, %stack = %empty, %bk = %bi) : tensor<i32>, tensor<3x32x8xf32>, tensor<8xf32>
      cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %l = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %l : tensor<i1>
    } do {
      %wk = stablehlo.dynamic_slice %w, %k, %zero, %zero, sizes = [1, 32, 8] : (tensor<3x32x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x8xf32>
      %v = stablehlo.reshape %wk : (tensor<1x32x8xf32>) -> tensor<32x8xf32>
      %vb = stablehlo.convert %v : (tensor<32x8xf32>) -> tensor<32x8xbf16>
      %d = stablehlo.dot_general %m, %vb, contracting_dims = [1] x [0] : (tensor<16x32xbf16>, tensor<32x8xbf16>) -> tensor<16x8xbf16>
      %t = stablehlo.tanh %d : tensor<16x8xbf16>
      %g = stablehlo.dot_general %t, %m, contracting_dims = [0] x [0] : (tensor<16x8xbf16>, tensor<16x32xbf16>) -> tensor<8x32xbf16>
      %gf = stablehlo.convert %g : (tensor<8x32xbf16>) -> tensor<8x32xf32>
      %gt = stablehlo.transpose %gf, dims = [1, 0] : (tensor<8x32xf32>) -> tensor<32x8xf32>
      %gb = stablehlo.broadcast_in_dim %gt, dims = [1, 2] : (tensor<32x8xf32>) -> tensor<1x32x8xf32>
      %u = stablehlo.dynamic_update_slice %stack, %gb, %k, %zero, %zero : (tensor<3x32x8xf32>, tensor<1x32x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x32x8xf32>
      %th = stablehlo.convert %t : (tensor<16x8xbf16>) -> tensor<16x8xf16>
      %z = stablehlo.constant dense<0.0> : tensor<f16>
      %h = stablehlo.reduce(%th init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16x8xf16>, tensor<f16>) -> tensor<8xf16>
      %hf = stablehlo.convert %h : (tensor<8xf16>) -> tensor<8xf32>
      %half = stablehlo.constant dense<0.5> : tensor<8xf32>
      %hh = stablehlo.multiply %hf, %half : tensor<8xf32>
      %q = stablehlo.add %bk, %hh : tensor<8xf32>
      %one1 = stablehlo.constant dense<1> : tensor<i32>
      %k1 = stablehlo.add %k, %one1 : tensor<i32>
      stablehlo.return %k1, %u, %q : tensor<i32>, tensor<3x32x8xf32>, tensor<8xf32>
    }
    %p = stablehlo.add %s, %r#1 : tensor<3x32x8xf32>
    %nb = stablehlo.subtract %b, %r#2 : tensor<8xf32>
    %mf = stablehlo.convert %m : (tensor<16x32xbf16>) -> tensor<16x32xf32>
    %four = stablehlo.reshape %mf : (tensor<16x32xf32>) -> tensor<64x8xf32>
    %zf = stablehlo.constant dense<0.0> : tensor<f32>
    %f = stablehlo.reduce(%four init: %zf) applies stablehlo.add across dimensions = [0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<8xf32>
    %fd = stablehlo.convert %f : (tensor<8xf32>) -> tensor<8xf64>
    %nc = stablehlo.add %fd, %c : tensor<8xf64>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %p, %nb, %nc : tensor<i32>, tensor<3x32x8xf32>, tensor<8xf32>, tensor<8xf64>
  }
  %y = stablehlo.tanh %o#1 : tensor<3x32x8xf32>
  return %y, %o#2, %o#3 : tensor<3x32x8xf32>, tensor<8xf32>, tensor<8xf64>
}
// -----
// running maximum and sum over a loop
func.func public @main(%x: tensor<4x16x32xf32>, %m0: tensor<32xf32>) -> (tensor<32xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %zf = stablehlo.constant dense<0.0> : tensor<f32>
  %r:3 = stablehlo.while(%i = %zero, %m = %m0, %s = %zf) : tensor<i32>, tensor<32xf32>, tensor<f32>
    cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<4x16x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>
    %y = stablehlo.reshape %xi : (tensor<1x16x32xf32>) -> tensor<16x32xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<-7.0> : tensor<f32>
    %top = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %sum = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x32xf32>, tensor<f32>) -> tensor<f32>
    %p = stablehlo.maximum %m, %top : tensor<32xf32>
    %q = stablehlo.add %s, %sum : tensor<f32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %p, %q : tensor<i32>, tensor<32xf32>, tensor<f32>
  }
  return %r#1, %r#2 : tensor<32xf32>, tensor<f32>
}
// -----
// running minimum, and, or over a loop
func.func public @main(%x: tensor<4x16x32xf32>, %p: tensor<4x16x32xi1>, %m0: tensor<32xf32>, %a0: tensor<32xi1>, %o0: tensor<32xi1>) -> (tensor<32xf32>, tensor<32xi1>, tensor<32xi1>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %m = %m0, %a = %a0, %o = %o0) : tensor<i32>, tensor<32xf32>, tensor<32xi1>, tensor<32xi1>
    cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<4x16x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>
    %y = stablehlo.reshape %xi : (tensor<1x16x32xf32>) -> tensor<16x32xf32>
    %pi = stablehlo.dynamic_slice %p, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<4x16x32xi1>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x32xi1>
    %q = stablehlo.reshape %pi : (tensor<1x16x32xi1>) -> tensor<16x32xi1>
    %high = stablehlo.constant dense<7.0> : tensor<f32>
    %true = stablehlo.constant dense<true> : tensor<i1>
    %false = stablehlo.constant dense<false> : tensor<i1>
    %low = stablehlo.reduce(%y init: %high) applies stablehlo.minimum across dimensions = [0] : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %all = stablehlo.reduce(%q init: %true) applies stablehlo.and across dimensions = [0] : (tensor<16x32xi1>, tensor<i1>) -> tensor<32xi1>
    %any = stablehlo.reduce(%q init: %false) applies stablehlo.or across dimensions = [0] : (tensor<16x32xi1>, tensor<i1>) -> tensor<32xi1>
    %m1 = stablehlo.minimum %m, %low : tensor<32xf32>
    %a1 = stablehlo.and %a, %all : tensor<32xi1>
    %o1 = stablehlo.or %o, %any : tensor<32xi1>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %m1, %a1, %o1 : tensor<i32>, tensor<32xf32>, tensor<32xi1>, tensor<32xi1>
  }
  return %r#1, %r#2, %r#3 : tensor<32xf32>, tensor<32xi1>, tensor<32xi1>
}
// -----
// products carried through a loop: the newest one where a predicate says so, else what was there
func.func public @main(%x: tensor<4x16x32xf32>, %p: tensor<32xi1>, %k0: tensor<32xf32>, %s0: tensor<2x32xf32>) -> (tensor<32xf32>, tensor<2x32xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %k = %k0, %s = %s0) : tensor<i32>, tensor<32xf32>, tensor<2x32xf32>
    cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<4x16x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>
    %y = stablehlo.reshape %xi : (tensor<1x16x32xf32>) -> tensor<16x32xf32>
    %c = stablehlo.constant dense<1.500000e+00> : tensor<f32>
    %t = stablehlo.reduce(%y init: %c) applies stablehlo.multiply across dimensions = [0] : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
    %u = stablehlo.reshape %t : (tensor<32xf32>) -> tensor<1x32xf32>
    %k1 = stablehlo.select %p, %t, %k : tensor<32xi1>, tensor<32xf32>
    %s1 = stablehlo.dynamic_update_slice %s, %u, %i, %zero : (tensor<2x32xf32>, tensor<1x32xf32>, tensor<i32>, tensor<i32>) -> tensor<2x32xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %k1, %s1 : tensor<i32>, tensor<32xf32>, tensor<2x32xf32>
  }
  return %r#1, %r#2 : tensor<32xf32>, tensor<2x32xf32>
}
// -----
// weights carried unchanged: by a loop, by the loop inside of it, used in both and after
func.func public @main(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16xf32>) -> (tensor<8x16xf32>, tensor<16x16xf32>, tensor<16xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %h = stablehlo.tanh %w : tensor<16x16xf32>
  %r:5 = stablehlo.while(%i = %zero, %n = %two, %a = %x, %m = %h, %c = %b) : tensor<i32>, tensor<i32>, tensor<8x16xf32>, tensor<16x16xf32>, tensor<16xf32>
    cond {
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %s:4 = stablehlo.while(%k = %zero, %u = %a, %v = %m, %e = %c) : tensor<i32>, tensor<8x16xf32>, tensor<16x16xf32>, tensor<16xf32>
      cond {
      %p = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %d = stablehlo.dot_general %u, %v, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
      %f = stablehlo.broadcast_in_dim %e, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
      %g = stablehlo.add %d, %f : tensor<8x16xf32>
      %t = stablehlo.tanh %g : tensor<8x16xf32>
      %l = stablehlo.add %k, %one : tensor<i32>
      stablehlo.return %l, %t, %v, %e : tensor<i32>, tensor<8x16xf32>, tensor<16x16xf32>, tensor<16xf32>
    }
    %y = stablehlo.dot_general %s#1, %m, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %n, %y, %s#2, %c : tensor<i32>, tensor<i32>, tensor<8x16xf32>, tensor<16x16xf32>, tensor<16xf32>
  }
  %q = stablehlo.negate %r#3 : tensor<16x16xf32>
  return %r#2, %q, %r#4 : tensor<8x16xf32>, tensor<16x16xf32>, tensor<16xf32>
}
// -----
// branches: case and if whose predicate comes from the data
func.func public @main(%x: tensor<8x16xf32>, %w: tensor<16x8xf32>, %k: tensor<i32>) -> (tensor<8x16xf32>, tensor<8x8xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
  %p = stablehlo.compare GT, %s, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %0 = "stablehlo.if"(%p) ({
    %a = stablehlo.tanh %x : tensor<8x16xf32>
    stablehlo.return %a : tensor<8x16xf32>
  }, {
    %b = stablehlo.negate %x : tensor<8x16xf32>
    stablehlo.return %b : tensor<8x16xf32>
  }) : (tensor<i1>) -> tensor<8x16xf32>
  %1 = "stablehlo.case"(%k) ({
    %a = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    stablehlo.return %a : tensor<8x8xf32>
  }, {
    %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %b = stablehlo.add %a, %a : tensor<8x8xf32>
    stablehlo.return %b : tensor<8x8xf32>
  }) : (tensor<i32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<8x8xf32>
}
// -----
// barrier: values held together
func.func public @main(%x: tensor<8x16xf32>, %w: tensor<16x8xf32>) -> (tensor<8x8xf32>, tensor<16x8xf32>) {
  %0:2 = stablehlo.optimization_barrier %x, %w : tensor<8x16xf32>, tensor<16x8xf32>
  %1 = stablehlo.dot_general %0#0, %0#1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.tanh %0#1 : tensor<16x8xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<16x8xf32>
}
// -----
// convolution: forward, and the two gradients as JAX writes them
func.func public @main(%x: tensor<8x6x6x8xf32>, %k: tensor<3x3x8x16xf32>, %g: tensor<8x6x6x16xf32>) -> (tensor<8x6x6x16xf32>, tensor<8x6x6x8xf32>, tensor<3x3x8x16xf32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x6x6x8xf32>, tensor<3x3x8x16xf32>) -> tensor<8x6x6x16xf32>
  %1 = stablehlo.reverse %k, dims = [0, 1] : tensor<3x3x8x16xf32>
  %2 = stablehlo.convolution(%g, %1) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x6x6x16xf32>, tensor<3x3x8x16xf32>) -> tensor<8x6x6x8xf32>
  %3 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x6x6x8xf32>, tensor<8x6x6x16xf32>) -> tensor<3x3x8x16xf32>
  return %0, %2, %3 : tensor<8x6x6x16xf32>, tensor<8x6x6x8xf32>, tensor<3x3x8x16xf32>
}
// -----
// grouped convolution: features and batch in groups
func.func public @main(%x: tensor<8x6x16xf32>, %k: tensor<3x2x16xf32>, %y: tensor<16x6x4xf32>, %l: tensor<3x4x16xf32>) -> (tensor<8x6x16xf32>, tensor<2x6x16xf32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 8 : i64} : (tensor<8x6x16xf32>, tensor<3x2x16xf32>) -> tensor<8x6x16xf32>
  %1 = stablehlo.convolution(%y, %l) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 8 : i64, feature_group_count = 1 : i64} : (tensor<16x6x4xf32>, tensor<3x4x16xf32>) -> tensor<2x6x16xf32>
  return %0, %1 : tensor<8x6x16xf32>, tensor<2x6x16xf32>
}
// -----
// batch norm: training, inference, gradient
func.func public @main(%x: tensor<8x4x16xf32>, %s: tensor<16xf32>, %o: tensor<16xf32>, %m: tensor<16xf32>, %v: tensor<16xf32>, %g: tensor<8x4x16xf32>) -> (tensor<8x4x16xf32>, tensor<16xf32>, tensor<8x4x16xf32>, tensor<8x4x16xf32>, tensor<16xf32>) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<8x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x4x16xf32>, tensor<16xf32>, tensor<16xf32>)
  %e = stablehlo.exponential %v : tensor<16xf32>
  %1 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<8x4x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<8x4x16xf32>
  %2:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %e, %g) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<8x4x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<8x4x16xf32>) -> (tensor<8x4x16xf32>, tensor<16xf32>, tensor<16xf32>)
  return %0#0, %0#1, %1, %2#0, %2#1 : tensor<8x4x16xf32>, tensor<16xf32>, tensor<8x4x16xf32>, tensor<8x4x16xf32>, tensor<16xf32>
}
// -----
// windows: pooling and its gradient
func.func public @main(%x: tensor<8x8x8xf32>, %s: tensor<8x4x8xf32>) -> (tensor<8x4x8xf32>, tensor<8x8x8xf32>) {
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %ninf) <{window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<8x8x8xf32>, tensor<f32>) -> tensor<8x4x8xf32>
  %1 = "stablehlo.select_and_scatter"(%x, %s, %z) <{window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<8x8x8xf32>, tensor<8x4x8xf32>, tensor<f32>) -> tensor<8x8x8xf32>
  return %0, %1 : tensor<8x4x8xf32>, tensor<8x8x8xf32>
}
// -----
// softmax: max, exponential, sum, divide
func.func public @main(%x: tensor<8x16x32xf32>) -> tensor<8x16x32xf32> {
  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %ninf) applies stablehlo.maximum across dimensions = [2] : (tensor<8x16x32xf32>, tensor<f32>) -> tensor<8x16xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<8x16xf32>) -> tensor<8x16x32xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<8x16x32xf32>
  %3 = stablehlo.exponential %2 : tensor<8x16x32xf32>
  %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [2] : (tensor<8x16x32xf32>, tensor<f32>) -> tensor<8x16xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<8x16xf32>) -> tensor<8x16x32xf32>
  %6 = stablehlo.divide %3, %5 : tensor<8x16x32xf32>
  return %6 : tensor<8x16x32xf32>
}
// -----
// donated state: an argument updated in place, grouped heads flattened and split
func.func public @main(%w: tensor<16x32xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8x4x16xf32>) -> (tensor<16x32xf32>, tensor<8x4x4x8xf32>) {
  %0 = stablehlo.reshape %x : (tensor<8x4x16xf32>) -> tensor<32x16xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x32xf32>) -> tensor<32x32xf32>
  %2 = stablehlo.reshape %1 : (tensor<32x32xf32>) -> tensor<8x4x4x8xf32>
  %3 = stablehlo.tanh %1 : tensor<32x32xf32>
  %4 = stablehlo.dot_general %0, %3, contracting_dims = [0] x [0] : (tensor<32x16xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
  %5 = stablehlo.subtract %w, %4 : tensor<16x32xf32>
  return %5, %2 : tensor<16x32xf32>, tensor<8x4x4x8xf32>
}
// -----
// known calls: the error function and top-k as custom calls
func.func public @main(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x4xf32>, tensor<8x4xi32>) {
  %0 = stablehlo.custom_call @mhlo.erf(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1, %2 = chlo.top_k(%x, k = 4) : tensor<8x16xf32> -> (tensor<8x4xf32>, tensor<8x4xi32>)
  return %0, %1, %2 : tensor<8x16xf32>, tensor<8x4xf32>, tensor<8x4xi32>
}
// -----
// linear algebra over batches
func.func public @main(%a: tensor<8x4x4xf32>, %b: tensor<8x4x8xf32>) -> tensor<8x4x8xf32> {
  %t = stablehlo.transpose %a, dims = [0, 2, 1] : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
  %p = stablehlo.dot_general %a, %t, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
  %i = stablehlo.iota dim = 1 : tensor<8x4x4xi32>
  %j = stablehlo.iota dim = 2 : tensor<8x4x4xi32>
  %d = stablehlo.compare EQ, %i, %j, SIGNED : (tensor<8x4x4xi32>, tensor<8x4x4xi32>) -> tensor<8x4x4xi1>
  %one = stablehlo.constant dense<4.0> : tensor<8x4x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<8x4x4xf32>
  %e = stablehlo.select %d, %one, %zero : tensor<8x4x4xi1>, tensor<8x4x4xf32>
  %q = stablehlo.add %p, %e : tensor<8x4x4xf32>
  %l = stablehlo.cholesky %q, lower = true : tensor<8x4x4xf32>
  %s = "stablehlo.triangular_solve"(%l, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<8x4x4xf32>, tensor<8x4x8xf32>) -> tensor<8x4x8xf32>
  return %s : tensor<8x4x8xf32>
}
// -----
// booleans and bits reduced, then used elsewhere
func.func public @main(%p: tensor<8x16x8xi1>, %i: tensor<8x16x8xi32>, %a: tensor<16x8xf32>, %b: tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xi32>, tensor<16x8xf32>) {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %ones = stablehlo.constant dense<-1> : tensor<i32>
  %big = stablehlo.constant dense<1000> : tensor<i32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reduce(%p init: %true) applies stablehlo.and across dimensions = [0] : (tensor<8x16x8xi1>, tensor<i1>) -> tensor<16x8xi1>
  %1 = stablehlo.reduce(%p init: %false) applies stablehlo.or across dimensions = [0] : (tensor<8x16x8xi1>, tensor<i1>) -> tensor<16x8xi1>
  %2 = stablehlo.select %0, %a, %b : tensor<16x8xi1>, tensor<16x8xf32>
  %3 = stablehlo.select %1, %b, %a : tensor<16x8xi1>, tensor<16x8xf32>
  %4 = stablehlo.reduce(%i init: %big) applies stablehlo.minimum across dimensions = [0] : (tensor<8x16x8xi32>, tensor<i32>) -> tensor<16x8xi32>
  %5 = stablehlo.reduce(%i init: %ones) applies stablehlo.and across dimensions = [0] : (tensor<8x16x8xi32>, tensor<i32>) -> tensor<16x8xi32>
  %6 = stablehlo.subtract %4, %5 : tensor<16x8xi32>
  %7 = stablehlo.convert %i : (tensor<8x16x8xi32>) -> tensor<8x16x8xf32>
  %8 = stablehlo.reduce(%7 init: %one) applies stablehlo.multiply across dimensions = [0] : (tensor<8x16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
  %9 = stablehlo.add %8, %a : tensor<16x8xf32>
  return %2, %3, %6, %9 : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xi32>, tensor<16x8xf32>
}
// -----
// empty tensors: joined, padded, contracted, summed, passed in and out
func.func public @main(%a: tensor<8x16xf32>, %e: tensor<8x0xf32>, %s: tensor<f32>, %w: tensor<0x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<8x0xf32>, tensor<0x16xf32>) {
  %c = stablehlo.constant dense<1.500000e+00> : tensor<f32>
  %0 = stablehlo.slice %a [0:8, 16:16] : (tensor<8x16xf32>) -> tensor<8x0xf32>
  %1 = stablehlo.add %0, %e : tensor<8x0xf32>
  %2 = stablehlo.concatenate %1, %a, dim = 1 : (tensor<8x0xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %3 = stablehlo.pad %1, %s, low = [0, 16], high = [0, 0], interior = [0, 1] : (tensor<8x0xf32>, tensor<f32>) -> tensor<8x16xf32>
  %4 = stablehlo.dot_general %e, %w, contracting_dims = [1] x [0] : (tensor<8x0xf32>, tensor<0x16xf32>) -> tensor<8x16xf32>
  %5 = stablehlo.add %4, %2 : tensor<8x16xf32>
  %6 = stablehlo.reduce(%e init: %c) applies stablehlo.add across dimensions = [1] : (tensor<8x0xf32>, tensor<f32>) -> tensor<8xf32>
  %7 = stablehlo.tanh %w : tensor<0x16xf32>
  return %5, %3, %2, %6, %e, %7 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<8x0xf32>, tensor<0x16xf32>
}
