/* links: cfn */
/* Domination of times on thousands of small random networks: by brute force over all choices, a time that is
 * marked never holds more than one that is kept; the other way round, no two times are kept of which one
 * never holds more than the other; and the same answers are feasible before and after. */
#include "tests/cfn/random_problem.h"

#include "cfn/implied.h"
#include "cfn/load.h"
#include "cfn/reduce.h"
#include "cfn/timeline.h"

enum { MOST_TIMES = 64 };
static const struct random_shape crowded = {6, 3, 6, 0.1, 0.2, 0.2, 50, 1, 1};

static int64_t usage_at(const struct cfn_network *n, const int32_t *values, int32_t time)
{
    int64_t usage = n->base[time];
    for (uint32_t i = 0; i < n->problem->node_count; i++)
        for (size_t k = 0; n->nodes[i].size && k < n->nodes[i].items.count; k++) {
            const struct cfn_item *item = &n->nodes[i].items.at[k];
            usage += item->left <= time && time < item->right ? item->use[values[i]] : 0;
        }
    return usage;
}

/* below[s][t]: whatever is chosen, time t holds no more than time s */
static void compare_all(const struct cfn_network *n, bool below[MOST_TIMES][MOST_TIMES])
{
    uint32_t count = n->problem->node_count;
    int32_t *values = mem_zalloc(count, sizeof *values), *sizes = mem_zalloc(count, sizeof *sizes);
    int64_t usage[MOST_TIMES];
    memset(below, 1, sizeof(bool[MOST_TIMES][MOST_TIMES]));
    for (uint32_t i = 0; i < count; i++)
        sizes[i] = n->nodes[i].size;
    do {
        for (int32_t time = 0; time < n->time_count; time++)
            usage[time] = usage_at(n, values, time);
        for (int32_t one = 0; one < n->time_count; one++)
            for (int32_t time = 0; time < n->time_count; time++)
                below[one][time] = below[one][time] && usage[time] <= usage[one];
    } while (next_assignment(sizes, count, values));
    free(values);
    free(sizes);
}

static bool implied_by_a_kept(const struct cfn_network *n, bool below[MOST_TIMES][MOST_TIMES],
                              const bool *implied, int32_t time)
{
    for (int32_t one = 0; one < n->time_count; one++)
        if (!implied[one] && one != time && below[one][time])
            return true;
    return false;
}

static struct cfn_network *network_of(const struct cfn_problem *problem)
{
    struct cfn_network *n;
    struct error e;
    ASSERT_OK(cfn_network_create(problem, false, &n, &e), &e);
    return n;
}

typedef int32_t find_implied(struct cfn_network *n, bool *implied);

static int32_t by_neighbours(struct cfn_network *n, bool *implied)
{
    return cfn_implied_by_neighbours(n, implied);
}

/* all: nothing that is implied may stay unmarked */
static int check_marks(uint64_t start, int rounds, find_implied *find, bool all)
{
    static bool below[MOST_TIMES][MOST_TIMES];
    int marked = 0;
    for (int round = 0; round < rounds; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        bool implied[MOST_TIMES] = {false};
        random_problem(&rng, &crowded, &problem);
        struct cfn_network *n = network_of(&problem);
        int32_t count = find(n, implied), found = 0;
        assert_true(n->time_count <= MOST_TIMES);
        compare_all(n, below);
        for (int32_t time = 0; time < n->time_count; time++) {
            bool is = implied_by_a_kept(n, below, implied, time);
            found += implied[time];
            if (implied[time] && !is)
                fail_msg("seed %llu: time %d is not implied by one that is kept",
                         (unsigned long long)rng.state, time);
            if (all && !implied[time] && is)
                fail_msg("seed %llu: time %d is implied, and kept", (unsigned long long)rng.state, time);
        }
        assert_int_equal(count, found);
        marked += found;
        cfn_network_destroy(n);
        cfn_problem_release(&problem);
    }
    return marked;
}

static void marks_are_implied(void **state)
{
    uint64_t start = support_seed(811);
    int neighbours = check_marks(start, 1500, by_neighbours, false);
    int any = check_marks(start, 1500, cfn_implied_by_any, true);
    (void)state;
    print_message("%d times by neighbours, %d by any\n", neighbours, any);
    assert_true(neighbours > 500 && any >= neighbours);
}

static bool fits(const struct cfn_network *n, const int32_t *values)
{
    for (int32_t time = 0; time < n->time_count; time++)
        if (usage_at(n, values, time) > n->limit)
            return false;
    return true;
}

/* every choice is within the limit after forgetting exactly when it was before */
static void forgetting_is_lossless(void **state)
{
    uint64_t start = support_seed(821);
    int forgotten = 0;
    (void)state;
    for (int round = 0; round < 1500; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        random_problem(&rng, &crowded, &problem);
        struct cfn_network *before = network_of(&problem), *after = network_of(&problem);
        int32_t *values = mem_zalloc(problem.node_count, sizeof *values),
                *sizes = mem_zalloc(problem.node_count, sizeof *sizes);
        cfn_timeline_shrink(after, true);
        if (round % 2)
            cfn_timeline_shrink_all(after);
        for (uint32_t i = 0; i < problem.node_count; i++)
            sizes[i] = before->nodes[i].size;
        do {
            if (fits(before, values) != fits(after, values))
                fail_msg("seed %llu: an assignment fits only once", (unsigned long long)rng.state);
        } while (next_assignment(sizes, problem.node_count, values));
        forgotten += before->time_count - after->time_count;
        free(values);
        free(sizes);
        cfn_network_destroy(before);
        cfn_network_destroy(after);
        cfn_problem_release(&problem);
    }
    print_message("%d times forgotten\n", forgotten);
    assert_true(forgotten > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(marks_are_implied),
                                       cmocka_unit_test(forgetting_is_lossless)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
