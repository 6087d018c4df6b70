/* What expansions (expand.h) are made of: ops at the end of the open block, all at one position. */
#ifndef TOAST_IR_EXPAND_PARTS_H
#define TOAST_IR_EXPAND_PARTS_H

#include "ir/build.h"

struct expand_parts {
    struct ir_builder *builder;
    struct ir_position position; /* of every op made */
};

/* an op of one result; values and types are the builder's */
uint32_t expand_op(const struct expand_parts *parts, const char *name, const uint32_t *operands,
                   uint32_t operand_count, uint32_t type, const struct ir_attr *attrs, uint32_t attr_count);
/* the sum of value over dims, from `zero`, a scalar of its element type */
uint32_t expand_sum(const struct expand_parts *parts, uint32_t value, uint32_t zero, const int64_t *dims,
                    uint32_t count, uint32_t type);

#endif
