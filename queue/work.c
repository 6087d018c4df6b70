/* See queue.h: tasks as workers see them: claimed, held by a lease, reported, given back. Each call is one
 * function of queue/library.lua or a plain read; who has lost a task is told so by the function and changes
 * nothing. */
#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void queue_task_release(struct queue_task *t)
{
    free(t->member);
    free(t->token);
    queue_fields_release(&t->job);
    *t = (struct queue_task){0};
}

/* {member, token, epoch, index, fields} as library.lua's task_reply gives it */
static bool read_task(const redisReply *r, struct queue_task *out)
{
    *out = (struct queue_task){0};
    if (r->type != REDIS_REPLY_ARRAY || r->elements != 5)
        return false;
    const char *member = reply_text(r, 0), *slash = strchr(member, '/'),
               *end = slash ? strchr(slash + 1, '/') : NULL;
    if (!end || (size_t)(slash - member) >= sizeof out->id || (size_t)(end - slash - 1) >= sizeof out->kind)
        return false;
    memcpy(out->id, member, (size_t)(slash - member));
    memcpy(out->kind, slash + 1, (size_t)(end - slash - 1));
    out->member = mem_strdup(member);
    out->token = mem_strdup(reply_text(r, 1));
    out->epoch = (uint32_t)reply_number(r, 2);
    out->index = (uint32_t)reply_number(r, 3);
    reply_fields(r->element[4], &out->job);
    return true;
}

static bool read_next(const redisReply *r, struct queue_task *next)
{
    return r->type == REDIS_REPLY_ARRAY && r->elements == 2 && strcmp(reply_text(r, 0), "next") == 0 &&
           read_task(r->element[1], next);
}

/* the call of a function that begins with a task: which one, and by whom it is held */
static struct call call_of(const struct queue_task *t)
{
    struct call a = {0};
    call_add(&a, t->member);
    call_add(&a, t->token);
    return a;
}

enum error_code queue_wait(struct queue *q, int wait_ms, struct error *e)
{
    char block[16];
    struct error scratch, *why = e ? e : &scratch;
    redisReply *r = NULL;
    snprintf(block, sizeof block, "%d", wait_ms > 1000 ? 1000 : wait_ms < 1 ? 1 : wait_ms);
    const char *argv[] = {"XREADGROUP", "GROUP", "w",   "w",       "NOACK", "COUNT",
                          "1",          "BLOCK", block, "STREAMS", "{t}:q", ">"};
    enum error_code code = redis_command(q->redis, 12, argv, NULL, &r, why);
    if (code == ERROR_INTERNAL && strstr(why->message, "NOGROUP"))
        return call_plain(q, "hello", &(struct call){0}, e);
    if (code != ERROR_OK)
        return code;
    const char *message = NULL;
    if (r->type == REDIS_REPLY_ARRAY && r->elements && r->element[0]->elements == 2 &&
        r->element[0]->element[1]->elements && r->element[0]->element[1]->element[0]->elements)
        message = r->element[0]->element[1]->element[0]->element[0]->str;
    redisReply *deleted = NULL;
    const char *drop[] = {"XDEL", "{t}:q", message};
    if (message)
        code = redis_command(q->redis, 3, drop, NULL, &deleted, e);
    if (deleted)
        freeReplyObject(deleted);
    freeReplyObject(r);
    return code;
}

static enum error_code take(struct queue *q, const char *function, const char *token, const char *build,
                            const char *last, struct queue_task *out, bool *found, struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    call_add(&a, token);
    call_add(&a, build);
    if (last)
        call_add(&a, last);
    enum error_code code = call_function(q, function, &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *found = read_task(r, out);
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_claim(struct queue *q, const char *token, const char *build, const char *last,
                            struct queue_task *out, bool *found, struct error *e)
{
    return take(q, "claim", token, build, last, out, found, e);
}

enum error_code queue_assist(struct queue *q, const char *token, const char *build, struct queue_task *out,
                             bool *found, struct error *e)
{
    return take(q, "assist", token, build, NULL, out, found, e);
}

enum error_code queue_drain(struct queue *q, const char *worker, bool drain, bool *known, struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    call_add(&a, worker);
    call_add(&a, drain ? "1" : "0");
    enum error_code code = call_function(q, "drain", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *known = r->integer == 1;
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_results(struct queue *q, const char *id, uint32_t epoch, struct queue_fields *out,
                              struct error *e)
{
    char key[80];
    *out = (struct queue_fields){0};
    if (epoch == 0)
        return ERROR_OK;
    snprintf(key, sizeof key, "{t}:d:%s:%u", id, epoch - 1);
    return call_hash(q, key, out, e);
}

enum error_code queue_beat(struct queue *q, const char *worker, const char *build, const char *host,
                           int threads, struct queue_lease *leases, size_t count, bool *drain,
                           struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    call_add(&a, worker);
    call_add(&a, build);
    call_add(&a, host);
    call_add_number(&a, threads);
    for (size_t i = 0; i < count; i++) {
        call_add(&a, leases[i].member);
        call_add(&a, leases[i].token);
    }
    enum error_code code = call_function(q, "beat", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    for (size_t i = 0; i < count; i++)
        leases[i].held = reply_number(r, i) == 1;
    *drain = reply_number(r, count) == 1;
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_task_done(struct queue *q, const struct queue_task *t, const char *digest,
                                const void *payload, size_t size, const char *next_token,
                                struct queue_task *next, bool *found, struct error *e)
{
    struct call a = call_of(t);
    redisReply *r = NULL;
    call_add(&a, digest);
    call_add_bytes(&a, payload, size);
    call_add(&a, next_token);
    enum error_code code = call_function(q, "task_done", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *found = read_next(r, next);
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_commit(struct queue *q, const struct queue_task *t, const struct queue_step *s,
                             const char *next_token, struct queue_task *next, bool *found, struct error *e)
{
    struct call a = call_of(t);
    redisReply *r = NULL;
    call_add(&a, next_token);
    call_add(&a, s->kind);
    call_add_number(&a, s->tasks);
    call_add(&a, s->join);
    call_add(&a, s->wrap);
    call_add(&a, s->state);
    call_add(&a, s->progress);
    call_add_number(&a, (long long)s->rollouts);
    call_add_number(&a, (long long)s->dropped);
    call_add_pairs(&a, s->fields, s->field_count);
    enum error_code code = call_function(q, "epoch_commit", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *found = read_next(r, next);
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_finish(struct queue *q, const struct queue_task *t, const char *state,
                             const char *error_json, const char *progress, const struct queue_pair *fields,
                             size_t field_count, bool *fenced, struct error *e)
{
    struct call a = call_of(t);
    redisReply *r = NULL;
    call_add(&a, state);
    call_add(&a, error_json);
    call_add(&a, progress);
    call_add_pairs(&a, fields, field_count);
    enum error_code code = call_function(q, "finish", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *fenced = strcmp(reply_text(r, 0), "ok") != 0;
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_release(struct queue *q, const struct queue_task *t, struct error *e)
{
    struct call a = call_of(t);
    return call_plain(q, "release", &a, e);
}

enum error_code queue_died(struct queue *q, const struct queue_task *t, const char *error_json,
                           uint32_t random, struct error *e)
{
    struct call a = call_of(t);
    call_add(&a, error_json);
    call_add_number(&a, random & 0xffff);
    return call_plain(q, "died", &a, e);
}

enum error_code queue_reset(struct queue *q, const struct queue_task *t, const char *error_json,
                            struct error *e)
{
    struct call a = call_of(t);
    call_add(&a, error_json);
    return call_plain(q, "reset", &a, e);
}

enum error_code queue_reap(struct queue *q, struct error *e)
{
    return call_plain(q, "reap", &(struct call){0}, e);
}
