/* Inside planner/: the parts of a job, which job.c makes, race.c compares and finish.c writes out. */
#ifndef TOAST_PLANNER_PARTS_H
#define TOAST_PLANNER_PARTS_H

#include "planner/fold.h"
#include "planner/job.h"
#include "planner/pins.h"

struct planner_job {
    const struct planner_request *request; /* borrowed */
    const struct ir_program *image;        /* borrowed */
    struct ir_program prepared;
    struct nda *nda;
    struct plan_context *context;
    struct cost_machine machine;
    struct evaluator *evaluator;
    struct planner_fold fold;
    struct search *search;
    bool has_network;
    struct plan_cfn_answer network;
    bool has_segments;
    struct segments_answer segments;
    /* the module's own shardings, completed: the expert `yours` */
    bool has_yours;
    struct search_plan yours;
    struct plan_factors yours_factors; /* what yours.factors refers to */
    char yours_problem[400];           /* why they cannot race; "" */
    struct planner_annotation_counts annotations;
    /* the plan that the request's constraints come from */
    bool has_given;
    bool given_is_other; /* it was made for another module, mesh or build: it does not race */
    struct search_plan given;
    struct plan_factors given_factors; /* what given.factors refers to */
    bool has_incumbent;
    struct search_plan incumbent;
    struct plan_factors incumbent_factors; /* what incumbent.factors refers to */
};

/* ops of a program from which on two large pieces of work are done one after the other, for their memory */
enum { PLANNER_BESIDE_OPERATIONS = 1 << 15 };

/* finish.c: the modules (at most PLANNER_FORMS) and, where it is asked for, the proof of a report's plan;
 * what was written is released after an error */
enum error_code planner_job_write(const struct planner_job *j, struct report *report,
                                  struct planner_module *modules, uint32_t *count,
                                  struct planner_proof *proof, struct error *e) BASE_CHECKED;
/* finish.c: what every report of the job says of module and request */
void planner_job_describe(const struct planner_job *j, bool whole, struct report *report);
/* race.c: the plans that race, by number; false: there are no more. *out borrows from j. */
bool planner_job_runner(const struct planner_job *j, uint32_t number, struct search_plan *out);
/* alternatives.c: the request's number of plans that really differ from out's and from one another */
enum error_code planner_job_alternatives(const struct planner_job *j, const struct search_blob *snapshot,
                                         bool whole, struct planner_outcome *out,
                                         struct error *e) BASE_CHECKED;
/* given.c: the plan that the constraints come from, on the job's own context (job->given) */
enum error_code planner_job_make_given(struct planner_job *j, struct error *e) BASE_CHECKED;
/* larger.c: report->advice.larger, where nothing fits. Errors: evaluator_price's. */
enum error_code planner_find_larger(const struct planner_job *j, struct report *report,
                                    struct error *e) BASE_CHECKED;
/* smaller.c: report->advice's batch, where nothing fits and the program can be cut. Errors: the walk's. */
enum error_code planner_find_smaller(const struct planner_job *j, struct report *report,
                                     struct error *e) BASE_CHECKED;
/* better.c: a plan that is better than the report's, which measured it: with one more decision (whole), or
 * without one of its choices (choice); both NULL: there is none. Borrowed from the report. */
struct planner_better {
    const struct report_whole *whole;
    const struct report_choice *choice;
    struct hash128 hash;
    struct cost cost;
    int64_t step_ps, peak_bytes;
};
/* the best of them; false: there is none */
bool planner_better_try(const struct report *report, struct planner_better *out);
/* *plan, the report's, becomes that of the try; factors: what plan->factors may refer to then, owned;
 * false: it cannot be written as a list */
bool planner_job_take_better(const struct planner_job *j, const struct planner_better *better,
                             struct search_plan *plan, struct plan_factors *factors);
/* yours.c: the module's own shardings as an expert's plan (job->yours), or why that cannot be */
enum error_code planner_job_make_yours(struct planner_job *j, struct error *e) BASE_CHECKED;
/* yours.c: the row of the table, and a warning for everything that is dropped */
void planner_job_tell_annotations(const struct planner_job *j, struct report *report);

#endif
