/* The end of a server that runs. */
#ifndef TOAST_SERVER_DRAIN_H
#define TOAST_SERVER_DRAIN_H

#include "server/http/http.h"

/* SIGTERM came: takes no more connections, answers all that there are within 10 server, ends the daemon */
void server_drain(struct server *server);

#endif
