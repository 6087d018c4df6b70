/* label: unit */
/* Running reductions (every window covers all that stands before its result along one dimension, or all
 * behind it) against the sums made here, and what they count as: elements, not elements times windows. */
#include "support.h"

#include "ir/read.h"
#include "verify/interpret.h"

#include <stdlib.h>
#include <string.h>

enum { OUTER = 3, ALONG = 7, INNER = 2, COUNT = OUTER * ALONG * INNER };

/* the body is not commutative: it keeps the second operand where that is not 0, as a fill forward does */
static char *module_of(const char *body, int64_t size, int64_t low, int64_t high)
{
    return mem_printf(
        "func.func @main(%%x: tensor<3x7x2xi32>) -> tensor<3x7x2xi32> {\n"
        "  %%zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %%0 = \"stablehlo.reduce_window\"(%%x, %%zero) <{window_dimensions = array<i64: 1, %lld, 1>, "
        "padding = dense<[[0, 0], [%lld, %lld], [0, 0]]> : tensor<3x2xi64>}> ({\n"
        "  ^bb0(%%a: tensor<i32>, %%b: tensor<i32>):\n%s"
        "    stablehlo.return %%c : tensor<i32>\n"
        "  }) : (tensor<3x7x2xi32>, tensor<i32>) -> tensor<3x7x2xi32>\n"
        "  return %%0 : tensor<3x7x2xi32>\n}\n",
        (long long)size, (long long)low, (long long)high, body);
}

static const char add[] = "    %c = stablehlo.add %a, %b : tensor<i32>\n";
static const char fill[] =
    "    %z = stablehlo.constant dense<0> : tensor<i32>\n"
    "    %p = stablehlo.compare NE, %b, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    %c = stablehlo.select %p, %b, %a : tensor<i1>, tensor<i32>\n";

static int64_t combine(bool adds, int64_t a, int64_t b)
{
    return adds ? a + b : b ? b : a;
}

/* elements from .. until of the dimension in their order, from the initial value on */
static int64_t expected(bool adds, const int64_t *x, int64_t outer, int64_t from, int64_t until,
                        int64_t inner)
{
    int64_t result = 0;
    for (int64_t at = from < 0 ? 0 : from; at < until && at < ALONG; at++)
        result = combine(adds, result, x[(outer * ALONG + at) * INNER + inner]);
    return result;
}

static void check(bool adds, int64_t size, int64_t low, uint64_t operations)
{
    struct ir_program program = {0};
    struct verify_tensor in = {0}, out = {0};
    struct error e;
    uint32_t unknown;
    char *module = module_of(adds ? add : fill, size, low, size - 1 - low);
    ASSERT_OK(ir_read(module, strlen(module), NULL, &program, &e), &e);
    uint32_t body = ir_region_block(&program, ir_function(&program, "main"), 0);
    ASSERT_OK(verify_tensor_create(&program, program.values[program.blocks[body].args].type, &in, &e), &e);
    struct rng rng = {.state = support_seed(11)};
    for (int64_t i = 0; i < COUNT; i++)
        ((int64_t *)in.data)[i] = rng_below(&rng, 3) ? (int64_t)rng_below(&rng, 100) : 0;
    ASSERT_OK(verify_run(&program, "main", 1, &in, &out, NULL, NULL, &e), &e);
    for (int64_t outer = 0; outer < OUTER; outer++)
        for (int64_t at = 0; at < ALONG; at++)
            for (int64_t inner = 0; inner < INNER; inner++)
                assert_int_equal(((const int64_t *)out.data)[(outer * ALONG + at) * INNER + inner],
                                 expected(adds, in.data, outer, at - low, at - low + size, inner));
    assert_in_range(verify_operations(&program, &unknown), operations, operations + COUNT + 4);
    verify_tensor_release(&in);
    verify_tensor_release(&out);
    ir_program_release(&program);
    free(module);
}

static void running(void **state)
{
    for (int adds = 0; adds < 2; adds++) {
        check(adds, ALONG, ALONG - 1, COUNT);
        check(adds, ALONG, 0, COUNT); /* all behind */
        check(adds, ALONG + 4, ALONG + 3, COUNT);
        check(adds, ALONG + 4, 0, COUNT);
    }
}

static void others(void **state)
{
    for (int adds = 0; adds < 2; adds++) {
        check(adds, 3, 2, 3 * COUNT);         /* the last three */
        check(adds, ALONG, 3, ALONG * COUNT); /* on both sides */
        check(adds, 3, 1, 3 * COUNT);
    }
}

static int begin(void **state)
{
    ir_read_program(TOAST_BINARY_DIR "/toast-read");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(running), cmocka_unit_test(others)};
    return cmocka_run_group_tests(tests, begin, NULL);
}
