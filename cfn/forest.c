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

void cfn_forest_create(const struct cfn_model *model, struct cfn_forest *forest)
{
    size_t n = (size_t)model->node_count + 1;
    struct rng rng = {SEED};
    *forest = (struct cfn_forest){.model = model};
    forest->root = mem_alloc(n * sizeof *forest->root);
    memset(forest->root, 0xff, n * sizeof *forest->root);
    forest->parent = mem_zalloc(n, sizeof *forest->parent);
    forest->stamp = mem_zalloc(n, sizeof *forest->stamp);
    forest->up = mem_zalloc(n, sizeof *forest->up);
    forest->chosen = mem_zalloc(n, sizeof *forest->chosen);
    forest->order = mem_zalloc(n, sizeof *forest->order);
    forest->late = mem_zalloc(n, sizeof *forest->late);
    forest->belief = mem_zalloc(model->value_count + 16, sizeof *forest->belief);
    forest->scratch = mem_zalloc((size_t)model->largest + 16, sizeof *forest->scratch);
    forest->gumbel = mem_zalloc((size_t)GUMBEL + (size_t)model->largest, sizeof *forest->gumbel);
    for (int32_t i = 0; i < GUMBEL + model->largest; i++)
        forest->gumbel[i] = (float)-cfn_log(-cfn_log(0.5 / GUMBEL + rng_unit(&rng) * (1 - 1.0 / GUMBEL)));
}

void cfn_forest_release(struct cfn_forest *forest)
{
    free(forest->root);
    free(forest->parent);
    free(forest->stamp);
    free(forest->up);
    free(forest->chosen);
    free(forest->order);
    free(forest->late);
    free(forest->belief);
    free(forest->scratch);
    free(forest->gumbel);
    *forest = (struct cfn_forest){0};
}

static int32_t find(struct cfn_forest *forest, int32_t i)
{
    while (forest->root[i] != i)
        i = forest->root[i] = forest->root[forest->root[i]];
    return i;
}

/* adds node when its chosen neighbours lie in distinct trees */
static bool try_add(struct cfn_forest *forest, int32_t node)
{
    const struct cfn_model *model = forest->model;
    forest->now++;
    for (uint32_t k = model->first_arc[node]; k < model->first_arc[node + 1]; k++) {
        int32_t other = model->arcs[k].other;
        if (forest->root[other] < 0)
            continue;
        int32_t tree = find(forest, other);
        if (forest->stamp[tree] == forest->now)
            return false;
        forest->stamp[tree] = forest->now;
    }
    forest->root[node] = node;
    for (uint32_t k = model->first_arc[node]; k < model->first_arc[node + 1]; k++)
        if (model->arcs[k].other != node && forest->root[model->arcs[k].other] >= 0)
            forest->root[find(forest, model->arcs[k].other)] = node;
    return true;
}

static int32_t choose_forest(struct cfn_forest *forest, struct rng *rng, int32_t *nodes, int32_t count)
{
    const struct cfn_model *model = forest->model;
    int32_t chosen = 0, late = 0;
    double postpone = least_postponed + postponed_range * rng_unit(rng);
    for (int32_t i = 0; i < count; i++) {
        int32_t j = i + (int32_t)rng_below(rng, (uint64_t)(count - i)), node = nodes[j];
        nodes[j] = nodes[i];
        nodes[i] = node;
        if (model->first_arc[node + 1] - model->first_arc[node] >= BUSY && rng_unit(rng) < postpone)
            forest->late[late++] = node;
        else if (try_add(forest, node))
            forest->chosen[chosen++] = node;
    }
    for (int32_t i = 0; i < late; i++)
        if (try_add(forest, forest->late[i]))
            forest->chosen[chosen++] = forest->late[i];
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
static void order_tree(struct cfn_forest *forest, int32_t start, int32_t *count, const int32_t *value)
{
    const struct cfn_model *model = forest->model;
    int32_t done = *count;
    forest->stamp[start] = forest->now;
    forest->up[start] = NULL;
    forest->order[(*count)++] = start;
    for (; done < *count; done++) {
        int32_t node = forest->order[done];
        float *belief = forest->belief + model->offset[node];
        for (uint32_t k = model->first_arc[node]; k < model->first_arc[node + 1]; k++) {
            const struct cfn_arc *arc = &model->arcs[k];
            if (forest->root[arc->other] < 0) {
                add_row(belief, arc->columns + (size_t)value[arc->other] * (size_t)arc->column_width,
                        model->width[node]);
            } else if (forest->stamp[arc->other] != forest->now) {
                forest->stamp[arc->other] = forest->now;
                forest->order[(*count)++] = arc->other;
                forest->parent[arc->other] = node;
                forest->up[arc->other] = arc;
            }
        }
        forest->work +=
            (uint64_t)model->width[node] * (model->first_arc[node + 1] - model->first_arc[node] + 1);
    }
}

static void start_beliefs(struct cfn_forest *forest, struct rng *rng, int32_t count, const float *unary,
                          double noise)
{
    const struct cfn_model *model = forest->model;
    for (int32_t i = 0; i < count; i++) {
        int32_t node = forest->chosen[i];
        float *belief = forest->belief + model->offset[node];
        memcpy(belief, unary + model->offset[node], (size_t)model->width[node] * sizeof *belief);
        if (noise <= 0)
            continue;
        const float *sample = forest->gumbel + rng_below(rng, GUMBEL);
        for (int32_t a = 0; a < model->size[node]; a++)
            belief[a] -= (float)noise * sample[a];
    }
}

/* up[node] is the parent's arc to node: its columns are by node's value, over the parent's values */
static void collect(struct cfn_forest *forest, int32_t count)
{
    const struct cfn_model *model = forest->model;
    for (int32_t i = count; i-- > 0;) {
        int32_t node = forest->order[i];
        const struct cfn_arc *arc = forest->up[node];
        if (!arc)
            continue;
        int32_t parent = forest->parent[node];
        min_plus(forest->scratch, forest->belief + model->offset[node], model->size[node], arc->columns,
                 arc->column_width);
        add_row(forest->belief + model->offset[parent], forest->scratch, model->width[parent]);
        forest->work += (uint64_t)model->size[node] * (uint64_t)model->width[parent];
    }
}

static int32_t distribute(struct cfn_forest *forest, int32_t count, int32_t *value, int32_t *changed,
                          int32_t *old)
{
    const struct cfn_model *model = forest->model;
    int32_t changes = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t node = forest->order[i], best = value[node];
        const struct cfn_arc *arc = forest->up[node];
        float *belief = forest->belief + model->offset[node];
        if (arc)
            add_row(belief, arc->rows + (size_t)value[forest->parent[node]] * (size_t)arc->row_width,
                    model->width[node]);
        for (int32_t a = 0; a < model->size[node]; a++)
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

int32_t cfn_forest_move(struct cfn_forest *forest, struct rng *rng, int32_t *nodes, int32_t count,
                        const float *unary, double noise, int32_t *value, int32_t *changed, int32_t *old)
{
    int32_t chosen = choose_forest(forest, rng, nodes, count), ordered = 0;
    start_beliefs(forest, rng, chosen, unary, noise);
    forest->now++;
    for (int32_t i = 0; i < chosen; i++)
        if (forest->stamp[forest->chosen[i]] != forest->now)
            order_tree(forest, forest->chosen[i], &ordered, value);
    collect(forest, ordered);
    int32_t changes = distribute(forest, ordered, value, changed, old);
    for (int32_t i = 0; i < chosen; i++)
        forest->root[forest->chosen[i]] = -1;
    forest->work += (uint64_t)count * NODE_WORK;
    return changes;
}
