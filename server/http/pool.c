/* Connections to Redis for threads that need one for a moment. A connection is made when none is idle and
 * kept afterwards; taking never waits and never fails (who uses a dead one gets the error). */
#include "server/http/http.h"

enum { IDLE_MAX = 32 }; /* kept open; half of THREADS_MAX in serve.c rarely ask at the same time */

struct queue *pool_take(struct server *server)
{
    struct queue *queue = NULL;
    pthread_mutex_lock(&server->pool_lock);
    if (server->pool.count)
        queue = server->pool.at[--server->pool.count];
    pthread_mutex_unlock(&server->pool_lock);
    /* the address was checked at start: creation cannot fail */
    if (!queue)
        BASE_CHECK(queue_create(server->redis, &queue, NULL) == ERROR_OK);
    return queue;
}

void pool_give(struct server *server, struct queue *queue)
{
    pthread_mutex_lock(&server->pool_lock);
    bool keep = server->pool.count < IDLE_MAX;
    if (keep)
        VEC_PUSH(&server->pool, queue);
    pthread_mutex_unlock(&server->pool_lock);
    if (!keep)
        queue_destroy(queue);
}

void pool_release(struct server *server)
{
    for (size_t i = 0; i < server->pool.count; i++)
        queue_destroy(server->pool.at[i]);
    VEC_FREE(&server->pool);
}
