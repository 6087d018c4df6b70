/* The clusters' phase: under the best multipliers it moves costs between the links of each cluster, so that
 * the bound of the relaxed model rises (clusters.h). */
#ifndef TOAST_CFN_TIGHTEN_H
#define TOAST_CFN_TIGHTEN_H

#include "cfn/worker.h"

/* From now on the worker's bounds are of a relaxed model: with clusters of at most so many cells. Once. */
void cfn_tighten_begin(struct cfn_worker *worker, double most_cells);
/* back to the worker's own model; nothing where it had no clusters */
void cfn_tighten_end(struct cfn_worker *worker);
/* the same where nothing of the worker is used any more */
void cfn_tighten_release(struct cfn_worker *worker);
/* Until the phase ends or a step gains little. Needs a best answer and multipliers; raises w->bound. Changes
 * what was moved, the messages and the estimate at the best multipliers, which may fall a little. */
void cfn_tighten_phase(struct cfn_worker *worker);

#endif
