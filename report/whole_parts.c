/* Dimensions that are no dimension to a reader: queries, keys and values in one matrix are three arrays side
 * by side. A size that divides would be that of a fourth, which no padding makes. */
#include "report/whole.h"

#include <stdlib.h>

enum { MOST_PARTS = 64 }; /* bits of a mask */

/* the dimension of a value whose most major atom is of the group; NDA_NONE: none is */
static uint32_t dimension_of(const struct nda *n, uint32_t value, uint32_t group)
{
    const struct nda_atom *atoms = nda_atoms(n, value);
    uint32_t slot = n->value_def_slot[value], count = nda_atom_count(n, value);
    for (uint32_t i = 0; slot != NDA_NONE && i < count; i++) {
        uint32_t factor = nda_slot_factor(n, slot, i);
        if (factor != NDA_NONE && n->colors[n->factors[factor].color].group == group &&
            (i == 0 || atoms[i - 1].dim != atoms[i].dim))
            return atoms[i].dim;
    }
    return NDA_NONE;
}

/* bit k: the slice is part k of `parts` along the dimension, and nothing else; 0: it is no part */
static uint64_t part_of(const struct ir_program *program, uint32_t op, uint32_t dim, int64_t parts)
{
    struct ir_dims start, stride;
    const int64_t *from = ir_type_dims(program, ir_value_type(program, ir_operand(program, op, 0)));
    const int64_t *to = ir_type_dims(program, ir_value_type(program, ir_result(program, op, 0)));
    if (ir_dims(program, op, "start_indices", &start) != 0 || ir_dims(program, op, "strides", &stride) != 0 ||
        dim >= start.count || stride.at[dim] != 1 || to[dim] * parts != from[dim] ||
        start.at[dim] % to[dim] != 0)
        return 0;
    return UINT64_C(1) << (start.at[dim] / to[dim]);
}

bool report_sliced_apart(const struct nda *n, uint32_t group)
{
    const struct ir_program *program = n->program;
    int64_t parts = n->groups[group].size;
    if (parts < 2 || parts > MOST_PARTS)
        return false;
    uint64_t *taken = mem_zalloc((size_t)program->value_count + 1, sizeof *taken);
    uint64_t all = UINT64_MAX >> (MOST_PARTS - parts);
    bool apart = false;
    for (uint32_t op = 0; op < program->op_count && !apart; op++) {
        if (program->ops[op].code != IR_SLICE)
            continue;
        uint32_t value = ir_operand(program, op, 0), dim = dimension_of(n, value, group);
        if (dim != NDA_NONE)
            taken[value] |= part_of(program, op, dim, parts);
        apart = taken[value] == all;
    }
    free(taken);
    return apart;
}
