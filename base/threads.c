/* Threads that live as long as one call (threads.h). */
#include "base/threads.h"

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>

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
