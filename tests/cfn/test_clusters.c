/* links: cfn */
/* label: unit */
/* Clusters: on small networks with cycles nothing that a phase moves makes any assignment within the limit
 * dearer in the relaxed model (nor any other where conflicts are left out), and the bounds certified there
 * stay at or below the optimum, with a limit and without one; a cycle of contradictions that links alone do
 * not see is bounded exactly; more cells give more clusters. In the search: one thread and two give the same
 * bytes, and bounds are better than without. */
#include "tests/cfn/grid_problem.h"
#include "tests/cfn/random_problem.h"

#include "cfn/load.h"
#include "cfn/reduce.h"
#include "cfn/solve.h"
#include "cfn/tighten.h"

#include <math.h>

static const struct random_shape loose = {7, 4, 30, 0.1, 0.1, 0.2, 1000, 0, 1};
static const struct random_shape large = {7, 3, 26, 0.0, 0.1, 0.1, 1000000000, 1, 1};

struct relaxed {
    struct cfn_problem problem;
    struct cfn_network *n;
    struct cfn_model model;
    struct cfn_worker worker;
};

/* false: nothing is left, or nothing is possible */
static bool make(struct relaxed *made)
{
    struct error e;
    ASSERT_OK(cfn_network_create(&made->problem, true, &made->n, &e), &e);
    cfn_reduce(made->n, CFN_RULE_CONSISTENCY | CFN_RULE_MEMORY, NULL, NULL);
    if (made->n->wiped) {
        cfn_network_destroy(made->n);
        cfn_problem_release(&made->problem);
        return false;
    }
    cfn_model_create(made->n, &made->model);
    cfn_worker_create(&made->model, 0, 7, &made->worker);
    made->worker.phase_end = UINT64_MAX;
    return true;
}

static void release(struct relaxed *made)
{
    cfn_worker_release(&made->worker);
    cfn_model_release(&made->model);
    cfn_network_destroy(made->n);
    cfn_problem_release(&made->problem);
}

/* the cheapest assignment within the limit becomes the worker's best; false: there is none */
static bool find_best(struct relaxed *made)
{
    struct cfn_point point;
    cfn_point_create(&made->model, &point);
    do {
        cfn_point_evaluate(&made->model, &point, made->worker.profile);
        cfn_worker_record(&made->worker, &point);
    } while (next_assignment(made->model.size, (uint32_t)made->model.node_count, point.value));
    cfn_point_release(&point);
    return made->worker.has_best;
}

/* of the tables alone; INT64_MAX: forbidden */
static int64_t cost_of(const struct cfn_model *model, const int32_t *value)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < model->node_count; i++)
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
            const struct cfn_arc *arc = &model->arcs[k];
            int64_t entry = arc->exact[(size_t)value[i] * arc->own + (size_t)value[arc->other] * arc->step];
            if (cfn_infinite(entry))
                return INT64_MAX;
            sum += arc->other > i ? entry : 0;
        }
    return sum;
}

/* -> how many assignments beyond the limit are dearer there than in the model */
static int nowhere_dearer(const struct relaxed *made)
{
    struct cfn_point point;
    int excluded = 0;
    cfn_point_create(&made->model, &point);
    assert_true(cfn_clusters_valid(made->worker.clusters));
    do {
        int64_t cost = cost_of(&made->model, point.value),
                relaxed = cost_of(&made->worker.clusters->relaxed, point.value);
        cfn_point_evaluate(&made->model, &point, made->worker.profile);
        if (cost != INT64_MAX && relaxed != INT64_MAX && relaxed > cost) {
            assert_true(made->worker.excludes && point.worst > 0);
            excluded++;
            continue;
        }
        assert_true(cost == INT64_MAX ? relaxed == INT64_MAX : relaxed <= cost);
    } while (next_assignment(made->model.size, (uint32_t)made->model.node_count, point.value));
    cfn_point_release(&point);
    return excluded;
}

/* multipliers at random, the best answer known or one far above it */
static int tighten_and_check(struct relaxed *made, struct rng *rng)
{
    struct cfn_worker *worker = &made->worker;
    int64_t optimum = worker->best.cost;
    int excluded = 0;
    for (int32_t time = 0; time < made->model.time_count; time++)
        worker->best_lambda[time] = rng_below(rng, 3) ? 0 : (double)rng_below(rng, 100);
    worker->best.cost += rng_below(rng, 2) ? 0 : 1 + llabs(optimum);
    cfn_tighten_begin(worker, 1e9);
    for (int phase = 0; phase < 2; phase++) {
        cfn_trws_price(&worker->trws, worker->best_lambda);
        worker->best_estimate = cfn_trws_iterate(&worker->trws);
        cfn_tighten_phase(worker);
        excluded += nowhere_dearer(made);
        assert_true(worker->bound <= optimum);
        assert_true(cfn_trws_certify(&worker->trws) <= optimum);
    }
    return excluded;
}

static void never_above_the_optimum(void **state)
{
    (void)state;
    struct rng rng = {20261126};
    int with_clusters = 0, excluded = 0;
    for (int k = 0; k < 400; k++) {
        struct relaxed made = {0};
        random_problem(&rng, k % 2 ? &loose : &large, &made.problem);
        if (k % 4 < 2)
            random_narrow(&made.problem, &rng);
        if (!make(&made))
            continue;
        if (find_best(&made)) {
            made.worker.excludes = k % 4 < 2;
            excluded += tighten_and_check(&made, &rng);
            with_clusters += made.worker.clusters->count > 0;
        }
        release(&made);
    }
    print_message("%d with clusters, %d assignments excluded\n", with_clusters, excluded);
    assert_true(with_clusters > 60 && excluded > 100);
}

/* Three links of a square want equal parity, the first made one does not: 100 at least, where each link alone
 * sees 0. */
static int entries_made;

static int64_t contradiction(struct rng *rng, int a, int b)
{
    (void)rng;
    bool equal = (a & 1) == (b & 1), first = entries_made++ < GRID_VALUES * GRID_VALUES;
    return equal == first ? 100 : 0;
}

static void a_cycle_is_bounded_exactly(void **state)
{
    (void)state;
    struct relaxed made = {0};
    struct rng rng = {0};
    grid_problem(&rng, 2, 1, contradiction, INT64_MAX, &made.problem);
    assert_true(make(&made));
    struct cfn_worker *worker = &made.worker;
    assert_int_equal(made.model.link_count, 4);
    assert_true(find_best(&made));
    assert_int_equal(worker->best.cost, 100);
    for (int k = 0; k < 50; k++)
        worker->best_estimate = cfn_trws_iterate(&worker->trws);
    assert_int_equal(cfn_trws_certify(&worker->trws), 0);
    cfn_tighten_begin(worker, 1e9);
    assert_int_equal(worker->clusters->count, 2);
    assert_int_equal(worker->clusters->relaxed.link_count, 5);
    cfn_tighten_phase(worker);
    nowhere_dearer(&made);
    assert_in_range(worker->bound, 99, 100);
    release(&made);
}

static int64_t any(struct rng *rng, int a, int b)
{
    (void)a;
    (void)b;
    return (int64_t)rng_below(rng, 100);
}

static void cells_limit_clusters(void **state)
{
    (void)state;
    struct relaxed made = {0};
    struct rng rng = {5};
    struct cfn_clusters clusters;
    const int faces = 25;
    grid_problem(&rng, 6, 10, any, INT64_MAX, &made.problem);
    assert_true(make(&made));
    double face = 2 * 3.0 * GRID_VALUES * GRID_VALUES * GRID_VALUES;
    for (int k = 0; k <= faces; k += 5) {
        cfn_clusters_create(&made.model, k * face, false, &clusters);
        assert_int_equal(clusters.count, 2 * k);
        assert_int_equal(clusters.relaxed.link_count, made.model.link_count + k);
        assert_true(cfn_clusters_valid(&clusters));
        cfn_clusters_release(&clusters);
    }
    cfn_clusters_create(&made.model, 1e9, false, &clusters);
    clusters.moved[clusters.at[3].moved[1]] = 1;
    assert_false(cfn_clusters_valid(&clusters));
    cfn_clusters_release(&clusters);
    release(&made);
}

static void the_search_bounds_better(void **state)
{
    (void)state;
    struct rng rng = {11};
    struct cfn_problem problem;
    grid_problem(&rng, 14, 20, any, INT64_MAX, &problem);
    struct cfn_budget budget = {.units = 150, .threads = 1, .seed = 3};
    assert_true(solve_alike(&problem, budget));
    struct cfn_answer with = solve(&problem, budget);
    budget.without = CFN_WITHOUT_CLUSTERS;
    struct cfn_answer without = solve(&problem, budget);
    assert_true(with.bound > without.bound);
    assert_true(with.bound <= with.verdict.cost && with.bound <= without.verdict.cost);
    cfn_answer_release(&with);
    cfn_answer_release(&without);
    cfn_problem_release(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_above_the_optimum),
        cmocka_unit_test(a_cycle_is_bounded_exactly),
        cmocka_unit_test(cells_limit_clusters),
        cmocka_unit_test(the_search_bounds_better),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
