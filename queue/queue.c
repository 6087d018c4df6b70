/* See queue.h: jobs as the server and operators see them. Each call is one function of queue/library.lua or a
 * plain read. */
#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum error_code queue_create(const char *redis_address, struct queue **out, struct error *e)
{
    struct queue *queue = mem_zalloc(1, sizeof *queue);
    enum error_code code = redis_create(redis_address, &queue->redis, e);
    if (code != ERROR_OK) {
        free(queue);
        return code;
    }
    *out = queue;
    return ERROR_OK;
}

void queue_destroy(struct queue *queue)
{
    if (!queue)
        return;
    redis_destroy(queue->redis);
    free(queue);
}

unsigned long queue_reconnects_total(void)
{
    return redis_reconnects_total();
}

unsigned long queue_reconnects(const struct queue *queue)
{
    return redis_reconnects(queue->redis);
}

enum error_code queue_cancel(struct queue *queue, const char *id, bool discard, char state[32],
                             bool *terminal, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, id);
    call_add(&call, discard ? "1" : "0");
    enum error_code code = call_function(queue, "cancel", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    snprintf(state, 32, "%s", reply_text(reply, 1));
    *terminal = strcmp(reply_text(reply, 0), "terminal") == 0;
    if (strcmp(reply_text(reply, 0), "missing") == 0)
        code = error_set(e, ERROR_NOT_FOUND, "there is no job %s", id);
    freeReplyObject(reply);
    return code;
}

/* ---- what operators see ---- */

static void add_counter(struct queue_fields *fields, const char *name, long long value)
{
    fields->at = mem_realloc(fields->at, fields->count + 1, sizeof *fields->at);
    struct queue_field *at = &fields->at[fields->count++];
    at->name = mem_strdup(name);
    at->value = mem_printf("%lld", value);
    at->size = strlen(at->value);
}

static enum error_code cardinality(struct queue *queue, const char *key, long long *out, struct error *e)
{
    redisReply *reply = NULL;
    const char *argv[] = {"ZCARD", key};
    enum error_code code = call_read(queue, 2, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    *out = reply->integer;
    freeReplyObject(reply);
    return ERROR_OK;
}

/* Redis' own clock, by which jobs are stamped */
static enum error_code now_ms(struct queue *queue, long long *out, struct error *e)
{
    redisReply *reply = NULL;
    const char *argv[] = {"TIME"};
    enum error_code code = call_read(queue, 1, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    *out = strtoll(reply_text(reply, 0), NULL, 10) * 1000 + strtoll(reply_text(reply, 1), NULL, 10) / 1000;
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_counters(struct queue *queue, struct queue_fields *out, struct error *e)
{
    static const char *const sets[][2] = {
        {"run", "{t}:run"}, {"leases", "{t}:lease"}, {"workers", "{t}:workers"}};
    redisReply *reply = NULL;
    const char *oldest[] = {"ZRANGE", "{t}:run", "0", "0", "WITHSCORES"};
    enum error_code code = call_hash(queue, "{t}:n", out, e);
    if (code != ERROR_OK)
        return code;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        long long n = 0;
        code = cardinality(queue, sets[i][1], &n, e);
        if (code != ERROR_OK)
            goto out;
        add_counter(out, sets[i][0], n);
    }
    struct call none = {0};
    code = call_function(queue, "slots_wanted", &none, &reply, e);
    if (code != ERROR_OK)
        goto out;
    add_counter(out, "slots_wanted", reply->integer);
    freeReplyObject(reply);
    code = call_read(queue, 5, oldest, &reply, e);
    if (code != ERROR_OK)
        goto out;
    long long since = reply->elements == 2 ? strtoll(reply_text(reply, 1), NULL, 10) : 0, now = 0;
    freeReplyObject(reply);
    code = now_ms(queue, &now, e);
    if (code == ERROR_OK)
        add_counter(out, "queue_age_ms", since && now > since ? now - since : 0);
out:
    if (code != ERROR_OK)
        queue_fields_release(out);
    return code;
}

/* value of "name:" in INFO's text; 0 when absent */
static long long info_number(const char *info, const char *name)
{
    const char *at = strstr(info, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

enum error_code queue_check(struct queue *queue, struct queue_health *out, struct error *e)
{
    redisReply *reply = NULL;
    *out = (struct queue_health){0};
    const char *const sections[] = {"memory", "replication", "persistence"};
    for (size_t i = 0; i < 3; i++) {
        const char *argv[] = {"INFO", sections[i]};
        enum error_code code = call_read(queue, 2, argv, &reply, e);
        if (code != ERROR_OK)
            return code;
        const char *info = reply_text(reply, 0);
        if (i == 0) {
            out->used_bytes = info_number(info, "used_memory:");
            out->limit_bytes = info_number(info, "maxmemory:");
            out->no_eviction = strstr(info, "maxmemory_policy:noeviction") != NULL;
        } else if (i == 1) {
            out->primary = strstr(info, "role:master") != NULL;
        } else {
            out->append_only = info_number(info, "aof_enabled:") == 1;
        }
        freeReplyObject(reply);
    }
    out->memory_bounded = out->limit_bytes > 0;
    const char *config[] = {"CONFIG", "GET", "appendfsync"};
    enum error_code code = call_read(queue, 3, config, &reply, e);
    if (code != ERROR_OK)
        return code;
    out->append_always = strcmp(reply_text(reply, 1), "always") == 0;
    freeReplyObject(reply);
    return ERROR_OK;
}
