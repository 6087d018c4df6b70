#include "server/internal.h"

static const struct route routes[] = {
#define SERVER_ROUTE(method, pattern, handler, body, access, query)                                          \
    {method, pattern, handle_##handler, body, access, query},
#include "server/routes.def"
#undef SERVER_ROUTE
};

const struct route *route_table(size_t *count)
{
    *count = sizeof routes / sizeof *routes;
    return routes;
}

/* '*' takes as much of a segment as leaves the rest of the pattern a chance */
static bool matches(const char *pattern, const char *path, char params[2][256], int param)
{
    while (*pattern && *pattern != '*') {
        if (*pattern++ != *path++)
            return false;
    }
    if (!*pattern)
        return !*path;
    for (size_t n = strcspn(path, "/"); n > 0 && n < 256 && param < 2; n--)
        if (matches(pattern + 1, path + n, params, param + 1)) {
            memcpy(params[param], path, n);
            params[param][n] = 0;
            return true;
        }
    return false;
}

const struct route *route_find(const char *method, const char *path, char params[2][256],
                               const struct route **known)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    *known = NULL;
    for (size_t i = 0; i < sizeof routes / sizeof *routes && !*known; i++)
        if (matches(routes[i].pattern, path, params, 0))
            *known = &routes[i];
    for (size_t i = 0; *known && i < sizeof routes / sizeof *routes; i++)
        if (strcmp(routes[i].pattern, (*known)->pattern) == 0 && strcmp(routes[i].method, wanted) == 0)
            return &routes[i];
    return NULL;
}

void route_allow(const struct route *known, char *out, size_t room)
{
    size_t at = 0;
    out[0] = 0;
    for (size_t i = 0; i < sizeof routes / sizeof *routes && at < room; i++)
        if (strcmp(routes[i].pattern, known->pattern) == 0)
            at += (size_t)snprintf(out + at, room - at, "%s%s%s", at ? ", " : "", routes[i].method,
                                   strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");
}
