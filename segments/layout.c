/* Layouts of the mesh's axes, the segments of one, configurations as digits, and the plan of a choice of
 * them: what pricing, measuring and composing share. Pure. */
#include "segments/compose.h"

enum { PROGRAMS = 2048 };

/* ---- configurations ---- */

static uint32_t radix(const struct segments *segments, uint32_t block)
{
    return segments->blocks[block].strategy_count ? segments->blocks[block].strategy_count : 1;
}

uint32_t segments_digit(const struct segments *segments, uint32_t segment, uint64_t configuration,
                        uint32_t block)
{
    const struct segments_segment *it = &segments->segments[segment];
    for (uint32_t i = it->count - 1; i > block; i--)
        configuration /= radix(segments, it->first + i);
    return (uint32_t)(configuration % radix(segments, it->first + block));
}

uint32_t segments_with_digit(const struct segments *segments, uint32_t segment, uint32_t configuration,
                             uint32_t block, uint32_t digit)
{
    uint32_t weight = 1;
    const struct segments_segment *it = &segments->segments[segment];
    for (uint32_t i = it->count - 1; i > block; i--)
        weight *= radix(segments, it->first + i);
    return configuration + (digit - segments_digit(segments, segment, configuration, block)) * weight;
}

/* the batch wherever it is, else rows, else the first there is */
static uint32_t base_strategy(const struct segments *segments, uint32_t block)
{
    const struct segments_block *it = &segments->blocks[block];
    const struct nda *n = segments->nda;
    uint32_t rows = NDA_NONE;
    for (uint32_t i = 0; i < it->strategy_count; i++) {
        const struct segments_strategy *strategy = &segments->strategies[it->strategies + i];
        uint32_t factor_index = n->spaces[segments->contractions[it->entry].space].factors + strategy->factor;
        if (n->colors[n->factors[factor_index].color].roles & NDA_COLOR_BATCH)
            return i;
        if (strategy->side == SEGMENTS_ROWS)
            rows = i;
    }
    return rows == NDA_NONE ? 0 : rows;
}

void segments_base(const struct segments *segments, uint32_t *configurations)
{
    for (uint32_t i = 0; i < segments->segment_count; i++) {
        configurations[i] = 0;
        for (uint32_t k = 0; k < segments->segments[i].count; k++)
            configurations[i] = segments_with_digit(segments, i, configurations[i], k,
                                                    base_strategy(segments, segments->segments[i].first + k));
    }
}

/* ---- plans ---- */

static void apply_strategy(const struct segments *segments, const struct plan_context *context,
                           uint32_t block, uint32_t strategy, uint32_t axis, struct plan *plan)
{
    if (strategy >= segments->blocks[block].strategy_count)
        return;
    const struct segments_strategy *it = &segments->strategies[segments->blocks[block].strategies + strategy];
    for (uint32_t i = it->cells; i < it->cells + it->cell_count;
         i++) /* 0: its tied space did, or a pin closes it */
        plan_apply_factor(context, plan, segments->cells[i].space, segments->cells[i].factor, axis);
}

void segments_plan(const struct segments *segments, const struct plan_context *context, uint32_t outer,
                   uint32_t inner, const uint32_t *configurations, struct plan *out)
{
    plan_copy(out, plan_context_start(context));
    for (uint32_t axis = 0; axis < out->axis_count; axis++)
        for (uint32_t block = 0; (outer >> axis & 1) && block < segments->block_count; block++)
            apply_strategy(segments, context, block, base_strategy(segments, block), axis, out);
    for (uint32_t axis = 0; axis < out->axis_count; axis++)
        for (uint32_t block = 0; (inner >> axis & 1) && block < segments->block_count; block++) {
            uint32_t segment = segments->segment_of[block];
            apply_strategy(segments, context, block,
                           segments_digit(segments, segment, configurations[segment],
                                          block - segments->segments[segment].first),
                           axis, out);
        }
}

/* ---- layouts ---- */

uint32_t segments_layouts(const struct mesh *mesh, uint32_t *all, uint32_t inner[SEGMENTS_LAYOUTS])
{
    uint32_t first = 0, last = 0, count = 0;
    *all = 0;
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        if (mesh->axes[axis].size > 1) {
            first = first ? first : 1u << axis;
            last = 1u << axis;
            *all |= last;
        }
    if (*all)
        inner[count++] = last;
    if (first != last)
        inner[count++] = *all;
    if (first != last)
        inner[count++] = first;
    return count;
}

/* the base, every configuration of a kind, every two strategies of a pair with either alone, answers */
uint64_t segments_prices(const struct segments *segments)
{
    uint64_t count = 1 + SEGMENTS_LIMIT_ROUNDS;
    for (uint32_t i = 0; i < segments->kind_count; i++)
        count += segments->kinds[i].configurations;
    for (uint32_t i = 0; i < segments->pair_count; i++) {
        const struct segments_dependence *it = &segments->dependences[segments->pairs[i].example];
        uint64_t rows = segments_strategy_count(segments, segments->contractions[it->from].block),
                 columns = segments_strategy_count(segments, segments->contractions[it->to].block);
        count += rows * columns + rows + columns;
    }
    return count;
}

void segments_of_layout(const struct nda *n, const struct mesh *mesh, uint32_t inner, uint64_t programs,
                        uint64_t prices, struct segments **out)
{
    uint64_t budget = programs ? programs : PROGRAMS, most = SEGMENTS_MOST_CONFIGURATIONS;
    int64_t devices = 1;
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        devices *= inner >> axis & 1 ? mesh->axes[axis].size : 1;
    for (;;) {
        segments_create(n, devices, most, out);
        bool keeps = (*out)->programs <= budget && (!prices || segments_prices(*out) <= prices);
        if (keeps || most < 2)
            return;
        segments_destroy(*out);
        most /= 3;
    }
}
