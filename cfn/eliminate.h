/* Exact elimination: a node without usage of its own and at most two neighbours leaves, its minimum over
 * values becoming a table of its neighbours (min-plus; Bertele and Brioschi 1972). */
#ifndef TOAST_CFN_ELIMINATE_H
#define TOAST_CFN_ELIMINATE_H

#include "cfn/network.h"

/* true when the node could be eliminated and was */
bool cfn_eliminate_node(struct cfn_network *n, int32_t node);

#endif
