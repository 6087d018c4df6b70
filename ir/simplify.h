/* Empty tensors leave the program: ops that JAX writes for them (associative_scan joins with empty parts,
 * its gradient pads empty tensors) would end colors and be exchanged between devices for nothing. */
#ifndef TOAST_IR_SIMPLIFY_H
#define TOAST_IR_SIMPLIFY_H

#include "ir/build.h"

/* Every result has no element, and the op does nothing else: it is a constant. */
bool ir_is_empty(const struct ir_program *p, uint32_t op);

/* The op means the same without this operand: all operands of an op whose results are empty, a
 * concatenate's empty parts, the empty operand of a pad. p was checked by ir_verify. */
bool ir_drops_operand(const struct ir_program *p, uint32_t op, uint32_t operand);

/* Writes the op of p without the operands that it drops at the end of b's open block: an empty constant, a
 * shorter concatenate or its only part, a broadcast of the padding. `operands` are the op's in b (dropped
 * ones are not read); results[] gets its results in b. false: nothing is dropped, and nothing was written. */
bool ir_simplify_op(struct ir_builder *b, const struct ir_program *p, uint32_t op, const uint32_t *operands,
                    uint32_t *results);

#endif
