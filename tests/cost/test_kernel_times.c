/* What kernels take beside their bytes, and products, on programs small enough to be worked out by hand. The
 * machine's times are bytes (plain.h). N is a number of elements. */
#include "plain.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 20 };

static void expect_bytes(const char *text, uint32_t rules, int64_t bytes)
{
    struct moved moved = plain_moved("h100", text, rules);
    assert_int_equal(moved.temporary, 0);
    assert_int_equal(moved.bytes, bytes);
}

/* `count` sines, one of the other, from %s0 on, and the end of the program */
static void add_sines(struct text *text, int count)
{
    for (int i = 0; i < count; i++)
        text_printf(text, "    %%s%d = stablehlo.sine %%s%d : tensor<1024x1024xf32>\n", i + 1, i);
    text_printf(text, "    return %%s%d : tensor<1024x1024xf32>\n}\n", count);
}

/* arithmetic that takes longer than the bytes: a sine one of them an element, a sum an eighth */
static void arithmetic_takes_time(void **state)
{
    static const int64_t moved[] = {8 * N, 8 * N, 16 * N};
    for (int i = 0; i < 3; i++) {
        struct text text = {0};
        text_add(&text, "func.func @main(%s0: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {\n");
        add_sines(&text, i == 1 ? 8 : 16);
        expect_bytes(text.at, COST_FUSE_BYTES | (i ? COST_FUSE_WORK : 0), moved[i]);
        text_release(&text);
    }
}

/* .. three times as long in a kernel that keeps its rows, however many */
static void kernels_of_rows_compute_slowly(void **state)
{
    for (int rows = 1; rows <= 12; rows += 11) {
        struct text text = {0};
        text_add(&text, "func.func @main(%a0: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {\n"
                        "    %0 = stablehlo.constant dense<0.0> : tensor<f32>\n");
        for (int i = 0; i < rows; i++)
            text_printf(
                &text,
                "    %%r%1$d = stablehlo.reduce(%%a%1$d init: %%0) applies stablehlo.add across dimensions "
                "= [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>\n"
                "    %%b%1$d = stablehlo.broadcast_in_dim %%r%1$d, dims = [0] : (tensor<1024xf32>) -> "
                "tensor<1024x1024xf32>\n"
                "    %%%3$s%2$d = stablehlo.subtract %%a%1$d, %%b%1$d : tensor<1024x1024xf32>\n",
                i, i + 1 < rows ? i + 1 : 0, i + 1 < rows ? "a" : "s");
        add_sines(&text, 8);
        expect_bytes(text.at, COST_FUSE_BYTES | COST_FUSE_ROWS | COST_FUSE_WORK, 3 * (8 * N + rows * N / 8));
        text_release(&text);
    }
}

/* what the unsharded module computes on such a machine, with numbers of its own */
static int64_t computes(const char *text, uint32_t rules, double element, int64_t columns_ps)
{
    struct subject subject;
    struct cost_backend backend;
    struct error e;
    plain_begin(&subject, &backend, "h100", text, rules);
    backend.kernel_bytes.element = element;
    backend.columns_ps = columns_ps;
    ASSERT_OK(subject_evaluator(&subject, &e), &e);
    int64_t ps = evaluator_unsharded(subject.evaluator)->compute_ps;
    subject_close(&subject);
    return ps;
}

/* what a kernel makes, by elements */
static void kernels_take_their_elements(void **state)
{
    static const char text[] = "func.func @main(%a: tensor<1048576xf32>) -> tensor<1048576xf32> {\n"
                               "    %0 = stablehlo.floor %a : tensor<1048576xf32>\n"
                               "    return %0 : tensor<1048576xf32>\n}\n";
    for (int element = 4; element <= 12; element += 8)
        assert_int_equal(computes(text, COST_FUSE_BYTES | COST_FUSE_WORK, element, 0),
                         (element > 8 ? 12 : 8) * N);
}

/* of a sum of rows none, of one of columns what the backend says beside its bytes */
static void sums_of_columns_take_longer(void **state)
{
    for (int dim = 0; dim < 2; dim++) {
        struct text text = {0};
        text_printf(
            &text,
            "func.func @main(%%a: tensor<1024x1024xf32>, %%z: tensor<f32>) -> tensor<1024xf32> {\n"
            "    %%0 = stablehlo.reduce(%%a init: %%z) applies stablehlo.add across dimensions = [%d] : "
            "(tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>\n"
            "    return %%0 : tensor<1024xf32>\n}\n",
            dim);
        assert_int_equal(computes(text.at, COST_FUSE_BYTES | COST_FUSE_COLUMNS, 0, 12345),
                         4 * N + 4 * 1024 + 4 + (dim ? 0 : 12345));
        text_release(&text);
    }
}

/* sorting rows of 1,024 passes over them 10 x 11 / 4 + 1 times, sums of all before each element thrice */
static void sorts_and_sums_pass_several_times(void **state)
{
    static const char sort[] =
        "func.func @main(%a: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {\n"
        "    %0 = \"stablehlo.sort\"(%a) <{dimension = 1 : i64}> ({\n"
        "    ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "      %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "      stablehlo.return %c : tensor<i1>\n"
        "    }) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>\n"
        "    return %0 : tensor<1024x1024xf32>\n}\n";
    static const char sums[] =
        "func.func @main(%a: tensor<1024x1024xf32>, %z: tensor<f32>) -> tensor<1024x1024xf32> {\n"
        "    %0 = \"stablehlo.reduce_window\"(%a, %z) <{padding = dense<[[0, 0], [1023, 0]]> : "
        "tensor<2x2xi64>, window_dimensions = array<i64: 1, 1024>}> ({\n"
        "    ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "      %c = stablehlo.add %x, %y : tensor<f32>\n"
        "      stablehlo.return %c : tensor<f32>\n"
        "    }) : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024x1024xf32>\n"
        "    return %0 : tensor<1024x1024xf32>\n}\n";
    expect_bytes(sort, COST_FUSE_BYTES, 8 * N);
    expect_bytes(sort, COST_FUSE_BYTES | COST_FUSE_WORK, 28 * 8 * N);
    expect_bytes(sums, COST_FUSE_BYTES | COST_FUSE_WORK, 3 * (8 * N + 4));
}

/* bench/hardware_log: microseconds of products of bf16 on an H200, within a fifth */
static void products_take_what_was_measured(void **state)
{
    static const struct {
        int batches, rows, columns, sums;
        double us;
    } known[] = {{1, 4096, 4096, 4096, 174.1}, {1, 8192, 8192, 8192, 1327.1}, {1, 16384, 2048, 512, 54.3},
                 {1, 16384, 128, 2048, 21.2},  {1, 32768, 1024, 1024, 94.4},  {64, 2048, 2048, 128, 166.5},
                 {64, 2048, 128, 2048, 149.2}, {512, 512, 512, 80, 99.7},     {512, 512, 80, 512, 90.2}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char text[1024];
        struct subject subject;
        struct error e;
        int b = known[i].batches, m = known[i].rows, n = known[i].columns, k = known[i].sums;
        snprintf(
            text, sizeof text,
            "func.func @main(%%a: tensor<%dx%dx%dxbf16>, %%b: tensor<%dx%dx%dxbf16>) -> "
            "tensor<%dx%dx%dxbf16> {\n"
            "    %%0 = stablehlo.dot_general %%a, %%b, batching_dims = [0] x [0], contracting_dims = [2] "
            "x [1] : (tensor<%dx%dx%dxbf16>, tensor<%dx%dx%dxbf16>) -> tensor<%dx%dx%dxbf16>\n"
            "    return %%0 : tensor<%dx%dx%dxbf16>\n}\n",
            b, m, k, b, k, n, b, m, n, b, m, k, b, k, n, b, m, n, b, m, n);
        ASSERT_OK(subject_text(&subject, text, strlen(text), &e), &e);
        ASSERT_OK(subject_mesh(&subject, "x=2", &e), &e);
        ASSERT_OK(cost_machine_create(&subject.mesh, "h200", 0, &subject.machine, &e), &e);
        ASSERT_OK(subject_evaluator(&subject, &e), &e);
        int64_t ps = evaluator_unsharded(subject.evaluator)->matmul_ps;
        assert_in_range(ps, (int64_t)(known[i].us * 0.8e6), (int64_t)(known[i].us * 1.2e6));
        subject_close(&subject);
    }
}

/* Scores of `heads` heads that share their keys leave the product as [batch, keys, queries, heads]; the next
 * reads exponentials of them as [batch, keys, heads, queries], or [heads, queries, keys] of a batch of 1. */
static char *shared_keys(int batch, int heads, const char *kind)
{
    char scores[64], turned[64], keys[64], queries[64], out[64];
    snprintf(scores, sizeof scores, "tensor<%dx64x64x%dx%s>", batch, heads, kind);
    snprintf(turned, sizeof turned, "tensor<%dx%dx64x64x%s>", batch, heads, kind);
    snprintf(keys, sizeof keys, "tensor<%dx64x32x%s>", batch, kind);
    snprintf(queries, sizeof queries, "tensor<%dx64x%dx32x%s>", batch, heads, kind);
    snprintf(out, sizeof out, "tensor<%dx32x%dx64x%s>", batch, heads, kind);
    return mem_printf(
        "func.func @main(%%k: %s, %%q: %s) -> %s {\n"
        "    %%0 = stablehlo.dot_general %%k, %%q, batching_dims = [0] x [0], contracting_dims = [2] x [3] : "
        "(%s, %s) -> %s\n"
        "    %%1 = stablehlo.transpose %%0, dims = [0, 3, 2, 1] : (%s) -> %s\n"
        "    %%2 = stablehlo.exponential %%1 : %s\n"
        "    %%3 = stablehlo.dot_general %%k, %%2, batching_dims = [0] x [0], contracting_dims = [1] x [3] : "
        "(%s, %s) -> %s\n"
        "    return %%3 : %s\n}\n",
        keys, queries, out, keys, queries, scores, scores, turned, turned, keys, turned, out, out);
}

static int64_t strided_bytes(const char *text)
{
    return plain_moved("h100", text, COST_FUSE_BYTES | COST_FUSE_STRIDED).bytes -
           plain_moved("h100", text, COST_FUSE_BYTES).bytes;
}

static void check_strided(int batch, int heads, const char *kind, int bytes)
{
    char *text = shared_keys(batch, heads, kind);
    assert_int_equal(strided_bytes(text), bytes * batch * 64 * 64 * heads);
    free(text);
}

/* too few heads for a tile: 64 bytes are read for each float; one head needs no turning */
static void elements_far_apart_take_transactions(void **state)
{
    for (int heads = 1; heads <= 16; heads *= 2)
        check_strided(2, heads, "f32", heads > 1 && heads < 16 ? 60 : 0);
}

/* In a batch of 1 queries are between heads and keys: 12 of them with 5 heads are 60 columns of a tile whose
 * elements share banks in pairs; 21 with 3 heads are 63, which make no pairs. */
static void packed_tiles_take_what_is_between(void **state)
{
    check_strided(2, 5, "bf16", 62);
    check_strided(1, 5, "bf16", 0);
    check_strided(1, 3, "bf16", 62);
    check_strided(1, 5, "f32", 60);
}

/* A product of [batch, heads, queries, keys] meets values of an earlier one's order, [batch, keys, queries,
 * heads]: it is turned, and stored in float32 until it is used; what the product wrote stands beside it
 * meanwhile. */
static void later_orders_are_turned_into_earlier_ones(void **state)
{
    for (int heads = 2; heads <= 32; heads *= 16) {
        char scores[64], keys[64], heads_out[64];
        snprintf(scores, sizeof scores, "tensor<2x64x64x%dx", heads);
        snprintf(keys, sizeof keys, "tensor<2x64x%dx32xbf16>", heads);
        snprintf(heads_out, sizeof heads_out, "tensor<2x%dx64x", heads);
        char *text = mem_printf(
            "func.func @main(%%k: tensor<2x64x32xbf16>, %%q: %2$s, %%o: %3$s32xbf16>) -> %3$s64xf32> {\n"
            "    %%0 = stablehlo.dot_general %%k, %%q, batching_dims = [0] x [0], contracting_dims = [2] x "
            "[3] : (tensor<2x64x32xbf16>, %2$s) -> %1$sbf16>\n"
            "    %%1 = stablehlo.transpose %%0, dims = [0, 3, 2, 1] : (%1$sbf16>) -> %3$s64xbf16>\n"
            "    %%2 = stablehlo.convert %%1 : (%3$s64xbf16>) -> %3$s64xf32>\n"
            "    %%3 = stablehlo.dot_general %%o, %%k, batching_dims = [0] x [0], contracting_dims = [3] x "
            "[2] : (%3$s32xbf16>, tensor<2x64x32xbf16>) -> %3$s64xbf16>\n"
            "    %%4 = stablehlo.convert %%3 : (%3$s64xbf16>) -> %3$s64xf32>\n"
            "    %%5 = stablehlo.multiply %%2, %%4 : %3$s64xf32>\n"
            "    return %%5 : %3$s64xf32>\n}\n",
            scores, keys, heads_out);
        int elements = 2 * heads * 64 * 64, far_apart = heads == 2 ? 62 : 0;
        struct moved plain = plain_moved("h100", text, COST_FUSE_BYTES),
                     turned = plain_moved("h100", text, COST_FUSE_BYTES | COST_FUSE_STRIDED);
        assert_int_equal(plain.temporary, 2 * 2 * elements);
        assert_int_equal(turned.temporary, (2 + 2 + 4) * elements);
        assert_int_equal(turned.bytes - plain.bytes, (far_apart + 2 * 2) * elements); /* f32, both ways */
        free(text);
    }
}

/* a product that sums nothing up is no kernel of its own */
static void products_that_sum_nothing_multiply(void **state)
{
    static const char *const lines[] = {
        "%m = stablehlo.dot_general %w, %e, batching_dims = [0] x [0], contracting_dims = [] x [] : "
        "(tensor<16xf32>, tensor<16x65536xf32>) -> tensor<16x65536xf32>",
        "%b = stablehlo.broadcast_in_dim %w, dims = [0] : (tensor<16xf32>) -> tensor<16x65536xf32>\n"
        "%m = stablehlo.multiply %b, %e : tensor<16x65536xf32>"};
    struct moved moved[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        char *text = mem_printf("func.func @main(%%w: tensor<16xf32>, %%x: tensor<16x65536xf32>) -> "
                                "tensor<16x65536xf32> {\n"
                                "%%e = stablehlo.exponential %%x : tensor<16x65536xf32>\n%s\n"
                                "%%t = stablehlo.tanh %%m : tensor<16x65536xf32>\n"
                                "return %%t : tensor<16x65536xf32>\n}\n",
                                lines[i]);
        moved[i] = plain_moved("h100", text, COST_FUSE_BYTES);
        free(text);
    }
    assert_int_equal(moved[0].temporary, 0);
    assert_int_equal(moved[0].bytes, moved[1].bytes);
    assert_int_equal(moved[1].temporary, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_that_sum_nothing_multiply),
        cmocka_unit_test(arithmetic_takes_time),
        cmocka_unit_test(kernels_of_rows_compute_slowly),
        cmocka_unit_test(kernels_take_their_elements),
        cmocka_unit_test(sums_of_columns_take_longer),
        cmocka_unit_test(sorts_and_sums_pass_several_times),
        cmocka_unit_test(products_take_what_was_measured),
        cmocka_unit_test(elements_far_apart_take_transactions),
        cmocka_unit_test(packed_tiles_take_what_is_between),
        cmocka_unit_test(later_orders_are_turned_into_earlier_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
