/* Forest moves. A random order of nodes is walked; a node joins when it closes no cycle with those that
 * joined before (union-find, path halving). What joined is a forest, on which min-plus dynamic programming
 * is exact (the trees of F. Hamze and N. de Freitas, "From fields to trees", 2004, there for sampling):
 *
 *       choose     nodes of degree BUSY or more are postponed, most of the time
 *       order      each tree breadth first, parents first; fixed neighbours add their row to the belief
 *       collect    children to parents: min over the child's values of belief + table
 *       distribute parents to children: the best value beside the parent's
 *
 * Gumbel noise on the costs makes the answer a sample of good points rather than the best one (G. Papandreou
 * and A. Yuille, "Perturb-and-MAP random fields", 2011). Without noise the cost under `unary` never rises,
 * but for float rounding. Never looks at usage: its price is in `unary`. */
#include "cfn/forest.h"

#include "cfn/kernel.h"

#include <stdlib.h>

enum {
    GUMBEL = 4096, /* samples, drawn once: a move reads a stretch of them from a random place */
    SEED = 0x6b43, /* of the samples: the same in every process */
    BUSY = 7, /* from this degree on a node is postponed with even odds or more: hubs close cycles early */
    NODE_WORK = 8, /* table entries that offering a node counts as */
};
static const double least_postponed = 0.5, postponed_range = 0.2;

void cfn_forest_create(const struct cfn_model *m, struct cfn_forest *f)
{
    size_t n = (size_t)m->node_count + 1;
    struct rng r = {SEED};
    *f = (struct cfn_forest){.m = m};
    f->root = mem_alloc(n * sizeof *f->root);
    memset(f->root, 0xff, n * sizeof *f->root);
    f->parent = mem_zalloc(n, sizeof *f->parent);
    f->stamp = mem_zalloc(n, sizeof *f->stamp);
    f->up = mem_zalloc(n, sizeof *f->up);
    f->chosen = mem_zalloc(n, sizeof *f->chosen);
    f->order = mem_zalloc(n, sizeof *f->order);
    f->late = mem_zalloc(n, sizeof *f->late);
    f->belief = mem_zalloc(m->value_count + 16, sizeof *f->belief);
    f->scratch = mem_zalloc((size_t)m->largest + 16, sizeof *f->scratch);
    f->gumbel = mem_zalloc((size_t)(GUMBEL + m->largest), sizeof *f->gumbel);
    for (int32_t i = 0; i < GUMBEL + m->largest; i++)
        f->gumbel[i] = (float)-cfn_log(-cfn_log(0.5 / GUMBEL + rng_unit(&r) * (1 - 1.0 / GUMBEL)));
}

void cfn_forest_release(struct cfn_forest *f)
{
    free(f->root);
    free(f->parent);
    free(f->stamp);
    free(f->up);
    free(f->chosen);
    free(f->order);
    free(f->late);
    free(f->belief);
    free(f->scratch);
    free(f->gumbel);
    *f = (struct cfn_forest){0};
}

static int32_t find(struct cfn_forest *f, int32_t i)
{
    while (f->root[i] != i)
        i = f->root[i] = f->root[f->root[i]];
    return i;
}

/* adds node when its chosen neighbours lie in distinct trees */
static bool try_add(struct cfn_forest *f, int32_t node)
{
    const struct cfn_model *m = f->m;
    f->now++;
    for (uint32_t k = m->first_arc[node]; k < m->first_arc[node + 1]; k++) {
        int32_t other = m->arcs[k].other;
        if (f->root[other] < 0)
            continue;
        int32_t tree = find(f, other);
        if (f->stamp[tree] == f->now)
            return false;
        f->stamp[tree] = f->now;
    }
    f->root[node] = node;
    for (uint32_t k = m->first_arc[node]; k < m->first_arc[node + 1]; k++)
        if (m->arcs[k].other != node && f->root[m->arcs[k].other] >= 0)
            f->root[find(f, m->arcs[k].other)] = node;
    return true;
}

static int32_t choose_forest(struct cfn_forest *f, struct rng *r, int32_t *nodes, int32_t count)
{
    const struct cfn_model *m = f->m;
    int32_t chosen = 0, late = 0;
    double postpone = least_postponed + postponed_range * rng_unit(r);
    for (int32_t i = 0; i < count; i++) {
        int32_t j = i + (int32_t)rng_below(r, (uint64_t)(count - i)), node = nodes[j];
        nodes[j] = nodes[i];
        nodes[i] = node;
        if (m->first_arc[node + 1] - m->first_arc[node] >= BUSY && rng_unit(r) < postpone)
            f->late[late++] = node;
        else if (try_add(f, node))
            f->chosen[chosen++] = node;
    }
    for (int32_t i = 0; i < late; i++)
        if (try_add(f, f->late[i]))
            f->chosen[chosen++] = f->late[i];
    return chosen;
}

CFN_KERNEL static void add_row(float *restrict sum, const float *restrict row, int32_t width)
{
    for (int32_t a = 0; a < width; a++)
        sum[a] += row[a];
}

CFN_KERNEL static void min_plus(float *restrict out, const float *restrict share, int32_t size,
                                const float *restrict rows, int32_t width)
{
    for (int32_t b = 0; b < width; b++)
        out[b] = share[0] + rows[b];
    for (int32_t a = 1; a < size; a++) {
        const float *row = rows + (size_t)a * (size_t)width;
        float s = share[a];
        for (int32_t b = 0; b < width; b++) {
            float c = s + row[b];
            out[b] = c < out[b] ? c : out[b];
        }
    }
}

/* parents before children; the belief of each starts as its costs beside fixed neighbours */
static void order_tree(struct cfn_forest *f, int32_t start, int32_t *count, const int32_t *value)
{
    const struct cfn_model *m = f->m;
    int32_t done = *count;
    f->stamp[start] = f->now;
    f->up[start] = NULL;
    f->order[(*count)++] = start;
    for (; done < *count; done++) {
        int32_t node = f->order[done];
        float *belief = f->belief + m->offset[node];
        for (uint32_t k = m->first_arc[node]; k < m->first_arc[node + 1]; k++) {
            const struct cfn_arc *arc = &m->arcs[k];
            if (f->root[arc->other] < 0) {
                add_row(belief, arc->columns + (size_t)value[arc->other] * (size_t)arc->column_width,
                        m->width[node]);
            } else if (f->stamp[arc->other] != f->now) {
                f->stamp[arc->other] = f->now;
                f->order[(*count)++] = arc->other;
                f->parent[arc->other] = node;
                f->up[arc->other] = arc;
            }
        }
        f->work += (uint64_t)m->width[node] * (m->first_arc[node + 1] - m->first_arc[node] + 1);
    }
}

static void start_beliefs(struct cfn_forest *f, struct rng *r, int32_t count, const float *unary,
                          double noise)
{
    const struct cfn_model *m = f->m;
    for (int32_t i = 0; i < count; i++) {
        int32_t node = f->chosen[i];
        float *belief = f->belief + m->offset[node];
        memcpy(belief, unary + m->offset[node], (size_t)m->width[node] * sizeof *belief);
        if (noise <= 0)
            continue;
        const float *sample = f->gumbel + rng_below(r, GUMBEL);
        for (int32_t a = 0; a < m->size[node]; a++)
            belief[a] -= (float)noise * sample[a];
    }
}

/* up[node] is the parent's arc to node: its columns are by node's value, over the parent's values */
static void collect(struct cfn_forest *f, int32_t count)
{
    const struct cfn_model *m = f->m;
    for (int32_t i = count; i-- > 0;) {
        int32_t node = f->order[i];
        const struct cfn_arc *arc = f->up[node];
        if (!arc)
            continue;
        int32_t parent = f->parent[node];
        min_plus(f->scratch, f->belief + m->offset[node], m->size[node], arc->columns, arc->column_width);
        add_row(f->belief + m->offset[parent], f->scratch, m->width[parent]);
        f->work += (uint64_t)m->size[node] * (uint64_t)m->width[parent];
    }
}

static int32_t distribute(struct cfn_forest *f, int32_t count, int32_t *value, int32_t *changed, int32_t *old)
{
    const struct cfn_model *m = f->m;
    int32_t changes = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t node = f->order[i], best = value[node];
        const struct cfn_arc *arc = f->up[node];
        float *belief = f->belief + m->offset[node];
        if (arc)
            add_row(belief, arc->rows + (size_t)value[f->parent[node]] * (size_t)arc->row_width,
                    m->width[node]);
        for (int32_t a = 0; a < m->size[node]; a++)
            best = belief[a] < belief[best] ? a : best;
        if (best == value[node])
            continue;
        if (old)
            old[changes] = value[node];
        changed[changes++] = node;
        value[node] = best;
    }
    return changes;
}

int32_t cfn_forest_move(struct cfn_forest *f, struct rng *r, int32_t *nodes, int32_t count,
                        const float *unary, double noise, int32_t *value, int32_t *changed, int32_t *old)
{
    int32_t chosen = choose_forest(f, r, nodes, count), ordered = 0;
    start_beliefs(f, r, chosen, unary, noise);
    f->now++;
    for (int32_t i = 0; i < chosen; i++)
        if (f->stamp[f->chosen[i]] != f->now)
            order_tree(f, f->chosen[i], &ordered, value);
    collect(f, ordered);
    int32_t changes = distribute(f, ordered, value, changed, old);
    for (int32_t i = 0; i < chosen; i++)
        f->root[f->chosen[i]] = -1;
    f->work += (uint64_t)count * NODE_WORK;
    return changes;
}
