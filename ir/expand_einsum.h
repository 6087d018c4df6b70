/* Products named by letters, and torch's rows by index: ops that newer StableHLO writes with others. */
#ifndef TOAST_IR_EXPAND_EINSUM_H
#define TOAST_IR_EXPAND_EINSUM_H

#include "ir/expand_parts.h"

/* einsum ("bij,bjk->bik", also with "...") and unary_einsum as sums, one dot_general and a transpose. false,
 * nothing written: a letter twice in one operand or in the result, one with two sizes, or a result of other
 * dimensions than the letters say. operand_count:
 * 2, of unary_einsum 1; `operands` are values of the builder. */
bool expand_einsum(const struct expand_parts *parts, const struct ir_program *program, uint32_t op,
                   uint32_t operand_count, const uint32_t *operands, uint32_t *result);
/* torch_index_select as a gather of slices along `dim`, the first `batch_dims` dimensions as batching ones.
 * false, nothing written: shapes that do not fit together. */
bool expand_index_select(const struct expand_parts *parts, const struct ir_program *program, uint32_t op,
                         const uint32_t *operands, uint32_t *result);

#endif
