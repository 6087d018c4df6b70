/* Ops that are planned as the simpler ops they are made of: batch norms in training and their gradients. */
#ifndef TOAST_IR_EXPAND_H
#define TOAST_IR_EXPAND_H

#include "ir/build.h"

/* Writes batch_norm_training or batch_norm_grad of program as sums and elementwise ops at the end of b's open
 * block. `position` is theirs; `operands` are the op's operands as values of builder; `results` receives the
 * three values of
 * builder that replace its results. false: the op stays as it is and nothing was written (any other op, or
 * one that ir_verify refuses). */
bool ir_expand_op(struct ir_builder *builder, const struct ir_program *program, uint32_t op,
                  struct ir_position position, const uint32_t *operands, uint32_t results[3]);

#endif
