/* The requirements that several families of ops share, and the complaint that names the op (check.h). Only
 * reads the program. */
#include "ir/check.h"

#include <stdarg.h>
#include <stdio.h>

enum error_code __attribute__((format(printf, 2, 3))) ir_check_complain(const struct ir_check *check,
                                                                        const char *format, ...)
{
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return error_set_at(check->e, ERROR_INVALID_MODULE, (int)check->ir_op->line, (int)check->ir_op->column,
                        "%.80s: %s", ir_op_name(check->program, check->op), what);
}

enum error_code ir_need_counts(const struct ir_check *check, uint32_t operands, uint32_t results)
{
    IR_NEED(check->ir_op->operand_count == operands, "has %u operands, needs %u", check->ir_op->operand_count,
            operands);
    IR_NEED(check->ir_op->result_count == results, "has %u results, needs %u", check->ir_op->result_count,
            results);
    return ERROR_OK;
}

enum error_code ir_need_tensors(const struct ir_check *check)
{
    for (uint32_t i = 0; i < check->ir_op->operand_count; i++)
        IR_NEED(operand_type(check, i)->kind == IR_TYPE_TENSOR, "operand %u is not a tensor", i);
    for (uint32_t i = 0; i < check->ir_op->result_count; i++)
        IR_NEED(result_type(check, i)->kind == IR_TYPE_TENSOR, "result %u is not a tensor", i);
    return ERROR_OK;
}

enum error_code ir_need_dims(const struct ir_check *check, const char *name, const struct ir_dims *dims,
                             uint32_t rank)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < dims->count; i++) {
        IR_NEED(dims->at[i] >= 0 && dims->at[i] < rank, "%s: dimension %lld is out of range for rank %u",
                name, (long long)dims->at[i], rank);
        IR_NEED(!(seen >> dims->at[i] & 1), "%s: dimension %lld stands twice", name, (long long)dims->at[i]);
        seen |= (uint64_t)1 << dims->at[i];
    }
    return ERROR_OK;
}

enum error_code ir_need_list(const struct ir_check *check, const char *name, struct ir_dims *out,
                             uint32_t count)
{
    IR_NEED(ir_attr_find(check->program, check->op, name) &&
                ir_dims(check->program, check->op, name, out) == 0,
            "%s is missing or malformed", name);
    IR_NEED(out->count == count, "%s has %u entries, needs %u", name, out->count, count);
    return ERROR_OK;
}

enum error_code ir_need_result(const struct ir_check *check, uint32_t i, uint32_t rank, const int64_t *dims)
{
    const struct ir_type *type = result_type(check, i);
    IR_NEED(type->rank == rank, "result %u has rank %u, needs %u", i, type->rank, rank);
    for (uint32_t dim = 0; dim < rank; dim++)
        IR_NEED(dims_of(check, type)[dim] == dims[dim], "result %u: dimension %u has size %lld, needs %lld",
                i, dim, (long long)dims_of(check, type)[dim], (long long)dims[dim]);
    return ERROR_OK;
}

enum error_code ir_need_region(const struct ir_check *check, uint32_t g, uint32_t args, uint32_t results)
{
    IR_NEED(g < check->ir_op->region_count, "region %u is missing", g);
    uint32_t block = ir_region_block(check->program, check->op, g);
    IR_NEED(block != IR_NONE, "region %u needs one block", g);
    uint32_t end = ir_block_terminator(check->program, block);
    IR_NEED(end != IR_NONE, "region %u is empty", g);
    IR_NEED(check->program->blocks[block].arg_count == args, "region %u has %u arguments, needs %u", g,
            check->program->blocks[block].arg_count, args);
    IR_NEED(check->program->ops[end].operand_count == results, "region %u returns %u values, needs %u", g,
            check->program->ops[end].operand_count, results);
    return ERROR_OK;
}
