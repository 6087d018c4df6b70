/* links: cfn */
/* The solver on small random networks against brute force: bounds never above the optimum, answers what the
 * referee says; the same bytes with one thread and two; verdicts on infeasible problems. */
#include "tests/cfn/random_problem.h"

#include "cfn/crossover.h"
#include "cfn/dual.h"
#include "cfn/load.h"
#include "cfn/repair.h"
#include "cfn/solve.h"

static struct cfn_budget small_budget(uint64_t units, uint64_t seed)
{
    return (struct cfn_budget){.units = units, .threads = 1, .seed = seed};
}

struct tally {
    int rounds, optimal, proved, infeasible,
        large; /* large: the optimum needs a cost of CFN_LARGE or above */
};

static uint64_t units = 2; /* of each problem's budget */

static void check_problem(const struct cfn_problem *problem, uint64_t seed, unsigned without,
                          struct tally *tally)
{
    struct cfn_budget budget = small_budget(units, seed);
    struct cfn_answer answer;
    struct error e;
    __int128 best = 0;
    budget.without = without;
    int exists = brute_force(problem, &best);
    ASSERT_OK(cfn_solve(problem, &budget, &answer, &e), &e);
    tally->rounds++;
    if ((answer.status == CFN_STATUS_INFEASIBLE) == exists)
        fail_msg("seed %llu: status %d, but an assignment exists: %d", (unsigned long long)seed,
                 answer.status, exists);
    tally->infeasible += !exists;
    if (exists) {
        struct cfn_verdict verdict;
        ASSERT_OK(cfn_evaluate(problem, answer.values, &verdict, &e), &e);
        assert_true(verdict.feasible && verdict.cost == answer.verdict.cost);
        if (answer.has_bound && answer.bound > best)
            fail_msg("seed %llu: bound %lld above the optimum %lld", (unsigned long long)seed,
                     (long long)answer.bound, (long long)best);
        if (answer.status == CFN_STATUS_OPTIMAL && verdict.cost != best)
            fail_msg("seed %llu: called optimal at %lld, optimum %lld", (unsigned long long)seed,
                     (long long)verdict.cost, (long long)best);
        tally->large += best >= CFN_LARGE;
        tally->optimal += verdict.cost == best;
        tally->proved += answer.status == CFN_STATUS_OPTIMAL;
    }
    cfn_answer_release(&answer);
}

static struct tally check_many(const struct random_shape *shape, int rounds, unsigned without)
{
    struct cfn_problem problem;
    struct tally tally = {0};
    uint64_t start = support_seed(77);
    for (int round = 0; round < rounds; round++) {
        struct rng rng = {start + (uint64_t)round * 7919};
        random_problem(&rng, shape, &problem);
        check_problem(&problem, start + (uint64_t)round, without, &tally);
        cfn_problem_release(&problem);
    }
    print_message("%d problems: %d infeasible, %d optimal, %d proved\n", tally.rounds, tally.infeasible,
                  tally.optimal, tally.proved);
    return tally;
}

static const struct random_shape plain = {6, 4, 12, 0.1, 0.15, 0.2, 50, 1, 1};
static const struct random_shape hard = {7, 3, 18, 0.02, 0.0, 0.0, 1000000, 0, 1};
static const struct random_shape large = {5, 3, 8, 0.5, 0.0, 0.0, 1000000000, 0, 1};

/* branch and bound alone: everything this small is settled */
static void branching(void **state)
{
    struct tally tally = check_many(&plain, 400, 0);
    assert_int_equal(tally.proved, tally.rounds - tally.infeasible - tally.large);
    tally = check_many(&hard, 200, CFN_WITHOUT_REDUCTION);
    assert_int_equal(tally.proved, tally.rounds - tally.infeasible - tally.large);
    check_many(&large, 300, 0);
}

static void random_networks(void **state)
{
    struct tally tally = check_many(&plain, 500, CFN_WITHOUT_BRANCH);
    assert_true(tally.optimal >= (tally.rounds - tally.infeasible) * 95 / 100);
    assert_true(tally.infeasible > tally.rounds / 50);
    tally = check_many(&hard, 300, CFN_WITHOUT_BRANCH);
    assert_true(tally.optimal >= (tally.rounds - tally.infeasible) * 95 / 100);
    check_many(&large, 300, CFN_WITHOUT_BRANCH);
}

/* prove.c: with it nearly all of these are proved, without it fewer; bounds hold in both */
static void branching_under_multipliers(void **state)
{
    static const struct random_shape tight = {7, 4, 10, 0.02, 0.0, 0.0, 1000, 0, 1};
    const unsigned bare = CFN_WITHOUT_BRANCH | CFN_WITHOUT_REDUCTION;
    units = 30;
    struct tally with = check_many(&tight, 200, bare);
    struct tally lacking = check_many(&tight, 200, bare | CFN_WITHOUT_PROVE);
    units = 2;
    assert_true(with.proved > lacking.proved);
    assert_true(with.proved >= (with.rounds - with.infeasible - with.large) * 95 / 100);
}

static void without_reductions(void **state)
{
    struct tally tally = check_many(&hard, 200, CFN_WITHOUT_REDUCTION | CFN_WITHOUT_BRANCH);
    assert_true(tally.optimal >= (tally.rounds - tally.infeasible) * 90 / 100);
    check_many(&plain, 200, CFN_WITHOUT_REDUCTION | CFN_WITHOUT_BRANCH);
}

/* certified bounds of a network under arbitrary multipliers, before any convergence */
static void bounds_under_any_multipliers(void **state)
{
    uint64_t start = support_seed(5);
    int checked = 0, quick_checked = 0;
    for (int round = 0; round < 1500; round++) {
        struct rng rng = {start + (uint64_t)round * 31};
        struct cfn_problem problem;
        struct cfn_network *n;
        struct cfn_model model;
        struct cfn_trws trws;
        struct error e;
        __int128 best = 0;
        random_problem(&rng, round % 2 ? &plain : &hard, &problem);
        ASSERT_OK(cfn_network_create(&problem, true, &n, &e), &e);
        cfn_reduce(n, CFN_RULE_CONSISTENCY | CFN_RULE_MEMORY, NULL, NULL);
        if (!n->wiped && brute_force(&problem, &best) && best < CFN_LARGE) {
            cfn_model_create(n, &model);
            cfn_trws_create(&model, &trws);
            double *lambda = mem_zalloc((size_t)model.time_count + 1, sizeof *lambda);
            for (int k = 0; k < 4; k++) {
                for (int32_t i = 0; i < model.time_count; i++)
                    lambda[i] =
                        rng_unit(&rng) < 0.5 ? 0 : rng_unit(&rng) * (double)(1 << rng_below(&rng, 16));
                cfn_trws_price(&trws, lambda);
                double estimate = cfn_trws_iterate(&trws);
                int64_t bound = cfn_trws_certify(&trws);
                if (bound > best || estimate > (double)best + 1e-6 * (1 + (double)(best < 0 ? -best : best)))
                    fail_msg("seed %llu: bound %lld, estimate %f, optimum %lld",
                             (unsigned long long)start + round, (long long)bound, estimate, (long long)best);
                checked++;
                int64_t quick = cfn_trws_certify_quickly(&trws);
                if (quick > best)
                    fail_msg("seed %llu: quick bound %lld, optimum %lld", (unsigned long long)start + round,
                             (long long)quick, (long long)best);
                quick_checked += quick != INT64_MIN;
            }
            free(lambda);
            cfn_trws_release(&trws);
            cfn_model_release(&model);
        }
        cfn_network_destroy(n);
        cfn_problem_release(&problem);
    }
    print_message("%d bounds, %d quick ones\n", checked, quick_checked);
    assert_true(checked > 2000);
    assert_true(quick_checked > 1000);
}

/* the incremental state agrees with evaluation from scratch, through commits and reverts */
static void state_follows(void **state)
{
    static const struct random_shape shape = {30, 5, 60, 0.1, 0.1, 0.1, 100, 1, 1};
    struct rng rng = {support_seed(3)};
    for (int round = 0; round < 60; round++) {
        struct cfn_problem problem;
        struct cfn_network *n;
        struct cfn_model model;
        struct cfn_state state;
        struct cfn_point check;
        struct error e;
        random_problem(&rng, &shape, &problem);
        ASSERT_OK(cfn_network_create(&problem, false, &n, &e), &e);
        cfn_model_create(n, &model);
        cfn_state_create(&model, &state);
        cfn_point_create(&model, &check);
        int64_t *profile = mem_zalloc((size_t)model.time_count + 1, sizeof *profile);
        cfn_state_load(&state, &check);
        for (int k = 0; k < 100; k++) {
            int32_t nodes[30], old[30], count = 0;
            for (int32_t i = 0; i < model.node_count; i++)
                if (rng_below(&rng, 3) == 0) {
                    old[count] = state.at.value[i];
                    nodes[count++] = i;
                    state.at.value[i] = (int32_t)rng_below(&rng, (uint64_t)model.size[i]);
                }
            cfn_state_commit(&state, nodes, old, count);
            if (rng_below(&rng, 2))
                cfn_state_revert(&state, nodes, old, count);
            cfn_point_copy(&model, &check, &state.at);
            cfn_point_evaluate(&model, &check, profile);
            assert_true(check.cost == state.at.cost && check.forbidden == state.at.forbidden &&
                        check.worst == state.at.worst);
        }
        free(profile);
        cfn_point_release(&check);
        cfn_state_release(&state);
        cfn_model_release(&model);
        cfn_network_destroy(n);
        cfn_problem_release(&problem);
    }
}

static void same_with_one_thread_and_two(void **state)
{
    static const struct random_shape shape = {60, 8, 140, 0.02, 0.05, 0.05, 1000, 0, 1};
    uint64_t start = support_seed(11);
    for (int round = 0; round < 6; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        struct cfn_answer answer, cfn_answer;
        struct error e;
        do {
            random_problem(&rng, &shape, &problem);
            if (problem.node_count < 30)
                cfn_problem_release(&problem);
        } while (problem.node_count < 30);
        struct cfn_budget budget = small_budget(60, start);
        ASSERT_OK(cfn_solve(&problem, &budget, &answer, &e), &e);
        budget.threads = 2;
        ASSERT_OK(cfn_solve(&problem, &budget, &cfn_answer, &e), &e);
        assert_int_equal(answer.status, cfn_answer.status);
        assert_true(answer.status == CFN_STATUS_INFEASIBLE ||
                    (answer.reproducible && cfn_answer.reproducible));
        assert_true(answer.has_bound == cfn_answer.has_bound && answer.bound == cfn_answer.bound &&
                    answer.units == cfn_answer.units);
        if (answer.values)
            assert_memory_equal(answer.values, cfn_answer.values, problem.node_count * sizeof *answer.values);
        cfn_answer_release(&answer);
        cfn_answer_release(&cfn_answer);
        cfn_problem_release(&problem);
    }
}

static void infeasible_is_exact(void **state)
{
    static const char text[] = "{\"intervals\":[[0,5],[3,9],[9,9]],\"costs\":[[1,2],[1,1],[0]],"
                               "\"usages\":[[4,7],[6,5],[99]],\"usage_limit\":8}";
    struct cfn_problem problem;
    struct cfn_answer answer;
    struct error e;
    struct cfn_budget budget = small_budget(10, 1);
    ASSERT_OK(cfn_problem_read(text, strlen(text), &problem, &e), &e);
    ASSERT_OK(cfn_solve(&problem, &budget, &answer, &e), &e);
    assert_int_equal(answer.status, CFN_STATUS_INFEASIBLE);
    assert_int_equal(answer.verdict.violated_time, 3);
    assert_true(answer.verdict.violated_usage == 9);
    assert_null(answer.values);
    cfn_answer_release(&answer);
    cfn_problem_release(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branching),
        cmocka_unit_test(random_networks),
        cmocka_unit_test(branching_under_multipliers),
        cmocka_unit_test(without_reductions),
        cmocka_unit_test(bounds_under_any_multipliers),
        cmocka_unit_test(state_follows),
        cmocka_unit_test(same_with_one_thread_and_two),
        cmocka_unit_test(infeasible_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
