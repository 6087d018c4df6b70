/* From the library's connections to exchanges to handlers: every request passes through here once, in the
 * order that `begin` and `on_request` show. What can be refused is refused before a byte of the body is
 * read. An exchange that began is always counted, logged and released (on_completed), whoever ended it.
 * Nothing here knows what a route does or who may use it: that are the route table and the hooks. */
#include "server/http/http.h"
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
    PAUSE_TICK_MS = 100, /* how late a pausing thread may notice the end */
};

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
    x->server->hooks->begin(x);
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
        metrics_request(s->metrics, x->route, x->status ? x->status : STATUS_LOST,
                        x->streaming ? -1 : seconds);
        trace_log(x, seconds);
        atomic_fetch_sub(&s->under_way, 1);
    }
    watch_idle(x->watched);
    s->hooks->end(x);
    body_release(&x->body);
    free(x->content_type);
    free(x->boundary);
    free(x->uri);
    free(x);
    *context = NULL;
}

/* The library could not read the request on c: e is sent, counted and logged as its answer. The library
 * closes c afterwards. */
static void refuse(struct MHD_Connection *c, const struct error *e)
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
    if (unread) /* made here, so the library will not complete it */
        on_completed(x->server, c, &unread, MHD_REQUEST_TERMINATED_WITH_ERROR);
}

/* The first call has no body yet: what can be refused is refused before a byte of it is read. */
static enum MHD_Result begin(struct exchange *x, const char *method, const char *version)
{
    struct error e = {0};
    count_begun(x);
    trace_begin(x);
    enum error_code code = request_check(x, method, version, &e);
    if (code == ERROR_METHOD && x->server->hooks->preflight(x))
        return MHD_YES;
    if (code == ERROR_OK)
        code = x->server->hooks->admit(x, &e);
    if (code == ERROR_OK)
        code = query_check(x, &e);
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

/* messages of the library itself, most of them about clients that went away */
static void log_library(void *user, const char *format, va_list values)
{
    char text[300];
    (void)user;
    vsnprintf(text, sizeof text, format, values);
    text[strcspn(text, "\r\n")] = 0;
    log_event("http_library", "text", text, NULL);
}

enum error_code serve_start(struct server *s, int fd, struct error *e)
{
    refusal_install(refuse);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = processors < THREADS_MIN   ? THREADS_MIN
                       : processors > THREADS_MAX ? THREADS_MAX
                                                  : (unsigned)processors;
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

void serve_pause(const struct server *s, int ms)
{
    for (int left = ms; left > 0 && !atomic_load(&s->stopped); left -= PAUSE_TICK_MS) {
        struct timespec pause = {0, PAUSE_TICK_MS * 1000000L};
        nanosleep(&pause, NULL);
    }
}
