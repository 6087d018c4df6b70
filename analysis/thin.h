/* Plans of a fold (fold.h) that say nothing of what the fold leaves out.
 *
 *   layer    0   1 | 2   3  ..  L-3 | L-2 L-1
 *   cells    x   x | -   -       -  |  x   x      of ops; arguments and results have all of theirs
 *
 * A decision does the same to every space whose factors are candidates alike: group, sides, size, ties. So
 * where a layer that is gone is alike, its cells need not be set to be known, and applying a decision costs
 * as much as the layers that are left. The hash is nevertheless that of the plan with all cells: what the
 * cells of all layers add to it is known beforehand, for each candidate, axis and position.
 *
 * Thin plans are for the walk of the fold and for comparing; a plan that is shown, stored or walked as a
 * whole is replayed with the context that the thin one was made of. Immutable, shared by threads. */
#ifndef TOAST_ANALYSIS_THIN_H
#define TOAST_ANALYSIS_THIN_H

#include "analysis/fold.h"

struct thin;
/* NULL: some op that is gone is not alike (pins that name one layer, a loop in a layer). context is that of
 * the whole program. Owned; context and fold are borrowed and must outlive it. */
struct thin *thin_create(const struct plan_context *context, const struct fold *fold);
void thin_destroy(struct thin *thin); /* NULL is fine */
/* For plan_apply alone, from plan_context_start on: decisions of it make thin plans, with the effects and the
 * hashes that they have on context. Borrowed. */
const struct plan_context *thin_context(const struct thin *thin);
/* plan_init_copy of a thin plan: of what is left; all else is never set, as nobody reads it. As fast at any
 * depth, as memory that nobody touches is free. */
void thin_init_copy(const struct thin *thin, struct plan *plan, const struct plan *from);
/* plan_copy of a thin plan to one that was a thin plan before, likewise */
void thin_copy(const struct thin *thin, struct plan *to, const struct plan *from);
/* fold_holds, of a thin plan */
bool thin_holds(const struct thin *thin, const struct plan *plan);

#endif
