/* Loop-invariant carried values: what the body of a `while` returns as it got it. PyTorch/XLA and older
 * versions of JAX carry a loop's weights so. Taken from outside of the loop instead, as other captures
 * are, such a value has the forms that its uses want and not one form for the loop; what is gathered of it
 * is gathered before the loop; and a carried bound is the constant that it is.
 *
 * Two kinds stay carried. Stacks of which the body takes slices only (JAX's scans): they are used as they
 * lie, and what is gathered is the slice. And what would be computed again inside of the loop (prepare.h:
 * constants' masks and tables). */
#ifndef TOAST_IR_INVARIANTS_H
#define TOAST_IR_INVARIANTS_H

#include "ir/program.h"

/* For each value of p the value that takes its place: a result or block argument of a while whose body
 * returns its own argument (also through such loops inside of it) becomes the while's operand, if
 * something uses it in the loop; every other value is itself. A while keeps one carried value at least,
 * and all its tokens. `cheap`, by op: results of more than one element are not taken from there. p was
 * checked by ir_verify. Owned, free(). */
uint32_t *ir_invariants_find(const struct ir_program *p, const uint8_t *cheap);

/* Does position i of a while's operands and results, or of what its body returns, go? false for other ops. */
bool ir_invariants_drop(const struct ir_program *p, const uint32_t *same, uint32_t op, uint32_t i);

#endif
