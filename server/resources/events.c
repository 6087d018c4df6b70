/* What happens to a job: as server-sent events (WHATWG HTML, section 9.2) or, for clients without them, as
 * JSON. And waiting for its end inside a request (RFC 7240, Prefer: wait). */
#include "server/http/headers.h"
#include "server/resources/follow.h"
#include "server/resources/handlers.h"
#include "server/resources/history.h"

#include "base/log.h"
#include "server/resources/job_body.h"

#include <strings.h>
#include <time.h>

/* the name that an event's datum has in its JSON */
static const char *datum_name(const char *event)
{
    static const char *const names[][2] = {{"state", "state"},
                                           {"step", "step"},
                                           {"stop", "stopped_by"},
                                           {"retry", "step"},
                                           {"restarted", "build"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(event, names[i][0]) == 0)
            return names[i][1];
    return "detail";
}

static void add_json(const struct queue_event *event, struct text *out)
{
    char id[QUEUE_EVENT_ID_SIZE], when[32];
    time_t seconds = (time_t)(event->id.ms / 1000);
    struct tm parts;
    queue_event_id_format(event->id, id);
    gmtime_r(&seconds, &parts);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &parts);
    text_printf(out, "{\"id\":\"%s\",\"job\":\"%s\",\"event\":\"%s\",\"version\":%lld,\"at\":\"%s.%03dZ\"",
                id, event->shown, event->name, event->version, when, (int)(event->id.ms % 1000));
    if (event->data[0]) {
        text_printf(out, ",\"%s\":", datum_name(event->name));
        log_json_string(out, event->data, strlen(event->data));
    }
    if (event->progress[0]) /* JSON text of our own worker */
        text_printf(out, ",\"progress\":%s", event->progress);
    text_add(out, "}");
}

/* JSON escapes keep the datum on one line */
static void add_sse(const struct queue_event *event, struct text *out)
{
    char id[QUEUE_EVENT_ID_SIZE];
    queue_event_id_format(event->id, id);
    text_printf(out, "id: %s\nevent: %s\ndata: ", id, event->name);
    add_json(event, out);
    text_add(out, "\n\n");
}

/* where the client was: Last-Event-ID of a reconnecting EventSource, or ?after=. all: the job's events, or
 * NULL: they are in Redis. */
static enum error_code read_position(struct exchange *exchange, struct queue *queue, const char *job,
                                     const struct history *all, struct queue_event_id *out, bool *given,
                                     struct error *e)
{
    char query[64];
    const char *header = request_header(exchange, "Last-Event-ID"), *text = header;
    bool known;
    *out = (struct queue_event_id){0};
    if (!text && request_query(exchange, "after", query, sizeof query))
        text = query;
    *given = text && strcmp(text, "0") != 0 && strcmp(text, "0-0") != 0;
    if (!*given)
        return ERROR_OK;
    if (queue_event_id_parse(text, out)) {
        enum error_code code = ERROR_OK;
        if (all) /* none are left of a job whose history was lost: then every position is the last */
            known = all->events.count == 0 || history_knows(all, *out);
        else
            code = queue_event_known(queue, job, *out, &known, e);
        if (code != ERROR_OK || known)
            return code;
    }
    return error_set_pointer(e, ERROR_MALFORMED, header ? "Last-Event-ID" : "after",
                             "%s is no id of an event of this job; leave it out to get all events",
                             header ? "Last-Event-ID" : "the parameter after");
}

static enum error_code read_format(struct exchange *exchange, bool *json, struct error *e)
{
    char format[16] = "sse";
    request_query(exchange, "format", format, sizeof format);
    *json = strcmp(format, "json") == 0;
    return *json || strcmp(format, "sse") == 0
               ? ERROR_OK
               : error_set_pointer(e, ERROR_MALFORMED, "format", "format must be sse or json");
}

static void reply_list(struct exchange *exchange, const struct queue_events *events,
                       struct queue_event_id after, bool ended)
{
    struct text text = {0};
    char id[QUEUE_EVENT_ID_SIZE];
    queue_event_id_format(after, id);
    text_add(&text, "{\"events\":[");
    for (size_t i = 0; i < events->count; i++) {
        text_add(&text, i ? "," : "");
        add_json(&events->at[i], &text);
    }
    text_printf(&text, "],\"last_event_id\":\"%s\",\"ended\":%s}", id, ended ? "true" : "false");
    struct header retry = {"Retry-After", "1"};
    reply_json(exchange, 200, &text, &retry, ended ? 0 : 1);
}

static void reply_stream(struct exchange *exchange, const struct queue_events *events,
                         const struct queue_place *place, bool ended)
{
    static const struct header extra[] = {{"X-Accel-Buffering", "no"}};
    struct MHD_Response *response;
    struct text head = {0};
    struct error e;
    if (strcmp(exchange->method, "HEAD") == 0) {
        const struct header type = {"Content-Type", "text/event-stream"};
        reply_empty(exchange, 200, &type, 1);
        return;
    }
    text_add(&head, "retry: 3000\n\n");
    for (size_t i = 0; i < events->count; i++)
        add_sse(&events->at[i], &head);
    if (follow_stream(exchange->server->resources->follow, exchange->connection, exchange->tenant, place,
                      ended, &head, add_sse, &response, &e) != ERROR_OK) {
        reply_problem(exchange, &e);
        return;
    }
    exchange->streaming = true;
    reply_response(exchange, 200, response, "text/event-stream", extra, 1);
}

/* the one event that can be made up for an archived job whose history was lost: its end */
static void add_end(const char *id, const struct queue_fields *job, struct queue_events *events)
{
    struct queue_event event = {.id = {(uint64_t)queue_number(job, "finished"), 0},
                                .version = queue_number(job, "ver"),
                                .data = mem_strdup(queue_field(job, "state")),
                                .progress = mem_strdup(queue_field(job, "progress"))};
    const char *name = queue_field(job, "name");
    snprintf(event.job, sizeof event.job, "%s", id);
    snprintf(event.shown, sizeof event.shown, "%s", name[0] ? name : id);
    snprintf(event.name, sizeof event.name, "state");
    events->at = mem_realloc(events->at, events->count + 1, sizeof *events->at);
    events->at[events->count++] = event;
}

/* the events after the client's position; while a job runs only those are looked at */
static enum error_code read_events(struct exchange *exchange, const struct queue_fields *job,
                                   struct queue_place *place, struct queue_events *out, bool *given,
                                   struct error *e)
{
    struct history all = {0};
    struct queue *queue = pool_take(exchange->server);
    bool stored = job_ended(job) || queue_field(job, "history")[0];
    enum error_code code =
        stored ? history_read(exchange->server->store, queue, place->job, job, &all, e) : ERROR_OK;
    if (code == ERROR_OK)
        code = read_position(exchange, queue, place->job, stored ? &all : NULL, &place->after, given, e);
    if (code == ERROR_OK && stored) {
        history_after(&all, place->after);
        *out = all.events;
        all.events = (struct queue_events){0};
    } else if (code == ERROR_OK) {
        code = queue_events_since(queue, place->job, place->after, out, e);
    }
    pool_give(exchange->server, queue);
    history_release(&all);
    return code;
}

void handle_job_events(struct exchange *exchange)
{
    struct queue_fields job = {0};
    struct queue_events events = {0};
    struct queue_place place = {0};
    struct error e;
    bool json = false, given = false;
    enum error_code code = read_format(exchange, &json, &e);
    if (code == ERROR_OK)
        code = job_load(exchange, exchange->params[0], place.job, &job, &e);
    if (code == ERROR_OK)
        code = read_events(exchange, &job, &place, &events, &given, &e);
    if (code == ERROR_OK && job_ended(&job) && !events.count && !given)
        add_end(place.job, &job, &events);
    /* the job was read before its events: where it had ended by then, the last event is its end */
    bool ended = events.count ? queue_event_ends(&events.at[events.count - 1]) : job_ended(&job);
    queue_fields_release(&job);
    if (events.count)
        place.after = events.at[events.count - 1].id;
    if (code != ERROR_OK)
        reply_problem(exchange, &e);
    else if (json)
        reply_list(exchange, &events, place.after, ended);
    else if (ended && given && !events.count)
        reply_empty(exchange, 204, NULL, 0); /* tells an EventSource not to come again */
    else
        reply_stream(exchange, &events, &place, ended);
    queue_events_release(&events);
}

/* ---- Prefer: wait ---- */

enum wait_result wait_begin(struct exchange *exchange, const char *id, void (*again)(struct exchange *))
{
    struct queue_place place = {0};
    struct error e;
    bool ended = false;
    int seconds =
        exchange->errand->wait_s ? 0 : header_wait_s(request_header(exchange, "Prefer"), FOLLOW_WAIT_MAX_S);
    if (!seconds && !exchange->errand->wait_s)
        seconds = exchange->errand->wait_default_s;
    if (seconds == 0)
        return WAIT_NONE;
    snprintf(place.job, sizeof place.job, "%s", id);
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_event_last(queue, id, &place.after, &ended, &e);
    pool_give(exchange->server, queue);
    if (code != ERROR_OK)
        return WAIT_NONE;
    exchange->errand->wait_s = seconds;
    if (ended)
        return WAIT_OVER;
    memcpy(exchange->errand->wait_id, place.job, sizeof exchange->errand->wait_id);
    exchange->again = again;
    exchange->waiting = true;
    if (follow_wait(exchange->server->resources->follow, exchange, &place, seconds))
        return WAIT_BEGUN;
    exchange->waiting = false;
    return WAIT_OVER;
}
