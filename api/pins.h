/* Pinned shardings: the request's constraints and the module's own sdy.sharding attributes and
 * constraints, as pins of analysis/plan.h. Internal to api/. */
#ifndef TOAST_API_PINS_H
#define TOAST_API_PINS_H

#include "api/request.h"

/* Owned list (free). Constraints match argument (or result) names by shell pattern; one that matches
 * nothing is ERROR_INVALID_CONSTRAINT with pointer /constraints/i and the nearest names. Axes of a
 * sharding in the module that the mesh does not have are refused with the op's line. The request's pins
 * come after the module's: the last on a tensor wins. */
enum error_code pins_create(const struct api_constraint *constraints, uint32_t count, const struct nda *n,
                            const struct mesh *m, struct plan_pin **out, uint32_t *pin_count,
                            struct error *e) BASE_CHECKED;

#endif
