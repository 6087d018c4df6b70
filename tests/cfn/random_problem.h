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

static inline int64_t random_cost(struct rng *r, const struct random_shape *s)
{
    if (rng_unit(r) < s->infinite)
        return 1000000000000000000;
    int64_t c = rng_unit(r) < 0.3 ? 0 : (int64_t)rng_below(r, (uint64_t)s->cost);
    return s->negative && rng_unit(r) < 0.2 ? -c : c;
}

static inline void random_matrix(struct rng *r, const struct random_shape *s, int rows, int cols, int64_t *m)
{
    double kind = rng_unit(r);
    uint64_t shift = rng_below(r, 8);
    int64_t row[16], col[16];
    for (int i = 0; i < 16; i++) {
        row[i] = (int64_t)rng_below(r, (uint64_t)s->cost);
        col[i] = (int64_t)rng_below(r, (uint64_t)s->cost);
    }
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < cols; b++) {
            int64_t c = random_cost(r, s);
            if (kind < s->equal)
                c = (a + (int)shift) % cols == b ? (int64_t)rng_below(r, (uint64_t)s->cost)
                                                 : 1000000000000000000;
            else if (kind < s->equal + s->separable)
                c = row[a] + col[b];
            m[a * cols + b] = c;
        }
}

static inline void random_problem(struct rng *r, const struct random_shape *s, struct cfn_problem *p)
{
    *p = (struct cfn_problem){.limit = INT64_MAX};
    p->node_count = 1 + (uint32_t)rng_below(r, (uint64_t)s->nodes);
    p->edge_count = (uint32_t)rng_below(r, (uint64_t)s->edges + 1);
    p->matrix_count = p->edge_count;
    p->nodes = mem_zalloc(p->node_count, sizeof *p->nodes);
    p->costs = mem_zalloc(p->node_count * 16, sizeof *p->costs);
    p->usages = mem_zalloc(p->node_count * 16, sizeof *p->usages);
    p->edges = mem_zalloc(p->edge_count + 1, sizeof *p->edges);
    p->matrices = mem_zalloc(p->edge_count + 1, sizeof *p->matrices);
    p->entries = mem_zalloc((size_t)(p->edge_count + 1) * 256, sizeof *p->entries);
    for (uint32_t i = 0; i < p->node_count; i++) {
        struct cfn_node *n = &p->nodes[i];
        n->domain = 1 + (int32_t)rng_below(r, (uint64_t)s->domain);
        n->first_value = p->value_count;
        n->lower = (int64_t)rng_below(r, 12);
        n->upper = n->lower + (int64_t)rng_below(r, 6);
        for (int32_t a = 0; a < n->domain; a++, p->value_count++) {
            p->costs[p->value_count] = random_cost(r, s);
            p->usages[p->value_count] = rng_unit(r) < 0.2 ? 0 : (int64_t)rng_below(r, 20);
        }
    }
    for (uint32_t i = 0; i < p->edge_count; i++) {
        struct cfn_edge *edge = &p->edges[i];
        int32_t cols = 1;
        *edge =
            (struct cfn_edge){(int32_t)rng_below(r, p->node_count), (int32_t)rng_below(r, p->node_count), i};
        if (rng_unit(r) < 0.05)
            edge->second = CFN_NO_NODE;
        else
            cols = p->nodes[edge->second].domain;
        p->matrices[i] = (struct cfn_matrix){p->entry_count, (uint64_t)(p->nodes[edge->first].domain * cols)};
        random_matrix(r, s, p->nodes[edge->first].domain, cols, p->entries + p->entry_count);
        p->entry_count += p->matrices[i].count;
    }
    if (s->limit && rng_unit(r) < 0.8) {
        p->has_limit = 1;
        p->limit = (int64_t)rng_below(r, 12 * p->node_count);
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
static inline int brute_force(const struct cfn_problem *p, __int128 *best)
{
    int32_t *values = mem_zalloc(p->node_count, sizeof *values),
            *sizes = mem_zalloc(p->node_count, sizeof *sizes);
    int found = 0;
    struct error e;
    struct cfn_verdict v;
    for (uint32_t i = 0; i < p->node_count; i++)
        sizes[i] = p->nodes[i].domain;
    do {
        ASSERT_OK(cfn_evaluate(p, values, &v, &e), &e);
        if (v.feasible && (!found || v.cost < *best)) {
            *best = v.cost;
            found = 1;
        }
    } while (next_assignment(sizes, p->node_count, values));
    free(values);
    free(sizes);
    return found;
}

#endif
