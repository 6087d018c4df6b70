/* Bodies as they arrive: modules go through gunzip and SHA-256 straight into the store; submissions are
 * kept in memory (JSON) or in an unlinked file (multipart), which the kernel removes when the exchange
 * ends. What goes to a disk is gathered in pieces (body_add, on the connection's thread) and written by
 * another thread (body_write, through offload.c). Never more than the route's limit is kept, and what is
 * inside a body is never looked at beyond its first two bytes. */
#include "server/http/headers.h"
#include "server/http/http.h"
#include "server/http/request.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* What a large body has in memory: its next piece, which may be one read of the library beyond it, as the
 * vector grows. */
enum { PIECE = 256 << 10, LARGE_MEMORY = 2 * PIECE };

static enum error_code sink(void *user, const void *bytes, size_t size, struct error *e)
{
    struct body *body = user;
    const unsigned char *p = bytes;
    for (size_t i = 0; body->decoded + i < 2 && i < size; i++)
        body->first[body->decoded + i] = p[i];
    body->decoded += size;
    if (body->kind == BODY_PROBLEM && body->decoded > LIMIT_PROBLEM)
        return error_set(e, ERROR_TOO_LARGE, "the problem is larger than %zu bytes", LIMIT_PROBLEM);
    if (body->kind != BODY_PROBLEM && body->decoded > LIMIT_MODULE)
        return error_set(e, ERROR_MODULE_TOO_LARGE, "the module is larger than %d bytes", LIMIT_MODULE);
    return store_writer_add(body->writer, bytes, size, e);
}

/* a file without a name; -1 and errno */
static int open_spool(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;
    char *path = mem_printf("%s/XXXXXX", folder); /* a file system that cannot do this by itself */
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

static enum error_code begin_submit(struct exchange *exchange, struct error *e)
{
    struct body *body = &exchange->body;
    const char *type = exchange->content_type ? exchange->content_type : "";
    if (header_is_type(type, "application/json")) {
        body->limit = LIMIT_JSON;
        return ERROR_OK;
    }
    if (!header_is_type(type, "multipart/form-data"))
        return error_set(e, ERROR_MEDIA_TYPE,
                         "send application/json, or multipart/form-data with the parts module and request");
    exchange->boundary = multipart_boundary(type);
    if (!exchange->boundary)
        return error_set(e, ERROR_MALFORMED, "the Content-Type names no boundary of 1 to 70 characters");
    if (exchange->gzip)
        return error_set(e, ERROR_MEDIA_TYPE, "compress the module part, not the multipart body");
    body->limit = (size_t)LIMIT_MODULE + LIMIT_JSON + (16 << 10);
    enum error_code code = budget_reach(exchange, LARGE_MEMORY, e);
    if (code != ERROR_OK)
        return code;
    body->fd = open_spool(exchange->server->spool);
    return body->fd >= 0
               ? ERROR_OK
               : error_set(e, file_error(errno), "no temporary file can be made: %s", strerror(errno));
}

static enum error_code admit(struct exchange *exchange, struct error *e)
{
    return exchange->route->admit ? exchange->route->admit(exchange, e) : ERROR_OK;
}

enum error_code body_begin(struct exchange *exchange, struct error *e)
{
    struct body *body = &exchange->body;
    const char *length = request_header(exchange, "Content-Length");
    bool chunked = request_header(exchange, "Transfer-Encoding") != NULL;
    long long announced = length ? strtoll(length, NULL, 10) : 0;
    body->kind = exchange->route->body;
    enum error_code code = ERROR_OK;
    switch (body->kind) {
    case BODY_NONE:
        body->limit = 0;
        if (announced || chunked)
            return error_set(e, ERROR_MALFORMED, "this request takes no body");
        break;
    case BODY_MODULE:
    case BODY_PROBLEM:
    case BODY_BLOB:
        body->limit = body->kind == BODY_PROBLEM ? LIMIT_PROBLEM : LIMIT_MODULE;
        code = admit(exchange, e);
        if (code != ERROR_OK)
            return code;
        if (!length && !chunked)
            return error_set(e, ERROR_LENGTH, "send Content-Length or Transfer-Encoding: chunked");
        code = budget_reach(exchange, LARGE_MEMORY, e);
        if (code == ERROR_OK)
            code = store_writer_begin(exchange->server->store, &body->writer, e);
        break;
    case BODY_SUBMIT:
        code = begin_submit(exchange, e);
        if (code == ERROR_OK)
            code = admit(exchange, e);
        break;
    case BODY_SMALL:
        body->limit = exchange->route->access == ACCESS_PUBLIC ? LIMIT_PUBLIC : LIMIT_JSON;
        break;
    }
    if (code == ERROR_OK && (announced < 0 || (size_t)announced > body->limit))
        return error_set(e, ERROR_TOO_LARGE, "the body may have at most %zu bytes here", body->limit);
    if (code == ERROR_OK && body->kind != BODY_NONE && atomic_load(&exchange->server->disk_short))
        return error_set(e, ERROR_NO_SPACE,
                         "less than a tenth of the disk is free; nothing is taken until that changes");
    return code;
}

static enum error_code add_stored(struct exchange *exchange, const char *bytes, size_t size, struct error *e)
{
    struct body *body = &exchange->body;
    if (!body->looked && size) {
        body->looked = true;
        /* a module that begins like gzip is gzip, whether or not the header says so; a blob is what the
         * worker sent */
        if (exchange->gzip || (body->kind != BODY_BLOB && (unsigned char)bytes[0] == 0x1f))
            body->inflater =
                inflater_create(body->kind == BODY_PROBLEM ? LIMIT_PROBLEM : LIMIT_MODULE, sink, body);
    }
    return body->inflater ? inflater_add(body->inflater, bytes, size, e) : sink(body, bytes, size, e);
}

static enum error_code add_spooled(struct body *body, const char *bytes, size_t size, struct error *e)
{
    while (size) {
        ssize_t n = write(body->fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(e, file_error(errno), "the body cannot be kept: %s", strerror(errno));
        bytes += n;
        size -= (size_t)n;
    }
    return ERROR_OK;
}

/* Completes an error about gzip data with the name of the data. part: a part of the request ("module"), a
 * JSON pointer, or NULL for the whole body. */
static enum error_code name_gzip(enum error_code code, const char *part, struct error *e)
{
    if (code != ERROR_INVALID_GZIP || !e)
        return code;
    struct error inner = *e;
    if (!part)
        return error_set(e, code, "the body: %s", inner.message);
    return error_set_pointer(e, code, part, "%s%s: %s", part[0] == '/' ? "" : "the part ", part,
                             inner.message);
}

void body_add(struct exchange *exchange, const char *bytes, size_t size)
{
    struct body *body = &exchange->body;
    struct error *e = &body->error;
    body->received += size;
    if (e->code != ERROR_OK)
        return;
    enum error_code code = ERROR_OK;
    if (body->received > body->limit)
        code = error_set(e, ERROR_TOO_LARGE, "the body may have at most %zu bytes here", body->limit);
    else if (!body->writer && body->fd < 0) /* with what it becomes when it is unpacked or read */
        code = budget_reach(exchange, 2 * body->received, e);
    if (code == ERROR_OK)
        text_add_n(&body->memory, bytes, size);
    else
        exchange->close = true;
}

bool body_full(const struct body *body)
{
    return (body->writer || body->fd >= 0) && body->memory.size >= PIECE;
}

bool body_large(const struct body *body)
{
    return body->received >= PIECE;
}

void body_write(struct exchange *exchange)
{
    struct body *body = &exchange->body;
    struct error *e = &body->error;
    enum error_code code = ERROR_OK;
    if ((!body->writer && body->fd < 0) || !body->memory.size || e->code != ERROR_OK)
        return;
    if (body->writer)
        code = name_gzip(add_stored(exchange, body->memory.at, body->memory.size, e), NULL, e);
    else
        code = add_spooled(body, body->memory.at, body->memory.size, e);
    body->memory.size = 0;
    if (code != ERROR_OK)
        exchange->close = true;
}

void body_release(struct body *body)
{
    text_release(&body->memory);
    store_writer_abandon(body->writer);
    inflater_destroy(body->inflater);
    if (body->fd >= 0)
        close(body->fd);
    *body = (struct body){.fd = -1};
}

static enum error_code end_stored(struct exchange *exchange, const char *expected,
                                  char digest[STORE_DIGEST_SIZE], bool *existed, struct error *e)
{
    struct body *body = &exchange->body;
    enum error_code code = body->inflater ? inflater_finish(body->inflater, e) : ERROR_OK;
    if (code == ERROR_OK && exchange->gzip && !body->inflater)
        code = error_set(e, ERROR_INVALID_GZIP, "nothing was sent, not even an empty gzip file");
    if (code == ERROR_OK && body->kind == BODY_MODULE && body->decoded == 0)
        code = error_set(e, ERROR_INVALID_MODULE, "the module is empty");
    if (code == ERROR_OK && body->kind == BODY_PROBLEM && body->decoded == 0)
        code = error_set(e, ERROR_INVALID_REQUEST, "the problem is empty");
    if (code == ERROR_OK && body->kind != BODY_BLOB && body->first[0] == 0x1f && body->first[1] == 0x8b)
        code = error_set(e, ERROR_INVALID_GZIP, "this is gzip inside gzip; compress it once");
    if (code != ERROR_OK)
        return code;
    struct store_writer *writer = body->writer;
    body->writer = NULL;
    code = store_writer_finish(writer, expected, digest, existed, e);
    return code == ERROR_INVALID_REQUEST ? (e->code = ERROR_MALFORMED) : code;
}

enum error_code body_store(struct exchange *exchange, const char *expected, char digest[STORE_DIGEST_SIZE],
                           bool *existed, struct error *e)
{
    return name_gzip(end_stored(exchange, expected, digest, existed, e), NULL, e);
}

enum error_code body_expand(const struct body *body, char **json, size_t *size, struct error *e)
{
    return name_gzip(gzip_expand(body->memory.at, body->memory.size, LIMIT_JSON, json, size, e), NULL, e);
}

enum error_code body_store_module(struct server *server, const char *part, const void *bytes, size_t size,
                                  char digest[STORE_DIGEST_SIZE], struct error *e)
{
    struct exchange exchange = {.server = server, .body = {.kind = BODY_MODULE, .fd = -1}};
    bool existed;
    enum error_code code = store_writer_begin(server->store, &exchange.body.writer, e);
    if (code == ERROR_OK)
        code = add_stored(&exchange, bytes, size, e);
    if (code == ERROR_OK)
        code = end_stored(&exchange, NULL, digest, &existed, e);
    body_release(&exchange.body);
    return name_gzip(code, part, e);
}
