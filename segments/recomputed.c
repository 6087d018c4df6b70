/* What a program computes again: jax.checkpoint's second forward pass.
 *
 *     x --> norm --> dot(w) --> gelu --> ..                      forward
 *     x --> barrier --> norm' --> dot'(w) --> gelu' --> ..       again, before the backward pass
 *
 * Two values are the same where equal ops make them of the same values; a barrier only hands on. A value's
 * number is the hash of that, so two values are wrongly the same once in 2^64, and then blocks are other
 * blocks of an equally valid plan. Calls, loops and branches are never the same, nor what draws random
 * numbers from no state. */
#include "segments/internal.h"

#include "ir/attrs.h"

#include <stdlib.h>
#include <string.h>

static bool is_pure(const struct ir_program *program, uint32_t op)
{
    switch ((int)ir_opcode_family((enum ir_opcode)program->ops[op].code)) {
    case IR_FAMILY_UNKNOWN:
    case IR_FAMILY_STRUCTURE:
    case IR_FAMILY_CONTROL:
    case IR_FAMILY_CUSTOM_CALL:
    case IR_FAMILY_COLLECTIVE:
    case IR_FAMILY_SHARDY: return false;
    case IR_FAMILY_RNG: return program->ops[op].operand_count > 0 && program->ops[op].code != IR_RNG;
    default: return true;
    }
}

struct table {
    uint64_t *numbers; /* 0: free */
    uint32_t *values;
    size_t mask;
};

/* the first value of this number, which is `value` where there was none */
static uint32_t find_or_add(struct table *table, uint64_t number, uint32_t value)
{
    size_t at = number & table->mask;
    while (table->numbers[at] && table->numbers[at] != number)
        at = (at + 1) & table->mask;
    if (!table->numbers[at]) {
        table->numbers[at] = number;
        table->values[at] = value;
    }
    return table->values[at];
}

static void number_op(const struct ir_program *program, uint32_t op, struct table *table, uint32_t *first)
{
    const struct ir_op *it = &program->ops[op];
    if (ir_opcode_family((enum ir_opcode)it->code) == IR_FAMILY_BARRIER) {
        for (uint32_t i = 0; i < it->result_count && i < it->operand_count; i++)
            first[ir_result(program, op, i)] = first[ir_operand(program, op, i)];
        return;
    }
    if (!is_pure(program, op))
        return;
    uint64_t number = ir_op_content_key(program, op);
    for (uint32_t i = 0; i < it->operand_count; i++)
        number = hash_combine(number, first[ir_operand(program, op, i)]);
    for (uint32_t i = 0; i < it->result_count; i++) {
        uint64_t own = hash_combine(number, i + 1);
        uint32_t value = ir_result(program, op, i);
        first[value] = find_or_add(table, own ? own : 1, value);
    }
}

uint32_t *segments_find_recomputed(const struct nda *n)
{
    const struct ir_program *program = n->program;
    uint32_t *first = mem_alloc(((size_t)program->value_count + 1) * sizeof *first);
    size_t room = 64;
    while (room < 2 * (size_t)program->value_count)
        room *= 2;
    struct table table = {mem_zalloc(room, sizeof *table.numbers), mem_zalloc(room, sizeof *table.values),
                          room - 1};
    for (uint32_t value = 0; value < program->value_count; value++)
        first[value] = value;
    for (uint32_t op = 0; op < program->op_count; op++)
        number_op(program, op, &table, first);
    free(table.numbers);
    free(table.values);
    return first;
}
