/* Merging: where each value of u leaves w exactly one value, w becomes part of u. */
#ifndef TOAST_CFN_MERGE_H
#define TOAST_CFN_MERGE_H

#include "cfn/network.h"

/* If this link of node is functional in a direction, merges one end into the other (the larger stays where
 * both are); true when it did. */
bool cfn_merge_link(struct cfn_network *n, int32_t node, int32_t link);

#endif
