/* Ops that are planned as the simpler ops they are made of: batch norms in training and their gradients;
 * einsums as products, sums and transposes, torch_index_select as a gather (expand_einsum.h); custom calls
 * @Sharding as the sharding constraints that they are. */
#ifndef TOAST_IR_EXPAND_H
#define TOAST_IR_EXPAND_H

#include "ir/build.h"

enum { IR_EXPAND_RESULTS = 3 }; /* the most results of an op that is expanded */

/* Writes such an op of program as what it is made of at the end of b's open block. `position` is theirs;
 * `operands` are the op's operands as values of builder; `results` receives the values of builder that
 * replace its results. false: the op stays as it is and nothing was written (any other op, or one that is
 * not sound). */
bool ir_expand_op(struct ir_builder *builder, const struct ir_program *program, uint32_t op,
                  struct ir_position position, const uint32_t *operands, uint32_t results[IR_EXPAND_RESULTS]);

#endif
