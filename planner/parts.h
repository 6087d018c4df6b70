/* Inside planner/: the parts of a job, which job.c makes, race.c compares and finish.c writes out. */
#ifndef TOAST_PLANNER_PARTS_H
#define TOAST_PLANNER_PARTS_H

#include "planner/job.h"

struct planner_job {
    const struct planner_request *request; /* borrowed */
    const struct ir_program *image;        /* borrowed */
    struct ir_program prepared;
    struct nda *nda;
    struct plan_context *context;
    struct cost_machine machine;
    struct evaluator *evaluator;
    struct search *search;
    bool has_network;
    struct plan_cfn_answer network;
    bool has_segments;
    struct segments_answer segments;
    bool has_incumbent;
    struct search_plan incumbent;
    struct plan_factors incumbent_factors; /* what incumbent.factors refers to */
};

#endif
