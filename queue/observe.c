/* What pages and operators look at: workers, held and finished tasks. Only reads. See observe.h. */
#include "queue/observe.h"

#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HELD_MAX = 1000, WORKERS_MAX = 1000 };

/* "name#slot.number", a token of workers/supervisor.c */
static void split_token(const char *token, char worker[QUEUE_WORKER_SIZE], int *slot)
{
    const char *mark = strrchr(token, '#');
    size_t n = mark ? (size_t)(mark - token) : strlen(token);
    *slot = mark ? atoi(mark + 1) : -1;
    snprintf(worker, QUEUE_WORKER_SIZE, "%.*s", (int)(n < QUEUE_WORKER_SIZE ? n : QUEUE_WORKER_SIZE - 1),
             token);
}

static bool split_member(const char *member, struct queue_held *h)
{
    return sscanf(member, "%28[^/]/%31[^/]/%u/%u", h->job, h->kind, &h->epoch, &h->index) == 4;
}

static enum error_code find_holder(struct queue *q, struct queue_held *h, struct error *e)
{
    char key[80], holder[24], since[24];
    redisReply *r = NULL;
    snprintf(key, sizeof key, "{t}:k:%s:%u", h->job, h->epoch);
    snprintf(holder, sizeof holder, "o:%u", h->index);
    snprintf(since, sizeof since, "s:%u", h->index);
    const char *argv[] = {"HMGET", key, holder, since};
    enum error_code code = call_read(q, 4, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    split_token(reply_text(r, 0), h->worker, &h->slot);
    h->since_ms = strtoll(reply_text(r, 1), NULL, 10);
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_held_tasks(struct queue *q, const char *job, struct queue_held_list *out,
                                 struct error *e)
{
    char most[16];
    redisReply *r = NULL;
    *out = (struct queue_held_list){0};
    snprintf(most, sizeof most, "%d", HELD_MAX - 1);
    const char *argv[] = {"ZRANGE", "{t}:lease", "0", most, "WITHSCORES"};
    enum error_code code = call_read(q, 5, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    out->at = mem_zalloc(r->elements / 2 + 1, sizeof *out->at);
    for (size_t i = 0; code == ERROR_OK && i + 1 < r->elements; i += 2) {
        struct queue_held *h = &out->at[out->count];
        if (!split_member(reply_text(r, i), h) || (job && strcmp(h->job, job) != 0))
            continue;
        h->until_ms = strtoll(reply_text(r, i + 1), NULL, 10);
        code = find_holder(q, h, e);
        out->count++;
    }
    freeReplyObject(r);
    if (code != ERROR_OK)
        queue_held_release(out);
    return code;
}

void queue_held_release(struct queue_held_list *l)
{
    free(l->at);
    *l = (struct queue_held_list){0};
}

/* one entry: id, then names and values */
static bool read_done(const redisReply *entry, struct queue_done *d)
{
    if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2)
        return false;
    const redisReply *fields = entry->element[1];
    d->until_ms = strtoll(reply_text(entry, 0), NULL, 10);
    for (size_t i = 0; i + 1 < fields->elements; i += 2) {
        const char *name = reply_text(fields, i), *value = reply_text(fields, i + 1);
        if (strcmp(name, "t") == 0 && sscanf(value, "%31[^/]/%u/%u", d->kind, &d->epoch, &d->index) != 3)
            return false;
        if (strcmp(name, "w") == 0)
            split_token(value, d->worker, &d->slot);
        if (strcmp(name, "s") == 0)
            d->from_ms = strtoll(value, NULL, 10);
    }
    return d->kind[0] != 0;
}

enum error_code queue_done_tasks(struct queue *q, const char *job, struct queue_done_list *out,
                                 struct error *e)
{
    char key[64];
    redisReply *r = NULL;
    *out = (struct queue_done_list){0};
    snprintf(key, sizeof key, "{t}:tl:%s", job);
    const char *argv[] = {"XRANGE", key, "-", "+", "COUNT", "1000"};
    enum error_code code = call_read(q, 6, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    out->at = mem_zalloc(r->elements + 1, sizeof *out->at);
    for (size_t i = 0; r->type == REDIS_REPLY_ARRAY && i < r->elements; i++)
        out->count += read_done(r->element[i], &out->at[out->count]);
    freeReplyObject(r);
    return ERROR_OK;
}

void queue_done_release(struct queue_done_list *l)
{
    free(l->at);
    *l = (struct queue_done_list){0};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct queue_worker *)a)->name, ((const struct queue_worker *)b)->name);
}

static enum error_code read_worker(struct queue *q, const char *name, struct queue_worker *w, struct error *e)
{
    char key[QUEUE_WORKER_SIZE + 8];
    redisReply *r = NULL;
    snprintf(w->name, sizeof w->name, "%s", name);
    snprintf(key, sizeof key, "{t}:w:%s", w->name);
    enum error_code code = call_hash(q, key, &w->fields, e);
    if (code != ERROR_OK)
        return code;
    const char *drain[] = {"SISMEMBER", "{t}:drain", w->name};
    code = call_read(q, 3, drain, &r, e);
    if (code != ERROR_OK) {
        queue_fields_release(&w->fields);
        return code;
    }
    w->draining = r->integer == 1;
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_workers(struct queue *q, struct queue_workers *out, struct error *e)
{
    char most[16];
    redisReply *r = NULL;
    *out = (struct queue_workers){0};
    snprintf(most, sizeof most, "%d", WORKERS_MAX - 1);
    const char *argv[] = {"ZREVRANGE", "{t}:workers", "0", most};
    enum error_code code = call_read(q, 4, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    out->at = mem_zalloc(r->elements + 1, sizeof *out->at);
    for (size_t i = 0; code == ERROR_OK && i < r->elements; i++) {
        struct queue_worker *w = &out->at[out->count];
        code = read_worker(q, reply_text(r, i), w, e);
        if (code == ERROR_OK && w->fields.count) /* else it was last seen more than 15 s ago */
            out->count++;
    }
    freeReplyObject(r);
    if (code != ERROR_OK)
        queue_workers_release(out);
    else
        qsort(out->at, out->count, sizeof *out->at, by_name);
    return code;
}

void queue_workers_release(struct queue_workers *w)
{
    for (size_t i = 0; i < w->count; i++)
        queue_fields_release(&w->at[i].fields);
    free(w->at);
    *w = (struct queue_workers){0};
}

/* value of "name:" at the beginning of a line of INFO's text; "" when absent */
static const char *info_text(const char *info, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = info; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
        if (strncmp(at, name, n) == 0 && at[n] == ':')
            return at + n + 1;
    return "";
}

static long long info_number(const char *info, const char *name)
{
    return strtoll(info_text(info, name), NULL, 10);
}

static void take_info(const char *info, struct queue_redis *out)
{
    const char *version = info_text(info, "redis_version");
    snprintf(out->version, sizeof out->version, "%.*s", (int)strcspn(version, "\r\n"), version);
    out->used_bytes = info_number(info, "used_memory");
    out->limit_bytes = info_number(info, "maxmemory");
    out->uptime_s = info_number(info, "uptime_in_seconds");
    out->clients = info_number(info, "connected_clients");
    out->commands_per_s = info_number(info, "instantaneous_ops_per_sec");
    out->append_only = info_number(info, "aof_enabled") == 1;
    out->aof_bytes = info_number(info, "aof_current_size");
    out->aof_good = strncmp(info_text(info, "aof_last_write_status"), "ok", 2) == 0 &&
                    strncmp(info_text(info, "aof_last_bgrewrite_status"), "ok", 2) == 0;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

enum error_code queue_redis_state(struct queue *q, struct queue_redis *out, struct error *e)
{
    redisReply *r = NULL;
    const char *info[] = {"INFO"}, *clock[] = {"TIME"};
    *out = (struct queue_redis){0};
    enum error_code code = call_read(q, 1, info, &r, e);
    if (code != ERROR_OK)
        return code;
    take_info(reply_text(r, 0), out);
    freeReplyObject(r);
    double began = now_s();
    code = call_read(q, 1, clock, &r, e);
    if (code != ERROR_OK)
        return code;
    out->ping_s = now_s() - began;
    out->now_ms = strtoll(reply_text(r, 0), NULL, 10) * 1000 + strtoll(reply_text(r, 1), NULL, 10) / 1000;
    freeReplyObject(r);
    return ERROR_OK;
}
