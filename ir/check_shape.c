/* Checks of ops that make, rearrange and cut tensors: iota, broadcast, transpose, reshape, slices, pad,
 * concatenate, sort and their like (check.h). */
#include "ir/check.h"

enum error_code ir_check_elementwise(const struct ir_check *check)
{
    IR_NEED(check->ir_op->operand_count >= 1 && check->ir_op->operand_count <= 3 &&
                check->ir_op->result_count == 1,
            "operand or result count is wrong");
    for (uint32_t i = 0; i < check->ir_op->operand_count; i++) {
        bool scalar = operand_type(check, i)->rank == 0 && ((check->ir_op->code == IR_SELECT && i == 0) ||
                                                            (check->ir_op->code == IR_CLAMP && i != 1));
        IR_NEED(scalar || same_shape(check, operand_type(check, i), result_type(check, 0)),
                "operand %u has another shape than the result", i);
    }
    if (check->ir_op->code == IR_SELECT || check->ir_op->code == IR_CLAMP)
        return ir_need_counts(check, 3, 1);
    return ERROR_OK;
}

enum error_code ir_check_constant(const struct ir_check *check)
{
    TRY(ir_need_counts(check, 0, 1));
    const struct ir_attr *value = ir_attr_find(check->program, check->op, "value");
    IR_NEED(value && value->type != IR_NONE, "value is missing");
    IR_NEED(value->kind == IR_ATTR_DENSE || value->kind == IR_ATTR_TEXT, "value is not a constant");
    IR_NEED(check->program->types[value->type].kind == IR_TYPE_TENSOR &&
                same_shape(check, &check->program->types[value->type], result_type(check, 0)),
            "value has another shape than the result");
    return ERROR_OK;
}

enum error_code ir_check_iota(const struct ir_check *check)
{
    TRY(ir_need_counts(check, 0, 1));
    int64_t d = ir_int(check->program, check->op, "iota_dimension", -1);
    IR_NEED(d >= 0 && d < result_type(check, 0)->rank, "iota_dimension %lld is out of range", (long long)d);
    return ERROR_OK;
}

enum error_code ir_check_broadcast(const struct ir_check *check)
{
    TRY(ir_need_counts(check, 1, 1));
    struct ir_dims dims;
    const struct ir_type *in = operand_type(check, 0), *out = result_type(check, 0);
    if (check->ir_op->code == IR_BROADCAST) {
        IR_NEED(out->rank >= in->rank, "the result's rank is below the operand's");
        TRY(ir_need_list(check, "broadcast_sizes", &dims, out->rank - in->rank));
        for (uint32_t dim = 0; dim < in->rank; dim++)
            IR_NEED(dims_of(check, in)[dim] == dims_of(check, out)[dims.count + dim],
                    "dimension %u changes its size", dim);
        return ERROR_OK;
    }
    TRY(ir_need_list(check, "broadcast_dimensions", &dims, in->rank));
    TRY(ir_need_dims(check, "broadcast_dimensions", &dims, out->rank));
    for (uint32_t dim = 0; dim < in->rank; dim++)
        IR_NEED(dims_of(check, in)[dim] == 1 || dims_of(check, in)[dim] == dims_of(check, out)[dims.at[dim]],
                "operand dimension %u of size %lld does not broadcast to %lld", dim,
                (long long)dims_of(check, in)[dim], (long long)dims_of(check, out)[dims.at[dim]]);
    return ERROR_OK;
}

enum error_code ir_check_transpose(const struct ir_check *check)
{
    TRY(ir_need_counts(check, 1, 1));
    struct ir_dims dims;
    const struct ir_type *in = operand_type(check, 0), *out = result_type(check, 0);
    TRY(ir_need_list(check, "permutation", &dims, in->rank));
    TRY(ir_need_dims(check, "permutation", &dims, in->rank));
    int64_t sizes[IR_MAX_RANK];
    for (uint32_t dim = 0; dim < in->rank; dim++)
        sizes[dim] = dims_of(check, in)[dims.at[dim]];
    (void)out;
    return ir_need_result(check, 0, in->rank, sizes);
}

enum error_code ir_check_reshape(const struct ir_check *check)
{
    TRY(ir_need_counts(check, 1, 1));
    IR_NEED(ir_type_elements(check->program, operand_type(check, 0)) ==
                ir_type_elements(check->program, result_type(check, 0)),
            "operand and result have different numbers of elements");
    return ERROR_OK;
}

enum error_code ir_check_slice(const struct ir_check *check)
{
    TRY(ir_need_counts(check, 1, 1));
    struct ir_dims start, limit, stride;
    const struct ir_type *in = operand_type(check, 0);
    TRY(ir_need_list(check, "start_indices", &start, in->rank));
    TRY(ir_need_list(check, "limit_indices", &limit, in->rank));
    TRY(ir_need_list(check, "strides", &stride, in->rank));
    int64_t sizes[IR_MAX_RANK];
    for (uint32_t dim = 0; dim < in->rank; dim++) {
        IR_NEED(start.at[dim] >= 0 && start.at[dim] <= limit.at[dim] &&
                    limit.at[dim] <= dims_of(check, in)[dim] && stride.at[dim] > 0,
                "dimension %u: start, limit or stride is out of range", dim);
        sizes[dim] = (limit.at[dim] - start.at[dim] + stride.at[dim] - 1) / stride.at[dim];
    }
    return ir_need_result(check, 0, in->rank, sizes);
}

enum error_code ir_check_pad(const struct ir_check *check)
{
    TRY(ir_need_counts(check, 2, 1));
    struct ir_dims low, high, interior;
    const struct ir_type *in = operand_type(check, 0);
    TRY(ir_need_list(check, "edge_padding_low", &low, in->rank));
    TRY(ir_need_list(check, "edge_padding_high", &high, in->rank));
    TRY(ir_need_list(check, "interior_padding", &interior, in->rank));
    IR_NEED(operand_type(check, 1)->rank == 0, "the padding value is not a scalar");
    int64_t sizes[IR_MAX_RANK], bound = (int64_t)1 << 40;
    for (uint32_t dim = 0; dim < in->rank; dim++) {
        int64_t n = dims_of(check, in)[dim];
        IR_NEED(interior.at[dim] >= 0 && interior.at[dim] < bound / (n + 1) && low.at[dim] > -bound &&
                    low.at[dim] < bound && high.at[dim] > -bound && high.at[dim] < bound,
                "dimension %u: padding is out of range", dim);
        sizes[dim] = low.at[dim] + high.at[dim] + n + (n > 0 ? (n - 1) * interior.at[dim] : 0);
    }
    return ir_need_result(check, 0, in->rank, sizes);
}

enum error_code ir_check_concatenate(const struct ir_check *check)
{
    IR_NEED(check->ir_op->operand_count >= 1 && check->ir_op->result_count == 1,
            "needs an operand and one result");
    const struct ir_type *first = operand_type(check, 0);
    int64_t d = ir_int(check->program, check->op, "dimension", -1), total = 0, sizes[IR_MAX_RANK];
    IR_NEED(d >= 0 && d < first->rank, "dimension %lld is out of range", (long long)d);
    memcpy(sizes, dims_of(check, first), first->rank * sizeof *sizes);
    for (uint32_t i = 0; i < check->ir_op->operand_count; i++) {
        const struct ir_type *type = operand_type(check, i);
        IR_NEED(type->rank == first->rank, "operand %u has another rank", i);
        for (uint32_t k = 0; k < type->rank; k++)
            IR_NEED(k == d || dims_of(check, type)[k] == sizes[k], "operand %u differs in dimension %u", i,
                    k);
        total += dims_of(check, type)[d];
    }
    sizes[d] = total;
    return ir_need_result(check, 0, first->rank, sizes);
}

enum error_code ir_check_reverse(const struct ir_check *check)
{
    TRY(ir_need_counts(check, 1, 1));
    struct ir_dims dims;
    IR_NEED(ir_attr_find(check->program, check->op, "dimensions") &&
                ir_dims(check->program, check->op, "dimensions", &dims) == 0,
            "dimensions are missing or malformed");
    TRY(ir_need_dims(check, "dimensions", &dims, operand_type(check, 0)->rank));
    IR_NEED(same_shape(check, operand_type(check, 0), result_type(check, 0)),
            "the result has another shape than the operand");
    return ERROR_OK;
}

static enum error_code check_starts(const struct ir_check *check, uint32_t first, uint32_t rank)
{
    IR_NEED(check->ir_op->operand_count == first + rank, "needs a start index for each of %u dimensions",
            rank);
    for (uint32_t i = first; i < check->ir_op->operand_count; i++)
        IR_NEED(operand_type(check, i)->rank == 0, "start index %u is not a scalar", i - first);
    return ERROR_OK;
}

enum error_code ir_check_dynamic_slice(const struct ir_check *check)
{
    IR_NEED(check->ir_op->operand_count >= 1 && check->ir_op->result_count == 1,
            "operand or result count is wrong");
    const struct ir_type *in = operand_type(check, 0);
    struct ir_dims sizes;
    TRY(check_starts(check, 1, in->rank));
    TRY(ir_need_list(check, "slice_sizes", &sizes, in->rank));
    for (uint32_t dim = 0; dim < in->rank; dim++)
        IR_NEED(sizes.at[dim] >= 0 && sizes.at[dim] <= dims_of(check, in)[dim],
                "slice size of dimension %u is out of range", dim);
    return ir_need_result(check, 0, in->rank, sizes.at);
}

enum error_code ir_check_dynamic_update(const struct ir_check *check)
{
    IR_NEED(check->ir_op->operand_count >= 2 && check->ir_op->result_count == 1,
            "operand or result count is wrong");
    const struct ir_type *in = operand_type(check, 0), *update = operand_type(check, 1);
    TRY(check_starts(check, 2, in->rank));
    IR_NEED(update->rank == in->rank, "the update has another rank than the operand");
    for (uint32_t dim = 0; dim < in->rank; dim++)
        IR_NEED(dims_of(check, update)[dim] <= dims_of(check, in)[dim],
                "the update exceeds the operand in dimension %u", dim);
    IR_NEED(same_shape(check, in, result_type(check, 0)), "the result has another shape than the operand");
    return ERROR_OK;
}

enum error_code ir_check_sort(const struct ir_check *check)
{
    if (check->ir_op->code != IR_SORT) {
        TRY(ir_need_counts(check, 1, 2));
        const struct ir_type *in = operand_type(check, 0);
        int64_t k = ir_int(check->program, check->op, "k", -1), sizes[IR_MAX_RANK];
        IR_NEED(in->rank >= 1 && k >= 0 && k <= dims_of(check, in)[in->rank - 1], "k is out of range");
        memcpy(sizes, dims_of(check, in), in->rank * sizeof *sizes);
        sizes[in->rank - 1] = k;
        TRY(ir_need_result(check, 0, in->rank, sizes));
        return ir_need_result(check, 1, in->rank, sizes);
    }
    uint32_t n = check->ir_op->operand_count;
    IR_NEED(n >= 1 && check->ir_op->result_count == n, "needs as many results as operands");
    const struct ir_type *first = operand_type(check, 0);
    int64_t dim = ir_int(check->program, check->op, "dimension", -1);
    IR_NEED(first->rank == 0 || (dim >= -(int64_t)first->rank && dim < first->rank),
            "dimension %lld is out of range", (long long)dim);
    for (uint32_t i = 0; i < n; i++)
        IR_NEED(same_shape(check, operand_type(check, i), first) &&
                    same_shape(check, result_type(check, i), first),
                "operand %u has another shape", i);
    return ir_need_region(check, 0, 2 * n, 1);
}
