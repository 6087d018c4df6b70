/* Replies. All carry X-Request-Id and nosniff; errors are problem+json (RFC 9457). Nothing here decides
 * what is answered, only how; a reply to an exchange is sent once, through refusal_pass. */
#include "server/http/reply.h"
#include "server/http/request.h"

#include "api/job.h"
#include "base/encode.h"
#include "base/hash.h"
#include "server/http/headers.h"

#include <unistd.h>

/* headers that a refusal must have, as JSON and as a page: Retry-After, Allow */
static void add_remedy(const struct exchange *x, int status, bool retry, struct MHD_Response *r)
{
    char allow[64];
    if ((status == 503 || status == 429) && !retry)
        MHD_add_response_header(r, "Retry-After", "2");
    if (status == 405 && x->route) {
        route_allow(x->server->routes, x->route, allow, sizeof allow);
        MHD_add_response_header(r, "Allow", allow);
    }
}

void reply_response(struct exchange *x, int status, struct MHD_Response *r, const char *media_type,
                    const struct header *extra, size_t count)
{
    if (media_type)
        MHD_add_response_header(r, "Content-Type", media_type);
    MHD_add_response_header(r, "X-Request-Id", x->request_id);
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    bool caching = false, retry = false;
    for (size_t i = 0; i < count; i++) {
        MHD_add_response_header(r, extra[i].name, extra[i].value);
        caching |= strcmp(extra[i].name, "Cache-Control") == 0;
        retry |= strcmp(extra[i].name, "Retry-After") == 0;
    }
    add_remedy(x, status, retry, r);
    x->server->hooks->add_headers(x, r);
    if (!caching)
        MHD_add_response_header(r, "Cache-Control", "no-store");
    if (x->sunset[0])
        MHD_add_response_header(r, "Sunset", x->sunset);
    if (x->close || atomic_load(&x->server->draining))
        MHD_add_response_header(r, "Connection", "close");
    x->status = status;
    x->replied = true;
    refusal_pass(x->connection, (unsigned)status, r);
    MHD_destroy_response(r);
}

void reply_json(struct exchange *x, int status, struct text *json, const struct header *extra, size_t count)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(json->size, json->at, MHD_RESPMEM_MUST_FREE);
    x->reply_bytes = json->size;
    *json = (struct text){0};
    reply_response(x, status, r, "application/json", extra, count);
}

void reply_empty(struct exchange *x, int status, const struct header *extra, size_t count)
{
    reply_response(x, status, MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT), NULL, extra,
                   count);
}

void reply_problem(struct exchange *x, const struct error *e)
{
    int status = error_code_http_status(e->code);
    if (x->server->hooks->problem(x, e))
        return;
    struct header extra[3];
    char range[40];
    size_t count = 0;
    if (e->code == ERROR_IN_FLIGHT)
        extra[count++] = (struct header){"Retry-After", "2"};
    if (status == 401)
        extra[count++] =
            (struct header){"WWW-Authenticate", request_header(x, "Authorization")
                                                    ? "Bearer realm=\"toast\", error=\"invalid_token\""
                                                    : "Bearer realm=\"toast\""};
    if (e->code == ERROR_RANGE) {
        snprintf(range, sizeof range, "bytes */%zu", x->range_size);
        extra[count++] = (struct header){"Content-Range", range};
    }
    char *json = api_problem_json(e, status, x->path[0] ? x->path : NULL, x->request_id);
    x->reply_bytes = strlen(json);
    struct MHD_Response *r = MHD_create_response_from_buffer(strlen(json), json, MHD_RESPMEM_MUST_FREE);
    reply_response(x, status, r, "application/problem+json", extra, count);
}

/* whether a list of entity tags (RFC 9110, weak comparison) names this one */
static bool tag_listed(const char *list, const char *etag)
{
    if (strcmp(list, "*") == 0)
        return true;
    for (const char *at = strstr(list, etag); at; at = strstr(at + 1, etag))
        return true;
    return false;
}

bool reply_not_modified(struct exchange *x, const char *etag, const char *caching)
{
    const char *list = request_header(x, "If-None-Match");
    struct header h[] = {{"ETag", etag}, {"Cache-Control", caching}};
    if (!list || !tag_listed(list, etag))
        return false;
    reply_empty(x, 304, h, 2);
    return true;
}

void reply_bytes(struct exchange *x, const char *media_type, const void *bytes, size_t size)
{
    static const char caching[] = "max-age=300";
    uint8_t raw[32];
    char hex[65], etag[70];
    sha256_bytes(bytes, size, raw);
    sha256_format(raw, hex);
    snprintf(etag, sizeof etag, "\"%s\"", hex);
    if (reply_not_modified(x, etag, caching))
        return;
    struct header extra[] = {{"ETag", etag}, {"Cache-Control", caching}};
    x->reply_bytes = size;
    reply_response(x, 200,
                   MHD_create_response_from_buffer(size, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY),
                   media_type, extra, 2);
}

static void content_digest(const char *hex, char out[80])
{
    unsigned char raw[32];
    char base64[48] = "";
    if (encode_from_hex(hex, raw, sizeof raw))
        encode_base64(raw, sizeof raw, base64);
    snprintf(out, 80, "sha-256=:%s:", base64);
}

#define REPORT_POLICY                                                                                        \
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "    \
    "frame-ancestors 'self'; sandbox allow-downloads"

void reply_blob(struct exchange *x, const char *digest, const char *media_type, const char *name)
{
    struct error e;
    int fd;
    size_t size, from = 0, length;
    char etag[80], content[80], range[96], disposition[160];
    enum error_code code = store_open(x->server->store, digest, &fd, &size, &e);
    if (code != ERROR_OK) {
        reply_problem(x, &e);
        return;
    }
    const char *caching = name ? "no-cache" : "private, max-age=31536000, immutable";
    snprintf(etag, sizeof etag, "\"%s\"", digest);
    if (reply_not_modified(x, etag, caching)) {
        close(fd);
        return;
    }
    length = size;
    const char *wanted =
        header_if_range(request_header(x, "If-Range"), etag) ? request_header(x, "Range") : NULL;
    int partial = header_range(wanted, size, &from, &length);
    if (partial < 0) {
        close(fd);
        x->range_size = size;
        error_set(&e, ERROR_RANGE, "the range lies outside of the %zu bytes there are", size);
        reply_problem(x, &e);
        return;
    }
    content_digest(digest, content);
    struct header extra[6] = {{"ETag", etag}, {"Accept-Ranges", "bytes"}, {"Cache-Control", caching}};
    size_t count = 3;
    if (name) {
        bool page = strncmp(media_type, "text/html", 9) == 0;
        snprintf(disposition, sizeof disposition, "%s; filename=\"%s\"", page ? "inline" : "attachment",
                 name);
        extra[count++] = (struct header){"Content-Disposition", disposition};
        if (page) /* names in it are the client's: whatever slips through cannot run or call out */
            extra[count++] = (struct header){"Content-Security-Policy", REPORT_POLICY};
    }
    if (partial) {
        snprintf(range, sizeof range, "bytes %zu-%zu/%zu", from, from + length - 1, size);
        extra[count++] = (struct header){"Content-Range", range};
    } else {
        extra[count++] = (struct header){"Content-Digest", content};
    }
    x->reply_bytes = length;
    struct MHD_Response *r = MHD_create_response_from_fd_at_offset64(length, fd, from); /* owns fd */
    reply_response(x, partial ? 206 : 200, r, media_type, extra, count);
}
