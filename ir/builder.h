/* The builder's insides, shared by build.c (strings, types, ops, the image), build_attr.c (attributes,
 * copies) and build_location.c. The vectors are the arrays of struct ir_program while they grow; build.c
 * explains the stacks. */
#ifndef TOAST_IR_BUILDER_H
#define TOAST_IR_BUILDER_H

#include "ir/build.h"
#include "ir/image.h"

enum frame_kind { FRAME_OP, FRAME_REGION, FRAME_BLOCK };

struct frame {
    enum frame_kind kind;
    uint32_t op;              /* FRAME_OP */
    size_t base;              /* where its children begin on their stack */
    uint32_t args, arg_count; /* FRAME_BLOCK */
};

/* What has been copied from another program already: its index there -> index here + 1. */
struct copies {
    const void *image;
    VEC(uint32_t) types;
    VEC(uint32_t) constants;
    VEC(uint32_t) locations;
};

/* an open hash table of interned entries: their number + 1; 0: free */
typedef VEC(uint32_t) builder_slots;

struct ir_builder {
    VEC(struct ir_string) strings;
    VEC(struct ir_type) types;
    VEC(struct ir_value) values;
    VEC(struct ir_op) ops;
    VEC(struct ir_region) regions;
    VEC(struct ir_block) blocks;
    VEC(struct ir_attr) attrs;
    VEC(struct ir_constant) constants;
    VEC(uint32_t) operands;
    VEC(uint32_t) block_ops;
    VEC(int64_t) ints;
    VEC(struct ir_value_location) value_locations;
    VEC(struct ir_location) locations;
    VEC(uint32_t) location_parts;
    VEC(char) characters;
    VEC(unsigned char) bytes;

    builder_slots slots, location_slots; /* of strings, of locations */
    VEC(uint32_t) type_of_string;        /* index + 1, by string */
    VEC(uint16_t) code_of_string;        /* opcode + 1, by string */

    VEC(struct frame) frames;
    VEC(uint32_t) open_ops;
    VEC(struct ir_block) open_blocks;
    VEC(struct ir_region) open_regions;
    struct copies copies;
};

/* Doubles a table and enters the entries first .. first + count again, each by its hash. */
void builder_slots_grow(const struct ir_builder *builder, builder_slots *slots, uint32_t first,
                        uint32_t count, size_t (*hash)(const struct ir_builder *builder, uint32_t entry));
/* forgets what was copied of another program than this one */
void builder_copies_from(struct ir_builder *builder, const struct ir_program *from);
/* a string of another program; IR_NONE stays */
uint32_t builder_copy_string(struct ir_builder *builder, const struct ir_program *from, uint32_t string);
/* appends attributes one after another; a range of the program's attributes */
struct ir_attr builder_attrs(struct ir_builder *builder, enum ir_attr_kind kind, const struct ir_attr *items,
                             uint32_t count);

#endif
