/* One program op at local shapes as StableHLO ops: one lower_<family>.c a group of families.
 *
 * A lowering gets the local operands, the sizes its results must have, and the op's attributes already
 * copied; it sets the results' values. What it cannot do exactly it refuses with the op's position: never a
 * guess. */
#ifndef TOAST_EMIT_LOWER_H
#define TOAST_EMIT_LOWER_H

#include "emit/build.h"

struct lower_op {
    const struct spmd_step *step;
    uint32_t op;
    struct emit_tensor *in, *out;
    uint32_t in_count, out_count;
    struct ir_attr attrs[EMIT_MAX_ATTRS];
    uint32_t attr_count;
};

/* writes the step's op; its results become e->value_of */
enum error_code lower_step(struct emit *e, const struct spmd_step *step, struct error *error) BASE_CHECKED;

/* how operand i's (result i's) dim lies on the devices */
struct emit_layout lower_in_layout(const struct emit *e, const struct lower_op *lower, uint32_t i,
                                   uint32_t dim);
struct emit_layout lower_out_layout(const struct emit *e, const struct lower_op *lower, uint32_t i,
                                    uint32_t dim);
/* Does the op only say how its operand is to lie (sharding_constraint, GSPMD's @Sharding)? The plan decides
 * that. */
bool lower_passes_value(const struct emit *e, uint32_t op);
/* the same op with o->in, o->attrs, its regions, and results of o->out's sizes */
enum error_code lower_as_is(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
void lower_set_ints(struct emit *e, struct lower_op *lower, const char *name, const int64_t *ints,
                    uint32_t count);
void lower_set_int(struct emit *e, struct lower_op *lower, const char *name, int64_t value);
/* axes in force on contracting factors of the step's op: their group's first device keeps initial values */
struct emit_axes lower_contracting_axes(const struct emit *e, const struct spmd_step *step);
/* the reducer of those factors; NDA_REDUCE_NONE when there are none */
enum nda_reducer lower_contracting_reducer(const struct emit *e, const struct lower_op *lower);
/* Is operand i a constant (perhaps broadcast) that changes nothing under the reducer? */
bool lower_is_identity(const struct emit *e, const struct lower_op *lower, uint32_t i,
                       enum nda_reducer reducer);
/* in[i] = on the group's first device in[i], elsewhere the identity of the step's reducer */
enum error_code lower_mask_initial(struct emit *e, struct lower_op *lower, uint32_t i,
                                   struct error *error) BASE_CHECKED;

/* annotate_atoms.c: rewrites o->attrs and o->out's sizes so that the op works on arrays of atoms; false
 * (nothing changed) where its family or its atoms do not allow it */
bool annotate_in_atoms(struct emit *e, struct lower_op *lower);
/* operands of a concatenation on atoms, as they were read: a single piece gets the dim that pieces lie along
 */
void annotate_join_pieces(struct emit *e, struct lower_op *lower);

/* ", name = [..]" behind what a dimension-numbers attribute has so far; nothing for an empty list */
void annotate_add_dims(struct text *text, const char *name, const struct ir_dims *list);
/* replaces a dot_general's dimension numbers */
void annotate_set_dot(struct emit *e, struct lower_op *lower, const struct ir_dot *dot);

/* lower_counted.c: the op's numbers (0 on success, -1 as ir_gather). Where its index vectors count along a
 * dimension that is split, that is a batching dim of them, and lower->in and the attributes are made so. */
int lower_count_gather(struct emit *e, struct lower_op *lower, struct ir_gather *gather);
int lower_count_scatter(struct emit *e, struct lower_op *lower, struct ir_scatter *scatter);
/* replaces a scatter's dimension numbers; its vectors are not sorted any more */
void lower_set_scatter(struct emit *e, struct lower_op *lower, const struct ir_scatter *scatter);
/* lower_shape.c: values of one shape, constants, iota, movement without computation */
enum error_code lower_constant(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_iota(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_broadcast(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_reshape(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_slice(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_pad(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_concatenate(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_whole_dims(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_rng(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
/* lower_contract.c: dot, convolution, reductions, batch normalisation */
enum error_code lower_dot(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_convolution(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_reduce(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_reduce_window(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_batch_norm(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
/* lower_index.c: gather, scatter, dynamic slice and update */
enum error_code lower_gather(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_scatter(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_dynamic_slice(struct emit *e, struct lower_op *lower, struct error *error) BASE_CHECKED;
enum error_code lower_dynamic_update(struct emit *e, struct lower_op *lower,
                                     struct error *error) BASE_CHECKED;

#endif
