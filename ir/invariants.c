/* Finding the carried values of loops that never change, and parts of tuples (invariants.h). Inner loops are
 * treated before the loops around them, so that a value that passes unchanged through a loop inside a loop is
 * recognised in both. Only reads the program. */
#include "ir/invariants.h"

#include "ir/attrs.h"

#include <stdlib.h>

/* op itself when it is a while; the while whose body op ends when it is such a terminator; else IR_NONE */
static uint32_t loop_of(const struct ir_program *program, uint32_t op)
{
    if (program->ops[op].code == IR_WHILE)
        return op;
    uint32_t block = program->ops[op].block;
    if (program->ops[op].result_count || block == IR_NONE || ir_block_terminator(program, block) != op)
        return IR_NONE;
    uint32_t region = program->blocks[block].region, loop = program->regions[region].op;
    return program->ops[loop].code == IR_WHILE && region == program->ops[loop].regions + 1 ? loop : IR_NONE;
}

bool ir_invariants_drop(const struct ir_program *program, const uint32_t *same, uint32_t op, uint32_t i)
{
    uint32_t loop = loop_of(program, op);
    return loop != IR_NONE && same[ir_result(program, loop, i)] != ir_result(program, loop, i);
}

static uint32_t resolve(const uint32_t *same, uint32_t value)
{
    while (same[value] != value)
        value = same[value];
    return value;
}

static uint32_t argument_of(const struct ir_program *program, uint32_t loop, uint32_t region, uint32_t i)
{
    return program->blocks[ir_region_block(program, loop, region)].args + i;
}

static bool is_invariant(const struct ir_program *program, const uint32_t *same, uint32_t loop, uint32_t i)
{
    uint32_t argument = argument_of(program, loop, 1, i),
             last = ir_block_terminator(program, ir_region_block(program, loop, 1));
    return ir_value_type(program, argument)->kind == IR_TYPE_TENSOR &&
           resolve(same, ir_operand(program, last, i)) == argument;
}

static void set_same(const struct ir_program *program, uint32_t *same, uint32_t loop, uint32_t i,
                     bool outside)
{
    uint32_t values[] = {argument_of(program, loop, 0, i), argument_of(program, loop, 1, i),
                         ir_result(program, loop, i)};
    for (uint32_t k = 0; k < 3; k++)
        same[values[k]] = outside ? ir_operand(program, loop, i) : values[k];
}

/* By value: does anything use it but a loop that carries it on, or an op that takes a slice of it? */
static uint8_t *find_used(const struct ir_program *program, const uint32_t *same)
{
    uint8_t *used = mem_zalloc((size_t)program->value_count + 1, 1);
    for (uint32_t op = 0; op < program->op_count; op++)
        for (uint32_t i = program->ops[op].code == IR_DYNAMIC_SLICE; i < program->ops[op].operand_count; i++)
            if (!ir_invariants_drop(program, same, op, i))
                for (uint32_t v = ir_operand(program, op, i); !used[v]; v = same[v])
                    used[v] = 1;
    return used;
}

static bool leaves(const struct ir_program *program, const uint32_t *same, const uint8_t *used,
                   const uint8_t *cheap, uint32_t loop, uint32_t i)
{
    uint32_t value = resolve(same, ir_operand(program, loop, i)), def = program->values[value].op;
    bool one = ir_type_elements(program, ir_value_type(program, value)) == 1;
    return (used[argument_of(program, loop, 0, i)] || used[argument_of(program, loop, 1, i)]) &&
           (one || def == IR_NONE || !cheap[def]);
}

/* a part that is taken out of a tuple that an op made: the value that went in */
static void find_parts(const struct ir_program *program, uint32_t *same)
{
    for (uint32_t op = 0; op < program->op_count; op++) {
        if (program->ops[op].code != IR_GET_TUPLE_ELEMENT || program->ops[op].operand_count != 1 ||
            program->ops[op].result_count != 1)
            continue;
        uint32_t tuple = program->values[resolve(same, ir_operand(program, op, 0))].op;
        int64_t index = ir_int(program, op, "index", -1);
        if (tuple == IR_NONE || program->ops[tuple].code != IR_TUPLE || index < 0 ||
            index >= program->ops[tuple].operand_count)
            continue;
        uint32_t part = ir_operand(program, tuple, (uint32_t)index);
        if (program->values[part].type == program->values[program->ops[op].results].type)
            same[program->ops[op].results] = part;
    }
}

uint32_t *ir_invariants_find(const struct ir_program *program, const uint8_t *cheap)
{
    uint32_t *same = mem_alloc(((size_t)program->value_count + 1) * sizeof *same);
    for (uint32_t value = 0; value < program->value_count; value++)
        same[value] = value;
    find_parts(program, same);
    for (uint32_t op = program->op_count;
         op-- > 0;) /* backwards: the ops of a loop's body come after the loop */
        for (uint32_t i = 0; program->ops[op].code == IR_WHILE && i < program->ops[op].operand_count; i++)
            if (is_invariant(program, same, op, i))
                set_same(program, same, op, i, true);
    uint8_t *used = find_used(program, same), *stays = mem_zalloc((size_t)program->value_count + 1, 1);
    for (uint32_t op = 0; op < program->op_count; op++) {
        uint32_t count = program->ops[op].code == IR_WHILE ? program->ops[op].operand_count : 0, kept = 0;
        for (uint32_t i = 0; i < count; i++) {
            stays[ir_result(program, op, i)] =
                !ir_invariants_drop(program, same, op, i) || !leaves(program, same, used, cheap, op, i);
            kept += stays[ir_result(program, op, i)];
        }
        for (uint32_t i = 0; i < count; i++)
            stays[ir_result(program, op, i)] |= kept == 0;
    }
    for (uint32_t op = 0; op < program->op_count; op++)
        for (uint32_t i = 0; program->ops[op].code == IR_WHILE && i < program->ops[op].operand_count; i++)
            if (stays[ir_result(program, op, i)])
                set_same(program, same, op, i, false);
    for (uint32_t value = 0; value < program->value_count; value++)
        same[value] = resolve(same, value);
    free(used);
    free(stays);
    return same;
}
