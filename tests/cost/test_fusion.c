/* What fuses by each rule, on programs small enough to be worked out by hand: the bytes of memory beside
 * arguments and results, and the bytes that all kernels move. The machine's times are bytes (plain.h). N, R
 * and C are numbers of elements. */
#include "plain.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 20, MIB = 1 << 20 };

static void expect(const char *text, uint32_t rules, int64_t temporary, int64_t bytes)
{
    struct moved moved = plain_moved("h100", text, rules);
    assert_int_equal(moved.temporary, temporary);
    assert_int_equal(moved.bytes, bytes);
}

#define VECTOR "tensor<1048576xf32>"
#define USE(name, op, value) "    " name " = stablehlo." op " " value " : " VECTOR "\n"

/* v = a + b: its roots are 8 N bytes, its own are 4 N. Three users: 3 x 8 N <= 8 N + 4 x 4 N, so it is
 * computed in each of them. Four: 4 x 8 N > 8 N + 5 x 4 N, so it is stored. */
static const char three_users[] =
    "func.func @main(%a: " VECTOR ", %b: " VECTOR ") -> (" VECTOR ", " VECTOR ", " VECTOR ") {\n"
    "    %v = stablehlo.add %a, %b : " VECTOR "\n" USE("%0", "negate", "%v") USE("%1", "abs", "%v")
        USE("%2", "sign", "%v") "    return %0, %1, %2 : " VECTOR ", " VECTOR ", " VECTOR "\n}\n";
static const char four_users[] =
    "func.func @main(%a: " VECTOR ", %b: " VECTOR ") -> (" VECTOR ", " VECTOR ", " VECTOR ", " VECTOR ") {\n"
    "    %v = stablehlo.add %a, %b : " VECTOR "\n" USE("%0", "negate", "%v") USE("%1", "abs", "%v")
        USE("%2", "sign", "%v") USE("%3", "floor", "%v") "    return %0, %1, %2, %3 : " VECTOR ", " VECTOR
                                                         ", " VECTOR ", " VECTOR "\n}\n";

/* b is a with a block of BLOCK floats written into it; y is computed from a, or from both */
enum { BLOCK = 1024 };
#define UPDATED(donor, before, behind)                                                                       \
    "func.func @main(%a: " VECTOR donor ", %k: tensor<1024xf32>, %i: tensor<i32>) -> (" VECTOR ", " VECTOR   \
    ") {\n" before "    %b = stablehlo.dynamic_update_slice %a, %k, %i : (" VECTOR                           \
    ", tensor<1024xf32>, tensor<i32>) -> " VECTOR "\n" behind "    return %b, %y : " VECTOR ", " VECTOR      \
    "\n}\n"
#define DONATED " {tf.aliasing_output = 0 : i32}"

/* A donated buffer is written in place though something else reads it, wherever that stands in the text: it
 * can run first. XLA for an H100 copies it for what is computed from both, and one that is not donated. */
static void updates_copy_what_outlives_them(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes; /* of what is computed, and of the copy */
    } cases[] = {
        {UPDATED(DONATED, USE("%y", "negate", "%a"), ""), 8 * N},
        {UPDATED(DONATED, "", USE("%y", "negate", "%a")), 8 * N},
        {UPDATED(DONATED, "", USE("%y", "negate", "%b")), 8 * N},
        {UPDATED(DONATED, "", USE("%y", "add", "%a, %b")), 12 * N + 8 * N},
        {UPDATED(DONATED, "", USE("%n", "negate", "%b") USE("%y", "add", "%n, %a")), 12 * N + 8 * N},
        {UPDATED("", "", USE("%y", "negate", "%b")), 8 * N + 8 * N},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct moved moved = plain_moved("h100", cases[i].text, COST_FUSE_BYTES);
        assert_int_equal(moved.bytes, 2 * 4 * BLOCK + cases[i].bytes);
    }
    (void)state;
}

static void stored_where_that_moves_fewer_bytes(void **state)
{
    expect(three_users, COST_FUSE_BYTES, 0, 3 * 12 * N);
    expect(four_users, COST_FUSE_BYTES, 4 * N, 12 * N + 4 * 8 * N);
    /* what reads two arrays is stored by the rule for CPUs */
    expect(three_users, 0, 4 * N, 12 * N + 3 * 8 * N);
    expect(four_users, 0, 4 * N, 12 * N + 4 * 8 * N);
}

/* a sine takes what moves 60 bytes: 2 x 4 N + 60 N > 4 N + 3 x 4 N; an exponential 4: 8 N + 4 N is less */
static void effort_counts(void **state)
{
    static const char sine[] = "func.func @main(%a: " VECTOR ") -> (" VECTOR ", " VECTOR
                               ") {\n" USE("%v", "sine", "%a") USE("%0", "negate", "%v")
                                   USE("%1", "abs", "%v") "    return %0, %1 : " VECTOR ", " VECTOR "\n}\n";
    static const char power[] = "func.func @main(%a: " VECTOR ") -> (" VECTOR ", " VECTOR
                                ") {\n" USE("%v", "exponential", "%a") USE("%0", "negate", "%v")
                                    USE("%1", "abs", "%v") "    return %0, %1 : " VECTOR ", " VECTOR "\n}\n";
    expect(sine, COST_FUSE_BYTES, 0, 2 * 8 * N);
    expect(sine, COST_FUSE_BYTES | COST_FUSE_EFFORT, 4 * N, 3 * 8 * N);
    expect(power, COST_FUSE_BYTES | COST_FUSE_EFFORT, 0, 2 * 8 * N);
    expect(power, 0, 4 * N, 3 * 8 * N);
}

/* what four kernels of 4 KiB use is computed in each of them: storing it takes a launch */
static void small_values_are_not_launched_for(void **state)
{
    char *text = mem_printf("%s", four_users), *out = text, *in = text;
    while (*in) { /* 1048576 elements become 1024 */
        bool size = strncmp(in, "1048576", 7) == 0;
        memmove(out, size ? "1024" : in, size ? 4 : 1);
        out += size ? 4 : 1;
        in += size ? 7 : 1;
    }
    *out = 0;
    expect(text, COST_FUSE_BYTES, 4096, 12288 + 4 * 8192);
    expect(text, COST_FUSE_BYTES | COST_FUSE_LAUNCH, 0, 4 * 12288);
    free(text);
}

/* rows of a converted table: 4 MiB of bf16, 8 MiB as f32, of which 64 rows of 4 KiB are read */
static const char gathered_rows[] =
    "func.func @main(%t: tensor<2048x1024xbf16>, %i: tensor<64x1xi32>) -> tensor<64x1024xf32> {\n"
    "    %c = stablehlo.convert %t : (tensor<2048x1024xbf16>) -> tensor<2048x1024xf32>\n"
    "    %g = \"stablehlo.gather\"(%c, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
    "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
    "array<i64: 1, 1024>}> : (tensor<2048x1024xf32>, tensor<64x1xi32>) -> tensor<64x1024xf32>\n"
    "    return %g : tensor<64x1024xf32>\n}\n";

static void gathers_take_their_producers_in(void **state)
{
    int64_t rows = 64 * 4096, indices = 64 * 4;
    expect(gathered_rows, COST_FUSE_BYTES, 8 * MIB, 12 * MIB + 2 * rows + indices);
    expect(gathered_rows, COST_FUSE_BYTES | COST_FUSE_GATHER, 0, 2 * rows + indices);
}

/* x less the maximum of its row: one kernel where rows stay in it */
static void rows_stay_in_the_kernel(void **state)
{
    static const char text[] =
        "func.func @main(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {\n"
        "    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "    %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1] : "
        "(tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>\n"
        "    %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<1024xf32>) -> tensor<1024x1024xf32>\n"
        "    %y = stablehlo.subtract %x, %b : tensor<1024x1024xf32>\n"
        "    return %y : tensor<1024x1024xf32>\n}\n";
    expect(text, COST_FUSE_BYTES, 4096, 4 * MIB + 4096 + 8 * MIB + 4096);
    expect(text, COST_FUSE_BYTES | COST_FUSE_ROWS, 0, 8 * MIB);
}

/* .. but not where the row does not lie innermost; a dimension of one element inside of it is none */
static void rows_across_memory_take_kernels(void **state)
{
    static const struct {
        const char *x, *permutation, *turned, *rows, *dims;
        int reduced, apart;
    } cases[] = {{"1024x1024x", "1, 0", "1024x1024x", "1024x", "0", 1, 4096},
                 {"1024x1024x1x", "0, 2, 1", "1024x1x1024x", "1024x1x", "0, 1", 2, 0}};
    for (int i = 0; i < 2; i++) {
        int64_t apart = cases[i].apart;
        char *text = mem_printf(
            "func.func @main(%%x: tensor<%1$sf32>) -> tensor<%3$sf32> {\n"
            "    %%least = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
            "    %%t = stablehlo.transpose %%x, dims = [%2$s] : (tensor<%1$sf32>) -> tensor<%3$sf32>\n"
            "    %%m = stablehlo.reduce(%%t init: %%least) applies stablehlo.maximum across dimensions = "
            "[%6$d] : (tensor<%3$sf32>, tensor<f32>) -> tensor<%4$sf32>\n"
            "    %%b = stablehlo.broadcast_in_dim %%m, dims = [%5$s] : (tensor<%4$sf32>) -> tensor<%3$sf32>\n"
            "    %%y = stablehlo.subtract %%t, %%b : tensor<%3$sf32>\n"
            "    return %%y : tensor<%3$sf32>\n}\n",
            cases[i].x, cases[i].permutation, cases[i].turned, cases[i].rows, cases[i].dims,
            cases[i].reduced);
        expect(text, COST_FUSE_BYTES | COST_FUSE_ROWS, apart, 8 * MIB + (apart ? 4 * MIB + 2 * apart : 0));
        free(text);
    }
}

/* .. also where a reduction over a dimension of one element stands between, as differentiation leaves it, and
 * where the element type is narrower than that of the reduction */
static void reductions_of_nothing_are_reshapes(void **state)
{
    static const char text[] =
        "func.func @main(%x: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {\n"
        "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "    %wide = stablehlo.convert %x : (tensor<1024x1024xbf16>) -> tensor<1024x1024xf32>\n"
        "    %m = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [1] : "
        "(tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>\n"
        "    %one = stablehlo.reshape %m : (tensor<1024xf32>) -> tensor<1024x1xf32>\n"
        "    %n = stablehlo.reduce(%one init: %zero) applies stablehlo.add across dimensions = [1] : "
        "(tensor<1024x1xf32>, tensor<f32>) -> tensor<1024xf32>\n"
        "    %narrow = stablehlo.convert %n : (tensor<1024xf32>) -> tensor<1024xbf16>\n"
        "    %b = stablehlo.broadcast_in_dim %narrow, dims = [0] : (tensor<1024xbf16>) -> "
        "tensor<1024x1024xbf16>\n"
        "    %y = stablehlo.subtract %x, %b : tensor<1024x1024xbf16>\n"
        "    return %y : tensor<1024x1024xbf16>\n}\n";
    expect(text, COST_FUSE_BYTES | COST_FUSE_ROWS, 0, 4 * MIB);
}

/* exp(x - max(x)) of bf16 in three kernels: with the effort of exponentials it would be stored, but kernels
 * that keep rows have no arithmetic. Their other operands tell them apart. */
static void exponentials_of_rows_are_repeated(void **state)
{
#define ROWS "tensor<1024x1024xbf16>"
    static const char text[] =
        "func.func @main(%x: " ROWS ", %p: " ROWS ", %q: " ROWS ") -> (" ROWS ", " ROWS ", " ROWS ") {\n"
        "    %least = stablehlo.constant dense<0xFF80> : tensor<bf16>\n"
        "    %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1] : "
        "(" ROWS ", tensor<bf16>) -> tensor<1024xbf16>\n"
        "    %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<1024xbf16>) -> " ROWS "\n"
        "    %y = stablehlo.subtract %x, %b : " ROWS "\n"
        "    %e = stablehlo.exponential %y : " ROWS "\n"
        "    %0 = stablehlo.negate %e : " ROWS "\n"
        "    %1 = stablehlo.multiply %e, %p : " ROWS "\n"
        "    %2 = stablehlo.multiply %e, %q : " ROWS "\n"
        "    return %0, %1, %2 : " ROWS ", " ROWS ", " ROWS "\n}\n";
#undef ROWS
    expect(text, COST_FUSE_BYTES | COST_FUSE_EFFORT, 2 * MIB + 2048, 22 * MIB + 2 * 2048);
    expect(text, COST_FUSE_BYTES | COST_FUSE_EFFORT | COST_FUSE_ROWS, 0, 16 * MIB);
}

/* exp(x - max(x)) and another kernel of x - max(x): where a row pads badly, as 1,100 to 2,048, that is
 * stored; 1,536 do not */
static void badly_padded_rows_are_stored(void **state)
{
    for (int bad = 0; bad < 2; bad++) {
        const int row = bad ? 1100 : 1536;
        const int64_t bytes = INT64_C(4) * 1024 * row;
        char text[2048];
        snprintf(
            text, sizeof text,
            "func.func @main(%%x: tensor<1024x%1$dxf32>) -> (tensor<1024x%1$dxf32>, tensor<1024x%1$dxf32>) "
            "{\n"
            "    %%least = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
            "    %%m = stablehlo.reduce(%%x init: %%least) applies stablehlo.maximum across dimensions = [1] "
            ": "
            "(tensor<1024x%1$dxf32>, tensor<f32>) -> tensor<1024xf32>\n"
            "    %%b = stablehlo.broadcast_in_dim %%m, dims = [0] : (tensor<1024xf32>) -> "
            "tensor<1024x%1$dxf32>\n"
            "    %%y = stablehlo.subtract %%x, %%b : tensor<1024x%1$dxf32>\n"
            "    %%0 = stablehlo.exponential %%y : tensor<1024x%1$dxf32>\n"
            "    %%1 = stablehlo.negate %%y : tensor<1024x%1$dxf32>\n"
            "    return %%0, %%1 : tensor<1024x%1$dxf32>, tensor<1024x%1$dxf32>\n}\n",
            row);
        expect(text, COST_FUSE_BYTES | COST_FUSE_ROWS, 0, 4 * bytes);
        expect(text, COST_FUSE_BYTES | COST_FUSE_ROWS | COST_FUSE_PADDED, bad ? bytes : 0,
               (bad ? 6 : 4) * bytes);
    }
}

/* a + b and a x b read the same: with two results of one kernel both arrays are read once */
static void siblings_read_once(void **state)
{
    static const char text[] =
        "func.func @main(%a: " VECTOR ", %b: " VECTOR ") -> (" VECTOR ", " VECTOR ") {\n"
        "    %0 = stablehlo.add %a, %b : " VECTOR "\n"
        "    %1 = stablehlo.multiply %a, %b : " VECTOR "\n"
        "    return %0, %1 : " VECTOR ", " VECTOR "\n}\n";
    expect(text, COST_FUSE_BYTES, 0, 2 * 12 * N);
    expect(text, COST_FUSE_BYTES | COST_FUSE_SIBLINGS, 0, 12 * N + 4 * N);
}

/* two sums of one array read it once; of its columns each reads it, where the compiler says so */
static void sums_of_columns_read_by_themselves(void **state)
{
    for (int dim = 0; dim < 2; dim++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "func.func @main(%%a: tensor<1024x1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>) {\n"
                 "    %%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                 "    %%n = stablehlo.negate %%a : tensor<1024x1024xf32>\n"
                 "    %%0 = stablehlo.reduce(%%a init: %%z) applies stablehlo.add across dimensions = [%d] : "
                 "(tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>\n"
                 "    %%1 = stablehlo.reduce(%%n init: %%z) applies stablehlo.add across dimensions = [%d] : "
                 "(tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>\n"
                 "    return %%0, %%1 : tensor<1024xf32>, tensor<1024xf32>\n}\n",
                 dim, dim);
        expect(text, COST_FUSE_BYTES | COST_FUSE_SIBLINGS, 0, 4 * N + 2 * 4096);
        expect(text, COST_FUSE_BYTES | COST_FUSE_SIBLINGS | COST_FUSE_COLUMNS, 0,
               (dim ? 4 : 8) * N + 2 * 4096);
    }
}

/* m' = a + b, a rate computed from the step's number, p = m' x rate: the rate may be there before m' is, so
 * that p need not read m' again. A number that m' itself goes into may not. */
static void numbers_of_arguments_part_no_siblings(void **state)
{
    for (int of_arguments = 0; of_arguments < 2; of_arguments++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "func.func @main(%%a: " VECTOR ", %%b: " VECTOR ", %%c: tensor<f32>) -> (" VECTOR ", " VECTOR
                 ", tensor<f32>) {\n"
                 "    %%0 = stablehlo.add %%a, %%b : " VECTOR "\n"
                 "    %%1 = stablehlo.slice %%0 [0:1] : (" VECTOR ") -> tensor<1xf32>\n"
                 "    %%2 = stablehlo.reshape %%1 : (tensor<1xf32>) -> tensor<f32>\n"
                 "    %%3 = stablehlo.sine %s : tensor<f32>\n"
                 "    %%4 = stablehlo.broadcast_in_dim %%3, dims = [] : (tensor<f32>) -> " VECTOR "\n"
                 "    %%5 = stablehlo.multiply %%0, %%4 : " VECTOR "\n"
                 "    return %%0, %%5, %%3 : " VECTOR ", " VECTOR ", tensor<f32>\n}\n",
                 of_arguments ? "%c" : "%2");
        expect(text, COST_FUSE_BYTES | COST_FUSE_SIBLINGS, 0, (of_arguments ? 16 : 20) * N + 12);
    }
}

/* bf16 that is stored between elementwise kernels takes four bytes where there is no such arithmetic */
static void bf16_is_kept_wide_without_its_arithmetic(void **state)
{
#define BF16 "tensor<1048576xbf16>"
    static const char text[] = "func.func @main(%a: " BF16 ") -> (" BF16 ", " BF16 ") {\n"
                               "    %v = stablehlo.sine %a : " BF16 "\n"
                               "    %0 = stablehlo.negate %v : " BF16 "\n"
                               "    %1 = stablehlo.abs %v : " BF16 "\n"
                               "    return %0, %1 : " BF16 ", " BF16 "\n}\n";
#undef BF16
    expect(text, COST_FUSE_BYTES | COST_FUSE_EFFORT, 2 * N, 3 * 4 * N);
    struct moved wide = plain_moved("a100-40", text, COST_FUSE_BYTES | COST_FUSE_EFFORT);
    assert_int_equal(wide.temporary, 4 * N);
    assert_int_equal(wide.bytes, (2 + 4) * N + 2 * (4 + 2) * N);
    wide = plain_moved("a100-40", text, 0);
    assert_int_equal(wide.temporary, 2 * N);
}

/* Rows that a product reads more often than they are there are stored; of a single row its product has fewer
 * dimensions. */
static void repeated_rows_are_stored(void **state)
{
    static const char text[] =
        "func.func @main(%%a: tensor<%dx1024xf32>, %%b: tensor<1024x1024xf32>) -> tensor<%dx1024xf32> {\n"
        "    %%0 = stablehlo.broadcast_in_dim %%a, dims = [0, 2] : (tensor<%dx1024xf32>) -> "
        "tensor<%dx4x1024xf32>\n"
        "    %%1 = stablehlo.reshape %%0 : (tensor<%dx4x1024xf32>) -> tensor<%dx1024xf32>\n"
        "    %%2 = stablehlo.dot_general %%1, %%b, contracting_dims = [1] x [0] : "
        "(tensor<%dx1024xf32>, tensor<1024x1024xf32>) -> tensor<%dx1024xf32>\n"
        "    return %%2 : tensor<%dx1024xf32>\n}\n";
    for (int rows = 1; rows <= 256; rows *= 256) {
        char module[1200];
        int all = 4 * rows;
        snprintf(module, sizeof module, text, rows, all, rows, rows, rows, all, all, all, all);
        uint32_t rules = COST_FUSE_BYTES | COST_FUSE_PRODUCTS;
        assert_int_equal(plain_moved("h100", module, rules).temporary, 0);
        assert_int_equal(plain_moved("h100", module, rules | COST_FUSE_REPEATS).temporary,
                         rows == 1 ? 0 : 4 * MIB);
    }
}

/* a sum that a product reads: computed in its kernel, or stored for it */
static void products_take_their_operands_in(void **state)
{
    static const char text[] =
        "func.func @main(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {\n"
        "    %c = stablehlo.add %a, %b : tensor<1024x1024xf32>\n"
        "    %d = stablehlo.dot_general %c, %b, contracting_dims = [1] x [0] : "
        "(tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>\n"
        "    return %d : tensor<1024x1024xf32>\n}\n";
    assert_int_equal(plain_moved("h100", text, COST_FUSE_BYTES).temporary, 4 * MIB);
    assert_int_equal(plain_moved("h100", text, COST_FUSE_BYTES | COST_FUSE_PRODUCTS).temporary, 0);
}

/* What two large arrays and a statistic of their rows make is stored for its two products, beside the arrays;
 * without the statistic, or without the rule, it is not. */
static void gradients_of_rows_are_stored(void **state)
{
#define SQUARE "tensor<1024x1024xf32>"
    static const char head[] =
        "func.func @main(%a: " SQUARE ", %b: " SQUARE ", %r: tensor<1024xf32>) -> (" SQUARE ", " SQUARE
        ") {\n"
        "    %s = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<1024xf32>) -> " SQUARE "\n";
    static const char tail[] =
        "    %0 = stablehlo.dot_general %d, %a, contracting_dims = [1] x [0] : (" SQUARE ", " SQUARE
        ") -> " SQUARE "\n"
        "    %1 = stablehlo.dot_general %d, %b, contracting_dims = [0] x [0] : (" SQUARE ", " SQUARE
        ") -> " SQUARE "\n    return %0, %1 : " SQUARE ", " SQUARE "\n}\n";
    static const char of_rows[] = "    %c = stablehlo.subtract %b, %s : " SQUARE "\n";
    static const char plain[] = "    %c = stablehlo.subtract %b, %a : " SQUARE "\n";
    static const char product[] = "    %d = stablehlo.multiply %a, %c : " SQUARE "\n";
    for (int rows = 0; rows < 2; rows++) {
        char *text = mem_printf("%s%s%s%s", head, rows ? of_rows : plain, product, tail);
        assert_int_equal(plain_moved("h100", text, COST_FUSE_BYTES | COST_FUSE_PRODUCTS).temporary,
                         rows ? 4 * MIB : 0);
        free(text);
    }
#undef SQUARE
}

/* arrays that are joined and read by a product: elementwise, or in memory */
static void joined_arrays_fuse(void **state)
{
    static const char text[] =
        "func.func @main(%a: tensor<1024x512xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {\n"
        "    %c = stablehlo.concatenate %a, %a, dim = 1 : (tensor<1024x512xf32>, tensor<1024x512xf32>) -> "
        "tensor<1024x1024xf32>\n"
        "    %n = stablehlo.negate %c : tensor<1024x1024xf32>\n"
        "    %d = stablehlo.dot_general %n, %b, contracting_dims = [1] x [0] : "
        "(tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>\n"
        "    return %d : tensor<1024x1024xf32>\n}\n";
    uint32_t rules = COST_FUSE_BYTES | COST_FUSE_PRODUCTS;
    assert_int_equal(plain_moved("h100", text, rules).temporary, 4 * MIB);
    assert_int_equal(plain_moved("h100", text, rules | COST_FUSE_JOINS).temporary, 0);
}

/* rows of a converted table, once more: SparseCore reads memory, so the copy exists while it runs */
static void gathers_beside_products_have_a_copy(void **state)
{
    uint32_t rules = COST_FUSE_BYTES | COST_FUSE_GATHER | COST_FUSE_PRODUCTS;
    assert_int_equal(plain_moved("h100", gathered_rows, rules).temporary, 8 * MIB);
}

/* What constants make and a loop hands on as it is: made inside the loop, whether it is read there or not; of
 * a compiler for GPUs one constant that is broadcast alone. */
static void loops_make_constants(void **state)
{
#define MATRIX "tensor<1024x1024xf32>"
    static const char form[] =
        "func.func @main(%%x: " MATRIX ") -> " MATRIX " {\n"
        "    %%zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "    %%last = stablehlo.constant dense<8> : tensor<i32>\n"
        "    %%one = stablehlo.constant dense<1> : tensor<i32>\n"
        "    %%half = stablehlo.constant dense<0.5> : tensor<f32>\n"
        "    %%w = stablehlo.broadcast_in_dim %%half, dims = [] : (tensor<f32>) -> " MATRIX "\n"
        "    %%n = stablehlo.iota dim = 0 : " MATRIX "\n"
        "    %%r:3 = stablehlo.while(%%i = %%zero, %%v = %%x, %%k = %%%c) : tensor<i32>, " MATRIX ", " MATRIX
        "\n"
        "    cond {\n      %%p = stablehlo.compare LT, %%i, %%last : (tensor<i32>, tensor<i32>) -> "
        "tensor<i1>\n"
        "      stablehlo.return %%p : tensor<i1>\n    } do {\n"
        "      %%j = stablehlo.add %%i, %%one : tensor<i32>\n"
        "      %%u = stablehlo.multiply %%v, %s : " MATRIX "\n"
        "      stablehlo.return %%j, %%u, %%k : tensor<i32>, " MATRIX ", " MATRIX "\n    }\n"
        "    return %%r#1 : " MATRIX "\n}\n";
#undef MATRIX
    for (int read = 0; read < 2; read++) {
        for (int numbers = 0; numbers < 2; numbers++) {
            char *text = mem_printf(form, numbers ? 'n' : 'w', read ? "%k" : "%v");
            uint32_t rules = COST_FUSE_BYTES;
            int64_t stored = numbers * 4 * MIB;
            assert_in_range(plain_moved("h100", text, rules).temporary, stored, stored + 64);
            assert_in_range(plain_moved("h100", text, rules | COST_FUSE_PRODUCTS).temporary, 0, 64);
            free(text);
        }
    }
}

/* one element into each row of zeros, times an array: a comparison inside the product's kernel */
static void scatters_of_elements_compare(void **state)
{
    static const char text[] =
        "func.func @main(%x: tensor<1024x1024xf32>, %i: tensor<1024x1x1xi32>, %u: tensor<1024x1xf32>) -> "
        "tensor<1024x1024xf32> {\n"
        "    %zero = stablehlo.constant dense<0.0> : tensor<1024x1024xf32>\n"
        "    %s = \"stablehlo.scatter\"(%zero, %i, %u) <{indices_are_sorted = false, "
        "scatter_dimension_numbers = "
        "#stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], "
        "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, "
        "unique_indices = false}> ({\n    ^bb0(%l: tensor<f32>, %r: tensor<f32>):\n"
        "      %a = stablehlo.add %l, %r : tensor<f32>\n      stablehlo.return %a : tensor<f32>\n    }) : "
        "(tensor<1024x1024xf32>, tensor<1024x1x1xi32>, tensor<1024x1xf32>) -> tensor<1024x1024xf32>\n"
        "    %y = stablehlo.multiply %s, %x : tensor<1024x1024xf32>\n"
        "    return %y : tensor<1024x1024xf32>\n}\n";
    assert_int_equal(plain_moved("h100", text, COST_FUSE_BYTES | COST_FUSE_PICKS).temporary, 0);
    assert_true(plain_moved("h100", text, COST_FUSE_BYTES).temporary >= 4 * MIB);
}

/* an exponential of scores %c, which two kernels use */
#define SCORES_TYPE "tensor<4x512x512xf32>"
static const char scores_read_twice[] =
    "    %d = stablehlo.subtract %c, %w : " SCORES_TYPE "\n    %e = stablehlo.exponential %d : " SCORES_TYPE
    "\n    %0 = stablehlo.sine %e : " SCORES_TYPE "\n    %1 = stablehlo.negate %e : " SCORES_TYPE
    "\n    return %0, %1 : " SCORES_TYPE ", " SCORES_TYPE "\n}\n";
#undef SCORES_TYPE

/* exponentials of masked scores that two kernels use: stored in float32, not computed again from bf16, unless
 * a transpose stands between their product and them */
static void scores_are_stored_as_exponentials(void **state)
{
#define WIDE "tensor<4x512x512xf32>"
#define SCORES "tensor<4x512x512xbf16>"
    static const char head[] =
        "func.func @main(%s: " SCORES ", %m: tensor<4x512x512xi1>, %w: " WIDE ") -> (" WIDE ", " WIDE ") {\n";
    static const char plain[] = "    %t = stablehlo.negate %s : " SCORES "\n";
    static const char turned[] =
        "    %t = stablehlo.transpose %s, dims = [0, 2, 1] : (" SCORES ") -> " SCORES "\n";
    static const char tail[] = "    %f = stablehlo.convert %t : (" SCORES ") -> " WIDE "\n"
                               "    %c = stablehlo.select %m, %f, %w : tensor<4x512x512xi1>, " WIDE "\n";
#undef WIDE
#undef SCORES
    for (int turns = 0; turns < 2; turns++) {
        char *text = mem_printf("%s%s%s%s", head, turns ? turned : plain, tail, scores_read_twice);
        assert_int_equal(plain_moved("h100", text, COST_FUSE_BYTES).temporary, 0);
        assert_int_equal(plain_moved("h100", text, COST_FUSE_BYTES | COST_FUSE_SCORES).temporary,
                         turns ? 0 : 4 * MIB);
        free(text);
    }
}

/* .. so are those of scores that other arithmetic made in float32, not of scores that were converted last */
static void scores_of_arithmetic_are_stored(void **state)
{
#define WIDE "tensor<4x512x512xf32>"
#define SCORES "tensor<4x512x512xbf16>"
    static const char head[] =
        "func.func @main(%q: tensor<4x512x64xbf16>, %k: tensor<4x64x512xbf16>, %w: " WIDE ") -> (" WIDE
        ", " WIDE ") {\n    %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = "
        "[2] x [1] : "
        "(tensor<4x512x64xbf16>, tensor<4x64x512xbf16>) -> " SCORES "\n";
    static const char *const middles[] = {"    %c = stablehlo.convert %s : (" SCORES ") -> " WIDE "\n",
                                          "    %f = stablehlo.convert %s : (" SCORES ") -> " WIDE
                                          "\n    %c = stablehlo.multiply %f, %w : " WIDE "\n",
                                          "    %t = stablehlo.transpose %s, dims = [0, 2, 1] : (" SCORES
                                          ") -> " SCORES "\n    %f = stablehlo.convert %t : (" SCORES
                                          ") -> " WIDE "\n    %c = stablehlo.add %f, %w : " WIDE "\n"};
#undef WIDE
#undef SCORES
    for (int i = 0; i < 3; i++) {
        char *text = mem_printf("%s%s%s", head, middles[i], scores_read_twice);
        assert_int_equal(plain_moved("h100", text, COST_FUSE_BYTES).temporary, 2 * MIB);
        assert_int_equal(plain_moved("h100", text, COST_FUSE_BYTES | COST_FUSE_SCORES).temporary,
                         i == 1 ? 4 * MIB : 2 * MIB);
        free(text);
    }
}

/* temporary bytes of: %p = product with batches, `middle` computes %v and %e of it, two products read %v, one
 * %p; %e is a result */
static int64_t temporaries_of_batches(const char *device, int batches, const char *middle, uint32_t rules)
{
    static const char form[] =
        "func.func @main(%%a: tensor<%dx1024x256xbf16>, %%b: tensor<%dx256x1024xbf16>) -> "
        "(tensor<%dx1024x256xbf16>, tensor<%dx1024x256xbf16>, tensor<%dx1024x256xbf16>, "
        "tensor<%dx1024x1024xf32>) {\n"
        "    %%p = stablehlo.dot_general %%a, %%b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
        "(tensor<%dx1024x256xbf16>, tensor<%dx256x1024xbf16>) -> tensor<%dx1024x1024xbf16>\n";
    static const char read[] =
        "    %%%d = stablehlo.dot_general %%%s, %%a, batching_dims = [0] x [0], contracting_dims = [2] x [1]"
        "%s : "
        "(tensor<%dx1024x1024xbf16>, tensor<%dx1024x256xbf16>) -> tensor<%dx1024x256xbf16>\n";
    int n = batches;
    char *head = mem_printf(form, n, n, n, n, n, n, n, n, n), *first = mem_printf(read, 0, "v", "", n, n, n),
         *second =
             mem_printf(read, 1, "v", ", precision = [HIGHEST, HIGHEST]", n, n, n), /* not the first again */
             *third = mem_printf(read, 2, "p", "", n, n, n);
    char *text =
        mem_printf("%s%s%s%s%s    return %%0, %%1, %%2, %%e : tensor<%dx1024x256xbf16>, "
                   "tensor<%dx1024x256xbf16>, tensor<%dx1024x256xbf16>, tensor<%dx1024x1024xf32>\n}\n",
                   head, middle, first, second, third, n, n, n, n);
    int64_t bytes = plain_moved(device, text, rules).temporary;
    free(head);
    free(first);
    free(second);
    free(third);
    free(text);
    return bytes;
}

/* Activations of one product with batches that two others read are stored. Where there is no bf16 arithmetic
 * (v5p), likewise a softmax' probabilities of few batches, or of stored exponentials. */
static void products_with_batches_read_memory(void **state)
{
    enum { RULES = COST_FUSE_BYTES | COST_FUSE_PRODUCTS, WITH = RULES | COST_FUSE_BATCHES };
    for (int batches = 4; batches <= 8; batches += 4) {
        char *gelu = mem_printf("    %%v = stablehlo.tanh %%p : tensor<%dx1024x1024xbf16>\n"
                                "    %%e = stablehlo.constant dense<0.0> : tensor<%dx1024x1024xf32>\n",
                                batches, batches);
        int64_t bytes = INT64_C(2) * MIB * batches;
        assert_int_equal(temporaries_of_batches("tpu-v6e", batches, gelu, RULES), bytes);
        assert_int_equal(temporaries_of_batches("tpu-v6e", batches, gelu, WITH), 2 * bytes);
        free(gelu);
        char *softmax = mem_printf(
            "    %%z = stablehlo.constant dense<0.0> : tensor<bf16>\n"
            "    %%r = stablehlo.reduce(%%p init: %%z) applies stablehlo.add across dimensions = [2] : "
            "(tensor<%dx1024x1024xbf16>, tensor<bf16>) -> tensor<%dx1024xbf16>\n"
            "    %%s = stablehlo.broadcast_in_dim %%r, dims = [0, 1] : (tensor<%dx1024xbf16>) -> "
            "tensor<%dx1024x1024xbf16>\n"
            "    %%e = stablehlo.constant dense<0.0> : tensor<%dx1024x1024xf32>\n"
            "    %%v = stablehlo.divide %%p, %%s : tensor<%dx1024x1024xbf16>\n",
            batches, batches, batches, batches, batches, batches);
        for (int old = 0; old < 2; old++) {
            uint32_t rules = WITH | COST_FUSE_SCORES;
            int64_t rows = INT64_C(2) * 1024 * batches;
            assert_int_equal(temporaries_of_batches(old ? "tpu-v5p" : "tpu-v6e", batches, softmax, rules),
                             bytes + rows + (old && batches < 8 ? bytes : 0));
        }
        free(softmax);
        char *scores = mem_printf(
            "    %%f = stablehlo.convert %%p : (tensor<%dx1024x1024xbf16>) -> tensor<%dx1024x1024xf32>\n"
            "    %%m = stablehlo.compare GT, %%f, %%f : (tensor<%dx1024x1024xf32>, tensor<%dx1024x1024xf32>) "
            "-> "
            "tensor<%dx1024x1024xi1>\n"
            "    %%c = stablehlo.select %%m, %%f, %%f : tensor<%dx1024x1024xi1>, tensor<%dx1024x1024xf32>\n"
            "    %%d = stablehlo.subtract %%c, %%c : tensor<%dx1024x1024xf32>\n"
            "    %%e = stablehlo.exponential %%d : tensor<%dx1024x1024xf32>\n"
            "    %%v = stablehlo.convert %%e : (tensor<%dx1024x1024xf32>) -> tensor<%dx1024x1024xbf16>\n",
            batches, batches, batches, batches, batches, batches, batches, batches, batches, batches,
            batches);
        for (int old = 0; old < 2; old++)
            assert_int_equal(
                temporaries_of_batches(old ? "tpu-v5p" : "tpu-v6e", batches, scores, WITH | COST_FUSE_SCORES),
                (1 + old) * bytes);
        free(scores);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_where_that_moves_fewer_bytes),
        cmocka_unit_test(updates_copy_what_outlives_them),
        cmocka_unit_test(effort_counts),
        cmocka_unit_test(small_values_are_not_launched_for),
        cmocka_unit_test(gathers_take_their_producers_in),
        cmocka_unit_test(rows_stay_in_the_kernel),
        cmocka_unit_test(rows_across_memory_take_kernels),
        cmocka_unit_test(reductions_of_nothing_are_reshapes),
        cmocka_unit_test(exponentials_of_rows_are_repeated),
        cmocka_unit_test(badly_padded_rows_are_stored),
        cmocka_unit_test(siblings_read_once),
        cmocka_unit_test(sums_of_columns_read_by_themselves),
        cmocka_unit_test(numbers_of_arguments_part_no_siblings),
        cmocka_unit_test(bf16_is_kept_wide_without_its_arithmetic),
        cmocka_unit_test(repeated_rows_are_stored),
        cmocka_unit_test(products_take_their_operands_in),
        cmocka_unit_test(gradients_of_rows_are_stored),
        cmocka_unit_test(joined_arrays_fuse),
        cmocka_unit_test(gathers_beside_products_have_a_copy),
        cmocka_unit_test(loops_make_constants),
        cmocka_unit_test(scatters_of_elements_compare),
        cmocka_unit_test(scores_are_stored_as_exponentials),
        cmocka_unit_test(scores_of_arithmetic_are_stored),
        cmocka_unit_test(products_with_batches_read_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
