/* clang-format off */
/* Jobs in Redis: what the server submits and shows, and what workers claim and finish. The transitions are
 * functions of queue/library.lua, each atomic and idempotent; its opening says what every key holds. Here
 * are their typed calls.
 *
 *                      submit                       claim
 *   (queue_accept) ------------->  queued  -------------------->  validating
 *                                    ^                               |  queue_commit names the next state
 *                 queue_retry        |                               v
 *        failed, dead ---------------+                     the states of the job's steps
 *                                                                    |
 *        queue_cancel: cancelling, deadline: finalizing  <-----------+
 *        (the best so far is written, then the job ends)             |  queue_finish, queue_died, queue_reset
 *                        |                                           v
 *                        +----------------->  succeeded  failed  expired  cancelled  dead
 *                                                                    |
 *                            {t}:j:<id>  --archive-->  a blob and {t}:o:<id>  --purge-->  {t}:o:<id>, gone
 *
 * A job is a chain of steps, a step one task or several. A worker holds a task by a lease:
 *
 *   claimable {t}:p:<id>  --claim(token)-->  held {t}:k:<id>:<epoch> o:<i>  --task_done, finish, ..-->  done
 *        ^                                         |
 *        +---- release, died, or the lease in {t}:lease ends without a beat (queue_reap) ----+
 *
 * A commit or finish counts only while the task is held under the caller's token: whoever lost the lease is
 * too late and changes nothing. Every claim of a step's only task raises the job's `fence`; the event that a
 * commit writes names it, and the audit checks that fences of one job only rise (audit.h).
 *
 * A queue is one connection and belongs to one thread at a time. Every call may give ERROR_UNAVAILABLE
 * (Redis is out of reach, loading, or out of memory); others are named where they occur. Source: Redis 7
 * "Redis functions". */
/* clang-format on */
#ifndef TOAST_QUEUE_QUEUE_H
#define TOAST_QUEUE_QUEUE_H

#include "base/error.h"
#include "base/memory.h"

#define QUEUE_FIRST_KIND "read"      /* the first task of every planning job (workers/planner.c) */
#define QUEUE_PROBLEM_KIND "problem" /* of every contest problem's (workers/problems.c) */

struct queue;
enum error_code queue_create(const char *redis_address, struct queue **out, struct error *e) BASE_CHECKED;
void queue_destroy(struct queue *queue);
unsigned long queue_reconnects(const struct queue *queue);
unsigned long queue_reconnects_total(void); /* of all queues of this process */

/* Fields of a hash, binary-safe: owned names and values (values are NUL-terminated after `size` bytes). */
struct queue_field {
    char *name, *value;
    size_t size;
};
struct queue_fields {
    struct queue_field *at;
    size_t count;
};
const char *queue_field(const struct queue_fields *fields, const char *name); /* "" when absent; borrowed */
long long queue_number(const struct queue_fields *fields, const char *name);  /* 0 when absent */
void queue_fields_release(struct queue_fields *fields);

/* borrowed texts */
struct queue_pair {
    const char *name, *value;
};

enum { QUEUE_ID_SIZE = 29 }; /* "j_" + 26 base-32 digits (10 of time, 16 random) + NUL */
/* Later ids of one process are greater, also within a millisecond and whichever threads ask, unless the
 * clock is set back: where jobs are listed by time, they break ties. */
void queue_new_id(char out[QUEUE_ID_SIZE]);
bool queue_id_valid(const char *id); /* of this form */
/* The id of a job whose name the client chose: "c_" + 26 digits of SHA-256(tenant, name). Another tenant's
 * job of the same name is another job, and no name gives an id that queue_new_id makes. */
void queue_named_id(const char *tenant, const char *name, char out[QUEUE_ID_SIZE]);

/* Submits. `fields` go into the job as they are (request, module, digest, labels ..); deadline_ms 0 = none;
 * open_limit 0 = none; the texts after it may be NULL (none). */
struct queue_submission {
    const char *id, *tenant, *first_kind;
    long long deadline_ms;
    int open_limit, submits_per_s; /* of the tenant; 0: none */
    const struct queue_pair *fields;
    size_t field_count;
    const char *name;   /* chosen by the client; id is then its queue_named_id */
    const char *key;    /* hash of an idempotency key, kept 24 h */
    const char *print;  /* what the request is: a repeat has the same */
    const char *digest; /* answer from a finished job of this tenant and digest */
    const char *source; /* archived job that answers; its fields: */
    const struct queue_fields *source_fields;
    const char *module; /* digest of a module that the tenant must have */
};
enum queue_outcome {
    QUEUE_ACCEPTED,
    QUEUE_EXISTS,    /* a job with this id and print was there */
    QUEUE_REPLAYED,  /* a job that this key and print made */
    QUEUE_OTHER,     /* a job with this id and another print was there */
    QUEUE_MISMATCH,  /* the key was used for another print */
    QUEUE_GONE,      /* the id's job was there and is forgotten */
    QUEUE_FULL,      /* open_limit */
    QUEUE_FAST,      /* submits_per_s; five seconds' worth may come at once */
    QUEUE_NO_MODULE, /* the tenant does not have `module` */
    QUEUE_ARCHIVED,  /* the answer is in `blob` of job `id`: read it and submit again with it as source */
};
struct queue_accepted {
    enum queue_outcome outcome;
    char id[QUEUE_ID_SIZE], blob[65];
    /* QUEUE_ACCEPTED: what queue_job would give; else empty. Owned by the caller. */
    struct queue_fields job;
};
enum error_code queue_accept(struct queue *queue, const struct queue_submission *submission,
                             struct queue_accepted *out, struct error *e) BASE_CHECKED;
/* Several at once, in one round trip; each has its own outcome. */
struct queue_accepting {
    const struct queue_submission *submission; /* borrowed */
    struct queue_accepted accepted;            /* and these two: out */
    enum error_code code;
    struct error error;
};
enum { QUEUE_ACCEPT_MAX = 64 }; /* some 5 ms of Redis' time */
void queue_accept_many(struct queue *queue, struct queue_accepting *const *items, size_t count);
/* The same where only that much matters: *existed: a job with this id was there and nothing changed.
 * ERROR_TOO_MANY_JOBS: open_limit reached; ERROR_TOO_FAST. */
enum error_code queue_submit(struct queue *queue, const struct queue_submission *submission, bool *existed,
                             struct error *e) BASE_CHECKED;

/* A job's hash. After archiving: what is left of it (field `blob`, or `state` gone). ERROR_NOT_FOUND */
enum error_code queue_job(struct queue *queue, const char *id, struct queue_fields *out,
                          struct error *e) BASE_CHECKED;

/* Deletes an ended job. tags: entity tags of which one must be the job's ("\"v7\"" or "*"); none: any
 * version. ERROR_NOT_FOUND, ERROR_GONE, ERROR_CONFLICT (has not ended), ERROR_PRECONDITION (none of the tags)
 */
enum error_code queue_delete(struct queue *queue, const char *id, const char *const *tags, size_t tag_count,
                             struct error *e) BASE_CHECKED;
/* A failed or dead job starts again. archived: its fields, when an earlier call said *blob (else NULL);
 * *blob: the job is archived there, nothing changed. ERROR_NOT_FOUND, ERROR_GONE, ERROR_CONFLICT (another
 * state), ERROR_TOO_MANY_JOBS */
enum error_code queue_retry(struct queue *queue, const char *id, int open_limit,
                            const struct queue_fields *archived, char blob[65], struct error *e) BASE_CHECKED;

/* A page of jobs, newest first. Zeroed members filter nothing; labels: name and value. */
struct queue_filter {
    const char *tenant, *state;
    long long from_ms, until_ms; /* created in [from, until) */
    const struct queue_pair *labels;
    size_t label_count;
    long long before_ms; /* the position: strictly before (before_ms, before_id); 0: from the newest */
    char before_id[QUEUE_ID_SIZE];
};
struct queue_page {
    struct queue_listed {
        char id[QUEUE_ID_SIZE];
        struct queue_fields fields; /* as of queue_job */
    } *at;
    size_t count;
    bool more; /* there may be jobs after the page, from: */
    long long last_ms;
    char last_id[QUEUE_ID_SIZE];
};
enum error_code queue_list(struct queue *queue, const struct queue_filter *filter, size_t limit,
                           struct queue_page *out, struct error *e) BASE_CHECKED;
void queue_page_release(struct queue_page *page);

/* How long ended jobs are kept, for all servers and workers; 0: the default (KEEP in queue/library.lua). */
struct queue_times {
    long long archive_ms, keep_ms, keep_dead_ms, gone_ms;
};
enum error_code queue_settings(struct queue *queue, const struct queue_times *times,
                               struct error *e) BASE_CHECKED;
/* ids (owned array) of at most `limit` ended jobs that are to be archived */
enum error_code queue_due(struct queue *queue, size_t limit, char (**ids)[QUEUE_ID_SIZE], size_t *count,
                          struct error *e) BASE_CHECKED;
/* the job of this version is in the store as `blob` */
enum error_code queue_archive(struct queue *queue, const char *id, const char *version, const char *blob,
                              struct error *e) BASE_CHECKED;
/* forgets what is due, some at a time; once a second */
enum error_code queue_tidy(struct queue *queue, struct error *e) BASE_CHECKED;
/* ids (owned array) of all dead jobs, oldest first */
enum error_code queue_dead(struct queue *queue, char (**ids)[QUEUE_ID_SIZE], size_t *count,
                           struct error *e) BASE_CHECKED;
/* a secret that all servers of this Redis share (hex; for page tokens); made by the first */
enum error_code queue_secret(struct queue *queue, char out[65], struct error *e) BASE_CHECKED;

/* ERROR_NOT_FOUND; *state is the new state (borrowed, static); *terminal: it had ended before and nothing
 * changed */
enum error_code queue_cancel(struct queue *queue, const char *id, bool discard, char state[32],
                             bool *terminal, struct error *e) BASE_CHECKED;

/* A claimed task. job: the job's hash. */
struct queue_task {
    char *member, *token; /* owned */
    char id[QUEUE_ID_SIZE], kind[32];
    uint32_t epoch, index;
    struct queue_fields job;
};
void queue_task_release(struct queue_task *task);

/* waits at most `wait_ms` (<= 1000) for the doorbell */
enum error_code queue_wait(struct queue *queue, int wait_ms, struct error *e) BASE_CHECKED;
/* token: SLOT.N, where SLOT is whoever asks, who works on one task at a time, and N rises from one task to
 * the next. A claim whose answer was lost is repeated with the same token, which is given the same task;
 * with a later one, what the slot still holds is taken for lost and given free at once; with an earlier one
 * the request comes too late and finds nothing. A token without N is a slot of its own. last: tenant of the
 * task that this worker did before, or "": it stays with it for a slice of time. *found false: nothing to
 * do for this build */
enum error_code queue_claim(struct queue *queue, const char *token, const char *build, const char *last,
                            struct queue_task *out, bool *found, struct error *e) BASE_CHECKED;
/* Whoever claimed with this token and had no answer wants none any more: a task that the claim was given is
 * given back, and one that arrives later finds nothing. */
enum error_code queue_unclaim(struct queue *queue, const char *token, struct error *e) BASE_CHECKED;
/* What the tasks of step epoch - 1 left, by index: names are decimal indices. */
enum error_code queue_results(struct queue *queue, const char *id, uint32_t epoch, struct queue_fields *out,
                              struct error *e) BASE_CHECKED;
struct queue_lease {
    const char *member, *token;
    bool held; /* out */
};
/* *drain: somebody asked this worker to take no more tasks */
enum error_code queue_beat(struct queue *queue, const char *worker, const char *build, const char *host,
                           int threads, struct queue_lease *leases, size_t count, bool *drain,
                           struct error *e) BASE_CHECKED;
/* For a worker that found nothing to claim: a task of a step that somebody has held for several times as long
 * as the step's other tasks took, to do it a second time. The first result is kept, the other compared with
 * it. */
enum error_code queue_assist(struct queue *queue, const char *token, const char *build,
                             struct queue_task *out, bool *found, struct error *e) BASE_CHECKED;
/* asks a worker (as {t}:workers names it) to take no more tasks, or takes that back; *known: it beats */
enum error_code queue_drain(struct queue *queue, const char *worker, bool drain, bool *known,
                            struct error *e) BASE_CHECKED;

/* One task of several. *found: a task is claimed for next_token: another one of the step when a claim
 * would give that, too, or the join of the step that is complete. next_token "" takes none but the join. */
enum error_code queue_task_done(struct queue *queue, const struct queue_task *task, const char *digest,
                                const void *payload, size_t size, const char *next_token,
                                struct queue_task *next, bool *found, struct error *e) BASE_CHECKED;
/* The only task of its step says what follows. *found false: this worker was too late, nothing changed. */
struct queue_step {
    const char *kind;
    const char *join; /* kind of the task that follows when the step has several */
    const char *wrap; /* kind of the step that writes artifacts when the job is stopped early; "" */
    uint32_t tasks;
    const char *state, *progress; /* progress: JSON text or "" to keep it */
    /* of the job so far; dropped: statistics that did not fit (toast_edges_dropped_total) */
    uint64_t rollouts, dropped;
    const struct queue_pair *fields; /* b:<name>, a:<name> */
    size_t field_count;
};
enum error_code queue_commit(struct queue *queue, const struct queue_task *task,
                             const struct queue_step *step, const char *next_token, struct queue_task *next,
                             bool *found, struct error *e) BASE_CHECKED;
/* state: succeeded or failed; error: JSON text or "". *fenced: too late, nothing changed. */
enum error_code queue_finish(struct queue *queue, const struct queue_task *task, const char *state,
                             const char *error_json, const char *progress, const struct queue_pair *fields,
                             size_t field_count, bool *fenced, struct error *e) BASE_CHECKED;
enum error_code queue_release(struct queue *queue, const struct queue_task *task,
                              struct error *e) BASE_CHECKED;
/* The attempt was lost. reason, by the task's own doing: "fault", "time_limit" (the third time the job ends
 * as dead, with error_json); "memory_limit" (the job fails with it); by its host's: "oom", "killed", "exit",
 * "host" (the twelfth time, leases that ran out counted in, it ends as dead, with the reasons and the
 * message of error_json). random: any number, chooses the pause before the next attempt, at most 60 s. */
enum error_code queue_died(struct queue *queue, const struct queue_task *task, const char *error_json,
                           const char *reason, uint32_t random, struct error *e) BASE_CHECKED;
/* something that earlier steps left is gone: the job starts over, or is dead after five attempts */
enum error_code queue_reset(struct queue *queue, const struct queue_task *task, const char *error_json,
                            struct error *e) BASE_CHECKED;
enum error_code queue_reap(struct queue *queue, struct error *e) BASE_CHECKED;

/* counters of {t}:n, plus "run" (jobs with claimable tasks), "leases", "workers" and "queue_age_ms" (oldest
 * of run) */
enum error_code queue_counters(struct queue *queue, struct queue_fields *out, struct error *e) BASE_CHECKED;
/* What readiness needs of Redis' settings. */
struct queue_health {
    bool primary, append_only, append_always, no_eviction, memory_bounded;
    long long used_bytes, limit_bytes;
};
enum error_code queue_check(struct queue *queue, struct queue_health *out, struct error *e) BASE_CHECKED;
/* The function library of this build, loaded if it was not, and the others in the same Redis: builds of a
 * rolling upgrade stand side by side. Newer is what was loaded first later. The others stay 0 where
 * FUNCTION LIST is forbidden. */
struct queue_library {
    char version[13];
    char newer[48]; /* the newest build with other functions that came after this one's; "" none */
    int others;     /* libraries in Redis beside ours */
};
/* build: what this library is noted under. ERROR_UNAVAILABLE; ERROR_INTERNAL: Redis refuses to load or to
 * call it. */
enum error_code queue_library_check(struct queue *queue, const char *build, struct queue_library *out,
                                    struct error *e) BASE_CHECKED;

#endif
