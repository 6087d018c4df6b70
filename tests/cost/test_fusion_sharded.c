/* What fuses by rules that ask how values are sharded, on plans of small programs over two devices. The
 * machine's times are bytes (plain.h). */
#include "cost/internal.h"
#include "plain.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* shards the first argument's dimension 1 and all that is named with it over the axis */
static void shard_second_dim(struct subject *subject, struct plan *plan)
{
    const struct nda *n = subject->nda;
    const struct nda_space *space = &n->spaces[n->arguments[0].space];
    const uint8_t *map = n->factor_of + n->slots[space->slots].map;
    uint32_t group = n->colors[n->factors[space->factors + map[1]].color].group;
    assert_true(plan_apply(subject->context, plan,
                           (struct plan_decision){.group = group, .axis = 0, .scope = PLAN_SCOPE_ALL}) > 0);
}

/* baseline: an expert's name; NULL: shard_second_dim */
static struct price price_of_plan(const char *text, const char *baseline, uint32_t rules)
{
    struct subject subject;
    struct plan plan = {0};
    struct plan_baseline found;
    struct cost_backend backend;
    struct evaluator_session *session;
    struct price price;
    struct error e;
    plain_open(&subject, &backend, "h100", text, rules);
    plan_init(&plan, subject.nda, &subject.mesh);
    if (baseline)
        ASSERT_OK(plan_baseline_find(subject.context, baseline, &found, &e), &e);
    else
        shard_second_dim(&subject, &plan);
    for (uint32_t i = 0; baseline && i < found.count; i++)
        plan_apply(subject.context, &plan, found.decisions[i]);
    session = evaluator_session_create(subject.evaluator);
    ASSERT_OK(evaluator_price(session, &plan, &price, NULL, &e), &e);
    evaluator_session_destroy(session);
    plan_release(&plan);
    subject_close(&subject);
    return price;
}

static int64_t peak_of_plan(const char *text, const char *baseline, uint32_t rules)
{
    return price_of_plan(text, baseline, rules).peak_bytes;
}

/* Rows less their mean over their deviation, times a gain, in a product; and the gain's gradient. A gathered
 * gain is no operand of the product: rows are stored before it, too. */
static void rows_are_stored_before_gathered_gains(void **state)
{
#define ROWS "tensor<64x1024xf32>"
#define SHORT "tensor<64xf32>"
    static const char text[] =
        "func.func @main(%x: " ROWS
        ", %w: tensor<1024x1024xf32>, %g: tensor<1024xf32> {tf.aliasing_output = 1 "
        ": i32}) -> (tensor<f32>, tensor<1024xf32>) {\n"
        "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "    %share = stablehlo.constant dense<9.765625e-04> : " SHORT "\n"
        "    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (" ROWS
        ", tensor<f32>) -> " SHORT "\n"
        "    %1 = stablehlo.multiply %0, %share : " SHORT "\n"
        "    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (" SHORT ") -> " ROWS "\n"
        "    %3 = stablehlo.subtract %x, %2 : " ROWS "\n"
        "    %4 = stablehlo.multiply %3, %3 : " ROWS "\n"
        "    %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1] : (" ROWS
        ", tensor<f32>) -> " SHORT "\n"
        "    %6 = stablehlo.rsqrt %5 : " SHORT "\n"
        "    %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (" SHORT ") -> " ROWS "\n"
        "    %n = stablehlo.multiply %3, %7 : " ROWS "\n"
        "    %8 = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<1024xf32>) -> " ROWS "\n"
        "    %y = stablehlo.multiply %n, %8 : " ROWS "\n"
        "    %o = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (" ROWS
        ", tensor<1024x1024xf32>) -> " ROWS "\n"
        "    %t = stablehlo.tanh %o : " ROWS "\n"
        "    %loss = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [0, 1] : "
        "(" ROWS ", tensor<f32>) -> tensor<f32>\n"
        "    %d = stablehlo.dot_general %t, %w, contracting_dims = [1] x [1] : (" ROWS
        ", tensor<1024x1024xf32>) -> " ROWS "\n"
        "    %9 = stablehlo.multiply %d, %n : " ROWS "\n"
        "    %10 = stablehlo.reduce(%9 init: %zero) applies stablehlo.add across dimensions = [0] : (" ROWS
        ", tensor<f32>) -> tensor<1024xf32>\n"
        "    %11 = stablehlo.subtract %g, %10 : tensor<1024xf32>\n"
        "    return %loss, %11 : tensor<f32>, tensor<1024xf32>\n}\n";
#undef SHORT
#undef ROWS
    uint32_t rules = COST_FUSE_BYTES | COST_FUSE_NORMS;
    int64_t rows = 32 * 1024 * 4, statistics = 2 * 32 * 4; /* on one of two devices */
    assert_int_equal(peak_of_plan(text, "fsdp:x", rules) - peak_of_plan(text, "fsdp:x", COST_FUSE_BYTES),
                     rows - statistics); /* which need not wait any more */
    assert_int_equal(peak_of_plan(text, "batch:x", rules), peak_of_plan(text, "batch:x", COST_FUSE_BYTES));
}

/* The gradient of stacked weights that is reduced alone stays in its product's order: XLA for GPUs copies the
 * moment into it. The gradient of one matrix is made in the order that is wanted. */
static void moments_of_stacked_weights_are_copied(void **state)
{
    static const char stacked[] =
        "func.func @main(%x: tensor<8x64x1024xf32>, %y: tensor<8x64x1088xf32>, %m: tensor<8x1088x1024xf32> "
        "{tf.aliasing_output = 0 : i32}) -> tensor<8x1088x1024xf32> {\n"
        "    %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : "
        "(tensor<8x64x1024xf32>, tensor<8x64x1088xf32>) -> tensor<8x1024x1088xf32>\n"
        "    %1 = stablehlo.transpose %0, dims = [0, 2, 1] : (tensor<8x1024x1088xf32>) -> "
        "tensor<8x1088x1024xf32>\n"
        "    %2 = stablehlo.add %m, %1 : tensor<8x1088x1024xf32>\n"
        "    return %2 : tensor<8x1088x1024xf32>\n}\n";
    static const char single[] =
        "func.func @main(%x: tensor<64x1024xf32>, %y: tensor<64x8704xf32>, %m: tensor<8704x1024xf32> "
        "{tf.aliasing_output = 0 : i32}) -> tensor<8704x1024xf32> {\n"
        "    %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : "
        "(tensor<64x1024xf32>, tensor<64x8704xf32>) -> tensor<1024x8704xf32>\n"
        "    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<1024x8704xf32>) -> tensor<8704x1024xf32>\n"
        "    %2 = stablehlo.add %m, %1 : tensor<8704x1024xf32>\n"
        "    return %2 : tensor<8704x1024xf32>\n}\n";
    uint32_t plain = COST_FUSE_BYTES, rules = COST_FUSE_BYTES | COST_FUSE_BATCHED;
    assert_int_equal(peak_of_plan(stacked, NULL, rules) - peak_of_plan(stacked, NULL, plain),
                     8 * 1088 * 1024 * 4);
    assert_int_equal(peak_of_plan(single, "batch:x", rules), peak_of_plan(single, "batch:x", plain));
}

/* what rules add to the kernels that are no product, picoseconds */
static int64_t added_ps(const char *text, const char *baseline, uint32_t rules)
{
    struct price with = price_of_plan(text, baseline, COST_FUSE_BYTES | rules),
                 without = price_of_plan(text, baseline, COST_FUSE_BYTES);
    return with.compute_ps - with.matmul_ps - (without.compute_ps - without.matmul_ps);
}

/* One matrix and three stacked ones, whose product of rows and gradient are given; under fsdp 1,024 is what
 * is stored in parts. */
static char *stacked_step(const char *weights, const char *product, const char *gradient)
{
    return mem_printf(
        "func.func @main(%%x: tensor<64x512xf32>, %%u: tensor<512x1024xf32> {tf.aliasing_output = 1 : i32}, "
        "%%w: %s {tf.aliasing_output = 2 : i32}) -> (tensor<f32>, tensor<512x1024xf32>, %s) {\n"
        "    %%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "    %%0 = stablehlo.dot_general %%x, %%u, contracting_dims = [1] x [0] : (tensor<64x512xf32>, "
        "tensor<512x1024xf32>) -> tensor<64x1024xf32>\n"
        "    %%r = stablehlo.broadcast_in_dim %%0, dims = [1, 2] : (tensor<64x1024xf32>) -> "
        "tensor<3x64x1024xf32>\n"
        "%s"
        "    %%t = stablehlo.tanh %%o : tensor<3x64x1088xf32>\n"
        "    %%loss = stablehlo.reduce(%%t init: %%zero) applies stablehlo.add across dimensions = [0, 1, 2] "
        ": "
        "(tensor<3x64x1088xf32>, tensor<f32>) -> tensor<f32>\n"
        "%s"
        "    %%4 = stablehlo.subtract %%w, %%g : %s\n"
        "    %%6 = stablehlo.reduce(%%r init: %%zero) applies stablehlo.add across dimensions = [0] : "
        "(tensor<3x64x1024xf32>, tensor<f32>) -> tensor<64x1024xf32>\n"
        "    %%7 = stablehlo.dot_general %%x, %%6, contracting_dims = [0] x [0] : (tensor<64x512xf32>, "
        "tensor<64x1024xf32>) -> tensor<512x1024xf32>\n"
        "    %%8 = stablehlo.subtract %%u, %%7 : tensor<512x1024xf32>\n"
        "    return %%loss, %%8, %%4 : tensor<f32>, tensor<512x1024xf32>, %s\n}\n",
        weights, weights, product, gradient, weights, weights);
}

#define WIDE_WEIGHTS "tensor<3x1024x1088xf32>"
#define TALL_WEIGHTS "tensor<3x1088x1024xf32>"
#define STACKED_GRADIENT                                                                                     \
    " = stablehlo.dot_general %r, %t, batching_dims = [0] x [0], contracting_dims = [1] x [1] : "            \
    "(tensor<3x64x1024xf32>, tensor<3x64x1088xf32>) -> " WIDE_WEIGHTS "\n"
#define STACKED_PRODUCT                                                                                      \
    "    %o = stablehlo.dot_general %r, %w, batching_dims = [0] x [0], contracting_dims = [2] x "

/* A stacked weight that is gathered along an inner dimension: a product reads it in any order, so each of two
 * devices turns the block that it sends. Where two dimensions are summed over as one, all that was gathered
 * is brought into order. */
static void blocks_of_stacked_weights_are_turned_before_they_are_gathered(void **state)
{
    char *stacked = stacked_step(WIDE_WEIGHTS,
                                 STACKED_PRODUCT "[1] : (tensor<3x64x1024xf32>, " WIDE_WEIGHTS
                                                 ") -> tensor<3x64x1088xf32>\n",
                                 "    %g" STACKED_GRADIENT);
    char *parted =
        stacked_step(WIDE_WEIGHTS,
                     "    %a = stablehlo.reshape %r : (tensor<3x64x1024xf32>) -> tensor<3x64x32x32xf32>\n"
                     "    %b = stablehlo.reshape %w : (" WIDE_WEIGHTS ") -> tensor<3x32x32x1088xf32>\n"
                     "    %o = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = "
                     "[2, 3] x [1, 2] "
                     ": (tensor<3x64x32x32xf32>, tensor<3x32x32x1088xf32>) -> tensor<3x64x1088xf32>\n",
                     "    %g" STACKED_GRADIENT);
    int64_t block = added_ps(stacked, "fsdp:x", COST_FUSE_COPIES),
            whole = added_ps(parted, "fsdp:x", COST_FUSE_COPIES);
    assert_true(block > 0);
    assert_in_range(whole, 2 * block - 2, 2 * block + 2);
    free(stacked);
    free(parted);
}

/* The gradient of stacked weights that a transpose reads, scattered: where the scattered dimension is not the
 * last one the update runs in the gradient's order, and the weight is copied into it. */
static void scattered_gradients_of_stacked_weights_are_turned(void **state)
{
    char *turned = stacked_step(
        TALL_WEIGHTS,
        STACKED_PRODUCT "[2] : (tensor<3x64x1024xf32>, " TALL_WEIGHTS ") -> tensor<3x64x1088xf32>\n",
        "    %3" STACKED_GRADIENT "    %g = stablehlo.transpose %3, dims = [0, 2, 1] : (" WIDE_WEIGHTS
        ") -> " TALL_WEIGHTS "\n");
    char *straight = stacked_step(WIDE_WEIGHTS,
                                  STACKED_PRODUCT "[1] : (tensor<3x64x1024xf32>, " WIDE_WEIGHTS
                                                  ") -> tensor<3x64x1088xf32>\n",
                                  "    %g" STACKED_GRADIENT);
    assert_true(added_ps(turned, "fsdp:x", COST_FUSE_BATCHED) > 0);
    assert_int_equal(added_ps(straight, "fsdp:x", COST_FUSE_BATCHED), 0);
    free(turned);
    free(straight);
}

/* One step of an embedding, which has a moment, and of a head for `words` words. */
static char *untied_step(int words)
{
    char head[32], made[32], logits[32];
    snprintf(head, sizeof head, "tensor<1088x%dxf32>", words);
    snprintf(made, sizeof made, "tensor<%dx1088xf32>", words);
    snprintf(logits, sizeof logits, "tensor<64x%dxf32>", words);
#define TABLE "tensor<1024x1088xf32>"
#define TOKENS "tensor<64x1xi32>"
#define TAKEN "tensor<64x1088xf32>"
    return mem_printf(
        "func.func @main(%%i: " TOKENS ", %%e: " TABLE ", %%m: " TABLE " {tf.aliasing_output = 0 : i32}, "
        "%%h: %1$s {tf.aliasing_output = 1 : i32}) -> (" TABLE ", %1$s) {\n"
        "    %%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "    %%x = \"stablehlo.gather\"(%%e, %%i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: "
        "1, 1088>}> : (" TABLE ", " TOKENS ") -> " TAKEN "\n"
        "    %%l = stablehlo.dot_general %%x, %%h, contracting_dims = [1] x [0] : (" TAKEN ", %1$s) -> %3$s\n"
        "    %%t = stablehlo.tanh %%l : %3$s\n"
        "    %%d = stablehlo.dot_general %%t, %%x, contracting_dims = [0] x [0] : (%3$s, " TAKEN ") -> %2$s\n"
        "    %%g = stablehlo.transpose %%d, dims = [1, 0] : (%2$s) -> %1$s\n"
        "    %%new = stablehlo.subtract %%h, %%g : %1$s\n"
        "    %%y = stablehlo.dot_general %%t, %%h, contracting_dims = [1] x [1] : (%3$s, %1$s) -> " TAKEN "\n"
        "    %%z = stablehlo.broadcast_in_dim %%zero, dims = [] : (tensor<f32>) -> " TABLE "\n"
        "    %%s = \"stablehlo.scatter\"(%%z, %%i, %%y) <{scatter_dimension_numbers = "
        "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n"
        "    ^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
        "      %%c = stablehlo.add %%a, %%b : tensor<f32>\n"
        "      stablehlo.return %%c : tensor<f32>\n"
        "    }) : (" TABLE ", " TOKENS ", " TAKEN ") -> " TABLE "\n"
        "    %%n = stablehlo.add %%m, %%s : " TABLE "\n"
        "    return %%n, %%new : " TABLE ", %1$s\n}\n",
        head, made, logits);
#undef TAKEN
#undef TOKENS
#undef TABLE
}

/* As many words in the embedding as in the head: one shape, of which both gradients lie as the head's. */
static void moments_of_embeddings_are_copied_beside_heads(void **state)
{
    for (int words = 512; words <= 1024; words *= 2) {
        char *text = untied_step(words);
        int64_t copied = peak_of_plan(text, "batch:x", COST_FUSE_BYTES | COST_FUSE_BATCHED) -
                         peak_of_plan(text, "batch:x", COST_FUSE_BYTES);
        int64_t moment = words == 1024 ? 1024 * 1088 * 4 : 0; /* what it takes the place of was small */
        assert_in_range(copied, moment - moment / 16, moment);
        free(text);
    }
}

/* all_reduces that run with the one before */
static uint32_t reduced_with_others(const char *text, bool hides)
{
    struct subject subject;
    struct plan plan = {0};
    struct cost_backend backend;
    struct spmd_local local = {0};
    struct price_scratch *scratch = NULL;
    struct price price;
    struct error e;
    uint32_t count = 0;
    plain_begin(&subject, &backend, "h100", text, COST_FUSE_BYTES | COST_FUSE_SIBLINGS);
    backend.hides = hides;
    ASSERT_OK(subject_evaluator(&subject, &e), &e);
    plan_init(&plan, subject.nda, &subject.mesh);
    shard_second_dim(&subject, &plan);
    ASSERT_OK(spmd_walk(subject.context, &plan, evaluator_options(subject.evaluator), &local, &e), &e);
    price_local(&local, &subject.machine, &scratch, NULL, &price);
    for (size_t i = 0; i < scratch->kernel_count; i++)
        count += scratch->kernels[i].follows && local.steps[scratch->kernels[i].step].kind == SPMD_ALL_REDUCE;
    price_scratch_destroy(scratch);
    spmd_local_release(&local);
    plan_release(&plan);
    subject_close(&subject);
    return count;
}

/* A label's score, picked from split scores, is reduced with the softmax's sum, where nothing between the two
 * reads it. */
static void picked_scores_are_reduced_with_sums(void **state)
{
#define ROWS "tensor<1048576x64xf32>"
#define EACH "tensor<1048576xf32>"
    for (int waits = 0; waits < 2; waits++) {
        char *text = mem_printf(
            "func.func @main(%%w: tensor<8x64xf32>, %%h: tensor<1048576x8xf32>, %%l: "
            "tensor<1048576x1x1xi32>) -> "
            "(" EACH ", tensor<f32>) {\n"
            "    %%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
            "    %%s = stablehlo.dot_general %%h, %%w, contracting_dims = [1] x [0] : "
            "(tensor<1048576x8xf32>, "
            "tensor<8x64xf32>) -> " ROWS "\n"
            "    %%g = \"stablehlo.gather\"(%%s, %%l) <{dimension_numbers = "
            "#stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], "
            "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = "
            "array<i64: 1, 1>}> : (" ROWS ", tensor<1048576x1x1xi32>) -> tensor<1048576x1xf32>\n"
            "    %%p = stablehlo.reshape %%g : (tensor<1048576x1xf32>) -> " EACH "\n"
            "    %%t = stablehlo.negate %%p : " EACH "\n"
            "    %%m = stablehlo.reduce(%%s init: %%zero) applies stablehlo.maximum across dimensions = [1] "
            ": "
            "(" ROWS ", tensor<f32>) -> " EACH "\n"
            "    %%o = stablehlo.add %%m, %%%s : " EACH "\n"
            "    %%b = stablehlo.broadcast_in_dim %%o, dims = [0] : (" EACH ") -> " ROWS "\n"
            "    %%d = stablehlo.subtract %%s, %%b : " ROWS "\n"
            "    %%e = stablehlo.exponential %%d : " ROWS "\n"
            "    %%r = stablehlo.reduce(%%e init: %%zero) applies stablehlo.add across dimensions = [1] : "
            "(" ROWS ", tensor<f32>) -> " EACH "\n"
            "    %%q = stablehlo.log %%r : " EACH "\n"
            "    %%loss = stablehlo.reduce(%%t init: %%zero) applies stablehlo.add across dimensions = [0] : "
            "(" EACH ", tensor<f32>) -> tensor<f32>\n"
            "    return %%q, %%loss : " EACH ", tensor<f32>\n}\n",
            waits ? "t" : "m");
        assert_int_equal(reduced_with_others(text, true), !waits);
        assert_int_equal(reduced_with_others(text, false), 0);
        free(text);
    }
#undef EACH
#undef ROWS
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_stored_before_gathered_gains),
        cmocka_unit_test(moments_of_stacked_weights_are_copied),
        cmocka_unit_test(blocks_of_stacked_weights_are_turned_before_they_are_gathered),
        cmocka_unit_test(moments_of_embeddings_are_copied_beside_heads),
        cmocka_unit_test(scattered_gradients_of_stacked_weights_are_turned),
        cmocka_unit_test(picked_scores_are_reduced_with_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
