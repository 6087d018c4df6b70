/* Threads that live as long as one call (threads.h). */
#include "base/threads.h"

#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct thread {
    pthread_t id;
    bool started;
    void (*work)(void *user, uint32_t number);
    void *user;
    uint32_t number;
};

static void *enter(void *arg)
{
    struct thread *thread = arg;
    thread->work(thread->user, thread->number);
    return NULL;
}

void threads_run(uint32_t count, void (*work)(void *user, uint32_t number), void *user)
{
    struct thread threads[THREADS_MOST];
    BASE_CHECK(count >= 1 && count <= THREADS_MOST);
    for (uint32_t i = 1; i < count; i++) {
        threads[i] = (struct thread){.work = work, .user = user, .number = i};
        threads[i].started = pthread_create(&threads[i].id, NULL, enter, &threads[i]) == 0;
    }
    work(user, 0);
    for (uint32_t i = 1; i < count; i++)
        if (threads[i].started)
            pthread_join(threads[i].id, NULL);
        else
            work(user, i);
}

struct shared {
    atomic_bool *taken; /* by i */
    uint32_t threads, count;
    void (*one)(void *user, uint32_t number, uint32_t i);
    void *user;
};

static void take(struct shared *shared, uint32_t number, uint32_t i)
{
    if (!atomic_exchange(&shared->taken[i], true))
        shared->one(shared->user, number, i);
}

static void work_off(void *user, uint32_t number)
{
    struct shared *shared = user;
    for (uint32_t i = number; i < shared->count; i += shared->threads)
        take(shared, number, i);
    for (uint32_t i = shared->count; i-- > 0;)
        take(shared, number, i);
}

void threads_share(uint32_t threads, uint32_t count, void (*one)(void *user, uint32_t number, uint32_t i),
                   void *user)
{
    struct shared shared = {mem_zalloc((size_t)count + 1, sizeof *shared.taken), threads, count, one, user};
    threads_run(threads < count ? threads : count ? count : 1, work_off, &shared);
    free(shared.taken);
}
