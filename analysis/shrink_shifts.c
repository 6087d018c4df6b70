/* Dimensions that lack a few elements of another; see shrink_shifts.h. What a class lacks follows from shift
 * to shift, in both directions, from classes that lack nothing: those that are in a ratio to others, then,
 * where none is reached, the largest. */
#include "analysis/shrink_shifts.h"

#include "base/divide.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Chosen: a window of a running difference, the tokens that are shifted, registers and prompts beside what is
 * attended to. A divisor in common that is larger is the better way. */
enum { MOST_CUT = 32, MOST_COMMON = 8 };

bool nda_shrink_is_shift(int64_t large, int64_t small)
{
    int64_t cut = large - small, common = common_divisor(large, small);
    return cut > 0 && cut <= MOST_CUT && small > MOST_COMMON && small > cut && common <= cut &&
           common <= MOST_COMMON;
}

struct placer {
    const struct nda_shrink_shift *shifts;
    size_t count;
    struct nda_shrink *shrink;
    int64_t *less; /* by class */
    bool *known;   /* by class */
    uint32_t *refused;
};

static uint32_t class_of(const struct placer *placer, uint32_t atom)
{
    return placer->shrink->class_of[atom];
}

static void know(struct placer *placer, uint32_t class, int64_t less)
{
    placer->less[class] = less;
    placer->known[class] = true;
}

static void refuse(struct placer *placer, const struct nda_shrink_shift *shift)
{
    placer->refused[class_of(placer, shift->small)] = shift->op;
}

static void follow_all(struct placer *placer)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < placer->count; i++) {
            const struct nda_shrink_shift *shift = &placer->shifts[i];
            if (shift->large == NDA_NONE)
                continue;
            uint32_t large = class_of(placer, shift->large), small = class_of(placer, shift->small);
            if (placer->known[large] == placer->known[small])
                continue;
            changed = true;
            if (placer->known[large])
                know(placer, small, placer->less[large] + shift->cut);
            else
                know(placer, large, placer->less[small] - shift->cut);
        }
    }
}

/* from what is divided; then, as long as there are others, from the largest of them */
static void place_all(struct placer *placer, const bool *divided)
{
    for (size_t i = 0; i < placer->count; i++)
        if (placer->shifts[i].large == NDA_NONE && !placer->known[class_of(placer, placer->shifts[i].small)])
            know(placer, class_of(placer, placer->shifts[i].small), placer->shifts[i].cut);
    for (uint32_t i = 0; i < placer->shrink->class_count; i++)
        if (divided[i] && !placer->known[i])
            know(placer, i, 0);
    for (;;) {
        uint32_t largest = NDA_NONE;
        follow_all(placer);
        for (size_t i = 0; i < placer->count; i++) {
            uint32_t at =
                placer->shifts[i].large == NDA_NONE ? NDA_NONE : class_of(placer, placer->shifts[i].large);
            if (at != NDA_NONE && !placer->known[at] &&
                (largest == NDA_NONE ||
                 placer->shrink->classes[at].size > placer->shrink->classes[largest].size))
                largest = at;
        }
        if (largest == NDA_NONE)
            return;
        know(placer, largest, 0);
    }
}

void nda_shrink_place_shifts(const struct nda_shrink_shift *shifts, size_t count, const bool *divided,
                             struct nda_shrink *shrink, uint32_t *refused)
{
    struct placer placer = {.shifts = shifts,
                            .count = count,
                            .shrink = shrink,
                            .less = mem_zalloc((size_t)shrink->class_count + 1, sizeof *placer.less),
                            .known = mem_zalloc((size_t)shrink->class_count + 1, sizeof *placer.known),
                            .refused = refused};
    memset(refused, 0xff, sizeof *refused * shrink->class_count); /* NDA_NONE */
    place_all(&placer, divided);
    for (size_t i = 0; i < count; i++) {
        uint32_t small = class_of(&placer, shifts[i].small);
        int64_t large = shifts[i].large == NDA_NONE ? 0 : placer.less[class_of(&placer, shifts[i].large)];
        if (placer.less[small] != large + shifts[i].cut || (shifts[i].large == NDA_NONE && divided[small]) ||
            shrink->classes[small].size + placer.less[small] < 2)
            refuse(&placer, &shifts[i]);
    }
    for (uint32_t i = 0; i < shrink->class_count; i++)
        shrink->classes[i].less = placer.less[i];
    free(placer.less);
    free(placer.known);
}
