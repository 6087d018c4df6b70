/* The contractions of a module and the sides of their iteration spaces.
 *
 * A dot's or convolution's factor is on the side that the slots it stands in say; the operand that is made
 * from a parameter and nothing else is the weight, so that rows are the data's whichever way a dot was
 * written. A gather counts where its table is an argument and what it looks up is data: the table's rows are
 * its contracted side, as of the product with one-hot rows that it stands for. What constants pick (a bias by
 * relative position) is made of a parameter and follows the block that it goes into (CFP's section 3.3). */
#include "segments/internal.h"
#include "segments/piece.h"

#include <stdlib.h>

static bool slot_has(const struct nda *n, uint32_t slot, uint32_t factor_index)
{
    for (uint32_t k = 0; k < nda_atom_count(n, n->slots[slot].value); k++)
        if (nda_slot_factor(n, slot, k) == factor_index)
            return true;
    return false;
}

/* the first result slot; NDA_NONE: there is none */
static uint32_t result_slot(const struct nda *n, uint32_t space)
{
    for (uint32_t k = n->spaces[space].slots; k < n->spaces[space].slots + n->spaces[space].slot_count; k++)
        if (n->slots[k].is_result)
            return k;
    return NDA_NONE;
}

/* what it is made of through one-operand ops is an argument of @main */
static bool is_argument(const struct nda *n, uint32_t value)
{
    for (;;) {
        uint32_t op = n->program->values[value].op;
        if (op == IR_NONE)
            return n->program->values[value].block == n->block;
        if (n->program->ops[op].operand_count != 1 || n->program->ops[op].region_count)
            return false;
        value = ir_operand(n->program, op, 0);
    }
}

static bool is_lookup(const struct nda *n, uint8_t *constant, uint32_t space)
{
    const struct nda_space *sp = &n->spaces[space];
    if (sp->kind != NDA_SPACE_OP || n->program->ops[sp->op].code != IR_GATHER ||
        !is_argument(n, ir_operand(n->program, sp->op, 0)))
        return false;
    uint32_t from = n->program->values[ir_operand(n->program, sp->op, 1)].op;
    if (from != IR_NONE && segments_is_constant(n, constant, from))
        return false;
    for (uint32_t k = 0; k < sp->factor_count; k++)
        if (n->factors[sp->factors + k].kind == NDA_LOOKUP)
            return true;
    return false;
}

static void find_sides(const struct nda *n, struct segments_contraction *contraction)
{
    const struct nda_space *space = &n->spaces[contraction->space];
    uint32_t data = space->slots, weight = space->slots + 1, result = result_slot(n, contraction->space);
    if (contraction->is_lookup ||
        (is_argument(n, n->slots[data].value) && !is_argument(n, n->slots[weight].value))) {
        data = space->slots + 1;
        weight = space->slots;
    }
    for (uint32_t k = 0; k < space->factor_count; k++) {
        uint32_t factor_index = space->factors + k;
        bool in_data = slot_has(n, data, factor_index), in_weight = slot_has(n, weight, factor_index);
        bool in_result = slot_has(n, result, factor_index);
        uint64_t bit = UINT64_C(1) << k;
        if (n->factors[factor_index].kind == NDA_LOOKUP || (in_data && in_weight && !in_result))
            contraction->sides[SEGMENTS_CONTRACTED] |= bit;
        else if (in_data && in_weight)
            contraction->sides[SEGMENTS_BATCH] |= bit;
        else if (in_data && in_result)
            contraction->sides[SEGMENTS_ROWS] |= bit;
        else if (in_weight && in_result)
            contraction->sides[SEGMENTS_COLUMNS] |= bit;
    }
}

void segments_find_contractions(struct segments_build *build)
{
    const struct nda *n = build->n;
    uint8_t *constant = mem_zalloc((size_t)n->program->op_count + 1, 1);
    build->graph.contraction_of = mem_alloc(((size_t)n->space_count + 1) * sizeof(uint32_t));
    for (uint32_t space = 0; space < n->space_count; space++) {
        bool lookup = is_lookup(n, constant, space);
        build->graph.contraction_of[space] = NDA_NONE;
        if (n->spaces[space].kind != NDA_SPACE_OP ||
            (!lookup && !nda_is_contraction(n, n->spaces[space].op)) || n->spaces[space].slot_count < 3 ||
            result_slot(n, space) == NDA_NONE)
            continue;
        struct segments_contraction contraction = {
            .space = space, .block = NDA_NONE, .forward = NDA_NONE, .is_lookup = lookup};
        find_sides(n, &contraction);
        build->graph.contraction_of[space] = (uint32_t)build->contractions.count;
        VEC_PUSH(&build->contractions, contraction);
    }
    free(constant);
}
