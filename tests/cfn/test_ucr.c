/* links: cfn */
/* label: unit */
/* timeout: 120 */
/* toulbar2 as the judge: its optimum is brute force's where that is possible; on networks beyond brute force,
 * with and without limits, no bound of ours is above its optimum and what we call optimal costs the same. A
 * usage limit is given to toulbar2 exactly, as chains of nodes that carry the running sum at each time. And
 * the method ucr, which stands on it. Skipped where toulbar2 is not installed. */
#include "tests/cfn/random_problem.h"

#include "cfn/load.h"
#include "cfn/solve.h"
#include "cfn/toulbar2.h"
#include "cfn/ucr.h"

static struct cfn_toulbar2 judge;
static bool have_judge;

static void need_judge(void)
{
    if (!have_judge) {
        print_message("SKIPPED: toulbar2 is not installed\n");
        skip();
    }
}

/* the optimum without regard to the limit, by toulbar2; false when everything is forbidden */
static bool judged(const struct cfn_problem *problem, __int128 *best)
{
    struct cfn_network *n;
    struct cfn_model model;
    struct cfn_toulbar2_run run = {.seed = 1};
    enum cfn_toulbar2_result result;
    struct cfn_point point;
    struct error e;
    ASSERT_OK(cfn_network_create(problem, true, &n, &e), &e);
    cfn_model_create(n, &model);
    cfn_point_create(&model, &point);
    int64_t *profile = mem_zalloc((size_t)model.time_count + 1, sizeof *profile);
    ASSERT_OK(cfn_toulbar2_solve(&judge, &model, model.unary, &run, point.value, &result, &e), &e);
    cfn_point_evaluate(&model, &point, profile);
    bool found = result == CFN_TOULBAR2_OPTIMAL && !point.forbidden;
    assert_true(result != CFN_TOULBAR2_FOUND);
    *best = point.cost;
    free(profile);
    cfn_point_release(&point);
    cfn_model_release(&model);
    cfn_network_destroy(n);
    return found;
}

static void against_brute_force(void **state)
{
    static const struct random_shape shape = {6, 4, 12, 0.1, 0.1, 0.1, 1000, 1, 0};
    need_judge();
    uint64_t start = support_seed(21);
    int feasible = 0;
    for (int round = 0; round < 120; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        __int128 mine = 0, theirs = 0;
        random_problem(&rng, &shape, &problem);
        int exists = brute_force(&problem, &mine) && mine < CFN_LARGE;
        bool found = judged(&problem, &theirs);
        if (exists != found || (found && mine != theirs))
            fail_msg("seed %llu: brute force %lld, toulbar2 %lld", (unsigned long long)start + round,
                     (long long)mine, (long long)theirs);
        feasible += exists;
        cfn_problem_release(&problem);
    }
    assert_true(feasible > 60);
}

/* ---- a limit as chains ---- */

struct building {
    struct cfn_problem problem;
    size_t node_room, value_room, edge_room, entry_room;
};

static int32_t add_node(struct building *building, int32_t domain)
{
    struct cfn_problem *problem = &building->problem;
    problem->nodes[problem->node_count] =
        (struct cfn_node){.domain = domain, .first_value = problem->value_count};
    problem->value_count += (uint64_t)domain;
    assert_true(problem->node_count < building->node_room && problem->value_count < building->value_room);
    return (int32_t)problem->node_count++;
}

static int64_t *add_edge(struct building *building, int32_t first, int32_t second)
{
    struct cfn_problem *problem = &building->problem;
    uint64_t size = (uint64_t)problem->nodes[first].domain * (uint64_t)problem->nodes[second].domain;
    problem->edges[problem->edge_count] = (struct cfn_edge){first, second, problem->matrix_count};
    problem->matrices[problem->matrix_count++] = (struct cfn_matrix){problem->entry_count, size};
    problem->entry_count += size;
    assert_true(++problem->edge_count < building->edge_room && problem->entry_count < building->entry_room);
    return problem->entries + problem->entry_count - size;
}

/* At time t: chain node k is (sum so far, value of the k-th node alive); sums above the limit have no place.
 */
static void add_chain(struct building *building, const struct cfn_problem *from, int64_t t)
{
    int32_t last = -1, last_domain = 0, sums = (int32_t)from->limit + 1;
    for (uint32_t i = 0; i < from->node_count; i++) {
        const struct cfn_node *n = &from->nodes[i];
        const int64_t *use = from->usages + n->first_value;
        if (n->lower > t || t >= n->upper)
            continue;
        int32_t chain = add_node(building, sums * n->domain);
        int64_t *channel = add_edge(building, chain, (int32_t)i);
        for (int32_t z = 0; z < sums * n->domain; z++)
            for (int32_t a = 0; a < n->domain; a++)
                channel[z * n->domain + a] =
                    z % n->domain == a && z / n->domain >= use[a] ? 0 : 1000000000000000000;
        int64_t *before = last < 0 ? building->problem.costs + building->problem.nodes[chain].first_value
                                   : add_edge(building, last, chain);
        for (int32_t y = 0; y < (last < 0 ? 1 : sums * last_domain); y++)
            for (int32_t z = 0; z < sums * n->domain; z++)
                before[y * sums * n->domain + z] =
                    z / n->domain == (last < 0 ? 0 : y / last_domain) + use[z % n->domain]
                        ? 0
                        : 1000000000000000000;
        last = chain;
        last_domain = n->domain;
    }
}

static void without_limit(const struct cfn_problem *from, struct building *building)
{
    *building =
        (struct building){.node_room = 400, .value_room = 40000, .edge_room = 900, .entry_room = 6000000};
    building->problem.limit = INT64_MAX;
    building->problem.nodes = mem_zalloc(building->node_room, sizeof *building->problem.nodes);
    building->problem.costs = mem_zalloc(building->value_room, sizeof *building->problem.costs);
    building->problem.usages = mem_zalloc(building->value_room, sizeof *building->problem.usages);
    building->problem.edges = mem_zalloc(building->edge_room, sizeof *building->problem.edges);
    building->problem.matrices = mem_zalloc(building->edge_room, sizeof *building->problem.matrices);
    building->problem.entries = mem_zalloc(building->entry_room, sizeof *building->problem.entries);
    building->problem.node_count = from->node_count;
    building->problem.value_count = from->value_count;
    building->problem.edge_count = from->edge_count;
    building->problem.matrix_count = from->matrix_count;
    building->problem.entry_count = from->entry_count;
    memcpy(building->problem.nodes, from->nodes, from->node_count * sizeof *from->nodes);
    memcpy(building->problem.costs, from->costs, from->value_count * sizeof *from->costs);
    memcpy(building->problem.edges, from->edges, from->edge_count * sizeof *from->edges);
    memcpy(building->problem.matrices, from->matrices, from->matrix_count * sizeof *from->matrices);
    memcpy(building->problem.entries, from->entries, from->entry_count * sizeof *from->entries);
    for (int64_t t = 0; t < 17 && from->has_limit; t++)
        add_chain(building, from, t);
}

static void check_against_judge(const struct cfn_problem *problem, uint64_t seed, unsigned without,
                                int *proved)
{
    struct cfn_budget budget = {.units = 20, .threads = 1, .seed = seed, .without = without};
    struct building building;
    struct cfn_answer answer;
    struct error e;
    __int128 best;
    without_limit(problem, &building);
    bool exists = judged(&building.problem, &best);
    ASSERT_OK(cfn_solve(problem, &budget, &answer, &e), &e);
    if (exists) {
        assert_true(answer.status != CFN_STATUS_INFEASIBLE && answer.verdict.cost >= best);
        if ((answer.has_bound && answer.bound > best) ||
            (answer.status == CFN_STATUS_OPTIMAL && answer.verdict.cost != best))
            fail_msg("seed %llu: cost %lld, bound %lld, optimum %lld", (unsigned long long)seed,
                     (long long)answer.verdict.cost, (long long)answer.bound, (long long)best);
        *proved += answer.status == CFN_STATUS_OPTIMAL;
    } else {
        assert_true(answer.status == CFN_STATUS_INFEASIBLE || answer.verdict.cost >= CFN_LARGE);
    }
    cfn_answer_release(&answer);
    cfn_problem_release(&building.problem);
}

static void beyond_brute_force(void **state)
{
    static const struct random_shape shapes[] = {
        {16, 6, 30, 0.05, 0.05, 0.05, 1000, 0, 0},
        {9, 3, 16, 0.05, 0.05, 0.05, 1000, 0, 1},
    };
    need_judge();
    uint64_t start = support_seed(31);
    int proved = 0, limited = 0;
    for (int round = 0; round < 160; round++) {
        struct rng rng = {start + (uint64_t)round * 13};
        struct cfn_problem problem;
        random_problem(&rng, &shapes[round % 2], &problem);
        for (uint64_t k = 0; k < problem.value_count; k++)
            problem.usages[k] %= 5;
        if (problem.has_limit)
            problem.limit = (int64_t)rng_below(&rng, problem.node_count + 1);
        limited += problem.has_limit;
        check_against_judge(&problem, start + (uint64_t)round, round % 4 < 2 ? CFN_WITHOUT_BRANCH : 0,
                            &proved);
        cfn_problem_release(&problem);
    }
    print_message("160 networks, %d with a limit: %d proved optimal\n", limited, proved);
    assert_true(proved > 40);
}

/* ---- the method ucr ---- */

static void ucr_answers(void **state)
{
    static const struct random_shape shape = {7, 4, 10, 0.02, 0, 0, 1000, 0, 1};
    need_judge();
    uint64_t start = support_seed(41);
    int feasible = 0, optimal = 0;
    for (int round = 0; round < 12; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        struct cfn_answer answer, again;
        struct error e;
        __int128 best;
        random_problem(&rng, &shape, &problem);
        struct cfn_budget budget = {.units = 12 * CFN_UCR_UNITS, .threads = 1, .seed = start};
        budget.method = CFN_METHOD_UCR;
        int exists = brute_force(&problem, &best) && best < CFN_LARGE;
        ASSERT_OK(cfn_solve(&problem, &budget, &answer, &e), &e);
        if (exists) {
            assert_true(answer.verdict.feasible && answer.verdict.cost >= best);
            assert_true(answer.status != CFN_STATUS_OPTIMAL || answer.verdict.cost == best);
            feasible++;
            optimal += answer.verdict.cost == best;
            budget.threads = 2;
            ASSERT_OK(cfn_solve(&problem, &budget, &again, &e), &e);
            assert_memory_equal(answer.values, again.values, problem.node_count * sizeof *answer.values);
            cfn_answer_release(&again);
        }
        cfn_answer_release(&answer);
        cfn_problem_release(&problem);
    }
    print_message("ucr: %d of %d optimal\n", optimal, feasible);
    assert_true(feasible > 3 && optimal * 2 >= feasible);
}

static void ucr_without_toulbar2(void **state)
{
    static const char text[] =
        "{\"intervals\":[[0,5],[3,9]],\"costs\":[[1,2],[1,1]],\"usages\":[[4,7],[6,5]],"
        "\"usage_limit\":12,\"edges\":{\"nodes\":[[0,1]],\"costs\":[[3,0,9,1]]}}";
    struct cfn_problem problem;
    struct cfn_answer answer;
    struct error e;
    struct cfn_budget budget = {.units = CFN_UCR_UNITS, .threads = 1, .seed = 1, .method = CFN_METHOD_UCR};
    budget.without = CFN_WITHOUT_REDUCTION;
    ASSERT_OK(cfn_problem_read(text, strlen(text), &problem, &e), &e);
    char *path = strdup(getenv("PATH") ? getenv("PATH") : "");
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(cfn_solve(&problem, &budget, &answer, &e), ERROR_NOT_AVAILABLE);
    assert_non_null(strstr(e.message, "toulbar2"));
    setenv("PATH", path, 1);
    free(path);
    cfn_answer_release(&answer);
    cfn_problem_release(&problem);
}

int main(void)
{
    struct error e;
    have_judge = cfn_toulbar2_open(&judge, &e) == ERROR_OK;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_brute_force),
        cmocka_unit_test(beyond_brute_force),
        cmocka_unit_test(ucr_answers),
        cmocka_unit_test(ucr_without_toulbar2),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cfn_toulbar2_close(&judge);
    return failed;
}
