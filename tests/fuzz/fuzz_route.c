/* Request lines: "METHOD URI" -> checked path, route, parameters, query. */
/* links: server */
#include "fuzz.h"

#include "server/http/request.h"
#include "server/routes.h"

static void check_route(const struct exchange *exchange)
{
    FUZZ_CHECK(exchange->route->handle && exchange->path[0] == '/');
    for (const char *at = exchange->path; *at; at++)
        FUZZ_CHECK(*at > 0x20 && *at < 0x7f);
    FUZZ_CHECK(!strstr(exchange->path, "//") && !strstr(exchange->path, "/../") &&
               !strstr(exchange->path, "/./"));
    for (int i = 0; i < 2; i++)
        FUZZ_CHECK(memchr(exchange->params[i], 0, sizeof exchange->params[i]) &&
                   !strchr(exchange->params[i], '/') &&
                   (!exchange->params[i][0] || strstr(exchange->path, exchange->params[i])));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"page_size", "page_token", "state", "discard", "a", ""};
    char *line = mem_strndup((const char *)data, size), *space = strchr(line, ' '), value[80], allow[64];
    struct server server = {.routes = &server_routes};
    struct exchange exchange = {.server = &server, .uri = space ? space + 1 : line, .query = ""};
    struct error e = {0};
    if (space)
        *space = 0;
    enum error_code code = request_check(&exchange, space ? line : "GET", "HTTP/1.0", &e);
    FUZZ_CHECK(code == ERROR_OK || (e.code == code && e.message[0]));
    if (code == ERROR_OK)
        check_route(&exchange);
    if (code == ERROR_OK) {
        enum error_code query = query_check(&exchange, &e);
        FUZZ_CHECK(query == ERROR_OK || (e.code == query && e.message[0]));
    }
    if (code == ERROR_METHOD) {
        route_allow(&server_routes, exchange.route, allow, sizeof allow);
        FUZZ_CHECK(allow[0] && memchr(allow, 0, sizeof allow));
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (request_query(&exchange, names[i], value, sizeof value))
            FUZZ_CHECK(memchr(value, 0, sizeof value));
    free(line);
    return 0;
}
