/* Times, makespan and peaks of programs small enough to be worked out by hand. K floats are 4 K bytes. */
#include "toy.h"

#include <stdlib.h>

enum { K = 1024, KB = 4096 };

/* the sum over what is alive equals the timeline at every step, and its maximum the peak */
static void check_timeline(struct toy *toy, const struct price *price)
{
    int64_t *alive = price_timeline(&toy->local, &toy->machine), most = 0;
    for (uint32_t i = 0; i < toy->local.step_count; i++) {
        uint32_t count;
        struct price_live *at = price_live_at(&toy->local, &toy->machine, i, &count);
        int64_t sum = 0;
        for (uint32_t v = 0; v < count; v++)
            sum += at[v].bytes;
        assert_int_equal(sum, alive[i]);
        most = alive[i] > most ? alive[i] : most;
        free(at);
    }
    assert_int_equal(most, price->peak_bytes);
    assert_int_equal(alive[price->peak_step], price->peak_bytes);
    free(alive);
}

static void expect_peak(struct toy *toy, int64_t bytes)
{
    struct price price = toy_price(toy);
    check_timeline(toy, &price);
    assert_int_equal(price.peak_bytes, bytes);
    toy_release(toy);
}

/* x and w live throughout; h = dot(x, w) is written over by its own square root; the result is the caller's
 */
static void elementwise_works_in_place(void **state)
{
    struct toy toy;
    toy_begin(&toy, 2, (int64_t[]){2 * K, 3 * K}, NULL);
    uint32_t h = TOY_OP(&toy, "sort", 5 * K, 0, 1);
    uint32_t r = TOY_OP(&toy, "sqrt", 5 * K, h);
    uint32_t y = TOY_OP(&toy, "sort", 7 * K, r);
    TOY_END(&toy, y);
    expect_peak(&toy, (2 + 3 + 7 + 5) * KB);
}

/* still needed, h cannot be written over */
static void elementwise_needs_room_when_its_operand_lives(void **state)
{
    struct toy toy;
    toy_begin(&toy, 1, (int64_t[]){2 * K}, NULL);
    uint32_t h = TOY_OP(&toy, "sort", 5 * K, 0);
    uint32_t r = TOY_OP(&toy, "sqrt", 5 * K, h);
    uint32_t y = TOY_OP(&toy, "sort", K, r, h);
    TOY_END(&toy, y);
    expect_peak(&toy, (2 + 1 + 5 + 5) * KB);
}

/* broadcast, add and square root are computed inside the reduction: no temporary at all */
static void fused_values_take_nothing(void **state)
{
    struct toy toy;
    toy_begin(&toy, 1, (int64_t[]){K}, NULL);
    uint32_t b = TOY_OP(&toy, "broadcast_in_dim", 64 * K, 0);
    uint32_t a = TOY_OP(&toy, "add", 64 * K, b, b);
    uint32_t r = TOY_OP(&toy, "sqrt", 64 * K, a);
    uint32_t y = TOY_OP(&toy, "reduce", K, r);
    TOY_END(&toy, y);
    struct price price = toy_price(&toy);
    /* one kernel: reads the argument, writes the result */
    int64_t kernel = (int64_t)(2 * KB * 1e12 / (1555e9 * 0.9) + 2000000 + 0.5);
    assert_int_equal(price.compute_ps, kernel);
    assert_int_equal(price.step_ps, kernel);
    expect_peak(&toy, 2 * KB);
}

/* h is dead by name after the convert, but the convert is computed where it is used */
static void fused_values_extend_what_they_read(void **state)
{
    struct toy toy;
    toy_begin(&toy, 1, (int64_t[]){K}, NULL);
    uint32_t h = TOY_OP(&toy, "sort", 8 * K, 0);
    uint32_t c = TOY_OP(&toy, "convert", 8 * K, h);
    uint32_t g = TOY_OP(&toy, "sort", 16 * K, 0);
    uint32_t y = TOY_OP(&toy, "reduce", K, c, g);
    TOY_END(&toy, y);
    expect_peak(&toy, (1 + 1 + 8 + 16) * KB);
}

static void reshape_is_another_name(void **state)
{
    struct toy toy;
    toy_begin(&toy, 1, (int64_t[]){K}, NULL);
    uint32_t h = TOY_OP(&toy, "sort", 8 * K, 0);
    uint32_t r = TOY_OP(&toy, "reshape", 8 * K, h);
    uint32_t y = TOY_OP(&toy, "sort", K, r);
    TOY_END(&toy, y);
    expect_peak(&toy, (1 + 1 + 8) * KB);
}

/* the result takes the donated argument's memory once the argument was read for the last time */
static void donation(void **state)
{
    for (int late = 0; late < 2; late++) {
        struct toy toy;
        toy_begin(&toy, 2, (int64_t[]){8 * K, K}, (int[]){0, -1});
        uint32_t n = TOY_OP(&toy, "add", 8 * K, 0, 1);
        uint32_t s = TOY_OP(&toy, "reduce", K, late ? 0u : 1u);
        TOY_END(&toy, n, s);
        struct price price = toy_price(&toy);
        assert_int_equal(price.argument_bytes, 9 * KB);
        assert_int_equal(price.output_bytes, 9 * KB);
        assert_int_equal(price.alias_bytes, 8 * KB);
        /* read later: the new value needs room of its own until then */
        expect_peak(&toy, (8 + 1 + 1 + (late ? 8 : 0)) * KB);
    }
}

static void collective_holds_operand_and_result(void **state)
{
    struct toy toy;
    toy_begin(&toy, 1, (int64_t[]){K}, NULL);
    uint32_t h = TOY_OP(&toy, "sort", 2 * K, 0);
    uint32_t g = TOY_STEP(&toy, SPMD_ALL_GATHER, 1, 8 * K, h);
    toy.local.steps[toy.local.step_count - 1].axis_count = 1;
    uint32_t y = TOY_OP(&toy, "sort", K, g);
    TOY_END(&toy, y);
    struct price price = toy_price(&toy);
    uint8_t axis = 0;
    int64_t gather =
        cost_collective_price(&toy.machine, &toy.mesh, SPMD_ALL_GATHER, &axis, 1, 8 * KB).time_ps;
    assert_true(gather > 0);
    assert_int_equal(price.communication_ps, gather);
    assert_int_equal(price.exposed_ps, gather);
    assert_int_equal(price.step_ps, price.compute_ps + gather);
    const char *algorithm;
    assert_int_equal(price_step(&toy.local, &toy.machine, 1, &algorithm), gather);
    assert_string_equal(algorithm, "recursive_doubling");
    expect_peak(&toy, (1 + 1 + 2 + 8) * KB);
}

/* carried once: init, block argument and result are one buffer; what the body makes of it is written there */
static void loop_carries_once(void **state)
{
    static const char *const ops[] = {"stablehlo.sort", "stablehlo.add", "stablehlo.sort"};
    for (int way = 0; way < 3; way++) { /* n reads the old value: not at all, in place, out of place */
        struct toy toy;
        toy_begin(&toy, 1, (int64_t[]){K}, NULL);
        uint32_t init = TOY_OP(&toy, "sort", 8 * K, 0);
        uint32_t outer = TOY_OP(&toy, "sort", 2 * K, 0);
        uint32_t args = TOY_STEP(&toy, SPMD_LOOP, 2, 8 * K, init), body = args + 1;
        uint32_t go = TOY_OP(&toy, "reduce", 1, args);
        TOY_STEP(&toy, SPMD_LOOP_BODY, 0, 0, go);
        uint32_t a = TOY_OP(&toy, "sort", 4 * K, body, outer);
        uint32_t n = toy_op(&toy, ops[way], (uint32_t[]){a, way ? body : a}, 2, 8 * K);
        uint32_t c = TOY_OP(&toy, "sort", K, a);
        uint32_t result = TOY_STEP(&toy, SPMD_LOOP_END, 1, 8 * K, n);
        for (uint32_t i = toy.local.step_count - 6; i < toy.local.step_count - 1; i++)
            toy.local.steps[i].trips = 10, toy.local.steps[i].depth = 1;
        uint32_t y = TOY_OP(&toy, "sort", K, result);
        (void)c;
        TOY_END(&toy, y);
        /* argument, result (the unused c lies there before), carry, outer (to the loop's end), a, and n
         * until the old value was read */
        expect_peak(&toy, (1 + 1 + 8 + 2 + 4 + (way == 2 ? 8 : 0)) * KB);
    }
}

/* a result that no argument gives its buffer holds temporaries before it is written, if they fit and do
 * not meet */
static void results_lend_their_memory(void **state)
{
    for (int larger = 0; larger < 2; larger++) {
        struct toy toy;
        toy_begin(&toy, 1, (int64_t[]){K}, NULL);
        uint32_t a = TOY_OP(&toy, "sort", (larger ? 9 : 8) * K, 0);
        uint32_t b = TOY_OP(&toy, "sort", 8 * K, a);
        uint32_t c = TOY_OP(&toy, "sort", 2 * K, b);
        uint32_t y = TOY_OP(&toy, "sort", 8 * K, c);
        TOY_END(&toy, y);
        /* a lies in y, unless it is larger: then b does */
        expect_peak(&toy, (1 + 8 + 8 + (larger ? 1 : 2)) * KB);
    }
}

/* so does the memory of an argument that is donated, once it was read for the last time: b lies there */
static void donated_arguments_lend_their_memory(void **state)
{
    for (int late = 0; late < 2; late++) { /* p is read until c is made */
        struct toy toy;
        toy_begin(&toy, 2, (int64_t[]){8 * K, K}, (int[]){0, -1});
        uint32_t a = TOY_OP(&toy, "sort", 8 * K, 0);
        uint32_t b = TOY_OP(&toy, "sort", 8 * K, a);
        uint32_t c = TOY_OP(&toy, "sort", 8 * K, b, late ? 0u : 1u);
        uint32_t n = TOY_OP(&toy, "sort", 8 * K, c);
        TOY_END(&toy, n);
        expect_peak(&toy, (8 + 1 + 8 + (late ? 8 : 0)) * KB);
    }
}

/* What a result is made from by updates in place lies in the result's memory before it: nothing else does
 * then. */
static void results_lend_nothing_once_begun(void **state)
{
    for (int begun = 0; begun < 2; begun++) {
        struct toy toy;
        toy_begin(&toy, 1, (int64_t[]){K}, NULL);
        uint32_t start = begun ? TOY_OP(&toy, "sort", 8 * K, 0) : 0;
        uint32_t a = TOY_OP(&toy, "sort", 8 * K, 0);
        uint32_t b = TOY_OP(&toy, "sort", 2 * K, a);
        if (!begun)
            start = TOY_OP(&toy, "sort", 8 * K, b);
        uint32_t y = TOY_OP(&toy, "dynamic_update_slice", 8 * K, start, b, b);
        TOY_END(&toy, y);
        expect_peak(&toy, (1 + 8 + 2 + (begun ? 8 : 0)) * KB);
    }
}

/* The same for a compiler that tries orders and takes the one of the least peak: by memory what takes least
 * runs first (1 + 1 + 2 + 16 + 2 and 1 + 1 + 2 + 16 KB). */
static void check_least(struct toy *toy, bool depth_first)
{
    struct cost_backend backend = *toy->machine.backend;
    backend.least_order = true;
    toy->machine.backend = &backend;
    toy->machine.order = COST_ORDER_EITHER;
    struct price price = toy_price(toy);
    assert_int_equal(price.memory_peak_bytes, (depth_first ? 1 + 1 + 2 + 16 : 1 + 1 + 2 + 16 + 2) * KB);
    assert_int_equal(price.peak_order, depth_first ? COST_ORDER_MEMORY : COST_ORDER_DEPTH_FIRST);
    assert_int_equal(price.peak_bytes, depth_first ? price.memory_peak_bytes : price.depth_first_peak_bytes);
    assert_true(price_reorder_to_peak(&toy->local, &toy->machine, &price));
    check_timeline(toy, &price);
}

/* Two chains that end in one op. Depth first the larger cone comes first, whole. Interleaved as written,
 * that saves memory: the first values of both chains are never alive at once. Where the larger cone leaves
 * the larger value it costs memory. */
static void the_larger_order_counts(void **state)
{
    for (int depth_first = 0; depth_first < 2; depth_first++) {
        struct toy toy;
        uint32_t g, h, y;
        toy_begin(&toy, 1, (int64_t[]){K}, NULL);
        if (depth_first) {
            h = TOY_OP(&toy, "sort", 12 * K, 0);
            h = TOY_OP(&toy, "sort", 2 * K, h);
            g = TOY_OP(&toy, "sort", 16 * K, 0);
        } else {
            g = TOY_OP(&toy, "sort", 16 * K, 0);
            h = TOY_OP(&toy, "sort", 8 * K, 0);
            g = TOY_OP(&toy, "sort", 2 * K, g);
            h = TOY_OP(&toy, "sort", 2 * K, h);
        }
        y = TOY_OP(&toy, "sort", K, g, h);
        TOY_END(&toy, y);
        struct price price = toy_price(&toy);
        assert_int_equal(price.program_peak_bytes, (depth_first ? 1 + 1 + 2 + 16 : 1 + 1 + 16 + 8 + 2) * KB);
        assert_int_equal(price.depth_first_peak_bytes,
                         (depth_first ? 1 + 1 + 16 + 12 + 2 : 1 + 1 + 16 + 2) * KB);
        assert_int_equal(price.peak_bytes,
                         depth_first ? price.depth_first_peak_bytes : price.program_peak_bytes);
        assert_int_equal(price_reorder_to_peak(&toy.local, &toy.machine, &price), depth_first);
        check_timeline(&toy, &price);
        toy.machine.order = COST_ORDER_PROGRAM; /* of the steps as they stand now */
        struct price one = toy_price(&toy);
        assert_int_equal(one.peak_bytes, price.peak_bytes);
        assert_int_equal(one.depth_first_peak_bytes, 0);
        check_least(&toy, depth_first);
        toy_release(&toy);
    }
}

/* a dot of 2 m n k FLOPs on local shapes: both axes shard a factor, one of them the contracted one */
static void matmul_roofline(void **state)
{
    struct toy toy;
    toy_begin(&toy, 2, (int64_t[]){K, K}, NULL);
    struct error e;
    ASSERT_OK(cost_machine_create(&toy.mesh, "a100-40", 0, &toy.machine, &e), &e);
    cost_machine_set_backend(&toy.machine, &toy.mesh, COST_XLA_CPU);
    int64_t lhs[] = {512, 4096}, rhs[] = {4096, 256}, out[] = {512, 256};
    uint32_t zero = 0, types[] = {ir_build_tensor_type(toy.builder, IR_BF16, 2, lhs),
                                  ir_build_tensor_type(toy.builder, IR_BF16, 2, rhs),
                                  ir_build_tensor_type(toy.builder, IR_BF16, 2, out)};
    uint32_t values[2];
    for (int i = 0; i < 2; i++)
        values[i] = ir_builder_result(toy.builder,
                                      ir_build_op(toy.builder, &(struct ir_op_spec){.name = "stablehlo.sort",
                                                                                    .operands = &zero,
                                                                                    .operand_count = 1,
                                                                                    .result_types = &types[i],
                                                                                    .result_count = 1}),
                                      0);
    uint32_t op = ir_build_op(toy.builder, &(struct ir_op_spec){.name = "stablehlo.dot",
                                                                .operands = values,
                                                                .operand_count = 2,
                                                                .result_types = &types[2],
                                                                .result_count = 1});
    uint32_t y = toy_step(&toy, SPMD_OP, op, (uint32_t[]){0, 1}, 2, 1, 64);
    toy.local.steps[0].cells = 0;
    toy.local.cells[0] = (struct plan_cell){1, 0};
    toy.local.cells[1] = (struct plan_cell){2, 0};
    TOY_END(&toy, y);
    double flops = 2.0 * 512 * 256 * 4096 / 8, compute = flops * 1e12 / (312e12 * 0.55);
    struct price price = toy_price(&toy);
    assert_int_equal(price.matmul_ps, (int64_t)(compute + 0.5) + 2000000);
    toy.local.cells[1].factor = NDA_NO_FACTOR;
    price = toy_price(&toy);
    assert_int_equal(price.matmul_ps, (int64_t)(2 * compute + 0.5) + 2000000);
    assert_int_equal(price.compute_ps, price.matmul_ps);
    /* moving the operands takes longer than the FLOPs */
    toy.local.values[0].bytes = INT64_C(1) << 30;
    double bytes = 1073741824.0 + 4 * K + 256;
    price = toy_price(&toy);
    assert_int_equal(price.matmul_ps, (int64_t)(bytes * (1e12 / (1555e9 * 0.9)) + 0.5) + 2000000);
    toy_release(&toy);
}

static void only_matmuls_with_weight_zero(void **state)
{
    struct toy toy;
    toy_begin(&toy, 1, (int64_t[]){K}, NULL);
    uint32_t y = TOY_OP(&toy, "sort", K, 0);
    TOY_END(&toy, y);
    assert_true(toy_price(&toy).compute_ps > 0);
    toy.machine.fusion_weight = 0;
    assert_int_equal(toy_price(&toy).step_ps, 0);
    toy_release(&toy);
}

/* Two collectives and a sort that needs neither: the collectives queue on one stream, beside which the sort
 * runs where the backend lets them. */
static void collectives_run_beside_computation(void **state)
{
    struct toy toy;
    toy_begin(&toy, 1, (int64_t[]){4096 * K}, NULL);
    uint32_t g = TOY_STEP(&toy, SPMD_ALL_REDUCE, 1, 4096 * K, 0);
    toy.local.steps[0].axis_count = 1;
    uint32_t h = TOY_STEP(&toy, SPMD_ALL_REDUCE, 1, 4096 * K, 0);
    toy.local.steps[1].axis_count = 1;
    toy.local.steps[1].axes[0] = 1;
    uint32_t s = TOY_OP(&toy, "sort", K, 0), y = TOY_OP(&toy, "sort", K, s, g, h);
    TOY_END(&toy, y);
    int64_t *times = price_step_times(&toy.local, &toy.machine), both = times[0] + times[1];
    toy.machine.asynchronous = false;
    struct price price = toy_price(&toy);
    assert_int_equal(price.step_ps, both + times[2] + times[3]);
    toy.machine.asynchronous = true;
    price = toy_price(&toy);
    int64_t until = both > times[2] ? both : times[2];
    assert_int_equal(price.step_ps, until + times[3]);
    assert_int_equal(price.communication_ps, both);
    assert_int_equal(price.exposed_ps, until - times[2]);
    uint32_t count;
    struct price_interval *trace = price_trace(&toy.local, &toy.machine, &count);
    assert_int_equal(trace[0].exposed_ps + trace[1].exposed_ps, price.exposed_ps);
    assert_int_equal(trace[1].start_ps, times[0]); /* behind the first */
    assert_int_equal(trace[2].start_ps, 0);
    assert_int_equal(trace[3].start_ps, until);
    /* kinds that block computation all the same (TPUs) */
    struct cost_backend backend = *toy.machine.backend;
    toy.machine.backend = &backend;
    backend.blocking = 1 << SPMD_ALL_GATHER;
    assert_int_equal(toy_price(&toy).step_ps, price.step_ps);
    backend.blocking |= 1 << SPMD_ALL_REDUCE;
    assert_int_equal(toy_price(&toy).step_ps, both + times[2] + times[3]);
    assert_int_equal(toy_price(&toy).exposed_ps, both);
    free(trace);
    free(times);
    toy_release(&toy);
}

/* What is made from arguments alone runs right before what reads it: the gather of it lies beside a product
 * that stands before both in the program. */
static void gathers_of_computed_weights_run_ahead(void **state)
{
    struct toy toy;
    toy_begin(&toy, 2, (int64_t[]){65536 * K, K}, NULL);
    uint32_t large = TOY_OP(&toy, "dot_general", 65536 * K, 0), small = TOY_OP(&toy, "sort", K, 1);
    uint32_t whole = TOY_STEP(&toy, SPMD_ALL_GATHER, 1, 4 * K, small);
    toy.local.steps[2].axis_count = 1;
    uint32_t y = TOY_OP(&toy, "sort", K, large, whole);
    TOY_END(&toy, y);
    cost_machine_set_backend(&toy.machine, &toy.mesh, COST_XLA_GPU);
    int64_t *times = price_step_times(&toy.local, &toy.machine);
    assert_true(times[0] > times[1] + times[2]);
    assert_int_equal(toy_price(&toy).step_ps, times[0] + times[1] + times[3]);
    free(times);
    toy_release(&toy);
}

/* On GPUs weights that were updated in parts are gathered together, small ones at once, and so are gradients
 * reduced, also those with one between them that is too large for company. */
static void small_results_are_combined(void **state)
{
    for (int gathers = 0; gathers < 2; gathers++) {
        struct toy toy;
        uint8_t kind = gathers ? SPMD_ALL_GATHER : SPMD_ALL_REDUCE;
        int64_t small = 256 * K, large = 32768 * K; /* floats: 1 MiB and 128 */
        toy_begin(&toy, 1, (int64_t[]){small}, NULL);
        cost_machine_set_backend(&toy.machine, &toy.mesh, COST_XLA_GPU);
        uint32_t first = TOY_STEP(&toy, SPMD_ALL_REDUCE, 1, small, 0);
        uint32_t a = TOY_STEP(&toy, kind, 1, small, first), b = TOY_STEP(&toy, kind, 1, large, first),
                 c = TOY_STEP(&toy, kind, 1, small, first);
        for (int i = 0; i < 4; i++)
            toy.local.steps[i].axis_count = 1;
        toy.local.steps[0].axes[0] = 1;
        TOY_END(&toy, a, b, c);
        int64_t *times = price_step_times(&toy.local, &toy.machine);
        uint8_t axis = 0;
        int64_t both = cost_collective_price(&toy.machine, &toy.mesh, kind, &axis, 1, 2 * 4 * small).time_ps;
        assert_int_equal(times[1] + times[3], both);
        free(times);
        toy_release(&toy);
    }
}

/* Two sums that a product waits for are reduced as one where nothing between them reads the first. */
static void sums_beside_each_other_are_one(void **state)
{
    for (int reads = 0; reads < 2; reads++) {
        struct toy toy;
        toy_begin(&toy, 1, (int64_t[]){4096 * K}, NULL);
        cost_machine_set_backend(&toy.machine, &toy.mesh, COST_XLA_GPU);
        uint32_t mean = TOY_STEP(&toy, SPMD_ALL_REDUCE, 1, K, 0), of[2] = {0, mean};
        uint32_t squares = toy_op(&toy, "stablehlo.sort", of, 1 + (uint32_t)reads, 3 * K);
        uint32_t square = TOY_STEP(&toy, SPMD_ALL_REDUCE, 1, 3 * K, squares);
        toy.local.steps[0].axis_count = toy.local.steps[2].axis_count = 1;
        uint32_t y = TOY_OP(&toy, "dot_general", K, mean, square);
        TOY_END(&toy, y);
        uint8_t axis = 0;
        int64_t first =
                    cost_collective_price(&toy.machine, &toy.mesh, SPMD_ALL_REDUCE, &axis, 1, 4 * 4096 * K)
                        .time_ps, /* of its operand */
            second =
                cost_collective_price(&toy.machine, &toy.mesh, SPMD_ALL_REDUCE, &axis, 1, 12 * K).time_ps,
                whole = cost_collective_price(&toy.machine, &toy.mesh, SPMD_ALL_REDUCE, &axis, 1,
                                              4 * 4096 * K + 12 * K)
                            .time_ps;
        assert_true(whole < first + second);
        assert_int_equal(toy_price(&toy).communication_ps, reads ? first + second : whole);
        toy_release(&toy);
    }
}

/* Random numbers are made in loops that send nothing: a gather of weights is under way beside them, and
 * beside what stands before them. Where a loop sends, both streams join at its border. */
static void collectives_pass_loops_that_send_nothing(void **state)
{
    int64_t exposed[2];
    for (int sends = 0; sends < 2; sends++) {
        struct toy toy;
        toy_begin(&toy, 2, (int64_t[]){4 * K, 65536 * K}, NULL);
        cost_machine_set_backend(&toy.machine, &toy.mesh, COST_XLA_GPU);
        uint32_t long_one = TOY_OP(&toy, "dot_general", 65536 * K, 1), begin = toy.local.step_count;
        uint32_t args = TOY_STEP(&toy, SPMD_LOOP, 2, K, long_one), body = args + 1;
        uint32_t go = TOY_OP(&toy, "reduce", 1, args);
        TOY_STEP(&toy, SPMD_LOOP_BODY, 0, 0, go);
        uint32_t next = TOY_OP(&toy, "sort", K, body);
        if (sends) {
            next = TOY_STEP(&toy, SPMD_ALL_REDUCE, 1, K, next);
            toy.local.steps[toy.local.step_count - 1].axis_count = 1;
        }
        uint32_t result = TOY_STEP(&toy, SPMD_LOOP_END, 1, K, next);
        for (uint32_t i = begin; i < toy.local.step_count; i++)
            toy.local.steps[i].trips = 5, toy.local.steps[i].depth = 1;
        uint32_t weight = TOY_STEP(&toy, SPMD_ALL_GATHER, 1, 16 * K, 0);
        toy.local.steps[toy.local.step_count - 1].axis_count = 1;
        uint32_t y = TOY_OP(&toy, "dot_general", K, result, weight);
        TOY_END(&toy, y);
        struct price price = toy_price(&toy);
        exposed[sends] = price.exposed_ps;
        assert_true(price.communication_ps > 0);
        uint32_t count;
        free(price_trace(&toy.local, &toy.machine, &count));
        toy_release(&toy);
    }
    assert_int_equal(exposed[0], 0);
    assert_true(exposed[1] > 0 && exposed[1] % 5 == 0); /* that of a trip, five times */
}

/* Moments that change their sharding are there from the beginning: they are sent beside products of the
 * chain, though only what comes last reads them. What is computed from a product waits for it. */
static void what_is_there_is_sent_beside_the_chain(void **state)
{
    for (int there = 0; there < 2; there++) {
        struct toy toy;
        toy_begin(&toy, 2, (int64_t[]){64 * K, 65536 * K}, NULL);
        cost_machine_set_backend(&toy.machine, &toy.mesh, COST_XLA_GPU);
        uint32_t a = TOY_OP(&toy, "dot_general", 65536 * K, 1), b = TOY_OP(&toy, "dot_general", 65536 * K, a),
                 c = TOY_OP(&toy, "dot_general", K, b);
        uint32_t moved = TOY_STEP(&toy, SPMD_ALL_TO_ALL, 1, 64 * K, there ? 0 : c);
        toy.local.steps[toy.local.step_count - 1].axis_count = 1;
        uint32_t y = TOY_OP(&toy, "sort", K, moved);
        TOY_END(&toy, c, y);
        struct price price = toy_price(&toy);
        assert_true(price.communication_ps > 0);
        assert_int_equal(price.exposed_ps, there ? 0 : price.communication_ps);
        toy_release(&toy);
    }
}

/* members of one tuple pay latency once, whatever their number */
static void combined_collectives_pay_latency_once(void **state)
{
    struct toy toy;
    toy_begin(&toy, 2, (int64_t[]){K, 3 * K}, NULL);
    uint32_t g = TOY_STEP(&toy, SPMD_ALL_REDUCE, 1, K, 0), h = TOY_STEP(&toy, SPMD_ALL_REDUCE, 1, 3 * K, 1);
    for (int i = 0; i < 2; i++)
        toy.local.steps[i].axis_count = 1, toy.local.steps[i].combined = 1;
    TOY_END(&toy, g, h);
    uint8_t axis = 0;
    int64_t whole = cost_collective_price(&toy.machine, &toy.mesh, SPMD_ALL_REDUCE, &axis, 1, 4 * KB).time_ps;
    assert_int_equal(toy_price(&toy).communication_ps, whole);
    toy_release(&toy);
}

/* g and h are packed (4 + 2), reduced into one array (4 + 2), which lives until both are used */
static void combined_collectives_are_one_array(void **state)
{
    struct toy toy;
    toy_begin(&toy, 1, (int64_t[]){K}, NULL);
    uint32_t a = TOY_OP(&toy, "sort", 4 * K, 0), b = TOY_OP(&toy, "sort", 2 * K, 0);
    uint32_t g = TOY_STEP(&toy, SPMD_ALL_REDUCE, 1, 4 * K, a),
             h = TOY_STEP(&toy, SPMD_ALL_REDUCE, 1, 2 * K, b);
    for (int i = 2; i < 4; i++)
        toy.local.steps[i].axis_count = 1, toy.local.steps[i].combined = 1;
    uint32_t x = TOY_OP(&toy, "sort", 7 * K, g), y = TOY_OP(&toy, "sort", K, h, x);
    TOY_END(&toy, y);
    /* argument, result, packed and reduced: 12; then reduced and x: 13 */
    expect_peak(&toy, (1 + 1 + 6 + 7) * KB);
}

/* of two regions the slower counts */
static void branch_counts_its_slowest_region(void **state)
{
    int64_t step[2];
    for (int swap = 0; swap < 2; swap++) {
        struct toy toy;
        toy_begin(&toy, 1, (int64_t[]){K}, NULL);
        TOY_STEP(&toy, SPMD_BRANCH, 0, 0, 0);
        uint32_t a = TOY_OP(&toy, "sort", K, 0);
        TOY_STEP(&toy, SPMD_BRANCH_NEXT, 0, 0, a);
        uint32_t b = TOY_OP(&toy, "sort", K, 0), c = TOY_OP(&toy, "sort", K, b);
        uint32_t y = TOY_STEP(&toy, SPMD_BRANCH_END, 1, K, swap ? b : c);
        TOY_END(&toy, y);
        int64_t *times = price_step_times(&toy.local, &toy.machine);
        struct price price = toy_price(&toy);
        assert_int_equal(price.step_ps, times[3] + times[4]);
        step[swap] = price.step_ps;
        free(times);
        toy_release(&toy);
    }
    assert_int_equal(step[0], step[1]);
}

static void cost_orders_by_memory_first(void **state)
{
    struct price unsharded = {.step_ps = 1000, .peak_bytes = 5000};
    struct price fast_big = {.step_ps = 100, .peak_bytes = 1001},
                 slow_small = {.step_ps = 999, .peak_bytes = 1000};
    struct cost cost = price_cost(&fast_big, &unsharded, 1000),
                other_cost = price_cost(&slow_small, &unsharded, 1000);
    struct hash128 zero = {0, 0}, one = {0, 1};
    assert_int_equal(cost.over_steps, 1); /* one byte over counts as 1 % */
    assert_int_equal(other_cost.over_steps, 0);
    assert_true(cost_compare(other_cost, zero, cost, zero) < 0);
    /* C = RT + 10 (peak - limit) / limit */
    assert_int_equal(other_cost.c, (int64_t)(0.999 * 4294967296.0 + 0.5));
    assert_int_equal(cost.c, (int64_t)((0.1 + 10 * 0.001) * 4294967296.0 + 0.5));
    struct price twice = {.step_ps = 100, .peak_bytes = 2000};
    struct cost c = price_cost(&twice, &unsharded, 1000);
    assert_int_equal(c.over_steps, 100);
    assert_int_equal(c.c, (int64_t)((0.1 + 10) * 4294967296.0 + 0.5));
    assert_true(cost_compare(cost, zero, cost, one) < 0 && cost_compare(cost, one, cost, zero) > 0);
    assert_int_equal(cost_compare(cost, one, cost, one), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_works_in_place),
        cmocka_unit_test(elementwise_needs_room_when_its_operand_lives),
        cmocka_unit_test(fused_values_take_nothing),
        cmocka_unit_test(fused_values_extend_what_they_read),
        cmocka_unit_test(reshape_is_another_name),
        cmocka_unit_test(donation),
        cmocka_unit_test(collective_holds_operand_and_result),
        cmocka_unit_test(loop_carries_once),
        cmocka_unit_test(results_lend_their_memory),
        cmocka_unit_test(donated_arguments_lend_their_memory),
        cmocka_unit_test(results_lend_nothing_once_begun),
        cmocka_unit_test(the_larger_order_counts),
        cmocka_unit_test(matmul_roofline),
        cmocka_unit_test(only_matmuls_with_weight_zero),
        cmocka_unit_test(collectives_run_beside_computation),
        cmocka_unit_test(sums_beside_each_other_are_one),
        cmocka_unit_test(collectives_pass_loops_that_send_nothing),
        cmocka_unit_test(what_is_there_is_sent_beside_the_chain),
        cmocka_unit_test(combined_collectives_pay_latency_once),
        cmocka_unit_test(gathers_of_computed_weights_run_ahead),
        cmocka_unit_test(small_results_are_combined),
        cmocka_unit_test(combined_collectives_are_one_array),
        cmocka_unit_test(branch_counts_its_slowest_region),
        cmocka_unit_test(cost_orders_by_memory_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
