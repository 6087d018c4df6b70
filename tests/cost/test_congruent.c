/* Ops that compute the same from the same, on programs small enough to be worked out by hand. The machine's
 * times are bytes (plain.h). */
#include "plain.h"
#include "support.h"

#include <stdlib.h>

enum { MIB = 1 << 20 };

/* A product of 4 MiB in float32 that the lines convert, the last one in its memory, and two products that
 * read %c and %d. */
static struct moved converted(const char *lines)
{
    char *text = mem_printf("func.func @main(%%a: tensor<1024x8xf32>, %%b: tensor<8x1024xf32>, "
                            "%%w: tensor<1024x8xbf16>, %%v: tensor<1024x8xbf16>) -> "
                            "(tensor<1024x8xbf16>, tensor<1024x8xbf16>) {\n"
                            "    %%g = stablehlo.dot_general %%a, %%b, contracting_dims = [1] x [0] : "
                            "(tensor<1024x8xf32>, tensor<8x1024xf32>) -> tensor<1024x1024xf32>\n%s"
                            "    %%p = stablehlo.dot_general %%c, %%w, contracting_dims = [1] x [0] : "
                            "(tensor<1024x1024xbf16>, tensor<1024x8xbf16>) -> tensor<1024x8xbf16>\n"
                            "    %%q = stablehlo.dot_general %%d, %%v, contracting_dims = [1] x [0] : "
                            "(tensor<1024x1024xbf16>, tensor<1024x8xbf16>) -> tensor<1024x8xbf16>\n"
                            "    return %%p, %%q : tensor<1024x8xbf16>, tensor<1024x8xbf16>\n}\n",
                            lines);
    struct moved moved = plain_moved("h100", text, COST_FUSE_BYTES);
    free(text);
    return moved;
}

#define CONVERT(to, of)                                                                                      \
    "    " to " = stablehlo.convert " of " : (tensor<1024x1024xf32>) -> tensor<1024x1024xbf16>\n"
#define NEGATE(to, of) "    " to " = stablehlo.negate " of " : tensor<1024x1024xf32>\n"

/* one of them is stored and read by both products; the other is not computed, nor what it alone is made of */
static void congruent_ops_are_stored_once(void **state)
{
    struct moved one = converted(CONVERT("%c", "%g") CONVERT("%d", "%g")),
                 behind =
                     converted(NEGATE("%e", "%g") NEGATE("%f", "%g") CONVERT("%c", "%e") CONVERT("%d", "%f")),
                 apart = converted(CONVERT("%c", "%g") NEGATE("%f", "%g") CONVERT("%d", "%f"));
    assert_int_equal(one.temporary, 4 * MIB);
    assert_int_equal(behind.temporary, 4 * MIB);
    assert_int_equal(apart.temporary, 6 * MIB);
    assert_int_equal(apart.bytes - one.bytes, 6 * MIB);
    assert_int_equal(behind.bytes, one.bytes);
}

/* what differs in an attribute alone is not congruent */
static void attributes_tell_ops_apart(void **state)
{
    static const int bits[][2] = {{4, 4}, {4, 3}};
    for (int i = 0; i < 2; i++) {
        char *lines =
            mem_printf("    %%e = stablehlo.reduce_precision %%g, format = e5m%d : tensor<1024x1024xf32>\n"
                       "    %%f = stablehlo.reduce_precision %%g, format = e5m%d : tensor<1024x1024xf32>\n%s",
                       bits[i][0], bits[i][1], CONVERT("%c", "%e") CONVERT("%d", "%f"));
        assert_int_equal(converted(lines).temporary, (i ? 6 : 4) * MIB);
        free(lines);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(congruent_ops_are_stored_once),
        cmocka_unit_test(attributes_tell_ops_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
