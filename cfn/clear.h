/* What is forbidden goes from a point: wide moves around it, in wider and wider balls.
 *
 *   rounding, forest moves      cheap almost everywhere, and an infinite entry here and there
 *   . . . . . .
 *   . . * * . .                 * a ball around an infinite entry (#), eliminated exactly together
 *   . * * # * .                 while the rest stays: the cheapest way around it
 *   . . * * . .
 *
 * Where most pairs of values are forbidden, no point that passes suggest is free of them, and neither repair
 * nor polish changes the two or three nodes at once that it takes. */
#ifndef TOAST_CFN_CLEAR_H
#define TOAST_CFN_CLEAR_H

#include "cfn/worker.h"

/* Of worker->point, under worker->unary; priced again afterwards. Whether nothing in it is forbidden then. A
 * point with nothing forbidden is left alone, one with very many, too; at most the work of a few passes. */
bool cfn_clear(struct cfn_worker *worker);

#endif
