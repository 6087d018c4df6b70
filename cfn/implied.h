/* Domination of times: a retained time goes when whatever is chosen holds no more there than at a time that
 * is kept, because keeping the limit there keeps it here. Lossless.
 *
 *       usage_t(x) <= usage_k(x) for all x      iff      base_t - base_k + SUM over nodes of
 *                                                        max over values of (use at t - use at k) <= 0
 *
 * Marks times, changes none: cfn_timeline_shrink forgets the times. Deterministic. */
#ifndef TOAST_CFN_IMPLIED_H
#define TOAST_CFN_IMPLIED_H

#include "cfn/network.h"

/* implied: n->time_count flags; those set already are times that do not count, more are set. -> how many
 * more. Each time against the last one kept before it. */
int32_t cfn_implied_by_neighbours(const struct cfn_network *n, bool *implied);
/* The same, each time against all that are kept, as far as a fixed amount of work a network goes, which
 * n->implied_work counts. */
int32_t cfn_implied_by_any(struct cfn_network *n, bool *implied);

#endif
