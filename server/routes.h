/* The table of all endpoints: routes.def with its handlers. */
#ifndef TOAST_SERVER_ROUTES_H
#define TOAST_SERVER_ROUTES_H

#include "server/http/route.h"

extern const struct route_table server_routes;

#endif
