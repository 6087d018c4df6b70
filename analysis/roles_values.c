/* Roles, step 1: what is known of values, from dataflow alone.
 *
 *   direct    it feeds a contraction or a lookup, moved only, or made into another weight only
 *   met       the same, and the other operand there holds the batch, which it does not
 *   reaches   it reaches a contraction at all
 *   forward   a result that is no state needs it: the forward pass
 *   apart     it depends on no example
 *
 * The first four flow backward from uses to definitions, the last forward from arguments. Each is a byte a
 * value. Nothing here looks at shapes, at names or at what colors do. */
#include "analysis/roles.h"

#include <stdlib.h>
#include <string.h>

/* Passes over the program at most, where loops hand facts around: one for every level of nesting, and the
 * last that finds nothing new. Deeper nests than this get fewer facts, never wrong indices. Chosen, not
 * tuned. */
enum { FLOW_ROUNDS = 16 };

/* ---------------------------------------------------------------- backward */
/* the space's slot has a dimension of a batch */
static bool holds_batch(const struct nda *n, const uint8_t *batch, uint32_t slot)
{
    for (uint32_t k = 0; k < nda_atom_count(n, n->slots[slot].value); k++) {
        uint32_t factor = nda_slot_factor(n, slot, k);
        if (factor != NDA_NONE && batch[n->factors[factor].color])
            return true;
    }
    return false;
}

/* in a contraction or a lookup: this operand holds no batch, another one does */
static bool meets_examples(const struct roles *roles, const struct nda_space *sp, uint32_t slot)
{
    bool others = false;
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count && !others; k++)
        others = k != slot && !roles->n->slots[k].is_result && holds_batch(roles->n, roles->batch, k);
    return others && !holds_batch(roles->n, roles->batch, slot);
}

/* one step backward over a space; returns whether something became known */
static bool flow_back(struct roles *roles, const struct nda_space *sp, const uint8_t *untied)
{
    struct nda *n = roles->n;
    bool contraction = sp->kind == NDA_SPACE_OP && nda_is_contraction(n, sp->op), direct = false,
         reaches = contraction, met = false;
    bool forward = sp->kind == NDA_SPACE_RESULT && untied[sp->index], changed = false,
         moves = stage_moves_only(n, sp);
    bool gather = sp->kind == NDA_SPACE_OP && n->program->ops[sp->op].code == IR_GATHER;
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++) {
        uint32_t v = n->slots[k].value;
        if (!n->slots[k].is_result)
            continue;
        direct |= (moves || roles->apart[v]) && roles->direct[v];
        met |= (moves || roles->apart[v]) && roles->met[v];
        reaches |= roles->reaches[v];
        forward |= roles->forward[v];
    }
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++) {
        uint32_t v = n->slots[k].value;
        bool used = contraction || (gather && n->slots[k].operand == 0);
        uint8_t d = direct || used, m = met || (used && meets_examples(roles, sp, k));
        if (n->slots[k].is_result)
            continue;
        changed |= (d && !roles->direct[v]) || (m && !roles->met[v]) || (reaches && !roles->reaches[v]) ||
                   (forward && !roles->ends[v] && !roles->forward[v]);
        roles->direct[v] |= d;
        roles->met[v] |= m;
        roles->reaches[v] |= reaches;
        roles->forward[v] |= forward && !roles->ends[v];
    }
    return changed;
}

/* around a loop: what the next iteration needs, the last operation of the body gives */
static bool flow_around(struct roles *roles, uint32_t begin, uint32_t end)
{
    const struct nda *n = roles->n;
    uint32_t arg = n->slots[n->spaces[begin].slots + 2].value, last = n->slots[n->spaces[end].slots].value;
    bool changed =
        (roles->reaches[arg] && !roles->reaches[last]) || (roles->forward[arg] && !roles->forward[last]);
    roles->reaches[last] |= roles->reaches[arg];
    roles->forward[last] |= roles->forward[arg];
    return changed;
}

void roles_flow(struct roles *roles)
{
    struct nda *n = roles->n;
    uint8_t *untied = mem_alloc((size_t)n->result_count + 1);
    bool changed = true;
    memset(untied, 1, (size_t)n->result_count + 1);
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].becomes != NDA_NONE)
            untied[n->arguments[i].becomes] = 0;
    for (uint32_t i = 0; i < n->result_count && roles->metrics; i++)
        untied[i] &= !roles->metrics[i];
    for (int round = 0; round < FLOW_ROUNDS && changed; round++) {
        bool loops = false;
        changed = false;
        for (uint32_t space = n->space_count; space-- > 0;)
            flow_back(roles, &n->spaces[space], untied);
        for (uint32_t space = 0; space < n->space_count; space++)
            if (n->spaces[space].kind == NDA_SPACE_LOOP_END) {
                loops = true;
                changed |=
                    flow_around(roles, n->op_space[n->spaces[space].op] + n->spaces[space].index, space);
            }
        changed &= loops;
    }
    free(untied);
}

/* ---------------------------------------------------------------- forward */
static bool spread_space(const struct nda *n, const struct nda_space *sp, uint8_t *independent)
{
    bool depends = false, changed = false;
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++)
        depends |= !n->slots[k].is_result && !independent[n->slots[k].value];
    for (uint32_t k = sp->slots; depends && k < sp->slots + sp->slot_count; k++)
        if (n->slots[k].is_result && independent[n->slots[k].value]) {
            independent[n->slots[k].value] = 0;
            changed = true;
        }
    return changed;
}

/* what the next iteration is given is what the body has made */
static bool spread_around(const struct nda *n, const struct nda_space *end, uint8_t *independent)
{
    const struct nda_space *begin = &n->spaces[n->op_space[end->op] + end->index];
    bool changed = false;
    for (uint32_t k = begin->slots;
         !independent[n->slots[end->slots].value] && k < begin->slots + begin->slot_count; k++)
        if (n->slots[k].is_result && independent[n->slots[k].value]) {
            independent[n->slots[k].value] = 0;
            changed = true;
        }
    return changed;
}

uint8_t *roles_independent_of(const struct nda *n, const uint8_t *arguments)
{
    uint8_t *independent = mem_alloc((size_t)n->program->value_count + 1);
    bool again = true;
    memset(independent, 1, (size_t)n->program->value_count + 1);
    for (uint32_t i = 0; i < n->argument_count; i++)
        independent[n->arguments[i].value] = !arguments[i];
    /* each round that is followed by another makes some loop's value dependent: they end */
    while (again) {
        again = false;
        for (uint32_t space = 0; space < n->space_count; space++)
            spread_space(n, &n->spaces[space], independent);
        for (uint32_t space = 0; space < n->space_count; space++)
            if (n->spaces[space].kind == NDA_SPACE_LOOP_END)
                again |= spread_around(n, &n->spaces[space], independent);
    }
    return independent;
}

/* Examples are what is not tied to state; once the batch is known, of untied arguments those that hold it. */
void roles_set_apart(struct roles *roles, bool known)
{
    struct nda *n = roles->n;
    uint8_t *examples = mem_zalloc((size_t)n->argument_count + 1, 1);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        bool tied = n->arguments[i].becomes != NDA_NONE;
        examples[i] = tied ? known && !roles->train : !known || roles_argument_has(n, i, roles->batch);
    }
    free(roles->apart);
    roles->apart = roles_independent_of(n, examples);
    free(examples);
    roles_flow(roles);
}

/* ---------------------------------------------------------------- weights */
/* values of which every argument is a parameter, or a number (owned) */
static uint8_t *made_of_parameters(const struct nda *n)
{
    uint8_t *others = mem_zalloc((size_t)n->argument_count + 1, 1), *made;
    for (uint32_t i = 0; i < n->argument_count; i++)
        others[i] = n->arguments[i].role != NDA_ROLE_PARAMETER &&
                    ir_value_type(n->program, n->arguments[i].value)->rank > 0;
    made = roles_independent_of(n, others);
    free(others);
    return made;
}

uint8_t *roles_weight_values(const struct nda *n, const uint8_t *batch)
{
    uint8_t *weight = mem_zalloc((size_t)n->program->value_count + 1, 1), *made = made_of_parameters(n);
    for (uint32_t i = 0; i < n->argument_count; i++)
        weight[n->arguments[i].value] = n->arguments[i].role == NDA_ROLE_PARAMETER;
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *sp = &n->spaces[space];
        bool w = false, moves = stage_moves_only(n, sp);
        for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++) {
            w |= !n->slots[k].is_result && weight[n->slots[k].value];
            /* queries that are learnt are, once for each example, no weights any more */
            bool each = batch && holds_batch(n, batch, k);
            if (n->slots[k].is_result && w && (moves || made[n->slots[k].value]) && !each)
                weight[n->slots[k].value] = 1;
        }
    }
    free(made);
    return weight;
}
