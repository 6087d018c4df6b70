/* Dimensions that lack a few elements of another: `tokens[:, 1:]`, a pad of one, a part of a concatenate
 * beside one element. No number divides both 512 and 511, so that the smaller one keeps its distance instead:
 * 512 -> 16 and 511 -> 15. Or the larger one does, where the smaller is in a ratio to others: 256 patches of
 * 16 x 16 and 5 tokens more. */
#ifndef TOAST_ANALYSIS_SHRINK_SHIFTS_H
#define TOAST_ANALYSIS_SHRINK_SHIFTS_H

#include "analysis/shrink.h"

struct nda_shrink_shift {
    uint32_t op;           /* that demands it */
    uint32_t large, small; /* atoms of nda->atoms; large NDA_NONE: what several atoms together divide */
    int64_t cut;           /* elements that the small one lacks; below 0: that it has more */
};
/* Is this what only a shift keeps: few elements less, and no divisor in common that is worth it? */
bool nda_shrink_is_shift(int64_t large, int64_t small);
/* Sets `less` of shrink's classes. divided: by class, whether some op has it in a ratio to another, so that
 * it is divided as it is. refused: by class, the op of a shift that contradicts that or another shift;
 * NDA_NONE where there is none. */
void nda_shrink_place_shifts(const struct nda_shrink_shift *shifts, size_t count, const bool *divided,
                             struct nda_shrink *shrink, uint32_t *refused);

#endif
