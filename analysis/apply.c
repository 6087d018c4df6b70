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

static void set_cell(const struct plan_context *c, struct plan *p, uint32_t space, uint8_t factor,
                     uint32_t axis, uint32_t position)
{
    p->cells[(size_t)space * p->axis_count + axis] = (struct plan_cell){factor, (uint8_t)position};
    p->hash = hash128_xor(p->hash, plan_cell_word(c, c->n->spaces[space].factors + factor, axis, position));
}

/* does the axis divide what the axes there leave of the factor? */
static bool divides(const struct plan_context *c, int64_t size, int64_t shards, uint32_t axis)
{
    int64_t by = shards * c->mesh.axes[axis].size; /* each divisor is at most 2^20 devices */
    return size % by == 0;
}

/* color: only factors of this color, or NDA_NONE for the whole group */
static uint32_t apply(const struct plan_context *c, struct plan *p, struct plan_decision d, uint32_t color)
{
    const struct plan_candidate *end = c->candidates + c->group_first[d.group + 1];
    uint32_t changed = 0, axes = p->axis_count;
    uint8_t bit = (uint8_t)(1u << d.axis);
    for (const struct plan_candidate *k = c->candidates + c->group_first[d.group]; k < end; k++) {
        struct plan_cell *cells = p->cells + (size_t)k->space * axes;
        uint32_t position;
        int64_t shards;
        if (!(k->divides & bit) || (d.bits & k->mask) != k->value || cells[d.axis].factor != NDA_NO_FACTOR ||
            (d.scope == PLAN_SCOPE_UPDATE && !k->update))
            continue;
        if (color != NDA_NONE && c->n->factors[k->factor_index].color != color)
            continue;
        if (k->partner != NDA_NONE && p->cells[(size_t)k->partner * axes + d.axis].factor != NDA_NO_FACTOR)
            continue;
        shards = plan_shards(c, cells, k->factor, &position);
        if (position && !divides(c, k->size, shards, d.axis))
            continue;
        cells[d.axis] = (struct plan_cell){k->factor, (uint8_t)position};
        p->hash = hash128_xor(p->hash, plan_cell_word(c, k->factor_index, d.axis, position));
        changed++;
        if (k->partner != NDA_NONE) {
            set_cell(c, p, k->partner, k->partner_factor, d.axis, position);
            changed++;
        }
    }
    return changed;
}

static uint32_t apply_regather(const struct plan_context *c, struct plan *p, struct plan_decision d)
{
    const struct nda *n = c->n;
    uint32_t changed = 0;
    for (uint32_t i = 0; i < p->argument_count; i++) {
        const struct nda_argument *a = &n->arguments[i];
        uint8_t factor = plan_space(p, a->space)[d.axis].factor;
        if (a->role != NDA_ROLE_PARAMETER || factor == NDA_NO_FACTOR || (p->regather[i] >> d.axis & 1) ||
            n->colors[n->factors[n->spaces[a->space].factors + factor].color].group != d.group)
            continue;
        p->regather[i] |= (uint8_t)(1u << d.axis);
        p->hash = hash128_xor(p->hash, context_regather_word(i, d.axis));
        changed++;
    }
    return changed;
}

uint32_t plan_apply(const struct plan_context *c, struct plan *p, struct plan_decision d)
{
    if (d.scope == PLAN_SCOPE_REGATHER)
        return apply_regather(c, p, d);
    return apply(c, p, d, NDA_NONE);
}

uint32_t plan_propagate(const struct plan_context *c, struct plan *p)
{
    const struct nda *n = c->n;
    uint32_t changed = 0;
    for (uint32_t s = 0; s < n->space_count; s++)
        for (uint32_t position = 0; position < c->mesh.axis_count; position++)
            for (uint32_t a = 0; a < c->mesh.axis_count; a++) {
                struct plan_cell cell = plan_space(&c->start, s)[a];
                uint32_t color;
                struct plan_decision d = {.axis = (uint8_t)a};
                if (cell.factor == NDA_NO_FACTOR || cell.position != position)
                    continue;
                color = n->factors[n->spaces[s].factors + cell.factor].color;
                d.group = n->colors[color].group;
                /* the sides that keep what is pinned */
                d.bits = c->kept[n->spaces[s].factors + cell.factor];
                changed += apply(c, p, d, color);
            }
    return changed;
}

void plan_context_complete(struct plan_context *c)
{
    struct plan completed;
    plan_init(&completed, c->n, &c->mesh);
    plan_copy(&completed, &c->start);
    plan_propagate(c, &completed);
    plan_copy(&c->start, &completed);
    plan_release(&completed);
}

void plan_replay(const struct plan_context *c, struct plan_decision *list, uint32_t *count, struct plan *p)
{
    uint32_t kept = 0;
    plan_copy(p, &c->start);
    for (uint32_t i = 0; i < *count; i++)
        if (plan_apply(c, p, list[i]) > 0)
            list[kept++] = list[i];
    *count = kept;
}

static bool cell_free(const struct plan_context *c, const struct plan *p, uint32_t factor_index,
                      uint32_t axis)
{
    const struct nda_factor *nm = &c->n->factors[factor_index];
    const struct plan_cell *cells = plan_space(p, nm->space);
    uint32_t position;
    int64_t shards =
        plan_shards(c, cells, (uint8_t)(factor_index - c->n->spaces[nm->space].factors), &position);
    return nm->shardable && !c->closed[factor_index] && cells[axis].factor == NDA_NO_FACTOR &&
           divides(c, nm->size, shards, axis);
}

static void take_cell(const struct plan_context *c, struct plan *p, uint32_t factor_index, uint32_t axis)
{
    uint32_t space = c->n->factors[factor_index].space, position;
    uint8_t factor = (uint8_t)(factor_index - c->n->spaces[space].factors);
    plan_shards(c, plan_space(p, space), factor, &position);
    set_cell(c, p, space, factor, axis, position);
}

uint32_t plan_apply_factor(const struct plan_context *c, struct plan *p, uint32_t space, uint32_t factor,
                           uint32_t axis)
{
    uint32_t factor_index, partner;
    if (space >= c->n->space_count || factor >= c->n->spaces[space].factor_count || axis >= p->axis_count)
        return 0;
    factor_index = c->n->spaces[space].factors + factor;
    partner = c->partner[factor_index];
    if (!cell_free(c, p, factor_index, axis) || (partner != NDA_NONE && !cell_free(c, p, partner, axis)))
        return 0;
    take_cell(c, p, factor_index, axis);
    if (partner != NDA_NONE)
        take_cell(c, p, partner, axis);
    return 1;
}

static void random_decision(const struct plan_context *c, struct rng *r, struct plan *p)
{
    struct plan_decision d = {.axis = (uint8_t)rng_below(r, c->mesh.axis_count)};
    if (c->decision_count && rng_below(r, 2)) {
        d = c->decisions[rng_below(r, c->decision_count)];
    } else {
        if (c->n->group_count == 0)
            return;
        d.group = (uint32_t)rng_below(r, c->n->group_count);
        d.bits = (uint32_t)rng_next(r) & ((1u << c->n->groups[d.group].bits) - 1);
    }
    plan_apply(c, p, d);
}

/* three in four go to ops, where they ask for reshards of every kind */
static void random_factor(const struct plan_context *c, struct rng *r, struct plan *p)
{
    const struct nda *n = c->n;
    uint32_t axis = (uint32_t)rng_below(r, c->mesh.axis_count);
    bool ops = rng_below(r, 4) != 0;
    for (int tries = 0; tries < 32 && n->factor_count; tries++) {
        uint32_t factor_index = (uint32_t)rng_below(r, n->factor_count),
                 space = n->factors[factor_index].space;
        if (ops && n->spaces[space].kind != NDA_SPACE_OP)
            continue;
        if (plan_apply_factor(c, p, space, factor_index - n->spaces[space].factors, axis))
            return;
    }
}

void plan_random(const struct plan_context *c, struct rng *r, struct plan *p)
{
    uint32_t decisions = (uint32_t)rng_below(r, 4), factors = 1 + (uint32_t)rng_below(r, 6);
    plan_copy(p, &c->start);
    while (decisions-- > 0)
        random_decision(c, r, p);
    while (factors-- > 0)
        random_factor(c, r, p);
    for (uint32_t i = 0; i < c->n->factor_count && hash128_compare(p->hash, c->start.hash) == 0; i++)
        for (uint32_t a = 0; a < c->mesh.axis_count; a++)
            if (plan_apply_factor(c, p, c->n->factors[i].space,
                                  i - c->n->spaces[c->n->factors[i].space].factors, a))
                break;
}
