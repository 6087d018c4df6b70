/* links: cfn */
/* Every reduction alone and all together, on thousands of random networks: the reduced network's optimum is
 * the problem's, and its answer, undone, is an optimal answer of the problem. */
#include "tests/cfn/random_problem.h"

#include "cfn/load.h"
#include "cfn/reduce.h"

/* optimum of the reduced network by trying everything; values: its argmin */
static int reduced_optimum(const struct cfn_network *n, int64_t *best, int32_t *argmin)
{
    uint32_t count = n->problem->node_count;
    int32_t *values = mem_zalloc(count, sizeof *values), *sizes = mem_zalloc(count, sizeof *sizes);
    int64_t *usage = mem_zalloc((size_t)n->time_count + 1, sizeof *usage);
    int found = 0;
    for (uint32_t i = 0; i < count; i++)
        sizes[i] = n->nodes[i].size;
    do {
        int64_t cost = n->constant;
        int fits = 1;
        memcpy(usage, n->base, (size_t)n->time_count * sizeof *usage);
        for (uint32_t i = 0; i < count; i++) {
            cost = sizes[i] ? cfn_add(cost, n->nodes[i].unary[values[i]]) : cost;
            for (size_t k = 0; sizes[i] && k < n->nodes[i].items.count; k++)
                for (int32_t t = n->nodes[i].items.at[k].left; t < n->nodes[i].items.at[k].right; t++)
                    usage[t] += n->nodes[i].items.at[k].use[values[i]];
        }
        for (size_t i = 0; i < n->links.count; i++) {
            const struct cfn_link *link = &n->links.at[i];
            if (link->table)
                cost = cfn_add(
                    cost, link->table->entry[values[link->first] * link->table->cols + values[link->second]]);
        }
        for (int32_t time = 0; time < n->time_count; time++)
            fits = fits && usage[time] <= n->limit;
        if (fits && !cfn_infinite(cost) && (!found || cost < *best)) {
            *best = cost;
            found = 1;
            memcpy(argmin, values, count * sizeof *values);
        }
    } while (next_assignment(sizes, count, values));
    free(values);
    free(sizes);
    free(usage);
    return found;
}

static void check_answer(const struct cfn_network *n, int32_t *values, __int128 want, uint64_t seed)
{
    struct cfn_verdict verdict;
    struct error e;
    cfn_undo_apply(&n->undo, values);
    ASSERT_OK(cfn_evaluate(n->problem, values, &verdict, &e), &e);
    if (!verdict.feasible || verdict.cost != want)
        fail_msg("seed %llu: the answer costs %lld, feasible %d; the optimum is %lld",
                 (unsigned long long)seed, (long long)verdict.cost, verdict.feasible, (long long)want);
}

/* 1 when the rules changed something */
static int check_one(const struct cfn_problem *problem, bool infinite, unsigned rules, uint64_t seed)
{
    struct cfn_network *n;
    struct error e;
    __int128 want = 0;
    int64_t best = 0;
    int32_t *values = mem_zalloc(problem->node_count, sizeof *values);
    ASSERT_OK(cfn_network_create(problem, infinite, &n, &e), &e);
    int exists = brute_force(problem, &want);
    cfn_reduce(n, rules, NULL, NULL);
    int found = !n->wiped && reduced_optimum(n, &best, values);
    if (infinite && exists && want >= CFN_LARGE)
        exists = 0; /* what the infinite reading does not see */
    if (found != exists)
        fail_msg("seed %llu rules %u: an answer exists %d, found %d", (unsigned long long)seed, rules, exists,
                 found);
    if (found && n->lowered)
        assert_true(best <= want);
    else if (found && best != want)
        fail_msg("seed %llu rules %u: optimum %lld, reduced %lld", (unsigned long long)seed, rules,
                 (long long)want, (long long)best);
    else if (found)
        check_answer(n, values, want, seed);
    int changed = n->undo.steps.count > 0 || n->constant != 0;
    for (size_t i = 0; i < n->links.count; i++)
        changed = changed || !n->links.at[i].table;
    cfn_network_destroy(n);
    free(values);
    return changed;
}

static void check_rules(unsigned rules, const struct random_shape *shape, bool infinite, int rounds)
{
    struct cfn_problem problem;
    int changed = 0;
    uint64_t start = support_seed(rules * 1000003u);
    for (int round = 0; round < rounds; round++) {
        struct rng rng = {start + (uint64_t)round};
        random_problem(&rng, shape, &problem);
        changed += check_one(&problem, infinite, rules, start + (uint64_t)round);
        cfn_problem_release(&problem);
    }
    print_message("rules %u: changed %d of %d networks\n", rules, changed, rounds);
    assert_true(changed > rounds / 20);
}

static const struct random_shape plain = {5, 4, 8, 0.15, 0.3, 0.2, 50, 1, 1};
static const struct random_shape dense = {6, 3, 12, 0.3, 0.3, 0.0, 10, 0, 1};

#define TEST_RULE(name, rules)                                                                               \
    static void name(void **state)                                                                           \
    {                                                                                                        \
        check_rules(rules, &plain, true, 1500);                                                              \
        check_rules(rules, &dense, true, 700);                                                               \
    }
TEST_RULE(consistency, CFN_RULE_CONSISTENCY)
TEST_RULE(assignment, CFN_RULE_ASSIGN)
TEST_RULE(merging, CFN_RULE_MERGE)
TEST_RULE(elimination, CFN_RULE_ELIMINATE)
TEST_RULE(dominance, CFN_RULE_DOMINATE)
TEST_RULE(memory, CFN_RULE_MEMORY)
TEST_RULE(times, CFN_RULE_MEMORY | CFN_RULE_IMPLY)
TEST_RULE(together, CFN_RULE_ALL)

static void separation(void **state)
{
    check_rules(CFN_RULE_SEPARATE, &plain, true, 1500);
}

static void finite_reading(void **state)
{
    check_rules(CFN_RULE_ALL, &plain, false, 1500);
    check_rules(CFN_RULE_ALL, &dense, false, 700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(consistency),    cmocka_unit_test(assignment), cmocka_unit_test(merging),
        cmocka_unit_test(elimination),    cmocka_unit_test(dominance),  cmocka_unit_test(memory),
        cmocka_unit_test(times),          cmocka_unit_test(separation), cmocka_unit_test(together),
        cmocka_unit_test(finite_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
