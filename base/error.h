/* Errors: one table of codes, and one struct that says what went wrong, where, and what to do about it.
 *
 * Every fallible function returns `enum error_code` (0 is success), takes `struct error *` as its last
 * argument (NULL when the caller does not want the message) and fills it on failure only. We tell three
 * kinds apart:
 *   check   an invariant of our own does not hold: BASE_CHECK ends the process with the place
 *   bug     something that should not happen, but that one job can fail from: ERROR_INTERNAL
 *   reject  the client's fault: every other code, with a message that the client can act on
 * api/ maps codes to HTTP statuses and cli/ to exit statuses, both from the table below. */
#ifndef TOAST_BASE_ERROR_H
#define TOAST_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/* ERROR_HOST: the machine, not the client and not this program, ended or refused what was needed (no process,
 * no memory, a kill from outside): the same again, later or elsewhere, may succeed.
 *
 * code, text used in JSON (`code`), HTTP status, exit status of the command line ("Exit status of the
 * command line" in docs/design/api.md) */
#define ERROR_TABLE(X)                                                                                       \
    X(OK, "ok", 200, 0)                                                                                      \
    X(INTERNAL, "internal", 500, 1)                                                                          \
    X(USAGE, "usage", 400, 2)                                                                                \
    X(INVALID_JSON, "invalid_json", 400, 2)                                                                  \
    X(INVALID_REQUEST, "invalid_request", 422, 2)                                                            \
    X(INVALID_MODULE, "invalid_module", 422, 6)                                                              \
    X(UNSUPPORTED_MODULE, "unsupported_module", 422, 6)                                                      \
    X(INVALID_GZIP, "invalid_gzip", 422, 6)                                                                  \
    X(MODULE_TOO_LARGE, "module_too_large", 413, 6)                                                          \
    X(INVALID_PLAN, "invalid_plan", 422, 2)                                                                  \
    X(INVALID_CONSTRAINT, "invalid_constraint", 422, 2)                                                      \
    X(INVALID_MESH, "invalid_mesh", 422, 2)                                                                  \
    X(UNKNOWN_DEVICE, "unknown_device", 422, 2)                                                              \
    X(MEMORY_LIMIT_TOO_SMALL, "memory_limit_too_small", 422, 2)                                              \
    X(NOT_AVAILABLE, "not_available", 422, 2)                                                                \
    X(NO_REFEREE, "no_referee", 422, 2)                                                                      \
    X(NOT_FOUND, "not_found", 404, 2)                                                                        \
    X(CONFLICT, "conflict", 409, 2)                                                                          \
    X(TOO_LARGE, "too_large", 413, 2)                                                                        \
    X(CANCELLED, "cancelled", 409, 4)                                                                        \
    X(DEADLINE, "deadline", 504, 4)                                                                          \
    X(RESOURCE, "resource_limit", 422, 6)                                                                    \
    X(MEMORY_LIMIT, "memory_limit", 422, 6)                                                                  \
    X(IO, "io", 500, 1)                                                                                      \
    X(UNAVAILABLE, "unavailable", 503, 5)                                                                    \
    X(HOST, "host_fault", 503, 5)                                                                            \
    X(MALFORMED, "malformed_request", 400, 2)                                                                \
    X(UNKNOWN_PARAMETER, "unknown_parameter", 400, 2)                                                        \
    X(MISDIRECTED, "misdirected_request", 421, 2)                                                            \
    X(NO_PLAN_YET, "no_plan_yet", 404, 5)                                                                    \
    X(METHOD, "method_not_allowed", 405, 2)                                                                  \
    X(TIMEOUT, "request_timeout", 408, 5)                                                                    \
    X(NOT_READY, "not_ready", 409, 5)                                                                        \
    X(LENGTH, "length_required", 411, 2)                                                                     \
    X(URI_TOO_LONG, "uri_too_long", 414, 2)                                                                  \
    X(MEDIA_TYPE, "unsupported_media_type", 415, 2)                                                          \
    X(RANGE, "range_not_satisfiable", 416, 2)                                                                \
    X(TOO_MANY_JOBS, "too_many_jobs", 429, 5)                                                                \
    X(TOO_MANY_STREAMS, "too_many_streams", 429, 5)                                                          \
    X(TOO_MANY_PROFILES, "too_many_profiles", 429, 5)                                                        \
    X(HEADERS_TOO_LARGE, "headers_too_large", 431, 2)                                                        \
    X(NOT_IMPLEMENTED, "not_implemented", 501, 2)                                                            \
    X(HTTP_VERSION, "http_version", 505, 2)                                                                  \
    X(NO_SPACE, "no_space", 507, 5)                                                                          \
    X(UNAUTHORIZED, "unauthorized", 401, 2)                                                                  \
    X(FORBIDDEN, "forbidden", 403, 2)                                                                        \
    X(TOO_FAST, "too_many_requests", 429, 5)                                                                 \
    X(QUOTA, "quota_exceeded", 507, 5)                                                                       \
    X(GONE, "gone", 410, 2)                                                                                  \
    X(PRECONDITION, "precondition_failed", 412, 2)                                                           \
    X(KEY_REUSED, "idempotency_key_reused", 422, 2)                                                          \
    X(IN_FLIGHT, "request_in_flight", 409, 5)

enum error_code {
#define X(name, text, http, exit) ERROR_##name,
    ERROR_TABLE(X)
#undef X
        ERROR_CODES
};

struct error {
    enum error_code code;
    int line, column;  /* 1-based position in the client's text; 0 = none */
    char pointer[200]; /* JSON pointer into the client's request; "" = none */
    char message[800]; /* one sentence: what, where, what to do; UTF-8, never client text unescaped */
};

const char *error_code_text(enum error_code code);
int error_code_http_status(enum error_code code);
int error_code_exit_status(enum error_code code);
/* the host has failed, and not the caller or the task: a full disk, no memory or descriptors, an I/O error */
bool error_code_is_host(enum error_code code);
/* the code whose text this is; ERROR_INTERNAL when none */
enum error_code error_code_from_text(const char *text);

/* Fills *e (when not NULL) and returns code, so that `return error_set(e, ERROR_IO, "...", ...)` works. */
enum error_code error_set(struct error *e, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum error_code error_set_at(struct error *e, enum error_code code, int line, int column, const char *format,
                             ...) __attribute__((format(printf, 5, 6)));
enum error_code error_set_pointer(struct error *e, enum error_code code, const char *pointer,
                                  const char *format, ...) __attribute__((format(printf, 4, 5)));

#define BASE_CHECKED __attribute__((warn_unused_result))

/* Our own invariant: prints the place and aborts. The supervisor of a worker counts the death as a failed
 * attempt of its job. */
void base_check_failed(const char *file, int line, const char *what) __attribute__((noreturn));
#define BASE_CHECK(x) ((x) ? (void)0 : base_check_failed(__FILE__, __LINE__, #x))

/* returns from the calling function with the code of what failed; only where there is nothing to clean up */
#define TRY(call)                                                                                            \
    do {                                                                                                     \
        enum error_code code_ = (call);                                                                      \
        if (code_ != ERROR_OK)                                                                               \
            return code_;                                                                                    \
    } while (0)

#endif
