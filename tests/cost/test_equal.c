/* timeout: 120 */
/* What a price depends on (cost/equal.c): plans that walk to the same steps have one price, and whatever a
 * price reads tells two programs apart. */
#include "afresh.h"

#include <stdlib.h>

enum { PLANS = 300 };

static void open_model(struct subject *subject, const char *name)
{
    struct error e;
    char *path = mem_printf("%s%s", SUPPORT_MODELS, name);
    ASSERT_OK(subject_file(subject, path, &e), &e);
    ASSERT_OK(subject_mesh(subject, "data=4,model=2", &e), &e);
    ASSERT_OK(subject_device(subject, "a100-40", 0, &e), &e);
    free(path);
}

/* one factor of a space: many of what costs next to nothing are made as they are wanted */
static void draw_factor(const struct subject *subject, struct rng *rng, struct plan *plan)
{
    plan_copy(plan, plan_context_start(subject->context));
    uint32_t space = (uint32_t)rng_below(rng, subject->nda->space_count);
    plan_apply_factor(subject->context, plan, space, 0, (uint32_t)rng_below(rng, 2));
}

static void draw(const struct subject *subject, struct rng *rng, struct plan *plan)
{
    uint32_t offered;
    const struct plan_decision *decisions = plan_context_decisions(subject->context, &offered);
    plan_copy(plan, plan_context_start(subject->context));
    for (uint64_t left = rng_below(rng, 5); left; left--)
        plan_apply(subject->context, plan, decisions[rng_below(rng, offered)]);
}

static void assert_same(const struct price *one, const struct price *other)
{
    assert_int_equal(one->step_ps, other->step_ps);
    assert_int_equal(one->compute_ps, other->compute_ps);
    assert_int_equal(one->communication_ps, other->communication_ps);
    assert_int_equal(one->exposed_ps, other->exposed_ps);
    assert_int_equal(one->critical_path_ps, other->critical_path_ps);
    assert_int_equal(one->peak_bytes, other->peak_bytes);
    assert_int_equal(one->program_peak_bytes, other->program_peak_bytes);
    assert_int_equal(one->hiding_peak_bytes, other->hiding_peak_bytes);
    assert_int_equal(one->peak_step, other->peak_step);
    assert_int_equal(one->argument_bytes, other->argument_bytes);
    assert_int_equal(one->output_bytes, other->output_bytes);
}

static void equal_steps_have_one_price(void **state)
{
    static const char *const models[] = {"small/t2b.mlir", "small/gns.mlir", "small/t2b_scan.mlir"};
    struct rng rng = {.state = support_seed(11)};
    uint32_t shared = 0;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct subject subject;
        struct plan plan;
        struct hash128 plans[PLANS], identities[PLANS];
        struct price prices[PLANS];
        open_model(&subject, models[m]);
        plan_init(&plan, subject.nda, &subject.mesh);
        for (uint32_t i = 0; i < PLANS; i++) {
            if (i % 2)
                draw(&subject, &rng, &plan);
            else
                draw_factor(&subject, &rng, &plan);
            plans[i] = plan.hash;
            prices[i] = price_afresh(&subject, &plan, &identities[i]);
            for (uint32_t k = 0; k < i; k++) {
                if (hash128_compare(identities[i], identities[k]) != 0) { /* one plan has one */
                    assert_true(hash128_compare(plans[i], plans[k]) != 0);
                    continue;
                }
                shared += hash128_compare(plans[i], plans[k]) != 0;
                assert_same(&prices[i], &prices[k]);
            }
        }
        plan_release(&plan);
        subject_close(&subject);
    }
    assert_true(shared > 0);
}

static void assert_other(const struct spmd_local *local, struct hash128 identity)
{
    assert_true(hash128_compare(price_identity(local), identity) != 0);
}

static void what_is_read_tells_apart(void **state)
{
    struct subject subject;
    struct plan plan;
    struct spmd_local local = {0};
    struct error e;
    struct rng rng = {.state = support_seed(12)};
    open_model(&subject, "small/t2b.mlir");
    plan_init(&plan, subject.nda, &subject.mesh);
    draw(&subject, &rng, &plan);
    ASSERT_OK(spmd_walk(subject.context, &plan, evaluator_options(subject.evaluator), &local, &e), &e);
    struct hash128 identity = price_identity(&local);
    for (uint32_t i = 0; i < local.step_count; i++) {
        struct spmd_step *step = &local.steps[i], before = *step;
        step->op++;
        assert_other(&local, identity);
        *step = before;
        step->trips++;
        assert_other(&local, identity);
        *step = before;
        step->combined ^= 1;
        assert_other(&local, identity);
        *step = before;
        for (uint32_t operand = 0; operand < step->operand_count; operand++) {
            local.operands[step->operands + operand] ^= 1;
            assert_other(&local, identity);
            local.operands[step->operands + operand] ^= 1;
        }
    }
    for (uint32_t i = 0; i < local.value_count; i++) {
        local.values[i].form.at[i % 2] ^= 1;
        assert_other(&local, identity);
        local.values[i].form.at[i % 2] ^= 1;
        local.values[i].bytes ^= 64;
        assert_other(&local, identity);
        local.values[i].bytes ^= 64;
    }
    assert_true(hash128_compare(price_identity(&local), identity) == 0);
    spmd_local_release(&local);
    plan_release(&plan);
    subject_close(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_steps_have_one_price),
                                       cmocka_unit_test(what_is_read_tells_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
