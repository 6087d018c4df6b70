/* Partial sums that meet before they are reduced, in the annotated output.
 *
 * The gradient of an embedding that is the output layer as well is a dot plus a scatter. The plan adds what
 * each device has and reduces once. XLA has no partial values, so it would reduce both and add then:
 *
 *     dot            scatter              dot: tensor<n x ..>   scatter: tensor<n x ..>     n over the axis
 *      | all_reduce   | all_reduce          \                   /
 *       \            /            here:      add: tensor<n x ..>                            nothing moves
 *            add                              | reduce over n                               one all_reduce
 *
 * A maker is an op that leaves the partial: each dim that it sums over and that the axis shards is cut into
 * (n, size / n), where n is a batching dim (dot_general, scatter) or kept (reduce). What passes the partial
 * on is carried out with the leading dims before its own. Several axes are one leading dim where every maker
 * has them on one dim in one order, else one each in the mesh's order. In the module's ordinary meaning this
 * is a reshape and a sum in another order.
 *
 * Groups are joined over the steps' operands. One is written so only when two makers or more are in it, every
 * member is an op of the two tables below, in ranges of its dims, and every use is a member or the reduction.
 * Others stay as annotate.c writes them. */
#include "emit/annotate_summands.h"

#include "base/sets.h"

#include <stdlib.h>
#include <string.h>

struct summands {
    uint32_t count;
    uint32_t *parent; /* spmd value -> another of its group, itself at the root; IR_NONE: no partial sum */
    uint8_t *refused; /* of a root: some member cannot be written */
    uint32_t *makers; /* of a root: how many */
    uint8_t *carried; /* of a root: a loop carries a member */
    /* of a root: the axes as they shard the one dim that each maker sums over; count 0: several, or others */
    struct emit_axes *order;
    uint32_t *written; /* spmd value -> builder value with the leading dims; IR_NONE */
};

/* An operand with each dim that leading axes shard cut into (axis size .., rest). */
struct split {
    uint32_t rank;
    int64_t dims[EMIT_MAX_RANK];
    struct emit_axes axes[EMIT_MAX_RANK];
    uint32_t at[EMIT_MAX_RANK];   /* dim of the operand -> where the rest of it is */
    uint32_t lead[MESH_MAX_AXES]; /* axis -> where its dim is */
    uint32_t from[MESH_MAX_AXES]; /* axis -> dim of the operand that was cut */
};

enum operand_kind { AS_IS, SUMMANDS, SPLIT, RAISED };
enum { MAX_OPERANDS = 3 };

/* axes of the leading dims, each major first */
struct leading {
    uint32_t count;
    struct emit_axes at[MESH_MAX_AXES];
};

struct rewrite {
    struct lower_op *lower;
    struct leading lead;
    uint32_t mask;
    bool maker;
    enum operand_kind kinds[MAX_OPERANDS];
    struct split splits[MAX_OPERANDS];
    struct ir_dims order; /* of the written result's dims that gives the leading ones first; count 0: so */
};

/* ---------------------------------------------------------------- forms */
static uint32_t mask_of(const struct emit_axes *axes)
{
    uint32_t mask = 0;
    for (uint8_t i = 0; i < axes->count; i++)
        mask |= 1u << axes->at[i];
    return mask;
}

/* axes over which a value is a partial sum; *other: partial in another way */
static uint32_t partial_sum(const struct emit *e, uint32_t value, bool *other)
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

static uint32_t operand(const struct emit *e, const struct rewrite *rewrite, uint32_t i)
{
    return spmd_operand(e->local, rewrite->lower->step, i);
}

static const struct ir_type *type_of(const struct emit *e, uint32_t value)
{
    return ir_value_type(e->program, e->local->values[value].origin);
}

static bool sums(const struct emit *e, const struct rewrite *rewrite, uint32_t i)
{
    bool other;
    return partial_sum(e, operand(e, rewrite, i), &other) == rewrite->mask && !other;
}

/* the axes of a dim, major first; false: its blocks are not ranges of it */
static bool axes_of_dim(const struct emit *e, uint32_t value, uint32_t dim, struct emit_axes *axes,
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

static bool in_ranges(const struct emit *e, uint32_t value)
{
    struct emit_axes axes;
    int64_t size;
    if (type_of(e, value)->kind != IR_TYPE_TENSOR)
        return false;
    for (uint32_t dim = 0; dim < type_of(e, value)->rank; dim++)
        if (!axes_of_dim(e, value, dim, &axes, &size))
            return false;
    return true;
}

static const struct emit_axes *leading_of(const struct rewrite *rewrite, uint8_t axis)
{
    const struct emit_axes *lead = rewrite->lead.at;
    while (!(mask_of(lead) >> axis & 1))
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
    uint32_t value = operand(e, rewrite, i), found = 0;
    *split = (struct split){.rank = 0};
    for (uint32_t dim = 0; dim < type_of(e, value)->rank; dim++) {
        struct emit_axes axes, none = {.count = 0};
        int64_t size;
        bool ranges = axes_of_dim(e, value, dim, &axes, &size);
        uint32_t here = mask_of(&axes) & rewrite->mask;
        if (!ranges || (here && here != mask_of(&axes)))
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

static void append(struct ir_dims *list, int64_t dim)
{
    list->at[list->count++] = dim;
}

/* the leading dims 0 .. count, then the list behind them */
static struct ir_dims behind(const struct rewrite *rewrite, const struct ir_dims *list, bool with_leading)
{
    struct ir_dims out = {.count = 0};
    for (uint32_t i = 0; with_leading && i < rewrite->lead.count; i++)
        append(&out, i);
    for (uint32_t i = 0; i < list->count; i++)
        append(&out, list->at[i] + rewrite->lead.count);
    return out;
}

/* where the leading dims (optional) and these dims are in a split operand */
static struct ir_dims in_split(const struct rewrite *rewrite, uint32_t i, const struct ir_dims *list,
                               bool with_leading)
{
    struct ir_dims out = {.count = 0};
    for (uint32_t k = 0; with_leading && k < rewrite->lead.count; k++)
        append(&out, rewrite->splits[i].lead[rewrite->lead.at[k].at[0]]);
    for (uint32_t k = 0; k < list->count; k++)
        append(&out, rewrite->splits[i].at[list->at[k]]);
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
        append(&rewrite->order, at[split->lead[rewrite->lead.at[k].at[0]]]);
    for (uint32_t dim = 0; dim < out->rank; dim++)
        if (!ir_dims_has(&rewrite->order, dim))
            append(&rewrite->order, dim);
    set_dims(e, rewrite, "dimensions", &dims);
    return true;
}

static void set_scatter(struct emit *e, struct lower_op *lower, const struct ir_scatter *scatter)
{
    struct text text = {0};
    text_add(&text, "#stablehlo.scatter<");
    annotate_add_dims(&text, "update_window_dims", &scatter->update_window_dims);
    annotate_add_dims(&text, "inserted_window_dims", &scatter->inserted_window_dims);
    annotate_add_dims(&text, "input_batching_dims", &scatter->input_batch);
    annotate_add_dims(&text, "scatter_indices_batching_dims", &scatter->indices_batch);
    annotate_add_dims(&text, "scatter_dims_to_operand_dims", &scatter->dims_to_operand);
    if (scatter->index_vector_dim)
        text_printf(&text, ", index_vector_dim = %lld", (long long)scatter->index_vector_dim);
    text_add(&text, ">");
    emit_attr_set(e, lower->attrs, &lower->attr_count, "scatter_dimension_numbers",
                  ir_build_text(e->builder, text.at));
    text_release(&text);
    emit_attr_set(e, lower->attrs, &lower->attr_count, "indices_are_sorted",
                  ir_build_bool(e->builder, false));
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
    uint32_t rank = type_of(e, operand(e, rewrite, 1))->rank;
    for (uint32_t dim = 0; dim < rank; dim++)
        if (dim != scatter.index_vector_dim)
            append(&positions, dim);
    for (uint32_t dim = 0; dim < type_of(e, operand(e, rewrite, 2))->rank; dim++)
        if (!ir_dims_has(&scatter.update_window_dims, dim))
            append(&updates, dim);
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
    set_scatter(e, lower, &scatter);
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
            append(&all, i == 0 ? 0 : i == 1 ? size : 1);
        }
        for (uint32_t k = 0; k < list.count; k++)
            append(&all, list.at[k]);
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
        if (!sum && in_ranges(e, operand(e, rewrite, i)))
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
    if (!type_of(e, operand(e, rewrite, 0))->rank)
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

/* the leading dims of a partial sum over these axes: one in this order, or (count 0) one an axis */
static struct leading leading_dims(const struct emit *e, uint32_t mask, const struct emit_axes *order)
{
    struct leading lead = {.count = order->count != 0, .at = {*order}};
    for (uint8_t axis = 0; axis < e->mesh->axis_count && !order->count; axis++)
        if (mask >> axis & 1)
            lead.at[lead.count++] = (struct emit_axes){1, {axis}};
    return lead;
}

/* Sets the op's attributes and sizes for the leading dims; false (attributes are then spoilt): cannot be. */
static bool prepare(struct emit *e, struct lower_op *lower, const struct emit_axes *order,
                    struct rewrite *rewrite)
{
    bool other;
    *rewrite = (struct rewrite){.lower = lower, .maker = true};
    rewrite->mask = partial_sum(e, lower->step->results, &other);
    if (other || lower->out_count != 1 || lower->in_count > MAX_OPERANDS ||
        !in_ranges(e, lower->step->results))
        return false;
    rewrite->lead = leading_dims(e, rewrite->mask, order);
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

/* ---------------------------------------------------------------- groups */
static void refuse(struct summands *summands, uint32_t value)
{
    if (summands->parent[value] != IR_NONE)
        summands->refused[set_find(summands->parent, value)] = true;
}

static bool same_order(const struct emit_axes *one, const struct emit_axes *other)
{
    return one->count == other->count && memcmp(one->at, other->at, one->count) == 0;
}

static void join(struct summands *summands, uint32_t one, uint32_t other)
{
    uint32_t a = set_find(summands->parent, one), b = set_find(summands->parent, other);
    if (a == b)
        return;
    summands->parent[b] = a;
    if (!summands->makers[a])
        summands->order[a] = summands->order[b];
    else if (summands->makers[b] && !same_order(&summands->order[a], &summands->order[b]))
        summands->order[a].count = 0;
    summands->refused[a] |= summands->refused[b];
    summands->makers[a] += summands->makers[b];
    summands->carried[a] |= summands->carried[b];
}

/* the axes on the one dim that a maker sums over; count 0: they are on several */
static struct emit_axes order_of(const struct emit *e, const struct rewrite *rewrite)
{
    uint32_t i = 0;
    while (rewrite->kinds[i] != SPLIT)
        i++;
    const struct split *split = &rewrite->splits[i];
    struct emit_axes axes, none = {.count = 0};
    int64_t size;
    (void)axes_of_dim(e, operand(e, rewrite, i), split->from[rewrite->lead.at[0].at[0]], &axes, &size);
    return mask_of(&axes) == rewrite->mask ? axes : none;
}

static bool can_be_written(struct emit *e, const struct spmd_step *step, bool *maker, struct emit_axes *order)
{
    struct error ignored = {0};
    struct rewrite rewrite;
    const struct emit_axes apart = {.count = 0};
    struct emit_tensor out = emit_local_tensor(e, step->results);
    struct lower_op lower = {
        .step = step, .op = step->op, .in_count = step->operand_count, .out_count = 1, .out = &out};
    e->op = step->op;
    bool can = emit_attrs(e, step->op, lower.attrs, &lower.attr_count, &ignored) == ERROR_OK &&
               prepare(e, &lower, &apart, &rewrite);
    *maker = can && rewrite.maker;
    *order = *maker ? order_of(e, &rewrite) : apart;
    return can;
}

static bool same_region(const struct emit *e, const struct spmd_step *step, uint32_t value)
{
    uint32_t defined = e->local->values[value].step;
    if (defined == SPMD_NONE)
        return false;
    const struct spmd_step *by = &e->local->steps[defined];
    return by->depth + (by->kind == SPMD_LOOP) == step->depth; /* a loop's: arguments of its blocks */
}

static void look_at_op(struct emit *e, struct summands *summands, const struct spmd_step *step)
{
    bool maker = false, result = summands->parent[step->results] != IR_NONE;
    struct emit_axes order = {.count = 0};
    bool can = result && step->result_count == 1 && can_be_written(e, step, &maker, &order);
    for (uint32_t i = 0; i < step->operand_count; i++) {
        uint32_t value = spmd_operand(e->local, step, i);
        if (summands->parent[value] == IR_NONE)
            continue;
        if (!can || !same_region(e, step, value))
            refuse(summands, value);
        if (result)
            join(summands, step->results, value);
    }
    for (uint32_t i = 0; i < step->result_count && !can; i++)
        refuse(summands, step->results + i);
    if (maker) { /* a group of its own so far */
        summands->makers[step->results] = 1;
        summands->order[step->results] = order;
    }
}

static bool same_sums(const struct emit *e, uint32_t one, uint32_t other)
{
    bool odd, other_odd;
    return partial_sum(e, one, &odd) == partial_sum(e, other, &other_odd) && !odd && !other_odd;
}

/* What goes over from one value to another of the same program value, in summands as in one array. */
static void look_at_pair(struct emit *e, struct summands *summands, uint32_t from, uint32_t to)
{
    if (summands->parent[from] == IR_NONE && summands->parent[to] == IR_NONE)
        return;
    if (summands->parent[from] != IR_NONE && summands->parent[to] != IR_NONE)
        join(summands, to, from);
    if (!same_sums(e, from, to) || !in_ranges(e, from) || !in_ranges(e, to)) {
        refuse(summands, from);
        refuse(summands, to);
    }
}

/* The first of two partials that meet in a loop is what was carried, so one maker is enough there. */
static void look_at_carried(struct emit *e, struct summands *summands, uint32_t from, uint32_t to)
{
    look_at_pair(e, summands, from, to);
    if (summands->parent[to] != IR_NONE)
        summands->carried[set_find(summands->parent, to)] = true;
}

/* A loop's begin (from the initial values to both blocks' arguments) or end (from what the body returns to the
 * results and to what the body is given next time). */
static void look_at_loop(struct emit *e, struct summands *summands, const struct spmd_step *step,
                         const struct spmd_step *begin)
{
    for (uint32_t i = 0; i < step->operand_count; i++) {
        uint32_t value = spmd_operand(e->local, step, i);
        if (step->kind == SPMD_LOOP && !same_region(e, step, value))
            refuse(summands, value);
        look_at_carried(e, summands, value, step->results + i);
        look_at_carried(e, summands, value, begin->results + begin->operand_count + i);
    }
}

/* Zeros, or what the first device of the group keeps: becomes a partial sum that had none before. */
static void look_at_mask(struct emit *e, struct summands *summands, const struct spmd_step *step)
{
    bool other;
    uint32_t value = spmd_operand(e->local, step, 0);
    refuse(summands, value);
    if (summands->parent[value] != IR_NONE || !in_ranges(e, value) || !partial_sum(e, step->results, &other) ||
        other)
        refuse(summands, step->results);
}

/* Ops, reductions, masks, loops that carry them, and slices along other axes know summands; other reshards
 * do not, nor is what a reduction over some of the axes leaves. */
static void look_at_step(struct emit *e, struct summands *summands, const struct spmd_step *step,
                         const struct spmd_step *loop)
{
    bool reduces = step->kind == SPMD_ALL_REDUCE || step->kind == SPMD_REDUCE_SCATTER;
    if (step->kind == SPMD_OP && step->result_count) {
        look_at_op(e, summands, step);
    } else if (step->kind == SPMD_LOOP || step->kind == SPMD_LOOP_END) {
        look_at_loop(e, summands, step, loop);
    } else if (step->kind == SPMD_MASK) {
        look_at_mask(e, summands, step);
    } else if (step->kind == SPMD_SLICE && same_region(e, step, spmd_operand(e->local, step, 0))) {
        look_at_pair(e, summands, spmd_operand(e->local, step, 0), step->results);
    } else {
        for (uint32_t i = 0; i < step->operand_count; i++) {
            uint32_t value = spmd_operand(e->local, step, i);
            if (!reduces || !same_region(e, step, value))
                refuse(summands, value);
        }
        for (uint32_t i = 0; i < step->result_count; i++)
            refuse(summands, step->results + i);
    }
}

static void look_at_steps(struct emit *e, struct summands *summands)
{
    VEC(const struct spmd_step *) loops = {0};
    for (uint32_t i = 0; i < e->local->step_count; i++) {
        const struct spmd_step *step = &e->local->steps[i];
        if (step->kind == SPMD_LOOP)
            VEC_PUSH(&loops, step);
        look_at_step(e, summands, step, loops.count ? loops.at[loops.count - 1] : NULL);
        if (step->kind == SPMD_LOOP_END)
            loops.count--;
    }
    VEC_FREE(&loops);
}

static uint32_t *table(uint32_t count)
{
    uint32_t *at = mem_alloc(((size_t)count + 1) * sizeof *at);
    for (uint32_t i = 0; i < count; i++)
        at[i] = IR_NONE;
    return at;
}

struct summands *summands_create(struct emit *e)
{
    struct summands *summands = mem_zalloc(1, sizeof *summands);
    summands->count = e->local->value_count;
    summands->parent = table(summands->count);
    summands->written = table(summands->count);
    summands->refused = mem_zalloc((size_t)summands->count + 1, sizeof *summands->refused);
    summands->makers = mem_zalloc((size_t)summands->count + 1, sizeof *summands->makers);
    summands->carried = mem_zalloc((size_t)summands->count + 1, sizeof *summands->carried);
    summands->order = mem_zalloc((size_t)summands->count + 1, sizeof *summands->order);
    for (uint32_t value = 0; value < summands->count; value++) {
        bool other;
        if (partial_sum(e, value, &other))
            summands->parent[value] = value;
    }
    look_at_steps(e, summands);
    return summands;
}

void summands_destroy(struct summands *summands)
{
    if (!summands)
        return;
    free(summands->parent);
    free(summands->refused);
    free(summands->makers);
    free(summands->carried);
    free(summands->order);
    free(summands->written);
    free(summands);
}

bool summands_has(const struct summands *summands, uint32_t value)
{
    if (summands->parent[value] == IR_NONE)
        return false;
    uint32_t root = set_find(summands->parent, value);
    return !summands->refused[root] && summands->makers[root] + summands->carried[root] >= 2;
}

/* ---------------------------------------------------------------- writing */
static struct emit_tensor constrained(struct emit *e, uint32_t value, struct emit_tensor tensor,
                                      const struct emit_axes *axes)
{
    struct text sharding = {0};
    text_add(&sharding, "#sdy.sharding");
    emit_dims_sharding_text(e, tensor.rank, axes, &sharding);
    struct ir_attr attr = ir_build_named(e->builder, "sharding", ir_build_text(e->builder, sharding.at));
    text_release(&sharding);
    e->moved = e->local->values[value].origin;
    tensor = emit_one(e, "sdy.sharding_constraint", &tensor, 1, tensor.element, tensor.rank, tensor.dims,
                      &attr, 1);
    e->moved = IR_NONE;
    return tensor;
}

static struct emit_tensor raise(struct emit *e, const struct rewrite *rewrite, struct emit_tensor tensor)
{
    int64_t dims[EMIT_MAX_RANK], map[EMIT_MAX_RANK];
    for (uint32_t k = 0; k < rewrite->lead.count; k++)
        dims[k] = emit_shards(e, &rewrite->lead.at[k]);
    for (uint32_t dim = 0; dim < tensor.rank; dim++) {
        dims[rewrite->lead.count + dim] = tensor.dims[dim];
        map[dim] = rewrite->lead.count + dim;
    }
    return emit_broadcast(e, tensor, rewrite->lead.count + tensor.rank, dims, map);
}

static struct emit_tensor read_operand(struct emit *e, const struct summands *summands,
                                       const struct rewrite *rewrite, uint32_t i)
{
    uint32_t value = operand(e, rewrite, i);
    struct emit_tensor tensor = emit_local_tensor(e, value);
    if (rewrite->kinds[i] == SUMMANDS) {
        tensor.value = summands->written[value]; /* its type is the builder's; sizes are not looked at */
        return tensor;
    }
    tensor.value = annotate_use(e, value);
    if (rewrite->kinds[i] == RAISED)
        return raise(e, rewrite, tensor);
    if (rewrite->kinds[i] == AS_IS)
        return tensor;
    const struct split *split = &rewrite->splits[i];
    return constrained(e, value, emit_reshape(e, tensor, split->rank, split->dims), split->axes);
}

/* leading dims over their axes, the others as the value's form says */
static struct emit_tensor constrain_result(struct emit *e, const struct rewrite *rewrite, uint32_t value,
                                           struct emit_tensor tensor)
{
    struct emit_axes axes[EMIT_MAX_RANK];
    int64_t size;
    for (uint32_t k = 0; k < rewrite->lead.count; k++)
        axes[k] = rewrite->lead.at[k];
    for (uint32_t dim = 0; dim < type_of(e, value)->rank; dim++)
        (void)axes_of_dim(e, value, dim, &axes[rewrite->lead.count + dim], &size);
    return constrained(e, value, tensor, axes);
}

enum error_code summands_step(struct emit *e, struct summands *summands, struct lower_op *lower,
                              struct error *error)
{
    struct rewrite rewrite;
    BASE_CHECK(
        prepare(e, lower, &summands->order[set_find(summands->parent, lower->step->results)], &rewrite));
    for (uint32_t i = 0; i < lower->in_count; i++)
        lower->in[i] = read_operand(e, summands, &rewrite, i);
    enum error_code code = lower_as_is(e, lower, error);
    if (code)
        return code;
    struct emit_tensor out = lower->out[0];
    if (rewrite.order.count)
        out = emit_transpose(e, out, rewrite.order.at);
    if (rewrite.maker)
        out = constrain_result(e, &rewrite, lower->step->results, out);
    summands->written[lower->step->results] = out.value;
    return ERROR_OK;
}

static struct leading leading_of_value(const struct emit *e, const struct summands *summands, uint32_t value)
{
    bool other;
    return leading_dims(e, partial_sum(e, value, &other),
                        &summands->order[set_find(summands->parent, value)]);
}

/* true in the first place of the leading dims, false elsewhere; of a tensor's sizes with them */
static struct emit_tensor first_place(struct emit *e, const struct leading *lead, struct emit_tensor tensor)
{
    struct emit_tensor out = {.value = IR_NONE};
    int64_t dims[EMIT_MAX_RANK], map[EMIT_MAX_RANK];
    for (uint32_t k = 0; k < lead->count; k++) {
        dims[k] = tensor.dims[k];
        map[k] = k;
    }
    for (uint32_t k = 0; k < lead->count; k++) {
        struct ir_attr attr = ir_build_named(e->builder, "iota_dimension", ir_build_int(e->builder, k, "i64"));
        struct emit_tensor place = emit_one(e, "stablehlo.iota", NULL, 0, IR_I32, lead->count, dims, &attr, 1);
        place = emit_compare(e, "EQ", place, emit_integer(e, IR_I32, 0, lead->count, dims));
        out = k ? emit_binary(e, "stablehlo.and", out, place) : place;
    }
    return emit_broadcast(e, out, tensor.rank, tensor.dims, map);
}

static void write_mask(struct emit *e, struct summands *summands, const struct spmd_step *step,
                       const struct rewrite *rewrite)
{
    struct emit_tensor tensor = emit_local_tensor(e, step->results);
    tensor.value = annotate_use(e, spmd_operand(e->local, step, 0));
    tensor = raise(e, rewrite, tensor);
    if (step->mask_initial)
        tensor = emit_select(e, first_place(e, &rewrite->lead, tensor), tensor,
                             emit_zeros(e, tensor.element, tensor.rank, tensor.dims));
    summands->written[step->results] = constrain_result(e, rewrite, step->results, tensor).value;
}

void summands_move(struct emit *e, struct summands *summands, const struct spmd_step *step)
{
    const struct rewrite rewrite = {.lead = leading_of_value(e, summands, step->results)};
    e->op = step->op;
    if (step->kind == SPMD_MASK) {
        write_mask(e, summands, step, &rewrite);
        return;
    }
    struct emit_tensor tensor = summands_tensor(e, summands, step->results);
    tensor.value = summands->written[spmd_operand(e->local, step, 0)];
    summands->written[step->results] = constrain_result(e, &rewrite, step->results, tensor).value;
}

struct emit_tensor summands_tensor(const struct emit *e, const struct summands *summands, uint32_t value)
{
    struct emit_tensor tensor = emit_local_tensor(e, value);
    struct leading lead = leading_of_value(e, summands, value);
    memmove(tensor.dims + lead.count, tensor.dims, tensor.rank * sizeof *tensor.dims);
    for (uint32_t k = 0; k < lead.count; k++)
        tensor.dims[k] = emit_shards(e, &lead.at[k]);
    tensor.rank += lead.count;
    tensor.value = summands->written[value];
    return tensor;
}

void summands_define(struct summands *summands, uint32_t value, uint32_t built)
{
    summands->written[value] = built;
}

uint32_t summands_sum(struct emit *e, const struct summands *summands, uint32_t value)
{
    struct emit_tensor out = emit_local_tensor(e, value);
    struct ir_dims dims = {.count = 0};
    struct leading lead = leading_of_value(e, summands, value);
    while (dims.count < lead.count)
        append(&dims, dims.count);
    struct ir_attr attr =
        ir_build_named(e->builder, "dimensions", ir_build_ints(e->builder, dims.at, dims.count));
    e->moved = e->local->values[value].origin;
    uint32_t operands[2] = {summands->written[value], emit_zeros(e, out.element, 0, NULL).value};
    uint32_t type = emit_type(e, out.element, out.rank, out.dims);
    struct ir_op_spec spec = {"stablehlo.reduce", operands, 2, &type, 1, &attr, 1, emit_position(e)};
    uint32_t op = ir_build_begin(e->builder, &spec);
    emit_reducer_region(e, NDA_REDUCE_ADD, out.element);
    ir_build_end(e->builder);
    e->moved = IR_NONE;
    return ir_builder_result(e->builder, op, 0);
}
