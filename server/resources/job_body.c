/* A job's hash in Redis as the JSON that clients see. Pure: the same fields give the same bytes, so that a
 * job's version can be its entity tag. See job_body.h. */
#include "server/resources/job_body.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool job_ended(const struct queue_fields *job)
{
    return queue_field(job, "finished")[0] != 0;
}

/* "digest:size:media type", as a worker's child writes it */
static bool parse_artifact(const char *value, struct job_artifact *out)
{
    const char *colon = strchr(value, ':');
    char *end;
    if (!colon || colon - value != STORE_DIGEST_SIZE - 1)
        return false;
    memcpy(out->digest, value, STORE_DIGEST_SIZE - 1);
    out->digest[STORE_DIGEST_SIZE - 1] = 0;
    out->size = strtoull(colon + 1, &end, 10);
    snprintf(out->media_type, sizeof out->media_type, "%s",
             *end == ':' ? end + 1 : "application/octet-stream");
    return store_digest_valid(out->digest);
}

bool job_artifact(const struct queue_fields *job, const char *name, struct job_artifact *out)
{
    for (size_t i = 0; i < job->count; i++)
        if (strncmp(job->at[i].name, "a:", 2) == 0 && strcmp(job->at[i].name + 2, name) == 0)
            return parse_artifact(job->at[i].value, out);
    return false;
}

static void add_text(struct text *out, const char *name, const char *value)
{
    text_printf(out, ",\"%s\":", name);
    log_json_string(out, value, strlen(value));
}

static void add_time(struct text *out, const char *name, long long ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    char when[32];
    if (ms <= 0)
        return;
    gmtime_r(&seconds, &parts);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &parts);
    text_printf(out, ",\"%s\":\"%s.%03lldZ\"", name, when, ms % 1000);
}

/* JSON text that our own worker or the request decoder wrote; null when empty */
static void add_json(struct text *out, const char *name, const char *json)
{
    text_printf(out, ",\"%s\":%s", name, json[0] ? json : "null");
}

/* Seconds that the search will still take at its pace so far. As of the last event, not of now: the body of
 * a version, and with it the ETag, stays. */
static void add_eta(struct text *out, const struct queue_fields *job)
{
    const char *at = strstr(queue_field(job, "progress"), "\"fraction\":");
    double share = at ? strtod(at + strlen("\"fraction\":"), NULL) : 0;
    bool searching = queue_field(job, "search_started")[0]; /* empty again when a job starts over */
    long long ms = queue_number(job, "updated") - queue_number(job, searching ? "search_started" : "started");
    if (!job_ended(job) && share > 0 && share < 1 && ms > 0)
        text_printf(out, ",\"eta_s\":%.1f", (double)ms * 1e-3 * (1 - share) / share);
}

/* the worker's progress object with the queue's counts put in before its end; the first task says nothing
 * until it ends */
static void add_progress(struct text *out, const struct queue_fields *job)
{
    const char *json = queue_field(job, "progress");
    size_t n = strlen(json);
    text_add(out, ",\"progress\":");
    if (n < 2 || json[n - 1] != '}')
        text_add(out, queue_field(job, "started")[0] ? "{\"stage\":\"read\"" : "{\"stage\":\"queued\"");
    else
        text_add_n(out, json, n - 1);
    add_eta(out, job);
    text_printf(out, ",\"tasks_done\":%lld,\"step_tasks\":%lld,\"step_done\":%lld}",
                queue_number(job, "tasks_done"), queue_number(job, "tasks"), queue_number(job, "done"));
}

/* what clients call the job */
static const char *shown_id(const char *id, const struct queue_fields *job)
{
    const char *name = queue_field(job, "name");
    return name[0] ? name : id;
}

void job_body(const char *id, const struct queue_fields *job, struct text *out)
{
    id = shown_id(id, job);
    text_printf(out, "{\"id\":\"%s\",\"state\":\"%s\",\"version\":%lld", id, queue_field(job, "state"),
                queue_number(job, "ver"));
    add_time(out, "created_at", queue_number(job, "created"));
    add_time(out, "started_at", queue_number(job, "started"));
    add_time(out, "finished_at", queue_number(job, "finished"));
    text_printf(out, ",\"module\":\"sha256:%s\",\"digest\":\"%s\"", queue_field(job, "module"),
                queue_field(job, "digest"));
    add_text(out, "build", queue_field(job, "build"));
    text_printf(out, ",\"attempt\":%lld", queue_number(job, "attempt"));
    if (queue_field(job, "stop")[0])
        add_text(out, "stopped_by", queue_field(job, "stop"));
    if (queue_field(job, "cached_from")[0])
        add_text(out, "cached_from", queue_field(job, "cached_from"));
    if (queue_field(job, "labels")[0])
        add_json(out, "labels", queue_field(job, "labels"));
    add_progress(out, job);
    add_json(out, "error", queue_field(job, "error"));
    text_printf(out,
                ",\"links\":{\"self\":\"/v1/jobs/%s\",\"plan\":\"/v1/jobs/%s/plan\",\"events\":\"/v1/jobs/%s/"
                "events\",\"artifacts\":\"/v1/jobs/"
                "%s/artifacts\","
                "\"cancel\":\"/v1/jobs/%s:cancel\",\"ui\":\"/ui/jobs/%s\"}}",
                id, id, id, id, id, id);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct queue_field *)left)->name, ((const struct queue_field *)right)->name);
}

void job_artifacts_body(const char *id, const struct queue_fields *job, struct text *out)
{
    struct queue_field *sorted = mem_alloc((job->count + 1) * sizeof *sorted);
    size_t shown = 0;
    id = shown_id(id, job);
    if (job->count)
        memcpy(sorted, job->at, job->count * sizeof *sorted);
    qsort(sorted, job->count, sizeof *sorted, by_name);
    text_printf(out, "{\"complete\":%s,\"artifacts\":[", job_ended(job) ? "true" : "false");
    for (size_t i = 0; i < job->count; i++) {
        struct job_artifact job_artifact;
        if (strncmp(sorted[i].name, "a:", 2) != 0 || !parse_artifact(sorted[i].value, &job_artifact))
            continue;
        text_add(out, shown++ ? ",{\"name\":" : "{\"name\":");
        log_json_string(out, sorted[i].name + 2, strlen(sorted[i].name + 2));
        add_text(out, "media_type", job_artifact.media_type);
        text_printf(out,
                    ",\"size_bytes\":%zu,\"digest\":\"sha256:%s\",\"href\":\"/v1/jobs/%s/artifacts/%s\"}",
                    job_artifact.size, job_artifact.digest, id, sorted[i].name + 2);
    }
    text_add(out, "]}");
    free(sorted);
}
