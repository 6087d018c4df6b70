/* Structs -> JSON objects of api.md. Internal to api/. Returned values are owned references. */
#ifndef TOAST_API_ENCODE_H
#define TOAST_API_ENCODE_H

#include "api/json.h"
#include "api/request.h"
#include "report/report.h"

json_t *encode_mesh(const struct mesh *m);
json_t *encode_machine(const struct cost_machine *machine, const struct mesh *m);
json_t *encode_axes(const struct mesh *m, const uint8_t *axes, uint32_t count);
json_t *encode_price(const struct price *p, struct cost c, int64_t limit);
/* plan.json; pins: the request's constraints (JSON array) or NULL */
json_t *encode_plan(const struct report *r, const json_t *pins);
json_t *encode_report(const struct report *r);

#endif
