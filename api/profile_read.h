/* Decoding of a profile that stands inside a request. Inside api/: shared by profile.c and request.c. */
#ifndef TOAST_API_PROFILE_READ_H
#define TOAST_API_PROFILE_READ_H

#include "api/json.h"
#include "api/profile.h"

extern const char *const api_rate_names[COST_RATES + 1]; /* "f64", "f32" ..; NULL at the end */

/* object -> profile in the arena. ERROR_INVALID_REQUEST with the value's pointer. */
enum error_code profile_read(struct json_at at, struct arena *arena, struct planner_profile **out,
                             struct error *e) BASE_CHECKED;

#endif
