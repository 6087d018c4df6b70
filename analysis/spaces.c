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
    const struct ir_program *p;
    VEC(struct nda_space) spaces;
    VEC(struct nda_slot) slots;
};

static void open_space(struct spaces *b, enum nda_space_kind kind, uint32_t op, uint32_t index)
{
    VEC_PUSH(&b->spaces,
             ((struct nda_space){
                 .op = op, .index = index, .kind = (uint8_t)kind, .slots = (uint32_t)b->slots.count}));
}

static void add_slot(struct spaces *b, uint32_t value, bool is_result, uint32_t operand)
{
    VEC_PUSH(&b->slots,
             ((struct nda_slot){.value = value, .operand = (uint16_t)operand, .is_result = is_result}));
    b->spaces.at[b->spaces.count - 1].slot_count++;
}

static enum error_code visit_block(struct spaces *b, uint32_t block, struct error *e);

static enum error_code bad_op(const struct spaces *b, uint32_t op, const char *what, struct error *e)
{
    return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)b->p->ops[op].line, (int)b->p->ops[op].column,
                        "%.60s %s", ir_op_name(b->p, op), what);
}

/* the terminator of a region's only block when it returns `count` values, else IR_NONE */
static uint32_t region_return(const struct spaces *b, uint32_t op, uint32_t region, uint32_t count)
{
    uint32_t block = ir_region_block(b->p, op, region);
    uint32_t last = block == IR_NONE ? IR_NONE : ir_block_terminator(b->p, block);
    return last != IR_NONE && b->p->ops[last].operand_count == count ? last : IR_NONE;
}

static enum error_code visit_while(struct spaces *b, uint32_t op, struct error *e)
{
    const struct ir_op *o = &b->p->ops[op];
    uint32_t count = o->operand_count, cond, body, last;
    enum error_code code;
    if (o->region_count != 2 || o->result_count != count || region_return(b, op, 0, 1) == IR_NONE)
        return bad_op(b, op, "is not a loop of one condition and one body", e);
    last = region_return(b, op, 1, count);
    cond = ir_region_block(b->p, op, 0);
    body = ir_region_block(b->p, op, 1);
    if (last == IR_NONE || b->p->blocks[cond].arg_count != count || b->p->blocks[body].arg_count != count)
        return bad_op(b, op, "does not carry the same values everywhere", e);
    b->n->op_space[op] = (uint32_t)b->spaces.count;
    b->n->op_space_count[op] = count;
    for (uint32_t i = 0; i < count; i++) {
        open_space(b, NDA_SPACE_LOOP_BEGIN, op, i);
        add_slot(b, ir_operand(b->p, op, i), false, 0);
        add_slot(b, b->p->blocks[cond].args + i, true, 0);
        add_slot(b, b->p->blocks[body].args + i, true, 1);
    }
    if ((code = visit_block(b, cond, e)) != ERROR_OK || (code = visit_block(b, body, e)) != ERROR_OK)
        return code;
    b->n->op_end_space[op] = (uint32_t)b->spaces.count;
    for (uint32_t i = 0; i < count; i++) {
        open_space(b, NDA_SPACE_LOOP_END, op, i);
        add_slot(b, ir_operand(b->p, last, i), false, 0);
        add_slot(b, ir_result(b->p, op, i), true, 0);
    }
    return ERROR_OK;
}

static enum error_code visit_branches(struct spaces *b, uint32_t op, struct error *e)
{
    const struct ir_op *o = &b->p->ops[op];
    enum error_code code;
    for (uint32_t k = 0; k < o->region_count; k++) {
        if (region_return(b, op, k, o->result_count) == IR_NONE)
            return bad_op(b, op, "has a branch that does not return its results", e);
        code = visit_block(b, ir_region_block(b->p, op, k), e);
        if (code != ERROR_OK)
            return code;
    }
    b->n->op_space[op] = (uint32_t)b->spaces.count;
    b->n->op_space_count[op] = o->result_count;
    for (uint32_t i = 0; i < o->result_count; i++) {
        open_space(b, NDA_SPACE_BRANCH, op, i);
        for (uint32_t k = 0; k < o->region_count; k++)
            add_slot(b, ir_operand(b->p, region_return(b, op, k, o->result_count), i), false, k);
        add_slot(b, ir_result(b->p, op, i), true, 0);
    }
    return ERROR_OK;
}

static enum error_code visit_barrier(struct spaces *b, uint32_t op, struct error *e)
{
    const struct ir_op *o = &b->p->ops[op];
    if (o->operand_count != o->result_count)
        return bad_op(b, op, "has unequal numbers of operands and results", e);
    b->n->op_space[op] = (uint32_t)b->spaces.count;
    b->n->op_space_count[op] = o->operand_count;
    for (uint32_t i = 0; i < o->operand_count; i++) {
        open_space(b, NDA_SPACE_BARRIER, op, i);
        add_slot(b, ir_operand(b->p, op, i), false, 0);
        add_slot(b, ir_result(b->p, op, i), true, 0);
    }
    return ERROR_OK;
}

static void visit_plain(struct spaces *b, uint32_t op)
{
    const struct ir_op *o = &b->p->ops[op];
    b->n->op_space[op] = (uint32_t)b->spaces.count;
    b->n->op_space_count[op] = 1;
    open_space(b, NDA_SPACE_OP, op, 0);
    for (uint32_t i = 0; i < o->operand_count; i++)
        add_slot(b, ir_operand(b->p, op, i), false, i);
    for (uint32_t i = 0; i < o->result_count; i++)
        add_slot(b, ir_result(b->p, op, i), true, i);
}

static enum error_code visit_block(struct spaces *b, uint32_t block, struct error *e)
{
    const struct ir_block *bl = &b->p->blocks[block];
    for (uint32_t i = 0; i < bl->op_count; i++) {
        uint32_t op = b->p->block_ops[bl->ops + i];
        enum error_code code = ERROR_OK;
        enum ir_opcode opcode = b->p->ops[op].code;
        enum ir_family family = ir_opcode_family(opcode);
        if (family == IR_FAMILY_STRUCTURE)
            continue; /* returns are spaces of what they return to */
        if (opcode == IR_WHILE)
            code = visit_while(b, op, e);
        else if (family == IR_FAMILY_CONTROL)
            code = visit_branches(b, op, e);
        else if (family == IR_FAMILY_BARRIER)
            code = visit_barrier(b, op, e);
        else
            visit_plain(b, op);
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
    struct spaces b = {.n = n, .p = n->program};
    const struct ir_program *p = n->program;
    enum error_code code = ERROR_OK;
    uint32_t last;
    n->function = ir_function(p, "main");
    if (n->function == IR_NONE || (n->block = ir_region_block(p, n->function, 0)) == IR_NONE ||
        (last = ir_block_terminator(p, n->block)) == IR_NONE)
        return error_set(e, ERROR_UNSUPPORTED_MODULE, "the module has no function @main with a body");
    n->op_space = none_list(n, p->op_count);
    n->op_end_space = none_list(n, p->op_count);
    n->op_space_count = arena_alloc(n->arena, sizeof *n->op_space_count * (p->op_count + 1));
    n->argument_count = p->blocks[n->block].arg_count;
    n->arguments = arena_alloc(n->arena, sizeof *n->arguments * (n->argument_count + 1));
    n->result_count = p->ops[last].operand_count;
    n->result_spaces = none_list(n, n->result_count);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        n->arguments[i].value = p->blocks[n->block].args + i;
        n->arguments[i].space = (uint32_t)b.spaces.count;
        n->arguments[i].tied_result = NDA_NONE;
        open_space(&b, NDA_SPACE_ARGUMENT, n->function, i);
        add_slot(&b, n->arguments[i].value, true, 0);
    }
    code = visit_block(&b, n->block, e);
    for (uint32_t i = 0; code == ERROR_OK && i < n->result_count; i++) {
        n->result_spaces[i] = (uint32_t)b.spaces.count;
        open_space(&b, NDA_SPACE_RESULT, n->function, i);
        add_slot(&b, ir_operand(p, last, i), false, 0);
    }
    n->space_count = (uint32_t)b.spaces.count;
    n->slot_count = (uint32_t)b.slots.count;
    n->spaces = arena_alloc(n->arena, sizeof *n->spaces * (b.spaces.count + 1));
    n->slots = arena_alloc(n->arena, sizeof *n->slots * (b.slots.count + 1));
    if (b.spaces.count)
        memcpy(n->spaces, b.spaces.at, sizeof *n->spaces * b.spaces.count);
    if (b.slots.count)
        memcpy(n->slots, b.slots.at, sizeof *n->slots * b.slots.count);
    VEC_FREE(&b.spaces);
    VEC_FREE(&b.slots);
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
