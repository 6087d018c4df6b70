/* The requirements that several families of ops share, and the complaint that names the op (check.h). Only
 * reads the program. */
#include "ir/check.h"

#include <stdarg.h>
#include <stdio.h>

enum error_code __attribute__((format(printf, 2, 3))) ir_check_complain(const struct ir_check *c,
                                                                        const char *format, ...)
{
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return error_set_at(c->e, ERROR_INVALID_MODULE, (int)c->o->line, (int)c->o->column, "%.80s: %s",
                        ir_op_name(c->p, c->op), what);
}

enum error_code ir_need_counts(const struct ir_check *c, uint32_t operands, uint32_t results)
{
    IR_NEED(c->o->operand_count == operands, "has %u operands, needs %u", c->o->operand_count, operands);
    IR_NEED(c->o->result_count == results, "has %u results, needs %u", c->o->result_count, results);
    return ERROR_OK;
}

enum error_code ir_need_tensors(const struct ir_check *c)
{
    for (uint32_t i = 0; i < c->o->operand_count; i++)
        IR_NEED(operand_type(c, i)->kind == IR_TYPE_TENSOR, "operand %u is not a tensor", i);
    for (uint32_t i = 0; i < c->o->result_count; i++)
        IR_NEED(result_type(c, i)->kind == IR_TYPE_TENSOR, "result %u is not a tensor", i);
    return ERROR_OK;
}

enum error_code ir_need_dims(const struct ir_check *c, const char *name, const struct ir_dims *d,
                             uint32_t rank)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        IR_NEED(d->at[i] >= 0 && d->at[i] < rank, "%s: dimension %lld is out of range for rank %u", name,
                (long long)d->at[i], rank);
        IR_NEED(!(seen >> d->at[i] & 1), "%s: dimension %lld stands twice", name, (long long)d->at[i]);
        seen |= (uint64_t)1 << d->at[i];
    }
    return ERROR_OK;
}

enum error_code ir_need_list(const struct ir_check *c, const char *name, struct ir_dims *out, uint32_t count)
{
    IR_NEED(ir_attr_find(c->p, c->op, name) && ir_dims(c->p, c->op, name, out) == 0,
            "%s is missing or malformed", name);
    IR_NEED(out->count == count, "%s has %u entries, needs %u", name, out->count, count);
    return ERROR_OK;
}

enum error_code ir_need_result(const struct ir_check *c, uint32_t i, uint32_t rank, const int64_t *dims)
{
    const struct ir_type *t = result_type(c, i);
    IR_NEED(t->rank == rank, "result %u has rank %u, needs %u", i, t->rank, rank);
    for (uint32_t d = 0; d < rank; d++)
        IR_NEED(dims_of(c, t)[d] == dims[d], "result %u: dimension %u has size %lld, needs %lld", i, d,
                (long long)dims_of(c, t)[d], (long long)dims[d]);
    return ERROR_OK;
}

enum error_code ir_need_region(const struct ir_check *c, uint32_t g, uint32_t args, uint32_t results)
{
    IR_NEED(g < c->o->region_count, "region %u is missing", g);
    uint32_t block = ir_region_block(c->p, c->op, g);
    IR_NEED(block != IR_NONE, "region %u needs one block", g);
    uint32_t end = ir_block_terminator(c->p, block);
    IR_NEED(end != IR_NONE, "region %u is empty", g);
    IR_NEED(c->p->blocks[block].arg_count == args, "region %u has %u arguments, needs %u", g,
            c->p->blocks[block].arg_count, args);
    IR_NEED(c->p->ops[end].operand_count == results, "region %u returns %u values, needs %u", g,
            c->p->ops[end].operand_count, results);
    return ERROR_OK;
}
