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

int queue_event_id_compare(struct queue_event_id one, struct queue_event_id other)
{
    if (one.ms != other.ms)
        return one.ms < other.ms ? -1 : 1;
    return one.number < other.number ? -1 : one.number > other.number;
}

void queue_events_release(struct queue_events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        free(events->at[i].data);
        free(events->at[i].progress);
    }
    free(events->at);
    *events = (struct queue_events){0};
}

bool queue_event_ends(const struct queue_event *event)
{
    static const char *const ends[] = {"succeeded", "failed", "expired", "cancelled", "dead"};
    if (strcmp(event->name, "state") != 0)
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(event->data, ends[i]) == 0)
            return true;
    return false;
}

/* [id, [field, value ..]]; false: not an event of ours */
static bool read_event(const redisReply *reply, const char *job, struct queue_event *out)
{
    struct queue_fields fields = {0};
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || !reply->element[0]->str ||
        !queue_event_id_parse(reply->element[0]->str, &out->id))
        return false;
    reply_fields(reply->element[1], &fields);
    snprintf(out->job, sizeof out->job, "%s", job);
    const char *chosen = queue_field(&fields, "name");
    snprintf(out->shown, sizeof out->shown, "%s", chosen[0] ? chosen : job);
    snprintf(out->name, sizeof out->name, "%s", queue_field(&fields, "event"));
    out->version = queue_number(&fields, "ver");
    out->data = mem_strdup(queue_field(&fields, "data"));
    out->progress = mem_strdup(queue_field(&fields, "progress"));
    queue_fields_release(&fields);
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

enum error_code queue_events_since(struct queue *queue, const char *job, struct queue_event_id after,
                                   struct queue_events *out, struct error *e)
{
    char key[64], id[QUEUE_EVENT_ID_SIZE], from[QUEUE_EVENT_ID_SIZE + 1], most[16];
    redisReply *reply = NULL;
    *out = (struct queue_events){0};
    stream_key(job, key);
    queue_event_id_format(after, id);
    snprintf(from, sizeof from, "(%s", id);
    snprintf(most, sizeof most, "%d", QUEUE_EVENTS_KEPT);
    const char *argv[] = {"XRANGE", key, from, "+", "COUNT", most};
    enum error_code code = call_read(queue, 6, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    read_events(reply, job, out);
    freeReplyObject(reply);
    return ERROR_OK;
}

/* the first entry at or after `from` (command XRANGE) or the last at or before it (XREVRANGE); *found false:
 * none */
static enum error_code one_event(struct queue *queue, const char *command, const char *job, const char *from,
                                 const char *to, struct queue_event *out, bool *found, struct error *e)
{
    char key[64];
    redisReply *reply = NULL;
    struct queue_events events = {0};
    stream_key(job, key);
    const char *argv[] = {command, key, from, to, "COUNT", "1"};
    enum error_code code = call_read(queue, 6, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    read_events(reply, job, &events);
    freeReplyObject(reply);
    *found = events.count > 0;
    if (*found)
        *out = events.at[0];
    free(events.at);
    return ERROR_OK;
}

static void event_release(struct queue_event *event, bool found)
{
    if (found) {
        free(event->data);
        free(event->progress);
    }
}

enum error_code queue_event_known(struct queue *queue, const char *job, struct queue_event_id id, bool *known,
                                  struct error *e)
{
    char text[QUEUE_EVENT_ID_SIZE];
    struct queue_event event = {0};
    bool found;
    queue_event_id_format(id, text);
    enum error_code code = one_event(queue, "XRANGE", job, text, text, &event, known, e);
    if (code != ERROR_OK)
        return code;
    event_release(&event, *known);
    if (*known)
        return ERROR_OK;
    code = one_event(queue, "XRANGE", job, "-", "+", &event, &found, e);
    if (code != ERROR_OK)
        return code;
    /* a job's first event is its version 1: a stream that begins later was trimmed */
    *known = found && event.version > 1 && queue_event_id_compare(id, event.id) < 0;
    event_release(&event, found);
    return ERROR_OK;
}

enum error_code queue_event_last(struct queue *queue, const char *job, struct queue_event_id *last,
                                 bool *ended, struct error *e)
{
    struct queue_event event = {0};
    bool found;
    enum error_code code = one_event(queue, "XREVRANGE", job, "+", "-", &event, &found, e);
    if (code != ERROR_OK)
        return code;
    *last = event.id;
    *ended = found && queue_event_ends(&event);
    event_release(&event, found);
    return ERROR_OK;
}

/* {t}:ev:<job> -> job */
static const char *job_of_key(const char *key)
{
    const char *last = strrchr(key, ':');
    return last ? last + 1 : key;
}

enum error_code queue_events_follow(struct queue *queue, const struct queue_place *places, size_t count,
                                    int block_ms, struct queue_events *out, struct error *e)
{
    const char *argv[6 + 2 * QUEUE_FOLLOW_MAX] = {"XREAD", "COUNT", "100"};
    char keys[QUEUE_FOLLOW_MAX][64], ids[QUEUE_FOLLOW_MAX][QUEUE_EVENT_ID_SIZE], wait[16];
    int argc = 3;
    redisReply *reply = NULL;
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
    enum error_code code = call_read(queue, argc + 2 * (int)count, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        const redisReply *stream = reply->element[i];
        if (stream->type == REDIS_REPLY_ARRAY && stream->elements == 2 && stream->element[0]->str)
            read_events(stream->element[1], job_of_key(stream->element[0]->str), out);
    }
    freeReplyObject(reply);
    return ERROR_OK;
}
