/* The solver: from a problem to an answer that the referee has passed, with a certified lower bound. */
#ifndef TOAST_CFN_SOLVE_H
#define TOAST_CFN_SOLVE_H

#include "cfn/evaluate.h"
#include "cfn/reduce.h"
#include "cfn/search.h"

enum cfn_status {
    CFN_STATUS_FEASIBLE,   /* an answer, not proved best */
    CFN_STATUS_OPTIMAL,    /* its cost equals the bound */
    CFN_STATUS_INFEASIBLE, /* proved: even the least usage exceeds the limit */
};

struct cfn_answer {
    enum cfn_status status;
    int32_t *values; /* owned; NULL when infeasible */
    struct cfn_verdict
        /* the referee's; when infeasible: of the assignment of least usage, which reaches the least
         * possible usage at every time, so violated_usage is exact */
        verdict;
    bool has_bound;
    __int128 bound;    /* no feasible assignment costs less */
    bool reproducible; /* the same seed and units give the same answer, whatever the threads */
    uint64_t units;
    struct cfn_size reduced; /* the network that was left to the search */
};

/* Always ends with an answer or a proof that there is none: each node has one interval and one usage per
 * value, so taking every node's least usage decides feasibility. ERROR_RESOURCE: numbers beyond 64-bit sums.
 * ERROR_NOT_AVAILABLE, ERROR_IO: of the method ucr.
 * cfn_answer_release in any case. */
enum error_code cfn_solve(const struct cfn_problem *p, const struct cfn_budget *budget,
                          struct cfn_answer *out, struct error *e) BASE_CHECKED;
void cfn_answer_release(struct cfn_answer *a);

#endif
