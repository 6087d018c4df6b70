/* Usage over the retained times as a tree of maxima: a change over a stretch of times and the greatest usage
 * cost the logarithm of their number.
 *
 *       1             most[p] = add[p] + the greater most of the children 2p and 2p + 1
 *       2     3       most[leaves + t]: time t's own, leaves = 4 here
 *       4  5  6  7    usage at t = most[leaves + t] + add of all nodes above it
 *
 * One thread at a time. */
#ifndef TOAST_CFN_USAGE_H
#define TOAST_CFN_USAGE_H

#include <stdint.h>

struct cfn_usage {
    int32_t count, leaves; /* times; the next power of two */
    int64_t *most, *add;
};

void cfn_usage_create(struct cfn_usage *usage, int32_t count);
void cfn_usage_release(struct cfn_usage *usage);
/* sets every time: base[t] plus the running sum of step[0..t] */
void cfn_usage_load(struct cfn_usage *usage, const int64_t *base, const int64_t *step);
void cfn_usage_add(struct cfn_usage *usage, int32_t left, int32_t right, int64_t change); /* [left, right) */
int64_t cfn_usage_most(const struct cfn_usage *usage);       /* INT64_MIN without times */
int32_t cfn_usage_worst_time(const struct cfn_usage *usage); /* the first of the greatest usage */
int64_t cfn_usage_at(const struct cfn_usage *usage, int32_t t);

#endif
