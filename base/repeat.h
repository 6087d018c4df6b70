/* The best repeat in a sequence of keys: the run of equal windows that saves most, then the shortest window,
 * then the first. Layers of a model are found so, in segments (segments/cover.c) and folds
 * (analysis/fold_match.c). Pure; never allocates. */
#ifndef TOAST_BASE_REPEAT_H
#define TOAST_BASE_REPEAT_H

#include <stdint.h>

struct repeat {
    uint32_t first, period, times; /* times 0: nothing repeats */
};

/* windows of at most `longest` keys; takes count * longest steps */
struct repeat repeat_best(const uint64_t *keys, uint32_t count, uint32_t longest);

#endif
