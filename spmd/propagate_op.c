/* Axes along the factors of one op: merged over its tensors in order, cut where something is in the way,
 * given to the tensors that have less. */
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

static struct propagate_axes axes_of(const struct propagate_op *op, const struct propagate_tensor *tensor,
                                     uint32_t factor)
{
    return propagate_axes_on(tensor->form, tensor->atom_of[factor], op->mesh->axis_count);
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
            if (tensor->atom_of[factor] == SPMD_REPLICATED ||
                tensor->result != (results_first == (turn == 0)))
                continue;
            struct propagate_axes more = axes_of(op, tensor, factor);
            merge(&axes, &more, &may_add);
        }
        may_add &= op->direction[factor] == PROPAGATE_BOTH;
    }
    return axes;
}

/* axes that another factor of the tensor does not have */
static void cut_across(const struct propagate_op *op, const struct propagate_tensor *tensor, uint32_t factor,
                       struct propagate_axes *axes)
{
    (void)op;
    for (uint8_t i = 0; i < axes->count; i++) {
        uint8_t at = tensor->form->at[axes->at[i]];
        if (at != SPMD_REPLICATED && at != tensor->atom_of[factor])
            axes->count = i;
    }
}

/* axes that the tensor's factor has, or can be split further by */
static void cut_within(const struct propagate_op *op, const struct propagate_tensor *tensor, uint32_t factor,
                       struct propagate_axes *axes)
{
    struct propagate_axes own = axes_of(op, tensor, factor);
    int64_t left = op->factors[factor].size;
    for (uint8_t i = 0; i < axes->count; i++) {
        int64_t size = op->mesh->axes[axes->at[i]].size;
        if (!has(&own, axes->at[i]) && (tensor->closed || left % size != 0))
            axes->count = i;
        else
            left /= size;
    }
}

static void give(const struct propagate_op *op, struct propagate_tensor *tensor, uint32_t factor,
                 const struct propagate_axes *axes)
{
    struct propagate_axes own = axes_of(op, tensor, factor);
    if (!strictly_longer(axes, &own))
        return;
    for (uint8_t i = own.count; i < axes->count; i++) {
        tensor->form->at[axes->at[i]] = tensor->atom_of[factor];
        tensor->form->position[axes->at[i]] = i;
    }
    tensor->changed = true;
}

void propagate_agreed(struct propagate_op *op)
{
    for (uint32_t factor = 0; factor < op->factor_count; factor++) {
        struct propagate_axes axes = merged(op, factor);
        for (uint32_t i = 0; i < op->tensor_count && axes.count; i++) {
            cut_across(op, &op->tensors[i], factor, &axes);
            if (op->tensors[i].atom_of[factor] != SPMD_REPLICATED)
                cut_within(op, &op->tensors[i], factor, &axes);
        }
        for (uint32_t i = 0; i < op->tensor_count && axes.count; i++)
            if (op->tensors[i].atom_of[factor] != SPMD_REPLICATED)
                give(op, &op->tensors[i], factor, &axes);
    }
}

/* ---- what some tensors can take ---- */

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
        if (op->tensors[i].atom_of[factor] == SPMD_REPLICATED || op->tensors[i].size <= rank.source_size)
            continue;
        struct propagate_axes own = axes_of(op, &op->tensors[i], factor);
        if (!strictly_longer(axes, &own) && own.count >= axes->count) {
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
        if (!op->tensors[i].result || op->tensors[i].atom_of[factor] == SPMD_REPLICATED)
            continue;
        struct propagate_axes own = axes_of(op, &op->tensors[i], factor);
        if (strictly_longer(axes, &own))
            *axes = own;
    }
}

void propagate_possible(struct propagate_op *op)
{
    struct propagate_axes axes[NDA_MAX_FACTORS];
    struct rank order[NDA_MAX_FACTORS];
    bool any = false;
    for (uint32_t factor = 0; factor < op->factor_count; factor++) {
        axes[factor] = merged(op, factor);
        any |= axes[factor].count != 0;
        order[factor] = rank_of(op, factor, &axes[factor]);
    }
    if (!any)
        return;
    qsort(order, op->factor_count, sizeof *order, by_rank);
    for (int results = 1; results >= 0; results--)
        for (uint32_t i = 0; i < op->tensor_count; i++) {
            struct propagate_tensor *tensor = &op->tensors[i];
            for (uint32_t k = 0; k < op->factor_count && tensor->result == (results == 1); k++) {
                uint32_t factor = order[k].factor;
                struct propagate_axes wanted = axes[factor];
                if (!wanted.count || tensor->atom_of[factor] == SPMD_REPLICATED)
                    continue;
                cut_within(op, tensor, factor, &wanted);
                cut_across(op, tensor, factor, &wanted);
                if (!tensor->result && op->elementwise)
                    as_the_result(op, factor, &wanted);
                give(op, tensor, factor, &wanted);
            }
        }
}
