/* The function libraries in Redis, of this build and of others that run beside it. Loads and compares;
 * never deletes one. See queue_library_check in queue.h. */
#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FUNCTION LIST: one array a library, names and values in turn */
static const char *name_of(const redisReply *library)
{
    for (size_t i = 0; i + 1 < library->elements; i += 2)
        if (strcmp(reply_text(library, i), "library_name") == 0)
            return reply_text(library, i + 1);
    return "";
}

static bool stands(const redisReply *list, const char *version)
{
    for (size_t i = 0; i < list->elements; i++) {
        const char *name = name_of(list->element[i]);
        if (strncmp(name, "toast_", 6) == 0 && strcmp(name + 6, version) == 0)
            return true;
    }
    return false;
}

static const char *noted(const struct queue_fields *libs, const char *version)
{
    return queue_field(libs, version);
}

/* among the libraries that still stand */
static void find_newer(const redisReply *list, const struct queue_fields *libs, struct queue_library *out)
{
    long long latest = strtoll(noted(libs, out->version), NULL, 10);
    out->others = (int)list->elements - stands(list, out->version);
    for (size_t i = 0; i < libs->count; i++) {
        char *build;
        long long since = strtoll(libs->at[i].value, &build, 10);
        if (since <= latest || !stands(list, libs->at[i].name))
            continue;
        latest = since;
        snprintf(out->newer, sizeof out->newer, "%s", build + (*build == ' '));
    }
}

enum error_code queue_library_check(struct queue *queue, const char *build, struct queue_library *out,
                                    struct error *e)
{
    struct call call = {0};
    struct queue_fields libs = {0};
    redisReply *reply = NULL;
    *out = (struct queue_library){0};
    snprintf(out->version, sizeof out->version, "%s", redis_library_version(queue->redis));
    call_add(&call, build);
    enum error_code code = call_function(queue, "library", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    reply_fields(reply, &libs);
    freeReplyObject(reply);
    const char *list[] = {"FUNCTION", "LIST", "LIBRARYNAME", "toast_*"};
    if (call_read(queue, 4, list, &reply, NULL) == ERROR_OK) {
        find_newer(reply, &libs, out);
        freeReplyObject(reply);
    }
    queue_fields_release(&libs);
    return ERROR_OK;
}
