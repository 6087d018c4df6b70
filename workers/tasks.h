/* What a worker can do: one table of functions over tasks. A task is a pure function of (job, kind, epoch,
 * index): any process may run it, again and at the same time, with the same bytes as result.
 *
 * A job is a chain of steps (queue/library.lua). A step of one task says what follows; a step of several is
 * followed by its `join` task, which sees what each of them left, by index. */
#ifndef TOAST_WORKERS_TASKS_H
#define TOAST_WORKERS_TASKS_H

#include "queue/queue.h"
#include "store/store.h"

struct tasks_part {
    const void *bytes;
    size_t size;
};

struct tasks_task { /* what a run is given; borrowed for the run */
    const char *job, *kind;
    uint32_t epoch, index, count;      /* count: tasks of this step */
    const struct queue_fields *fields; /* the job: request, module (digests), stop, progress .. */
    struct store *store;
    const struct tasks_part *parts; /* join: what the step before left, by index */
    uint32_t part_count;
    bool (*stopping)(void *user); /* ask at least once a second; true: give ERROR_CANCELLED */
    void *user;
};

struct tasks_output {
    char name[64];
    char media_type[64];
    char *bytes;
    size_t size;
    bool artifact;
};

struct tasks_result { /* zeroed at first; outputs' bytes are owned by it */
    VEC(struct tasks_output)
    outputs;       /* one of several tasks: exactly one, what its join sees. Else blobs and artifacts */
    bool finished; /* the job has succeeded; else, after a step of one task, the next step: */
    const char *kind, *join, *wrap,
        *state; /* static texts; wrap: step that writes artifacts of the best so far, or "" */
    uint32_t tasks;
    char *progress;    /* JSON text, owned; NULL keeps it */
    uint64_t rollouts; /* of the job so far */
    uint64_t dropped;  /* of its search's statistics, so far (mcts/search.h) */
};

struct tasks_table {
    const char *build; /* only equal builds work on one job */
    /* a job's state of one process, kept while it works on the job's tasks (parsed program, search ..) */
    enum error_code (*open)(const struct tasks_task *t, void **context, struct error *e);
    void (*close)(void *context);
    /* ERROR_CANCELLED: stopping said so. ERROR_IO, ERROR_UNAVAILABLE: tried again, anywhere. ERROR_HOST:
     * that, too, after a pause, up to a cap. Others fail the job. */
    enum error_code (*run)(void *context, const struct tasks_task *t, struct tasks_result *out,
                           struct error *e);
    char *(*error_json)(const struct error *e); /* owned text for job.error */
};

/* the blob b:<name> of the job; release the view. ERROR_INTERNAL when the job has none of this name. */
enum error_code tasks_blob(const struct tasks_task *task, const char *name, struct store_view *out,
                           struct error *e) BASE_CHECKED;
/* takes bytes */
void tasks_output_add(struct tasks_result *result, const char *name, const char *media_type, char *bytes,
                      size_t size, bool artifact);
void tasks_result_release(struct tasks_result *result);

/* The planner's jobs over planner/job.h: read -> analyse -> (rollouts -> merge)* -> emit. */
const struct tasks_table *tasks_planner(void);
/* Contest problems over cfn/session.h: problem -> (cfn -> cfn-join)* -> solution. */
const struct tasks_table *tasks_problems(void);
/* Both: a job's first step says which. */
const struct tasks_table *tasks_service(void);

#endif
