/* Bodies of requests while they arrive and afterwards. A body is owned by its exchange and released with it.
 */
#ifndef TOAST_SERVER_HTTP_BODY_H
#define TOAST_SERVER_HTTP_BODY_H

#include "server/http/route.h"

#include "api/limits.h"
#include "base/inflate.h"
#include "base/memory.h"
#include "store/store.h"

#include <stdbool.h>

struct server;

struct body {
    enum body_kind kind;
    size_t received, limit; /* bytes as sent */
    struct text memory;     /* a small body; or the piece of a large one that a thread will write next */
    int fd;                 /* multipart: the file; -1 otherwise */
    struct store_writer *writer;
    struct inflater *inflater; /* NULL: not compressed */
    bool looked;               /* the first bytes were looked at */
    size_t decoded;            /* bytes after gunzip */
    unsigned char first[2];    /* of the decoded bytes */
    struct error error;        /* code not ok: the rest is swallowed, and this is the answer */
};

/* Headers are complete: prepares for the body that x's route takes, and asks the route's admit.
 * ERROR_MALFORMED: a body where none belongs, a bad boundary; ERROR_LENGTH: neither a length nor chunks;
 * ERROR_MEDIA_TYPE; ERROR_TOO_LARGE: announced so; ERROR_NO_SPACE: the disk is short; ERROR_IO; admit's. */
enum error_code body_begin(struct exchange *exchange, struct error *e) BASE_CHECKED;
/* The next bytes, kept in memory. Errors stay in x->body.error: too large, no memory left in the budget. */
void body_add(struct exchange *exchange, const char *bytes, size_t size);
/* A piece of a large body is in memory, and it is time for body_write. */
bool body_full(const struct body *body);
/* Writes (and hashes, and unpacks) what body_add has kept of a large body; may wait for a disk. Errors
 * stay in x->body.error: damaged gzip, a full disk. */
void body_write(struct exchange *exchange);
/* more of it was received than a small request has */
bool body_large(const struct body *body);
void body_release(struct body *body);
/* BODY_MODULE, BODY_PROBLEM, BODY_BLOB: ends the stream. expected: the digest there must be, or NULL.
 * ERROR_INVALID_GZIP, ERROR_INVALID_MODULE, ERROR_INVALID_REQUEST: empty; ERROR_MALFORMED: another digest. */
enum error_code body_store(struct exchange *exchange, const char *expected, char digest[STORE_DIGEST_SIZE],
                           bool *existed, struct error *e) BASE_CHECKED;
/* BODY_SUBMIT, BODY_SMALL with Content-Encoding gzip -> owned bytes. ERROR_INVALID_GZIP, ERROR_TOO_LARGE */
enum error_code body_expand(const struct body *body, char **json, size_t *size, struct error *e) BASE_CHECKED;
/* bytes (perhaps gzip) -> module in the store. part: what of the request they are, "module" or a JSON
 * pointer. ERROR_INVALID_MODULE: empty; ERROR_INVALID_GZIP: damaged, a bomb, gzip in gzip. */
enum error_code body_store_module(struct server *server, const char *part, const void *bytes, size_t size,
                                  char digest[STORE_DIGEST_SIZE], struct error *e) BASE_CHECKED;

/* ---- multipart/form-data (RFC 7578): names and bytes are borrowed from the body ---- */
struct part {
    char name[32];
    const char *bytes;
    size_t size;
};
enum { MULTIPART_MAX = 8 };
/* ERROR_MALFORMED */
enum error_code multipart_parse(const char *body, size_t size, const char *boundary,
                                struct part parts[MULTIPART_MAX], size_t *count,
                                struct error *e) BASE_CHECKED;
/* the boundary of a Content-Type (owned); NULL: none or not valid */
char *multipart_boundary(const char *content_type);

#endif
