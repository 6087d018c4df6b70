/* What simulated jobs compute: steps of the shapes of workers/planner.c and workers/problems.c over chains of
 * digests, so that each result depends on every part of what came before and the right end is known. Given to
 * the answerer that ships (workers/internal.h) as its table of tasks. */
#ifndef TOAST_TESTS_SIMULATION_WORK_H
#define TOAST_TESTS_SIMULATION_WORK_H

#include "workers/tasks.h"

struct work_shape {
    bool problem;      /* else a planning job */
    int rounds, tasks; /* steps of its search, tasks in each (problems have 2) */
    bool network;      /* a step between search and artifacts */
    bool referee;      /* a step of a referee's between artifacts and the end */
};
enum { WORK_ROUNDS = 2, WORK_TASKS = 3 }; /* at most */

/* a request as the store has it */
void work_request(const struct work_shape *shape, char out[64]);
/* name of the artifact that tells how far the search came */
const char *work_artifact(const struct work_shape *shape);
/* Digest of that artifact's bytes after `round` rounds. */
void work_result(const struct work_shape *shape, const char *module, int round, char out[STORE_DIGEST_SIZE]);
/* Workers of two builds differ in their table's build alone. */
const struct tasks_table *work_table(int build);
/* Tasks fail with this error, until ERROR_OK is given. */
void work_fails(enum error_code code);

#endif
