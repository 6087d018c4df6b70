/* Jobs that ended a while ago: from Redis into the store, and back when somebody asks. The blob is written
 * first and Redis forgets the job second, so that a crash between the two leaves the job where it was. */
#include "server/resources/resources.h"

#include "api/archive.h"
#include "server/resources/history.h"

/* ---- blob -> fields ---- */

enum error_code archive_read(struct store *store, const char *blob, struct queue_fields *out, struct error *e)
{
    struct store_view view;
    struct api_archive_field *fields;
    size_t count;
    *out = (struct queue_fields){0};
    enum error_code code = store_get(store, blob, &view, e);
    if (code != ERROR_OK)
        return code == ERROR_NOT_FOUND ? error_set(e, ERROR_INTERNAL, "the archive of this job is missing")
                                       : code;
    code = api_archive_parse(view.bytes, view.size, &fields, &count, e);
    store_view_release(&view);
    if (code != ERROR_OK)
        return code;
    out->at = mem_zalloc(count + 1, sizeof *out->at);
    for (size_t i = 0; i < count; i++)
        out->at[out->count++] =
            (struct queue_field){fields[i].name, fields[i].value, strlen(fields[i].value)};
    free(fields);
    return ERROR_OK;
}

enum error_code archive_expand(struct store *store, struct queue_fields *job, struct error *e)
{
    struct queue_fields whole;
    const char *blob = queue_field(job, "blob");
    if (strcmp(queue_field(job, "state"), "gone") == 0)
        return error_set(e, ERROR_GONE, "this job was deleted, or its time was over");
    if (!blob[0])
        return ERROR_OK;
    enum error_code code = archive_read(store, blob, &whole, e);
    if (code != ERROR_OK)
        return code;
    queue_fields_release(job);
    *job = whole;
    return ERROR_OK;
}

/* ---- fields -> blob ---- */

/* b:<name> are the search's own blobs: a job that starts again makes new ones */
static char *archive_text(const struct queue_fields *job, char *history)
{
    struct api_archive_field *fields = mem_zalloc(job->count + 2, sizeof *fields);
    size_t count = 0;
    for (size_t i = 0; i < job->count; i++)
        if (strncmp(job->at[i].name, "b:", 2) != 0 && strcmp(job->at[i].name, "history") != 0)
            fields[count++] = (struct api_archive_field){job->at[i].name, job->at[i].value};
    fields[count++] = (struct api_archive_field){(char[]){"history"}, history};
    char *text = api_archive_json(fields, count);
    free(fields);
    return text;
}

/* two blobs: lists and pages of jobs need the fields alone */
static enum error_code archive_put(struct store *store, struct queue *queue, const char *id,
                                   const struct queue_fields *job, char digest[STORE_DIGEST_SIZE],
                                   struct error *e)
{
    struct history other_history;
    char history[STORE_DIGEST_SIZE];
    enum error_code code = history_read(store, queue, id, job, &other_history, e);
    if (code != ERROR_OK)
        return code;
    code = history_write(store, &other_history, history, e);
    history_release(&other_history);
    if (code != ERROR_OK)
        return code;
    char *text = archive_text(job, history);
    code = store_put(store, text, strlen(text), digest, e);
    free(text);
    return code;
}

static enum error_code archive_one(struct store *store, struct queue *queue, const char *id, struct error *e)
{
    struct queue_fields job;
    char digest[STORE_DIGEST_SIZE] = "";
    enum error_code code = queue_job(queue, id, &job, e);
    if (code == ERROR_NOT_FOUND)
        return queue_archive(queue, id, "", "", e); /* removes it from the list of what is due */
    if (code != ERROR_OK)
        return code;
    if (!queue_field(&job, "blob")[0])
        code = archive_put(store, queue, id, &job, digest, e);
    if (code == ERROR_OK)
        code = queue_archive(queue, id, queue_field(&job, "ver"), digest, e);
    queue_fields_release(&job);
    return code;
}

enum error_code archive_due(struct store *store, struct queue *queue, size_t limit, size_t *done,
                            struct error *e)
{
    char(*ids)[QUEUE_ID_SIZE];
    size_t count;
    struct error other;
    *done = 0;
    enum error_code first = queue_due(queue, limit, &ids, &count, e);
    for (size_t i = 0; first != ERROR_UNAVAILABLE && i < count; i++) {
        enum error_code code = archive_one(store, queue, ids[i], first == ERROR_OK ? e : &other);
        *done += code == ERROR_OK;
        if (first != ERROR_OK && code == ERROR_UNAVAILABLE)
            *e = other;
        if (first == ERROR_OK || code == ERROR_UNAVAILABLE)
            first = code;
    }
    free(ids);
    return first;
}
