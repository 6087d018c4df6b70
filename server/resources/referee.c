/* Referees: workers that come over HTTP with the worker's token, claim tasks of kind `referee`, read the
 * plans' modules as blobs, compile them, and say what the compiler said.
 *
 *   POST /internal/referee:claim    {worker, referees, token}        200 a task, or 204: nothing to do
 *   POST /internal/referee:beat     {worker, referees, token, task}  {"held": true}, every 2 s; false: stop
 *   POST /internal/referee:done     {worker, token, task, result}    {"late": false}
 *   POST /internal/referee:died     {.., reason, message}            the attempt is lost, and counts
 *   POST /internal/referee:release  {worker, token, task}            given back by who leaves; does not count
 *
 * Every call may be repeated. A result is checked before it is kept; what it says is shown, never run. */
#include "server/resources/handlers.h"
#include "server/resources/job_body.h"
#include "server/resources/resources.h"

#include "api/referee.h"
#include "base/log.h"
#include "queue/referee.h"

static enum error_code read_call(struct exchange *exchange, struct api_referee_call *call, struct error *e)
{
    const struct body *body = &exchange->body;
    if (body->fd >= 0 || exchange->gzip)
        return error_set(e, ERROR_MEDIA_TYPE, "a referee sends application/json");
    return api_referee_call_parse(body->memory.at ? body->memory.at : "", body->memory.size, call, e);
}

static struct queue_referee who_of(const struct api_referee_call *call)
{
    struct queue_referee who = {.worker = call->worker, .count = call->referee_count};
    for (uint32_t i = 0; i < call->referee_count; i++)
        who.names[i] = call->referees[i];
    return who;
}

/* ---- claim ---- */

static void add_blob(struct text *out, const struct queue_fields *job, uint32_t plan, const char *file,
                     const char *member)
{
    char name[64];
    struct job_artifact artifact;
    if (plan)
        snprintf(name, sizeof name, "alternatives/%u/%s", plan, file);
    else
        snprintf(name, sizeof name, "%s", file);
    if (job_artifact(job, name, &artifact))
        text_printf(out, ",\"%s\":\"%s\"", member, artifact.digest);
}

static void add_plans(struct text *out, const struct queue_fields *job)
{
    struct job_artifact artifact;
    for (uint32_t plan = 0; plan < REPORT_REFEREE_ROWS; plan++) {
        char name[64];
        snprintf(name, sizeof name, "alternatives/%u/plan.json", plan);
        if (plan && !job_artifact(job, name, &artifact))
            break;
        text_printf(out, "%s{\"plan\":%u", plan ? "," : "", plan);
        add_blob(out, job, plan, "manual.mlir", "manual");
        add_blob(out, job, plan, "report.json", "report");
        text_add(out, "}");
    }
}

static void reply_task(struct exchange *exchange, const struct queue_task *task)
{
    struct text text = {0};
    text_add(&text, "{\"task\":");
    log_json_string(&text, task->member, strlen(task->member));
    text_add(&text, ",\"token\":");
    log_json_string(&text, task->token, strlen(task->token));
    text_printf(&text, ",\"job\":\"%s\",\"referee\":\"%s\",\"plans\":[", task->id,
                queue_field(&task->job, "referee"));
    add_plans(&text, &task->job);
    text_add(&text, "]}");
    reply_json(exchange, 200, &text, NULL, 0);
}

static enum error_code claim(struct exchange *exchange, const struct api_referee_call *call, struct error *e)
{
    struct queue_task task = {0};
    struct queue_referee who = who_of(call);
    bool found = false;
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_referee_claim(queue, &who, call->token, &task, &found, e);
    pool_give(exchange->server, queue);
    if (code != ERROR_OK)
        return code;
    if (found)
        reply_task(exchange, &task);
    else
        reply_empty(exchange, 204, NULL, 0);
    queue_task_release(&task);
    return ERROR_OK;
}

/* ---- what a worker says of its task ---- */

static void reply_bool(struct exchange *exchange, const char *name, bool value)
{
    struct text text = {0};
    text_printf(&text, "{\"%s\":%s}", name, value ? "true" : "false");
    reply_json(exchange, 200, &text, NULL, 0);
}

static enum error_code beat(struct exchange *exchange, struct queue *queue,
                            const struct api_referee_call *call, const struct queue_task *task,
                            struct error *e)
{
    struct queue_referee who = who_of(call);
    bool held = false;
    TRY(queue_referee_beat(queue, &who, task, &held, e));
    reply_bool(exchange, "held", held);
    return ERROR_OK;
}

static enum error_code done(struct exchange *exchange, struct queue *queue,
                            const struct api_referee_call *call, const struct queue_task *task,
                            struct error *e)
{
    char digest[STORE_DIGEST_SIZE];
    bool late = false;
    if (!call->result)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, "/result", "what the compiler said is needed");
    TRY(store_put(exchange->server->store, call->result, strlen(call->result), digest, e));
    TRY(queue_referee_done(queue, task, digest, &late, e));
    reply_bool(exchange, "late", late);
    return ERROR_OK;
}

static enum error_code died(struct exchange *exchange, struct queue *queue,
                            const struct api_referee_call *call, const struct queue_task *task,
                            struct error *e)
{
    struct text json = {0};
    uint32_t random = (uint32_t)strtoul(exchange->request_id, NULL, 16);
    text_add(&json, "{\"code\":\"internal\",\"message\":");
    log_json_string(&json, call->message, strlen(call->message));
    text_add(&json, "}");
    enum error_code code =
        queue_died(queue, task, json.at, call->reason[0] ? call->reason : "fault", random, e);
    text_release(&json);
    if (code == ERROR_OK)
        reply_bool(exchange, "noted", true);
    return code;
}

static enum error_code give_back(struct exchange *exchange, struct queue *queue,
                                 const struct api_referee_call *call, const struct queue_task *task,
                                 struct error *e)
{
    TRY(queue_release(queue, task, e));
    reply_bool(exchange, "noted", true);
    return ERROR_OK;
}

typedef enum error_code act(struct exchange *exchange, struct queue *queue,
                            const struct api_referee_call *call, const struct queue_task *task,
                            struct error *e);

static void answer(struct exchange *exchange, act *what)
{
    struct api_referee_call call = {0};
    struct error e = {0};
    enum error_code code = read_call(exchange, &call, &e);
    if (code == ERROR_OK && what && !call.task[0])
        code = error_set_pointer(&e, ERROR_INVALID_REQUEST, "/task", "the task that was claimed is needed");
    if (code == ERROR_OK && !what) {
        code = claim(exchange, &call, &e);
    } else if (code == ERROR_OK) {
        struct queue_task task = {.member = call.task, .token = call.token};
        struct queue *queue = pool_take(exchange->server);
        code = what(exchange, queue, &call, &task, &e);
        pool_give(exchange->server, queue);
    }
    api_referee_call_release(&call);
    e.code = code;
    if (code != ERROR_OK)
        reply_problem(exchange, &e);
}

void handle_referee_claim(struct exchange *exchange)
{
    answer(exchange, NULL);
}

void handle_referee_beat(struct exchange *exchange)
{
    answer(exchange, beat);
}

void handle_referee_done(struct exchange *exchange)
{
    answer(exchange, done);
}

void handle_referee_died(struct exchange *exchange)
{
    answer(exchange, died);
}

void handle_referee_release(struct exchange *exchange)
{
    answer(exchange, give_back);
}

enum error_code referee_check(struct exchange *exchange, const char *name, struct error *e)
{
    struct text live = {0};
    char line[20];
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_referees(queue, &live, e);
    pool_give(exchange->server, queue);
    snprintf(line, sizeof line, "%.16s\n", name);
    if (code == ERROR_OK && !strstr(live.at ? live.at : "", line))
        code = error_set_pointer(e, ERROR_NO_REFEREE, "/referee",
                                 "no worker here judges for %.16s; leave `referee` out, or start one: "
                                 "toast-referee --serve URL --referee %.16s",
                                 name, name);
    text_release(&live);
    return code;
}
