/* From the problem to the network that reductions work on: what is infinite, what is capped, which times
 * count. */
#ifndef TOAST_CFN_LOAD_H
#define TOAST_CFN_LOAD_H

#include "cfn/network.h"

/* use_infinite: costs of CFN_LARGE and above become infinite: right when an answer below CFN_LARGE exists.
 * Otherwise all are finite, and capped (`lowered`) when their sum could pass 64 bits. *out is owned by the
 * caller (cfn_network_destroy, also after an error) and borrows problem. ERROR_RESOURCE: usages, or negative
 * costs, too large for 64-bit sums. */
enum error_code cfn_network_create(const struct cfn_problem *problem, bool use_infinite,
                                   struct cfn_network **out, struct error *e) BASE_CHECKED;

#endif
