/* Which SSA values are alive, and the operands of the op that runs next.
 *
 * Every value of the program has one slot, and a slot holds one verify_value a device (or a single one that
 * all devices read: what a manual computation captures from outside). A value leaves its slot after the last
 * op that uses it. That op is found once for the whole program, before anything runs:
 *
 *     op                                released after it
 *     %0 = constant
 *     %1 = add %0, %arg0                [%arg0]
 *     %2 = while (%1) { .. %0 .. }      [%0, %1]
 *     return %2                         [%2]
 *
 * A use inside a region counts as a use by the op of the value's own block that holds the region, because
 * the region may run many times: %0 above is released after the while, not inside it.
 *
 * Promise: an op without regions that is the last user of a value gets the slot's own reference. If nobody
 * else shares the buffer, `uses` is 1 and the op may write into it. Nothing here computes or looks at an
 * element. */
#include "verify/driver.h"

#include <stdlib.h>
#include <string.h>

/* the op of `block` that contains (or is) op; IR_NONE when op lies elsewhere */
static uint32_t enclosing(const struct ir_program *program, uint32_t op, uint32_t block)
{
    while (op != IR_NONE && program->ops[op].block != block) {
        if (program->ops[op].block == IR_NONE)
            return IR_NONE;
        op = program->regions[program->blocks[program->ops[op].block].region].op;
    }
    return op;
}

/* The lists release and release_at: a counting sort of the values by the op after which nobody uses them.
 * A value that nobody uses is released after the op that defines it. */
void verify_slots_plan(struct verify_state *state)
{
    const struct ir_program *program = state->program;
    uint32_t *last = mem_alloc((program->value_count + 1) * sizeof *last);
    uint32_t *rank = mem_zalloc(program->op_count + 1, sizeof *rank); /* position of an op in its block */
    for (uint32_t block = 0; block < program->block_count; block++)
        for (uint32_t k = 0; k < program->blocks[block].op_count; k++)
            rank[program->block_ops[program->blocks[block].ops + k]] = k;
    for (uint32_t value = 0; value < program->value_count; value++)
        last[value] = program->values[value].op;
    for (uint32_t op = 0; op < program->op_count; op++)
        for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
            uint32_t value = ir_operand(program, op, i),
                     at = enclosing(program, op, program->values[value].block);
            if (at != IR_NONE && (last[value] == IR_NONE || rank[at] >= rank[last[value]]))
                last[value] = at;
        }
    uint32_t *first = mem_zalloc(program->op_count + 2, sizeof *first),
             *list = mem_alloc((program->value_count + 1) * sizeof *list);
    for (uint32_t value = 0; value < program->value_count; value++)
        if (last[value] != IR_NONE)
            first[last[value] + 1]++;
    for (uint32_t op = 0; op < program->op_count; op++)
        first[op + 1] += first[op];
    uint32_t *next = mem_alloc((program->op_count + 1) * sizeof *next);
    memcpy(next, first, (program->op_count + 1) * sizeof *next);
    for (uint32_t value = 0; value < program->value_count; value++)
        if (last[value] != IR_NONE)
            list[next[last[value]]++] = value;
    state->release = list;
    state->release_at = first;
    free(next);
    free(last);
    free(rank);
}

void verify_slot_clear(struct verify_state *state, uint32_t value)
{
    struct verify_slot *slot = &state->slots[value];
    for (uint32_t d = 0; d < slot->devices; d++)
        verify_value_drop(state, &slot->at[d]);
    slot->devices = 0;
}

void verify_slot_set(struct verify_state *state, uint32_t value, uint32_t devices,
                     const struct verify_value *values)
{
    struct verify_slot *slot = &state->slots[value];
    verify_slot_clear(state, value);
    slot->at = mem_realloc(slot->at, devices, sizeof *slot->at);
    slot->devices = devices;
    memcpy(slot->at, values, devices * sizeof *values);
}

void verify_slots_release(struct verify_state *state, uint32_t op)
{
    for (uint32_t i = state->release_at[op]; i < state->release_at[op + 1]; i++)
        verify_slot_clear(state, state->release[i]);
}

void verify_values_drop(struct verify_state *state, struct verify_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        verify_value_drop(state, &values[i]);
}

enum error_code verify_slots_fetch(struct verify_state *state, uint32_t op, uint32_t devices,
                                   struct verify_value *in, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    for (uint32_t i = 0; i < ir_op->operand_count; i++) {
        uint32_t v = ir_operand(state->program, op, i);
        struct verify_slot *slot = &state->slots[v];
        if (slot->devices != devices && slot->devices != 1)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operand %u is not there", i);
        for (uint32_t d = 0; d < devices; d++) {
            struct verify_value *from = &slot->at[slot->devices == 1 ? 0 : d];
            in[i * devices + d].type = ir_value_type(state->program, v);
            verify_value_share(&in[i * devices + d], from);
        }
    }
    /* Clear the slots now, so that a family may hold the only reference. Not for an op with regions, as
     * these may name the values too: its slots are cleared after it. */
    for (uint32_t i = state->release_at[op]; i < state->release_at[op + 1] && ir_op->region_count == 0; i++)
        if (state->program->values[state->release[i]].op != op)
            verify_slot_clear(state, state->release[i]);
    return ERROR_OK;
}
