/* What libtpu gathers from: its gathers run on a core of their own (SparseCore), which reads memory
 * (gathered.c). */
#ifndef TOAST_COST_GATHERED_H
#define TOAST_COST_GATHERED_H

#include "cost/internal.h"

/* Can libtpu gather the value's blocks into an argument's order? Along the innermost dimension only where
 * they are whole tiles of lanes. */
bool price_gathers_tiles(const struct spmd_local *local, const struct spmd_step *gather);
/* Bytes of what a gather reads, where that is made for it alone; or 0. What is computed inside every other
 * reader is made once for the gather, which begins at once. So is a copy of a table whose blocks were
 * gathered into another order than that of its rows. */
int64_t price_gathered_copy(const struct price_scratch *scratch, const struct spmd_local *local,
                            const struct spmd_step *step);
/* The step whose kernel makes it: the product that the largest of what it is computed from is of. Where the
 * gradient of the product's bias is summed up that kernel writes it, where the bias is updated, and this is
 * the gather's own step (final HLO of a BERT, libtpu 0.0.51). */
uint32_t price_gathered_by(const struct price_scratch *scratch, const struct spmd_local *local,
                           const struct spmd_step *step);
/* Is what was gathered reduced over devices before anything else reads it? Then it may wait for what is
 * reduced with it (reductions.c); else its reader runs with others that are wanted at once. */
bool price_gather_waits(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct spmd_step *gather);

#endif
