/* The reward in integers. The logarithm is taken by repeated squaring: the mantissa m in [1, 2) is squared,
 * and each time it reaches 2 gives one bit. Exact to its last bit, monotone, the same on every CPU; no
 * floating point. */
#include "mcts/reward.h"

int64_t reward_log2(uint64_t x)
{
    if (x <= 1)
        return 0;
    int whole = 63 - __builtin_clzll(x);
    uint64_t m = x << (63 - whole); /* 1.63 fixed point: [2^63, 2^64) */
    int64_t fraction = 0;
    for (int i = 0; i < 32; i++) {
        unsigned __int128 square = (unsigned __int128)m * m; /* 2.126 */
        int carry = (int)(square >> 127);
        m = (uint64_t)(square >> (63 + carry));
        fraction = fraction << 1 | carry;
    }
    return ((int64_t)whole << 32) + fraction;
}

/* x up to 1 keeps nine tenths of the room, all above shares the last tenth */
static int64_t squash(int64_t x, int64_t room)
{
    const int64_t one = (int64_t)1 << 32;
    if (x < 0)
        return 0;
    if (x <= one)
        return (int64_t)((__int128)x * (room / 10 * 9) / one);
    return room / 10 * 9 + (room / 10 - (int64_t)((__int128)(room / 10) * one / x));
}

int64_t reward_cost(int64_t c, int64_t over_steps)
{
    const int64_t one = (int64_t)1 << 32, tenth = one / 10, most = (int64_t)1 << 28;
    if (over_steps <= 0)
        return c <= one ? c : one + squash(c - one, tenth);
    int64_t steps = over_steps < most ? over_steps : most;
    return one + steps * tenth + squash(c - (steps - 1) * tenth, tenth);
}

int32_t reward_value(int64_t root_c, int64_t c, uint64_t devices)
{
    uint64_t root = root_c < 1 ? 1 : (uint64_t)root_c;
    uint64_t mine = c < 1 ? 1 : (uint64_t)c;
    int64_t one = (int64_t)32 << 32; /* log2 of 1.0 in 2^-32 */
    int64_t log_root = reward_log2(root), above = log_root > one ? log_root - one : 0;
    int64_t scale = reward_log2(2 * (devices ? devices : 1)) + above;
    __int128 r = (__int128)(log_root - reward_log2(mine)) * REWARD_ONE / scale;
    return r > REWARD_ONE ? REWARD_ONE : r < -REWARD_ONE ? -REWARD_ONE : (int32_t)r;
}
