/* Index vectors that count: `logits[arange(n), labels]` written as what it is, one lookup in each row.
 *
 *     indices [n, 2] = concatenate(iota, labels)           batch dims: operand 0, indices 0
 *     gather: component 0 -> dim 0, component 1 -> dim 1   gather: component 1 -> dim 1
 *
 * A component of the index vectors that is, at every place, the place's own position along a dimension as
 * long as the operand's, looks up (or writes) row i for vector i: the two dimensions are one batch. It is
 * found whatever way the positions are written: iota or a constant, broadcast, reshaped, transposed,
 * converted, sliced, joined, moved by constants, clamped, or chosen by a comparison that cannot come out
 * otherwise (`i < 0 ? i + n : i`). XLA's partitioner looks for such dimensions, too, where an iota is
 * joined as it is (xla/hlo/utils/hlo_sharding_util.cc, GetGatherScatterBatchParallelDims).
 *
 * Pure functions of the program; at least one component always stays a lookup. */
#ifndef TOAST_IR_COUNTED_H
#define TOAST_IR_COUNTED_H

#include "ir/attrs.h"

/* Of an op after ir_verify: ir_gather's (ir_scatter's) numbers with the dimensions that are counted among the
 * batching ones (operand_batch, input_batch in ascending order), and no longer among the collapsed (inserted)
 * ones and in the map. `counted` receives the components that were left out, ascending; none: the op's own
 * numbers. Errors: as ir_gather, ir_scatter. */
int ir_gather_counted(const struct ir_program *program, uint32_t op, struct ir_gather *out,
                      struct ir_dims *counted);
int ir_scatter_counted(const struct ir_program *program, uint32_t op, struct ir_scatter *out,
                       struct ir_dims *counted);

#endif
