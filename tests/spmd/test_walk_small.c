/* Small programs, one rule of the walk each; all of them also proved on random plans by interpretation. */
/* timeout: 120 */
#include "small_support.h"

static const char residual[] = "func.func @main(%x: tensor<16x32xf32>, %a: tensor<32x8xf32>, %y: "
                               "tensor<16x64xf32>, %b: tensor<64x8xf32>)"
                               " -> tensor<16x8xf32> {\n"
                               "  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : "
                               "(tensor<16x32xf32>, tensor<32x8xf32>) -> "
                               "tensor<16x8xf32>\n"
                               "  %1 = stablehlo.dot_general %y, %b, contracting_dims = [1] x [0] : "
                               "(tensor<16x64xf32>, tensor<64x8xf32>) -> "
                               "tensor<16x8xf32>\n"
                               "  %2 = stablehlo.add %0, %1 : tensor<16x8xf32>\n"
                               "  %3 = stablehlo.tanh %2 : tensor<16x8xf32>\n"
                               "  return %3 : tensor<16x8xf32>\n}\n";

/* one value of the two is used elsewhere: it must be whole there, so the add cannot wait for it */
static const char residual_used[] = "func.func @main(%x: tensor<16x32xf32>, %a: tensor<32x8xf32>, %y: "
                                    "tensor<16x64xf32>, %b: tensor<64x8xf32>)"
                                    " -> (tensor<16x8xf32>, tensor<16x8xf32>) {\n"
                                    "  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : "
                                    "(tensor<16x32xf32>, tensor<32x8xf32>) -> "
                                    "tensor<16x8xf32>\n"
                                    "  %1 = stablehlo.dot_general %y, %b, contracting_dims = [1] x [0] : "
                                    "(tensor<16x64xf32>, tensor<64x8xf32>) -> "
                                    "tensor<16x8xf32>\n"
                                    "  %2 = stablehlo.add %0, %1 : tensor<16x8xf32>\n"
                                    "  %3 = stablehlo.tanh %0 : tensor<16x8xf32>\n"
                                    "  return %2, %3 : tensor<16x8xf32>, tensor<16x8xf32>\n}\n";

static const char maxima[] =
    "func.func @main(%x: tensor<16x32xf32>, %y: tensor<16x64xf32>) -> tensor<16xf32> {\n"
    "  %cst = stablehlo.constant dense<-3.0> : tensor<f32>\n"
    "  %0 = stablehlo.reduce(%x init: %cst) applies stablehlo.maximum across dimensions = [1] : "
    "(tensor<16x32xf32>, "
    "tensor<f32>) -> tensor<16xf32>\n"
    "  %1 = stablehlo.reduce(%y init: %cst) applies stablehlo.maximum across dimensions = [1] : "
    "(tensor<16x64xf32>, "
    "tensor<f32>) -> tensor<16xf32>\n"
    "  %2 = stablehlo.maximum %0, %1 : tensor<16xf32>\n"
    "  return %2 : tensor<16xf32>\n}\n";

static const char sum_from_one[] =
    "func.func @main(%x: tensor<16x32xf32>, %init: tensor<f32>) -> tensor<16xf32> {\n"
    "  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [1] : "
    "(tensor<16x32xf32>, "
    "tensor<f32>) -> tensor<16xf32>\n"
    "  return %0 : tensor<16xf32>\n}\n";

static const char scatter_add[] =
    "func.func @main(%t: tensor<24x8xf32>, %i: tensor<16x1xi32>, %u: tensor<16x8xf32>) -> tensor<24x8xf32> "
    "{\n"
    "  %0 = \"stablehlo.scatter\"(%t, %i, %u) <{scatter_dimension_numbers = "
    "#stablehlo.scatter<update_window_dims = [1], "
    "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, "
    "indices_are_sorted = false, "
    "unique_indices = false}> ({\n"
    "  ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
    "    %s = stablehlo.add %p, %q : tensor<f32>\n"
    "    stablehlo.return %s : tensor<f32>\n"
    "  }) : (tensor<24x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<24x8xf32>\n"
    "  return %0 : tensor<24x8xf32>\n}\n";

static const char branches[] =
    "func.func @main(%k: tensor<i32>, %x: tensor<16x32xf32>, %w: tensor<32x32xf32>) -> tensor<16x32xf32> {\n"
    "  %0 = \"stablehlo.case\"(%k) ({\n"
    "    %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x32xf32>, "
    "tensor<32x32xf32>) -> "
    "tensor<16x32xf32>\n"
    "    stablehlo.return %a : tensor<16x32xf32>\n"
    "  }, {\n"
    "    %b = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<16x32xf32>, "
    "tensor<32x32xf32>) -> "
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
    "  %2 = stablehlo.dot_general %y, %1, contracting_dims = [0] x [0] : (tensor<32x64xf32>, "
    "tensor<32x8xf32>) -> "
    "tensor<64x8xf32>\n"
    "  return %2 : tensor<64x8xf32>\n}\n";

/* a dimension split and joined again: sharding the inner part leaves blocks that the boundary must put in
 * order */
static const char inner[] = "func.func @main(%x: tensor<64x4xf32>) -> (tensor<64x4xf32>, tensor<8x4xf32>) {\n"
                            "  %0 = stablehlo.reshape %x : (tensor<64x4xf32>) -> tensor<8x8x4xf32>\n"
                            "  %cst = stablehlo.constant dense<0.0> : tensor<f32>\n"
                            "  %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions "
                            "= [0] : (tensor<8x8x4xf32>, "
                            "tensor<f32>) -> tensor<8x4xf32>\n"
                            "  %2 = stablehlo.tanh %0 : tensor<8x8x4xf32>\n"
                            "  %3 = stablehlo.reshape %2 : (tensor<8x8x4xf32>) -> tensor<64x4xf32>\n"
                            "  return %3, %1 : tensor<64x4xf32>, tensor<8x4xf32>\n}\n";

/* fused projections: the axis divides the inner atom of 3 x 8 only; stored in blocks of 6 that cross its
 * borders. Large enough for an exchange with the other dim to beat gathering */
static const char across[] =
    "func.func @main(%x: tensor<24x2048xf32>) -> (tensor<24x2048xf32>, tensor<8x2048xf32>) {\n"
    "  %0 = stablehlo.reshape %x : (tensor<24x2048xf32>) -> tensor<3x8x2048xf32>\n"
    "  %cst = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : "
    "(tensor<3x8x2048xf32>, "
    "tensor<f32>) -> tensor<8x2048xf32>\n"
    "  %2 = stablehlo.tanh %0 : tensor<3x8x2048xf32>\n"
    "  %3 = stablehlo.reshape %2 : (tensor<3x8x2048xf32>) -> tensor<24x2048xf32>\n"
    "  return %3, %1 : tensor<24x2048xf32>, tensor<8x2048xf32>\n}\n";

static const char barrier[] =
    "func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x32xf32>) -> (tensor<16x32xf32>, tensor<32x32xf32>) "
    "{\n"
    "  %0:2 = stablehlo.optimization_barrier %x, %w : tensor<16x32xf32>, tensor<32x32xf32>\n"
    "  %1 = stablehlo.dot_general %0#0, %0#1, contracting_dims = [1] x [0] : (tensor<16x32xf32>, "
    "tensor<32x32xf32>) -> "
    "tensor<16x32xf32>\n"
    "  %2 = stablehlo.transpose %0#1, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>\n"
    "  return %1, %2 : tensor<16x32xf32>, tensor<32x32xf32>\n}\n";

/* partial sums through scaling, negation, selection and layout, to a use that wants them whole */
static const char linear[] =
    "func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x8xf32>, %v: tensor<32x8xf32>, %s: tensor<f32>, "
    "%m: tensor<16x8xi1>) -> tensor<8x16xf32> {\n"
    "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x32xf32>, "
    "tensor<32x8xf32>) -> "
    "tensor<16x8xf32>\n"
    "  %1 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<16x32xf32>, "
    "tensor<32x8xf32>) -> "
    "tensor<16x8xf32>\n"
    "  %2 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<16x8xf32>\n"
    "  %3 = stablehlo.multiply %0, %2 : tensor<16x8xf32>\n"
    "  %4 = stablehlo.negate %1 : tensor<16x8xf32>\n"
    "  %5 = stablehlo.select %m, %3, %4 : tensor<16x8xi1>, tensor<16x8xf32>\n"
    "  %6 = stablehlo.transpose %5, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>\n"
    "  %7 = stablehlo.exponential %6 : tensor<8x16xf32>\n"
    "  return %7 : tensor<8x16xf32>\n}\n";

/* x exp(-x) of a sum of partial sums: linear in it twice, reduced once */
static const char twice[] =
    "func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x8xf32>, %v: tensor<32x8xf32>) -> tensor<16x8xf32> "
    "{\n"
    "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x32xf32>, "
    "tensor<32x8xf32>) -> tensor<16x8xf32>\n"
    "  %1 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<16x32xf32>, "
    "tensor<32x8xf32>) -> tensor<16x8xf32>\n"
    "  %2 = stablehlo.add %0, %1 : tensor<16x8xf32>\n"
    "  %3 = stablehlo.negate %2 : tensor<16x8xf32>\n"
    "  %4 = stablehlo.exponential %3 : tensor<16x8xf32>\n"
    "  %5 = stablehlo.multiply %2, %4 : tensor<16x8xf32>\n"
    "  return %5 : tensor<16x8xf32>\n}\n";

/* two reshapes of one value that is also used as it is (as front ends without common subexpressions write
 * it) */
static const char reshapes[] =
    "func.func @main(%x: tensor<4x8x16xf32>, %v: tensor<16x8xf32>, %w: tensor<16x8xf32>) -> "
    "(tensor<32x8xf32>, "
    "tensor<32x8xf32>, tensor<4x8x16xf32>) {\n"
    "  %t = stablehlo.tanh %x : tensor<4x8x16xf32>\n"
    "  %0 = stablehlo.reshape %t : (tensor<4x8x16xf32>) -> tensor<32x16xf32>\n"
    "  %1 = stablehlo.dot_general %0, %v, contracting_dims = [1] x [0] : (tensor<32x16xf32>, "
    "tensor<16x8xf32>) -> "
    "tensor<32x8xf32>\n"
    "  %2 = stablehlo.reshape %t : (tensor<4x8x16xf32>) -> tensor<32x16xf32>\n"
    "  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<32x16xf32>, "
    "tensor<16x8xf32>) -> "
    "tensor<32x8xf32>\n"
    "  return %1, %3, %t : tensor<32x8xf32>, tensor<32x8xf32>, tensor<4x8x16xf32>\n}\n";

/* a weight of f32 that computes in bf16 several times: the gradients of each use are summed in f32 */
#define GRADIENT(to, of)                                                                                     \
    "  %" to "d = stablehlo.dot_general %" of ", %y, contracting_dims = [0] x [0] : (tensor<64x16xbf16>, "   \
    "tensor<64x8xbf16>) -> "                                                                                 \
    "tensor<16x8xbf16>\n"                                                                                    \
    "  %" to "t = stablehlo.transpose %" to "d, dims = [1, 0] : (tensor<16x8xbf16>) -> tensor<8x16xbf16>\n"  \
    "  %" to " = stablehlo.convert %" to "t : (tensor<8x16xbf16>) -> tensor<8x16xf32>\n"
#define SHARED(terms, result)                                                                                \
    "func.func @main(%x: tensor<64x16xbf16>, %y: tensor<64x8xbf16>) -> tensor<8x16xf32> {\n"                 \
    "  %u = stablehlo.tanh %x : tensor<64x16xbf16>\n"                                                        \
    "  %v = stablehlo.logistic %x : tensor<64x16xbf16>\n" terms "  return %" result                          \
    " : tensor<8x16xf32>\n}\n"
static const char shared_twice[] =
    SHARED(GRADIENT("a", "u") GRADIENT("b", "v") "  %s = stablehlo.add %a, %b : tensor<8x16xf32>\n", "s");
static const char shared_thrice[] =
    SHARED(GRADIENT("a", "u") GRADIENT("b", "v") GRADIENT("c", "x") "  %r = stablehlo.add %a, %b : "
                                                                    "tensor<8x16xf32>\n"
                                                                    "  %s = stablehlo.add %r, %c : "
                                                                    "tensor<8x16xf32>\n",
           "s");
/* one gradient of the sum's own type, as a table's rows have: with the other it is reduced once */
static const char shared_wide[] =
    SHARED(GRADIENT("a", "u") "  %f = stablehlo.convert %v : (tensor<64x16xbf16>) -> tensor<64x16xf32>\n"
                              "  %g = stablehlo.convert %y : (tensor<64x8xbf16>) -> tensor<64x8xf32>\n"
                              "  %w = stablehlo.dot_general %g, %f, contracting_dims = [0] x [0] : "
                              "(tensor<64x8xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>\n"
                              "  %s = stablehlo.add %a, %w : tensor<8x16xf32>\n",
           "s");
/* the sum of the first two is looked at: reduced before its converts, as two terms are */
static const char shared_seen[] =
    SHARED(GRADIENT("a", "u") GRADIENT("b", "v") GRADIENT("c", "x") "  %r = stablehlo.add %a, %b : "
                                                                    "tensor<8x16xf32>\n"
                                                                    "  %q = stablehlo.tanh %r : "
                                                                    "tensor<8x16xf32>\n"
                                                                    "  %p = stablehlo.add %r, %c : "
                                                                    "tensor<8x16xf32>\n"
                                                                    "  %s = stablehlo.add %p, %q : "
                                                                    "tensor<8x16xf32>\n",
           "s");

/* reductions of a module whose batch is on four devices, and of how many bytes each */
static void check_shared(const char *text, uint32_t reductions, int64_t bytes)
{
    struct model model;
    struct plan plan = {0};

    open_small(&model, text, "a=4");
    struct spmd_options options = spmd_default_options(&model.mesh);
    options.combine_bytes = 1;
    plan_init(&plan, model.nda, &model.mesh);
    shard(&model, &plan, 0, 0, 0);
    model_walk(&model, &plan, &options);
    assert_int_equal(count(&model, SPMD_ALL_REDUCE), reductions);
    for (uint32_t i = 0; i < model.local.step_count; i++)
        if (model.local.steps[i].kind == SPMD_ALL_REDUCE)
            assert_int_equal(model.local.values[model.local.steps[i].results].bytes, bytes);
    plan_release(&plan);
    model_close(&model);
}

static void test_shared_weights(void **state)
{
    (void)state;
    check_shared(shared_twice, 2, 8 * 16 * 2);
    check_shared(shared_thrice, 1, 8 * 16 * 4);
    check_shared(shared_wide, 1, 8 * 16 * 4);
    check_shared(shared_seen, 3, 8 * 16 * 2);
}

static void test_deferral(void **state)
{
    struct model model;
    struct plan plan = {0};

    (void)state;
    open_small(&model, residual, "a=4");
    struct spmd_options options = spmd_default_options(&model.mesh);
    options.combine_bytes = 1;
    plan_init(&plan, model.nda, &model.mesh);
    shard(&model, &plan, 0, 1, 0);
    shard(&model, &plan, 2, 1, 0);
    model_walk(&model, &plan, &options);
    assert_int_equal(count(&model, SPMD_ALL_REDUCE), 1);
    assert_int_equal(model.nda->program->ops[only_step(&model, SPMD_ALL_REDUCE)->op].code, IR_ADD);
    options.defer_partials = 0;
    model_walk(&model, &plan, &options);
    assert_int_equal(count(&model, SPMD_ALL_REDUCE), 2);
    options.combine_bytes = 0; /* independent and of one group: one tuple op */
    model_walk(&model, &plan, &options);
    assert_int_equal(model_count(&model, SPMD_ALL_REDUCE, NULL), 1);
    plan_release(&plan);
    model_close(&model);

    open_small(&model, residual_used, "a=4");
    memset(&plan, 0, sizeof plan);
    plan_init(&plan, model.nda, &model.mesh);
    options = spmd_default_options(&model.mesh);
    options.combine_bytes = 1;
    shard(&model, &plan, 0, 1, 0);
    shard(&model, &plan, 2, 1, 0);
    model_walk(&model, &plan, &options);
    assert_int_equal(count(&model, SPMD_ALL_REDUCE), 2);
    plan_release(&plan);
    model_close(&model);
}

static void test_reduced_before_it_is_used_twice(void **state)
{
    struct model model;
    struct plan plan = {0};

    (void)state;
    open_small(&model, twice, "a=4");
    struct spmd_options options = spmd_default_options(&model.mesh);
    options.combine_bytes = 1;
    plan_init(&plan, model.nda, &model.mesh);
    shard(&model, &plan, 0, 1, 0);
    model_walk(&model, &plan, &options);
    assert_int_equal(model.nda->program->ops[only_step(&model, SPMD_ALL_REDUCE)->op].code, IR_ADD);
    plan_release(&plan);
    model_close(&model);
}

static void test_linear(void **state)
{
    struct model model;
    struct plan plan = {0};

    (void)state;
    open_small(&model, linear, "a=4");
    plan_init(&plan, model.nda, &model.mesh);
    shard(&model, &plan, 0, 1, 0);
    model_walk(&model, &plan, NULL);
    const struct spmd_step *step = only_step(&model, SPMD_ALL_REDUCE);
    assert_int_equal(model.nda->program->ops[step->op].code, IR_TRANSPOSE);
    plan_release(&plan);
    model_close(&model);
}

static void test_maxima(void **state)
{
    struct model model;
    struct plan plan = {0};

    (void)state;
    open_small(&model, maxima, "a=4");
    plan_init(&plan, model.nda, &model.mesh);
    shard(&model, &plan, 0, 1, 0);
    shard(&model, &plan, 1, 1, 0);
    model_walk(&model, &plan, NULL);
    assert_int_equal(only_step(&model, SPMD_ALL_REDUCE)->reducer, NDA_REDUCE_MAX);
    for (uint32_t i = 0; i < model.local.step_count; i++)
        assert_int_equal(model.local.steps[i].mask_initial, 0); /* max counts an init as often as it likes */
    plan_release(&plan);
    model_close(&model);
}

static void test_initial_values(void **state)
{
    static const struct {
        const char *text;
        uint32_t argument, dim;
    } cases[] = {{sum_from_one, 0, 1}, {scatter_add, 1, 0}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct model model;
        struct plan plan = {0};
        uint32_t masked = 0;
        open_small(&model, cases[i].text, "a=4");
        plan_init(&plan, model.nda, &model.mesh);
        shard(&model, &plan, cases[i].argument, cases[i].dim, 0);
        model_walk(&model, &plan, NULL);
        (void)only_step(&model, SPMD_ALL_REDUCE);
        for (uint32_t k = 0; k < model.local.step_count; k++)
            masked += model.local.steps[k].mask_initial;
        assert_int_equal(masked, 1);
        plan_release(&plan);
        model_close(&model);
    }
}

static void test_hoist(void **state)
{
    struct model model;
    struct plan plan = {0};

    (void)state;
    open_small(&model, hoist, "a=4");
    plan_init(&plan, model.nda, &model.mesh);
    /* the dot's free dimension first: the contracted one has no room for the axis there */
    shard(&model, &plan, 1, 1, 0);
    shard(&model, &plan, 0, 0, 0);
    model_walk(&model, &plan, NULL);
    const struct spmd_step *step = only_step(&model, SPMD_ALL_GATHER);
    assert_int_equal(model.local.values[step->results].bytes, 32 * 2);
    assert_int_equal(model.local.values[step->results].origin, model.nda->arguments[0].value);
    plan_release(&plan);
    model_close(&model);
}

/* gathered before the reshapes, once for both of them */
static void test_reshapes(void **state)
{
    struct model model;
    struct plan plan = {0};

    (void)state;
    open_small(&model, reshapes, "a=4");
    plan_init(&plan, model.nda, &model.mesh);
    shard(&model, &plan, 1, 1, 0); /* the dots' columns first: their rows have no room for the axis */
    if (model_group(&model, 2, 1) != model_group(&model, 1, 1))
        shard(&model, &plan, 2, 1, 0);
    shard(&model, &plan, 0, 0, 0);
    model_walk(&model, &plan, NULL);
    const struct spmd_step *step = only_step(&model, SPMD_ALL_GATHER);
    assert_int_equal(model.local.values[step->results].bytes, 4 * 8 * 16 * 4);
    assert_int_equal(
        model.nda->program->ops[model.nda->program->values[model.local.values[step->results].origin].op].code,
        IR_TANH);
    plan_release(&plan);
    model_close(&model);
}

static void test_inner_atom(void **state)
{
    struct model model;
    uint32_t sharded = 0;

    (void)state;
    open_small(&model, inner, "a=4");
    const struct nda *n = model.nda;
    for (uint32_t space = 0; space < n->space_count; space++) {
        if (n->spaces[space].kind != NDA_SPACE_OP || n->program->ops[n->spaces[space].op].code != IR_TANH)
            continue;
        struct plan plan = {0};
        plan_init(&plan, n, &model.mesh);
        sharded +=
            plan_apply_factor(model.context, &plan, space, 1, 0); /* the second of the two atoms of 64 */
        model_walk(&model, &plan, NULL);
        assert_int_equal(count(&model, SPMD_SLICE), 1);      /* in: every device has all of x */
        assert_int_equal(count(&model, SPMD_ALL_GATHER), 1); /* out */
        plan_release(&plan);
    }
    assert_int_equal(sharded, 1);
    model_close(&model);
}

static void test_across_atoms(void **state)
{
    struct model model;
    struct error e = {0};

    (void)state;
    open_small(&model, across, "a=4");
    struct plan plan = {0};
    plan_init(&plan, model.nda, &model.mesh);
    uint32_t x = model.nda->arguments[0].space, out = model.nda->result_spaces[0];
    assert_int_equal(plan_apply_factor(model.context, &plan, x, 1, 0), 1); /* 8 of 3 x 8 */
    assert_int_equal(plan_apply_factor(model.context, &plan, out, 1, 0), 1);
    for (uint32_t i = 0; i < model.nda->space_count; i++)
        if (model.nda->spaces[i].kind == NDA_SPACE_OP &&
            (model.nda->program->ops[model.nda->spaces[i].op].code == IR_TANH ||
             model.nda->program->ops[model.nda->spaces[i].op].code == IR_RESHAPE))
            assert_int_equal(plan_apply_factor(model.context, &plan, i, 1, 0), 1);
    model_walk(&model, &plan, NULL);
    ASSERT_OK(spmd_local_check(&model.local, &e), &e);
    assert_int_equal(count(&model, SPMD_ALL_TO_ALL), 4); /* two in, two out: the other dim has room */
    const struct spmd_step *last = &model.local.steps[model.local.step_count - 1];
    const struct spmd_value *result = &model.local.values[model.local.operands[last->operands]];
    assert_int_equal(model.local.values[0].form.at[0], SPMD_WHOLE);
    assert_int_equal(model.local.values[0].bytes, 24 * 2048 * 4 / 4);
    assert_int_equal(result->form.at[0], SPMD_WHOLE);
    assert_int_equal(result->bytes, 24 * 2048 * 4 / 4);
    plan_release(&plan);
    model_close(&model);
}

static void test_proof(void **state)
{
    static const struct small_program programs[] = {
        {"residual", residual},   {"residual_used", residual_used},
        {"maxima", maxima},       {"sum", sum_from_one},
        {"scatter", scatter_add}, {"branches", branches},
        {"hoist", hoist},         {"inner", inner},
        {"across", across},       {"barrier", barrier},
        {"linear", linear},       {"twice", twice}};

    (void)state;
    prove_all(programs, sizeof programs / sizeof *programs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deferral),   cmocka_unit_test(test_shared_weights),
        cmocka_unit_test(test_linear),     cmocka_unit_test(test_reduced_before_it_is_used_twice),
        cmocka_unit_test(test_maxima),     cmocka_unit_test(test_initial_values),
        cmocka_unit_test(test_hoist),      cmocka_unit_test(test_reshapes),
        cmocka_unit_test(test_inner_atom), cmocka_unit_test(test_across_atoms),
        cmocka_unit_test(test_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
