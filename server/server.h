/* toast-server: the HTTP side. Keeps nothing but connections: jobs are in Redis, bytes in the store, so that
 * it may be killed and started again at any time. */
#ifndef TOAST_SERVER_SERVER_H
#define TOAST_SERVER_SERVER_H

#include "server/access/access.h"
#include "server/resources/resources.h"

/* Of the command line and the environment; texts are borrowed. */
struct server_options {
    const char *redis, *store; /* addresses; the store must be a directory */
    const char *listen;        /* ADDRESS:PORT or [ADDRESS]:PORT */
    const char *health_listen; /* the same for /livez, /readyz and /metrics alone; NULL: none */
    unsigned connections_per_address;
    size_t memory_budget;   /* bytes of bodies and replies in memory */
    const char *ready_file; /* written with the port once the server listens; NULL: none */
    bool log_requests;      /* a line of JSON for every request */
    bool insecure_listen;   /* allow an address other than loopback although there are no keys */
    bool require_keys;      /* nobody is let in without a key, even while there is none */
    struct access_options access;
    struct resource_options resources;
};

/* Runs until SIGTERM or SIGINT, then ends what is under way within 5 s. Returns an exit status. */
int server_run(const struct server_options *options);
/* options of toast-server, then server_run */
int server_main(int argc, char **argv);

#endif
