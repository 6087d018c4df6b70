/* links: cfn */
/* label: unit */
/* Conflicts: what is marked is exactly what the limit excludes, looked up item by item on random networks,
 * and no assignment within the limit has it; the largest shares come first, as many as there is room for.
 * Two nodes of which one can be large are bounded exactly with them, and at half of it, whatever the
 * multiplier, without. */
#include "tests/cfn/random_problem.h"

#include "cfn/clusters.h"
#include "cfn/load.h"
#include "cfn/reduce.h"
#include "cfn/trws.h"

static const struct random_shape shape = {7, 4, 6, 0.02, 0.0, 0.1, 50, 0, 1};

static int64_t use_at(const struct cfn_model *model, int32_t node, int32_t value, int32_t time)
{
    int64_t sum = 0;
    for (uint32_t k = model->first_item[node]; k < model->first_item[node + 1]; k++)
        if (model->items[k].left <= time && time < model->items[k].right)
            sum += model->items[k].use[value];
    return sum;
}

/* with the two at a and b, and everyone else at the least of each time */
static bool fits(const struct cfn_model *model, int32_t one, int32_t a, int32_t other, int32_t b)
{
    for (int32_t time = 0; time < model->time_count; time++) {
        int64_t sum = model->base[time] + use_at(model, one, a, time) + use_at(model, other, b, time);
        for (int32_t i = 0; i < model->node_count; i++) {
            int64_t least = INT64_MAX;
            for (int32_t c = 0; c < model->size[i] && i != one && i != other; c++)
                least = use_at(model, i, c, time) < least ? use_at(model, i, c, time) : least;
            sum += least == INT64_MAX ? 0 : least;
        }
        if (sum > model->limit)
            return false;
    }
    return true;
}

/* -> how many pairs are marked */
static int check_table(const struct cfn_model *model, const struct cfn_conflict *conflict,
                       const uint8_t *never)
{
    int marked = 0;
    for (int32_t a = 0; a < model->size[conflict->one]; a++)
        for (int32_t b = 0; b < model->size[conflict->other]; b++) {
            bool mark = never[conflict->never + (size_t)a * (size_t)model->size[conflict->other] + (size_t)b];
            assert_true(mark == !fits(model, conflict->one, a, conflict->other, b));
            marked += mark;
        }
    assert_true(conflict->share * model->size[conflict->one] * model->size[conflict->other] == marked);
    return marked;
}

static bool has_any(const struct cfn_model *model, int32_t one, int32_t other)
{
    for (int32_t a = 0; a < model->size[one]; a++)
        for (int32_t b = 0; b < model->size[other]; b++)
            if (!fits(model, one, a, other, b))
                return true;
    return false;
}

static void nothing_within_the_limit_has_one(const struct cfn_model *model,
                                             const struct cfn_conflicts *conflicts)
{
    struct cfn_point point;
    int64_t *profile = mem_zalloc((size_t)model->time_count + 1, sizeof *profile);
    cfn_point_create(model, &point);
    do {
        cfn_point_evaluate(model, &point, profile);
        for (int32_t k = 0; k < conflicts->count && point.worst <= 0; k++) {
            const struct cfn_conflict *at = &conflicts->at[k];
            assert_false(
                conflicts->never[at->never + (size_t)point.value[at->one] * (size_t)model->size[at->other] +
                                 (size_t)point.value[at->other]]);
        }
    } while (next_assignment(model->size, (uint32_t)model->node_count, point.value));
    cfn_point_release(&point);
    free(profile);
}

static int check(const struct cfn_model *model)
{
    struct cfn_conflicts all, some;
    int marked = 0, pairs = 0;
    double room = 0;
    cfn_conflicts_create(model, 0, 1e9, &all);
    for (int32_t k = 0; k < all.count; k++) {
        marked += check_table(model, &all.at[k], all.never);
        assert_true(k == 0 || all.at[k - 1].share >= all.at[k].share);
        room += k < all.count / 2 ? (double)model->size[all.at[k].one] * model->size[all.at[k].other] : 0;
    }
    for (int32_t i = 0; i < model->node_count; i++)
        for (int32_t j = i + 1; j < model->node_count; j++)
            pairs += has_any(model, i, j);
    assert_int_equal(pairs, all.count);
    nothing_within_the_limit_has_one(model, &all);
    cfn_conflicts_create(model, 0, room, &some);
    assert_int_equal(some.count, all.count / 2);
    cfn_conflicts_release(&some);
    cfn_conflicts_create(model, 0.5, 1e9, &some);
    for (int32_t k = 0; k < all.count; k++)
        assert_true((all.at[k].share >= 0.5) == (k < some.count));
    cfn_conflicts_release(&some);
    cfn_conflicts_release(&all);
    return marked;
}

static void marks_what_does_not_fit(void **state)
{
    uint64_t start = support_seed(1611);
    int marked = 0;
    (void)state;
    for (int round = 0; round < 1500; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        struct cfn_network *n;
        struct cfn_model model;
        struct error e;
        random_problem(&rng, &shape, &problem);
        random_narrow(&problem, &rng);
        ASSERT_OK(cfn_network_create(&problem, true, &n, &e), &e);
        cfn_reduce(n, CFN_RULE_CONSISTENCY | CFN_RULE_MEMORY, NULL, NULL);
        if (!n->wiped) {
            cfn_model_create(n, &model);
            marked += check(&model);
            cfn_model_release(&model);
        }
        cfn_network_destroy(n);
        cfn_problem_release(&problem);
    }
    print_message("%d pairs of values\n", marked);
    assert_true(marked > 500);
}

/* ---- bounds ---- */

enum { LARGE = 10, LIMIT = 15, PRICE = 100 };

/* two nodes at one time, each large for nothing or small for PRICE; a link of zeros */
static void two_nodes(struct cfn_problem *problem)
{
    *problem = (struct cfn_problem){.node_count = 2,
                                    .edge_count = 1,
                                    .matrix_count = 1,
                                    .value_count = 4,
                                    .entry_count = 4,
                                    .limit = LIMIT,
                                    .has_limit = 1};
    problem->nodes = mem_zalloc(2, sizeof *problem->nodes);
    problem->costs = mem_zalloc(4, sizeof *problem->costs);
    problem->usages = mem_zalloc(4, sizeof *problem->usages);
    problem->edges = mem_zalloc(1, sizeof *problem->edges);
    problem->matrices = mem_zalloc(1, sizeof *problem->matrices);
    problem->entries = mem_zalloc(4, sizeof *problem->entries);
    for (int i = 0; i < 2; i++) {
        problem->nodes[i] = (struct cfn_node){0, 1, 2 * (uint64_t)i, 2};
        problem->costs[2 * i + 1] = PRICE;
        problem->usages[2 * i] = LARGE;
    }
    problem->edges[0] = (struct cfn_edge){0, 1, 0};
    problem->matrices[0] = (struct cfn_matrix){0, 4};
}

static int64_t bound_under(const struct cfn_model *model, double price)
{
    struct cfn_trws trws;
    cfn_trws_create(model, &trws);
    cfn_trws_price(&trws, &price);
    for (int k = 0; k < 20; k++)
        (void)cfn_trws_iterate(&trws);
    int64_t bound = cfn_trws_certify(&trws);
    cfn_trws_release(&trws);
    return bound;
}

static void two_that_do_not_fit_are_bounded_exactly(void **state)
{
    struct cfn_problem problem;
    struct cfn_network *n;
    struct cfn_model model;
    struct cfn_clusters with, without;
    struct error e;
    (void)state;
    two_nodes(&problem);
    ASSERT_OK(cfn_network_create(&problem, true, &n, &e), &e);
    cfn_model_create(n, &model);
    assert_int_equal(model.time_count, 1);
    cfn_clusters_create(&model, 1e9, true, &with);
    cfn_clusters_create(&model, 1e9, false, &without);
    assert_int_equal(bound_under(&with.relaxed, 0), PRICE);
    for (double price = 0; price <= 30; price += 0.5)
        assert_true(bound_under(&without.relaxed, price) <= PRICE / 2);
    assert_int_equal(bound_under(&without.relaxed, (double)PRICE / LARGE), PRICE / 2);
    cfn_clusters_release(&with);
    cfn_clusters_release(&without);
    cfn_model_release(&model);
    cfn_network_destroy(n);
    cfn_problem_release(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(marks_what_does_not_fit),
                                       cmocka_unit_test(two_that_do_not_fit_are_bounded_exactly)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
