/* A queue of submissions and the one thread that sends them to Redis in groups. A submission is answered
 * exactly once, also while the server ends; nothing is kept here beyond that. See accept.h. */
#include "server/resources/accept.h"

struct waiting {
    struct MHD_Connection *connection;
    struct queue_accepting *item;
};

struct acceptor {
    struct server *server;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t some;
    VEC(struct waiting) queue; /* in the order of arrival */
    bool ended;                /* by acceptor_end alone */
    pthread_t thread;
};

/* At most `room` of what waits, oldest first; 0: the server is ending and nothing waits. */
static size_t take(struct acceptor *a, struct waiting *out, size_t room)
{
    pthread_mutex_lock(&a->lock);
    while (!a->queue.count && !a->ended)
        pthread_cond_wait(&a->some, &a->lock);
    size_t count = a->queue.count < room ? a->queue.count : room;
    for (size_t i = 0; i < count; i++)
        out[i] = a->queue.at[i];
    a->queue.count -= count;
    for (size_t i = 0; i < a->queue.count; i++)
        a->queue.at[i] = a->queue.at[i + count];
    pthread_mutex_unlock(&a->lock);
    return count;
}

static void *run(void *user)
{
    struct acceptor *a = user;
    struct waiting taken[QUEUE_ACCEPT_MAX];
    struct queue_accepting *items[QUEUE_ACCEPT_MAX];
    struct queue *q = pool_take(a->server);
    for (size_t count; (count = take(a, taken, QUEUE_ACCEPT_MAX)) > 0;) {
        for (size_t i = 0; i < count; i++)
            items[i] = taken[i].item;
        queue_accept_many(q, items, count);
        for (size_t i = 0; i < count; i++) /* the item may be gone as soon as its connection goes on */
            MHD_resume_connection(taken[i].connection);
    }
    pool_give(a->server, q);
    return NULL;
}

struct acceptor *acceptor_create(struct server *s)
{
    struct acceptor *a = mem_zalloc(1, sizeof *a);
    a->server = s;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->some, NULL);
    BASE_CHECK(pthread_create(&a->thread, NULL, run, a) == 0);
    return a;
}

void acceptor_end(struct acceptor *a)
{
    if (!a || a->ended)
        return;
    pthread_mutex_lock(&a->lock);
    a->ended = true;
    pthread_cond_signal(&a->some);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
}

void acceptor_destroy(struct acceptor *a)
{
    if (!a)
        return;
    acceptor_end(a);
    VEC_FREE(&a->queue);
    pthread_cond_destroy(&a->some);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

bool acceptor_add(struct acceptor *a, struct exchange *x, struct queue_accepting *item)
{
    pthread_mutex_lock(&a->lock);
    bool good = !a->ended;
    if (good) {
        x->waiting = true;
        MHD_suspend_connection(x->connection); /* before the thread can see it */
        VEC_PUSH(&a->queue, ((struct waiting){x->connection, item}));
        pthread_cond_signal(&a->some);
    }
    pthread_mutex_unlock(&a->lock);
    return good;
}
