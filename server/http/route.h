/* Routes: which handler answers a method and a path, what body it takes and who may use it. The table is the
 * caller's (server/routes.c); here it is only searched. */
#ifndef TOAST_SERVER_HTTP_ROUTE_H
#define TOAST_SERVER_HTTP_ROUTE_H

#include "base/error.h"
#include "queue/keys.h"

#include <stddef.h>

enum body_kind {
    BODY_NONE,    /* a body is refused */
    BODY_MODULE,  /* streamed into the store, gunzipped on the way */
    BODY_BLOB,    /* streamed into the store as it is, whatever the bytes are (workers) */
    BODY_SUBMIT,  /* JSON in memory, or multipart/form-data in an unlinked file */
    BODY_PROBLEM, /* like a module, up to LIMIT_PROBLEM bytes */
    BODY_SMALL    /* in memory, any type (the handler judges it): forms, small JSON */
};

/* Who may use a route. A key's role is one of the first four; each may also do what the one before may. */
enum access {
    ACCESS_PUBLIC = QUEUE_ROLE_NONE, /* everybody, also without a key */
    ACCESS_READ = QUEUE_ROLE_READ,
    ACCESS_SUBMIT = QUEUE_ROLE_SUBMIT,
    ACCESS_ADMIN = QUEUE_ROLE_ADMIN,
    ACCESS_WORKER, /* the holder of the worker token; for others the path does not exist */
};

enum { ROUTE_PARAMS = 3, ROUTE_PARAM_SIZE = 256 }; /* '*' of a pattern, and bytes of what stands for one */

struct exchange;
struct route {
    const char *method, *pattern; /* '*' stands for one or more characters other than '/' */
    void (*handle)(struct exchange *x);
    enum body_kind body;
    enum access access;
    /* Called before a body of BODY_MODULE, BODY_PROBLEM or BODY_SUBMIT is read; its error is the answer.
     * NULL: nothing to ask. */
    enum error_code (*admit)(struct exchange *x, struct error *e);
    const char *query; /* names of its parameters, separated by blanks; '*' behind one that may come again */
};

struct route_table {
    const struct route *at;
    size_t count;
};

/* The route for method and path. NULL with *known set: the path exists with other methods only; NULL with
 * *known NULL: nothing is there. params: what the '*' stand for. */
const struct route *route_find(const struct route_table *table, const char *method, const char *path,
                               char params[ROUTE_PARAMS][ROUTE_PARAM_SIZE], const struct route **known);
/* the methods of known's path, as in the header Allow */
void route_allow(const struct route_table *table, const struct route *known, char *out, size_t room);

#endif
