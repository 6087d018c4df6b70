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

/* What one batch norm is charged when ops are counted against the growth limit: expand.c makes about so many
 * ops of it. */
enum { BATCH_NORM_OPS = 32 };

/* why this op cannot be planned, when it cannot: ERROR_UNSUPPORTED_MODULE */
static enum error_code refuse_op(const struct ir_program *p, uint32_t op, struct error *e)
{
    const struct ir_op *o = &p->ops[op];
    if (o->code == IR_SDY_MANUAL_COMPUTATION)
        return error_set_at(
            e, ERROR_UNSUPPORTED_MODULE, (int)o->line, (int)o->column,
            "%s: a part that is partitioned by hand already (JAX's shard_map) cannot be planned: plan the "
            "module that has the function without shard_map",
            ir_op_name(p, op));
    for (uint32_t i = 0; i < o->operand_count + o->result_count; i++) {
        uint32_t v = i < o->operand_count ? ir_operand(p, op, i) : o->results + i - o->operand_count;
        const struct ir_type *t = ir_value_type(p, v);
        const char *why = t->flags & IR_TYPE_QUANTIZED ? "quantized types are not supported"
                          : t->flags & (IR_TYPE_DYNAMIC | IR_TYPE_UNRANKED)
                              ? "dynamic shapes are not supported: lower the module with static shapes"
                              : NULL;
        if (why)
            return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)o->line, (int)o->column,
                                "%s: type %.100s: %s", ir_op_name(p, op), ir_string(p, t->text), why);
    }
    return ERROR_OK;
}

/* the symbol that a call or composite calls, NULL for other ops */
static const char *callee_of(const struct ir_program *p, uint32_t op)
{
    const char *name = p->ops[op].code == IR_CALL        ? "callee"
                       : p->ops[op].code == IR_COMPOSITE ? "decomposition"
                                                         : NULL;
    const struct ir_attr *a = name ? ir_attr_find(p, op, name) : NULL;
    return a && a->kind == IR_ATTR_SYMBOL ? ir_string(p, a->first) : NULL;
}

/* Shardy's way of naming a part: a call of the function that stands right there */
static bool is_named_part(const struct ir_program *p, uint32_t op)
{
    return strcmp(ir_op_name(p, op), "sdy.named_computation") == 0;
}

static enum error_code inline_call(struct ir_rebuild *r, uint32_t op, const char *symbol, struct error *e)
{
    const struct ir_program *p = r->p;
    const struct ir_op *o = &p->ops[op];
    uint32_t function = is_named_part(p, op) ? op : ir_function(p, symbol);
    uint32_t body = function == IR_NONE ? IR_NONE : ir_region_block(p, function, 0);
    if (body == IR_NONE)
        return error_set_at(e, ERROR_INVALID_MODULE, (int)o->line, (int)o->column,
                            "there is no function @%.100s with one block to call", symbol);
    for (uint32_t i = 0; i < r->depth; i++)
        if (r->stack[i] == function)
            return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)o->line, (int)o->column,
                                "@%.100s calls itself", symbol);
    if (r->depth == IR_CALL_DEPTH)
        return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)o->line, (int)o->column,
                            "calls nest deeper than %d", IR_CALL_DEPTH);
    uint32_t end = ir_block_terminator(p, body);
    if (p->blocks[body].arg_count != o->operand_count || end == IR_NONE ||
        p->ops[end].operand_count != o->result_count)
        return error_set_at(e, ERROR_INVALID_MODULE, (int)o->line, (int)o->column,
                            "the call of @%.100s does not fit its signature", symbol);
    for (uint32_t i = 0; i < o->operand_count; i++) {
        if (p->values[ir_operand(p, op, i)].type != p->values[p->blocks[body].args + i].type)
            return error_set_at(e, ERROR_INVALID_MODULE, (int)o->line, (int)o->column,
                                "argument %u of the call of @%.100s has another type than the function's", i,
                                symbol);
        r->map[p->blocks[body].args + i] = r->map[ir_operand(p, op, i)];
    }
    r->stack[r->depth++] = function;
    TRY(ir_inline_block(r, body, false, e));
    r->depth--;
    for (uint32_t i = 0; i < o->result_count; i++) {
        if (p->values[ir_operand(p, end, i)].type != p->values[o->results + i].type)
            return error_set_at(e, ERROR_INVALID_MODULE, (int)o->line, (int)o->column,
                                "result %u of the call of @%.100s has another type than the function's", i,
                                symbol);
        r->map[o->results + i] = r->map[ir_operand(p, end, i)];
    }
    return ERROR_OK;
}

enum error_code ir_inline_block(struct ir_rebuild *r, uint32_t block, bool keep_terminator, struct error *e)
{
    const struct ir_program *p = r->p;
    ir_id_list operands = {0};
    enum error_code code = ERROR_OK;
    uint32_t count = p->blocks[block].op_count - (keep_terminator || p->blocks[block].op_count == 0 ? 0 : 1);
    for (uint32_t i = 0; code == ERROR_OK && i < count; i++) {
        uint32_t op = p->block_ops[p->blocks[block].ops + i];
        const char *callee = is_named_part(p, op) ? "named_computation" : callee_of(p, op);
        code = refuse_op(p, op, e);
        if (code != ERROR_OK)
            break;
        if (callee) {
            code = inline_call(r, op, callee, e);
            continue;
        }
        operands.count = 0;
        for (uint32_t k = 0; k < p->ops[op].operand_count; k++)
            VEC_PUSH(&operands, r->map[ir_operand(p, op, k)]);
        uint32_t parts[3];
        if (!ir_expand_op(r->b, p, op, operands.at, parts)) {
            code = ir_rebuild_copy_op(r, op, operands.at, e);
            continue;
        }
        r->made += BATCH_NORM_OPS;
        for (uint32_t k = 0; k < 3; k++)
            r->map[p->ops[op].results + k] = parts[k];
    }
    VEC_FREE(&operands);
    return code;
}
