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
    char about[400];
    struct queue_pair fields[12];
    struct queue_submission to;
    struct queue_accepting accepting;
};

static struct submission *submission_create(void)
{
    return mem_zalloc(1, sizeof(struct submission));
}

void submission_destroy(struct submission *submission)
{
    if (!submission)
        return;
    api_request_destroy(submission->request);
    queue_fields_release(&submission->accepting.accepted.job);
    free(submission);
}

enum error_code job_memory_check(struct exchange *exchange, struct error *e)
{
    return atomic_load(&exchange->server->resources->memory_short)
               ? error_set(e, ERROR_UNAVAILABLE,
                           "the queue's memory is nearly full; jobs are taken again when some have ended")
               : ERROR_OK;
}

/* The module must be in the store, which then keeps it. Whether it is the tenant's own is checked by the
 * queue as it takes the job, and answered with the same words: a tenant never learns which modules others
 * have. */
static enum error_code keep_named(struct exchange *exchange, const char *digest, struct error *e)
{
    enum error_code code = job_memory_check(exchange, e);
    if (code == ERROR_OK)
        code = store_keep(exchange->server->store, digest, e);
    return code == ERROR_NOT_FOUND ? tenant_module_missing(digest, e) : code;
}

static enum error_code take_json(struct exchange *exchange, const char *json, size_t size, const char *module,
                                 struct submission *submission, struct error *e)
{
    enum error_code code = api_request_parse(json, size, module, false, &submission->request, e);
    if (code != ERROR_OK)
        return code;
    char *bound;
    code = profile_resolve(exchange, submission->request, json, size, &bound, e);
    if (bound) { /* once more, with the profile that it names in it */
        api_request_destroy(submission->request);
        submission->request = NULL;
        code = take_json(exchange, bound, strlen(bound), module, submission, e);
        free(bound);
        return code;
    }
    if (code == ERROR_OK && submission->request->webhook)
        code =
            webhook_check(&exchange->server->resources->options->webhooks, submission->request->webhook, e);
    if (code == ERROR_OK && submission->request->planning.referee[0])
        code = referee_check(exchange, submission->request->planning.referee, e);
    if (code != ERROR_OK)
        return code;
    if (module)
        return ERROR_OK; /* s->module was set by whoever stored it */
    return request_module(exchange, submission->request,
                          submission->request->dry_run ? tenant_module_named : keep_named, submission->module,
                          e);
}

/* of a body: a module beside the request is stored, else the request says where it is */
static enum error_code take_parts(struct exchange *exchange, const struct request_parts *request_parts,
                                  void *user, struct error *e)
{
    struct submission *submission = user;
    if (!request_parts->module)
        return take_json(exchange, request_parts->request, request_parts->request_size, NULL, submission, e);
    /* the request first: a wrong one needs no module */
    enum error_code code = api_request_parse(request_parts->request, request_parts->request_size, NULL, true,
                                             &submission->request, e);
    if (code == ERROR_OK)
        code = tenant_module_store(exchange, "module", request_parts->module, request_parts->module_size,
                                   submission->module, e);
    api_request_destroy(submission->request);
    submission->request = NULL;
    return code == ERROR_OK ? take_json(exchange, request_parts->request, request_parts->request_size,
                                        submission->module, submission, e)
                            : code;
}

/* ---- request -> job ---- */

/* What a repeat must be equal in: the request as it is understood, so that another boundary, compression or
 * order of members is the same request. */
static void fingerprint(const struct submission *submission, char out[33])
{
    uint8_t raw[32];
    char hex[65];
    const char *const parts[] = {submission->module, submission->request->canonical,
                                 submission->request->labels ? submission->request->labels : "",
                                 submission->request->webhook ? submission->request->webhook : ""};
    size_t count =
        sizeof parts / sizeof *parts - !submission->request->webhook; /* as before there were any */
    struct sha256 *sha = sha256_create();
    for (size_t i = 0; i < count; i++)
        sha256_add(sha, parts[i], strlen(parts[i]) + 1);
    sha256_finish(sha, raw);
    sha256_format(raw, hex);
    snprintf(out, 33, "%.32s", hex);
}

/* The queue has said that an archived job has the answer: read it, and ask once more. */
static enum error_code accept_archived(struct exchange *exchange, struct submission *submission,
                                       struct error *e)
{
    struct queue_fields source = {0};
    struct queue_accepted *out = &submission->accepting.accepted;
    char from[QUEUE_ID_SIZE];
    snprintf(from, sizeof from, "%s", out->id);
    submission->to.source = from;
    submission->to.source_fields = &source;
    if (archive_read(exchange->server->store, out->blob, &source, NULL) != ERROR_OK)
        submission->to.digest = submission->to.source = NULL; /* the job is planned as if there were none */
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_accept(queue, &submission->to, out, e);
    if (code == ERROR_OK && out->outcome == QUEUE_ARCHIVED) { /* another one took its place meanwhile */
        submission->to.digest = NULL;
        code = queue_accept(queue, &submission->to, out, e);
    }
    pool_give(exchange->server, queue);
    queue_fields_release(&source);
    return code;
}

static enum error_code judge(const struct submission *submission, const struct tenant_limits *tenant_limits,
                             struct error *e)
{
    switch (submission->accepting.accepted.outcome) {
    case QUEUE_NO_MODULE: return tenant_module_missing(submission->module, e);
    case QUEUE_OTHER: return error_set(e, ERROR_CONFLICT, "a job with this id was made by another request");
    case QUEUE_MISMATCH:
        return error_set(e, ERROR_KEY_REUSED,
                         "this Idempotency-Key was used for another request; take a new one");
    case QUEUE_GONE:
        return error_set(e, ERROR_GONE,
                         "the job of this id was deleted, or its time was over; take another id");
    case QUEUE_FULL:
        return error_set(e, ERROR_TOO_MANY_JOBS,
                         "%d jobs are open already; wait for one to end or cancel one",
                         tenant_limits->open_jobs);
    case QUEUE_FAST:
        return error_set(e, ERROR_TOO_FAST, "more than %d submissions a second; send them more slowly",
                         tenant_limits->submits_per_s);
    case QUEUE_ARCHIVED: return error_set(e, ERROR_INTERNAL, "the queue's answer is not understood");
    case QUEUE_ACCEPTED:
    case QUEUE_EXISTS:
    case QUEUE_REPLAYED: break;
    }
    return ERROR_OK;
}

/* "data=8,model=8 h100": what lists show of a request without reading it */
static void describe(const struct api_request *request, char *out, size_t room)
{
    const struct mesh *mesh = &request->planning.mesh;
    size_t n = 0;
    for (uint32_t axis = 0; axis < mesh->axis_count && n < room; axis++)
        n += (size_t)snprintf(out + n, room - n, "%s%.40s=%lld", axis ? "," : "", mesh->axes[axis].name,
                              (long long)mesh->axes[axis].size);
    if (n < room)
        snprintf(out + n, room - n, " %.63s", request->planning.device);
}

static bool may_be_cached(struct exchange *exchange)
{
    const char *control = request_header(exchange, "Cache-Control");
    return !control || strcasecmp(control, "no-cache") != 0;
}

/* everything up to the call of the queue. name: the id that the client chose, or NULL */
static enum error_code prepare(struct exchange *exchange, struct submission *submission, const char *name,
                               struct error *e)
{
    const struct api_request *request = submission->request;
    enum error_code code = job_memory_check(exchange, e);
    if (code == ERROR_OK)
        code = store_put(exchange->server->store, request->canonical, strlen(request->canonical),
                         submission->blob, e);
    if (code != ERROR_OK)
        return code;
    api_request_digest(request, submission->module, submission->digest);
    fingerprint(submission, submission->print);
    snprintf(submission->seconds, sizeof submission->seconds, "%lld", (long long)(request->seconds * 1000));
    describe(request, submission->about, sizeof submission->about);
    snprintf(submission->priority, sizeof submission->priority, "%d", request->priority);
    const struct queue_pair fields[] = {{"priority", submission->priority},
                                        {"request", submission->blob},
                                        {"module", submission->module},
                                        {"digest", submission->digest},
                                        {"labels", request->labels ? request->labels : ""},
                                        {"seconds_ms", submission->seconds},
                                        {"on_deadline", request->deadline_fail ? "fail" : "best"},
                                        {"digest_build", api_build()},
                                        {"referee", request->planning.referee},
                                        {"webhook", request->webhook ? request->webhook : ""},
                                        {"about", submission->about},
                                        {"trace", exchange->trace}};
    _Static_assert(sizeof fields == sizeof submission->fields, "all of them");
    memcpy(submission->fields, fields, sizeof fields);
    submission->name = name;
    submission->to =
        (struct queue_submission){.id = submission->id,
                                  .tenant = exchange->tenant,
                                  .first_kind = QUEUE_FIRST_KIND,
                                  .deadline_ms = (long long)(request->deadline_s * 1000),
                                  .open_limit = exchange->server->access->options->limits.open_jobs,
                                  .submits_per_s = exchange->server->access->options->limits.submits_per_s,
                                  .fields = submission->fields,
                                  .field_count = sizeof fields / sizeof *fields,
                                  .name = name,
                                  .key = name ? NULL : exchange->errand->key,
                                  .print = submission->print,
                                  .digest = may_be_cached(exchange) ? submission->digest : NULL,
                                  .module = submission->module};
    if (name)
        queue_named_id(exchange->tenant, name, submission->id);
    else
        queue_new_id(submission->id);
    submission->accepting.submission = &submission->to;
    return ERROR_OK;
}

/* the queue's answer (to this submission alone or in a group) as an error or a job */
static enum error_code conclude(struct exchange *exchange, struct submission *submission, struct error *e)
{
    enum error_code code = submission->accepting.code;
    if (code != ERROR_OK)
        *e = submission->accepting.error;
    else if (submission->accepting.accepted.outcome == QUEUE_ARCHIVED)
        code = accept_archived(exchange, submission, e);
    if (code == ERROR_OK)
        code = judge(submission, &exchange->server->access->options->limits, e);
    if (code == ERROR_OK && submission->accepting.accepted.outcome == QUEUE_ACCEPTED)
        log_event("job_submitted", "job", submission->accepting.accepted.id, "request_id",
                  exchange->request_id, NULL);
    return code;
}

static void accept_alone(struct exchange *exchange, struct submission *submission)
{
    struct queue_accepting *const items[] = {&submission->accepting};
    struct queue *queue = pool_take(exchange->server);
    queue_accept_many(queue, items, 1);
    pool_give(exchange->server, queue);
}

/* "dry_run": the request and its module are checked as for a job, in a process of their own; the reply is 200
 * with what was found, and no job is made */
static enum error_code dry_run(struct exchange *exchange, const struct submission *submission,
                               struct error *e)
{
    struct api_what_if *what_if;
    enum error_code code = api_what_if_dry_run(submission->request, &what_if, e);
    if (code == ERROR_OK) {
        code = what_if_begin(exchange, what_if, submission->module, what_if_reply, e);
        api_what_if_destroy(what_if);
    }
    return code;
}

static void reply_error(struct exchange *exchange, enum error_code code, struct error *e)
{
    flight_end(exchange); /* before the answer: a client that has it may use the key again at once */
    e->code = code;
    reply_problem(exchange, e);
}

/* the queue has answered */
static void answer(struct exchange *exchange)
{
    struct submission *submission = exchange->errand->submission;
    struct queue_accepted *accepted = &submission->accepting.accepted;
    struct error e = {0};
    enum error_code code = conclude(exchange, submission, &e);
    if (code != ERROR_OK) {
        reply_error(exchange, code, &e);
        return;
    }
    flight_end(exchange);
    struct job_showing how = {.status = 202, .replayed = accepted->outcome == QUEUE_REPLAYED};
    const char *name = submission->name ? submission->name : accepted->id;
    if (accepted->outcome == QUEUE_ACCEPTED)
        job_show_fields(exchange, name, accepted->id, &accepted->job, how);
    else
        job_show(exchange, name, how);
}

static void take_submission(struct exchange *exchange, const char *name)
{
    struct submission *submission = exchange->errand->submission = submission_create();
    struct error e = {0};
    enum error_code code = request_parts_read(exchange, false, take_parts, submission, &e);
    bool dry = code == ERROR_OK && submission->request->dry_run;
    if (dry)
        code = dry_run(exchange, submission, &e);
    else if (code == ERROR_OK)
        code = prepare(exchange, submission, name, &e);
    if (code != ERROR_OK) {
        reply_error(exchange, code, &e);
        return;
    }
    if (dry) {
        flight_end(exchange);
        return; /* what_if_reply replies when the child has ended */
    }
    exchange->again = answer;
    if (acceptor_add(exchange->server->resources->acceptor, exchange, &submission->accepting))
        return; /* answer() replies when the queue has answered */
    accept_alone(exchange, submission);
    answer(exchange);
}

enum error_code job_submit(struct exchange *exchange, const char *json, size_t size, char id[QUEUE_ID_SIZE],
                           struct error *e)
{
    struct submission *submission = submission_create();
    enum error_code code = take_json(exchange, json, size, NULL, submission, e);
    if (code == ERROR_OK)
        code = prepare(exchange, submission, NULL, e);
    if (code == ERROR_OK) {
        accept_alone(exchange, submission);
        code = conclude(exchange, submission, e);
    }
    if (code == ERROR_OK)
        snprintf(id, QUEUE_ID_SIZE, "%s", submission->accepting.accepted.id);
    submission_destroy(submission);
    return code;
}

void handle_job_post(struct exchange *exchange)
{
    take_submission(exchange, NULL);
}

void handle_job_put(struct exchange *exchange)
{
    struct error e;
    if (job_name_valid(exchange->params[0])) {
        take_submission(exchange, exchange->params[0]);
        return;
    }
    error_set_pointer(
        &e, ERROR_MALFORMED, "id",
        "an id of your choice has 1 to %d letters, digits, '.', '_' or '-', begins with a letter or digit "
        "and not with j_, which the service's own ids begin with",
        JOB_NAME_MAX);
    reply_problem(exchange, &e);
}
