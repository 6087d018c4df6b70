/* What compilers make again, or never make, where storing would take memory: XLA:GPU probabilities that two
 * products want in different orders, and zeros that are scattered into; libtpu all arithmetic but
 * polynomials. Each program is priced with a rule and without it; the machine's times are bytes
 * (plain.h). */
#include "plain.h"
#include "support.h"

#include <stdlib.h>

/* what two settings of rules differ by */
static struct moved saved(const char *text, uint32_t without, uint32_t with)
{
    struct moved before = plain_moved("h100", text, without), after = plain_moved("h100", text, with);
    return (struct moved){before.temporary - after.temporary, before.bytes - after.bytes};
}

/* libtpu computes exponentials in every kernel that reads them; an erf is stored, unless constants make it */
static void polynomials_are_stored(void **state)
{
#define SINGLES "tensor<1048576xf32>"
    static const char *const made[] = {"stablehlo.exponential %a", "chlo.erf %a", "chlo.erfc %a",
                                       "stablehlo.sine %a", "stablehlo.cosine %i"};
    for (int i = 0; i < 5; i++) {
        char *text = mem_printf("func.func @main(%%a: " SINGLES ") -> (" SINGLES ", " SINGLES ") {\n"
                                "    %%i = stablehlo.iota dim = 0 : " SINGLES "\n"
                                "    %%e = %s : " SINGLES "%s\n"
                                "    %%0 = stablehlo.negate %%e : " SINGLES "\n"
                                "    %%1 = stablehlo.abs %%e : " SINGLES "\n"
                                "    return %%0, %%1 : " SINGLES ", " SINGLES "\n}\n",
                                made[i], *made[i] == 'c' ? " -> " SINGLES : "");
        const uint32_t libtpu = COST_FUSE_BYTES | COST_FUSE_PRODUCTS;
        assert_int_equal(plain_moved("h100", text, libtpu).temporary, 0);
        assert_int_equal(plain_moved("h100", text, libtpu | COST_FUSE_POLYNOMIALS).temporary,
                         i >= 1 && i <= 3 ? 4 << 20 : 0);
        free(text);
    }
#undef SINGLES
}

/* Scores of two groups of heads, each with keys of its own, leave their product as [batch, group, keys,
 * queries, heads]. One product wants exponentials of them over keys, a later one over queries and heads; the
 * scores themselves are read last of all. In between something as large is there. What comes next is
 * multiplied by a sum over all of what came before. */
static char *grouped(int batch)
{
#define KEYS "tensor<%1$dx64x2x32xf32>"
#define QUERIES "tensor<%1$dx64x2x16x32xf32>"
#define PRODUCT "tensor<%1$dx2x64x64x16xf32>"
#define SCORES "tensor<%1$dx2x16x64x64xf32>"
#define VALUES "tensor<%1$dx2x32x16x64xf32>"
#define TALL "tensor<%1$dx2048x8xf32>"
#define WIDE "tensor<%1$dx8x64xf32>"
#define LARGE "tensor<%1$dx2048x64xf32>"
#define LAST "tensor<%1$dx2x32x64xf32>"
    return mem_printf("func.func @main(%%k: " KEYS ", %%q: " QUERIES ", %%o: " VALUES ", %%a: " TALL
                      ", %%b: " WIDE ") -> " SCORES " {\n"
                      "    %%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
                      "    %%0 = stablehlo.dot_general %%k, %%q, batching_dims = [0, 2] x [0, 2], "
                      "contracting_dims = [3] x [4] : (" KEYS ", " QUERIES ") -> " PRODUCT "\n"
                      "    %%1 = stablehlo.transpose %%0, dims = [0, 1, 4, 3, 2] : (" PRODUCT ") -> " SCORES
                      "\n"
                      "    %%2 = stablehlo.exponential %%1 : " SCORES "\n"
                      "    %%3 = stablehlo.dot_general %%k, %%2, batching_dims = [0, 2] x [0, 1], "
                      "contracting_dims = [1] x [4] : (" KEYS ", " SCORES ") -> " VALUES "\n"
                      "    %%4 = stablehlo.reduce(%%3 init: %%zero) applies stablehlo.add "
                      "across dimensions = [0, 1, 2, 3, 4] : (" VALUES ", tensor<f32>) -> tensor<f32>\n"
                      "    %%5 = stablehlo.broadcast_in_dim %%4, dims = [] : (tensor<f32>) -> " TALL "\n"
                      "    %%6 = stablehlo.multiply %%a, %%5 : " TALL "\n"
                      "    %%7 = stablehlo.dot_general %%6, %%b, batching_dims = [0] x [0], "
                      "contracting_dims = [2] x [1] : (" TALL ", " WIDE ") -> " LARGE "\n"
                      "    %%8 = stablehlo.reduce(%%7 init: %%zero) applies stablehlo.add "
                      "across dimensions = [0, 1, 2] : (" LARGE ", tensor<f32>) -> tensor<f32>\n"
                      "    %%9 = stablehlo.broadcast_in_dim %%8, dims = [] : (tensor<f32>) -> " VALUES "\n"
                      "    %%10 = stablehlo.multiply %%o, %%9 : " VALUES "\n"
                      "    %%11 = stablehlo.dot_general %%10, %%2, batching_dims = [0, 1] x [0, 1], "
                      "contracting_dims = [3, 4] x [2, 3] : (" VALUES ", " SCORES ") -> " LAST "\n"
                      "    %%12 = stablehlo.reduce(%%11 init: %%zero) applies stablehlo.add "
                      "across dimensions = [0, 1, 2, 3] : (" LAST ", tensor<f32>) -> tensor<f32>\n"
                      "    %%13 = stablehlo.broadcast_in_dim %%12, dims = [] : (tensor<f32>) -> " SCORES "\n"
                      "    %%14 = stablehlo.multiply %%1, %%13 : " SCORES "\n"
                      "    return %%14 : " SCORES "\n}\n",
                      batch);
#undef KEYS
#undef QUERIES
#undef PRODUCT
#undef SCORES
#undef VALUES
#undef TALL
#undef WIDE
#undef LARGE
#undef LAST
}

/* with one batch dimension of more than one element both read the same array */
static void other_orders_are_made_anew(void **state)
{
    for (int batch = 1; batch <= 4; batch *= 4) {
        char *text = grouped(batch);
        int64_t bytes = INT64_C(4) * batch * 2 * 16 * 64 * 64;
        struct moved moved = saved(text, COST_FUSE_BYTES, COST_FUSE_BYTES | COST_FUSE_STRIDED);
        assert_true(batch == 1 ? moved.temporary <= 0 : moved.temporary > 0 && moved.temporary <= bytes);
        assert_int_equal(moved.bytes, batch == 1 ? 0 : -bytes); /* written once more */
        free(text);
    }
}

#define SCATTER(name, into, rows, element, type)                                                             \
    "    " name " = \"stablehlo.scatter\"(" into ", %i, " rows ") <{indices_are_sorted = false, "            \
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "  \
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({\n"               \
    "    ^bb0(%l: tensor<" element ">, %r: tensor<" element ">):\n"                                          \
    "      %x = stablehlo.add %l, %r : tensor<" element ">\n"                                                \
    "      stablehlo.return %x : tensor<" element ">\n    }) : (" type                                       \
    ", tensor<4x1xi32>, tensor<4x256x" element ">) -> " type "\n"

/* rows scattered into zeros, and added to a product's result: into that, and nothing else is written; added
 * to what would else be computed in the sum's kernel: that is stored instead of zeros, and the sum saved */
static void scattered_rows_are_added_in_place(void **state)
{
#define ROWS "tensor<1024x256xf32>"
    for (int product = 0; product < 2; product++) {
        char *text = mem_printf(
            "%s%s    %%0 = stablehlo.add %s, %%t : " ROWS "\n    return %%0 : " ROWS "\n}\n",
            "func.func @main(%a: tensor<1024x8xf32>, %b: tensor<8x256xf32>, %c: " ROWS
            ", %i: tensor<4x1xi32>, %u: tensor<4x256xf32>) -> " ROWS " {\n"
            "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
            "    %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> " ROWS "\n"
            "    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1024x8xf32>, "
            "tensor<8x256xf32>) -> " ROWS "\n"
            "    %e = stablehlo.negate %c : " ROWS "\n",
            SCATTER("%t", "%zeros", "%u", "f32", ROWS), product ? "%d" : "%e");
        struct moved moved = saved(text, COST_FUSE_BYTES, COST_FUSE_BYTES | COST_FUSE_ADDED);
        assert_int_equal(moved.bytes, (product ? 4 : 2) * 4 * 1024 * 256);
        free(text);
    }
#undef ROWS
}

/* rows scattered into zeros, a product that waits for their sum, and rows scattered into other zeros behind
 * it: as many of one type are made at once, before the product; as many bytes of another type are not */
static void zeros_of_one_type_are_made_at_once(void **state)
{
#define TALL "tensor<1024x8xf32>"
#define FEW "tensor<4x256xf32>"
#define ROWS "tensor<1024x256xf32>"
#define SQUARE "tensor<1024x1024xf32>"
#define OTHERS "tensor<%4$dx256x%3$s>"
    for (int halves = 0; halves < 2; halves++) {
        const char *type = halves ? "bf16" : "f32";
        char *text = mem_printf(
            "func.func @main(%%a: " TALL ", %%b: tensor<8x1024xf32>, %%i: tensor<4x1xi32>, "
            "%%u: " FEW ") -> tensor<f32> {\n"
            "    %%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
            "    %%z = stablehlo.broadcast_in_dim %%zero, dims = [] : (tensor<f32>) -> " ROWS "\n"
            "%1$s"
            "    %%t = stablehlo.reduce(%%s init: %%zero) applies stablehlo.add "
            "across dimensions = [0, 1] : (" ROWS ", tensor<f32>) -> tensor<f32>\n"
            "    %%0 = stablehlo.broadcast_in_dim %%t, dims = [] : (tensor<f32>) -> " TALL "\n"
            "    %%1 = stablehlo.multiply %%a, %%0 : " TALL "\n"
            "    %%2 = stablehlo.dot_general %%1, %%b, contracting_dims = [1] x [0] : (" TALL
            ", tensor<8x1024xf32>) -> " SQUARE "\n"
            "    %%3 = stablehlo.reduce(%%2 init: %%zero) applies stablehlo.add "
            "across dimensions = [0, 1] : (" SQUARE ", tensor<f32>) -> tensor<f32>\n"
            "    %%4 = stablehlo.broadcast_in_dim %%3, dims = [] : (tensor<f32>) -> " FEW "\n"
            "    %%5 = stablehlo.multiply %%u, %%4 : " FEW "\n"
            "    %%6 = stablehlo.convert %%5 : (" FEW ") -> tensor<4x256x%3$s>\n"
            "    %%none = stablehlo.constant dense<0.0> : tensor<%3$s>\n"
            "    %%y = stablehlo.broadcast_in_dim %%none, dims = [] : (tensor<%3$s>) -> " OTHERS "\n"
            "%2$s"
            "    %%8 = stablehlo.convert %%7 : (" OTHERS ") -> tensor<%4$dx256xf32>\n"
            "    %%9 = stablehlo.reduce(%%8 init: %%zero) applies stablehlo.add "
            "across dimensions = [0, 1] : (tensor<%4$dx256xf32>, tensor<f32>) -> tensor<f32>\n"
            "    return %%9 : tensor<f32>\n}\n",
            SCATTER("%s", "%z", "%u", "f32", ROWS),
            halves ? SCATTER("%7", "%y", "%6", "bf16", "tensor<2048x256xbf16>")
                   : SCATTER("%7", "%y", "%6", "f32", ROWS),
            type, halves ? 2048 : 1024);
        struct moved moved = saved(text, COST_FUSE_BYTES | COST_FUSE_SIBLINGS,
                                   COST_FUSE_BYTES | COST_FUSE_SIBLINGS | COST_FUSE_GATHERED);
        assert_int_equal(moved.temporary, halves ? 0 : -(1 << 20));
        free(text);
    }
#undef TALL
#undef FEW
#undef ROWS
#undef SQUARE
#undef OTHERS
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polynomials_are_stored),
        cmocka_unit_test(other_orders_are_made_anew),
        cmocka_unit_test(scattered_rows_are_added_in_place),
        cmocka_unit_test(zeros_of_one_type_are_made_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
