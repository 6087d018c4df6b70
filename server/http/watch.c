/* Deadlines of connections. The HTTP library's own timeout only counts silence, so that a client that sends a
 * byte a second holds a connection for ever. Twice a second every connection is looked at:
 *   - the first request line must be here 10 s after the connection, headers 10 s after the request line;
 *   - a body must come at 8 KiB/s or better, after 10 s;
 *   - between requests a connection may idle for 60 s;
 *   - a client that has gone in the middle of a request is noticed within two seconds. (The library waits for
 *     edges: an end that comes together with the last bytes is one that it does not see.)
 * Late ones get a 408 (where no reply was begun) and are shut down; the library then closes them. The
 * descriptor is valid under the lock, because the library says goodbye (watch_connection) before it closes.
 */
#include "server/http/watch.h"
#include "server/http/reply.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEADERS_S = 10, BODY_S = 10, BODY_BYTES_PER_S = 8 << 10, IDLE_S = 60 };
/* A client that has closed counts as gone after GONE_LOOKS in a row: its last bytes may still be handled. */
enum { LOOKS_A_S = 2, GONE_LOOKS = 3 };
enum phase { FRESH, HEADERS, BODY, REPLYING, IDLE };

struct watched {
    struct watched *next, **place;
    struct watch *watch;
    struct exchange *exchange; /* under way, or NULL; only the connection's own thread may look */
    int fd;
    enum phase phase;
    time_t since;
    size_t received;
    int ended; /* looks in a row that found the client closed and no bytes */
    bool shut;
};

struct watch {
    pthread_mutex_t lock;
    struct server *server;
    struct watched *list;
    size_t started; /* connections so far */
    pthread_t thread;
    atomic_bool stop;
};

static time_t now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static bool late(const struct watched *w, time_t now)
{
    time_t passed = now - w->since;
    switch (w->phase) {
    case FRESH:
    case HEADERS: return passed > HEADERS_S;
    case BODY: return passed > BODY_S + (time_t)(w->received / BODY_BYTES_PER_S);
    case IDLE: return passed > IDLE_S;
    case REPLYING: return false;
    }
    return false;
}

/* nothing more will come, and the request is not whole */
static bool gone(struct watched *w)
{
    char byte;
    bool waits = w->phase == FRESH || w->phase == HEADERS || w->phase == BODY;
    bool end = waits && recv(w->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    w->ended = end ? w->ended + 1 : 0;
    return w->ended >= GONE_LOOKS;
}

static void shut(struct watched *w)
{
    struct error e;
    error_set(&e, ERROR_TIMEOUT, "the request came too slowly");
    if (w->phase != IDLE && !w->ended)
        refusal_send(w->fd, &e, NULL);
    shutdown(w->fd, SHUT_RDWR);
    w->shut = true;
}

static void *run(void *user)
{
    struct watch *watch = user;
    while (!atomic_load(&watch->stop)) {
        struct timespec pause = {0, 1000000000 / LOOKS_A_S};
        nanosleep(&pause, NULL);
        time_t now = now_s();
        pthread_mutex_lock(&watch->lock);
        for (struct watched *w = watch->list; w; w = w->next)
            if (!w->shut && (gone(w) || late(w, now)))
                shut(w);
        pthread_mutex_unlock(&watch->lock);
    }
    return NULL;
}

struct watch *watch_create(struct server *s)
{
    struct watch *w = mem_zalloc(1, sizeof *w);
    w->server = s;
    pthread_mutex_init(&w->lock, NULL);
    BASE_CHECK(pthread_create(&w->thread, NULL, run, w) == 0);
    return w;
}

void watch_destroy(struct watch *w)
{
    atomic_store(&w->stop, true);
    pthread_join(w->thread, NULL);
    free(w);
}

void watch_connection(void *user, struct MHD_Connection *c, void **context,
                      enum MHD_ConnectionNotificationCode code)
{
    struct watch *watch = ((struct server *)user)->watch;
    struct watched *w = *context;
    pthread_mutex_lock(&watch->lock);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        w = mem_zalloc(1, sizeof *w);
        *w = (struct watched){.watch = watch,
                              .fd = info->connect_fd,
                              .phase = FRESH,
                              .since = now_s(),
                              .next = watch->list,
                              .place = &watch->list};
        if (w->next)
            w->next->place = &w->next;
        watch->list = w;
        watch->started++;
        *context = w;
    } else if (w) {
        *w->place = w->next;
        if (w->next)
            w->next->place = w->place;
        free(w);
        *context = NULL;
    }
    pthread_mutex_unlock(&watch->lock);
}

size_t watch_started(struct watch *w)
{
    pthread_mutex_lock(&w->lock);
    size_t started = w->started;
    pthread_mutex_unlock(&w->lock);
    return started;
}

size_t watch_unread(struct watch *watch)
{
    size_t count = 0;
    pthread_mutex_lock(&watch->lock);
    for (const struct watched *w = watch->list; w; w = w->next) {
        int bytes = 0;
        bool between = w->phase == FRESH || w->phase == HEADERS || w->phase == IDLE;
        count += between && !w->shut && ioctl(w->fd, FIONREAD, &bytes) == 0 && bytes > 0;
    }
    pthread_mutex_unlock(&watch->lock);
    return count;
}

static void enter(struct watched *w, enum phase phase, size_t received)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->watch->lock);
    if (w->phase != phase)
        w->since = now_s();
    w->phase = phase;
    w->received = received;
    w->ended = 0;
    pthread_mutex_unlock(&w->watch->lock);
}

void watch_headers(struct watched *w, struct exchange *x)
{
    enter(w, HEADERS, 0);
    if (w)
        w->exchange = x;
}

struct exchange *watch_exchange(const struct watched *w)
{
    return w->exchange;
}

struct server *watch_server(const struct watched *w)
{
    return w->watch->server;
}

void watch_body(struct watched *w, size_t received)
{
    enter(w, BODY, received);
}

void watch_reply(struct watched *w)
{
    enter(w, REPLYING, 0);
}

void watch_idle(struct watched *w)
{
    enter(w, IDLE, 0);
    if (w)
        w->exchange = NULL;
}
