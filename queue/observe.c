/* What pages and operators look at: workers, held and finished tasks. Only reads. See observe.h. */
#include "queue/observe.h"

#include "base/clock.h"
#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool split_member(const char *member, struct queue_held *held)
{
    return sscanf(member, "%28[^/]/%31[^/]/%u/%u", held->job, held->kind, &held->epoch, &held->index) == 4;
}

static enum error_code find_holder(struct queue *queue, struct queue_held *held, struct error *e)
{
    char key[80], holder[24], since[24];
    redisReply *reply = NULL;
    snprintf(key, sizeof key, "{t}:k:%s:%u", held->job, held->epoch);
    snprintf(holder, sizeof holder, "o:%u", held->index);
    snprintf(since, sizeof since, "s:%u", held->index);
    const char *argv[] = {"HMGET", key, holder, since};
    enum error_code code = call_read(queue, 4, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    split_token(reply_text(reply, 0), held->worker, &held->slot);
    held->since_ms = strtoll(reply_text(reply, 1), NULL, 10);
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_held_tasks(struct queue *queue, const char *job, struct queue_held_list *out,
                                 struct error *e)
{
    char most[16];
    redisReply *reply = NULL;
    *out = (struct queue_held_list){0};
    snprintf(most, sizeof most, "%d", HELD_MAX - 1);
    const char *argv[] = {"ZRANGE", "{t}:lease", "0", most, "WITHSCORES"};
    enum error_code code = call_read(queue, 5, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    out->at = mem_zalloc(reply->elements / 2 + 1, sizeof *out->at);
    for (size_t i = 0; code == ERROR_OK && i + 1 < reply->elements; i += 2) {
        struct queue_held *held = &out->at[out->count];
        if (!split_member(reply_text(reply, i), held) || (job && strcmp(held->job, job) != 0))
            continue;
        held->until_ms = strtoll(reply_text(reply, i + 1), NULL, 10);
        code = find_holder(queue, held, e);
        out->count++;
    }
    freeReplyObject(reply);
    if (code != ERROR_OK)
        queue_held_release(out);
    return code;
}

void queue_held_release(struct queue_held_list *held_list)
{
    free(held_list->at);
    *held_list = (struct queue_held_list){0};
}

/* one entry: id, then names and values */
static bool read_done(const redisReply *entry, struct queue_done *done)
{
    if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2)
        return false;
    const redisReply *fields = entry->element[1];
    done->until_ms = strtoll(reply_text(entry, 0), NULL, 10);
    for (size_t i = 0; i + 1 < fields->elements; i += 2) {
        const char *name = reply_text(fields, i), *value = reply_text(fields, i + 1);
        if (strcmp(name, "t") == 0 &&
            sscanf(value, "%31[^/]/%u/%u", done->kind, &done->epoch, &done->index) != 3)
            return false;
        if (strcmp(name, "w") == 0)
            split_token(value, done->worker, &done->slot);
        if (strcmp(name, "s") == 0)
            done->from_ms = strtoll(value, NULL, 10);
    }
    return done->kind[0] != 0;
}

enum error_code queue_done_tasks(struct queue *queue, const char *job, struct queue_done_list *out,
                                 struct error *e)
{
    char key[64];
    redisReply *reply = NULL;
    *out = (struct queue_done_list){0};
    snprintf(key, sizeof key, "{t}:tl:%s", job);
    const char *argv[] = {"XRANGE", key, "-", "+", "COUNT", "1000"};
    enum error_code code = call_read(queue, 6, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    out->at = mem_zalloc(reply->elements + 1, sizeof *out->at);
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        out->count += read_done(reply->element[i], &out->at[out->count]);
    freeReplyObject(reply);
    return ERROR_OK;
}

void queue_done_release(struct queue_done_list *done_list)
{
    free(done_list->at);
    *done_list = (struct queue_done_list){0};
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct queue_worker *)left)->name, ((const struct queue_worker *)right)->name);
}

static enum error_code read_worker(struct queue *queue, const char *name, struct queue_worker *worker,
                                   struct error *e)
{
    char key[QUEUE_WORKER_SIZE + 8];
    redisReply *reply = NULL;
    snprintf(worker->name, sizeof worker->name, "%s", name);
    snprintf(key, sizeof key, "{t}:w:%s", worker->name);
    enum error_code code = call_hash(queue, key, &worker->fields, e);
    if (code != ERROR_OK)
        return code;
    const char *drain[] = {"SISMEMBER", "{t}:drain", worker->name};
    code = call_read(queue, 3, drain, &reply, e);
    if (code != ERROR_OK) {
        queue_fields_release(&worker->fields);
        return code;
    }
    worker->draining = reply->integer == 1;
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_workers(struct queue *queue, struct queue_workers *out, struct error *e)
{
    char most[16];
    redisReply *reply = NULL;
    *out = (struct queue_workers){0};
    snprintf(most, sizeof most, "%d", WORKERS_MAX - 1);
    const char *argv[] = {"ZREVRANGE", "{t}:workers", "0", most};
    enum error_code code = call_read(queue, 4, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    out->at = mem_zalloc(reply->elements + 1, sizeof *out->at);
    for (size_t i = 0; code == ERROR_OK && i < reply->elements; i++) {
        struct queue_worker *worker = &out->at[out->count];
        code = read_worker(queue, reply_text(reply, i), worker, e);
        if (code == ERROR_OK && worker->fields.count) /* else it was last seen more than 15 s ago */
            out->count++;
    }
    freeReplyObject(reply);
    if (code != ERROR_OK)
        queue_workers_release(out);
    else
        qsort(out->at, out->count, sizeof *out->at, by_name);
    return code;
}

void queue_workers_release(struct queue_workers *workers)
{
    for (size_t i = 0; i < workers->count; i++)
        queue_fields_release(&workers->at[i].fields);
    free(workers->at);
    *workers = (struct queue_workers){0};
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

enum error_code queue_redis_state(struct queue *queue, struct queue_redis *out, struct error *e)
{
    redisReply *reply = NULL;
    const char *info[] = {"INFO"}, *clock[] = {"TIME"};
    *out = (struct queue_redis){0};
    enum error_code code = call_read(queue, 1, info, &reply, e);
    if (code != ERROR_OK)
        return code;
    take_info(reply_text(reply, 0), out);
    freeReplyObject(reply);
    double began = clock_seconds();
    code = call_read(queue, 1, clock, &reply, e);
    if (code != ERROR_OK)
        return code;
    out->ping_s = clock_seconds() - began;
    out->now_ms =
        strtoll(reply_text(reply, 0), NULL, 10) * 1000 + strtoll(reply_text(reply, 1), NULL, 10) / 1000;
    freeReplyObject(reply);
    return ERROR_OK;
}
