/* links: cfn */
/* label: unit */
/* Clearing: on small networks nothing forbidden is left where any assignment is without, as brute force has
 * it, and what is said of the point is true; a point without is left alone, and so is everything when it is
 * switched off. On grids with most pairs forbidden it clears points that forest moves leave stuck; there one
 * thread and two give the same bytes. */
#include "tests/cfn/grid_problem.h"
#include "tests/cfn/random_problem.h"

#include "cfn/clear.h"
#include "cfn/load.h"
#include "cfn/reduce.h"

static const struct random_shape sparse = {9, 4, 14, 0.15, 0.0, 0.1, 50, 1, 0};
static const struct random_shape dense = {9, 4, 24, 0.12, 0.0, 0.0, 1000, 0, 0};

/* ---- small networks against brute force ---- */

static bool any_allowed(const struct cfn_model *model, int64_t *profile)
{
    struct cfn_point point;
    bool any = false;
    cfn_point_create(model, &point);
    do {
        cfn_point_evaluate(model, &point, profile);
        any = any || !point.forbidden;
    } while (!any && next_assignment(model->size, (uint32_t)model->node_count, point.value));
    cfn_point_release(&point);
    return any;
}

static void check(const struct cfn_model *model, struct rng *rng, int *cleared)
{
    struct cfn_worker worker;
    struct cfn_point again;
    cfn_worker_create(model, 0, rng_next(rng), &worker);
    cfn_point_create(model, &again);
    worker.phase_end = UINT64_MAX;
    bool possible = any_allowed(model, worker.profile);
    cfn_price_unary(model, worker.trws.prices, 1, worker.unary);
    for (int round = 0; round < 4; round++) {
        cfn_worker_begin(&worker);
        for (int32_t i = 0; i < model->node_count; i++)
            worker.point.value[i] = (int32_t)rng_below(rng, (uint64_t)model->size[i]);
        cfn_point_evaluate(model, &worker.point, worker.profile);
        cfn_point_copy(model, &again, &worker.point);
        worker.clears = round > 0;
        bool clear = cfn_clear(&worker);
        if (!round || !again.forbidden) {
            assert_memory_equal(again.value, worker.point.value, (size_t)model->node_count * sizeof(int32_t));
            assert_true(clear == !again.forbidden);
            continue;
        }
        assert_true(clear == possible && clear == !worker.point.forbidden);
        *cleared += clear;
        cfn_point_copy(model, &again, &worker.point);
        cfn_point_evaluate(model, &again, worker.profile);
        assert_true(again.cost == worker.point.cost && again.worst == worker.point.worst &&
                    again.forbidden == worker.point.forbidden);
    }
    cfn_point_release(&again);
    cfn_worker_release(&worker);
}

static void clears_what_can_be_cleared(void **state)
{
    uint64_t start = support_seed(1511);
    int cleared = 0;
    (void)state;
    for (int round = 0; round < 1000; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        struct cfn_network *n;
        struct cfn_model model;
        struct error e;
        random_problem(&rng, round % 2 ? &sparse : &dense, &problem);
        ASSERT_OK(cfn_network_create(&problem, true, &n, &e), &e);
        cfn_reduce(n, CFN_RULE_CONSISTENCY | CFN_RULE_MEMORY, NULL, NULL);
        if (!n->wiped) {
            cfn_model_create(n, &model);
            check(&model, &rng, &cleared);
            cfn_model_release(&model);
        }
        cfn_network_destroy(n);
        cfn_problem_release(&problem);
    }
    print_message("%d points cleared\n", cleared);
    assert_true(cleared > 200);
}

/* ---- grids ---- */

enum { SIDE = 24, FORBIDDEN_PERCENT = 55, MOVES = 8 };

/* equal values are always allowed beside each other: there are answers */
static int64_t mostly_forbidden(struct rng *rng, int left, int right)
{
    return left != right && rng_below(rng, 100) < FORBIDDEN_PERCENT ? 1000000000000000000
                                                                    : (int64_t)rng_below(rng, 100);
}

static const unsigned without_proof = CFN_WITHOUT_PROVE | CFN_WITHOUT_BRANCH;

static void same_with_one_thread_and_two(void **state)
{
    uint64_t start = support_seed(1521);
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        grid_problem(&rng, SIDE, 100, mostly_forbidden, 260, &problem);
        assert_true(
            solve_alike(&problem, (struct cfn_budget){.units = 60, .seed = start, .without = without_proof}));
        cfn_problem_release(&problem);
    }
}

/* what forest moves leave of random points */
static void clears_what_moves_leave(void **state)
{
    uint64_t start = support_seed(1531);
    int stuck = 0, cleared = 0;
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        struct cfn_network *n;
        struct cfn_model model;
        struct cfn_worker worker;
        struct error e;
        grid_problem(&rng, SIDE, 100, mostly_forbidden, INT64_MAX, &problem);
        ASSERT_OK(cfn_network_create(&problem, true, &n, &e), &e);
        cfn_model_create(n, &model);
        cfn_worker_create(&model, 0, start, &worker);
        worker.phase_end = UINT64_MAX;
        worker.clears = true;
        cfn_worker_begin(&worker);
        cfn_price_unary(&model, worker.trws.prices, 1, worker.unary);
        for (int32_t i = 0; i < model.node_count; i++)
            worker.point.value[i] = (int32_t)rng_below(&rng, (uint64_t)model.size[i]);
        cfn_worker_improve(&worker, MOVES);
        int32_t before = worker.point.forbidden;
        bool clear = cfn_clear(&worker);
        assert_true(worker.point.forbidden <= before);
        stuck += before > 0;
        cleared += before > 0 && clear;
        cfn_worker_release(&worker);
        cfn_model_release(&model);
        cfn_network_destroy(n);
        cfn_problem_release(&problem);
    }
    print_message("of 20 points %d have forbidden pairs, %d are cleared\n", stuck, cleared);
    assert_true(stuck > 10 && cleared * 10 >= stuck * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(clears_what_can_be_cleared),
                                       cmocka_unit_test(same_with_one_thread_and_two),
                                       cmocka_unit_test(clears_what_moves_leave)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
