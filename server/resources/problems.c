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

static enum error_code parse_query(struct exchange *exchange, struct api_problem_request *problem_request,
                                   struct error *e)
{
    static const char *const names[] = {"units", "seconds", "seed"};
    enum error_code code = ERROR_OK;
    char value[32];
    api_problem_request_init(problem_request);
    for (int k = 0; k < 3 && code == ERROR_OK; k++)
        if (request_query(exchange, names[k], value, sizeof value))
            code = api_problem_request_set(problem_request, names[k], value, e);
    return code;
}

/* H(problem, request, build): equal digests give equal answers */
static void job_digest(const char *problem, const char *request, char out[65])
{
    uint8_t raw[32];
    struct text text = {0};
    text_printf(&text, "%s\n%s\n%s", problem, request, api_build());
    sha256_bytes(text.at, text.size, raw);
    sha256_format(raw, out);
    text_release(&text);
}

static enum error_code submit(struct exchange *exchange, const struct api_problem_request *problem_request,
                              const char *problem, char id[QUEUE_ID_SIZE], struct error *e)
{
    char request[STORE_DIGEST_SIZE], digest[65], seconds[24];
    bool existed;
    enum error_code code = job_memory_check(exchange, e);
    if (code != ERROR_OK)
        return code;
    char *json = api_problem_request_json(problem_request);
    code = store_put(exchange->server->store, json, strlen(json), request, e);
    job_digest(problem, json, digest);
    free(json);
    if (code != ERROR_OK)
        return code;
    snprintf(seconds, sizeof seconds, "%lld", (long long)(problem_request->seconds * 1000));
    struct queue_pair fields[] = {{"request", request}, {"module", problem},     {"digest", digest},
                                  {"labels", ""},       {"seconds_ms", seconds}, {"on_deadline", "best"}};
    struct queue_submission submission = {.id = id,
                                          .tenant = exchange->tenant,
                                          .first_kind = QUEUE_PROBLEM_KIND,
                                          .open_limit = exchange->server->access->options->limits.open_jobs,
                                          .submits_per_s =
                                              exchange->server->access->options->limits.submits_per_s,
                                          .fields = fields,
                                          .field_count = sizeof fields / sizeof *fields};
    queue_new_id(id);
    struct queue *queue = pool_take(exchange->server);
    code = queue_submit(queue, &submission, &existed, e);
    pool_give(exchange->server, queue);
    return code;
}

/* the job has ended */
static void reply_ended(struct exchange *exchange, const char *id, const struct queue_fields *job)
{
    struct job_artifact artifact_row;
    struct error e = {0};
    const char *state = queue_field(job, "state");
    if (strcmp(state, "succeeded") == 0 && job_artifact(job, "solution.json", &artifact_row)) {
        reply_blob(exchange, artifact_row.digest, "application/json", NULL);
        return;
    }
    if (queue_field(job, "error")[0])
        api_error_parse(queue_field(job, "error"), &e);
    else
        error_set(&e, ERROR_CONFLICT, "job %s has ended as %s", id, state);
    reply_problem(exchange, &e);
}

static void show(struct exchange *exchange, const char *id)
{
    struct queue_fields job;
    struct error e;
    struct text text = {0};
    char location[64], real[QUEUE_ID_SIZE];
    enum error_code code = job_load(exchange, id, real, &job, &e);
    if (code != ERROR_OK) {
        reply_problem(exchange, &e);
        return;
    }
    if (job_ended(&job)) {
        reply_ended(exchange, id, &job);
        queue_fields_release(&job);
        return;
    }
    snprintf(location, sizeof location, "/v1/jobs/%s", id);
    struct header extra[] = {{"Location", location}, {"Retry-After", "1"}, {"Cache-Control", "no-cache"}};
    job_body(id, &job, &text);
    queue_fields_release(&job);
    reply_json(exchange, 202, &text, extra, 3);
}

static void show_again(struct exchange *exchange)
{
    show(exchange, exchange->errand->wait_id);
}

void handle_problem_post(struct exchange *exchange)
{
    struct api_problem_request problem_request;
    struct error e = {0};
    char problem[STORE_DIGEST_SIZE], id[QUEUE_ID_SIZE];
    const char *prefer = request_header(exchange, "Prefer");
    bool existed;
    enum error_code code = parse_query(exchange, &problem_request, &e);
    if (code == ERROR_OK)
        code = body_store(exchange, NULL, problem, &existed, &e);
    if (code == ERROR_OK) /* counts in what the tenant may have, as a module does */
        code = tenant_module_add(exchange, problem, &existed, NULL, &e);
    if (code == ERROR_OK)
        code = submit(exchange, &problem_request, problem, id, &e);
    if (code != ERROR_OK) {
        e.code = code;
        reply_problem(exchange, &e);
        return;
    }
    log_event("problem_submitted", "job", id, "request_id", exchange->request_id, NULL);
    if (!prefer || !strcasestr(prefer, "respond-async")) /* RFC 7240 */
        exchange->errand->wait_default_s = WAIT_S;
    if (wait_begin(exchange, id, show_again) != WAIT_BEGUN)
        show(exchange, id);
}
