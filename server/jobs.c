/* Jobs: submit, show, list, cancel, the plan so far, artifacts. */
#include "server/internal.h"

#include "api/request.h"
#include "base/file.h"
#include "base/log.h"
#include "server/job_body.h"

#include <sys/mman.h>
#include <unistd.h>

static void problem(struct exchange *x, enum error_code code, struct error *e)
{
    e->code = code;
    reply_problem(x, e);
}

/* ---- submit ---- */

struct submission {
    struct api_request *request; /* owned */
    char module[STORE_DIGEST_SIZE];
};

static enum error_code take_json(struct exchange *x, const char *json, size_t size, const char *module,
                                 struct submission *s, struct error *e)
{
    enum error_code code = api_request_parse(json, size, module, false, &s->request, e);
    if (code != ERROR_OK)
        return code;
    if (s->request->dry_run)
        return error_set_pointer(e, ERROR_NOT_AVAILABLE, "/dry_run",
                                 "dry_run is not available in this build");
    if (module)
        return ERROR_OK; /* s->module was set by whoever stored it */
    if (s->request->module_inline)
        return body_store_module(x->server, s->request->module_inline, s->request->module_inline_size,
                                 s->module, e);
    int fd;
    size_t module_size;
    snprintf(s->module, sizeof s->module, "%s", s->request->module_digest);
    if (store_open(x->server->store, s->module, &fd, &module_size, NULL) != ERROR_OK)
        return error_set_pointer(
            e, ERROR_INVALID_REQUEST, "/module",
            "there is no module sha256:%s; PUT it to /v1/modules first, or send it with the request",
            s->module);
    close(fd);
    return ERROR_OK;
}

static enum error_code take_parts(struct exchange *x, const char *body, size_t size, struct submission *s,
                                  struct error *e)
{
    struct part parts[MULTIPART_MAX];
    const struct part *module = NULL, *request = NULL;
    size_t count;
    enum error_code code = multipart_parse(body, size, x->boundary, parts, &count, e);
    if (code != ERROR_OK)
        return code;
    for (size_t i = 0; i < count; i++) {
        const struct part **slot = strcmp(parts[i].name, "module") == 0    ? &module
                                   : strcmp(parts[i].name, "request") == 0 ? &request
                                                                           : NULL;
        if (!slot)
            return error_set(e, ERROR_INVALID_REQUEST, "the parts are module and request; there is another");
        if (*slot)
            return error_set(e, ERROR_INVALID_REQUEST, "a part is there twice");
        *slot = &parts[i];
    }
    if (!request)
        return error_set(e, ERROR_INVALID_REQUEST, "the part request (JSON) is missing");
    if (request->size > LIMIT_JSON)
        return error_set(e, ERROR_TOO_LARGE, "the part request may have at most %d bytes", LIMIT_JSON);
    if (!module)
        return take_json(x, request->bytes, request->size, NULL, s, e);
    /* the request first: a wrong one needs no module */
    code = api_request_parse(request->bytes, request->size, NULL, true, &s->request, e);
    if (code == ERROR_OK)
        code = body_store_module(x->server, module->bytes, module->size, s->module, e);
    api_request_destroy(s->request);
    s->request = NULL;
    return code == ERROR_OK ? take_json(x, request->bytes, request->size, s->module, s, e) : code;
}

static enum error_code take_body(struct exchange *x, struct submission *s, struct error *e)
{
    struct body *b = &x->body;
    if (b->fd < 0) {
        if (!x->gzip)
            return take_json(x, b->memory.at ? b->memory.at : "", b->memory.size, NULL, s, e);
        char *json;
        size_t size;
        enum error_code code = gzip_expand(b->memory.at, b->memory.size, LIMIT_JSON, &json, &size, e);
        if (code == ERROR_OK) {
            code = take_json(x, json, size, NULL, s, e);
            free(json);
        }
        return code;
    }
    if (b->received == 0)
        return error_set(e, ERROR_MALFORMED, "the body is empty");
    char *map = mmap(NULL, b->received, PROT_READ, MAP_PRIVATE, b->fd, 0);
    if (map == MAP_FAILED)
        return error_set(e, ERROR_IO, "the body cannot be read back");
    enum error_code code = take_parts(x, map, b->received, s, e);
    munmap(map, b->received);
    return code;
}

static enum error_code submit(struct exchange *x, const struct submission *s, char id[QUEUE_ID_SIZE],
                              struct error *e)
{
    const struct api_request *r = s->request;
    char request[STORE_DIGEST_SIZE], digest[65], seconds[24];
    bool existed;
    if (atomic_load(&x->server->memory_short))
        return error_set(e, ERROR_UNAVAILABLE,
                         "the queue's memory is nearly full; jobs are taken again when some have ended");
    enum error_code code = store_put(x->server->store, r->canonical, strlen(r->canonical), request, e);
    if (code != ERROR_OK)
        return code;
    api_request_digest(r, s->module, digest);
    snprintf(seconds, sizeof seconds, "%lld", (long long)(r->seconds * 1000));
    struct queue_pair fields[] = {
        {"request", request},    {"module", s->module},
        {"digest", digest},      {"labels", r->labels ? r->labels : ""},
        {"seconds_ms", seconds}, {"on_deadline", r->deadline_fail ? "fail" : "best"}};
    struct queue_submission q = {.id = id,
                                 .tenant = x->tenant,
                                 .first_kind = QUEUE_FIRST_KIND,
                                 .deadline_ms = (long long)(r->deadline_s * 1000),
                                 .open_limit = LIMIT_OPEN_JOBS,
                                 .fields = fields,
                                 .field_count = sizeof fields / sizeof *fields};
    queue_new_id(id);
    struct queue *queue = pool_take(x->server);
    code = queue_submit(queue, &q, &existed, e);
    pool_give(x->server, queue);
    return code == ERROR_CONFLICT ? (e->code = ERROR_TOO_MANY) : code;
}

enum error_code job_load(struct exchange *x, const char *id, struct queue_fields *job, struct error *e)
{
    if (!queue_id_valid(id))
        return error_set(e, ERROR_NOT_FOUND, "there is no such job");
    struct queue *q = pool_take(x->server);
    enum error_code code = queue_job(q, id, job, e);
    pool_give(x->server, q);
    if (code == ERROR_OK && strcmp(queue_field(job, "tenant"), x->tenant) != 0) {
        queue_fields_release(job);
        code = error_set(e, ERROR_NOT_FOUND, "there is no job %s", id); /* as for one that does not exist */
    }
    return code;
}

static void show(struct exchange *x, const char *id, int status, bool conditional);

static void show_again(struct exchange *x)
{
    show(x, x->wait_id, x->wait_status, x->wait_conditional);
}

/* the job as it is now, or as it is when the client's Prefer: wait is over, with `status` (200; 202 and not ended) */
static void show(struct exchange *x, const char *id, int status, bool conditional)
{
    struct queue_fields job;
    struct error e;
    struct text t = {0};
    char etag[32], location[64], waited[16];
    enum error_code code = job_load(x, id, &job, &e);
    if (code != ERROR_OK) {
        problem(x, code, &e);
        return;
    }
    x->wait_status = status;
    x->wait_conditional = conditional;
    enum wait_result wait = job_ended(&job) ? WAIT_NONE : wait_begin(x, id, show_again);
    if (wait != WAIT_NONE) {
        queue_fields_release(&job);
        if (wait == WAIT_OVER)
            show(x, id, status, conditional);
        return;
    }
    snprintf(etag, sizeof etag, "\"v%lld\"", queue_number(&job, "ver"));
    if (conditional && reply_not_modified(x, etag)) {
        queue_fields_release(&job);
        return;
    }
    snprintf(location, sizeof location, "/v1/jobs/%s", id);
    struct header extra[5] = {{"ETag", etag}, {"Cache-Control", "no-cache"}};
    size_t count = 2;
    if (!job_ended(&job))
        extra[count++] = (struct header){"Retry-After", "1"};
    if (status == 202)
        extra[count++] = (struct header){"Location", location};
    if (x->wait_s) {
        snprintf(waited, sizeof waited, "wait=%d", x->wait_s);
        extra[count++] = (struct header){"Preference-Applied", waited};
        status = job_ended(&job) ? 200 : status;
    }
    job_body(id, &job, &t);
    queue_fields_release(&job);
    reply_json(x, status, &t, extra, count);
}

void handle_job_post(struct exchange *x)
{
    struct submission s = {0};
    struct error e = {0};
    char id[QUEUE_ID_SIZE];
    enum error_code code = take_body(x, &s, &e);
    if (code == ERROR_OK)
        code = submit(x, &s, id, &e);
    api_request_destroy(s.request);
    if (code != ERROR_OK) {
        problem(x, code, &e);
        return;
    }
    log_event("job_submitted", "job", id, "request_id", x->request_id, NULL);
    show(x, id, 202, false);
}

void handle_job_get(struct exchange *x)
{
    show(x, x->params[0], 200, true);
}

void handle_job_cancel(struct exchange *x)
{
    struct error e;
    char state[32], discard[8] = "";
    bool ended;
    const char *id = x->params[0];
    request_query(x, "discard", discard, sizeof discard);
    struct queue_fields job = {0};
    enum error_code code = job_load(x, id, &job, &e); /* the caller's own? */
    queue_fields_release(&job);
    if (code == ERROR_OK) {
        struct queue *q = pool_take(x->server);
        code = queue_cancel(q, id, strcmp(discard, "true") == 0, state, &ended, &e);
        pool_give(x->server, q);
    }
    if (code == ERROR_OK && ended && strcmp(state, "cancelled") != 0)
        code = error_set(&e, ERROR_CONFLICT, "the job has ended as %s", state);
    if (code != ERROR_OK)
        problem(x, code, &e);
    else
        show(x, id, strcmp(state, "cancelled") == 0 ? 200 : 202, false);
}

/* ---- list ---- */

static enum error_code list_position(struct exchange *x, size_t *size, long long *before_ms, char *before_id,
                                     struct error *e)
{
    char number[16], token[80], *end;
    *size = 50;
    *before_ms = 0;
    before_id[0] = 0;
    if (request_query(x, "page_size", number, sizeof number)) {
        long value = strtol(number, &end, 10);
        if (!number[0] || *end || value < 1)
            return error_set_pointer(e, ERROR_MALFORMED, "page_size",
                                     "page_size must be a number from 1 to 1000");
        *size = value > 1000 ? 1000 : (size_t)value;
    }
    if (!request_query(x, "page_token", token, sizeof token))
        return ERROR_OK;
    *before_ms = strtoll(token, &end, 10);
    if (*before_ms <= 0 || *end != '-' || !queue_id_valid(end + 1))
        return error_set_pointer(e, ERROR_MALFORMED, "page_token",
                                 "this page_token was not given by this service");
    snprintf(before_id, QUEUE_ID_SIZE, "%s", end + 1);
    return ERROR_OK;
}

void handle_job_list(struct exchange *x)
{
    struct error e;
    struct queue_page page = {0};
    struct text t = {0};
    char before[QUEUE_ID_SIZE], wanted[32] = "";
    long long before_ms;
    size_t size, shown = 0;
    enum error_code code = list_position(x, &size, &before_ms, before, &e);
    request_query(x, "state", wanted, sizeof wanted);
    struct queue *q = pool_take(x->server);
    if (code == ERROR_OK)
        code = queue_list(q, x->tenant, before_ms, before, size, &page, &e);
    text_add(&t, "{\"jobs\":[");
    for (size_t i = 0; code == ERROR_OK && i < page.count; i++) {
        struct queue_fields job;
        code = queue_job(q, page.ids[i], &job, &e);
        if (code == ERROR_NOT_FOUND) { /* has expired; the index is trimmed later */
            code = ERROR_OK;
            continue;
        }
        if (code == ERROR_OK && (!wanted[0] || strcmp(queue_field(&job, "state"), wanted) == 0)) {
            text_add(&t, shown++ ? "," : "");
            job_body(page.ids[i], &job, &t);
        }
        if (code == ERROR_OK)
            queue_fields_release(&job);
    }
    pool_give(x->server, q);
    if (code != ERROR_OK) {
        text_release(&t);
        queue_page_release(&page);
        problem(x, code, &e);
        return;
    }
    if (page.count == size)
        text_printf(&t, "],\"next_page_token\":\"%lld-%s\"}", page.created_ms[size - 1], page.ids[size - 1]);
    else
        text_add(&t, "],\"next_page_token\":\"\"}");
    queue_page_release(&page);
    reply_json(x, 200, &t, NULL, 0);
}

/* ---- what a job gives ---- */

void handle_job_plan(struct exchange *x)
{
    struct queue_fields job;
    struct error e;
    struct job_artifact a;
    enum error_code code = job_load(x, x->params[0], &job, &e);
    if (code == ERROR_OK && !job_artifact(&job, "plan.json", &a))
        code =
            error_set(&e, ERROR_NO_PLAN_YET, "the job has no plan yet; it is %s", queue_field(&job, "state"));
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
    enum error_code code = job_load(x, x->params[0], &job, &e);
    if (code != ERROR_OK) {
        problem(x, code, &e);
        return;
    }
    job_artifacts_body(x->params[0], &job, &t);
    queue_fields_release(&job);
    reply_json(x, 200, &t, NULL, 0);
}

void handle_artifact_get(struct exchange *x)
{
    struct queue_fields job = {0};
    struct error e;
    struct job_artifact a;
    enum error_code code = job_load(x, x->params[0], &job, &e);
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
