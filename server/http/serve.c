/* From the library's connections to exchanges to handlers: every request passes through here once, in the
 * order that `begin` and `on_request` show. What can be refused is refused before a byte of the body is
 * read. An exchange that began is always counted, logged and released (on_completed), whoever ended it.
 * Nothing here knows what a route does or who may use it: that are the route table and the hooks. */
#include "server/http/http.h"
#include "server/http/raw.h"
#include "server/http/reply.h"
#include "server/http/request.h"
#include "server/http/watch.h"

#include "base/log.h"

#include <stdarg.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECTION_MEMORY = 64 << 10, /* request line and headers; what we refuse ourselves (24 KiB) fits */
    SILENCE_S = 75,               /* above every deadline of watch.c */
    SWALLOW_MAX = 1 << 20,        /* of a body that is refused already; then the connection is cut */
    THREADS_MIN = 2,              /* one waits for Redis while another answers */
    THREADS_MAX = 64,
    HEALTH_THREADS = 3, /* one each for /livez, /readyz and /metrics: the latter two may wait for Redis */
    HEALTH_CONNECTIONS = 255,
    LIBRARY_LINES_A_S = 10, /* of the log: who makes the library complain must not fill a disk */
    PAUSE_TICK_MS = 100,    /* how late a pausing thread may notice the end */
};

static double seconds_since(const struct timespec *when)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - when->tv_sec) + (double)(now.tv_nsec - when->tv_nsec) * 1e-9;
}

static struct watched *watched_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void *on_uri(void *user, const char *uri, struct MHD_Connection *connection)
{
    struct exchange *exchange = mem_zalloc(1, sizeof *exchange);
    uint64_t random[2];
    exchange->server = user;
    exchange->connection = connection;
    exchange->uri = mem_strdup(uri);
    exchange->query = "";
    exchange->body.fd = -1;
    exchange->watched = watched_of(connection);
    if (getrandom(random, sizeof random, 0) != sizeof random)
        memset(random, 0, sizeof random);
    snprintf(exchange->request_id, sizeof exchange->request_id, "%016llx%016llx",
             (unsigned long long)random[0], (unsigned long long)random[1]);
    clock_gettime(CLOCK_MONOTONIC, &exchange->began);
    watch_headers(exchange->watched, exchange);
    exchange->server->hooks->begin(exchange);
    return exchange;
}

static void *on_health_uri(void *user, const char *uri, struct MHD_Connection *connection)
{
    struct exchange *exchange = on_uri(user, uri, connection);
    exchange->health = true;
    return exchange;
}

static void count_begun(struct exchange *exchange)
{
    exchange->begun = true;
    atomic_fetch_add(&exchange->server->under_way, 1);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    struct exchange *exchange = *context;
    struct server *server = user;
    (void)connection, (void)code;
    if (!exchange)
        return;
    if (exchange->begun) {
        double seconds = seconds_since(&exchange->began);
        metrics_request(server->metrics, exchange->route, exchange->status ? exchange->status : STATUS_LOST,
                        exchange->streaming ? -1 : seconds);
        trace_log(exchange, seconds);
        atomic_fetch_sub(&server->under_way, 1);
    }
    watch_idle(exchange->watched);
    server->hooks->end(exchange);
    body_release(&exchange->body);
    budget_release(exchange);
    if (exchange->kept)
        MHD_destroy_response(exchange->kept);
    free(exchange->content_type);
    free(exchange->boundary);
    free(exchange->uri);
    free(exchange);
    *context = NULL;
}

/* The library could not read the request on connection: e is sent, counted and logged as its answer. The
 * library closes connection afterwards. */
static void refuse(struct MHD_Connection *connection, const struct error *e)
{
    struct watched *watched = watched_of(connection);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct exchange *exchange = watched ? watch_exchange(watched) : NULL;
    /* not even a request line was understood */
    void *unread = watched && !exchange ? on_uri(watch_server(watched), "", connection) : NULL;
    if (unread)
        exchange = unread;
    if (!exchange)
        return;
    if (!exchange->begun)
        count_begun(exchange);
    exchange->status = error_code_http_status(e->code);
    refusal_send(info->connect_fd, e, exchange->request_id);
    if (unread) /* made here, so the library will not complete it */
        on_completed(exchange->server, connection, &unread, MHD_REQUEST_TERMINATED_WITH_ERROR);
}

/* The first call has no body yet: what can be refused is refused before a byte of it is read. */
static enum MHD_Result begin(struct exchange *exchange, const char *method, const char *version)
{
    struct error e = {0};
    count_begun(exchange);
    trace_begin(exchange);
    enum error_code code = request_check(exchange, method, version, &e);
    if (code == ERROR_METHOD && exchange->server->hooks->preflight(exchange))
        return MHD_YES;
    if (code == ERROR_OK && !exchange->health) /* that listener is for everybody who reaches it */
        code = exchange->server->hooks->admit(exchange, &e);
    if (code == ERROR_OK)
        code = query_check(exchange, &e);
    if (code == ERROR_OK)
        code = body_begin(exchange, &e);
    watch_body(exchange->watched, 0);
    if (code == ERROR_OK)
        return MHD_YES;
    exchange->close = true; /* the body, if any, is not read: the connection cannot go on */
    reply_problem(exchange, &e);
    return exchange->replied ? MHD_YES : MHD_NO;
}

/* The next bytes of a body; a piece that is whole goes to a thread that may wait for the disk. */
static enum MHD_Result take_body(struct exchange *exchange, const char *data, size_t size)
{
    struct body *body = &exchange->body;
    body_add(exchange, data, size);
    watch_body(exchange->watched, body->received);
    if (body->error.code != ERROR_OK && body->received > body->limit + SWALLOW_MAX) {
        refuse(exchange->connection, &body->error);
        return MHD_NO;
    }
    if (!body_full(body))
        return MHD_YES;
    watch_work(exchange->watched);
    if (!offload_add(exchange->server->offload, exchange, true, body_write))
        body_write(exchange);
    return MHD_YES;
}

/* everything of the request is here */
static void handle(struct exchange *exchange)
{
    body_write(exchange);
    if (exchange->body.error.code != ERROR_OK)
        reply_problem(exchange, &exchange->body.error);
    else
        exchange->route->handle(exchange);
}

/* The request is whole, or its exchange was suspended and goes on: after its handler has run on another
 * thread, or whoever it waited for is done. */
static enum MHD_Result answer(struct exchange *exchange)
{
    if (exchange->kept) {
        reply_kept(exchange);
    } else if (exchange->waiting) {
        exchange->waiting = false;
        exchange->again(exchange);
    } else if (exchange->route->body != BODY_NONE && !exchange->handled) {
        exchange->handled = true;
        if (offload_add(exchange->server->offload, exchange, body_large(&exchange->body), handle))
            return MHD_YES;
        handle(exchange);
    } else if (!exchange->handled) {
        handle(exchange);
    }
    return exchange->replied || exchange->waiting ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *size,
                                  void **context)
{
    struct exchange *exchange = *context;
    (void)user, (void)connection, (void)url; /* url is decoded and cut at a NUL: the raw one came to on_uri */
    if (!exchange)
        return MHD_NO;
    if (!exchange->begun)
        return begin(exchange, method, version);
    if (*size) {
        size_t count = *size;
        if (atomic_load(&exchange->offloaded)) /* the library had more chunks: they stay until it goes on */
            return MHD_YES;
        *size = 0;
        return take_body(exchange, data, count);
    }
    watch_reply(exchange->watched);
    return answer(exchange);
}

/* messages of the library itself, most of them about clients that went away */
static void log_library(void *user, const char *format, va_list values)
{
    static atomic_llong second;
    static atomic_int lines;
    char text[300];
    long long now = (long long)time(NULL);
    (void)user;
    if (atomic_exchange(&second, now) != now)
        atomic_store(&lines, 0);
    if (atomic_fetch_add(&lines, 1) >= LIBRARY_LINES_A_S)
        return;
    vsnprintf(text, sizeof text, format, values);
    text[strcspn(text, "\r\n")] = 0;
    log_event("http_library", "text", text, NULL);
}

static struct MHD_Daemon *start_health(struct server *server, int fd)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG | MHD_USE_ITC, 0, NULL, NULL, on_request, server,
        MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)HEALTH_THREADS, MHD_OPTION_URI_LOG_CALLBACK, on_health_uri,
        server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_NOTIFY_CONNECTION,
        watch_connection, server, MHD_OPTION_CONNECTION_LIMIT, (unsigned)HEALTH_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}

enum error_code serve_start(struct server *server, int fd, int health_fd, struct error *e)
{
    refusal_install(refuse);
    raw_install(refuse);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = processors < THREADS_MIN   ? THREADS_MIN
                       : processors > THREADS_MAX ? THREADS_MAX
                                                  : (unsigned)processors;
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL,
        NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_URI_LOG_CALLBACK, on_uri, server,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_NOTIFY_CONNECTION, watch_connection,
        server, MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVER_CONNECTIONS, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        server->connections_per_address, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_END);
    if (server->daemon && health_fd >= 0) {
        server->health = start_health(server, health_fd);
        if (!server->health)
            return error_set(e, ERROR_INTERNAL, "the listener for health could not be started");
    }
    return server->daemon ? ERROR_OK : error_set(e, ERROR_INTERNAL, "the HTTP server could not be started");
}

void serve_pause(const struct server *server, int ms)
{
    for (int left = ms; left > 0 && !atomic_load(&server->stopped); left -= PAUSE_TICK_MS) {
        struct timespec pause = {0, PAUSE_TICK_MS * 1000000L};
        nanosleep(&pause, NULL);
    }
}
