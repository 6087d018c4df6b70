/* Threads for what may wait for a disk: hashing and writing of uploads, fsync, and every handler of a request
 * with a body. The connections' own threads hand an exchange over and go on with others, so that /livez and
 * small requests answer while gigabytes are written.
 *
 *   connection's thread: exchange_suspend, into the queue
 *       v
 *   a thread here: work (a piece of a body; or the handler, whose reply is kept)
 *       v exchange_resume, unless the work handed the exchange on to somebody who will
 *   connection's thread: the reply is queued with the library
 *
 * There are two queues, each with threads of its own: pieces of large bodies and their ends, which may take
 * seconds, never stand before small requests. The threads for large bodies run at a lower priority. At any
 * time one thread has an exchange; the queues' locks order what they see. A connection has at most one entry
 * in them, so their length is bounded by that of the connections. Never answers by itself. */
#include "server/http/http.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    THREADS = 4,     /* of each queue; most of their time they wait for a disk or for Redis */
    LARGE_NICE = 10, /* threads that hash: below those of connections */
    KEEP = 256       /* entries that were taken stand in the list for so long */
};

struct task {
    struct exchange *exchange;
    void (*work)(struct exchange *exchange);
};

struct lane {
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t some;
    VEC(struct task) queue; /* from first on, in the order of arrival */
    size_t first;
    bool ended;
    int nice;
    pthread_t threads[THREADS];
};

struct offload {
    struct lane small, large;
};

void exchange_suspend(struct exchange *exchange)
{
    if (atomic_fetch_add(&exchange->holds, 1) == 0)
        MHD_suspend_connection(exchange->connection);
}

void exchange_resume(struct exchange *exchange)
{
    struct MHD_Connection *connection = exchange->connection;
    if (atomic_fetch_sub(&exchange->holds, 1) == 1)
        MHD_resume_connection(connection);
}

/* false: the lane has ended and is empty */
static bool take(struct lane *lane, struct task *out)
{
    pthread_mutex_lock(&lane->lock);
    while (lane->first == lane->queue.count && !lane->ended)
        pthread_cond_wait(&lane->some, &lane->lock);
    bool some = lane->first < lane->queue.count;
    if (some)
        *out = lane->queue.at[lane->first++];
    if (lane->first == lane->queue.count || lane->first == KEEP) { /* what was taken leaves the list */
        lane->queue.count -= lane->first;
        memmove(lane->queue.at, lane->queue.at + lane->first, lane->queue.count * sizeof *lane->queue.at);
        lane->first = 0;
    }
    pthread_mutex_unlock(&lane->lock);
    return some;
}

static void *run(void *user)
{
    struct lane *lane = user;
    struct task task = {0};
    if (lane->nice) /* of this thread alone, as Linux has it */
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), lane->nice);
    while (take(lane, &task)) {
        task.work(task.exchange);
        task.exchange->offloaded = false;
        exchange_resume(task.exchange);
    }
    return NULL;
}

static void lane_start(struct lane *lane, int nice)
{
    lane->nice = nice;
    pthread_mutex_init(&lane->lock, NULL);
    pthread_cond_init(&lane->some, NULL);
    for (int i = 0; i < THREADS; i++)
        BASE_CHECK(pthread_create(&lane->threads[i], NULL, run, lane) == 0);
}

static void lane_end(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    bool first = !lane->ended;
    lane->ended = true;
    pthread_cond_broadcast(&lane->some);
    pthread_mutex_unlock(&lane->lock);
    for (int i = 0; first && i < THREADS; i++)
        pthread_join(lane->threads[i], NULL);
}

static void lane_release(struct lane *lane)
{
    VEC_FREE(&lane->queue);
    pthread_cond_destroy(&lane->some);
    pthread_mutex_destroy(&lane->lock);
}

struct offload *offload_create(void)
{
    struct offload *offload = mem_zalloc(1, sizeof *offload);
    lane_start(&offload->small, 0);
    lane_start(&offload->large, LARGE_NICE);
    return offload;
}

void offload_end(struct offload *offload)
{
    if (!offload)
        return;
    lane_end(&offload->large);
    lane_end(&offload->small);
}

void offload_destroy(struct offload *offload)
{
    if (!offload)
        return;
    offload_end(offload);
    lane_release(&offload->large);
    lane_release(&offload->small);
    free(offload);
}

bool offload_add(struct offload *offload, struct exchange *exchange, bool large,
                 void (*work)(struct exchange *exchange))
{
    struct lane *lane = large ? &offload->large : &offload->small;
    pthread_mutex_lock(&lane->lock);
    bool good = !lane->ended;
    if (good) {
        exchange->offloaded = true;
        exchange_suspend(exchange); /* before a thread can see it */
        VEC_PUSH(&lane->queue, ((struct task){exchange, work}));
        pthread_cond_signal(&lane->some);
    }
    pthread_mutex_unlock(&lane->lock);
    return good;
}
