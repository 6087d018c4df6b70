/* Emitted modules: well-formed, re-readable, of the stated style, with the collectives of the local program;
 * what each family's lowering must contain, on programs of a few ops. That they compute the same is the
 * proof's and XLA's affair. */
/* timeout: 120 */
#include "emit_support.h"

#include "ir/attrs.h"

#include <stdio.h>

/* the text reads back as as many ops and values, and what that prints reads back as itself (attributes get
 * sorted) */
static void expect_rereads(const char *text)
{
    struct error e = {0};
    struct ir_program again = {0}, once_more = {0};
    struct text first = {0}, second = {0};
    ASSERT_OK(ir_read(text, strlen(text), NULL, &again, &e), &e);
    ir_print(&again, &first);
    assert_int_equal(occurrences(first.at, "\n"), occurrences(text, "\n"));
    assert_int_equal(first.size, strlen(text));
    ASSERT_OK(ir_read(first.at, first.size, NULL, &once_more, &e), &e);
    ir_print(&once_more, &second);
    assert_string_equal(second.at, first.at);
    text_release(&first);
    text_release(&second);
    ir_program_release(&again);
    ir_program_release(&once_more);
}

static const struct {
    const char *op;
    enum spmd_step_kind kind;
} collectives[] = {{"\"stablehlo.all_gather\"", SPMD_ALL_GATHER},
                   {"\"stablehlo.all_reduce\"", SPMD_ALL_REDUCE},
                   {"\"stablehlo.reduce_scatter\"", SPMD_REDUCE_SCATTER},
                   {"\"stablehlo.all_to_all\"", SPMD_ALL_TO_ALL},
                   {"\"stablehlo.collective_permute\"", SPMD_PERMUTE}};

/* steps of a kind, one a combined tuple; loops not multiplied */
static uint32_t steps_of(const struct spmd_local *local, enum spmd_step_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < local->step_count; i++)
        if (local->steps[i].kind == kind &&
            (!local->steps[i].combined || i == 0 || local->steps[i - 1].combined != local->steps[i].combined))
            n++;
    return n;
}

static void expect_style(const struct setup *setup, const char *text, enum emit_output form)
{
    uint32_t total = 0, permutes = occurrences(text, "stablehlo.collective_permute");
    uint32_t exchanges = occurrences(text, "stablehlo.all_to_all");
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        uint32_t n = occurrences(text, collectives[i].op);
        assert_int_equal(n, form == EMIT_ANNOTATED ? 0 : steps_of(&setup->local, collectives[i].kind));
        total += n;
    }
    assert_int_equal(occurrences(text, "channel_handle"), form == EMIT_MANUAL ? 2 * total : 0);
    assert_int_equal(occurrences(text, "use_global_device_ids"),
                     form == EMIT_MANUAL ? total - permutes - exchanges : 0);
    assert_int_equal(occurrences(text, "mhlo.sharding"), 0);
    assert_int_equal(occurrences(text, "sdy.manual_computation"), form == EMIT_MANUAL);
    if (form != EMIT_LOCAL)
        assert_int_equal(occurrences(text, "stablehlo.replica_id"), 0);
    if (form != EMIT_MANUAL)
        assert_int_equal(occurrences(text, "stablehlo.partition_id"), 0);
    if (form == EMIT_LOCAL)
        assert_int_equal(occurrences(text, "sdy."), 0);
    char devices[64];
    snprintf(devices, sizeof devices, "%s = %lld : i32",
             form == EMIT_LOCAL ? "mhlo.num_replicas" : "mhlo.num_partitions",
             (long long)mesh_devices(&setup->mesh));
    assert_int_equal(occurrences(text, devices), 1);
}

static void expect_all_forms(struct setup *setup)
{
    walk(setup);
    for (int form = EMIT_ANNOTATED; form <= EMIT_LOCAL; form++) {
        char *text = emit_text(setup, (enum emit_output)form);
        expect_style(setup, text, (enum emit_output)form);
        expect_rereads(text);
        free(text);
    }
}

/* ---------------------------------------------------------------- every small model, random plans */
static void test_models(void **state)
{
    static const char *const models[] = {"mlp.mlir",
                                         "paper_attention.mlir",
                                         "small/itx.mlir",
                                         "small/gpt_torch.mlir",
                                         "small/t2b_scan.mlir",
                                         "small/t2b_flat.mlir",
                                         "small/gns.mlir",
                                         "small/unet.mlir"};
    static const char *const meshes[] = {"data=8", "data=4,model=2", "a=2,b=2,c=2"};
    uint64_t seed = support_seed(20);
    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        char *path = mem_printf(SUPPORT_MODELS "%s", models[m]);
        size_t size;
        char *text = support_read(path, &size);
        struct setup setup;
        struct rng rng = {.state = seed + m};
        open_text(&setup, text, meshes[m % 3]);
        for (int k = 0; k < 2; k++) {
            plan_random(setup.context, &rng, &setup.plan);
            expect_all_forms(&setup);
        }
        close_setup(&setup);
        free(text);
        free(path);
    }
}

/* ---------------------------------------------------------------- single lowerings */
static void test_iota_adds_offset(void **state)
{
    struct setup setup;
    (void)state;
    open_text(&setup,
              MAIN("%x: tensor<16x3xi32>", "tensor<16x3xi32>",
                   "%0 = stablehlo.iota dim = 0 : tensor<16x3xi32>\n"
                   "%1 = stablehlo.add %0, %x : tensor<16x3xi32>\n return %1 : tensor<16x3xi32>"),
              "a=4,b=2");
    shard(&setup, IR_ADD, true, 0, 0, 0);
    shard(&setup, IR_IOTA, true, 0, 0, 0);
    walk(&setup);
    char *text = emit_text(&setup, EMIT_LOCAL);
    assert_int_equal(occurrences(text, "stablehlo.replica_id"), 1);
    assert_true(occurrences(text, "dense<2> : tensor<i32>") >= 1); /* devices between neighbours along a */
    assert_true(occurrences(text, "dense<4> : tensor<i32>") >= 1); /* 16 / 4 rows a block */
    assert_int_equal(occurrences(text, "iota_dimension = 0 : i64} : () -> tensor<4x3xi32>"), 1);
    free(text);
    close_setup(&setup);
}

static const char lookup[] =
    MAIN("%x: tensor<32x4xf32>, %i: tensor<6x1xi32>", "tensor<6x4xf32>",
         "%0 = \"stablehlo.gather\"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
         "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: "
         "1, 4>, "
         "indices_are_sorted = true} : (tensor<32x4xf32>, tensor<6x1xi32>) -> tensor<6x4xf32>\n"
         "return %0 : tensor<6x4xf32>");

static void test_gather_selects(void **state)
{
    struct setup setup;
    (void)state;
    open_text(&setup, lookup, "a=8");
    shard(&setup, IR_GATHER, false, 0, 0, 0);
    walk(&setup);
    char *text = emit_text(&setup, EMIT_MANUAL);
    assert_int_equal(occurrences(text, "\"stablehlo.clamp\""), 2);     /* to the whole dim, to the part */
    assert_int_equal(occurrences(text, "dense<31> : tensor<i32>"), 1); /* the global bound */
    assert_int_equal(occurrences(text, "indices_are_sorted = false"), 1);
    assert_int_equal(occurrences(text, "\"stablehlo.select\""), 1);
    assert_int_equal(occurrences(text, "\"stablehlo.all_reduce\""), 1);
    const char *clamp = strstr(text, "\"stablehlo.clamp\""),
               *subtract = strstr(text, "\"stablehlo.subtract\"");
    assert_true(clamp < subtract && subtract < strstr(text, "\"stablehlo.gather\""));
    free(text);
    close_setup(&setup);
}

static const char counting_lookup[] =
    MAIN("%x: tensor<32x4xf32>, %y: tensor<32x1xi32>", "tensor<32xf32>",
         "%i = stablehlo.iota dim = 0 : tensor<32x1xi32>\n"
         "%v = stablehlo.concatenate %i, %y, dim = 1 : (tensor<32x1xi32>, tensor<32x1xi32>) -> "
         "tensor<32x2xi32>\n"
         "%0 = \"stablehlo.gather\"(%x, %v) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = "
         "[0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>, "
         "indices_are_sorted = true} : (tensor<32x4xf32>, tensor<32x2xi32>) -> tensor<32xf32>\n"
         "return %0 : tensor<32xf32>");

/* Vectors that count along a split dimension: a batch, in every form; along a whole one they stay. */
static void test_gather_counts(void **state)
{
    static const enum emit_output forms[] = {EMIT_MANUAL, EMIT_LOCAL, EMIT_ANNOTATED};
    struct setup setup;
    (void)state;
    for (int split = 1; split >= 0; split--) {
        open_text(&setup, counting_lookup, "a=8");
        if (split)
            shard(&setup, IR_GATHER, false, 0, 0, 0);
        walk(&setup);
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            char *text = emit_text(&setup, forms[i]);
            assert_int_equal(occurrences(text, "collapsed_slice_dims = [1], operand_batching_dims = [0], "
                                               "start_indices_batching_dims = [0], start_index_map = [1]"),
                             split);
            assert_int_equal(occurrences(text, "indices_are_sorted = true"), !split);
            assert_int_equal(occurrences(text, "stablehlo.clamp"), 0);
            assert_int_equal(occurrences(text, "stablehlo.all_reduce"), 0);
            free(text);
        }
        close_setup(&setup);
    }
}

static const char scatter_add[] = MAIN(
    "%x: tensor<32x4xf32>, %i: tensor<8x1xi32>, %u: tensor<8x4xf32>", "tensor<32x4xf32>",
    "%0 = \"stablehlo.scatter\"(%x, %i, %u) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "%1 = stablehlo.add %a, %b : tensor<f32>\nstablehlo.return %1 : tensor<f32>\n}) "
    "{scatter_dimension_numbers = "
    "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = "
    "[0], "
    "index_vector_dim = 1>, unique_indices = true} : (tensor<32x4xf32>, tensor<8x1xi32>, tensor<8x4xf32>) -> "
    "tensor<32x4xf32>\nreturn %0 : tensor<32x4xf32>");

static void test_scatter(void **state)
{
    struct setup setup;
    (void)state;
    /* looked up: positions elsewhere become the local size, which drops */
    open_text(&setup, scatter_add, "a=4");
    shard(&setup, IR_SCATTER, false, 0, 0, 0);
    walk(&setup);
    char *text = emit_text(&setup, EMIT_LOCAL);
    assert_int_equal(occurrences(text, "\"stablehlo.clamp\""), 0);
    assert_int_equal(occurrences(text, "dense<8> : tensor<8x1xi32>"), 1);
    assert_int_equal(occurrences(text, "unique_indices = false"), 1);
    assert_int_equal(occurrences(text, "\"stablehlo.all_reduce\""), 0);
    free(text);
    close_setup(&setup);
    open_text(&setup, scatter_add, "a=4"); /* contracted: the operand counts on one device */
    shard(&setup, IR_SCATTER, false, 2, 0, 0);
    walk(&setup);
    text = emit_text(&setup, EMIT_LOCAL);
    assert_int_equal(occurrences(text, "unique_indices = true"), 1);
    assert_int_equal(occurrences(text, "\"stablehlo.select\""), 1);
    assert_int_equal(occurrences(text, "dense<0.000000e+00> : tensor<32x4xf32>"), 1);
    free(text);
    close_setup(&setup);
}

static char *reduce_program(const char *initial)
{
    return mem_printf(
        MAIN("%%x: tensor<16x4xf32>", "tensor<4xf32>",
             "%%c = stablehlo.constant dense<%s> : tensor<f32>\n"
             "%%0 = stablehlo.reduce(%%x init: %%c) applies stablehlo.add across dimensions = [0] : "
             "(tensor<16x4xf32>, tensor<f32>) -> tensor<4xf32>\nreturn %%0 : tensor<4xf32>"),
        initial);
}

static void test_initial_value_counts_once(void **state)
{
    static const struct {
        const char *initial;
        uint32_t selects, added;
    } cases[] = {{"0.0", 0, 0}, {"1.5", 1, 1}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct setup setup;
        char *program = reduce_program(cases[i].initial);
        open_text(&setup, program, "a=4");
        shard(&setup, IR_REDUCE, false, 0, 0, 0);
        walk(&setup);
        char *manual = emit_text(&setup, EMIT_MANUAL), *annotated = emit_text(&setup, EMIT_ANNOTATED);
        assert_int_equal(occurrences(manual, "\"stablehlo.select\""), cases[i].selects);
        assert_int_equal(occurrences(annotated, "\"stablehlo.add\""), 1 + cases[i].added);
        free(manual);
        free(annotated);
        close_setup(&setup);
        free(program);
    }
}

/* ---------------------------------------------------------------- partial sums that meet */
#define TIED_ARGUMENTS                                                                                       \
    "%x: tensor<16x4xf32>, %g: tensor<16x32xf32>, %i: tensor<16x1xi32>, %w: tensor<32x4xf32>"
#define TIED_DOT                                                                                             \
    "%0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<16x4xf32>, "                  \
    "tensor<16x32xf32>) -> tensor<4x32xf32>\n"                                                               \
    "%1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x32xf32>) -> tensor<32x4xf32>\n"                  \
    "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"                                                  \
    "%zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<32x4xf32>\n"
#define TIED_SCATTER(into)                                                                                   \
    "%2 = \"stablehlo.scatter\"(" into ", %i, %x) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"             \
    "%9 = stablehlo.add %a, %b : tensor<f32>\nstablehlo.return %9 : tensor<f32>\n}) "                        \
    "{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], " \
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<32x4xf32>, tensor<16x1xi32>, "     \
    "tensor<16x4xf32>) -> tensor<32x4xf32>\n"
#define TIED_END                                                                                             \
    "%3 = stablehlo.add %1, %2 : tensor<32x4xf32>\n%4 = stablehlo.multiply %3, %w : "                        \
    "tensor<32x4xf32>\n return %4 : tensor<32x4xf32>"

/* the annotated module with the dot (and the scatter, if any) split over the batch, by all axes; owned */
static char *tied_text(const char *program, const char *mesh, bool scatters)
{
    struct setup setup;
    open_text(&setup, program, mesh);
    for (uint32_t axis = 0; axis < setup.mesh.axis_count; axis++) {
        shard(&setup, IR_DOT_GENERAL, false, 0, 0, axis);
        if (scatters)
            shard(&setup, IR_SCATTER, false, 2, 0, axis);
    }
    expect_all_forms(&setup);
    char *text = emit_text(&setup, EMIT_ANNOTATED);
    close_setup(&setup);
    return text;
}

static void expect_in(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("not in the module: %s\n%s", what, text);
}

/* dot and scatter keep a dim of summands over the batch; transpose and add carry it; one sum follows */
static void test_sums_meet(void **state)
{
    static const char program[] =
        MAIN(TIED_ARGUMENTS, "tensor<32x4xf32>", TIED_DOT TIED_SCATTER("%zeros") TIED_END);
    (void)state;
    char *text = tied_text(program, "a=4", true);
    expect_in(text, "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
                    "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>} : "
                    "(tensor<4x4x4xf32>, tensor<4x4x32xf32>) -> tensor<4x4x32xf32>");
    expect_in(text, "permutation = array<i64: 0, 2, 1>} : (tensor<4x4x32xf32>) -> tensor<4x32x4xf32>");
    expect_in(text, "update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], "
                    "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
                    "index_vector_dim = 2>");
    expect_in(text, ": (tensor<4x32x4xf32>, tensor<4x4x1xi32>, tensor<4x4x4xf32>) -> tensor<4x32x4xf32>");
    expect_in(text, "#sdy.sharding<@mesh, [{\"a\"}, {}, {}]>} : (tensor<4x32x4xf32>) -> tensor<4x32x4xf32>");
    expect_in(text, "\"stablehlo.add\"(%");
    expect_in(text, "(tensor<4x32x4xf32>, tensor<4x32x4xf32>) -> tensor<4x32x4xf32>");
    expect_in(text, "{dimensions = array<i64: 0>} : (tensor<4x32x4xf32>, tensor<f32>) -> tensor<32x4xf32>");
    assert_int_equal(occurrences(text, "\"stablehlo.reduce\""), 1);
    free(text);
}

/* several axes on one dim: one leading dim, major axis first */
static void test_sums_meet_over_two_axes(void **state)
{
    static const char program[] =
        MAIN(TIED_ARGUMENTS, "tensor<32x4xf32>", TIED_DOT TIED_SCATTER("%zeros") TIED_END);
    (void)state;
    char *text = tied_text(program, "a=4,b=2", true);
    expect_in(text, "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0]");
    expect_in(text, "input_batching_dims = [0], scatter_indices_batching_dims = [0]");
    expect_in(text, "[{\"a\", \"b\"}, {}, {}]>} : (tensor<8x32x4xf32>)");
    expect_in(text, "{dimensions = array<i64: 0>} : (tensor<8x32x4xf32>, tensor<f32>) -> tensor<32x4xf32>");
    free(text);
}

/* .. where one op has them in another order: a leading dim each, in the mesh's order */
static void test_sums_meet_in_two_orders(void **state)
{
    static const char program[] =
        MAIN(TIED_ARGUMENTS, "tensor<32x4xf32>", TIED_DOT TIED_SCATTER("%zeros") TIED_END);
    struct setup setup;
    (void)state;
    open_text(&setup, program, "a=4,b=2");
    for (uint32_t axis = 0; axis < 2; axis++) {
        shard(&setup, IR_DOT_GENERAL, false, 0, 0, axis);
        shard(&setup, IR_SCATTER, false, 2, 0, axis);
    }
    for (uint32_t i = 0; i < setup.nda->space_count; i++)
        if (setup.nda->spaces[i].kind == NDA_SPACE_OP &&
            setup.prepared.ops[setup.nda->spaces[i].op].code == IR_SCATTER)
            for (uint32_t axis = 0; axis < 2; axis++)
                setup.plan.cells[2 * i + axis].position = (uint8_t)(1 - axis);
    expect_all_forms(&setup);
    char *text = emit_text(&setup, EMIT_ANNOTATED);
    expect_in(text, "lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1]");
    expect_in(text, "input_batching_dims = [0, 1], scatter_indices_batching_dims = [1, 0]");
    expect_in(text, "[{\"a\"}, {\"b\"}, {}, {}]>} : (tensor<4x2x32x4xf32>)");
    expect_in(text,
              "{dimensions = array<i64: 0, 1>} : (tensor<4x2x32x4xf32>, tensor<f32>) -> tensor<32x4xf32>");
    free(text);
    close_setup(&setup);
}

/* a reduce keeps the dim, which then goes to the front; a multiple, a slice and a reshape carry it */
static void test_sums_pass(void **state)
{
    static const char program[] =
        MAIN("%x: tensor<3x16x4xf32>, %y: tensor<16x3xf32>, %z: tensor<16x8xf32>, %k: tensor<f32>",
             "tensor<12xf32>",
             "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
             "%0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : "
             "(tensor<3x16x4xf32>, tensor<f32>) -> tensor<3x4xf32>\n"
             "%1 = stablehlo.dot_general %y, %z, contracting_dims = [0] x [0] : (tensor<16x3xf32>, "
             "tensor<16x8xf32>) -> tensor<3x8xf32>\n"
             "%2 = stablehlo.slice %1 [0:3, 2:6] : (tensor<3x8xf32>) -> tensor<3x4xf32>\n"
             "%3 = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<f32>) -> tensor<3x4xf32>\n"
             "%4 = stablehlo.multiply %3, %2 : tensor<3x4xf32>\n"
             "%5 = stablehlo.subtract %0, %4 : tensor<3x4xf32>\n"
             "%6 = stablehlo.reshape %5 : (tensor<3x4xf32>) -> tensor<12xf32>\n return %6 : tensor<12xf32>");
    struct setup setup;
    (void)state;
    open_text(&setup, program, "a=4");
    shard(&setup, IR_REDUCE, false, 0, 1, 0);
    shard(&setup, IR_DOT_GENERAL, false, 0, 0, 0);
    expect_all_forms(&setup);
    char *text = emit_text(&setup, EMIT_ANNOTATED);
    expect_in(text, "{dimensions = array<i64: 2>} : (tensor<3x4x4x4xf32>, tensor<f32>) -> tensor<3x4x4xf32>");
    expect_in(text, "permutation = array<i64: 1, 0, 2>} : (tensor<3x4x4xf32>) -> tensor<4x3x4xf32>");
    expect_in(text, "start_indices = array<i64: 0, 0, 2>");
    expect_in(text, "\"stablehlo.subtract\"");
    expect_in(text, "(tensor<4x3x4xf32>) -> tensor<4x12xf32>");
    expect_in(text, "(tensor<4x12xf32>, tensor<f32>) -> tensor<12xf32>");
    free(text);
    close_setup(&setup);
}

#define SUMMED_LOOP(start)                                                                                   \
    MAIN("%x: tensor<16x4xf32>, %y: tensor<16x8xf32>, %s: tensor<4x8xf32>", "tensor<4x8xf32>",               \
         "%zero = stablehlo.constant dense<0> : tensor<i32>\n"                                               \
         "%zeros = stablehlo.constant dense<0.0> : tensor<4x8xf32>\n"                                        \
         "%r:2 = stablehlo.while(%i = %zero, %c = " start ") : tensor<i32>, tensor<4x8xf32>\n cond {\n"      \
         "%n = stablehlo.constant dense<3> : tensor<i32>\n"                                                  \
         "%less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"                 \
         "stablehlo.return %less : tensor<i1>\n} do {\n"                                                     \
         "%one = stablehlo.constant dense<1> : tensor<i32>\n"                                                \
         "%next = stablehlo.add %i, %one : tensor<i32>\n"                                                    \
         "%d = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<16x4xf32>, "             \
         "tensor<16x8xf32>) -> tensor<4x8xf32>\n"                                                            \
         "%sum = stablehlo.add %c, %d : tensor<4x8xf32>\n"                                                   \
         "stablehlo.return %next, %sum : tensor<i32>, tensor<4x8xf32>\n}\n return %r#1 : tensor<4x8xf32>")

/* the module with a loop that adds products split over what they sum over; owned */
static char *loop_text(const char *program)
{
    struct setup setup;
    open_text(&setup, program, "a=4");
    shard(&setup, IR_DOT_GENERAL, false, 0, 0, 0);
    expect_all_forms(&setup);
    char *text = emit_text(&setup, EMIT_ANNOTATED);
    close_setup(&setup);
    return text;
}

/* a sum that a loop carries: carried as summands, reduced behind the loop; what it begins with counts once */
static void test_sums_carried(void **state)
{
    static const char from_zeros[] = SUMMED_LOOP("%zeros"), from_values[] = SUMMED_LOOP("%s");
    (void)state;
    char *text = loop_text(from_zeros);
    expect_in(text, "(tensor<i32>, tensor<4x4x8xf32>) -> (tensor<i32>, tensor<4x4x8xf32>)");
    expect_in(text, "(tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>");
    expect_in(text, "{dimensions = array<i64: 0>} : (tensor<4x4x8xf32>, tensor<f32>) -> tensor<4x8xf32>");
    assert_true(strstr(text, "\"stablehlo.reduce\"") > strstr(text, "\"stablehlo.while\""));
    assert_int_equal(occurrences(text, "\"stablehlo.reduce\""), 1);
    assert_int_equal(occurrences(text, "\"stablehlo.select\""), 0);
    free(text);
    text = loop_text(from_values);
    expect_in(text, "(tensor<i32>, tensor<4x4x8xf32>) -> (tensor<i32>, tensor<4x4x8xf32>)");
    expect_in(text, "(tensor<4x4x8xi1>, tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xf32>");
    free(text);
}

/* one partial sum alone, one that starts from values, one that a lookup leaves: as they are */
static void test_sums_left(void **state)
{
    static const char *const programs[] = {
        MAIN(TIED_ARGUMENTS, "tensor<32x4xf32>", TIED_DOT "return %1 : tensor<32x4xf32>"),
        MAIN(TIED_ARGUMENTS, "tensor<32x4xf32>", TIED_DOT TIED_SCATTER("%w") TIED_END),
        MAIN(TIED_ARGUMENTS, "tensor<32x4xf32>",
             TIED_DOT TIED_SCATTER("%zeros") "%5 = stablehlo.concatenate %1, %2, dim = 0 : "
                                             "(tensor<32x4xf32>, tensor<32x4xf32>) -> tensor<64x4xf32>\n"
                                             "%6 = stablehlo.slice %5 [0:32, 0:4] : (tensor<64x4xf32>) -> "
                                             "tensor<32x4xf32>\n return %6 : tensor<32x4xf32>")};
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char *text = tied_text(programs[i], "a=4", i > 0);
        assert_int_equal(occurrences(text, "batching_dim"), 0);
        assert_int_equal(occurrences(text, "\"stablehlo.reduce\""), 0);
        free(text);
    }
}

static void list_sums(const char *program, bool scatters, struct emit_sums *sums)
{
    struct setup setup;
    struct error e = {0};
    open_text(&setup, program, "a=4");
    shard(&setup, IR_DOT_GENERAL, false, 0, 0, 0);
    if (scatters)
        shard(&setup, IR_SCATTER, false, 2, 0, 0);
    walk(&setup);
    ASSERT_OK(spmd_emit_list_sums(setup.context, &setup.local, sums, &e), &e);
    close_setup(&setup);
}

/* what somebody is told who writes the summands: both makers, cut along the batch; nothing where sums are
 * left, and whether any of these costs */
static void test_sums_listed(void **state)
{
    struct emit_sums sums;
    (void)state;
    list_sums(MAIN(TIED_ARGUMENTS, "tensor<32x4xf32>", TIED_DOT TIED_SCATTER("%zeros") TIED_END), true,
              &sums);
    assert_int_equal(sums.count, 2);
    assert_true(sums.all);
    for (uint32_t i = 0; i < sums.count; i++) {
        const struct emit_sum *sum = &sums.at[i];
        assert_int_equal(sum->leading.rank, 1);
        assert_int_equal(sum->leading.dims[0].count, 1);
        assert_int_equal(sum->sharding.rank, 2);
        assert_int_equal(sum->sharding.dims[0].count + sum->sharding.dims[1].count, 0);
        assert_int_equal(sum->cut_count, 2);
        for (uint32_t k = 0; k < sum->cut_count; k++) {
            assert_int_equal(sum->cuts[k].operand, i + k); /* lhs and rhs; indices and updates */
            assert_int_equal(sum->cuts[k].from.rank, 2);
            assert_int_equal(sum->cuts[k].from.dims[0].count, 1);
            assert_int_equal(sum->cuts[k].from.dims[1].count, 0);
            assert_int_equal(sum->cuts[k].sharding.dims[0].count, 1);
        }
    }
    spmd_emit_sums_release(&sums);
    list_sums(MAIN(TIED_ARGUMENTS, "tensor<32x4xf32>", TIED_DOT "return %1 : tensor<32x4xf32>"), false,
              &sums);
    assert_int_equal(sums.count, 0);
    assert_true(sums.all);
    spmd_emit_sums_release(&sums);
    list_sums(MAIN(TIED_ARGUMENTS, "tensor<32x4xf32>", TIED_DOT TIED_SCATTER("%w") TIED_END), true, &sums);
    assert_int_equal(sums.count, 0);
    spmd_emit_sums_release(&sums);
}

/* a version that only cuts a definition leaves the definition's own form said, for its other uses */
static void test_slice_keeps_its_source(void **state)
{
    static const char program[] =
        MAIN("%x: tensor<16x8xf32>, %y: tensor<16x8xf32>", "tensor<16x8xf32>, tensor<16x8xf32>",
             "%0 = stablehlo.negate %x : tensor<16x8xf32>\n%1 = stablehlo.tanh %0 : tensor<16x8xf32>\n"
             "%2 = stablehlo.multiply %0, %y : tensor<16x8xf32>\n"
             "return %1, %2 : tensor<16x8xf32>, tensor<16x8xf32>");
    struct setup setup;
    (void)state;
    open_text(&setup, program, "a=4");
    for (uint32_t i = 0; i < setup.nda->space_count; i++) /* the product alone, of its factor 0: the rows */
        if (setup.nda->spaces[i].kind == NDA_SPACE_OP &&
            setup.prepared.ops[setup.nda->spaces[i].op].code == IR_MULTIPLY)
            setup.plan.cells[i] = (struct plan_cell){.factor = 0};
    walk(&setup);
    assert_int_equal(steps_of(&setup.local, SPMD_SLICE), 2); /* of %0 and of the argument */
    char *text = emit_text(&setup, EMIT_ANNOTATED);
    const char *negate = strstr(text, "\"stablehlo.negate\""), *whole = strstr(negate, "[{}, {}]>}"),
               *cut = strstr(negate, "[{\"a\"}, {}]>}");
    assert_true(whole && cut && whole < cut);
    free(text);
    close_setup(&setup);
}

static void test_signature(void **state)
{
    static const char text[] =
        "func.func public @main(%x: tensor<8x4xf32> {tf.aliasing_output = 1 : i32, mhlo.sharding = "
        "\"{replicated}\"}, "
        "%y: tensor<8x4xf32> {jax.buffer_donor = true}) -> (tensor<8x4xf32> {jax.result_info = \"a\"}, "
        "tensor<8x4xf32>) {\n"
        "%0 = stablehlo.add %x, %y : tensor<8x4xf32>\n%1 = stablehlo.multiply %x, %y : tensor<8x4xf32>\n"
        "return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>\n}\n";
    struct setup setup;
    (void)state;
    open_text(&setup, text, "a=2,b=2");
    shard(&setup, IR_ADD, false, 0, 0, 0);
    walk(&setup);
    for (int form = EMIT_ANNOTATED; form <= EMIT_LOCAL; form++) {
        char *out = emit_text(&setup, (enum emit_output)form);
        assert_int_equal(occurrences(out, "jax.result_info = \"a\""), 1);
        assert_int_equal(occurrences(out, "tf.aliasing_output = 1") + occurrences(out, "jax.buffer_donor"),
                         2);
        assert_int_equal(occurrences(out, "mhlo.sharding"), 0);
        free(out);
    }
    close_setup(&setup);
}

/* ---------------------------------------------------------------- what is refused */
static void test_refusals(void **state)
{
    static const char text[] = MAIN("%x: tensor<8xf32>", "tensor<ui32>",
                                    "%0 = stablehlo.partition_id : tensor<ui32>\n return %0 : tensor<ui32>");
    struct setup setup;
    struct ir_program module = {0};
    struct error e = {0};
    (void)state;
    open_text(&setup, text, "a=2");
    walk(&setup);
    assert_int_equal(spmd_emit(setup.context, &setup.plan, &setup.local, EMIT_LOCAL, &module, &e),
                     ERROR_UNSUPPORTED_MODULE);
    assert_int_equal(e.line, 2);
    assert_non_null(strstr(e.message, "partition_id"));
    struct spmd_local empty = {.nda = setup.nda, .mesh = &setup.mesh};
    assert_int_equal(spmd_emit(setup.context, &setup.plan, &empty, EMIT_LOCAL, &module, &e), ERROR_INTERNAL);
    close_setup(&setup);
}

static uint32_t ops_of_a_block(const char *text)
{
    struct setup setup;
    open_text(&setup, text, "a=2");
    shard(&setup, IR_ADD, true, 0, 0, 0);
    walk(&setup);
    char *local = emit_text(&setup, EMIT_LOCAL);
    uint32_t ops = occurrences(local, "stablehlo.");
    assert_true(occurrences(local, "stablehlo.dynamic_slice") > 0);
    free(local);
    close_setup(&setup);
    return ops;
}

/* a proof at smaller sizes is one of the same ops, also where a block is one element */
static void test_blocks_of_one_element(void **state)
{
    static const char two[] = MAIN("%x: tensor<2xf32>, %y: tensor<2xf32>", "tensor<2xf32>",
                                   "%0 = stablehlo.add %x, %y : tensor<2xf32>\n return %0 : tensor<2xf32>");
    static const char many[] = MAIN("%x: tensor<8xf32>, %y: tensor<8xf32>", "tensor<8xf32>",
                                    "%0 = stablehlo.add %x, %y : tensor<8xf32>\n return %0 : tensor<8xf32>");
    (void)state;
    assert_int_equal(ops_of_a_block(two), ops_of_a_block(many));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_of_one_element),
        cmocka_unit_test(test_iota_adds_offset),
        cmocka_unit_test(test_gather_selects),
        cmocka_unit_test(test_gather_counts),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_initial_value_counts_once),
        cmocka_unit_test(test_signature),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_sums_meet),
        cmocka_unit_test(test_sums_meet_over_two_axes),
        cmocka_unit_test(test_sums_meet_in_two_orders),
        cmocka_unit_test(test_sums_pass),
        cmocka_unit_test(test_sums_carried),
        cmocka_unit_test(test_sums_left),
        cmocka_unit_test(test_sums_listed),
        cmocka_unit_test(test_slice_keeps_its_source),
        cmocka_unit_test(test_models),
    };
    ir_read_program(TOAST_BINARY_DIR "/toast-read");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
