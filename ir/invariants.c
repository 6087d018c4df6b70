/* Finding the carried values of loops that never change (invariants.h). Inner loops are treated before the
 * loops around them, so that a value that passes unchanged through a loop inside a loop is recognised in
 * both. Only reads the program. */
#include "ir/invariants.h"

#include <stdlib.h>

/* op itself when it is a while; the while whose body op ends when it is such a terminator; else IR_NONE */
static uint32_t loop_of(const struct ir_program *p, uint32_t op)
{
    if (p->ops[op].code == IR_WHILE)
        return op;
    uint32_t block = p->ops[op].block;
    if (p->ops[op].result_count || block == IR_NONE || ir_block_terminator(p, block) != op)
        return IR_NONE;
    uint32_t region = p->blocks[block].region, loop = p->regions[region].op;
    return p->ops[loop].code == IR_WHILE && region == p->ops[loop].regions + 1 ? loop : IR_NONE;
}

bool ir_invariants_drop(const struct ir_program *p, const uint32_t *same, uint32_t op, uint32_t i)
{
    uint32_t loop = loop_of(p, op);
    return loop != IR_NONE && same[ir_result(p, loop, i)] != ir_result(p, loop, i);
}

static uint32_t resolve(const uint32_t *same, uint32_t value)
{
    while (same[value] != value)
        value = same[value];
    return value;
}

static uint32_t argument_of(const struct ir_program *p, uint32_t loop, uint32_t region, uint32_t i)
{
    return p->blocks[ir_region_block(p, loop, region)].args + i;
}

static bool is_invariant(const struct ir_program *p, const uint32_t *same, uint32_t loop, uint32_t i)
{
    uint32_t argument = argument_of(p, loop, 1, i),
             last = ir_block_terminator(p, ir_region_block(p, loop, 1));
    return ir_value_type(p, argument)->kind == IR_TYPE_TENSOR &&
           resolve(same, ir_operand(p, last, i)) == argument;
}

static void set_same(const struct ir_program *p, uint32_t *same, uint32_t loop, uint32_t i, bool outside)
{
    uint32_t values[] = {argument_of(p, loop, 0, i), argument_of(p, loop, 1, i), ir_result(p, loop, i)};
    for (uint32_t k = 0; k < 3; k++)
        same[values[k]] = outside ? ir_operand(p, loop, i) : values[k];
}

/* By value: does anything use it but a loop that carries it on, or an op that takes a slice of it? */
static uint8_t *find_used(const struct ir_program *p, const uint32_t *same)
{
    uint8_t *used = mem_zalloc((size_t)p->value_count + 1, 1);
    for (uint32_t op = 0; op < p->op_count; op++)
        for (uint32_t i = p->ops[op].code == IR_DYNAMIC_SLICE; i < p->ops[op].operand_count; i++)
            if (!ir_invariants_drop(p, same, op, i))
                for (uint32_t v = ir_operand(p, op, i); !used[v]; v = same[v])
                    used[v] = 1;
    return used;
}

static bool leaves(const struct ir_program *p, const uint32_t *same, const uint8_t *used,
                   const uint8_t *cheap, uint32_t loop, uint32_t i)
{
    uint32_t value = resolve(same, ir_operand(p, loop, i)), def = p->values[value].op;
    bool one = ir_type_elements(p, ir_value_type(p, value)) == 1;
    return (used[argument_of(p, loop, 0, i)] || used[argument_of(p, loop, 1, i)]) &&
           (one || def == IR_NONE || !cheap[def]);
}

uint32_t *ir_invariants_find(const struct ir_program *p, const uint8_t *cheap)
{
    uint32_t *same = mem_alloc(((size_t)p->value_count + 1) * sizeof *same);
    for (uint32_t v = 0; v < p->value_count; v++)
        same[v] = v;
    for (uint32_t op = p->op_count; op-- > 0;) /* backwards: the ops of a loop's body come after the loop */
        for (uint32_t i = 0; p->ops[op].code == IR_WHILE && i < p->ops[op].operand_count; i++)
            if (is_invariant(p, same, op, i))
                set_same(p, same, op, i, true);
    uint8_t *used = find_used(p, same), *stays = mem_zalloc((size_t)p->value_count + 1, 1);
    for (uint32_t op = 0; op < p->op_count; op++) {
        uint32_t count = p->ops[op].code == IR_WHILE ? p->ops[op].operand_count : 0, kept = 0;
        for (uint32_t i = 0; i < count; i++) {
            stays[ir_result(p, op, i)] =
                !ir_invariants_drop(p, same, op, i) || !leaves(p, same, used, cheap, op, i);
            kept += stays[ir_result(p, op, i)];
        }
        for (uint32_t i = 0; i < count; i++)
            stays[ir_result(p, op, i)] |= kept == 0;
    }
    for (uint32_t op = 0; op < p->op_count; op++)
        for (uint32_t i = 0; p->ops[op].code == IR_WHILE && i < p->ops[op].operand_count; i++)
            if (stays[ir_result(p, op, i)])
                set_same(p, same, op, i, false);
    for (uint32_t v = 0; v < p->value_count; v++)
        same[v] = resolve(same, v);
    free(used);
    free(stays);
    return same;
}
