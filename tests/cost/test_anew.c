/* What compilers make again, or never make, where storing would take memory: XLA:GPU probabilities that two
 * products want in different orders, and zeros that are scattered into; libtpu all arithmetic but
 * polynomials. Each program is priced with a rule and without it; the machine's times are bytes
 * (plain.h). */
#include "plain.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct moved {
    int64_t temporary, bytes;
};

static struct moved measure(const char *text, uint32_t rules)
{
    struct subject subject;
    struct cost_backend backend;
    struct error e;
    ASSERT_OK(subject_text(&subject, text, strlen(text), &e), &e);
    ASSERT_OK(subject_mesh(&subject, "x=2", &e), &e);
    ASSERT_OK(cost_machine_create(&subject.mesh, "h100", 0, &subject.machine, &e), &e);
    make_plain(&subject.machine, &backend, rules);
    ASSERT_OK(subject_evaluator(&subject, &e), &e);
    const struct price *price = evaluator_unsharded(subject.evaluator);
    struct moved moved = {price->peak_bytes - price->argument_bytes - price->output_bytes +
                              price->alias_bytes,
                          price->compute_ps};
    subject_close(&subject);
    return moved;
}

/* what two settings of rules differ by */
static struct moved saved(const char *text, uint32_t without, uint32_t with)
{
    struct moved before = measure(text, without), after = measure(text, with);
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
        assert_int_equal(measure(text, libtpu).temporary, 0);
        assert_int_equal(measure(text, libtpu | COST_FUSE_POLYNOMIALS).temporary,
                         i >= 1 && i <= 3 ? 4 << 20 : 0);
        free(text);
    }
#undef SINGLES
}

/* a sum over all of %from, as a number that what comes next is multiplied by */
#define SUM(name, from, dims, type)                                                                          \
    "    " name " = stablehlo.reduce(" from " init: %%zero) applies stablehlo.add across dimensions = " dims \
    " : (" type ", tensor<f32>) -> tensor<f32>\n"

/* Scores of two groups of heads, each with keys of its own, leave their product as [batch, group, keys,
 * queries, heads]. One product wants exponentials of them over keys, a later one over queries and heads; the
 * scores themselves are read last of all. In between something as large is there. */
static char *grouped(int batch)
{
    return mem_printf(
        "func.func @main(%%k: tensor<%1$dx64x2x32xf32>, %%q: tensor<%1$dx64x2x16x32xf32>, "
        "%%o: tensor<%1$dx2x32x16x64xf32>, %%a: tensor<%1$dx2048x8xf32>, %%b: tensor<%1$dx8x64xf32>) -> "
        "tensor<%1$dx2x16x64x64xf32> {\n"
        "    %%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "    %%0 = stablehlo.dot_general %%k, %%q, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x "
        "[4]"
        " : (tensor<%1$dx64x2x32xf32>, tensor<%1$dx64x2x16x32xf32>) -> tensor<%1$dx2x64x64x16xf32>\n"
        "    %%1 = stablehlo.transpose %%0, dims = [0, 1, 4, 3, 2] : (tensor<%1$dx2x64x64x16xf32>) -> "
        "tensor<%1$dx2x16x64x64xf32>\n"
        "    %%2 = stablehlo.exponential %%1 : tensor<%1$dx2x16x64x64xf32>\n"
        "    %%3 = stablehlo.dot_general %%k, %%2, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x "
        "[4]"
        " : (tensor<%1$dx64x2x32xf32>, tensor<%1$dx2x16x64x64xf32>) -> tensor<%1$dx2x32x16x64xf32>\n" SUM(
            "%%4", "%%3", "[0, 1, 2, 3, 4]",
            "tensor<%1$dx2x32x16x64xf32>") "    %%5 = stablehlo.broadcast_in_dim %%4, dims = [] : "
                                           "(tensor<f32>) -> tensor<%1$dx2048x8xf32>\n"
                                           "    %%6 = stablehlo.multiply %%a, %%5 : tensor<%1$dx2048x8xf32>\n"
                                           "    %%7 = stablehlo.dot_general %%6, %%b, batching_dims = [0] x "
                                           "[0], contracting_dims = [2] x [1] : "
                                           "(tensor<%1$dx2048x8xf32>, tensor<%1$dx8x64xf32>) -> "
                                           "tensor<%1$dx2048x64xf32>\n" SUM(
                                               "%%8", "%%7", "[0, 1, 2]",
                                               "tensor<%1$dx2048x64xf32>") "    %%9 = "
                                                                           "stablehlo.broadcast_"
                                                                           "in_dim %%8, dims = "
                                                                           "[] : (tensor<f32>) "
                                                                           "-> "
                                                                           "tensor<%1$"
                                                                           "dx2x32x16x64xf32>\n"
                                                                           "    %%10 = "
                                                                           "stablehlo.multiply "
                                                                           "%%o, %%9 : "
                                                                           "tensor<%1$"
                                                                           "dx2x32x16x64xf32>\n"
                                                                           "    %%11 = "
                                                                           "stablehlo.dot_"
                                                                           "general %%10, %%2, "
                                                                           "batching_dims = [0, "
                                                                           "1] x [0, 1], "
                                                                           "contracting_dims = "
                                                                           "[3, 4] x [2, 3] : "
                                                                           "(tensor<%1$"
                                                                           "dx2x32x16x64xf32>, "
                                                                           "tensor<%1$"
                                                                           "dx2x16x64x64xf32>) "
                                                                           "-> "
                                                                           "tensor<%1$"
                                                                           "dx2x32x64xf32>"
                                                                           "\n" SUM("%%12", "%%11",
                                                                                    "[0, 1, 2, "
                                                                                    "3]",
                                                                                    "tensor<%1$"
                                                                                    "dx2x32x64xf"
                                                                                    "32>") "    "
                                                                                           "%%"
                                                                                           "13 "
                                                                                           "= "
                                                                                           "stab"
                                                                                           "lehl"
                                                                                           "o."
                                                                                           "broa"
                                                                                           "dcas"
                                                                                           "t_"
                                                                                           "in_"
                                                                                           "dim "
                                                                                           "%%"
                                                                                           "12, "
                                                                                           "dims"
                                                                                           " = "
                                                                                           "[] "
                                                                                           ": "
                                                                                           "(ten"
                                                                                           "sor<"
                                                                                           "f32>"
                                                                                           ") "
                                                                                           "-> "
                                                                                           "tens"
                                                                                           "or<%"
                                                                                           "1$"
                                                                                           "dx2x"
                                                                                           "16x6"
                                                                                           "4x64"
                                                                                           "xf32"
                                                                                           ">\n"
                                                                                           "    "
                                                                                           "%%"
                                                                                           "14 "
                                                                                           "= "
                                                                                           "stab"
                                                                                           "lehl"
                                                                                           "o."
                                                                                           "mult"
                                                                                           "iply"
                                                                                           " %%"
                                                                                           "1, "
                                                                                           "%%"
                                                                                           "13 "
                                                                                           ": "
                                                                                           "tens"
                                                                                           "or<%"
                                                                                           "1$"
                                                                                           "dx2x"
                                                                                           "16x6"
                                                                                           "4x64"
                                                                                           "xf32"
                                                                                           ">\n"
                                                                                           "    "
                                                                                           "retu"
                                                                                           "rn "
                                                                                           "%%"
                                                                                           "14 "
                                                                                           ": "
                                                                                           "tens"
                                                                                           "or<%"
                                                                                           "1$"
                                                                                           "dx2x"
                                                                                           "16x6"
                                                                                           "4x64"
                                                                                           "xf32"
                                                                                           ">\n}"
                                                                                           "\n",
        batch);
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

/* rows scattered into zeros, and added to a product's result: into that; added to what would else be computed
 * in the sum's kernel: as many bytes are written either way */
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
        assert_int_equal(moved.bytes, product ? 4 * 1024 * 256 : 0);
        free(text);
    }
#undef ROWS
}

/* rows scattered into zeros, a product that waits for their sum, and rows scattered into other zeros behind
 * it: as many of one type are made at once, before the product; as many bytes of another type are not */
static void zeros_of_one_type_are_made_at_once(void **state)
{
    for (int halves = 0; halves < 2; halves++) {
        const char *type = halves ? "bf16" : "f32";
        char *text = mem_printf(
            "func.func @main(%%a: tensor<1024x8xf32>, %%b: tensor<8x1024xf32>, %%i: tensor<4x1xi32>, "
            "%%u: tensor<4x256xf32>) -> tensor<f32> {\n"
            "    %%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
            "    %%z = stablehlo.broadcast_in_dim %%zero, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>\n"
            "%1$s" SUM(
                "%%t", "%%s", "[0, 1]",
                "tensor<1024x256xf32>") "    %%0 = stablehlo.broadcast_in_dim %%t, dims = [] : (tensor<f32>) "
                                        "-> tensor<1024x8xf32>\n"
                                        "    %%1 = stablehlo.multiply %%a, %%0 : tensor<1024x8xf32>\n"
                                        "    %%2 = stablehlo.dot_general %%1, %%b, contracting_dims = [1] x "
                                        "[0] : (tensor<1024x8xf32>, "
                                        "tensor<8x1024xf32>) -> tensor<1024x1024xf32>\n" SUM(
                                            "%%3", "%%2", "[0, 1]",
                                            "tensor<1024x1024xf32>") "    %%4 = stablehlo.broadcast_in_dim "
                                                                     "%%3, dims = [] : (tensor<f32>) -> "
                                                                     "tensor<4x256xf32>\n"
                                                                     "    %%5 = stablehlo.multiply %%u, %%4 "
                                                                     ": tensor<4x256xf32>\n"
                                                                     "    %%6 = stablehlo.convert %%5 : "
                                                                     "(tensor<4x256xf32>) -> "
                                                                     "tensor<4x256x%3$s>\n"
                                                                     "    %%none = stablehlo.constant "
                                                                     "dense<0.0> : tensor<%3$s>\n"
                                                                     "    %%y = stablehlo.broadcast_in_dim "
                                                                     "%%none, dims = [] : (tensor<%3$s>) -> "
                                                                     "tensor<%4$dx256x%3$s>\n"
                                                                     "%2$s"
                                                                     "    %%8 = stablehlo.convert %%7 : "
                                                                     "(tensor<%4$dx256x%3$s>) -> "
                                                                     "tensor<%4$dx256xf32>\n" SUM(
                                                                         "%%9", "%%8", "[0, 1]",
                                                                         "tensor<%4$dx256xf32>") "    return "
                                                                                                 "%%9 : "
                                                                                                 "tensor<f32>"
                                                                                                 "\n}\n",
            SCATTER("%s", "%z", "%u", "f32", "tensor<1024x256xf32>"),
            halves ? SCATTER("%7", "%y", "%6", "bf16", "tensor<2048x256xbf16>")
                   : SCATTER("%7", "%y", "%6", "f32", "tensor<1024x256xf32>"),
            type, halves ? 2048 : 1024);
        struct moved moved = saved(text, COST_FUSE_BYTES | COST_FUSE_SIBLINGS,
                                   COST_FUSE_BYTES | COST_FUSE_SIBLINGS | COST_FUSE_GATHERED);
        assert_int_equal(moved.temporary, halves ? 0 : -(1 << 20));
        free(text);
    }
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
