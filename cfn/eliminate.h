/* Exact elimination: a node without usage of its own and at most two neighbours leaves, its minimum over
 * values becoming a table of its neighbours (min-plus; U. Bertele and F. Brioschi, "Nonserial Dynamic
 * Programming", 1972).
 *
 *       one --T1-- node --T2-- other    ->    one --T-- other
 *
 *       T[x][y]   = min over a of unary[a] + T1[a][x] + T2[a][y]
 *       map[x][y] = that a, onto the undo stack
 *       degree 1: a unary cost of the neighbour; degree 0: a constant */
#ifndef TOAST_CFN_ELIMINATE_H
#define TOAST_CFN_ELIMINATE_H

#include "cfn/network.h"

/* true when the node could be eliminated and was */
bool cfn_eliminate_node(struct cfn_network *n, int32_t node);

#endif
