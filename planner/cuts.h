/* A plan asked otherwise: dimensions (groups, analysis/nda.h) cut over given axes, or left whole. The
 * plan's own decisions and factors of these dimensions are left out, the cuts come first, and what else the
 * plan says follows where it still can: what an axis is taken from gives way, as in the report's "best try
 * ffn@model first". */
#ifndef TOAST_PLANNER_CUTS_H
#define TOAST_PLANNER_CUTS_H

#include "mcts/search.h"
#include "planner/request.h"

struct planner_cut {
    const char *group; /* its label */
    const char *axes[MESH_MAX_AXES];
    uint32_t axis_count; /* 0: left whole */
};

/* *decisions and *factors, which replay to a plan, become those of the edited one, which is put into *plan
 * (initialised). ERROR_INVALID_REQUEST with pointer /cut/GROUP or /cut/GROUP/0: no such dimension or axis;
 * it cannot be cut over that axis (its size, a pin, an earlier cut); too many decisions. */
enum error_code planner_cuts_apply(const struct planner_cut *cuts, uint32_t cut_count,
                                   const struct plan_context *context, struct search_plan *decisions,
                                   struct plan_factors *factors, struct plan *plan,
                                   struct error *e) BASE_CHECKED;

#endif
