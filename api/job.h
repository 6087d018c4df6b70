/* A planning job as pure functions: what `toast plan` runs in one process and workers run as tasks.
 *
 *   text --ir_read--> program image        (task `read`; a blob)
 *   image + request --api_job_create--> job (every process that works on it; deterministic, cached)
 *   search_begin / search_task / search_merge over api_job_search(job) (tasks rollouts, merge, polish)
 *   api_job_finish --> artifacts            (task `emit`: plan.json, modules, report, proof)
 * Equal inputs give equal bytes, whichever process runs what. */
#ifndef TOAST_API_JOB_H
#define TOAST_API_JOB_H

#include "api/request.h"
#include "mcts/search.h"

struct api_job;

/* image must outlive the job (borrowed). Errors: of the module (line, column), of pins (pointer
 * /constraints/i), of the memory limit when the inputs alone exceed it on every plan
 * (ERROR_MEMORY_LIMIT_TOO_SMALL, says how many bytes). */
enum error_code api_job_create(const struct api_request *r, const struct ir_program *image,
                               struct api_job **out, struct error *e) BASE_CHECKED;
void api_job_destroy(struct api_job *j);
const struct search *api_job_search(const struct api_job *j);
const struct evaluator *api_job_evaluator(const struct api_job *j);
const struct plan_context *api_job_context(const struct api_job *j);
const struct nda *api_job_nda(const struct api_job *j);

/* Planners auto and cfn: the module as cost-function networks, solved after the search (task `network`);
 * *out is owned bytes that api_job_take_network checks and keeps: api_job_finish then races its plan with
 * the search's. Under cfn with ten times the work and a bound, and the better plan wins; under auto the
 * network's has to be faster by 0.5 % or fit where the other does not, because a list of decisions says
 * more to its reader. threads and cancelled as in plan_cfn_solve; the bytes do not depend on threads. */
/* whole: the search was not cut short */
bool api_job_wants_network(const struct api_job *j, bool whole);
/* state: of the search that has ended; its best plan ends a race under auto that is behind it */
enum error_code api_job_network(const struct api_job *j, const struct search_state *state, int threads,
                                bool (*cancelled)(void *user), void *user, struct search_blob *out,
                                struct error *e) BASE_CHECKED;
enum error_code api_job_take_network(struct api_job *j, const void *bytes, size_t size,
                                     struct error *e) BASE_CHECKED;

/* A job that starts over keeps its incumbent, the plan.json of its best plan so far (bytes; copied): it is
 * priced anew and competes with the search's best wherever the search is not whole. ERROR_INVALID_PLAN,
 * ERROR_INVALID_JSON: no plan of this job (another build's, perhaps). */
enum error_code api_job_take_incumbent(struct api_job *j, const char *json, size_t size,
                                       struct error *e) BASE_CHECKED;
/* The plan that would be written now: of the search, the network and, unless whole, the incumbent. *out
 * borrows from j. */
void api_job_best(const struct api_job *j, const struct search_state *state, bool whole,
                  struct search_plan *out);

struct api_artifact {
    const char *name; /* "plan.json", "report.json", "report.html", "annotated.mlir", .. */
    const char *media_type;
    char *bytes;
    size_t size; /* owned */
};
struct api_artifacts {
    struct api_artifact at[12];
    uint32_t count;
};
void api_artifacts_release(struct api_artifacts *a);

struct api_outcome {
    bool fits;
    struct price price;
    struct cost cost;
    char found_by[160];
    char proof[16]; /* "equal", "failed", "not_run" */
    char plan_hash[33];
};

/* Everything a finished search gives. reproducible: false when seconds or a deadline cut it. */
enum error_code api_job_finish(const struct api_job *j, const struct search_state *state, bool reproducible,
                               struct api_artifacts *out, struct api_outcome *outcome,
                               struct error *e) BASE_CHECKED;

/* plan.json of the best plan so far (owned text) */
enum error_code api_job_plan(const struct api_job *j, const struct search_state *state, bool reproducible,
                             char **json, struct error *e) BASE_CHECKED;

/* progress object of api.md as JSON text (owned): stage "analyse", "search", "polish", "network", "emit",
 * "done"; its best is api_job_best's */
char *api_progress_json(const struct api_job *j, const char *stage, const struct search_state *state,
                        bool whole);
/* the same before there is a search: keeps the `best` of what was shown before (JSON text, may be "") */
char *api_progress_stage_json(const char *stage, const char *before);
/* problem+json (RFC 9457) of an error (owned text); instance and request_id may be NULL */
char *api_problem_json(const struct error *e, int http_status, const char *instance, const char *request_id);
/* {"code", "message", "line", "column", "pointer"}: job.error (owned text) */
char *api_error_json(const struct error *e);
/* {"key": "..."} -> the key (owned); ERROR_INVALID_JSON, ERROR_INVALID_REQUEST */
enum error_code api_key_parse(const char *json, size_t size, char **key, struct error *e) BASE_CHECKED;
/* /v1/devices and /v1/limits bodies (owned text) */
char *api_devices_json(void);
char *api_presets_json(void);
struct api_tenant_limits {
    int open_jobs, submits_per_s, event_streams;
    int64_t module_bytes;
};
char *api_limits_json(const struct api_tenant_limits *of_tenant);

/* plan.json -> plan: replays pins, decisions, factors; must reach `hash` when it has one. For `lower`,
 * `price`, `prove`. The file's own mesh is given to the caller through api_plan_peek first.
 * ERROR_INVALID_JSON, ERROR_INVALID_PLAN. */
struct api_plan_file;
enum error_code api_plan_parse(const char *json, size_t size, struct api_plan_file **out,
                               struct error *e) BASE_CHECKED;
void api_plan_file_destroy(struct api_plan_file *f);
const struct mesh *api_plan_mesh(const struct api_plan_file *f);
const char *api_plan_device(const struct api_plan_file *f); /* "" when the file names none */
const struct spmd_options *api_plan_walk(const struct api_plan_file *f);
int64_t api_plan_memory_limit(const struct api_plan_file *f);
const char *api_plan_found_by(const struct api_plan_file *f); /* "" when the file does not say */
/* the plan that the file describes, on a context that has its pins already; *plan is initialised.
 * ERROR_INVALID_PLAN */
enum error_code api_plan_replay(const struct api_plan_file *f, const struct plan_context *c,
                                struct plan *plan, struct error *e) BASE_CHECKED;
/* the file's decisions as the context numbers them (at most room; ERROR_INVALID_PLAN beyond), and how many
 * factors it has beside them */
enum error_code api_plan_decisions(const struct api_plan_file *f, const struct plan_context *c,
                                   struct plan_decision *out, uint32_t room, uint32_t *count,
                                   uint32_t *factors, struct error *e) BASE_CHECKED;
/* the same of its factors, one axis each, in order; of a file that api_plan_replay took. at: owned */
void api_plan_factors(const struct api_plan_file *f, const struct plan_context *c, struct plan_factors *out);
/* the context (with the file's pins) and the plan it describes, for a prepared program's analysis */
enum error_code api_plan_apply(const struct api_plan_file *f, const struct nda *n,
                               struct plan_context **context, struct plan *plan,
                               struct error *e) BASE_CHECKED;

#endif
