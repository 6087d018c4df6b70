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

void cfn_usage_create(struct cfn_usage *usage, int32_t count)
{
    *usage = (struct cfn_usage){.count = count, .leaves = 1};
    while (usage->leaves < count)
        usage->leaves *= 2;
    usage->most = mem_zalloc((size_t)usage->leaves * 2, sizeof *usage->most);
    usage->add = mem_zalloc((size_t)usage->leaves * 2, sizeof *usage->add);
}

void cfn_usage_release(struct cfn_usage *usage)
{
    free(usage->most);
    free(usage->add);
    *usage = (struct cfn_usage){0};
}

void cfn_usage_load(struct cfn_usage *usage, const int64_t *base, const int64_t *step)
{
    int64_t sum = 0;
    for (int32_t t = 0; t < usage->leaves; t++) {
        sum += t < usage->count ? step[t] : 0;
        usage->most[usage->leaves + t] = t < usage->count ? base[t] + sum : nothing;
    }
    memset(usage->add, 0, (size_t)usage->leaves * 2 * sizeof *usage->add);
    for (int32_t p = usage->leaves; p-- > 1;)
        usage->most[p] = greater(usage->most[2 * p], usage->most[2 * p + 1]);
}

static void apply(struct cfn_usage *usage, int32_t p, int64_t change)
{
    usage->most[p] += change;
    usage->add[p] += change;
}

static void lift(struct cfn_usage *usage, int32_t p)
{
    for (p /= 2; p; p /= 2)
        usage->most[p] = greater(usage->most[2 * p], usage->most[2 * p + 1]) + usage->add[p];
}

void cfn_usage_add(struct cfn_usage *usage, int32_t left, int32_t right, int64_t change)
{
    int32_t l = left + usage->leaves, r = right + usage->leaves;
    if (left >= right || !change)
        return;
    for (; l < r; l /= 2, r /= 2) {
        if (l & 1)
            apply(usage, l++, change);
        if (r & 1)
            apply(usage, --r, change);
    }
    lift(usage, left + usage->leaves);
    lift(usage, right - 1 + usage->leaves);
}

int64_t cfn_usage_most(const struct cfn_usage *usage)
{
    return usage->count ? usage->most[1] : INT64_MIN;
}

int32_t cfn_usage_worst_time(const struct cfn_usage *usage)
{
    int32_t p = 1;
    while (p < usage->leaves)
        p = usage->most[2 * p] >= usage->most[2 * p + 1] ? 2 * p : 2 * p + 1;
    return p - usage->leaves;
}

int64_t cfn_usage_at(const struct cfn_usage *cfn_usage, int32_t t)
{
    int32_t p = cfn_usage->leaves + t;
    int64_t usage = cfn_usage->most[p];
    for (p /= 2; p; p /= 2)
        usage += cfn_usage->add[p];
    return usage;
}
