/* Applies decisions and single factors to a plan (docs/design/analysis.md, the rules of applying).
 *
 * A cell is only ever set once: earlier decisions win, so that order is priority, and whatever the order,
 * equal cells give an equal hash. Nothing here fails: what is not allowed is left out, and the count of
 * changed factors says so.
 *
 * The inner loop runs thousands of times a search: one pass over the group's candidates in program order,
 * which the context prepared (conflict sides as a mask, divisibility as a bit, tied spaces as a partner). */
#include "analysis/context.h"

#include <stdlib.h>
#include <string.h>

/* what the cell adds to the plan's hash */
static struct hash128 set_cell(const struct plan_context *context, struct plan *plan, uint32_t space,
                               uint8_t factor, uint32_t axis, uint32_t position)
{
    plan->cells[(size_t)space * plan->axis_count + axis] = (struct plan_cell){factor, (uint8_t)position};
    return plan_cell_word(context, context->n->spaces[space].factors + factor, axis, position);
}

/* the same of a candidate's cell, with those that it stands for (thin.h) */
static struct hash128 candidate_word(const struct plan_context *context, const struct plan_candidate *k,
                                     uint32_t axis, uint32_t position)
{
    size_t axes = context->mesh.axis_count;
    return context->words
               ? context->words[((size_t)(k - context->candidates) * axes + axis) * axes + position]
               : plan_cell_word(context, k->factor_index, axis, position);
}

/* does the axis divide what the axes there leave of the factor? */
static bool divides(const struct plan_context *context, int64_t size, int64_t shards, uint32_t axis)
{
    int64_t by = shards * context->mesh.axes[axis].size; /* each divisor is at most 2^20 devices */
    /* mostly a power of two: a division takes as long as all the rest */
    return (by & (by - 1) ? size % by : size & (by - 1)) == 0;
}

/* color: only factors of this color, or NDA_NONE for the whole group */
static uint32_t apply(const struct plan_context *context, struct plan *plan, struct plan_decision decision,
                      uint32_t color)
{
    const struct plan_candidate *end = context->candidates + context->group_first[decision.group + 1];
    uint32_t changed = 0, axes = plan->axis_count;
    uint8_t bit = (uint8_t)(1u << decision.axis);
    struct hash128 hash = plan->hash;
    for (const struct plan_candidate *k = context->candidates + context->group_first[decision.group]; k < end;
         k++) {
        struct plan_cell *cells = plan->cells + (size_t)k->space * axes;
        uint32_t position;
        int64_t shards;
        if (!(k->divides & bit) || (decision.bits & k->mask) != k->value ||
            cells[decision.axis].factor != NDA_NO_FACTOR ||
            (decision.scope == PLAN_SCOPE_UPDATE && !k->update) ||
            (decision.scope == PLAN_SCOPE_STACKED && !k->stacked))
            continue;
        if (color != NDA_NONE && context->n->factors[k->factor_index].color != color)
            continue;
        if (k->partner != NDA_NONE &&
            plan->cells[(size_t)k->partner * axes + decision.axis].factor != NDA_NO_FACTOR)
            continue;
        shards = plan_shards(context, cells, k->factor, &position);
        if (position && !divides(context, k->size, shards, decision.axis))
            continue;
        cells[decision.axis] = (struct plan_cell){k->factor, (uint8_t)position};
        hash = hash128_xor(hash, candidate_word(context, k, decision.axis, position));
        changed++;
        if (k->partner != NDA_NONE) {
            hash = hash128_xor(
                hash, set_cell(context, plan, k->partner, k->partner_factor, decision.axis, position));
            changed++;
        }
    }
    plan->hash = hash;
    return changed;
}

static uint32_t apply_regather(const struct plan_context *context, struct plan *plan,
                               struct plan_decision decision)
{
    const struct nda *n = context->n;
    uint32_t changed = 0;
    for (uint32_t i = 0; i < plan->argument_count; i++) {
        const struct nda_argument *argument = &n->arguments[i];
        uint8_t factor = plan_space(plan, argument->space)[decision.axis].factor;
        if (argument->role != NDA_ROLE_PARAMETER || factor == NDA_NO_FACTOR ||
            (plan->regather[i] >> decision.axis & 1) ||
            n->colors[n->factors[n->spaces[argument->space].factors + factor].color].group != decision.group)
            continue;
        plan->regather[i] |= (uint8_t)(1u << decision.axis);
        plan->hash = hash128_xor(plan->hash, context_regather_word(i, decision.axis));
        changed++;
    }
    return changed;
}

/* does the axis shard optimizer state in this group? */
static bool shards_state(const struct plan_context *context, const struct plan *plan,
                         struct plan_decision decision)
{
    const struct nda *n = context->n;
    for (uint32_t i = 0; i < plan->argument_count; i++) {
        const struct nda_argument *argument = &n->arguments[i];
        uint8_t factor = plan_space(plan, argument->space)[decision.axis].factor;
        if (argument->role == NDA_ROLE_OPTIMIZER && factor != NDA_NO_FACTOR &&
            n->colors[n->factors[n->spaces[argument->space].factors + factor].color].group == decision.group)
            return true;
    }
    return false;
}

static uint32_t apply_whole(const struct plan_context *context, struct plan *plan,
                            struct plan_decision decision)
{
    if ((plan->whole[decision.group] >> decision.axis & 1) || !shards_state(context, plan, decision))
        return 0;
    plan->whole[decision.group] |= (uint8_t)(1u << decision.axis);
    plan->hash = hash128_xor(plan->hash, context_whole_word(decision.group, decision.axis));
    return 1;
}

uint32_t plan_apply(const struct plan_context *context, struct plan *plan, struct plan_decision decision)
{
    if (decision.scope == PLAN_SCOPE_WHOLE)
        return apply_whole(context, plan, decision);
    if (decision.scope == PLAN_SCOPE_REGATHER)
        return apply_regather(context, plan, decision);
    return apply(context, plan, decision, NDA_NONE);
}

uint32_t plan_propagate(const struct plan_context *context, struct plan *plan)
{
    const struct nda *n = context->n;
    uint32_t changed = 0;
    for (uint32_t space = 0; space < n->space_count; space++)
        for (uint32_t position = 0; position < context->mesh.axis_count; position++)
            for (uint32_t axis = 0; axis < context->mesh.axis_count; axis++) {
                struct plan_cell cell = plan_space(&context->start, space)[axis];
                uint32_t color;
                struct plan_decision decision = {.axis = (uint8_t)axis};
                if (cell.factor == NDA_NO_FACTOR || cell.position != position)
                    continue;
                color = n->factors[n->spaces[space].factors + cell.factor].color;
                decision.group = n->colors[color].group;
                /* the sides that keep what is pinned */
                decision.bits = context->kept[n->spaces[space].factors + cell.factor];
                changed += apply(context, plan, decision, color);
            }
    return changed;
}

void plan_context_complete(struct plan_context *context)
{
    struct plan completed;
    plan_init(&completed, context->n, &context->mesh);
    plan_copy(&completed, &context->start);
    plan_propagate(context, &completed);
    plan_copy(&context->start, &completed);
    plan_release(&completed);
}

void plan_replay(const struct plan_context *context, struct plan_decision *list, uint32_t *count,
                 struct plan *plan)
{
    uint32_t kept = 0;
    plan_copy(plan, &context->start);
    for (uint32_t i = 0; i < *count; i++)
        if (plan_apply(context, plan, list[i]) > 0)
            list[kept++] = list[i];
    *count = kept;
}

static bool cell_free(const struct plan_context *context, const struct plan *plan, uint32_t factor_index,
                      uint32_t axis)
{
    const struct nda_factor *nm = &context->n->factors[factor_index];
    const struct plan_cell *cells = plan_space(plan, nm->space);
    uint32_t position;
    int64_t shards = plan_shards(context, cells,
                                 (uint8_t)(factor_index - context->n->spaces[nm->space].factors), &position);
    return nm->shardable && !context->closed[factor_index] && cells[axis].factor == NDA_NO_FACTOR &&
           divides(context, nm->size, shards, axis);
}

static void take_cell(const struct plan_context *context, struct plan *plan, uint32_t factor_index,
                      uint32_t axis)
{
    uint32_t space = context->n->factors[factor_index].space, position;
    uint8_t factor = (uint8_t)(factor_index - context->n->spaces[space].factors);
    plan_shards(context, plan_space(plan, space), factor, &position);
    plan->hash = hash128_xor(plan->hash, set_cell(context, plan, space, factor, axis, position));
}

uint32_t plan_apply_factor(const struct plan_context *context, struct plan *plan, uint32_t space,
                           uint32_t factor, uint32_t axis)
{
    uint32_t factor_index, partner;
    if (space >= context->n->space_count || factor >= context->n->spaces[space].factor_count ||
        axis >= plan->axis_count)
        return 0;
    factor_index = context->n->spaces[space].factors + factor;
    partner = context->partner[factor_index];
    if (!cell_free(context, plan, factor_index, axis) ||
        (partner != NDA_NONE && !cell_free(context, plan, partner, axis)))
        return 0;
    take_cell(context, plan, factor_index, axis);
    if (partner != NDA_NONE)
        take_cell(context, plan, partner, axis);
    return 1;
}

static void random_decision(const struct plan_context *context, struct rng *rng, struct plan *plan)
{
    struct plan_decision decision = {.axis = (uint8_t)rng_below(rng, context->mesh.axis_count)};
    if (context->decision_count && rng_below(rng, 2)) {
        decision = context->decisions[rng_below(rng, context->decision_count)];
    } else {
        if (context->n->group_count == 0)
            return;
        decision.group = (uint32_t)rng_below(rng, context->n->group_count);
        decision.bits = (uint32_t)rng_next(rng) & ((1u << context->n->groups[decision.group].bits) - 1);
    }
    plan_apply(context, plan, decision);
}

/* three in four go to ops, where they ask for reshards of every kind */
static void random_factor(const struct plan_context *context, struct rng *rng, struct plan *plan)
{
    const struct nda *n = context->n;
    uint32_t axis = (uint32_t)rng_below(rng, context->mesh.axis_count);
    bool ops = rng_below(rng, 4) != 0;
    for (int tries = 0; tries < 32 && n->factor_count; tries++) {
        uint32_t factor_index = (uint32_t)rng_below(rng, n->factor_count),
                 space = n->factors[factor_index].space;
        if (ops && n->spaces[space].kind != NDA_SPACE_OP)
            continue;
        if (plan_apply_factor(context, plan, space, factor_index - n->spaces[space].factors, axis))
            return;
    }
}

void plan_random(const struct plan_context *context, struct rng *rng, struct plan *plan)
{
    uint32_t decisions = (uint32_t)rng_below(rng, 4), factors = 1 + (uint32_t)rng_below(rng, 6);
    plan_copy(plan, &context->start);
    while (decisions-- > 0)
        random_decision(context, rng, plan);
    while (factors-- > 0)
        random_factor(context, rng, plan);
    for (uint32_t i = 0;
         i < context->n->factor_count && hash128_compare(plan->hash, context->start.hash) == 0; i++)
        for (uint32_t axis = 0; axis < context->mesh.axis_count; axis++)
            if (plan_apply_factor(context, plan, context->n->factors[i].space,
                                  i - context->n->spaces[context->n->factors[i].space].factors, axis))
                break;
}
