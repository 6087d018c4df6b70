/* What a plan context prepares once, so that applying a decision is one pass over an array: tied factors, the
 * update scope, and for each group the factors that it can shard (struct plan_candidate).
 *
 * It never looks at a plan other than the pins', and what it prepares follows from module, mesh and pins. */
#include "analysis/context.h"

#include <stdlib.h>
#include <string.h>

static void pair_spaces(struct plan_context *context, uint32_t space, uint32_t b)
{
    const struct nda *n = context->n;
    uint32_t sa = n->spaces[space].slots, sb = n->spaces[b].slots;
    uint32_t count = nda_atom_count(n, n->slots[sa].value);
    if (count != nda_atom_count(n, n->slots[sb].value))
        return;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t x = nda_slot_factor(n, sa, k), y = nda_slot_factor(n, sb, k);
        if (x == NDA_NONE || y == NDA_NONE)
            continue;
        context->partner[x] = y;
        context->partner[y] = x;
    }
}

static const struct plan_pin *pin_of(const struct plan_pin *pins, uint32_t count, bool is_result,
                                     uint32_t index)
{
    for (uint32_t i = 0; i < count; i++)
        if (pins[i].value == NDA_NONE && pins[i].is_result == is_result && pins[i].index == index)
            return &pins[i];
    return NULL;
}

/* no sharding satisfies both */
static bool contradict(const struct plan_pin *one, const struct plan_pin *other)
{
    for (uint32_t dim = 0; dim < one->rank && dim < other->rank; dim++) {
        uint32_t ca = one->dims[dim].count, cb = other->dims[dim].count;
        if (memcmp(one->dims[dim].axes, other->dims[dim].axes, ca < cb ? ca : cb) != 0 ||
            (ca < cb && !one->dims[dim].open) || (cb < ca && !other->dims[dim].open))
            return true;
    }
    return false;
}

/* An argument and the result it becomes, and the two ends of a loop's carried value, always have equal
 * cells; but where both of the former are pinned, and differently, that is how the user wants them. */
void context_partners(struct plan_context *context, const struct plan_pin *pins, uint32_t pin_count)
{
    const struct nda *n = context->n;
    context->partner = mem_alloc(sizeof *context->partner * ((size_t)n->factor_count + 1));
    for (uint32_t i = 0; i < n->factor_count; i++)
        context->partner[i] = NDA_NONE;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct plan_pin *in = pin_of(pins, pin_count, false, i),
                              *out = pin_of(pins, pin_count, true, n->arguments[i].becomes);
        if (n->arguments[i].updated && !(in && out && contradict(in, out)))
            pair_spaces(context, n->arguments[i].space, n->result_spaces[n->arguments[i].becomes]);
    }
    for (uint32_t space = 0; space < n->space_count; space++)
        if (n->spaces[space].kind == NDA_SPACE_LOOP_END)
            pair_spaces(context, n->op_space[n->spaces[space].op] + n->spaces[space].index, space);
}

/* the argument that becomes a result, or NDA_NONE */
static uint32_t former_argument(const struct nda *n, uint32_t result)
{
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].becomes == result)
            return i;
    return NDA_NONE;
}

/* Scope `update`: backward over the spaces; a value is `needed` when anything but the update uses it. What
 * stands in regions of loops is needed. */
void context_update_scope(struct plan_context *context)
{
    const struct nda *n = context->n;
    uint8_t *needed = mem_zalloc((size_t)n->program->value_count + 1, 1);
    context->update = mem_zalloc((size_t)n->space_count + 1, 1);
    for (uint32_t space = n->space_count; space-- > 0;) {
        const struct nda_space *sp = &n->spaces[space];
        uint32_t tied = sp->kind == NDA_SPACE_RESULT ? former_argument(n, sp->index) : NDA_NONE;
        bool outside = false;
        if (sp->kind == NDA_SPACE_RESULT) {
            outside = tied == NDA_NONE;
            context->update[space] = tied != NDA_NONE && n->arguments[tied].role == NDA_ROLE_OPTIMIZER;
        } else if (sp->kind == NDA_SPACE_ARGUMENT) {
            const struct nda_argument *argument = &n->arguments[sp->index];
            context->update[space] = !needed[argument->value] && argument->role == NDA_ROLE_OPTIMIZER;
        } else {
            outside = (sp->kind != NDA_SPACE_OP && sp->kind != NDA_SPACE_BARRIER) ||
                      nda_is_contraction(n, sp->op) || n->program->ops[sp->op].block != n->block;
            for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count && !outside; k++)
                outside = n->slots[k].is_result && needed[n->slots[k].value];
            context->update[space] = !outside;
        }
        for (uint32_t k = sp->slots; outside && k < sp->slots + sp->slot_count; k++)
            needed[n->slots[k].value] |= !n->slots[k].is_result;
    }
    free(needed);
}

/* of struct plan_candidate; factors in conflicts of further classes of a group are never sharded */
enum { MASK_BITS = 16 };

/* For each factor the resolution bits that let it be sharded: (bits & mask) == value; never: two conflicts
 * that are resolved together want the opposite of it, or its set has no sides. */
struct sides {
    uint16_t mask, value;
    uint8_t never;
};

static void want_side(struct sides *sides, uint32_t bit, uint32_t side)
{
    uint16_t m = (uint16_t)(1u << bit), v = (uint16_t)(side << bit);
    if ((sides->mask & m) && (sides->value & m) != v)
        sides->never = 1;
    sides->mask |= m;
    sides->value |= v;
}

static struct sides *conflict_sides(const struct nda *n)
{
    struct sides *sides = mem_zalloc((size_t)n->factor_count + 1, sizeof *sides);
    for (uint32_t i = 0; i < n->conflict_count; i++) {
        const struct nda_conflict *k = &n->conflicts[i];
        const struct nda_set *set = &n->sets[k->set];
        uint32_t bit = n->classes[set->class_index].bit, a_side = (uint32_t)(k->flipped ^ set->flipped);
        if (set->inconsistent || bit >= MASK_BITS) {
            sides[k->a].never = sides[k->b].never = 1;
            continue;
        }
        want_side(&sides[k->a], bit, a_side);
        want_side(&sides[k->b], bit, 1 - a_side);
    }
    return sides;
}

static bool merge_sides(struct sides *to, const struct sides *from)
{
    if (to->never || from->never || ((to->value ^ from->value) & to->mask & from->mask))
        return false;
    to->mask |= from->mask;
    to->value |= from->value;
    return true;
}

/* false: no decision can shard the factor */
static bool make_candidate(const struct plan_context *context, const struct sides *all, uint32_t factor_index,
                           struct plan_candidate *out)
{
    const struct nda *n = context->n;
    const struct nda_factor *nm = &n->factors[factor_index];
    uint32_t partner = context->partner[factor_index];
    struct sides sides = all[factor_index];
    *out = (struct plan_candidate){.size = nm->size,
                                   .space = nm->space,
                                   .factor_index = factor_index,
                                   .partner = NDA_NONE,
                                   .factor = (uint8_t)(factor_index - n->spaces[nm->space].factors),
                                   .update = context->update[nm->space],
                                   .stacked = context->stacked[factor_index]};
    if (!nm->shardable || context->closed[factor_index] || sides.never)
        return false;
    if (partner != NDA_NONE) {
        const struct nda_factor *pn = &n->factors[partner];
        if (partner < factor_index || !pn->shardable || context->closed[partner] ||
            !merge_sides(&sides, &all[partner]))
            return false; /* the earlier of the two stands for both */
        out->partner = pn->space;
        out->partner_factor = (uint8_t)(partner - n->spaces[pn->space].factors);
        out->update &= context->update[pn->space];
    }
    out->mask = sides.mask;
    out->value = sides.value;
    for (uint32_t axis = 0; axis < context->mesh.axis_count; axis++)
        if (nm->size % context->mesh.axes[axis].size == 0)
            out->divides |= (uint8_t)(1u << axis);
    return out->divides != 0;
}

void context_candidates(struct plan_context *context)
{
    const struct nda *n = context->n;
    struct sides *sides = conflict_sides(n);
    uint32_t *next;
    context->kept = mem_alloc(sizeof *context->kept * ((size_t)n->factor_count + 1));
    for (uint32_t i = 0; i < n->factor_count; i++)
        context->kept[i] = sides[i].value;
    context->group_first = mem_zalloc((size_t)n->group_count + 2, sizeof *context->group_first);
    context->candidates = mem_alloc(sizeof *context->candidates * ((size_t)n->factor_count + 1));
    for (uint32_t i = 0; i < n->factor_count; i++) {
        struct plan_candidate k;
        if (make_candidate(context, sides, i, &k))
            context->group_first[n->colors[n->factors[i].color].group + 1]++;
    }
    for (uint32_t group = 0; group < n->group_count; group++)
        context->group_first[group + 1] += context->group_first[group];
    next = mem_alloc(sizeof *next * ((size_t)n->group_count + 1));
    for (uint32_t group = 0; group < n->group_count; group++)
        next[group] = context->group_first[group];
    for (uint32_t i = 0; i < n->factor_count; i++) {
        struct plan_candidate k;
        if (make_candidate(context, sides, i, &k))
            context->candidates[next[n->colors[n->factors[i].color].group]++] = k;
    }
    free(next);
    free(sides);
}
