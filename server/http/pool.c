/* Connections to Redis for threads that need one for a moment. A connection is made when none is idle and
 * kept afterwards; taking never waits and never fails (who uses a dead one gets the error). */
#include "server/http/http.h"

enum { IDLE_MAX = 32 }; /* kept open; half of THREADS_MAX in serve.c rarely ask at the same time */

struct queue *pool_take(struct server *s)
{
    struct queue *q = NULL;
    pthread_mutex_lock(&s->pool_lock);
    if (s->pool.count)
        q = s->pool.at[--s->pool.count];
    pthread_mutex_unlock(&s->pool_lock);
    /* the address was checked at start: creation cannot fail */
    if (!q)
        BASE_CHECK(queue_create(s->redis, &q, NULL) == ERROR_OK);
    return q;
}

void pool_give(struct server *s, struct queue *q)
{
    pthread_mutex_lock(&s->pool_lock);
    bool keep = s->pool.count < IDLE_MAX;
    if (keep)
        VEC_PUSH(&s->pool, q);
    pthread_mutex_unlock(&s->pool_lock);
    if (!keep)
        queue_destroy(q);
}

void pool_release(struct server *s)
{
    for (size_t i = 0; i < s->pool.count; i++)
        queue_destroy(s->pool.at[i]);
    VEC_FREE(&s->pool);
}
