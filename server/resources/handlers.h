/* The endpoints of this folder, as server/routes.def names them. A handler replies exactly once, now or
 * after the exchange was suspended; an admit_ refuses before the body is read, or lets it come. */
#ifndef TOAST_SERVER_RESOURCES_HANDLERS_H
#define TOAST_SERVER_RESOURCES_HANDLERS_H

#include "base/error.h"

struct exchange;

/* flight.c: takes the Idempotency-Key. ERROR_MALFORMED, ERROR_IN_FLIGHT */
enum error_code flight_begin(struct exchange *x, struct error *e);
/* modules.c: a module or a problem comes to a tenant that has it already, or has room. ERROR_QUOTA */
enum error_code modules_begin(struct exchange *x, struct error *e);

/* compare.c */
void handle_compare(struct exchange *x);

/* events.c */
void handle_job_events(struct exchange *x);

/* info.c */
void handle_livez(struct exchange *x);
void handle_readyz(struct exchange *x);
void handle_metrics(struct exchange *x);
void handle_openapi(struct exchange *x);
void handle_devices(struct exchange *x);
void handle_presets(struct exchange *x);
void handle_limits(struct exchange *x);

/* jobs.c */
void handle_job_get(struct exchange *x);
void handle_job_cancel(struct exchange *x);
void handle_job_retry(struct exchange *x);
void handle_job_delete(struct exchange *x);
void handle_job_plan(struct exchange *x);
void handle_artifact_list(struct exchange *x);
void handle_artifact_get(struct exchange *x);

/* list.c */
void handle_job_list(struct exchange *x);

/* modules.c */
void handle_module_post(struct exchange *x);
void handle_module_put(struct exchange *x);
void handle_module_get(struct exchange *x);
void handle_module_delete(struct exchange *x);
void handle_blob_get(struct exchange *x);
void handle_blob_put(struct exchange *x);

/* price.c */
void handle_price(struct exchange *x);

/* problems.c */
void handle_problem_post(struct exchange *x);

/* profiles.c */
void handle_profile_put(struct exchange *x);
void handle_profile_get(struct exchange *x);
void handle_profile_list(struct exchange *x);

/* submit.c */
void handle_job_post(struct exchange *x);
void handle_job_put(struct exchange *x);

#endif
