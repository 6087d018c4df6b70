/* Dimensions that lack a few elements of another; see shrink_shifts.h. What a class lacks follows from shift
 * to shift, from classes that lack nothing: those that are in a ratio to others, and those that no shift
 * makes. */
#include "analysis/shrink_shifts.h"

#include "base/divide.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CUT = 8 }; /* chosen: a window of a running difference, the tokens that are shifted */

bool nda_shrink_is_shift(int64_t large, int64_t small)
{
    int64_t cut = large - small;
    return cut > 0 && cut <= MOST_CUT && small > MOST_CUT && common_divisor(large, small) <= cut;
}

struct placer {
    const struct nda_shrink_shift *shifts;
    size_t count;
    struct nda_shrink *shrink;
    int64_t *less; /* by class; -1: not known yet */
    uint32_t *refused;
};

static void begin(struct placer *placer, const bool *divided)
{
    bool *made = mem_zalloc((size_t)placer->shrink->class_count + 1, sizeof *made);
    for (size_t i = 0; i < placer->count; i++)
        made[placer->shrink->class_of[placer->shifts[i].small]] = true;
    for (uint32_t i = 0; i < placer->shrink->class_count; i++)
        placer->less[i] = divided[i] || !made[i] ? 0 : -1;
    free(made);
}

static void refuse(struct placer *placer, const struct nda_shrink_shift *shift)
{
    placer->refused[placer->shrink->class_of[shift->small]] = shift->op;
}

static bool follow(struct placer *placer, const struct nda_shrink_shift *shift)
{
    int64_t *large = &placer->less[placer->shrink->class_of[shift->large]],
            *small = &placer->less[placer->shrink->class_of[shift->small]];
    if (*large >= 0 && *small < 0) {
        *small = *large + shift->cut;
        return true;
    }
    if (*small >= shift->cut && *large < 0) {
        *large = *small - shift->cut;
        return true;
    }
    return false;
}

void nda_shrink_place_shifts(const struct nda_shrink_shift *shifts, size_t count, const bool *divided,
                             struct nda_shrink *shrink, uint32_t *refused)
{
    struct placer placer = {.shifts = shifts,
                            .count = count,
                            .shrink = shrink,
                            .less = mem_zalloc((size_t)shrink->class_count + 1, sizeof *placer.less),
                            .refused = refused};
    memset(refused, 0xff, sizeof *refused * shrink->class_count); /* NDA_NONE */
    begin(&placer, divided);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < count; i++)
            changed |= follow(&placer, &shifts[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (placer.less[shrink->class_of[shifts[i].large]] < 0 ||
            placer.less[shrink->class_of[shifts[i].small]] !=
                placer.less[shrink->class_of[shifts[i].large]] + shifts[i].cut)
            refuse(&placer, &shifts[i]);
    for (uint32_t i = 0; i < shrink->class_count; i++)
        shrink->classes[i].less = placer.less[i] > 0 ? placer.less[i] : 0;
    free(placer.less);
}
