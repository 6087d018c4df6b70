/* links: cfn */
/* Dives by themselves: on problems whose answers share a class in every node they find better valleys than
 * landings with nothing held do, for the same work, under prices that no dual has made; one thread and two
 * give the same bytes; what a pass says of a single value is never above what the best assignment with it
 * costs; messages, prices and a phase's beginning are left as they were. */
#include "tests/cfn/grid_problem.h"
#include "tests/cfn/random_problem.h"

#include "cfn/dive.h"
#include "cfn/load.h"
#include "cfn/reduce.h"
#include "cfn/solve.h"

#include <math.h>

static const struct random_shape plain = {6, 4, 12, 0.1, 0.15, 0.2, 50, 1, 1};
static const struct random_shape hard = {7, 3, 18, 0.02, 0.0, 0.0, 1000000, 0, 1};

/* A grid in which neighbours want one class, and each class has its own cost a node: valleys as deep as they
 * are wide. Classes are values mod CLASSES. */
enum { SIDE = 7, CLASSES = 4, CHANGE = 150 };

static int64_t class_entry(struct rng *rng, int a, int b)
{
    return (a % CLASSES == b % CLASSES ? 0 : CHANGE) + (int64_t)rng_below(rng, 20);
}

static void valleys(struct rng *rng, struct cfn_problem *problem)
{
    grid_problem(rng, SIDE, 100, class_entry, 130, problem);
}

static void same_with_one_thread_and_two(void **state)
{
    uint64_t start = support_seed(911);
    (void)state;
    for (int round = 0; round < 4; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        valleys(&rng, &problem);
        solve_alike(&problem, (struct cfn_budget){.units = 150, .seed = start, .without = CFN_WITHOUT_LNS});
        cfn_problem_release(&problem);
    }
}

/* ---- dives against landings, under prices that no dual has made ---- */

enum { PROBLEMS = 8, PRICES = 4, PHASE = 6 << 20, PASSES = 40 };

static const double prices[PRICES] = {1, 1.5, 2,
                                      3}; /* of a unit of usage: from near the limit to far within it */

struct ready {
    struct cfn_problem problem;
    struct cfn_network *n;
    struct cfn_model model;
    struct cfn_worker worker;
};

/* a worker whose multipliers are the same at every time, with messages and an estimate of the bound */
static void make_ready(struct ready *ready, uint64_t seed, double price)
{
    struct rng rng = {seed};
    struct error e;
    valleys(&rng, &ready->problem);
    ASSERT_OK(cfn_network_create(&ready->problem, true, &ready->n, &e), &e);
    cfn_reduce(ready->n, CFN_RULE_ALL, NULL, NULL);
    assert_false(ready->n->wiped);
    cfn_model_create(ready->n, &ready->model);
    cfn_worker_create(&ready->model, 0, 1, &ready->worker);
    for (int32_t time = 0; time < ready->model.time_count; time++)
        ready->worker.best_lambda[time] = price;
    cfn_trws_price(&ready->worker.trws, ready->worker.best_lambda);
    for (int k = 0; k < PASSES; k++)
        ready->worker.best_estimate = cfn_trws_iterate(&ready->worker.trws);
    ready->worker.phase_end = PHASE;
    cfn_worker_begin(&ready->worker);
}

static void release_ready(struct ready *ready)
{
    cfn_worker_release(&ready->worker);
    cfn_model_release(&ready->model);
    cfn_network_destroy(ready->n);
    cfn_problem_release(&ready->problem);
}

static double best_of(const struct cfn_worker *worker)
{
    return worker->has_best ? (double)worker->best.cost : HUGE_VAL;
}

/* what is in the pool is what it says, and the best of it is the best */
static void check_pool(struct ready *ready)
{
    struct cfn_point again;
    cfn_point_create(&ready->model, &again);
    for (int k = 0; k < ready->worker.pool.count; k++) {
        cfn_point_copy(&ready->model, &again, &ready->worker.pool.at[k]);
        cfn_point_evaluate(&ready->model, &again, ready->worker.profile);
        assert_true(cfn_point_feasible(&again) && again.cost == ready->worker.pool.at[k].cost);
        assert_true(again.cost >= ready->worker.best.cost);
    }
    cfn_point_release(&again);
}

/* What holding a value is worth, whatever the multipliers: equal work on dives and on landings with nothing
 * held, from the same messages under the same prices. No dual phase runs, so none decides this test. */
static void dives_find_other_valleys(void **state)
{
    uint64_t start = support_seed(921);
    int better = 0, worse = 0;
    (void)state;
    for (int round = 0; round < PROBLEMS * PRICES; round++) {
        struct ready with, plain_landing;
        uint64_t seed = start + (uint64_t)(round / PRICES);
        make_ready(&with, seed, prices[round % PRICES]);
        make_ready(&plain_landing, seed, prices[round % PRICES]);
        cfn_dive_phase(&with.worker);
        while (!cfn_worker_done(&plain_landing.worker))
            cfn_dive_land(&plain_landing.worker);
        check_pool(&with);
        better += best_of(&with.worker) < best_of(&plain_landing.worker);
        worse += best_of(&with.worker) > best_of(&plain_landing.worker);
        release_ready(&with);
        release_ready(&plain_landing);
    }
    print_message("of %d: dives better %d, landings better %d\n", PROBLEMS * PRICES, better, worse);
    assert_true(better > PROBLEMS * PRICES / 2 && better > 8 * worse);
}

/* the least cost with value `fixed` of node i, infinite when none fits */
static double least_with(const struct cfn_model *model, int32_t node, int32_t fixed)
{
    struct cfn_point point;
    double best = HUGE_VAL;
    int64_t *profile = mem_zalloc((size_t)model->time_count + 1, sizeof *profile);
    cfn_point_create(model, &point);
    do {
        if (point.value[node] != fixed)
            continue;
        cfn_point_evaluate(model, &point, profile);
        if (cfn_point_feasible(&point) && (double)point.cost < best)
            best = (double)point.cost;
    } while (next_assignment(model->size, (uint32_t)model->node_count, point.value));
    free(profile);
    cfn_point_release(&point);
    return best;
}

static int check_values(const struct cfn_model *model, struct rng *rng)
{
    struct cfn_trws trws;
    double *lambda = mem_zalloc((size_t)model->time_count + 1, sizeof *lambda),
           *estimate = mem_zalloc(model->value_count + 1, sizeof *estimate);
    int64_t *least = mem_zalloc(model->value_count + 1, sizeof *least);
    int checked = 0;
    cfn_trws_create(model, &trws);
    for (int round = 0; round < 3; round++) {
        for (int32_t time = 0; time < model->time_count; time++)
            lambda[time] = rng_unit(rng) < 0.5 ? 0 : rng_unit(rng) * (double)(1 << rng_below(rng, 16));
        cfn_trws_price(&trws, lambda);
        (void)cfn_trws_marginals(&trws, estimate);
        cfn_trws_certify_values(&trws, least);
        for (int32_t i = 0; i < model->node_count; i++)
            for (int32_t a = 0; a < model->size[i]; a++, checked++) {
                size_t at = model->offset[i] + (size_t)a;
                double exact = least_with(model, i, a), slack = 1e-6 * (1 + fabs(exact));
                if ((double)least[at] > exact || estimate[at] > exact + slack)
                    fail_msg("node %d value %d: certified %lld, estimate %f, least %f", i, a,
                             (long long)least[at], estimate[at], exact);
            }
    }
    cfn_trws_release(&trws);
    free(lambda);
    free(estimate);
    free(least);
    return checked;
}

static void values_cost_at_least_what_is_said(void **state)
{
    uint64_t start = support_seed(931);
    int checked = 0;
    (void)state;
    for (int round = 0; round < 250; round++) {
        struct rng rng = {start + (uint64_t)round * 31};
        struct cfn_problem problem;
        struct cfn_network *n;
        struct cfn_model model;
        struct error e;
        random_problem(&rng, round % 2 ? &plain : &hard, &problem);
        ASSERT_OK(cfn_network_create(&problem, true, &n, &e), &e);
        cfn_reduce(n, CFN_RULE_CONSISTENCY | CFN_RULE_MEMORY, NULL, NULL);
        if (!n->wiped) {
            cfn_model_create(n, &model);
            checked += check_values(&model, &rng);
            cfn_model_release(&model);
        }
        cfn_network_destroy(n);
        cfn_problem_release(&problem);
    }
    print_message("%d values\n", checked);
    assert_true(checked > 3000);
}

static void a_phase_leaves_messages_and_prices(void **state)
{
    uint64_t start = support_seed(941);
    int answers = 0;
    (void)state;
    for (int round = 0; round < PRICES; round++) {
        struct ready ready;
        make_ready(&ready, start, prices[round]);
        struct cfn_worker *worker = &ready.worker;
        size_t size = ready.model.message_count * sizeof(double);
        double *kept = mem_alloc(size + 1);
        memcpy(kept, worker->trws.message, size);
        cfn_dive_phase(worker);
        assert_true(worker->work >= worker->phase_end);
        assert_memory_equal(kept, worker->trws.message, size);
        assert_null(worker->trws.dropped);
        for (int32_t time = 0; time < ready.model.time_count; time++)
            assert_true(
                fabs(worker->trws.prices[time + 1] - worker->trws.prices[time] - worker->best_lambda[time]) <=
                1e-9 * (1 + worker->trws.prices[ready.model.time_count]));
        answers += worker->pool.count;
        free(kept);
        release_ready(&ready);
    }
    assert_true(answers > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_with_one_thread_and_two),
                                       cmocka_unit_test(dives_find_other_valleys),
                                       cmocka_unit_test(values_cost_at_least_what_is_said),
                                       cmocka_unit_test(a_phase_leaves_messages_and_prices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
