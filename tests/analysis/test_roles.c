/* timeout: 120 */
/* What arguments are (roles), which dimensions are the batch, positions and heads, and what all are
 * called. */
#include "load.h"

static void roles_and_names_of_a_train_step(void **state)
{
    struct subject subject;
    const struct nda *n;
    load(&subject, "tests/models/t2b.mlir.gz");
    n = subject.nda;
    assert_string_equal(n->arguments[0].name, "params/embed");
    assert_int_equal(n->arguments[0].role, NDA_ROLE_PARAMETER);
    assert_string_equal(n->arguments[9].name, "params/layer_00/wq");
    assert_string_equal(n->groups[n->colors[argument_color(n, 9, 0)].group].label, "embed");
    assert_string_equal(n->groups[n->colors[argument_color(n, 9, 1)].group].label, "heads");
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_argument *argument = &n->arguments[i];
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(argument->name, n->arguments[j].name);
        if (strncmp(argument->name, "params/", 7) == 0)
            assert_int_equal(argument->role, NDA_ROLE_PARAMETER);
        else if (strncmp(argument->name, "state/", 6) == 0)
            assert_int_equal(argument->role, NDA_ROLE_OPTIMIZER);
        else
            assert_int_equal(argument->role, NDA_ROLE_DATA);
    }
    assert_int_equal(n->arguments[n->argument_count - 1].role, NDA_ROLE_DATA);
    assert_int_equal(n->groups[n->colors[argument_color(n, n->argument_count - 1, 0)].group].roles,
                     NDA_COLOR_BATCH);
    subject_close(&subject);
}

static void roles_of_a_decode_step(void **state)
{
    struct subject subject;
    uint32_t caches = 0;
    load(&subject, "tests/models/itx.mlir.gz");
    for (uint32_t i = 0; i < subject.nda->argument_count; i++)
        caches += subject.nda->arguments[i].role == NDA_ROLE_CACHE;
    assert_int_equal(caches, 64); /* keys and values of 32 layers */
    assert_int_equal(subject.nda->arguments[0].role, NDA_ROLE_PARAMETER);
    subject_close(&subject);
}

/* a step of one token has no sequence but that of its caches, which it writes at a position; its heads are
 * on four of six matrices, as many as the model dimension's half and more */
static void a_cache_has_positions(void **state)
{
    struct subject subject;
    load(&subject, "tests/analysis/data/cache.mlir");
    static const char *const labels[] = {"batch", "sequence", "heads"};
    for (uint32_t i = 6; i < 8; i++) {
        assert_int_equal(subject.nda->arguments[i].role, NDA_ROLE_CACHE);
        for (uint32_t dim = 0; dim < 3; dim++)
            assert_string_equal(subject.nda->groups[group_of_dimension(subject.nda, i, dim)].label,
                                labels[dim]);
    }
    subject_close(&subject);
}

static uint32_t colors_of_role(const struct nda *n, uint32_t role)
{
    uint32_t count = 0;
    for (uint32_t color = 0; color < n->color_count; color++)
        count += (n->colors[color].roles & role) != 0;
    return count;
}

/* Steps and environments go through the same product; what more arguments have is the batch, wherever it
 * stands. A cache that is a whole result is called after its number. */
static void environments_are_the_batch(void **state)
{
    static const char text[] =
        "func.func @main(%x: tensor<3x4x8xf32>, %w: tensor<8x8xf32>, %r: tensor<4xf32>, "
        "%c: tensor<6x8xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<3x4x8xf32>, "
        "tensor<6x8xf32> {jax.result_info = \"result[1]\"}) {\n"
        "%y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : "
        "(tensor<3x4x8xf32>, tensor<8x8xf32>) -> tensor<3x4x8xf32>\n"
        "%b = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<4xf32>) -> tensor<3x4x8xf32>\n"
        "%z = stablehlo.add %y, %b : tensor<3x4x8xf32>\n"
        "%d = stablehlo.add %c, %c : tensor<6x8xf32>\n"
        "return %z, %d : tensor<3x4x8xf32>, tensor<6x8xf32>\n}\n";
    struct subject subject;
    load_text(&subject, text, sizeof text - 1);
    const struct nda *n = subject.nda;
    assert_string_equal(n->groups[group_of_dimension(n, 0, 1)].label, "batch");
    assert_int_equal(colors_of_role(n, NDA_COLOR_BATCH), 1);
    assert_string_equal(n->arguments[3].name, "cache/1");
    subject_close(&subject);
}

/* weights without moments are told from a carried state by their gradient, although both are updated by
 * sums of products */
static void sgd_is_training_and_sampling_is_not(void **state)
{
    struct subject subject;
    load(&subject, "tests/analysis/data/sgd.mlir");
    assert_int_equal(subject.nda->arguments[0].role, NDA_ROLE_PARAMETER);
    assert_int_equal(subject.nda->arguments[1].role, NDA_ROLE_PARAMETER);
    assert_int_equal(subject.nda->arguments[2].role, NDA_ROLE_DATA);
    assert_int_equal(colors_of_role(subject.nda, NDA_COLOR_BATCH), 1);
    assert_int_equal(colors_of_role(subject.nda, NDA_COLOR_MODEL), 1);
    subject_close(&subject);
    load(&subject, "tests/analysis/data/sampler.mlir");
    assert_int_equal(subject.nda->arguments[0].role, NDA_ROLE_CACHE);
    assert_int_equal(subject.nda->arguments[1].role, NDA_ROLE_PARAMETER);
    assert_int_equal(subject.nda->arguments[2].role, NDA_ROLE_PARAMETER);
    assert_int_equal(colors_of_role(subject.nda, NDA_COLOR_BATCH), 1);
    subject_close(&subject);
}

/* two losses, of which one uses weights that the other has just updated; frozen weights under trained
 * adapters */
static void judges_and_adapters(void **state)
{
    struct subject subject;
    load(&subject, "tests/analysis/data/adversarial.mlir");
    for (uint32_t i = 0; i < subject.nda->argument_count; i++)
        assert_int_equal(subject.nda->arguments[i].role, i < 4   ? NDA_ROLE_PARAMETER
                                                         : i < 8 ? NDA_ROLE_OPTIMIZER
                                                                 : NDA_ROLE_DATA);
    assert_int_equal(colors_of_role(subject.nda, NDA_COLOR_BATCH), 1);
    subject_close(&subject);
    load(&subject, "tests/analysis/data/adapters.mlir");
    for (uint32_t i = 0; i < subject.nda->argument_count; i++) /* a, b; frozen w; examples */
        assert_int_equal(subject.nda->arguments[i].role, i < 3 ? NDA_ROLE_PARAMETER : NDA_ROLE_DATA);
    subject_close(&subject);
}

/* Weights that are not trained and have dimensions of their own: a scanned base of which only one weight
 * has an adapter, its scales layer by layer, its table, a teacher, a vector; of data of their kind the
 * indices and what holds the batch stay data. The adapter's rank, in front of the feed-forward dimension, is
 * not what Megatron shards. */
static void frozen_weights(void **state)
{
    static const enum nda_role roles[] = {NDA_ROLE_PARAMETER, NDA_ROLE_PARAMETER, NDA_ROLE_PARAMETER,
                                          NDA_ROLE_PARAMETER, NDA_ROLE_PARAMETER, NDA_ROLE_PARAMETER,
                                          NDA_ROLE_PARAMETER, NDA_ROLE_PARAMETER, NDA_ROLE_DATA,
                                          NDA_ROLE_PARAMETER, NDA_ROLE_DATA};
    struct subject subject;
    uint32_t model = 0;
    load(&subject, "tests/analysis/data/frozen.mlir");
    for (uint32_t i = 0; i < subject.nda->argument_count; i++)
        assert_int_equal(subject.nda->arguments[i].role, roles[i]);
    for (uint32_t color = 0; color < subject.nda->color_count; color++)
        if (subject.nda->colors[color].roles & NDA_COLOR_MODEL) {
            const struct nda_color *found = &subject.nda->colors[color];
            int64_t size = subject.nda->factors[subject.nda->color_factors[found->factors]].size;
            assert_true(size == 64 || size == 24 || size == 40); /* of the base, the teacher, the table */
            model++;
        }
    assert_int_equal(model, 3);
    subject_close(&subject);
}

/* weights that are made of several arguments before they meet an example: quantized with scales, merged
 * with an adapter and carried through a loop; what is added to examples in that loop (k) is none */
static void weights_made_before_use(void **state)
{
    static const char text[] =
        "func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x32xi8>, %s: tensor<1x32xf32>, %v: "
        "tensor<32x8xf32>, %a: tensor<32x2xf32>,\n"
        "                %b: tensor<2x8xf32>, %m: tensor<32x8xf32>, %k: tensor<16x32xf32>) -> "
        "tensor<16x8xf32> {\n"
        "  %0 = stablehlo.convert %w : (tensor<8x32xi8>) -> tensor<8x32xf32>\n"
        "  %1 = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<1x32xf32>) -> tensor<8x32xf32>\n"
        "  %2 = stablehlo.multiply %0, %1 : tensor<8x32xf32>\n"
        "  %3 = stablehlo.dot_general %x, %2, contracting_dims = [1] x [0] : (tensor<16x8xf32>, "
        "tensor<8x32xf32>) -> tensor<16x32xf32>\n"
        "  %4 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<32x2xf32>, "
        "tensor<2x8xf32>) -> tensor<32x8xf32>\n"
        "  %5 = stablehlo.add %v, %4 : tensor<32x8xf32>\n"
        "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %6:4 = stablehlo.while(%i = %zero, %u = %5, %y = %3, %q = %k) : tensor<i32>, tensor<32x8xf32>, "
        "tensor<16x32xf32>, tensor<16x32xf32>\n"
        "  cond {\n    %n = stablehlo.constant dense<3> : tensor<i32>\n"
        "    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    "
        "stablehlo.return %p : tensor<i1>\n"
        "  } do {\n    %one = stablehlo.constant dense<1> : tensor<i32>\n    %j = stablehlo.add %i, %one : "
        "tensor<i32>\n"
        "    %d = stablehlo.add %y, %q : tensor<16x32xf32>\n"
        "    stablehlo.return %j, %u, %d, %q : tensor<i32>, tensor<32x8xf32>, tensor<16x32xf32>, "
        "tensor<16x32xf32>\n  }\n"
        "  %7 = stablehlo.dot_general %6#2, %6#1, contracting_dims = [1] x [0] : (tensor<16x32xf32>, "
        "tensor<32x8xf32>) -> tensor<16x8xf32>\n"
        "  %8 = stablehlo.dot_general %7, %m, contracting_dims = [1] x [1] : (tensor<16x8xf32>, "
        "tensor<32x8xf32>) -> tensor<16x32xf32>\n"
        "  %9 = stablehlo.multiply %8, %6#2 : tensor<16x32xf32>\n"
        "  %10 = stablehlo.dot_general %9, %m, contracting_dims = [1] x [0] : (tensor<16x32xf32>, "
        "tensor<32x8xf32>) -> tensor<16x8xf32>\n"
        "  return %10 : tensor<16x8xf32>\n}\n";
    struct subject subject;
    load_text(&subject, text, sizeof text - 1);
    for (uint32_t i = 0; i < subject.nda->argument_count; i++)
        assert_int_equal(subject.nda->arguments[i].role,
                         i == 0 || i == 7 ? NDA_ROLE_DATA : NDA_ROLE_PARAMETER);
    /* the 32 of w and v: made by one, summed by the next */
    assert_int_equal(colors_of_role(subject.nda, NDA_COLOR_MODEL), 1);
    subject_close(&subject);
}

static void expect_roles(const char *path, const uint8_t *roles, uint32_t count, uint32_t batches)
{
    struct subject subject;
    load(&subject, path);
    assert_int_equal(subject.nda->argument_count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(subject.nda->arguments[i].role, roles[i]);
    assert_int_equal(colors_of_role(subject.nda, NDA_COLOR_BATCH), batches);
    subject_close(&subject);
}

/* train steps that donate nothing, one within a loop, one whose first weight is a row before the examples'; a
 * shared block applied again and again is no training */
static void state_is_found_without_donation(void **state)
{
    enum { P = NDA_ROLE_PARAMETER, O = NDA_ROLE_OPTIMIZER, D = NDA_ROLE_DATA };
    static const uint8_t adam[] = {P, P, O, O, O, O, D, D}, two[] = {P, P, D, D}, one[] = {P, P, D},
                         token[] = {P, P, P, P, P, D, D};
    struct subject subject;
    expect_roles("tests/analysis/data/undonated.mlir", adam, 8, 1);
    expect_roles("tests/analysis/data/gradients.mlir", two, 4, 1);
    expect_roles("tests/analysis/data/trained_in_loop.mlir", two, 4, 1);
    expect_roles("tests/analysis/data/recurrent.mlir", one, 3, 1);
    expect_roles("tests/analysis/data/class_token.mlir", token, 7, 1);
    load(&subject, "tests/analysis/data/undonated.mlir");
    /* results: weights, moments, moments, loss, norm of the gradient */
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(subject.nda->arguments[i].tied_result, NDA_NONE);
        assert_int_equal(subject.nda->arguments[i].becomes, i < 6 ? i : (uint32_t)NDA_NONE);
        assert_int_equal(subject.nda->arguments[i].updated, i < 6);
    }
    assert_string_equal(subject.nda->arguments[1].name, "params/b");
    assert_int_equal(colors_of_role(subject.nda, NDA_COLOR_MODEL), 1);
    subject_close(&subject);
    load(&subject, "tests/analysis/data/gradients.mlir");
    assert_int_equal(subject.nda->arguments[0].becomes, 1); /* after the loss */
    assert_int_equal(subject.nda->arguments[1].becomes, 2);
    assert_int_equal(subject.nda->arguments[0].updated, 0);
    subject_close(&subject);
    load(&subject, "tests/analysis/data/recurrent.mlir");
    assert_int_equal(subject.nda->arguments[2].becomes, NDA_NONE);
    subject_close(&subject);
    (void)state;
}

/* two batches that only meet in the similarities: both are examples, neither tower's input is a weight */
static void two_towers_have_two_batches(void **state)
{
    enum { P = NDA_ROLE_PARAMETER, D = NDA_ROLE_DATA };
    static const uint8_t towers[] = {P, P, P, P, D, D};
    expect_roles("tests/analysis/data/towers.mlir", towers, 6, 2);
    (void)state;
}

static void expect_label(const struct nda *n, const char *argument, uint32_t dim, const char *label)
{
    uint32_t i = 0;
    while (i < n->argument_count && strcmp(n->arguments[i].name, argument) != 0)
        i++;
    assert_true(i < n->argument_count);
    assert_string_equal(n->groups[group_of_dimension(n, i, dim)].label, label);
}

/* A mixture's experts take tokens of all examples, so that the forward pass sums over the batch: its
 * gradients are no attention all the same. Queries that are learnt are attention's, and no experts'. */
static void heads_are_attentions_alone(void **state)
{
    struct subject subject;
    load(&subject, "tests/analysis/data/mixture.mlir.gz");
    assert_int_equal(colors_of_role(subject.nda, NDA_COLOR_BATCH), 1);
    expect_label(subject.nda, "params/layers/0/moe/w1", 0, "experts");
    expect_label(subject.nda, "params/layers/0/moe/w1", 2, "ffn");
    expect_label(subject.nda, "params/layers/1/moe/w2", 1, "ffn");
    expect_label(subject.nda, "params/layers/0/attn/wk", 1, "heads");
    subject_close(&subject);
    load(&subject, "tests/analysis/data/learnt_queries.mlir");
    assert_int_equal(colors_of_role(subject.nda, NDA_COLOR_EXPERT), 0);
    expect_label(subject.nda, "params/q", 1, "heads");
    subject_close(&subject);
    (void)state;
}

static void expect_group(const struct nda *n, const char *label, int64_t size)
{
    for (uint32_t group = 0; group < n->group_count; group++)
        if (strcmp(n->groups[group].label, label) == 0) {
            assert_int_equal(n->groups[group].size, size);
            return;
        }
    fail_msg("no dimension is called %s", label);
}

/* on no argument, or a part of an argument's dimension */
static void others_are_labelled(void **state)
{
    static const struct {
        const char *path, *label;
        int64_t size;
    } rows[] = {{"tests/analysis/data/experts_shared.mlir.gz", "head_dim", 8},
                {"tests/analysis/data/experts_shared.mlir.gz", "top_k", 2},
                {"tests/analysis/data/experts_shared.mlir.gz", "capacity", 8},
                {"tests/analysis/data/state_space.mlir.gz", "head_dim", 16},
                {"tests/analysis/data/depths.mlir.gz", "top_k", 8},
                {"tests/analysis/data/depths.mlir.gz", "sequence_2", 8},
                {"tests/analysis/data/speech.mlir.gz", "sequence_2", 24},
                {"tests/analysis/data/resampler.mlir.gz", "sequence_3", 64},
                {"tests/analysis/data/registers.mlir.gz", "sequence", 69},
                {"tests/analysis/data/registers.mlir.gz", "layers_4", 4},
                {"tests/analysis/data/retrieval.mlir.gz", "sequence_2", 6},
                {"tests/analysis/data/retrieval.mlir.gz", "microbatches", 2},
                {"tests/analysis/data/windows.mlir.gz", "blocks", 5},
                {"tests/analysis/data/windows.mlir.gz", "sequence", 4},
                {"tests/analysis/data/routed.mlir.gz", "assignments", 256},
                {"tests/analysis/data/routed.mlir.gz", "hidden", 160}};
    struct subject subject;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        load(&subject, rows[i].path);
        expect_group(subject.nda, rows[i].label, rows[i].size);
        subject_close(&subject);
    }
    (void)state;
}

static void dimensions_are_labelled(void **state)
{
#define DATA "tests/analysis/data/"
    static const struct {
        const char *path, *argument;
        uint32_t dim;
        const char *label;
    } rows[] = {
        /* heads behind a rank that queries are made of; experts that see all tokens, chosen one hot */
        {DATA "latent_attention.mlir.gz", "state/params/layers/0/q_up", 1, "heads"},
        {DATA "latent_attention.mlir.gz", "state/params/layers/1/kv_up", 1, "heads"},
        {DATA "latent_attention.mlir.gz", "state/params/layers/0/o", 0, "heads"},
        {DATA "latent_attention.mlir.gz", "state/params/layers/0/e_up", 0, "experts"},
        {DATA "latent_attention.mlir.gz", "state/params/layers/0/e_up", 2, "ffn"},
        {DATA "latent_attention.mlir.gz", "state/params/layers/1/s_down", 0, "ffn_2"},
        /* latents attend to positions of another number, then to themselves */
        {DATA "attended.mlir.gz", "state/params/latents", 0, "sequence"},
        {DATA "attended.mlir.gz", "batch/0", 1, "sequence_2"},
        /* what the layers are conditioned on is another table's width */
        {DATA "two_tables.mlir.gz", "state/params/label", 1, "embed_2"},
        {DATA "two_tables.mlir.gz", "state/params/layers/0/ada", 0, "embed_2"},
        {DATA "two_tables.mlir.gz", "state/params/layers/0/up", 0, "embed"},
        /* heads of queries, keys and values in one matrix; experts that are chosen from; a shared expert */
        {DATA "experts_shared.mlir.gz", "params/layers/0/o", 0, "heads"},
        {DATA "experts_shared.mlir.gz", "params/layers/0/qkv", 1, "heads_2"},
        {DATA "experts_shared.mlir.gz", "params/layers/1/w_up", 0, "experts"},
        {DATA "experts_shared.mlir.gz", "params/layers/1/router", 1, "experts_2"},
        {DATA "experts_shared.mlir.gz", "params/layers/0/shared_up", 1, "ffn"},
        /* stacked layers under a scan; image, window, channels; positions with and without more tokens */
        {DATA "registers.mlir.gz", "params/blocks/up", 0, "layers_2"},
        {DATA "registers.mlir.gz", "params/blocks/up", 2, "ffn"},
        {DATA "registers.mlir.gz", "params/patch", 0, "window"},
        {DATA "registers.mlir.gz", "params/patch", 2, "channels"},
        {DATA "registers.mlir.gz", "params/head", 1, "classes"},
        {DATA "registers.mlir.gz", "params/reg", 0, "sequence_3"},
        {DATA "registers.mlir.gz", "arg60", 1, "spatial"},
        /* two streams of activations, one attends to the other */
        {DATA "speech.mlir.gz", "params/dec/0/c/q", 0, "embed"},
        {DATA "speech.mlir.gz", "params/dec/0/c/k", 0, "embed_2"},
        {DATA "speech.mlir.gz", "params/enc/1/f/w2", 1, "embed_2"},
        {DATA "speech.mlir.gz", "params/conv1", 1, "channels"},
        /* numbers beside looked up rows */
        {DATA "tables.mlir.gz", "params/tables/0", 0, "vocab"},
        {DATA "tables.mlir.gz", "params/tables/3", 0, "rows"},
        {DATA "tables.mlir.gz", "params/bot/0", 0, "features"},
        {DATA "tables.mlir.gz", "params/bot/1", 1, "hidden"},
        /* positions that latents attend to, joined with the latents */
        {DATA "resampler.mlir.gz", "params/pos", 0, "sequence_2"},
        {DATA "resampler.mlir.gz", "params/layers/0/kv", 2, "heads"},
        {DATA "resampler.mlir.gz", "params/layers/0/kv", 3, "head_dim"},
    };
#undef DATA
    struct subject subject;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (i == 0 || strcmp(rows[i].path, rows[i - 1].path) != 0)
            load(&subject, rows[i].path);
        expect_label(subject.nda, rows[i].argument, rows[i].dim, rows[i].label);
        if (i + 1 == sizeof rows / sizeof *rows || strcmp(rows[i].path, rows[i + 1].path) != 0)
            subject_close(&subject);
    }
    (void)state;
}

/* a donated weight that comes back as it was is no example of which the other argument would be summed to
 * a gradient */
static void weights_handed_back_are_no_examples(void **state)
{
    static const uint8_t roles[] = {NDA_ROLE_DATA, NDA_ROLE_CACHE, NDA_ROLE_PARAMETER};
    expect_roles("tests/analysis/data/handed_back.mlir", roles, 3, 1);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_and_names_of_a_train_step),
        cmocka_unit_test(roles_of_a_decode_step),
        cmocka_unit_test(a_cache_has_positions),
        cmocka_unit_test(environments_are_the_batch),
        cmocka_unit_test(state_is_found_without_donation),
        cmocka_unit_test(two_towers_have_two_batches),
        cmocka_unit_test(heads_are_attentions_alone),
        cmocka_unit_test(dimensions_are_labelled),
        cmocka_unit_test(others_are_labelled),
        cmocka_unit_test(weights_handed_back_are_no_examples),
        cmocka_unit_test(sgd_is_training_and_sampling_is_not),
        cmocka_unit_test(judges_and_adapters),
        cmocka_unit_test(frozen_weights),
        cmocka_unit_test(weights_made_before_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
