/* Submissions: a body becomes a request, a request becomes a job. POST with or without an Idempotency-Key,
 * PUT under a chosen id, answers from finished jobs, dry runs. Whether a job is made is decided by one
 * function in Redis; nothing of a submission is kept here after its answer. */
#include "server/resources/accept.h"
#include "server/resources/archive.h"
#include "server/resources/handlers.h"
#include "server/resources/request_parts.h"
#include "server/resources/what_if.h"

#include "api/request.h"
#include "api/what_if.h"
#include "base/hash.h"
#include "base/log.h"

#include <strings.h>

/* ---- submit ---- */

struct submission {
    struct api_request *request; /* owned */
    char module[STORE_DIGEST_SIZE];
    /* what goes to the queue: */
    const char *name; /* the id that the client chose, or NULL; borrowed from the exchange */
    char blob[STORE_DIGEST_SIZE], digest[65], seconds[24], priority[8], print[33], id[QUEUE_ID_SIZE];
    struct queue_pair fields[9];
    struct queue_submission to;
    struct queue_accepting accepting;
};

static struct submission *submission_create(void)
{
    return mem_zalloc(1, sizeof(struct submission));
}

void submission_destroy(struct submission *s)
{
    if (!s)
        return;
    api_request_destroy(s->request);
    queue_fields_release(&s->accepting.accepted.job);
    free(s);
}

enum error_code job_memory_check(struct exchange *x, struct error *e)
{
    return atomic_load(&x->server->resources->memory_short)
               ? error_set(e, ERROR_UNAVAILABLE,
                           "the queue's memory is nearly full; jobs are taken again when some have ended")
               : ERROR_OK;
}

/* The module must be in the store, which then keeps it. Whether it is the tenant's own is checked by the
 * queue as it takes the job, and answered with the same words: a tenant never learns which modules others
 * have. */
static enum error_code keep_named(struct exchange *x, const char *digest, struct error *e)
{
    enum error_code code = job_memory_check(x, e);
    if (code == ERROR_OK)
        code = store_keep(x->server->store, digest, e);
    return code == ERROR_NOT_FOUND ? tenant_module_missing(digest, e) : code;
}

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
    return request_module(x, s->request, s->request->dry_run ? tenant_module_named : keep_named, s->module,
                          e);
}

/* of a body: a module beside the request is stored, else the request says where it is */
static enum error_code take_parts(struct exchange *x, const struct request_parts *p, void *user,
                                  struct error *e)
{
    struct submission *s = user;
    if (!p->module)
        return take_json(x, p->request, p->request_size, NULL, s, e);
    /* the request first: a wrong one needs no module */
    enum error_code code = api_request_parse(p->request, p->request_size, NULL, true, &s->request, e);
    if (code == ERROR_OK)
        code = tenant_module_store(x, "module", p->module, p->module_size, s->module, e);
    api_request_destroy(s->request);
    s->request = NULL;
    return code == ERROR_OK ? take_json(x, p->request, p->request_size, s->module, s, e) : code;
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

/* The queue has said that an archived job has the answer: read it, and ask once more. */
static enum error_code accept_archived(struct exchange *x, struct submission *s, struct error *e)
{
    struct queue_fields source = {0};
    struct queue_accepted *out = &s->accepting.accepted;
    char from[QUEUE_ID_SIZE];
    snprintf(from, sizeof from, "%s", out->id);
    s->to.source = from;
    s->to.source_fields = &source;
    if (archive_read(x->server->store, out->blob, &source, NULL) != ERROR_OK)
        s->to.digest = s->to.source = NULL; /* the job is planned as if there were none */
    struct queue *queue = pool_take(x->server);
    enum error_code code = queue_accept(queue, &s->to, out, e);
    if (code == ERROR_OK && out->outcome == QUEUE_ARCHIVED) { /* another one took its place meanwhile */
        s->to.digest = NULL;
        code = queue_accept(queue, &s->to, out, e);
    }
    pool_give(x->server, queue);
    queue_fields_release(&source);
    return code;
}

static enum error_code judge(const struct submission *s, const struct tenant_limits *l, struct error *e)
{
    switch (s->accepting.accepted.outcome) {
    case QUEUE_NO_MODULE: return tenant_module_missing(s->module, e);
    case QUEUE_OTHER: return error_set(e, ERROR_CONFLICT, "a job with this id was made by another request");
    case QUEUE_MISMATCH:
        return error_set(e, ERROR_KEY_REUSED,
                         "this Idempotency-Key was used for another request; take a new one");
    case QUEUE_GONE:
        return error_set(e, ERROR_GONE,
                         "the job of this id was deleted, or its time was over; take another id");
    case QUEUE_FULL:
        return error_set(e, ERROR_TOO_MANY_JOBS,
                         "%d jobs are open already; wait for one to end or cancel one", l->open_jobs);
    case QUEUE_FAST:
        return error_set(e, ERROR_TOO_FAST, "more than %d submissions a second; send them more slowly",
                         l->submits_per_s);
    case QUEUE_ARCHIVED: return error_set(e, ERROR_INTERNAL, "the queue's answer is not understood");
    case QUEUE_ACCEPTED:
    case QUEUE_EXISTS:
    case QUEUE_REPLAYED: break;
    }
    return ERROR_OK;
}

static bool may_be_cached(struct exchange *x)
{
    const char *control = request_header(x, "Cache-Control");
    return !control || strcasecmp(control, "no-cache") != 0;
}

/* everything up to the call of the queue. name: the id that the client chose, or NULL */
static enum error_code prepare(struct exchange *x, struct submission *s, const char *name, struct error *e)
{
    const struct api_request *r = s->request;
    enum error_code code = job_memory_check(x, e);
    if (code == ERROR_OK)
        code = store_put(x->server->store, r->canonical, strlen(r->canonical), s->blob, e);
    if (code != ERROR_OK)
        return code;
    api_request_digest(r, s->module, s->digest);
    fingerprint(s, s->print);
    snprintf(s->seconds, sizeof s->seconds, "%lld", (long long)(r->seconds * 1000));
    snprintf(s->priority, sizeof s->priority, "%d", r->priority);
    const struct queue_pair fields[] = {{"priority", s->priority},
                                        {"request", s->blob},
                                        {"module", s->module},
                                        {"digest", s->digest},
                                        {"labels", r->labels ? r->labels : ""},
                                        {"seconds_ms", s->seconds},
                                        {"on_deadline", r->deadline_fail ? "fail" : "best"},
                                        {"digest_build", api_build()},
                                        {"trace", x->trace}};
    _Static_assert(sizeof fields == sizeof s->fields, "all of them");
    memcpy(s->fields, fields, sizeof fields);
    s->name = name;
    s->to = (struct queue_submission){.id = s->id,
                                      .tenant = x->tenant,
                                      .first_kind = QUEUE_FIRST_KIND,
                                      .deadline_ms = (long long)(r->deadline_s * 1000),
                                      .open_limit = x->server->access->options->limits.open_jobs,
                                      .submits_per_s = x->server->access->options->limits.submits_per_s,
                                      .fields = s->fields,
                                      .field_count = sizeof fields / sizeof *fields,
                                      .name = name,
                                      .key = name ? NULL : x->errand->key,
                                      .print = s->print,
                                      .digest = may_be_cached(x) ? s->digest : NULL,
                                      .module = s->module};
    if (name)
        queue_named_id(x->tenant, name, s->id);
    else
        queue_new_id(s->id);
    s->accepting.submission = &s->to;
    return ERROR_OK;
}

/* the queue's answer (to this submission alone or in a group) as an error or a job */
static enum error_code conclude(struct exchange *x, struct submission *s, struct error *e)
{
    enum error_code code = s->accepting.code;
    if (code != ERROR_OK)
        *e = s->accepting.error;
    else if (s->accepting.accepted.outcome == QUEUE_ARCHIVED)
        code = accept_archived(x, s, e);
    if (code == ERROR_OK)
        code = judge(s, &x->server->access->options->limits, e);
    if (code == ERROR_OK && s->accepting.accepted.outcome == QUEUE_ACCEPTED)
        log_event("job_submitted", "job", s->accepting.accepted.id, "request_id", x->request_id, NULL);
    return code;
}

static void accept_alone(struct exchange *x, struct submission *s)
{
    struct queue_accepting *const items[] = {&s->accepting};
    struct queue *queue = pool_take(x->server);
    queue_accept_many(queue, items, 1);
    pool_give(x->server, queue);
}

/* "dry_run": the request and its module are checked as for a job, in a process of their own; the reply is 200
 * with what was found, and no job is made */
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

static void reply_error(struct exchange *x, enum error_code code, struct error *e)
{
    flight_end(x); /* before the answer: a client that has it may use the key again at once */
    e->code = code;
    reply_problem(x, e);
}

/* the queue has answered */
static void answer(struct exchange *x)
{
    struct submission *s = x->errand->submission;
    struct queue_accepted *a = &s->accepting.accepted;
    struct error e = {0};
    enum error_code code = conclude(x, s, &e);
    if (code != ERROR_OK) {
        reply_error(x, code, &e);
        return;
    }
    flight_end(x);
    struct job_showing how = {.status = 202, .replayed = a->outcome == QUEUE_REPLAYED};
    const char *name = s->name ? s->name : a->id;
    if (a->outcome == QUEUE_ACCEPTED)
        job_show_fields(x, name, a->id, &a->job, how);
    else
        job_show(x, name, how);
}

static void take_submission(struct exchange *x, const char *name)
{
    struct submission *s = x->errand->submission = submission_create();
    struct error e = {0};
    enum error_code code = request_parts_read(x, false, take_parts, s, &e);
    bool dry = code == ERROR_OK && s->request->dry_run;
    if (dry)
        code = dry_run(x, s, &e);
    else if (code == ERROR_OK)
        code = prepare(x, s, name, &e);
    if (code != ERROR_OK) {
        reply_error(x, code, &e);
        return;
    }
    if (dry) {
        flight_end(x);
        return; /* what_if_reply replies when the child has ended */
    }
    x->again = answer;
    if (acceptor_add(x->server->resources->acceptor, x, &s->accepting))
        return; /* answer() replies when the queue has answered */
    accept_alone(x, s);
    answer(x);
}

enum error_code job_submit(struct exchange *x, const char *json, size_t size, char id[QUEUE_ID_SIZE],
                           struct error *e)
{
    struct submission *s = submission_create();
    enum error_code code = take_json(x, json, size, NULL, s, e);
    if (code == ERROR_OK)
        code = prepare(x, s, NULL, e);
    if (code == ERROR_OK) {
        accept_alone(x, s);
        code = conclude(x, s, e);
    }
    if (code == ERROR_OK)
        snprintf(id, QUEUE_ID_SIZE, "%s", s->accepting.accepted.id);
    submission_destroy(s);
    return code;
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
