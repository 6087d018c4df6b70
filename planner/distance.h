/* How much two plans of one job really differ: the share of the program's bytes that they shard
 * differently.
 *
 * Two shares, each 0 to 1: of the bytes of arguments (weights, optimizer state, data) whose sharding
 * differs, and of the bytes of results of ops that are split differently. Bytes are those of whole
 * tensors, each counted once, so that a large weight counts as one and a vector hardly at all. Axes that
 * the machine cannot tell apart (equal size and links, the same hosts) are interchangeable: a plan with
 * them exchanged is the same plan, and the smallest difference over such exchanges is what is given; so is
 * one with two axes of one dimension in another order. Never looks at prices. */
#ifndef TOAST_PLANNER_DISTANCE_H
#define TOAST_PLANNER_DISTANCE_H

#include "cost/machine.h"

struct planner_difference {
    double arguments, results;
};
/* the larger of both shares */
double planner_difference_share(struct planner_difference difference);

struct planner_distance; /* immutable; may be shared by threads */
/* context and machine are borrowed until it is destroyed; owned */
struct planner_distance *planner_distance_create(const struct plan_context *context,
                                                 const struct cost_machine *machine);
void planner_distance_destroy(struct planner_distance *distance); /* NULL is fine */
/* both plans: of the context; symmetric */
struct planner_difference planner_distance_of(const struct planner_distance *distance,
                                              const struct plan *plan, const struct plan *other);

#endif
