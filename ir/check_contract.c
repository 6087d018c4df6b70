/* Checks of ops that contract dimensions or slide windows over them: dot, convolution, reductions, batch norm
 * (check.h). Includes that the result has the shape that operands and attributes give. */
#include "ir/check.h"

enum error_code ir_check_dot(const struct ir_check *check)
{
    TRY(ir_need_counts(check, 2, 1));
    struct ir_dot dot;
    const struct ir_type *left_type = operand_type(check, 0), *right_type = operand_type(check, 1);
    IR_NEED(ir_dot(check->program, check->op, &dot) == 0, "dot_dimension_numbers are missing or malformed");
    if (check->ir_op->code == IR_DOT)
        IR_NEED(left_type->rank >= 1 && left_type->rank <= 2 && right_type->rank >= 1 &&
                    right_type->rank <= 2,
                "needs operands of rank 1 or 2");
    struct ir_dims left = dot.lhs_batch, right = dot.rhs_batch;
    for (uint32_t i = 0; i < dot.lhs_contract.count; i++) {
        IR_NEED(left.count < IR_MAX_RANK, "too many dimensions");
        left.at[left.count++] = dot.lhs_contract.at[i];
        right.at[right.count++] = dot.rhs_contract.at[i];
    }
    TRY(ir_need_dims(check, "lhs dimensions", &left, left_type->rank));
    TRY(ir_need_dims(check, "rhs dimensions", &right, right_type->rank));
    int64_t sizes[3 * IR_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < left.count; i++)
        IR_NEED(dims_of(check, left_type)[left.at[i]] == dims_of(check, right_type)[right.at[i]],
                "lhs dimension %lld and rhs dimension %lld differ in size", (long long)left.at[i],
                (long long)right.at[i]);
    for (uint32_t i = 0; i < dot.lhs_batch.count; i++)
        sizes[rank++] = dims_of(check, left_type)[dot.lhs_batch.at[i]];
    for (int side = 0; side < 2; side++) {
        const struct ir_type *type = side ? right_type : left_type;
        const struct ir_dims *used = side ? &right : &left;
        for (uint32_t dim = 0; dim < type->rank; dim++) {
            bool free_dim = true;
            for (uint32_t i = 0; i < used->count; i++)
                free_dim = free_dim && used->at[i] != dim;
            if (free_dim)
                sizes[rank++] = dims_of(check, type)[dim];
        }
    }
    return ir_need_result(check, 0, rank, sizes);
}

/* size of a windowed dimension after dilation, padding and stride; 0 when no window fits */
static int64_t windowed(int64_t size, const struct ir_window *ir_window, uint32_t i)
{
    int64_t base = size ? (size - 1) * ir_window->base_dilation.at[i] + 1 : 0;
    int64_t window =
        ir_window->size.at[i] ? (ir_window->size.at[i] - 1) * ir_window->window_dilation.at[i] + 1 : 0;
    int64_t padded = base + ir_window->low.at[i] + ir_window->high.at[i];
    return padded < window || padded < 0 ? 0 : (padded - window) / ir_window->stride.at[i] + 1;
}

static enum error_code check_window(const struct ir_check *check, const struct ir_window *window)
{
    for (uint32_t i = 0; i < window->size.count; i++)
        IR_NEED(window->stride.at[i] > 0 && window->base_dilation.at[i] > 0 &&
                    window->window_dilation.at[i] > 0 && window->size.at[i] >= 0 &&
                    window->low.at[i] > -((int64_t)1 << 40) && window->low.at[i] < (int64_t)1 << 40 &&
                    window->high.at[i] > -((int64_t)1 << 40) && window->high.at[i] < (int64_t)1 << 40 &&
                    window->stride.at[i] < (int64_t)1 << 31 &&
                    window->base_dilation.at[i] < (int64_t)1 << 20 &&
                    window->window_dilation.at[i] < (int64_t)1 << 20,
                "window dimension %u has a stride, dilation or padding out of range", i);
    return ERROR_OK;
}

enum error_code ir_check_convolution(const struct ir_check *check)
{
    TRY(ir_need_counts(check, 2, 1));
    struct ir_conv conv;
    const struct ir_type *in = operand_type(check, 0), *kernel = operand_type(check, 1),
                         *out = result_type(check, 0);
    IR_NEED(ir_conv(check->program, check->op, &conv) == 0,
            "dimension_numbers or window attributes are missing or malformed");
    uint32_t rank = conv.input_spatial.count + 2;
    IR_NEED(in->rank == rank && kernel->rank == rank && out->rank == rank,
            "ranks do not fit dimension_numbers");
    TRY(check_window(check, &conv.window));
    struct ir_dims lists[3] = {conv.input_spatial, conv.kernel_spatial, conv.output_spatial};
    int64_t ends[3][2] = {{conv.input_batch, conv.input_feature},
                          {conv.kernel_input, conv.kernel_output},
                          {conv.output_batch, conv.output_feature}};
    for (int k = 0; k < 3; k++) {
        IR_NEED(lists[k].count + 2 <= IR_MAX_RANK, "too many dimensions");
        lists[k].at[lists[k].count++] = ends[k][0];
        lists[k].at[lists[k].count++] = ends[k][1];
        TRY(ir_need_dims(check, "dimension_numbers", &lists[k], rank));
    }
    const int64_t *i = dims_of(check, in), *w = dims_of(check, kernel), *o = dims_of(check, out);
    IR_NEED(conv.feature_groups > 0 && conv.batch_groups > 0 &&
                i[conv.input_batch] % conv.batch_groups == 0 &&
                i[conv.input_feature] % conv.feature_groups == 0 &&
                w[conv.kernel_output] % conv.feature_groups == 0 &&
                w[conv.kernel_output] % conv.batch_groups == 0,
            "feature_group_count or batch_group_count does not divide");
    IR_NEED(w[conv.kernel_input] == i[conv.input_feature] / conv.feature_groups,
            "the kernel's input features do not fit the input's");
    IR_NEED(o[conv.output_batch] == i[conv.input_batch] / conv.batch_groups &&
                o[conv.output_feature] == w[conv.kernel_output],
            "the result's batch or feature size is wrong");
    for (uint32_t d = 0; d < conv.output_spatial.count; d++)
        IR_NEED(o[conv.output_spatial.at[d]] == windowed(i[conv.input_spatial.at[d]], &conv.window, d),
                "spatial dimension %u has a wrong size", d);
    return ERROR_OK;
}

enum error_code ir_check_reduce(const struct ir_check *check)
{
    uint32_t n = check->ir_op->result_count;
    IR_NEED(n >= 1 && check->ir_op->operand_count == 2 * n, "needs as many initial values as operands");
    struct ir_dims dims;
    IR_NEED(ir_attr_find(check->program, check->op, "dimensions") &&
                ir_dims(check->program, check->op, "dimensions", &dims) == 0,
            "dimensions are missing or malformed");
    const struct ir_type *in = operand_type(check, 0);
    TRY(ir_need_dims(check, "dimensions", &dims, in->rank));
    int64_t sizes[IR_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t dim = 0; dim < in->rank; dim++) {
        bool kept = true;
        for (uint32_t i = 0; i < dims.count; i++)
            kept = kept && dims.at[i] != dim;
        if (kept)
            sizes[rank++] = dims_of(check, in)[dim];
    }
    for (uint32_t i = 0; i < n; i++) {
        IR_NEED(same_shape(check, operand_type(check, i), in), "operand %u has another shape than the first",
                i);
        IR_NEED(operand_type(check, n + i)->rank == 0, "initial value %u is not a scalar", i);
        TRY(ir_need_result(check, i, rank, sizes));
    }
    return ir_need_region(check, 0, 2 * n, n);
}

enum error_code ir_check_reduce_window(const struct ir_check *check)
{
    struct ir_window window;
    if (check->ir_op->code == IR_SELECT_AND_SCATTER) {
        TRY(ir_need_counts(check, 3, 1));
        IR_NEED(ir_select_and_scatter(check->program, check->op, &window) == 0 &&
                    window.size.count == operand_type(check, 0)->rank,
                "window attributes are malformed");
        IR_NEED(same_shape(check, operand_type(check, 0), result_type(check, 0)),
                "the result has another shape than the operand");
        IR_NEED(operand_type(check, 1)->rank == operand_type(check, 0)->rank &&
                    operand_type(check, 2)->rank == 0,
                "source or initial value has a wrong rank");
        TRY(check_window(check, &window));
        for (uint32_t d = 0; d < window.size.count; d++)
            IR_NEED(dims_of(check, operand_type(check, 1))[d] ==
                        windowed(dims_of(check, operand_type(check, 0))[d], &window, d),
                    "source dimension %u has a wrong size", d);
        TRY(ir_need_region(check, 0, 2, 1));
        return ir_need_region(check, 1, 2, 1);
    }
    uint32_t n = check->ir_op->result_count;
    IR_NEED(n >= 1 && check->ir_op->operand_count == 2 * n, "needs as many initial values as operands");
    const struct ir_type *in = operand_type(check, 0);
    IR_NEED(ir_reduce_window(check->program, check->op, &window) == 0 && window.size.count == in->rank,
            "window attributes are missing or malformed");
    TRY(check_window(check, &window));
    int64_t sizes[IR_MAX_RANK];
    for (uint32_t dim = 0; dim < in->rank; dim++)
        sizes[dim] = windowed(dims_of(check, in)[dim], &window, dim);
    for (uint32_t i = 0; i < n; i++) {
        IR_NEED(same_shape(check, operand_type(check, i), in), "operand %u has another shape than the first",
                i);
        IR_NEED(operand_type(check, n + i)->rank == 0, "initial value %u is not a scalar", i);
        TRY(ir_need_result(check, i, in->rank, sizes));
    }
    return ir_need_region(check, 0, 2 * n, n);
}

enum error_code ir_check_batch_norm(const struct ir_check *check)
{
    uint32_t operands = check->ir_op->code == IR_BATCH_NORM_TRAINING ? 3 : 5,
             results = check->ir_op->code == IR_BATCH_NORM_INFERENCE ? 1 : 3;
    TRY(ir_need_counts(check, operands, results));
    int64_t f = ir_int(check->program, check->op, "feature_index", -1);
    const struct ir_type *in = operand_type(check, 0);
    IR_NEED(f >= 0 && f < in->rank, "feature_index %lld is out of range", (long long)f);
    for (uint32_t i = 1; i < operands; i++) {
        const struct ir_type *type = operand_type(check, i);
        if (check->ir_op->code == IR_BATCH_NORM_GRAD && i == 4)
            IR_NEED(same_shape(check, type, in), "grad_output has another shape than the operand");
        else
            IR_NEED(type->rank == 1 && dims_of(check, type)[0] == dims_of(check, in)[f],
                    "operand %u needs the feature dimension's size", i);
    }
    IR_NEED(same_shape(check, result_type(check, 0), in), "result 0 has another shape than the operand");
    for (uint32_t i = 1; i < results; i++)
        IR_NEED(result_type(check, i)->rank == 1 &&
                    dims_of(check, result_type(check, i))[0] == dims_of(check, in)[f],
                "result %u needs the feature dimension's size", i);
    return ERROR_OK;
}
