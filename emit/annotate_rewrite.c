/* One op on partial sums with leading dims: what makes them (dot_general, reduce, scatter: the dims that are
 * summed over are cut into (n, rest)) and what passes them on (the leading dims go before its own).
 * Promises: an op that cannot be written so is told before anything is written. */
#include "emit/annotate_rewrite.h"

#include <string.h>

/* ---------------------------------------------------------------- forms */
uint32_t rewrite_mask(const struct emit_axes *axes)
{
    uint32_t mask = 0;
    for (uint8_t i = 0; i < axes->count; i++)
        mask |= 1u << axes->at[i];
    return mask;
}

uint32_t rewrite_partial_sum(const struct emit *e, uint32_t value, bool *other)
{
    const struct spmd_form *form = &e->local->values[value].form;
    uint32_t mask = 0;
    *other = false;
    for (uint32_t axis = 0; axis < e->mesh->axis_count; axis++) {
        bool partial = form->at[axis] >= SPMD_PARTIAL && form->at[axis] != SPMD_REPLICATED;
        bool sum = form->at[axis] == SPMD_PARTIAL + NDA_REDUCE_ADD;
        mask |= sum ? 1u << axis : 0;
        *other |= partial && !sum;
    }
    return mask;
}

uint32_t rewrite_operand(const struct emit *e, const struct rewrite *rewrite, uint32_t i)
{
    return spmd_operand(e->local, rewrite->lower->step, i);
}

const struct ir_type *rewrite_type(const struct emit *e, uint32_t value)
{
    return ir_value_type(e->program, e->local->values[value].origin);
}

static bool sums(const struct emit *e, const struct rewrite *rewrite, uint32_t i)
{
    bool other;
    return rewrite_partial_sum(e, rewrite_operand(e, rewrite, i), &other) == rewrite->mask && !other;
}

bool rewrite_axes_of_dim(const struct emit *e, uint32_t value, uint32_t dim, struct emit_axes *axes,
                         int64_t *size)
{
    const struct spmd_value *spmd_value = &e->local->values[value];
    struct emit_layout layout = emit_layout(e, spmd_value->origin, &spmd_value->form, dim);
    axes->count = 0;
    for (uint32_t i = 0; i < layout.count; i++)
        for (uint8_t k = 0; k < layout.at[i].axes.count; k++)
            axes->at[axes->count++] = layout.at[i].axes.at[k];
    *size = layout.size;
    return layout.contiguous && !layout.whole.count;
}

bool rewrite_in_ranges(const struct emit *e, uint32_t value)
{
    struct emit_axes axes;
    int64_t size;
    if (rewrite_type(e, value)->kind != IR_TYPE_TENSOR)
        return false;
    for (uint32_t dim = 0; dim < rewrite_type(e, value)->rank; dim++)
        if (!rewrite_axes_of_dim(e, value, dim, &axes, &size))
            return false;
    return true;
}

static const struct emit_axes *leading_of(const struct rewrite *rewrite, uint8_t axis)
{
    const struct emit_axes *lead = rewrite->lead.at;
    while (!(rewrite_mask(lead) >> axis & 1))
        lead++;
    return lead;
}

static void push_dim(struct split *split, int64_t size, struct emit_axes axes)
{
    split->dims[split->rank] = size;
    split->axes[split->rank++] = axes;
}

/* false: not every leading axis shards a dim, or one shards it together with an axis that is not leading */
static bool split_operand(const struct emit *e, struct rewrite *rewrite, uint32_t i)
{
    struct split *split = &rewrite->splits[i];
    uint32_t value = rewrite_operand(e, rewrite, i), found = 0;
    *split = (struct split){.rank = 0};
    for (uint32_t dim = 0; dim < rewrite_type(e, value)->rank; dim++) {
        struct emit_axes axes, none = {.count = 0};
        int64_t size;
        bool ranges = rewrite_axes_of_dim(e, value, dim, &axes, &size);
        uint32_t here = rewrite_mask(&axes) & rewrite->mask;
        if (!ranges || (here && here != rewrite_mask(&axes)))
            return false;
        for (uint8_t k = 0; here && k < axes.count; k++) {
            bool first = rewrite->lead.count > 1 || k == 0;
            split->lead[axes.at[k]] = first ? split->rank : split->rank - 1;
            split->from[axes.at[k]] = dim;
            if (first) {
                const struct emit_axes *lead = leading_of(rewrite, axes.at[k]);
                push_dim(split, emit_shards(e, lead), *lead);
            }
        }
        split->at[dim] = split->rank;
        push_dim(split, here ? size / emit_shards(e, &axes) : size, here ? none : axes);
        found |= here;
    }
    rewrite->kinds[i] = SPLIT;
    return found == rewrite->mask && split->rank <= IR_MAX_RANK;
}

void rewrite_append(struct ir_dims *list, int64_t dim)
{
    list->at[list->count++] = dim;
}

/* the leading dims 0 .. count, then the list behind them */
static struct ir_dims behind(const struct rewrite *rewrite, const struct ir_dims *list, bool with_leading)
{
    struct ir_dims out = {.count = 0};
    for (uint32_t i = 0; with_leading && i < rewrite->lead.count; i++)
        rewrite_append(&out, i);
    for (uint32_t i = 0; i < list->count; i++)
        rewrite_append(&out, list->at[i] + rewrite->lead.count);
    return out;
}

/* where the leading dims (optional) and these dims are in a split operand */
static struct ir_dims in_split(const struct rewrite *rewrite, uint32_t i, const struct ir_dims *list,
                               bool with_leading)
{
    struct ir_dims out = {.count = 0};
    for (uint32_t k = 0; with_leading && k < rewrite->lead.count; k++)
        rewrite_append(&out, rewrite->splits[i].lead[rewrite->lead.at[k].at[0]]);
    for (uint32_t k = 0; k < list->count; k++)
        rewrite_append(&out, rewrite->splits[i].at[list->at[k]]);
    return out;
}

static void set_dims(struct emit *e, struct rewrite *rewrite, const char *name, const struct ir_dims *list)
{
    lower_set_ints(e, rewrite->lower, name, list->at, list->count);
}

static bool splits_alike(const struct rewrite *rewrite, uint32_t one, uint32_t other, uint8_t axis,
                         int64_t dim, int64_t other_dim)
{
    const struct split *a = &rewrite->splits[one], *b = &rewrite->splits[other];
    return a->from[axis] == dim && b->from[axis] == other_dim &&
           a->at[dim] - a->lead[axis] == b->at[other_dim] - b->lead[axis];
}

/* Does every leading axis shard the same pair of dims, dims of operand `one` and others of `other`? */
static bool pairs(const struct rewrite *rewrite, uint32_t one, const struct ir_dims *dims, uint32_t other,
                  const struct ir_dims *others)
{
    for (uint8_t axis = 0; rewrite->mask >> axis; axis++) {
        bool found = !(rewrite->mask >> axis & 1);
        for (uint32_t i = 0; i < dims->count && i < others->count && !found; i++)
            found = splits_alike(rewrite, one, other, axis, dims->at[i], others->at[i]);
        if (!found)
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- makers */
static bool make_dot(struct emit *e, struct rewrite *rewrite)
{
    struct ir_dot dot;
    if (ir_dot(e->program, rewrite->lower->op, &dot) != 0 || !split_operand(e, rewrite, 0) ||
        !split_operand(e, rewrite, 1) || !pairs(rewrite, 0, &dot.lhs_contract, 1, &dot.rhs_contract))
        return false;
    dot.lhs_batch = in_split(rewrite, 0, &dot.lhs_batch, true);
    dot.rhs_batch = in_split(rewrite, 1, &dot.rhs_batch, true);
    dot.lhs_contract = in_split(rewrite, 0, &dot.lhs_contract, false);
    dot.rhs_contract = in_split(rewrite, 1, &dot.rhs_contract, false);
    annotate_set_dot(e, rewrite->lower, &dot);
    return true;
}

/* What is kept lies as in the operand, so the leading dims are moved to the front after it. */
static bool make_reduce(struct emit *e, struct rewrite *rewrite)
{
    struct lower_op *lower = rewrite->lower;
    struct ir_dims dims;
    if (lower->in_count != 2 || ir_dims(e->program, lower->op, "dimensions", &dims) != 0 ||
        !lower_is_identity(e, lower, 1, NDA_REDUCE_ADD) || !split_operand(e, rewrite, 0) ||
        !pairs(rewrite, 0, &dims, 0, &dims))
        return false;
    const struct split *split = &rewrite->splits[0];
    dims = in_split(rewrite, 0, &dims, false);
    struct emit_tensor *out = &lower->out[0];
    uint32_t at[EMIT_MAX_RANK] = {0};
    out->rank = 0;
    for (uint32_t dim = 0; dim < split->rank; dim++)
        if (!ir_dims_has(&dims, dim)) {
            at[dim] = out->rank;
            out->dims[out->rank++] = split->dims[dim];
        }
    rewrite->order.count = 0;
    for (uint32_t k = 0; k < rewrite->lead.count; k++)
        rewrite_append(&rewrite->order, at[split->lead[rewrite->lead.at[k].at[0]]]);
    for (uint32_t dim = 0; dim < out->rank; dim++)
        if (!ir_dims_has(&rewrite->order, dim))
            rewrite_append(&rewrite->order, dim);
    set_dims(e, rewrite, "dimensions", &dims);
    return true;
}

/* Adds to zeros. The dims of the indices but the vectors' and those of the updates but the windows' are one
 * list of the same sizes, so both are cut alike and the leading dims stay in the same places of it. */
static bool make_scatter(struct emit *e, struct rewrite *rewrite)
{
    struct lower_op *lower = rewrite->lower;
    struct ir_scatter scatter;
    struct ir_dims positions = {.count = 0}, updates = {.count = 0};
    if (lower->in_count != 3 || ir_scatter(e->program, lower->op, &scatter) != 0 ||
        !lower_is_identity(e, lower, 0, NDA_REDUCE_ADD) || !split_operand(e, rewrite, 1) ||
        !split_operand(e, rewrite, 2))
        return false;
    uint32_t rank = rewrite_type(e, rewrite_operand(e, rewrite, 1))->rank;
    for (uint32_t dim = 0; dim < rank; dim++)
        if (dim != scatter.index_vector_dim)
            rewrite_append(&positions, dim);
    for (uint32_t dim = 0; dim < rewrite_type(e, rewrite_operand(e, rewrite, 2))->rank; dim++)
        if (!ir_dims_has(&scatter.update_window_dims, dim))
            rewrite_append(&updates, dim);
    if (!pairs(rewrite, 1, &positions, 2, &updates))
        return false;
    rewrite->kinds[0] = RAISED;
    scatter.update_window_dims = in_split(rewrite, 2, &scatter.update_window_dims, false);
    scatter.inserted_window_dims = behind(rewrite, &scatter.inserted_window_dims, false);
    scatter.input_batch = behind(rewrite, &scatter.input_batch, true);
    scatter.indices_batch = in_split(rewrite, 1, &scatter.indices_batch, true);
    scatter.dims_to_operand = behind(rewrite, &scatter.dims_to_operand, false);
    scatter.index_vector_dim = scatter.index_vector_dim < rank
                                   ? rewrite->splits[1].at[scatter.index_vector_dim]
                                   : rewrite->splits[1].rank;
    lower_set_scatter(e, lower, &scatter);
    return true;
}

/* ---------------------------------------------------------------- ops that pass partial sums on */
static bool pass_dims(struct emit *e, struct rewrite *rewrite, const char *name, bool with_leading)
{
    struct ir_dims list;
    if (ir_dims(e->program, rewrite->lower->op, name, &list) != 0)
        return false;
    list = behind(rewrite, &list, with_leading);
    set_dims(e, rewrite, name, &list);
    return true;
}

static bool pass_slice(struct emit *e, struct rewrite *rewrite)
{
    static const char *const names[3] = {"start_indices", "limit_indices", "strides"};
    for (uint32_t i = 0; i < 3; i++) {
        struct ir_dims list, all = {.count = 0};
        if (ir_dims(e->program, rewrite->lower->op, names[i], &list) != 0)
            return false;
        for (uint32_t k = 0; k < rewrite->lead.count; k++) {
            int64_t size = emit_shards(e, &rewrite->lead.at[k]);
            rewrite_append(&all, i == 0 ? 0 : i == 1 ? size : 1);
        }
        for (uint32_t k = 0; k < list.count; k++)
            rewrite_append(&all, list.at[k]);
        set_dims(e, rewrite, names[i], &all);
    }
    return true;
}

static bool pass_reduce(struct emit *e, struct rewrite *rewrite)
{
    return rewrite->lower->in_count == 2 && ir_region_reducer(e->program, rewrite->lower->op, 0) == IR_ADD &&
           lower_is_identity(e, rewrite->lower, 1, NDA_REDUCE_ADD) &&
           pass_dims(e, rewrite, "dimensions", false);
}

/* Other operands are raised to the leading dims; `linear`: of those that must be summands. */
static bool raise_others(const struct emit *e, struct rewrite *rewrite, uint32_t linear)
{
    for (uint32_t i = 0; i < rewrite->lower->in_count; i++) {
        bool sum = rewrite->kinds[i] == SUMMANDS;
        if (sum != (linear >> i & 1))
            return false;
        if (!sum && rewrite_in_ranges(e, rewrite_operand(e, rewrite, i)))
            rewrite->kinds[i] = RAISED;
        else if (!sum)
            return false;
    }
    return true;
}

static bool pass_select(const struct emit *e, struct rewrite *rewrite)
{
    uint32_t linear = 0;
    for (uint32_t i = 1; i < 3; i++) {
        if (rewrite->kinds[i] == SUMMANDS)
            linear |= 1u << i;
        else if (!lower_is_identity(e, rewrite->lower, i, NDA_REDUCE_ADD))
            return false;
    }
    if (!raise_others(e, rewrite, linear))
        return false;
    if (!rewrite_type(e, rewrite_operand(e, rewrite, 0))->rank)
        rewrite->kinds[0] = AS_IS;
    return true;
}

static bool pass(struct emit *e, struct rewrite *rewrite)
{
    switch (e->program->ops[rewrite->lower->op].code) {
    case IR_ADD:
    case IR_SUBTRACT: return raise_others(e, rewrite, 3);
    case IR_NEGATE:
    case IR_CONVERT:
    case IR_RESHAPE: return true;
    case IR_MULTIPLY: return raise_others(e, rewrite, rewrite->kinds[0] == SUMMANDS ? 1 : 2);
    case IR_DIVIDE: return raise_others(e, rewrite, 1);
    case IR_SELECT: return pass_select(e, rewrite);
    case IR_TRANSPOSE: return pass_dims(e, rewrite, "permutation", true);
    case IR_BROADCAST_IN_DIM: return pass_dims(e, rewrite, "broadcast_dimensions", true);
    case IR_SLICE: return pass_slice(e, rewrite);
    case IR_REDUCE: return pass_reduce(e, rewrite);
    default: return false;
    }
}

static bool make(struct emit *e, struct rewrite *rewrite)
{
    switch (e->program->ops[rewrite->lower->op].code) {
    case IR_DOT_GENERAL: return make_dot(e, rewrite);
    case IR_REDUCE: return make_reduce(e, rewrite);
    case IR_SCATTER: return make_scatter(e, rewrite);
    default: return false;
    }
}

struct leading rewrite_leading(const struct emit *e, uint32_t mask, const struct emit_axes *order)
{
    struct leading lead = {.count = order->count != 0, .at = {*order}};
    for (uint8_t axis = 0; axis < e->mesh->axis_count && !order->count; axis++)
        if (mask >> axis & 1)
            lead.at[lead.count++] = (struct emit_axes){1, {axis}};
    return lead;
}

bool rewrite_prepare(struct emit *e, struct lower_op *lower, const struct emit_axes *order,
                     struct rewrite *rewrite)
{
    bool other;
    *rewrite = (struct rewrite){.lower = lower, .maker = true};
    rewrite->mask = rewrite_partial_sum(e, lower->step->results, &other);
    if (other || lower->out_count != 1 || lower->in_count > MAX_OPERANDS ||
        !rewrite_in_ranges(e, lower->step->results))
        return false;
    rewrite->lead = rewrite_leading(e, rewrite->mask, order);
    struct emit_tensor *out = &lower->out[0], raised = *out;
    if (out->rank + rewrite->lead.count > IR_MAX_RANK)
        return false;
    for (uint32_t k = 0; k < rewrite->lead.count; k++)
        out->dims[k] = emit_shards(e, &rewrite->lead.at[k]);
    memcpy(out->dims + rewrite->lead.count, raised.dims, raised.rank * sizeof *out->dims);
    out->rank += rewrite->lead.count;
    for (uint32_t i = 0; i < lower->in_count; i++)
        if (sums(e, rewrite, i)) {
            rewrite->kinds[i] = SUMMANDS;
            rewrite->maker = false;
        }
    return rewrite->maker ? make(e, rewrite) : pass(e, rewrite);
}
