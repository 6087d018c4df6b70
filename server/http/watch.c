/* Deadlines of connections. The HTTP library's own timeout only counts silence, so that a client that sends a
 * byte a second holds a connection for ever. Twice a second every connection is looked at:
 *   - the first request line must be here 10 s after the connection, headers 10 s after the request line;
 *   - a body must come at 8 KiB/s or better, after 10 s;
 *   - a body must be here after an hour, whatever its size;
 *   - a reply must be taken at 8 KiB/s or better, after 10 s, without a pause of 20 s, within an hour;
 * only time
 *     in which bytes of it wait for the client counts, so that streams and long polls may be silent;
 *   - between requests a connection may idle for 60 s;
 *   - a client that has gone in the middle of a request is noticed within two seconds. (The library waits for
 *     edges: an end that comes together with the last bytes is one that it does not see.)
 * Late ones get a 408 (where no reply was begun) and are shut down; the library then closes them. The
 * descriptor is valid under the lock, because the library says goodbye (watch_connection) before it closes.
 */
#include "server/http/watch.h"
#include "server/http/reply.h"

#include "server/http/raw.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEADERS_S = 10, BODY_S = 10, BODY_BYTES_PER_S = 8 << 10, IDLE_S = 60, WHOLE_S = 3600 };
enum { REPLY_S = 10, REPLY_BYTES_PER_S = 8 << 10, REPLY_PAUSE_S = 20 };
/* A client that has closed counts as gone after GONE_LOOKS in a row: its last bytes may still be handled. */
enum { LOOKS_A_S = 2, GONE_LOOKS = 3 };
enum phase { FRESH, HEADERS, BODY, WORKING, REPLYING, IDLE };

struct watched {
    struct watched *next, **place;
    struct watch *watch;
    struct exchange *exchange; /* under way, or NULL; only the connection's own thread may look */
    int fd;
    enum phase phase;
    time_t since;
    size_t received;
    time_t worked_at;               /* WORKING: since when */
    unsigned long long acked, from; /* bytes that the client has taken: at the last look, before this reply */
    int behind, paused;             /* looks with bytes waiting for it; those in a row without one taken */
    int ended;                      /* looks in a row that found the client closed and no bytes */
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
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    return when.tv_sec;
}

/* bytes that the client has taken since the connection began; 0 where the kernel does not say */
static unsigned long long taken_by(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return 0;
    return info.tcpi_bytes_acked;
}

/* the reply's bytes wait for a client that does not take them */
static bool slow_reader(struct watched *watched)
{
    int waiting = 0;
    if (ioctl(watched->fd, SIOCOUTQ, &waiting) != 0 || waiting == 0) {
        watched->paused = 0;
        return false;
    }
    unsigned long long acked = taken_by(watched->fd);
    watched->behind++;
    watched->paused = acked == watched->acked ? watched->paused + 1 : 0;
    watched->acked = acked;
    int seconds = watched->behind / LOOKS_A_S;
    return watched->paused > REPLY_PAUSE_S * LOOKS_A_S || seconds > WHOLE_S ||
           (unsigned long long)seconds > REPLY_S + (acked - watched->from) / REPLY_BYTES_PER_S;
}

static bool late(struct watched *watched, time_t now)
{
    time_t passed = now - watched->since;
    switch (watched->phase) {
    case FRESH:
    case HEADERS: return passed > HEADERS_S;
    case BODY: return passed > BODY_S + (time_t)(watched->received / BODY_BYTES_PER_S) || passed > WHOLE_S;
    case WORKING: return false;
    case IDLE: return passed > IDLE_S;
    case REPLYING: return slow_reader(watched);
    }
    return false;
}

/* nothing more will come, and the request is not whole */
static bool gone(struct watched *watched)
{
    char byte;
    bool waits = watched->phase == FRESH || watched->phase == HEADERS || watched->phase == BODY;
    bool end = waits && raw_receive(watched->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    watched->ended = end ? watched->ended + 1 : 0;
    return watched->ended >= GONE_LOOKS;
}

static void shut(struct watched *watched)
{
    struct error e;
    error_set(&e, ERROR_TIMEOUT, "the request came too slowly");
    if (watched->phase == REPLYING) /* what waits for the client is dropped, not kept by the kernel */
        setsockopt(watched->fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
    else if (watched->phase != IDLE && !watched->ended)
        refusal_send(watched->fd, &e, NULL);
    shutdown(watched->fd, SHUT_RDWR);
    watched->shut = true;
}

static void *run(void *user)
{
    struct watch *watch = user;
    while (!atomic_load(&watch->stop)) {
        struct timespec pause = {0, 1000000000 / LOOKS_A_S};
        nanosleep(&pause, NULL);
        time_t now = now_s();
        pthread_mutex_lock(&watch->lock);
        for (struct watched *watched = watch->list; watched; watched = watched->next)
            if (!watched->shut && (gone(watched) || late(watched, now)))
                shut(watched);
        pthread_mutex_unlock(&watch->lock);
    }
    return NULL;
}

struct watch *watch_create(struct server *server)
{
    struct watch *watch = mem_zalloc(1, sizeof *watch);
    watch->server = server;
    pthread_mutex_init(&watch->lock, NULL);
    BASE_CHECK(pthread_create(&watch->thread, NULL, run, watch) == 0);
    return watch;
}

void watch_destroy(struct watch *watch)
{
    atomic_store(&watch->stop, true);
    pthread_join(watch->thread, NULL);
    free(watch);
}

void watch_connection(void *user, struct MHD_Connection *connection, void **context,
                      enum MHD_ConnectionNotificationCode code)
{
    struct watch *watch = ((struct server *)user)->watch;
    struct watched *watched = *context;
    pthread_mutex_lock(&watch->lock);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        watched = mem_zalloc(1, sizeof *watched);
        *watched = (struct watched){.watch = watch,
                                    .fd = info->connect_fd,
                                    .phase = FRESH,
                                    .since = now_s(),
                                    .next = watch->list,
                                    .place = &watch->list};
        if (watched->next)
            watched->next->place = &watched->next;
        watch->list = watched;
        watch->started++;
        *context = watched;
        raw_begin(watched->fd, connection);
    } else if (watched) {
        raw_end(watched->fd);
        *watched->place = watched->next;
        if (watched->next)
            watched->next->place = watched->place;
        free(watched);
        *context = NULL;
    }
    pthread_mutex_unlock(&watch->lock);
}

size_t watch_started(struct watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    size_t started = watch->started;
    pthread_mutex_unlock(&watch->lock);
    return started;
}

size_t watch_unread(struct watch *watch)
{
    size_t count = 0;
    pthread_mutex_lock(&watch->lock);
    for (const struct watched *watched = watch->list; watched; watched = watched->next) {
        int bytes = 0;
        bool between = watched->phase == FRESH || watched->phase == HEADERS || watched->phase == IDLE;
        count += between && !watched->shut && ioctl(watched->fd, FIONREAD, &bytes) == 0 && bytes > 0;
    }
    pthread_mutex_unlock(&watch->lock);
    return count;
}

static void enter(struct watched *watched, enum phase phase, size_t received)
{
    if (!watched)
        return;
    pthread_mutex_lock(&watched->watch->lock);
    if (watched->phase == WORKING && phase == BODY) /* that was our time */
        watched->since += now_s() - watched->worked_at;
    else if (phase == WORKING)
        watched->worked_at = now_s();
    else if (watched->phase != phase)
        watched->since = now_s();
    if (phase == REPLYING && watched->phase != phase) {
        watched->from = watched->acked = taken_by(watched->fd);
        watched->behind = watched->paused = 0;
    }
    watched->phase = phase;
    watched->received = received;
    watched->ended = 0;
    pthread_mutex_unlock(&watched->watch->lock);
}

void watch_headers(struct watched *watched, struct exchange *exchange)
{
    enter(watched, HEADERS, 0);
    if (watched)
        watched->exchange = exchange;
}

struct exchange *watch_exchange(const struct watched *watched)
{
    return watched->exchange;
}

struct server *watch_server(const struct watched *watched)
{
    return watched->watch->server;
}

void watch_body(struct watched *watched, size_t received)
{
    enter(watched, BODY, received);
}

void watch_work(struct watched *watched)
{
    if (watched)
        enter(watched, WORKING, watched->received);
}

void watch_reply(struct watched *watched)
{
    enter(watched, REPLYING, 0);
}

void watch_idle(struct watched *watched)
{
    enter(watched, IDLE, 0);
    if (watched)
        watched->exchange = NULL;
}
