/* Finding repeated casts of arguments (casts.h): by argument the casts so far, of which there are as many as
 * element types that it is cast to. Only reads the program. */
#include "ir/casts.h"

#include "base/memory.h"

#include <stdlib.h>

struct casts {
    const struct ir_program *program;
    const struct ir_block *block; /* of @main */
    uint32_t *last;               /* by argument: 1 + its last cast to a type of its own; 0: none */
    uint32_t *before;             /* by op: likewise, the one before it */
};

/* the argument that the op casts; IR_NONE: it is no such cast */
static uint32_t cast_of(const struct casts *casts, const uint32_t *same, uint32_t op)
{
    const struct ir_op *entry = &casts->program->ops[op];
    if (entry->code != IR_CONVERT || entry->operand_count != 1 || entry->attr_count)
        return IR_NONE;
    uint32_t argument = same[ir_operand(casts->program, op, 0)] - casts->block->args;
    return argument < casts->block->arg_count ? argument : IR_NONE;
}

static void share(struct casts *casts, uint32_t *same, uint32_t op, uint32_t argument)
{
    const struct ir_program *program = casts->program;
    uint32_t result = ir_result(program, op, 0), cast = casts->last[argument];
    while (cast && program->values[ir_result(program, cast - 1, 0)].type != program->values[result].type)
        cast = casts->before[cast - 1];
    if (cast) {
        same[result] = ir_result(program, cast - 1, 0);
        return;
    }
    casts->before[op] = casts->last[argument];
    casts->last[argument] = op + 1;
}

void ir_casts_share(const struct ir_program *program, uint32_t *same)
{
    const struct ir_block *block =
        &program->blocks[ir_region_block(program, ir_function(program, "main"), 0)];
    struct casts casts = {.program = program,
                          .block = block,
                          .last = mem_zalloc((size_t)block->arg_count + 1, sizeof *casts.last),
                          .before = mem_zalloc((size_t)program->op_count + 1, sizeof *casts.before)};
    for (uint32_t i = 0; i < block->op_count; i++) {
        uint32_t op = program->block_ops[block->ops + i], argument = cast_of(&casts, same, op);
        if (argument != IR_NONE)
            share(&casts, same, op, argument);
    }
    for (uint32_t value = 0; value < program->value_count; value++)
        same[value] = same[same[value]];
    free(casts.last);
    free(casts.before);
}
