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
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static void pause_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

/* ---- the list; all under the lock ---- */

static void insert(struct follow *f, struct watcher *w)
{
    w->follow = f;
    w->next = f->list;
    w->slot = &f->list;
    if (w->next)
        w->next->slot = &w->next;
    f->list = w;
    f->count++;
    f->streams += w->exchange == NULL;
    pthread_cond_signal(&f->some);
}

static void take_out(struct watcher *w)
{
    *w->slot = w->next;
    if (w->next)
        w->next->slot = w->slot;
    w->follow->count--;
    w->follow->streams -= w->exchange == NULL;
}

static void wake(struct watcher *w)
{
    if (w->suspended) {
        w->suspended = false;
        MHD_resume_connection(w->connection);
    }
}

/* the waiter's exchange goes on; its entry is gone */
static void answer(struct watcher *w)
{
    take_out(w);
    wake(w);
    free(w);
}

static void add(struct watcher *w, const struct queue_event *v)
{
    w->place.after = v->id;
    if (w->pending.size - w->sent > PENDING_MAX) {
        w->ending = true;
    } else {
        w->format(v, &w->pending);
        w->ending |= queue_event_ends(v);
    }
    w->due = now_s() + FOLLOW_KEEP_ALIVE_S;
    wake(w);
}

static void deliver(struct follow *f, const struct queue_events *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct queue_event *v = &l->at[i];
        for (struct watcher *w = f->list, *next; w; w = next) {
            next = w->next;
            if (w->ending || queue_event_id_compare(w->place.after, v->id) >= 0 ||
                strcmp(w->place.job, v->job) != 0)
                continue;
            if (!w->exchange)
                add(w, v);
            else if (queue_event_ends(v))
                answer(w);
            else
                w->place.after = v->id;
        }
    }
}

/* The library does not look at suspended connections; while this one is suspended its descriptor is open, and
 * ours to peek. */
static bool client_gone(const struct watcher *w)
{
    char byte;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(w->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    ssize_t n = info ? recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) : 1;
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* once a second: ends watchers whose client is gone or whose time is over, and sends due comments */
static void look_at_clock(struct follow *f)
{
    time_t now = now_s();
    if (now == f->looked)
        return;
    f->looked = now;
    for (struct watcher *w = f->list, *next; w; w = next) {
        next = w->next;
        bool gone = w->suspended && client_gone(w);
        if (w->ending || (now < w->due && !gone))
            continue;
        if (w->exchange) {
            answer(w);
            continue;
        }
        if (gone) {
            w->ending = true;
            wake(w);
            continue;
        }
        text_add(&w->pending, ": still here\n\n");
        w->ending |= w->pending.size - w->sent > PENDING_MAX;
        w->due = now + FOLLOW_KEEP_ALIVE_S;
        wake(w);
    }
}

/* ---- how many streams a tenant has ---- */

static size_t streams_of(const struct follow *f, const char *tenant)
{
    size_t n = 0;
    for (const struct watcher *at = f->list; at; at = at->next)
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
static void say_streams(struct follow *f, struct queue *q)
{
    stream_list now = {0};
    if (now_s() - f->said_at < SAY_S)
        return;
    f->said_at = now_s();
    pthread_mutex_lock(&f->lock);
    for (const struct watcher *at = f->list; at; at = at->next)
        if (!at->exchange)
            count_stream(&now, at->tenant, 1);
    pthread_mutex_unlock(&f->lock);
    for (size_t i = 0; i < f->said.count; i++)
        if (f->said.at[i].count)
            count_stream(&now, f->said.at[i].tenant, 0);
    if (now.count && queue_streams_beat(q, f->id, now.at, now.count, NULL) != ERROR_OK)
        f->said_at = 0;
    VEC_FREE(&f->said);
    f->said = now;
}

/* Whether the tenant may have one more, counting those at other servers. true while Redis cannot be asked:
 * those here (`here` with the new one) were counted before. */
static bool room_elsewhere(struct follow *f, const char *tenant, size_t here)
{
    bool room = true;
    struct queue *q = pool_take(f->server);
    if (queue_stream_open(q, f->id, tenant, here, FOLLOW_STREAMS_PER_TENANT, &room, NULL) != ERROR_OK)
        room = true;
    pool_give(f->server, q);
    return room;
}

/* ---- the thread ---- */

static int by_job(const void *a, const void *b)
{
    const struct queue_place *p = a, *q = b;
    int order = strcmp(p->job, q->job);
    return order ? order : queue_event_id_compare(p->after, q->after);
}

typedef VEC(struct queue_place) place_list;

/* every watched job once, from the watcher that is furthest behind; waits until there is one */
static bool gather(struct follow *f, place_list *out)
{
    out->count = 0;
    pthread_mutex_lock(&f->lock);
    while (!f->list && !f->said.count && !f->stop)
        pthread_cond_wait(&f->some, &f->lock);
    bool stop = f->stop;
    for (struct watcher *w = f->list; w; w = w->next)
        if (!w->ending)
            VEC_PUSH(out, w->place);
    pthread_mutex_unlock(&f->lock);
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
static enum error_code look(struct follow *f, struct queue *q, const place_list *places, bool *some)
{
    bool alone = places->count <= QUEUE_FOLLOW_MAX;
    *some = false;
    for (size_t i = 0; i < places->count; i += QUEUE_FOLLOW_MAX) {
        struct queue_events l;
        size_t n = places->count - i < QUEUE_FOLLOW_MAX ? places->count - i : QUEUE_FOLLOW_MAX;
        enum error_code code = queue_events_follow(q, places->at + i, n, alone ? BLOCK_MS : 0, &l, NULL);
        if (code != ERROR_OK)
            return code;
        pthread_mutex_lock(&f->lock);
        deliver(f, &l);
        pthread_mutex_unlock(&f->lock);
        *some |= l.count > 0;
        queue_events_release(&l);
    }
    if (!alone && !*some)
        pause_ms(ROUND_MS);
    return ERROR_OK;
}

static void *run(void *user)
{
    struct follow *f = user;
    struct queue *q = pool_take(f->server);
    place_list places = {0};
    while (gather(f, &places)) {
        bool some = false;
        enum error_code code = places.count ? look(f, q, &places, &some) : ERROR_OK;
        pthread_mutex_lock(&f->lock);
        look_at_clock(f);
        pthread_mutex_unlock(&f->lock);
        say_streams(f, q);
        if (code != ERROR_OK)
            pause_ms(RETRY_MS);
        else if (!places.count)
            pause_ms(BLOCK_MS); /* only streams that end are left: their clients still take what is pending */
    }
    VEC_FREE(&places);
    VEC_FREE(&f->said);
    pool_give(f->server, q);
    return NULL;
}

struct follow *follow_create(struct server *s)
{
    struct follow *f = mem_zalloc(1, sizeof *f);
    f->server = s;
    queue_new_id(f->id);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->some, NULL);
    BASE_CHECK(pthread_create(&f->thread, NULL, run, f) == 0);
    return f;
}

void follow_end(struct follow *f)
{
    pthread_mutex_lock(&f->lock);
    f->ended = true;
    for (struct watcher *w = f->list, *next; w; w = next) {
        next = w->next;
        if (w->exchange) {
            answer(w);
        } else {
            w->ending = true;
            wake(w);
        }
    }
    pthread_mutex_unlock(&f->lock);
}

void follow_destroy(struct follow *f)
{
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_cond_signal(&f->some);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    pthread_cond_destroy(&f->some);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

size_t follow_streams(struct follow *f)
{
    pthread_mutex_lock(&f->lock);
    size_t n = f->streams;
    pthread_mutex_unlock(&f->lock);
    return n;
}

/* ---- streams ---- */

/* The library asks for bytes of the reply: gives what is pending, or suspends the connection until there is
 * something. */
static ssize_t read_stream(void *user, uint64_t position, char *out, size_t room)
{
    struct watcher *w = user;
    ssize_t n = 0;
    (void)position;
    pthread_mutex_lock(&w->follow->lock);
    size_t left = w->pending.size - w->sent;
    if (left > 0) {
        n = (ssize_t)(left < room ? left : room);
        memcpy(out, w->pending.at + w->sent, (size_t)n);
        w->sent += (size_t)n;
        if (w->sent == w->pending.size) {
            text_release(&w->pending);
            w->sent = 0;
        }
    } else if (w->ending) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        w->suspended = true;
        MHD_suspend_connection(w->connection);
    }
    pthread_mutex_unlock(&w->follow->lock);
    return n;
}

static void end_stream(void *user)
{
    struct watcher *w = user;
    struct follow *f = w->follow;
    pthread_mutex_lock(&f->lock);
    take_out(w);
    pthread_mutex_unlock(&f->lock);
    text_release(&w->pending);
    free(w);
}

/* The stream is inserted before the limits are asked, so that two at once cannot both be the last one
 * allowed; it is taken out again when there is no room. */
static enum error_code admit(struct follow *f, struct watcher *w, bool ended, struct error *e)
{
    pthread_mutex_lock(&f->lock);
    size_t own = streams_of(f, w->tenant) + 1;
    bool crowded = f->streams >= (size_t)f->server->resources->options->event_streams,
         room = own <= FOLLOW_STREAMS_PER_TENANT;
    w->ending = ended || f->ended;
    bool in = room && !crowded;
    if (in)
        insert(f, w);
    pthread_mutex_unlock(&f->lock);
    if (in && !ended && !room_elsewhere(f, w->tenant, own)) {
        pthread_mutex_lock(&f->lock);
        take_out(w);
        pthread_mutex_unlock(&f->lock);
        room = false;
    }
    if (!room)
        return error_set(e, ERROR_TOO_MANY_STREAMS,
                         "%d event streams are open already; close one, or ask with ?format=json",
                         FOLLOW_STREAMS_PER_TENANT);
    if (crowded)
        return error_set(e, ERROR_UNAVAILABLE,
                         "this server has %d event streams open and takes no more; ask with ?format=json",
                         f->server->resources->options->event_streams);
    return ERROR_OK;
}

enum error_code follow_stream(struct follow *f, struct MHD_Connection *c, const char *tenant,
                              const struct queue_place *place, bool ended, struct text *head,
                              follow_format format, struct MHD_Response **out, struct error *e)
{
    struct watcher *w = mem_zalloc(1, sizeof *w);
    w->place = *place;
    w->connection = c;
    w->format = format;
    w->pending = *head;
    w->due = now_s() + FOLLOW_KEEP_ALIVE_S;
    *head = (struct text){0};
    snprintf(w->tenant, sizeof w->tenant, "%s", tenant);
    enum error_code code = admit(f, w, ended, e);
    if (code != ERROR_OK) {
        text_release(&w->pending);
        free(w);
        return code;
    }
    *out = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK, read_stream, w, end_stream);
    BASE_CHECK(*out);
    return ERROR_OK;
}

/* ---- waiters ---- */

bool follow_wait(struct follow *f, struct exchange *x, const struct queue_place *place, int seconds)
{
    pthread_mutex_lock(&f->lock);
    bool good = !f->ended;
    if (good) {
        struct watcher *w = mem_zalloc(1, sizeof *w);
        w->place = *place;
        w->connection = x->connection;
        w->exchange = x;
        w->suspended = true;
        w->due = now_s() + seconds + 1; /* whole seconds: rather later than early */
        MHD_suspend_connection(x->connection);
        insert(f, w);
    }
    pthread_mutex_unlock(&f->lock);
    return good;
}
