/* One job: show, cancel, retry, delete, the plan so far, artifacts. Every job is found through job_load,
 * which knows the caller's own only; what becomes of it is decided by the queue's functions, never here. */
#include "server/resources/archive.h"
#include "server/resources/handlers.h"
#include "server/resources/resources.h"

#include "server/resources/job_body.h"

enum { TAGS_MAX = 16 }; /* of an If-Match */

static void problem(struct exchange *x, enum error_code code, struct error *e)
{
    e->code = code;
    reply_problem(x, e);
}

static void show_again(struct exchange *x)
{
    job_show(x, x->errand->showing.name, x->errand->showing);
}

/* obeys Prefer: wait; true: the reply was sent, or follows when the wait is over */
static bool waits(struct exchange *x, const char *id, const char *name, struct job_showing how)
{
    snprintf(how.name, sizeof how.name, "%.64s", name);
    x->errand->showing = how;
    enum wait_result wait = wait_begin(x, id, show_again);
    if (wait == WAIT_OVER)
        show_again(x);
    return wait != WAIT_NONE;
}

void job_show(struct exchange *x, const char *name, struct job_showing how)
{
    struct queue_fields job;
    struct error e;
    char id[QUEUE_ID_SIZE];
    enum error_code code = job_load(x, name, id, &job, &e);
    if (code == ERROR_OK)
        job_show_fields(x, name, id, &job, how);
    else
        problem(x, code, &e);
}

void job_show_fields(struct exchange *x, const char *name, const char *id, struct queue_fields *job,
                     struct job_showing how)
{
    struct text t = {0};
    char etag[32], location[128], waited[16];
    snprintf(etag, sizeof etag, "\"v%lld\"", queue_number(job, "ver"));
    bool ended = job_ended(job);
    if ((!ended && waits(x, id, name, how)) || (how.conditional && reply_not_modified(x, etag, "no-cache"))) {
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
    if (x->errand->wait_s) {
        snprintf(waited, sizeof waited, "wait=%d", x->errand->wait_s);
        extra[count++] = (struct header){"Preference-Applied", waited};
        how.status = ended ? 200 : how.status;
    }
    job_body(id, job, &t);
    queue_fields_release(job);
    reply_json(x, how.status, &t, extra, count);
}

void handle_job_get(struct exchange *x)
{
    job_show(x, x->params[0], (struct job_showing){.status = 200, .conditional = true});
}

/* ---- cancel, retry, delete ---- */

void handle_job_cancel(struct exchange *x)
{
    struct error e;
    struct queue_fields job = {0};
    char state[32], id[QUEUE_ID_SIZE];
    bool ended, discard = false;
    enum error_code code = request_query_flag(x, "discard", &discard, &e);
    if (code == ERROR_OK)
        code = job_load(x, x->params[0], id, &job, &e);
    if (code == ERROR_OK &&
        job_ended(&job)) { /* perhaps archived, which the queue's cancel does not look at */
        snprintf(state, sizeof state, "%s", queue_field(&job, "state"));
        ended = true;
    } else if (code == ERROR_OK) {
        struct queue *q = pool_take(x->server);
        code = queue_cancel(q, id, discard, state, &ended, &e);
        pool_give(x->server, q);
    }
    queue_fields_release(&job);
    if (code == ERROR_OK && ended && strcmp(state, "cancelled") != 0)
        code = error_set(&e, ERROR_CONFLICT, "the job has ended as %s", state);
    if (code != ERROR_OK)
        problem(x, code, &e);
    else
        job_show(x, x->params[0],
                 (struct job_showing){.status = strcmp(state, "cancelled") == 0 ? 200 : 202});
}

enum error_code job_retry(struct exchange *x, const char *id, struct error *e)
{
    char blob[STORE_DIGEST_SIZE];
    struct queue_fields archived = {0};
    struct queue *q = pool_take(x->server);
    enum error_code code = queue_retry(q, id, x->server->access->options->limits.open_jobs, NULL, blob, e);
    if (code == ERROR_OK && blob[0]) {
        code = archive_read(x->server->store, blob, &archived, e);
        if (code == ERROR_OK)
            code = queue_retry(q, id, x->server->access->options->limits.open_jobs, &archived, blob, e);
        queue_fields_release(&archived);
    }
    pool_give(x->server, q);
    return code;
}

void handle_job_retry(struct exchange *x)
{
    struct error e;
    struct queue_fields job;
    char id[QUEUE_ID_SIZE];
    enum error_code code = job_load(x, x->params[0], id, &job, &e);
    queue_fields_release(&job);
    if (code == ERROR_OK)
        code = job_retry(x, id, &e);
    if (code != ERROR_OK)
        problem(x, code, &e);
    else
        job_show(x, x->params[0], (struct job_showing){.status = 202});
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

void handle_job_delete(struct exchange *x)
{
    struct error e;
    struct queue_fields job;
    const char *header = request_header(x, "If-Match"), *tags[TAGS_MAX];
    char id[QUEUE_ID_SIZE], *list = mem_strdup(header ? header : "");
    int count = split_tags(list, tags, TAGS_MAX);
    enum error_code code = job_load(x, x->params[0], id, &job, &e);
    queue_fields_release(&job);
    if (code == ERROR_OK && (count < 0 || (header && count == 0)))
        code = error_set_pointer(&e, ERROR_MALFORMED, "If-Match", "If-Match has up to %d entity tags, or *",
                                 TAGS_MAX);
    if (code == ERROR_OK) {
        struct queue *q = pool_take(x->server);
        code = queue_delete(q, id, tags, (size_t)count, &e);
        pool_give(x->server, q);
    }
    free(list);
    if (code != ERROR_OK)
        problem(x, code, &e);
    else
        reply_empty(x, 204, NULL, 0);
}

/* ---- what a job gives ---- */

void handle_job_plan(struct exchange *x)
{
    struct queue_fields job;
    struct error e;
    struct job_artifact a;
    char id[QUEUE_ID_SIZE];
    enum error_code code = job_load(x, x->params[0], id, &job, &e);
    if (code == ERROR_OK && !job_artifact(&job, "plan.json", &a))
        code = error_set(&e, ERROR_NO_PLAN_YET,
                         strcmp(queue_field(&job, "state"), "succeeded") == 0
                             ? "plan is not among the outputs that this job was asked for; it %s"
                             : "the job has no plan yet; it is %s",
                         queue_field(&job, "state"));
    if (code == ERROR_OK)
        reply_blob(x, a.digest, "application/json", "plan.json");
    else
        problem(x, code, &e);
    queue_fields_release(&job);
}

void handle_artifact_list(struct exchange *x)
{
    struct queue_fields job;
    struct error e;
    struct text t = {0};
    char id[QUEUE_ID_SIZE];
    enum error_code code = job_load(x, x->params[0], id, &job, &e);
    if (code != ERROR_OK) {
        problem(x, code, &e);
        return;
    }
    job_artifacts_body(id, &job, &t);
    queue_fields_release(&job);
    reply_json(x, 200, &t, NULL, 0);
}

void handle_artifact_get(struct exchange *x)
{
    struct queue_fields job = {0};
    struct error e;
    struct job_artifact a;
    char id[QUEUE_ID_SIZE];
    enum error_code code = job_load(x, x->params[0], id, &job, &e);
    if (code == ERROR_OK && !job_artifact(&job, x->params[1], &a))
        code = job_ended(&job)
                   ? error_set(&e, ERROR_NOT_FOUND,
                               "the job has no such artifact; /v1/jobs/%s/artifacts lists them", x->params[0])
                   : error_set(&e, ERROR_NOT_READY, "the job is %s; artifacts come at its end",
                               queue_field(&job, "state"));
    if (code == ERROR_OK)
        reply_blob(x, a.digest, a.media_type, x->params[1]);
    else
        problem(x, code, &e);
    queue_fields_release(&job);
}
