/* All endpoints in the order of routes.def. The only place that knows every handler; the handlers' folders
 * do not know it. */
#include "server/routes.h"

#include "server/access/access.h"
#include "server/resources/handlers.h"
#include "server/ui/handlers.h"

static const struct route routes[] = {
#define SERVER_ROUTE(method, pattern, handler, body, access, admit, query)                                   \
    {method, pattern, handle_##handler, body, access, admit, query},
#include "server/routes.def"
#undef SERVER_ROUTE
};

const struct route_table server_routes = {routes, sizeof routes / sizeof *routes};
