/* One op of the propagation: its tensors, and one pass over its factors. Only propagate.c includes it. */
#ifndef TOAST_SPMD_PROPAGATE_OP_H
#define TOAST_SPMD_PROPAGATE_OP_H

#include "spmd/local.h"

enum propagate_direction {
    PROPAGATE_NONE = 0,
    PROPAGATE_FORWARD = 1,
    PROPAGATE_BACKWARD = 2,
    PROPAGATE_BOTH = 3
};

struct propagate_tensor {
    struct spmd_form *form;
    bool closed, result, changed;
    uint8_t atom_of[NDA_MAX_FACTORS]; /* SPMD_REPLICATED: the factor is not in it */
    double size;                      /* elements */
};

struct propagate_op {
    const struct mesh *mesh;
    const struct nda_factor *factors;
    uint32_t factor_count;
    struct propagate_tensor *tensors; /* operands first */
    uint32_t tensor_count, tensor_room;
    bool elementwise;
    uint8_t direction[NDA_MAX_FACTORS]; /* enum propagate_direction */
};

/* axes of an atom, major first */
struct propagate_axes {
    uint8_t at[MESH_MAX_AXES], count;
};
struct propagate_axes propagate_axes_on(const struct spmd_form *form, uint8_t atom, uint32_t axis_count);

/* Both set .changed of the tensors that they split further, and never take a split back. */
void propagate_agreed(struct propagate_op *op);   /* what no tensor objects to */
void propagate_possible(struct propagate_op *op); /* what a tensor can take, whatever the others can */

#endif
