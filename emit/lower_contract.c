/* Dot, convolution, reductions, batch normalisation: the same op on local blocks; a sharded contraction gives
 * a partial result, which the walk completes by later steps. */
#include "emit/lower.h"

enum error_code lower_dot(struct emit *e, struct lower_op *lower, struct error *error)
{
    struct ir_dot dot;
    if (ir_dot(e->program, lower->op, &dot) != 0)
        return emit_reject(e, error, "its dimension numbers cannot be read");
    for (uint32_t i = 0; i < dot.lhs_contract.count; i++)
        if (lower->in[0].dims[dot.lhs_contract.at[i]] != lower->in[1].dims[dot.rhs_contract.at[i]])
            return emit_reject(e, error, "the local sizes of contracted dimensions %lld and %lld differ",
                               (long long)dot.lhs_contract.at[i], (long long)dot.rhs_contract.at[i]);
    return lower_as_is(e, lower, error);
}

/* Groups are blocks of features: a group factor that is sharded leaves fewer groups on each device. */
enum error_code lower_convolution(struct emit *e, struct lower_op *lower, struct error *error)
{
    struct ir_conv conv;
    if (ir_conv(e->program, lower->op, &conv) != 0)
        return emit_reject(e, error, "its dimension numbers cannot be read");
    int64_t features = lower->in[0].dims[conv.input_feature], inputs = lower->in[1].dims[conv.kernel_input];
    int64_t batch = lower->in[0].dims[conv.input_batch], results = lower->out[0].dims[conv.output_batch];
    int64_t feature_groups = conv.feature_groups > 1 ? features / inputs : 1;
    int64_t batch_groups = conv.batch_groups > 1 ? batch / results : 1;
    if (feature_groups * inputs != features || batch_groups * results != batch ||
        lower->in[1].dims[conv.kernel_output] % (feature_groups * batch_groups) != 0 ||
        lower->in[1].dims[conv.kernel_output] != lower->out[0].dims[conv.output_feature])
        return emit_reject(e, error,
                           "features or batch are sharded across the groups of a grouped convolution");
    for (uint32_t i = 0; i < conv.input_spatial.count; i++) {
        const struct ir_window *window =
            &conv.window; /* one element, everywhere: the dimension goes through as it is */
        bool plain = window->size.at[i] == 1 && window->stride.at[i] == 1 && window->low.at[i] == 0 &&
                     window->high.at[i] == 0 && window->base_dilation.at[i] == 1;
        if (!plain && (lower_in_layout(e, lower, 0, (uint32_t)conv.input_spatial.at[i]).sharded ||
                       lower_in_layout(e, lower, 1, (uint32_t)conv.kernel_spatial.at[i]).sharded))
            return emit_reject(e, error, "spatial dimension %u is sharded", i);
    }
    lower_set_int(e, lower, "feature_group_count", feature_groups);
    lower_set_int(e, lower, "batch_group_count", batch_groups);
    return lower_as_is(e, lower, error);
}

/* by ranks, not by sizes: a proof at smaller sizes is one of the same ops */
static bool sums_outermost(const struct emit_tensor *tensor, const struct ir_dims *dims)
{
    uint64_t summed = 0;
    for (uint32_t i = 0; i < dims->count; i++)
        summed |= 1ull << dims->at[i];
    return dims->count > 0 && summed == (1ull << dims->count) - 1 && tensor->rank >= dims->count + 2;
}

/* A sum over the outermost dims that leaves several, as one of an array [.., 2, what is left]. XLA:GPU lays
 * out the operand of a sum by its result, what is summed innermost, and all that the operand is computed of
 * by that: the gradient of a learnt position embedding turns the whole residual stream (on an H100's schedule
 * 9 ms of 73). A result of one dim asks for nothing; of two summed dims, since a reshape that leaves what is
 * summed as it is is folded into the sum. */
static enum error_code sum_rows(struct emit *e, struct lower_op *lower, int64_t summed, struct error *error)
{
    struct emit_tensor out = lower->out[0];
    int64_t left = 1, pair = summed % 2 == 0 ? 2 : 1, over[2] = {0, 1};
    for (uint32_t dim = 0; dim < out.rank; dim++)
        left *= out.dims[dim];
    int64_t view[3] = {summed / pair, pair, left};
    lower->in[0] = emit_one(e, "stablehlo.reshape", &lower->in[0], 1, out.element, 3, view, NULL, 0);
    lower->out[0].rank = 1;
    lower->out[0].dims[0] = left;
    lower_set_ints(e, lower, "dimensions", over, 2);
    enum error_code code = lower_as_is(e, lower, error);
    if (!code)
        lower->out[0] = emit_reshape(e, lower->out[0], out.rank, out.dims);
    return code;
}

enum error_code lower_reduce(struct emit *e, struct lower_op *lower, struct error *error)
{
    for (uint32_t i = lower->in_count / 2; lower->step->mask_initial && i < lower->in_count; i++) {
        enum error_code code = lower_mask_initial(e, lower, i, error);
        if (code)
            return code;
    }
    /* One element left to reduce on each device: XLA takes such a reduce for a reshape and forgets the
     * initial value. */
    enum nda_reducer reducer = lower_contracting_reducer(e, lower);
    struct ir_dims dims;
    int64_t count = 1;
    if (ir_dims(e->program, lower->op, "dimensions", &dims) != 0)
        return emit_reject(e, error, "its dimensions cannot be read");
    for (uint32_t i = 0; i < dims.count; i++)
        count *= lower->in[0].dims[dims.at[i]];
    if (lower->in_count != 2 || reducer == NDA_REDUCE_NONE || count != 1 ||
        lower_is_identity(e, lower, 1, reducer)) {
        bool rows = e->keeps_layouts && lower->in_count == 2 && sums_outermost(&lower->in[0], &dims);
        return rows ? sum_rows(e, lower, count, error) : lower_as_is(e, lower, error);
    }
    struct emit_tensor tensor = emit_reshape(e, lower->in[0], lower->out[0].rank, lower->out[0].dims);
    lower->out[0] =
        emit_reduce_op(e, reducer, tensor, emit_spread(e, lower->in[1], tensor.rank, tensor.dims));
    return ERROR_OK;
}

/* reduce_window and select_and_scatter: dims with a window of one element without padding pass; others whole
 */
enum error_code lower_reduce_window(struct emit *e, struct lower_op *lower, struct error *error)
{
    struct ir_window window;
    bool scatter = e->program->ops[lower->op].code == IR_SELECT_AND_SCATTER;
    if ((scatter ? ir_select_and_scatter(e->program, lower->op, &window)
                 : ir_reduce_window(e->program, lower->op, &window)) != 0)
        return emit_reject(e, error, "its window cannot be read");
    for (uint32_t dim = 0; dim < window.size.count && dim < lower->in[0].rank; dim++) {
        bool plain = window.size.at[dim] == 1 && (!window.stride.count || window.stride.at[dim] == 1) &&
                     (!window.low.count || (window.low.at[dim] == 0 && window.high.at[dim] == 0)) &&
                     (!window.base_dilation.count || window.base_dilation.at[dim] == 1);
        if (!plain && lower_in_layout(e, lower, 0, dim).sharded)
            return emit_reject(e, error, "dimension %u is sharded and has a window over it", dim);
    }
    if (lower->step->mask_initial)
        return emit_reject(e, error, "initial values of a window reduction cannot be partial");
    return lower_as_is(e, lower, error);
}

enum error_code lower_batch_norm(struct emit *e, struct lower_op *lower, struct error *error)
{
    int64_t feature = ir_int(e->program, lower->op, "feature_index", -1);
    bool inference = e->program->ops[lower->op].code == IR_BATCH_NORM_INFERENCE;
    for (uint32_t dim = 0; dim < lower->in[0].rank && !inference; dim++)
        if ((int64_t)dim != feature && lower_in_layout(e, lower, 0, dim).sharded)
            return emit_reject(
                e, error, "dimension %u is sharded, but its mean and variance need all of it on each device",
                dim);
    return lower_as_is(e, lower, error);
}
