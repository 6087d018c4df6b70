/* Events of jobs as Redis streams: read, told apart, their ids parsed. Never waits. See events.h. */
#include "queue/events.h"

#include "queue/call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *parse_part(const char *at, uint64_t *out)
{
    *out = 0;
    if (*at < '0' || *at > '9' || (at[0] == '0' && at[1] >= '0' && at[1] <= '9'))
        return NULL;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (*out > (UINT64_MAX - 9) / 10)
            return NULL;
        *out = *out * 10 + (uint64_t)(*at - '0');
    }
    return at;
}

bool queue_event_id_parse(const char *text, struct queue_event_id *out)
{
    const char *at = parse_part(text, &out->ms);
    if (!at || *at != '-')
        return false;
    at = parse_part(at + 1, &out->number);
    return at && !*at;
}

void queue_event_id_format(struct queue_event_id id, char out[QUEUE_EVENT_ID_SIZE])
{
    snprintf(out, QUEUE_EVENT_ID_SIZE, "%" PRIu64 "-%" PRIu64, id.ms, id.number);
}

int queue_event_id_compare(struct queue_event_id a, struct queue_event_id b)
{
    if (a.ms != b.ms)
        return a.ms < b.ms ? -1 : 1;
    return a.number < b.number ? -1 : a.number > b.number;
}

void queue_events_release(struct queue_events *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->at[i].data);
        free(l->at[i].progress);
    }
    free(l->at);
    *l = (struct queue_events){0};
}

bool queue_event_ends(const struct queue_event *v)
{
    static const char *const ends[] = {"succeeded", "failed", "expired", "cancelled", "dead"};
    if (strcmp(v->name, "state") != 0)
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(v->data, ends[i]) == 0)
            return true;
    return false;
}

/* [id, [field, value ..]]; false: not an event of ours */
static bool read_event(const redisReply *r, const char *job, struct queue_event *out)
{
    struct queue_fields f = {0};
    if (r->type != REDIS_REPLY_ARRAY || r->elements != 2 || !r->element[0]->str ||
        !queue_event_id_parse(r->element[0]->str, &out->id))
        return false;
    reply_fields(r->element[1], &f);
    snprintf(out->job, sizeof out->job, "%s", job);
    const char *chosen = queue_field(&f, "name");
    snprintf(out->shown, sizeof out->shown, "%s", chosen[0] ? chosen : job);
    snprintf(out->name, sizeof out->name, "%s", queue_field(&f, "event"));
    out->version = queue_number(&f, "ver");
    out->data = mem_strdup(queue_field(&f, "data"));
    out->progress = mem_strdup(queue_field(&f, "progress"));
    queue_fields_release(&f);
    return true;
}

static void read_events(const redisReply *list, const char *job, struct queue_events *out)
{
    if (list->type != REDIS_REPLY_ARRAY || list->elements == 0)
        return;
    out->at = mem_realloc(out->at, out->count + list->elements, sizeof *out->at);
    for (size_t i = 0; i < list->elements; i++)
        if (read_event(list->element[i], job, &out->at[out->count]))
            out->count++;
}

static void stream_key(const char *job, char out[64])
{
    snprintf(out, 64, "{t}:ev:%s", job);
}

enum error_code queue_events_since(struct queue *q, const char *job, struct queue_event_id after,
                                   struct queue_events *out, struct error *e)
{
    char key[64], id[QUEUE_EVENT_ID_SIZE], from[QUEUE_EVENT_ID_SIZE + 1], most[16];
    redisReply *r = NULL;
    *out = (struct queue_events){0};
    stream_key(job, key);
    queue_event_id_format(after, id);
    snprintf(from, sizeof from, "(%s", id);
    snprintf(most, sizeof most, "%d", QUEUE_EVENTS_KEPT);
    const char *argv[] = {"XRANGE", key, from, "+", "COUNT", most};
    enum error_code code = call_read(q, 6, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    read_events(r, job, out);
    freeReplyObject(r);
    return ERROR_OK;
}

/* the first entry at or after `from` (command XRANGE) or the last at or before it (XREVRANGE); *found false:
 * none */
static enum error_code one_event(struct queue *q, const char *command, const char *job, const char *from,
                                 const char *to, struct queue_event *out, bool *found, struct error *e)
{
    char key[64];
    redisReply *r = NULL;
    struct queue_events l = {0};
    stream_key(job, key);
    const char *argv[] = {command, key, from, to, "COUNT", "1"};
    enum error_code code = call_read(q, 6, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    read_events(r, job, &l);
    freeReplyObject(r);
    *found = l.count > 0;
    if (*found)
        *out = l.at[0];
    free(l.at);
    return ERROR_OK;
}

static void event_release(struct queue_event *v, bool found)
{
    if (found) {
        free(v->data);
        free(v->progress);
    }
}

enum error_code queue_event_known(struct queue *q, const char *job, struct queue_event_id id, bool *known,
                                  struct error *e)
{
    char text[QUEUE_EVENT_ID_SIZE];
    struct queue_event v = {0};
    bool found;
    queue_event_id_format(id, text);
    enum error_code code = one_event(q, "XRANGE", job, text, text, &v, known, e);
    if (code != ERROR_OK)
        return code;
    event_release(&v, *known);
    if (*known)
        return ERROR_OK;
    code = one_event(q, "XRANGE", job, "-", "+", &v, &found, e);
    if (code != ERROR_OK)
        return code;
    /* a job's first event is its version 1: a stream that begins later was trimmed */
    *known = found && v.version > 1 && queue_event_id_compare(id, v.id) < 0;
    event_release(&v, found);
    return ERROR_OK;
}

enum error_code queue_event_last(struct queue *q, const char *job, struct queue_event_id *last, bool *ended,
                                 struct error *e)
{
    struct queue_event v = {0};
    bool found;
    enum error_code code = one_event(q, "XREVRANGE", job, "+", "-", &v, &found, e);
    if (code != ERROR_OK)
        return code;
    *last = v.id;
    *ended = found && queue_event_ends(&v);
    event_release(&v, found);
    return ERROR_OK;
}

/* {t}:ev:<job> -> job */
static const char *job_of_key(const char *key)
{
    const char *last = strrchr(key, ':');
    return last ? last + 1 : key;
}

enum error_code queue_events_follow(struct queue *q, const struct queue_place *places, size_t count,
                                    int block_ms, struct queue_events *out, struct error *e)
{
    const char *argv[6 + 2 * QUEUE_FOLLOW_MAX] = {"XREAD", "COUNT", "100"};
    char keys[QUEUE_FOLLOW_MAX][64], ids[QUEUE_FOLLOW_MAX][QUEUE_EVENT_ID_SIZE], wait[16];
    int argc = 3;
    redisReply *r = NULL;
    BASE_CHECK(count <= QUEUE_FOLLOW_MAX);
    *out = (struct queue_events){0};
    if (block_ms > 0) { /* BLOCK 0 would wait for ever */
        snprintf(wait, sizeof wait, "%d", block_ms);
        argv[argc++] = "BLOCK";
        argv[argc++] = wait;
    }
    argv[argc++] = "STREAMS";
    for (size_t i = 0; i < count; i++) {
        stream_key(places[i].job, keys[i]);
        queue_event_id_format(places[i].after, ids[i]);
        argv[argc + (int)i] = keys[i];
        argv[argc + (int)(count + i)] = ids[i];
    }
    enum error_code code = call_read(q, argc + 2 * (int)count, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    for (size_t i = 0; r->type == REDIS_REPLY_ARRAY && i < r->elements; i++) {
        const redisReply *stream = r->element[i];
        if (stream->type == REDIS_REPLY_ARRAY && stream->elements == 2 && stream->element[0]->str)
            read_events(stream->element[1], job_of_key(stream->element[0]->str), out);
    }
    freeReplyObject(r);
    return ERROR_OK;
}
