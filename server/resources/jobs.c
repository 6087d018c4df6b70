/* One job: show, cancel, retry, delete, the plan so far, artifacts. Every job is found through job_load,
 * which knows the caller's own only; what becomes of it is decided by the queue's functions, never here. */
#include "server/resources/archive.h"
#include "server/resources/handlers.h"
#include "server/resources/resources.h"

#include "server/resources/job_body.h"

enum { TAGS_MAX = 16 }; /* of an If-Match */

static void problem(struct exchange *exchange, enum error_code code, struct error *e)
{
    e->code = code;
    reply_problem(exchange, e);
}

static void show_again(struct exchange *exchange)
{
    job_show(exchange, exchange->errand->showing.name, exchange->errand->showing);
}

/* obeys Prefer: wait; true: the reply was sent, or follows when the wait is over */
static bool waits(struct exchange *exchange, const char *id, const char *name, struct job_showing how)
{
    snprintf(how.name, sizeof how.name, "%.64s", name);
    exchange->errand->showing = how;
    enum wait_result wait = wait_begin(exchange, id, show_again);
    if (wait == WAIT_OVER)
        show_again(exchange);
    return wait != WAIT_NONE;
}

void job_show(struct exchange *exchange, const char *name, struct job_showing how)
{
    struct queue_fields job;
    struct error e;
    char id[QUEUE_ID_SIZE];
    enum error_code code = job_load(exchange, name, id, &job, &e);
    if (code == ERROR_OK)
        job_show_fields(exchange, name, id, &job, how);
    else
        problem(exchange, code, &e);
}

void job_show_fields(struct exchange *exchange, const char *name, const char *id, struct queue_fields *job,
                     struct job_showing how)
{
    struct text text = {0};
    char etag[32], location[128], waited[16];
    snprintf(etag, sizeof etag, "\"v%lld\"", queue_number(job, "ver"));
    bool ended = job_ended(job);
    if ((!ended && waits(exchange, id, name, how)) ||
        (how.conditional && reply_not_modified(exchange, etag, "no-cache"))) {
        queue_fields_release(job);
        return;
    }
    snprintf(location, sizeof location, "/v1/jobs/%s", name);
    struct header extra[6] = {{"ETag", etag}, {"Cache-Control", "no-cache"}};
    size_t count = 2;
    if (!ended)
        extra[count++] = (struct header){"Retry-After", "1"};
    if (how.status == 202)
        extra[count++] = (struct header){"Location", location};
    if (how.replayed)
        extra[count++] = (struct header){"Idempotency-Replayed", "true"};
    if (exchange->errand->wait_s) {
        snprintf(waited, sizeof waited, "wait=%d", exchange->errand->wait_s);
        extra[count++] = (struct header){"Preference-Applied", waited};
        how.status = ended ? 200 : how.status;
    }
    job_body(id, job, &text);
    queue_fields_release(job);
    reply_json(exchange, how.status, &text, extra, count);
}

void handle_job_get(struct exchange *exchange)
{
    job_show(exchange, exchange->params[0], (struct job_showing){.status = 200, .conditional = true});
}

/* ---- cancel, retry, delete ---- */

void handle_job_cancel(struct exchange *exchange)
{
    struct error e;
    struct queue_fields job = {0};
    char state[32], id[QUEUE_ID_SIZE];
    bool ended, discard = false;
    enum error_code code = request_query_flag(exchange, "discard", &discard, &e);
    if (code == ERROR_OK)
        code = job_load(exchange, exchange->params[0], id, &job, &e);
    if (code == ERROR_OK &&
        job_ended(&job)) { /* perhaps archived, which the queue's cancel does not look at */
        snprintf(state, sizeof state, "%s", queue_field(&job, "state"));
        ended = true;
    } else if (code == ERROR_OK) {
        struct queue *queue = pool_take(exchange->server);
        code = queue_cancel(queue, id, discard, state, &ended, &e);
        pool_give(exchange->server, queue);
    }
    queue_fields_release(&job);
    if (code == ERROR_OK && ended && strcmp(state, "cancelled") != 0)
        code = error_set(&e, ERROR_CONFLICT, "the job has ended as %s", state);
    if (code != ERROR_OK)
        problem(exchange, code, &e);
    else
        job_show(exchange, exchange->params[0],
                 (struct job_showing){.status = strcmp(state, "cancelled") == 0 ? 200 : 202});
}

enum error_code job_retry(struct exchange *exchange, const char *id, struct error *e)
{
    char blob[STORE_DIGEST_SIZE];
    struct queue_fields archived = {0};
    struct queue *queue = pool_take(exchange->server);
    enum error_code code =
        queue_retry(queue, id, exchange->server->access->options->limits.open_jobs, NULL, blob, e);
    if (code == ERROR_OK && blob[0]) {
        code = archive_read(exchange->server->store, blob, &archived, e);
        if (code == ERROR_OK)
            code = queue_retry(queue, id, exchange->server->access->options->limits.open_jobs, &archived,
                               blob, e);
        queue_fields_release(&archived);
    }
    pool_give(exchange->server, queue);
    return code;
}

void handle_job_retry(struct exchange *exchange)
{
    struct error e;
    struct queue_fields job;
    char id[QUEUE_ID_SIZE];
    enum error_code code = job_load(exchange, exchange->params[0], id, &job, &e);
    queue_fields_release(&job);
    if (code == ERROR_OK)
        code = job_retry(exchange, id, &e);
    if (code != ERROR_OK)
        problem(exchange, code, &e);
    else
        job_show(exchange, exchange->params[0], (struct job_showing){.status = 202});
}

/* entity tags of an If-Match (RFC 9110): quoted texts or "*"; weak ones never match. -1: not such a list */
static int split_tags(char *list, const char **tags, int room)
{
    int count = 0;
    for (char *at = list; *at;) {
        at += strspn(at, " \t,");
        char *from = at;
        if (strncmp(at, "W/", 2) == 0)
            at += 2;
        char *end = *at == '"' ? strchr(at + 1, '"') : NULL;
        if (*from == '*')
            end = from;
        if (!*from)
            break;
        if (!end || count == room)
            return -1;
        at = end + 1;
        if (*at && !strchr(" \t,", *at))
            return -1;
        if (*at)
            *at++ = 0;
        tags[count++] = from;
    }
    return count;
}

void handle_job_delete(struct exchange *exchange)
{
    struct error e;
    struct queue_fields job;
    const char *header = request_header(exchange, "If-Match"), *tags[TAGS_MAX];
    char id[QUEUE_ID_SIZE], *list = mem_strdup(header ? header : "");
    int count = split_tags(list, tags, TAGS_MAX);
    enum error_code code = job_load(exchange, exchange->params[0], id, &job, &e);
    queue_fields_release(&job);
    if (code == ERROR_OK && (count < 0 || (header && count == 0)))
        code = error_set_pointer(&e, ERROR_MALFORMED, "If-Match", "If-Match has up to %d entity tags, or *",
                                 TAGS_MAX);
    if (code == ERROR_OK) {
        struct queue *queue = pool_take(exchange->server);
        code = queue_delete(queue, id, tags, (size_t)count, &e);
        pool_give(exchange->server, queue);
    }
    free(list);
    if (code != ERROR_OK)
        problem(exchange, code, &e);
    else
        reply_empty(exchange, 204, NULL, 0);
}

/* ---- what a job gives ---- */

void handle_job_plan(struct exchange *exchange)
{
    struct queue_fields job;
    struct error e;
    struct job_artifact artifact_row;
    char id[QUEUE_ID_SIZE];
    enum error_code code = job_load(exchange, exchange->params[0], id, &job, &e);
    if (code == ERROR_OK && !job_artifact(&job, "plan.json", &artifact_row))
        code = error_set(&e, ERROR_NO_PLAN_YET,
                         strcmp(queue_field(&job, "state"), "succeeded") == 0
                             ? "plan is not among the outputs that this job was asked for; it %s"
                             : "the job has no plan yet; it is %s",
                         queue_field(&job, "state"));
    if (code == ERROR_OK)
        reply_blob(exchange, artifact_row.digest, "application/json", "plan.json");
    else
        problem(exchange, code, &e);
    queue_fields_release(&job);
}

void handle_artifact_list(struct exchange *exchange)
{
    struct queue_fields job;
    struct error e;
    struct text text = {0};
    char id[QUEUE_ID_SIZE];
    enum error_code code = job_load(exchange, exchange->params[0], id, &job, &e);
    if (code != ERROR_OK) {
        problem(exchange, code, &e);
        return;
    }
    job_artifacts_body(id, &job, &text);
    queue_fields_release(&job);
    reply_json(exchange, 200, &text, NULL, 0);
}

static void send_artifact(struct exchange *exchange, const char *name)
{
    struct queue_fields job = {0};
    struct error e;
    struct job_artifact artifact_row;
    char id[QUEUE_ID_SIZE];
    enum error_code code = job_load(exchange, exchange->params[0], id, &job, &e);
    if (code == ERROR_OK && !job_artifact(&job, name, &artifact_row))
        code = job_ended(&job) ? error_set(&e, ERROR_NOT_FOUND,
                                           "the job has no such artifact; /v1/jobs/%s/artifacts lists them",
                                           exchange->params[0])
                               : error_set(&e, ERROR_NOT_READY, "the job is %s; artifacts come at its end",
                                           queue_field(&job, "state"));
    if (code == ERROR_OK)
        reply_blob(exchange, artifact_row.digest, artifact_row.media_type,
                   strchr(name, '/') ? strrchr(name, '/') + 1 : name);
    else
        problem(exchange, code, &e);
    queue_fields_release(&job);
}

void handle_artifact_get(struct exchange *exchange)
{
    send_artifact(exchange, exchange->params[1]);
}

/* alternatives/2/plan.json: the one kind of name that has a folder */
void handle_alternative_get(struct exchange *exchange)
{
    char name[80];
    int size = snprintf(name, sizeof name, "alternatives/%s/%s", exchange->params[1], exchange->params[2]);
    send_artifact(exchange, size < (int)sizeof name ? name : "");
}
