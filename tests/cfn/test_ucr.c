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
static bool judged(const struct cfn_problem *p, __int128 *best)
{
    struct cfn_network *n;
    struct cfn_model m;
    struct cfn_toulbar2_run run = {.seed = 1};
    enum cfn_toulbar2_result result;
    struct cfn_point point;
    struct error e;
    ASSERT_OK(cfn_network_create(p, true, &n, &e), &e);
    cfn_model_create(n, &m);
    cfn_point_create(&m, &point);
    int64_t *profile = mem_zalloc((size_t)m.time_count + 1, sizeof *profile);
    ASSERT_OK(cfn_toulbar2_solve(&judge, &m, m.unary, &run, point.value, &result, &e), &e);
    cfn_point_evaluate(&m, &point, profile);
    bool found = result == CFN_TOULBAR2_OPTIMAL && !point.forbidden;
    assert_true(result != CFN_TOULBAR2_FOUND);
    *best = point.cost;
    free(profile);
    cfn_point_release(&point);
    cfn_model_release(&m);
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
        struct rng r = {start + (uint64_t)round};
        struct cfn_problem p;
        __int128 mine = 0, theirs = 0;
        random_problem(&r, &shape, &p);
        int exists = brute_force(&p, &mine) && mine < CFN_LARGE;
        bool found = judged(&p, &theirs);
        if (exists != found || (found && mine != theirs))
            fail_msg("seed %llu: brute force %lld, toulbar2 %lld", (unsigned long long)start + round,
                     (long long)mine, (long long)theirs);
        feasible += exists;
        cfn_problem_release(&p);
    }
    assert_true(feasible > 60);
}

/* ---- a limit as chains ---- */

struct building {
    struct cfn_problem p;
    size_t node_room, value_room, edge_room, entry_room;
};

static int32_t add_node(struct building *b, int32_t domain)
{
    struct cfn_problem *p = &b->p;
    p->nodes[p->node_count] = (struct cfn_node){.domain = domain, .first_value = p->value_count};
    p->value_count += (uint64_t)domain;
    assert_true(p->node_count < b->node_room && p->value_count < b->value_room);
    return (int32_t)p->node_count++;
}

static int64_t *add_edge(struct building *b, int32_t first, int32_t second)
{
    struct cfn_problem *p = &b->p;
    uint64_t size = (uint64_t)p->nodes[first].domain * (uint64_t)p->nodes[second].domain;
    p->edges[p->edge_count] = (struct cfn_edge){first, second, p->matrix_count};
    p->matrices[p->matrix_count++] = (struct cfn_matrix){p->entry_count, size};
    p->entry_count += size;
    assert_true(++p->edge_count < b->edge_room && p->entry_count < b->entry_room);
    return p->entries + p->entry_count - size;
}

/* At time t: chain node k is (sum so far, value of the k-th node alive); sums above the limit have no place.
 */
static void add_chain(struct building *b, const struct cfn_problem *from, int64_t t)
{
    int32_t last = -1, last_domain = 0, sums = (int32_t)from->limit + 1;
    for (uint32_t i = 0; i < from->node_count; i++) {
        const struct cfn_node *n = &from->nodes[i];
        const int64_t *use = from->usages + n->first_value;
        if (n->lower > t || t >= n->upper)
            continue;
        int32_t chain = add_node(b, sums * n->domain);
        int64_t *channel = add_edge(b, chain, (int32_t)i);
        for (int32_t z = 0; z < sums * n->domain; z++)
            for (int32_t a = 0; a < n->domain; a++)
                channel[z * n->domain + a] =
                    z % n->domain == a && z / n->domain >= use[a] ? 0 : 1000000000000000000;
        int64_t *before = last < 0 ? b->p.costs + b->p.nodes[chain].first_value : add_edge(b, last, chain);
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

static void without_limit(const struct cfn_problem *from, struct building *b)
{
    *b = (struct building){.node_room = 400, .value_room = 40000, .edge_room = 900, .entry_room = 6000000};
    b->p.limit = INT64_MAX;
    b->p.nodes = mem_zalloc(b->node_room, sizeof *b->p.nodes);
    b->p.costs = mem_zalloc(b->value_room, sizeof *b->p.costs);
    b->p.usages = mem_zalloc(b->value_room, sizeof *b->p.usages);
    b->p.edges = mem_zalloc(b->edge_room, sizeof *b->p.edges);
    b->p.matrices = mem_zalloc(b->edge_room, sizeof *b->p.matrices);
    b->p.entries = mem_zalloc(b->entry_room, sizeof *b->p.entries);
    b->p.node_count = from->node_count;
    b->p.value_count = from->value_count;
    b->p.edge_count = from->edge_count;
    b->p.matrix_count = from->matrix_count;
    b->p.entry_count = from->entry_count;
    memcpy(b->p.nodes, from->nodes, from->node_count * sizeof *from->nodes);
    memcpy(b->p.costs, from->costs, from->value_count * sizeof *from->costs);
    memcpy(b->p.edges, from->edges, from->edge_count * sizeof *from->edges);
    memcpy(b->p.matrices, from->matrices, from->matrix_count * sizeof *from->matrices);
    memcpy(b->p.entries, from->entries, from->entry_count * sizeof *from->entries);
    for (int64_t t = 0; t < 17 && from->has_limit; t++)
        add_chain(b, from, t);
}

static void check_against_judge(const struct cfn_problem *p, uint64_t seed, unsigned without, int *proved)
{
    struct cfn_budget budget = {.units = 20, .threads = 1, .seed = seed, .without = without};
    struct building b;
    struct cfn_answer a;
    struct error e;
    __int128 best;
    without_limit(p, &b);
    bool exists = judged(&b.p, &best);
    ASSERT_OK(cfn_solve(p, &budget, &a, &e), &e);
    if (exists) {
        assert_true(a.status != CFN_STATUS_INFEASIBLE && a.verdict.cost >= best);
        if ((a.has_bound && a.bound > best) || (a.status == CFN_STATUS_OPTIMAL && a.verdict.cost != best))
            fail_msg("seed %llu: cost %lld, bound %lld, optimum %lld", (unsigned long long)seed,
                     (long long)a.verdict.cost, (long long)a.bound, (long long)best);
        *proved += a.status == CFN_STATUS_OPTIMAL;
    } else {
        assert_true(a.status == CFN_STATUS_INFEASIBLE || a.verdict.cost >= CFN_LARGE);
    }
    cfn_answer_release(&a);
    cfn_problem_release(&b.p);
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
        struct rng r = {start + (uint64_t)round * 13};
        struct cfn_problem p;
        random_problem(&r, &shapes[round % 2], &p);
        for (uint64_t k = 0; k < p.value_count; k++)
            p.usages[k] %= 5;
        if (p.has_limit)
            p.limit = (int64_t)rng_below(&r, p.node_count + 1);
        limited += p.has_limit;
        check_against_judge(&p, start + (uint64_t)round, round % 4 < 2 ? CFN_WITHOUT_BRANCH : 0, &proved);
        cfn_problem_release(&p);
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
        struct rng r = {start + (uint64_t)round};
        struct cfn_problem p;
        struct cfn_answer a, again;
        struct error e;
        __int128 best;
        random_problem(&r, &shape, &p);
        struct cfn_budget budget = {.units = 12 * CFN_UCR_UNITS, .threads = 1, .seed = start};
        budget.method = CFN_METHOD_UCR;
        int exists = brute_force(&p, &best) && best < CFN_LARGE;
        ASSERT_OK(cfn_solve(&p, &budget, &a, &e), &e);
        if (exists) {
            assert_true(a.verdict.feasible && a.verdict.cost >= best);
            assert_true(a.status != CFN_STATUS_OPTIMAL || a.verdict.cost == best);
            feasible++;
            optimal += a.verdict.cost == best;
            budget.threads = 2;
            ASSERT_OK(cfn_solve(&p, &budget, &again, &e), &e);
            assert_memory_equal(a.values, again.values, p.node_count * sizeof *a.values);
            cfn_answer_release(&again);
        }
        cfn_answer_release(&a);
        cfn_problem_release(&p);
    }
    print_message("ucr: %d of %d optimal\n", optimal, feasible);
    assert_true(feasible > 3 && optimal * 2 >= feasible);
}

static void ucr_without_toulbar2(void **state)
{
    static const char text[] =
        "{\"intervals\":[[0,5],[3,9]],\"costs\":[[1,2],[1,1]],\"usages\":[[4,7],[6,5]],"
        "\"usage_limit\":12,\"edges\":{\"nodes\":[[0,1]],\"costs\":[[3,0,9,1]]}}";
    struct cfn_problem p;
    struct cfn_answer a;
    struct error e;
    struct cfn_budget budget = {.units = CFN_UCR_UNITS, .threads = 1, .seed = 1, .method = CFN_METHOD_UCR};
    budget.without = CFN_WITHOUT_REDUCTION;
    ASSERT_OK(cfn_problem_read(text, strlen(text), &p, &e), &e);
    char *path = strdup(getenv("PATH") ? getenv("PATH") : "");
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(cfn_solve(&p, &budget, &a, &e), ERROR_NOT_AVAILABLE);
    assert_non_null(strstr(e.message, "toulbar2"));
    setenv("PATH", path, 1);
    free(path);
    cfn_answer_release(&a);
    cfn_problem_release(&p);
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
