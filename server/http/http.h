/* HTTP: one exchange is a request and its reply. This folder reads requests, keeps deadlines, finds routes
 * and writes replies; it knows neither who may do what nor what a job is. What it must ask others comes in
 * as a route table and as hooks (struct http_hooks).
 *
 * An exchange belongs to its connection's thread. It may be suspended (waiting is set, again is called when
 * it goes on); meanwhile nobody but whoever resumes it touches it. */
#ifndef TOAST_SERVER_HTTP_H
#define TOAST_SERVER_HTTP_H

#include "server/http/body.h"
#include "server/http/route.h"

#include "base/memory.h"
#include "queue/queue.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SERVER_CONNECTIONS = 4096, /* at once; further ones wait in the kernel */
    STATUS_LOST = 499          /* logged and counted for a client that was gone before its answer */
};
/* share of the disk that must be free: less, and no body is taken (the messages say "a tenth") */
#define SERVER_DISK_FREE_MIN 0.1

struct watched; /* watch.c: a connection and its deadlines */
struct
    access_state; /* what the folders above keep of a server and of an exchange; carried, never looked into */
struct resource_state;
struct rates;
struct errand;

struct exchange {
    struct server *server;
    struct MHD_Connection *connection;
    const struct route *route;
    struct watched *watched;
    char *uri; /* raw, as it came */
    char method[16], path[1024], params[ROUTE_PARAMS][ROUTE_PARAM_SIZE], request_id[33];
    const char *query;             /* in uri, after '?'; "" when none */
    char *content_type, *boundary; /* owned */
    /* who asks: filled by hooks->admit */
    char tenant[QUEUE_TENANT_SIZE]; /* whose jobs, modules and limits these are; "" when nobody is known */
    enum queue_role role; /* what the caller may do; QUEUE_ROLE_NONE on public routes without a key */
    char key_id[QUEUE_KEY_ID_SIZE]; /* "" when no key was used */
    char csrf[65]; /* the caller is a browser's session: what its writes must carry; else "" */
    bool begun, replied, close, gzip;
    char trace[56];        /* W3C traceparent of what this request causes */
    char sunset[32];       /* for the header of that name (RFC 8594); "" none */
    size_t reply_bytes;    /* of the reply's body, for the log */
    size_t range_size;     /* bytes of the whole whose Range was refused */
    bool streaming;        /* the reply lasts as long as its job */
    bool waiting;          /* suspended; again() follows */
    atomic_int holds;      /* who must be done before the suspended connection goes on (offload.c) */
    atomic_bool offloaded; /* a thread of offload.c has it: its reply is kept for the connection's thread */
    bool handled;          /* its handler has run on such a thread */
    struct MHD_Response *kept; /* owned; what that thread replied */
    size_t held, share;        /* bytes of the server's budget and of its tenant's part of it (budget.c) */
    bool health;               /* it came to the listener for health */
    void (*again)(struct exchange *x);
    struct errand *errand; /* hooks->begin makes it, hooks->end ends it */
    struct body body;
    struct timespec began; /* monotonic */
    int status;
};

/* What HTTP asks of the folders above it. All are set; called on the exchange's thread. */
struct http_hooks {
    void (*begin)(struct exchange *x); /* it exists; nothing of the request is known yet */
    void (*end)(struct exchange *x);   /* it is answered or lost */
    /* answers OPTIONS of another origin's page; false: it is none that may */
    bool (*preflight)(struct exchange *x);
    /* the route is known: fills who asks, or says why it is refused */
    enum error_code (*admit)(struct exchange *x, struct error *e);
    /* headers that every reply has, whatever it is */
    void (*add_headers)(const struct exchange *x, struct MHD_Response *r);
    /* answers a refusal in a form of its own (a page); false: problem+json is right */
    bool (*problem)(struct exchange *x, const struct error *e);
};

enum { BUDGET_TENANTS = 256 };

struct server {
    const struct route_table *routes;
    const struct http_hooks *hooks;
    const char *redis; /* address, checked at start; borrowed */
    bool log_requests; /* a line of JSON for every request */
    unsigned connections_per_address;
    size_t budget;      /* bytes that bodies and replies may take in memory, all together */
    atomic_size_t held; /* of these */
    atomic_size_t held_by[BUDGET_TENANTS]; /* by tenants with keys */
    struct store *store;
    char *spool;                        /* folder of unlinked files */
    struct MHD_Daemon *daemon, *health; /* health: NULL without a listener of its own */
    struct offload *offload;
    pthread_mutex_t pool_lock;
    VEC(struct queue *) pool; /* idle connections to Redis */
    atomic_bool draining;     /* replies say Connection: close */
    atomic_bool disk_short;   /* no body is taken */
    atomic_bool stopped;      /* threads end */
    atomic_int under_way;     /* exchanges */
    struct metrics *metrics;
    struct watch *watch;
    struct access_state *access;
    struct resource_state *resources;
    struct rates *rates;
};

/* ---- serve.c ---- */
/* Starts the daemon on a listening socket (taken). server has its routes, hooks, store, metrics, watch and
 * offload. health_fd: a second socket (taken), on which only /livez, /readyz and /metrics are, for everybody
 * and on threads of its own; -1: none. ERROR_INTERNAL: the library would not start. */
enum error_code serve_start(struct server *server, int fd, int health_fd, struct error *e) BASE_CHECKED;

/* sleeps for ms, or until s->stopped is set: at most 0.1 server longer */
void serve_pause(const struct server *server, int ms);

/* ---- offload.c: threads that may wait for a disk, so that those of the connections never do ---- */
struct offload *offload_create(void);
/* what is queued is done, then the threads end; offload_add says false from then on */
void offload_end(struct offload *offload);
void offload_destroy(struct offload *offload); /* NULL is fine */
/* Suspends the exchange and has `work` done by a thread, after which the connection goes on; replies are
 * kept until then. Nobody else may touch the exchange meanwhile. large: it may take seconds (bytes of a large
 * body). false: the server is ending, and nothing was done. */
bool offload_add(struct offload *offload, struct exchange *x, bool large, void (*work)(struct exchange *x));
/* Each suspend needs its resume, after which the exchange may be gone; on the exchange's own thread or one of
 * offload.c's. The connection goes on after the last one. */
void exchange_suspend(struct exchange *x);
void exchange_resume(struct exchange *x);

/* ---- budget.c: one budget for what all exchanges have in memory ---- */
/* The exchange needs `bytes` in all from now on. ERROR_UNAVAILABLE: there are none left; it has what it
 * had. */
enum error_code budget_reach(struct exchange *x, size_t bytes, struct error *e) BASE_CHECKED;
void budget_release(struct exchange *x);

/* ---- listen.c ---- */
/* A socket that listens on "ADDRESS:PORT" or "[ADDRESS]:PORT"; *port: the one it got; *loopback: only this
 * machine reaches it. ERROR_USAGE: not such an address; ERROR_UNAVAILABLE: it cannot be had. */
enum error_code listen_open(const char *address, int *fd, int *port, bool *loopback,
                            struct error *e) BASE_CHECKED;

/* ---- pool.c ---- */
/* a connection to Redis for this thread, until given back; never NULL */
struct queue *pool_take(struct server *server);
void pool_give(struct server *server, struct queue *queue);
void pool_release(struct server *server); /* closes those that are idle */

#endif
