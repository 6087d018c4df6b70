/* A worker: a supervisor that talks to Redis (leases, heartbeat, results) and one exec'd child a thread that
 * computes. A crash of a child costs its task one attempt and nothing else; kill -9 of the supervisor costs
 * at most one task a thread, which others take up when the lease ends. */
#ifndef TOAST_WORKERS_WORKER_H
#define TOAST_WORKERS_WORKER_H

#include "workers/tasks.h"

struct worker_options {
    const char *redis, *store; /* addresses */
    int threads;               /* 1 to 256 */
    int64_t memory_bytes;      /* of a child's own (RLIMIT_DATA); 0: no limit */
    int64_t cache_bytes;       /* what an http store may keep on disk; 0: the default, 2 GB */
    int task_limit_s;          /* a task that takes longer is ended and counts as its own fault; 0: none */
    int nice;                  /* of children: 19, so that heartbeats and HTTP go first */
};
enum { WORKER_MAX_THREADS = 256 };

/* Runs until SIGTERM or SIGINT: finishes or gives back its tasks within 5 s. The program must call
 * worker_child_run when its first argument is "--child" (children are the same program). Returns an exit
 * status. */
int worker_run(const struct worker_options *worker_options, const struct tasks_table *table);
/* argv as worker_run made it: --child MEMORY NICE; descriptor 3 is for tasks, 4 for blobs (store/lent.h) */
int worker_child_run(int argc, char **argv, const struct tasks_table *table);
/* options of toast-worker, then one of the above */
int worker_main(int argc, char **argv, const struct tasks_table *table);

#endif
