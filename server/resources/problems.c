/* POST /v1/problems:solve: the body streams into the store and a job solves it; the reply is the answer
 * itself when that takes at most WAIT_S seconds, else the job. The problem is never parsed here. */
#include "server/resources/handlers.h"
#include "server/resources/resources.h"

#include "api/problem.h"
#include "api/request.h"
#include "base/hash.h"
#include "base/log.h"
#include "server/resources/job_body.h"

#include <strings.h>

enum { WAIT_S = 9 }; /* a reply within 10 s, with what it takes to write it */

static enum error_code parse_query(struct exchange *x, struct api_problem_request *r, struct error *e)
{
    static const char *const names[] = {"units", "seconds", "seed"};
    enum error_code code = ERROR_OK;
    char value[32];
    api_problem_request_init(r);
    for (int k = 0; k < 3 && code == ERROR_OK; k++)
        if (request_query(x, names[k], value, sizeof value))
            code = api_problem_request_set(r, names[k], value, e);
    return code;
}

/* H(problem, request, build): equal digests give equal answers */
static void job_digest(const char *problem, const char *request, char out[65])
{
    uint8_t raw[32];
    struct text t = {0};
    text_printf(&t, "%s\n%s\n%s", problem, request, api_build());
    sha256_bytes(t.at, t.size, raw);
    sha256_format(raw, out);
    text_release(&t);
}

static enum error_code submit(struct exchange *x, const struct api_problem_request *r, const char *problem,
                              char id[QUEUE_ID_SIZE], struct error *e)
{
    char request[STORE_DIGEST_SIZE], digest[65], seconds[24];
    bool existed;
    enum error_code code = job_memory_check(x, e);
    if (code != ERROR_OK)
        return code;
    char *json = api_problem_request_json(r);
    code = store_put(x->server->store, json, strlen(json), request, e);
    job_digest(problem, json, digest);
    free(json);
    if (code != ERROR_OK)
        return code;
    snprintf(seconds, sizeof seconds, "%lld", (long long)(r->seconds * 1000));
    struct queue_pair fields[] = {{"request", request}, {"module", problem},     {"digest", digest},
                                  {"labels", ""},       {"seconds_ms", seconds}, {"on_deadline", "best"}};
    struct queue_submission q = {.id = id,
                                 .tenant = x->tenant,
                                 .first_kind = QUEUE_PROBLEM_KIND,
                                 .open_limit = x->server->access->options->limits.open_jobs,
                                 .submits_per_s = x->server->access->options->limits.submits_per_s,
                                 .fields = fields,
                                 .field_count = sizeof fields / sizeof *fields};
    queue_new_id(id);
    struct queue *queue = pool_take(x->server);
    code = queue_submit(queue, &q, &existed, e);
    pool_give(x->server, queue);
    return code;
}

/* the job has ended */
static void reply_ended(struct exchange *x, const char *id, const struct queue_fields *job)
{
    struct job_artifact a;
    struct error e = {0};
    const char *state = queue_field(job, "state");
    if (strcmp(state, "succeeded") == 0 && job_artifact(job, "solution.json", &a)) {
        reply_blob(x, a.digest, "application/json", NULL);
        return;
    }
    if (queue_field(job, "error")[0])
        api_error_parse(queue_field(job, "error"), &e);
    else
        error_set(&e, ERROR_CONFLICT, "job %s has ended as %s", id, state);
    reply_problem(x, &e);
}

static void show(struct exchange *x, const char *id)
{
    struct queue_fields job;
    struct error e;
    struct text t = {0};
    char location[64], real[QUEUE_ID_SIZE];
    enum error_code code = job_load(x, id, real, &job, &e);
    if (code != ERROR_OK) {
        reply_problem(x, &e);
        return;
    }
    if (job_ended(&job)) {
        reply_ended(x, id, &job);
        queue_fields_release(&job);
        return;
    }
    snprintf(location, sizeof location, "/v1/jobs/%s", id);
    struct header extra[] = {{"Location", location}, {"Retry-After", "1"}, {"Cache-Control", "no-cache"}};
    job_body(id, &job, &t);
    queue_fields_release(&job);
    reply_json(x, 202, &t, extra, 3);
}

static void show_again(struct exchange *x)
{
    show(x, x->errand->wait_id);
}

void handle_problem_post(struct exchange *x)
{
    struct api_problem_request r;
    struct error e = {0};
    char problem[STORE_DIGEST_SIZE], id[QUEUE_ID_SIZE];
    const char *prefer = request_header(x, "Prefer");
    bool existed;
    enum error_code code = parse_query(x, &r, &e);
    if (code == ERROR_OK)
        code = body_store(x, NULL, problem, &existed, &e);
    if (code == ERROR_OK) /* counts in what the tenant may have, as a module does */
        code = tenant_module_add(x, problem, &existed, NULL, &e);
    if (code == ERROR_OK)
        code = submit(x, &r, problem, id, &e);
    if (code != ERROR_OK) {
        e.code = code;
        reply_problem(x, &e);
        return;
    }
    log_event("problem_submitted", "job", id, "request_id", x->request_id, NULL);
    if (!prefer || !strcasestr(prefer, "respond-async")) /* RFC 7240 */
        x->errand->wait_default_s = WAIT_S;
    if (wait_begin(x, id, show_again) != WAIT_BEGUN)
        show(x, id);
}
