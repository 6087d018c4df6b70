/* What solving a problem gives: an assignment, the referee's verdict on it, a certified bound. Plain data;
 * costs and usages in the problem's own units, 128 bits wide. Never shown before cfn_evaluate has passed its
 * values. */
#ifndef TOAST_CFN_ANSWER_H
#define TOAST_CFN_ANSWER_H

#include "cfn/evaluate.h"
#include "cfn/reduce.h"

enum cfn_status {
    CFN_STATUS_FEASIBLE,   /* an answer, not proved best */
    CFN_STATUS_OPTIMAL,    /* its cost equals the bound */
    CFN_STATUS_INFEASIBLE, /* proved: even the least usage exceeds the limit */
};

struct cfn_answer {
    enum cfn_status status;
    int32_t *values; /* owned; NULL when infeasible */
    /* the referee's; when infeasible: of the assignment of least usage, which reaches the least
     * possible usage at every time, so violated_usage is exact */
    struct cfn_verdict verdict;
    bool has_bound;
    __int128 bound;    /* no feasible assignment costs less */
    bool reproducible; /* the same seed and units give the same answer, whatever the threads */
    uint64_t units;
    struct cfn_size reduced; /* the network that was left to the search */
};

void cfn_answer_release(struct cfn_answer *answer); /* zeroed is fine */

#endif
