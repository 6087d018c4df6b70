/* What each constraint of a list is worth: the bytes that move more without it and its like (one class: what
 * equal layers need alike), in equal parts. Nothing is said where products would be such as XLA's partitioner
 * does not see: it moves more there than the model knows. */
#include "spmd/constraints_find.h"

#include <stdlib.h>
#include <string.h>

enum { WORTH_UNKNOWN = -1 };

static int64_t moved_in_all(const struct finder *finder, const struct moved *moved)
{
    return finder->sums ? moved->deferred : moved->bytes;
}

static enum error_code weigh(struct finder *finder, const uint32_t *members, uint32_t count, struct error *e)
{
    struct moved without;
    for (uint32_t i = 0; i < count; i++)
        finder->on[members[i]] = false;
    enum error_code code = constraints_measure(finder, NULL, &without, e);
    int64_t more = code ? 0 : moved_in_all(finder, &without) - moved_in_all(finder, &finder->now);
    for (uint32_t i = 0; i < count; i++) {
        finder->on[members[i]] = true;
        if (!code && without.blurred <= finder->now.blurred)
            finder->list[members[i]].worth_bytes = more > 0 ? more / count : 0;
    }
    return code;
}

static uint32_t standing_classes(const struct finder *finder)
{
    bool *seen = mem_zalloc((size_t)finder->class_count + 1, sizeof *seen);
    uint32_t count = 0;
    for (size_t i = 0; i < finder->candidates.count; i++) {
        uint32_t class_index = finder->candidates.at[i].class_index;
        count += finder->on[i] && !seen[class_index];
        seen[class_index] |= finder->on[i];
    }
    free(seen);
    return count;
}

enum error_code constraints_weigh(struct finder *finder, struct error *e)
{
    uint32_t total = (uint32_t)finder->candidates.count, classes = standing_classes(finder);
    uint32_t *members = mem_alloc(((size_t)total + 1) * sizeof *members);
    bool *listed = mem_alloc((size_t)total + 1);
    enum error_code code = ERROR_OK;
    memcpy(listed, finder->on, total);
    for (uint32_t i = 0; i < total; i++)
        finder->list[i].worth_bytes = WORTH_UNKNOWN;
    bool affordable = classes * finder->run_ops <= finder->left + finder->effort / 2;
    for (uint32_t i = 0; i < total && !code && affordable && !finder->over; i++) {
        uint32_t count = 0, end = listed[i] ? total : i;
        for (uint32_t k = i; k < end; k++)
            if (listed[k] && finder->candidates.at[k].class_index == finder->candidates.at[i].class_index) {
                members[count++] = k;
                listed[k] = false;
            }
        if (count)
            code = weigh(finder, members, count, e);
    }
    free(listed);
    free(members);
    return code;
}
