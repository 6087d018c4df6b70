/* Loops in the walk: what they take from outside or carry unchanged is gathered before them, what they add
 * up is reduced after them; all of it also proved on random plans by interpretation. */
/* timeout: 120 */
#include "small_support.h"

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
    "    %d = stablehlo.dot_general %v, %w, contracting_dims = [1] x [0] : (tensor<16x32xf32>, "
    "tensor<32x32xf32>) -> "
    "tensor<16x32xf32>\n"
    "    %t = stablehlo.tanh %d : tensor<16x32xf32>\n"
    "    stablehlo.return %j, %t : tensor<i32>, tensor<16x32xf32>\n"
    "  }\n"
    "  return %r#1 : tensor<16x32xf32>\n}\n";

/* the same weight, carried unchanged, and a bound that is carried too */
static const char loop_carries[] =
    "func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x32xf32>) -> tensor<16x32xf32> {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %five = stablehlo.constant dense<5> : tensor<i32>\n"
    "  %r:4 = stablehlo.while(%i = %zero, %n = %five, %u = %w, %v = %x) : tensor<i32>, tensor<i32>, "
    "tensor<32x32xf32>, "
    "tensor<16x32xf32>\n"
    "    cond {\n"
    "    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    %d = stablehlo.dot_general %v, %u, contracting_dims = [1] x [0] : (tensor<16x32xf32>, "
    "tensor<32x32xf32>) -> "
    "tensor<16x32xf32>\n"
    "    %t = stablehlo.tanh %d : tensor<16x32xf32>\n"
    "    stablehlo.return %j, %n, %u, %t : tensor<i32>, tensor<i32>, tensor<32x32xf32>, tensor<16x32xf32>\n"
    "  }\n"
    "  return %r#3 : tensor<16x32xf32>\n}\n";

/* gradient accumulation over four microbatches: a weight's and a bias's, from initial values that are not
 * zero */
#define ACCUMULATE_BODY                                                                                      \
    "    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<4x16x32xf32>, "   \
    "tensor<i32>, "                                                                                          \
    "tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>\n"                                                     \
    "    %m = stablehlo.reshape %xi : (tensor<1x16x32xf32>) -> tensor<16x32xf32>\n"                          \
    "    %d = stablehlo.dot_general %m, %w, contracting_dims = [1] x [0] : (tensor<16x32xf32>, "             \
    "tensor<32x8xf32>) -> "                                                                                  \
    "tensor<16x8xf32>\n"                                                                                     \
    "    %t = stablehlo.tanh %d : tensor<16x8xf32>\n"                                                        \
    "    %gw = stablehlo.dot_general %m, %t, contracting_dims = [0] x [0] : (tensor<16x32xf32>, "            \
    "tensor<16x8xf32>) -> "                                                                                  \
    "tensor<32x8xf32>\n"                                                                                     \
    "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"                                                 \
    "    %gb = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [0] : "               \
    "(tensor<16x8xf32>, "                                                                                    \
    "tensor<f32>) -> tensor<8xf32>\n"                                                                        \
    "    %p = stablehlo.add %a, %gw : tensor<32x8xf32>\n"                                                    \
    "    %q = stablehlo.add %b, %gb : tensor<8xf32>\n"                                                       \
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"                                                 \
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
#define COUNT_TO(n)                                                                                          \
    "    %n = stablehlo.constant dense<" n "> : tensor<i32>\n"                                               \
    "    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"             \
    "    stablehlo.return %c : tensor<i1>\n"
#define ACCUMULATE_INPUTS                                                                                    \
    "%x: tensor<4x16x32xf32>, %w: tensor<32x8xf32>, %a0: tensor<32x8xf32>, %b0: tensor<8xf32>"

static const char accumulate[] =
    "func.func @main(" ACCUMULATE_INPUTS ") -> (tensor<32x8xf32>, tensor<8xf32>) {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %r:3 = stablehlo.while(%i = %zero, %a = %a0, %b = %b0) : tensor<i32>, tensor<32x8xf32>, "
    "tensor<8xf32>\n"
    "    cond {\n" COUNT_TO(
        "4") "  } do {\n" ACCUMULATE_BODY
             "    stablehlo.return %j, %p, %q : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>\n"
             "  }\n"
             "  %s = stablehlo.multiply %r#1, %w : tensor<32x8xf32>\n"
             "  %u = stablehlo.tanh %r#2 : tensor<8xf32>\n"
             "  return %s, %u : tensor<32x8xf32>, tensor<8xf32>\n}\n";

/* the same, but every iteration looks at the weight's sum so far: that one must be whole there */
static const char accumulate_seen[] =
    "func.func @main(" ACCUMULATE_INPUTS
    ", %v0: tensor<32x8xf32>) -> (tensor<32x8xf32>, tensor<8xf32>, tensor<32x8xf32>) {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %r:4 = stablehlo.while(%i = %zero, %a = %a0, %b = %b0, %v = %v0) : tensor<i32>, tensor<32x8xf32>, "
    "tensor<8xf32>, "
    "tensor<32x8xf32>\n"
    "    cond {\n" COUNT_TO(
        "4") "  } do {\n" ACCUMULATE_BODY "    %h = stablehlo.tanh %p : tensor<32x8xf32>\n"
             "    stablehlo.return %j, %p, %q, %h : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>, "
             "tensor<32x8xf32>\n"
             "  }\n"
             "  return %r#1, %r#2, %r#3 : tensor<32x8xf32>, tensor<8xf32>, tensor<32x8xf32>\n}\n";

/* two loops: the inner one goes on from where the outer one stands; a further sum starts from zeros inside
 * and is added by the outer loop */
static const char accumulate_nested[] =
    "func.func @main(" ACCUMULATE_INPUTS ") -> (tensor<32x8xf32>, tensor<8xf32>) {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %o:3 = stablehlo.while(%i = %zero, %oa = %a0, %ob = %b0) : tensor<i32>, tensor<32x8xf32>, "
    "tensor<8xf32>\n"
    "    cond {\n" COUNT_TO(
        "3") "  } do {\n"
             "    %zeros = stablehlo.constant dense<0.0> : tensor<8xf32>\n"
             "    %r:3 = stablehlo.while(%i1 = %zero, %a = %oa, %b = %zeros) : tensor<i32>, "
             "tensor<32x8xf32>, tensor<8xf32>\n"
             "      cond {\n"
             "      %n = stablehlo.constant dense<2> : tensor<i32>\n"
             "      %c = stablehlo.compare LT, %i1, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
             "      stablehlo.return %c : tensor<i1>\n"
             "    } do {\n" ACCUMULATE_BODY "      %j1 = stablehlo.add %i1, %one : tensor<i32>\n"
             "      stablehlo.return %j1, %p, %q : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>\n"
             "    }\n"
             "    %nb = stablehlo.subtract %ob, %r#2 : tensor<8xf32>\n"
             "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
             "    %j = stablehlo.add %i, %one : tensor<i32>\n"
             "    stablehlo.return %j, %r#1, %nb : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>\n"
             "  }\n"
             "  %s = stablehlo.tanh %o#1 : tensor<32x8xf32>\n"
             "  return %s, %o#2 : tensor<32x8xf32>, tensor<8xf32>\n}\n";

/* scanned layers: the inner loop writes each layer's gradient into its place of a stack, the outer one
 * adds the stacks */
static const char accumulate_stacks[] =
    "func.func @main(%x: tensor<4x16x32xf32>, %w: tensor<3x32x8xf32>, %s0: tensor<3x32x8xf32>) -> "
    "tensor<3x32x8xf32> {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %o:2 = stablehlo.while(%i = %zero, %s = %s0) : tensor<i32>, tensor<3x32x8xf32>\n"
    "    cond {\n" COUNT_TO(
        "4") "  } do {\n"
             "    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : "
             "(tensor<4x16x32xf32>, tensor<i32>, "
             "tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>\n"
             "    %m = stablehlo.reshape %xi : (tensor<1x16x32xf32>) -> tensor<16x32xf32>\n"
             "    %empty = stablehlo.constant dense<0.0> : tensor<3x32x8xf32>\n"
             "    %r:2 = stablehlo.while(%k = %zero, %stack = %empty) : tensor<i32>, tensor<3x32x8xf32>\n"
             "      cond {\n"
             "      %n = stablehlo.constant dense<3> : tensor<i32>\n"
             "      %c = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
             "      stablehlo.return %c : tensor<i1>\n"
             "    } do {\n"
             "      %wk = stablehlo.dynamic_slice %w, %k, %zero, %zero, sizes = [1, 32, 8] : "
             "(tensor<3x32x8xf32>, tensor<i32>, "
             "tensor<i32>, tensor<i32>) -> tensor<1x32x8xf32>\n"
             "      %v = stablehlo.reshape %wk : (tensor<1x32x8xf32>) -> tensor<32x8xf32>\n"
             "      %d = stablehlo.dot_general %m, %v, contracting_dims = [1] x [0] : (tensor<16x32xf32>, "
             "tensor<32x8xf32>) -> "
             "tensor<16x8xf32>\n"
             "      %t = stablehlo.tanh %d : tensor<16x8xf32>\n"
             "      %g = stablehlo.dot_general %m, %t, contracting_dims = [0] x [0] : (tensor<16x32xf32>, "
             "tensor<16x8xf32>) -> "
             "tensor<32x8xf32>\n"
             "      %b = stablehlo.broadcast_in_dim %g, dims = [1, 2] : (tensor<32x8xf32>) -> "
             "tensor<1x32x8xf32>\n"
             "      %u = stablehlo.dynamic_update_slice %stack, %b, %k, %zero, %zero : (tensor<3x32x8xf32>, "
             "tensor<1x32x8xf32>, "
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

/* sums in f32 of gradients in bf16: what the dots leave partial is converted, a layout, a multiple, and
 * added */
#define MIXED_BODY                                                                                           \
    "    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<4x16x32xbf16>, "  \
    "tensor<i32>, "                                                                                          \
    "tensor<i32>, tensor<i32>) -> tensor<1x16x32xbf16>\n"                                                    \
    "    %m = stablehlo.reshape %xi : (tensor<1x16x32xbf16>) -> tensor<16x32xbf16>\n"                        \
    "    %d = stablehlo.dot_general %m, %w, contracting_dims = [1] x [0] : (tensor<16x32xbf16>, "            \
    "tensor<32x8xbf16>) -> "                                                                                 \
    "tensor<16x8xbf16>\n"                                                                                    \
    "    %t = stablehlo.tanh %d : tensor<16x8xbf16>\n"                                                       \
    "    %gt = stablehlo.dot_general %t, %m, contracting_dims = [0] x [0] : (tensor<16x8xbf16>, "            \
    "tensor<16x32xbf16>) -> "                                                                                \
    "tensor<8x32xbf16>\n"                                                                                    \
    "    %z = stablehlo.constant dense<0.0> : tensor<bf16>\n"                                                \
    "    %gb = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [0] : "               \
    "(tensor<16x8xbf16>, "                                                                                   \
    "tensor<bf16>) -> tensor<8xbf16>\n"                                                                      \
    "    %wide = stablehlo.convert %gt : (tensor<8x32xbf16>) -> tensor<8x32xf32>\n"                          \
    "    %gw = stablehlo.transpose %wide, dims = [1, 0] : (tensor<8x32xf32>) -> tensor<32x8xf32>\n"          \
    "    %p = stablehlo.add %a, %gw : tensor<32x8xf32>\n"                                                    \
    "    %wider = stablehlo.convert %gb : (tensor<8xbf16>) -> tensor<8xf32>\n"                               \
    "    %quarter = stablehlo.constant dense<0.25> : tensor<8xf32>\n"                                        \
    "    %part = stablehlo.multiply %wider, %quarter : tensor<8xf32>\n"                                      \
    "    %q = stablehlo.add %part, %b : tensor<8xf32>\n"                                                     \
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"                                                 \
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
#define MIXED(n, result)                                                                                     \
    "func.func @main(%x: tensor<4x16x32xbf16>, %w: tensor<32x8xbf16>, %a0: tensor<32x8xf32>, %b0: "          \
    "tensor<8xf32>) -> "                                                                                     \
    "(tensor<32x8xf32>, tensor<8xf32>) {\n"                                                                  \
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"                                                  \
    "  %r:3 = stablehlo.while(%i = %zero, %a = %a0, %b = %b0) : tensor<i32>, tensor<32x8xf32>, "             \
    "tensor<8xf32>\n"                                                                                        \
    "    cond {\n" COUNT_TO(n) "  } do {\n" MIXED_BODY result "  }\n"                                        \
                               "  %s = stablehlo.tanh %r#1 : tensor<32x8xf32>\n"                             \
                               "  return %s, %r#2 : tensor<32x8xf32>, tensor<8xf32>\n}\n"

static const char mixed[] =
    MIXED("4", "    stablehlo.return %j, %p, %q : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>\n");
/* two sums in f32 would be as many bytes as four in bf16 */
static const char mixed_twice[] =
    MIXED("2", "    stablehlo.return %j, %p, %q : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>\n");
/* but four are more, in two iterations of two microbatches as well */
static const char mixed_unrolled[] =
    MIXED("2", "    %p1 = stablehlo.dot_general %m, %t, contracting_dims = [0] x [0] : (tensor<16x32xbf16>, "
               "tensor<16x8xbf16>) -> "
               "tensor<32x8xbf16>\n"
               "    %p2 = stablehlo.convert %p1 : (tensor<32x8xbf16>) -> tensor<32x8xf32>\n"
               "    %p3 = stablehlo.subtract %p2, %p : tensor<32x8xf32>\n"
               "    stablehlo.return %j, %p3, %q : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>\n");
/* the weight's sum so far is looked at in every iteration: reduced there, before the convert */
static const char mixed_seen[] =
    MIXED("4", "    %h = stablehlo.tanh %p : tensor<32x8xf32>\n"
               "    stablehlo.return %j, %h, %q : tensor<i32>, tensor<32x8xf32>, tensor<8xf32>\n");

/* layers of f32 weights that compute in bf16: the inner loop stacks their gradients in f32, the outer one
 * adds the stacks */
static const char mixed_stacks[] =
    "func.func @main(%x: tensor<4x16x32xbf16>, %w: tensor<3x32x8xf32>, %s0: tensor<3x32x8xf32>) -> "
    "tensor<3x32x8xf32> {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %o:2 = stablehlo.while(%i = %zero, %s = %s0) : tensor<i32>, tensor<3x32x8xf32>\n"
    "    cond {\n" COUNT_TO(
        "4") "  } do {\n"
             "    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : "
             "(tensor<4x16x32xbf16>, tensor<i32>, "
             "tensor<i32>, tensor<i32>) -> tensor<1x16x32xbf16>\n"
             "    %m = stablehlo.reshape %xi : (tensor<1x16x32xbf16>) -> tensor<16x32xbf16>\n"
             "    %empty = stablehlo.constant dense<0.0> : tensor<3x32x8xf32>\n"
             "    %r:2 = stablehlo.while(%k = %zero, %stack = %empty) : tensor<i32>, tensor<3x32x8xf32>\n"
             "      cond {\n"
             "      %n = stablehlo.constant dense<3> : tensor<i32>\n"
             "      %c = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
             "      stablehlo.return %c : tensor<i1>\n"
             "    } do {\n"
             "      %wk = stablehlo.dynamic_slice %w, %k, %zero, %zero, sizes = [1, 32, 8] : "
             "(tensor<3x32x8xf32>, tensor<i32>, "
             "tensor<i32>, tensor<i32>) -> tensor<1x32x8xf32>\n"
             "      %v = stablehlo.reshape %wk : (tensor<1x32x8xf32>) -> tensor<32x8xf32>\n"
             "      %vb = stablehlo.convert %v : (tensor<32x8xf32>) -> tensor<32x8xbf16>\n"
             "      %d = stablehlo.dot_general %m, %vb, contracting_dims = [1] x [0] : (tensor<16x32xbf16>, "
             "tensor<32x8xbf16>) -> "
             "tensor<16x8xbf16>\n"
             "      %t = stablehlo.tanh %d : tensor<16x8xbf16>\n"
             "      %g = stablehlo.dot_general %m, %t, contracting_dims = [0] x [0] : (tensor<16x32xbf16>, "
             "tensor<16x8xbf16>) -> "
             "tensor<32x8xbf16>\n"
             "      %gf = stablehlo.convert %g : (tensor<32x8xbf16>) -> tensor<32x8xf32>\n"
             "      %b = stablehlo.broadcast_in_dim %gf, dims = [1, 2] : (tensor<32x8xf32>) -> "
             "tensor<1x32x8xf32>\n"
             "      %u = stablehlo.dynamic_update_slice %stack, %b, %k, %zero, %zero : (tensor<3x32x8xf32>, "
             "tensor<1x32x8xf32>, "
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
    "    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : (tensor<4x16x32xf32>, "
    "tensor<i32>, "
    "tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>\n"
    "    %y = stablehlo.reshape %xi : (tensor<1x16x32xf32>) -> tensor<16x32xf32>\n"
    "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %low = stablehlo.constant dense<-7.0> : tensor<f32>\n"
    "    %top = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0] : "
    "(tensor<16x32xf32>, "
    "tensor<f32>) -> tensor<32xf32>\n"
    "    %sum = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0, 1] : "
    "(tensor<16x32xf32>, "
    "tensor<f32>) -> tensor<f32>\n"
    "    %p = stablehlo.maximum %m, %top : tensor<32xf32>\n"
    "    %q = stablehlo.add %s, %sum : tensor<f32>\n"
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    stablehlo.return %j, %p, %q : tensor<i32>, tensor<32xf32>, tensor<f32>\n"
    "  }\n"
    "  return %r#1, %r#2 : tensor<32xf32>, tensor<f32>\n}\n";

/* the newest product where the predicate holds, else what was there; from values that count once */
static const char running_product[] =
    "func.func @main(%x: tensor<4x16x32xf32>, %p: tensor<32xi1>, %k0: tensor<32xf32>) -> tensor<32xf32> {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %r:2 = stablehlo.while(%i = %zero, %k = %k0) : tensor<i32>, tensor<32xf32>\n"
    "    cond {\n" COUNT_TO(
        "4") "  } do {\n"
             "    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 32] : "
             "(tensor<4x16x32xf32>, tensor<i32>, "
             "tensor<i32>, tensor<i32>) -> tensor<1x16x32xf32>\n"
             "    %y = stablehlo.reshape %xi : (tensor<1x16x32xf32>) -> tensor<16x32xf32>\n"
             "    %c = stablehlo.constant dense<1.5> : tensor<f32>\n"
             "    %t = stablehlo.reduce(%y init: %c) applies stablehlo.multiply across dimensions = [0] : "
             "(tensor<16x32xf32>, "
             "tensor<f32>) -> tensor<32xf32>\n"
             "    %q = stablehlo.select %p, %t, %k : tensor<32xi1>, tensor<32xf32>\n"
             "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
             "    %j = stablehlo.add %i, %one : tensor<i32>\n"
             "    stablehlo.return %j, %q : tensor<i32>, tensor<32xf32>\n"
             "  }\n"
             "  return %r#1 : tensor<32xf32>\n}\n";

/* FSDP of a loop's weight: batch and storage on one axis, so the weight is gathered, and before the loop. */
static void expect_gather_outside(const char *text)
{
    struct model model;
    struct plan plan = {0};

    open_small(&model, text, "a=4");
    plan_init(&plan, model.nda, &model.mesh);
    shard(&model, &plan, 0, 0, 0);
    shard(&model, &plan, 1, 0, 0);
    model_walk(&model, &plan, NULL);
    const struct spmd_step *step = only_step(&model, SPMD_ALL_GATHER);
    assert_int_equal(step->depth, 0);
    assert_int_equal(step->trips, 1);
    assert_int_equal(model.local.values[step->results].bytes, 32 * 32 * 4);
    for (uint32_t i = 0; i < model.local.step_count; i++)
        if (model.local.steps[i].kind == SPMD_OP &&
            model.nda->program->ops[model.local.steps[i].op].code == IR_DOT_GENERAL)
            assert_int_equal(model.local.steps[i].trips, 5);
    struct spmd_options options = spmd_default_options(&model.mesh);
    options.regather = 1; /* where memory binds: gathered in each iteration, for itself */
    model_walk(&model, &plan, &options);
    step = only_step(&model, SPMD_ALL_GATHER);
    assert_int_equal(step->depth, 1);
    assert_int_equal(step->trips, 5);
    plan_release(&plan);
    model_close(&model);
}

static void test_loop(void **state)
{
    (void)state;
    expect_gather_outside(loop);
    expect_gather_outside(loop_carries);
}

/* all_reduces of the batch-sharded program, uncombined, by where they stand: in no loop, in loops */
static void expect_reductions(const char *text, uint32_t outside, uint32_t inside, uint32_t masks,
                              uint32_t masked)
{
    struct model model;
    struct plan plan = {0};
    uint32_t found[2] = {0}, seen[2] = {0};

    open_small(&model, text, "a=4");
    for (uint32_t op = 0; op < model.nda->program->op_count; op++)
        /* as the request's trip_counts would say */
        model.nda->trip_count[op] += model.nda->trip_count[op] ? 0 : 4;
    struct spmd_options options = spmd_default_options(&model.mesh);
    options.combine_bytes = 1;
    plan_init(&plan, model.nda, &model.mesh);
    shard(&model, &plan, 0, 1, 0);
    model_walk(&model, &plan, &options);
    for (uint32_t i = 0; i < model.local.step_count; i++) {
        const struct spmd_step *step = &model.local.steps[i];
        if (step->kind == SPMD_ALL_REDUCE)
            found[step->trips > 1]++;
        seen[0] += step->kind == SPMD_MASK;
        seen[1] += step->kind == SPMD_MASK && step->mask_initial;
        if (step->kind != SPMD_ALL_REDUCE)
            continue;
        if (step->trips == 1) /* charged to what the body adds, not to the loop */
            assert_true(model.nda->program->ops[step->op].code != IR_WHILE);
        /* and to the decision that shards the dot or sum behind it */
        assert_true(plan_space(&plan, step->decision_space)[0].factor != NDA_NO_FACTOR);
    }
    assert_int_equal(found[0], outside);
    assert_int_equal(found[1], inside);
    assert_int_equal(seen[0], masks);
    assert_int_equal(seen[1], masked);
    options.defer_partials = 0; /* as it was: every iteration reduces what it adds */
    model_walk(&model, &plan, &options);
    assert_int_equal(count(&model, SPMD_MASK), 0);
    for (uint32_t i = 0; i < model.local.step_count; i++)
        if (model.local.steps[i].kind == SPMD_ALL_REDUCE)
            assert_true(model.local.steps[i].trips > 1);
    plan_release(&plan);
    model_close(&model);
}

/* One reduction a carried sum, after the loop; its initial value on one device only. */
static void test_accumulation(void **state)
{
    (void)state;
    expect_reductions(accumulate, 2, 0, 2, 2);
    expect_reductions(accumulate_seen, 1, 1, 1, 1);
    expect_reductions(accumulate_nested, 2, 0, 3, 2); /* the inner sum starts from zeros */
    expect_reductions(accumulate_stacks, 1, 0, 2, 1); /* where each layer of each microbatch had one */
    /* max counts its initial value as often as it likes */
    expect_reductions(running_max, 1, 1, 1, 0);
    expect_reductions(running_product, 1, 0, 1, 1); /* a product does not */
}

/* Sums in f32 of gradients in bf16: after the loop where that is fewer bytes, else in bf16 as before. */
static void test_mixed_precision(void **state)
{
    struct model model;
    struct plan plan = {0};

    (void)state;
    expect_reductions(mixed, 2, 0, 2, 2);
    expect_reductions(mixed_twice, 0, 2, 0, 0);
    expect_reductions(mixed_unrolled, 1, 1, 1, 1); /* the bias has two */
    expect_reductions(mixed_seen, 1, 1, 1, 1);
    expect_reductions(mixed_stacks, 1, 0, 2, 1);
    open_small(&model, mixed_seen, "a=4");
    plan_init(&plan, model.nda, &model.mesh);
    shard(&model, &plan, 0, 1, 0);
    model_walk(&model, &plan, NULL);
    for (uint32_t i = 0; i < model.local.step_count; i++) {
        const struct spmd_step *step = &model.local.steps[i];
        if (step->kind == SPMD_ALL_REDUCE && step->trips > 1)
            assert_int_equal(
                ir_value_type(model.nda->program, model.local.values[step->results].origin)->element,
                IR_BF16);
    }
    plan_release(&plan);
    model_close(&model);
}

/* the sum sharded over the axis of its gradients: these are scattered in every iteration, as elements of
 * this type */
static void expect_scattered(const char *text, enum ir_element element)
{
    struct model model;
    struct plan plan = {0};

    open_small(&model, text, "a=4");
    plan_init(&plan, model.nda, &model.mesh);
    shard(&model, &plan, 0, 1, 0);
    shard(&model, &plan, 2, 0, 0);
    model_walk(&model, &plan, NULL);
    const struct spmd_step *step = only_step(&model, SPMD_REDUCE_SCATTER);
    assert_int_equal(step->trips, 4);
    assert_int_equal(ir_value_type(model.nda->program, model.local.values[step->results].origin)->element,
                     element);
    assert_int_equal(count(&model, SPMD_MASK), 1); /* the bias's sum */
    plan_release(&plan);
    model_close(&model);
}

/* The plan shards the carried sum over the same axis: scattered in every iteration, for the memory that
 * saves; of a sum in f32 of gradients in bf16 as bf16. */
static void test_accumulation_sharded(void **state)
{
    (void)state;
    expect_scattered(accumulate, IR_F32);
    expect_scattered(mixed, IR_BF16);
}

/* A sum that stays partial over the axis that the plan has first on a dim: the axis behind it moves up
 * (the form had no order, and no reshard reached it). Gradients of a delta rule, a scan of sums of
 * products. */
static void test_partial_moves_up(void **state)
{
    static const char *const lists[][6] = {
        {"dim8@data", "ffn@data", "embed@data", "ffn@model", "batch@model"},
        {"dim8@model", "embed@model", "ffn@model", "ffn@data"}};
    size_t size;
    char *text = support_read(TOAST_SOURCE_DIR "/tests/spmd/delta_rule.mlir", &size);
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct model model;
        struct plan plan = {0};
        struct error e = {0};
        struct ir_program out = {0};
        struct verify_reference *reference;
        struct verify_report report;
        model_text(&model, text, size, "data=4,model=2");
        plan_init(&plan, model.nda, &model.mesh);
        for (size_t k = 0; k < 6 && lists[i][k]; k++) {
            struct plan_decision decision;
            char group[16] = {0};
            const char *at = strchr(lists[i][k], '@');
            memcpy(group, lists[i][k], (size_t)(at - lists[i][k]));
            ASSERT_OK(plan_decision_find(model.context, group, at + 1, "", "all", &decision, &e), &e);
            assert_true(plan_apply(model.context, &plan, decision) > 0);
        }
        model_walk(&model, &plan, NULL);
        ASSERT_OK(spmd_emit(model.context, &plan, &model.local, EMIT_MANUAL, &out, &e), &e);
        ASSERT_OK(verify_reference_create(&model.program, 3, NULL, &reference, &e), &e);
        ASSERT_OK(verify_prove(reference, &out, NULL, NULL, &report, &e), &e);
        assert_int_equal(report.status, VERIFY_PROOF_EQUAL);
        verify_reference_destroy(reference);
        ir_program_release(&out);
        plan_release(&plan);
        model_close(&model);
    }
    free(text);
}

static void test_proof(void **state)
{
    static const struct small_program programs[] = {{"loop", loop},
                                                    {"loop_carries", loop_carries},
                                                    {"accumulate", accumulate},
                                                    {"accumulate_seen", accumulate_seen},
                                                    {"accumulate_nested", accumulate_nested},
                                                    {"accumulate_stacks", accumulate_stacks},
                                                    {"running_max", running_max},
                                                    {"running_product", running_product},
                                                    {"mixed", mixed},
                                                    {"mixed_unrolled", mixed_unrolled},
                                                    {"mixed_seen", mixed_seen},
                                                    {"mixed_stacks", mixed_stacks}};

    (void)state;
    prove_all(programs, sizeof programs / sizeof *programs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loop),
                                       cmocka_unit_test(test_accumulation),
                                       cmocka_unit_test(test_mixed_precision),
                                       cmocka_unit_test(test_accumulation_sharded),
                                       cmocka_unit_test(test_partial_moves_up),
                                       cmocka_unit_test(test_proof)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
