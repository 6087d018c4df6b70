/* A plan as single factors: cells of one space extended one at a time, and whole plans listed and applied
 * again. */
#include "analysis/context.h"

#include <stdlib.h>

static bool is_open(const struct plan_context *context, uint32_t factor_index)
{
    return context->n->factors[factor_index].shardable && !context->closed[factor_index];
}

uint32_t plan_extend_cells(const struct plan_context *context, struct plan_cell *cells, uint32_t space,
                           uint32_t factor, uint32_t axis)
{
    uint32_t factor_index = context->n->spaces[space].factors + factor, tied = context->partner[factor_index],
             position;
    int64_t shards = plan_shards(context, cells, (uint8_t)factor, &position);
    if (cells[axis].factor != NDA_NO_FACTOR || !is_open(context, factor_index) ||
        context->n->factors[factor_index].size % (shards * context->mesh.axes[axis].size) != 0)
        return 0;
    if (tied != NDA_NONE &&
        (!is_open(context, tied) ||
         plan_space(&context->start, context->n->factors[tied].space)[axis].factor != NDA_NO_FACTOR))
        return 0;
    cells[axis] = (struct plan_cell){(uint8_t)factor, (uint8_t)position};
    return 1;
}

uint32_t plan_tied_factor(const struct plan_context *context, uint32_t factor_index)
{
    return context->partner[factor_index];
}

/* of two tied factors the earlier stands for both */
static bool stands_for_another(const struct plan_context *context, uint32_t factor_index)
{
    return context->partner[factor_index] != NDA_NONE && context->partner[factor_index] < factor_index;
}

void plan_factors_list(const struct plan_context *context, const struct plan *plan, struct plan_factors *out)
{
    VEC(struct plan_factor) list = {0};
    for (uint32_t space = 0; space < plan->space_count; space++)
        for (uint32_t position = 0; position < plan->axis_count; position++)
            for (uint32_t axis = 0; axis < plan->axis_count; axis++) {
                struct plan_cell cell = plan_space(plan, space)[axis];
                if (cell.factor == NDA_NO_FACTOR || cell.position != position ||
                    plan_space(&context->start, space)[axis].factor != NDA_NO_FACTOR ||
                    stands_for_another(context, context->n->spaces[space].factors + cell.factor))
                    continue;
                VEC_PUSH(&list, ((struct plan_factor){space, cell.factor, (uint8_t)axis}));
            }
    *out = (struct plan_factors){list.at, (uint32_t)list.count};
}

bool plan_factors_apply(const struct plan_context *context, const struct plan_factor *at, uint32_t count,
                        struct plan *plan)
{
    for (uint32_t i = 0; i < count; i++)
        if (!plan_apply_factor(context, plan, at[i].space, at[i].factor, at[i].axis))
            return false;
    return true;
}
