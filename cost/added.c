/* Rows scattered into zeros that are added to an array afterwards: the compiler scatters into the array.
 *
 *     zeros ---> scatter --.                 rows --> scatter ---> sum, another name
 *      rows ------^         add --> sum  is             ^
 *     array ---------------'                 array -----'   in its memory
 *
 * The picked labels' gradient goes into that of the softmax so, and an embedding's rows into its gradient as
 * the output's weights. The array is in memory then, though it were computed in the sum's kernel else.
 *
 * Source: XLA's algebraic simplifier; final HLO of train steps whose embeddings are tied or whose loss picks
 * labels, for an H100 by XLA of jax 0.10.2 (docs/price.md). */
#include "cost/internal.h"

#include <stdlib.h>

#include "ir/attrs.h"

static bool is_broadcast(const struct ir_program *program, uint32_t value)
{
    uint32_t op = program->values[value].op;
    return op != IR_NONE && ir_opcode_family((enum ir_opcode)program->ops[op].code) == IR_FAMILY_BROADCAST;
}

static bool adds_rows(const struct price_program *out, uint32_t op)
{
    const struct ir_program *program = out->nda->program;
    return out->ops[op].class == OP_UPDATE && program->ops[op].code == IR_SCATTER &&
           program->ops[op].operand_count == 3 && is_broadcast(program, ir_operand(program, op, 0)) &&
           ir_region_reducer(program, op, 0) == IR_ADD;
}

/* the later of a sum's operands that is a scatter which nothing else reads; IR_NONE: none is */
static uint32_t scatter_of(const struct price_program *out, const uint32_t *readers, uint32_t sum)
{
    const struct ir_program *program = out->nda->program;
    uint32_t last = IR_NONE;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t value = ir_operand(program, sum, i), op = program->values[value].op;
        if (op != IR_NONE && readers[value] == 1 && adds_rows(out, op) && (last == IR_NONE || op > last))
            last = op;
    }
    return last;
}

void price_find_added(struct price_program *out)
{
    const struct ir_program *program = out->nda->program;
    uint32_t *readers = mem_zalloc((size_t)program->value_count + 1, sizeof *readers);
    for (uint32_t op = 0; op < program->op_count; op++)
        for (uint32_t i = 0; i < program->ops[op].operand_count; i++)
            readers[ir_operand(program, op, i)]++;
    for (uint32_t op = 0; op < program->op_count; op++) {
        uint32_t scatter = program->ops[op].code == IR_ADD && program->ops[op].operand_count == 2
                               ? scatter_of(out, readers, op)
                               : IR_NONE;
        if (scatter == IR_NONE)
            continue;
        out->ops[scatter].added = op + 1;
        out->ops[op].added = scatter + 1;
    }
    free(readers);
}

/* the sum's other operand, where both are on a device as the program has them, and it is made before */
static uint32_t array_of(const struct spmd_local *local, const struct spmd_step *sum, uint32_t scatter)
{
    const uint32_t *operands = local->operands + sum->operands;
    uint32_t result = local->steps[scatter].results, array = operands[operands[0] == result];
    uint32_t by = local->values[array].step;
    return by != SPMD_NONE && by < scatter && local->values[array].bytes == local->values[result].bytes
               ? array
               : SPMD_NONE;
}

uint32_t price_added_by(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct spmd_step *sum)
{
    if (!(scratch->rules & COST_FUSE_ADDED) || sum->kind != SPMD_OP || !step_info(scratch, sum)->added ||
        sum->operand_count != 2)
        return SPMD_NONE;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t step = local->values[local->operands[sum->operands + i]].step;
        if (step != SPMD_NONE && local->steps[step].kind == SPMD_OP &&
            local->steps[step].op + 1 == step_info(scratch, sum)->added)
            return array_of(local, sum, step) == SPMD_NONE ? SPMD_NONE : step;
    }
    return SPMD_NONE;
}

uint32_t price_written_into(const struct price_scratch *scratch, const struct spmd_local *local,
                            const struct spmd_step *update)
{
    uint32_t operand = local->operands[update->operands];
    if (scratch->of_buffers || !(scratch->rules & COST_FUSE_ADDED) || !step_info(scratch, update)->added)
        return operand;
    const struct value_use *use = &scratch->uses[update->results];
    const struct spmd_step *sum = &local->steps[use->user];
    uint32_t step = use->uses == 1 ? price_added_by(scratch, local, sum) : SPMD_NONE;
    return step != SPMD_NONE && &local->steps[step] == update ? array_of(local, sum, step) : operand;
}
