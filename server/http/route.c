/* Search in a route table: linear, some 50 patterns a request. Never calls a handler. See route.h. */
#include "server/http/route.h"

#include <stdio.h>
#include <string.h>

/* '*' takes as much of a segment as it can so that the rest of the pattern still fits */
static bool matches(const char *pattern, const char *path, char params[ROUTE_PARAMS][ROUTE_PARAM_SIZE],
                    int param)
{
    while (*pattern && *pattern != '*') {
        if (*pattern++ != *path++)
            return false;
    }
    if (!*pattern)
        return !*path;
    for (size_t n = strcspn(path, "/"); n > 0 && n < ROUTE_PARAM_SIZE && param < ROUTE_PARAMS; n--)
        if (matches(pattern + 1, path + n, params, param + 1)) {
            memcpy(params[param], path, n);
            params[param][n] = 0;
            return true;
        }
    return false;
}

const struct route *route_find(const struct route_table *table, const char *method, const char *path,
                               char params[ROUTE_PARAMS][ROUTE_PARAM_SIZE], const struct route **known)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    *known = NULL;
    for (size_t i = 0; i < table->count && !*known; i++)
        if (matches(table->at[i].pattern, path, params, 0))
            *known = &table->at[i];
    for (size_t i = 0; *known && i < table->count; i++)
        if (strcmp(table->at[i].pattern, (*known)->pattern) == 0 && strcmp(table->at[i].method, wanted) == 0)
            return &table->at[i];
    return NULL;
}

void route_allow(const struct route_table *table, const struct route *known, char *out, size_t room)
{
    size_t at = 0;
    out[0] = 0;
    for (size_t i = 0; i < table->count && at < room; i++)
        if (strcmp(table->at[i].pattern, known->pattern) == 0)
            at += (size_t)snprintf(out + at, room - at, "%s%s%s", at ? ", " : "", table->at[i].method,
                                   strcmp(table->at[i].method, "GET") == 0 ? ", HEAD" : "");
}
