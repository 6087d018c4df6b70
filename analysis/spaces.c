/* Spaces and slots in program order: arguments, ops with the bodies of loops and branches inside, results.
 *
 * Ops that carry several values through (while, case, if, optimization_barrier) get a space a value: as
 * one op, "one axis shards one factor of a space" would let a single carried value use the axis. Regions
 * of other ops (reducers, comparators) work on single elements and have no spaces. */
#include "analysis/stages.h"

#include <stdlib.h>
#include <string.h>

struct spaces {
    struct nda *n;
    const struct ir_program *program;
    VEC(struct nda_space) spaces;
    VEC(struct nda_slot) slots;
};

static void open_space(struct spaces *spaces, enum nda_space_kind kind, uint32_t op, uint32_t index)
{
    VEC_PUSH(&spaces->spaces,
             ((struct nda_space){
                 .op = op, .index = index, .kind = (uint8_t)kind, .slots = (uint32_t)spaces->slots.count}));
}

static void add_slot(struct spaces *spaces, uint32_t value, bool is_result, uint32_t operand)
{
    VEC_PUSH(&spaces->slots,
             ((struct nda_slot){.value = value, .operand = (uint16_t)operand, .is_result = is_result}));
    spaces->spaces.at[spaces->spaces.count - 1].slot_count++;
}

static enum error_code visit_block(struct spaces *spaces, uint32_t block, struct error *e);

static enum error_code bad_op(const struct spaces *spaces, uint32_t op, const char *what, struct error *e)
{
    return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)spaces->program->ops[op].line,
                        (int)spaces->program->ops[op].column, "%.60s %s", ir_op_name(spaces->program, op),
                        what);
}

/* the terminator of a region's only block when it returns `count` values, else IR_NONE */
static uint32_t region_return(const struct spaces *spaces, uint32_t op, uint32_t region, uint32_t count)
{
    uint32_t block = ir_region_block(spaces->program, op, region);
    uint32_t last = block == IR_NONE ? IR_NONE : ir_block_terminator(spaces->program, block);
    return last != IR_NONE && spaces->program->ops[last].operand_count == count ? last : IR_NONE;
}

static enum error_code visit_while(struct spaces *spaces, uint32_t op, struct error *e)
{
    const struct ir_op *ir_op = &spaces->program->ops[op];
    uint32_t count = ir_op->operand_count, cond, body, last;
    enum error_code code;
    if (ir_op->region_count != 2 || ir_op->result_count != count ||
        region_return(spaces, op, 0, 1) == IR_NONE)
        return bad_op(spaces, op, "is not a loop of one condition and one body", e);
    last = region_return(spaces, op, 1, count);
    cond = ir_region_block(spaces->program, op, 0);
    body = ir_region_block(spaces->program, op, 1);
    if (last == IR_NONE || spaces->program->blocks[cond].arg_count != count ||
        spaces->program->blocks[body].arg_count != count)
        return bad_op(spaces, op, "does not carry the same values everywhere", e);
    spaces->n->op_space[op] = (uint32_t)spaces->spaces.count;
    spaces->n->op_space_count[op] = count;
    for (uint32_t i = 0; i < count; i++) {
        open_space(spaces, NDA_SPACE_LOOP_BEGIN, op, i);
        add_slot(spaces, ir_operand(spaces->program, op, i), false, 0);
        add_slot(spaces, spaces->program->blocks[cond].args + i, true, 0);
        add_slot(spaces, spaces->program->blocks[body].args + i, true, 1);
    }
    if ((code = visit_block(spaces, cond, e)) != ERROR_OK ||
        (code = visit_block(spaces, body, e)) != ERROR_OK)
        return code;
    spaces->n->op_end_space[op] = (uint32_t)spaces->spaces.count;
    for (uint32_t i = 0; i < count; i++) {
        open_space(spaces, NDA_SPACE_LOOP_END, op, i);
        add_slot(spaces, ir_operand(spaces->program, last, i), false, 0);
        add_slot(spaces, ir_result(spaces->program, op, i), true, 0);
    }
    return ERROR_OK;
}

static enum error_code visit_branches(struct spaces *spaces, uint32_t op, struct error *e)
{
    const struct ir_op *ir_op = &spaces->program->ops[op];
    enum error_code code;
    for (uint32_t k = 0; k < ir_op->region_count; k++) {
        if (region_return(spaces, op, k, ir_op->result_count) == IR_NONE)
            return bad_op(spaces, op, "has a branch that does not return its results", e);
        code = visit_block(spaces, ir_region_block(spaces->program, op, k), e);
        if (code != ERROR_OK)
            return code;
    }
    spaces->n->op_space[op] = (uint32_t)spaces->spaces.count;
    spaces->n->op_space_count[op] = ir_op->result_count;
    for (uint32_t i = 0; i < ir_op->result_count; i++) {
        open_space(spaces, NDA_SPACE_BRANCH, op, i);
        for (uint32_t k = 0; k < ir_op->region_count; k++)
            add_slot(spaces,
                     ir_operand(spaces->program, region_return(spaces, op, k, ir_op->result_count), i), false,
                     k);
        add_slot(spaces, ir_result(spaces->program, op, i), true, 0);
    }
    return ERROR_OK;
}

static enum error_code visit_barrier(struct spaces *spaces, uint32_t op, struct error *e)
{
    const struct ir_op *ir_op = &spaces->program->ops[op];
    if (ir_op->operand_count != ir_op->result_count)
        return bad_op(spaces, op, "has unequal numbers of operands and results", e);
    spaces->n->op_space[op] = (uint32_t)spaces->spaces.count;
    spaces->n->op_space_count[op] = ir_op->operand_count;
    for (uint32_t i = 0; i < ir_op->operand_count; i++) {
        open_space(spaces, NDA_SPACE_BARRIER, op, i);
        add_slot(spaces, ir_operand(spaces->program, op, i), false, 0);
        add_slot(spaces, ir_result(spaces->program, op, i), true, 0);
    }
    return ERROR_OK;
}

static void visit_plain(struct spaces *spaces, uint32_t op)
{
    const struct ir_op *ir_op = &spaces->program->ops[op];
    spaces->n->op_space[op] = (uint32_t)spaces->spaces.count;
    spaces->n->op_space_count[op] = 1;
    open_space(spaces, NDA_SPACE_OP, op, 0);
    for (uint32_t i = 0; i < ir_op->operand_count; i++)
        add_slot(spaces, ir_operand(spaces->program, op, i), false, i);
    for (uint32_t i = 0; i < ir_op->result_count; i++)
        add_slot(spaces, ir_result(spaces->program, op, i), true, i);
}

static enum error_code visit_block(struct spaces *spaces, uint32_t block, struct error *e)
{
    const struct ir_block *bl = &spaces->program->blocks[block];
    for (uint32_t i = 0; i < bl->op_count; i++) {
        uint32_t op = spaces->program->block_ops[bl->ops + i];
        enum error_code code = ERROR_OK;
        enum ir_opcode opcode = spaces->program->ops[op].code;
        enum ir_family family = ir_opcode_family(opcode);
        if (family == IR_FAMILY_STRUCTURE)
            continue; /* returns are spaces of what they return to */
        if (opcode == IR_WHILE)
            code = visit_while(spaces, op, e);
        else if (family == IR_FAMILY_CONTROL)
            code = visit_branches(spaces, op, e);
        else if (family == IR_FAMILY_BARRIER)
            code = visit_barrier(spaces, op, e);
        else
            visit_plain(spaces, op);
        if (code != ERROR_OK)
            return code;
    }
    return ERROR_OK;
}

static uint32_t *none_list(struct nda *n, uint32_t count)
{
    uint32_t *list = arena_alloc(n->arena, sizeof *list * (count + 1));
    for (uint32_t i = 0; i < count; i++)
        list[i] = NDA_NONE;
    return list;
}

enum error_code stage_spaces(struct nda *n, struct error *e)
{
    struct spaces spaces = {.n = n, .program = n->program};
    const struct ir_program *program = n->program;
    enum error_code code = ERROR_OK;
    uint32_t last;
    n->function = ir_function(program, "main");
    if (n->function == IR_NONE || (n->block = ir_region_block(program, n->function, 0)) == IR_NONE ||
        (last = ir_block_terminator(program, n->block)) == IR_NONE)
        return error_set(e, ERROR_UNSUPPORTED_MODULE, "the module has no function @main with a body");
    n->op_space = none_list(n, program->op_count);
    n->op_end_space = none_list(n, program->op_count);
    n->op_space_count = arena_alloc(n->arena, sizeof *n->op_space_count * (program->op_count + 1));
    n->argument_count = program->blocks[n->block].arg_count;
    n->arguments = arena_alloc(n->arena, sizeof *n->arguments * (n->argument_count + 1));
    n->result_count = program->ops[last].operand_count;
    n->result_spaces = none_list(n, n->result_count);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        n->arguments[i].value = program->blocks[n->block].args + i;
        n->arguments[i].space = (uint32_t)spaces.spaces.count;
        n->arguments[i].tied_result = NDA_NONE;
        open_space(&spaces, NDA_SPACE_ARGUMENT, n->function, i);
        add_slot(&spaces, n->arguments[i].value, true, 0);
    }
    code = visit_block(&spaces, n->block, e);
    for (uint32_t i = 0; code == ERROR_OK && i < n->result_count; i++) {
        n->result_spaces[i] = (uint32_t)spaces.spaces.count;
        open_space(&spaces, NDA_SPACE_RESULT, n->function, i);
        add_slot(&spaces, ir_operand(program, last, i), false, 0);
    }
    n->space_count = (uint32_t)spaces.spaces.count;
    n->slot_count = (uint32_t)spaces.slots.count;
    n->spaces = arena_alloc(n->arena, sizeof *n->spaces * (spaces.spaces.count + 1));
    n->slots = arena_alloc(n->arena, sizeof *n->slots * (spaces.slots.count + 1));
    if (spaces.spaces.count)
        memcpy(n->spaces, spaces.spaces.at, sizeof *n->spaces * spaces.spaces.count);
    if (spaces.slots.count)
        memcpy(n->slots, spaces.slots.at, sizeof *n->slots * spaces.slots.count);
    VEC_FREE(&spaces.spaces);
    VEC_FREE(&spaces.slots);
    return code;
}

bool nda_is_contraction(const struct nda *n, uint32_t op)
{
    enum ir_family f = ir_opcode_family(n->program->ops[op].code);
    return f == IR_FAMILY_DOT || f == IR_FAMILY_CONVOLUTION;
}

bool stage_moves_only(const struct nda *n, const struct nda_space *sp)
{
    enum ir_opcode code;
    enum ir_family f;
    if (sp->kind != NDA_SPACE_OP)
        return sp->kind != NDA_SPACE_ARGUMENT && sp->kind != NDA_SPACE_RESULT;
    code = n->program->ops[sp->op].code;
    f = ir_opcode_family(code);
    return code == IR_CONVERT || f == IR_FAMILY_BROADCAST || f == IR_FAMILY_TRANSPOSE ||
           f == IR_FAMILY_RESHAPE || f == IR_FAMILY_SLICE || f == IR_FAMILY_DYNAMIC_SLICE ||
           f == IR_FAMILY_CONCATENATE || f == IR_FAMILY_SHARDY;
}
