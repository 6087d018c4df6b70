/* The open leaves of best-first branch and bound (prove.h): plain data that a worker owns, prove.c works on
 * and saved.c writes out. Leaf k is row k of two arrays:
 *
 *     bound[k]                     certified: no answer within the leaf costs less
 *     mask[k * value_count .. )    a byte for each padded value (model.h: offset), 1 = not in this leaf
 *     start[k * start_size .. )    multipliers, then messages, that gave the bound; where started[k]: up to
 *                                  a limit of memory. Any serve, these are near
 *
 *     every answer cheaper than the best one known lies in exactly one leaf
 *
 * One thread at a time: the worker's. */
#ifndef TOAST_CFN_LEAVES_H
#define TOAST_CFN_LEAVES_H

#include "cfn/model.h"

struct cfn_leaves {
    bool begun;          /* the root has been probed; without it there are no leaves yet */
    int32_t count, room; /* leaves; those that the arrays have room for */
    int64_t *bound;      /* owned, as the next two */
    uint8_t *mask;
    float *start;      /* owned, as the next; start_room rows */
    uint8_t *started;  /* by leaf */
    size_t start_size; /* time_count and the messages of the model at work */
    int32_t start_room;
    double *gain; /* by node: what branching on it raised bounds by, running mean of cost units */
};

void cfn_leaves_release(struct cfn_leaves *leaves); /* zeroed is fine */
/* row k of start, to fill; NULL: too many leaves for one. start_size: of this row and all others; another
 * than before forgets those. */
float *cfn_leaves_start(struct cfn_leaves *leaves, int32_t k, size_t start_size);
/* leaf `from` in place of leaf `to` */
void cfn_leaves_move(const struct cfn_model *model, struct cfn_leaves *leaves, int32_t to, int32_t from);
/* room for `count` leaves of this model; what is there stays */
void cfn_leaves_reserve(const struct cfn_model *model, struct cfn_leaves *leaves, int32_t count);

#endif
