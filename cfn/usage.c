/* The tree of maxima (a segment tree without pushing down): a change over a stretch marks the O(log n)
 * subtrees that make it up and lifts the two paths above its ends. Bottom up, no recursion; the leaves
 * beyond the last time hold `nothing`, so low that no change lifts it to a usage. */
#include "cfn/usage.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const int64_t nothing = INT64_MIN / 2; /* beyond the last time; changes never lift it to a usage */

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void cfn_usage_create(struct cfn_usage *u, int32_t count)
{
    *u = (struct cfn_usage){.count = count, .leaves = 1};
    while (u->leaves < count)
        u->leaves *= 2;
    u->most = mem_zalloc((size_t)u->leaves * 2, sizeof *u->most);
    u->add = mem_zalloc((size_t)u->leaves * 2, sizeof *u->add);
}

void cfn_usage_release(struct cfn_usage *u)
{
    free(u->most);
    free(u->add);
    *u = (struct cfn_usage){0};
}

void cfn_usage_load(struct cfn_usage *u, const int64_t *base, const int64_t *step)
{
    int64_t sum = 0;
    for (int32_t t = 0; t < u->leaves; t++) {
        sum += t < u->count ? step[t] : 0;
        u->most[u->leaves + t] = t < u->count ? base[t] + sum : nothing;
    }
    memset(u->add, 0, (size_t)u->leaves * 2 * sizeof *u->add);
    for (int32_t p = u->leaves; p-- > 1;)
        u->most[p] = greater(u->most[2 * p], u->most[2 * p + 1]);
}

static void apply(struct cfn_usage *u, int32_t p, int64_t change)
{
    u->most[p] += change;
    u->add[p] += change;
}

static void lift(struct cfn_usage *u, int32_t p)
{
    for (p /= 2; p; p /= 2)
        u->most[p] = greater(u->most[2 * p], u->most[2 * p + 1]) + u->add[p];
}

void cfn_usage_add(struct cfn_usage *u, int32_t left, int32_t right, int64_t change)
{
    int32_t l = left + u->leaves, r = right + u->leaves;
    if (left >= right || !change)
        return;
    for (; l < r; l /= 2, r /= 2) {
        if (l & 1)
            apply(u, l++, change);
        if (r & 1)
            apply(u, --r, change);
    }
    lift(u, left + u->leaves);
    lift(u, right - 1 + u->leaves);
}

int64_t cfn_usage_most(const struct cfn_usage *u)
{
    return u->count ? u->most[1] : INT64_MIN;
}

int32_t cfn_usage_worst_time(const struct cfn_usage *u)
{
    int32_t p = 1;
    while (p < u->leaves)
        p = u->most[2 * p] >= u->most[2 * p + 1] ? 2 * p : 2 * p + 1;
    return p - u->leaves;
}

int64_t cfn_usage_at(const struct cfn_usage *u, int32_t t)
{
    int32_t p = u->leaves + t;
    int64_t usage = u->most[p];
    for (p /= 2; p; p /= 2)
        usage += u->add[p];
    return usage;
}
