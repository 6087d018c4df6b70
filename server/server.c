/* The daemon: connections to exchanges to handlers; a thread that keeps house once a second. See server.h. */
#include "server/accept.h"
#include "server/follow.h"
#include "server/internal.h"
#include "server/ui.h"
#include "server/what_if.h"

#include "base/file.h"
#include "base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECTION_MEMORY = 64 << 10, /* request line and headers; what we refuse ourselves (24 KiB) fits */
    SILENCE_S = 75,               /* above every deadline of watch.c */
    SWALLOW_MAX = 1 << 20,        /* of a body that is refused already; then the connection is cut */
};

/* ---- exchanges ---- */

static double seconds_since(const struct timespec *t)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - t->tv_sec) + (double)(now.tv_nsec - t->tv_nsec) * 1e-9;
}

static struct watched *watched_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void *on_uri(void *user, const char *uri, struct MHD_Connection *c)
{
    struct exchange *x = mem_zalloc(1, sizeof *x);
    uint64_t random[2];
    x->server = user;
    x->connection = c;
    x->uri = mem_strdup(uri);
    x->query = "";
    x->body.fd = -1;
    x->watched = watched_of(c);
    if (getrandom(random, sizeof random, 0) != sizeof random)
        memset(random, 0, sizeof random);
    snprintf(x->request_id, sizeof x->request_id, "%016llx%016llx", (unsigned long long)random[0],
             (unsigned long long)random[1]);
    clock_gettime(CLOCK_MONOTONIC, &x->began);
    watch_headers(x->watched, x);
    return x;
}

static void count_begun(struct exchange *x)
{
    x->begun = true;
    atomic_fetch_add(&x->server->under_way, 1);
}

static void on_completed(void *user, struct MHD_Connection *c, void **context,
                         enum MHD_RequestTerminationCode code)
{
    struct exchange *x = *context;
    struct server *s = user;
    (void)c, (void)code;
    if (!x)
        return;
    if (x->begun) {
        double seconds = seconds_since(&x->began);
        metrics_request(s->metrics, x->route, x->method, x->status ? x->status : 499,
                        x->streaming ? -1 : seconds);
        trace_log(x, seconds);
        atomic_fetch_sub(&s->under_way, 1);
    }
    watch_idle(x->watched);
    flight_end(x);
    body_release(&x->body);
    what_if_release(x->what_if);
    submission_destroy(x->submission);
    free(x->content_type);
    free(x->boundary);
    free(x->uri);
    free(x);
    *context = NULL;
}

void server_refuse(struct MHD_Connection *c, const struct error *e)
{
    struct watched *w = watched_of(c);
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct exchange *x = w ? watch_exchange(w) : NULL;
    /* not even a request line was understood */
    void *unread = w && !x ? on_uri(watch_server(w), "", c) : NULL;
    if (unread)
        x = unread;
    if (!x)
        return;
    if (!x->begun)
        count_begun(x);
    x->status = error_code_http_status(e->code);
    refusal_send(info->connect_fd, e, x->request_id);
    if (unread) /* the library knows nothing of it */
        on_completed(x->server, c, &unread, MHD_REQUEST_TERMINATED_WITH_ERROR);
}

/* The first call has no body yet: what can be refused is refused before a byte of it is read. */
static enum MHD_Result begin(struct exchange *x, const char *method, const char *version)
{
    struct error e = {0};
    count_begun(x);
    trace_begin(x);
    enum error_code code = request_check(x, method, version, &e);
    if (code == ERROR_METHOD && origin_preflight(x))
        return MHD_YES;
    if (code == ERROR_OK)
        code = origin_check_host(x, &e);
    if (code == ERROR_OK)
        code = auth_check(x, &e);
    if (code == ERROR_OK)
        code = query_check(x, &e);
    if (code == ERROR_OK && (x->route->body == BODY_MODULE || x->route->body == BODY_PROBLEM))
        code = modules_begin(x, &e);
    if (code == ERROR_OK)
        code = body_begin(x, &e);
    watch_body(x->watched, 0);
    if (code == ERROR_OK)
        return MHD_YES;
    x->close = true; /* the body, if any, is not read: the connection cannot go on */
    reply_problem(x, &e);
    return x->replied ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *data, size_t *size, void **context)
{
    struct exchange *x = *context;
    (void)user, (void)c, (void)url; /* url is decoded and cut at a NUL: the raw one came to on_uri */
    if (!x)
        return MHD_NO;
    if (!x->begun)
        return begin(x, method, version);
    if (*size) {
        body_add(x, data, *size);
        watch_body(x->watched, x->body.received);
        *size = 0;
        bool cut = x->body.error.code != ERROR_OK && x->body.received > x->body.limit + SWALLOW_MAX;
        return cut ? MHD_NO : MHD_YES;
    }
    watch_reply(x->watched);
    if (x->waiting) {
        x->waiting = false;
        x->again(x);
    } else if (x->body.error.code != ERROR_OK)
        reply_problem(x, &x->body.error);
    else
        x->route->handle(x);
    return x->replied || x->waiting ? MHD_YES : MHD_NO;
}

/* ---- the address ---- */

static enum error_code parse_listen(const char *text, struct sockaddr_storage *out, socklen_t *size,
                                    bool *loopback, struct error *e)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    char *end;
    long port = colon ? strtol(colon + 1, &end, 10) : -1;
    size_t n = colon ? (size_t)(colon - text) : 0;
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    *out = (struct sockaddr_storage){0};
    if (n && text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    }
    if (port < 0 || port > 65535 || *end || end == colon + 1 || n >= sizeof host)
        return error_set(e, ERROR_USAGE,
                         "the address to listen on must be ADDRESS:PORT, for example 127.0.0.1:8080");
    snprintf(host, sizeof host, "%.*s", (int)n, text);
    const char *name = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    if (inet_pton(AF_INET, name, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        *size = sizeof *v4;
        *loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
        return ERROR_OK;
    }
    if (inet_pton(AF_INET6, name, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        *size = sizeof *v6;
        *loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
        return ERROR_OK;
    }
    return error_set(e, ERROR_USAGE,
                     "the address to listen on must be numeric, for example 127.0.0.1:8080 or [::1]:8080");
}

static enum error_code open_socket(const struct server_options *o, int *fd, int *port, bool *loopback,
                                   struct error *e)
{
    struct sockaddr_storage a;
    socklen_t size = 0;
    int one = 1;
    enum error_code code = parse_listen(o->listen, &a, &size, loopback, e);
    if (code != ERROR_OK)
        return code;
    *fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(*fd, (struct sockaddr *)&a, size) != 0 || listen(*fd, 1024) != 0 ||
        getsockname(*fd, (struct sockaddr *)&a, &size) != 0)
        return error_set(e, ERROR_UNAVAILABLE, "cannot listen on %s: %s", o->listen, strerror(errno));
    *port = ntohs(a.ss_family == AF_INET ? ((struct sockaddr_in *)&a)->sin_port
                                         : ((struct sockaddr_in6 *)&a)->sin6_port);
    return ERROR_OK;
}

/* ---- housekeeping ---- */

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
            atomic_store(&s->memory_short, h.limit_bytes > 0 && h.used_bytes > h.limit_bytes / 5 * 4);
            code = queue_reap(q, &e);
        }
        if (code == ERROR_OK)
            code = auth_refresh(s->auth, q, &e);
        if ((code == ERROR_OK) != reached)
            log_event(code == ERROR_OK ? "redis_reached" : "redis_unavailable", "reason",
                      code == ERROR_OK ? "" : e.message, NULL);
        reached = code == ERROR_OK;
        ui_history_sample(s->history, q);
        atomic_store(&s->disk_short, store_free_share(s->store) < 0.1);
        for (int i = 0; i < 10 && !atomic_load(&s->stopped); i++) {
            struct timespec pause = {0, 100000000};
            nanosleep(&pause, NULL);
        }
    }
    pool_give(s, q);
    return NULL;
}

/* Keys are read before the first request. On an address that other hosts reach nobody is ever let in
 * without one, also when the last is revoked later; without any the server does not start, so that this is
 * noticed. */
static enum error_code start_auth(struct server *s, bool loopback, struct error *e)
{
    const struct server_options *o = s->options;
    struct error reason;
    bool reachable = !loopback && !o->insecure_listen;
    s->auth = auth_create(o->require_keys || reachable);
    struct queue *q = pool_take(s);
    bool reached = auth_refresh(s->auth, q, &reason) == ERROR_OK;
    pool_give(s, q);
    if (reachable && !o->require_keys && reached && !auth_any(s->auth))
        return error_set(
            e, ERROR_USAGE,
            "%s is not a loopback address and there are no keys: anyone could use the service. Make one with "
            "toast keys add, say --require-keys to start without, or --insecure-listen to let everybody in",
            o->listen);
    if (!loopback && o->insecure_listen && reached && !auth_required(s->auth))
        log_event("open_to_everybody", "listen", o->listen, NULL);
    return ERROR_OK;
}

static enum error_code prepare(struct server *s, bool loopback, struct error *e)
{
    struct queue *q;
    s->loopback = loopback;
    if (strncmp(s->options->store, "dir:", 4) != 0)
        return error_set(e, ERROR_USAGE, "the server's store must be dir:PATH");
    enum error_code code = store_create(s->options->store, NULL, &s->store, e);
    if (code != ERROR_OK)
        return code;
    s->spool = mem_printf("%s/tmp", s->options->store + 4);
    code = queue_create(s->options->redis, &q, e);
    if (code != ERROR_OK)
        return code;
    pool_give(s, q);
    return start_auth(s, loopback, e);
}

/* the library's own words, about clients that went away for the most part */
static void log_library(void *user, const char *format, va_list values)
{
    char text[300];
    (void)user;
    vsnprintf(text, sizeof text, format, values);
    text[strcspn(text, "\r\n")] = 0;
    log_event("http_library", "text", text, NULL);
}

static enum error_code start(struct server *s, int fd, struct error *e)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = processors < 2 ? 2 : processors > 64 ? 64 : (unsigned)processors;
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL,
        NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_URI_LOG_CALLBACK, on_uri, s,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, watch_connection, s,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVER_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)SILENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
    return s->daemon ? ERROR_OK : error_set(e, ERROR_INTERNAL, "the HTTP server could not be started");
}

static void release(struct server *s)
{
    for (size_t i = 0; i < s->pool.count; i++)
        queue_destroy(s->pool.at[i]);
    VEC_FREE(&s->pool);
    store_destroy(s->store);
    auth_destroy(s->auth);
    free(s->spool);
}

static enum error_code announce(const struct server_options *o, int port, struct error *e)
{
    char number[16];
    snprintf(number, sizeof number, "%d", port);
    log_event("server_started", "listen", o->listen, "port", number, NULL);
    return o->ready_file ? file_write(o->ready_file, number, strlen(number), e) : ERROR_OK;
}

int server_run(const struct server_options *o)
{
    struct server s = {.options = o};
    struct error e = {0};
    sigset_t ends;
    pthread_t keeper, janitor, collector;
    int fd = -1, port = 0, got;
    bool loopback = false;
    pthread_mutex_init(&s.pool_lock, NULL);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    enum error_code code = open_socket(o, &fd, &port, &loopback, &e);
    if (code == ERROR_OK)
        code = prepare(&s, loopback, &e);
    if (code != ERROR_OK) {
        fprintf(stderr, "toast-server: %s\n", e.message);
        release(&s);
        return error_code_exit_status(code);
    }
    s.metrics = metrics_create();
    s.watch = watch_create(&s);
    s.history = ui_history_create();
    s.follow = follow_create(&s);
    s.what_ifs = what_if_create(&s);
    s.flights = flights_create();
    s.acceptor = acceptor_create(&s);
    BASE_CHECK(pthread_create(&keeper, NULL, keep_house, &s) == 0);
    BASE_CHECK(pthread_create(&janitor, NULL, janitor_run, &s) == 0);
    BASE_CHECK(pthread_create(&collector, NULL, collect_run, &s) == 0);
    code = start(&s, fd, &e);
    if (code == ERROR_OK)
        code = announce(o, port, &e);
    if (code == ERROR_OK)
        sigwait(&ends, &got);
    else
        fprintf(stderr, "toast-server: %s\n", e.message);
    if (s.daemon)
        server_drain(&s);
    atomic_store(&s.stopped, true);
    pthread_join(keeper, NULL);
    follow_destroy(s.follow);
    what_if_destroy(s.what_ifs);
    ui_history_destroy(s.history);
    pthread_join(janitor, NULL);
    pthread_join(collector, NULL);
    watch_destroy(s.watch);
    acceptor_destroy(s.acceptor);
    flights_destroy(s.flights);
    metrics_destroy(s.metrics);
    release(&s);
    log_event("server_stopped", NULL);
    return error_code_exit_status(code);
}
