/* Jobs in Redis: what the server submits and shows and what workers claim and finish. The transitions
 * themselves are queue/library.lua, which says what each key holds; here are their typed calls. A queue is
 * one connection and belongs to one thread at a time. Every call may give ERROR_UNAVAILABLE (Redis out of
 * reach, loading, out of memory). */
#ifndef TOAST_QUEUE_QUEUE_H
#define TOAST_QUEUE_QUEUE_H

#include "base/error.h"
#include "base/memory.h"

#define QUEUE_FIRST_KIND "read" /* the first task of every planning job (workers/planner.c) */

struct queue;
enum error_code queue_create(const char *redis_address, struct queue **out, struct error *e) BASE_CHECKED;
void queue_destroy(struct queue *q);
unsigned long queue_reconnects(const struct queue *q);

/* Fields of a hash, binary-safe: owned names and values (values are NUL-terminated after `size` bytes). */
struct queue_field {
    char *name, *value;
    size_t size;
};
struct queue_fields {
    struct queue_field *at;
    size_t count;
};
const char *queue_field(const struct queue_fields *f, const char *name); /* "" when absent; borrowed */
long long queue_number(const struct queue_fields *f, const char *name);  /* 0 when absent */
void queue_fields_release(struct queue_fields *f);

struct queue_pair {
    const char *name, *value;
}; /* borrowed */

enum { QUEUE_ID_SIZE = 29 }; /* "j_" + 26 base-32 digits (10 of time, 16 random) + NUL */
void queue_new_id(char out[QUEUE_ID_SIZE]);
bool queue_id_valid(const char *id);

/* Submits. `fields` go into the job as they are (request, module, digest, labels ..); deadline_ms 0 = none;
 * open_limit 0 = none. *existed: a job with this id was there and nothing changed. ERROR_CONFLICT: open_limit
 * reached. */
struct queue_submission {
    const char *id, *tenant, *first_kind;
    long long deadline_ms;
    int open_limit;
    const struct queue_pair *fields;
    size_t field_count;
};
enum error_code queue_submit(struct queue *q, const struct queue_submission *s, bool *existed,
                             struct error *e) BASE_CHECKED;

/* ERROR_NOT_FOUND */
enum error_code queue_job(struct queue *q, const char *id, struct queue_fields *out,
                          struct error *e) BASE_CHECKED;
/* newest first, created strictly before (before_ms, before_id) when before_ms > 0; ids owned, at most `limit`
 */
struct queue_page {
    char (*ids)[QUEUE_ID_SIZE];
    long long *created_ms;
    size_t count;
};
enum error_code queue_list(struct queue *q, const char *tenant, long long before_ms, const char *before_id,
                           size_t limit, struct queue_page *out, struct error *e) BASE_CHECKED;
void queue_page_release(struct queue_page *p);
/* ERROR_NOT_FOUND; *state is the new state (borrowed, static); *terminal: it had ended before and nothing
 * changed */
enum error_code queue_cancel(struct queue *q, const char *id, bool discard, char state[32], bool *terminal,
                             struct error *e) BASE_CHECKED;

/* A claimed task. job: the job's hash. */
struct queue_task {
    char *member, *token; /* owned */
    char id[QUEUE_ID_SIZE], kind[32];
    uint32_t epoch, index;
    struct queue_fields job;
};
void queue_task_release(struct queue_task *t);

/* waits at most `wait_ms` (<= 1000) for the doorbell */
enum error_code queue_wait(struct queue *q, int wait_ms, struct error *e) BASE_CHECKED;
/* last: tenant of the task that this worker did before, or "": it stays with it for a slice of time. *found false:
 * nothing to do for this build */
enum error_code queue_claim(struct queue *q, const char *token, const char *build, const char *last,
                            struct queue_task *out, bool *found, struct error *e) BASE_CHECKED;
/* What the tasks of step epoch - 1 left, by index: names are decimal indices. */
enum error_code queue_results(struct queue *q, const char *id, uint32_t epoch, struct queue_fields *out,
                              struct error *e) BASE_CHECKED;
struct queue_lease {
    const char *member, *token;
    bool held;
}; /* held: out */
/* *drain: somebody asked this worker to take no more tasks */
enum error_code queue_beat(struct queue *q, const char *worker, const char *build, const char *host,
                           int threads, struct queue_lease *leases, size_t count, bool *drain,
                           struct error *e) BASE_CHECKED;
/* For a worker that found nothing to claim: a task of a step that somebody has held for several times as long
 * as the step's other tasks took, to do it a second time. The first result is kept, the other compared with
 * it. */
enum error_code queue_assist(struct queue *q, const char *token, const char *build, struct queue_task *out,
                             bool *found, struct error *e) BASE_CHECKED;
/* asks a worker (as {t}:workers names it) to take no more tasks, or takes that back; *known: it beats */
enum error_code queue_drain(struct queue *q, const char *worker, bool drain, bool *known,
                            struct error *e) BASE_CHECKED;

/* One task of several. *found: the step is complete and its join is claimed for next_token. */
enum error_code queue_task_done(struct queue *q, const struct queue_task *t, const char *digest,
                                const void *payload, size_t size, const char *next_token,
                                struct queue_task *next, bool *found, struct error *e) BASE_CHECKED;
/* The only task of its step says what follows. *found false: this worker was too late, nothing changed. */
struct queue_step {
    const char *kind, *join,
        *wrap; /* join: after several tasks; wrap: writes artifacts when stopped early, or "" */
    uint32_t tasks;
    const char *state, *progress; /* progress: JSON text or "" to keep it */
    uint64_t rollouts;
    const struct queue_pair *fields; /* b:<name>, a:<name> */
    size_t field_count;
};
enum error_code queue_commit(struct queue *q, const struct queue_task *t, const struct queue_step *s,
                             const char *next_token, struct queue_task *next, bool *found,
                             struct error *e) BASE_CHECKED;
/* state: succeeded or failed; error: JSON text or "". *fenced: too late, nothing changed. */
enum error_code queue_finish(struct queue *q, const struct queue_task *t, const char *state,
                             const char *error_json, const char *progress, const struct queue_pair *fields,
                             size_t field_count, bool *fenced, struct error *e) BASE_CHECKED;
enum error_code queue_release(struct queue *q, const struct queue_task *t, struct error *e) BASE_CHECKED;
/* The task killed its process; the third time ends the job as dead. random: any number, chooses the pause
 * before the next attempt (1 s to 4^deaths s, at most 60 s). */
enum error_code queue_died(struct queue *q, const struct queue_task *t, const char *error_json,
                           uint32_t random, struct error *e) BASE_CHECKED;
/* something that earlier steps left is gone: the job starts over, or is dead after five attempts */
enum error_code queue_reset(struct queue *q, const struct queue_task *t, const char *error_json,
                            struct error *e) BASE_CHECKED;
enum error_code queue_reap(struct queue *q, struct error *e) BASE_CHECKED;

/* counters of {t}:n, plus "run" (jobs with claimable tasks), "leases", "workers" and "queue_age_ms" (oldest
 * of run) */
enum error_code queue_counters(struct queue *q, struct queue_fields *out, struct error *e) BASE_CHECKED;
/* What readiness needs of Redis' settings. */
struct queue_health {
    bool primary, append_only, append_always, no_eviction, memory_bounded;
    long long used_bytes, limit_bytes;
};
enum error_code queue_check(struct queue *q, struct queue_health *out, struct error *e) BASE_CHECKED;

#endif
