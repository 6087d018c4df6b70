/* Structs -> JSON values: mesh, machine, price, plan.json, report.json. Inside api/. Every value returned
 * is an owned reference. Times are picoseconds, sizes bytes, rates FLOP/s or bytes/s, and every member's
 * name says which. Nothing written depends on a clock, a host, a number of threads or of workers. */
#ifndef TOAST_API_ENCODE_H
#define TOAST_API_ENCODE_H

#include "api/json.h"
#include "api/request.h"
#include "report/report.h"

json_t *encode_mesh(const struct mesh *mesh);
json_t *encode_machine(const struct cost_machine *machine, const struct mesh *mesh);
json_t *encode_axes(const struct mesh *mesh, const uint8_t *axes, uint32_t count);
/* limit: bytes of one device, for "fits" */
json_t *encode_price(const struct price *price, struct cost cost, int64_t limit);
/* plan.json, which api/plan_file.h reads back; its pins are the constraints of the canonical request */
json_t *encode_plan(const struct report *report, const json_t *request);
/* what a report says of alternatives: null where none were asked for */
json_t *encode_alternatives(const struct report *report);
/* what a referee said: null where none was asked for */
json_t *encode_referee(const struct report *report);
/* report.json */
json_t *encode_report(const struct report *report);

#endif
