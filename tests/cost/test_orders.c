/* The order in which libtpu's list schedule runs a program, by hand, and what barriers do to it. */
#include "toy.h"

enum { K = 1024 }; /* floats */

static struct cost_backend tpu; /* made in main: nothing idles in its heap */

/* the ops' places in program order, in the order by memory; the last step returns the results */
static void assert_order(struct toy *toy, const uint32_t *expected, uint32_t count)
{
    struct price_scratch *scratch = NULL;
    uint32_t first = toy->local.steps[0].op;
    price_reorder(&toy->local, &toy->machine, &scratch, COST_ORDER_MEMORY);
    assert_int_equal(toy->local.step_count, count + 1);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(toy->local.steps[i].op - first, expected[i]);
    price_scratch_destroy(scratch);
}

/*   a 4K ------------.          at first ready: a -4, b -2, b2 -2, c -2 (what is read counts when it is
 *   b 2K --> d 1K ---+-> f 1K   freed; the argument never is). Of those that free -2 c has most readers,
 *   b2 2K -> d2 1K --'     |    b2 got ready after b. d2 frees b2: 2 - 1, so it runs at once; d, too.
 *   c 2K --> e 3K ---------+    Then e -3 before a -4, though it got ready long ago.
 *    '---------------------+-> g 1K */
static void by_memory_what_frees_most(void **state)
{
    struct toy toy;
    toy_begin(&toy, 1, (int64_t[]){K}, NULL);
    toy.machine.backend = &tpu;
    uint32_t a = TOY_OP(&toy, "sort", 4 * K, 0), b = TOY_OP(&toy, "sort", 2 * K, 0),
             b2 = TOY_OP(&toy, "sort", 2 * K, 0), c = TOY_OP(&toy, "sort", 2 * K, 0),
             d = TOY_OP(&toy, "sort", K, b), d2 = TOY_OP(&toy, "sort", K, b2),
             e = TOY_OP(&toy, "sort", 3 * K, c), f = TOY_OP(&toy, "sort", K, a, d, d2),
             g = TOY_OP(&toy, "sort", K, c, f, e);
    TOY_END(&toy, g);
    assert_order(&toy, (uint32_t[]){3, 2, 5, 1, 4, 6, 0, 7, 8}, 9);
    toy_release(&toy);
}

/* v 8K is read by p 1K and q 2K: p (-1) before q (-2), then q frees v: 8 - 2, before w (0.5K: -0.5). */
static void the_last_reader_frees_it(void **state)
{
    struct toy toy;
    toy_begin(&toy, 1, (int64_t[]){K}, NULL);
    toy.machine.backend = &tpu;
    uint32_t v = TOY_OP(&toy, "sort", 8 * K, 0), q = TOY_OP(&toy, "sort", 2 * K, v),
             p = TOY_OP(&toy, "sort", K, v), w = TOY_OP(&toy, "sort", K / 2, p),
             y = TOY_OP(&toy, "sort", K, p, q, w);
    TOY_END(&toy, y);
    assert_order(&toy, (uint32_t[]){0, 2, 1, 3, 4}, 5);
    toy_release(&toy);
}

/* two values through one barrier, or past it by reshapes; the first of the two results */
static uint32_t through(struct toy *toy, bool barrier, uint32_t one, uint32_t other)
{
    if (!barrier) {
        uint32_t first = TOY_OP(toy, "reshape", K, one);
        TOY_OP(toy, "reshape", K, other);
        return first;
    }
    int64_t floats = K;
    uint32_t type = ir_build_tensor_type(toy->builder, IR_F32, 1, &floats);
    uint32_t op = ir_build_op(toy->builder, &(struct ir_op_spec){.name = "stablehlo.optimization_barrier",
                                                                 .operands = (uint32_t[]){0, 0},
                                                                 .operand_count = 2,
                                                                 .result_types = (uint32_t[]){type, type},
                                                                 .result_count = 2});
    return toy_step(toy, SPMD_OP, op, (uint32_t[]){one, other}, 2, 2, K);
}

/* What a layer computes again reads its argument through a barrier, beside the gradient that comes from
 * behind: large 16K -> gradient 1K, then again 8K. Without a barrier the latter frees more than what is large
 * and runs first. Either way argument and result take 1K each. */
static void barriers_hold_back(void **state)
{
    for (int barrier = 0; barrier < 2; barrier++) {
        struct toy toy;
        toy_begin(&toy, 1, (int64_t[]){K}, NULL);
        toy.machine.backend = &tpu;
        toy.machine.order = COST_ORDER_EITHER;
        uint32_t large = TOY_OP(&toy, "sort", 16 * K, 0), gradient = TOY_OP(&toy, "sort", K, large);
        uint32_t argument = through(&toy, barrier, 0, gradient);
        uint32_t again = TOY_OP(&toy, "sort", 8 * K, argument);
        TOY_END(&toy, TOY_OP(&toy, "sort", K, again, gradient));
        struct price price = toy_price(&toy);
        assert_int_equal(price.memory_peak_bytes, 4 * K * (2 + 16 + 1 + (barrier ? 0 : 8)));
        assert_int_equal(price.depth_first_peak_bytes, 4 * K * (2 + 16 + 1));
        toy_release(&toy);
    }
}

int main(void)
{
    tpu = *cost_backend(COST_XLA_TPU);
    tpu.idle_least = 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_memory_what_frees_most),
        cmocka_unit_test(the_last_reader_frees_it),
        cmocka_unit_test(barriers_hold_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
