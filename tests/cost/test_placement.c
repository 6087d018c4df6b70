/* When a backend runs what it runs, and where in memory values lie: schedules and heaps of programs that are
 * made step by step (toy.h). */
#include "toy.h"

#include <stdlib.h>

enum { MIB = 1 << 20 };

/* a product of many matrices, of a value with itself: rows of one element each */
static uint32_t batched_product(struct toy *toy, int64_t floats, uint32_t value)
{
    uint32_t type = ir_build_tensor_type(toy->builder, IR_F32, 1, &floats), zero = 0;
    uint32_t rows_type = ir_build_tensor_type(toy->builder, IR_F32, 2, (int64_t[]){floats, 1});
    uint32_t reshape = ir_build_op(toy->builder, &(struct ir_op_spec){.name = "stablehlo.reshape",
                                                                      .operands = &zero,
                                                                      .operand_count = 1,
                                                                      .result_types = &rows_type,
                                                                      .result_count = 1});
    uint32_t rows = ir_builder_result(toy->builder, reshape, 0);
    uint32_t operands[2] = {rows, rows}, reads[2] = {value, value};
    struct ir_attr attr = ir_build_named(
        toy->builder, "dot_dimension_numbers",
        ir_build_text(toy->builder,
                      "#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
                      "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>"));
    uint32_t op = ir_build_op(toy->builder, &(struct ir_op_spec){.name = "stablehlo.dot_general",
                                                                 .operands = operands,
                                                                 .operand_count = 2,
                                                                 .result_types = &type,
                                                                 .result_count = 1,
                                                                 .attrs = &attr,
                                                                 .attr_count = 1});
    return toy_step(toy, SPMD_OP, op, reads, 2, 1, floats);
}

/* A chain of products with an all_reduce behind each, five of them, and behind the first one something that
 * no product needs, with a reduction of its own. From the end: that reduction comes last, beside the last
 * product (it waits for two collectives, the last all_reduce for four, so that is ended first); what makes
 * it fills the gap before the last product. */
static void gradients_run_in_gaps(void **state)
{
    enum { FLOATS = 1 << 20, CHAIN = 5 };
    struct toy toy;
    uint32_t at = 0, gradient = 0, reduced = 0, sum[CHAIN], steps = 0, late = 0;
    toy_begin(&toy, 1, (int64_t[]){FLOATS}, NULL);
    cost_machine_set_backend(&toy.machine, &toy.mesh, COST_XLA_GPU);
    for (uint32_t i = 0; i < CHAIN; i++) {
        at = batched_product(&toy, FLOATS, at);
        steps++;
        at = TOY_STEP(&toy, SPMD_ALL_REDUCE, 1, FLOATS, at);
        sum[i] = steps++;
        toy.local.steps[sum[i]].axis_count = 1;
        if (i > 0)
            continue;
        gradient = TOY_OP(&toy, "sort", FLOATS, at);
        late = steps++;
        reduced = TOY_STEP(&toy, SPMD_ALL_REDUCE, 1, FLOATS, gradient);
        toy.local.steps[steps++].axis_count = 1;
    }
    at = batched_product(&toy, FLOATS, at);
    TOY_END(&toy, at, reduced);
    struct price price = toy_price(&toy);
    uint32_t count;
    struct price_interval *trace = price_trace(&toy.local, &toy.machine, &count);
    assert_int_equal(count, steps + 2); /* a kernel a step */
    int64_t waited = 0;
    for (uint32_t i = 0; i < count; i++)
        waited += trace[i].exposed_ps;
    assert_int_equal(waited, price.exposed_ps);
    assert_int_equal(trace[late].start_ps, trace[sum[4]].start_ps); /* beside the last all_reduce */
    assert_true(trace[late + 1].start_ps >= trace[sum[4]].end_ps);
    assert_true(trace[late + 1].end_ps <= price.step_ps);
    assert_int_equal(trace[steps + 1].end_ps, price.step_ps);
    free(trace);
    toy_release(&toy);
}

/* A product, its all_reduce, and what reads that and two gathered weights. From the end the collective that
 * waits for most, and takes most, is ended first. Gathers that take longer than the all_reduce lie behind it,
 * with nothing beside them; shorter ones before it, beside the product. */
static void longer_collectives_lie_later(void **state)
{
    enum { PRODUCT, SUM, FIRST, SECOND, READER };
    for (int shorter = 0; shorter < 2; shorter++) {
        int64_t floats = shorter ? 1 << 19 : 1 << 23;
        struct toy toy;
        uint32_t gathered[2];
        toy_begin(&toy, 3, (int64_t[]){1 << 20, floats, floats}, NULL);
        cost_machine_set_backend(&toy.machine, &toy.mesh, COST_XLA_GPU);
        uint32_t product = batched_product(&toy, 1 << 20, 0),
                 sum = TOY_STEP(&toy, SPMD_ALL_REDUCE, 1, 1 << 20, product);
        for (uint32_t i = 0; i < 2; i++)
            gathered[i] = TOY_STEP(&toy, SPMD_ALL_GATHER, 1, 2 * floats, 1 + i);
        for (uint32_t i = 1; i < 4; i++)
            toy.local.steps[i].axis_count = 1;
        uint32_t at = TOY_OP(&toy, "sort", 1 << 20, sum, gathered[0], gathered[1]);
        TOY_END(&toy, batched_product(&toy, 1 << 20, at));
        uint32_t count;
        struct price_interval *trace = price_trace(&toy.local, &toy.machine, &count);
        assert_int_equal(count, 7); /* a kernel a step */
        assert_int_equal(trace[FIRST].start_ps, shorter ? 0 : trace[SUM].end_ps);
        assert_int_equal(trace[SUM].start_ps, trace[shorter ? SECOND : PRODUCT].end_ps);
        assert_int_equal(trace[READER].start_ps, trace[shorter ? SUM : SECOND].end_ps);
        assert_int_equal(trace[PRODUCT].start_ps, 0);
        /* small enough to be one, they are there together */
        assert_int_equal(trace[SECOND].start_ps, trace[FIRST].end_ps);
        assert_int_equal(trace[SECOND].end_ps == trace[FIRST].end_ps, shorter);
        assert_int_equal(trace[FIRST].exposed_ps,
                         trace[FIRST].end_ps - trace[FIRST].start_ps - (shorter ? trace[PRODUCT].end_ps : 0));
        free(trace);
        toy_release(&toy);
    }
}

enum { WIDE = 6 * MIB, NARROW = 1024 }; /* elements */

/* libtpu's, whose heap leaves what idles there as it comes; made in main */
static struct cost_backend exact_heap;

/* Something four times as large as the moment, of which a product is made that is reduced, with others or
 * alone, and that the moment's update reads transposed, beside a quarter of the parameter. */
static void turned_toy(struct toy *toy, bool product, bool together)
{
    toy_begin(toy, 3, (int64_t[]){NARROW, WIDE, 4 * WIDE}, (int[]){-1, 0, -1});
    uint32_t large = TOY_OP(toy, "sort", 4 * WIDE, 0), small = TOY_OP(toy, "sort", NARROW, large);
    uint32_t dot = product ? batched_product(toy, WIDE, small) : TOY_OP(toy, "sort", WIDE, small);
    uint32_t sum = toy_step(toy, SPMD_ALL_REDUCE, 0, &dot, 1, 1, WIDE);
    toy->local.steps[3].axis_count = 1;
    toy->local.steps[3].combined = together;
    uint32_t turned = TOY_OP(toy, "transpose", WIDE, sum), slice = TOY_OP(toy, "slice", WIDE, 2);
    uint32_t moment = TOY_OP(toy, "add", WIDE, turned, 1, slice);
    TOY_END(toy, moment);
    toy->machine.backend = &exact_heap;
}

/* For libtpu a product's gradient that is reduced in one array with others comes turned, and moment and the
 * slice of the parameter are copied into its order: by memory before the first kernel that takes more than
 * the copy, in other orders for the update. Of orders that count as much the one without copies is taken.
 * What is reduced alone, or is no product, is not turned. */
static void turned_arguments_are_copied(void **state)
{
    for (int i = 0; i < 4; i++) {
        struct toy toy;
        turned_toy(&toy, i & 1, i & 2);
        struct price price = toy_price(&toy);
        /* three arguments; the large value beside the small one, and the copies */
        int64_t boundary = 4 * (5 * (int64_t)WIDE + NARROW), temporaries = 4 * INT64_C(4) * WIDE + 4 * NARROW,
                copied = temporaries + (i == 3 ? 2 * INT64_C(4) * WIDE : 0);
        assert_int_equal(price.depth_first_peak_bytes, boundary + temporaries);
        assert_int_equal(price.memory_peak_bytes, boundary + copied);
        assert_int_equal(price.peak_bytes, price.depth_first_peak_bytes);
        assert_int_equal(price.peak_order, COST_ORDER_DEPTH_FIRST);
        assert_true(price_reorder_to_peak(&toy.local, &toy.machine, &price));
        uint32_t count;
        struct price_live *live = price_live_at(&toy.local, &toy.machine, price.peak_step, &count);
        int64_t alive = 0;
        for (uint32_t k = 0; k < count; k++)
            alive += live[k].bytes;
        assert_int_equal(alive, boundary + temporaries);
        free(live);
        toy_release(&toy);
    }
}

static int64_t tpu_temporaries(struct toy *toy, const struct cost_backend *backend)
{
    toy->machine.backend = backend;
    struct price price = toy_price(toy);
    toy_release(toy);
    return price.peak_bytes - price.argument_bytes - price.output_bytes + price.alias_bytes;
}

/* Each value gets the smallest hole when the program comes to it: the third one lies where the first one was
 * if it fits, else behind the second, and what the first one left lies idle. */
static void what_lies_idle_counts(void **state)
{
    for (int64_t third = 2; third <= 3; third++)
        for (int fits = 0; fits < 2; fits++) {
            struct cost_backend backend = exact_heap;
            backend.best_fit = fits;
            struct toy toy;
            toy_begin(&toy, 1, (int64_t[]){NARROW}, NULL);
            uint32_t a = TOY_OP(&toy, "sort", 2 * MIB, 0), b = TOY_OP(&toy, "sort", MIB, a),
                     c = TOY_OP(&toy, "sort", third * MIB, b), last = TOY_OP(&toy, "sort", NARROW, b, c);
            TOY_END(&toy, last);
            int64_t alive = third + 1, extent = third == 2 ? 3 : 6;
            assert_int_equal(tpu_temporaries(&toy, &backend), 4 * MIB * (fits ? extent : alive));
        }
}

/* What idles is no less and no more than usual. */
static void what_idles_is_usual(void **state)
{
    for (int large = 0; large < 2; large++) {
        struct cost_backend backend = *cost_backend(COST_XLA_TPU);
        struct toy toy;
        toy_begin(&toy, 1, (int64_t[]){NARROW}, NULL);
        uint32_t a = TOY_OP(&toy, "sort", 2 * MIB, 0), b = TOY_OP(&toy, "sort", MIB, a),
                 c = TOY_OP(&toy, "sort", (2 + large) * MIB, b), last = TOY_OP(&toy, "sort", NARROW, b, c);
        TOY_END(&toy, last);
        int64_t alive = 4 * (int64_t)(3 + large) * MIB,
                parts = large ? backend.idle_most : backend.idle_least;
        assert_in_range(parts, 1, 999);
        assert_int_equal(tpu_temporaries(&toy, &backend), alive + alive / 1000 * parts);
    }
}

/* A result's memory is not lent: what is alive before it is written counts. */
static void results_lend_nothing(void **state)
{
    for (int apart = 0; apart < 2; apart++) {
        struct cost_backend backend = exact_heap;
        backend.results_apart = apart;
        struct toy toy;
        toy_begin(&toy, 1, (int64_t[]){NARROW}, NULL);
        uint32_t a = TOY_OP(&toy, "sort", MIB, 0), b = TOY_OP(&toy, "sort", NARROW, a),
                 last = TOY_OP(&toy, "sort", 2 * MIB, b);
        TOY_END(&toy, last);
        assert_int_equal(tpu_temporaries(&toy, &backend), apart ? 4 * (MIB + NARROW) : 4 * NARROW);
    }
}

/* An all_reduce of its own is written over its operand. A reduce_scatter wider than a host is one, too: its
 * result is the whole sum until it was read for the last time. */
static void sums_take_their_operands_memory(void **state)
{
    for (int host = 4; host <= 8; host += 4) {
        for (int kind = 0; kind < 2; kind++) {
            struct toy toy;
            toy_begin(&toy, 1, (int64_t[]){NARROW}, NULL);
            toy.machine.device.devices_per_host = host;
            uint32_t summands = TOY_OP(&toy, "sort", 8 * MIB, 0);
            uint32_t sum = toy_step(&toy, kind ? SPMD_REDUCE_SCATTER : SPMD_ALL_REDUCE, 0, &summands, 1, 1,
                                    kind ? MIB : 8 * MIB);
            toy.local.steps[1].axis_count = 2;
            toy.local.steps[1].axes[1] = 1;
            uint32_t beside = TOY_OP(&toy, "sort", 8 * MIB, sum);
            uint32_t last = TOY_OP(&toy, "sort", NARROW, sum, beside);
            TOY_END(&toy, last);
            assert_int_equal(tpu_temporaries(&toy, &exact_heap), 4 * MIB * (kind && host == 8 ? 9 : 16));
        }
        struct toy toy;
        toy_begin(&toy, 1, (int64_t[]){NARROW}, NULL);
        uint32_t summands = TOY_OP(&toy, "sort", 8 * MIB, 0),
                 sum = toy_step(&toy, SPMD_ALL_REDUCE, 0, &summands, 1, 1, 8 * MIB);
        toy.local.steps[1].axis_count = 1;
        uint32_t last = TOY_OP(&toy, "sort", NARROW, sum);
        TOY_END(&toy, last);
        struct cost_backend backend = exact_heap;
        backend.reduces_in_place = host == 4;
        assert_int_equal(tpu_temporaries(&toy, &backend), 4 * MIB * (host == 4 ? 8 : 16));
    }
}

/* A reduce_scatter of one host whose blocks are no whole tiles of lanes is an all_reduce, too. */
static void scattered_lanes_are_reduced_whole(void **state)
{
    for (int odd = 0; odd < 2; odd++) {
        struct toy toy;
        toy_begin(&toy, 1, (int64_t[]){NARROW}, NULL);
        toy.machine.device.devices_per_host = 8;
        uint32_t summands = TOY_OP(&toy, "sort", 8 * MIB, 0);
        uint32_t sum = toy_step(&toy, SPMD_REDUCE_SCATTER, 0, &summands, 1, 1, MIB - 8 * odd);
        toy.local.steps[1].axis_count = 2;
        toy.local.steps[1].axes[1] = 1;
        uint32_t beside = TOY_OP(&toy, "sort", 8 * MIB, sum),
                 last = TOY_OP(&toy, "sort", NARROW, sum, beside);
        TOY_END(&toy, last);
        assert_int_equal(tpu_temporaries(&toy, &exact_heap), 4 * MIB * (odd ? 16 : 9));
    }
}

/* A table that is gathered from, and whose new value is gathered from all devices, is copied first; what is
 * gathered from is needed until the kernel beside the gather has run. */
static void replaced_tables_are_copied(void **state)
{
    for (int gathered = 0; gathered < 2; gathered++) {
        struct toy toy;
        toy_begin(&toy, 2, (int64_t[]){WIDE, NARROW}, (int[]){0, -1});
        uint32_t rows = TOY_OP(&toy, "gather", NARROW, 0, 1), part = TOY_OP(&toy, "sort", NARROW, rows);
        uint32_t table = toy_step(&toy, gathered ? SPMD_ALL_GATHER : SPMD_ALL_TO_ALL, 0, &part, 1, 1, WIDE);
        toy.local.steps[2].axis_count = 1;
        TOY_END(&toy, table);
        assert_int_equal(tpu_temporaries(&toy, &exact_heap), 8 * NARROW + (gathered ? 4 * WIDE : 0));
    }
}

/* Two reduce_scatters that XLA for GPUs makes one of: the first one's operand waits for the second's. */
static void combined_scatters_hold_their_operands(void **state)
{
    enum { K = 1024 };
    for (int gpu = 0; gpu < 2; gpu++) {
        struct toy toy;
        toy_begin(&toy, 1, (int64_t[]){K}, NULL);
        uint32_t parts[2];
        for (int i = 0; i < 2; i++) {
            uint32_t gradient = TOY_OP(&toy, "sort", 8 * K, 0);
            parts[i] = toy_step(&toy, SPMD_REDUCE_SCATTER, 0, &gradient, 1, 1, 4 * K);
            toy.local.steps[2 * i + 1].axis_count = 1;
        }
        uint32_t y = TOY_OP(&toy, "sort", K, parts[0], parts[1]);
        TOY_END(&toy, y);
        if (gpu)
            cost_machine_set_backend(&toy.machine, &toy.mesh, COST_XLA_GPU);
        struct price price = toy_price(&toy);
        /* argument and result; the first's part, the second's operand and part; the first's operand */
        assert_int_equal(price.program_peak_bytes, 4 * K * (2 + 4 + 8 + 4 + (gpu ? 8 : 0)));
        toy_release(&toy);
    }
}

static uint32_t on_axis(struct toy *toy, enum spmd_step_kind kind, uint8_t axis, uint32_t operand)
{
    uint32_t result = toy_step(toy, (uint8_t)kind, 0, &operand, 1, 1, NARROW);
    struct spmd_step *step = &toy->local.steps[toy->local.step_count - 1];
    step->axis_count = 1;
    step->axes[0] = axis;
    return result;
}

/* A loop of four turns that scatter: its first one runs among what is outside. Where it waits for a sum, a
 * product outside that nothing in the loop reads fills that time, and what it is made of is there beside the
 * turn's memory. */
static void first_turns_are_filled(void **state)
{
    enum { TURNS = 4 };
    int64_t peaks[2];
    for (int waits = 0; waits < 2; waits++) {
        struct toy toy;
        toy_begin(&toy, 1, (int64_t[]){NARROW}, NULL);
        cost_machine_set_backend(&toy.machine, &toy.mesh, COST_XLA_GPU);
        uint32_t logits = TOY_OP(&toy, "sort", 16 * MIB, 0),
                 product = TOY_OP(&toy, "dot_general", NARROW, logits),
                 chain = on_axis(&toy, SPMD_ALL_REDUCE, 0, product),
                 whole = TOY_OP(&toy, "dot_general", NARROW, logits),
                 gradient = on_axis(&toy, SPMD_REDUCE_SCATTER, 1, whole), /* combined with none on axis 0 */
            sum = TOY_OP(&toy, "sort", NARROW, 0), begin = toy.local.step_count;
        uint32_t args = TOY_STEP(&toy, SPMD_LOOP, 4, NARROW, chain, sum), body = args + 2;
        TOY_STEP(&toy, SPMD_LOOP_BODY, 0, 0, args);
        uint32_t early = TOY_OP(&toy, "dot_general", NARROW, body),
                 inside = TOY_OP(&toy, "sort", 16 * MIB, body),
                 next = TOY_OP(&toy, "dot_general", NARROW, inside);
        if (waits) {
            uint32_t whole_sum = on_axis(&toy, SPMD_ALL_REDUCE, 0, next);
            next = TOY_OP(&toy, "dot_general", NARROW, whole_sum);
        }
        uint32_t part = on_axis(&toy, SPMD_REDUCE_SCATTER, 0, early),
                 result = TOY_STEP(&toy, SPMD_LOOP_END, 2, NARROW, next, part);
        for (uint32_t i = begin; i < toy.local.step_count; i++)
            toy.local.steps[i].trips = TURNS, toy.local.steps[i].depth = 1;
        uint32_t last = on_axis(&toy, SPMD_REDUCE_SCATTER, 0, result);
        TOY_END(&toy, last, result + 1, gradient);
        peaks[waits] = toy_price(&toy).hiding_peak_bytes;
        toy_release(&toy);
    }
    assert_in_range(peaks[0], 4 * 16 * MIB, 4 * 17 * MIB);
    assert_in_range(peaks[1], 4 * 32 * MIB, 4 * 33 * MIB);
}

/* Something large is held beside what takes three times as much. Near the limit XLA:GPU runs what made it
 * again: a product of what is there. Not a product of what is larger and gone, a collective or a
 * convolution. */
static void what_is_computed_again(void **state)
{
    enum { AGAIN, OF_LARGER, COLLECTIVE, CONVOLUTION, MAKERS };
    for (int maker = 0; maker < MAKERS; maker++)
        for (int near = 0; near < 2; near++) {
            struct toy toy;
            toy_begin(&toy, 1, (int64_t[]){MIB}, NULL);
            cost_machine_set_backend(&toy.machine, &toy.mesh, COST_XLA_GPU);
            toy.machine.device.memory_bytes = near ? 8 * MIB : INT64_C(1000) * MIB;
            uint32_t from = maker == OF_LARGER ? TOY_OP(&toy, "sort", 2 * MIB, 0) : 0,
                     large = maker == COLLECTIVE    ? TOY_STEP(&toy, SPMD_ALL_GATHER, 1, MIB, from)
                             : maker == CONVOLUTION ? TOY_OP(&toy, "convolution", MIB, from, from)
                                                    : batched_product(&toy, MIB, from);
            toy.local.steps[0].axis_count = maker == COLLECTIVE;
            uint32_t small = TOY_OP(&toy, "sort", NARROW, from),
                     beside = TOY_OP(&toy, "sort", 3 * MIB, small),
                     last = TOY_OP(&toy, "sort", NARROW, large, beside);
            TOY_END(&toy, last);
            struct price price = toy_price(&toy);
            int64_t again = near && maker == AGAIN ? 4 * MIB : 0;
            assert_int_equal(price.rematerialised_bytes, again);
            assert_int_equal(price.peak_bytes + again, 4 * (INT64_C(5) * MIB + 2 * NARROW));
            toy_release(&toy);
        }
}

int main(void)
{
    exact_heap = *cost_backend(COST_XLA_TPU);
    exact_heap.fusion &= ~(uint32_t)COST_FUSE_BATCHES; /* toys have no dimensions */
    exact_heap.idle_least = 0;
    exact_heap.idle_most = UINT16_MAX;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_run_in_gaps),
        cmocka_unit_test(longer_collectives_lie_later),
        cmocka_unit_test(turned_arguments_are_copied),
        cmocka_unit_test(what_lies_idle_counts),
        cmocka_unit_test(what_idles_is_usual),
        cmocka_unit_test(results_lend_nothing),
        cmocka_unit_test(sums_take_their_operands_memory),
        cmocka_unit_test(scattered_lanes_are_reduced_whole),
        cmocka_unit_test(replaced_tables_are_copied),
        cmocka_unit_test(combined_scatters_hold_their_operands),
        cmocka_unit_test(first_turns_are_filled),
        cmocka_unit_test(what_is_computed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
