/* Archived jobs against the invariants; see fsck_archive.h. */
#include "cli/fsck_archive.h"

#include "api/archive.h"
#include "queue/events.h"
#include "server/resources/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void bad(struct queue_audit *audit, int invariant, const char *job, char *text)
{
    queue_audit_add(audit, invariant, job, text);
    free(text);
}

/* Invariants of a history: versions rise, and the job ends once, or once after each `queued` when it was
 * retried. */
static void check_events(const struct api_history *history, const char *job, const char *state,
                         struct queue_audit *audit)
{
    const char *over = NULL; /* how it ended */
    long long version = 0;
    for (size_t i = 0; i < history->event_count; i++) {
        const struct api_history_event *history_event = &history->events[i];
        struct queue_event as = {.data = history_event->data};
        snprintf(as.name, sizeof as.name, "%s", history_event->name);
        if (history_event->version <= version)
            bad(audit, 5, job,
                mem_printf("archived event %s has version %lld after %lld", history_event->id,
                           history_event->version, version));
        version = history_event->version;
        if (strcmp(history_event->name, "state") == 0 && strcmp(history_event->data, "queued") == 0)
            over = NULL;
        else if (over)
            bad(audit, 2, job,
                mem_printf("archived event %s after the end: %s", history_event->id, history_event->name));
        else if (queue_event_ends(&as))
            over = history_event->data;
    }
    if (history->event_count && (!over || strcmp(over, state) != 0))
        bad(audit, 2, job, mem_printf("is archived as %s without an event that says so", state));
}

static enum error_code check_history(struct store *store, const struct queue_audit_archived *job,
                                     const struct queue_fields *fields, struct queue_audit *audit,
                                     struct error *e)
{
    struct store_view view;
    struct api_history history;
    const char *digest = queue_field(fields, "history");
    if (!digest[0]) /* archived before histories were kept */
        return ERROR_OK;
    enum error_code code = store_get(store, digest, &view, e);
    if (code != ERROR_OK) /* check_blobs says what is wrong with it */
        return code == ERROR_UNAVAILABLE ? code : ERROR_OK;
    code = api_history_parse(view.bytes, view.size, &history, e);
    store_view_release(&view);
    if (code != ERROR_OK) {
        queue_audit_add(audit, 4, job->job, "history: no history of a job");
        return ERROR_OK;
    }
    check_events(&history, job->job, job->state, audit);
    api_history_release(&history);
    return ERROR_OK;
}

static void check_fields(const struct queue_audit_archived *job, const struct queue_fields *fields,
                         struct queue_audit *audit)
{
    const char *state = queue_field(fields, "state"), *version = queue_field(fields, "ver");
    if (strcmp(state, job->state) != 0)
        bad(audit, 2, job->job, mem_printf("is %s, but archived as %s", job->state, state));
    if (strcmp(version, job->version) != 0)
        bad(audit, 5, job->job, mem_printf("has version %s, but %s in the archive", job->version, version));
    for (size_t i = 0; i < fields->count; i++) {
        const char *name = fields->at[i].name;
        if (strncmp(name, "a:", 2) == 0 || strcmp(name, "module") == 0 || strcmp(name, "request") == 0 ||
            strcmp(name, "history") == 0)
            queue_audit_add_blob(audit, job->job, name, fields->at[i].value);
    }
}

enum error_code fsck_archived(struct store *store, struct queue_audit *audit, struct error *e)
{
    enum error_code code = ERROR_OK;
    for (size_t i = 0; code == ERROR_OK && i < audit->archived.count; i++) {
        const struct queue_audit_archived *job = &audit->archived.at[i];
        struct queue_fields fields = {0};
        struct error why = {0};
        if (!job->blob[0]) /* forgotten */
            continue;
        code = archive_read(store, job->blob, &fields, &why);
        if (code == ERROR_OK) {
            check_fields(job, &fields, audit);
            code = check_history(store, job, &fields, audit, e);
        } else if (code == ERROR_UNAVAILABLE) {
            *e = why;
        } else {
            bad(audit, 4, job->job, mem_printf("archive: %s", why.message));
            code = ERROR_OK;
        }
        queue_fields_release(&fields);
    }
    return code;
}
