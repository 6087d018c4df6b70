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
 * A sum that a loop carries has them too, from the initial value (zeros, or in the first place what the first
 * device keeps) to the loop's result, which is reduced: XLA would reduce in every iteration.
 *
 * Groups are joined over the steps' operands. One is written so only when two makers or more are in it, or
 * one and a loop that carries it, every member is an op of the tables of annotate_rewrite.c, in ranges of its
 * dims, and every use is a member or the reduction. Others stay as annotate.c writes them. */
#include "emit/annotate_summands.h"

#include "base/sets.h"
#include "emit/annotate_rewrite.h"

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
    (void)rewrite_axes_of_dim(e, rewrite_operand(e, rewrite, i), split->from[rewrite->lead.at[0].at[0]],
                              &axes, &size);
    return rewrite_mask(&axes) == rewrite->mask ? axes : none;
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
               rewrite_prepare(e, &lower, &apart, &rewrite);
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
    return rewrite_partial_sum(e, one, &odd) == rewrite_partial_sum(e, other, &other_odd) && !odd &&
           !other_odd;
}

/* What goes over from one value to another of the same program value, in summands as in one array. */
static void look_at_pair(struct emit *e, struct summands *summands, uint32_t from, uint32_t to)
{
    if (summands->parent[from] == IR_NONE && summands->parent[to] == IR_NONE)
        return;
    if (summands->parent[from] != IR_NONE && summands->parent[to] != IR_NONE)
        join(summands, to, from);
    if (!same_sums(e, from, to) || !rewrite_in_ranges(e, from) || !rewrite_in_ranges(e, to)) {
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

/* A loop's begin (from the initial values to both blocks' arguments) or end (from what the body returns to
 * the results and to what the body is given next time). */
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
    if (summands->parent[value] != IR_NONE || !rewrite_in_ranges(e, value) ||
        !rewrite_partial_sum(e, step->results, &other) || other)
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
        if (rewrite_partial_sum(e, value, &other))
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

/* Is every partial sum that meets another, or that a loop carries, written so? */
static bool keeps_all(const struct emit *e, const struct summands *summands)
{
    for (uint32_t value = 0; value < summands->count; value++)
        if (summands->parent[value] == value && summands->refused[value] && summands->carried[value])
            return false;
    for (uint32_t i = 0; i < e->local->step_count; i++) {
        const struct spmd_step *step = &e->local->steps[i];
        uint32_t partials = 0;
        for (uint32_t k = 0; step->kind == SPMD_OP && k < step->operand_count; k++) {
            uint32_t value = spmd_operand(e->local, step, k);
            partials += summands->parent[value] != IR_NONE && !summands_has(summands, value);
        }
        if (partials > 1)
            return false;
    }
    return true;
}

static struct leading leading_of_value(const struct emit *e, const struct summands *summands, uint32_t value)
{
    bool other;
    return rewrite_leading(e, rewrite_partial_sum(e, value, &other),
                           &summands->order[set_find(summands->parent, value)]);
}

/* ---------------------------------------------------------------- for who writes them otherwise */
static void add_axes(struct plan_sharding *list, const struct emit_axes *axes)
{
    uint32_t dim = list->rank++;
    list->dims[dim].count = axes->count;
    memcpy(list->dims[dim].axes, axes->at, sizeof list->dims[dim].axes);
}

static void add_sharding(const struct emit *e, uint32_t value, struct plan_sharding *list)
{
    for (uint32_t dim = 0; dim < rewrite_type(e, value)->rank; dim++) {
        struct emit_axes axes;
        int64_t size;
        (void)rewrite_axes_of_dim(e, value, dim, &axes, &size);
        add_axes(list, &axes);
    }
}

/* sum->value, its leading dims and how its own are split */
static void describe(const struct emit *e, uint32_t value, const struct leading *lead, struct emit_sum *sum)
{
    *sum = (struct emit_sum){.value = e->local->values[value].origin};
    for (uint32_t k = 0; k < lead->count; k++)
        add_axes(&sum->leading, &lead->at[k]);
    add_sharding(e, value, &sum->sharding);
}

static void add_cut(const struct emit *e, const struct rewrite *rewrite, uint32_t operand,
                    struct emit_sum *sum)
{
    const struct split *split = &rewrite->splits[operand];
    struct plan_sharding *from = &sum->cuts[sum->cut_count].from;
    add_sharding(e, rewrite_operand(e, rewrite, operand), &sum->cuts[sum->cut_count].sharding);
    sum->cuts[sum->cut_count++].operand = operand;
    uint32_t at = 0;
    for (uint32_t dim = 0; dim < rewrite_type(e, rewrite_operand(e, rewrite, operand))->rank; dim++) {
        struct emit_axes leads = {.count = 0};
        for (; at < split->at[dim]; at++) /* dims of the split operand before the rest of this one */
            for (uint8_t k = 0; k < rewrite->lead.count; k++)
                if (split->lead[rewrite->lead.at[k].at[0]] == at)
                    leads.at[leads.count++] = k;
        add_axes(from, &leads);
        at++;
    }
}

static bool list_maker(struct emit *e, const struct summands *summands, const struct spmd_step *step,
                       struct emit_sum *sum)
{
    struct error ignored = {0};
    struct rewrite rewrite;
    struct emit_tensor out = emit_local_tensor(e, step->results);
    struct lower_op lower = {
        .step = step, .op = step->op, .in_count = step->operand_count, .out_count = 1, .out = &out};
    e->op = step->op;
    if (emit_attrs(e, step->op, lower.attrs, &lower.attr_count, &ignored) != ERROR_OK ||
        !rewrite_prepare(e, &lower, &summands->order[set_find(summands->parent, step->results)], &rewrite) ||
        !rewrite.maker)
        return false;
    describe(e, step->results, &rewrite.lead, sum);
    for (uint32_t i = 0; i < step->operand_count; i++)
        if (rewrite.kinds[i] == SPLIT)
            add_cut(e, &rewrite, i, sum);
    return true;
}

void summands_list(struct emit *e, const struct summands *summands, struct emit_sums *out)
{
    VEC(struct emit_sum) list = {0};
    struct emit_sum sum;
    for (uint32_t i = 0; i < e->local->step_count; i++) {
        const struct spmd_step *step = &e->local->steps[i];
        if (step->kind == SPMD_OP && step->result_count == 1 && summands_has(summands, step->results) &&
            list_maker(e, summands, step, &sum))
            VEC_PUSH(&list, sum);
        for (uint32_t k = 0; step->kind == SPMD_LOOP && k < step->operand_count; k++) {
            uint32_t value = step->results + step->operand_count + k; /* the body's argument */
            if (!summands_has(summands, value))
                continue;
            struct leading lead = leading_of_value(e, summands, value);
            describe(e, value, &lead, &sum);
            VEC_PUSH(&list, sum);
        }
    }
    *out = (struct emit_sums){list.at, (uint32_t)list.count, keeps_all(e, summands)};
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
    uint32_t value = rewrite_operand(e, rewrite, i);
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
    for (uint32_t dim = 0; dim < rewrite_type(e, value)->rank; dim++)
        (void)rewrite_axes_of_dim(e, value, dim, &axes[rewrite->lead.count + dim], &size);
    return constrained(e, value, tensor, axes);
}

enum error_code summands_step(struct emit *e, struct summands *summands, struct lower_op *lower,
                              struct error *error)
{
    struct rewrite rewrite;
    BASE_CHECK(rewrite_prepare(e, lower, &summands->order[set_find(summands->parent, lower->step->results)],
                               &rewrite));
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
        struct ir_attr attr =
            ir_build_named(e->builder, "iota_dimension", ir_build_int(e->builder, k, "i64"));
        struct emit_tensor place =
            emit_one(e, "stablehlo.iota", NULL, 0, IR_I32, lead->count, dims, &attr, 1);
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
        rewrite_append(&dims, dims.count);
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
