/* What the store keeps of an ended job once the queue has forgotten it, as two JSON texts: its fields (an
 * object of strings) and its history (events and tasks), which is a blob of its own that the field
 * `history` names.
 *
 * Equal contents give equal bytes, so that writing an archive twice is harmless. What is read back is
 * what this or an earlier build wrote: anything else is ERROR_INTERNAL, never a guess. Pure. */
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
    char *id, *name;       /* of the queue's stream of events, oldest first */
    char *data, *progress; /* JSON texts; progress may be "" */
    long long version;     /* of the job after the event */
};
struct api_history_task {
    char *kind, *worker;
    int slot;                    /* of the worker's slots */
    uint32_t epoch, index;       /* which task of which step */
    long long from_ms, until_ms; /* Unix time */
};
struct api_history {
    struct api_history_event *events; /* oldest first; owned in either case */
    struct api_history_task *tasks;   /* in the order in which they ended */
    size_t event_count, task_count;
};
/* owned text. Bytes that are not UTF-8 become '?'. */
char *api_history_json(const struct api_history *history);
/* ERROR_INTERNAL: no such object; *out is empty then. Entries of another shape are left out. */
enum error_code api_history_parse(const char *json, size_t size, struct api_history *out,
                                  struct error *e) BASE_CHECKED;
void api_history_release(struct api_history *history); /* of a parse */

#endif
