/* A plan as single factors: cells of one space extended one at a time, and whole plans listed and applied
 * again. */
#include "analysis/context.h"

#include <stdlib.h>

static bool is_open(const struct plan_context *c, uint32_t factor_index)
{
    return c->n->factors[factor_index].shardable && !c->closed[factor_index];
}

uint32_t plan_extend_cells(const struct plan_context *c, struct plan_cell *cells, uint32_t space,
                           uint32_t factor, uint32_t axis)
{
    uint32_t factor_index = c->n->spaces[space].factors + factor, tied = c->partner[factor_index], position;
    int64_t shards = plan_shards(c, cells, (uint8_t)factor, &position);
    if (cells[axis].factor != NDA_NO_FACTOR || !is_open(c, factor_index) ||
        c->n->factors[factor_index].size % (shards * c->mesh.axes[axis].size) != 0)
        return 0;
    if (tied != NDA_NONE &&
        (!is_open(c, tied) || plan_space(&c->start, c->n->factors[tied].space)[axis].factor != NDA_NO_FACTOR))
        return 0;
    cells[axis] = (struct plan_cell){(uint8_t)factor, (uint8_t)position};
    return 1;
}

uint32_t plan_tied_factor(const struct plan_context *c, uint32_t factor_index)
{
    return c->partner[factor_index];
}

/* of two tied factors the earlier stands for both */
static bool stands_for_another(const struct plan_context *c, uint32_t factor_index)
{
    return c->partner[factor_index] != NDA_NONE && c->partner[factor_index] < factor_index;
}

void plan_factors_list(const struct plan_context *c, const struct plan *p, struct plan_factors *out)
{
    VEC(struct plan_factor) list = {0};
    for (uint32_t s = 0; s < p->space_count; s++)
        for (uint32_t position = 0; position < p->axis_count; position++)
            for (uint32_t a = 0; a < p->axis_count; a++) {
                struct plan_cell cell = plan_space(p, s)[a];
                if (cell.factor == NDA_NO_FACTOR || cell.position != position ||
                    plan_space(&c->start, s)[a].factor != NDA_NO_FACTOR ||
                    stands_for_another(c, c->n->spaces[s].factors + cell.factor))
                    continue;
                VEC_PUSH(&list, ((struct plan_factor){s, cell.factor, (uint8_t)a}));
            }
    *out = (struct plan_factors){list.at, (uint32_t)list.count};
}

bool plan_factors_apply(const struct plan_context *c, const struct plan_factor *at, uint32_t count,
                        struct plan *p)
{
    for (uint32_t i = 0; i < count; i++)
        if (!plan_apply_factor(c, p, at[i].space, at[i].factor, at[i].axis))
            return false;
    return true;
}
