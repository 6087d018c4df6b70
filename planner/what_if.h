/* What-if: the price and the report of a given plan (parsed, an expert's by name, or what the constraints
 * alone say) for a module, without a search. Nothing is kept between two calls. */
#ifndef TOAST_PLANNER_WHAT_IF_H
#define TOAST_PLANNER_WHAT_IF_H

#include "planner/cuts.h"
#include "planner/plan.h"
#include "planner/request.h"

#include "report/report.h"

struct planner_what_if {
    /* of method auto or propagate (the constraints are completed first); its mesh is the plan's */
    const struct planner_request *request;
    const struct planner_plan *plan; /* NULL: none */
    const char *baseline; /* an expert's plan, "fsdp:data+megatron:model"; "": none. Not with a plan */
    const struct planner_cut *cuts; /* edits of the plan, the expert's plan or of none (cuts.h) */
    uint32_t cut_count;
    bool report; /* wanted, too */
};

struct planner_pricing; /* what an answer refers to */
struct planner_answer {
    struct price price, unsharded; /* of the plan, and of the same module on one device */
    struct cost cost;
    struct hash128 hash; /* of the plan */
    int64_t memory_limit_bytes;
    struct report *report;          /* owned; NULL unless wanted */
    struct planner_pricing *inside; /* owned */
};
/* what_if, what it refers to and the image are borrowed until *out (owned) is released. Errors: of the
 * module, of constraints and machine as planner_job_create; ERROR_INVALID_PLAN; ERROR_INVALID_REQUEST
 * (/baseline): no expert's plan of this name on this mesh; (/cut): as planner_cuts_apply. *out is empty
 * after an error. */
enum error_code planner_what_if_run(const struct planner_what_if *what_if, const struct ir_program *image,
                                    struct planner_answer *out, struct error *e) BASE_CHECKED;
void planner_answer_release(struct planner_answer *answer);

#endif
