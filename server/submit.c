/* Submissions: bodies to requests, requests to jobs: POST with or without an Idempotency-Key, PUT under a
 * chosen id, answers from finished jobs. */
#include "server/what_if.h"

#include "api/request.h"
#include "api/what_if.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"

#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

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
    char *bound;
    code = profile_resolve(x, s->request, json, size, &bound, e);
    if (bound) { /* once more, with the profile that it names in it */
        api_request_destroy(s->request);
        s->request = NULL;
        code = take_json(x, bound, strlen(bound), module, s, e);
        free(bound);
        return code;
    }
    if (code != ERROR_OK)
        return code;
    if (module)
        return ERROR_OK; /* s->module was set by whoever stored it */
    if (s->request->module_inline)
        return tenant_module_store(x, s->request->module_inline, s->request->module_inline_size, s->module,
                                   e);
    snprintf(s->module, sizeof s->module, "%s", s->request->module_digest);
    return tenant_module_named(x, s->module, e);
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
        code = tenant_module_store(x, module->bytes, module->size, s->module, e);
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

/* ---- request -> job ---- */

/* What a repeat must be equal in: the request as it is understood, so that another boundary, compression or
 * order of members is the same request. */
static void fingerprint(const struct submission *s, char out[33])
{
    uint8_t raw[32];
    char hex[65];
    const char *const parts[] = {s->module, s->request->canonical,
                                 s->request->labels ? s->request->labels : ""};
    struct sha256 *h = sha256_create();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        sha256_add(h, parts[i], strlen(parts[i]) + 1);
    sha256_finish(h, raw);
    sha256_format(raw, hex);
    snprintf(out, 33, "%.32s", hex);
}

/* asks Redis, and once more when the answer is in the archive */
static enum error_code accept_job(struct exchange *x, struct queue_submission *q, struct queue_accepted *out,
                                  struct error *e)
{
    struct queue_fields source = {0};
    char from[QUEUE_ID_SIZE];
    struct queue *queue = pool_take(x->server);
    enum error_code code = queue_accept(queue, q, out, e);
    if (code == ERROR_OK && out->outcome == QUEUE_ARCHIVED) {
        snprintf(from, sizeof from, "%s", out->id);
        q->source = from;
        q->source_fields = &source;
        if (archive_read(x->server->store, out->blob, &source, NULL) != ERROR_OK)
            q->digest = q->source = NULL; /* the job is planned as if there were none */
        code = queue_accept(queue, q, out, e);
        if (code == ERROR_OK && out->outcome == QUEUE_ARCHIVED) { /* another one took its place meanwhile */
            q->digest = NULL;
            code = queue_accept(queue, q, out, e);
        }
    }
    pool_give(x->server, queue);
    queue_fields_release(&source);
    return code;
}

static enum error_code judge(const struct queue_accepted *a, const struct server_limits *l, struct error *e)
{
    switch (a->outcome) {
    case QUEUE_OTHER:
        return error_set(e, ERROR_CONFLICT, "a job with this id was made by another request");
    case QUEUE_MISMATCH:
        return error_set(e, ERROR_KEY_REUSED,
                         "this Idempotency-Key was used for another request; take a new one");
    case QUEUE_GONE:
        return error_set(e, ERROR_GONE,
                         "the job of this id was deleted, or its time was over; take another id");
    case QUEUE_FULL:
        return error_set(e, ERROR_TOO_MANY, "%d jobs are open already; wait for one to end or cancel one",
                         l->open_jobs);
    case QUEUE_FAST:
        return error_set(e, ERROR_TOO_FAST, "more than %d submissions a second; send them more slowly",
                         l->submits_per_s);
    case QUEUE_ARCHIVED:
        return error_set(e, ERROR_INTERNAL, "the queue's answer is not understood");
    case QUEUE_ACCEPTED:
    case QUEUE_EXISTS:
    case QUEUE_REPLAYED:
        break;
    }
    return ERROR_OK;
}

static bool may_be_cached(struct exchange *x)
{
    const char *control = request_header(x, "Cache-Control");
    return !control || strcasecmp(control, "no-cache") != 0;
}

/* name: the id that the client chose, or NULL */
static enum error_code submit(struct exchange *x, const struct submission *s, const char *name,
                              struct queue_accepted *out, struct error *e)
{
    const struct api_request *r = s->request;
    char request[STORE_DIGEST_SIZE], digest[65], seconds[24], priority[8], print[33], id[QUEUE_ID_SIZE];
    if (atomic_load(&x->server->memory_short))
        return error_set(e, ERROR_UNAVAILABLE,
                         "the queue's memory is nearly full; jobs are taken again when some have ended");
    enum error_code code = store_put(x->server->store, r->canonical, strlen(r->canonical), request, e);
    if (code != ERROR_OK)
        return code;
    api_request_digest(r, s->module, digest);
    fingerprint(s, print);
    snprintf(seconds, sizeof seconds, "%lld", (long long)(r->seconds * 1000));
    snprintf(priority, sizeof priority, "%d", r->priority);
    struct queue_pair fields[] = {{"priority", priority},
                                  {"request", request},
                                  {"module", s->module},
                                  {"digest", digest},
                                  {"labels", r->labels ? r->labels : ""},
                                  {"seconds_ms", seconds},
                                  {"on_deadline", r->deadline_fail ? "fail" : "best"},
                                  {"digest_build", api_build()},
                                  {"trace", x->trace}};
    struct queue_submission q = {.id = id,
                                 .tenant = x->tenant,
                                 .first_kind = QUEUE_FIRST_KIND,
                                 .deadline_ms = (long long)(r->deadline_s * 1000),
                                 .open_limit = x->server->options->limits.open_jobs,
                                 .submits_per_s = x->server->options->limits.submits_per_s,
                                 .fields = fields,
                                 .field_count = sizeof fields / sizeof *fields,
                                 .name = name,
                                 .key = name ? NULL : x->key,
                                 .print = print,
                                 .digest = may_be_cached(x) ? digest : NULL};
    if (name)
        queue_named_id(x->tenant, name, id);
    else
        queue_new_id(id);
    code = accept_job(x, &q, out, e);
    return code == ERROR_OK ? judge(out, &x->server->options->limits, e) : code;
}

/* "dry_run": the request and its module are checked as the job would, in a process of their own; 200 says
 * what it is */
static enum error_code dry_run(struct exchange *x, const struct submission *s, struct error *e)
{
    struct api_what_if *w;
    enum error_code code = api_what_if_dry_run(s->request, &w, e);
    if (code == ERROR_OK) {
        code = what_if_begin(x, w, s->module, what_if_reply, e);
        api_what_if_destroy(w);
    }
    return code;
}

static void take_submission(struct exchange *x, const char *name)
{
    struct submission s = {0};
    struct error e = {0};
    struct queue_accepted accepted;
    enum error_code code = take_body(x, &s, &e);
    bool dry = code == ERROR_OK && s.request->dry_run;
    if (dry)
        code = dry_run(x, &s, &e);
    else if (code == ERROR_OK)
        code = submit(x, &s, name, &accepted, &e);
    api_request_destroy(s.request);
    flight_end(x); /* before the answer: who has it may ask again */
    if (code != ERROR_OK) {
        e.code = code;
        reply_problem(x, &e);
        return;
    }
    if (dry)
        return; /* what_if_reply answers */
    if (accepted.outcome == QUEUE_ACCEPTED)
        log_event("job_submitted", "job", accepted.id, "request_id", x->request_id, NULL);
    job_show(x, name ? name : accepted.id,
             (struct job_showing){.status = 202, .replayed = accepted.outcome == QUEUE_REPLAYED});
}

enum error_code job_submit(struct exchange *x, const char *json, size_t size, char id[QUEUE_ID_SIZE],
                           struct error *e)
{
    struct submission s = {0};
    struct queue_accepted accepted;
    enum error_code code = take_json(x, json, size, NULL, &s, e);
    if (code == ERROR_OK)
        code = submit(x, &s, NULL, &accepted, e);
    api_request_destroy(s.request);
    if (code != ERROR_OK)
        return code;
    log_event("job_submitted", "job", accepted.id, "request_id", x->request_id, NULL);
    snprintf(id, QUEUE_ID_SIZE, "%s", accepted.id);
    return ERROR_OK;
}

void handle_job_post(struct exchange *x)
{
    take_submission(x, NULL);
}

void handle_job_put(struct exchange *x)
{
    struct error e;
    if (job_name_valid(x->params[0])) {
        take_submission(x, x->params[0]);
        return;
    }
    error_set_pointer(
        &e, ERROR_MALFORMED, "id",
        "an id of your choice has 1 to %d letters, digits, '.', '_' or '-', begins with a letter or digit "
        "and not with j_, which the service's own ids begin with",
        JOB_NAME_MAX);
    reply_problem(x, &e);
}
