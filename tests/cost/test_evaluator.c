/* timeout: 120 */
/* Evaluations of real modules: what is remembered equals what is computed afresh, in any order; the order of
 * prices; donation and baselines at the sizes the models have. */
#include "afresh.h"

#include <stdlib.h>
#include <string.h>

static void open_model(struct subject *subject, const char *path, const char *mesh)
{
    struct error e;
    ASSERT_OK(subject_file(subject, path, &e), &e);
    ASSERT_OK(subject_mesh(subject, mesh, &e), &e);
    ASSERT_OK(subject_device(subject, "a100-40", 0, &e), &e);
}

static const char *const models[] = {"small/t2b.mlir", "small/gns.mlir",  "small/t2b_scan.mlir",
                                     "small/itx.mlir", "small/unet.mlir", "small/gpt_torch.mlir"};

/* A random walk: decisions are added until the plan is full, then it starts again; every price afresh and
 * remembered. */
static void session_equals_full_recomputation(void **state)
{
    struct rng rng = {.state = support_seed(7)};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct subject subject;
        char *path = mem_printf("%s%s", SUPPORT_MODELS, models[m]);
        open_model(&subject, path, "data=4,model=2");
        free(path);
        struct evaluator_session *one = evaluator_session_create(subject.evaluator);
        struct plan plan;
        struct error e;
        uint32_t offered;
        const struct plan_decision *decisions = plan_context_decisions(subject.context, &offered);
        assert_true(offered > 0);
        plan_init(&plan, subject.nda, &subject.mesh);
        plan_copy(&plan, plan_context_start(subject.context));
        for (int step = 0; step < 40; step++) {
            if (step % 8 == 0)
                plan_copy(&plan, plan_context_start(subject.context));
            else
                plan_apply(subject.context, &plan, decisions[rng_below(&rng, offered)]);
            struct price fresh = price_afresh(&subject, &plan, NULL), first, again;
            struct cost cost;
            ASSERT_OK(evaluator_price(one, &plan, &first, &cost, &e), &e);
            ASSERT_OK(evaluator_price(one, &plan, &again, NULL, &e), &e);
            assert_memory_equal(&fresh, &first, sizeof fresh);
            assert_memory_equal(&fresh, &again, sizeof fresh);
            struct cost expected = price_cost(&fresh, evaluator_unsharded(subject.evaluator),
                                              subject.machine.memory_limit_bytes);
            assert_true(cost.c == expected.c && cost.over_steps == expected.over_steps);
            assert_true(fresh.step_ps == fresh.compute_ps + fresh.exposed_ps);
            assert_true(fresh.exposed_ps <= fresh.communication_ps);
            assert_true(fresh.critical_path_ps <= fresh.step_ps && fresh.matmul_ps <= fresh.compute_ps);
            assert_true(fresh.peak_bytes >= fresh.argument_bytes + fresh.output_bytes - fresh.alias_bytes);
        }
        plan_release(&plan);
        evaluator_session_destroy(one);
        subject_close(&subject);
    }
}

/* Batch over both axes divides what the arguments hold of data, leaves parameters whole, and is faster than
 * nothing. */
static void replicated_is_the_unsharded_module(void **state)
{
    struct subject subject;
    struct error e;
    open_model(&subject, SUPPORT_MODELS "t2b.mlir.gz", "data=4,model=4");
    const struct price *price = evaluator_unsharded(subject.evaluator);
    struct price start = price_afresh(&subject, plan_context_start(subject.context), NULL);
    assert_memory_equal(&start, price, sizeof start);
    assert_int_equal(price->communication_ps, 0);
    /* 2.507 billion parameters: bfloat16 and two float32 moments, donated */
    assert_in_range(price->argument_bytes, 25060000000, 25080000000);
    assert_int_equal(price->alias_bytes, price->argument_bytes - 2 * 64 * 2048 * 4);
    struct plan_baseline baseline;
    struct plan plan;
    ASSERT_OK(plan_baseline_find(subject.context, "fsdp:data+fsdp:model", &baseline, &e), &e);
    plan_init(&plan, subject.nda, &subject.mesh);
    plan_copy(&plan, plan_context_start(subject.context));
    plan_replay(subject.context, baseline.decisions, &baseline.count, &plan);
    struct price fsdp = price_afresh(&subject, &plan, NULL);
    assert_true(fsdp.step_ps * 10 < price->step_ps);
    assert_true(fsdp.peak_bytes * 10 < price->peak_bytes);
    assert_in_range(fsdp.argument_bytes, price->argument_bytes / 16, price->argument_bytes / 16 + 1000000);
    /* nearly all of the matmuls' FLOPs divide by sixteen (each rounded to a picosecond); their weights are
     * read whole on every device */
    assert_in_range(fsdp.matmul_ps, price->matmul_ps / 16 - 1000, price->matmul_ps / 16 * 5 / 4);
    plan_release(&plan);
    subject_close(&subject);
}

/* the scanned model's steps are counted once an iteration: its matmuls take as long as the rematerialised
 * one's */
static void loops_multiply_time(void **state)
{
    struct subject scan, remat;
    open_model(&scan, SUPPORT_MODELS "t2b_scan.mlir.gz", "data=4,model=4");
    open_model(&remat, SUPPORT_MODELS "t2b_remat.mlir.gz", "data=4,model=4");
    double a = (double)evaluator_unsharded(scan.evaluator)->matmul_ps;
    double b = (double)evaluator_unsharded(remat.evaluator)->matmul_ps;
    assert_true(a > 0.9 * b && a < 1.1 * b);
    subject_close(&scan);
    subject_close(&remat);
}

/* mlp under fsdp:model: the figure of XLA for CPUs to the byte. The gathered blocks of the second weight lie
 * in the result's memory, what they are ordered into does not. XLA for GPUs turns its block alone: 68,608. */
static void ordered_blocks_take_the_results_memory(void **state)
{
    struct subject subject;
    struct plan plan;
    struct plan_baseline baseline;
    struct error e;
    open_model(&subject, SUPPORT_MODELS "mlp.mlir", "data=4,model=2");
    plan_init(&plan, subject.nda, &subject.mesh);
    ASSERT_OK(plan_baseline_find(subject.context, "fsdp:model", &baseline, &e), &e);
    for (uint32_t i = 0; i < baseline.count; i++)
        plan_apply(subject.context, &plan, baseline.decisions[i]);
    assert_int_equal(price_afresh(&subject, &plan, NULL).program_peak_bytes, 67584);
    subject.machine.backend = cost_backend(COST_XLA_CPU);
    assert_int_equal(price_afresh(&subject, &plan, NULL).program_peak_bytes, 71680);
    plan_release(&plan);
    subject_close(&subject);
}

/* in the order that takes most: what is alive at the peak adds up to it, and nothing is higher */
static void check_peak(struct subject *subject, const struct plan *plan)
{
    struct spmd_local local = {0};
    struct price price = price_afresh(subject, plan, NULL);
    struct error e;
    uint32_t count;
    ASSERT_OK(spmd_walk(subject->context, plan, evaluator_options(subject->evaluator), &local, &e), &e);
    assert_int_equal(price_reorder_to_peak(&local, &subject->machine, &price),
                     price.peak_order == COST_ORDER_HIDING ||
                         price.depth_first_peak_bytes > price.program_peak_bytes);
    int64_t *alive = price_timeline(&local, &subject->machine), sum = 0;
    for (uint32_t i = 0; i < local.step_count; i++)
        assert_true(alive[i] <= price.peak_bytes);
    assert_int_equal(alive[price.peak_step], price.peak_bytes);
    struct price_live *live = price_live_at(&local, &subject->machine, price.peak_step, &count);
    for (uint32_t i = 0; i < count; i++)
        sum += live[i].bytes;
    assert_int_equal(sum, price.peak_bytes);
    free(live);
    free(alive);
    spmd_local_release(&local);
}

/* Other orders of the same steps: still a local program, with the same kernels and collectives. */
static void orders_mean_the_same(void **state)
{
    struct rng rng = {.state = support_seed(11)};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct subject subject;
        char *path = mem_printf("%s%s", SUPPORT_MODELS, models[m]);
        open_model(&subject, path, "data=4,model=2");
        free(path);
        /* what a compiler combines and which kernels it joins depends on the order: here they stay apart */
        struct cost_backend apart = *subject.machine.backend;
        apart.combine_bytes = 0;
        apart.fusion &= (uint16_t)~COST_FUSE_SIBLINGS;
        subject.machine.backend = &apart;
        struct plan plan;
        struct error e;
        uint32_t offered;
        const struct plan_decision *decisions = plan_context_decisions(subject.context, &offered);
        plan_init(&plan, subject.nda, &subject.mesh);
        plan_copy(&plan, plan_context_start(subject.context));
        for (int step = 0; step < 4; step++) {
            plan_apply(subject.context, &plan, decisions[rng_below(&rng, offered)]);
            struct price program = price_afresh(&subject, &plan, NULL), other;
            if (program.peak_order == COST_ORDER_HIDING)
                assert_int_equal(program.peak_bytes, program.hiding_peak_bytes);
            else
                assert_int_equal(program.peak_bytes,
                                 program.depth_first_peak_bytes > program.program_peak_bytes
                                     ? program.depth_first_peak_bytes
                                     : program.program_peak_bytes);
            check_peak(&subject, &plan);
            for (int order = COST_ORDER_DEPTH_FIRST; order <= COST_ORDER_MEMORY; order++) {
                struct spmd_local local = {0};
                struct price_scratch *scratch = NULL;
                ASSERT_OK(spmd_walk(subject.context, &plan, evaluator_options(subject.evaluator), &local, &e),
                          &e);
                price_reorder(&local, &subject.machine, &scratch, (enum cost_order)order);
                ASSERT_OK(spmd_local_check(&local, &e), &e);
                struct cost_machine as_they_stand = subject.machine;
                as_they_stand.order = COST_ORDER_PROGRAM;
                price_local(&local, &as_they_stand, &scratch, NULL, &other);
                /* what was priced without putting the steps in that order */
                if (order == COST_ORDER_DEPTH_FIRST && program.peak_order != COST_ORDER_HIDING)
                    assert_int_equal(other.peak_bytes, program.depth_first_peak_bytes);
                assert_int_equal(other.matmul_ps, program.matmul_ps);
                /* which kernels run as one depends on the order */
                if (!(subject.machine.backend->fusion & COST_FUSE_SIBLINGS))
                    assert_int_equal(other.compute_ps, program.compute_ps);
                assert_int_equal(other.communication_ps, program.communication_ps);
                assert_int_equal(other.argument_bytes, program.argument_bytes);
                assert_true(other.peak_bytes >= other.argument_bytes);
                price_scratch_destroy(scratch);
                spmd_local_release(&local);
            }
        }
        plan_release(&plan);
        subject_close(&subject);
    }
}

/* what a report measures at once is what is measured one by one */
static void check_measured(struct subject *subject, const struct plan *plan)
{
    struct spmd_local local = {0};
    struct price_measured measured;
    struct price price = price_afresh(subject, plan, NULL);
    struct error e;
    uint32_t count;
    ASSERT_OK(spmd_walk(subject->context, plan, evaluator_options(subject->evaluator), &local, &e), &e);
    evaluator_measure(subject->evaluator, &local, (enum cost_order)price.peak_order, &measured);
    int64_t *times = price_step_times(&local, &subject->machine);
    struct price_interval *trace = price_trace(&local, &subject->machine, &count);
    assert_int_equal(measured.trace_count, count);
    assert_memory_equal(measured.trace, trace, count * sizeof *trace);
    assert_memory_equal(measured.step_times, times, local.step_count * sizeof *times);
    assert_int_equal(measured.held.alive[measured.held.peak], price.peak_bytes + price.rematerialised_bytes);
    free(times);
    free(trace);
    price_measured_release(&measured);
    spmd_local_release(&local);
}

static void reports_measure_at_once(void **state)
{
    static const char *const devices[] = {"a100-40", "tpu-v5p"};
    struct rng rng = {.state = support_seed(13)};
    for (int d = 0; d < 2; d++) {
        struct subject subject;
        struct plan plan;
        struct error e;
        uint32_t offered;
        open_model(&subject, SUPPORT_MODELS "small/t2b.mlir", "data=4,model=2");
        ASSERT_OK(subject_device(&subject, devices[d], 0, &e), &e);
        const struct plan_decision *decisions = plan_context_decisions(subject.context, &offered);
        plan_init(&plan, subject.nda, &subject.mesh);
        plan_copy(&plan, plan_context_start(subject.context));
        for (int step = 0; step < 6; step++) {
            plan_apply(subject.context, &plan, decisions[rng_below(&rng, offered)]);
            check_measured(&subject, &plan);
        }
        plan_release(&plan);
        subject_close(&subject);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session_equals_full_recomputation),
        cmocka_unit_test(ordered_blocks_take_the_results_memory),
        cmocka_unit_test(orders_mean_the_same),
        cmocka_unit_test(replicated_is_the_unsharded_module),
        cmocka_unit_test(loops_multiply_time),
        cmocka_unit_test(reports_measure_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
