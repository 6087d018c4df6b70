/* AutoMap's decisions (spread.h): a breadth-first walk over M in both directions, on one axis. */
#include "mcts/spread.h"

#include <stdlib.h>

#include "base/memory.h"

struct spread {
    const struct plan_context *c;
    const struct nda *n;
    uint32_t axes;
    uint32_t *factors, factor_count; /* factors of arguments, any of which a decision shards */
    uint32_t *first, *neighbours;    /* factor i: neighbours[first[i] .. first[i + 1]) along M, both ways */
};

static void link_factors(struct spread *s)
{
    const struct nda *n = s->n;
    s->first = mem_zalloc(n->factor_count + 2, sizeof *s->first);
    for (uint32_t i = 0; i < n->edge_count; i++) {
        s->first[n->edge_from[i] + 2]++;
        s->first[n->edge_to[i] + 2]++;
    }
    for (uint32_t i = 2; i < n->factor_count + 2; i++)
        s->first[i] += s->first[i - 1];
    s->neighbours = mem_zalloc(2 * (size_t)n->edge_count, sizeof *s->neighbours);
    for (uint32_t i = 0; i < n->edge_count; i++) { /* first[x + 1] moves from x's beginning to its end */
        s->neighbours[s->first[n->edge_from[i] + 1]++] = n->edge_to[i];
        s->neighbours[s->first[n->edge_to[i] + 1]++] = n->edge_from[i];
    }
}

struct spread *spread_create(const struct plan_context *c)
{
    struct spread *s = mem_zalloc(1, sizeof *s);
    s->c = c;
    s->n = plan_context_nda(c);
    s->axes = plan_context_mesh(c)->axis_count;
    link_factors(s);
    s->factors = mem_zalloc(s->n->factor_count, sizeof *s->factors);
    for (uint32_t i = 0; i < s->n->argument_count; i++) {
        const struct nda_space *space = &s->n->spaces[s->n->arguments[i].space];
        for (uint32_t f = 0; f < space->factor_count; f++)
            if (s->n->factors[space->factors + f].shardable)
                s->factors[s->factor_count++] = space->factors + f;
    }
    return s;
}

void spread_destroy(struct spread *s)
{
    if (!s)
        return;
    free(s->factors);
    free(s->first);
    free(s->neighbours);
    free(s);
}

uint32_t spread_decision_count(const struct spread *s)
{
    return s->factor_count * s->axes;
}

uint32_t spread_queue_size(const struct spread *s)
{
    return s->n->factor_count;
}

static uint32_t take(const struct spread *s, struct plan *p, uint32_t factor_index, uint32_t axis)
{
    const struct nda_factor *x = &s->n->factors[factor_index];
    if (plan_space(p, x->space)[axis].factor != NDA_NO_FACTOR)
        return 0;
    return plan_apply_factor(s->c, p, x->space, factor_index - s->n->spaces[x->space].factors, axis);
}

uint32_t spread_apply(const struct spread *s, struct plan *p, uint32_t decision, uint32_t *queue)
{
    uint32_t axis = decision % s->axes, factor_index = s->factors[decision / s->axes], count = 0;
    if (take(s, p, factor_index, axis))
        queue[count++] = factor_index;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = s->first[queue[i]]; k < s->first[queue[i] + 1]; k++)
            if (take(s, p, s->neighbours[k], axis)) /* once a factor: then its space has the axis */
                queue[count++] = s->neighbours[k];
    return count;
}
