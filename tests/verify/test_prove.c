/* verify: what comparing means, which inputs are made, how operations are counted, budgets. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/prepare.h"
#include "ir/read.h"
#include "verify/prove.h"

static struct ir_program prepared(const char *name)
{
    char *path = mem_printf("%s%s.mlir", SUPPORT_MODELS, name);
    size_t size;
    char *text = support_read(path, &size);
    struct ir_program read = {0}, program = {0};
    struct error e = {0};
    ASSERT_OK(ir_read(text, size, NULL, &read, &e), &e);
    ASSERT_OK(ir_prepare(&read, &program, &e), &e);
    ir_program_release(&read);
    free(text);
    free(path);
    return program;
}

static void comparison_is_strict(void **state)
{
    (void)state;
    float a[4] = {1, -2, 0.5f, 4}, b[4] = {1, -2, 0.5f, 4};
    int64_t i[2] = {7, 8}, j[2] = {7, 9};
    struct verify_tensor tensor = {IR_F32, 1, {4}, a}, verify_tensor = {IR_F32, 1, {4}, b};
    assert_int_equal(verify_compare(&tensor, &verify_tensor, 1, 0, 0).verdict, VERIFY_EQUAL);
    b[0] = 1 + 3e-5f; /* relative to the result's largest magnitude, 4 */
    struct verify_difference difference = verify_compare(&tensor, &verify_tensor, 1, 1e-5, 0);
    assert_int_equal(difference.verdict, VERIFY_EQUAL);
    assert_true(difference.worst > 5e-6 && difference.worst < 1e-5);
    difference = verify_compare(&tensor, &verify_tensor, 1, 5e-6, 0);
    assert_int_equal(difference.verdict, VERIFY_DIFFERENT);
    assert_int_equal(difference.index, 0);
    b[0] = 1;
    b[2] = NAN;
    assert_int_equal(verify_compare(&tensor, &verify_tensor, 1, 1, 0).verdict, VERIFY_DIFFERENT);
    a[2] = NAN;
    assert_int_equal(verify_compare(&tensor, &verify_tensor, 1, 1, 0).verdict, VERIFY_INCONCLUSIVE);
    b[3] = 5; /* a difference elsewhere decides */
    assert_int_equal(verify_compare(&tensor, &verify_tensor, 1, 1e-3, 0).verdict, VERIFY_DIFFERENT);
    a[2] = b[2] = INFINITY;
    b[3] = 4;
    assert_int_equal(verify_compare(&tensor, &verify_tensor, 1, 0, 0).verdict, VERIFY_EQUAL);
    b[2] = -INFINITY;
    assert_int_equal(verify_compare(&tensor, &verify_tensor, 1, 1, 0).verdict, VERIFY_DIFFERENT);
    b[2] = 3e38f;
    assert_int_equal(verify_compare(&tensor, &verify_tensor, 1, 1, 0).verdict, VERIFY_DIFFERENT);
    struct verify_tensor other_tensor = {IR_I32, 1, {2}, i}, n = {IR_I32, 1, {2}, j},
                         shape = {IR_I32, 2, {2, 1}, i}, kind = {IR_I64, 1, {2}, i};
    difference = verify_compare(&other_tensor, &n, 1, 1e9, 0);
    assert_int_equal(difference.verdict, VERIFY_DIFFERENT);
    assert_int_equal(difference.index, 1);
    assert_int_equal(verify_compare(&other_tensor, &shape, 1, 1, 0).verdict, VERIFY_DIFFERENT);
    assert_int_equal(verify_compare(&other_tensor, &kind, 1, 1, 0).verdict, VERIFY_DIFFERENT);
}

static void train_steps_get_moments_and_indices(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t first, second;
        int64_t bound;
    } expected[] = {{"small/t2b", 20, 20, 256},
                    {"small/t2b_scan", 12, 12, 256},
                    {"small/gns", 0, 0, 64},
                    {"small/unet", 0, 0, 0},
                    {"small/itx", 0, 0, 251}};
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        struct ir_program program = prepared(expected[k].name);
        uint32_t count, first = 0, second = 0;
        int64_t bound = 0;
        struct verify_hint *hint = verify_hints(&program, &count);
        for (uint32_t i = 0; i < count; i++) {
            first += hint[i].first;
            second += hint[i].second;
            bound = hint[i].bound > bound ? hint[i].bound : bound;
            assert_false(hint[i].first && hint[i].second);
        }
        print_message("%s: %u first, %u second moments, indices below %lld\n", expected[k].name, first,
                      second, (long long)bound);
        assert_int_equal(first, second);
        if (expected[k].first)
            assert_int_equal(first, expected[k].first);
        if (expected[k].bound)
            assert_int_equal(bound, expected[k].bound);
        free(hint);
        ir_program_release(&program);
    }
}

static void inputs_follow_the_seed(void **state)
{
    (void)state;
    struct ir_program program = prepared("small/itx");
    struct verify_tensor tensor[64] = {0}, verify_tensor[64] = {0};
    struct error e = {0};
    uint32_t count = program.blocks[ir_region_block(&program, ir_function(&program, "main"), 0)].arg_count;
    ASSERT_OK(verify_inputs(&program, 3, VERIFY_INPUTS_PLAIN, tensor, &e), &e);
    ASSERT_OK(verify_inputs(&program, 3, VERIFY_INPUTS_PLAIN, verify_tensor, &e), &e);
    assert_int_equal(verify_compare(tensor, verify_tensor, count, 0, 0).verdict, VERIFY_EQUAL);
    for (uint32_t i = 0; i < count; i++)
        verify_tensor_release(&verify_tensor[i]);
    ASSERT_OK(verify_inputs(&program, 4, VERIFY_INPUTS_PLAIN, verify_tensor, &e), &e);
    assert_int_equal(verify_compare(tensor, verify_tensor, count, 1e-3, 0).verdict, VERIFY_DIFFERENT);
    for (uint32_t i = 0; i < count; i++) {
        verify_tensor_release(&tensor[i]);
        verify_tensor_release(&verify_tensor[i]);
    }
    ir_program_release(&program);
}

static bool at_once(void *context)
{
    return ++*(int *)context > 2;
}

/* a loop of next to no work, whose counter stands still */
static void loops_that_do_not_end_are_left(void **state)
{
    static const char text[] =
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %z = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %n = stablehlo.constant dense<5> : tensor<i32>\n"
        "  %r:2 = stablehlo.while(%i = %z, %h = %x) : tensor<i32>, tensor<2xf32>\n"
        "  cond {\n"
        "    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %p : tensor<i1>\n"
        "  } do {\n"
        "    stablehlo.return %i, %h : tensor<i32>, tensor<2xf32>\n"
        "  }\n"
        "  return %r#1 : tensor<2xf32>\n"
        "}\n";
    struct ir_program program = {0};
    struct error e = {0};
    float zeros[2] = {0, 0};
    struct verify_tensor in = {IR_F32, 1, {2}, zeros}, out = {0};
    struct verify_statistics statistics = {0};
    ASSERT_OK(ir_read(text, strlen(text), NULL, &program, &e), &e);
    assert_int_equal(verify_run(&program, "main", 1, &in, &out, NULL, &statistics, &e), ERROR_TOO_LARGE);
    assert_non_null(strstr(e.message, "turns"));
    ir_program_release(&program);
    (void)state;
}

static void operations_are_counted_and_limited(void **state)
{
    (void)state;
    static const char *const models[] = {"small/t2b", "small/t2b_scan", "small/unet"};
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        struct ir_program program = prepared(models[k]);
        struct verify_reference *reference = NULL;
        struct error e = {0};
        uint32_t unknown = 9,
                 count =
                     program.blocks[ir_region_block(&program, ir_function(&program, "main"), 0)].arg_count;
        uint64_t estimate = verify_operations(&program, &unknown);
        struct verify_tensor in[256] = {0}, out[256] = {0};
        struct verify_statistics statistics = {0};
        ASSERT_OK(verify_inputs(&program, 1, VERIFY_INPUTS_PLAIN, in, &e), &e);
        ASSERT_OK(verify_run(&program, "main", 1, in, out, NULL, &statistics, &e), &e);
        print_message("%s: estimated %.3g operations, executed %.3g\n", models[k], (double)estimate,
                      (double)statistics.operations);
        assert_int_equal(unknown, 0);
        assert_in_range(estimate, statistics.operations * 9 / 10, statistics.operations * 11 / 10);
        struct verify_options options = {.max_operations = estimate / 2};
        assert_int_equal(verify_reference_create(&program, 1, &options, &reference, &e), ERROR_TOO_LARGE);
        int asked = 0;
        options = (struct verify_options){.cancelled = at_once, .cancel_context = &asked};
        assert_int_equal(verify_reference_create(&program, 1, &options, &reference, &e), ERROR_CANCELLED);
        for (uint32_t i = 0; i < count; i++)
            verify_tensor_release(&in[i]);
        for (uint32_t i = 0; i < 256; i++)
            verify_tensor_release(&out[i]);
        ir_program_release(&program);
    }
}

/* a module against itself: every run it is for is run, none inconclusive */
static void models_are_equal_to_themselves(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t runs;
    } models[] = {{"mlp", 2},       {"paper_attention", 2}, {"small/itx", 2}, {"small/gpt_torch", 2},
                  {"small/gns", 3}, {"small/t2b", 3}};
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        struct ir_program program = prepared(models[k].name);
        struct verify_report report;
        struct error e = {0};
        ASSERT_OK(verify_prove_modules(&program, &program, NULL, 1, NULL, &report, &e), &e);
        print_message("%s: %s, %u runs %s\n", models[k].name, verify_status_text(report.status), report.runs,
                      report.reason);
        assert_int_equal(report.status, VERIFY_PROOF_EQUAL);
        assert_int_equal(report.runs, models[k].runs);
        assert_true(report.max_error == 0);
        ir_program_release(&program);
    }
}

/* the gradient of a softmax over numbers that are nearly equal: few digits are left, and another order of
 * adding has others */
static struct ir_program cancelling(const char *total, const char *scale)
{
    char *text =
        mem_printf("func.func @main(%%x: tensor<64xf32>) -> tensor<64xf32> {\n"
                   "  %%z = stablehlo.constant dense<0.0> : tensor<f32>\n  %%one = stablehlo.constant "
                   "dense<1.0> : tensor<64xf32>\n"
                   "  %%s = stablehlo.constant dense<%s> : tensor<64xf32>\n  %%n = stablehlo.constant "
                   "dense<0.015625> : tensor<64xf32>\n"
                   "  %%e = stablehlo.exponential %%x : tensor<64xf32>\n"
                   "  %%t = stablehlo.reduce(%%e init: %%z) applies stablehlo.add across dimensions = [0] : "
                   "(tensor<64xf32>, tensor<f32>) -> tensor<f32>\n"
                   "  %%u = stablehlo.broadcast_in_dim %%t, dims = [] : (tensor<f32>) -> tensor<64xf32>\n"
                   "  %%p = stablehlo.divide %%e, %%u : tensor<64xf32>\n  %%y = stablehlo.multiply %%x, %%s "
                   ": tensor<64xf32>\n"
                   "  %%d = stablehlo.add %%one, %%y : tensor<64xf32>\n  %%w = stablehlo.multiply %%p, %%d : "
                   "tensor<64xf32>\n%s"
                   "  %%m = stablehlo.broadcast_in_dim %%r, dims = [] : (tensor<f32>) -> tensor<64xf32>\n"
                   "  %%g = stablehlo.subtract %%d, %%m : tensor<64xf32>\n  %%o = stablehlo.multiply %%p, "
                   "%%g : tensor<64xf32>\n"
                   "  return %%o : tensor<64xf32>\n}\n",
                   scale, total);
    struct ir_program program = {0};
    struct error e = {0};
    ASSERT_OK(ir_read(text, strlen(text), NULL, &program, &e), &e);
    free(text);
    return program;
}

static void rounding_is_no_difference(void **state)
{
    static const char whole[] = "  %r = stablehlo.reduce(%w init: %z) applies stablehlo.add across "
                                "dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>\n";
    static const char halves[] =
        "  %a = stablehlo.slice %w [0:21] : (tensor<64xf32>) -> tensor<21xf32>\n  %b = stablehlo.slice %w "
        "[21:64] : (tensor<64xf32>) -> tensor<43xf32>\n"
        "  %c = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : "
        "(tensor<21xf32>, tensor<f32>) -> tensor<f32>\n"
        "  %f = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [0] : "
        "(tensor<43xf32>, tensor<f32>) -> tensor<f32>\n"
        /* the next float */
        "  %h = stablehlo.constant dense<6.0e-8> : tensor<f32>\n  %r = stablehlo.add %f, %h : tensor<f32>\n";
    struct ir_program original = cancelling(whole, "0.0005"), same = cancelling(halves, "0.0005"),
                      other = cancelling(whole, "0.00053");
    struct verify_report report;
    struct error e = {0};
    ASSERT_OK(verify_prove_modules(&original, &same, NULL, 1, NULL, &report, &e), &e);
    print_message("error %g, tolerance %g %s\n", report.max_error, report.tolerance, report.reason);
    assert_int_equal(report.status, VERIFY_PROOF_EQUAL);
    assert_true(report.max_error > verify_tolerance(&original) && report.max_error <= report.tolerance);
    ASSERT_OK(verify_prove_modules(&original, &other, NULL, 1, NULL, &report, &e), &e);
    assert_int_equal(report.status, VERIFY_PROOF_DIFFERENT);
    ir_program_release(&original);
    ir_program_release(&same);
    ir_program_release(&other);
    (void)state;
}

/* sums that cancel to 0: another order is equal by what is summed, and a wrong divisor or a forgotten part is
 * still another program */
static struct ir_program centered(const char *count, const char *part)
{
    char *text = mem_printf(
        "func.func @main(%%x: tensor<64x8xf32>) -> tensor<8xf32> {\n"
        "  %%z = stablehlo.constant dense<0.0> : tensor<f32>\n  %%n = stablehlo.constant dense<%s> : "
        "tensor<8xf32>\n"
        "  %%a = stablehlo.reduce(%%x init: %%z) applies stablehlo.add across dimensions = [0] : "
        "(tensor<64x8xf32>, tensor<f32>) -> tensor<8xf32>\n"
        "  %%m = stablehlo.divide %%a, %%n : tensor<8xf32>\n"
        "  %%b = stablehlo.broadcast_in_dim %%m, dims = [1] : (tensor<8xf32>) -> tensor<64x8xf32>\n"
        "  %%c = stablehlo.subtract %%x, %%b : tensor<64x8xf32>\n%s"
        "  return %%o : tensor<8xf32>\n}\n",
        count, part);
    struct ir_program program = {0};
    struct error e = {0};
    ASSERT_OK(ir_read(text, strlen(text), NULL, &program, &e), &e);
    free(text);
    return program;
}

#define SUM_OF(result, value, rows, init)                                                                    \
    "  %" result " = stablehlo.reduce(%" value " init: %" init                                               \
    ") applies stablehlo.add across dimensions = "                                                           \
    "[0] : (tensor<" rows "x8xf32>, tensor<f32>) -> tensor<8xf32>\n"

static void planted_errors_in_what_cancels_are_found(void **state)
{
    (void)state;
    static const char whole[] = SUM_OF("o", "c", "64", "z");
    static const char halves[] =
        "  %d = stablehlo.slice %c [0:32, 0:8] : (tensor<64x8xf32>) -> tensor<32x8xf32>\n"
        "  %e = stablehlo.slice %c [32:64, 0:8] : (tensor<64x8xf32>) -> "
        "tensor<32x8xf32>\n" SUM_OF("f", "d", "32", "z")
            SUM_OF("g", "e", "32", "z") "  %o = stablehlo.add %f, %g : tensor<8xf32>\n";
    static const char half[] =
        "  %d = stablehlo.slice %c [0:32, 0:8] : (tensor<64x8xf32>) -> tensor<32x8xf32>\n" SUM_OF("o", "d",
                                                                                                  "32", "z");
    struct ir_program original = centered("64.0", whole), same = centered("64.0", halves),
                      divisor = centered("63.9", whole), part = centered("64.0", half);
    struct verify_report report;
    struct error e = {0};
    ASSERT_OK(verify_prove_modules(&original, &same, NULL, 1, NULL, &report, &e), &e);
    print_message("another order: %s, error %g\n", verify_status_text(report.status), report.max_error);
    assert_int_equal(report.status, VERIFY_PROOF_EQUAL);
    ASSERT_OK(verify_prove_modules(&original, &divisor, NULL, 1, NULL, &report, &e), &e);
    assert_int_equal(report.status, VERIFY_PROOF_DIFFERENT);
    ASSERT_OK(verify_prove_modules(&original, &part, NULL, 1, NULL, &report, &e), &e);
    assert_int_equal(report.status, VERIFY_PROOF_DIFFERENT);
    ir_program_release(&original);
    ir_program_release(&same);
    ir_program_release(&divisor);
    ir_program_release(&part);
}

/* a parameter and a ten-millionth of a sum, in bf16 a hundredth, which rounding hides */
static struct ir_program small_beside(const char *element, const char *rate, bool doubled)
{
    char *text = mem_printf(
        "func.func @main(%%p: tensor<8x%s>, %%x: tensor<64x8x%s>) -> tensor<8x%s> {\n"
        "  %%z = stablehlo.constant dense<0.0> : tensor<%s>\n  %%r = stablehlo.constant dense<%s> : "
        "tensor<8x%s>\n"
        "  %%a = stablehlo.reduce(%%x init: %%z) applies stablehlo.add across dimensions = [0] : "
        "(tensor<64x8x%s>, tensor<%s>) -> tensor<8x%s>\n  %%b = stablehlo.add %%a, %%%s : tensor<8x%s>\n"
        "  %%g = stablehlo.multiply %%r, %%b : tensor<8x%s>\n  %%s = stablehlo.sine %%g : tensor<8x%s>\n"
        "  %%o = stablehlo.add %%p, %%s : tensor<8x%s>\n  return %%o : tensor<8x%s>\n}\n",
        element, element, element, element, rate, element, element, element, element, doubled ? "a" : "r",
        element, element, element, element, element);
    struct ir_program program = {0};
    struct error e = {0};
    ASSERT_OK(ir_read(text, strlen(text), NULL, &program, &e), &e);
    free(text);
    return program;
}

static void small_errors_show_in_f64(void **state)
{
    (void)state;
    static const struct {
        const char *element, *rate, *why;
    } cases[] = {{"f32", "1.0e-7", "tolerance 1e-09"},
                 {"f16", "1.0e-3", "tolerance 1e-09"},
                 {"bf16", "1.0e-3", "tolerance 1e-09"},
                 {"f32", "1.0e-13", "what the step adds to it is off by"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct ir_program original = small_beside(cases[k].element, cases[k].rate, false),
                          other = small_beside(cases[k].element, cases[k].rate, true);
        struct verify_options narrow = {.only_run = 2};
        struct verify_report report;
        struct error e = {0};
        ASSERT_OK(verify_prove_modules(&original, &original, NULL, 1, NULL, &report, &e), &e);
        assert_int_equal(report.status, VERIFY_PROOF_EQUAL);
        assert_int_equal(report.runs, 2);
        ASSERT_OK(verify_prove_modules(&original, &other, NULL, 1, &narrow, &report, &e), &e);
        assert_int_equal(report.status, VERIFY_PROOF_EQUAL); /* hidden */
        ASSERT_OK(verify_prove_modules(&original, &other, NULL, 1, NULL, &report, &e), &e);
        assert_int_equal(report.status, VERIFY_PROOF_DIFFERENT);
        assert_non_null(strstr(report.reason, "plain inputs, in f64: result 0"));
        assert_non_null(strstr(report.reason, cases[k].why));
        ir_program_release(&original);
        ir_program_release(&other);
    }
}

/* A widened program means the same: bits of f32 numbers, constants of every kind. */
static void wide_programs_mean_the_same(void **state)
{
    (void)state;
    static const char text[] =
        "func.func @main(%b: tensor<4xui32>, %h: tensor<4xui16>, %x: tensor<4xbf16>, %c: "
        "tensor<4xcomplex<f32>>)\n"
        "    -> (tensor<4xf32>, tensor<4xbf16>, tensor<4xi16>, tensor<4xbf16>, tensor<4xcomplex<f32>>) {\n"
        "  %n = stablehlo.constant dense<9> : tensor<4xui32>\n"
        "  %m = stablehlo.constant dense<0x3F800000> : tensor<4xui32>\n"
        "  %0 = stablehlo.shift_right_logical %b, %n : tensor<4xui32>\n"
        "  %1 = stablehlo.or %0, %m : tensor<4xui32>\n"
        "  %2 = stablehlo.bitcast_convert %1 : (tensor<4xui32>) -> tensor<4xf32>\n"
        "  %3 = stablehlo.bitcast_convert %h : (tensor<4xui16>) -> tensor<4xbf16>\n"
        "  %4 = stablehlo.bitcast_convert %x : (tensor<4xbf16>) -> tensor<4xi16>\n"
        "  %k = stablehlo.constant dense<[1.5, -0.25, 0.125, 2.0]> : tensor<4xbf16>\n"
        "  %5 = stablehlo.add %x, %k : tensor<4xbf16>\n"
        "  %d = stablehlo.constant dense<(1.5, -0.5)> : tensor<4xcomplex<f32>>\n"
        "  %6 = stablehlo.multiply %c, %d : tensor<4xcomplex<f32>>\n"
        "  return %2, %3, %4, %5, %6 : tensor<4xf32>, tensor<4xbf16>, tensor<4xi16>, tensor<4xbf16>, "
        "tensor<4xcomplex<f32>>\n}\n";
    struct ir_program program = {0};
    struct verify_wide wide;
    struct error e = {0};
    ASSERT_OK(ir_read(text, sizeof text - 1, NULL, &program, &e), &e);
    assert_true(verify_wide_make(&program, &wide));
    struct verify_tensor in[4], wide_in[4], out[5], wide_out[5];
    ASSERT_OK(verify_inputs(&program, 1, VERIFY_INPUTS_PLAIN, in, &e), &e);
    for (int i = 0; i < 4; i++)
        wide_in[i] = verify_wide_tensor(&in[i]);
    struct verify_options options = {.narrow = program.types};
    ASSERT_OK(verify_run(&program, "main", 1, in, out, NULL, NULL, &e), &e);
    ASSERT_OK(verify_run(&wide.program, "main", 1, wide_in, wide_out, &options, NULL, &e), &e);
    assert_int_equal(wide_out[0].element, IR_F64);
    assert_int_equal(wide_out[4].element, IR_C128);
    for (int i = 0; i < 5; i++) {
        struct verify_tensor back = verify_narrow_tensor(&wide_out[i], out[i].element);
        assert_int_equal(verify_compare(&out[i], &back, 1, 0, 0).verdict, VERIFY_EQUAL);
        verify_tensor_release(&back);
        verify_tensor_release(&out[i]);
        verify_tensor_release(&wide_out[i]);
    }
    for (int i = 0; i < 4; i++) {
        verify_tensor_release(&in[i]);
        verify_tensor_release(&wide_in[i]);
    }
    verify_wide_release(&wide);
    ir_program_release(&program);
}

/* Another tool's folded constant is rounded: what differs in f64 alone is no difference then, and NaN among
 * the constants is in nobody's way. */
static void folded_constants_are_rounded(void **state)
{
    (void)state;
    static const char form[] = "func.func @main(%%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {\n"
                               "  %%n = stablehlo.constant dense<0x7FC00000> : tensor<8xf32>\n%s"
                               "  %%o = stablehlo.multiply %%x, %%c : tensor<8xf32>\n"
                               "  %%p = stablehlo.compare NE, %%x, %%x : (tensor<8xf32>, tensor<8xf32>) -> "
                               "tensor<8xi1>\n"
                               "  %%q = stablehlo.select %%p, %%n, %%x : tensor<8xi1>, tensor<8xf32>\n"
                               "  return %%o, %%q : tensor<8xf32>, tensor<8xf32>\n}\n";
    static const char *const factors[] = {"  %s = stablehlo.constant dense<3.0> : tensor<8xf32>\n"
                                          "  %t = stablehlo.constant dense<7.0> : tensor<8xf32>\n  %c = "
                                          "stablehlo.divide %s, %t : tensor<8xf32>\n",
                                          "  %c = stablehlo.constant dense<0.428571433> : tensor<8xf32>\n",
                                          "  %s = stablehlo.constant dense<3.0> : tensor<8xf32>\n"
                                          "  %t = stablehlo.constant dense<7.0> : tensor<8xf32>\n  %c = "
                                          "stablehlo.divide %t, %s : tensor<8xf32>\n"};
    struct ir_program programs[3] = {{0}};
    struct error e = {0};
    for (int i = 0; i < 3; i++) {
        char *text = mem_printf(form, factors[i]);
        ASSERT_OK(ir_read(text, strlen(text), NULL, &programs[i], &e), &e);
        free(text);
    }
    assert_false(verify_constants_differ(&programs[0], &programs[2]));
    assert_true(verify_constants_differ(&programs[0], &programs[1]));
    for (int i = 0; i < 3; i++) {
        struct verify_report report;
        ASSERT_OK(verify_prove_modules(&programs[0], &programs[i], NULL, 1, NULL, &report, &e), &e);
        assert_int_equal(report.status, i == 2 ? VERIFY_PROOF_DIFFERENT : VERIFY_PROOF_EQUAL);
    }
    for (int i = 0; i < 3; i++)
        ir_program_release(&programs[i]);
}

/* A number that only decides is looked at itself, wherever among such numbers it stands. */
static void numbers_that_choices_compare_count(void **state)
{
    (void)state;
    static const char form[] =
        "func.func @main(%%x: tensor<8xf32>, %%y: tensor<4xf32>) -> tensor<8xf32> {\n"
        "  %%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %%m = stablehlo.constant dense<-9.0> : tensor<f32>\n  %%k = stablehlo.constant dense<-8.0> : "
        "tensor<f32>\n"
        "  %%s = stablehlo.reduce(%%x init: %%z) applies stablehlo.add across dimensions = [0] : "
        "(tensor<8xf32>, "
        "tensor<f32>) -> tensor<f32>\n"
        "  %%t = stablehlo.reduce(%%y init: %%z) applies stablehlo.add across dimensions = [0] : "
        "(tensor<4xf32>, "
        "tensor<f32>) -> tensor<f32>\n%s"
        "  %%r = stablehlo.and %%c, %%d : tensor<i1>\n"
        "  %%w = stablehlo.broadcast_in_dim %%z, dims = [] : (tensor<f32>) -> tensor<8xf32>\n"
        "  %%o = stablehlo.select %%r, %%x, %%w : tensor<i1>, tensor<8xf32>\n  return %%o : "
        "tensor<8xf32>\n}\n";
    static const char *const rows[] = {
        "  %c = stablehlo.compare GT, %s, %m : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "  %d = stablehlo.compare GT, %t, %k : (tensor<f32>, tensor<f32>) -> tensor<i1>\n",
        "  %d = stablehlo.compare GT, %t, %k : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "  %c = stablehlo.compare GT, %s, %m : (tensor<f32>, tensor<f32>) -> tensor<i1>\n",
        "  %u = stablehlo.add %s, %s : tensor<f32>\n"
        "  %c = stablehlo.compare GT, %u, %m : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "  %d = stablehlo.compare GT, %t, %k : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"};
    struct ir_program programs[3] = {{0}};
    struct verify_mesh mesh = {0};
    struct verify_sharding whole[2] = {{.rank = 1}, {.rank = 1}};
    struct error e = {0};
    ASSERT_OK(verify_mesh_make(&mesh, 1, (int64_t[]){2}, NULL, &e), &e);
    for (int i = 0; i < 3; i++) {
        char *text = mem_printf(form, rows[i]);
        ASSERT_OK(ir_read(text, strlen(text), NULL, &programs[i], &e), &e);
        free(text);
        assert_int_equal(verify_compared_count(&programs[i]), 2);
    }
    for (int i = 0; i < 3; i++) {
        struct verify_boundary boundary = {&mesh, whole, whole};
        struct verify_options options = {.only_run = 1};
        struct verify_report report;
        ASSERT_OK(verify_prove_modules(&programs[0], &programs[i], &boundary, 1, &options, &report, &e), &e);
        assert_int_equal(report.status, i == 2 ? VERIFY_PROOF_DIFFERENT : VERIFY_PROOF_EQUAL);
        assert_true(i < 2 || strstr(report.reason, "number 0 of those that choices compare is "));
    }
    for (int i = 0; i < 3; i++)
        ir_program_release(&programs[i]);
    verify_mesh_release(&mesh);
}

/* a step of a sum that is halved where it is large */
static struct ir_program halving(const char *returned)
{
    char *text = mem_printf(
        "module {\n  func.func @main(%%x: tensor<8xf32>) -> tensor<8xf32> {\n"
        "    %%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "    %%h = stablehlo.constant dense<0.5> : tensor<f32>\n"
        "    %%l = stablehlo.constant dense<9.0> : tensor<f32>\n"
        "    %%s = stablehlo.reduce(%%x init: %%z) applies stablehlo.add across dimensions = [0] : "
        "(tensor<8xf32>, tensor<f32>) -> tensor<f32>\n"
        "    %%c = stablehlo.compare GT, %%s, %%l : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "    %%b = stablehlo.broadcast_in_dim %%h, dims = [] : (tensor<f32>) -> tensor<8xf32>\n"
        "    %%y = stablehlo.multiply %%x, %%b : tensor<8xf32>\n"
        "    %%r = stablehlo.select %%c, %%y, %%x : tensor<i1>, tensor<8xf32>\n"
        "    return %s : tensor<8xf32>\n  }\n}\n",
        returned);
    struct ir_program program = {0};
    struct error e = {0};
    ASSERT_OK(ir_read(text, strlen(text), NULL, &program, &e), &e);
    free(text);
    return program;
}

/* A module that has not the original's choices is no less compared where one run is asked for. */
static void one_run_compares_something(void **state)
{
    (void)state;
    struct ir_program original = halving("%r"), other = halving("%y");
    struct verify_report report;
    struct error e = {0};
    for (uint32_t only = 0; only < 5; only++) {
        struct verify_options options = {.only_run = only};
        ASSERT_OK(verify_prove_modules(&original, &other, NULL, 1, &options, &report, &e), &e);
        assert_int_equal(report.status, VERIFY_PROOF_DIFFERENT);
        assert_int_equal(report.runs, 1);
        ASSERT_OK(verify_prove_modules(&original, &original, NULL, 1, &options, &report, &e), &e);
        assert_int_equal(report.status, VERIFY_PROOF_EQUAL);
        /* with choices turned after the second */
        assert_int_equal(report.runs, only == 0 ? 3 : only % 2 ? 1 : 2);
    }
    ir_program_release(&original);
    ir_program_release(&other);
}

static void unknown_ops_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *body, *expected;
    } modules[] = {
        {"%0 = \"stablehlo.rng\"(%x, %x, %s) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : "
         "(tensor<f32>, tensor<f32>, "
         "tensor<0xi64>) -> tensor<f32>",
         "stablehlo.rng"},
        {"%0 = stablehlo.custom_call @mystery(%x) : (tensor<f32>) -> tensor<f32>", "'mystery'"},
        {"%0 = \"other.op\"(%x) : (tensor<f32>) -> tensor<f32>", "other.op"},
    };
    for (size_t k = 0; k < sizeof modules / sizeof *modules; k++) {
        char *text = mem_printf(
            "module {\n  func.func @main(%%x: tensor<f32>, %%s: tensor<0xi64>) -> tensor<f32> {\n    %s\n"
            "    return %%0 : tensor<f32>\n  }\n}\n",
            modules[k].body);
        struct ir_program program = {0};
        struct error e = {0};
        ASSERT_OK(ir_read(text, strlen(text), NULL, &program, &e), &e);
        float one = 1;
        struct verify_tensor in[2] = {{IR_F32, 0, {0}, &one}, {IR_I64, 1, {0}, &one}}, out[1] = {0};
        assert_int_equal(verify_run(&program, "main", 1, in, out, NULL, NULL, &e), ERROR_NOT_AVAILABLE);
        assert_non_null(strstr(e.message, modules[k].expected));
        assert_int_equal(e.line, 3);
        ir_program_release(&program);
        free(text);
    }
}

int main(void)
{
    ir_read_program(TOAST_BINARY_DIR "/toast-read");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparison_is_strict),
        cmocka_unit_test(train_steps_get_moments_and_indices),
        cmocka_unit_test(inputs_follow_the_seed),
        cmocka_unit_test(loops_that_do_not_end_are_left),
        cmocka_unit_test(operations_are_counted_and_limited),
        cmocka_unit_test(models_are_equal_to_themselves),
        cmocka_unit_test(rounding_is_no_difference),
        cmocka_unit_test(planted_errors_in_what_cancels_are_found),
        cmocka_unit_test(small_errors_show_in_f64),
        cmocka_unit_test(wide_programs_mean_the_same),
        cmocka_unit_test(folded_constants_are_rounded),
        cmocka_unit_test(numbers_that_choices_compare_count),
        cmocka_unit_test(one_run_compares_something),
        cmocka_unit_test(unknown_ops_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
