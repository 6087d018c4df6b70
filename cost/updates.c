/* What is written into a part of a buffer, and when the rest of it has to be copied first.
 *
 *     cache (donated) --> update of layer 0 --> cache' --> update of layer 1 --> cache''
 *                                                 '--> attention of layer 0 --^
 *
 * dynamic_update_slice and scatter write where their operand lies. That it is read elsewhere costs nothing
 * as long as it can be read first: the compiler puts such readers ahead of the update. It copies a buffer
 * that is not its own (an argument that nobody donated), and one whose reader is computed from the update's
 * result, so that it cannot run before.
 *
 * Source: XLA's HloDataflowAnalysis::IsInPlaceOperation and its copy insertion; copies and peaks of programs
 * of each kind, compiled for an H100 by XLA of jax 0.10.2 (docs/price.md). */
#include "cost/internal.h"

#include <stdlib.h>

enum { NAME_HOPS = 8 }; /* from what is read to the buffer: beyond that it counts as another's */
static const int64_t most_steps = 1 << 26; /* ops that are looked at for all updates together */

struct update_search {
    struct price_program *out;
    uint32_t *last_reader; /* per value: the last op that reads it, under any name; 0: none does */
    uint32_t *reached;     /* per op: 1 + the update that it is computed from, of those looked at so far */
    int64_t left;          /* of most_steps */
};

/* the value that this one is another name of, or a part of, read in the kernel of whoever reads it */
static uint32_t name_of(const struct price_program *out, uint32_t value, bool in_kernels)
{
    const struct ir_program *program = out->nda->program;
    uint32_t op = program->values[value].op;
    if (op == IR_NONE)
        return IR_NONE;
    uint8_t class = out->ops[op].class;
    uint32_t operand_count = program->ops[op].operand_count;
    if (class == OP_ALIAS)
        return ir_operand(program, op, program->values[value].index);
    bool read_through =
        class == OP_CUT || ((class == OP_CHEAP || class == OP_TRANSPOSE) && operand_count == 1);
    return in_kernels && read_through ? ir_operand(program, op, 0) : IR_NONE;
}

static void find_last_readers(struct update_search *search)
{
    const struct ir_program *program = search->out->nda->program;
    for (uint32_t op = 0; op < program->op_count; op++)
        for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
            uint32_t value = ir_operand(program, op, i);
            for (int hops = 0; hops < NAME_HOPS && value != IR_NONE; hops++) {
                search->last_reader[value] = op;
                value = name_of(search->out, value, true);
            }
        }
}

static bool reads(const struct update_search *search, uint32_t op, uint32_t buffer)
{
    const struct ir_program *program = search->out->nda->program;
    for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
        uint32_t value = ir_operand(program, op, i);
        for (int hops = 0; hops < NAME_HOPS && value != IR_NONE; hops++) {
            if (value == buffer)
                return true;
            value = name_of(search->out, value, true);
        }
    }
    return false;
}

/* is the op computed from the update's result? Ops of a region stand behind the op that has the region. */
static bool is_reached(const struct update_search *search, uint32_t update, uint32_t op)
{
    const struct ir_program *program = search->out->nda->program;
    for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
        uint32_t by = program->values[ir_operand(program, op, i)].op;
        if (by != IR_NONE && search->reached[by] == update + 1)
            return true;
    }
    uint32_t block = program->ops[op].block;
    return block != IR_NONE &&
           search->reached[program->regions[program->blocks[block].region].op] == update + 1;
}

/* and with it the results of the ops around it, so far as they come behind the update */
static void reach(struct update_search *search, uint32_t update, uint32_t op)
{
    const struct ir_program *program = search->out->nda->program;
    while (op >= update) {
        search->reached[op] = update + 1;
        if (program->ops[op].block == IR_NONE)
            return;
        op = program->regions[program->blocks[program->ops[op].block].region].op;
    }
}

/* Does something read the buffer that is computed from what was written into it? Yes where that is not found
 * out any more, for thousands of updates of one buffer. */
static bool is_outlived(struct update_search *search, uint32_t update)
{
    const struct ir_program *program = search->out->nda->program;
    uint32_t buffer = ir_operand(program, update, 0), name = buffer;
    for (int hops = 0; hops < NAME_HOPS && name != IR_NONE; hops++) {
        buffer = name;
        name = name_of(search->out, buffer, false);
    }
    reach(search, update, update);
    for (uint32_t op = update + 1; op <= search->last_reader[buffer]; op++) {
        if (search->left-- <= 0)
            return true;
        if (!is_reached(search, update, op))
            continue;
        reach(search, update, op);
        if (reads(search, op, buffer))
            return true;
    }
    return false;
}

void price_find_updates(struct price_program *out)
{
    const struct ir_program *program = out->nda->program;
    struct update_search search = {.out = out, .left = most_steps};
    search.last_reader = mem_zalloc((size_t)program->value_count + 1, sizeof *search.last_reader);
    search.reached = mem_zalloc((size_t)program->op_count + 1, sizeof *search.reached);
    find_last_readers(&search);
    for (uint32_t op = 0; op < program->op_count; op++)
        if (out->ops[op].class == OP_UPDATE)
            out->ops[op].outlived = is_outlived(&search, op);
    free(search.last_reader);
    free(search.reached);
}

bool price_copies_operand(const struct price_scratch *scratch, const struct spmd_local *local,
                          const struct spmd_step *update)
{
    uint32_t operand = price_written_into(scratch, local, update), buffer = buffer_of(scratch, operand);
    if (buffer != NDA_NONE && buffer < local->argument_count && !scratch->program->donated[buffer])
        return true;
    return scratch->uses[operand].uses > 1 && step_info(scratch, update)->outlived;
}
