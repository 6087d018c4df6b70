/* Bodies as they arrive: modules go through gunzip and SHA-256 straight into the store; submissions are
 * kept in memory (JSON) or in an unlinked file (multipart), which the kernel removes when the exchange
 * ends. Never more than the route's limit is kept, and what is inside a body is never looked at beyond its
 * first two bytes. */
#include "server/http/headers.h"
#include "server/http/http.h"
#include "server/http/request.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static enum error_code sink(void *user, const void *bytes, size_t size, struct error *e)
{
    struct body *b = user;
    const unsigned char *p = bytes;
    for (size_t i = 0; b->decoded + i < 2 && i < size; i++)
        b->first[b->decoded + i] = p[i];
    b->decoded += size;
    if (b->kind == BODY_PROBLEM && b->decoded > LIMIT_PROBLEM)
        return error_set(e, ERROR_TOO_LARGE, "the problem is larger than %zu bytes", LIMIT_PROBLEM);
    if (b->kind != BODY_PROBLEM && b->decoded > LIMIT_MODULE)
        return error_set(e, ERROR_MODULE_TOO_LARGE, "the module is larger than %d bytes", LIMIT_MODULE);
    return store_writer_add(b->writer, bytes, size, e);
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

static enum error_code begin_submit(struct exchange *x, struct error *e)
{
    struct body *b = &x->body;
    const char *type = x->content_type ? x->content_type : "";
    if (header_is_type(type, "application/json")) {
        b->limit = LIMIT_JSON;
        return ERROR_OK;
    }
    if (!header_is_type(type, "multipart/form-data"))
        return error_set(e, ERROR_MEDIA_TYPE,
                         "send application/json, or multipart/form-data with the parts module and request");
    x->boundary = multipart_boundary(type);
    if (!x->boundary)
        return error_set(e, ERROR_MALFORMED, "the Content-Type names no boundary of 1 to 70 characters");
    if (x->gzip)
        return error_set(e, ERROR_MEDIA_TYPE, "compress the module part, not the multipart body");
    b->limit = (size_t)LIMIT_MODULE + LIMIT_JSON + (16 << 10);
    b->fd = open_spool(x->server->spool);
    return b->fd >= 0 ? ERROR_OK
                      : error_set(e, ERROR_IO, "no temporary file can be made: %s", strerror(errno));
}

static enum error_code admit(struct exchange *x, struct error *e)
{
    return x->route->admit ? x->route->admit(x, e) : ERROR_OK;
}

enum error_code body_begin(struct exchange *x, struct error *e)
{
    struct body *b = &x->body;
    const char *length = request_header(x, "Content-Length");
    bool chunked = request_header(x, "Transfer-Encoding") != NULL;
    long long announced = length ? strtoll(length, NULL, 10) : 0;
    b->kind = x->route->body;
    enum error_code code = ERROR_OK;
    switch (b->kind) {
    case BODY_NONE:
        b->limit = 0;
        if (announced || chunked)
            return error_set(e, ERROR_MALFORMED, "this request takes no body");
        break;
    case BODY_MODULE:
    case BODY_PROBLEM:
    case BODY_BLOB:
        b->limit = b->kind == BODY_PROBLEM ? LIMIT_PROBLEM : LIMIT_MODULE;
        code = admit(x, e);
        if (code != ERROR_OK)
            return code;
        if (!length && !chunked)
            return error_set(e, ERROR_LENGTH, "send Content-Length or Transfer-Encoding: chunked");
        code = store_writer_begin(x->server->store, &b->writer, e);
        break;
    case BODY_SUBMIT:
        code = begin_submit(x, e);
        if (code == ERROR_OK)
            code = admit(x, e);
        break;
    case BODY_SMALL: b->limit = LIMIT_JSON; break;
    }
    if (code == ERROR_OK && (announced < 0 || (size_t)announced > b->limit))
        return error_set(e, ERROR_TOO_LARGE, "the body may have at most %zu bytes here", b->limit);
    if (code == ERROR_OK && b->kind != BODY_NONE && atomic_load(&x->server->disk_short))
        return error_set(e, ERROR_NO_SPACE,
                         "less than a tenth of the disk is free; nothing is taken until that changes");
    return code;
}

static enum error_code add_stored(struct exchange *x, const char *bytes, size_t size, struct error *e)
{
    struct body *b = &x->body;
    if (!b->looked && size) {
        b->looked = true;
        /* a module that begins like gzip is gzip, whether or not the header says so; a blob is what the
         * worker sent */
        if (x->gzip || (b->kind != BODY_BLOB && (unsigned char)bytes[0] == 0x1f))
            b->inflater = inflater_create(b->kind == BODY_PROBLEM ? LIMIT_PROBLEM : LIMIT_MODULE, sink, b);
    }
    return b->inflater ? inflater_add(b->inflater, bytes, size, e) : sink(b, bytes, size, e);
}

static enum error_code add_spooled(struct body *b, const char *bytes, size_t size, struct error *e)
{
    while (size) {
        ssize_t n = write(b->fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(e, errno == ENOSPC ? ERROR_NO_SPACE : ERROR_IO, "the body cannot be kept: %s",
                             strerror(errno));
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

void body_add(struct exchange *x, const char *bytes, size_t size)
{
    struct body *b = &x->body;
    struct error *e = &b->error;
    b->received += size;
    if (e->code != ERROR_OK)
        return;
    enum error_code code = ERROR_OK;
    if (b->received > b->limit)
        code = error_set(e, ERROR_TOO_LARGE, "the body may have at most %zu bytes here", b->limit);
    else if (b->writer)
        code = name_gzip(add_stored(x, bytes, size, e), NULL, e);
    else if (b->fd >= 0)
        code = add_spooled(b, bytes, size, e);
    else
        text_add_n(&b->memory, bytes, size);
    if (code != ERROR_OK)
        x->close = true;
}

void body_release(struct body *b)
{
    text_release(&b->memory);
    store_writer_abandon(b->writer);
    inflater_destroy(b->inflater);
    if (b->fd >= 0)
        close(b->fd);
    *b = (struct body){.fd = -1};
}

static enum error_code end_stored(struct exchange *x, const char *expected, char digest[STORE_DIGEST_SIZE],
                                  bool *existed, struct error *e)
{
    struct body *b = &x->body;
    enum error_code code = b->inflater ? inflater_finish(b->inflater, e) : ERROR_OK;
    if (code == ERROR_OK && x->gzip && !b->inflater)
        code = error_set(e, ERROR_INVALID_GZIP, "nothing was sent, not even an empty gzip file");
    if (code == ERROR_OK && b->kind == BODY_MODULE && b->decoded == 0)
        code = error_set(e, ERROR_INVALID_MODULE, "the module is empty");
    if (code == ERROR_OK && b->kind == BODY_PROBLEM && b->decoded == 0)
        code = error_set(e, ERROR_INVALID_REQUEST, "the problem is empty");
    if (code == ERROR_OK && b->kind != BODY_BLOB && b->first[0] == 0x1f && b->first[1] == 0x8b)
        code = error_set(e, ERROR_INVALID_GZIP, "this is gzip inside gzip; compress it once");
    if (code != ERROR_OK)
        return code;
    struct store_writer *w = b->writer;
    b->writer = NULL;
    code = store_writer_finish(w, expected, digest, existed, e);
    return code == ERROR_INVALID_REQUEST ? (e->code = ERROR_MALFORMED) : code;
}

enum error_code body_store(struct exchange *x, const char *expected, char digest[STORE_DIGEST_SIZE],
                           bool *existed, struct error *e)
{
    return name_gzip(end_stored(x, expected, digest, existed, e), NULL, e);
}

enum error_code body_expand(const struct body *b, char **json, size_t *size, struct error *e)
{
    return name_gzip(gzip_expand(b->memory.at, b->memory.size, LIMIT_JSON, json, size, e), NULL, e);
}

enum error_code body_store_module(struct server *s, const char *part, const void *bytes, size_t size,
                                  char digest[STORE_DIGEST_SIZE], struct error *e)
{
    struct exchange x = {.server = s, .body = {.kind = BODY_MODULE, .fd = -1}};
    bool existed;
    enum error_code code = store_writer_begin(s->store, &x.body.writer, e);
    if (code == ERROR_OK)
        code = add_stored(&x, bytes, size, e);
    if (code == ERROR_OK)
        code = end_stored(&x, NULL, digest, &existed, e);
    body_release(&x.body);
    return name_gzip(code, part, e);
}
