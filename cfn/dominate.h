/* Dominance: value a goes when some b is never worse, whatever the neighbours take (Goldstein 1994), and uses
 * no more at any retained time. */
#ifndef TOAST_CFN_DOMINATE_H
#define TOAST_CFN_DOMINATE_H

#include "cfn/network.h"

bool cfn_dominate_node(struct cfn_network *n, int32_t node); /* true when a value was dropped */

#endif
