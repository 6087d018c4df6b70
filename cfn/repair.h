/* From an almost feasible point to a good feasible one, flip by flip. */
#ifndef TOAST_CFN_REPAIR_H
#define TOAST_CFN_REPAIR_H

#include "cfn/state.h"

/* While the limit is exceeded: at the worst time, the flip of least cost per usage taken off. false when it
 * gives up. profile: scratch, time_count + 1 */
bool cfn_repair(struct cfn_state *s, int64_t *profile);
/* Best improving flips that keep the point feasible, node by node, at most 4 passes. */
void cfn_polish(struct cfn_state *s);

#endif
