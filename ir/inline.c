/* The first rebuild: calls replaced by what they call.
 *
 * `call`, `func.call`, `stablehlo.composite` (through its decomposition) and `sdy.named_computation` (whose
 * body stands in the op itself) become the ops of the callee's body: its arguments are mapped to the call's
 * operands, the call's results to what its terminator returns. Dynamic shapes, quantized types and parts that
 * are partitioned by hand are refused here, where the op's line and column are still known.
 *
 * Never inlines a function into itself: recursion is refused, and so is nesting deeper than IR_CALL_DEPTH. */
#include "ir/rebuild.h"

#include "ir/expand.h"

#include <stdlib.h>
#include <string.h>

/* What an expanded op is charged when ops are counted against the growth limit: expand.c makes about so many
 * ops of a batch norm, and fewer of others. */
enum { EXPANDED_OPS = 32 };

/* why this op cannot be planned, when it cannot: ERROR_UNSUPPORTED_MODULE */
static enum error_code refuse_op(const struct ir_program *program, uint32_t op, struct error *e)
{
    const struct ir_op *ir_op = &program->ops[op];
    if (ir_op->code == IR_SDY_MANUAL_COMPUTATION)
        return error_set_at(
            e, ERROR_UNSUPPORTED_MODULE, (int)ir_op->line, (int)ir_op->column,
            "%s: a part that is partitioned by hand already (JAX's shard_map) cannot be planned: plan the "
            "module that has the function without shard_map",
            ir_op_name(program, op));
    for (uint32_t i = 0; i < ir_op->operand_count + ir_op->result_count; i++) {
        uint32_t v =
            i < ir_op->operand_count ? ir_operand(program, op, i) : ir_op->results + i - ir_op->operand_count;
        const struct ir_type *type = ir_value_type(program, v);
        const char *why = type->flags & IR_TYPE_QUANTIZED ? "quantized types are not supported"
                          : type->flags & (IR_TYPE_DYNAMIC | IR_TYPE_UNRANKED)
                              ? "dynamic shapes are not supported: lower the module with static shapes"
                              : NULL;
        if (why)
            return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)ir_op->line, (int)ir_op->column,
                                "%s: type %.100s: %s", ir_op_name(program, op),
                                ir_string(program, type->text), why);
    }
    return ERROR_OK;
}

/* the symbol that a call or composite calls, NULL for other ops */
static const char *callee_of(const struct ir_program *program, uint32_t op)
{
    const char *name = program->ops[op].code == IR_CALL        ? "callee"
                       : program->ops[op].code == IR_COMPOSITE ? "decomposition"
                                                               : NULL;
    const struct ir_attr *attr = name ? ir_attr_find(program, op, name) : NULL;
    return attr && attr->kind == IR_ATTR_SYMBOL ? ir_string(program, attr->first) : NULL;
}

/* Shardy's way of naming a part: a call of the function that stands right there */
static bool is_named_part(const struct ir_program *program, uint32_t op)
{
    return strcmp(ir_op_name(program, op), "sdy.named_computation") == 0;
}

static enum error_code inline_call(struct ir_rebuild *rebuild, uint32_t op, const char *symbol,
                                   struct error *e)
{
    const struct ir_program *program = rebuild->program;
    const struct ir_op *ir_op = &program->ops[op];
    uint32_t function = is_named_part(program, op) ? op : ir_function(program, symbol);
    uint32_t body = function == IR_NONE ? IR_NONE : ir_region_block(program, function, 0);
    if (body == IR_NONE)
        return error_set_at(e, ERROR_INVALID_MODULE, (int)ir_op->line, (int)ir_op->column,
                            "there is no function @%.100s with one block to call", symbol);
    for (uint32_t i = 0; i < rebuild->depth; i++)
        if (rebuild->stack[i] == function)
            return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)ir_op->line, (int)ir_op->column,
                                "@%.100s calls itself", symbol);
    if (rebuild->depth == IR_CALL_DEPTH)
        return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)ir_op->line, (int)ir_op->column,
                            "calls nest deeper than %d", IR_CALL_DEPTH);
    uint32_t end = ir_block_terminator(program, body);
    if (program->blocks[body].arg_count != ir_op->operand_count || end == IR_NONE ||
        program->ops[end].operand_count != ir_op->result_count)
        return error_set_at(e, ERROR_INVALID_MODULE, (int)ir_op->line, (int)ir_op->column,
                            "the call of @%.100s does not fit its signature", symbol);
    for (uint32_t i = 0; i < ir_op->operand_count; i++) {
        if (program->values[ir_operand(program, op, i)].type !=
            program->values[program->blocks[body].args + i].type)
            return error_set_at(e, ERROR_INVALID_MODULE, (int)ir_op->line, (int)ir_op->column,
                                "argument %u of the call of @%.100s has another type than the function's", i,
                                symbol);
        rebuild->map[program->blocks[body].args + i] = rebuild->map[ir_operand(program, op, i)];
    }
    rebuild->calls[rebuild->depth] = ir_rebuild_position(rebuild, op).loc;
    rebuild->stack[rebuild->depth++] = function;
    TRY(ir_inline_block(rebuild, body, false, e));
    rebuild->depth--;
    for (uint32_t i = 0; i < ir_op->result_count; i++) {
        if (program->values[ir_operand(program, end, i)].type != program->values[ir_op->results + i].type)
            return error_set_at(e, ERROR_INVALID_MODULE, (int)ir_op->line, (int)ir_op->column,
                                "result %u of the call of @%.100s has another type than the function's", i,
                                symbol);
        rebuild->map[ir_op->results + i] = rebuild->map[ir_operand(program, end, i)];
    }
    return ERROR_OK;
}

enum error_code ir_inline_block(struct ir_rebuild *rebuild, uint32_t block, bool keep_terminator,
                                struct error *e)
{
    const struct ir_program *program = rebuild->program;
    ir_id_list operands = {0};
    enum error_code code = ERROR_OK;
    uint32_t count =
        program->blocks[block].op_count - (keep_terminator || program->blocks[block].op_count == 0 ? 0 : 1);
    for (uint32_t i = 0; code == ERROR_OK && i < count; i++) {
        uint32_t op = program->block_ops[program->blocks[block].ops + i];
        const char *callee = is_named_part(program, op) ? "named_computation" : callee_of(program, op);
        code = refuse_op(program, op, e);
        if (code != ERROR_OK)
            break;
        if (callee) {
            code = inline_call(rebuild, op, callee, e);
            continue;
        }
        operands.count = 0;
        for (uint32_t k = 0; k < program->ops[op].operand_count; k++)
            VEC_PUSH(&operands, rebuild->map[ir_operand(program, op, k)]);
        uint32_t parts[IR_EXPAND_RESULTS];
        if (!ir_expand_op(rebuild->builder, program, op, ir_rebuild_position(rebuild, op), operands.at,
                          parts)) {
            code = ir_rebuild_copy_op(rebuild, op, operands.at, e);
            continue;
        }
        rebuild->made += EXPANDED_OPS;
        for (uint32_t k = 0; k < program->ops[op].result_count; k++)
            rebuild->map[program->ops[op].results + k] = parts[k];
    }
    VEC_FREE(&operands);
    return code;
}
