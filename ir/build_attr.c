/* The builder's attributes: making them, and deep copies of those of another program. Types and constants
 * that were copied once from a program are remembered, so that a pass over a large program copies each only
 * once. */
#include "ir/builder.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- attributes */
static const struct ir_attr no_attr = {.name = IR_NONE, .type = IR_NONE};

struct ir_attr ir_build_unit(struct ir_builder *b)
{
    struct ir_attr a = no_attr;
    a.kind = IR_ATTR_UNIT;
    return a;
}

struct ir_attr ir_build_bool(struct ir_builder *b, bool value)
{
    struct ir_attr a = no_attr;
    a.kind = IR_ATTR_BOOL;
    a.value = value;
    return a;
}

struct ir_attr ir_build_int(struct ir_builder *b, int64_t value, const char *type)
{
    struct ir_attr a = no_attr;
    a.kind = IR_ATTR_INT;
    a.value = value;
    a.type = ir_build_type(b, type, strlen(type));
    return a;
}

static struct ir_attr of_string(enum ir_attr_kind kind, uint32_t string)
{
    struct ir_attr a = no_attr;
    a.kind = kind;
    a.first = string;
    return a;
}

struct ir_attr ir_build_str(struct ir_builder *b, const char *text)
{
    return of_string(IR_ATTR_STRING, ir_build_cstring(b, text));
}

struct ir_attr ir_build_symbol(struct ir_builder *b, const char *symbol)
{
    return of_string(IR_ATTR_SYMBOL, ir_build_cstring(b, symbol));
}

struct ir_attr ir_build_text(struct ir_builder *b, const char *text)
{
    return of_string(IR_ATTR_TEXT, ir_build_cstring(b, text));
}

static struct ir_attr of_ints(struct ir_builder *b, enum ir_attr_kind kind, const int64_t *ints,
                              uint32_t count, const char *type)
{
    struct ir_attr a = no_attr;
    a.kind = kind;
    a.type = ir_build_type(b, type, strlen(type));
    a.first = (uint32_t)b->ints.count;
    a.count = count;
    for (uint32_t i = 0; i < count; i++)
        VEC_PUSH(&b->ints, ints[i]);
    return a;
}

struct ir_attr ir_build_ints(struct ir_builder *b, const int64_t *ints, uint32_t count)
{
    return of_ints(b, IR_ATTR_INTS, ints, count, "i64");
}

struct ir_attr ir_build_bools(struct ir_builder *b, const int64_t *bits, uint32_t count)
{
    return of_ints(b, IR_ATTR_BOOLS, bits, count, "i1");
}

struct ir_attr ir_build_type_attr(struct ir_builder *b, uint32_t type)
{
    struct ir_attr a = no_attr;
    a.kind = IR_ATTR_TYPE;
    a.type = type;
    return a;
}

struct ir_attr ir_build_dense_room(struct ir_builder *b, uint32_t type, size_t size, bool splat,
                                   unsigned char **bytes)
{
    size_t offset = (b->bytes.count + 7) & ~(size_t)7;
    VEC_RESERVE(&b->bytes, offset + size);
    if (offset > b->bytes.count)
        memset(b->bytes.at + b->bytes.count, 0, offset - b->bytes.count);
    b->bytes.count = offset + size;
    struct ir_constant k = {.offset = offset, .size = size, .splat = splat};
    k.element_bytes = ir_element_storage((enum ir_element)b->types.at[type].element);
    VEC_PUSH(&b->constants, k);
    *bytes = b->bytes.at + offset;
    struct ir_attr a = no_attr;
    a.kind = IR_ATTR_DENSE;
    a.type = type;
    a.first = (uint32_t)b->constants.count - 1;
    return a;
}

struct ir_attr ir_build_dense(struct ir_builder *b, uint32_t type, const void *bytes, size_t size, bool splat)
{
    unsigned char *room;
    struct ir_attr a = ir_build_dense_room(b, type, size, splat, &room);
    if (size)
        memcpy(room, bytes, size);
    return a;
}

struct ir_attr builder_attrs(struct ir_builder *b, enum ir_attr_kind kind, const struct ir_attr *items,
                             uint32_t count)
{
    struct ir_attr a = no_attr;
    a.kind = kind;
    a.first = (uint32_t)b->attrs.count;
    a.count = count;
    for (uint32_t i = 0; i < count; i++)
        VEC_PUSH(&b->attrs, items[i]);
    return a;
}

struct ir_attr ir_build_array(struct ir_builder *b, const struct ir_attr *items, uint32_t count)
{
    struct ir_attr a = builder_attrs(b, IR_ATTR_ARRAY, items, count);
    for (uint32_t i = 0; i < count; i++)
        b->attrs.at[a.first + i].name = IR_NONE;
    return a;
}

struct ir_attr ir_build_dictionary(struct ir_builder *b, const struct ir_attr *entries, uint32_t count)
{
    return builder_attrs(b, IR_ATTR_DICTIONARY, entries, count);
}

struct ir_attr ir_build_named(struct ir_builder *b, const char *name, struct ir_attr attr)
{
    attr.name = ir_build_cstring(b, name);
    return attr;
}

/* ---------------------------------------------------------------- copies from another program */
static void copies_from(struct ir_builder *b, const struct ir_program *from)
{
    struct copies *c = &b->copies;
    if (c->image == from->image && c->types.count == from->type_count && c->image)
        return;
    c->image = from->image;
    VEC_RESERVE(&c->types, from->type_count);
    VEC_RESERVE(&c->constants, from->constant_count);
    c->types.count = from->type_count;
    c->constants.count = from->constant_count;
    if (from->type_count)
        memset(c->types.at, 0, from->type_count * sizeof *c->types.at);
    if (from->constant_count)
        memset(c->constants.at, 0, from->constant_count * sizeof *c->constants.at);
}

uint32_t ir_build_copy_type(struct ir_builder *b, const struct ir_program *from, uint32_t type)
{
    copies_from(b, from);
    if (!b->copies.types.at[type]) {
        const struct ir_string *s = &from->strings[from->types[type].text];
        uint32_t made = ir_build_type(b, from->characters + s->offset, s->size);
        b->copies.types.at[type] = made + 1;
    }
    return b->copies.types.at[type] - 1;
}

static uint32_t copy_string(struct ir_builder *b, const struct ir_program *from, uint32_t string)
{
    if (string == IR_NONE)
        return IR_NONE;
    const struct ir_string *s = &from->strings[string];
    return ir_build_string(b, from->characters + s->offset, s->size);
}

static uint32_t copy_constant(struct ir_builder *b, const struct ir_program *from, uint32_t constant,
                              uint32_t type)
{
    if (!b->copies.constants.at[constant]) {
        const struct ir_constant *k = &from->constants[constant];
        struct ir_attr made = ir_build_dense(b, type, from->bytes + k->offset, (size_t)k->size, k->splat);
        b->copies.constants.at[constant] = made.first + 1;
    }
    return b->copies.constants.at[constant] - 1;
}

struct ir_attr ir_build_copy_attr(struct ir_builder *b, const struct ir_program *from,
                                  const struct ir_attr *attr)
{
    struct ir_attr a = *attr;
    a.name = copy_string(b, from, attr->name);
    if (attr->type != IR_NONE)
        a.type = ir_build_copy_type(b, from, attr->type);
    switch ((enum ir_attr_kind)attr->kind) {
    case IR_ATTR_UNIT:
    case IR_ATTR_BOOL:
    case IR_ATTR_INT:
    case IR_ATTR_TYPE: break;
    case IR_ATTR_FLOAT:
    case IR_ATTR_STRING:
    case IR_ATTR_SYMBOL:
    case IR_ATTR_TEXT: a.first = copy_string(b, from, attr->first); break;
    case IR_ATTR_INTS:
    case IR_ATTR_BOOLS:
        a.first = (uint32_t)b->ints.count;
        for (uint32_t i = 0; i < attr->count; i++)
            VEC_PUSH(&b->ints, from->ints[attr->first + i]);
        break;
    case IR_ATTR_DENSE:
        copies_from(b, from);
        a.first = copy_constant(b, from, attr->first, a.type);
        break;
    case IR_ATTR_ARRAY:
    case IR_ATTR_DICTIONARY: {
        struct ir_attr *items = mem_zalloc(attr->count, sizeof *items);
        for (uint32_t i = 0; i < attr->count; i++)
            items[i] = ir_build_copy_attr(b, from, &from->attrs[attr->first + i]);
        a.first = builder_attrs(b, IR_ATTR_ARRAY, items, attr->count).first;
        free(items);
        break;
    }
    }
    return a;
}
