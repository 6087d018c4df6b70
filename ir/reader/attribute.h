/* Between the files of the walk over MLIR's module: walk.c (ops, parsing), attribute.c (types and
 * attributes) and location.c. The only header that includes MLIR's. */
#ifndef TOAST_IR_READER_ATTRIBUTE_H
#define TOAST_IR_READER_ATTRIBUTE_H

#include "ir/reader/walk.h"

#include <mlir-c/IR.h>

/* A hash table from pointers to indices; a slot holds index + 1, and 0 is a free slot. */
struct map {
    struct map_slot {
        const void *key;
        uint32_t value;
    } *slots;
    size_t room, count;
};

struct walk {
    struct scan *scan;
    struct ir_builder *builder;
    struct map types, attrs, values;
    VEC(struct ir_attr) decoded; /* by map attrs */
    struct text scratch;
    size_t op, arg, arg_place; /* met so far */
    uint32_t line_at;          /* line and column follow the ops, which come in the text's order */
    int line;
    uint32_t line_start;
};

/* a slot with the key, or the free one for it */
struct map_slot *map_find(struct map *map, const void *key);
void map_put(struct map *map, const void *key, uint32_t value);

void walk_add_piece(MlirStringRef piece, void *text); /* printing callback of MLIR into a struct text */
uint32_t walk_type(struct walk *walk, MlirType type); /* index of a type; decoded once */
struct ir_attr walk_string(struct walk *walk, enum ir_attr_kind kind, MlirStringRef text);
/* an attribute of an op, decoded once; lists that were dense<..> before 2023 become arrays */
struct ir_attr walk_attr(struct walk *walk, MlirStringRef op, MlirStringRef name, MlirAttribute attr);

#endif
