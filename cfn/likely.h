/* Phases among likely values. Under the best multipliers a pass says of each value what an answer with it
 * costs at least; the values of good answers stand near the bound there, and most others do not. Without
 * those a model has a fraction of the table entries, and wide moves and dives reach further.
 *
 *     bound |....share of the gap....|.................................| best answer
 *           a a  a  a     a          b       b    b       b  b      b
 *           these, and what elites have       not here
 *
 * Nothing is proved by it: what is left out may well be in the best answer. */
#ifndef TOAST_CFN_LIKELY_H
#define TOAST_CFN_LIKELY_H

#include "cfn/worker.h"

/* A phase for a worker of its own, on a model of likely values and those of the worker's elites; it starts
 * from the worker's best, elites and multipliers, draws from a random state of its own, and spends the
 * worker's work until the phase's end. What it finds becomes the worker's. How likely values have to be is
 * drawn anew each time. Without an answer or multipliers the worker does the phase itself. */
void cfn_likely_phase(struct cfn_worker *worker, void (*phase)(struct cfn_worker *));

#endif
