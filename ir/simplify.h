/* Empty tensors leave the program.
 *
 * JAX writes ops on them (associative_scan joins with empty parts, and the gradient of that pads empty
 * tensors). They compute nothing, but in the analysis an empty operand would keep the dimensions of the
 * other operands from being one color, and devices would exchange empty tensors at full latency. */
#ifndef TOAST_IR_SIMPLIFY_H
#define TOAST_IR_SIMPLIFY_H

#include "ir/build.h"

/* Has every result no element, and has the op no other effect? Then it is an empty constant. */
bool ir_is_empty(const struct ir_program *program, uint32_t op);

/* Does the op mean the same without this operand? So it is for all operands of an op whose results are
 * empty, for the empty parts of a concatenate, and for the empty operand of a pad. program must have passed
 * ir_verify. */
bool ir_drops_operand(const struct ir_program *program, uint32_t op, uint32_t operand);

/* Writes what remains of the op of program without its dropped operands at the end of b's open block: an
 * empty constant, a shorter concatenate or its only part, a broadcast of the padding. `operands` are the op's
 * operands as values of builder (dropped ones are not read); results[] receives values of builder. false:
 * nothing is dropped, and nothing was written. */
bool ir_simplify_op(struct ir_builder *builder, const struct ir_program *program, uint32_t op,
                    const uint32_t *operands, uint32_t *results);

#endif
