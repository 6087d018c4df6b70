/* Replies: exactly one of the reply_ functions per exchange sends one. All carry X-Request-Id and nosniff;
 * refusals are problem+json (RFC 9457), or what hooks->problem makes of them. */
#ifndef TOAST_SERVER_HTTP_REPLY_H
#define TOAST_SERVER_HTTP_REPLY_H

#include "server/http/http.h"

/* ---- reply.c ---- */
struct header {
    const char *name, *value;
};
void reply_json(struct exchange *exchange, int status, struct text *json, const struct header *extra,
                size_t count); /* takes json */
void reply_empty(struct exchange *exchange, int status, const struct header *extra, size_t count);
/* any response of the library (taken) */
void reply_response(struct exchange *exchange, int status, struct MHD_Response *response,
                    const char *media_type, const struct header *extra, size_t count);
void reply_problem(struct exchange *exchange, const struct error *e);
/* bytes of a blob with ETag, Range, Content-Digest; name: for Content-Disposition, NULL none */
void reply_blob(struct exchange *exchange, const char *digest, const char *media_type, const char *name);
/* bytes (copied) that change with the build only: ETag, max-age */
void reply_bytes(struct exchange *exchange, const char *media_type, const void *bytes, size_t size);
/* true: If-None-Match names this etag, and 304 was sent; caching: the Cache-Control that a 200 would have */
bool reply_not_modified(struct exchange *exchange, const char *etag, const char *caching);

/* ---- refusal.c ---- */
/* Who answers in the HTTP library's place what it refuses by itself. Before the daemon starts. */
void refusal_install(void (*refuse)(struct MHD_Connection *connection, const struct error *e));
/* the library's MHD_queue_response: only this sends what we answer */
enum MHD_Result refusal_pass(struct MHD_Connection *connection, unsigned status,
                             struct MHD_Response *response);
/* Writes a problem to a socket beside the library, as far as that goes without waiting, and ends our side
 * of it. request_id may be NULL. */
void refusal_send(int fd, const struct error *e, const char *request_id);

/* Queues what a thread of offload.c has replied; on the connection's thread. */
void reply_kept(struct exchange *exchange);
/* Takes `size` bytes for a reply's body from the budget. false: there are none, and a problem is the
 * reply. */
bool reply_room(struct exchange *exchange, size_t size);

#endif
