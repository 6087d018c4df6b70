/* Random small problems with everything the format allows, and their optimum by trying all assignments. */
#ifndef TOAST_TESTS_RANDOM_PROBLEM_H
#define TOAST_TESTS_RANDOM_PROBLEM_H

#include "support.h"

#include "cfn/evaluate.h"

#include <stdlib.h>
#include <string.h>

struct random_shape {
    int nodes, domain, edges; /* at most */
    double infinite;          /* share of entries at 10^18 */
    double equal;             /* share of edges that force equal (or permuted) values */
    double separable;
    int64_t cost; /* entries below it; negative ones too when `negative` */
    int negative, limit;
};

static inline int64_t random_cost(struct rng *rng, const struct random_shape *random_shape)
{
    if (rng_unit(rng) < random_shape->infinite)
        return 1000000000000000000;
    int64_t c = rng_unit(rng) < 0.3 ? 0 : (int64_t)rng_below(rng, (uint64_t)random_shape->cost);
    return random_shape->negative && rng_unit(rng) < 0.2 ? -c : c;
}

static inline void random_matrix(struct rng *rng, const struct random_shape *random_shape, int rows, int cols,
                                 int64_t *m)
{
    double kind = rng_unit(rng);
    uint64_t shift = rng_below(rng, 8);
    int64_t row[16], col[16];
    for (int i = 0; i < 16; i++) {
        row[i] = (int64_t)rng_below(rng, (uint64_t)random_shape->cost);
        col[i] = (int64_t)rng_below(rng, (uint64_t)random_shape->cost);
    }
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < cols; b++) {
            int64_t c = random_cost(rng, random_shape);
            if (kind < random_shape->equal)
                c = (a + (int)shift) % cols == b ? (int64_t)rng_below(rng, (uint64_t)random_shape->cost)
                                                 : 1000000000000000000;
            else if (kind < random_shape->equal + random_shape->separable)
                c = row[a] + col[b];
            m[a * cols + b] = c;
        }
}

static inline void random_problem(struct rng *rng, const struct random_shape *random_shape,
                                  struct cfn_problem *problem)
{
    *problem = (struct cfn_problem){.limit = INT64_MAX};
    problem->node_count = 1 + (uint32_t)rng_below(rng, (uint64_t)random_shape->nodes);
    problem->edge_count = (uint32_t)rng_below(rng, (uint64_t)random_shape->edges + 1);
    problem->matrix_count = problem->edge_count;
    problem->nodes = mem_zalloc(problem->node_count, sizeof *problem->nodes);
    problem->costs = mem_zalloc(problem->node_count * 16, sizeof *problem->costs);
    problem->usages = mem_zalloc(problem->node_count * 16, sizeof *problem->usages);
    problem->edges = mem_zalloc(problem->edge_count + 1, sizeof *problem->edges);
    problem->matrices = mem_zalloc(problem->edge_count + 1, sizeof *problem->matrices);
    problem->entries = mem_zalloc((size_t)(problem->edge_count + 1) * 256, sizeof *problem->entries);
    for (uint32_t i = 0; i < problem->node_count; i++) {
        struct cfn_node *n = &problem->nodes[i];
        n->domain = 1 + (int32_t)rng_below(rng, (uint64_t)random_shape->domain);
        n->first_value = problem->value_count;
        n->lower = (int64_t)rng_below(rng, 12);
        n->upper = n->lower + (int64_t)rng_below(rng, 6);
        for (int32_t a = 0; a < n->domain; a++, problem->value_count++) {
            problem->costs[problem->value_count] = random_cost(rng, random_shape);
            problem->usages[problem->value_count] = rng_unit(rng) < 0.2 ? 0 : (int64_t)rng_below(rng, 20);
        }
    }
    for (uint32_t i = 0; i < problem->edge_count; i++) {
        struct cfn_edge *edge = &problem->edges[i];
        int32_t cols = 1;
        *edge = (struct cfn_edge){(int32_t)rng_below(rng, problem->node_count),
                                  (int32_t)rng_below(rng, problem->node_count), i};
        if (rng_unit(rng) < 0.05)
            edge->second = CFN_NO_NODE;
        else
            cols = problem->nodes[edge->second].domain;
        problem->matrices[i] =
            (struct cfn_matrix){problem->entry_count, (uint64_t)(problem->nodes[edge->first].domain * cols)};
        random_matrix(rng, random_shape, problem->nodes[edge->first].domain, cols,
                      problem->entries + problem->entry_count);
        problem->entry_count += problem->matrices[i].count;
    }
    if (random_shape->limit && rng_unit(rng) < 0.8) {
        problem->has_limit = 1;
        problem->limit = (int64_t)rng_below(rng, 12 * problem->node_count);
    }
}

/* moves to the next assignment; 0 after the last */
static inline int next_assignment(const int32_t *sizes, uint32_t count, int32_t *values)
{
    for (uint32_t i = 0; i < count; i++) {
        if (sizes[i] > 0 && ++values[i] < sizes[i])
            return 1;
        values[i] = 0;
    }
    return 0;
}

/* 1 when a feasible assignment exists: *best is its least cost */
static inline int brute_force(const struct cfn_problem *problem, __int128 *best)
{
    int32_t *values = mem_zalloc(problem->node_count, sizeof *values),
            *sizes = mem_zalloc(problem->node_count, sizeof *sizes);
    int found = 0;
    struct error e;
    struct cfn_verdict verdict;
    for (uint32_t i = 0; i < problem->node_count; i++)
        sizes[i] = problem->nodes[i].domain;
    do {
        ASSERT_OK(cfn_evaluate(problem, values, &verdict, &e), &e);
        if (verdict.feasible && (!found || verdict.cost < *best)) {
            *best = verdict.cost;
            found = 1;
        }
    } while (next_assignment(sizes, problem->node_count, values));
    free(values);
    free(sizes);
    return found;
}

/* the limit is what least usage takes and a little more, so that it matters */
static inline void random_narrow(struct cfn_problem *problem, struct rng *rng)
{
    int64_t usage[32] = {0}, peak = 0;
    for (uint32_t i = 0; i < problem->node_count; i++) {
        int64_t least = INT64_MAX;
        for (int32_t a = 0; a < problem->nodes[i].domain; a++) {
            int64_t use = problem->usages[problem->nodes[i].first_value + (uint64_t)a];
            least = use < least ? use : least;
        }
        for (int64_t t = problem->nodes[i].lower; t < problem->nodes[i].upper; t++)
            usage[t] += least;
    }
    for (int t = 0; t < 32; t++)
        peak = usage[t] > peak ? usage[t] : peak;
    problem->limit = peak + 2 + (int64_t)rng_below(rng, 25);
    problem->has_limit = 1;
}

#endif
