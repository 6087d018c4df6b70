/* See queue.h: tasks as workers see them: claimed, held by a lease, reported, given back. Each call is one
 * function of queue/library.lua or a plain read; who has lost a task is told so by the function and changes
 * nothing. */
#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void queue_task_release(struct queue_task *task)
{
    free(task->member);
    free(task->token);
    queue_fields_release(&task->job);
    *task = (struct queue_task){0};
}

bool reply_task(const redisReply *reply, struct queue_task *out)
{
    *out = (struct queue_task){0};
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 5)
        return false;
    const char *member = reply_text(reply, 0), *slash = strchr(member, '/'),
               *end = slash ? strchr(slash + 1, '/') : NULL;
    if (!end || (size_t)(slash - member) >= sizeof out->id || (size_t)(end - slash - 1) >= sizeof out->kind)
        return false;
    memcpy(out->id, member, (size_t)(slash - member));
    memcpy(out->kind, slash + 1, (size_t)(end - slash - 1));
    out->member = mem_strdup(member);
    out->token = mem_strdup(reply_text(reply, 1));
    out->epoch = (uint32_t)reply_number(reply, 2);
    out->index = (uint32_t)reply_number(reply, 3);
    reply_fields(reply->element[4], &out->job);
    return true;
}

static bool read_next(const redisReply *reply, struct queue_task *next)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           strcmp(reply_text(reply, 0), "next") == 0 && reply_task(reply->element[1], next);
}

/* the call of a function that begins with a task: which one, and by whom it is held */
static struct call call_of(const struct queue_task *task)
{
    struct call call = {0};
    call_add(&call, task->member);
    call_add(&call, task->token);
    return call;
}

enum error_code queue_wait(struct queue *queue, int wait_ms, struct error *e)
{
    char block[16];
    struct error scratch, *why = e ? e : &scratch;
    redisReply *reply = NULL;
    snprintf(block, sizeof block, "%d", wait_ms > 1000 ? 1000 : wait_ms < 1 ? 1 : wait_ms);
    const char *argv[] = {"XREADGROUP", "GROUP", "w",   "w",       "NOACK", "COUNT",
                          "1",          "BLOCK", block, "STREAMS", "{t}:q", ">"};
    enum error_code code = redis_command(queue->redis, 12, argv, NULL, &reply, why);
    if (code == ERROR_INTERNAL && strstr(why->message, "NOGROUP"))
        return call_plain(queue, "hello", &(struct call){0}, e);
    if (code != ERROR_OK)
        return code;
    const char *message = NULL;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements && reply->element[0]->elements == 2 &&
        reply->element[0]->element[1]->elements && reply->element[0]->element[1]->element[0]->elements)
        message = reply->element[0]->element[1]->element[0]->element[0]->str;
    redisReply *deleted = NULL;
    const char *drop[] = {"XDEL", "{t}:q", message};
    if (message)
        code = redis_command(queue->redis, 3, drop, NULL, &deleted, e);
    if (deleted)
        freeReplyObject(deleted);
    freeReplyObject(reply);
    return code;
}

static enum error_code take(struct queue *queue, const char *function, const char *token, const char *build,
                            const char *last, struct queue_task *out, bool *found, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, token);
    call_add(&call, build);
    if (last)
        call_add(&call, last);
    enum error_code code = call_function(queue, function, &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *found = reply_task(reply, out);
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_claim(struct queue *queue, const char *token, const char *build, const char *last,
                            struct queue_task *out, bool *found, struct error *e)
{
    return take(queue, "claim", token, build, last, out, found, e);
}

enum error_code queue_unclaim(struct queue *queue, const char *token, struct error *e)
{
    struct call call = {0};
    call_add(&call, token);
    return call_plain(queue, "unclaim", &call, e);
}

enum error_code queue_assist(struct queue *queue, const char *token, const char *build,
                             struct queue_task *out, bool *found, struct error *e)
{
    return take(queue, "assist", token, build, NULL, out, found, e);
}

enum error_code queue_drain(struct queue *queue, const char *worker, bool drain, bool *known, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, worker);
    call_add(&call, drain ? "1" : "0");
    enum error_code code = call_function(queue, "drain", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *known = reply->integer == 1;
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_results(struct queue *queue, const char *id, uint32_t epoch, struct queue_fields *out,
                              struct error *e)
{
    char key[80];
    *out = (struct queue_fields){0};
    if (epoch == 0)
        return ERROR_OK;
    snprintf(key, sizeof key, "{t}:d:%s:%u", id, epoch - 1);
    return call_hash(queue, key, out, e);
}

enum error_code queue_beat(struct queue *queue, const char *worker, const char *build, const char *host,
                           int threads, struct queue_lease *leases, size_t count, bool *drain,
                           struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, worker);
    call_add(&call, build);
    call_add(&call, host);
    call_add_number(&call, threads);
    for (size_t i = 0; i < count; i++) {
        call_add(&call, leases[i].member);
        call_add(&call, leases[i].token);
    }
    enum error_code code = call_function(queue, "beat", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    for (size_t i = 0; i < count; i++)
        leases[i].held = reply_number(reply, i) == 1;
    *drain = reply_number(reply, count) == 1;
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_task_done(struct queue *queue, const struct queue_task *task, const char *digest,
                                const void *payload, size_t size, const char *next_token,
                                struct queue_task *next, bool *found, struct error *e)
{
    struct call call = call_of(task);
    redisReply *reply = NULL;
    call_add(&call, digest);
    call_add_bytes(&call, payload, size);
    call_add(&call, next_token);
    enum error_code code = call_function(queue, "task_done", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *found = read_next(reply, next);
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_commit(struct queue *queue, const struct queue_task *task,
                             const struct queue_step *step, const char *next_token, struct queue_task *next,
                             bool *found, struct error *e)
{
    struct call call = call_of(task);
    redisReply *reply = NULL;
    call_add(&call, next_token);
    call_add(&call, step->kind);
    call_add_number(&call, step->tasks);
    call_add(&call, step->join);
    call_add(&call, step->wrap);
    call_add(&call, step->state);
    call_add(&call, step->progress);
    call_add_number(&call, (long long)step->rollouts);
    call_add_number(&call, (long long)step->dropped);
    call_add_pairs(&call, step->fields, step->field_count);
    enum error_code code = call_function(queue, "epoch_commit", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *found = read_next(reply, next);
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_finish(struct queue *queue, const struct queue_task *task, const char *state,
                             const char *error_json, const char *progress, const struct queue_pair *fields,
                             size_t field_count, bool *fenced, struct error *e)
{
    struct call call = call_of(task);
    redisReply *reply = NULL;
    call_add(&call, state);
    call_add(&call, error_json);
    call_add(&call, progress);
    call_add_pairs(&call, fields, field_count);
    enum error_code code = call_function(queue, "finish", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *fenced = strcmp(reply_text(reply, 0), "ok") != 0;
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_release(struct queue *queue, const struct queue_task *task, struct error *e)
{
    struct call call = call_of(task);
    return call_plain(queue, "release", &call, e);
}

enum error_code queue_died(struct queue *queue, const struct queue_task *task, const char *error_json,
                           const char *reason, uint32_t random, struct error *e)
{
    struct call call = call_of(task);
    call_add(&call, error_json);
    call_add_number(&call, random & 0xffff);
    call_add(&call, reason);
    return call_plain(queue, "died", &call, e);
}

enum error_code queue_reset(struct queue *queue, const struct queue_task *task, const char *error_json,
                            struct error *e)
{
    struct call call = call_of(task);
    call_add(&call, error_json);
    return call_plain(queue, "reset", &call, e);
}

enum error_code queue_reap(struct queue *queue, struct error *e)
{
    return call_plain(queue, "reap", &(struct call){0}, e);
}
