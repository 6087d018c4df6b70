/* Checks of ops that make, rearrange and cut tensors: iota, broadcast, transpose, reshape, slices, pad,
 * concatenate, sort and their like (check.h). */
#include "ir/check.h"

enum error_code ir_check_elementwise(const struct ir_check *c)
{
    IR_NEED(c->o->operand_count >= 1 && c->o->operand_count <= 3 && c->o->result_count == 1,
            "operand or result count is wrong");
    for (uint32_t i = 0; i < c->o->operand_count; i++) {
        bool scalar = operand_type(c, i)->rank == 0 &&
                      ((c->o->code == IR_SELECT && i == 0) || (c->o->code == IR_CLAMP && i != 1));
        IR_NEED(scalar || same_shape(c, operand_type(c, i), result_type(c, 0)),
                "operand %u has another shape than the result", i);
    }
    if (c->o->code == IR_SELECT || c->o->code == IR_CLAMP)
        return ir_need_counts(c, 3, 1);
    return ERROR_OK;
}

enum error_code ir_check_constant(const struct ir_check *c)
{
    TRY(ir_need_counts(c, 0, 1));
    const struct ir_attr *value = ir_attr_find(c->p, c->op, "value");
    IR_NEED(value && value->type != IR_NONE, "value is missing");
    IR_NEED(value->kind == IR_ATTR_DENSE || value->kind == IR_ATTR_TEXT, "value is not a constant");
    IR_NEED(c->p->types[value->type].kind == IR_TYPE_TENSOR &&
                same_shape(c, &c->p->types[value->type], result_type(c, 0)),
            "value has another shape than the result");
    return ERROR_OK;
}

enum error_code ir_check_iota(const struct ir_check *c)
{
    TRY(ir_need_counts(c, 0, 1));
    int64_t d = ir_int(c->p, c->op, "iota_dimension", -1);
    IR_NEED(d >= 0 && d < result_type(c, 0)->rank, "iota_dimension %lld is out of range", (long long)d);
    return ERROR_OK;
}

enum error_code ir_check_broadcast(const struct ir_check *c)
{
    TRY(ir_need_counts(c, 1, 1));
    struct ir_dims dims;
    const struct ir_type *in = operand_type(c, 0), *out = result_type(c, 0);
    if (c->o->code == IR_BROADCAST) {
        IR_NEED(out->rank >= in->rank, "the result's rank is below the operand's");
        TRY(ir_need_list(c, "broadcast_sizes", &dims, out->rank - in->rank));
        for (uint32_t d = 0; d < in->rank; d++)
            IR_NEED(dims_of(c, in)[d] == dims_of(c, out)[dims.count + d], "dimension %u changes its size", d);
        return ERROR_OK;
    }
    TRY(ir_need_list(c, "broadcast_dimensions", &dims, in->rank));
    TRY(ir_need_dims(c, "broadcast_dimensions", &dims, out->rank));
    for (uint32_t d = 0; d < in->rank; d++)
        IR_NEED(dims_of(c, in)[d] == 1 || dims_of(c, in)[d] == dims_of(c, out)[dims.at[d]],
                "operand dimension %u of size %lld does not broadcast to %lld", d,
                (long long)dims_of(c, in)[d], (long long)dims_of(c, out)[dims.at[d]]);
    return ERROR_OK;
}

enum error_code ir_check_transpose(const struct ir_check *c)
{
    TRY(ir_need_counts(c, 1, 1));
    struct ir_dims dims;
    const struct ir_type *in = operand_type(c, 0), *out = result_type(c, 0);
    TRY(ir_need_list(c, "permutation", &dims, in->rank));
    TRY(ir_need_dims(c, "permutation", &dims, in->rank));
    int64_t sizes[IR_MAX_RANK];
    for (uint32_t d = 0; d < in->rank; d++)
        sizes[d] = dims_of(c, in)[dims.at[d]];
    (void)out;
    return ir_need_result(c, 0, in->rank, sizes);
}

enum error_code ir_check_reshape(const struct ir_check *c)
{
    TRY(ir_need_counts(c, 1, 1));
    IR_NEED(ir_type_elements(c->p, operand_type(c, 0)) == ir_type_elements(c->p, result_type(c, 0)),
            "operand and result have different numbers of elements");
    return ERROR_OK;
}

enum error_code ir_check_slice(const struct ir_check *c)
{
    TRY(ir_need_counts(c, 1, 1));
    struct ir_dims start, limit, stride;
    const struct ir_type *in = operand_type(c, 0);
    TRY(ir_need_list(c, "start_indices", &start, in->rank));
    TRY(ir_need_list(c, "limit_indices", &limit, in->rank));
    TRY(ir_need_list(c, "strides", &stride, in->rank));
    int64_t sizes[IR_MAX_RANK];
    for (uint32_t d = 0; d < in->rank; d++) {
        IR_NEED(start.at[d] >= 0 && start.at[d] <= limit.at[d] && limit.at[d] <= dims_of(c, in)[d] &&
                    stride.at[d] > 0,
                "dimension %u: start, limit or stride is out of range", d);
        sizes[d] = (limit.at[d] - start.at[d] + stride.at[d] - 1) / stride.at[d];
    }
    return ir_need_result(c, 0, in->rank, sizes);
}

enum error_code ir_check_pad(const struct ir_check *c)
{
    TRY(ir_need_counts(c, 2, 1));
    struct ir_dims low, high, interior;
    const struct ir_type *in = operand_type(c, 0);
    TRY(ir_need_list(c, "edge_padding_low", &low, in->rank));
    TRY(ir_need_list(c, "edge_padding_high", &high, in->rank));
    TRY(ir_need_list(c, "interior_padding", &interior, in->rank));
    IR_NEED(operand_type(c, 1)->rank == 0, "the padding value is not a scalar");
    int64_t sizes[IR_MAX_RANK], bound = (int64_t)1 << 40;
    for (uint32_t d = 0; d < in->rank; d++) {
        int64_t n = dims_of(c, in)[d];
        IR_NEED(interior.at[d] >= 0 && interior.at[d] < bound / (n + 1) && low.at[d] > -bound &&
                    low.at[d] < bound && high.at[d] > -bound && high.at[d] < bound,
                "dimension %u: padding is out of range", d);
        sizes[d] = low.at[d] + high.at[d] + n + (n > 0 ? (n - 1) * interior.at[d] : 0);
    }
    return ir_need_result(c, 0, in->rank, sizes);
}

enum error_code ir_check_concatenate(const struct ir_check *c)
{
    IR_NEED(c->o->operand_count >= 1 && c->o->result_count == 1, "needs an operand and one result");
    const struct ir_type *first = operand_type(c, 0);
    int64_t d = ir_int(c->p, c->op, "dimension", -1), total = 0, sizes[IR_MAX_RANK];
    IR_NEED(d >= 0 && d < first->rank, "dimension %lld is out of range", (long long)d);
    memcpy(sizes, dims_of(c, first), first->rank * sizeof *sizes);
    for (uint32_t i = 0; i < c->o->operand_count; i++) {
        const struct ir_type *t = operand_type(c, i);
        IR_NEED(t->rank == first->rank, "operand %u has another rank", i);
        for (uint32_t k = 0; k < t->rank; k++)
            IR_NEED(k == d || dims_of(c, t)[k] == sizes[k], "operand %u differs in dimension %u", i, k);
        total += dims_of(c, t)[d];
    }
    sizes[d] = total;
    return ir_need_result(c, 0, first->rank, sizes);
}

enum error_code ir_check_reverse(const struct ir_check *c)
{
    TRY(ir_need_counts(c, 1, 1));
    struct ir_dims dims;
    IR_NEED(ir_attr_find(c->p, c->op, "dimensions") && ir_dims(c->p, c->op, "dimensions", &dims) == 0,
            "dimensions are missing or malformed");
    TRY(ir_need_dims(c, "dimensions", &dims, operand_type(c, 0)->rank));
    IR_NEED(same_shape(c, operand_type(c, 0), result_type(c, 0)),
            "the result has another shape than the operand");
    return ERROR_OK;
}

static enum error_code check_starts(const struct ir_check *c, uint32_t first, uint32_t rank)
{
    IR_NEED(c->o->operand_count == first + rank, "needs a start index for each of %u dimensions", rank);
    for (uint32_t i = first; i < c->o->operand_count; i++)
        IR_NEED(operand_type(c, i)->rank == 0, "start index %u is not a scalar", i - first);
    return ERROR_OK;
}

enum error_code ir_check_dynamic_slice(const struct ir_check *c)
{
    IR_NEED(c->o->operand_count >= 1 && c->o->result_count == 1, "operand or result count is wrong");
    const struct ir_type *in = operand_type(c, 0);
    struct ir_dims sizes;
    TRY(check_starts(c, 1, in->rank));
    TRY(ir_need_list(c, "slice_sizes", &sizes, in->rank));
    for (uint32_t d = 0; d < in->rank; d++)
        IR_NEED(sizes.at[d] >= 0 && sizes.at[d] <= dims_of(c, in)[d],
                "slice size of dimension %u is out of range", d);
    return ir_need_result(c, 0, in->rank, sizes.at);
}

enum error_code ir_check_dynamic_update(const struct ir_check *c)
{
    IR_NEED(c->o->operand_count >= 2 && c->o->result_count == 1, "operand or result count is wrong");
    const struct ir_type *in = operand_type(c, 0), *update = operand_type(c, 1);
    TRY(check_starts(c, 2, in->rank));
    IR_NEED(update->rank == in->rank, "the update has another rank than the operand");
    for (uint32_t d = 0; d < in->rank; d++)
        IR_NEED(dims_of(c, update)[d] <= dims_of(c, in)[d], "the update exceeds the operand in dimension %u",
                d);
    IR_NEED(same_shape(c, in, result_type(c, 0)), "the result has another shape than the operand");
    return ERROR_OK;
}

enum error_code ir_check_sort(const struct ir_check *c)
{
    if (c->o->code != IR_SORT) {
        TRY(ir_need_counts(c, 1, 2));
        const struct ir_type *in = operand_type(c, 0);
        int64_t k = ir_int(c->p, c->op, "k", -1), sizes[IR_MAX_RANK];
        IR_NEED(in->rank >= 1 && k >= 0 && k <= dims_of(c, in)[in->rank - 1], "k is out of range");
        memcpy(sizes, dims_of(c, in), in->rank * sizeof *sizes);
        sizes[in->rank - 1] = k;
        TRY(ir_need_result(c, 0, in->rank, sizes));
        return ir_need_result(c, 1, in->rank, sizes);
    }
    uint32_t n = c->o->operand_count;
    IR_NEED(n >= 1 && c->o->result_count == n, "needs as many results as operands");
    const struct ir_type *first = operand_type(c, 0);
    int64_t d = ir_int(c->p, c->op, "dimension", -1);
    IR_NEED(first->rank == 0 || (d >= -(int64_t)first->rank && d < first->rank),
            "dimension %lld is out of range", (long long)d);
    for (uint32_t i = 0; i < n; i++)
        IR_NEED(same_shape(c, operand_type(c, i), first) && same_shape(c, result_type(c, i), first),
                "operand %u has another shape", i);
    return ir_need_region(c, 0, 2 * n, 1);
}
