/* A planning job as pure functions: what `toast plan` runs in one process and workers run as tasks.
 *
 *   text --ir_read--> program image            (task `read`; a blob)
 *   image + request --planner_job_create-->    (every process that works on it)
 *   search_begin / search_task / search_merge
 *     over planner_job_search(job)             (tasks rollouts, merge, polish)
 *   planner_job_network                        (task network, where the method wants one)
 *   planner_job_finish --> struct planner_outcome, which api/artifacts.h writes down (task emit)
 *
 * Equal inputs give equal results, whichever process runs what. A job reads no clock and does no I/O, and
 * knows no text form of a request, a plan or a report: those are api's. One thread at a time may change a job
 * (the functions that take it without const); the rest may be called from several. */
#ifndef TOAST_PLANNER_JOB_H
#define TOAST_PLANNER_JOB_H

#include "planner/plan.h"
#include "planner/proof.h"
#include "planner/request.h"

#include "mcts/search.h"
#include "plan_cfn/plan_cfn.h"
#include "report/report.h"
#include "segments/compose.h"

struct planner_job;

/* Request and image are borrowed and must outlive the job; *out is owned. Errors: of the module (line,
 * column), of constraints (with their pointer), of the machine (planner/machine.h), and
 * ERROR_MEMORY_LIMIT_TOO_SMALL (/memory_limit_bytes) when the arguments alone exceed the limit on every
 * plan. */
enum error_code planner_job_create(const struct planner_request *request, const struct ir_program *image,
                                   struct planner_job **out, struct error *e) BASE_CHECKED;
void planner_job_destroy(struct planner_job *j); /* NULL is fine */
/* all borrowed from the job */
const struct search *planner_job_search(const struct planner_job *j);
const struct evaluator *planner_job_evaluator(const struct planner_job *j);
const struct plan_context *planner_job_context(const struct planner_job *j);
const struct nda *planner_job_nda(const struct planner_job *j);

/* ---- the race of search and network (race.c) ----
 * Methods auto and cfn solve the module as cost-function networks (plan_cfn/plan_cfn.h) once the search has
 * ended, and the best of search, experts and network wins: what fits, the faster, at equal times the one that
 * takes less memory. Under cfn the network does all its work and gives a bound; under auto it is quick.
 * Under segments the search prices the experts' plans only, and what is solved instead of the module's
 * network is that of its segments; so it is under auto where the request has a profile with the times of the
 * module's segments. Without one segments' priced tables race, too, where all their prices are at most a
 * sixteenth of the search's (counted, not timed), and stand in the network's place where they win.
 *
 * Here and below, `whole` says that the search ran to its end: no deadline, limit of seconds or cancel. */
bool planner_job_wants_network(const struct planner_job *j, bool whole);
/* state: of the search that has ended; under auto a network that is behind its best plan gives up early.
 * *out: owned bytes for planner_job_take_network, here or in another process; they do not depend on threads
 * (1 or 2). cancelled may be NULL. ERROR_CANCELLED, and as plan_cfn_solve. */
enum error_code planner_job_network(const struct planner_job *j, const struct search_state *state,
                                    int threads, bool (*cancelled)(void *user), void *user,
                                    struct search_blob *out, struct error *e) BASE_CHECKED;
/* Checks the bytes, prices their plan anew and keeps it for the race. ERROR_INTERNAL: not such bytes. */
enum error_code planner_job_take_network(struct planner_job *j, const void *bytes, size_t size,
                                         struct error *e) BASE_CHECKED;
/* A job that starts over keeps its incumbent, the best plan of the runs before: it is priced anew and
 * competes wherever the search is not whole, because the result of a whole search depends on the request
 * alone. plan: borrowed during the call; NULL: the job has none any more. ERROR_INVALID_PLAN: no plan of this
 * job (another build's, perhaps); the job has no incumbent then. */
enum error_code planner_job_take_incumbent(struct planner_job *j, const struct planner_plan *plan,
                                           struct error *e) BASE_CHECKED;
/* The plan that would be written now: of the search, the network and, unless whole, the incumbent. *out
 * borrows from j. */
void planner_job_best(const struct planner_job *j, const struct search_state *state, bool whole,
                      struct search_plan *out);

struct planner_progress {
    uint32_t epoch;
    uint64_t rollouts, evaluations;
    double fraction; /* 0 to 1, of the search */
    struct price best;
    bool fits;
    char found_by[160];
    int64_t best_baseline_ps; /* step time of the experts' best plan; 0: none was priced */
};
void planner_job_progress(const struct planner_job *j, const struct search_state *state, bool whole,
                          struct planner_progress *out);
/* the best is the plan that was written */
void planner_progress_end(struct planner_progress *progress, const struct report *report);

/* ---- what a finished search gives (finish.c) ---- */

enum { PLANNER_FORMS = 3 };
struct planner_module {      /* one text form of the sharded module */
    enum planner_output bit; /* PLANNER_OUTPUT_ANNOTATED, _MANUAL or _LOCAL */
    char *text;              /* MLIR; owned */
    size_t size;
};
struct planner_alternative {                      /* another plan, as good a file set as the first */
    struct report *report;                        /* owned */
    struct planner_module modules[PLANNER_FORMS]; /* as of the outcome */
    uint32_t module_count;
};
struct planner_outcome {
    struct report *report;                        /* owned; borrows from the job: release it first */
    bool fits;                                    /* some plan keeps the memory limit; so does this one */
    struct planner_module modules[PLANNER_FORMS]; /* those that were asked for, in that order */
    uint32_t module_count;
    struct plan_cfn *problem; /* the module as a contest problem, where asked for; owned */
    struct text segments;     /* segments.tar, where asked for; owned */
    bool proved;
    struct planner_proof proof; /* where asked for */
    /* the best plans that really differ, best first; report->alternatives says in what */
    struct planner_alternative alternatives[PLANNER_MAX_ALTERNATIVES];
    uint32_t alternative_count;
};
/* Everything that the request asks for. snapshot: the search's last one, whose plans may be alternatives;
 * NULL or empty: there is none. *out is empty after an error. ERROR_UNSUPPORTED_MODULE: a form that cannot be
 * written. */
enum error_code planner_job_finish(const struct planner_job *j, const struct search_state *state,
                                   const struct search_blob *snapshot, bool whole,
                                   struct planner_outcome *out, struct error *e) BASE_CHECKED;
/* planner_job_network, where it is wanted, its answer taken, and planner_job_finish, with the same outcome:
 * where the request has two threads the report and the modules of the plan that leads are made while the
 * network is solved. */
enum error_code planner_job_end(struct planner_job *j, const struct search_state *state,
                                const struct search_blob *snapshot, bool whole, struct planner_outcome *out,
                                struct error *e) BASE_CHECKED;
void planner_outcome_release(struct planner_outcome *outcome);
/* As much of the report of the best plan so far as a plan.json says (report_create_plan). *out: owned;
 * borrows from the job. */
enum error_code planner_job_report(const struct planner_job *j, const struct search_state *state, bool whole,
                                   struct report **out, struct error *e) BASE_CHECKED;

#endif
