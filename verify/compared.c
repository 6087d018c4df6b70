/* The numbers that a program's choices compare (verify_compared_count in prove.h): an optimizer scales an
 * update where a norm is above 1e-3, and a norm that is twice what it should be changes nothing until it lies
 * between; where it is asked whether a sum is finite, any sum will do. A proof looks at these numbers
 * themselves, as if the program returned them.
 *
 * Only numbers of rank 0 count: no lowering splits these, and they stand in the sharded module in the same
 * order, or the two have other counts and nothing is looked at. What main itself computes is returned as it
 * is. What a loop computes is another number in each iteration, of which the interpreter adds all up, each
 * times a weight of its own (verify_watch in interpret.h). */
#include <stdlib.h>
#include <string.h>

#include "ir/attrs.h"
#include "verify/prove.h"
#include "verify/value.h"

enum { DEPTH = 12 }; /* ops between a number and its comparison; chosen */

/* the number of rank 0 that all elements of an operand are made of; IR_NONE: none, or it is known already */
static uint32_t number_behind(const struct ir_program *program, uint32_t value)
{
    for (int depth = 0; depth < DEPTH; depth++) {
        const struct ir_type *type = ir_value_type(program, value);
        uint32_t op = program->values[value].op;
        if (type->kind != IR_TYPE_TENSOR || !ir_element_is_float((enum ir_element)type->element) ||
            op == IR_NONE)
            return IR_NONE;
        if (type->rank == 0)
            return verify_is_known(program, value) ? IR_NONE : value;
        switch ((int)program->ops[op].code) {
        case IR_BROADCAST_IN_DIM:
        case IR_RESHAPE:
        case IR_CONVERT:
        case IR_SQRT:
        case IR_ABS:
        case IR_NEGATE: value = ir_operand(program, op, 0); break;
        default: return IR_NONE;
        }
    }
    return IR_NONE;
}

/* operands that an op makes a choice of: both of a comparison; the one that is asked whether it is finite, as
 * steps that scale their loss ask it of their gradients */
static uint32_t sides(const struct ir_program *program, uint32_t op)
{
    switch ((int)program->ops[op].code) {
    case IR_COMPARE: return 2;
    case IR_IS_FINITE: return 1;
    default: return 0;
    }
}

/* Does the op stand in a loop, and in nothing else that runs a block many times (a reducer, a sort)? */
static bool in_loop(const struct ir_program *program, uint32_t op)
{
    bool looped = false;
    for (uint32_t block = program->ops[op].block; block != IR_NONE; block = program->ops[op].block) {
        op = program->regions[program->blocks[block].region].op;
        if (op == IR_NONE)
            break;
        if (ir_opcode_family((enum ir_opcode)program->ops[op].code) == IR_FAMILY_CONTROL)
            looped |= program->ops[op].code == IR_WHILE;
        else if (ir_opcode_family((enum ir_opcode)program->ops[op].code) != IR_FAMILY_STRUCTURE)
            return false;
    }
    return looped;
}

/* each number once, however often it is compared */
void verify_watch_make(const struct ir_program *program, struct verify_watch *out)
{
    *out = (struct verify_watch){.number = mem_zalloc((size_t)program->value_count + 1, sizeof *out->number)};
    for (uint32_t op = 0; op < program->op_count; op++)
        for (uint32_t side = 0; sides(program, op) > side && in_loop(program, op); side++) {
            uint32_t value = number_behind(program, ir_operand(program, op, side));
            if (value != IR_NONE && !out->number[value])
                out->number[value] = ++out->count;
        }
}

void verify_watch_release(struct verify_watch *watch)
{
    free(watch->number);
    *watch = (struct verify_watch){0};
}

/* values: room for as many as there are, or NULL */
static uint32_t find(const struct ir_program *program, uint32_t *values)
{
    uint32_t func = ir_function(program, "main"), count = 0;
    uint32_t block = func == IR_NONE ? IR_NONE : ir_region_block(program, func, 0);
    for (uint32_t i = 0; block != IR_NONE && i < program->blocks[block].op_count; i++) {
        uint32_t op = program->block_ops[program->blocks[block].ops + i];
        for (uint32_t side = 0; side < sides(program, op); side++) {
            uint32_t value = number_behind(program, ir_operand(program, op, side));
            if (value != IR_NONE && values)
                values[count] = value;
            count += value != IR_NONE;
        }
    }
    return count;
}

uint32_t verify_compared_count(const struct ir_program *program)
{
    return find(program, NULL);
}

void verify_wide_return_compared(struct verify_wide *wide)
{
    struct ir_program *program = &wide->program;
    uint32_t last = ir_block_terminator(program, ir_region_block(program, ir_function(program, "main"), 0));
    uint32_t own = program->ops[last].operand_count, more = find(program, NULL);
    wide->ops = mem_alloc((size_t)(program->op_count + 1) * sizeof *wide->ops);
    memcpy(wide->ops, program->ops, (size_t)program->op_count * sizeof *wide->ops);
    wide->operands = mem_alloc((size_t)(program->operand_count + own + more + 1) * sizeof *wide->operands);
    memcpy(wide->operands, program->operands, (size_t)program->operand_count * sizeof *wide->operands);
    for (uint32_t i = 0; i < own; i++)
        wide->operands[program->operand_count + i] = ir_operand(program, last, i);
    (void)find(program, wide->operands + program->operand_count + own);
    wide->ops[last].operands = program->operand_count;
    wide->ops[last].operand_count = own + more;
    program->operand_count += own + more;
    program->ops = wide->ops;
    program->operands = wide->operands;
}
