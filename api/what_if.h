/* What-if requests and their answers as JSON: a module and a plan (or an expert's plan by name, or pinned
 * shardings) -> price and report, without a search. planner/what_if.h does the pricing; here is the text
 * around it, and the form in which a request is handed on to the process that prices it.
 *
 * A request is a job request without what concerns a search, and at most one of
 *   "plan"      a plan.json: brings mesh, pins and walk, device and memory limit unless the request has them
 *   "baseline"  an expert's plan by name, "fsdp:data+megatron:model"
 * Neither: what the constraints alone say ("planner": "propagate" completes them first). "report": false
 * leaves the report out. */
#ifndef TOAST_API_WHAT_IF_H
#define TOAST_API_WHAT_IF_H

#include "api/request.h"

struct api_what_if;

/* of a plan.json beside the request: a million factors, at some 60 bytes each */
enum { API_MAX_PLAN_BYTES = 64 << 20 };

/* json as for a job; plan: text of a plan.json that came beside the request, or NULL. module as in
 * api_request_parse. ERROR_INVALID_JSON, ERROR_INVALID_REQUEST, ERROR_INVALID_PLAN and what
 * api_request_parse refuses, with pointer. */
enum error_code api_what_if_parse(const char *json, size_t size, const char *plan, size_t plan_size,
                                  const char *module_digest, bool module_optional, struct api_what_if **out,
                                  struct error *e) BASE_CHECKED;
/* A job request as a dry run: it is read, analysed and checked as the job would be; nothing is searched.
 * Run gives {"dry_run", "module", "digest", "build", ..} and the errors of planner_job_create. */
enum error_code api_what_if_dry_run(const struct api_request *request, struct api_what_if **out,
                                    struct error *e) BASE_CHECKED;
/* what api_what_if_forward gave in another process */
enum error_code api_what_if_parse_forwarded(const char *json, size_t size, const char *plan, size_t plan_size,
                                            const char *module_digest, struct api_what_if **out,
                                            struct error *e) BASE_CHECKED;
void api_what_if_destroy(struct api_what_if *what_if); /* NULL is fine */
/* the job request in it (borrowed): module, mesh, device .. */
const struct api_request *api_what_if_request(const struct api_what_if *what_if);

/* the same for another process, to be parsed with the module's digest: request without module and plan,
 * and the plan's text (NULL: none). Borrowed. */
const char *api_what_if_forward(const struct api_what_if *what_if, const char **plan, size_t *plan_size);

/* Prices; *json is the reply's text (owned): {"price", "plan", "report"}. Errors of the module and of pins as
 * planner_job_create, ERROR_INVALID_PLAN. Pure. */
enum error_code api_what_if_run(const struct api_what_if *what_if, const struct ir_program *image,
                                char **json, struct error *e) BASE_CHECKED;

#endif
