/* The builder's attributes: making them, and deep copies of those of another program. Types and constants
 * that were copied once from a program are remembered, so that a pass over a large program copies each only
 * once. */
#include "ir/builder.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- attributes */
static const struct ir_attr no_attr = {.name = IR_NONE, .type = IR_NONE};

struct ir_attr ir_build_unit(struct ir_builder *builder)
{
    struct ir_attr attr = no_attr;
    attr.kind = IR_ATTR_UNIT;
    return attr;
}

struct ir_attr ir_build_bool(struct ir_builder *builder, bool value)
{
    struct ir_attr attr = no_attr;
    attr.kind = IR_ATTR_BOOL;
    attr.value = value;
    return attr;
}

struct ir_attr ir_build_int(struct ir_builder *builder, int64_t value, const char *type)
{
    struct ir_attr attr = no_attr;
    attr.kind = IR_ATTR_INT;
    attr.value = value;
    attr.type = ir_build_type(builder, type, strlen(type));
    return attr;
}

static struct ir_attr of_string(enum ir_attr_kind kind, uint32_t string)
{
    struct ir_attr attr = no_attr;
    attr.kind = kind;
    attr.first = string;
    return attr;
}

struct ir_attr ir_build_str(struct ir_builder *builder, const char *text)
{
    return of_string(IR_ATTR_STRING, ir_build_cstring(builder, text));
}

struct ir_attr ir_build_symbol(struct ir_builder *builder, const char *symbol)
{
    return of_string(IR_ATTR_SYMBOL, ir_build_cstring(builder, symbol));
}

struct ir_attr ir_build_text(struct ir_builder *builder, const char *text)
{
    return of_string(IR_ATTR_TEXT, ir_build_cstring(builder, text));
}

static struct ir_attr of_ints(struct ir_builder *builder, enum ir_attr_kind kind, const int64_t *ints,
                              uint32_t count, const char *type)
{
    struct ir_attr attr = no_attr;
    attr.kind = kind;
    attr.type = ir_build_type(builder, type, strlen(type));
    attr.first = (uint32_t)builder->ints.count;
    attr.count = count;
    for (uint32_t i = 0; i < count; i++)
        VEC_PUSH(&builder->ints, ints[i]);
    return attr;
}

struct ir_attr ir_build_ints(struct ir_builder *builder, const int64_t *ints, uint32_t count)
{
    return of_ints(builder, IR_ATTR_INTS, ints, count, "i64");
}

struct ir_attr ir_build_bools(struct ir_builder *builder, const int64_t *bits, uint32_t count)
{
    return of_ints(builder, IR_ATTR_BOOLS, bits, count, "i1");
}

struct ir_attr ir_build_type_attr(struct ir_builder *builder, uint32_t type)
{
    struct ir_attr attr = no_attr;
    attr.kind = IR_ATTR_TYPE;
    attr.type = type;
    return attr;
}

struct ir_attr ir_build_dense_room(struct ir_builder *builder, uint32_t type, size_t size, bool splat,
                                   unsigned char **bytes)
{
    size_t offset = (builder->bytes.count + 7) & ~(size_t)7;
    VEC_RESERVE(&builder->bytes, offset + size);
    if (offset > builder->bytes.count)
        memset(builder->bytes.at + builder->bytes.count, 0, offset - builder->bytes.count);
    builder->bytes.count = offset + size;
    struct ir_constant k = {.offset = offset, .size = size, .splat = splat};
    k.element_bytes = ir_element_storage((enum ir_element)builder->types.at[type].element);
    VEC_PUSH(&builder->constants, k);
    *bytes = builder->bytes.at + offset;
    struct ir_attr attr = no_attr;
    attr.kind = IR_ATTR_DENSE;
    attr.type = type;
    attr.first = (uint32_t)builder->constants.count - 1;
    return attr;
}

struct ir_attr ir_build_dense(struct ir_builder *builder, uint32_t type, const void *bytes, size_t size,
                              bool splat)
{
    unsigned char *room;
    struct ir_attr attr = ir_build_dense_room(builder, type, size, splat, &room);
    if (size)
        memcpy(room, bytes, size);
    return attr;
}

struct ir_attr builder_attrs(struct ir_builder *builder, enum ir_attr_kind kind, const struct ir_attr *items,
                             uint32_t count)
{
    struct ir_attr attr = no_attr;
    attr.kind = kind;
    attr.first = (uint32_t)builder->attrs.count;
    attr.count = count;
    for (uint32_t i = 0; i < count; i++)
        VEC_PUSH(&builder->attrs, items[i]);
    return attr;
}

struct ir_attr ir_build_array(struct ir_builder *builder, const struct ir_attr *items, uint32_t count)
{
    struct ir_attr attr = builder_attrs(builder, IR_ATTR_ARRAY, items, count);
    for (uint32_t i = 0; i < count; i++)
        builder->attrs.at[attr.first + i].name = IR_NONE;
    return attr;
}

struct ir_attr ir_build_dictionary(struct ir_builder *builder, const struct ir_attr *entries, uint32_t count)
{
    return builder_attrs(builder, IR_ATTR_DICTIONARY, entries, count);
}

struct ir_attr ir_build_named(struct ir_builder *builder, const char *name, struct ir_attr attr)
{
    attr.name = ir_build_cstring(builder, name);
    return attr;
}

/* ---------------------------------------------------------------- copies from another program */
void builder_copies_from(struct ir_builder *builder, const struct ir_program *from)
{
    struct copies *copies = &builder->copies;
    if (copies->image == from->image && copies->types.count == from->type_count && copies->image)
        return;
    copies->image = from->image;
    VEC_RESERVE(&copies->types, from->type_count);
    VEC_RESERVE(&copies->constants, from->constant_count);
    copies->types.count = from->type_count;
    VEC_RESERVE(&copies->locations, from->location_count);
    copies->constants.count = from->constant_count;
    copies->locations.count = from->location_count;
    if (from->type_count)
        memset(copies->types.at, 0, from->type_count * sizeof *copies->types.at);
    if (from->constant_count)
        memset(copies->constants.at, 0, from->constant_count * sizeof *copies->constants.at);
    if (from->location_count)
        memset(copies->locations.at, 0, from->location_count * sizeof *copies->locations.at);
}

uint32_t ir_build_copy_type(struct ir_builder *builder, const struct ir_program *from, uint32_t type)
{
    builder_copies_from(builder, from);
    if (!builder->copies.types.at[type]) {
        const struct ir_string *string = &from->strings[from->types[type].text];
        uint32_t made = ir_build_type(builder, from->characters + string->offset, string->size);
        builder->copies.types.at[type] = made + 1;
    }
    return builder->copies.types.at[type] - 1;
}

uint32_t builder_copy_string(struct ir_builder *builder, const struct ir_program *from, uint32_t string)
{
    if (string == IR_NONE)
        return IR_NONE;
    const struct ir_string *s = &from->strings[string];
    return ir_build_string(builder, from->characters + s->offset, s->size);
}

static uint32_t copy_constant(struct ir_builder *builder, const struct ir_program *from, uint32_t constant,
                              uint32_t type)
{
    if (!builder->copies.constants.at[constant]) {
        const struct ir_constant *k = &from->constants[constant];
        struct ir_attr made =
            ir_build_dense(builder, type, from->bytes + k->offset, (size_t)k->size, k->splat);
        builder->copies.constants.at[constant] = made.first + 1;
    }
    return builder->copies.constants.at[constant] - 1;
}

struct ir_attr ir_build_copy_attr(struct ir_builder *builder, const struct ir_program *from,
                                  const struct ir_attr *attr)
{
    struct ir_attr copy = *attr;
    copy.name = builder_copy_string(builder, from, attr->name);
    if (attr->type != IR_NONE)
        copy.type = ir_build_copy_type(builder, from, attr->type);
    switch ((enum ir_attr_kind)attr->kind) {
    case IR_ATTR_UNIT:
    case IR_ATTR_BOOL:
    case IR_ATTR_INT:
    case IR_ATTR_TYPE: break;
    case IR_ATTR_FLOAT:
    case IR_ATTR_STRING:
    case IR_ATTR_SYMBOL:
    case IR_ATTR_TEXT: copy.first = builder_copy_string(builder, from, attr->first); break;
    case IR_ATTR_INTS:
    case IR_ATTR_BOOLS:
        copy.first = (uint32_t)builder->ints.count;
        for (uint32_t i = 0; i < attr->count; i++)
            VEC_PUSH(&builder->ints, from->ints[attr->first + i]);
        break;
    case IR_ATTR_DENSE:
        builder_copies_from(builder, from);
        copy.first = copy_constant(builder, from, attr->first, copy.type);
        break;
    case IR_ATTR_ARRAY:
    case IR_ATTR_DICTIONARY: {
        struct ir_attr *items = mem_zalloc(attr->count, sizeof *items);
        for (uint32_t i = 0; i < attr->count; i++)
            items[i] = ir_build_copy_attr(builder, from, &from->attrs[attr->first + i]);
        copy.first = builder_attrs(builder, IR_ATTR_ARRAY, items, attr->count).first;
        free(items);
        break;
    }
    }
    return copy;
}
