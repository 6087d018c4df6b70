/* Time compression and memory pruning.
 *
 * Usage only matters between a start and the next end (elsewhere the nodes alive are a subset of a
 * neighbour's), and only where the greatest usage that choices could reach is above the limit. Those are the
 * retained times. A value that alone lifts base usage above the limit is dropped. */
#ifndef TOAST_CFN_TIMELINE_H
#define TOAST_CFN_TIMELINE_H

#include "cfn/network.h"

/* Sets the network's times, base and items (nodes have their sizes). ERROR_RESOURCE: usages sum beyond 64
 * bits. */
enum error_code cfn_timeline_load(struct cfn_network *n, struct error *e) BASE_CHECKED;
/* Forgets times that cannot be violated any more; imply: also those that a neighbour implies. Items that are
 * equal then become one. */
void cfn_timeline_shrink(struct cfn_network *n, bool imply);
/* forgets times that any other implies, which takes longer; true when there was one */
bool cfn_timeline_shrink_all(struct cfn_network *n);
/* drops values that exceed the limit alone; true when one was */
bool cfn_timeline_prune(struct cfn_network *n);

#endif
