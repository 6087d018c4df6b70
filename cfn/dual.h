/* The dual phase: multipliers lambda for the usage limit, one per retained time, driven by subgradients of
 *
 *     bound(lambda) = TRW-S bound of costs with penalties - SUM lambda_t (limit - base_t)
 *
 * towards the greatest bound; the points met on the way are repaired into answers. */
#ifndef TOAST_CFN_DUAL_H
#define TOAST_CFN_DUAL_H

#include "cfn/worker.h"

/* passes at lambda = 0, then forest moves: first bound, first point */
void cfn_dual_start(struct cfn_worker *w);
/* until the phase ends; a worker's first steps are by sign, later ones go from the best multipliers. Starts
 * from and leaves w->best_lambda; certifies its bound. */
void cfn_dual_phase(struct cfn_worker *w, int round);
/* table entries that a step of the cheap kind touches, with its share of the phase's end */
double cfn_dual_step_work(const struct cfn_model *m);

#endif
