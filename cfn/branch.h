/* Branch and bound for what reductions leave when it is small: depth first in a fixed order, each node's
 * values by cost, bounded by the least unary costs beside fixed neighbours plus the least entries of the
 * links still open. All in integers, so what it proves is exact. */
#ifndef TOAST_CFN_BRANCH_H
#define TOAST_CFN_BRANCH_H

#include "cfn/model.h"

enum cfn_branch_result {
    CFN_BRANCH_OPTIMAL, /* best is the optimum */
    CFN_BRANCH_EMPTY,   /* proved: no feasible point without infinite costs */
    CFN_BRANCH_OPEN,    /* too large, or the steps ran out; best is feasible when its forbidden is 0 */
};

/* best: created by the caller; cost and value are set when one is found, else forbidden is set above 0 */
enum cfn_branch_result cfn_branch(const struct cfn_model *model, uint64_t max_steps, struct cfn_point *best);

#endif
