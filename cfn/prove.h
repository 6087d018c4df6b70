/* Best-first branch and bound over small models, towards a better bound: a leaf is a set of values that are
 * left, its bound the certified TRW-S bound under multipliers of its own; the least bound of all leaves is a
 * bound of the whole.
 *
 *     root     values whose bound reaches the best answer go (reduced-cost fixing by a pass, then by probing)
 *     expand   the leaf of least bound: one child for each value left of the node that promised most so far;
 *              values that no longer fit the limit go; children at or above the best answer go
 *
 * The leaves (leaves.h) stay in the worker from phase to phase, and with it in saved.c. */
#ifndef TOAST_CFN_PROVE_H
#define TOAST_CFN_PROVE_H

#include "cfn/worker.h"

/* whether the model is small enough for a tree of certificates */
bool cfn_prove_suits(const struct cfn_model *model);
/* table entries that probing every value touches; HUGE_VAL: the model is too large for it anyway */
double cfn_prove_probe_work(const struct cfn_model *model);
/* table entries that branching on a leaf touches, or so: itself and two children */
double cfn_prove_leaf_work(const struct cfn_model *model);
/* Until the phase ends or no leaf is left. Needs a best answer and multipliers; raises w->bound, may find
 * better answers. probing: table entries that probing values at the root may take; where they are too many
 * for it, none is probed. */
void cfn_prove_phase(struct cfn_worker *worker, double probing);
/* The same for the answers that leaves land on, by a worker whose messages are all 0: some passes first.
 * Where its model is a part of another (likely.h), its bound is of that part alone. */
void cfn_prove_for_answers(struct cfn_worker *worker);
/* After phases of two workers that share the leaves (cfn_leaves_share): all are with the first again, and its
 * bound is the least of both, at most `best`, what the best answer that either knows costs. Both are to know
 * that answer before they go on: leaves that reach it are gone. */
void cfn_prove_join(struct cfn_worker *worker, struct cfn_worker *other, int64_t best);

#endif
