/* What the HTTP library lets through and we do not: it decodes paths up to a NUL, accepts Content-Length
 * beside Transfer-Encoding and repeated Content-Length, and waits for ever on codings it does not know.
 * White space before a header's colon becomes part of its name, and a folded line is appended to the name of
 * the line before: what a proxy in front may read as Content-Length is something else here (RFC 9112, 5.1 and
 * 5.2: both are to be refused). */
#include "server/http/request.h"

#include <ctype.h>
#include <strings.h>

struct headers {
    struct exchange *x;
    size_t bytes;
    int hosts, lengths, codings, encodings, types, credentials, keys;
    bool chunked, malformed;
    char encoding[32];
};

/* A token (RFC 9110, 5.6.2), and not Content-Length or Transfer-Encoding with a folded line appended. */
static bool name_good(const char *name)
{
    static const char *const framing[] = {"Content-Length", "Transfer-Encoding"};
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("!#$%&'*+-.^_`|~", *c))
            return false;
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(framing[i]);
        if (strncasecmp(name, framing[i], n) == 0 && name[n])
            return false;
    }
    return name[0] != 0;
}

static bool value_good(const char *value)
{
    for (const unsigned char *c = (const unsigned char *)value; *c; c++)
        if ((*c < 0x20 && *c != '\t') || *c == 0x7f)
            return false;
    return true;
}

static enum MHD_Result see_header(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct headers *h = user;
    (void)kind;
    value = value ? value : "";
    h->bytes += strlen(name) + strlen(value) + 4;
    h->malformed |= !name_good(name) || !value_good(value);
    if (strcasecmp(name, "Host") == 0) {
        h->hosts++;
    } else if (strcasecmp(name, "Authorization") == 0) {
        h->credentials++;
    } else if (strcasecmp(name, "Idempotency-Key") == 0) {
        h->keys++;
    } else if (strcasecmp(name, "Content-Length") == 0) {
        h->lengths++;
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        h->codings++;
        h->chunked = strcasecmp(value, "chunked") == 0;
    } else if (strcasecmp(name, "Content-Encoding") == 0) {
        h->encodings++;
        snprintf(h->encoding, sizeof h->encoding, "%s", value);
    } else if (strcasecmp(name, "Content-Type") == 0 && h->types++ == 0) {
        h->x->content_type = mem_strdup(value);
    }
    return MHD_YES;
}

static enum error_code check_path(struct exchange *x, struct error *e)
{
    size_t n = strcspn(x->uri, "?");
    x->query = x->uri[n] ? x->uri + n + 1 : "";
    if (strlen(x->uri) > LIMIT_URI)
        return error_set(e, ERROR_URI_TOO_LONG, "the request's address is longer than %d bytes", LIMIT_URI);
    if (x->uri[0] != '/')
        return error_set(e, ERROR_MALFORMED, "the request's address must begin with '/'");
    if (!query_decode(x->uri, n, x->path, sizeof x->path))
        return error_set(e, ERROR_MALFORMED,
                         "the path must be printable ASCII of at most %zu bytes, with whole percent escapes",
                         sizeof x->path - 1);
    for (const char *at = x->path; at; at = strchr(at + 1, '/'))
        if (strncmp(at, "//", 2) == 0 ||
            (strncmp(at, "/.", 2) == 0 &&
             (at[2] == 0 || at[2] == '/' || (at[2] == '.' && (at[3] == 0 || at[3] == '/')))))
            return error_set(e, ERROR_MALFORMED, "the path has an empty segment or a segment of dots");
    return ERROR_OK;
}

static enum error_code check_framing(struct exchange *x, const struct headers *h, const char *version,
                                     struct error *e)
{
    bool http_1_1 = strcmp(version, "HTTP/1.1") == 0;
    if (!http_1_1 && strcmp(version, "HTTP/1.0") != 0)
        return error_set(e, ERROR_HTTP_VERSION, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    if (h->bytes > LIMIT_HEADERS)
        return error_set(e, ERROR_HEADERS_TOO_LARGE, "the request's headers take more than %d bytes",
                         LIMIT_HEADERS);
    if (h->malformed)
        return error_set(e, ERROR_MALFORMED,
                         "a header's name must be a token, directly before its colon; its value must be one "
                         "line without control characters");
    if (h->credentials > 1 || h->keys > 1)
        return error_set(e, ERROR_MALFORMED, "a request must not have more than one %s header",
                         h->keys > 1 ? "Idempotency-Key" : "Authorization");
    if (h->hosts > 1 || (http_1_1 && h->hosts == 0))
        return error_set(e, ERROR_MALFORMED, "a request must have exactly one Host header");
    if (h->lengths && h->codings)
        return error_set(e, ERROR_MALFORMED,
                         "a request must not have both Content-Length and Transfer-Encoding");
    if (h->codings && !http_1_1)
        return error_set(e, ERROR_MALFORMED, "HTTP/1.0 has no Transfer-Encoding");
    if (h->lengths > 1)
        return error_set(e, ERROR_MALFORMED, "a request must not have more than one Content-Length");
    if (h->codings && (h->codings > 1 || !h->chunked))
        return error_set(e, ERROR_NOT_IMPLEMENTED, "the only Transfer-Encoding known here is chunked");
    return ERROR_OK;
}

static enum error_code check_encoding(struct exchange *x, const struct headers *h, struct error *e)
{
    if (h->types > 1)
        return error_set(e, ERROR_MALFORMED, "a request must not have more than one Content-Type");
    if (h->encodings > 1)
        return error_set(e, ERROR_MEDIA_TYPE, "one Content-Encoding at most");
    x->gzip = strcasecmp(h->encoding, "gzip") == 0;
    if (h->encoding[0] && !x->gzip && strcasecmp(h->encoding, "identity") != 0)
        return error_set(e, ERROR_MEDIA_TYPE, "the Content-Encoding must be gzip or identity");
    return ERROR_OK;
}

enum error_code request_check(struct exchange *x, const char *method, const char *version, struct error *e)
{
    struct headers h = {.x = x};
    const struct route *known;
    snprintf(x->method, sizeof x->method, "%s", method);
    MHD_get_connection_values(x->connection, MHD_HEADER_KIND, see_header, &h);
    enum error_code code = check_framing(x, &h, version, e);
    if (code == ERROR_OK)
        code = check_path(x, e);
    if (code == ERROR_OK)
        code = check_encoding(x, &h, e);
    if (code != ERROR_OK)
        return code;
    x->route = route_find(x->server->routes, x->method, x->path, x->params, &known);
    if (!x->route && known) {
        x->route = known; /* for Allow */
        return error_set(e, ERROR_METHOD, "this method is not allowed here; see the Allow header");
    }
    if (!x->route)
        return error_set(e, ERROR_NOT_FOUND, "there is nothing at this path; see /openapi.json");
    return ERROR_OK;
}

const char *request_header(const struct exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}
