/* Problems of a square grid, in which every node is on cycles, and answers to them. */
#ifndef TOAST_TESTS_GRID_PROBLEM_H
#define TOAST_TESTS_GRID_PROBLEM_H

#include "support.h"

#include "cfn/solve.h"

#include <stdlib.h>

enum { GRID_VALUES = 8 };

/* the cost of values a and b of two neighbours */
typedef int64_t grid_entry(struct rng *rng, int a, int b);

static inline void grid_edge(struct cfn_problem *problem, int32_t first, int32_t second, struct rng *rng,
                             grid_entry *entry)
{
    uint32_t edge = problem->edge_count++;
    problem->edges[edge] = (struct cfn_edge){first, second, edge};
    problem->matrices[edge] = (struct cfn_matrix){problem->entry_count, GRID_VALUES * GRID_VALUES};
    problem->matrix_count = problem->edge_count;
    for (int a = 0; a < GRID_VALUES; a++)
        for (int b = 0; b < GRID_VALUES; b++)
            problem->entries[problem->entry_count++] = entry(rng, a, b);
}

/* side x side nodes, values' costs below `cost`; limit: of usage, INT64_MAX: none */
static inline void grid_problem(struct rng *rng, int32_t side, int64_t cost, grid_entry *entry, int64_t limit,
                                struct cfn_problem *problem)
{
    size_t nodes = (size_t)side * (size_t)side, values = nodes * GRID_VALUES;
    *problem = (struct cfn_problem){.node_count = (uint32_t)nodes,
                                    .value_count = values,
                                    .has_limit = limit != INT64_MAX,
                                    .limit = limit};
    problem->nodes = mem_zalloc(nodes, sizeof *problem->nodes);
    problem->costs = mem_zalloc(values, sizeof *problem->costs);
    problem->usages = mem_zalloc(values, sizeof *problem->usages);
    problem->edges = mem_zalloc(2 * nodes, sizeof *problem->edges);
    problem->matrices = mem_zalloc(2 * nodes, sizeof *problem->matrices);
    problem->entries = mem_zalloc(2 * values * GRID_VALUES, sizeof *problem->entries);
    for (int32_t i = 0; i < side * side; i++) {
        problem->nodes[i] = (struct cfn_node){i, i + 12, (uint64_t)i * GRID_VALUES, GRID_VALUES};
        for (int a = 0; a < GRID_VALUES; a++) {
            problem->costs[i * GRID_VALUES + a] = (int64_t)rng_below(rng, (uint64_t)cost);
            problem->usages[i * GRID_VALUES + a] = 1 + (int64_t)rng_below(rng, 30);
        }
        if (i % side)
            grid_edge(problem, i - 1, i, rng, entry);
        if (i >= side)
            grid_edge(problem, i - side, i, rng, entry);
    }
}

static inline struct cfn_answer solve(const struct cfn_problem *problem, struct cfn_budget budget)
{
    struct cfn_answer answer;
    struct error e;
    ASSERT_OK(cfn_solve(problem, &budget, &answer, &e), &e);
    return answer;
}

/* One thread and two give the same bytes; whether there is an answer. */
static inline bool solve_alike(const struct cfn_problem *problem, struct cfn_budget budget)
{
    budget.threads = 1;
    struct cfn_answer one = solve(problem, budget);
    budget.threads = 2;
    struct cfn_answer two = solve(problem, budget);
    bool answered = one.values;
    assert_int_equal(one.status, two.status);
    assert_true(one.bound == two.bound && one.units == two.units && answered == (two.values != NULL));
    if (answered)
        assert_memory_equal(one.values, two.values, problem->node_count * sizeof *one.values);
    cfn_answer_release(&one);
    cfn_answer_release(&two);
    return answered;
}

#endif
