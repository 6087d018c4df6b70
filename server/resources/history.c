/* What happened to a job, joined from the blob that its archive left and from what Redis has since then,
 * and written back as one blob. A history that cannot be found is an empty one, never an error. See
 * history.h. */
#include "server/resources/history.h"

#include "api/archive.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void history_release(struct history *history)
{
    queue_events_release(&history->events);
    queue_done_release(&history->done);
}

/* ---- store -> history ---- */

static void take_event(struct history *history, const char *id, const char *shown,
                       const struct api_history_event *from)
{
    struct queue_event event = {.version = from->version};
    if (!queue_event_id_parse(from->id, &event.id))
        return;
    snprintf(event.job, sizeof event.job, "%s", id);
    snprintf(event.shown, sizeof event.shown, "%s", shown);
    snprintf(event.name, sizeof event.name, "%s", from->name);
    event.data = mem_strdup(from->data);
    event.progress = mem_strdup(from->progress);
    history->events.at[history->events.count++] = event;
}

static void take_task(struct history *history, const struct api_history_task *from)
{
    struct queue_done *done = &history->done.at[history->done.count++];
    *done = (struct queue_done){.slot = from->slot,
                                .epoch = from->epoch,
                                .index = from->index,
                                .from_ms = from->from_ms,
                                .until_ms = from->until_ms};
    snprintf(done->kind, sizeof done->kind, "%s", from->kind);
    snprintf(done->worker, sizeof done->worker, "%s", from->worker);
}

static enum error_code read_stored(struct store *store, const char *id, const struct queue_fields *job,
                                   struct history *out, struct error *e)
{
    struct store_view view;
    struct api_history kept;
    struct error why = {0};
    const char *digest = queue_field(job, "history"), *name = queue_field(job, "name");
    if (!digest[0])
        return ERROR_OK;
    enum error_code code = store_get(store, digest, &view, &why);
    if (code == ERROR_OK) {
        code = api_history_parse(view.bytes, view.size, &kept, &why);
        store_view_release(&view);
    }
    if (code == ERROR_NOT_FOUND || code == ERROR_INTERNAL) {
        log_event("history_lost", "job", id, "reason", why.message, NULL);
        return ERROR_OK;
    }
    if (code != ERROR_OK) {
        *e = why;
        return code;
    }
    out->events.at = mem_zalloc(kept.event_count + 1, sizeof *out->events.at);
    out->done.at = mem_zalloc(kept.task_count + 1, sizeof *out->done.at);
    for (size_t i = 0; i < kept.event_count; i++)
        take_event(out, id, name[0] ? name : id, &kept.events[i]);
    for (size_t i = 0; i < kept.task_count; i++)
        take_task(out, &kept.tasks[i]);
    api_history_release(&kept);
    return ERROR_OK;
}

/* ---- .. and Redis' after it; entries go over to *out ---- */

static enum error_code read_live_events(struct queue *queue, const char *id, struct queue_events *out,
                                        struct error *e)
{
    struct queue_events live;
    enum error_code code = queue_events_since(queue, id, (struct queue_event_id){0, 0}, &live, e);
    if (code != ERROR_OK || live.count == 0)
        return code;
    out->at = mem_realloc(out->at, out->count + live.count, sizeof *out->at);
    memcpy(out->at + out->count, live.at, live.count * sizeof *live.at);
    out->count += live.count;
    free(live.at);
    return ERROR_OK;
}

static enum error_code read_live_tasks(struct queue *queue, const char *id, struct queue_done_list *out,
                                       struct error *e)
{
    struct queue_done_list live;
    enum error_code code = queue_done_tasks(queue, id, &live, e);
    if (code != ERROR_OK)
        return code;
    out->at = mem_realloc(out->at, out->count + live.count + 1, sizeof *out->at);
    if (live.count)
        memcpy(out->at + out->count, live.at, live.count * sizeof *live.at);
    out->count += live.count;
    queue_done_release(&live);
    return ERROR_OK;
}

enum error_code history_read(struct store *store, struct queue *queue, const char *id,
                             const struct queue_fields *job, struct history *out, struct error *e)
{
    *out = (struct history){0};
    enum error_code code = read_stored(store, id, job, out, e);
    if (code == ERROR_OK)
        code = read_live_events(queue, id, &out->events, e);
    if (code == ERROR_OK)
        code = read_live_tasks(queue, id, &out->done, e);
    if (code != ERROR_OK)
        history_release(out);
    return code;
}

/* ---- history -> store ---- */

enum error_code history_write(struct store *store, const struct history *history,
                              char digest[STORE_DIGEST_SIZE], struct error *e)
{
    size_t events = history->events.count < QUEUE_EVENTS_KEPT ? history->events.count : QUEUE_EVENTS_KEPT;
    size_t tasks = history->done.count < HISTORY_TASKS ? history->done.count : HISTORY_TASKS;
    char(*ids)[QUEUE_EVENT_ID_SIZE] = mem_zalloc(events + 1, sizeof *ids);
    struct api_history out = {.events = mem_zalloc(events + 1, sizeof *out.events),
                              .tasks = mem_zalloc(tasks + 1, sizeof *out.tasks),
                              .event_count = events,
                              .task_count = tasks};
    for (size_t i = 0; i < events; i++) {
        struct queue_event *event = &history->events.at[history->events.count - events + i];
        queue_event_id_format(event->id, ids[i]);
        out.events[i] =
            (struct api_history_event){ids[i], event->name, event->data, event->progress, event->version};
    }
    for (size_t i = 0; i < tasks; i++) {
        struct queue_done *done = &history->done.at[history->done.count - tasks + i];
        out.tasks[i] = (struct api_history_task){done->kind,  done->worker,  done->slot,    done->epoch,
                                                 done->index, done->from_ms, done->until_ms};
    }
    char *text = api_history_json(&out);
    enum error_code code = store_put(store, text, strlen(text), digest, e);
    free(text);
    free(out.events);
    free(out.tasks);
    free(ids);
    return code;
}

/* ---- positions ---- */

bool history_knows(const struct history *history, struct queue_event_id id)
{
    for (size_t i = 0; i < history->events.count; i++)
        if (queue_event_id_compare(history->events.at[i].id, id) == 0)
            return true;
    /* a job's first event is its version 1: a list that begins later was cut */
    const struct queue_event *first = history->events.at;
    return history->events.count && first->version > 1 && queue_event_id_compare(id, first->id) < 0;
}

void history_after(struct history *history, struct queue_event_id id)
{
    struct queue_events *events = &history->events;
    size_t kept = 0;
    for (size_t i = 0; i < events->count; i++)
        if (queue_event_id_compare(events->at[i].id, id) > 0) {
            events->at[kept++] = events->at[i];
        } else {
            free(events->at[i].data);
            free(events->at[i].progress);
        }
    events->count = kept;
}
