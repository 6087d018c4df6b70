/* The dual phase: multipliers lambda for the usage limit, one per retained time, driven by subgradients of
 *
 *     bound(lambda) = TRW-S bound of costs with penalties - SUM lambda_t (limit - base_t)
 *
 * towards the greatest bound; the points met on the way are repaired into answers. */
#ifndef TOAST_CFN_DUAL_H
#define TOAST_CFN_DUAL_H

#include "cfn/worker.h"

/* Steps see a violation as a share of the limit, and no more of it than this: one time that is far off must
 * not decide where all the others go. Slack counts less than excess: a step that is slack everywhere could
 * take all prices to 0. */
#define CFN_STEP_EXCESS 0.3
#define CFN_STEP_SLACK (-0.1)
/* added to a subgradient's squared length before it divides */
#define CFN_STEP_LENGTH 1e-5

/* passes at lambda = 0, then forest moves: first bound, first point */
void cfn_dual_start(struct cfn_worker *worker);
/* until the phase ends; a worker's first steps are by sign, later ones go from the best multipliers. Starts
 * from and leaves w->best_lambda; certifies its bound. */
void cfn_dual_phase(struct cfn_worker *worker, int round);
/* what the messages prove at the priced multipliers: quickly, and exactly near the best answer */
int64_t cfn_dual_bound(struct cfn_worker *worker);
/* raises w->bound to it */
void cfn_dual_certify(struct cfn_worker *worker);
/* table entries that a step of the cheap kind touches, with its share of the phase's end */
double cfn_dual_step_work(const struct cfn_model *model);

#endif
