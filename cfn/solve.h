/* The solver: from a problem to an answer that the referee has passed, with a certified lower bound. */
#ifndef TOAST_CFN_SOLVE_H
#define TOAST_CFN_SOLVE_H

#include "cfn/answer.h"
#include "cfn/search.h"

/* Always ends with an answer or a proof that there is none: each node has one interval and one usage per
 * value, so taking every node's least usage decides feasibility. ERROR_RESOURCE: numbers beyond 64-bit sums.
 * ERROR_NOT_AVAILABLE, ERROR_IO: of the method ucr.
 * cfn_answer_release in any case. */
enum error_code cfn_solve(const struct cfn_problem *problem, const struct cfn_budget *budget,
                          struct cfn_answer *out, struct error *e) BASE_CHECKED;

#endif
