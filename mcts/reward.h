/* The reward of a plan, in integers: the same on every CPU. docs/search.md has the formula and reasons. */
#ifndef TOAST_MCTS_REWARD_H
#define TOAST_MCTS_REWARD_H

#include <stdint.h>

enum {
    REWARD_ONE = 1 << 30, /* 1.0 */
    /* 0.0002 for each decision of the list: shorter ones are favoured */
    REWARD_DEPTH = REWARD_ONE / 5000
};

/* log2(x) with 32 fractional bits, x >= 1; rounded down, monotone */
int64_t reward_log2(uint64_t x);
/* What stands for C in the reward, in 2^-32: rises exactly as the order of plans (bytes over the limit in
 * steps of 1 %, then C) does, which C alone does not: 1 % more memory may buy more than a tenth of the
 * unsharded time. A plan that fits: C up to 1, then squashed below 1.1. One that does not: 1 + a tenth for
 * each step + less than a tenth for the rest of C. */
int64_t reward_cost(int64_t c, int64_t over_steps);
/* clamp(log2(root / c) / log2(2 x devices x max(1, root)), -1, 1); costs in 2^-32 */
int32_t reward_value(int64_t root_c, int64_t c, uint64_t devices);

#endif
