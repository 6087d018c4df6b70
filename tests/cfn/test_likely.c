/* links: cfn */
/* label: unit */
/* Phases among likely values: on random networks, clustered or not, every assignment of the inner model that
 * is tried costs, uses and forbids what the whole model says; the worker's answers and elites are in it, and
 * what is found there becomes the worker's, never dearer than before, while multipliers and messages stay;
 * trying all of it finds the optimum of most networks though a good part of the values is left out, and so
 * does branching, which leaves bound and leaves alone. Without an answer the phase is the worker's own. In
 * the search one thread and two give the same bytes. */
#include "tests/cfn/grid_problem.h"
#include "tests/cfn/random_problem.h"

#include "cfn/dual.h"
#include "cfn/likely.h"
#include "cfn/load.h"
#include "cfn/prove.h"
#include "cfn/reduce.h"
#include "cfn/tighten.h"

static const struct random_shape shape = {7, 5, 30, 0.05, 0.1, 0.1, 1000, 0, 1};

/* what the inner phase saw; one test at a time */
static struct {
    int64_t cost; /* of the worker's best before it */
    size_t values;
    int calls;
} seen;

static size_t values_of(const struct cfn_model *model)
{
    size_t count = 0;
    for (int32_t i = 0; i < model->node_count; i++)
        count += (size_t)model->size[i];
    return count;
}

/* a phase: records every assignment, as the model at hand prices it */
static void try_all(struct cfn_worker *worker)
{
    struct cfn_point point;
    assert_true(worker->has_best && worker->best.cost == seen.cost);
    seen.values = values_of(worker->model);
    seen.calls++;
    cfn_point_create(worker->model, &point);
    for (int k = -1; k < worker->pool.count; k++) { /* what was known is here under its own price */
        const struct cfn_point *known = k < 0 ? &worker->best : &worker->pool.at[k];
        cfn_point_copy(worker->model, &point, known);
        cfn_point_evaluate(worker->model, &point, worker->profile);
        assert_true(point.cost == known->cost && cfn_point_feasible(&point));
    }
    memset(point.value, 0, (size_t)worker->model->node_count * sizeof *point.value);
    do {
        cfn_point_evaluate(worker->model, &point, worker->profile);
        cfn_worker_record(worker, &point);
    } while (next_assignment(worker->model->size, (uint32_t)worker->model->node_count, point.value));
    cfn_point_release(&point);
    worker->work += 1000;
}

static void count_call(struct cfn_worker *worker)
{
    seen.calls++;
    seen.values = values_of(worker->model);
}

struct network {
    struct cfn_problem problem;
    struct cfn_network *n;
    struct cfn_model model;
    struct cfn_worker worker;
    int64_t optimum; /* INT64_MAX: none */
};

/* multipliers at random, a few answers at random for elites; false: nothing is possible */
static bool make(struct network *network, struct rng *rng)
{
    struct error e;
    struct cfn_point point;
    random_problem(rng, &shape, &network->problem);
    random_narrow(&network->problem, rng);
    ASSERT_OK(cfn_network_create(&network->problem, true, &network->n, &e), &e);
    cfn_reduce(network->n, CFN_RULE_CONSISTENCY | CFN_RULE_MEMORY, NULL, NULL);
    network->optimum = INT64_MAX;
    if (network->n->wiped)
        return false;
    cfn_model_create(network->n, &network->model);
    struct cfn_worker *worker = &network->worker;
    cfn_worker_create(&network->model, 0, rng_next(rng), worker);
    worker->phase_end = UINT64_MAX;
    cfn_point_create(&network->model, &point);
    do {
        cfn_point_evaluate(&network->model, &point, worker->profile);
        if (!cfn_point_feasible(&point))
            continue;
        network->optimum = point.cost < network->optimum ? point.cost : network->optimum;
        if (!worker->has_best || rng_below(rng, 100) == 0)
            cfn_worker_record(worker, &point);
    } while (next_assignment(network->model.size, (uint32_t)network->model.node_count, point.value));
    cfn_point_release(&point);
    for (int32_t time = 0; time < network->model.time_count; time++)
        worker->best_lambda[time] = rng_below(rng, 3) ? 0 : (double)rng_below(rng, 10);
    cfn_trws_price(&worker->trws, worker->best_lambda);
    for (int k = 0; k < 10; k++)
        worker->best_estimate = cfn_trws_iterate(&worker->trws);
    if (worker->has_best && rng_below(rng, 2)) {
        cfn_tighten_begin(worker, 1e6);
        cfn_tighten_phase(worker);
    }
    return worker->has_best;
}

static void release(struct network *network)
{
    if (network->model.node) {
        cfn_worker_release(&network->worker);
        cfn_model_release(&network->model);
    }
    cfn_network_destroy(network->n);
    cfn_problem_release(&network->problem);
}

/* a phase of all assignments; what it promises to the worker is checked */
static void search_all(struct network *network)
{
    struct cfn_worker *worker = &network->worker;
    size_t times = (size_t)network->model.time_count * sizeof(double),
           messages = worker->trws.model->message_count * sizeof(double);
    double *lambda = mem_zalloc((size_t)network->model.time_count + 1, sizeof *lambda),
           *message = mem_zalloc(worker->trws.model->message_count + 1, sizeof *message);
    memcpy(lambda, worker->best_lambda, times);
    memcpy(message, worker->trws.message, messages);
    uint64_t work = worker->work;
    seen.cost = worker->best.cost;
    cfn_likely_phase(worker, try_all);
    assert_memory_equal(lambda, worker->best_lambda, times);
    assert_memory_equal(message, worker->trws.message, messages);
    assert_true(worker->work >= work + 1000 && worker->best.cost <= seen.cost);
    for (int k = 0; k < worker->pool.count; k++) {
        struct cfn_point *elite = &worker->pool.at[k];
        int64_t cost = elite->cost;
        cfn_point_evaluate(&network->model, elite, worker->profile);
        assert_true(elite->cost == cost && cfn_point_feasible(elite) && cost >= network->optimum);
    }
    assert_true(worker->pool.count && worker->pool.at[0].cost == worker->best.cost);
    free(lambda);
    free(message);
}

static void what_is_found_becomes_the_workers(void **state)
{
    uint64_t start = support_seed(3301);
    int tried = 0, optimal = 0, fewer = 0;
    size_t kept = 0, all = 0;
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct network network = {0};
        if (make(&network, &rng)) {
            search_all(&network);
            tried++;
            optimal += network.worker.best.cost == network.optimum;
            fewer += seen.values < values_of(&network.model);
            kept += seen.values;
            all += values_of(&network.model);
        }
        release(&network);
    }
    print_message("%d networks, %d optima found, values left out in %d: %zu of %zu kept\n", tried, optimal,
                  fewer, kept, all);
    assert_true(tried > 150 && fewer > tried / 2 && optimal * 10 > tried * 8);
}

/* Branching among likely values from the dearest answer: what it lands on is an answer of the whole, and the
 * worker's bound and leaves are as they were, as nothing is proved. */
static void branching_lands_in_answers(void **state)
{
    uint64_t start = support_seed(3305);
    int tried = 0, cheaper = 0, optimal = 0;
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct network network = {0};
        struct cfn_worker *worker = &network.worker;
        if (make(&network, &rng)) {
            struct cfn_point *dearest = &worker->pool.at[worker->pool.count - 1];
            cfn_point_copy(&network.model, &worker->best, dearest);
            cfn_dual_certify(worker);
            int64_t bound = worker->bound, before = worker->best.cost;
            worker->fixes = true;
            worker->pool.count = 0;
            cfn_likely_phase(worker, cfn_prove_for_answers);
            assert_true(worker->bound == bound && !worker->leaves.begun && worker->best.cost <= before);
            int64_t cost = worker->best.cost;
            cfn_point_evaluate(&network.model, &worker->best, worker->profile);
            assert_true(cfn_point_feasible(&worker->best) && worker->best.cost == cost);
            assert_true(cost >= network.optimum && network.optimum >= bound);
            tried += before > network.optimum;
            cheaper += cost < before;
            optimal += before > network.optimum && cost == network.optimum;
        }
        release(&network);
    }
    print_message("%d from dearer answers, %d cheaper, %d optimal\n", tried, cheaper, optimal);
    assert_true(tried > 80 && cheaper * 10 > tried * 8 && optimal * 10 > tried * 6);
}

static void without_an_answer_it_is_the_workers_own(void **state)
{
    uint64_t start = support_seed(3302);
    int asked = 0;
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct network network = {0};
        if (make(&network, &rng)) {
            network.worker.has_best = false;
            seen.calls = 0;
            cfn_likely_phase(&network.worker, count_call);
            assert_true(seen.calls == 1 && seen.values == values_of(&network.model));
            asked++;
        }
        release(&network);
    }
    assert_true(asked > 5);
}

/* ---- in the search ---- */

static int64_t any_entry(struct rng *rng, int a, int b)
{
    (void)a, (void)b;
    return (int64_t)rng_below(rng, 1000);
}

static void same_with_one_thread_and_two(void **state)
{
    uint64_t start = support_seed(3303);
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        grid_problem(&rng, 8, 1000, any_entry, 80, &problem);
        assert_true(solve_alike(&problem, (struct cfn_budget){.units = 30, .seed = start}));
        cfn_problem_release(&problem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_found_becomes_the_workers),
                                       cmocka_unit_test(branching_lands_in_answers),
                                       cmocka_unit_test(without_an_answer_it_is_the_workers_own),
                                       cmocka_unit_test(same_with_one_thread_and_two)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
