/* A queue on a Redis server of its own, fresh for each test (setup, teardown); a test that leaves the
 * queue's invariants violated fails. */
#ifndef TOAST_TESTS_QUEUE_FIXTURE_H
#define TOAST_TESTS_QUEUE_FIXTURE_H

#include "redis_server.h"

#include "queue/audit.h"
#include "queue/queue.h"
#include "queue/redis.h"

struct fixture {
    struct redis_server redis;
    struct queue *queue;
    struct redis *raw; /* for what the queue has no call for */
};

static inline int setup(void **state)
{
    struct fixture *fixture = mem_zalloc(1, sizeof *fixture);
    struct error e;
    redis_server_create(&fixture->redis);
    ASSERT_OK(queue_create(fixture->redis.address, &fixture->queue, &e), &e);
    ASSERT_OK(redis_create(fixture->redis.address, &fixture->raw, &e), &e);
    *state = fixture;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *fixture = *state;
    struct queue_audit audit;
    struct error e;
    ASSERT_OK(queue_audit_run(fixture->queue, NULL, 0, &audit, &e), &e);
    for (size_t i = 0; i < audit.violations.count; i++)
        fprintf(stderr, "%d %s %s\n", audit.violations.at[i].invariant, audit.violations.at[i].subject,
                audit.violations.at[i].text);
    int violated = audit.violations.count != 0;
    queue_audit_release(&audit);
    queue_destroy(fixture->queue);
    redis_destroy(fixture->raw);
    redis_server_destroy(&fixture->redis);
    free(fixture);
    return violated;
}

/* a task's end; true: *next was claimed with it */
static inline bool done(struct queue *queue, const struct queue_task *task, const char *digest,
                        const char *token, struct queue_task *next)
{
    struct error e;
    bool found;
    ASSERT_OK(queue_task_done(queue, task, digest, digest, strlen(digest), token, next, &found, &e), &e);
    return found;
}

#endif
