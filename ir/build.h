/* Building a program from front to back: the interface that the reader, the passes (prepare.h) and the
 * writers of sharded modules share.
 *
 * Strings and types are interned: equal ones have one index. Ops are appended in program order; an op with
 * regions is opened, its regions and blocks are built inside, and it is closed:
 *
 *     ir_build_begin(while)
 *       ir_build_region    ir_build_block    ir_build_op ..    ir_build_end_block    ir_build_end_region
 *       ir_build_region    ..
 *     ir_build_end
 *
 * Indices that are handed out stay valid in the finished program. Everything that is passed in is copied.
 * Only ir_builder_write can fail: the caller promises sound input, and running out of memory ends the
 * process. Not thread-safe. */
#ifndef TOAST_IR_BUILD_H
#define TOAST_IR_BUILD_H

#include "ir/program.h"

struct ir_builder;

struct ir_builder *ir_builder_create(void);
void ir_builder_destroy(struct ir_builder *builder); /* NULL is fine */

uint32_t ir_build_string(struct ir_builder *builder, const char *text, size_t size);
uint32_t ir_build_cstring(struct ir_builder *builder, const char *text);
/* static tensor type; spells it */
uint32_t ir_build_tensor_type(struct ir_builder *builder, enum ir_element element, uint32_t rank,
                              const int64_t *dims);
/* any type by its text (decoded when it is a tensor, token, tuple or function type; else IR_TYPE_OTHER) */
uint32_t ir_build_type(struct ir_builder *builder, const char *text, size_t size);

/* Attributes are values that are not yet in the program: they enter it with the op, array or dictionary that
 * names them. Their `name` is set by ir_build_named. Lists and texts that are passed in are copied. */
struct ir_attr ir_build_unit(struct ir_builder *builder);
struct ir_attr ir_build_bool(struct ir_builder *builder, bool value);
struct ir_attr ir_build_int(struct ir_builder *builder, int64_t value, const char *type); /* type "i64" */
struct ir_attr ir_build_str(struct ir_builder *builder, const char *text);
struct ir_attr ir_build_symbol(struct ir_builder *builder, const char *symbol);
/* array<i64: ..> */
struct ir_attr ir_build_ints(struct ir_builder *builder, const int64_t *ints, uint32_t count);
/* array<i1: ..> */
struct ir_attr ir_build_bools(struct ir_builder *builder, const int64_t *bits, uint32_t count);
struct ir_attr ir_build_text(struct ir_builder *builder, const char *text); /* verbatim */
struct ir_attr ir_build_type_attr(struct ir_builder *builder, uint32_t type);
/* dense<..> : type; bytes in the layout of struct ir_constant */
struct ir_attr ir_build_dense(struct ir_builder *builder, uint32_t type, const void *bytes, size_t size,
                              bool splat);
/* the same, with room for `size` bytes that the caller fills before the next build call */
struct ir_attr ir_build_dense_room(struct ir_builder *builder, uint32_t type, size_t size, bool splat,
                                   unsigned char **bytes);
struct ir_attr ir_build_array(struct ir_builder *builder, const struct ir_attr *items, uint32_t count);
struct ir_attr ir_build_dictionary(struct ir_builder *builder, const struct ir_attr *entries, uint32_t count);
struct ir_attr ir_build_named(struct ir_builder *builder, const char *name, struct ir_attr attr);
/* deep copy of an attribute (with its name) of another program */
struct ir_attr ir_build_copy_attr(struct ir_builder *builder, const struct ir_program *from,
                                  const struct ir_attr *attr);
uint32_t ir_build_copy_type(struct ir_builder *builder, const struct ir_program *from, uint32_t type);

/* Locations, interned: `location` has kind, line, column and the others of its kind; text is a string of the
 * builder. Parts are locations of the builder; more than IR_LOCATION_DEPTH of them nested is the caller's to
 * avoid. */
uint32_t ir_build_location(struct ir_builder *builder, const struct ir_location *location,
                           const uint32_t *parts, uint32_t count);
uint32_t ir_build_copy_location(struct ir_builder *builder, const struct ir_program *from, uint32_t location);
/* of an op that was inlined: what `callee` says, called at `call`. Names join as XLA joins them when it
 * inlines, `jit(step)/jit(relu)` and `max` to `jit(step)/jit(relu)/max`. Both of the builder; 0 is fine. */
uint32_t ir_build_inlined_location(struct ir_builder *builder, uint32_t callee, uint32_t call);

/* Where an op says it comes from. Zeroed: made by us. */
struct ir_position {
    uint32_t line, column; /* of the text that was read */
    const char *location;  /* "file:line", borrowed; or NULL */
    uint32_t loc;          /* of the builder */
};
/* the position of an op of another program */
struct ir_position ir_build_position(struct ir_builder *builder, const struct ir_program *from, uint32_t op);

/* Ops: begin and end bracket an op that has regions; ir_build_op does both for one without. A new op goes
 * to the end of the innermost open block (the first op, the module, is op 0). Returns the op's index; its
 * results are the values ir_builder_result(b, op, 0 ..). */
struct ir_op_spec {
    const char *name; /* "stablehlo.add" */
    const uint32_t *operands;
    uint32_t operand_count;
    const uint32_t *result_types;
    uint32_t result_count;
    const struct ir_attr *attrs;
    uint32_t attr_count; /* named */
    struct ir_position position;
};
uint32_t ir_build_op(struct ir_builder *builder, const struct ir_op_spec *spec);
uint32_t ir_build_begin(struct ir_builder *builder, const struct ir_op_spec *spec);
/* opens the next region of the open op */
void ir_build_region(struct ir_builder *builder);
/* opens a block of the open region; returns the index of its first argument (arguments are consecutive) */
uint32_t ir_build_block(struct ir_builder *builder, const uint32_t *arg_types, uint32_t arg_count);
/* the name of a block argument (ir_value_location); in the order of the values, at most once each */
void ir_build_value_location(struct ir_builder *builder, uint32_t value, const char *text, size_t size,
                             uint32_t loc);
/* the same of an argument of another program; nothing when that has no location */
void ir_build_copy_value_location(struct ir_builder *builder, uint32_t value, const struct ir_program *from,
                                  uint32_t argument);
void ir_build_end_block(struct ir_builder *builder);
void ir_build_end_region(struct ir_builder *builder);
void ir_build_end(struct ir_builder *builder); /* closes the op */
uint32_t ir_builder_result(const struct ir_builder *builder, uint32_t op, uint32_t i);
uint32_t ir_builder_value_type(const struct ir_builder *builder, uint32_t value); /* type index */
/* read-only view of what has been built so far (pointers move with the next build call) */
struct ir_program ir_builder_view(const struct ir_builder *builder);

/* Writes the finished image to a descriptor, without making it in memory first. 0, or errno. Destroys the
 * builder. */
int ir_builder_write(struct ir_builder *builder, const uint8_t digest[32], int fd);

/* The finished program (owned image). Destroys the builder. digest may be NULL (zeros). */
void ir_builder_finish(struct ir_builder *builder, const uint8_t digest[32], struct ir_program *out);

#endif
