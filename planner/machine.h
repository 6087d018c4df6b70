/* The machine that a request describes: the catalogue's device, over it the profile, over it the
 * request's own figures, and the memory limit. */
#ifndef TOAST_PLANNER_MACHINE_H
#define TOAST_PLANNER_MACHINE_H

#include "planner/request.h"

/* Strings and tables of *out are borrowed from the catalogue and the request. ERROR_NOT_AVAILABLE
 * (/device/profile): the request names a profile that nobody has looked up. ERROR_INVALID_REQUEST: as
 * cost_machine_create_device. */
enum error_code planner_machine_create(const struct planner_request *request, struct cost_machine *out,
                                       struct error *e) BASE_CHECKED;

#endif
