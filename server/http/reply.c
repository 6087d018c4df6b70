/* Replies. All carry X-Request-Id and nosniff; errors are problem+json (RFC 9457). Nothing here decides
 * what is answered, only how; a reply to an exchange is sent once, through refusal_pass. */
#include "server/http/reply.h"
#include "server/http/request.h"

#include "api/bodies.h"
#include "base/encode.h"
#include "base/hash.h"
#include "server/http/headers.h"

#include <unistd.h>

/* A reply up to this is sent whatever else is in memory: /livez, refusals; 64 MiB of all connections. */
enum { SMALL_REPLY = 16 << 10 };

/* headers that a refusal must have, as JSON and as a page: Retry-After, Allow */
static void add_remedy(const struct exchange *exchange, int status, bool retry, struct MHD_Response *response)
{
    char allow[64];
    if ((status == 503 || status == 429) && !retry)
        MHD_add_response_header(response, "Retry-After", "2");
    if (status == 405 && exchange->route) {
        route_allow(exchange->server->routes, exchange->route, allow, sizeof allow);
        MHD_add_response_header(response, "Allow", allow);
    }
}

void reply_response(struct exchange *exchange, int status, struct MHD_Response *response,
                    const char *media_type, const struct header *extra, size_t count)
{
    if (media_type)
        MHD_add_response_header(response, "Content-Type", media_type);
    MHD_add_response_header(response, "X-Request-Id", exchange->request_id);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    bool caching = false, retry = false;
    for (size_t i = 0; i < count; i++) {
        MHD_add_response_header(response, extra[i].name, extra[i].value);
        caching |= strcmp(extra[i].name, "Cache-Control") == 0;
        retry |= strcmp(extra[i].name, "Retry-After") == 0;
    }
    add_remedy(exchange, status, retry, response);
    exchange->server->hooks->add_headers(exchange, response);
    if (!caching)
        MHD_add_response_header(response, "Cache-Control", "no-store");
    if (exchange->sunset[0])
        MHD_add_response_header(response, "Sunset", exchange->sunset);
    if (exchange->close || atomic_load(&exchange->server->draining))
        MHD_add_response_header(response, "Connection", "close");
    exchange->status = status;
    exchange->replied = true;
    exchange->kept = response;
    if (!exchange->offloaded)
        reply_kept(exchange);
}

void reply_kept(struct exchange *exchange)
{
    struct MHD_Response *response = exchange->kept;
    exchange->kept = NULL;
    refusal_pass(exchange->connection, (unsigned)exchange->status, response);
    MHD_destroy_response(response);
}

bool reply_room(struct exchange *exchange, size_t size)
{
    struct error e;
    if (size <= SMALL_REPLY || budget_reach(exchange, exchange->held + size, &e) == ERROR_OK)
        return true;
    reply_problem(exchange, &e);
    return false;
}

void reply_json(struct exchange *exchange, int status, struct text *json, const struct header *extra,
                size_t count)
{
    if (!reply_room(exchange, json->size)) {
        text_release(json);
        return;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(json->size, json->at, MHD_RESPMEM_MUST_FREE);
    exchange->reply_bytes = json->size;
    *json = (struct text){0};
    reply_response(exchange, status, response, "application/json", extra, count);
}

void reply_empty(struct exchange *exchange, int status, const struct header *extra, size_t count)
{
    reply_response(exchange, status, MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT), NULL,
                   extra, count);
}

void reply_problem(struct exchange *exchange, const struct error *e)
{
    int status = error_code_http_status(e->code);
    if (exchange->server->hooks->problem(exchange, e))
        return;
    struct header extra[3];
    char range[40];
    size_t count = 0;
    if (e->code == ERROR_IN_FLIGHT)
        extra[count++] = (struct header){"Retry-After", "2"};
    if (status == 401)
        extra[count++] =
            (struct header){"WWW-Authenticate", request_header(exchange, "Authorization")
                                                    ? "Bearer realm=\"toast\", error=\"invalid_token\""
                                                    : "Bearer realm=\"toast\""};
    if (e->code == ERROR_RANGE) {
        snprintf(range, sizeof range, "bytes */%zu", exchange->range_size);
        extra[count++] = (struct header){"Content-Range", range};
    }
    char *json = api_problem_json(e, status, exchange->path[0] ? exchange->path : NULL, exchange->request_id);
    exchange->reply_bytes = strlen(json);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(json), json, MHD_RESPMEM_MUST_FREE);
    reply_response(exchange, status, response, "application/problem+json", extra, count);
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

bool reply_not_modified(struct exchange *exchange, const char *etag, const char *caching)
{
    const char *list = request_header(exchange, "If-None-Match");
    struct header header[] = {{"ETag", etag}, {"Cache-Control", caching}};
    if (!list || !tag_listed(list, etag))
        return false;
    reply_empty(exchange, 304, header, 2);
    return true;
}

void reply_bytes(struct exchange *exchange, const char *media_type, const void *bytes, size_t size)
{
    static const char caching[] = "max-age=300";
    uint8_t raw[32];
    char hex[65], etag[70];
    sha256_bytes(bytes, size, raw);
    sha256_format(raw, hex);
    snprintf(etag, sizeof etag, "\"%s\"", hex);
    if (reply_not_modified(exchange, etag, caching))
        return;
    if (!reply_room(exchange, size))
        return;
    struct header extra[] = {{"ETag", etag}, {"Cache-Control", caching}};
    exchange->reply_bytes = size;
    reply_response(exchange, 200,
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

void reply_blob(struct exchange *exchange, const char *digest, const char *media_type, const char *name)
{
    struct error e;
    int fd;
    size_t size, from = 0, length;
    char etag[80], content[80], range[96], disposition[160];
    enum error_code code = store_open(exchange->server->store, digest, &fd, &size, &e);
    if (code != ERROR_OK) {
        reply_problem(exchange, &e);
        return;
    }
    const char *caching = name ? "no-cache" : "private, max-age=31536000, immutable";
    snprintf(etag, sizeof etag, "\"%s\"", digest);
    if (reply_not_modified(exchange, etag, caching)) {
        close(fd);
        return;
    }
    length = size;
    const char *wanted = header_if_range(request_header(exchange, "If-Range"), etag)
                             ? request_header(exchange, "Range")
                             : NULL;
    int partial = header_range(wanted, size, &from, &length);
    if (partial < 0) {
        close(fd);
        exchange->range_size = size;
        error_set(&e, ERROR_RANGE, "the range lies outside of the %zu bytes there are", size);
        reply_problem(exchange, &e);
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
    exchange->reply_bytes = length;
    struct MHD_Response *response = MHD_create_response_from_fd_at_offset64(length, fd, from); /* owns fd */
    reply_response(exchange, partial ? 206 : 200, response, media_type, extra, count);
}
