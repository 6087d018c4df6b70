/* A request's "constraints_from_plan": what of a plan.json counts there. Inside api/; works on the request's
 * JSON before it is decoded. */
#ifndef TOAST_API_PLAN_PINS_H
#define TOAST_API_PLAN_PINS_H

#include "api/json.h"

/* arguments, and as many results, of one plan: bounds what constraints take */
enum { PLAN_PINS_MAX = 20000 };

/* Leaves of the member the names and dims of its arguments and results (constraints, each by its exact name,
 * before those that the request has itself: the last one on a tensor wins) and, where it states a hash, what
 * makes the plan again (pins, decisions, factors); a second call changes nothing more. The plan's mesh, where
 * the request has none. Nothing when there is no such member. ERROR_INVALID_PLAN with pointer. */
enum error_code plan_pins_keep(json_t *request, struct error *e) BASE_CHECKED;
/* The plan without those dims: what makes it again, owned. NULL: it says no more than its shardings. */
json_t *plan_pins_made_by(const json_t *plan);
/* All constraints of a request as plan_pins_keep leaves it: what plan.json calls pins. Owned. */
json_t *plan_pins_of(const json_t *request);

#endif
