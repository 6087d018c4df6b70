/* Is the module a train step? Either some tied argument feeds a contraction and a tied one of its shape does not (weights and
 * their moments), or some tied argument is updated by a gradient of itself (plain SGD, factored or orthogonalised moments).
 *
 * A gradient is known by its dataflow: weight A meets X in a contraction; A's new value is made of A by elementwise ops and
 * depends on another contraction of X, and on a sum over a dimension that X brought there (the examples). Caches
 * and carried states fail one of these: they are written in place, batched with X, or sums of other weights. */
#include "analysis/stages.h"

#include <stdlib.h>
#include <string.h>

static bool same_dims(const struct nda *n, uint32_t v, uint32_t w)
{
    const struct ir_type *a = ir_value_type(n->program, v), *b = ir_value_type(n->program, w);
    return a->kind == IR_TYPE_TENSOR && b->kind == IR_TYPE_TENSOR && a->rank == b->rank && a->rank > 0 &&
           memcmp(ir_type_dims(n->program, a), ir_type_dims(n->program, b), a->rank * sizeof(int64_t)) == 0;
}

static bool has_moments(const struct nda *n, const uint8_t *direct, const uint8_t *reaches)
{
    for (uint32_t i = 0; i < n->argument_count; i++) {
        if (n->arguments[i].tied_result == NDA_NONE || !direct[n->arguments[i].value])
            continue;
        for (uint32_t j = 0; j < n->argument_count; j++)
            if (n->arguments[j].tied_result != NDA_NONE && !reaches[n->arguments[j].value] &&
                same_dims(n, n->arguments[i].value, n->arguments[j].value))
                return true;
    }
    return false;
}

/* ------------------------------------------------------------------ gradients */
static bool passes(const struct nda *n, const struct nda_space *sp, bool elementwise)
{
    if (!elementwise)
        return true;
    return sp->kind != NDA_SPACE_OP ||
           ir_opcode_family(n->program->ops[sp->op].code) == IR_FAMILY_ELEMENTWISE;
}

/* what the argument's new value is made of, by elementwise ops only or by any; a byte a value (owned) */
static uint8_t *made_of(const struct nda *n, uint32_t argument, bool elementwise)
{
    uint8_t *of = mem_zalloc((size_t)n->program->value_count + 1, 1);
    of[n->slots[n->spaces[n->result_spaces[n->arguments[argument].tied_result]].slots].value] = 1;
    for (uint32_t s = n->space_count; s-- > 0;) {
        const struct nda_space *sp = &n->spaces[s];
        bool made = false;
        for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count && !made; k++)
            made = n->slots[k].is_result && of[n->slots[k].value];
        if (!made || !passes(n, sp, elementwise))
            continue;
        for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++)
            if (!n->slots[k].is_result)
                of[n->slots[k].value] = 1;
    }
    return of;
}

/* where a value comes from, moves of its elements left out */
static uint32_t origin(const struct nda *n, uint32_t value)
{
    const struct ir_program *p = n->program;
    for (;;) {
        uint32_t op = p->values[value].op;
        if (op == IR_NONE || n->op_space[op] == NDA_NONE || p->ops[op].operand_count == 0)
            return value;
        if (p->ops[op].code == IR_OPTIMIZATION_BARRIER)
            value = ir_operand(p, op, p->values[value].index);
        else if (p->ops[op].region_count == 0 && stage_moves_only(n, &n->spaces[n->op_space[op]]))
            value = ir_operand(p, op, 0);
        else
            return value;
    }
}

/* colors that the operand `other` brings into a contraction's result; false when both operands are batched together */
static bool brought_colors(const struct nda *n, const struct nda_space *sp, uint32_t other, uint8_t *color)
{
    for (uint32_t f = 0; f < sp->name_count; f++) {
        uint32_t in = 0, name = sp->names + f;
        for (uint32_t k = 0; k < 3; k++)
            for (uint32_t a = 0; a < nda_atom_count(n, n->slots[sp->slots + k].value); a++)
                in |= nda_slot_name(n, sp->slots + k, a) == name ? 1u << k : 0;
        if (in == 7)
            return false;
        if (in == ((1u << other) | 4))
            color[n->names[name].color] = 1;
    }
    return true;
}

/* the new value depends on another contraction of x, and on a sum over one of the colors */
static bool is_gradient(const struct nda *n, const uint8_t *of, uint32_t weight, uint32_t x, const uint8_t *color)
{
    bool again = false, summed = false;
    for (uint32_t s = 0; s < n->space_count && !(again && summed); s++) {
        const struct nda_space *sp = &n->spaces[s];
        if (sp->kind != NDA_SPACE_OP || !of[n->slots[sp->slots + sp->slot_count - 1].value])
            continue;
        for (uint32_t f = 0; f < sp->name_count; f++)
            summed |= n->names[sp->names + f].kind == NDA_CONTRACTING && color[n->names[sp->names + f].color];
        if (!stage_is_contraction(n, sp->op) || sp->slot_count != 3)
            continue;
        uint32_t a = origin(n, n->slots[sp->slots].value), b = origin(n, n->slots[sp->slots + 1].value);
        again |= (a == x || b == x) && a != weight && b != weight;
    }
    return again && summed;
}

static bool is_updated_by_gradient(const struct nda *n, uint32_t argument)
{
    uint32_t weight = n->arguments[argument].value;
    uint8_t *of = made_of(n, argument, true), *color;
    bool found = false;
    if (!of[weight]) {
        free(of);
        return false;
    }
    free(of);
    of = made_of(n, argument, false);
    color = mem_alloc((size_t)n->color_count + 1);
    for (uint32_t s = 0; s < n->space_count && !found; s++) {
        const struct nda_space *sp = &n->spaces[s];
        if (sp->kind != NDA_SPACE_OP || !stage_is_contraction(n, sp->op) || sp->slot_count != 3)
            continue;
        uint32_t a = origin(n, n->slots[sp->slots].value), b = origin(n, n->slots[sp->slots + 1].value);
        if ((a == weight) == (b == weight))
            continue;
        memset(color, 0, (size_t)n->color_count + 1);
        found = brought_colors(n, sp, a == weight ? 1 : 0, color) && is_gradient(n, of, weight, a == weight ? b : a, color);
    }
    free(of);
    free(color);
    return found;
}

bool stage_is_train_step(const struct nda *n, const uint8_t *direct, const uint8_t *reaches)
{
    enum { MOST_TRIED = 64 };   /* each costs a few passes over the program */
    uint32_t tried = 0;
    if (has_moments(n, direct, reaches))
        return true;
    for (uint32_t i = 0; i < n->argument_count && tried < MOST_TRIED; i++) {
        const struct ir_type *t = ir_value_type(n->program, n->arguments[i].value);
        if (n->arguments[i].tied_result == NDA_NONE || !direct[n->arguments[i].value] || t->rank < 2)
            continue;
        tried++;
        if (is_updated_by_gradient(n, i))
            return true;
    }
    return false;
}
