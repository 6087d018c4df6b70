/* Partition crossover (Whitley, Hains and Howe 2009, for networks): where two points differ, the connected
 * parts of the difference can be chosen one by one. */
#ifndef TOAST_CFN_CROSSOVER_H
#define TOAST_CFN_CROSSOVER_H

#include "cfn/worker.h"

/* `from` with the parts of `guide`, a point of the pool, that pay, in random order; repaired, polished and
 * recorded */
void cfn_crossover(struct cfn_worker *worker, const struct cfn_point *from, const struct cfn_point *guide);
/* `count` crossovers of the worker's best with random elites */
void cfn_crossover_pool(struct cfn_worker *worker, int count);

#endif
