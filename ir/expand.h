/* Ops that are planned as what they are made of. */
#ifndef TOAST_IR_EXPAND_H
#define TOAST_IR_EXPAND_H

#include "ir/build.h"

/* batch_norm_training and batch_norm_grad of p, as sums and elementwise ops at the end of b's open block:
 * `operands` are the op's in b, `results` become its three results. false: the op stays as it is (any
 * other op, or one that ir_verify refuses). */
bool ir_expand_op(struct ir_builder *b, const struct ir_program *p, uint32_t op, const uint32_t *operands,
                  uint32_t results[3]);

#endif
