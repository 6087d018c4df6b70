/* timeout: 300 */
/* The search on real programs: the optimum of tiny ones, never worse than a baseline, the same bytes on
 * any number of threads, decisions that replay, rewards in the order of plans. */
#include "subject.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcts/core.h"

static void open_subject(struct subject *p, const char *model, const char *mesh, int64_t memory_limit)
{
    struct error e;
    char path[512];
    snprintf(path, sizeof path, "%s%s", SUPPORT_MODELS, model);
    ASSERT_OK(subject_file(p, path, &e), &e);
    ASSERT_OK(subject_mesh(p, mesh, &e), &e);
    ASSERT_OK(subject_device(p, "a100-40", memory_limit, &e), &e);
}

static struct search_state solve(const struct search *s, uint32_t threads)
{
    struct search_state state;
    struct error e;
    bool reproducible = false;
    ASSERT_OK(search_run(s, threads, 0, NULL, NULL, &state, &reproducible, &e), &e);
    assert_true(reproducible);
    return state;
}

/* plan_apply's own replay must reach the hash, and the price must be the plan's */
static void check_best(const struct subject *p, const struct search_plan *best)
{
    struct plan_decision list[SEARCH_MAX_LIST];
    struct plan plan;
    struct price price;
    struct cost cost;
    struct error e;
    uint32_t count = best->count;
    memcpy(list, best->decisions, sizeof list);
    plan_init(&plan, p->nda, &p->mesh);
    plan_replay(p->context, list, &count, &plan);
    assert_int_equal(count, best->count); /* no decision is without effect */
    assert_int_equal(hash128_compare(plan.hash, best->hash), 0);
    struct evaluator_session *session = evaluator_session_create(p->evaluator);
    ASSERT_OK(evaluator_price(session, &plan, &price, &cost, &e), &e);
    assert_int_equal(cost.c, best->cost.c);
    assert_int_equal(cost.over_steps, best->cost.over_steps);
    assert_int_equal(price.step_ps, best->price.step_ps);
    evaluator_session_destroy(session);
    plan_release(&plan);
}

/* best of every plan that a list of decisions reaches */
static uint32_t exhaust(const struct subject *p, struct cost *best)
{
    struct search_domain *d;
    struct error e;
    ASSERT_OK(search_domain_create(p->evaluator, &d, &e), &e);
    struct evaluator_session *evaluator = evaluator_session_create(p->evaluator);
    void *session = d->session_create(d, evaluator);
    struct tree seen = {0};
    VEC(struct search_list) lists = {NULL, 0, 0};
    struct search_list empty = {.count = 0};
    struct hash128 hash, best_hash;
    struct price price;
    d->replay(session, &empty, &best_hash);
    ASSERT_OK(d->price(session, &empty, &price, best, &e), &e);
    tree_node(&seen, tree_state(best_hash), NULL, 0);
    VEC_PUSH(&lists, empty);
    for (size_t i = 0; i < lists.count; i++) {
        assert_in_range(lists.count, 0, 50000);
        for (uint32_t a = 0; a < d->decision_count; a++) {
            struct search_list next = lists.at[i];
            struct cost cost;
            if (!core_list_insert(&next, next.count, (uint16_t)a))
                continue;
            d->replay(session, &next, &hash);
            if (tree_find(&seen, tree_state(hash)) != TREE_NONE)
                continue;
            tree_node(&seen, tree_state(hash), next.at, next.count);
            VEC_PUSH(&lists, next);
            ASSERT_OK(d->price(session, &next, &price, &cost, &e), &e);
            if (cost_compare(cost, hash, *best, best_hash) < 0) {
                *best = cost;
                best_hash = hash;
            }
        }
    }
    uint32_t count = (uint32_t)lists.count;
    VEC_FREE(&lists);
    tree_release(&seen);
    d->session_destroy(session);
    evaluator_session_destroy(evaluator);
    d->destroy(d);
    return count;
}

static void tiny_programs_are_solved(void **state)
{
    (void)state;
    static const struct {
        const char *model, *mesh;
        int64_t limit;
    } cases[] = {{"mlp.mlir", "a=4,b=2", 0},
                 {"mlp.mlir", "a=8", 0},
                 {"mlp.mlir", "a=2,b=2", 300000},
                 {"paper_attention.mlir", "a=4", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct subject p;
        struct search *s;
        struct error e;
        struct cost best;
        open_subject(&p, cases[i].model, cases[i].mesh, cases[i].limit);
        uint32_t plans = exhaust(&p, &best);
        assert_true(plans > 1);
        struct search_options o = {.no_baselines = 1};
        ASSERT_OK(search_create(p.evaluator, &o, &s, &e), &e);
        struct search_state x = solve(s, 2);
        check_best(&p, &x.best);
        assert_int_equal(x.best.cost.over_steps, best.over_steps);
        assert_int_equal(x.best.cost.c, best.c);
        search_destroy(s);
        subject_close(&p);
    }
}

/* more is better: the reward must not order two plans against cost_compare */
static void check_rewards(const struct search *s)
{
    for (uint32_t i = 0; i < search_baseline_count(s); i++)
        for (uint32_t k = 0; k < search_baseline_count(s); k++) {
            const struct search_plan *a = search_baseline(s, i), *b = search_baseline(s, k);
            if (cost_compare(a->cost, a->hash, b->cost, b->hash) < 0 &&
                core_reward(s, a->cost) < core_reward(s, b->cost))
                fail_msg("%s (%ld, %ld) is the better plan, %s (%ld, %ld) has the higher reward", a->found_by,
                         (long)a->cost.over_steps, (long)a->cost.c, b->found_by, (long)b->cost.over_steps,
                         (long)b->cost.c);
        }
}

static void never_worse_than_a_baseline_on(const char *model, int64_t limit)
{
    struct subject p;
    struct search *s;
    struct error e;
    open_subject(&p, model, "data=4,model=2", limit);
    struct search_options o = {.seed = 7, .rollouts = 600};
    ASSERT_OK(search_create(p.evaluator, &o, &s, &e), &e);
    struct search_state one = solve(s, 1), two = solve(s, 2);
    assert_memory_equal(&one, &two, sizeof one);
    assert_true(search_baseline_count(s) >= 2);
    for (uint32_t i = 0; i < search_baseline_count(s); i++) {
        const struct search_plan *b = search_baseline(s, i);
        if (cost_compare(b->cost, b->hash, one.best.cost, one.best.hash) < 0)
            fail_msg("%s: %s is better than what the search found (%s)", model, b->found_by,
                     one.best.found_by);
    }
    check_rewards(s);
    check_best(&p, &one.best);
    search_destroy(s);
    subject_close(&p);
}

static void small_models_beat_their_baselines(void **state)
{
    (void)state;
    static const char *const models[] = {"small/t2b.mlir", "small/itx.mlir", "small/gns.mlir",
                                         "small/gpt_torch.mlir"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        never_worse_than_a_baseline_on(models[i], 0);
}

/* at the size of the papers, where some plans fit and most do not */
/* small/gpt on eight devices: with 1.06 MB a plan fits only when weights are gathered again (the least
 * that the search finds without is 1.16 MB, docs/performance.md). Where a baseline fits these are no
 * actions, and the search is as it was. */
static void weights_are_gathered_again_where_memory_binds(void **state)
{
    (void)state;
    static const int64_t limits[] = {1060000, 0};
    for (size_t i = 0; i < 2; i++) {
        struct subject p;
        struct search *s;
        struct error e;
        uint32_t offered, regathers, found = 0;
        open_subject(&p, "small/gpt.mlir", "data=8", limits[i]);
        plan_context_decisions(p.context, &offered);
        plan_context_regathers(p.context, &regathers);
        assert_true(regathers > 0);
        struct search_options o = {0};
        ASSERT_OK(search_create(p.evaluator, &o, &s, &e), &e);
        assert_int_equal(s->domain->decision_count, limits[i] ? offered + regathers : offered);
        if (limits[i]) {
            struct search_state x = solve(s, 2);
            check_best(&p, &x.best);
            assert_int_equal(x.best.cost.over_steps, 0);
            for (uint32_t k = 0; k < x.best.count; k++)
                found += x.best.decisions[k].scope == PLAN_SCOPE_REGATHER;
            assert_true(found > 0);
        }
        search_destroy(s);
        subject_close(&p);
    }
}

static void rewards_order_the_baselines_of_the_corpus(void **state)
{
    (void)state;
    static const char *const models[] = {"t2b.mlir.gz",      "t2b_scan.mlir.gz", "t2b_remat.mlir.gz",
                                         "gns.mlir.gz",      "unet.mlir.gz",     "itx.mlir.gz",
                                         "gpt_torch.mlir.gz"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct subject p;
        struct search *s;
        struct error e;
        open_subject(&p, models[i], "data=4,model=4", 0);
        struct search_options o = {.method = SEARCH_BASELINES};
        ASSERT_OK(search_create(p.evaluator, &o, &s, &e), &e);
        check_rewards(s);
        struct search_state x = solve(s, 1); /* the best baseline wins */
        for (uint32_t b = 0; b < search_baseline_count(s); b++) {
            const struct search_plan *plan = search_baseline(s, b);
            assert_true(cost_compare(x.best.cost, x.best.hash, plan->cost, plan->hash) <= 0);
        }
        search_destroy(s);
        subject_close(&p);
    }
}

static void per_action_search_runs(void **state)
{
    (void)state;
    struct subject p;
    struct search *s;
    struct error e;
    open_subject(&p, "mlp.mlir", "a=4,b=2", 0);
    struct search_options o = {.method = SEARCH_PER_ACTION, .rollouts = 200};
    ASSERT_OK(search_create(p.evaluator, &o, &s, &e), &e);
    struct search_state x = solve(s, 2);
    assert_true(x.best.count > 0);
    assert_true(x.best.cost.c < (int64_t)1 << 32);
    search_destroy(s);
    subject_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_programs_are_solved),
        cmocka_unit_test(small_models_beat_their_baselines),
        cmocka_unit_test(weights_are_gathered_again_where_memory_binds),
        cmocka_unit_test(rewards_order_the_baselines_of_the_corpus),
        cmocka_unit_test(per_action_search_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
