/* Axes along the factors of one op: read from its tensors' dims, merged over the tensors in order, cut where
 * something is in the way, given to the tensors that have less, written back to their dims. */
#include "spmd/propagate_op.h"

#include <stdlib.h>

struct propagate_axes propagate_axes_on(const struct spmd_form *form, uint8_t atom, uint32_t axis_count)
{
    struct propagate_axes axes = {.count = 0};
    for (uint32_t axis = 0; axis < axis_count; axis++)
        if (form->at[axis] == atom) {
            axes.at[form->position[axis]] = (uint8_t)axis;
            axes.count++;
        }
    return axes;
}

/* the next factor of a tensor's dim from this one on; factor_count: none is left */
static uint32_t factor_from(const struct propagate_op *op, const struct propagate_tensor *tensor, uint8_t dim,
                            uint32_t from)
{
    while (from < op->factor_count && tensor->dim_of[from] != dim)
        from++;
    return from;
}

/* A dim's axes go to its factors, major first: the last takes what comes, the others what divides them. */
static void open_dim(const struct propagate_op *op, struct propagate_tensor *tensor, uint8_t dim)
{
    struct propagate_axes list = propagate_axes_on(tensor->form, dim, op->mesh->axis_count);
    uint32_t factor = factor_from(op, tensor, dim, 0);
    int64_t left = factor < op->factor_count ? op->factors[factor].size : 0;
    for (uint8_t i = 0; i < list.count && factor < op->factor_count;) {
        int64_t size = op->mesh->axes[list.at[i]].size;
        uint32_t next = factor_from(op, tensor, dim, factor + 1);
        if (left == 1 && next < op->factor_count) {
            factor = next;
            left = op->factors[factor].size;
        } else if (next == op->factor_count || left % size == 0) {
            tensor->axes[factor].at[tensor->axes[factor].count++] = list.at[i++];
            left = left % size == 0 ? left / size : 1;
        } else {
            for (; factor < op->factor_count; factor = factor_from(op, tensor, dim, factor + 1))
                tensor->stuck |= 1ull << factor;
        }
    }
}

void propagate_op_open(struct propagate_op *op)
{
    for (uint32_t i = 0; i < op->tensor_count; i++) {
        struct propagate_tensor *tensor = &op->tensors[i];
        uint64_t seen = 0; /* dims */
        tensor->stuck = 0;
        for (uint32_t factor = 0; factor < op->factor_count; factor++)
            tensor->axes[factor].count = 0;
        for (uint32_t factor = 0; factor < op->factor_count; factor++) {
            uint8_t dim = tensor->dim_of[factor];
            if (dim == PROPAGATE_NO_DIM || seen >> dim & 1)
                continue;
            seen |= 1ull << dim;
            open_dim(op, tensor, dim);
        }
    }
}

/* a minor factor's axes are ranges of the dim only where the major ones are cut to one element */
static void write_dim(const struct propagate_op *op, struct propagate_tensor *tensor, uint8_t dim)
{
    struct propagate_axes before = propagate_axes_on(tensor->form, dim, op->mesh->axis_count),
                          after = {.count = 0};
    int64_t left = 1;
    for (uint32_t factor = factor_from(op, tensor, dim, 0); factor < op->factor_count && left == 1;
         factor = factor_from(op, tensor, dim, factor + 1)) {
        left = op->factors[factor].size;
        for (uint8_t i = 0; i < tensor->axes[factor].count; i++) {
            after.at[after.count++] = tensor->axes[factor].at[i];
            left /= op->mesh->axes[tensor->axes[factor].at[i]].size;
        }
    }
    if (after.count <= before.count)
        return;
    for (uint8_t i = 0; i < after.count; i++) {
        tensor->form->at[after.at[i]] = dim;
        tensor->form->position[after.at[i]] = i;
    }
    tensor->changed = true;
}

static void write_back(struct propagate_op *op)
{
    for (uint32_t i = 0; i < op->tensor_count; i++)
        for (uint32_t factor = 0; factor < op->factor_count; factor++)
            if (op->tensors[i].dim_of[factor] != PROPAGATE_NO_DIM &&
                factor_from(op, &op->tensors[i], op->tensors[i].dim_of[factor], 0) == factor)
                write_dim(op, &op->tensors[i], op->tensors[i].dim_of[factor]);
}

static bool has(const struct propagate_axes *axes, uint8_t axis)
{
    for (uint8_t i = 0; i < axes->count; i++)
        if (axes->at[i] == axis)
            return true;
    return false;
}

static bool strictly_longer(const struct propagate_axes *axes, const struct propagate_axes *than)
{
    for (uint8_t i = 0; i < than->count; i++)
        if (i >= axes->count || axes->at[i] != than->at[i])
            return false;
    return axes->count > than->count;
}

/* The common beginning; where one list ends, the rest of the other: of `more` only while nothing was in
 * conflict and these tensors may add. */
static void merge(struct propagate_axes *so_far, const struct propagate_axes *more, bool *may_add)
{
    uint8_t i = 0;
    while (i < so_far->count && i < more->count && so_far->at[i] == more->at[i])
        i++;
    if (i < so_far->count && i < more->count) {
        so_far->count = i;
        *may_add = false;
        return;
    }
    for (; *may_add && i < more->count; i++)
        so_far->at[so_far->count++] = more->at[i];
}

static struct propagate_axes merged(const struct propagate_op *op, uint32_t factor)
{
    struct propagate_axes axes = {.count = 0};
    bool may_add = true, results_first = op->direction[factor] == PROPAGATE_BACKWARD;
    for (int turn = 0; turn < 2 && op->direction[factor]; turn++) {
        for (uint32_t i = 0; i < op->tensor_count; i++) {
            const struct propagate_tensor *tensor = &op->tensors[i];
            if (tensor->dim_of[factor] != PROPAGATE_NO_DIM &&
                tensor->result == (results_first == (turn == 0)))
                merge(&axes, &tensor->axes[factor], &may_add);
        }
        may_add &= op->direction[factor] == PROPAGATE_BOTH;
    }
    return axes;
}

/* axes that nothing else of the tensor has */
static void cut_across(const struct propagate_op *op, const struct propagate_tensor *tensor, uint32_t factor,
                       struct propagate_axes *axes)
{
    for (uint8_t i = 0; i < axes->count; i++) {
        bool own = tensor->dim_of[factor] != PROPAGATE_NO_DIM && has(&tensor->axes[factor], axes->at[i]);
        bool taken = !own && tensor->form->at[axes->at[i]] != SPMD_REPLICATED;
        for (uint32_t other = 0; other < op->factor_count && !taken; other++)
            taken = other != factor && has(&tensor->axes[other], axes->at[i]);
        if (taken)
            axes->count = i;
    }
}

/* axes that the tensor's factor has, or can be split further by; the last factor of a dim need not divide */
static void cut_within(const struct propagate_op *op, const struct propagate_tensor *tensor, uint32_t factor,
                       struct propagate_axes *axes)
{
    int64_t left = op->factors[factor].size;
    bool last = factor_from(op, tensor, tensor->dim_of[factor], factor + 1) == op->factor_count;
    for (uint8_t i = 0; i < axes->count; i++) {
        int64_t size = op->mesh->axes[axes->at[i]].size;
        if (!has(&tensor->axes[factor], axes->at[i]) &&
            (tensor->closed || tensor->stuck >> factor & 1 || (!last && left % size != 0)))
            axes->count = i;
        else
            left = left % size == 0 ? left / size : 1;
    }
}

static void give(struct propagate_tensor *tensor, uint32_t factor, const struct propagate_axes *axes)
{
    if (strictly_longer(axes, &tensor->axes[factor]))
        tensor->axes[factor] = *axes;
}

struct rank { /* in which order factors are served */
    double source_size, shards;
    uint32_t source;
    uint8_t factor;
};

static int by_rank(const void *left, const void *right)
{
    const struct rank *rank = left, *other = right;
    if (rank->source_size != other->source_size)
        return rank->source_size > other->source_size ? -1 : 1;
    if (rank->shards != other->shards)
        return rank->shards > other->shards ? -1 : 1;
    if (rank->source != other->source)
        return rank->source < other->source ? -1 : 1;
    return rank->factor - other->factor;
}

/* the largest tensor that has all of the axes already comes first */
static struct rank rank_of(const struct propagate_op *op, uint32_t factor, const struct propagate_axes *axes)
{
    struct rank rank = {.source_size = -1, .source = UINT32_MAX, .factor = (uint8_t)factor};
    for (uint8_t i = 0; op->elementwise && i < axes->count; i++)
        rank.shards = (rank.shards ? rank.shards : 1) * (double)op->mesh->axes[axes->at[i]].size;
    for (uint32_t i = 0; i < op->tensor_count && axes->count; i++) {
        const struct propagate_axes *own = &op->tensors[i].axes[factor];
        if (op->tensors[i].dim_of[factor] == PROPAGATE_NO_DIM || op->tensors[i].size <= rank.source_size)
            continue;
        if (!strictly_longer(axes, own) && own->count >= axes->count) {
            rank.source_size = op->tensors[i].size;
            rank.source = i;
        }
    }
    return rank;
}

/* an operand of an elementwise op is not split where the result could not be */
static void as_the_result(const struct propagate_op *op, uint32_t factor, struct propagate_axes *axes)
{
    for (uint32_t i = 0; i < op->tensor_count; i++) {
        if (op->tensors[i].result && op->tensors[i].dim_of[factor] != PROPAGATE_NO_DIM &&
            strictly_longer(axes, &op->tensors[i].axes[factor]))
            *axes = op->tensors[i].axes[factor];
    }
}

/* Does a tensor lack axes that its factor could have? Of five visits four find none that does; what is cut of
 * the axes gives no more. */
static bool lacks(const struct propagate_op *op, uint32_t factor, const struct propagate_axes *axes)
{
    for (uint32_t i = 0; i < op->tensor_count && axes->count; i++)
        if (op->tensors[i].dim_of[factor] != PROPAGATE_NO_DIM &&
            strictly_longer(axes, &op->tensors[i].axes[factor]))
            return true;
    return false;
}

void propagate_op_run(struct propagate_op *op)
{
    struct propagate_axes axes[NDA_MAX_FACTORS];
    struct rank order[NDA_MAX_FACTORS];
    bool any = false;
    for (uint32_t factor = 0; factor < op->factor_count; factor++) {
        axes[factor] = merged(op, factor);
        any |= lacks(op, factor, &axes[factor]);
    }
    if (!any)
        return;
    for (uint32_t factor = 0; factor < op->factor_count; factor++)
        order[factor] = rank_of(op, factor, &axes[factor]);
    qsort(order, op->factor_count, sizeof *order, by_rank);
    for (int results = 1; results >= 0; results--)
        for (uint32_t i = 0; i < op->tensor_count; i++) {
            struct propagate_tensor *tensor = &op->tensors[i];
            for (uint32_t k = 0; k < op->factor_count && tensor->result == (results == 1); k++) {
                uint32_t factor = order[k].factor;
                struct propagate_axes wanted = axes[factor];
                if (!wanted.count || tensor->dim_of[factor] == PROPAGATE_NO_DIM)
                    continue;
                cut_within(op, tensor, factor, &wanted);
                cut_across(op, tensor, factor, &wanted);
                if (!tensor->result && op->elementwise)
                    as_the_result(op, factor, &wanted);
                give(tensor, factor, &wanted);
            }
        }
    write_back(op);
}
