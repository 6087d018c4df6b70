/* See queue.h: jobs as the server and operators see them. Each call is one function of queue/library.lua or a
 * plain read. */
#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum error_code queue_create(const char *redis_address, struct queue **out, struct error *e)
{
    struct queue *q = mem_zalloc(1, sizeof *q);
    enum error_code code = redis_create(redis_address, &q->redis, e);
    if (code != ERROR_OK) {
        free(q);
        return code;
    }
    *out = q;
    return ERROR_OK;
}

void queue_destroy(struct queue *q)
{
    if (!q)
        return;
    redis_destroy(q->redis);
    free(q);
}

unsigned long queue_reconnects_total(void)
{
    return redis_reconnects_total();
}

unsigned long queue_reconnects(const struct queue *q)
{
    return redis_reconnects(q->redis);
}

enum error_code queue_cancel(struct queue *q, const char *id, bool discard, char state[32], bool *terminal,
                             struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    call_add(&a, id);
    call_add(&a, discard ? "1" : "0");
    enum error_code code = call_function(q, "cancel", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    snprintf(state, 32, "%s", reply_text(r, 1));
    *terminal = strcmp(reply_text(r, 0), "terminal") == 0;
    if (strcmp(reply_text(r, 0), "missing") == 0)
        code = error_set(e, ERROR_NOT_FOUND, "there is no job %s", id);
    freeReplyObject(r);
    return code;
}

/* ---- what operators see ---- */

static void add_counter(struct queue_fields *f, const char *name, long long value)
{
    f->at = mem_realloc(f->at, f->count + 1, sizeof *f->at);
    struct queue_field *at = &f->at[f->count++];
    at->name = mem_strdup(name);
    at->value = mem_printf("%lld", value);
    at->size = strlen(at->value);
}

static enum error_code cardinality(struct queue *q, const char *key, long long *out, struct error *e)
{
    redisReply *r = NULL;
    const char *argv[] = {"ZCARD", key};
    enum error_code code = call_read(q, 2, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    *out = r->integer;
    freeReplyObject(r);
    return ERROR_OK;
}

/* Redis' own clock, by which jobs are stamped */
static enum error_code now_ms(struct queue *q, long long *out, struct error *e)
{
    redisReply *r = NULL;
    const char *argv[] = {"TIME"};
    enum error_code code = call_read(q, 1, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    *out = strtoll(reply_text(r, 0), NULL, 10) * 1000 + strtoll(reply_text(r, 1), NULL, 10) / 1000;
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_counters(struct queue *q, struct queue_fields *out, struct error *e)
{
    static const char *const sets[][2] = {
        {"run", "{t}:run"}, {"leases", "{t}:lease"}, {"workers", "{t}:workers"}};
    redisReply *r = NULL;
    const char *oldest[] = {"ZRANGE", "{t}:run", "0", "0", "WITHSCORES"};
    enum error_code code = call_hash(q, "{t}:n", out, e);
    if (code != ERROR_OK)
        return code;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        long long n = 0;
        code = cardinality(q, sets[i][1], &n, e);
        if (code != ERROR_OK)
            goto out;
        add_counter(out, sets[i][0], n);
    }
    struct call none = {0};
    code = call_function(q, "slots_wanted", &none, &r, e);
    if (code != ERROR_OK)
        goto out;
    add_counter(out, "slots_wanted", r->integer);
    freeReplyObject(r);
    code = call_read(q, 5, oldest, &r, e);
    if (code != ERROR_OK)
        goto out;
    long long since = r->elements == 2 ? strtoll(reply_text(r, 1), NULL, 10) : 0, now = 0;
    freeReplyObject(r);
    code = now_ms(q, &now, e);
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

enum error_code queue_check(struct queue *q, struct queue_health *out, struct error *e)
{
    redisReply *r = NULL;
    *out = (struct queue_health){0};
    const char *const sections[] = {"memory", "replication", "persistence"};
    for (size_t i = 0; i < 3; i++) {
        const char *argv[] = {"INFO", sections[i]};
        enum error_code code = call_read(q, 2, argv, &r, e);
        if (code != ERROR_OK)
            return code;
        const char *info = reply_text(r, 0);
        if (i == 0) {
            out->used_bytes = info_number(info, "used_memory:");
            out->limit_bytes = info_number(info, "maxmemory:");
            out->no_eviction = strstr(info, "maxmemory_policy:noeviction") != NULL;
        } else if (i == 1) {
            out->primary = strstr(info, "role:master") != NULL;
        } else {
            out->append_only = info_number(info, "aof_enabled:") == 1;
        }
        freeReplyObject(r);
    }
    out->memory_bounded = out->limit_bytes > 0;
    const char *config[] = {"CONFIG", "GET", "appendfsync"};
    enum error_code code = call_read(q, 3, config, &r, e);
    if (code != ERROR_OK)
        return code;
    out->append_always = strcmp(reply_text(r, 1), "always") == 0;
    freeReplyObject(r);
    return ERROR_OK;
}
