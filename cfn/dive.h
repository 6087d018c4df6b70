/* Dives, on models where a pass over all links is cheap: one node is held at one value, message passing under
 * the multipliers carries that through the whole network, and what comes out is rounded, moved, repaired and
 * polished. Moves around one place rarely leave a valley whose answers share a choice made everywhere (which
 * axis all layers use); holding a value that only other valleys have leads into one of them at once.
 *
 *     valley 1   a a a a a a        hold node 4 at b:   messages    . . . b . .
 *     valley 2   b b b b b b                            rounded     b b b b b b
 *
 * One thread at a time: the worker's. Equal seeds and work give equal dives. */
#ifndef TOAST_CFN_DIVE_H
#define TOAST_CFN_DIVE_H

#include "cfn/worker.h"

/* table entries that a dive touches, about */
double cfn_dive_work(const struct cfn_model *model);
/* Until the phase ends; nothing without a bound. Values that cannot be in a better answer, as a pass
 * estimates it, are not held. Messages and prices are left as they were found. */
void cfn_dive_phase(struct cfn_worker *worker);
/* The assignment that the messages suggest, moved under the prices without the values that trws.dropped
 * names, then repaired and polished with all values; recorded when it is an answer. Leaves w->profile of the
 * moved assignment. */
void cfn_dive_land(struct cfn_worker *worker);

#endif
