/* First feasible points, before multipliers are known: the node-wise least usage, and answers under one price
 * for every unit of usage, its scale found by bisection over eight decades (the starting weights of the
 * contest's winner). */
#ifndef TOAST_CFN_FIRST_H
#define TOAST_CFN_FIRST_H

#include "cfn/worker.h"

/* Records what is feasible. Ends early with the phase. */
void cfn_first_points(struct cfn_worker *worker);

#endif
