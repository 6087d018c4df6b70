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

/* rows 4K --> sum 1K --.      What reads nothing (zeros) is ready before any argument is; of equals the one
 * zeros 4K ------------+-> g  that got ready last goes first: so rows, whichever stands first. */
static void zeros_are_ready_first(void **state)
{
    for (int zeros_at = 0; zeros_at < 2; zeros_at++) {
        struct toy toy;
        toy_begin(&toy, 1, (int64_t[]){K}, NULL);
        toy.machine.backend = &tpu;
        uint32_t both[2];
        for (int i = 0; i < 2; i++)
            both[i] = i == zeros_at ? toy_op(&toy, "stablehlo.sort", NULL, 0, 4 * K)
                                    : TOY_OP(&toy, "sort", 4 * K, 0);
        uint32_t sum = TOY_OP(&toy, "sort", K, both[1 - zeros_at]);
        TOY_END(&toy, TOY_OP(&toy, "sort", K, sum, both[zeros_at]));
        assert_order(&toy, zeros_at ? (uint32_t[]){0, 2, 1, 3} : (uint32_t[]){1, 2, 0, 3}, 4);
        toy_release(&toy);
    }
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
        assert_int_equal(price.peak_order, barrier ? COST_ORDER_MEMORY : COST_ORDER_DEPTH_FIRST);
        toy_release(&toy);
    }
}

/* The update (1K, over argument 0 where that is donated) is made of a gradient of 4K, which it frees: it runs
 * before a product of 8K that reads the old argument. Held back, it runs behind it. */
static void updates_wait_for_readers(void **state)
{
    for (int donated = 0; donated < 2; donated++) {
        struct toy toy;
        toy_begin(&toy, 2, (int64_t[]){K, K}, (int[]){donated ? 0 : -1, -1});
        toy.machine.backend = &tpu;
        uint32_t gradient = TOY_OP(&toy, "sort", 4 * K, 1), product = TOY_OP(&toy, "sort", 8 * K, 0),
                 update = TOY_OP(&toy, "sort", K, 0, gradient);
        TOY_END(&toy, update, product);
        assert_order(&toy, donated ? (uint32_t[]){0, 1, 2} : (uint32_t[]){0, 2, 1}, 3);
        toy_release(&toy);
    }
}

/* .. but not where it reads the new value, too: then the compiler has a copy of the old one. */
static void what_reads_both_holds_nothing(void **state)
{
    struct toy toy;
    toy_begin(&toy, 2, (int64_t[]){K, K}, (int[]){0, -1});
    toy.machine.backend = &tpu;
    uint32_t gradient = TOY_OP(&toy, "sort", 4 * K, 1), update = TOY_OP(&toy, "sort", K, 0, gradient),
             product = TOY_OP(&toy, "sort", 8 * K, 0, update);
    TOY_END(&toy, update, product);
    assert_order(&toy, (uint32_t[]){0, 1, 2}, 3);
    toy_release(&toy);
}

/* The peak by memory of two gradients of 8K, reduced over four devices of two hosts, and their readers (1K
 * each); the second gradient is made of an argument, or of the first one's reader. */
static int64_t peak_of_reductions(uint8_t kind, int64_t reduce_bytes, bool waits)
{
    struct cost_backend backend = tpu;
    backend.reduce_bytes = reduce_bytes;
    struct toy toy;
    toy_begin(&toy, 1, (int64_t[]){K}, NULL);
    toy.machine.backend = &backend;
    toy.machine.order = COST_ORDER_EITHER;
    toy.machine.device.devices_per_host = 2;
    uint32_t readers[2] = {0};
    for (int i = 0; i < 2; i++) {
        uint32_t gradient = TOY_OP(&toy, "sort", 8 * K, waits ? readers[0] : 0),
                 part = toy_step(&toy, kind, 0, &gradient, 1, 1, kind == SPMD_ALL_REDUCE ? 8 * K : 2 * K);
        toy.local.steps[toy.local.step_count - 1].axis_count = 1;
        readers[i] = TOY_OP(&toy, "sort", K, part);
    }
    TOY_END(&toy, TOY_OP(&toy, "sort", K, readers[0], readers[1]));
    struct price price = toy_price(&toy);
    toy_release(&toy);
    return price.memory_peak_bytes;
}

/* A reduce_scatter over more devices than a host has is an all_reduce, whose readers read slices. Combined
 * they wait for one another: 16K and one reader; else, or where one is made of the other, 8K and both
 * readers. Argument and result take 1K each. */
static void reductions_are_combined(void **state)
{
    const uint8_t kinds[] = {SPMD_REDUCE_SCATTER, SPMD_ALL_REDUCE};
    for (int i = 0; i < 2; i++) {
        int64_t apart = 4 * K * (2 + 8 + 2), most = 4 * 16 * K;
        assert_int_equal(peak_of_reductions(kinds[i], most, false), 4 * K * (2 + 16 + 1));
        assert_int_equal(peak_of_reductions(kinds[i], most - 1, false), apart);
        assert_int_equal(peak_of_reductions(kinds[i], most, true), apart);
    }
}

/*   a -> A -> b -> B        A and A2 are reduced over x, B and B2 over y. A runs with A2, which waits for B2:
 *   b2 -> B2 -> a2 -> A2    so B2 does not run with B, which waits for A, or each group would wait for the
 * other, and what waits would run last of all. Three of 8K at a time: A, A2 and b, made of A. */
static void groups_do_not_wait_for_each_other(void **state)
{
    struct toy toy;
    toy_begin(&toy, 1, (int64_t[]){K}, NULL);
    toy.machine.backend = &tpu;
    toy.machine.order = COST_ORDER_EITHER;
    uint32_t last[2];
    for (uint8_t i = 0; i < 2; i++) {
        uint32_t value = 0;
        for (uint8_t k = 0; k < 2; k++) {
            value = TOY_OP(&toy, "sort", 8 * K, value);
            value = toy_step(&toy, SPMD_ALL_REDUCE, 0, &value, 1, 1, 8 * K);
            toy.local.steps[toy.local.step_count - 1].axis_count = 1;
            toy.local.steps[toy.local.step_count - 1].axes[0] = i ^ k;
        }
        last[i] = value;
    }
    TOY_END(&toy, TOY_OP(&toy, "sort", K, last[0], last[1]));
    assert_int_equal(toy_price(&toy).memory_peak_bytes, 4 * K * (2 + 3 * 8));
    toy_release(&toy);
}

int main(void)
{
    tpu = *cost_backend(COST_XLA_TPU);
    tpu.idle_least = 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_memory_what_frees_most), cmocka_unit_test(the_last_reader_frees_it),
        cmocka_unit_test(zeros_are_ready_first),     cmocka_unit_test(barriers_hold_back),
        cmocka_unit_test(updates_wait_for_readers),  cmocka_unit_test(what_reads_both_holds_nothing),
        cmocka_unit_test(reductions_are_combined),   cmocka_unit_test(groups_do_not_wait_for_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
