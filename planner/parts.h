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
    bool has_incumbent;
    struct search_plan incumbent;
    struct plan_factors incumbent_factors; /* what incumbent.factors refers to */
};

/* yours.c: the module's own shardings as an expert's plan (job->yours), or why that cannot be */
enum error_code planner_job_make_yours(struct planner_job *j, struct error *e) BASE_CHECKED;
/* yours.c: the row of the table, and a warning for everything that is dropped */
void planner_job_tell_annotations(const struct planner_job *j, struct report *report);

#endif
