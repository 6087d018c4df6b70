/* What happened to a job, joined from the blob that its archive left and from what Redis has since then,
 * and written back as one blob. A history that cannot be found is an empty one, never an error. See
 * history.h. */
#include "server/resources/history.h"

#include "api/archive.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void history_release(struct history *h)
{
    queue_events_release(&h->events);
    queue_done_release(&h->done);
}

/* ---- store -> history ---- */

static void take_event(struct history *h, const char *id, const char *shown,
                       const struct api_history_event *from)
{
    struct queue_event v = {.version = from->version};
    if (!queue_event_id_parse(from->id, &v.id))
        return;
    snprintf(v.job, sizeof v.job, "%s", id);
    snprintf(v.shown, sizeof v.shown, "%s", shown);
    snprintf(v.name, sizeof v.name, "%s", from->name);
    v.data = mem_strdup(from->data);
    v.progress = mem_strdup(from->progress);
    h->events.at[h->events.count++] = v;
}

static void take_task(struct history *h, const struct api_history_task *from)
{
    struct queue_done *d = &h->done.at[h->done.count++];
    *d = (struct queue_done){.slot = from->slot,
                             .epoch = from->epoch,
                             .index = from->index,
                             .from_ms = from->from_ms,
                             .until_ms = from->until_ms};
    snprintf(d->kind, sizeof d->kind, "%s", from->kind);
    snprintf(d->worker, sizeof d->worker, "%s", from->worker);
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

static enum error_code read_live_events(struct queue *q, const char *id, struct queue_events *out,
                                        struct error *e)
{
    struct queue_events live;
    enum error_code code = queue_events_since(q, id, (struct queue_event_id){0, 0}, &live, e);
    if (code != ERROR_OK || live.count == 0)
        return code;
    out->at = mem_realloc(out->at, out->count + live.count, sizeof *out->at);
    memcpy(out->at + out->count, live.at, live.count * sizeof *live.at);
    out->count += live.count;
    free(live.at);
    return ERROR_OK;
}

static enum error_code read_live_tasks(struct queue *q, const char *id, struct queue_done_list *out,
                                       struct error *e)
{
    struct queue_done_list live;
    enum error_code code = queue_done_tasks(q, id, &live, e);
    if (code != ERROR_OK)
        return code;
    out->at = mem_realloc(out->at, out->count + live.count + 1, sizeof *out->at);
    if (live.count)
        memcpy(out->at + out->count, live.at, live.count * sizeof *live.at);
    out->count += live.count;
    queue_done_release(&live);
    return ERROR_OK;
}

enum error_code history_read(struct store *store, struct queue *q, const char *id,
                             const struct queue_fields *job, struct history *out, struct error *e)
{
    *out = (struct history){0};
    enum error_code code = read_stored(store, id, job, out, e);
    if (code == ERROR_OK)
        code = read_live_events(q, id, &out->events, e);
    if (code == ERROR_OK)
        code = read_live_tasks(q, id, &out->done, e);
    if (code != ERROR_OK)
        history_release(out);
    return code;
}

/* ---- history -> store ---- */

enum error_code history_write(struct store *store, const struct history *h, char digest[STORE_DIGEST_SIZE],
                              struct error *e)
{
    size_t events = h->events.count < QUEUE_EVENTS_KEPT ? h->events.count : QUEUE_EVENTS_KEPT;
    size_t tasks = h->done.count < HISTORY_TASKS ? h->done.count : HISTORY_TASKS;
    char(*ids)[QUEUE_EVENT_ID_SIZE] = mem_zalloc(events + 1, sizeof *ids);
    struct api_history out = {.events = mem_zalloc(events + 1, sizeof *out.events),
                              .tasks = mem_zalloc(tasks + 1, sizeof *out.tasks),
                              .event_count = events,
                              .task_count = tasks};
    for (size_t i = 0; i < events; i++) {
        struct queue_event *v = &h->events.at[h->events.count - events + i];
        queue_event_id_format(v->id, ids[i]);
        out.events[i] = (struct api_history_event){ids[i], v->name, v->data, v->progress, v->version};
    }
    for (size_t i = 0; i < tasks; i++) {
        struct queue_done *d = &h->done.at[h->done.count - tasks + i];
        out.tasks[i] = (struct api_history_task){d->kind,  d->worker,  d->slot,    d->epoch,
                                                 d->index, d->from_ms, d->until_ms};
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

bool history_knows(const struct history *h, struct queue_event_id id)
{
    for (size_t i = 0; i < h->events.count; i++)
        if (queue_event_id_compare(h->events.at[i].id, id) == 0)
            return true;
    /* a job's first event is its version 1: a list that begins later was cut */
    const struct queue_event *first = h->events.at;
    return h->events.count && first->version > 1 && queue_event_id_compare(id, first->id) < 0;
}

void history_after(struct history *h, struct queue_event_id id)
{
    struct queue_events *l = &h->events;
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++)
        if (queue_event_id_compare(l->at[i].id, id) > 0) {
            l->at[kept++] = l->at[i];
        } else {
            free(l->at[i].data);
            free(l->at[i].progress);
        }
    l->count = kept;
}
