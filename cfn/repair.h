/* From an almost feasible point to a good feasible one, flip by flip. */
#ifndef TOAST_CFN_REPAIR_H
#define TOAST_CFN_REPAIR_H

#include "cfn/state.h"

/* While the limit is exceeded: at the worst time, the flips of least cost per usage taken off. false when it
 * gives up, or s->stop says so. */
bool cfn_repair(struct cfn_state *state);
/* Best improving flips that keep a feasible point feasible, node by node, at most 4 passes. */
void cfn_polish(struct cfn_state *state);

#endif
