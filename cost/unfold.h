/* What the two parts of the unfolding share: unfold.c, which kernels there are, for the clock, and
 * unfold_memory.c, what else their memory is priced by. */
#ifndef TOAST_COST_UNFOLD_H
#define TOAST_COST_UNFOLD_H

#include "analysis/fold.h"
#include "cost/internal.h"
#include "cost/joining.h"

struct instance { /* a kernel of the unfolded program, in the order of the fold's kernels, then of copies */
    uint32_t kernel, copy; /* copy 0: the kernel itself; else of the layer `copy` further on */
    /* twice that in the body of the whole program, and then in its results; of kernels 1 more. Even: here the
     * first use of what waits in a bucket empties it */
    uint32_t position;
};

struct version { /* by value of the program */
    uint32_t stamp, first, last;
};

struct unfold {
    const struct price_scratch *scratch; /* of the pricing that is under way; so the next two */
    const struct spmd_local *local;
    const struct fold_places *places;
    uint32_t copies;
    uint32_t *anchors, *used; /* per step, per value that waited: a position */
    size_t anchor_room, used_room;
    struct instance *instances, *sorted;
    size_t instance_room, sorted_room;
    uint32_t instance_count;
    uint32_t *counts; /* per kernel: its first root, in the pool of what is unfolded */
    size_t count_room;
    uint32_t *copied; /* per kernel: what its first copy makes, the copies' results on end; 0: not copied */
    size_t copied_room;
    struct version *versions;
    size_t version_room;
    uint32_t stamp;
    uint32_t *later, *ordinal; /* per value of the local program: the next version; which one it is */
    size_t later_room, ordinal_room;
    uint32_t value_count;  /* with those of copies */
    VEC(uint32_t) waiting; /* sorted instances: all_reduces in buckets */
    uint8_t *waits;        /* per value: made by one of them */
    size_t waits_room;
    uint32_t placed; /* kernels */
    const struct cost_machine *machine;
    struct joining joining;
    int64_t run_bytes; /* of the gathers that run as one and end with the kernel placed last */
    size_t value_room, step_room;
    const struct instance **placed_as; /* per kernel that is placed */
    size_t placed_room;
    uint32_t tuples; /* combined collectives so far */
    /* unfold_memory.c */
    size_t operand_room;
    uint32_t *among_roots; /* per operand of the fold: its place among what the kernel reads; NDA_NONE */
    size_t among_room;
};

/* the node's like, so many layers of the whole program on; NDA_NONE: there is none */
static inline uint32_t layers_on(const struct fold_places *places, uint32_t node, int32_t by)
{
    for (; node != NDA_NONE && by > 0; by--)
        node = places->next[node];
    for (; node != NDA_NONE && by < 0; by++)
        node = places->before[node];
    return node;
}

struct reading {           /* of a root, by the kernel that is copied */
    uint32_t value, model; /* model: its like in the layer that is copied */
    uint32_t copied;       /* where the model's copies are; 0: there are none */
    uint32_t results;      /* of the model's kernel */
    int32_t layer, by;     /* of the value; layers of the fold from the kernel to it */
};

/* of a buffer that no argument is */
struct reading unfold_read(const struct unfold *unfold, uint32_t value);
/* what the copy reads there */
uint32_t unfold_read_by(const struct unfold *unfold, const struct reading *reading, uint32_t copy);

static inline const struct spmd_step *unfold_step(const struct unfold *unfold,
                                                  const struct instance *instance)
{
    return &unfold->local->steps[unfold->scratch->kernels[instance->kernel].step];
}

#endif
