/* What the archive keeps of an ended job in the store: its fields as one JSON object of strings, and, in a
 * blob of its own that the field `history` names, what happened to it. */
#ifndef TOAST_API_ARCHIVE_H
#define TOAST_API_ARCHIVE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct api_archive_field {
    char *name, *value; /* texts; owned after a parse, borrowed for writing */
};

/* owned text; equal fields in any order give equal bytes. Bytes that are not UTF-8 become '?'. */
char *api_archive_json(const struct api_archive_field *fields, size_t count);
/* *fields owned (each name, each value, the array). ERROR_INTERNAL: not such an object. */
enum error_code api_archive_parse(const char *json, size_t size, struct api_archive_field **fields,
                                  size_t *count, struct error *e) BASE_CHECKED;

/* Texts are owned after a parse, borrowed for writing. */
struct api_history_event {
    char *id, *name, *data, *progress; /* progress: JSON text or "" */
    long long version;
};
struct api_history_task {
    char *kind, *worker;
    int slot;
    uint32_t epoch, index;
    long long from_ms, until_ms;
};
struct api_history {
    struct api_history_event *events; /* oldest first; owned in either case */
    struct api_history_task *tasks;   /* by end */
    size_t event_count, task_count;
};
/* owned text. Bytes that are not UTF-8 become '?'. */
char *api_history_json(const struct api_history *h);
/* ERROR_INTERNAL: no such object; *out is empty then. Entries of another shape are left out. */
enum error_code api_history_parse(const char *json, size_t size, struct api_history *out,
                                  struct error *e) BASE_CHECKED;
void api_history_release(struct api_history *h); /* of a parse */

#endif
