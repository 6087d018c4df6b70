/* Pinned shardings: what a request's constraints and the module's own sdy.sharding attributes,
 * sharding_constraint and reshard ops and GSPMD's shardings (gspmd.h) say, as pins of analysis/plan.h, and
 * the context that they make.
 *
 * Every pin is either taken over whole or refused with the place where it stands; the module's own are left
 * out only where the caller says so (module_pins). */
#ifndef TOAST_PLANNER_PINS_H
#define TOAST_PLANNER_PINS_H

#include "planner/request.h"

#include "analysis/plan.h"

/* *out: owned list (free). Constraints match names of arguments (or results) by shell pattern; one that
 * matches nothing, or a tensor of another rank, is ERROR_INVALID_CONSTRAINT with its pointer and
 * the first names there are. A sharding in the module with axes that the mesh has not, or with parts of an
 * axis, is ERROR_INVALID_CONSTRAINT with the op's line. The module's pins come first: where two are on one
 * tensor, or on two that share a buffer, the last one wins, which is the request's. */
enum error_code planner_pins_create(const struct planner_constraint *constraints, uint32_t count,
                                    bool module_pins, const struct nda *n, const struct mesh *mesh,
                                    struct plan_pin **out, uint32_t *pin_count, struct error *e) BASE_CHECKED;
/* The context with those pins, completed by propagation when `complete`. *out: owned. Errors as above, and
 * those of plan_context_create. */
enum error_code planner_context_create(const struct planner_constraint *constraints, uint32_t count,
                                       bool module_pins, bool complete, const struct nda *n,
                                       const struct mesh *mesh, struct plan_context **out,
                                       struct error *e) BASE_CHECKED;
/* what the module says about shardings, for what is done about them and for warnings */
struct planner_annotation_counts {
    /* sdy.sharding of arguments, results and ops, sdy.sharding_constraint, sdy.reshard; where Shardy says
     * nothing, mhlo.sharding of arguments, results and custom calls @Sharding */
    uint32_t pins;
    uint32_t priorities; /* p0, p1 .. in them */
    uint32_t unused;     /* sdy.sharding_group, sdy.propagation_barrier: not read */
};
struct planner_annotation_counts planner_count_annotations(const struct nda *n);

#endif
