/* toast-server: the HTTP side. Keeps nothing but connections: jobs are in Redis, bytes in the store, so that
 * it may be killed and started again at any time. */
#ifndef TOAST_SERVER_SERVER_H
#define TOAST_SERVER_SERVER_H

#include "base/error.h"
#include "queue/queue.h"

/* Of each tenant; shown at /v1/limits. */
struct server_limits {
    int open_jobs, submits_per_s; /* 0: as many as it likes */
    long long tenant_bytes;       /* of the modules it has; what is under way may exceed it */
};

/* texts of the command line, borrowed */
struct server_names {
    const char *at[32];
    size_t count;
};

struct server_options {
    struct server_limits limits;
    const char *redis, *store;      /* addresses; the store must be a directory */
    const char *listen;             /* ADDRESS:PORT or [ADDRESS]:PORT */
    const char *worker_token;       /* lets workers use /internal; NULL: closed */
    const char *ready_file;         /* written with the port once the server listens; NULL: none */
    bool log_requests;              /* a line of JSON for every request */
    int event_streams;              /* open here at once, of all tenants; a connection each */
    long long grace_ms, collect_ms; /* blobs: how long nobody needs to refer to one; how often is looked */
    bool insecure_listen;           /* allow an address other than loopback although there are no keys */
    bool require_keys;              /* nobody is let in without a key, even while there is none */
    /* of this server beside localhost, for Host while there are no keys */
    struct server_names host_names;
    struct server_names cors_origins; /* whose pages may use the API, "https://host[:port]" */
    struct queue_times times;         /* how long ended jobs are kept; zeroed: the defaults */
};

/* Runs until SIGTERM or SIGINT, then ends what is under way within 5 s. Returns an exit status. */
int server_run(const struct server_options *o);
/* options of toast-server, then server_run */
int server_main(int argc, char **argv);

#endif
