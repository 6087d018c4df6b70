/* Inside the writers of local modules: the state of one emission and the small ops they are made of.
 *
 * Tensors carry their element type and sizes so that lowering never has to look a builder type up. Building
 * ops cannot fail; what a lowering finds wrong (a dimension sharded that it cannot handle) is returned as an
 * error naming the op's position. Scalars that only depend on the device (coordinates, block indices,
 * offsets) are int32 and computed once a region. */
#ifndef TOAST_EMIT_BUILD_H
#define TOAST_EMIT_BUILD_H

#include "emit/emit.h"
#include "ir/attrs.h"
#include "ir/build.h"

/* replica groups that are kept for their next use; further ones are written anew each time */
enum { EMIT_GROUPS_KEPT = 256 };
/* EMIT_MAX_RANK: an array of atoms has more dims than the value itself */
enum { EMIT_MAX_RANK = 32, EMIT_MAX_ATTRS = 32, EMIT_SCOPE_BLOCKS = 64 };

struct emit_tensor {
    uint32_t value; /* of the builder */
    enum ir_element element;
    uint32_t rank;
    int64_t dims[EMIT_MAX_RANK];
};

struct emit_axes {
    uint8_t count, at[MESH_MAX_AXES];
}; /* major first */

/* What has been computed in the region being written: valid until it closes. */
struct emit_scope {
    uint32_t device, coordinate[MESH_MAX_AXES]; /* IR_NONE: not yet */
    struct {
        struct emit_axes axes;
        uint32_t value;
    } blocks[EMIT_SCOPE_BLOCKS];
    uint32_t block_count;
};

struct emit {
    const struct plan_context *context;
    const struct nda *nda;
    const struct mesh *mesh;
    const struct ir_program *program; /* prepared */
    const struct spmd_local *local;
    enum emit_output output;
    bool keeps_layouts; /* spmd_options.keep_layouts, of the local program's own ops */
    struct ir_builder *builder;
    uint32_t *value_of; /* spmd value -> builder value, IR_NONE until written */
    uint32_t *copied;   /* program value -> builder value inside regions copied as they are */
    struct emit_scope scope;
    struct {
        struct emit_axes axes;
        struct ir_attr attr;
    } groups[EMIT_GROUPS_KEPT]; /* replica groups made so far */
    uint32_t group_count;
    int64_t channel;                       /* last channel handle given */
    struct annotate *annotate;             /* of the annotated output */
    const struct constrained *constrained; /* of spmd_emit_constrained; NULL */
    const struct spmd_form *forms;         /* .. of every value; NULL */
    uint32_t op;                           /* program op whose position new ops carry */
    /* program value that is being moved or constrained, whose loc() new ops carry instead; IR_NONE: none */
    uint32_t moved;
};

/* ---------------------------------------------------------------- ops.c: small ops */
enum error_code emit_reject(const struct emit *e, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4))); /* ERROR_UNSUPPORTED_MODULE at e->op */
uint32_t emit_type(struct emit *e, enum ir_element element, uint32_t rank, const int64_t *dims);
/* where new ops come from: e->op, or e->moved */
struct ir_position emit_position(struct emit *e);
/* builds an op at emit_position; returns its index */
uint32_t emit_op(struct emit *e, const char *name, const uint32_t *operands, uint32_t operand_count,
                 const uint32_t *types, uint32_t type_count, const struct ir_attr *attrs,
                 uint32_t attr_count);
/* one result of the given element type and sizes */
struct emit_tensor emit_one(struct emit *e, const char *name, const struct emit_tensor *operands,
                            uint32_t count, enum ir_element element, uint32_t rank, const int64_t *dims,
                            const struct ir_attr *attrs, uint32_t attr_count);
struct emit_tensor emit_unary(struct emit *e, const char *name, struct emit_tensor tensor);
struct emit_tensor emit_binary(struct emit *e, const char *name, struct emit_tensor tensor,
                               struct emit_tensor other);
struct emit_tensor emit_compare(struct emit *e, const char *direction, struct emit_tensor tensor,
                                struct emit_tensor other);
struct emit_tensor emit_select(struct emit *e, struct emit_tensor tensor, struct emit_tensor x,
                               struct emit_tensor other);
struct emit_tensor emit_convert(struct emit *e, struct emit_tensor tensor, enum ir_element element);
struct emit_tensor emit_reshape(struct emit *e, struct emit_tensor tensor, uint32_t rank,
                                const int64_t *dims);
struct emit_tensor emit_transpose(struct emit *e, struct emit_tensor tensor, const int64_t *permutation);
struct emit_tensor emit_broadcast(struct emit *e, struct emit_tensor tensor, uint32_t rank,
                                  const int64_t *dims, const int64_t *map);
struct emit_tensor emit_spread(struct emit *e, struct emit_tensor scalar, uint32_t rank, const int64_t *dims);
struct emit_tensor emit_slice(struct emit *e, struct emit_tensor tensor, uint32_t dim, int64_t start,
                              int64_t limit);
struct emit_tensor emit_concatenate(struct emit *e, const struct emit_tensor *parts, uint32_t count,
                                    uint32_t dim);
/* starts: one scalar a dim */
struct emit_tensor emit_dynamic_slice(struct emit *e, struct emit_tensor tensor,
                                      const struct emit_tensor *starts, const int64_t *sizes);
struct emit_tensor emit_dynamic_update(struct emit *e, struct emit_tensor tensor, struct emit_tensor update,
                                       const struct emit_tensor *starts);
/* adds (value) zeros of x's element type on both sides of a dim */
struct emit_tensor emit_pad_zeros(struct emit *e, struct emit_tensor tensor, uint32_t dim, int64_t low,
                                  int64_t high);
/* a splat of an integer or bool element */
struct emit_tensor emit_integer(struct emit *e, enum ir_element element, int64_t value, uint32_t rank,
                                const int64_t *dims);
/* a splat that changes nothing under the reducer; false when the element type has no such value (f8 without
 * infinity) */
bool emit_identity(struct emit *e, enum nda_reducer reducer, enum ir_element element, uint32_t rank,
                   const int64_t *dims, struct emit_tensor *out);
bool emit_identity_bytes(enum nda_reducer reducer, enum ir_element element, unsigned char bytes[16]);
struct emit_tensor emit_reduce_op(struct emit *e, enum nda_reducer reducer, struct emit_tensor tensor,
                                  struct emit_tensor other);
struct emit_tensor emit_zeros(struct emit *e, enum ir_element element, uint32_t rank, const int64_t *dims);
/* region of two scalar arguments and the reducer's op, appended to the op that is open */
void emit_reducer_region(struct emit *e, enum nda_reducer reducer, enum ir_element element);

/* ---------------------------------------------------------------- device.c: where this device is */
/* entering a region: nothing computed yet */
void emit_scope_open(struct emit *e, struct emit_scope *saved);
void emit_scope_close(struct emit *e, const struct emit_scope *saved);
struct emit_tensor emit_coordinate(struct emit *e, uint8_t axis);
/* index of this device's block among the product of the axes, first axis major */
struct emit_tensor emit_block_index(struct emit *e, const struct emit_axes *axes);
/* true on the device with coordinate 0 on every axis (i1 scalar) */
struct emit_tensor emit_is_first(struct emit *e, const struct emit_axes *axes);
/* axes on an atom under a form, major first */
struct emit_axes emit_atom_axes(const struct emit *e, const struct spmd_form *form, uint8_t atom);
int64_t emit_shards(const struct emit *e, const struct emit_axes *axes);
struct ir_attr emit_replica_groups(struct emit *e, const struct emit_axes *axes);

/* How one dim of a value lies on the devices: its atoms, outermost first. */
struct emit_layout {
    int64_t size, local;
    uint32_t count;
    bool sharded, contiguous; /* contiguous: each device holds one block of consecutive indices */
    struct {
        int64_t size, local, stride;
        struct emit_axes axes;
    } at[EMIT_MAX_RANK];    /* stride: in global indices */
    struct emit_axes whole; /* that cut the dim's one block across its atoms: arguments and results only */
};
struct emit_layout emit_layout(const struct emit *e, uint32_t origin, const struct spmd_form *form,
                               uint32_t dim);
/* first global index of the block of a contiguous layout */
struct emit_tensor emit_layout_offset(struct emit *e, const struct emit_layout *layout);
/* Global positions (of x's integer type, at least 32 bits wide) to local ones and whether they lie on this
 * device. Positions outside [0, size) are outside every device. Local positions of outside ones mean nothing.
 */
void emit_localize(struct emit *e, const struct emit_layout *layout, struct emit_tensor tensor,
                   struct emit_tensor *local, struct emit_tensor *inside);

/* ---------------------------------------------------------------- reshard.c, collective.c */
/* sizes of a value on one device (annotated: of all); .value is what has been written for it, or IR_NONE */
struct emit_tensor emit_local_tensor(const struct emit *e, uint32_t spmd_value);
/* its type for the builder, also of tokens and tuples */
uint32_t emit_value_type(struct emit *e, uint32_t spmd_value);
/* the value as an array of its atoms at local sizes, under a form; and back */
struct emit_tensor emit_to_atoms(struct emit *e, struct emit_tensor tensor, uint32_t origin,
                                 const struct spmd_form *form);
struct emit_tensor emit_from_atoms(struct emit *e, struct emit_tensor tensor, uint32_t origin,
                                   const struct spmd_form *form);
/* keeps this device's block of tensor, which lies in form `from`, as form `to` wants it; `to` only adds axes
 * as minor ones */
enum error_code emit_keep_block(struct emit *e, struct emit_tensor tensor, uint32_t origin,
                                const struct spmd_form *from, const struct spmd_form *to,
                                struct emit_tensor *out, struct error *error) BASE_CHECKED;
/* the same where `to` adds all axes on one whole dim */
struct emit_tensor emit_keep_range(struct emit *e, struct emit_tensor tensor, const struct spmd_form *to,
                                   uint8_t whole);
/* a reshard step, or all steps first .. first + count of one combined collective */
enum error_code emit_collective(struct emit *e, uint32_t first, uint32_t count,
                                struct error *error) BASE_CHECKED;

/* ---------------------------------------------------------------- sharding.c: forms as Shardy spells
 * them */
/* `<@mesh, [{"data"}, {}]>`; partial axes count as replicated. False when some dim's blocks are not ranges of
 * it. */
bool emit_sharding_text(const struct emit *e, uint32_t origin, const struct spmd_form *form,
                        struct text *out);
/* the same of a form whose numbers are those of the `rank` dimensions themselves: of a value seen as an array
 * of its atoms, or of one that is split over whole dimensions */
void emit_numbered_sharding_text(const struct emit *e, uint32_t rank, const struct spmd_form *form,
                                 struct text *out);
/* the same of an array whose dims have these axes, major first */
void emit_dims_sharding_text(const struct emit *e, uint32_t rank, const struct emit_axes *axes,
                             struct text *out);
struct ir_attr emit_mesh_attr(struct emit *e);

/* ---------------------------------------------------------------- steps.c: the steps in order, regions
 * nested */
/* writes all steps; *results (owned) are the builder values of the last one's operands */
enum error_code emit_steps(struct emit *e, uint32_t **results, uint32_t *count,
                           struct error *error) BASE_CHECKED;

/* ---------------------------------------------------------------- annotate.c: the annotated steps */
struct annotate *annotate_create(struct emit *e);
void annotate_destroy(struct annotate *annotate); /* NULL is fine */
/* the builder value that a use of this spmd value reads: constrained when its form is not the definition's */
uint32_t annotate_use(struct emit *e, uint32_t spmd_value);
/* the same for what a loop's body returns: summands, or constrained, when it is partial */
uint32_t annotate_carry(struct emit *e, uint32_t spmd_value);
/* type of a loop's block argument or result, and the builder value that it is */
uint32_t annotate_type(struct emit *e, uint32_t spmd_value);
void annotate_define(struct emit *e, uint32_t spmd_value, uint32_t built);
enum error_code annotate_step(struct emit *e, const struct spmd_step *step, struct error *error) BASE_CHECKED;
size_t annotate_region_open(struct emit *e); /* constraints made in a region do not outlive it */
void annotate_region_close(struct emit *e, size_t mark);

/* ---------------------------------------------------------------- constrained.c: constraints of a user's */
/* the form of each of an op's results as an attribute; false: nothing to say */
bool constrained_forms(struct emit *e, uint32_t op, struct ir_attr *out);
struct constrained *constrained_create(const struct emit *e, const struct propagate_constraint *list,
                                       uint32_t count);
void constrained_destroy(struct constrained *constrained); /* NULL is fine */
/* notes the copy of a value; where the user constrains it, that is what its uses read */
void emit_copied(struct emit *e, uint32_t value, uint32_t copy);
/* what operand i of the copy of an op reads; IR_NONE: nothing was copied for it */
uint32_t emit_copied_use(const struct emit *e, uint32_t op, uint32_t i);

/* ---------------------------------------------------------------- copy.c: parts of the program as they
 * are */
/* attributes of a program op without sharding annotations, copied; returns how many (at most EMIT_MAX_ATTRS -
 * 4) */
enum error_code emit_attrs(struct emit *e, uint32_t op, struct ir_attr *out, uint32_t *count,
                           struct error *error) BASE_CHECKED;
/* replaces the attribute of this name, or appends it */
void emit_attr_set(struct emit *e, struct ir_attr *attrs, uint32_t *count, const char *name,
                   struct ir_attr attr);
/* all ops of a block, into the builder's open block */
enum error_code emit_block_ops(struct emit *e, uint32_t block, struct error *error) BASE_CHECKED;
/* copies all regions of a program op into the open builder op; operands from outside must be in e->copied */
enum error_code emit_regions(struct emit *e, uint32_t op, struct error *error) BASE_CHECKED;

#endif
