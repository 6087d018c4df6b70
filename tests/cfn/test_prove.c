/* links: cfn */
/* label: unit */
/* The proof by branching, alone: on small networks under a narrow limit it ends, and then with the optimum as
 * its bound, whatever it was told of answers before and whatever the multipliers are; cut at any place its
 * bound is at or below the optimum, and its answers keep the limit. With values left out by certificate and
 * without; by one worker, and by two that share the leaves. */
#include "tests/cfn/random_problem.h"

#include "cfn/dual.h"
#include "cfn/load.h"
#include "cfn/prove.h"
#include "cfn/reduce.h"

static const struct random_shape sparse = {9, 4, 12, 0.02, 0.1, 0.0, 1000, 0, 1};
static const struct random_shape dense = {8, 4, 28, 0.0, 0.0, 0.0, 1000000, 0, 1};

/* the cheapest assignment within the limit, and the dearest; false: there is none */
static bool find_ends(const struct cfn_model *model, struct cfn_point *best, struct cfn_point *worst)
{
    struct cfn_point point;
    bool any = false;
    int64_t *profile = mem_zalloc((size_t)model->time_count + 1, sizeof *profile);
    cfn_point_create(model, &point);
    do {
        cfn_point_evaluate(model, &point, profile);
        if (!cfn_point_feasible(&point))
            continue;
        if (!any || point.cost < best->cost)
            cfn_point_copy(model, best, &point);
        if (!any || point.cost > worst->cost)
            cfn_point_copy(model, worst, &point);
        any = true;
    } while (next_assignment(model->size, (uint32_t)model->node_count, point.value));
    free(profile);
    cfn_point_release(&point);
    return any;
}

static void begin(struct cfn_worker *worker, const struct cfn_model *model, struct rng *rng,
                  const struct cfn_point *known, bool fixes)
{
    cfn_worker_create(model, 0, rng_next(rng), worker);
    worker->fixes = fixes;
    cfn_worker_begin(worker);
    cfn_worker_record(worker, known);
    for (int32_t time = 0; time < model->time_count; time++)
        worker->best_lambda[time] = rng_below(rng, 3) ? 0 : (double)rng_below(rng, 100);
    cfn_trws_price(&worker->trws, worker->best_lambda);
    worker->best_estimate = cfn_trws_iterate(&worker->trws);
    cfn_dual_certify(worker);
}

static void go_on(struct cfn_worker *worker, struct rng *rng, int64_t optimum)
{
    const struct cfn_model *model = worker->model;
    worker->phase_end =
        worker->work + (40 + rng_below(rng, 100)) * (model->table_work + model->forest_work + 1);
    cfn_worker_begin(worker);
    cfn_prove_phase(worker, 0);
    assert_true(worker->bound <= optimum && worker->best.cost >= optimum);
    assert_true(cfn_point_feasible(&worker->best));
}

static int64_t better(const struct cfn_worker *workers)
{
    int64_t first = workers[0].best.cost, second = workers[1].best.cost;
    return first < second ? first : second;
}

struct tried {
    int proofs, branched, shared;
};

/* in pieces of a random size, so that it is cut in many places */
static void prove(const struct cfn_model *model, struct rng *rng, const struct cfn_point *known,
                  int64_t optimum, bool fixes, struct tried *tried)
{
    struct cfn_worker workers[2];
    int32_t most = 0;
    int phases = 0;
    bool pairs = rng_below(rng, 2) == 0;
    for (int k = 0; k < 2; k++)
        begin(&workers[k], model, rng, known, fixes);
    struct cfn_leaves *leaves = &workers[0].leaves, *others = &workers[1].leaves;
    for (; phases < 500 && !(leaves->begun && !leaves->count); phases++) {
        int32_t count = leaves->count;
        bool shares = pairs && count > 1;
        if (shares) {
            cfn_leaves_share(model, leaves, others);
            assert_true(others->count == count / 2 && leaves->count + others->count == count);
            go_on(&workers[1], rng, optimum);
        }
        go_on(&workers[0], rng, optimum);
        if (shares)
            cfn_prove_join(&workers[0], &workers[1], better(workers));
        for (int k = 0; k < 2; k++) /* both are to know */
            cfn_worker_record(&workers[k], &workers[1 - k].best);
        most = leaves->count > most ? leaves->count : most;
        tried->shared += shares;
    }
    assert_true(phases < 500 && better(workers) == optimum && workers[0].bound == optimum);
    tried->proofs++;
    tried->branched += most > 1;
    for (int k = 0; k < 2; k++)
        cfn_worker_release(&workers[k]);
}

static void ends_with_the_optimum(void **state)
{
    uint64_t start = support_seed(1711);
    struct tried tried = {0};
    (void)state;
    for (int round = 0; round < 1500; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        struct cfn_network *n;
        struct cfn_model model;
        struct cfn_point best, worst;
        struct error e;
        random_problem(&rng, round % 2 ? &sparse : &dense, &problem);
        random_narrow(&problem, &rng);
        ASSERT_OK(cfn_network_create(&problem, true, &n, &e), &e);
        cfn_reduce(n, CFN_RULE_CONSISTENCY | CFN_RULE_MEMORY, NULL, NULL);
        if (!n->wiped) {
            cfn_model_create(n, &model);
            cfn_point_create(&model, &best);
            cfn_point_create(&model, &worst);
            if (find_ends(&model, &best, &worst)) {
                prove(&model, &rng, &best, best.cost, round % 4 < 3, &tried);
                prove(&model, &rng, &worst, best.cost, round % 4 < 3, &tried);
            }
            cfn_point_release(&best);
            cfn_point_release(&worst);
            cfn_model_release(&model);
        }
        cfn_network_destroy(n);
        cfn_problem_release(&problem);
    }
    print_message("%d proofs, %d with branching, %d phases of two\n", tried.proofs, tried.branched,
                  tried.shared);
    assert_true(tried.proofs > 300 && tried.branched > 15 && tried.shared > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends_with_the_optimum)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
