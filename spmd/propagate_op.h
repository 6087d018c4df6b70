/* One op of the propagation: its tensors, and one pass over its factors. Only propagate.c includes it. */
#ifndef TOAST_SPMD_PROPAGATE_OP_H
#define TOAST_SPMD_PROPAGATE_OP_H

#include "spmd/propagate_rule.h"

enum propagate_direction {
    PROPAGATE_NONE = 0,
    PROPAGATE_FORWARD = 1,
    PROPAGATE_BACKWARD = 2,
    PROPAGATE_BOTH = 3
};

/* axes, major first */
struct propagate_axes {
    uint8_t at[MESH_MAX_AXES], count;
};
struct propagate_tensor {
    struct spmd_form *form; /* at[axis]: the dim that it splits, or SPMD_REPLICATED */
    bool closed, result, changed;
    const uint8_t *dim_of; /* [factor]: PROPAGATE_NO_DIM: the factor is not in it */
    double size;           /* of its factors */
    /* of each factor, from the form: propagate_op_open */
    struct propagate_axes axes[NDA_MAX_FACTORS];
    uint64_t stuck; /* bit f: an axis cuts factor f unevenly, nothing is added to it */
};

struct propagate_op {
    const struct mesh *mesh;
    const struct propagate_factor *factors;
    uint32_t factor_count;
    struct propagate_tensor *tensors; /* operands first */
    uint32_t tensor_count, tensor_room;
    bool elementwise;
    uint8_t direction[NDA_MAX_FACTORS]; /* enum propagate_direction */
};

/* axes of an atom or dim */
struct propagate_axes propagate_axes_on(const struct spmd_form *form, uint8_t atom, uint32_t axis_count);

/* reads the tensors' forms into the axes of their factors */
void propagate_op_open(struct propagate_op *op);

/* Gives every tensor what it can take, whatever the others can; sets .changed of those that are split
 * further, never takes a split back. */
void propagate_op_run(struct propagate_op *op);

#endif
