/* timeout: 400 */
/* Proofs of modules of the paper's size, at smaller sizes: equal for plans as they are, different for each
 * planted error of the lowering, not run with its reason where a dimension cannot be cut. */
#include "support.h"

#include "planner/proof.h"
#include "planner/shrunken.h"
#include "subject.h"

#include <string.h>

struct proved {
    struct subject subject;
    struct plan plan;
    struct spmd_local local;
    struct planner_proof proof;
};

static void open_plan(struct proved *proved, const char *mesh, const char *baseline)
{
    struct error e = {0};
    struct plan_baseline found;
    ASSERT_OK(subject_mesh(&proved->subject, mesh, &e), &e);
    ASSERT_OK(plan_baseline_find(proved->subject.context, baseline, &found, &e), &e);
    plan_init(&proved->plan, proved->subject.nda, &proved->subject.mesh);
    plan_replay(proved->subject.context, found.decisions, &found.count, &proved->plan);
    struct spmd_options walk = spmd_default_options(&proved->subject.mesh);
    ASSERT_OK(spmd_walk(proved->subject.context, &proved->plan, &walk, &proved->local, &e), &e);
}

static void open_model(struct proved *proved, const char *name, const char *mesh, const char *baseline)
{
    struct error e = {0};
    char *path = mem_printf(SUPPORT_MODELS "%s", name);
    memset(proved, 0, sizeof *proved);
    ASSERT_OK(subject_file(&proved->subject, path, &e), &e);
    free(path);
    open_plan(proved, mesh, baseline);
}

static void prove(struct proved *proved)
{
    struct error e = {0};
    ASSERT_OK(planner_proof_any_size(&proved->subject.program, proved->subject.context, &proved->plan,
                                     &proved->local, 1, NULL, &proved->proof, &e),
              &e);
}

static void close_plan(struct proved *proved)
{
    spmd_local_release(&proved->local);
    plan_release(&proved->plan);
    subject_close(&proved->subject);
}

/* ---- plans as they are ---- */
static void check_equal(const char *name, const char *baseline)
{
    struct proved proved;
    open_model(&proved, name, "data=4,model=2", baseline);
    prove(&proved);
    if (proved.proof.status != VERIFY_PROOF_EQUAL)
        fail_msg("%s: %s: %s", name, verify_status_text(proved.proof.status), proved.proof.reason);
    assert_true(proved.proof.shrunken.factor_count > 2);
    assert_true(proved.proof.shrunken.same);
    assert_true(proved.proof.shrunken.collectives > 0);
    assert_true(proved.proof.shrunken.operations < proved.proof.operations);
    for (uint32_t i = 0; i < proved.proof.shrunken.factor_count; i++) {
        const struct planner_proof_factor *factor = &proved.proof.shrunken.factors[i];
        assert_true(factor->to >= 2 && factor->to < factor->from);
    }
    close_plan(&proved);
}

static void paper_sizes(void **state)
{
    check_equal("gns.mlir.gz", "fsdp:data+megatron:model");
    check_equal("t2b_scan.mlir.gz", "fsdp:data+megatron:model");
    check_equal("gpt_torch.mlir.gz", "fsdp:data+megatron:model");
    check_equal("t2b.mlir.gz", "batch:data");
}

/* images flattened for attention, cut into windows and shuffled back; running sums over tokens x choices:
 * products of dimensions that windows keep from being cut */
static void products_and_windows(void **state)
{
    check_equal("unet.mlir.gz", "batch:data+megatron:model");
    check_equal("shrunken/vision.mlir.gz", "fsdp:data+megatron:model");
    check_equal("shrunken/routed.mlir.gz", "fsdp:data+megatron:model");
    check_equal("shrunken/routed.mlir.gz", "stacked:data+fsdp:data+stacked:model+batch:model");
}

/* Tokens that are one more than positions cut into chunks, patches behind a few registers, frequencies of
 * sequences padded to twice their length, tables whose rows nothing divides. */
static void sums_and_frequencies(void **state)
{
    check_equal("shrunken/chunked.mlir.gz", "fsdp:data+megatron:model");
    check_equal("shrunken/registers.mlir.gz", "fsdp:data+megatron:model");
    check_equal("shrunken/spectral.mlir.gz", "zero2:data+batch:model");
    check_equal("shrunken/rows.mlir.gz", "fsdp:data+megatron:model");
}

/* ---- planted errors ---- */
/* what is planted into a step; false: it does not apply to this one */
static bool plant(struct spmd_step *step, uint32_t kind)
{
    switch (kind) {
    case 0: /* a sum becomes a maximum */
        if (!spmd_step_is_collective(step) || step->reducer != NDA_REDUCE_ADD)
            return false;
        step->reducer = NDA_REDUCE_MAX;
        return true;
    case 1: /* over the other axis, which is as long */
        if (step->kind != SPMD_ALL_REDUCE || step->axis_count != 1)
            return false;
        step->axes[0] ^= 1;
        return true;
    default: /* a block of the other axis' number */
        if (step->kind != SPMD_REDUCE_SCATTER || step->axis_count != 1)
            return false;
        step->axes[0] ^= 1;
        return true;
    }
}

/* Every `every`-th step that the error applies to, one at a time; those whose lowering is refused are found
 * too, by an error. */
static uint32_t check_planted(struct proved *proved, uint32_t kind, uint32_t every)
{
    uint32_t seen = 0, planted = 0;
    for (uint32_t i = 0; i < proved->local.step_count; i++) {
        struct spmd_step before = proved->local.steps[i];
        struct error e = {0};
        if (!plant(&proved->local.steps[i], kind))
            continue;
        if (seen++ % every == 0) {
            enum error_code code =
                planner_proof_any_size(&proved->subject.program, proved->subject.context, &proved->plan,
                                       &proved->local, 1, NULL, &proved->proof, &e);
            planted++;
            if (code == ERROR_OK && proved->proof.status == VERIFY_PROOF_EQUAL)
                fail_msg("error %u planted into step %u (%s, line %u) is not found", kind, i,
                         spmd_step_kind_name(before.kind), proved->subject.program.ops[before.op].line);
        }
        proved->local.steps[i] = before;
    }
    return planted;
}

static void planted_errors(void **state)
{
    struct proved proved;
    open_model(&proved, "t2b_scan.mlir.gz", "data=2,model=2", "fsdp:data+megatron:model");
    prove(&proved);
    assert_int_equal(proved.proof.status, VERIFY_PROOF_EQUAL);
    assert_true(check_planted(&proved, 0, 5) >= 4);
    assert_true(check_planted(&proved, 1, 3) >= 2);
    assert_true(check_planted(&proved, 2, 3) >= 2);
    close_plan(&proved);
    open_model(&proved, "shrunken/vision.mlir.gz", "data=2,model=2", "fsdp:data+megatron:model");
    prove(&proved);
    assert_int_equal(proved.proof.status, VERIFY_PROOF_EQUAL);
    assert_true(check_planted(&proved, 0, 3) >= 4);
    assert_true(check_planted(&proved, 1, 2) >= 2);
    close_plan(&proved);
    static const char *const sums[] = {"shrunken/chunked.mlir.gz", "shrunken/registers.mlir.gz"};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        open_model(&proved, sums[i], "data=2,model=2", "fsdp:data+megatron:model");
        prove(&proved);
        assert_int_equal(proved.proof.status, VERIFY_PROOF_EQUAL);
        assert_true(check_planted(&proved, 0, 3) >= 3);
        assert_true(check_planted(&proved, 2, 2) >= 1);
        close_plan(&proved);
    }
}

/* ---- sizes and attributes ---- */
static void open_text(struct proved *proved, const char *text, const char *mesh, const char *baseline)
{
    struct error e = {0};
    memset(proved, 0, sizeof *proved);
    ASSERT_OK(subject_text(&proved->subject, text, strlen(text), &e), &e);
    open_plan(proved, mesh, baseline);
}

static int64_t argument_size(const struct ir_program *program, uint32_t i, uint32_t dim)
{
    uint32_t block = ir_region_block(program, ir_function(program, "main"), 0);
    return ir_type_dims(program, ir_value_type(program, program->blocks[block].args + i))[dim];
}

/* the module with at most two elements of each dimension on a device, where that can be; floats in f32 */
static void make_smaller(const struct proved *proved, struct planner_shrunken *smaller)
{
    struct nda_shrink shrink;
    struct error e = {0};
    int64_t *shards = planner_shrink_shards(&proved->local);
    nda_shrink_create(proved->subject.nda, shards, &shrink);
    int64_t *sizes = mem_zalloc((size_t)shrink.class_count + 1, sizeof *sizes);
    nda_shrink_sizes(&shrink, 2, sizes);
    ASSERT_OK(
        planner_shrunken_create(&shrink, sizes, true, proved->subject.context, &proved->local, smaller, &e),
        &e);
    nda_shrink_release(&shrink);
    free(sizes);
    free(shards);
}

/* parts and offsets keep their ratio; what only shares a tensor with them shrinks by itself */
static void parts_keep_their_ratio(void **state)
{
    static const char text[] =
        "func.func public @main(%x: tensor<4096x6144xbf16>, %y: tensor<4096x2048xbf16>) ->"
        " tensor<4096x8192xbf16> {\n"
        "  %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<4096x6144xbf16>, tensor<4096x2048xbf16>)"
        " -> tensor<4096x8192xbf16>\n"
        "  %1 = stablehlo.slice %0 [0:4096, 512:7680] : (tensor<4096x8192xbf16>) -> tensor<4096x7168xbf16>\n"
        "  %c = stablehlo.constant dense<1.5> : tensor<bf16>\n"
        "  %2 = stablehlo.pad %1, %c, low = [0, 512], high = [0, 512], interior = [0, 0] :"
        " (tensor<4096x7168xbf16>, tensor<bf16>) -> tensor<4096x8192xbf16>\n"
        "  return %2 : tensor<4096x8192xbf16>\n}\n";
    struct proved proved;
    struct planner_shrunken smaller;
    open_text(&proved, text, "data=4", "replicated");
    make_smaller(&proved, &smaller);
    assert_int_equal(argument_size(&smaller.program, 0, 0), 2);
    assert_int_equal(argument_size(&smaller.program, 0, 1), 12); /* 6144 / 512: its start is 512 */
    assert_int_equal(argument_size(&smaller.program, 1, 1), 4);
    for (uint32_t op = 0; op < smaller.program.op_count; op++) {
        struct ir_dims low, high;
        if (smaller.program.ops[op].code == IR_SLICE) {
            assert_int_equal(ir_dims(&smaller.program, op, "start_indices", &low), 0);
            assert_int_equal(ir_dims(&smaller.program, op, "limit_indices", &high), 0);
            assert_int_equal(low.at[1], 1);
            assert_int_equal(high.at[1], 15);
        }
        if (smaller.program.ops[op].code == IR_CONSTANT)
            assert_int_equal(ir_value_type(&smaller.program, ir_result(&smaller.program, op, 0))->element,
                             IR_F32);
    }
    planner_shrunken_release(&smaller);
    close_plan(&proved);
}

static int64_t slice_bound(const struct ir_program *program, uint32_t number, const char *which, uint32_t dim)
{
    struct ir_dims bounds;
    for (uint32_t op = 0; op < program->op_count; op++)
        if (program->ops[op].code == IR_SLICE && number-- == 0) {
            assert_int_equal(ir_dims(program, op, which, &bounds), 0);
            return bounds.at[dim];
        }
    fail_msg("no such slice");
    return 0;
}

/* tokens without the last, without the first, without two: each keeps its distance, through a pad and a
 * concatenate */
static const char shifted[] =
    "func.func public @main(%x: tensor<64x512xf32>, %w: tensor<512xf32>) -> tensor<64x512xf32> {\n"
    "  %0 = stablehlo.slice %x [0:64, 1:512] : (tensor<64x512xf32>) -> tensor<64x511xf32>\n"
    "  %1 = stablehlo.slice %0 [0:64, 0:510] : (tensor<64x511xf32>) -> tensor<64x510xf32>\n"
    "  %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %2 = stablehlo.pad %1, %c, low = [0, 0], high = [0, 1], interior = [0, 0] :"
    " (tensor<64x510xf32>, tensor<f32>) -> tensor<64x511xf32>\n"
    "  %3 = stablehlo.add %0, %2 : tensor<64x511xf32>\n"
    "  %4 = stablehlo.slice %x [0:64, 0:1] : (tensor<64x512xf32>) -> tensor<64x1xf32>\n"
    "  %5 = stablehlo.concatenate %3, %4, dim = 1 : (tensor<64x511xf32>, tensor<64x1xf32>)"
    " -> tensor<64x512xf32>\n"
    "  %6 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<512xf32>) -> tensor<64x512xf32>\n"
    "  %7 = stablehlo.add %5, %6 : tensor<64x512xf32>\n"
    "  return %7 : tensor<64x512xf32>\n}\n";

static void shifts_keep_their_distance(void **state)
{
    struct proved proved;
    struct planner_shrunken smaller;
    open_text(&proved, shifted, "data=4", "replicated");
    make_smaller(&proved, &smaller);
    int64_t length = argument_size(&smaller.program, 1, 0);
    assert_int_equal(length, 4); /* what lacks two keeps two */
    assert_int_equal(argument_size(&smaller.program, 0, 1), length);
    assert_int_equal(slice_bound(&smaller.program, 0, "start_indices", 1), 1);
    assert_int_equal(slice_bound(&smaller.program, 0, "limit_indices", 1), length);
    assert_int_equal(slice_bound(&smaller.program, 1, "limit_indices", 1), length - 2);
    planner_shrunken_release(&smaller);
    close_plan(&proved);
}

/* what is divided, as a seventh of it is taken, cannot lack one element of something that is divided, too */
static void shifts_that_contradict_stay_whole(void **state)
{
    struct proved proved;
    struct planner_shrunken smaller;
    open_text(&proved,
              "func.func public @main(%x: tensor<64x512xf32>) -> tensor<64x511xf32> {\n"
              "  %0 = stablehlo.slice %x [0:64, 1:512] : (tensor<64x512xf32>) -> tensor<64x511xf32>\n"
              "  %2 = stablehlo.slice %0 [0:64, 0:73] : (tensor<64x511xf32>) -> tensor<64x73xf32>\n"
              "  %3 = stablehlo.add %2, %2 : tensor<64x73xf32>\n"
              "  %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
              "  %4 = stablehlo.pad %3, %c, low = [0, 0], high = [0, 438], interior = [0, 0] :"
              " (tensor<64x73xf32>, tensor<f32>) -> tensor<64x511xf32>\n"
              "  %5 = stablehlo.add %0, %4 : tensor<64x511xf32>\n"
              "  return %5 : tensor<64x511xf32>\n}\n",
              "data=4", "replicated");
    make_smaller(&proved, &smaller);
    assert_int_equal(argument_size(&smaller.program, 0, 1), 512);
    planner_shrunken_release(&smaller);
    close_plan(&proved);
}

/* images and what convolutions, their gradients and pooling make of them shrink alike */
static void windows_shrink_with_their_results(void **state)
{
    static const char text[] =
        "func.func public @main(%x: tensor<256x512x512x64xf32>, %w: tensor<3x3x64x128xf32>) ->"
        " (tensor<256x128x128x128xf32>, tensor<3x3x64x128xf32>) {\n"
        "  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],"
        " window = {stride = [2, 2], pad = [[0, 1], [0, 1]]} {batch_group_count = 1 : i64,"
        " feature_group_count = 1 : i64} : (tensor<256x512x512x64xf32>, tensor<3x3x64x128xf32>)"
        " -> tensor<256x256x256x128xf32>\n"
        "  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "  %1 = \"stablehlo.reduce_window\"(%0, %c) <{window_dimensions = array<i64: 1, 2, 2, 1>,"
        " window_strides = array<i64: 1, 2, 2, 1>}> ({\n"
        "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "    %m = stablehlo.maximum %a, %b : tensor<f32>\n"
        "    stablehlo.return %m : tensor<f32>\n"
        "  }) : (tensor<256x256x256x128xf32>, tensor<f32>) -> tensor<256x128x128x128xf32>\n"
        "  %2 = stablehlo.convolution(%x, %0) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f],"
        " window = {pad = [[0, 1], [0, 1]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64,"
        " feature_group_count = 1 : i64} : (tensor<256x512x512x64xf32>, tensor<256x256x256x128xf32>)"
        " -> tensor<3x3x64x128xf32>\n"
        "  return %1, %2 : tensor<256x128x128x128xf32>, tensor<3x3x64x128xf32>\n}\n";
    struct proved proved;
    open_text(&proved, text, "data=4", "replicated");
    prove(&proved);
    if (proved.proof.status != VERIFY_PROOF_EQUAL)
        fail_msg("%s: %s", verify_status_text(proved.proof.status), proved.proof.reason);
    assert_true(proved.proof.shrunken.same);
    close_plan(&proved);
}

/* Few operations that make much: rows of a small table, looked up for many tokens. */
static void what_makes_much_is_cut(void **state)
{
    static const char text[] =
        "func.func public @main(%e: tensor<1000x2048xf32>, %i: tensor<128x2048x1xi32>) ->"
        " tensor<128x2048x2048xf32> {\n"
        "  %0 = \"stablehlo.gather\"(%e, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2],"
        " collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>,"
        " slice_sizes = array<i64: 1, 2048>, indices_are_sorted = false}> :"
        " (tensor<1000x2048xf32>, tensor<128x2048x1xi32>) -> tensor<128x2048x2048xf32>\n"
        "  return %0 : tensor<128x2048x2048xf32>\n}\n";
    struct proved proved;
    open_text(&proved, text, "data=4", "replicated");
    prove(&proved);
    assert_int_equal(proved.proof.status, VERIFY_PROOF_EQUAL);
    assert_true(proved.proof.shrunken.factor_count > 0);
    close_plan(&proved);
}

/* the lengths of a Fourier transform over several dimensions stand in its attribute */
static void what_cannot_be_cut_is_named(void **state)
{
    static const char text[] =
        "func.func public @main(%x: tensor<64x1024x1024xcomplex<f32>>, %y: tensor<64x1024x1024xcomplex<f32>>)"
        " -> tensor<64x64xcomplex<f32>> {\n"
        "  %0 = stablehlo.fft %x, type = FFT, length = [1024, 1024] : (tensor<64x1024x1024xcomplex<f32>>)"
        " -> tensor<64x1024x1024xcomplex<f32>>\n"
        "  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1, 2] x [1, 2] :"
        " (tensor<64x1024x1024xcomplex<f32>>, tensor<64x1024x1024xcomplex<f32>>) -> "
        "tensor<64x64xcomplex<f32>>\n"
        "  %2 = stablehlo.dot_general %0, %y, contracting_dims = [1, 2] x [1, 2] :"
        " (tensor<64x1024x1024xcomplex<f32>>, tensor<64x1024x1024xcomplex<f32>>) -> "
        "tensor<64x64xcomplex<f32>>\n"
        "  %3 = stablehlo.add %1, %2 : tensor<64x64xcomplex<f32>>\n"
        "  return %3 : tensor<64x64xcomplex<f32>>\n}\n";
    struct proved proved;
    open_text(&proved, text, "data=4", "replicated");
    prove(&proved);
    assert_int_equal(proved.proof.status, VERIFY_PROOF_NOT_RUN);
    assert_string_equal(
        proved.proof.reason,
        "too_large: also at its smallest sizes stablehlo.fft at line 2 takes 2.1e+09 operations;"
        " its dimension of 1024 elements (dim1024) cannot be made smaller:"
        " stablehlo.fft at line 2 keeps it");
    close_plan(&proved);
}

/* of `dim` of the result of the first op of that code */
static int64_t result_size(const struct ir_program *program, enum ir_opcode code, uint32_t dim)
{
    for (uint32_t op = 0; op < program->op_count; op++)
        if (program->ops[op].code == code)
            return ir_type_dims(program, ir_value_type(program, ir_result(program, op, 0)))[dim];
    return -1;
}

/* The number of groups of a convolution, the length of a running sum and the size of a matrix follow the
 * dimensions; what is looked for by top_k does not, and as much is left as is looked for. */
static void attributes_follow_sizes(void **state)
{
    static const char text[] =
        "func.func public @main(%x: tensor<4096x64x512xf32>, %w: tensor<5x1x512xf32>,"
        " %m: tensor<4096x512x512xf32>) -> (tensor<4096x64x512xf32>, tensor<4096x512x512xf32>,"
        " tensor<4096x64x8xf32>) {\n"
        "  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],"
        " window = {pad = [[2, 2]]} {batch_group_count = 1 : i64, feature_group_count = 512 : i64} :"
        " (tensor<4096x64x512xf32>, tensor<5x1x512xf32>) -> tensor<4096x64x512xf32>\n"
        "  %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %1 = \"stablehlo.reduce_window\"(%0, %c) <{window_dimensions = array<i64: 1, 64, 1>,"
        " padding = dense<[[0, 0], [63, 0], [0, 0]]> : tensor<3x2xi64>}> ({\n"
        "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "    %s = stablehlo.add %a, %b : tensor<f32>\n"
        "    stablehlo.return %s : tensor<f32>\n"
        "  }) : (tensor<4096x64x512xf32>, tensor<f32>) -> tensor<4096x64x512xf32>\n"
        "  %g = stablehlo.dot_general %m, %m, batching_dims = [0] x [0], contracting_dims = [2] x [2] :"
        " (tensor<4096x512x512xf32>, tensor<4096x512x512xf32>) -> tensor<4096x512x512xf32>\n"
        "  %2 = \"stablehlo.cholesky\"(%g) <{lower = true}> : (tensor<4096x512x512xf32>) ->"
        " tensor<4096x512x512xf32>\n"
        "  %v, %i = chlo.top_k(%1, k = 8) : tensor<4096x64x512xf32> ->"
        " (tensor<4096x64x8xf32>, tensor<4096x64x8xi32>)\n"
        "  return %1, %2, %v : tensor<4096x64x512xf32>, tensor<4096x512x512xf32>, tensor<4096x64x8xf32>\n}\n";
    struct proved proved;
    struct planner_shrunken smaller;
    open_text(&proved, text, "data=4", "replicated");
    make_smaller(&proved, &smaller);
    for (uint32_t op = 0; op < smaller.program.op_count; op++) {
        struct ir_conv conv;
        struct ir_window window;
        if (smaller.program.ops[op].code == IR_CONVOLUTION) {
            assert_int_equal(ir_conv(&smaller.program, op, &conv), 0);
            assert_int_equal(conv.feature_groups, 8); /* k of top_k, which looks along them */
        }
        if (smaller.program.ops[op].code == IR_REDUCE_WINDOW) {
            assert_int_equal(ir_reduce_window(&smaller.program, op, &window), 0);
            assert_int_equal(window.size.at[1], 2);
            assert_int_equal(window.low.at[1], 1);
        }
    }
    assert_int_equal(result_size(&smaller.program, IR_CHOLESKY, 1), 2);
    assert_int_equal(result_size(&smaller.program, IR_CHOLESKY, 2), 2);
    assert_int_equal(result_size(&smaller.program, IR_CHLO_TOP_K, 2), 8);
    planner_shrunken_release(&smaller);
    prove(&proved);
    if (proved.proof.status != VERIFY_PROOF_EQUAL)
        fail_msg("%s: %s", verify_status_text(proved.proof.status), proved.proof.reason);
    close_plan(&proved);
}

/* what every device computes for itself counts for each: a module that is small enough, its devices not */
static void devices_are_too_many(void **state)
{
    struct proved proved;
    struct error e = {0};
    struct verify_options options = {.max_operations = 0};
    open_model(&proved, "small/t2b_flat.mlir", "data=4,model=2", "fsdp:data+megatron:model");
    prove(&proved);
    assert_int_equal(proved.proof.status, VERIFY_PROOF_EQUAL);
    assert_int_equal(proved.proof.shrunken.factor_count, 0);
    uint64_t once = proved.proof.local.operations / proved.proof.local.runs;
    assert_true(once > proved.proof.operations);
    options.max_operations = (once + proved.proof.operations) / 2;
    ASSERT_OK(planner_proof_any_size(&proved.subject.program, proved.subject.context, &proved.plan,
                                     &proved.local, 1, &options, &proved.proof, &e),
              &e);
    if (proved.proof.status != VERIFY_PROOF_EQUAL)
        fail_msg("%s: %s", verify_status_text(proved.proof.status), proved.proof.reason);
    assert_true(proved.proof.shrunken.factor_count > 0);
    close_plan(&proved);
}

/* of a loop that runs too often only the iterations are cut, and that is said */
static void loops_are_listed(void **state)
{
    struct proved proved;
    struct text sizes = {0};
    open_text(&proved,
              "func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {\n"
              "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
              "  %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<3x5xf32>\n"
              "   cond {\n"
              "    %n = stablehlo.constant dense<2000000000> : tensor<i32>\n"
              "    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
              "    stablehlo.return %c : tensor<i1>\n"
              "  } do {\n"
              "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
              "    %j = stablehlo.add %i, %one : tensor<i32>\n"
              "    %b = stablehlo.sine %a : tensor<3x5xf32>\n"
              "    stablehlo.return %j, %b : tensor<i32>, tensor<3x5xf32>\n"
              "  }\n"
              "  return %0#1 : tensor<3x5xf32>\n"
              "}\n",
              "data=2", "replicated");
    prove(&proved);
    assert_int_equal(proved.proof.status, VERIFY_PROOF_EQUAL);
    assert_true(proved.proof.shrunken.instead);
    assert_int_equal(proved.proof.shrunken.factor_count, 0);
    assert_int_equal(proved.proof.shrunken.loop_count, 1);
    assert_int_equal(proved.proof.shrunken.loops[0].line, 3);
    assert_int_equal(proved.proof.shrunken.loops[0].from, 2000000000);
    assert_in_range(proved.proof.shrunken.loops[0].to, 1, 100);
    planner_proof_sizes_text(&proved.proof, &sizes);
    assert_string_equal(sizes.at, "at smaller sizes: 1 loop runs fewer times");
    text_release(&sizes);
    close_plan(&proved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(paper_sizes),
                                       cmocka_unit_test(planted_errors),
                                       cmocka_unit_test(parts_keep_their_ratio),
                                       cmocka_unit_test(shifts_keep_their_distance),
                                       cmocka_unit_test(shifts_that_contradict_stay_whole),
                                       cmocka_unit_test(windows_shrink_with_their_results),
                                       cmocka_unit_test(products_and_windows),
                                       cmocka_unit_test(sums_and_frequencies),
                                       cmocka_unit_test(what_makes_much_is_cut),
                                       cmocka_unit_test(attributes_follow_sizes),
                                       cmocka_unit_test(devices_are_too_many),
                                       cmocka_unit_test(loops_are_listed),
                                       cmocka_unit_test(what_cannot_be_cut_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
