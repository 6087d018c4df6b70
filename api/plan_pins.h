/* A request's "constraints_from_plan": the shardings of a plan.json as constraints of the request, one a
 * tensor, each by its exact name. Inside api/; works on the request's JSON before it is decoded. */
#ifndef TOAST_API_PLAN_PINS_H
#define TOAST_API_PLAN_PINS_H

#include "api/json.h"

/* arguments, and as many results, of one plan: bounds what is made before constraints are decoded */
enum { PLAN_PINS_MAX = 20000 };

/* Leaves of the member what makes the plan again (pins, decisions, factors, hash), where it states a hash,
 * else nothing; a second call changes nothing more. Adds constraints for every argument and result of the
 * plan, before those that the request has itself (the last one on a tensor wins); the plan's mesh, where
 * the request has none. Nothing when there is no such member. ERROR_INVALID_PLAN with pointer. */
enum error_code plan_pins_expand(json_t *request, struct error *e) BASE_CHECKED;

#endif
