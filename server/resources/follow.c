/* One thread that reads the event streams of all watched jobs and hands what it finds to the connections
 * that wait. HTTP threads only insert watchers and take what is pending; none of them ever waits for Redis
 * here. See follow.h. */
#include "server/resources/follow.h"

#include "base/log.h"

#include <errno.h>
#include <sys/socket.h>
#include <time.h>

enum {
    BLOCK_MS = 50,  /* how long one XREAD waits; a new watcher waits that long at most for its turn */
    ROUND_MS = 40,  /* pause between rounds where one XREAD is not enough */
    RETRY_MS = 250, /* Redis is away */
    SAY_S = 2,      /* how often this server publishes how many streams each tenant has here */
    PENDING_MAX = 256 << 10, /* bytes a client may be behind; then its stream ends, and it may resume */
    CHUNK = 4 << 10,
};

struct watcher {
    struct watcher *next, **slot;
    struct follow *follow;
    struct queue_place place;
    struct MHD_Connection *connection;
    bool suspended;
    time_t due; /* of the next comment; of the answer */
    /* a waiter */
    struct exchange *exchange; /* NULL: a stream */
    /* a stream */
    char tenant[64];
    follow_format format;
    bool ending;
    struct text pending;
    size_t sent; /* of pending */
};

typedef VEC(struct queue_streams) stream_list;

struct follow {
    struct server *server;
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct watcher *list;
    size_t count, streams;
    time_t looked;
    bool ended, stop;
    pthread_t thread;
    char id[QUEUE_ID_SIZE]; /* of this server among those of its Redis */
    stream_list said;       /* the thread's own: what other servers were told last */
    time_t said_at;
};

static time_t now_s(void)
{
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    return when.tv_sec;
}

static void pause_ms(int ms)
{
    struct timespec when = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&when, NULL);
}

/* ---- the list; all under the lock ---- */

static void insert(struct follow *follow, struct watcher *watcher)
{
    watcher->follow = follow;
    watcher->next = follow->list;
    watcher->slot = &follow->list;
    if (watcher->next)
        watcher->next->slot = &watcher->next;
    follow->list = watcher;
    follow->count++;
    follow->streams += watcher->exchange == NULL;
    pthread_cond_signal(&follow->some);
}

static void take_out(struct watcher *watcher)
{
    *watcher->slot = watcher->next;
    if (watcher->next)
        watcher->next->slot = watcher->slot;
    watcher->follow->count--;
    watcher->follow->streams -= watcher->exchange == NULL;
}

static void wake(struct watcher *watcher)
{
    if (watcher->suspended) {
        watcher->suspended = false;
        if (watcher->exchange)
            exchange_resume(watcher->exchange);
        else
            MHD_resume_connection(watcher->connection);
    }
}

/* the waiter's exchange goes on; its entry is gone */
static void answer(struct watcher *watcher)
{
    take_out(watcher);
    wake(watcher);
    free(watcher);
}

static void add(struct watcher *watcher, const struct queue_event *event)
{
    watcher->place.after = event->id;
    if (watcher->pending.size - watcher->sent > PENDING_MAX) {
        watcher->ending = true;
    } else {
        watcher->format(event, &watcher->pending);
        watcher->ending |= queue_event_ends(event);
    }
    watcher->due = now_s() + FOLLOW_KEEP_ALIVE_S;
    wake(watcher);
}

static void deliver(struct follow *follow, const struct queue_events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        const struct queue_event *event = &events->at[i];
        for (struct watcher *watcher = follow->list, *next; watcher; watcher = next) {
            next = watcher->next;
            if (watcher->ending || queue_event_id_compare(watcher->place.after, event->id) >= 0 ||
                strcmp(watcher->place.job, event->job) != 0)
                continue;
            if (!watcher->exchange)
                add(watcher, event);
            else if (queue_event_ends(event))
                answer(watcher);
            else
                watcher->place.after = event->id;
        }
    }
}

/* The library does not look at suspended connections; while this one is suspended its descriptor is open, and
 * ours to peek. */
static bool client_gone(const struct watcher *watcher)
{
    char byte;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(watcher->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    ssize_t n = info ? recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) : 1;
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* once a second: ends watchers whose client is gone or whose time is over, and sends due comments */
static void look_at_clock(struct follow *follow)
{
    time_t now = now_s();
    if (now == follow->looked)
        return;
    follow->looked = now;
    for (struct watcher *watcher = follow->list, *next; watcher; watcher = next) {
        next = watcher->next;
        bool gone = watcher->suspended && client_gone(watcher);
        if (watcher->ending || (now < watcher->due && !gone))
            continue;
        if (watcher->exchange) {
            answer(watcher);
            continue;
        }
        if (gone) {
            watcher->ending = true;
            wake(watcher);
            continue;
        }
        text_add(&watcher->pending, ": still here\n\n");
        watcher->ending |= watcher->pending.size - watcher->sent > PENDING_MAX;
        watcher->due = now + FOLLOW_KEEP_ALIVE_S;
        wake(watcher);
    }
}

/* ---- how many streams a tenant has ---- */

static size_t streams_of(const struct follow *follow, const char *tenant)
{
    size_t n = 0;
    for (const struct watcher *at = follow->list; at; at = at->next)
        n += !at->exchange && strcmp(at->tenant, tenant) == 0;
    return n;
}

static void count_stream(stream_list *l, const char *tenant, size_t by)
{
    struct queue_streams one = {.count = by};
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->at[i].tenant, tenant) == 0) {
            l->at[i].count += by;
            return;
        }
    snprintf(one.tenant, sizeof one.tenant, "%s", tenant);
    VEC_PUSH(l, one);
}

/* Publishes the counts for other servers; a tenant that had streams here and has none now is published
 * as 0. */
static void say_streams(struct follow *follow, struct queue *queue)
{
    stream_list now = {0};
    if (now_s() - follow->said_at < SAY_S)
        return;
    follow->said_at = now_s();
    pthread_mutex_lock(&follow->lock);
    for (const struct watcher *at = follow->list; at; at = at->next)
        if (!at->exchange)
            count_stream(&now, at->tenant, 1);
    pthread_mutex_unlock(&follow->lock);
    for (size_t i = 0; i < follow->said.count; i++)
        if (follow->said.at[i].count)
            count_stream(&now, follow->said.at[i].tenant, 0);
    if (now.count && queue_streams_beat(queue, follow->id, now.at, now.count, NULL) != ERROR_OK)
        follow->said_at = 0;
    VEC_FREE(&follow->said);
    follow->said = now;
}

/* Whether the tenant may have one more, counting those at other servers. true while Redis cannot be asked:
 * those here (`here` with the new one) were counted before. */
static bool room_elsewhere(struct follow *follow, const char *tenant, size_t here)
{
    bool room = true;
    struct queue *queue = pool_take(follow->server);
    if (queue_stream_open(queue, follow->id, tenant, here, FOLLOW_STREAMS_PER_TENANT, &room, NULL) !=
        ERROR_OK)
        room = true;
    pool_give(follow->server, queue);
    return room;
}

/* ---- the thread ---- */

static int by_job(const void *left, const void *right)
{
    const struct queue_place *one = left, *other = right;
    int order = strcmp(one->job, other->job);
    return order ? order : queue_event_id_compare(one->after, other->after);
}

typedef VEC(struct queue_place) place_list;

/* every watched job once, from the watcher that is furthest behind; waits until there is one */
static bool gather(struct follow *follow, place_list *out)
{
    out->count = 0;
    pthread_mutex_lock(&follow->lock);
    while (!follow->list && !follow->said.count && !follow->stop)
        pthread_cond_wait(&follow->some, &follow->lock);
    bool stop = follow->stop;
    for (struct watcher *watcher = follow->list; watcher; watcher = watcher->next)
        if (!watcher->ending)
            VEC_PUSH(out, watcher->place);
    pthread_mutex_unlock(&follow->lock);
    if (out->count)
        qsort(out->at, out->count, sizeof *out->at, by_job);
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++)
        if (kept == 0 || strcmp(out->at[kept - 1].job, out->at[i].job) != 0)
            out->at[kept++] = out->at[i];
    out->count = kept;
    return !stop;
}

/* reads all places once; *some: there was a new event */
static enum error_code look(struct follow *follow, struct queue *queue, const place_list *places, bool *some)
{
    bool alone = places->count <= QUEUE_FOLLOW_MAX;
    *some = false;
    for (size_t i = 0; i < places->count; i += QUEUE_FOLLOW_MAX) {
        struct queue_events events;
        size_t n = places->count - i < QUEUE_FOLLOW_MAX ? places->count - i : QUEUE_FOLLOW_MAX;
        enum error_code code =
            queue_events_follow(queue, places->at + i, n, alone ? BLOCK_MS : 0, &events, NULL);
        if (code != ERROR_OK)
            return code;
        pthread_mutex_lock(&follow->lock);
        deliver(follow, &events);
        pthread_mutex_unlock(&follow->lock);
        *some |= events.count > 0;
        queue_events_release(&events);
    }
    if (!alone && !*some)
        pause_ms(ROUND_MS);
    return ERROR_OK;
}

static void *run(void *user)
{
    struct follow *follow = user;
    struct queue *queue = pool_take(follow->server);
    place_list places = {0};
    while (gather(follow, &places)) {
        bool some = false;
        enum error_code code = places.count ? look(follow, queue, &places, &some) : ERROR_OK;
        pthread_mutex_lock(&follow->lock);
        look_at_clock(follow);
        pthread_mutex_unlock(&follow->lock);
        say_streams(follow, queue);
        if (code != ERROR_OK)
            pause_ms(RETRY_MS);
        else if (!places.count)
            pause_ms(BLOCK_MS); /* only streams that end are left: their clients still take what is pending */
    }
    VEC_FREE(&places);
    VEC_FREE(&follow->said);
    pool_give(follow->server, queue);
    return NULL;
}

struct follow *follow_create(struct server *server)
{
    struct follow *follow = mem_zalloc(1, sizeof *follow);
    follow->server = server;
    queue_new_id(follow->id);
    pthread_mutex_init(&follow->lock, NULL);
    pthread_cond_init(&follow->some, NULL);
    BASE_CHECK(pthread_create(&follow->thread, NULL, run, follow) == 0);
    return follow;
}

void follow_end(struct follow *follow)
{
    pthread_mutex_lock(&follow->lock);
    follow->ended = true;
    for (struct watcher *watcher = follow->list, *next; watcher; watcher = next) {
        next = watcher->next;
        if (watcher->exchange) {
            answer(watcher);
        } else {
            watcher->ending = true;
            wake(watcher);
        }
    }
    pthread_mutex_unlock(&follow->lock);
}

void follow_destroy(struct follow *follow)
{
    pthread_mutex_lock(&follow->lock);
    follow->stop = true;
    pthread_cond_signal(&follow->some);
    pthread_mutex_unlock(&follow->lock);
    pthread_join(follow->thread, NULL);
    pthread_cond_destroy(&follow->some);
    pthread_mutex_destroy(&follow->lock);
    free(follow);
}

size_t follow_streams(struct follow *follow)
{
    pthread_mutex_lock(&follow->lock);
    size_t n = follow->streams;
    pthread_mutex_unlock(&follow->lock);
    return n;
}

/* ---- streams ---- */

/* The library asks for bytes of the reply: gives what is pending, or suspends the connection until there is
 * something. */
static ssize_t read_stream(void *user, uint64_t position, char *out, size_t room)
{
    struct watcher *watcher = user;
    ssize_t n = 0;
    (void)position;
    pthread_mutex_lock(&watcher->follow->lock);
    size_t left = watcher->pending.size - watcher->sent;
    if (left > 0) {
        n = (ssize_t)(left < room ? left : room);
        memcpy(out, watcher->pending.at + watcher->sent, (size_t)n);
        watcher->sent += (size_t)n;
        if (watcher->sent == watcher->pending.size) {
            text_release(&watcher->pending);
            watcher->sent = 0;
        }
    } else if (watcher->ending) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        watcher->suspended = true;
        MHD_suspend_connection(watcher->connection);
    }
    pthread_mutex_unlock(&watcher->follow->lock);
    return n;
}

static void end_stream(void *user)
{
    struct watcher *watcher = user;
    struct follow *follow = watcher->follow;
    pthread_mutex_lock(&follow->lock);
    take_out(watcher);
    pthread_mutex_unlock(&follow->lock);
    text_release(&watcher->pending);
    free(watcher);
}

/* The stream is inserted before the limits are asked, so that two at once cannot both be the last one
 * allowed; it is taken out again when there is no room. */
static enum error_code admit(struct follow *follow, struct watcher *watcher, bool ended, struct error *e)
{
    pthread_mutex_lock(&follow->lock);
    size_t own = streams_of(follow, watcher->tenant) + 1;
    bool crowded = follow->streams >= (size_t)follow->server->resources->options->event_streams,
         room = own <= FOLLOW_STREAMS_PER_TENANT;
    watcher->ending = ended || follow->ended;
    bool in = room && !crowded;
    if (in)
        insert(follow, watcher);
    pthread_mutex_unlock(&follow->lock);
    if (in && !ended && !room_elsewhere(follow, watcher->tenant, own)) {
        pthread_mutex_lock(&follow->lock);
        take_out(watcher);
        pthread_mutex_unlock(&follow->lock);
        room = false;
    }
    if (!room)
        return error_set(e, ERROR_TOO_MANY_STREAMS,
                         "%d event streams are open already; close one, or ask with ?format=json",
                         FOLLOW_STREAMS_PER_TENANT);
    if (crowded)
        return error_set(e, ERROR_UNAVAILABLE,
                         "this server has %d event streams open and takes no more; ask with ?format=json",
                         follow->server->resources->options->event_streams);
    return ERROR_OK;
}

enum error_code follow_stream(struct follow *follow, struct MHD_Connection *connection, const char *tenant,
                              const struct queue_place *place, bool ended, struct text *head,
                              follow_format format, struct MHD_Response **out, struct error *e)
{
    struct watcher *watcher = mem_zalloc(1, sizeof *watcher);
    watcher->place = *place;
    watcher->connection = connection;
    watcher->format = format;
    watcher->pending = *head;
    watcher->due = now_s() + FOLLOW_KEEP_ALIVE_S;
    *head = (struct text){0};
    snprintf(watcher->tenant, sizeof watcher->tenant, "%s", tenant);
    enum error_code code = admit(follow, watcher, ended, e);
    if (code != ERROR_OK) {
        text_release(&watcher->pending);
        free(watcher);
        return code;
    }
    *out = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK, read_stream, watcher, end_stream);
    BASE_CHECK(*out);
    return ERROR_OK;
}

/* ---- waiters ---- */

bool follow_wait(struct follow *follow, struct exchange *exchange, const struct queue_place *place,
                 int seconds)
{
    pthread_mutex_lock(&follow->lock);
    bool good = !follow->ended;
    if (good) {
        struct watcher *watcher = mem_zalloc(1, sizeof *watcher);
        watcher->place = *place;
        watcher->connection = exchange->connection;
        watcher->exchange = exchange;
        watcher->suspended = true;
        watcher->due = now_s() + seconds + 1; /* whole seconds: rather later than early */
        exchange_suspend(exchange);
        insert(follow, watcher);
    }
    pthread_mutex_unlock(&follow->lock);
    return good;
}
