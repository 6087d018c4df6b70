/* verify: eight devices in one process. Each collective on numbers worked out by hand; a hand-written
 * sharded program in both forms equal to its original; planted errors that must be found; modules that XLA
 * would run wrongly or not. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/prepare.h"
#include "ir/read.h"
#include "verify/prove.h"

static struct ir_program read_text(const char *text)
{
    struct ir_program program = {0};
    struct error e = {0};
    ASSERT_OK(ir_read(text, strlen(text), NULL, &program, &e), &e);
    ASSERT_OK(ir_verify(&program, &e), &e);
    return program;
}

/* text with the first `from` replaced; owned */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("'%s' is not in the text", from);
    return mem_printf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* ---------------------------------------------------------------- one program, three ways */
/* y = relu(x w1) w2; total = 1 + sum y; count = 3 + the number of true flags */
static const char original[] = "module {\n"
                               "  func.func public @main(%x: tensor<8x16xf32>, %w1: tensor<16x32xf32>, %w2: "
                               "tensor<32x8xf32>, %flags: tensor<8xi1>)"
                               " -> (tensor<8x8xf32>, tensor<f32>, tensor<i32>) {\n"
                               "    %zero = stablehlo.constant dense<0.0> : tensor<8x32xf32>\n"
                               "    %one = stablehlo.constant dense<1.0> : tensor<f32>\n"
                               "    %three = stablehlo.constant dense<3> : tensor<i32>\n"
                               "    %a = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : "
                               "(tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>\n"
                               "    %b = stablehlo.maximum %a, %zero : tensor<8x32xf32>\n"
                               "    %y = stablehlo.dot_general %b, %w2, contracting_dims = [1] x [0] : "
                               "(tensor<8x32xf32>, tensor<32x8xf32>) -> tensor<8x8xf32>\n"
                               "    %t = stablehlo.reduce(%y init: %one) applies stablehlo.add across "
                               "dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>\n"
                               "    %i = stablehlo.convert %flags : (tensor<8xi1>) -> tensor<8xi32>\n"
                               "    %c = stablehlo.reduce(%i init: %three) applies stablehlo.add across "
                               "dimensions = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<i32>\n"
                               "    return %y, %t, %c : tensor<8x8xf32>, tensor<f32>, tensor<i32>\n"
                               "  }\n"
                               "}\n";

/* on data=2, model=4: rows over data, features over model. #ID is the id op, #G the extra attributes of a
 * reduction */
static const char device_body[] =
    "    %zero = stablehlo.constant dense<0.0> : tensor<4x8xf32>\n"
    "    %none = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %one = stablehlo.constant dense<1.0> : tensor<f32>\n"
    "    %nothing = stablehlo.constant dense<0> : tensor<i32>\n"
    "    %three = stablehlo.constant dense<3> : tensor<i32>\n"
    "    %four = stablehlo.constant dense<4> : tensor<ui32>\n"
    "    %id = stablehlo.#ID : tensor<ui32>\n"
    "    %first = stablehlo.compare LT, %id, %four : (tensor<ui32>, tensor<ui32>) -> tensor<i1>\n"
    "    %a = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<4x16xf32>, "
    "tensor<16x8xf32>) -> tensor<4x8xf32>\n"
    "    %b = stablehlo.maximum %a, %zero : tensor<4x8xf32>\n"
    "    %p = stablehlo.dot_general %b, %w2, contracting_dims = [1] x [0] : (tensor<4x8xf32>, "
    "tensor<8x8xf32>) -> tensor<4x8xf32>\n"
    "    %y = \"stablehlo.all_reduce\"(%p) <{#Greplica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : "
    "tensor<2x4xi64>}> ({\n"
    "    ^bb0(%u: tensor<f32>, %v: tensor<f32>):\n"
    "      %s = stablehlo.add %u, %v : tensor<f32>\n"
    "      stablehlo.return %s : tensor<f32>\n"
    "    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>\n"
    "    %init = stablehlo.select %first, %one, %none : tensor<i1>, tensor<f32>\n"
    "    %pt = stablehlo.reduce(%y init: %init) applies stablehlo.add across dimensions = [0, 1] : "
    "(tensor<4x8xf32>, tensor<f32>) -> tensor<f32>\n"
    "    %i = stablehlo.convert %flags : (tensor<4xi1>) -> tensor<4xi32>\n"
    "    %start = stablehlo.select %first, %three, %nothing : tensor<i1>, tensor<i32>\n"
    "    %pc = stablehlo.reduce(%i init: %start) applies stablehlo.add across dimensions = [0] : "
    "(tensor<4xi32>, tensor<i32>) -> tensor<i32>\n"
    "    %t = \"stablehlo.all_reduce\"(%pt) <{#Greplica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : "
    "tensor<4x2xi64>}> ({\n"
    "    ^bb0(%u: tensor<f32>, %v: tensor<f32>):\n"
    "      %s = stablehlo.add %u, %v : tensor<f32>\n"
    "      stablehlo.return %s : tensor<f32>\n"
    "    }) : (tensor<f32>) -> tensor<f32>\n"
    "    %c = \"stablehlo.all_reduce\"(%pc) <{#Greplica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : "
    "tensor<4x2xi64>}> ({\n"
    "    ^bb0(%u: tensor<i32>, %v: tensor<i32>):\n"
    "      %s = stablehlo.add %u, %v : tensor<i32>\n"
    "      stablehlo.return %s : tensor<i32>\n"
    "    }) : (tensor<i32>) -> tensor<i32>\n";

static char *expand(const char *body, const char *id, const char *extra)
{
    char *text = replaced(body, "#ID", id), *next;
    while (strstr(text, "#G")) {
        next = replaced(text, "#G", extra);
        free(text);
        text = next;
    }
    return text;
}

static char *manual_module(const char *body, const char *device_ids)
{
    char *inner =
        expand(body, "partition_id",
               "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids, ");
    char *text = mem_printf("module {\n"
                            "  sdy.mesh @mesh = <[\"data\"=2, \"model\"=4]%s>\n"
                            "  func.func public @main(%%x0: tensor<8x16xf32>, %%w10: tensor<16x32xf32>, "
                            "%%w20: tensor<32x8xf32>, %%flags0: tensor<8xi1>)"
                            " -> (tensor<8x8xf32>, tensor<f32>, tensor<i32>) {\n"
                            "    %%r:3 = sdy.manual_computation(%%x0, %%w10, %%w20, %%flags0) "
                            "in_shardings=[<@mesh, [{\"data\"}, {}]>, <@mesh, [{}, {\"model\"}]>, "
                            "<@mesh, [{\"model\"}, {}]>, <@mesh, [{\"data\"}]>] out_shardings=[<@mesh, "
                            "[{\"data\"}, {}]>, <@mesh, []>, <@mesh, []>] "
                            "manual_axes={\"data\", \"model\"} (%%x: tensor<4x16xf32>, %%w1: "
                            "tensor<16x8xf32>, %%w2: tensor<8x8xf32>, %%flags: tensor<4xi1>) {\n%s"
                            "    sdy.return %%y, %%t, %%c : tensor<4x8xf32>, tensor<f32>, tensor<i32>\n"
                            "    } : (tensor<8x16xf32>, tensor<16x32xf32>, tensor<32x8xf32>, tensor<8xi1>) "
                            "-> (tensor<8x8xf32>, tensor<f32>, tensor<i32>)\n"
                            "    return %%r#0, %%r#1, %%r#2 : tensor<8x8xf32>, tensor<f32>, tensor<i32>\n"
                            "  }\n}\n",
                            device_ids, inner);
    free(inner);
    return text;
}

static char *local_module(const char *body)
{
    char *inner = expand(body, "replica_id", "");
    char *text = mem_printf("module attributes {mhlo.num_replicas = 8 : i32} {\n"
                            "  func.func public @main(%%x: tensor<4x16xf32>, %%w1: tensor<16x8xf32>, %%w2: "
                            "tensor<8x8xf32>, %%flags: tensor<4xi1>)"
                            " -> (tensor<4x8xf32>, tensor<f32>, tensor<i32>) {\n%s"
                            "    return %%y, %%t, %%c : tensor<4x8xf32>, tensor<f32>, tensor<i32>\n  }\n}\n",
                            inner);
    free(inner);
    return text;
}

static struct verify_report prove_manual(const char *body, const char *device_ids)
{
    char *text = manual_module(body, device_ids);
    struct ir_program program = read_text(original), ir_program = read_text(text);
    struct verify_report report;
    struct error e = {0};
    ASSERT_OK(verify_prove_modules(&program, &ir_program, NULL, 5, NULL, &report, &e), &e);
    ir_program_release(&program);
    ir_program_release(&ir_program);
    free(text);
    return report;
}

static struct verify_report prove_local(const char *body, const int64_t *ids)
{
    char *text = local_module(body);
    struct ir_program program = read_text(original), ir_program = read_text(text);
    struct verify_report report;
    struct error e = {0};
    struct verify_mesh mesh;
    ASSERT_OK(verify_mesh_make(&mesh, 2, (const int64_t[]){2, 4}, ids, &e), &e);
    const struct verify_axis data = {0, 1, 2}, model = {1, 1, 4};
    struct verify_sharding arguments[4] = {{.rank = 2}, {.rank = 2}, {.rank = 2}, {.rank = 1}},
                           results[3] = {{.rank = 2}};
    arguments[0].dims[0].at[arguments[0].dims[0].count++] = data;
    arguments[1].dims[1].at[arguments[1].dims[1].count++] = model;
    arguments[2].dims[0].at[arguments[2].dims[0].count++] = model;
    arguments[3].dims[0].at[arguments[3].dims[0].count++] = data;
    results[0].dims[0].at[results[0].dims[0].count++] = data;
    struct verify_boundary boundary = {&mesh, arguments, results};
    ASSERT_OK(verify_prove_modules(&program, &ir_program, &boundary, 5, NULL, &report, &e), &e);
    verify_mesh_release(&mesh);
    ir_program_release(&program);
    ir_program_release(&ir_program);
    free(text);
    return report;
}

static void right_programs_are_equal(void **state)
{
    (void)state;
    struct verify_report manual = prove_manual(device_body, ""), local = prove_local(device_body, NULL);
    assert_string_equal(manual.reason, "");
    assert_string_equal(local.reason, "");
    assert_int_equal(manual.status, VERIFY_PROOF_EQUAL);
    assert_int_equal(local.status, VERIFY_PROOF_EQUAL);
    assert_int_equal(manual.collectives, 3 * manual.runs);
    assert_true(manual.max_error < 1e-6);
}

/* positions 0..7 on devices 7..0: the groups are of devices, and the first data group is now 4..7 */
static void permuted_devices(void **state)
{
    (void)state;
    static const int64_t ids[] = {7, 6, 5, 4, 3, 2, 1, 0};
    char *text = replaced(device_body, "compare LT", "compare GE");
    struct verify_report manual = prove_manual(text, ", device_ids=[7, 6, 5, 4, 3, 2, 1, 0]");
    struct verify_report local = prove_local(text, ids);
    assert_string_equal(manual.reason, "");
    assert_int_equal(manual.status, VERIFY_PROOF_EQUAL);
    assert_int_equal(local.status, VERIFY_PROOF_EQUAL);
    /* positions 0, 2, 4, 6, 1, 3, 5, 7: the same groups are wrong */
    static const int64_t other[] = {0, 2, 4, 6, 1, 3, 5, 7};
    assert_int_equal(prove_manual(device_body, ", device_ids=[0, 2, 4, 6, 1, 3, 5, 7]").status,
                     VERIFY_PROOF_DIFFERENT);
    assert_int_equal(prove_local(device_body, other).status, VERIFY_PROOF_DIFFERENT);
    free(text);
}

static void planted_errors_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *what, *from, *to;
    } planted[] = {
        {"wrong replica group", "dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>", "dense<[[0, 1, 2, 7], [4, 5, 6, 3]]>"},
        {"another wrong group", "dense<[[0, 4], [1, 5], [2, 6], [3, 7]]>",
         "dense<[[0, 1], [2, 3], [4, 5], [6, 7]]>"},
        {"init counted twice", "stablehlo.select %first, %one, %none", "stablehlo.select %first, %one, %one"},
        {"integer init counted twice", "stablehlo.select %first, %three, %nothing",
         "stablehlo.select %first, %three, %three"},
        {"off by one integer", "%three = stablehlo.constant dense<3>",
         "%three = stablehlo.constant dense<4>"},
        {"NaN", "%none = stablehlo.constant dense<0.0>", "%none = stablehlo.constant dense<0x7FC00000>"},
        {"another reducer", "%s = stablehlo.add %u, %v : tensor<f32>",
         "%s = stablehlo.maximum %u, %v : tensor<f32>"},
        {"a slightly wrong constant", "%one = stablehlo.constant dense<1.0>",
         "%one = stablehlo.constant dense<1.01>"},
    };
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        char *text = replaced(device_body, planted[i].from, planted[i].to);
        struct verify_report manual = prove_manual(text, ""), local = prove_local(text, NULL);
        print_message("%s: %s\n", planted[i].what, manual.reason);
        assert_int_equal(manual.status, VERIFY_PROOF_DIFFERENT);
        assert_int_equal(local.status, VERIFY_PROOF_DIFFERENT);
        free(text);
    }
    /* a dropped all_reduce: its result is its operand */
    const char *start = strstr(device_body, "    %y = \"stablehlo.all_reduce\""),
               *end = strstr(start, "    %init =");
    char *text = mem_printf("%.*s    %%y = stablehlo.add %%p, %%zero : tensor<4x8xf32>\n%s",
                            (int)(start - device_body), device_body, end);
    struct verify_report manual = prove_manual(text, ""), local = prove_local(text, NULL);
    print_message("dropped all_reduce: %s\n", manual.reason);
    assert_int_equal(manual.status, VERIFY_PROOF_DIFFERENT);
    assert_int_equal(local.status, VERIFY_PROOF_DIFFERENT);
    free(text);
}

/* copies of one result that differ are found even where the copy that counts is right */
static void diverging_copies_are_found(void **state)
{
    (void)state;
    const char *start = strstr(device_body, "    %t = \"stablehlo.all_reduce\""),
               *end = strstr(start, "    %c =");
    const char *tail =
        "    %big = stablehlo.constant dense<6> : tensor<ui32>\n"
        "    %odd = stablehlo.compare GT, %id, %big : (tensor<ui32>, tensor<ui32>) -> tensor<i1>\n"
        "    %t = stablehlo.select %odd, %none, %tt : tensor<i1>, tensor<f32>\n";
    char *middle = mem_printf("%.*s", (int)(end - start), start),
         *renamed = replaced(middle, "%t =", "%tt =");
    char *text = mem_printf("%.*s%s%s%s", (int)(start - device_body), device_body, renamed, tail, end);
    struct verify_report manual = prove_manual(text, ""), local = prove_local(text, NULL);
    assert_int_equal(manual.status, VERIFY_PROOF_DIFFERENT);
    assert_non_null(strstr(manual.reason, "copies of result 1"));
    assert_int_equal(local.status, VERIFY_PROOF_DIFFERENT);
    assert_true(manual.divergence > 0.01);
    free(middle);
    free(renamed);
    free(text);
}

static void what_xla_would_not_run_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *expected;
    } wrong[] = {
        {"dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>", "dense<[[0, 1, 2, 3], [4, 5, 6, 6]]>", "exactly once"},
        {"dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>", "dense<[[0, 1, 2, 3], [4, 5, 6, 9]]>", "exactly once"},
        {"dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>",
         "dense<[[0, 4], [1, 5]]> : tensor<2x2xi64>", "exactly once"},
        {"stablehlo.partition_id", "stablehlo.replica_id", "style"},
        {", use_global_device_ids", "", "use_global_device_ids"},
        {"channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids, ", "",
         "style"},
        {"channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, ", "",
         "channel_id must be positive"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *module = manual_module(device_body, ""), *text = replaced(module, wrong[i].from, wrong[i].to);
        struct ir_program program = read_text(original), ir_program = read_text(text);
        struct verify_report report;
        struct error e = {0};
        ASSERT_OK(verify_prove_modules(&program, &ir_program, NULL, 5, NULL, &report, &e), &e);
        assert_int_equal(report.status, VERIFY_PROOF_DIFFERENT);
        if (!strstr(report.reason, wrong[i].expected))
            fail_msg("'%s' instead of '%s'", report.reason, wrong[i].expected);
        ir_program_release(&program);
        ir_program_release(&ir_program);
        free(module);
        free(text);
    }
}

static const char deadlock[] =
    "module {\n"
    "  func.func public @main(%x: tensor<i32>) -> tensor<i32> {\n"
    "    %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %r:2 = stablehlo.while(%i = %zero, %s = %zero) : tensor<i32>, tensor<i32>\n"
    "     cond {\n"
    "      %c = stablehlo.compare LT, %i, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "      stablehlo.return %c : tensor<i1>\n"
    "    } do {\n"
    "      %j = stablehlo.add %i, %one : tensor<i32>\n"
    "      %t = \"stablehlo.all_reduce\"(%j) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({\n"
    "      ^bb0(%u: tensor<i32>, %v: tensor<i32>):\n"
    "        %w = stablehlo.add %u, %v : tensor<i32>\n"
    "        stablehlo.return %w : tensor<i32>\n"
    "      }) : (tensor<i32>) -> tensor<i32>\n"
    "      stablehlo.return %j, %t : tensor<i32>, tensor<i32>\n"
    "    }\n"
    "    return %r#1 : tensor<i32>\n"
    "  }\n}\n";

static enum error_code run_scalars(const struct ir_program *program, int64_t a, int64_t b, int64_t *out,
                                   struct error *e)
{
    struct verify_tensor in[2] = {{IR_I32, 0, {0}, &a}, {IR_I32, 0, {0}, &b}}, results[2] = {0};
    enum error_code code = verify_run(program, "main", 2, in, results, NULL, NULL, e);
    if (!code)
        *out = *(int64_t *)results[0].data;
    verify_tensor_release(&results[0]);
    verify_tensor_release(&results[1]);
    return code;
}

static void a_predicate_that_differs_is_a_deadlock(void **state)
{
    (void)state;
    struct ir_program program = read_text(deadlock);
    struct error e = {0};
    int64_t out = 0;
    ASSERT_OK(run_scalars(&program, 3, 3, &out, &e), &e);
    assert_int_equal(out, 6);
    assert_int_equal(run_scalars(&program, 3, 4, &out, &e), ERROR_INVALID_MODULE);
    assert_non_null(strstr(e.message, "deadlock"));
    assert_int_equal(e.line, 5);
    ir_program_release(&program);
}

/* ---------------------------------------------------------------- each collective */
/* four devices; device d holds [10 d, 10 d + 1, ..] as 2x2; expects the rows given, a device each */
static void check_collective(const char *op, const char *result, int64_t count, const int64_t *expected)
{
    char *text = mem_printf("module {\n  func.func public @main(%%x: tensor<2x2xi32>) -> tensor<%sxi32> {\n  "
                            "  %%r = %s : (tensor<2x2xi32>)"
                            " -> tensor<%sxi32>\n    return %%r : tensor<%sxi32>\n  }\n}\n",
                            result, op, result, result);
    struct ir_program program = read_text(text);
    struct verify_tensor in[4], out[4] = {0};
    int64_t data[4][4];
    struct error e = {0};
    for (int d = 0; d < 4; d++) {
        for (int i = 0; i < 4; i++)
            data[d][i] = 10 * d + i;
        in[d] = (struct verify_tensor){IR_I32, 2, {2, 2}, data[d]};
    }
    ASSERT_OK(verify_run(&program, "main", 4, in, out, NULL, NULL, &e), &e);
    for (int d = 0; d < 4; d++) {
        for (int64_t i = 0; i < count; i++)
            if (((int64_t *)out[d].data)[i] != expected[d * count + i])
                fail_msg("%s: device %d element %lld is %lld", op, d, (long long)i,
                         (long long)((int64_t *)out[d].data)[i]);
        verify_tensor_release(&out[d]);
    }
    ir_program_release(&program);
    free(text);
}

#define ADD_I32                                                                                              \
    "({\n ^bb0(%u: tensor<i32>, %v: tensor<i32>):\n %w = stablehlo.add %u, %v : tensor<i32>\n "              \
    "stablehlo.return %w : tensor<i32>\n })"
#define GROUPS "replica_groups = dense<[[2, 0], [1, 3]]> : tensor<2x2xi64>"

static void collectives_move_what_they_should(void **state)
{
    (void)state;
    check_collective("\"stablehlo.all_gather\"(%x) <{all_gather_dim = 1 : i64, " GROUPS "}>", "2x4", 8,
                     (const int64_t[]){20, 21, 0, 1, 22, 23, 2, 3, 10, 11, 30, 31, 12, 13, 32, 33,
                                       20, 21, 0, 1, 22, 23, 2, 3, 10, 11, 30, 31, 12, 13, 32, 33});
    check_collective("\"stablehlo.all_reduce\"(%x) <{" GROUPS "}> " ADD_I32, "2x2", 4,
                     (const int64_t[]){20, 22, 24, 26, 40, 42, 44, 46, 20, 22, 24, 26, 40, 42, 44, 46});
    check_collective("\"stablehlo.reduce_scatter\"(%x) <{scatter_dimension = 0 : i64, " GROUPS "}> " ADD_I32,
                     "1x2", 2, (const int64_t[]){24, 26, 40, 42, 20, 22, 44, 46});
    check_collective("\"stablehlo.all_to_all\"(%x) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, "
                     "split_count = 2 : i64, " GROUPS "}>",
                     "1x4", 4, (const int64_t[]){22, 23, 2, 3, 10, 11, 30, 31, 20, 21, 0, 1, 12, 13, 32, 33});
    check_collective("\"stablehlo.collective_permute\"(%x) <{source_target_pairs = dense<[[0, 1], [1, 3]]> : "
                     "tensor<2x2xi64>}>",
                     "2x2", 4, (const int64_t[]){0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 10, 11, 12, 13});
    check_collective("\"stablehlo.collective_broadcast\"(%x) <{" GROUPS "}>", "2x2", 4,
                     (const int64_t[]){20, 21, 22, 23, 10, 11, 12, 13, 20, 21, 22, 23, 10, 11, 12, 13});
}

int main(void)
{
    ir_read_program(TOAST_BINARY_DIR "/toast-read");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_programs_are_equal),
        cmocka_unit_test(permuted_devices),
        cmocka_unit_test(planted_errors_are_found),
        cmocka_unit_test(diverging_copies_are_found),
        cmocka_unit_test(what_xla_would_not_run_is_refused),
        cmocka_unit_test(a_predicate_that_differs_is_a_deadlock),
        cmocka_unit_test(collectives_move_what_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
