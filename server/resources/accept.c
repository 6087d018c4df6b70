/* A queue of submissions and the one thread that sends them to Redis in groups. A submission is answered
 * exactly once, also while the server ends; nothing is kept here beyond that. See accept.h. */
#include "server/resources/accept.h"

struct waiting {
    struct exchange *exchange;
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
static size_t take(struct acceptor *acceptor, struct waiting *out, size_t room)
{
    pthread_mutex_lock(&acceptor->lock);
    while (!acceptor->queue.count && !acceptor->ended)
        pthread_cond_wait(&acceptor->some, &acceptor->lock);
    size_t count = acceptor->queue.count < room ? acceptor->queue.count : room;
    for (size_t i = 0; i < count; i++)
        out[i] = acceptor->queue.at[i];
    acceptor->queue.count -= count;
    for (size_t i = 0; i < acceptor->queue.count; i++)
        acceptor->queue.at[i] = acceptor->queue.at[i + count];
    pthread_mutex_unlock(&acceptor->lock);
    return count;
}

static void *run(void *user)
{
    struct acceptor *acceptor = user;
    struct waiting taken[QUEUE_ACCEPT_MAX];
    struct queue_accepting *items[QUEUE_ACCEPT_MAX];
    struct queue *queue = pool_take(acceptor->server);
    for (size_t count; (count = take(acceptor, taken, QUEUE_ACCEPT_MAX)) > 0;) {
        for (size_t i = 0; i < count; i++)
            items[i] = taken[i].item;
        queue_accept_many(queue, items, count);
        for (size_t i = 0; i < count; i++) /* the item may be gone as soon as its connection goes on */
            exchange_resume(taken[i].exchange);
    }
    pool_give(acceptor->server, queue);
    return NULL;
}

struct acceptor *acceptor_create(struct server *server)
{
    struct acceptor *acceptor = mem_zalloc(1, sizeof *acceptor);
    acceptor->server = server;
    pthread_mutex_init(&acceptor->lock, NULL);
    pthread_cond_init(&acceptor->some, NULL);
    BASE_CHECK(pthread_create(&acceptor->thread, NULL, run, acceptor) == 0);
    return acceptor;
}

void acceptor_end(struct acceptor *acceptor)
{
    if (!acceptor || acceptor->ended)
        return;
    pthread_mutex_lock(&acceptor->lock);
    acceptor->ended = true;
    pthread_cond_signal(&acceptor->some);
    pthread_mutex_unlock(&acceptor->lock);
    pthread_join(acceptor->thread, NULL);
}

void acceptor_destroy(struct acceptor *acceptor)
{
    if (!acceptor)
        return;
    acceptor_end(acceptor);
    VEC_FREE(&acceptor->queue);
    pthread_cond_destroy(&acceptor->some);
    pthread_mutex_destroy(&acceptor->lock);
    free(acceptor);
}

bool acceptor_add(struct acceptor *acceptor, struct exchange *exchange, struct queue_accepting *item)
{
    pthread_mutex_lock(&acceptor->lock);
    bool good = !acceptor->ended;
    if (good) {
        exchange->waiting = true;
        exchange_suspend(exchange); /* before the thread can see it */
        VEC_PUSH(&acceptor->queue, ((struct waiting){exchange, item}));
        pthread_cond_signal(&acceptor->some);
    }
    pthread_mutex_unlock(&acceptor->lock);
    return good;
}
