/* A plan as single factors: cells of one space extended one at a time, and whole plans listed and applied
 * again. */
#include "analysis/context.h"

#include <stdlib.h>

static bool open_name(const struct plan_context *c, uint32_t name)
{
    return c->n->names[name].shardable && !c->closed[name];
}

uint32_t plan_extend_cells(const struct plan_context *c, struct plan_cell *cells, uint32_t space,
                           uint32_t factor, uint32_t axis)
{
    uint32_t name = c->n->spaces[space].names + factor, tied = c->partner[name], position;
    int64_t shards = plan_shards(c, cells, (uint8_t)factor, &position);
    if (cells[axis].factor != NDA_NO_FACTOR || !open_name(c, name) ||
        c->n->names[name].size % (shards * c->mesh.axes[axis].size) != 0)
        return 0;
    if (tied != NDA_NONE &&
        (!open_name(c, tied) || plan_space(&c->start, c->n->names[tied].space)[axis].factor != NDA_NO_FACTOR))
        return 0;
    cells[axis] = (struct plan_cell){(uint8_t)factor, (uint8_t)position};
    return 1;
}

uint32_t plan_tied_name(const struct plan_context *c, uint32_t name)
{
    return c->partner[name];
}

/* of two tied names the earlier stands for both */
static bool stands_for_another(const struct plan_context *c, uint32_t name)
{
    return c->partner[name] != NDA_NONE && c->partner[name] < name;
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
                    stands_for_another(c, c->n->spaces[s].names + cell.factor))
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
