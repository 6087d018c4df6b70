/* Which pages of a browser may talk to the server.
 *
 * Host: while everybody who reaches a server is let in, a page that has its own name point to 127.0.0.1
 * (DNS rebinding) would be let in as well, and for the browser it is of the same origin. So such a server
 * answers to its own names only.
 *
 * CORS (Fetch standard, "CORS protocol"): pages of the origins that the operator named may read replies
 * and send what the API takes. Never a wildcard, never credentials: a page sends its key as Authorization,
 * cookies are for /ui alone. */
#include "server/access/access.h"
#include "server/http/reply.h"
#include "server/http/request.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <strings.h>

/* ---- Host ---- */

/* "name:80", "[::1]:80" -> "name", "::1"; false: it does not fit, or is followed by what is no port */
static bool host_of(const char *header, char *out, size_t room)
{
    bool bracket = header[0] == '[';
    size_t n = strcspn(header + bracket, bracket ? "]" : ":");
    const char *rest = header + bracket + n;
    if (n == 0 || n >= room || (bracket && *rest++ != ']'))
        return false;
    if (*rest && (*rest != ':' || rest[1 + strspn(rest + 1, "0123456789")]))
        return false;
    memcpy(out, header + bracket, n);
    out[n] = 0;
    return true;
}

static bool loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcasecmp(host, "localhost") == 0;
}

/* a page's address that is a number cannot be pointed elsewhere */
static bool numeric(const char *host)
{
    struct in6_addr in6_addr;
    return inet_pton(AF_INET, host, &in6_addr) == 1 || inet_pton(AF_INET6, host, &in6_addr) == 1;
}

static bool own_name(const struct server *server, const char *host)
{
    const struct access_names *names = &server->access->options->host_names;
    for (size_t i = 0; i < names->count; i++)
        if (strcasecmp(names->at[i], host) == 0)
            return true;
    return loopback(host) || (!server->access->loopback && numeric(host));
}

enum error_code origin_check_host(const struct exchange *exchange, struct error *e)
{
    const struct server *server = exchange->server;
    const char *header = request_header(exchange, "Host");
    char host[256];
    bool checked = (server->access->loopback || server->access->options->host_names.count) &&
                   !keys_required(server->access->keys);
    if (!checked || !header || exchange->route->access == ACCESS_WORKER ||
        (host_of(header, host, sizeof host) && own_name(server, host)))
        return ERROR_OK;
    return error_set_pointer(
        e, ERROR_MISDIRECTED, "Host",
        "this server lets in everybody who reaches it, so it answers to its own names only (localhost, "
        "127.0.0.1): use one, or start it with --host-name NAME, or make keys (toast keys add)");
}

/* ---- CORS ---- */

bool origin_valid(const char *text)
{
    size_t scheme = strncmp(text, "https://", 8) == 0 ? 8 : strncmp(text, "http://", 7) == 0 ? 7 : 0;
    const char *host = text + scheme;
    if (!scheme || !isalnum((unsigned char)host[host[0] == '[' ? 1 : 0]))
        return false;
    for (const char *at = host; *at; at++)
        if (!islower((unsigned char)*at) && !isdigit((unsigned char)*at) && !strchr(".-_:[]", *at))
            return false;
    return true;
}

/* the Origin of the request, if it is one that the operator named */
static const char *allowed(const struct exchange *exchange)
{
    const struct access_names *named = &exchange->server->access->options->cors_origins;
    const char *origin = named->count ? request_header(exchange, "Origin") : NULL;
    for (size_t i = 0; origin && i < named->count; i++)
        if (strcmp(origin, named->at[i]) == 0)
            return origin;
    return NULL;
}

/* pages and workers' paths are not for other origins */
static bool shared(const struct exchange *exchange)
{
    return strncmp(exchange->path, "/ui", 3) != 0 && strncmp(exchange->path, "/internal/", 10) != 0;
}

bool origin_allowed(const struct exchange *exchange)
{
    return shared(exchange) && allowed(exchange);
}

void origin_add_headers(const struct exchange *exchange, struct MHD_Response *response)
{
    if (!exchange->server->access->options->cors_origins.count || !shared(exchange))
        return;
    /* refusals have it as well: a cache must not give one to a page whose origin is allowed */
    MHD_add_response_header(response, "Vary", "Origin");
    if (!allowed(exchange))
        return;
    MHD_add_response_header(response, "Access-Control-Allow-Origin", allowed(exchange));
    MHD_add_response_header(
        response, "Access-Control-Expose-Headers",
        "Content-Digest, Content-Disposition, Content-Range, ETag, Idempotency-Replayed, Location, "
        "Retry-After, Sunset, X-Request-Id");
}

bool origin_preflight(struct exchange *exchange)
{
    char methods[64];
    if (strcmp(exchange->method, "OPTIONS") != 0 || !exchange->route || !shared(exchange) ||
        !allowed(exchange) || !request_header(exchange, "Access-Control-Request-Method"))
        return false;
    route_allow(exchange->server->routes, exchange->route, methods, sizeof methods);
    const struct header extra[] = {{"Access-Control-Allow-Methods", methods},
                                   {"Access-Control-Allow-Headers",
                                    "Authorization, Content-Encoding, Content-Type, Idempotency-Key, "
                                    "If-Match, If-None-Match, If-Range, Last-Event-ID, "
                                    "Prefer, Range, traceparent, X-Request-Id"},
                                   {"Access-Control-Max-Age", "600"}};
    reply_empty(exchange, 204, extra, 3);
    return true;
}
