/* The conductor: puts the folders together (routes, hooks, threads), starts them, waits for a signal and ends
 * them in order. A thread here keeps house once a second. See server.h. */
#include "server/server.h"
#include "server/drain.h"
#include "server/routes.h"

#include "server/access/access.h"
#include "server/http/watch.h"
#include "server/resources/accept.h"
#include "server/resources/follow.h"
#include "server/resources/resources.h"
#include "server/resources/what_if.h"
#include "server/ui/ui.h"

#include "base/file.h"
#include "base/log.h"

#include <signal.h>

enum {
    KEEP_HOUSE_MS = 1000, /* a revoked key, a full disk, a lost lease are noticed this late */
    /* percent of Redis' maxmemory in use, above which no job is taken: the rest is for those under way, which
     * must be able to end */
    MEMORY_USED_MAX = 80
};

/* What HTTP asks of the folders above it. */
static const struct http_hooks hooks = {.begin = errand_begin,
                                        .end = errand_end,
                                        .preflight = origin_preflight,
                                        .admit = access_admit,
                                        .add_headers = origin_add_headers,
                                        .problem = ui_refuse};

/* once a second: is there memory and disk for new jobs; tasks that nobody holds any more, deadlines */
static void *keep_house(void *user)
{
    struct server *s = user;
    struct queue *q = pool_take(s);
    struct error e;
    bool reached = true;
    while (!atomic_load(&s->stopped)) {
        struct queue_health h;
        enum error_code code = queue_check(q, &h, &e);
        if (code == ERROR_OK) {
            atomic_store(&s->resources->memory_short,
                         h.limit_bytes > 0 && h.used_bytes > h.limit_bytes / 100 * MEMORY_USED_MAX);
            code = queue_reap(q, &e);
        }
        if (code == ERROR_OK)
            code = keys_refresh(s->access->keys, q, &e);
        if ((code == ERROR_OK) != reached)
            log_event(code == ERROR_OK ? "redis_reached" : "redis_unavailable", "reason",
                      code == ERROR_OK ? "" : e.message, NULL);
        reached = code == ERROR_OK;
        rates_sample(s->rates, q);
        atomic_store(&s->disk_short, store_free_share(s->store) < SERVER_DISK_FREE_MIN);
        serve_pause(s, KEEP_HOUSE_MS);
    }
    pool_give(s, q);
    return NULL;
}

/* Keys are read before the first request. On an address that other hosts reach nobody is ever let in
 * without one, also when the last is revoked later; without any the server does not start, so that this is
 * noticed. */
static enum error_code start_keys(struct server *s, const struct server_options *o, bool loopback,
                                  struct error *e)
{
    struct error reason;
    bool reachable = !loopback && !o->insecure_listen;
    s->access->keys = keys_create(o->require_keys || reachable);
    struct queue *q = pool_take(s);
    bool reached = keys_refresh(s->access->keys, q, &reason) == ERROR_OK;
    pool_give(s, q);
    if (reachable && !o->require_keys && reached && !keys_any(s->access->keys))
        return error_set(
            e, ERROR_USAGE,
            "%s is not a loopback address and there are no keys: anyone could use the service. Make one with "
            "toast keys add, say --require-keys to start without, or --insecure-listen to let everybody in",
            o->listen);
    if (!loopback && o->insecure_listen && reached && !keys_required(s->access->keys))
        log_event("open_to_everybody", "listen", o->listen, NULL);
    return ERROR_OK;
}

static enum error_code prepare(struct server *s, const struct server_options *o, bool loopback,
                               struct error *e)
{
    struct queue *q;
    s->access->loopback = loopback;
    if (strncmp(o->store, "dir:", 4) != 0)
        return error_set(e, ERROR_USAGE, "the server's store must be dir:PATH");
    enum error_code code = store_create(o->store, NULL, &s->store, e);
    if (code != ERROR_OK)
        return code;
    s->spool = mem_printf("%s/tmp", o->store + 4);
    code = queue_create(o->redis, &q, e);
    if (code != ERROR_OK)
        return code;
    pool_give(s, q);
    return start_keys(s, o, loopback, e);
}

static void release(struct server *s)
{
    pool_release(s);
    store_destroy(s->store);
    keys_destroy(s->access->keys);
    free(s->spool);
}

static enum error_code announce(const struct server_options *o, int port, struct error *e)
{
    char number[16];
    snprintf(number, sizeof number, "%d", port);
    log_event("server_started", "listen", o->listen, "port", number, NULL);
    return o->ready_file ? file_write(o->ready_file, number, strlen(number), e) : ERROR_OK;
}

/* The threads beside the HTTP library's. */
struct helpers {
    pthread_t keeper, janitor, collector;
};

static void start_helpers(struct server *s, struct helpers *h)
{
    s->metrics = metrics_create(s->routes);
    s->watch = watch_create(s);
    s->rates = rates_create();
    s->resources->follow = follow_create(s);
    s->resources->what_ifs = what_if_create(s);
    s->resources->flights = flights_create();
    s->resources->acceptor = acceptor_create(s);
    BASE_CHECK(pthread_create(&h->keeper, NULL, keep_house, s) == 0);
    BASE_CHECK(pthread_create(&h->janitor, NULL, janitor_run, s) == 0);
    BASE_CHECK(pthread_create(&h->collector, NULL, collect_run, s) == 0);
}

static void end_helpers(struct server *s, const struct helpers *h)
{
    atomic_store(&s->stopped, true);
    pthread_join(h->keeper, NULL);
    follow_destroy(s->resources->follow);
    what_if_destroy(s->resources->what_ifs);
    rates_destroy(s->rates);
    pthread_join(h->janitor, NULL);
    pthread_join(h->collector, NULL);
    watch_destroy(s->watch);
    acceptor_destroy(s->resources->acceptor);
    flights_destroy(s->resources->flights);
    metrics_destroy(s->metrics);
}

/* the signals that end the server, blocked in every thread so that server_run alone takes them */
static sigset_t block_ends(void)
{
    sigset_t ends;
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    return ends;
}

int server_run(const struct server_options *o)
{
    struct access_state access = {.options = &o->access};
    struct resource_state resources = {.options = &o->resources};
    struct server s = {.routes = &server_routes,
                       .hooks = &hooks,
                       .redis = o->redis,
                       .log_requests = o->log_requests,
                       .access = &access,
                       .resources = &resources};
    struct helpers helpers;
    struct error e = {0};
    int fd = -1, port = 0, got;
    bool loopback = false;
    pthread_mutex_init(&s.pool_lock, NULL);
    pthread_mutex_init(&resources.secret_lock, NULL);
    sigset_t ends = block_ends();
    enum error_code code = listen_open(o->listen, &fd, &port, &loopback, &e);
    if (code == ERROR_OK)
        code = prepare(&s, o, loopback, &e);
    if (code != ERROR_OK) {
        fprintf(stderr, "toast-server: %s\n", e.message);
        release(&s);
        return error_code_exit_status(code);
    }
    start_helpers(&s, &helpers);
    code = serve_start(&s, fd, &e);
    if (code == ERROR_OK)
        code = announce(o, port, &e);
    if (code == ERROR_OK)
        sigwait(&ends, &got);
    else
        fprintf(stderr, "toast-server: %s\n", e.message);
    if (s.daemon)
        server_drain(&s);
    end_helpers(&s, &helpers);
    release(&s);
    log_event("server_stopped", NULL);
    return error_code_exit_status(code);
}
