/* An ended job as JSON texts, and back; see archive.h. */
#include "api/archive.h"

#include "api/json.h"

#include <stdlib.h>

enum { FORMAT = 1 }; /* of both texts: "archive": 1, "history": 1; another one is not read */

char *api_archive_json(const struct api_archive_field *fields, size_t count)
{
    json_t *root = json_object(), *job = json_object();
    for (size_t i = 0; i < count; i++)
        json_object_set_new(job, fields[i].name, json_safe(fields[i].value));
    json_object_set_new(root, "archive", json_integer(FORMAT));
    json_object_set_new(root, "job", job);
    char *text = json_compact(root);
    json_decref(root);
    return text;
}

enum error_code api_archive_parse(const char *json, size_t size, struct api_archive_field **fields,
                                  size_t *count, struct error *e)
{
    json_t *root = json_loadb(json, size, JSON_REJECT_DUPLICATES, NULL), *job = json_object_get(root, "job");
    const char *name;
    json_t *value;
    *count = 0;
    *fields = NULL;
    if (!json_is_object(job) || json_integer_value(json_object_get(root, "archive")) != FORMAT) {
        json_decref(root);
        return error_set(e, ERROR_INTERNAL, "the archive of a job is not what this build writes");
    }
    *fields = mem_zalloc(json_object_size(job) + 1, sizeof **fields);
    json_object_foreach(job, name, value)
    {
        if (json_is_string(value))
            (*fields)[(*count)++] =
                (struct api_archive_field){mem_strdup(name), mem_strdup(json_string_value(value))};
    }
    json_decref(root);
    return ERROR_OK;
}

/* ---- what happened to it ---- */

char *api_history_json(const struct api_history *history)
{
    json_t *root = json_object(), *events = json_array(), *tasks = json_array();
    for (size_t i = 0; i < history->event_count; i++) {
        const struct api_history_event *history_event = &history->events[i];
        json_array_append_new(events,
                              json_pack("[s, s, I, o, o]", history_event->id, history_event->name,
                                        (json_int_t)history_event->version, json_safe(history_event->data),
                                        json_safe(history_event->progress)));
    }
    for (size_t i = 0; i < history->task_count; i++) {
        const struct api_history_task *history_task = &history->tasks[i];
        json_array_append_new(
            tasks,
            json_pack("[s, I, I, o, i, I, I]", history_task->kind, (json_int_t)history_task->epoch,
                      (json_int_t)history_task->index, json_safe(history_task->worker), history_task->slot,
                      (json_int_t)history_task->from_ms, (json_int_t)history_task->until_ms));
    }
    json_object_set_new(root, "history", json_integer(FORMAT));
    json_object_set_new(root, "events", events);
    json_object_set_new(root, "tasks", tasks);
    char *text = json_compact(root);
    json_decref(root);
    return text;
}

static void parse_events(json_t *list, struct api_history *out)
{
    out->events = mem_zalloc(json_array_size(list) + 1, sizeof *out->events);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *id, *name, *data, *progress;
        json_int_t version;
        if (json_unpack(json_array_get(list, i), "[s, s, I, s, s!]", &id, &name, &version, &data,
                        &progress) == 0)
            out->events[out->event_count++] = (struct api_history_event){
                mem_strdup(id), mem_strdup(name), mem_strdup(data), mem_strdup(progress), version};
    }
}

static void parse_tasks(json_t *list, struct api_history *out)
{
    out->tasks = mem_zalloc(json_array_size(list) + 1, sizeof *out->tasks);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *kind, *worker;
        json_int_t epoch, index, from, until;
        int slot;
        if (json_unpack(json_array_get(list, i), "[s, I, I, s, i, I, I!]", &kind, &epoch, &index, &worker,
                        &slot, &from, &until) == 0)
            out->tasks[out->task_count++] = (struct api_history_task){
                mem_strdup(kind), mem_strdup(worker), slot, (uint32_t)epoch, (uint32_t)index, from, until};
    }
}

enum error_code api_history_parse(const char *json, size_t size, struct api_history *out, struct error *e)
{
    json_t *root = json_loadb(json, size, JSON_REJECT_DUPLICATES, NULL);
    *out = (struct api_history){0};
    if (json_integer_value(json_object_get(root, "history")) != FORMAT) {
        json_decref(root);
        return error_set(e, ERROR_INTERNAL, "the history of a job is not what this build writes");
    }
    parse_events(json_object_get(root, "events"), out);
    parse_tasks(json_object_get(root, "tasks"), out);
    json_decref(root);
    return ERROR_OK;
}

void api_history_release(struct api_history *history)
{
    for (size_t i = 0; i < history->event_count; i++) {
        free(history->events[i].id);
        free(history->events[i].name);
        free(history->events[i].data);
        free(history->events[i].progress);
    }
    for (size_t i = 0; i < history->task_count; i++) {
        free(history->tasks[i].kind);
        free(history->tasks[i].worker);
    }
    free(history->events);
    free(history->tasks);
    *history = (struct api_history){0};
}
