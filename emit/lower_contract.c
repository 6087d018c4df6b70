/* Dot, convolution, reductions, batch normalisation: the same op on local blocks; a sharded contraction gives
 * a partial result, which the walk completes by later steps. */
#include "emit/lower.h"

enum error_code lower_dot(struct emit *e, struct lower_op *o, struct error *error)
{
    struct ir_dot d;
    if (ir_dot(e->program, o->op, &d) != 0)
        return emit_reject(e, error, "its dimension numbers cannot be read");
    for (uint32_t i = 0; i < d.lhs_contract.count; i++)
        if (o->in[0].dims[d.lhs_contract.at[i]] != o->in[1].dims[d.rhs_contract.at[i]])
            return emit_reject(e, error, "the local sizes of contracted dimensions %lld and %lld differ",
                               (long long)d.lhs_contract.at[i], (long long)d.rhs_contract.at[i]);
    return lower_as_is(e, o, error);
}

/* Groups are blocks of features: a group factor that is sharded leaves fewer groups on each device. */
enum error_code lower_convolution(struct emit *e, struct lower_op *o, struct error *error)
{
    struct ir_conv c;
    if (ir_conv(e->program, o->op, &c) != 0)
        return emit_reject(e, error, "its dimension numbers cannot be read");
    int64_t features = o->in[0].dims[c.input_feature], inputs = o->in[1].dims[c.kernel_input];
    int64_t batch = o->in[0].dims[c.input_batch], results = o->out[0].dims[c.output_batch];
    int64_t feature_groups = c.feature_groups > 1 ? features / inputs : 1;
    int64_t batch_groups = c.batch_groups > 1 ? batch / results : 1;
    if (feature_groups * inputs != features || batch_groups * results != batch ||
        o->in[1].dims[c.kernel_output] % (feature_groups * batch_groups) != 0 ||
        o->in[1].dims[c.kernel_output] != o->out[0].dims[c.output_feature])
        return emit_reject(e, error,
                           "features or batch are sharded across the groups of a grouped convolution");
    for (uint32_t i = 0; i < c.input_spatial.count; i++) {
        const struct ir_window *w =
            &c.window; /* one element, everywhere: the dimension goes through as it is */
        bool plain = w->size.at[i] == 1 && w->stride.at[i] == 1 && w->low.at[i] == 0 && w->high.at[i] == 0 &&
                     w->base_dilation.at[i] == 1;
        if (!plain && (lower_in_layout(e, o, 0, (uint32_t)c.input_spatial.at[i]).sharded ||
                       lower_in_layout(e, o, 1, (uint32_t)c.kernel_spatial.at[i]).sharded))
            return emit_reject(e, error, "spatial dimension %u is sharded", i);
    }
    lower_set_int(e, o, "feature_group_count", feature_groups);
    lower_set_int(e, o, "batch_group_count", batch_groups);
    return lower_as_is(e, o, error);
}

enum error_code lower_reduce(struct emit *e, struct lower_op *o, struct error *error)
{
    for (uint32_t i = o->in_count / 2; o->step->mask_initial && i < o->in_count; i++) {
        enum error_code code = lower_mask_initial(e, o, i, error);
        if (code)
            return code;
    }
    /* One element left to reduce on each device: XLA takes such a reduce for a reshape and forgets the
     * initial value. */
    enum nda_reducer reducer = lower_contracting_reducer(e, o);
    struct ir_dims dims;
    int64_t count = 1;
    if (ir_dims(e->program, o->op, "dimensions", &dims) != 0)
        return emit_reject(e, error, "its dimensions cannot be read");
    for (uint32_t i = 0; i < dims.count; i++)
        count *= o->in[0].dims[dims.at[i]];
    if (o->in_count != 2 || reducer == NDA_REDUCE_NONE || count != 1 || lower_is_identity(e, o, 1, reducer))
        return lower_as_is(e, o, error);
    struct emit_tensor x = emit_reshape(e, o->in[0], o->out[0].rank, o->out[0].dims);
    o->out[0] = emit_reduce_op(e, reducer, x, emit_spread(e, o->in[1], x.rank, x.dims));
    return ERROR_OK;
}

/* reduce_window and select_and_scatter: dims with a window of one element without padding pass; others whole
 */
enum error_code lower_reduce_window(struct emit *e, struct lower_op *o, struct error *error)
{
    struct ir_window w;
    bool scatter = e->program->ops[o->op].code == IR_SELECT_AND_SCATTER;
    if ((scatter ? ir_select_and_scatter(e->program, o->op, &w) : ir_reduce_window(e->program, o->op, &w)) !=
        0)
        return emit_reject(e, error, "its window cannot be read");
    for (uint32_t d = 0; d < w.size.count && d < o->in[0].rank; d++) {
        bool plain = w.size.at[d] == 1 && (!w.stride.count || w.stride.at[d] == 1) &&
                     (!w.low.count || (w.low.at[d] == 0 && w.high.at[d] == 0)) &&
                     (!w.base_dilation.count || w.base_dilation.at[d] == 1);
        if (!plain && lower_in_layout(e, o, 0, d).sharded)
            return emit_reject(e, error, "dimension %u is sharded and has a window over it", d);
    }
    if (o->step->mask_initial)
        return emit_reject(e, error, "initial values of a window reduction cannot be partial");
    return lower_as_is(e, o, error);
}

enum error_code lower_batch_norm(struct emit *e, struct lower_op *o, struct error *error)
{
    int64_t feature = ir_int(e->program, o->op, "feature_index", -1);
    bool inference = e->program->ops[o->op].code == IR_BATCH_NORM_INFERENCE;
    for (uint32_t d = 0; d < o->in[0].rank && !inference; d++)
        if ((int64_t)d != feature && lower_in_layout(e, o, 0, d).sharded)
            return emit_reject(
                e, error, "dimension %u is sharded, but its mean and variance need all of it on each device",
                d);
    return lower_as_is(e, o, error);
}
