/* Checks of ops that contract dimensions or slide windows over them: dot, convolution, reductions, batch norm
 * (check.h). Includes that the result has the shape that operands and attributes give. */
#include "ir/check.h"

enum error_code ir_check_dot(const struct ir_check *c)
{
    TRY(ir_need_counts(c, 2, 1));
    struct ir_dot dot;
    const struct ir_type *l = operand_type(c, 0), *r = operand_type(c, 1);
    IR_NEED(ir_dot(c->p, c->op, &dot) == 0, "dot_dimension_numbers are missing or malformed");
    if (c->o->code == IR_DOT)
        IR_NEED(l->rank >= 1 && l->rank <= 2 && r->rank >= 1 && r->rank <= 2,
                "needs operands of rank 1 or 2");
    struct ir_dims left = dot.lhs_batch, right = dot.rhs_batch;
    for (uint32_t i = 0; i < dot.lhs_contract.count; i++) {
        IR_NEED(left.count < IR_MAX_RANK, "too many dimensions");
        left.at[left.count++] = dot.lhs_contract.at[i];
        right.at[right.count++] = dot.rhs_contract.at[i];
    }
    TRY(ir_need_dims(c, "lhs dimensions", &left, l->rank));
    TRY(ir_need_dims(c, "rhs dimensions", &right, r->rank));
    int64_t sizes[3 * IR_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < left.count; i++)
        IR_NEED(dims_of(c, l)[left.at[i]] == dims_of(c, r)[right.at[i]],
                "lhs dimension %lld and rhs dimension %lld differ in size", (long long)left.at[i],
                (long long)right.at[i]);
    for (uint32_t i = 0; i < dot.lhs_batch.count; i++)
        sizes[rank++] = dims_of(c, l)[dot.lhs_batch.at[i]];
    for (int side = 0; side < 2; side++) {
        const struct ir_type *t = side ? r : l;
        const struct ir_dims *used = side ? &right : &left;
        for (uint32_t d = 0; d < t->rank; d++) {
            bool free_dim = true;
            for (uint32_t i = 0; i < used->count; i++)
                free_dim = free_dim && used->at[i] != d;
            if (free_dim)
                sizes[rank++] = dims_of(c, t)[d];
        }
    }
    return ir_need_result(c, 0, rank, sizes);
}

/* size of a windowed dimension after dilation, padding and stride; 0 when no window fits */
static int64_t windowed(int64_t size, const struct ir_window *w, uint32_t i)
{
    int64_t base = size ? (size - 1) * w->base_dilation.at[i] + 1 : 0;
    int64_t window = w->size.at[i] ? (w->size.at[i] - 1) * w->window_dilation.at[i] + 1 : 0;
    int64_t padded = base + w->low.at[i] + w->high.at[i];
    return padded < window || padded < 0 ? 0 : (padded - window) / w->stride.at[i] + 1;
}

static enum error_code check_window(const struct ir_check *c, const struct ir_window *w)
{
    for (uint32_t i = 0; i < w->size.count; i++)
        IR_NEED(w->stride.at[i] > 0 && w->base_dilation.at[i] > 0 && w->window_dilation.at[i] > 0 &&
                    w->size.at[i] >= 0 && w->low.at[i] > -((int64_t)1 << 40) &&
                    w->low.at[i] < (int64_t)1 << 40 && w->high.at[i] > -((int64_t)1 << 40) &&
                    w->high.at[i] < (int64_t)1 << 40 && w->stride.at[i] < (int64_t)1 << 31 &&
                    w->base_dilation.at[i] < (int64_t)1 << 20 && w->window_dilation.at[i] < (int64_t)1 << 20,
                "window dimension %u has a stride, dilation or padding out of range", i);
    return ERROR_OK;
}

enum error_code ir_check_convolution(const struct ir_check *c)
{
    TRY(ir_need_counts(c, 2, 1));
    struct ir_conv v;
    const struct ir_type *in = operand_type(c, 0), *kernel = operand_type(c, 1), *out = result_type(c, 0);
    IR_NEED(ir_conv(c->p, c->op, &v) == 0, "dimension_numbers or window attributes are missing or malformed");
    uint32_t rank = v.input_spatial.count + 2;
    IR_NEED(in->rank == rank && kernel->rank == rank && out->rank == rank,
            "ranks do not fit dimension_numbers");
    TRY(check_window(c, &v.window));
    struct ir_dims lists[3] = {v.input_spatial, v.kernel_spatial, v.output_spatial};
    int64_t ends[3][2] = {{v.input_batch, v.input_feature},
                          {v.kernel_input, v.kernel_output},
                          {v.output_batch, v.output_feature}};
    for (int k = 0; k < 3; k++) {
        IR_NEED(lists[k].count + 2 <= IR_MAX_RANK, "too many dimensions");
        lists[k].at[lists[k].count++] = ends[k][0];
        lists[k].at[lists[k].count++] = ends[k][1];
        TRY(ir_need_dims(c, "dimension_numbers", &lists[k], rank));
    }
    const int64_t *i = dims_of(c, in), *w = dims_of(c, kernel), *o = dims_of(c, out);
    IR_NEED(v.feature_groups > 0 && v.batch_groups > 0 && i[v.input_batch] % v.batch_groups == 0 &&
                i[v.input_feature] % v.feature_groups == 0 && w[v.kernel_output] % v.feature_groups == 0 &&
                w[v.kernel_output] % v.batch_groups == 0,
            "feature_group_count or batch_group_count does not divide");
    IR_NEED(w[v.kernel_input] == i[v.input_feature] / v.feature_groups,
            "the kernel's input features do not fit the input's");
    IR_NEED(o[v.output_batch] == i[v.input_batch] / v.batch_groups &&
                o[v.output_feature] == w[v.kernel_output],
            "the result's batch or feature size is wrong");
    for (uint32_t d = 0; d < v.output_spatial.count; d++)
        IR_NEED(o[v.output_spatial.at[d]] == windowed(i[v.input_spatial.at[d]], &v.window, d),
                "spatial dimension %u has a wrong size", d);
    return ERROR_OK;
}

enum error_code ir_check_reduce(const struct ir_check *c)
{
    uint32_t n = c->o->result_count;
    IR_NEED(n >= 1 && c->o->operand_count == 2 * n, "needs as many initial values as operands");
    struct ir_dims dims;
    IR_NEED(ir_attr_find(c->p, c->op, "dimensions") && ir_dims(c->p, c->op, "dimensions", &dims) == 0,
            "dimensions are missing or malformed");
    const struct ir_type *in = operand_type(c, 0);
    TRY(ir_need_dims(c, "dimensions", &dims, in->rank));
    int64_t sizes[IR_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t d = 0; d < in->rank; d++) {
        bool kept = true;
        for (uint32_t i = 0; i < dims.count; i++)
            kept = kept && dims.at[i] != d;
        if (kept)
            sizes[rank++] = dims_of(c, in)[d];
    }
    for (uint32_t i = 0; i < n; i++) {
        IR_NEED(same_shape(c, operand_type(c, i), in), "operand %u has another shape than the first", i);
        IR_NEED(operand_type(c, n + i)->rank == 0, "initial value %u is not a scalar", i);
        TRY(ir_need_result(c, i, rank, sizes));
    }
    return ir_need_region(c, 0, 2 * n, n);
}

enum error_code ir_check_reduce_window(const struct ir_check *c)
{
    struct ir_window w;
    if (c->o->code == IR_SELECT_AND_SCATTER) {
        TRY(ir_need_counts(c, 3, 1));
        IR_NEED(ir_select_and_scatter(c->p, c->op, &w) == 0 && w.size.count == operand_type(c, 0)->rank,
                "window attributes are malformed");
        IR_NEED(same_shape(c, operand_type(c, 0), result_type(c, 0)),
                "the result has another shape than the operand");
        IR_NEED(operand_type(c, 1)->rank == operand_type(c, 0)->rank && operand_type(c, 2)->rank == 0,
                "source or initial value has a wrong rank");
        TRY(check_window(c, &w));
        for (uint32_t d = 0; d < w.size.count; d++)
            IR_NEED(dims_of(c, operand_type(c, 1))[d] == windowed(dims_of(c, operand_type(c, 0))[d], &w, d),
                    "source dimension %u has a wrong size", d);
        TRY(ir_need_region(c, 0, 2, 1));
        return ir_need_region(c, 1, 2, 1);
    }
    uint32_t n = c->o->result_count;
    IR_NEED(n >= 1 && c->o->operand_count == 2 * n, "needs as many initial values as operands");
    const struct ir_type *in = operand_type(c, 0);
    IR_NEED(ir_reduce_window(c->p, c->op, &w) == 0 && w.size.count == in->rank,
            "window attributes are missing or malformed");
    TRY(check_window(c, &w));
    int64_t sizes[IR_MAX_RANK];
    for (uint32_t d = 0; d < in->rank; d++)
        sizes[d] = windowed(dims_of(c, in)[d], &w, d);
    for (uint32_t i = 0; i < n; i++) {
        IR_NEED(same_shape(c, operand_type(c, i), in), "operand %u has another shape than the first", i);
        IR_NEED(operand_type(c, n + i)->rank == 0, "initial value %u is not a scalar", i);
        TRY(ir_need_result(c, i, in->rank, sizes));
    }
    return ir_need_region(c, 0, 2 * n, n);
}

enum error_code ir_check_batch_norm(const struct ir_check *c)
{
    uint32_t operands = c->o->code == IR_BATCH_NORM_TRAINING ? 3 : 5,
             results = c->o->code == IR_BATCH_NORM_INFERENCE ? 1 : 3;
    TRY(ir_need_counts(c, operands, results));
    int64_t f = ir_int(c->p, c->op, "feature_index", -1);
    const struct ir_type *in = operand_type(c, 0);
    IR_NEED(f >= 0 && f < in->rank, "feature_index %lld is out of range", (long long)f);
    for (uint32_t i = 1; i < operands; i++) {
        const struct ir_type *t = operand_type(c, i);
        if (c->o->code == IR_BATCH_NORM_GRAD && i == 4)
            IR_NEED(same_shape(c, t, in), "grad_output has another shape than the operand");
        else
            IR_NEED(t->rank == 1 && dims_of(c, t)[0] == dims_of(c, in)[f],
                    "operand %u needs the feature dimension's size", i);
    }
    IR_NEED(same_shape(c, result_type(c, 0), in), "result 0 has another shape than the operand");
    for (uint32_t i = 1; i < results; i++)
        IR_NEED(result_type(c, i)->rank == 1 && dims_of(c, result_type(c, i))[0] == dims_of(c, in)[f],
                "result %u needs the feature dimension's size", i);
    return ERROR_OK;
}
