/* What the HTTP library lets through and we do not: it decodes paths up to a NUL, accepts Content-Length
 * beside Transfer-Encoding and repeated Content-Length, and waits for ever on codings it does not know.
 * White space before a header's colon becomes part of its name, and a folded line is appended to the name of
 * the line before: what a proxy in front may read as Content-Length is something else here (RFC 9112, 5.1 and
 * 5.2: both are to be refused). */
#include "server/http/request.h"

#include <ctype.h>
#include <strings.h>

struct headers {
    struct exchange *exchange;
    size_t bytes;
    int hosts, lengths, codings, encodings, types, credentials, keys;
    bool chunked, malformed;
    char encoding[32];
};

/* A token (RFC 9110, 5.6.2), and not Content-Length or Transfer-Encoding with a folded line appended. */
static bool name_good(const char *name)
{
    static const char *const framing[] = {"Content-Length", "Transfer-Encoding"};
    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("!#$%&'*+-.^_`|~", *at))
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
    for (const unsigned char *byte = (const unsigned char *)value; *byte; byte++)
        if ((*byte < 0x20 && *byte != '\t') || *byte == 0x7f)
            return false;
    return true;
}

static enum MHD_Result see_header(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct headers *headers = user;
    (void)kind;
    value = value ? value : "";
    headers->bytes += strlen(name) + strlen(value) + 4;
    headers->malformed |= !name_good(name) || !value_good(value);
    if (strcasecmp(name, "Host") == 0) {
        headers->hosts++;
    } else if (strcasecmp(name, "Authorization") == 0) {
        headers->credentials++;
    } else if (strcasecmp(name, "Idempotency-Key") == 0) {
        headers->keys++;
    } else if (strcasecmp(name, "Content-Length") == 0) {
        headers->lengths++;
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        headers->codings++;
        headers->chunked = strcasecmp(value, "chunked") == 0;
    } else if (strcasecmp(name, "Content-Encoding") == 0) {
        headers->encodings++;
        snprintf(headers->encoding, sizeof headers->encoding, "%s", value);
    } else if (strcasecmp(name, "Content-Type") == 0 && headers->types++ == 0) {
        headers->exchange->content_type = mem_strdup(value);
    }
    return MHD_YES;
}

static enum error_code check_path(struct exchange *exchange, struct error *e)
{
    size_t n = strcspn(exchange->uri, "?");
    exchange->query = exchange->uri[n] ? exchange->uri + n + 1 : "";
    if (strlen(exchange->uri) > LIMIT_URI)
        return error_set(e, ERROR_URI_TOO_LONG, "the request's address is longer than %d bytes", LIMIT_URI);
    if (exchange->uri[0] != '/')
        return error_set(e, ERROR_MALFORMED, "the request's address must begin with '/'");
    if (!query_decode(exchange->uri, n, exchange->path, sizeof exchange->path))
        return error_set(e, ERROR_MALFORMED,
                         "the path must be printable ASCII of at most %zu bytes, with whole percent escapes",
                         sizeof exchange->path - 1);
    for (const char *at = exchange->path; at; at = strchr(at + 1, '/'))
        if (strncmp(at, "//", 2) == 0 ||
            (strncmp(at, "/.", 2) == 0 &&
             (at[2] == 0 || at[2] == '/' || (at[2] == '.' && (at[3] == 0 || at[3] == '/')))))
            return error_set(e, ERROR_MALFORMED, "the path has an empty segment or a segment of dots");
    return ERROR_OK;
}

static enum error_code check_framing(struct exchange *exchange, const struct headers *headers,
                                     const char *version, struct error *e)
{
    bool http_1_1 = strcmp(version, "HTTP/1.1") == 0;
    if (!http_1_1 && strcmp(version, "HTTP/1.0") != 0)
        return error_set(e, ERROR_HTTP_VERSION, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    if (headers->bytes > LIMIT_HEADERS)
        return error_set(e, ERROR_HEADERS_TOO_LARGE, "the request's headers take more than %d bytes",
                         LIMIT_HEADERS);
    if (headers->malformed)
        return error_set(e, ERROR_MALFORMED,
                         "a header's name must be a token, directly before its colon; its value must be one "
                         "line without control characters");
    if (headers->credentials > 1 || headers->keys > 1)
        return error_set(e, ERROR_MALFORMED, "a request must not have more than one %s header",
                         headers->keys > 1 ? "Idempotency-Key" : "Authorization");
    if (headers->hosts > 1 || (http_1_1 && headers->hosts == 0))
        return error_set(e, ERROR_MALFORMED, "a request must have exactly one Host header");
    if (headers->lengths && headers->codings)
        return error_set(e, ERROR_MALFORMED,
                         "a request must not have both Content-Length and Transfer-Encoding");
    if (headers->codings && !http_1_1)
        return error_set(e, ERROR_MALFORMED, "HTTP/1.0 has no Transfer-Encoding");
    if (headers->lengths > 1)
        return error_set(e, ERROR_MALFORMED, "a request must not have more than one Content-Length");
    if (headers->codings && (headers->codings > 1 || !headers->chunked))
        return error_set(e, ERROR_NOT_IMPLEMENTED, "the only Transfer-Encoding known here is chunked");
    return ERROR_OK;
}

static enum error_code check_encoding(struct exchange *exchange, const struct headers *headers,
                                      struct error *e)
{
    if (headers->types > 1)
        return error_set(e, ERROR_MALFORMED, "a request must not have more than one Content-Type");
    if (headers->encodings > 1)
        return error_set(e, ERROR_MEDIA_TYPE, "one Content-Encoding at most");
    exchange->gzip = strcasecmp(headers->encoding, "gzip") == 0;
    if (headers->encoding[0] && !exchange->gzip && strcasecmp(headers->encoding, "identity") != 0)
        return error_set(e, ERROR_MEDIA_TYPE, "the Content-Encoding must be gzip or identity");
    return ERROR_OK;
}

/* what the listener for health has */
static bool of_health(const char *pattern)
{
    return strcmp(pattern, "/livez") == 0 || strcmp(pattern, "/readyz") == 0 ||
           strcmp(pattern, "/metrics") == 0;
}

enum error_code request_check(struct exchange *exchange, const char *method, const char *version,
                              struct error *e)
{
    struct headers headers = {.exchange = exchange};
    const struct route *known;
    snprintf(exchange->method, sizeof exchange->method, "%s", method);
    MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, see_header, &headers);
    enum error_code code = check_framing(exchange, &headers, version, e);
    if (code == ERROR_OK)
        code = check_path(exchange, e);
    if (code == ERROR_OK)
        code = check_encoding(exchange, &headers, e);
    if (code != ERROR_OK)
        return code;
    exchange->route =
        route_find(exchange->server->routes, exchange->method, exchange->path, exchange->params, &known);
    if (!exchange->route && known) {
        exchange->route = known; /* for Allow */
        return error_set(e, ERROR_METHOD, "this method is not allowed here; see the Allow header");
    }
    if (!exchange->route || (exchange->health && !of_health(exchange->route->pattern)))
        return error_set(e, ERROR_NOT_FOUND, "there is nothing at this path; see /openapi.json");
    return ERROR_OK;
}

const char *request_header(const struct exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}
