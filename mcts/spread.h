/* AutoMap's decisions, for comparison: one dimension of one argument on one axis, spread along the
 * program. */
#ifndef TOAST_MCTS_SPREAD_H
#define TOAST_MCTS_SPREAD_H

#include "analysis/plan.h"

struct spread; /* immutable; shared by threads */
struct spread *spread_create(const struct plan_context *context);
void spread_destroy(struct spread *spread);
uint32_t spread_decision_count(const struct spread *spread);
/* Shards the decision's factor and follows definitions and uses both ways until an op has the axis
 * elsewhere or cannot take it. Returns how many factors changed. `queue` is scratch of nda->factor_count
 * entries. */
uint32_t spread_apply(const struct spread *spread, struct plan *plan, uint32_t decision, uint32_t *queue);
uint32_t spread_queue_size(const struct spread *spread);

#endif
