/* See fsck_archive.h. */
#include "cli/fsck_archive.h"

#include "api/archive.h"
#include "queue/events.h"
#include "server/resources/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void bad(struct queue_audit *a, int invariant, const char *job, char *text)
{
    queue_audit_add(a, invariant, job, text);
    free(text);
}

/* once and only once, versions that rise; a job that was retried ends once more after each `queued` */
static void check_events(const struct api_history *h, const char *job, const char *state,
                         struct queue_audit *a)
{
    const char *over = NULL; /* how it ended */
    long long version = 0;
    for (size_t i = 0; i < h->event_count; i++) {
        const struct api_history_event *v = &h->events[i];
        struct queue_event as = {.data = v->data};
        snprintf(as.name, sizeof as.name, "%s", v->name);
        if (v->version <= version)
            bad(a, 5, job,
                mem_printf("archived event %s has version %lld after %lld", v->id, v->version, version));
        version = v->version;
        if (strcmp(v->name, "state") == 0 && strcmp(v->data, "queued") == 0)
            over = NULL;
        else if (over)
            bad(a, 2, job, mem_printf("archived event %s after the end: %s", v->id, v->name));
        else if (queue_event_ends(&as))
            over = v->data;
    }
    if (h->event_count && (!over || strcmp(over, state) != 0))
        bad(a, 2, job, mem_printf("is archived as %s without an event that says so", state));
}

static enum error_code check_history(struct store *store, const struct queue_audit_archived *job,
                                     const struct queue_fields *fields, struct queue_audit *a,
                                     struct error *e)
{
    struct store_view view;
    struct api_history h;
    const char *digest = queue_field(fields, "history");
    if (!digest[0]) /* archived before histories were kept */
        return ERROR_OK;
    enum error_code code = store_get(store, digest, &view, e);
    if (code != ERROR_OK) /* check_blobs says what is wrong with it */
        return code == ERROR_UNAVAILABLE ? code : ERROR_OK;
    code = api_history_parse(view.bytes, view.size, &h, e);
    store_view_release(&view);
    if (code != ERROR_OK) {
        queue_audit_add(a, 4, job->job, "history: no history of a job");
        return ERROR_OK;
    }
    check_events(&h, job->job, job->state, a);
    api_history_release(&h);
    return ERROR_OK;
}

static void check_fields(const struct queue_audit_archived *job, const struct queue_fields *fields,
                         struct queue_audit *a)
{
    const char *state = queue_field(fields, "state"), *version = queue_field(fields, "ver");
    if (strcmp(state, job->state) != 0)
        bad(a, 2, job->job, mem_printf("is %s, but archived as %s", job->state, state));
    if (strcmp(version, job->version) != 0)
        bad(a, 5, job->job, mem_printf("has version %s, but %s in the archive", job->version, version));
    for (size_t i = 0; i < fields->count; i++) {
        const char *name = fields->at[i].name;
        if (strncmp(name, "a:", 2) == 0 || strcmp(name, "module") == 0 || strcmp(name, "request") == 0 ||
            strcmp(name, "history") == 0)
            queue_audit_add_blob(a, job->job, name, fields->at[i].value);
    }
}

enum error_code fsck_archived(struct store *store, struct queue_audit *a, struct error *e)
{
    enum error_code code = ERROR_OK;
    for (size_t i = 0; code == ERROR_OK && i < a->archived.count; i++) {
        const struct queue_audit_archived *job = &a->archived.at[i];
        struct queue_fields fields = {0};
        struct error why = {0};
        if (!job->blob[0]) /* forgotten */
            continue;
        code = archive_read(store, job->blob, &fields, &why);
        if (code == ERROR_OK) {
            check_fields(job, &fields, a);
            code = check_history(store, job, &fields, a, e);
        } else if (code == ERROR_UNAVAILABLE) {
            *e = why;
        } else {
            bad(a, 4, job->job, mem_printf("archive: %s", why.message));
            code = ERROR_OK;
        }
        queue_fields_release(&fields);
    }
    return code;
}
