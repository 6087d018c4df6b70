/* Forms and reshards without a walk: what planners that price ops and edges one by one ask (cost-function
 * networks). Immutable once created; shared by threads. */
#ifndef TOAST_SPMD_FORMS_H
#define TOAST_SPMD_FORMS_H

#include "spmd/local.h"

struct spmd_forms;
/* ERROR_UNSUPPORTED_MODULE as of spmd_walk. The context must outlive it. */
enum error_code spmd_forms_create(const struct plan_context *context, const struct spmd_options *options,
                                  struct spmd_forms **out, struct error *e) BASE_CHECKED;
void spmd_forms_destroy(struct spmd_forms *forms);
/* walks of this local program (zeroed) use the tables that are here, instead of making their own: forms must
 * outlive them */
void spmd_forms_lend(const struct spmd_forms *forms, struct spmd_local *local);

/* Form of the value of a slot of `space` under its cells (mesh axis_count entries): operands as they are
 * wanted, results as they come out, partial ones included. Factors that the walk would not shard count as
 * replicated. */
void spmd_forms_slot(const struct spmd_forms *forms, uint32_t space, uint32_t slot,
                     const struct plan_cell *cells, struct spmd_form *out);

enum spmd_freedom {
    SPMD_FIXED, /* the op gives its results in one form */
    /* may be computed again in another form from operands in other forms (converts, moves) */
    SPMD_REMADE,
    SPMD_FREE /* in any form without communication (constants, iota, what is made of them) */
};
enum spmd_freedom spmd_forms_freedom(const struct spmd_forms *forms, uint32_t op);
/* a partial operand may stay so through it */
bool spmd_forms_passes_partials(const struct spmd_forms *forms, uint32_t op);

/* One step of a reshard; bytes as cost_collective_price wants them, of a SPMD_SLICE those of its result. */
struct spmd_move {
    uint8_t kind, axis_count, axes[MESH_MAX_AXES];
    int64_t bytes;
};
/* as RESHARD_MAX_STEPS of walk.h, of which the moves are a copy: checked in forms.c */
enum { SPMD_MAX_MOVES = 5 * MESH_MAX_AXES };
/* the cheapest sequence known from one form of a value to another */
uint32_t spmd_forms_moves(const struct spmd_forms *forms, uint32_t value, const struct spmd_form *from,
                          const struct spmd_form *to, struct spmd_move out[SPMD_MAX_MOVES]);

#endif
