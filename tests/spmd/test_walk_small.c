/* Small programs, one rule of the walk each; all of them also proved on random plans by interpretation. */
/* timeout: 120 */
#include "walk_support.h"

#include "spmd/emit.h"
#include "verify/prove.h"

static const char residual[] =
    "func.func @main(%x: tensor<16x32xf32>, %a: tensor<32x8xf32>, %y: tensor<16x64xf32>, %b: tensor<64x8xf32>)"
    " -> tensor<16x8xf32> {\n"
    "  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x8xf32>) -> "
    "tensor<16x8xf32>\n"
    "  %1 = stablehlo.dot_general %y, %b, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x8xf32>) -> "
    "tensor<16x8xf32>\n"
    "  %2 = stablehlo.add %0, %1 : tensor<16x8xf32>\n"
    "  %3 = stablehlo.tanh %2 : tensor<16x8xf32>\n"
    "  return %3 : tensor<16x8xf32>\n}\n";

/* one value of the two is used elsewhere: it must be whole there, so the add cannot wait for it */
static const char residual_used[] =
    "func.func @main(%x: tensor<16x32xf32>, %a: tensor<32x8xf32>, %y: tensor<16x64xf32>, %b: tensor<64x8xf32>)"
    " -> (tensor<16x8xf32>, tensor<16x8xf32>) {\n"
    "  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x8xf32>) -> "
    "tensor<16x8xf32>\n"
    "  %1 = stablehlo.dot_general %y, %b, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x8xf32>) -> "
    "tensor<16x8xf32>\n"
    "  %2 = stablehlo.add %0, %1 : tensor<16x8xf32>\n"
    "  %3 = stablehlo.tanh %0 : tensor<16x8xf32>\n"
    "  return %2, %3 : tensor<16x8xf32>, tensor<16x8xf32>\n}\n";

static const char maxima[] =
    "func.func @main(%x: tensor<16x32xf32>, %y: tensor<16x64xf32>) -> tensor<16xf32> {\n"
    "  %cst = stablehlo.constant dense<-3.0> : tensor<f32>\n"
    "  %0 = stablehlo.reduce(%x init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<16x32xf32>, "
    "tensor<f32>) -> tensor<16xf32>\n"
    "  %1 = stablehlo.reduce(%y init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<16x64xf32>, "
    "tensor<f32>) -> tensor<16xf32>\n"
    "  %2 = stablehlo.maximum %0, %1 : tensor<16xf32>\n"
    "  return %2 : tensor<16xf32>\n}\n";

static const char sum_from_one[] =
    "func.func @main(%x: tensor<16x32xf32>, %init: tensor<f32>) -> tensor<16xf32> {\n"
    "  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [1] : (tensor<16x32xf32>, "
    "tensor<f32>) -> tensor<16xf32>\n"
    "  return %0 : tensor<16xf32>\n}\n";

static const char scatter_add[] =
    "func.func @main(%t: tensor<24x8xf32>, %i: tensor<16x1xi32>, %u: tensor<16x8xf32>) -> tensor<24x8xf32> {\n"
    "  %0 = \"stablehlo.scatter\"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
    "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, "
    "unique_indices = false}> ({\n"
    "  ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
    "    %s = stablehlo.add %p, %q : tensor<f32>\n"
    "    stablehlo.return %s : tensor<f32>\n"
    "  }) : (tensor<24x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<24x8xf32>\n"
    "  return %0 : tensor<24x8xf32>\n}\n";

/* the weight comes from outside the loop: gathered once, before it */
static const char loop[] =
    "func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x32xf32>) -> tensor<16x32xf32> {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<16x32xf32>\n"
    "    cond {\n"
    "    %n = stablehlo.constant dense<5> : tensor<i32>\n"
    "    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    %d = stablehlo.dot_general %v, %w, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x32xf32>) -> "
    "tensor<16x32xf32>\n"
    "    %t = stablehlo.tanh %d : tensor<16x32xf32>\n"
    "    stablehlo.return %j, %t : tensor<i32>, tensor<16x32xf32>\n"
    "  }\n"
    "  return %r#1 : tensor<16x32xf32>\n}\n";

static const char branches[] =
    "func.func @main(%k: tensor<i32>, %x: tensor<16x32xf32>, %w: tensor<32x32xf32>) -> tensor<16x32xf32> {\n"
    "  %0 = \"stablehlo.case\"(%k) ({\n"
    "    %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x32xf32>) -> "
    "tensor<16x32xf32>\n"
    "    stablehlo.return %a : tensor<16x32xf32>\n"
    "  }, {\n"
    "    %b = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<16x32xf32>, tensor<32x32xf32>) -> "
    "tensor<16x32xf32>\n"
    "    stablehlo.return %b : tensor<16x32xf32>\n"
    "  }, {\n"
    "    stablehlo.return %x : tensor<16x32xf32>\n"
    "  }) : (tensor<i32>) -> tensor<16x32xf32>\n"
    "  %1 = stablehlo.tanh %0 : tensor<16x32xf32>\n"
    "  return %1 : tensor<16x32xf32>\n}\n";

/* bf16 widened and repeated before a use that wants it whole: only the bf16 vector travels */
static const char hoist[] =
    "func.func @main(%x: tensor<32xbf16>, %y: tensor<32x64xf32>) -> tensor<64x8xf32> {\n"
    "  %0 = stablehlo.convert %x : (tensor<32xbf16>) -> tensor<32xf32>\n"
    "  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<32xf32>) -> tensor<32x8xf32>\n"
    "  %2 = stablehlo.dot_general %y, %1, contracting_dims = [0] x [0] : (tensor<32x64xf32>, tensor<32x8xf32>) -> "
    "tensor<64x8xf32>\n"
    "  return %2 : tensor<64x8xf32>\n}\n";

/* a dimension split and joined again: sharding the inner part leaves blocks that the boundary must put in order */
static const char inner[] =
    "func.func @main(%x: tensor<64x4xf32>) -> (tensor<64x4xf32>, tensor<8x4xf32>) {\n"
    "  %0 = stablehlo.reshape %x : (tensor<64x4xf32>) -> tensor<8x8x4xf32>\n"
    "  %cst = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<8x8x4xf32>, "
    "tensor<f32>) -> tensor<8x4xf32>\n"
    "  %2 = stablehlo.tanh %0 : tensor<8x8x4xf32>\n"
    "  %3 = stablehlo.reshape %2 : (tensor<8x8x4xf32>) -> tensor<64x4xf32>\n"
    "  return %3, %1 : tensor<64x4xf32>, tensor<8x4xf32>\n}\n";

/* fused projections: the axis divides the inner atom of 3 x 8 only; stored in blocks of 6 that cross its borders.
 * Large enough for an exchange with the other dim to beat gathering */
static const char across[] =
    "func.func @main(%x: tensor<24x2048xf32>) -> (tensor<24x2048xf32>, tensor<8x2048xf32>) {\n"
    "  %0 = stablehlo.reshape %x : (tensor<24x2048xf32>) -> tensor<3x8x2048xf32>\n"
    "  %cst = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<3x8x2048xf32>, "
    "tensor<f32>) -> tensor<8x2048xf32>\n"
    "  %2 = stablehlo.tanh %0 : tensor<3x8x2048xf32>\n"
    "  %3 = stablehlo.reshape %2 : (tensor<3x8x2048xf32>) -> tensor<24x2048xf32>\n"
    "  return %3, %1 : tensor<24x2048xf32>, tensor<8x2048xf32>\n}\n";

static const char barrier[] =
    "func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x32xf32>) -> (tensor<16x32xf32>, tensor<32x32xf32>) {\n"
    "  %0:2 = stablehlo.optimization_barrier %x, %w : tensor<16x32xf32>, tensor<32x32xf32>\n"
    "  %1 = stablehlo.dot_general %0#0, %0#1, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x32xf32>) -> "
    "tensor<16x32xf32>\n"
    "  %2 = stablehlo.transpose %0#1, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>\n"
    "  return %1, %2 : tensor<16x32xf32>, tensor<32x32xf32>\n}\n";

/* partial sums through scaling, negation, selection and layout, to a use that wants them whole */
static const char linear[] =
    "func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x8xf32>, %v: tensor<32x8xf32>, %s: tensor<f32>, "
    "%m: tensor<16x8xi1>) -> tensor<8x16xf32> {\n"
    "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x8xf32>) -> "
    "tensor<16x8xf32>\n"
    "  %1 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x8xf32>) -> "
    "tensor<16x8xf32>\n"
    "  %2 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<16x8xf32>\n"
    "  %3 = stablehlo.multiply %0, %2 : tensor<16x8xf32>\n"
    "  %4 = stablehlo.negate %1 : tensor<16x8xf32>\n"
    "  %5 = stablehlo.select %m, %3, %4 : tensor<16x8xi1>, tensor<16x8xf32>\n"
    "  %6 = stablehlo.transpose %5, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>\n"
    "  %7 = stablehlo.exponential %6 : tensor<8x16xf32>\n"
    "  return %7 : tensor<8x16xf32>\n}\n";

/* two reshapes of one value that is also used as it is (as front ends without common subexpressions write it) */
static const char reshapes[] =
    "func.func @main(%x: tensor<4x8x16xf32>, %v: tensor<16x8xf32>, %w: tensor<16x8xf32>) -> (tensor<32x8xf32>, "
    "tensor<32x8xf32>, tensor<4x8x16xf32>) {\n"
    "  %t = stablehlo.tanh %x : tensor<4x8x16xf32>\n"
    "  %0 = stablehlo.reshape %t : (tensor<4x8x16xf32>) -> tensor<32x16xf32>\n"
    "  %1 = stablehlo.dot_general %0, %v, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x8xf32>) -> "
    "tensor<32x8xf32>\n"
    "  %2 = stablehlo.reshape %t : (tensor<4x8x16xf32>) -> tensor<32x16xf32>\n"
    "  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x8xf32>) -> "
    "tensor<32x8xf32>\n"
    "  return %1, %3, %t : tensor<32x8xf32>, tensor<32x8xf32>, tensor<4x8x16xf32>\n}\n";

/* gradient accumulation over four microbatches: a weight's and a bias's, from initial values that are not zero */
#define ACCUMULATE_BODY                                                                                            \
    "    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<4x16x32xf32>, tensor<i32>, " \
    "tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>\n"                                                          \
    "    %m = stablehlo.reshape %xi : (tensor<1x16x32xf32>) -> tensor<16x32xf32>\n"                                 \
    "    %d = stablehlo.dot_general %m, %w, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x8xf32>) -> " \
    "tensor<16x8xf32>\n"                                                                                          \
    "    %t = stablehlo.tanh %d : tensor<16x8xf32>\n"                                                               \
    "    %gw = stablehlo.dot_general %m, %t, contracting_dims = [0] x [0] : (tensor<16x32xf32>, tensor<16x8xf32>) -> " \
    "tensor<32x8xf32>\n"                                                                                          \
    "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"                                                        \
    "    %gb = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16x8xf32>, "     \
    "tensor<f32>) -> tensor<8xf32>\n"                                                                             \
    "    %p = stablehlo.add %a, %gw : tensor<32x8xf32>\n"                                                           \
    "    %q = stablehlo.add %b, %gb : tensor<8xf32>\n"                                                              \
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"                                                        \
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
#define COUNT_TO(n)                                                                                                \
    "    %n = stablehlo.constant dense<" n "> : tensor<i32>\n"                                                      \
    "    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"                    \
    "    stablehlo.return %c : tensor<i1>\n"
#define ACCUMULATE_INPUTS "%x: tensor<4x16x32xf32>, %w: tensor<32x8xf32>, %a0: tensor<32x8xf32>, %b0: tensor<8xf32>"

static const char accumulate[] =
    "func.func @main(" ACCUMULATE_INPUTS ") -> (tensor<32x8xf32>, tensor<8xf32>) {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %r:3 = stablehlo.while(%i = %zero, %a = %a0, %b = %b0) : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>\n"
    "    cond {\n" COUNT_TO("4") "  } do {\n" ACCUMULATE_BODY
    "    stablehlo.return %j, %p, %q : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>\n"
    "  }\n"
    "  %s = stablehlo.multiply %r#1, %w : tensor<32x8xf32>\n"
    "  %u = stablehlo.tanh %r#2 : tensor<8xf32>\n"
    "  return %s, %u : tensor<32x8xf32>, tensor<8xf32>\n}\n";

/* the same, but every iteration looks at the weight's sum so far: that one must be whole there */
static const char accumulate_seen[] =
    "func.func @main(" ACCUMULATE_INPUTS ", %v0: tensor<32x8xf32>) -> (tensor<32x8xf32>, tensor<8xf32>, tensor<32x8xf32>) {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %r:4 = stablehlo.while(%i = %zero, %a = %a0, %b = %b0, %v = %v0) : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>, "
    "tensor<32x8xf32>\n"
    "    cond {\n" COUNT_TO("4") "  } do {\n" ACCUMULATE_BODY
    "    %h = stablehlo.tanh %p : tensor<32x8xf32>\n"
    "    stablehlo.return %j, %p, %q, %h : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>, tensor<32x8xf32>\n"
    "  }\n"
    "  return %r#1, %r#2, %r#3 : tensor<32x8xf32>, tensor<8xf32>, tensor<32x8xf32>\n}\n";

/* two loops: the inner one goes on from where the outer one stands; a further sum starts from zeros inside and is added
 * by the outer loop */
static const char accumulate_nested[] =
    "func.func @main(" ACCUMULATE_INPUTS ") -> (tensor<32x8xf32>, tensor<8xf32>) {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %o:3 = stablehlo.while(%i = %zero, %oa = %a0, %ob = %b0) : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>\n"
    "    cond {\n" COUNT_TO("3") "  } do {\n"
    "    %zeros = stablehlo.constant dense<0.0> : tensor<8xf32>\n"
    "    %r:3 = stablehlo.while(%i1 = %zero, %a = %oa, %b = %zeros) : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>\n"
    "      cond {\n"
    "      %n = stablehlo.constant dense<2> : tensor<i32>\n"
    "      %c = stablehlo.compare LT, %i1, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "      stablehlo.return %c : tensor<i1>\n"
    "    } do {\n" ACCUMULATE_BODY
    "      %j1 = stablehlo.add %i1, %one : tensor<i32>\n"
    "      stablehlo.return %j1, %p, %q : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>\n"
    "    }\n"
    "    %nb = stablehlo.subtract %ob, %r#2 : tensor<8xf32>\n"
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    stablehlo.return %j, %r#1, %nb : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>\n"
    "  }\n"
    "  %s = stablehlo.tanh %o#1 : tensor<32x8xf32>\n"
    "  return %s, %o#2 : tensor<32x8xf32>, tensor<8xf32>\n}\n";

/* scanned layers: the inner loop writes each layer's gradient into its place of a stack, the outer one adds the stacks */
static const char accumulate_stacks[] =
    "func.func @main(%x: tensor<4x16x32xf32>, %w: tensor<3x32x8xf32>, %s0: tensor<3x32x8xf32>) -> tensor<3x32x8xf32> {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %o:2 = stablehlo.while(%i = %zero, %s = %s0) : tensor<i32>, tensor<3x32x8xf32>\n"
    "    cond {\n" COUNT_TO("4") "  } do {\n"
    "    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<4x16x32xf32>, tensor<i32>, "
    "tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>\n"
    "    %m = stablehlo.reshape %xi : (tensor<1x16x32xf32>) -> tensor<16x32xf32>\n"
    "    %empty = stablehlo.constant dense<0.0> : tensor<3x32x8xf32>\n"
    "    %r:2 = stablehlo.while(%k = %zero, %stack = %empty) : tensor<i32>, tensor<3x32x8xf32>\n"
    "      cond {\n"
    "      %n = stablehlo.constant dense<3> : tensor<i32>\n"
    "      %c = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "      stablehlo.return %c : tensor<i1>\n"
    "    } do {\n"
    "      %wk = stablehlo.dynamic_slice %w, %k, %zero, %zero, sizes = [1, 32, 8] : (tensor<3x32x8xf32>, tensor<i32>, "
    "tensor<i32>, tensor<i32>) -> tensor<1x32x8xf32>\n"
    "      %v = stablehlo.reshape %wk : (tensor<1x32x8xf32>) -> tensor<32x8xf32>\n"
    "      %d = stablehlo.dot_general %m, %v, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x8xf32>) -> "
    "tensor<16x8xf32>\n"
    "      %t = stablehlo.tanh %d : tensor<16x8xf32>\n"
    "      %g = stablehlo.dot_general %m, %t, contracting_dims = [0] x [0] : (tensor<16x32xf32>, tensor<16x8xf32>) -> "
    "tensor<32x8xf32>\n"
    "      %b = stablehlo.broadcast_in_dim %g, dims = [1, 2] : (tensor<32x8xf32>) -> tensor<1x32x8xf32>\n"
    "      %u = stablehlo.dynamic_update_slice %stack, %b, %k, %zero, %zero : (tensor<3x32x8xf32>, tensor<1x32x8xf32>, "
    "tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x32x8xf32>\n"
    "      %one1 = stablehlo.constant dense<1> : tensor<i32>\n"
    "      %k1 = stablehlo.add %k, %one1 : tensor<i32>\n"
    "      stablehlo.return %k1, %u : tensor<i32>, tensor<3x32x8xf32>\n"
    "    }\n"
    "    %p = stablehlo.add %s, %r#1 : tensor<3x32x8xf32>\n"
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    stablehlo.return %j, %p : tensor<i32>, tensor<3x32x8xf32>\n"
    "  }\n"
    "  return %o#1 : tensor<3x32x8xf32>\n}\n";

/* a largest value so far; and a sum that the condition reads, which must be whole in every iteration */
static const char running_max[] =
    "func.func @main(%x: tensor<4x16x32xf32>, %m0: tensor<32xf32>) -> (tensor<32xf32>, tensor<f32>) {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %zf = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %r:3 = stablehlo.while(%i = %zero, %m = %m0, %s = %zf) : tensor<i32>, tensor<32xf32>, tensor<f32>\n"
    "    cond {\n"
    "    %n = stablehlo.constant dense<4> : tensor<i32>\n"
    "    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    %most = stablehlo.constant dense<1.0e30> : tensor<f32>\n"
    "    %k = stablehlo.compare LT, %s, %most, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    %b = stablehlo.and %c, %k : tensor<i1>\n"
    "    stablehlo.return %b : tensor<i1>\n"
    "  } do {\n"
    "    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<4x16x32xf32>, tensor<i32>, "
    "tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>\n"
    "    %y = stablehlo.reshape %xi : (tensor<1x16x32xf32>) -> tensor<16x32xf32>\n"
    "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %low = stablehlo.constant dense<-7.0> : tensor<f32>\n"
    "    %top = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<16x32xf32>, "
    "tensor<f32>) -> tensor<32xf32>\n"
    "    %sum = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x32xf32>, "
    "tensor<f32>) -> tensor<f32>\n"
    "    %p = stablehlo.maximum %m, %top : tensor<32xf32>\n"
    "    %q = stablehlo.add %s, %sum : tensor<f32>\n"
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    stablehlo.return %j, %p, %q : tensor<i32>, tensor<32xf32>, tensor<f32>\n"
    "  }\n"
    "  return %r#1, %r#2 : tensor<32xf32>, tensor<f32>\n}\n";

static void open_small(struct model *m, const char *text, const char *mesh)
{
    model_text(m, text, strlen(text), mesh);
}

/* shards dimension `dim` of argument `argument`, and all that is named with it, over an axis */
static void shard(struct model *m, struct plan *p, uint32_t argument, uint32_t dim, uint8_t axis)
{
    struct plan_decision d = {.group = model_group(m, argument, dim), .axis = axis, .scope = PLAN_SCOPE_ALL};

    assert_true(plan_apply(m->context, p, d) > 0);
}

static const struct spmd_step *only_step(const struct model *m, enum spmd_step_kind kind)
{
    const struct spmd_step *found = NULL;

    for (uint32_t i = 0; i < m->local.step_count; i++)
        if (m->local.steps[i].kind == kind) {
            assert_null(found);
            found = &m->local.steps[i];
        }
    assert_non_null(found);
    return found;
}

static int64_t count(const struct model *m, enum spmd_step_kind kind)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < m->local.step_count; i++)
        n += m->local.steps[i].kind == kind;
    return n;
}

static void test_deferral(void **state)
{
    struct model m;
    struct plan p = {0};

    (void)state;
    open_small(&m, residual, "a=4");
    struct spmd_options o = spmd_default_options(&m.mesh);
    o.combine_bytes = 1;
    plan_init(&p, m.nda, &m.mesh);
    shard(&m, &p, 0, 1, 0);
    shard(&m, &p, 2, 1, 0);
    model_walk(&m, &p, &o);
    assert_int_equal(count(&m, SPMD_ALL_REDUCE), 1);
    assert_int_equal(m.nda->program->ops[only_step(&m, SPMD_ALL_REDUCE)->op].code, IR_ADD);
    o.defer_partials = 0;
    model_walk(&m, &p, &o);
    assert_int_equal(count(&m, SPMD_ALL_REDUCE), 2);
    o.combine_bytes = 0;   /* independent and of one group: one tuple op */
    model_walk(&m, &p, &o);
    assert_int_equal(model_count(&m, SPMD_ALL_REDUCE, NULL), 1);
    plan_release(&p);
    model_close(&m);

    open_small(&m, residual_used, "a=4");
    memset(&p, 0, sizeof p);
    plan_init(&p, m.nda, &m.mesh);
    o = spmd_default_options(&m.mesh);
    o.combine_bytes = 1;
    shard(&m, &p, 0, 1, 0);
    shard(&m, &p, 2, 1, 0);
    model_walk(&m, &p, &o);
    assert_int_equal(count(&m, SPMD_ALL_REDUCE), 2);
    plan_release(&p);
    model_close(&m);
}

static void test_linear(void **state)
{
    struct model m;
    struct plan p = {0};

    (void)state;
    open_small(&m, linear, "a=4");
    plan_init(&p, m.nda, &m.mesh);
    shard(&m, &p, 0, 1, 0);
    model_walk(&m, &p, NULL);
    const struct spmd_step *s = only_step(&m, SPMD_ALL_REDUCE);
    assert_int_equal(m.nda->program->ops[s->op].code, IR_TRANSPOSE);
    plan_release(&p);
    model_close(&m);
}

static void test_maxima(void **state)
{
    struct model m;
    struct plan p = {0};

    (void)state;
    open_small(&m, maxima, "a=4");
    plan_init(&p, m.nda, &m.mesh);
    shard(&m, &p, 0, 1, 0);
    shard(&m, &p, 1, 1, 0);
    model_walk(&m, &p, NULL);
    assert_int_equal(only_step(&m, SPMD_ALL_REDUCE)->reducer, NDA_REDUCE_MAX);
    for (uint32_t i = 0; i < m.local.step_count; i++)
        assert_int_equal(m.local.steps[i].mask_initial, 0);   /* max counts an init as often as it likes */
    plan_release(&p);
    model_close(&m);
}

static void test_initial_values(void **state)
{
    static const struct {
        const char *text;
        uint32_t argument, dim;
    } cases[] = {{sum_from_one, 0, 1}, {scatter_add, 1, 0}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct model m;
        struct plan p = {0};
        uint32_t masked = 0;
        open_small(&m, cases[i].text, "a=4");
        plan_init(&p, m.nda, &m.mesh);
        shard(&m, &p, cases[i].argument, cases[i].dim, 0);
        model_walk(&m, &p, NULL);
        (void)only_step(&m, SPMD_ALL_REDUCE);
        for (uint32_t k = 0; k < m.local.step_count; k++)
            masked += m.local.steps[k].mask_initial;
        assert_int_equal(masked, 1);
        plan_release(&p);
        model_close(&m);
    }
}

/* FSDP of a loop's weight: batch and storage on one axis, so the weight is gathered, and before the loop. */
static void test_loop(void **state)
{
    struct model m;
    struct plan p = {0};

    (void)state;
    open_small(&m, loop, "a=4");
    plan_init(&p, m.nda, &m.mesh);
    shard(&m, &p, 0, 0, 0);
    shard(&m, &p, 1, 0, 0);
    model_walk(&m, &p, NULL);
    const struct spmd_step *s = only_step(&m, SPMD_ALL_GATHER);
    assert_int_equal(s->depth, 0);
    assert_int_equal(s->trips, 1);
    assert_int_equal(m.local.values[s->results].bytes, 32 * 32 * 4);
    for (uint32_t i = 0; i < m.local.step_count; i++)
        if (m.local.steps[i].kind == SPMD_OP && m.nda->program->ops[m.local.steps[i].op].code == IR_DOT_GENERAL)
            assert_int_equal(m.local.steps[i].trips, 5);
    plan_release(&p);
    model_close(&m);
}

/* all_reduces of the batch-sharded program, uncombined, by where they stand: in no loop, in loops */
static void expect_reductions(const char *text, uint32_t outside, uint32_t inside, uint32_t masks, uint32_t masked)
{
    struct model m;
    struct plan p = {0};
    uint32_t found[2] = {0}, seen[2] = {0};

    open_small(&m, text, "a=4");
    for (uint32_t op = 0; op < m.nda->program->op_count; op++)
        m.nda->trip_count[op] += m.nda->trip_count[op] ? 0 : 4;   /* as the request's trip_counts would say */
    struct spmd_options o = spmd_default_options(&m.mesh);
    o.combine_bytes = 1;
    plan_init(&p, m.nda, &m.mesh);
    shard(&m, &p, 0, 1, 0);
    model_walk(&m, &p, &o);
    for (uint32_t i = 0; i < m.local.step_count; i++) {
        const struct spmd_step *s = &m.local.steps[i];
        if (s->kind == SPMD_ALL_REDUCE)
            found[s->trips > 1]++;
        seen[0] += s->kind == SPMD_MASK;
        seen[1] += s->kind == SPMD_MASK && s->mask_initial;
        if (s->kind == SPMD_ALL_REDUCE && s->trips == 1)   /* charged to what the body adds, not to the loop */
            assert_true(m.nda->program->ops[s->op].code != IR_WHILE);
    }
    assert_int_equal(found[0], outside);
    assert_int_equal(found[1], inside);
    assert_int_equal(seen[0], masks);
    assert_int_equal(seen[1], masked);
    o.defer_partials = 0;   /* as it was: every iteration reduces what it adds */
    model_walk(&m, &p, &o);
    assert_int_equal(count(&m, SPMD_MASK), 0);
    for (uint32_t i = 0; i < m.local.step_count; i++)
        if (m.local.steps[i].kind == SPMD_ALL_REDUCE)
            assert_true(m.local.steps[i].trips > 1);
    plan_release(&p);
    model_close(&m);
}

/* One reduction a carried sum, after the loop; its initial value on one device only. */
static void test_accumulation(void **state)
{
    (void)state;
    expect_reductions(accumulate, 2, 0, 2, 2);
    expect_reductions(accumulate_seen, 1, 1, 1, 1);
    expect_reductions(accumulate_nested, 2, 0, 3, 2);   /* the inner sum starts from zeros */
    expect_reductions(accumulate_stacks, 1, 0, 2, 1);   /* where each layer of each microbatch had one */
    expect_reductions(running_max, 1, 1, 1, 0);         /* max counts its initial value as often as it likes */
}

/* The plan shards the carried sum over the same axis: scattered in every iteration, for the memory that saves. */
static void test_accumulation_sharded(void **state)
{
    struct model m;
    struct plan p = {0};

    (void)state;
    open_small(&m, accumulate, "a=4");
    plan_init(&p, m.nda, &m.mesh);
    shard(&m, &p, 0, 1, 0);
    shard(&m, &p, 2, 0, 0);
    model_walk(&m, &p, NULL);
    const struct spmd_step *s = only_step(&m, SPMD_REDUCE_SCATTER);
    assert_int_equal(s->trips, 4);
    assert_int_equal(count(&m, SPMD_MASK), 1);   /* the bias's sum */
    plan_release(&p);
    model_close(&m);
}

static void test_hoist(void **state)
{
    struct model m;
    struct plan p = {0};

    (void)state;
    open_small(&m, hoist, "a=4");
    plan_init(&p, m.nda, &m.mesh);
    shard(&m, &p, 1, 1, 0);   /* the dot's free dimension first: the contracted one has no room for the axis there */
    shard(&m, &p, 0, 0, 0);
    model_walk(&m, &p, NULL);
    const struct spmd_step *s = only_step(&m, SPMD_ALL_GATHER);
    assert_int_equal(m.local.values[s->results].bytes, 32 * 2);
    assert_int_equal(m.local.values[s->results].origin, m.nda->arguments[0].value);
    plan_release(&p);
    model_close(&m);
}

/* gathered before the reshapes, once for both of them */
static void test_reshapes(void **state)
{
    struct model m;
    struct plan p = {0};

    (void)state;
    open_small(&m, reshapes, "a=4");
    plan_init(&p, m.nda, &m.mesh);
    shard(&m, &p, 1, 1, 0);   /* the dots' columns first: their rows have no room for the axis */
    if (model_group(&m, 2, 1) != model_group(&m, 1, 1))
        shard(&m, &p, 2, 1, 0);
    shard(&m, &p, 0, 0, 0);
    model_walk(&m, &p, NULL);
    const struct spmd_step *s = only_step(&m, SPMD_ALL_GATHER);
    assert_int_equal(m.local.values[s->results].bytes, 4 * 8 * 16 * 4);
    assert_int_equal(m.nda->program->ops[m.nda->program->values[m.local.values[s->results].origin].op].code, IR_TANH);
    plan_release(&p);
    model_close(&m);
}

static void test_inner_atom(void **state)
{
    struct model m;
    uint32_t sharded = 0;

    (void)state;
    open_small(&m, inner, "a=4");
    const struct nda *n = m.nda;
    for (uint32_t s = 0; s < n->space_count; s++) {
        if (n->spaces[s].kind != NDA_SPACE_OP || n->program->ops[n->spaces[s].op].code != IR_TANH)
            continue;
        struct plan p = {0};
        plan_init(&p, n, &m.mesh);
        sharded += plan_apply_factor(m.context, &p, s, 1, 0);   /* the second of the two atoms of 64 */
        model_walk(&m, &p, NULL);
        assert_int_equal(count(&m, SPMD_SLICE), 1);              /* in: every device has all of x */
        assert_int_equal(count(&m, SPMD_ALL_GATHER), 1);         /* out */
        plan_release(&p);
    }
    assert_int_equal(sharded, 1);
    model_close(&m);
}

static void test_across_atoms(void **state)
{
    struct model m;
    struct error e = {0};

    (void)state;
    open_small(&m, across, "a=4");
    struct plan p = {0};
    plan_init(&p, m.nda, &m.mesh);
    uint32_t x = m.nda->arguments[0].space, out = m.nda->result_spaces[0];
    assert_int_equal(plan_apply_factor(m.context, &p, x, 1, 0), 1);   /* 8 of 3 x 8 */
    assert_int_equal(plan_apply_factor(m.context, &p, out, 1, 0), 1);
    for (uint32_t i = 0; i < m.nda->space_count; i++)
        if (m.nda->spaces[i].kind == NDA_SPACE_OP && (m.nda->program->ops[m.nda->spaces[i].op].code == IR_TANH ||
                                                      m.nda->program->ops[m.nda->spaces[i].op].code == IR_RESHAPE))
            assert_int_equal(plan_apply_factor(m.context, &p, i, 1, 0), 1);
    model_walk(&m, &p, NULL);
    ASSERT_OK(spmd_local_check(&m.local, &e), &e);
    assert_int_equal(count(&m, SPMD_ALL_TO_ALL), 4);   /* two in, two out: the other dim has room */
    const struct spmd_step *last = &m.local.steps[m.local.step_count - 1];
    const struct spmd_value *result = &m.local.values[m.local.operands[last->operands]];
    assert_int_equal(m.local.values[0].form.at[0], SPMD_WHOLE);
    assert_int_equal(m.local.values[0].bytes, 24 * 2048 * 4 / 4);
    assert_int_equal(result->form.at[0], SPMD_WHOLE);
    assert_int_equal(result->bytes, 24 * 2048 * 4 / 4);
    plan_release(&p);
    model_close(&m);
}

static const struct {
    const char *name, *text;
} programs[] = {{"residual", residual}, {"residual_used", residual_used}, {"maxima", maxima},
                {"sum", sum_from_one},  {"scatter", scatter_add},         {"loop", loop},
                {"branches", branches}, {"hoist", hoist},                 {"inner", inner},
                                {"across", across},
                {"barrier", barrier},   {"linear", linear},
                {"accumulate", accumulate}, {"accumulate_seen", accumulate_seen}, {"accumulate_nested", accumulate_nested},
                {"accumulate_stacks", accumulate_stacks}, {"running_max", running_max}};

static void prove_random(struct model *m, const struct verify_reference *ref, const char *name, uint64_t seed)
{
    struct error e = {0};
    struct plan p = {0};
    struct rng r = {seed};
    struct ir_program out = {0};
    struct verify_report report = {0};
    struct verify_options vo = {0};
    struct spmd_options o = spmd_default_options(&m->mesh);

    plan_init(&p, m->nda, &m->mesh);
    plan_random(m->context, &r, &p);
    o.gather_everything = seed % 10 == 9;
    model_walk(m, &p, &o);
    ASSERT_OK(spmd_emit(m->context, &p, &m->local, SPMD_MANUAL, &out, &e), &e);
    ASSERT_OK(verify_prove(ref, &out, NULL, &vo, &report, &e), &e);
    if (report.status != VERIFY_PROOF_EQUAL) {
        struct text t = {0};
        spmd_local_text(&m->local, &t);
        fail_msg("%s, plan %llu: %s\n%s", name, (unsigned long long)seed, report.reason, t.at);
    }
    ir_program_release(&out);
    plan_release(&p);
}

static void test_proof(void **state)
{
    static const char *const meshes[] = {"a=8", "a=4,b=2", "a=2,b=2,c=2"};

    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct model m;
        struct error e = {0};
        struct verify_reference *ref = NULL;
        struct verify_options vo = {0};
        open_small(&m, programs[i].text, meshes[0]);
        ASSERT_OK(verify_reference_create(&m.program, 5, &vo, &ref, &e), &e);
        for (size_t k = 0; k < 3; k++) {
            if (k) {
                spmd_local_release(&m.local);
                model_mesh(&m, meshes[k]);
            }
            for (uint64_t seed = 1; seed <= 20; seed++)
                prove_random(&m, ref, programs[i].name, seed);
        }
        verify_reference_destroy(ref);
        model_close(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deferral),       cmocka_unit_test(test_linear), cmocka_unit_test(test_maxima),
        cmocka_unit_test(test_initial_values), cmocka_unit_test(test_loop),   cmocka_unit_test(test_hoist),
        cmocka_unit_test(test_reshapes),       cmocka_unit_test(test_accumulation),
        cmocka_unit_test(test_accumulation_sharded),
        cmocka_unit_test(test_inner_atom),     cmocka_unit_test(test_across_atoms),
        cmocka_unit_test(test_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
