/* Small JSON bodies of the service: problems (RFC 9457), a job's error and progress, a session's key, the
 * device catalogue, presets, limits. Every text that is returned is owned by the caller. */
#ifndef TOAST_API_BODIES_H
#define TOAST_API_BODIES_H

#include "planner/job.h"

/* a job's progress, written by workers and shown as it is: stage "search", "polish", "network", "emit",
 * "done" */
char *api_progress_json(const struct planner_progress *progress, const char *stage);
/* the same before there is a search (stage "analyse"): keeps the `best` of what was shown before (JSON text,
 * may be "") */
char *api_progress_stage_json(const char *stage, const char *before);

/* a few words for people, the same for every problem of a code */
const char *api_problem_title(enum error_code code);
/* application/problem+json (RFC 9457, section 3) of an error; instance and request_id may be NULL */
char *api_problem_json(const struct error *e, int http_status, const char *instance, const char *request_id);
/* {"code", "message", "line", "column", "pointer"}: job.error */
char *api_error_json(const struct error *e);
/* {"key": "..."} -> *key (owned). ERROR_INVALID_JSON, ERROR_INVALID_REQUEST with pointer. */
enum error_code api_key_parse(const char *json, size_t size, char **key, struct error *e) BASE_CHECKED;

char *api_devices_json(void); /* the catalogue (cost/machine.h) */
/* for every device of the catalogue one host, and four of them: what a first request may look like */
char *api_presets_json(void);
struct api_tenant_limits {
    int open_jobs, submits_per_s, event_streams;
    int64_t module_bytes;
};
char *api_limits_json(const struct api_tenant_limits *of_tenant);

#endif
