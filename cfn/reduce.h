/* Preprocessing: lossless rules run to their common fixpoint from a worklist of nodes.
 *
 *       consistency   a value that is infinite, or has an infinite row, goes
 *       assignment    a node with one value becomes part of its neighbours' costs
 *       separation    a link whose table is a sum of two unary costs goes
 *       merging       merge.h        elimination  eliminate.h
 *       dominance     dominate.h     memory       timeline.h
 *       times         implied.h: by neighbours with memory, by any other when all else has come to its end
 *
 * Each can be switched off for measurements. */
#ifndef TOAST_CFN_REDUCE_H
#define TOAST_CFN_REDUCE_H

#include "cfn/network.h"

enum cfn_rule {
    CFN_RULE_CONSISTENCY = 1,
    CFN_RULE_ASSIGN = 2,
    CFN_RULE_SEPARATE = 4,
    CFN_RULE_MERGE = 8,
    CFN_RULE_ELIMINATE = 16,
    CFN_RULE_DOMINATE = 32,
    CFN_RULE_MEMORY = 64,
    CFN_RULE_IMPLY = 128, /* of times, with memory */
    CFN_RULE_ALL = 255,
};

struct cfn_size {
    uint32_t nodes, links, times;
    uint64_t values, items;
};

/* rules: a sum of enum cfn_rule. stop (may be NULL): asked now and then; true ends early, still lossless. */
void cfn_reduce(struct cfn_network *n, unsigned rules, bool (*stop)(void *user), void *user);
struct cfn_size cfn_reduce_size(const struct cfn_network *n);

#endif
