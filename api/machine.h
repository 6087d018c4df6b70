/* The machine a request describes: device, overrides, profile, memory limit. Internal to api/. */
#ifndef TOAST_API_MACHINE_H
#define TOAST_API_MACHINE_H

#include "api/request.h"

/* Strings and tables of *out are borrowed from the catalogue and the request. ERROR_INVALID_REQUEST. */
enum error_code api_machine_create(const struct api_request *r, struct cost_machine *out,
                                   struct error *e) BASE_CHECKED;

#endif
