/* What the reductions did, on one stack; undone in reverse it turns an answer of the reduced network into
 * one of the problem.
 *
 *       pushed   DROP 4   MERGE 7 -> 4   ELIMINATE 9 (4, 2)   DROP 2      a node's value: map[those named]
 *       applied    4th         3rd               2nd            1st
 *
 * A step reads only nodes that are alive after it in time, so before it in the way back; values of all nodes
 * alive in the reduced network have to be set first. Owned by the network, used by one thread. */
#ifndef TOAST_CFN_UNDO_H
#define TOAST_CFN_UNDO_H

#include "base/memory.h"

#include <stdint.h>

enum cfn_undo_kind {
    CFN_UNDO_DROP,  /* node's value v was map[v] before */
    CFN_UNDO_MERGE, /* node's value is map[value of one] */
    /* node's value is map[value of one * width + value of other]; -1: no such neighbour */
    CFN_UNDO_ELIMINATE,
};

struct cfn_undo_step {
    enum cfn_undo_kind kind;
    int32_t node, one, other, width;
    int32_t *map;
};

struct cfn_undo {
    VEC(struct cfn_undo_step) steps;
    struct arena *arena; /* of the maps */
};

void cfn_undo_init(struct cfn_undo *undo);
void cfn_undo_release(struct cfn_undo *undo);
/* a new step with a map of `count` entries for the caller to fill */
int32_t *cfn_undo_push(struct cfn_undo *undo, struct cfn_undo_step step, size_t count);
/* values: of all nodes; those alive in the reduced network are set, the others are filled */
void cfn_undo_apply(const struct cfn_undo *undo, int32_t *values);

#endif
