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

#include "base/confine.h"
#include "base/file.h"
#include "base/log.h"

#include <signal.h>
#include <sys/stat.h>

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
    struct server *server = user;
    struct queue *queue = pool_take(server);
    struct error e;
    bool reached = true;
    while (!atomic_load(&server->stopped)) {
        struct queue_health health;
        enum error_code code = queue_check(queue, &health, &e);
        if (code == ERROR_OK) {
            atomic_store(&server->resources->memory_short,
                         health.limit_bytes > 0 &&
                             health.used_bytes > health.limit_bytes / 100 * MEMORY_USED_MAX);
            code = queue_reap(queue, &e);
        }
        if (code == ERROR_OK)
            code = keys_refresh(server->access->keys, queue, &e);
        if ((code == ERROR_OK) != reached)
            log_event(code == ERROR_OK ? "redis_reached" : "redis_unavailable", "reason",
                      code == ERROR_OK ? "" : e.message, NULL);
        reached = code == ERROR_OK;
        rates_sample(server->rates, queue);
        atomic_store(&server->disk_short, store_free_share(server->store) < SERVER_DISK_FREE_MIN);
        serve_pause(server, KEEP_HOUSE_MS);
    }
    pool_give(server, queue);
    return NULL;
}

/* Keys are read before the first request. On an address that other hosts reach nobody is ever let in
 * without one, also when the last is revoked later; without any the server does not start, so that this is
 * noticed. */
static enum error_code start_keys(struct server *server, const struct server_options *options, bool loopback,
                                  struct error *e)
{
    struct error reason;
    bool reachable = !loopback && !options->insecure_listen;
    server->access->keys = keys_create(options->require_keys || reachable);
    struct queue *queue = pool_take(server);
    bool reached = keys_refresh(server->access->keys, queue, &reason) == ERROR_OK;
    pool_give(server, queue);
    if (reachable && !options->require_keys && reached && !keys_any(server->access->keys))
        return error_set(
            e, ERROR_USAGE,
            "%s is not a loopback address and there are no keys: anyone could use the service. Make one with "
            "toast keys add, say --require-keys to start without, or --insecure-listen to let everybody in",
            options->listen);
    if (!loopback && options->insecure_listen && reached && !keys_required(server->access->keys))
        log_event("open_to_everybody", "listen", options->listen, NULL);
    return ERROR_OK;
}

static enum error_code prepare(struct server *server, const struct server_options *options, bool loopback,
                               struct error *e)
{
    struct queue *queue;
    server->access->loopback = loopback;
    if (strncmp(options->store, "dir:", 4) != 0)
        return error_set(e, ERROR_USAGE, "the server's store must be dir:PATH");
    enum error_code code = store_create(options->store, NULL, &server->store, e);
    if (code != ERROR_OK)
        return code;
    server->spool = mem_printf("%s/tmp", options->store + 4);
    code = queue_create(options->redis, &queue, e);
    if (code != ERROR_OK)
        return code;
    pool_give(server, queue);
    return start_keys(server, options, loopback, e);
}

static void release(struct server *server)
{
    pool_release(server);
    store_destroy(server->store);
    keys_destroy(server->access->keys);
    free(server->spool);
}

static enum error_code announce(const struct server_options *options, int port, struct error *e)
{
    char number[16];
    snprintf(number, sizeof number, "%d", port);
    log_event("server_started", "listen", options->listen, "port", number, "landlock",
              confine_landlock() ? "yes" : "not in this kernel", NULL);
    return options->ready_file ? file_write(options->ready_file, number, strlen(number), e) : ERROR_OK;
}

/* The threads beside the HTTP library's. */
struct helpers {
    pthread_t keeper, janitor, collector, webhooks;
};

static void start_helpers(struct server *server, struct helpers *helpers)
{
    server->metrics = metrics_create(server->routes);
    server->offload = offload_create();
    server->watch = watch_create(server);
    server->rates = rates_create();
    server->resources->follow = follow_create(server);
    server->resources->what_ifs = what_if_create(server);
    server->resources->flights = flights_create();
    server->resources->acceptor = acceptor_create(server);
    BASE_CHECK(pthread_create(&helpers->keeper, NULL, keep_house, server) == 0);
    BASE_CHECK(pthread_create(&helpers->janitor, NULL, janitor_run, server) == 0);
    BASE_CHECK(pthread_create(&helpers->collector, NULL, collect_run, server) == 0);
    BASE_CHECK(pthread_create(&helpers->webhooks, NULL, webhook_run, server) == 0);
}

static void end_helpers(struct server *server, const struct helpers *helpers)
{
    atomic_store(&server->stopped, true);
    pthread_join(helpers->keeper, NULL);
    follow_destroy(server->resources->follow);
    what_if_destroy(server->resources->what_ifs);
    rates_destroy(server->rates);
    pthread_join(helpers->janitor, NULL);
    pthread_join(helpers->collector, NULL);
    pthread_join(helpers->webhooks, NULL);
    watch_destroy(server->watch);
    acceptor_destroy(server->resources->acceptor);
    flights_destroy(server->resources->flights);
    offload_destroy(server->offload);
    metrics_destroy(server->metrics);
}

/* a socket for health alone, whose address need not be loopback: it shows nothing of any tenant */
static enum error_code listen_health(const char *address, int *fd, struct error *e)
{
    int port;
    bool loopback;
    return listen_open(address, fd, &port, &loopback, e);
}

/* the signals that end the server, blocked in every thread so that server_run alone takes them */
static sigset_t block_ends(void)
{
    sigset_t ends;
    signal(SIGPIPE, SIG_IGN);
    umask(077); /* modules and plans are for nobody else on this machine */
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    return ends;
}

int server_run(const struct server_options *options)
{
    struct access_state access = {.options = &options->access};
    struct resource_state resources = {.options = &options->resources};
    struct server server = {.routes = &server_routes,
                            .hooks = &hooks,
                            .redis = options->redis,
                            .log_requests = options->log_requests,
                            .connections_per_address = options->connections_per_address,
                            .budget = options->memory_budget,
                            .access = &access,
                            .resources = &resources};
    struct helpers helpers;
    struct error e = {0};
    int fd = -1, health_fd = -1, port = 0, got;
    bool loopback = false;
    pthread_mutex_init(&server.pool_lock, NULL);
    pthread_mutex_init(&resources.secret_lock, NULL);
    sigset_t ends = block_ends();
    enum error_code code = listen_open(options->listen, &fd, &port, &loopback, &e);
    if (code == ERROR_OK && options->health_listen)
        code = listen_health(options->health_listen, &health_fd, &e);
    if (code == ERROR_OK)
        code = prepare(&server, options, loopback, &e);
    if (code != ERROR_OK) {
        fprintf(stderr, "toast-server: %s\n", e.message);
        release(&server);
        return error_code_exit_status(code);
    }
    start_helpers(&server, &helpers);
    code = serve_start(&server, fd, health_fd, &e);
    if (code == ERROR_OK)
        code = announce(options, port, &e);
    if (code == ERROR_OK)
        sigwait(&ends, &got);
    else
        fprintf(stderr, "toast-server: %s\n", e.message);
    if (server.daemon)
        server_drain(&server);
    end_helpers(&server, &helpers);
    release(&server);
    log_event("server_stopped", NULL);
    return error_code_exit_status(code);
}
