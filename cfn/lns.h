/* Large-neighbourhood search: a ball of the network is re-optimised by a forest move under scaled penalties,
 * half the time with noise; accepted on exact cost plus the price of the worst violation. */
#ifndef TOAST_CFN_LNS_H
#define TOAST_CFN_LNS_H

#include "cfn/worker.h"

/* until the phase ends, from `start` (no forbidden entries needed, but then little is found) */
void cfn_lns_phase(struct cfn_worker *worker, const struct cfn_point *start);

#endif
