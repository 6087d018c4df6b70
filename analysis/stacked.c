/* Scope `stacked` of decisions: where a dimension stacks weights (the experts of a mixture), and nowhere that
 * examples could be split instead.
 *
 *     tokens [b s m] -> dispatch [b e c m] -> up [e m h] -> gelu -> down [e h m] -> combine [b s m]
 *     by examples (b)                         by expert (e) ...................     by examples
 *
 * A decision on all of the dimension's factors takes dispatch and combine, too, and so has every device read
 * all tokens; one on the examples first takes the products with the weights, and gathers these. In scope
 * `stacked` each keeps its own, and what lies between is exchanged by all_to_all (GShard, Lepikhin and Lee
 * 2020).
 *
 * In the scope are the products that have the dimension in both operands and the result, in colors where one
 * such operand is made of weights; what is computed between two of these, with no other product in between;
 * and what hangs together with them and holds no examples: weights, their gradients, the update. Looks at no
 * plan. */
#include "analysis/context.h"
#include "analysis/roles.h"

#include <stdlib.h>

enum { EXAMPLES = NDA_COLOR_BATCH | NDA_COLOR_SEQUENCE | NDA_COLOR_EDGE };

/* bits of a factor */
enum mark {
    PRODUCT = 1, /* a product has it in both operands and the result */
    AHEAD = 2,   /* made of a product's result */
    BEHIND = 4,  /* a product is made of it */
    INSIDE = 8   /* in the scope */
};

struct stacked {
    const struct nda *n;
    uint8_t *color; /* of each color: it stacks weights */
    uint8_t *marks; /* of each factor */
};

static bool is_dot(const struct nda *n, const struct nda_space *space)
{
    return space->kind == NDA_SPACE_OP && space->slot_count == 3 &&
           ir_opcode_family(n->program->ops[space->op].code) == IR_FAMILY_DOT;
}

static bool has_factor(const struct nda *n, uint32_t slot, uint32_t factor_index)
{
    for (uint32_t k = 0; k < nda_atom_count(n, n->slots[slot].value); k++)
        if (nda_slot_factor(n, slot, k) == factor_index)
            return true;
    return false;
}

static bool in_all_slots(const struct nda *n, const struct nda_space *space, uint32_t factor_index)
{
    for (uint32_t slot = space->slots; slot < space->slots + space->slot_count; slot++)
        if (!has_factor(n, slot, factor_index))
            return false;
    return true;
}

/* false: nothing is stacked */
static bool find_colors(struct stacked *stacked)
{
    const struct nda *n = stacked->n;
    uint8_t *weight = roles_weight_values(n, NULL);
    bool found = false;
    for (uint32_t i = 0; i < n->space_count; i++) {
        const struct nda_space *space = &n->spaces[i];
        if (!is_dot(n, space) ||
            !(weight[n->slots[space->slots].value] || weight[n->slots[space->slots + 1].value]))
            continue;
        for (uint32_t k = space->factors; k < space->factors + space->factor_count; k++)
            if (!(n->colors[n->factors[k].color].roles & EXAMPLES) && in_all_slots(n, space, k))
                stacked->color[n->factors[k].color] = found = true;
    }
    free(weight);
    return found;
}

static void find_products(struct stacked *stacked)
{
    const struct nda *n = stacked->n;
    for (uint32_t i = 0; i < n->space_count; i++)
        for (uint32_t k = n->spaces[i].factors; k < n->spaces[i].factors + n->spaces[i].factor_count; k++)
            if (stacked->color[n->factors[k].color] && is_dot(n, &n->spaces[i]) &&
                in_all_slots(n, &n->spaces[i], k))
                stacked->marks[k] = PRODUCT | INSIDE;
}

/* can it stand between two products? */
static bool passes(const struct stacked *stacked, uint32_t factor_index)
{
    const struct nda *n = stacked->n;
    const struct nda_space *space = &n->spaces[n->factors[factor_index].space];
    return stacked->color[n->factors[factor_index].color] && n->factors[factor_index].kind == NDA_PARALLEL &&
           !(space->kind == NDA_SPACE_OP && nda_is_contraction(n, space->op));
}

static bool holds_examples(const struct nda *n, uint32_t factor_index)
{
    const struct nda_space *space = &n->spaces[n->factors[factor_index].space];
    for (uint32_t k = space->factors; k < space->factors + space->factor_count; k++)
        if (n->colors[n->factors[k].color].roles & EXAMPLES)
            return true;
    return false;
}

static bool hangs_together(const struct stacked *stacked, uint32_t factor_index)
{
    const struct nda *n = stacked->n;
    return stacked->color[n->factors[factor_index].color] && !holds_examples(n, factor_index);
}

/* Hands `mark` on from factors with one of the bits `from` along one edge, where allowed; whether it did. */
static bool hand_on(struct stacked *stacked, uint32_t at, uint32_t to, uint8_t from, uint8_t mark,
                    bool (*allowed)(const struct stacked *, uint32_t))
{
    if (!(stacked->marks[at] & from) || stacked->marks[to] & (mark | PRODUCT) || !allowed(stacked, to))
        return false;
    stacked->marks[to] |= mark;
    return true;
}

/* edges are in program order: more than one pass each way only around loops */
static void find_between(struct stacked *stacked)
{
    const struct nda *n = stacked->n;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < n->edge_count; i++)
            again |= hand_on(stacked, n->edge_from[i], n->edge_to[i], PRODUCT | AHEAD, AHEAD, passes);
        for (uint32_t i = n->edge_count; i-- > 0;)
            again |= hand_on(stacked, n->edge_to[i], n->edge_from[i], PRODUCT | BEHIND, BEHIND, passes);
    }
    for (uint32_t k = 0; k < n->factor_count; k++)
        if ((stacked->marks[k] & (AHEAD | BEHIND)) == (AHEAD | BEHIND))
            stacked->marks[k] |= INSIDE;
}

static void find_together(struct stacked *stacked, const uint32_t *partner)
{
    const struct nda *n = stacked->n;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < n->edge_count; i++)
            again |= hand_on(stacked, n->edge_from[i], n->edge_to[i], INSIDE, INSIDE, hangs_together);
        for (uint32_t i = n->edge_count; i-- > 0;)
            again |= hand_on(stacked, n->edge_to[i], n->edge_from[i], INSIDE, INSIDE, hangs_together);
        for (uint32_t k = 0; k < n->factor_count; k++)
            if (partner[k] != NDA_NONE && stacked->marks[k] & ~stacked->marks[partner[k]] & INSIDE) {
                stacked->marks[partner[k]] |= INSIDE;
                again = true;
            }
    }
}

void context_stacked_scope(struct plan_context *context)
{
    const struct nda *n = context->n;
    struct stacked stacked = {n, mem_zalloc((size_t)n->color_count + 1, 1),
                              mem_zalloc((size_t)n->factor_count + 1, 1)};
    if (find_colors(&stacked)) {
        find_products(&stacked);
        find_between(&stacked);
        find_together(&stacked, context->partner);
    }
    for (uint32_t k = 0; k < n->factor_count; k++)
        stacked.marks[k] = (stacked.marks[k] & INSIDE) != 0;
    context->stacked = stacked.marks;
    free(stacked.color);
}
