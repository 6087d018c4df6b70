/* Partial sums of the annotated output that meet before they are reduced (annotate_summands.c).
 *
 * A value that the plan leaves partial has no form in XLA. Where two of them are added before one reduction,
 * all ops between are written on arrays with leading dims that the partial's axes shard: the summands, each
 * on its devices. What reads the sum reads one reduce over the leading dims. */
#ifndef TOAST_EMIT_ANNOTATE_SUMMANDS_H
#define TOAST_EMIT_ANNOTATE_SUMMANDS_H

#include "emit/emit.h"
#include "emit/lower.h"

struct summands;

/* Looks at all steps of e->local; owned by the caller. Groups with an op that cannot be written so are left
 * out whole. Writes nothing. */
struct summands *summands_create(struct emit *e);
void summands_destroy(struct summands *summands); /* NULL is fine */

/* Is this spmd value written as summands? */
bool summands_has(const struct summands *summands, uint32_t value);

/* What makes the values that are written so, and which of them loops carry; out: zeroed. */
void summands_list(struct emit *e, const struct summands *summands, struct emit_sums *out);

/* Writes the op of a step whose result is. lower: as annotate.c opens it, attributes copied; only operands
 * that are not summands themselves are read by annotate_use. Errors are lower_as_is'. */
enum error_code summands_step(struct emit *e, struct summands *summands, struct lower_op *lower,
                              struct error *error) BASE_CHECKED;

/* Writes the mask or slice of a step whose result is. */
void summands_move(struct emit *e, struct summands *summands, const struct spmd_step *step);

/* element type and sizes with the leading dims, and what is written for this value (IR_NONE: nothing yet) */
struct emit_tensor summands_tensor(const struct emit *e, const struct summands *summands, uint32_t value);

/* a loop's block argument or result is */
void summands_define(struct summands *summands, uint32_t value, uint32_t built);

/* the builder value of the sum of what is written for this value: in its own sizes, constrained nowhere */
uint32_t summands_sum(struct emit *e, const struct summands *summands, uint32_t value);

#endif
