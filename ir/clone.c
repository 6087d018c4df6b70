/* The second rebuild: only live ops, and a copy of every cheap shared value for each of its uses.
 *
 * The analysis above ties the sizes of an op's operands and results together. A broadcast scalar or a mask
 * that two unrelated layers share would tie those layers; a copy for each use does not:
 *
 *     %c = constant 0                         %c1 = constant 0    %c2 = constant 0
 *     %b = broadcast %c         becomes       %b1 = broadcast %c1 %b2 = broadcast %c2
 *     add %x, %b    add %y, %b                add %x, %b1         add %y, %b2
 *
 * What is cloned: every broadcast of one operand, and every value that only constants and iotas feed. Never
 * an op with regions (other than on empty tensors, which become constants), an effect, or more than one
 * result. */
#include "ir/rebuild.h"

#include "ir/simplify.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ live ops */
/* must the op stay although nobody uses its results? */
static bool has_effect(const struct ir_program *program, uint32_t op)
{
    const struct ir_op *ir_op = &program->ops[op];
    if (ir_op->code == IR_CUSTOM_CALL && ir_attr_find(program, op, "has_side_effect") &&
        ir_attr_find(program, op, "has_side_effect")->value != 0)
        return true;
    if (ir_op->result_count == 0)
        return true; /* terminators, sdy.sharding_group, unknown effects */
    for (uint32_t i = 0; i < ir_op->result_count; i++)
        if (ir_value_type(program, ir_op->results + i)->kind == IR_TYPE_TOKEN)
            return true;
    for (uint32_t region = 0; region < ir_op->region_count; region++) {
        uint32_t block = ir_region_block(program, op, region);
        /* all but the terminator */
        for (uint32_t i = 0; block != IR_NONE && i + 1 < program->blocks[block].op_count; i++)
            if (has_effect(program, program->block_ops[program->blocks[block].ops + i]))
                return true;
    }
    return false;
}

/* From `root` through operands and regions: what it uses, and in the regions of live ops the terminators and
 * what has an effect. */
void ir_clone_mark_live(const struct ir_rebuild *rebuild, uint32_t root, uint8_t *live)
{
    const struct ir_program *program = rebuild->program;
    ir_id_list work = {0};
    VEC_PUSH(&work, root);
    live[root] = 1;
    while (work.count) {
        uint32_t op = work.at[--work.count];
        for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
            uint32_t def = program->values[rebuild->same[ir_operand(program, op, i)]].op;
            if (def != IR_NONE && !live[def] && !ir_drops_operand(program, op, i) &&
                !ir_rebuild_drops(rebuild, op, i)) {
                live[def] = 1;
                VEC_PUSH(&work, def);
            }
        }
        for (uint32_t region = 0; region < program->ops[op].region_count; region++) {
            uint32_t block = ir_region_block(program, op, region);
            for (uint32_t i = 0; block != IR_NONE && i < program->blocks[block].op_count; i++) {
                uint32_t inner = program->block_ops[program->blocks[block].ops + i];
                if (!live[inner] &&
                    (i + 1 == program->blocks[block].op_count || has_effect(program, inner))) {
                    live[inner] = 1;
                    VEC_PUSH(&work, inner);
                }
            }
        }
    }
    VEC_FREE(&work);
}

/* ------------------------------------------------------------------ clones */
/* Families of pure, cheap ops without regions: of these a constant-derived value may be made. */
static bool is_plain(enum ir_family family)
{
    switch (family) {
    case IR_FAMILY_ELEMENTWISE:
    case IR_FAMILY_CONSTANT:
    case IR_FAMILY_IOTA:
    case IR_FAMILY_BROADCAST:
    case IR_FAMILY_TRANSPOSE:
    case IR_FAMILY_RESHAPE:
    case IR_FAMILY_SLICE:
    case IR_FAMILY_PAD:
    case IR_FAMILY_CONCATENATE:
    case IR_FAMILY_REVERSE:
    case IR_FAMILY_BITCAST: return true;
    case IR_FAMILY_UNKNOWN:
    case IR_FAMILY_STRUCTURE:
    case IR_FAMILY_DOT:
    case IR_FAMILY_CONVOLUTION:
    case IR_FAMILY_REDUCE:
    case IR_FAMILY_REDUCE_WINDOW:
    case IR_FAMILY_BATCH_NORM:
    case IR_FAMILY_GATHER:
    case IR_FAMILY_SCATTER:
    case IR_FAMILY_DYNAMIC_SLICE:
    case IR_FAMILY_DYNAMIC_UPDATE:
    case IR_FAMILY_SORT:
    case IR_FAMILY_RNG:
    case IR_FAMILY_LINALG:
    case IR_FAMILY_CONTROL:
    case IR_FAMILY_BARRIER:
    case IR_FAMILY_CUSTOM_CALL:
    case IR_FAMILY_COLLECTIVE:
    case IR_FAMILY_SHARDY:
    case IR_FAMILIES: return false;
    }
    return false;
}

/* Ops are in program order, so operands come first. size[op] is how many ops one clone of its value takes,
 * its cloned operands counted as often as they occur. */
void ir_clone_mark_clones(const struct ir_rebuild *rebuild, uint8_t *clone)
{
    const struct ir_program *program = rebuild->program;
    uint16_t *size = mem_zalloc((size_t)program->op_count + 1, sizeof *size);
    uint8_t *constant = mem_zalloc((size_t)program->op_count + 1, 1);
    for (uint32_t op = 0; op < program->op_count; op++) {
        const struct ir_op *ir_op = &program->ops[op];
        enum ir_family family = ir_opcode_family((enum ir_opcode)ir_op->code);
        if (ir_op->result_count != 1 ||
            (!ir_is_empty(program, op) && (ir_op->region_count || !is_plain(family))))
            continue;
        uint32_t total = 1;
        bool derived = true;
        for (uint32_t i = 0; i < ir_op->operand_count && total <= IR_CLONE_LIMIT; i++) {
            uint32_t value = ir_operand(program, op, i),
                     def = program->values[rebuild->same ? rebuild->same[value] : value].op;
            if (ir_drops_operand(program, op, i)) {
                total++; /* use_value has room for so many operands */
                continue;
            }
            derived = derived && def != IR_NONE && constant[def];
            total += def != IR_NONE && clone[def] ? size[def] : 0;
        }
        if (total > IR_CLONE_LIMIT ||
            !(derived || (family == IR_FAMILY_BROADCAST && ir_op->operand_count == 1)))
            continue;
        size[op] = (uint16_t)total;
        constant[op] = derived;
        clone[op] = 1;
    }
    free(size);
    free(constant);
}

static enum error_code copy_live_op(struct ir_rebuild *rebuild, uint32_t op, const uint32_t *operands,
                                    struct error *e)
{
    return ir_simplify_op(rebuild->builder, rebuild->program, op, operands,
                          &rebuild->map[rebuild->program->ops[op].results])
               ? ERROR_OK
               : ir_rebuild_copy_op(rebuild, op, operands, e);
}

static enum error_code use_value(struct ir_rebuild *rebuild, uint32_t value, uint32_t *out, struct error *e);

/* the new value for an operand; IR_NONE for one that the op loses */
static enum error_code use_operand(struct ir_rebuild *rebuild, uint32_t op, uint32_t operand, uint32_t *out,
                                   struct error *e)
{
    *out = IR_NONE;
    if (ir_drops_operand(rebuild->program, op, operand) || ir_rebuild_drops(rebuild, op, operand))
        return ERROR_OK;
    return use_value(rebuild, rebuild->same[ir_operand(rebuild->program, op, operand)], out, e);
}

/* the new value for a use of `value`: a fresh clone when it is one, else what the map has */
static enum error_code use_value(struct ir_rebuild *rebuild, uint32_t value, uint32_t *out, struct error *e)
{
    uint32_t op = rebuild->program->values[value].op;
    if (op == IR_NONE || !rebuild->clone[op]) {
        *out = rebuild->map[value];
        return ERROR_OK;
    }
    const struct ir_op *ir_op = &rebuild->program->ops[op];
    uint32_t operands[IR_CLONE_LIMIT + 1];
    uint32_t count = ir_is_empty(rebuild->program, op) ? 0 : ir_op->operand_count;
    for (uint32_t i = 0; i < count; i++) /* fewer than IR_CLONE_LIMIT: each counts one or more */
        TRY(use_operand(rebuild, op, i, &operands[i], e));
    TRY(copy_live_op(rebuild, op, operands, e));
    *out = rebuild->map[value];
    return ERROR_OK;
}

enum error_code ir_clone_block(struct ir_rebuild *rebuild, uint32_t block, struct error *e)
{
    const struct ir_program *program = rebuild->program;
    ir_id_list operands = {0};
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; code == ERROR_OK && i < program->blocks[block].op_count; i++) {
        uint32_t op = program->block_ops[program->blocks[block].ops + i];
        if (!rebuild->live[op] || rebuild->clone[op])
            continue;
        operands.count = 0;
        VEC_RESERVE(&operands, program->ops[op].operand_count);
        for (uint32_t k = 0; code == ERROR_OK && k < program->ops[op].operand_count; k++)
            code = use_operand(rebuild, op, k, &operands.at[k], e);
        if (code == ERROR_OK)
            code = copy_live_op(rebuild, op, operands.at, e);
    }
    VEC_FREE(&operands);
    return code;
}
