/* Roles, step 4: what every argument of @main is for: parameter, optimizer state, data or cache.
 *
 * In a train step, state that the loss needs for a contraction is a parameter and other state is the
 * optimizer's; an argument that is no state is data, unless it is a weight that is not trained (the base
 * under adapters, a teacher). In any other module, state is a cache; of the rest floats that feed a
 * contraction, and vectors, are parameters unless they hold the batch, and what remains is data. */
#include "analysis/roles.h"

#include <stdlib.h>
#include <string.h>

/* floats, complex numbers and quantized weights; wider integers are indices and counts */
static bool weight_element(enum ir_element e)
{
    return ir_element_is_float(e) || e == IR_C64 || e == IR_C128 || (ir_element_bits(e) <= 8 && e != IR_I1);
}

/* of a tied argument of a train step: it is needed for the loss, and for a contraction */
static bool is_trained(const struct roles *roles, const struct nda_argument *argument)
{
    return roles->reaches[argument->value] && roles->forward[argument->value] &&
           weight_element((enum ir_element)ir_value_type(roles->n->program, argument->value)->element);
}

/* frozen: only of those that are not trained */
static uint8_t *colors_of_weights(const struct nda *n, bool frozen)
{
    uint8_t *color = mem_zalloc((size_t)n->color_count + 1, 1);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_space *sp = &n->spaces[n->arguments[i].space];
        bool weight =
            n->arguments[i].role == NDA_ROLE_PARAMETER && !(frozen && n->arguments[i].becomes != NDA_NONE);
        for (uint32_t factor = 0; factor < sp->factor_count && weight; factor++)
            color[n->factors[sp->factors + factor].color] = 1;
    }
    return color;
}

/* every dimension of the argument is one of trained weights too: a weight that is not trained (adapters'
 * base) */
static bool dims_of_weights(const struct roles *roles, uint32_t argument, const uint8_t *color)
{
    const struct nda *n = roles->n;
    const struct nda_space *sp = &n->spaces[n->arguments[argument].space];
    for (uint32_t factor = 0; factor < sp->factor_count; factor++)
        if (!color[n->factors[sp->factors + factor].color])
            return false;
    return true;
}

/* Weights that are not trained (a base under adapters, a teacher): what has the dimensions of weights
 * only, and what meets the examples as weights do, although its dimensions are no trained weight's. */
static void find_frozen(struct roles *roles, bool matrices)
{
    struct nda *n = roles->n;
    uint8_t *color = colors_of_weights(n, false);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        struct nda_argument *argument = &n->arguments[i];
        const struct ir_type *type = ir_value_type(n->program, argument->value);
        bool met = roles->met[argument->value], alike = dims_of_weights(roles, i, color);
        if (argument->role == NDA_ROLE_DATA && type->kind == IR_TYPE_TENSOR &&
            weight_element((enum ir_element)type->element) && !roles_argument_has(n, i, roles->batch) &&
            (matrices ? type->rank > 1 && (met || (alike && roles->direct[argument->value]))
                      : type->rank == 1 && alike))
            argument->role = NDA_ROLE_PARAMETER;
    }
    free(color);
}

/* every dimension but the first, which is none of the others, is one of the colors */
static bool rows_of_weights(const struct nda *n, uint32_t argument, const uint8_t *color)
{
    uint32_t slot = n->spaces[n->arguments[argument].space].slots;
    uint32_t first = nda_slot_color(n, slot, 0), count = nda_atom_count(n, n->slots[slot].value);
    for (uint32_t k = 1; k < count; k++) {
        uint32_t other = nda_slot_color(n, slot, k);
        if (other == NDA_NONE || other == first || !color[other])
            return false;
    }
    return count > 1;
}

static bool knows_batch(const struct roles *roles)
{
    return memchr(roles->batch, 1, (size_t)roles->n->color_count + 1) != NULL;
}

/* What meets no example in a product is told by the matrices that it goes with: a network that is not trained
 * has scales of its layers, stacked, and a table of positions. */
static void find_frozen_rows(struct roles *roles)
{
    struct nda *n = roles->n;
    uint8_t *color = colors_of_weights(n, true);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        struct nda_argument *argument = &n->arguments[i];
        const struct ir_type *type = ir_value_type(n->program, argument->value);
        if (argument->role == NDA_ROLE_DATA && type->kind == IR_TYPE_TENSOR && type->rank > 1 &&
            ir_element_is_float((enum ir_element)type->element) && roles->forward[argument->value] &&
            !roles_argument_has(n, i, roles->batch) && rows_of_weights(n, i, color))
            argument->role = NDA_ROLE_PARAMETER;
    }
    free(color);
}

void roles_of_arguments(struct roles *roles)
{
    struct nda *n = roles->n;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        struct nda_argument *argument = &n->arguments[i];
        const struct ir_type *type = ir_value_type(n->program, argument->value);
        bool weight = type->kind == IR_TYPE_TENSOR && weight_element((enum ir_element)type->element) &&
                      type->rank > 0 && (roles->direct[argument->value] || type->rank == 1) &&
                      !roles_argument_has(n, i, roles->batch);
        if (argument->becomes != NDA_NONE)
            argument->role = !roles->train                 ? NDA_ROLE_CACHE
                             : is_trained(roles, argument) ? NDA_ROLE_PARAMETER
                                                           : NDA_ROLE_OPTIMIZER;
        else
            argument->role = !roles->train && weight ? NDA_ROLE_PARAMETER : NDA_ROLE_DATA;
    }
    for (int pass = 0; pass < 2 && roles->train; pass++) /* vectors after the matrices that they go with */
        find_frozen(roles, pass == 0);
    if (roles->train && knows_batch(roles)) /* examples, too, are rows of what they meet */
        find_frozen_rows(roles);
    roles_vote(roles);
}
