/* How one op of a group of partial sums is written with leading dims (annotate_rewrite.c): its operands, its
 * attributes, its sizes. Only annotate_summands.c includes it, which says what the leading dims are for. */
#ifndef TOAST_EMIT_ANNOTATE_REWRITE_H
#define TOAST_EMIT_ANNOTATE_REWRITE_H

#include "emit/lower.h"

/* An operand with each dim that leading axes shard cut into (axis size .., rest). */
struct split {
    uint32_t rank;
    int64_t dims[EMIT_MAX_RANK];
    struct emit_axes axes[EMIT_MAX_RANK];
    uint32_t at[EMIT_MAX_RANK];   /* dim of the operand -> where the rest of it is */
    uint32_t lead[MESH_MAX_AXES]; /* axis -> where its dim is */
    uint32_t from[MESH_MAX_AXES]; /* axis -> dim of the operand that was cut */
};

enum operand_kind { AS_IS, SUMMANDS, SPLIT, RAISED };
enum { MAX_OPERANDS = 3 };

/* axes of the leading dims, each major first */
struct leading {
    uint32_t count;
    struct emit_axes at[MESH_MAX_AXES];
};

struct rewrite {
    struct lower_op *lower;
    struct leading lead;
    uint32_t mask;
    bool maker;
    enum operand_kind kinds[MAX_OPERANDS];
    struct split splits[MAX_OPERANDS];
    struct ir_dims order; /* of the written result's dims that gives the leading ones first; count 0: so */
};

/* axes over which an spmd value is a partial sum, a bit each; *other: it is partial in another way */
uint32_t rewrite_partial_sum(const struct emit *e, uint32_t value, bool *other);
uint32_t rewrite_mask(const struct emit_axes *axes);
/* spmd value of operand i, and the type of a value's origin (borrowed) */
uint32_t rewrite_operand(const struct emit *e, const struct rewrite *rewrite, uint32_t i);
const struct ir_type *rewrite_type(const struct emit *e, uint32_t value);
/* the axes of a dim, major first; false: its blocks are not ranges of it */
bool rewrite_axes_of_dim(const struct emit *e, uint32_t value, uint32_t dim, struct emit_axes *axes,
                         int64_t *size);
bool rewrite_in_ranges(const struct emit *e, uint32_t value);
void rewrite_append(struct ir_dims *list, int64_t dim);
/* the leading dims of a partial sum over these axes: one in this order, or (count 0) one an axis */
struct leading rewrite_leading(const struct emit *e, uint32_t mask, const struct emit_axes *order);
/* Sets the op's attributes and sizes for the leading dims; false (attributes are then spoilt): cannot be. */
bool rewrite_prepare(struct emit *e, struct lower_op *lower, const struct emit_axes *order,
                     struct rewrite *rewrite);

#endif
