/* A thin HTTP client over libcurl: one exchange at a time, limits on everything, no redirects followed.
 * Used by the store's remote back end and the command line. Thread-safe: every exchange has its own handle.
 */
#ifndef TOAST_HTTP_CLIENT_H
#define TOAST_HTTP_CLIENT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* before threads exist */
void http_client_start(void);

/* traceparent of what this thread asks for from now on (borrowed; NULL: $TRACEPARENT, if any) */
void http_client_trace(const char *traceparent);

struct http_header {
    const char *name, *value; /* both NULL: the end of a list */
};
struct http_request {
    const char *method, *url;     /* http:// or https:// */
    const char *token;            /* Bearer; NULL: none */
    const char *content_type;     /* of the body; NULL: application/octet-stream */
    const char *content_encoding; /* NULL: none */
    const void *body;             /* NULL: no body */
    size_t body_size;
    const struct http_header *headers; /* further ones; NULL: none */
    bool public_only; /* no address of a private network is dialled (http/address.h), whatever a name says */
    const char *prefer;     /* Prefer (RFC 7240); NULL: nothing */
    const char *accept;     /* NULL: anything */
    size_t max_reply_bytes; /* 0: 64 MiB */
    long timeout_s;         /* 0: 60 */
    long stall_s;           /* gives up after so long without a byte; 0: waits for timeout_s */
};

struct http_reply {
    int status;
    char *body; /* owned; NUL-terminated after size bytes */
    size_t size;
    char location[512], content_type[128], retry_after[16];
};

/* ERROR_UNAVAILABLE: no connection, timeout, broken reply (message names the address and why).
 * ERROR_FORBIDDEN: public_only, and there is no public address. ERROR_TOO_LARGE: the reply is longer than
 * allowed. ERROR_USAGE: not an http address. Any status is a success here. */
enum error_code http_exchange(const struct http_request *request, struct http_reply *out,
                              struct error *e) BASE_CHECKED;
void http_reply_release(struct http_reply *reply);

#endif
