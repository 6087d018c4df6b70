/* Roles, step 4: what every argument of @main is for: parameter, optimizer state, data or cache.
 *
 * In a train step, state that the loss needs for a contraction is a parameter and other state is the
 * optimizer's; an argument that is no state is data, unless it is a weight that is not trained (the base
 * under adapters). In any other module, state is a cache; of the rest floats that feed a contraction, and
 * vectors, are parameters unless they hold the batch, and what remains is data. */
#include "analysis/roles.h"

#include <stdlib.h>

/* floats, complex numbers and quantized weights; wider integers are indices and counts */
static bool weight_element(enum ir_element e)
{
    return ir_element_is_float(e) || e == IR_C64 || e == IR_C128 || (ir_element_bits(e) <= 8 && e != IR_I1);
}

/* of a tied argument of a train step: it is needed for the loss, and for a contraction */
static bool is_trained(const struct roles *r, const struct nda_argument *a)
{
    return r->reaches[a->value] && r->forward[a->value] &&
           weight_element((enum ir_element)ir_value_type(r->n->program, a->value)->element);
}

static uint8_t *colors_of_weights(const struct nda *n)
{
    uint8_t *color = mem_zalloc((size_t)n->color_count + 1, 1);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_space *sp = &n->spaces[n->arguments[i].space];
        for (uint32_t f = 0; f < sp->factor_count && n->arguments[i].role == NDA_ROLE_PARAMETER; f++)
            color[n->factors[sp->factors + f].color] = 1;
    }
    return color;
}

/* every dimension of the argument is one of trained weights too: a weight that is not trained (adapters'
 * base) */
static bool dims_of_weights(const struct roles *r, uint32_t argument, const uint8_t *color)
{
    const struct nda *n = r->n;
    const struct nda_space *sp = &n->spaces[n->arguments[argument].space];
    for (uint32_t f = 0; f < sp->factor_count; f++)
        if (!color[n->factors[sp->factors + f].color])
            return false;
    return true;
}

void roles_of_arguments(struct roles *r)
{
    struct nda *n = r->n;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        struct nda_argument *a = &n->arguments[i];
        const struct ir_type *t = ir_value_type(n->program, a->value);
        bool weight = t->kind == IR_TYPE_TENSOR && weight_element((enum ir_element)t->element) &&
                      t->rank > 0 && (r->direct[a->value] || t->rank == 1) &&
                      !roles_argument_has(n, i, r->batch);
        if (a->becomes != NDA_NONE)
            a->role = !r->train ? NDA_ROLE_CACHE : is_trained(r, a) ? NDA_ROLE_PARAMETER : NDA_ROLE_OPTIMIZER;
        else
            a->role = !r->train && weight ? NDA_ROLE_PARAMETER : NDA_ROLE_DATA;
    }
    uint8_t *color = colors_of_weights(n);
    for (uint32_t i = 0; i < n->argument_count && r->train; i++) {
        struct nda_argument *a = &n->arguments[i];
        const struct ir_type *t = ir_value_type(n->program, a->value);
        if (a->role == NDA_ROLE_DATA && t->kind == IR_TYPE_TENSOR && t->rank > 1 && r->direct[a->value] &&
            weight_element((enum ir_element)t->element) && dims_of_weights(r, i, color))
            a->role = NDA_ROLE_PARAMETER;
    }
    free(color);
}
