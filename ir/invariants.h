/* Loop-invariant carried values: what the body of a `while` returns as it got it.
 *
 *     %r:2 = while(%i = %zero, %w = %weights)            %w is always %weights
 *       body { .. dot %x, %w ..  return %i1, %w }
 *
 * PyTorch/XLA and older versions of JAX carry a loop's weights so. When the body names %weights itself, as it
 * names other values from outside, the value can be sharded as each use wants and not in one way for the
 * whole loop; what is gathered of it is gathered once, before the loop; and a carried bound is the constant
 * that it is.
 *
 * Two kinds stay carried: stacks of which the body only takes slices (JAX's scans), because then only the
 * slice is gathered in each turn; and values that prepare.h would clone into the loop and compute again in
 * every turn (masks and tables made of constants). */
#ifndef TOAST_IR_INVARIANTS_H
#define TOAST_IR_INVARIANTS_H

#include "ir/program.h"

/* For each value of program the value that takes its place. A result or block argument of a while whose body
 * returns its own argument (also when it passes through such loops inside) becomes the while's operand, if
 * something in the loop uses it; a get_tuple_element of what a tuple op made is the part that went in; every
 * other value is itself. A while keeps at least one carried value, and
 * all its tokens. `cheap`, by op: results of these with more than one element are left carried (prepare.h
 * clones them). program must have passed ir_verify. Owned by the caller, free(). */
uint32_t *ir_invariants_find(const struct ir_program *program, const uint8_t *cheap);

/* Does position i of a while's operands and results, or of what its body returns, go away? false for other
 * ops. */
bool ir_invariants_drop(const struct ir_program *program, const uint32_t *same, uint32_t op, uint32_t i);

#endif
