/* timeout: 240 */
/* Blocks and segments of transformers as CFP counts them, at 6 layers and at 24 (a model and its deeper twin
 * give the same kinds), and of every other module there is: an answer, never a failure. The space holds the
 * experts' data and tensor parallel plans. */
#include "support.h"

#include "segments/compose.h"
#include "subject.h"

#include <dirent.h>
#include <string.h>

static void open_model(struct subject *subject, const char *name)
{
    struct error e = {0};
    char *path = mem_printf(SUPPORT_MODELS "%s", name);
    ASSERT_OK(subject_file(subject, path, &e), &e);
    free(path);
}

/* programs of the segments of layers alone: without embedding and head (kinds of one block) */
static uint64_t layer_programs(const struct segments *segments, uint32_t *kinds)
{
    uint64_t sum = 0;
    *kinds = 0;
    for (uint32_t i = 0; i < segments->kind_count; i++)
        if (segments->segments[segments->kinds[i].example].count > 1) {
            sum += segments->kinds[i].configurations;
            ++*kinds;
        }
    for (uint32_t i = 0; i < segments->pair_count; i++) {
        const struct segments_pair *pair = &segments->pairs[i];
        const struct segments_dependence *it = &segments->dependences[pair->example];
        uint32_t from = segments->contractions[it->from].block, to = segments->contractions[it->to].block;
        if (segments->segments[segments->segment_of[from]].count > 1 &&
            segments->segments[segments->segment_of[to]].count > 1)
            sum += (uint64_t)segments_strategy_count(segments, from) * segments_strategy_count(segments, to);
    }
    return sum;
}

static void check_layers(const char *name, uint32_t layers)
{
    struct subject subject;
    struct segments *segments;
    uint32_t kinds;
    open_model(&subject, name);
    segments_create(subject.nda, 4, SEGMENTS_MOST_CONFIGURATIONS, &segments);
    assert_int_equal(segments->block_count, 4 * layers + 2); /* embedding, head */
    assert_int_equal(segments->segment_count, layers + 2);
    assert_int_equal(segments->kind_count, 4);
    for (uint32_t block = 1; block + 1 < segments->block_count; block++) {
        assert_int_equal(segments->blocks[block].strategy_count, 3);
        /* queries, keys and values as one, both batched matmuls of attention; each with two gradients */
        assert_int_equal(segments->blocks[block].forward_count, block % 4 == 1 ? 3 : 1);
        assert_int_equal(segments->blocks[block].contraction_count,
                         3 * segments->blocks[block].forward_count);
    }
    assert_int_equal(layer_programs(segments, &kinds), 180);
    assert_int_equal(kinds, 2);
    segments_destroy(segments);
    subject_close(&subject);
}

static void transformers(void **state)
{
    check_layers("segments/bert_6.mlir.gz", 6);
    check_layers("segments/gpt_6.mlir.gz", 6);
    check_layers("segments/llama_6.mlir.gz", 6);
    check_layers("gpt.mlir.gz", 32); /* the same counts at the paper's size and depth */
}

/* expert matmuls are batched: one side more */
static void experts(void **state)
{
    struct subject subject;
    struct segments *segments;
    open_model(&subject, "segments/moe_6.mlir.gz");
    segments_create(subject.nda, 4, SEGMENTS_MOST_CONFIGURATIONS, &segments);
    assert_int_equal(segments->block_count, 26);
    assert_int_equal(segments->segment_count, 8);
    assert_int_equal(segments->kind_count, 5); /* embedding, first, experts, the others, head */
    for (uint32_t layer = 0; layer < 6; layer++)
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(segments->blocks[1 + 4 * layer + i].strategy_count, layer % 2 && i > 1 ? 4 : 3);
    segments_destroy(segments);
    subject_close(&subject);
}

/* Of the projection to queries, keys and values 16 devices divide rows alone, neither 8 heads nor 8 features:
 * its block ends with attention all the same, and does not hold the layers behind it. */
static void sides_that_are_not_divided(void **state)
{
    static const char *const names[] = {"bert_6", "gpt_6", "llama_6", "moe_6"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct subject subject;
        struct segments *segments;
        char *name = mem_printf("segments/%s.mlir.gz", names[i]);
        open_model(&subject, name);
        free(name);
        segments_create(subject.nda, 16, SEGMENTS_MOST_CONFIGURATIONS, &segments);
        assert_int_equal(segments->block_count, 26);
        for (uint32_t block = 1; block < 25; block++) {
            assert_int_equal(segments->blocks[block].forward_count, block % 4 == 1 ? 3 : 1);
            for (uint32_t k = 0; block % 4 == 1 && k < segments->blocks[block].strategy_count; k++)
                assert_int_not_equal(segments->strategies[segments->blocks[block].strategies + k].side,
                                     SEGMENTS_COLUMNS);
        }
        segments_destroy(segments);
        subject_close(&subject);
    }
}

/* both gradients of each of a U-Net's convolutions are in its block; the first's input has none */
static void convolutions(void **state)
{
    struct subject subject;
    struct segments *segments;
    uint32_t forward = 0, backward = 0;
    open_model(&subject, "small/unet.mlir");
    segments_create(subject.nda, 4, SEGMENTS_MOST_CONFIGURATIONS, &segments);
    assert_int_equal(segments->block_count, 29);
    for (uint32_t i = 0; i < segments->block_count; i++) {
        assert_int_equal(segments->blocks[i].contraction_count,
                         3 * segments->blocks[i].forward_count - (i == 0));
        forward += segments->blocks[i].forward_count;
    }
    for (uint32_t i = 0; i < segments->contraction_count; i++)
        backward += segments->contractions[i].forward != NDA_NONE;
    assert_int_equal(backward, 2 * forward - 1);
    segments_destroy(segments);
    subject_close(&subject);
}

/* what jax.checkpoint computes again is in the blocks of the first time: t2b has as many either way */
static void computed_again(void **state)
{
    struct segments *plain, *again;
    struct subject subject, other;
    open_model(&subject, "t2b.mlir.gz");
    open_model(&other, "t2b_remat.mlir.gz");
    segments_create(subject.nda, 8, SEGMENTS_MOST_CONFIGURATIONS, &plain);
    segments_create(other.nda, 8, SEGMENTS_MOST_CONFIGURATIONS, &again);
    assert_true(again->contraction_count > plain->contraction_count);
    assert_int_equal(again->block_count, plain->block_count);
    assert_int_equal(again->segment_count, plain->segment_count);
    assert_int_equal(again->kind_count, plain->kind_count);
    assert_int_equal(again->programs, plain->programs);
    segments_destroy(plain);
    segments_destroy(again);
    subject_close(&subject);
    subject_close(&other);
}

/* CFP's figure 6: three windows of the same two contractions; only the last two depend on each other alike */
static const char FIGURE_6[] =
    "module @m {\n"
    "  func.func public @main(%x: tensor<16x16xf32>, %a: tensor<16x16xf32>, %b: tensor<16x16xf32>, %c: "
    "tensor<16x16xf32>, "
    "%d: tensor<16x16xf32>, %e: tensor<16x16xf32>, %f: tensor<16x16xf32>) -> tensor<16x16xf32> {\n"
    "    %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : (tensor<16x16xf32>, "
    "tensor<16x16xf32>) -> "
    "tensor<16x16xf32>\n"
    "    %t = stablehlo.transpose %0, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>\n"
    "    %1 = stablehlo.dot_general %t, %b, contracting_dims = [1] x [0] : (tensor<16x16xf32>, "
    "tensor<16x16xf32>) -> "
    "tensor<16x16xf32>\n"
    "    %2 = stablehlo.dot_general %1, %c, contracting_dims = [1] x [0] : (tensor<16x16xf32>, "
    "tensor<16x16xf32>) -> "
    "tensor<16x16xf32>\n"
    "    %3 = stablehlo.dot_general %2, %d, contracting_dims = [1] x [0] : (tensor<16x16xf32>, "
    "tensor<16x16xf32>) -> "
    "tensor<16x16xf32>\n"
    "    %4 = stablehlo.dot_general %3, %e, contracting_dims = [1] x [0] : (tensor<16x16xf32>, "
    "tensor<16x16xf32>) -> "
    "tensor<16x16xf32>\n"
    "    %n = stablehlo.negate %4 : tensor<16x16xf32>\n" /* trivial ops differ */
    "    %5 = stablehlo.dot_general %n, %f, contracting_dims = [1] x [0] : (tensor<16x16xf32>, "
    "tensor<16x16xf32>) -> "
    "tensor<16x16xf32>\n"
    "    return %5 : tensor<16x16xf32>\n"
    "  }\n"
    "}\n";

static uint32_t kind_of(const struct segments *segments, uint32_t block)
{
    return segments->segments[segments->segment_of[block]].kind;
}

static void figure_6(void **state)
{
    struct subject subject;
    struct segments *segments;
    struct error e = {0};
    ASSERT_OK(subject_text(&subject, FIGURE_6, strlen(FIGURE_6), &e), &e);
    segments_create(subject.nda, 4, SEGMENTS_MOST_CONFIGURATIONS, &segments);
    assert_int_equal(segments->block_count, 6);
    assert_int_equal(kind_of(segments, 3), kind_of(segments, 5));
    assert_int_not_equal(kind_of(segments, 1), kind_of(segments, 3));
    segments_destroy(segments);
    subject_close(&subject);
}

/* every kind of module there is; every contraction in a block, every segment of a kind, text that ends */
static void check_any(const char *path)
{
    struct subject subject;
    struct segments *segments;
    struct error e = {0};
    struct text text = {0};
    ASSERT_OK(subject_file(&subject, path, &e), &e);
    segments_create(subject.nda, 4, SEGMENTS_MOST_CONFIGURATIONS, &segments);
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < segments->contraction_count; i++)
        assert_true(segments->contractions[i].block < segments->block_count);
    for (uint32_t i = 0; i < segments->segment_count; i++) {
        assert_int_equal(segments->segments[i].first, blocks);
        assert_true(segments->segments[i].kind < segments->kind_count);
        blocks += segments->segments[i].count;
    }
    assert_int_equal(blocks, segments->block_count);
    for (uint32_t i = 0; i < segments->kind_count; i++)
        assert_true(segments->kinds[i].configurations <= SEGMENTS_MOST_CONFIGURATIONS);
    segments_text(segments, &text);
    segments_dot(segments, &text);
    assert_true(text.size > 0);
    text_release(&text);
    segments_destroy(segments);
    subject_close(&subject);
}

static void check_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!strstr(entry->d_name, ".mlir"))
            continue;
        char *path = mem_printf("%s/%s", folder, entry->d_name);
        check_any(path);
        free(path);
    }
    closedir(dir);
}

/* text says of every kind what it is, also beyond the alphabet, and never that there are no configurations */
static void as_text(void **state)
{
    struct subject subject;
    struct segments *segments;
    struct text text = {0};
    open_model(&subject, "unet.mlir.gz");
    segments_create(subject.nda, 8, 9, &segments);
    assert_true(segments->kind_count > 27);
    segments_text(segments, &text);
    assert_non_null(strstr(text.at, "\n  A1  "));
    assert_null(strstr(text.at, "?"));
    text_release(&text);
    segments_destroy(segments);
    segments_create(subject.nda, 1000003, 9, &segments); /* divides nothing */
    segments_text(segments, &text);
    assert_non_null(strstr(text.at, ": 1 x 1 reshards"));
    assert_null(strstr(text.at, ": 0 x 0 reshards"));
    text_release(&text);
    segments_destroy(segments);
    subject_close(&subject);
}

static void every_module(void **state)
{
    check_folder(SUPPORT_MODELS);
    check_folder(SUPPORT_MODELS "small");
}

/* ---- what the space holds ---- */

static uint32_t side_of(const struct segments *segments, uint32_t block, enum segments_side side)
{
    for (uint32_t i = 0; i < segments->blocks[block].strategy_count; i++)
        if (segments->strategies[segments->blocks[block].strategies + i].side == side)
            return i;
    fail_msg("block %u has no such side", block);
    return 0;
}

/* sides of embedding, the four blocks of a layer, head */
static void price_sides(const struct subject *subject, const struct segments *segments,
                        const enum segments_side sides[6], struct price *price)
{
    struct error e = {0};
    struct cost cost;
    struct plan plan;
    uint32_t *configurations = mem_zalloc(segments->segment_count + 1, sizeof *configurations);
    for (uint32_t block = 0; block < segments->block_count; block++) {
        uint32_t at = block == 0 ? 0 : block + 1 == segments->block_count ? 5 : 1 + (block - 1) % 4;
        uint32_t *it = &configurations[segments->segment_of[block]];
        *it = *it * segments->blocks[block].strategy_count + side_of(segments, block, sides[at]);
    }
    plan_init(&plan, subject->nda, &subject->mesh);
    segments_plan(segments, subject->context, 0, 1, configurations, &plan);
    struct evaluator_session *session = evaluator_session_create(subject->evaluator);
    ASSERT_OK(evaluator_price(session, &plan, price, &cost, &e), &e);
    evaluator_session_destroy(session);
    plan_release(&plan);
    free(configurations);
}

static void price_expert(const struct subject *subject, const char *name, struct price *price)
{
    struct error e = {0};
    struct plan_baseline baseline;
    struct cost cost;
    struct plan plan;
    ASSERT_OK(plan_baseline_find(subject->context, name, &baseline, &e), &e);
    plan_init(&plan, subject->nda, &subject->mesh);
    plan_replay(subject->context, baseline.decisions, &baseline.count, &plan);
    struct evaluator_session *session = evaluator_session_create(subject->evaluator);
    ASSERT_OK(evaluator_price(session, &plan, price, &cost, &e), &e);
    evaluator_session_destroy(session);
    plan_release(&plan);
}

static void check_membership(const char *name)
{
    static const enum segments_side data[] = {SEGMENTS_ROWS, SEGMENTS_ROWS, SEGMENTS_ROWS,
                                              SEGMENTS_ROWS, SEGMENTS_ROWS, SEGMENTS_ROWS};
    static const enum segments_side tensor[] = {SEGMENTS_ROWS,    SEGMENTS_COLUMNS,    SEGMENTS_CONTRACTED,
                                                SEGMENTS_COLUMNS, SEGMENTS_CONTRACTED, SEGMENTS_COLUMNS};
    struct subject subject;
    struct segments *segments;
    struct price mine, expert;
    struct error e = {0};
    open_model(&subject, name);
    ASSERT_OK(subject_mesh(&subject, "model=4", &e), &e);
    ASSERT_OK(subject_device(&subject, "a100-40", 0, &e), &e);
    segments_create(subject.nda, 4, SEGMENTS_MOST_CONFIGURATIONS, &segments);
    price_sides(&subject, segments, data, &mine);
    price_expert(&subject, "batch:model", &expert);
    assert_int_equal(mine.step_ps, expert.step_ps);
    assert_int_equal(mine.peak_bytes, expert.peak_bytes);
    price_sides(&subject, segments, tensor, &mine);
    price_expert(&subject, "megatron:model", &expert);
    print_message("%s: tensor parallel %.3f ms, the expert's %.3f ms\n", name, (double)mine.step_ps / 1e9,
                  (double)expert.step_ps / 1e9);
    assert_true((double)mine.matmul_ps < 1.01 * (double)expert.matmul_ps);
    segments_destroy(segments);
    subject_close(&subject);
}

static void membership(void **state)
{
    check_membership("segments/bert_6.mlir.gz");
    check_membership("segments/gpt_6.mlir.gz");
    check_membership("segments/llama_6.mlir.gz");
}

/* Nothing takes time but bytes over links (CFP's section 2.2, Alpa's way): of the experts that split the
 * batch or the weights none moves less than the best configuration that all layers take alike. */
static void check_volume(const char *name)
{
    struct subject subject;
    struct segments *segments;
    struct price price, expert;
    struct error e = {0};
    int64_t least = INT64_MAX;
    open_model(&subject, name);
    ASSERT_OK(subject_mesh(&subject, "model=4", &e), &e);
    struct cost_device device = *cost_device_find("a100-40");
    device.launch_ps = device.host_latency_ps = 0;
    ASSERT_OK(cost_machine_create_device(&subject.mesh, &device, 0, &subject.machine, &e), &e);
    ASSERT_OK(subject_evaluator(&subject, &e), &e);
    segments_create(subject.nda, 4, SEGMENTS_MOST_CONFIGURATIONS, &segments);
    for (uint32_t number = 0; number < 81; number++) {
        static const enum segments_side of[] = {SEGMENTS_ROWS, SEGMENTS_COLUMNS, SEGMENTS_CONTRACTED};
        enum segments_side sides[6] = {SEGMENTS_ROWS,      of[number / 27], of[number / 9 % 3],
                                       of[number / 3 % 3], of[number % 3],  SEGMENTS_ROWS};
        price_sides(&subject, segments, sides, &price);
        least = price.communication_ps < least ? price.communication_ps : least;
    }
    price_expert(&subject, "batch:model", &expert);
    assert_true(least <= expert.communication_ps);
    price_expert(&subject, "megatron:model", &expert);
    print_message("%s: least volume %.3f ms, megatron's %.3f ms\n", name, (double)least / 1e9,
                  (double)expert.communication_ps / 1e9);
    assert_true(least <= expert.communication_ps);
    segments_destroy(segments);
    subject_close(&subject);
}

static void volume_optimal(void **state)
{
    check_volume("segments/bert_6.mlir.gz");
    check_volume("segments/gpt_6.mlir.gz");
    check_volume("segments/llama_6.mlir.gz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(transformers),
                                       cmocka_unit_test(experts),
                                       cmocka_unit_test(sides_that_are_not_divided),
                                       cmocka_unit_test(convolutions),
                                       cmocka_unit_test(computed_again),
                                       cmocka_unit_test(figure_6),
                                       cmocka_unit_test(every_module),
                                       cmocka_unit_test(as_text),
                                       cmocka_unit_test(membership),
                                       cmocka_unit_test(volume_optimal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
