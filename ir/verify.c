/* ir_verify: what the layers above rely on, checked once. MLIR does not know StableHLO (the reader parses
 * generic form with no dialect but builtin), so counts, ranks, ranges and shapes are checked here.
 *
 * This file has the order, the checks of types and of ops with regions; one function a family of other ops
 * is in check_*.c. Every complaint names the op and what is wrong, at its line and column. Ops of unknown
 * families pass: they are replicated, and no layer looks inside them. */
#include "ir/check.h"
#include "ir/prepare.h"

static enum error_code check_carried(const struct ir_check *check, uint32_t region, bool results_too)
{
    uint32_t block = ir_region_block(check->program, check->op, region),
             end = ir_block_terminator(check->program, block);
    for (uint32_t i = 0; i < check->ir_op->operand_count; i++) {
        uint32_t type = check->program->values[ir_operand(check->program, check->op, i)].type;
        IR_NEED(check->program->values[check->program->blocks[block].args + i].type == type,
                "region %u: argument %u has another type than operand", region, i);
        IR_NEED(check->program->values[check->ir_op->results + i].type == type,
                "result %u has another type than its operand", i);
        if (results_too)
            IR_NEED(check->program->values[ir_operand(check->program, end, i)].type == type,
                    "region %u returns value %u of another type", region, i);
    }
    return ERROR_OK;
}

static enum error_code check_control(const struct ir_check *check)
{
    if (check->ir_op->code == IR_WHILE) {
        IR_NEED(check->ir_op->result_count == check->ir_op->operand_count && check->ir_op->region_count == 2,
                "needs two regions and a result for each operand");
        TRY(ir_need_region(check, 0, check->ir_op->operand_count, 1));
        TRY(ir_need_region(check, 1, check->ir_op->operand_count, check->ir_op->operand_count));
        TRY(check_carried(check, 0, false));
        return check_carried(check, 1, true);
    }
    IR_NEED(check->ir_op->operand_count == 1 && operand_type(check, 0)->kind == IR_TYPE_TENSOR &&
                operand_type(check, 0)->rank == 0,
            "needs one scalar index or predicate");
    IR_NEED(check->ir_op->region_count >= 1 &&
                (check->ir_op->code != IR_IF || check->ir_op->region_count == 2),
            "has a wrong number of branches");
    for (uint32_t region = 0; region < check->ir_op->region_count; region++) {
        TRY(ir_need_region(check, region, 0, check->ir_op->result_count));
        uint32_t end =
            ir_block_terminator(check->program, ir_region_block(check->program, check->op, region));
        for (uint32_t i = 0; i < check->ir_op->result_count; i++)
            IR_NEED(check->program->values[ir_operand(check->program, end, i)].type ==
                        check->program->values[check->ir_op->results + i].type,
                    "branch %u returns value %u of another type", region, i);
    }
    return ERROR_OK;
}

static enum error_code check_barrier(const struct ir_check *check)
{
    IR_NEED(check->ir_op->result_count == check->ir_op->operand_count, "needs a result for each operand");
    for (uint32_t i = 0; i < check->ir_op->operand_count; i++)
        IR_NEED(check->program->values[ir_operand(check->program, check->op, i)].type ==
                    check->program->values[check->ir_op->results + i].type,
                "result %u has another type than its operand", i);
    return ERROR_OK;
}

static enum error_code check_function(const struct ir_check *check)
{
    if (check->ir_op->code != IR_FUNC)
        return ERROR_OK;
    for (uint32_t region = 0; region < check->ir_op->region_count; region++) {
        uint32_t block = ir_region_block(check->program, check->op, region);
        uint32_t end = block == IR_NONE ? IR_NONE : ir_block_terminator(check->program, block);
        IR_NEED(end == IR_NONE || check->program->ops[end].code == IR_FUNC_RETURN ||
                    check->program->ops[end].code == IR_RETURN,
                "the body does not end in return");
    }
    return ERROR_OK;
}

static enum error_code check_family(const struct ir_check *check, enum ir_family family)
{
    switch (family) {
    case IR_FAMILY_ELEMENTWISE: return ir_check_elementwise(check);
    case IR_FAMILY_CONSTANT: return ir_check_constant(check);
    case IR_FAMILY_IOTA: return ir_check_iota(check);
    case IR_FAMILY_BROADCAST: return ir_check_broadcast(check);
    case IR_FAMILY_TRANSPOSE: return ir_check_transpose(check);
    case IR_FAMILY_RESHAPE: return ir_check_reshape(check);
    case IR_FAMILY_DOT: return ir_check_dot(check);
    case IR_FAMILY_CONVOLUTION: return ir_check_convolution(check);
    case IR_FAMILY_REDUCE: return ir_check_reduce(check);
    case IR_FAMILY_REDUCE_WINDOW: return ir_check_reduce_window(check);
    case IR_FAMILY_BATCH_NORM: return ir_check_batch_norm(check);
    case IR_FAMILY_GATHER: return ir_check_gather(check);
    case IR_FAMILY_SCATTER: return ir_check_scatter(check);
    case IR_FAMILY_SLICE: return ir_check_slice(check);
    case IR_FAMILY_PAD: return ir_check_pad(check);
    case IR_FAMILY_CONCATENATE: return ir_check_concatenate(check);
    case IR_FAMILY_REVERSE: return ir_check_reverse(check);
    case IR_FAMILY_DYNAMIC_SLICE: return ir_check_dynamic_slice(check);
    case IR_FAMILY_DYNAMIC_UPDATE: return ir_check_dynamic_update(check);
    case IR_FAMILY_SORT: return ir_check_sort(check);
    case IR_FAMILY_CONTROL:
    case IR_FAMILY_BARRIER:
    case IR_FAMILY_STRUCTURE:
    case IR_FAMILY_UNKNOWN:
    case IR_FAMILY_RNG:
    case IR_FAMILY_LINALG:
    case IR_FAMILY_BITCAST:
    case IR_FAMILY_CUSTOM_CALL:
    case IR_FAMILY_COLLECTIVE:
    case IR_FAMILY_SHARDY:
    case IR_FAMILIES: break;
    }
    return ERROR_OK; /* of unknown ops nothing is required */
}

/* No tensor has more than 2^60 bytes, counted with the widest element and empty dimensions as 1: sums of a
 * few of them still fit int64_t. */
static enum error_code check_types(const struct ir_program *program, struct error *e)
{
    for (uint32_t i = 0; i < program->type_count; i++) {
        const struct ir_type *type = &program->types[i];
        if (type->kind != IR_TYPE_TENSOR || type->flags)
            continue;
        if (type->rank > IR_MAX_RANK)
            return error_set_at(e, ERROR_UNSUPPORTED_MODULE, 1, 1, "type %.100s has more than %d dimensions",
                                ir_string(program, type->text), IR_MAX_RANK);
        unsigned __int128 total = IR_ELEMENT_BYTES;
        for (uint32_t dim = 0; dim < type->rank; dim++) {
            int64_t size = ir_type_dims(program, type)[dim];
            total *= size > 0 ? (unsigned __int128)size : 1;
            if (size < 0 || total > (unsigned __int128)1 << 60)
                return error_set_at(e, ERROR_INVALID_MODULE, 1, 1, "type %.100s is larger than 2^60 bytes",
                                    ir_string(program, type->text));
        }
    }
    return ERROR_OK;
}

/* Numbers of a type that StableHLO has not (i7) have no size that could be told. */
static enum error_code check_elements(const struct ir_program *program, uint32_t op, struct error *e)
{
    const struct ir_op *ir_op = &program->ops[op];
    for (uint32_t i = 0; i < ir_op->result_count; i++) {
        const struct ir_type *type = ir_value_type(program, ir_result(program, op, i));
        if (type->kind == IR_TYPE_TENSOR && type->element == IR_ELEMENT_OTHER && !type->flags)
            return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)ir_op->line, (int)ir_op->column,
                                "%s: result %u has type %.100s: StableHLO has no such elements",
                                ir_op_name(program, op), i, ir_string(program, type->text));
    }
    return ERROR_OK;
}

enum error_code ir_verify(const struct ir_program *program, struct error *e)
{
    TRY(check_types(program, e));
    for (uint32_t op = 0; op < program->op_count; op++)
        TRY(check_elements(program, op, e));
    for (uint32_t op = 0; op < program->op_count; op++) {
        struct ir_check check = {program, op, &program->ops[op], e};
        const struct ir_check *c = &check;
        enum ir_family family = ir_opcode_family((enum ir_opcode)program->ops[op].code);
        if (family == IR_FAMILY_CONTROL)
            TRY(check_control(c));
        else if (family == IR_FAMILY_BARRIER)
            TRY(check_barrier(c));
        else if (family == IR_FAMILY_STRUCTURE)
            TRY(check_function(c));
        else if (family != IR_FAMILY_UNKNOWN && family != IR_FAMILY_CUSTOM_CALL) {
            TRY(ir_need_tensors(c));
            TRY(check_family(c, family));
        }
    }
    return ERROR_OK;
}
