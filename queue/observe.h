/* What operators look at: workers, who holds which task, Redis itself. Reading only; each call is a few plain
 * commands and may see a moment between two transitions. Errors as in queue.h. */
#ifndef TOAST_QUEUE_OBSERVE_H
#define TOAST_QUEUE_OBSERVE_H

#include "queue/queue.h"

enum { QUEUE_WORKER_SIZE = 80 };

/* A task that somebody holds. */
struct queue_held {
    /* worker: "" when it was just given back */
    char job[QUEUE_ID_SIZE], kind[32], worker[QUEUE_WORKER_SIZE];
    int slot; /* the worker's child; -1 unknown */
    uint32_t epoch, index;
    long long since_ms, until_ms; /* when it was taken (0: unknown), end of the lease; Redis' clock */
};
struct queue_held_list {
    struct queue_held *at; /* owned; by end of lease */
    size_t count;
};
/* job: NULL for all. At most 1000. */
enum error_code queue_held_tasks(struct queue *queue, const char *job, struct queue_held_list *out,
                                 struct error *e) BASE_CHECKED;
void queue_held_release(struct queue_held_list *held_list);

struct queue_worker {
    char name[QUEUE_WORKER_SIZE];
    struct queue_fields fields; /* build, host, threads, beat (ms, Redis' clock) .. */
    bool draining;              /* takes no more tasks (queue_drain) */
};
struct queue_workers {
    struct queue_worker *at; /* owned; by name */
    size_t count;
};
enum error_code queue_workers(struct queue *queue, struct queue_workers *out, struct error *e) BASE_CHECKED;
void queue_workers_release(struct queue_workers *workers);

/* A task that a worker finished (queue/library_history.lua). */
struct queue_done {
    char kind[32], worker[QUEUE_WORKER_SIZE];
    int slot;
    uint32_t epoch, index;
    long long from_ms, until_ms; /* Redis' clock; from 0: unknown */
};
struct queue_done_list {
    struct queue_done *at; /* owned; by end */
    size_t count;
};
/* the last finished tasks of a job, about 400 at most; none once it is archived (server/resources/history.h
 * has them then) */
enum error_code queue_done_tasks(struct queue *queue, const char *job, struct queue_done_list *out,
                                 struct error *e) BASE_CHECKED;
void queue_done_release(struct queue_done_list *done_list);

/* Redis as the dashboard shows it. */
struct queue_redis {
    char version[24];
    long long used_bytes, limit_bytes, uptime_s, clients, commands_per_s, aof_bytes;
    bool append_only, aof_good; /* the last write and rewrite of the AOF succeeded */
    double ping_s;              /* one round trip */
    long long now_ms;           /* Redis' clock */
};
enum error_code queue_redis_state(struct queue *queue, struct queue_redis *out, struct error *e) BASE_CHECKED;

#endif
