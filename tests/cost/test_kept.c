/* What is held when all that is worth it is computed again (cost/kept.c), against a search that asks every
 * kernel anew what it frees. */
#include "afresh.h"
#include "cost/rematerialise.h"

#include <stdlib.h>

enum { PLANS = 12, TIMES = 6 };

/* the search, by the scratch's line */
struct slow {
    const struct price_scratch *scratch;
    const struct spmd_local *local;
    uint8_t *held;
    VEC(uint32_t) met;
};

static bool may_again(const struct slow *slow, const struct kernel *kernel)
{
    const struct spmd_step *step = &slow->local->steps[kernel->step];
    bool convolves = (kernel->traits & (KERNEL_MULTIPLIES | KERNEL_DOT)) == KERNEL_MULTIPLIES;
    return !(kernel->traits & (KERNEL_SENDS | KERNEL_MARKS | KERNEL_INSIDE)) && !convolves &&
           step_is_local(step->kind) && price_info_of(slow->scratch, step)->class != OP_OTHER;
}

static int64_t frees(const struct slow *slow, const struct kernel *kernel)
{
    const struct spmd_step *step = &slow->local->steps[kernel->step];
    int64_t freed = 0;
    for (uint32_t value = step->results; value < step->results + step->result_count; value++)
        freed += slow->held[value] ? stored_bytes(slow->scratch, slow->local, value) : 0;
    for (uint32_t root = kernel->roots; root < kernel->roots + kernel->root_count; root++) {
        uint32_t read = slow->scratch->pool[root].value;
        if (read >= slow->local->argument_count && !slow->held[read] && !slow->scratch->values[read].homed)
            freed -= stored_bytes(slow->scratch, slow->local, read);
    }
    return freed;
}

static int64_t hold_all(struct slow *slow, uint32_t now)
{
    int64_t bytes = 0;
    for (uint32_t at = 0; at <= now; at++) {
        const struct kernel *kernel = &slow->scratch->line[at];
        const struct spmd_step *step = &slow->local->steps[kernel->step];
        bool any = false;
        for (uint32_t value = step->results; value < step->results + step->result_count; value++) {
            struct live_range range = slow->scratch->ranges[value];
            if (!is_buffer(slow->scratch, value) || range.from > now || range.until <= now)
                continue;
            any = true;
            slow->held[value] = 1;
            bytes += stored_bytes(slow->scratch, slow->local, value);
        }
        if (any && at < now && may_again(slow, kernel))
            VEC_PUSH(&slow->met, at);
    }
    return bytes;
}

static void run_again(struct slow *slow, uint32_t at)
{
    const struct kernel *kernel = &slow->scratch->line[at];
    const struct spmd_step *step = &slow->local->steps[kernel->step];
    for (uint32_t value = step->results; value < step->results + step->result_count; value++)
        slow->held[value] = 0;
    for (uint32_t root = kernel->roots; root < kernel->roots + kernel->root_count; root++) {
        uint32_t read = slow->scratch->pool[root].value, made = slow->local->values[read].step;
        if (read < slow->local->argument_count || slow->held[read] || slow->scratch->values[read].homed)
            continue;
        slow->held[read] = 1;
        if (made != SPMD_NONE && may_again(slow, &slow->scratch->line[slow->scratch->at[made]]))
            VEC_PUSH(&slow->met, slow->scratch->at[made]);
    }
}

/* *rounds: how many kernels run again */
static int64_t slowly(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t now,
                      uint32_t *rounds)
{
    struct slow slow = {scratch, local, mem_zalloc((size_t)local->value_count + 1, 1), {0}};
    int64_t bytes = hold_all(&slow, now);
    for (int64_t most = 1; most > 0; bytes -= most) {
        uint32_t best = 0;
        most = 0;
        for (uint32_t i = 0; i < slow.met.count; i++) {
            int64_t freed = frees(&slow, &scratch->line[slow.met.at[i]]);
            best = freed > most ? slow.met.at[i] : best;
            most = freed > most ? freed : most;
        }
        if (most > 0)
            run_again(&slow, best);
        *rounds += most > 0;
    }
    free(slow.held);
    VEC_FREE(&slow.met);
    return bytes;
}

static void compare(const struct subject *subject, const struct plan *plan, uint32_t *rounds)
{
    struct spmd_local local = {0};
    struct price_scratch *scratch = NULL;
    struct price price;
    struct error e;
    ASSERT_OK(spmd_walk(subject->context, plan, evaluator_options(subject->evaluator), &local, &e), &e);
    price_local(&local, &subject->machine, &scratch, NULL, &price);
    price_memory(scratch, &local, scratch->kernels, COST_ORDER_PROGRAM, &price);
    for (uint32_t i = 0; i < TIMES; i++) {
        uint32_t now = i ? (uint32_t)(scratch->kernel_count - 1) * i / TIMES : scratch->at[price.peak_step];
        assert_int_equal(price_kept_least(scratch, &local, now), slowly(scratch, &local, now, rounds));
    }
    price_scratch_destroy(scratch);
    spmd_local_release(&local);
}

static void what_is_held_is_that_of_a_plain_search(void **state)
{
    static const char *const models[] = {"small/t2b.mlir", "small/gns.mlir", "small/unet.mlir",
                                         "small/gpt_torch.mlir"};
    struct rng rng = {.state = support_seed(12)};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct subject subject;
        struct plan plan;
        struct error e;
        uint32_t offered, rounds = 0;
        char *path = mem_printf("%s%s", SUPPORT_MODELS, models[m]);
        ASSERT_OK(subject_file(&subject, path, &e), &e);
        ASSERT_OK(subject_mesh(&subject, "data=4,model=2", &e), &e);
        ASSERT_OK(subject_device(&subject, "h100", 0, &e), &e);
        const struct plan_decision *decisions = plan_context_decisions(subject.context, &offered);
        plan_init(&plan, subject.nda, &subject.mesh);
        for (uint32_t i = 0; i < PLANS; i++) {
            plan_copy(&plan, plan_context_start(subject.context));
            for (uint64_t left = rng_below(&rng, 5); left; left--)
                plan_apply(subject.context, &plan, decisions[rng_below(&rng, offered)]);
            compare(&subject, &plan, &rounds);
        }
        assert_true(rounds > PLANS); /* more than one kernel a plan, on average */
        plan_release(&plan);
        subject_close(&subject);
        free(path);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_held_is_that_of_a_plain_search)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
