/* Logs: one line of JSON an event on standard error, written with one call so that lines of several
 * processes do not mix. Values are escaped, so text of a client may be a value; it must never be a name or
 * an event. Thread-safe. */
#ifndef TOAST_BASE_LOG_H
#define TOAST_BASE_LOG_H

#include "base/memory.h"

/* log_event("job_done", "job", id, "state", state, NULL): names and values in turn; a NULL value ends the
 * list too */
void log_event(const char *event, ...) __attribute__((sentinel));
/* the same with members that the caller has made: "a":1,"b":"x" */
void log_members(const char *event, const char *members);
/* appends "..." with JSON escapes; bytes that are not UTF-8, control characters and DEL become \u00xx or '?'
 */
void log_json_string(struct text *text, const char *string, size_t size);

#endif
