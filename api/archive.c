#include "api/archive.h"

#include "api/json.h"

#include <stdlib.h>

enum { FORMAT = 1 };

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
