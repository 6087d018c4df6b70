/* A worker's child: takes tasks from the socket, has them done (answer.c), sends the answer. It is confined
 * (base/confine.h): no files, no connections, no processes; blobs are lent to it by its slot (store/lent.h).
 * A second thread reads the socket, so that a cancel reaches a running task and the supervisor's death ends
 * the child. */
#include "workers/worker.h"

#include "base/confine.h"
#include "base/hash.h"
#include "store/lent.h"
#include "workers/frame.h"
#include "workers/internal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct child {
    struct answerer answerer; /* on the main thread */
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct frame task; /* under lock; valid when has_task */
    bool has_task;
    atomic_bool stop;
};

static void *read_socket(void *user)
{
    struct child *child = user;
    struct frame frame;
    while (frame_read(WORKER_SOCKET, &frame, NULL) == ERROR_OK) {
        if (strcmp(queue_field(&frame.fields, "op"), "cancel") == 0) {
            atomic_store(&child->stop, true);
            frame_release(&frame);
            continue;
        }
        pthread_mutex_lock(&child->lock);
        atomic_store(&child->stop, false);
        child->task = frame;
        child->has_task = true;
        pthread_cond_signal(&child->arrived);
        pthread_mutex_unlock(&child->lock);
    }
    _exit(0); /* the supervisor is gone or closed our socket */
}

static bool stopping(void *user)
{
    return atomic_load(&((struct child *)user)->stop);
}

static void handle(struct child *child, const struct frame *frame)
{
    struct error e;
    struct frame answer = {0};
    answer_task(&child->answerer, frame, &answer);
    if (frame_write(WORKER_SOCKET, &answer, &e) != ERROR_OK)
        _exit(0);
    frame_release(&answer);
}

static void exhausted(size_t bytes)
{
    _exit(WORKER_EXIT_MEMORY); /* from any thread: the supervisor reports the job's end */
}

/* RLIMIT_DATA counts private writable memory (Linux 4.7), not mapped blobs, stacks of others or address space
 */
static void limit_memory(long long bytes)
{
    struct rlimit limit = {.rlim_cur = (rlim_t)bytes, .rlim_max = (rlim_t)bytes};
    mem_on_exhaustion(exhausted);
    if (bytes && setrlimit(RLIMIT_DATA, &limit) != 0)
        fprintf(stderr, "toast-worker: the memory limit cannot be set: %s\n", strerror(errno));
}

/* what libraries open or ask for at their first use, before nothing can be opened any more */
static void warm_up(const struct child *child)
{
    struct error none = {.code = ERROR_INTERNAL};
    uint8_t digest[32];
    sha256_bytes("", 0, digest);
    if (child->answerer.table->error_json)
        free(child->answerer.table->error_json(&none));
}

int worker_child_run(int argc, char **argv, const struct tasks_table *table)
{
    struct child *child = mem_zalloc(1, sizeof *child);
    pthread_t reader;
    if (argc != 4 || close_range(WORKER_BLOBS + 1, ~0u, 0) != 0)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    limit_memory(strtoll(argv[2], NULL, 10));
    setpriority(PRIO_PROCESS, 0, atoi(argv[3]));
    child->answerer = (struct answerer){.table = table, .stopping = stopping, .user = child};
    pthread_mutex_init(&child->lock, NULL);
    pthread_cond_init(&child->arrived, NULL);
    store_lent_create(WORKER_BLOBS, &child->answerer.store);
    warm_up(child);
    /* no thread can be made behind the filter */
    bool confined = confine_files(NULL) == 0;
    int failed = confined ? pthread_create(&reader, NULL, read_socket, child) : 0;
    if (failed) {
        fprintf(stderr, "toast-worker: a child's thread cannot be started: %s\n", strerror(failed));
        return 1;
    }
    if (!confined || confine_calls() != 0) {
        fprintf(stderr, "toast-worker: this kernel does not let a child be confined\n");
        return 1;
    }
    for (;;) {
        pthread_mutex_lock(&child->lock);
        while (!child->has_task)
            pthread_cond_wait(&child->arrived, &child->lock);
        struct frame frame = child->task;
        child->has_task = false;
        pthread_mutex_unlock(&child->lock);
        handle(child, &frame);
        frame_release(&frame);
    }
}
