/* Request lines: "METHOD URI" -> checked path, route, parameters, query. */
/* links: server */
#include "fuzz.h"

#include "server/http/request.h"
#include "server/routes.h"

static void check_route(const struct exchange *x)
{
    FUZZ_CHECK(x->route->handle && x->path[0] == '/');
    for (const char *c = x->path; *c; c++)
        FUZZ_CHECK(*c > 0x20 && *c < 0x7f);
    FUZZ_CHECK(!strstr(x->path, "//") && !strstr(x->path, "/../") && !strstr(x->path, "/./"));
    for (int i = 0; i < 2; i++)
        FUZZ_CHECK(memchr(x->params[i], 0, sizeof x->params[i]) && !strchr(x->params[i], '/') &&
                   (!x->params[i][0] || strstr(x->path, x->params[i])));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"page_size", "page_token", "state", "discard", "a", ""};
    char *line = mem_strndup((const char *)data, size), *space = strchr(line, ' '), value[80], allow[64];
    struct server server = {.routes = &server_routes};
    struct exchange x = {.server = &server, .uri = space ? space + 1 : line, .query = ""};
    struct error e = {0};
    if (space)
        *space = 0;
    enum error_code code = request_check(&x, space ? line : "GET", "HTTP/1.0", &e);
    FUZZ_CHECK(code == ERROR_OK || (e.code == code && e.message[0]));
    if (code == ERROR_OK)
        check_route(&x);
    if (code == ERROR_OK) {
        enum error_code query = query_check(&x, &e);
        FUZZ_CHECK(query == ERROR_OK || (e.code == query && e.message[0]));
    }
    if (code == ERROR_METHOD) {
        route_allow(&server_routes, x.route, allow, sizeof allow);
        FUZZ_CHECK(allow[0] && memchr(allow, 0, sizeof allow));
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (request_query(&x, names[i], value, sizeof value))
            FUZZ_CHECK(memchr(value, 0, sizeof value));
    free(line);
    return 0;
}
