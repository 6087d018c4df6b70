/* Values that depend on none of some arguments, and values that are weights: what a weight becomes before
 * it meets an example (dequantised, normalised, merged with its adapters, made complex) is a weight still. */
#include "analysis/stages.h"

#include <stdlib.h>
#include <string.h>

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

uint8_t *stage_independent_of(const struct nda *n, const uint8_t *arguments)
{
    uint8_t *independent = mem_alloc((size_t)n->program->value_count + 1);
    bool again = true;
    memset(independent, 1, (size_t)n->program->value_count + 1);
    for (uint32_t i = 0; i < n->argument_count; i++)
        independent[n->arguments[i].value] = !arguments[i];
    /* each round that is followed by another makes some loop's value dependent: they end */
    while (again) {
        again = false;
        for (uint32_t s = 0; s < n->space_count; s++)
            spread_space(n, &n->spaces[s], independent);
        for (uint32_t s = 0; s < n->space_count; s++)
            if (n->spaces[s].kind == NDA_SPACE_LOOP_END)
                again |= spread_around(n, &n->spaces[s], independent);
    }
    return independent;
}

/* values of which every argument is a parameter, or a number (owned) */
static uint8_t *made_of_parameters(const struct nda *n)
{
    uint8_t *others = mem_zalloc((size_t)n->argument_count + 1, 1), *made;
    for (uint32_t i = 0; i < n->argument_count; i++)
        others[i] = n->arguments[i].role != NDA_ROLE_PARAMETER &&
                    ir_value_type(n->program, n->arguments[i].value)->rank > 0;
    made = stage_independent_of(n, others);
    free(others);
    return made;
}

uint8_t *stage_weight_values(const struct nda *n)
{
    uint8_t *weight = mem_zalloc((size_t)n->program->value_count + 1, 1), *made = made_of_parameters(n);
    for (uint32_t i = 0; i < n->argument_count; i++)
        weight[n->arguments[i].value] = n->arguments[i].role == NDA_ROLE_PARAMETER;
    for (uint32_t s = 0; s < n->space_count; s++) {
        const struct nda_space *sp = &n->spaces[s];
        bool w = false, moves = stage_moves_only(n, sp);
        for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++) {
            w |= !n->slots[k].is_result && weight[n->slots[k].value];
            if (n->slots[k].is_result && w && (moves || made[n->slots[k].value]))
                weight[n->slots[k].value] = 1;
        }
    }
    free(made);
    return weight;
}
