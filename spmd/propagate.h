/* A model of what XLA does with shardings of arguments, results and some values: Shardy's propagation over
 * the factors of our spaces, then each op split as the shardings around it say.
 *
 * It promises a plan that spmd_walk takes: what the user's PartitionSpecs and constraints alone come to, in
 * the same currency as the plan that they were taken from. Shardings propagate over whole dimensions, by
 * Shardy's rules (propagate_rule.h), and become factors of ours only at the end, as far as they cut atoms
 * evenly. It is a model: sub-axes do not exist, and where XLA's partitioner chooses how to split an op whose
 * operands and results disagree we choose by a rule of our own (docs/forms.md). It never changes program,
 * context or plan.
 *
 * The order is Shardy's: ops that pass a sharding through first (those whose operands have one use before the
 * others), then factors that pass through any op, then all but broadcasts forward, then all; of what meets in
 * one op the larger tensor's first. */
#ifndef TOAST_SPMD_PROPAGATE_H
#define TOAST_SPMD_PROPAGATE_H

#include "spmd/local.h"

struct propagate;

/* with_sharding_constraint: `value` has this form (atoms, or replicated) from its definition on, or where
 * only these slots use it. */
struct propagate_constraint {
    uint32_t value;
    struct spmd_form form;
    const uint32_t *uses; /* slots, borrowed; NULL: all of them, and the definition */
    uint32_t use_count;
    int64_t worth_bytes; /* of a list that was found: what moves more without it; -1: not known */
};

/* gone: by space, those that are not there (of a program with layers left out), borrowed; NULL: none */
struct propagate *propagate_create(const struct plan_context *context, const uint8_t *gone);
void propagate_destroy(struct propagate *p); /* NULL is fine */

/* boundary: its cells of arguments and results are what the user gives to jit. on[i]: constraint i stands;
 * NULL: all. *out: initialised; becomes what is made of them. */
void propagate_run(struct propagate *p, const struct plan *boundary, const struct propagate_constraint *list,
                   const bool *on, uint32_t count, struct plan *out);

/* [value]: its form after the last run, before each op is split, over dims: at[axis] is a dim, not an atom.
 * Borrowed until the next run. */
const struct spmd_form *propagate_forms(const struct propagate *p);

/* the axes of each dim, of a tensor of an op (a slot of its space): what it reads there, through a constraint
 * of some uses too */
void propagate_slot_sharding(const struct propagate *p, uint32_t slot, struct plan_sharding *out);

#endif
