/* The endpoints of this folder, as server/routes.def names them. A handler replies exactly once, now or
 * after the exchange was suspended; an admit_ refuses before the body is read, or lets it come. */
#ifndef TOAST_SERVER_RESOURCES_HANDLERS_H
#define TOAST_SERVER_RESOURCES_HANDLERS_H

#include "base/error.h"

struct exchange;

/* flight.c: takes the Idempotency-Key. ERROR_MALFORMED, ERROR_IN_FLIGHT */
enum error_code flight_begin(struct exchange *exchange, struct error *e);
/* modules.c: a module or a problem comes to a tenant that has it already, or has room. ERROR_QUOTA */
enum error_code modules_begin(struct exchange *exchange, struct error *e);

/* compare.c */
void handle_compare(struct exchange *exchange);

/* dead.c */
void handle_job_requeue(struct exchange *exchange);

/* events.c */
void handle_job_events(struct exchange *exchange);

/* info.c */
void handle_livez(struct exchange *exchange);
void handle_readyz(struct exchange *exchange);
void handle_metrics(struct exchange *exchange);
void handle_openapi(struct exchange *exchange);
void handle_devices(struct exchange *exchange);
void handle_presets(struct exchange *exchange);
void handle_limits(struct exchange *exchange);

/* jobs.c */
void handle_job_get(struct exchange *exchange);
void handle_job_cancel(struct exchange *exchange);
void handle_job_retry(struct exchange *exchange);
void handle_job_delete(struct exchange *exchange);
void handle_job_plan(struct exchange *exchange);
void handle_artifact_list(struct exchange *exchange);
void handle_artifact_get(struct exchange *exchange);
void handle_alternative_get(struct exchange *exchange);

/* list.c */
void handle_job_list(struct exchange *exchange);

/* modules.c */
void handle_module_post(struct exchange *exchange);
void handle_module_put(struct exchange *exchange);
void handle_module_get(struct exchange *exchange);
void handle_module_delete(struct exchange *exchange);
void handle_blob_get(struct exchange *exchange);
void handle_blob_put(struct exchange *exchange);

/* price.c */
void handle_price(struct exchange *exchange);

/* problems.c */
void handle_problem_post(struct exchange *exchange);

/* profiles.c */
void handle_profile_put(struct exchange *exchange);
void handle_profile_get(struct exchange *exchange);
void handle_profile_list(struct exchange *exchange);

/* referee.c */
void handle_referee_claim(struct exchange *exchange);
void handle_referee_beat(struct exchange *exchange);
void handle_referee_done(struct exchange *exchange);
void handle_referee_died(struct exchange *exchange);
void handle_referee_release(struct exchange *exchange);

/* submit.c */
void handle_job_post(struct exchange *exchange);
void handle_job_put(struct exchange *exchange);

#endif
