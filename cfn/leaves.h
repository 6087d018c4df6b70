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
 * Two workers may share a tree: each has every other leaf by bound, and knows the least bound of those that
 * it has not.
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
    double *gain;      /* by node: what branching on it raised bounds by, a running mean; below 0: untried */
    bool shared;       /* another worker has leaves of this tree, too, of which */
    int64_t elsewhere; /* is the least bound, when they were shared; INT64_MAX: it had none */
};

void cfn_leaves_release(struct cfn_leaves *leaves); /* zeroed is fine */
/* row k of start, to fill; NULL: too many leaves for one. start_size: of this row and all others; another
 * than before forgets those. */
float *cfn_leaves_start(struct cfn_leaves *leaves, int32_t k, size_t start_size);
/* leaf `from` in place of leaf `to` */
void cfn_leaves_move(const struct cfn_model *model, struct cfn_leaves *leaves, int32_t to, int32_t from);
/* -> the first leaf here of the least bound, -1: none; and that bound, INT64_MAX: none */
int32_t cfn_leaves_least(const struct cfn_leaves *leaves);
int64_t cfn_leaves_bound(const struct cfn_leaves *leaves);
/* every other leaf, by ascending bound, goes to `to`, whose own are forgotten; both know of the other's */
void cfn_leaves_share(const struct cfn_model *model, struct cfn_leaves *from, struct cfn_leaves *to);
/* they come back, whatever has become of them; what `from` learnt of nodes that `to` did not try, too */
void cfn_leaves_join(const struct cfn_model *model, struct cfn_leaves *to, struct cfn_leaves *from);
/* room for `count` leaves of this model; what is there stays */
void cfn_leaves_reserve(const struct cfn_model *model, struct cfn_leaves *leaves, int32_t count);

#endif
