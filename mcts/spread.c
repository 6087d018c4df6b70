/* AutoMap's decisions (spread.h): a breadth-first walk over M in both directions, on one axis. */
#include "mcts/spread.h"

#include <stdlib.h>

#include "base/memory.h"

struct spread {
    const struct plan_context *context;
    const struct nda *n;
    uint32_t axes;
    uint32_t *factors, factor_count; /* factors of arguments, any of which a decision shards */
    uint32_t *first, *neighbours;    /* factor i: neighbours[first[i] .. first[i + 1]) along M, both ways */
};

static void link_factors(struct spread *spread)
{
    const struct nda *n = spread->n;
    spread->first = mem_zalloc(n->factor_count + 2, sizeof *spread->first);
    for (uint32_t i = 0; i < n->edge_count; i++) {
        spread->first[n->edge_from[i] + 2]++;
        spread->first[n->edge_to[i] + 2]++;
    }
    for (uint32_t i = 2; i < n->factor_count + 2; i++)
        spread->first[i] += spread->first[i - 1];
    spread->neighbours = mem_zalloc(2 * (size_t)n->edge_count, sizeof *spread->neighbours);
    for (uint32_t i = 0; i < n->edge_count; i++) { /* first[x + 1] moves from x's beginning to its end */
        spread->neighbours[spread->first[n->edge_from[i] + 1]++] = n->edge_to[i];
        spread->neighbours[spread->first[n->edge_to[i] + 1]++] = n->edge_from[i];
    }
}

struct spread *spread_create(const struct plan_context *context)
{
    struct spread *spread = mem_zalloc(1, sizeof *spread);
    spread->context = context;
    spread->n = plan_context_nda(context);
    spread->axes = plan_context_mesh(context)->axis_count;
    link_factors(spread);
    spread->factors = mem_zalloc(spread->n->factor_count, sizeof *spread->factors);
    for (uint32_t i = 0; i < spread->n->argument_count; i++) {
        const struct nda_space *space = &spread->n->spaces[spread->n->arguments[i].space];
        for (uint32_t factor = 0; factor < space->factor_count; factor++)
            if (spread->n->factors[space->factors + factor].shardable)
                spread->factors[spread->factor_count++] = space->factors + factor;
    }
    return spread;
}

void spread_destroy(struct spread *spread)
{
    if (!spread)
        return;
    free(spread->factors);
    free(spread->first);
    free(spread->neighbours);
    free(spread);
}

uint32_t spread_decision_count(const struct spread *spread)
{
    return spread->factor_count * spread->axes;
}

uint32_t spread_queue_size(const struct spread *spread)
{
    return spread->n->factor_count;
}

static uint32_t take(const struct spread *spread, struct plan *plan, uint32_t factor_index, uint32_t axis)
{
    const struct nda_factor *factor = &spread->n->factors[factor_index];
    if (plan_space(plan, factor->space)[axis].factor != NDA_NO_FACTOR)
        return 0;
    return plan_apply_factor(spread->context, plan, factor->space,
                             factor_index - spread->n->spaces[factor->space].factors, axis);
}

uint32_t spread_apply(const struct spread *spread, struct plan *plan, uint32_t decision, uint32_t *queue)
{
    uint32_t axis = decision % spread->axes, factor_index = spread->factors[decision / spread->axes],
             count = 0;
    if (take(spread, plan, factor_index, axis))
        queue[count++] = factor_index;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = spread->first[queue[i]]; k < spread->first[queue[i] + 1]; k++)
            if (take(spread, plan, spread->neighbours[k],
                     axis)) /* once a factor: then its space has the axis */
                queue[count++] = spread->neighbours[k];
    return count;
}
