/* MLIR's types and attributes -> those of the program image. MLIR keeps one object for equal types and
 * attributes, so each is decoded once and remembered by its pointer.
 *
 * What the rewriter hid from MLIR (scan.h) is revealed again here: element types under the dialect name
 * READER_DIALECT, and hex constants as `hex<k : T>`, whose digits are decoded from the user's text. Anything
 * without a decoded form is kept as text. */
#include "ir/reader/attribute.h"

#include "base/hash.h"
#include "ir/image.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct map_slot *map_find(struct map *m, const void *key)
{
    if (m->count * 2 >= m->room) {
        struct map old = *m;
        m->room = old.room ? old.room * 2 : 1024;
        m->slots = mem_zalloc(m->room, sizeof *m->slots);
        for (size_t i = 0; i < old.room; i++)
            if (old.slots[i].key) {
                size_t k = hash_mix((uint64_t)(uintptr_t)old.slots[i].key) & (m->room - 1);
                while (m->slots[k].key)
                    k = (k + 1) & (m->room - 1);
                m->slots[k] = old.slots[i];
            }
        free(old.slots);
    }
    size_t k = hash_mix((uint64_t)(uintptr_t)key) & (m->room - 1);
    while (m->slots[k].key && m->slots[k].key != key)
        k = (k + 1) & (m->room - 1);
    return &m->slots[k];
}

void map_put(struct map *m, const void *key, uint32_t value)
{
    struct map_slot *slot = map_find(m, key);
    m->count += slot->key == NULL;
    slot->key = key;
    slot->value = value + 1;
}

/* ---------------------------------------------------------------- text from MLIR */
void walk_add_piece(MlirStringRef piece, void *to)
{
    text_add_n(to, piece.data, piece.length);
}

/* Undoes in printed text what the rewriter hid: `#toast_reader.text<X>` becomes X again, and
 * `!toast_reader.` before element types goes. */
static void reveal(struct text *t)
{
    static const char text_head[] = "#" READER_DIALECT ".text<", type_head[] = "!" READER_DIALECT ".";
    if (!t->at || !memmem(t->at, t->size, READER_DIALECT, strlen(READER_DIALECT)))
        return;
    size_t to = 0, i = 0;
    VEC(size_t) closing = {0}; /* bracket depths at which a `<` was dropped: its `>` goes too */
    size_t depth = 0;
    while (i < t->size) {
        if (t->size - i >= sizeof text_head - 1 && memcmp(t->at + i, text_head, sizeof text_head - 1) == 0) {
            i += sizeof text_head - 1;
            VEC_PUSH(&closing, depth);
            depth++;
            continue;
        }
        if (t->size - i >= sizeof type_head - 1 && memcmp(t->at + i, type_head, sizeof type_head - 1) == 0) {
            i += sizeof type_head - 1;
            continue;
        }
        char c = t->at[i++];
        depth += c == '<';
        if (c == '>' && depth && !(to && t->at[to - 1] == '-')) {
            depth--;
            if (closing.count && closing.at[closing.count - 1] == depth) {
                closing.count--;
                continue;
            }
        }
        t->at[to++] = c;
    }
    VEC_FREE(&closing);
    t->size = to;
    t->at[to] = 0;
}

uint32_t walk_type(struct walk *w, MlirType type)
{
    struct map_slot *slot = map_find(&w->types, type.ptr);
    if (slot->key)
        return slot->value - 1;
    w->scratch.size = 0;
    mlirTypePrint(type, walk_add_piece, &w->scratch);
    reveal(&w->scratch);
    uint32_t index = ir_build_type(w->b, w->scratch.at, w->scratch.size);
    map_put(&w->types, type.ptr, index);
    return index;
}

struct ir_attr walk_string(struct walk *w, enum ir_attr_kind kind, MlirStringRef text)
{
    struct ir_attr a = ir_build_unit(w->b);
    a.kind = kind;
    a.first = ir_build_string(w->b, text.data, text.length);
    return a;
}

/* Where the type begins in `dense<..> : T` or `dense_resource<key> : T`; 0 when it is nothing like it. */
static size_t constant_type(const struct text *t)
{
    bool quoted = false;
    size_t depth = 0, i = strcspn(t->at, "<");
    if (strncmp(t->at, "dense<", 6) != 0 && strncmp(t->at, "dense_resource<", 15) != 0)
        return 0;
    for (; i < t->size; i++) {
        char c = t->at[i];
        quoted = quoted ? c != '"' : c == '"';
        i += quoted && c == '\\';
        depth += !quoted && c == '<';
        if (!quoted && c == '>' && --depth == 0)
            break;
    }
    return t->size - i > 4 && memcmp(t->at + i, "> : ", 4) == 0 ? i + 4 : 0;
}

/* An attribute as its text; of a constant that is kept as text, the type is still decoded. */
static struct ir_attr text_attr(struct walk *w, MlirAttribute attr)
{
    w->scratch.size = 0;
    mlirAttributePrint(attr, walk_add_piece, &w->scratch);
    reveal(&w->scratch);
    struct ir_attr a = walk_string(w, IR_ATTR_TEXT, (MlirStringRef){w->scratch.at, w->scratch.size});
    size_t type = constant_type(&w->scratch);
    if (type)
        a.type = ir_build_type(w->b, w->scratch.at + type, w->scratch.size - type);
    return a;
}

/* ---------------------------------------------------------------- constants */
static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static void hex_bytes(struct scan *s, struct span digits, unsigned char *to)
{
    for (uint32_t i = digits.at; i + 1 < digits.end; i += 2) {
        int high = digit(s->text[i]), low = digit(s->text[i + 1]);
        if (high < 0 || low < 0)
            scan_fail(s, ERROR_INVALID_MODULE, high < 0 ? i : i + 1, "not a hex digit in this constant");
        *to++ = (unsigned char)(high << 4 | low);
    }
}

/* The digits of a hex constant (`dense<"0x..">`) -> its elements. An i1 takes a byte since 2026; before,
 * eight shared one, lowest bit first. The length tells which it is. */
struct ir_attr walk_hex(struct scan *s, struct ir_builder *b, struct span digits, uint32_t type)
{
    struct ir_program view = ir_builder_view(b);
    const struct ir_type *t = &view.types[type];
    size_t size = (digits.end - digits.at) / 2, storage = ir_element_storage((enum ir_element)t->element);
    int64_t count = t->kind == IR_TYPE_TENSOR ? ir_type_elements(&view, t) : -1;
    unsigned char *bytes;
    if (count < 0 || storage == 0)
        scan_fail(s, ERROR_UNSUPPORTED_MODULE, digits.at,
                  "a hex constant needs a tensor of fixed shape and known "
                  "element type");
    bool even = (digits.end - digits.at) % 2 == 0, bit = t->element == IR_I1;
    bool packed = bit && count > 1 && size == ((size_t)count + 7) / 8;
    bool splat = size == storage && count > 1 && !packed;
    if (!even || (!packed && !splat && ((size_t)count > SIZE_MAX / 16 || size != (size_t)count * storage)))
        scan_fail(s, ERROR_INVALID_MODULE, digits.at, "this constant has %zu bytes; its type needs %llu",
                  size, (unsigned long long)count * storage);
    struct ir_attr a = ir_build_dense_room(b, type, splat ? storage : (size_t)count * storage, splat, &bytes);
    if (!packed) {
        hex_bytes(s, digits, bytes);
        for (size_t i = 0; bit && i < size; i++)
            bytes[i] = bytes[i] != 0;
        return a;
    }
    unsigned char *bits = mem_alloc(size);
    hex_bytes(s, digits, bits);
    for (size_t i = 0; i < (size_t)count; i++)
        bytes[i] = bits[i / 8] >> (i % 8) & 1;
    free(bits);
    return a;
}

static bool dense_attr(struct walk *w, MlirAttribute attr, struct ir_attr *out)
{
    MlirType type = mlirAttributeGetType(attr);
    if (!mlirTypeIsATensor(type))
        return false;
    uint32_t index = walk_type(w, type);
    struct ir_program view = ir_builder_view(w->b);
    const struct ir_type *t = &view.types[index];
    size_t storage = ir_element_storage((enum ir_element)t->element);
    if (t->kind != IR_TYPE_TENSOR || storage == 0 || t->flags || ir_type_elements(&view, t) < 0)
        return false;
    /* also `dense<7> : tensor<0xi32>`, which keeps its element */
    bool splat = mlirDenseElementsAttrIsSplat(attr), bit = t->element == IR_I1;
    size_t count = (size_t)ir_type_elements(&view, t), stored = splat ? 1 : count;
    unsigned char *bytes;
    *out = ir_build_dense_room(w->b, index, stored * storage, splat && count != 1, &bytes);
    if (!stored)
        return true;
    if (!bit)
        memcpy(bytes, mlirDenseElementsAttrGetRawData(attr), stored * storage);
    else if (stored == 1)
        bytes[0] =
            splat ? mlirDenseElementsAttrGetBoolSplatValue(attr) : mlirDenseElementsAttrGetBoolValue(attr, 0);
    else
        for (size_t i = 0; i < stored; i++)
            bytes[i] = mlirDenseElementsAttrGetBoolValue(attr, (intptr_t)i);
    return true;
}

/* ---------------------------------------------------------------- attributes */
static struct ir_attr attr_decode(struct walk *w, MlirAttribute attr);

static struct ir_attr collection(struct walk *w, MlirAttribute attr, bool dictionary)
{
    intptr_t n = dictionary ? mlirDictionaryAttrGetNumElements(attr) : mlirArrayAttrGetNumElements(attr);
    struct ir_attr *items = mem_zalloc((size_t)n, sizeof *items);
    for (intptr_t i = 0; i < n; i++) {
        if (!dictionary) {
            items[i] = attr_decode(w, mlirArrayAttrGetElement(attr, i));
            continue;
        }
        MlirNamedAttribute entry = mlirDictionaryAttrGetElement(attr, i);
        MlirStringRef name = mlirIdentifierStr(entry.name);
        items[i] = attr_decode(w, entry.attribute);
        items[i].name = ir_build_string(w->b, name.data, name.length);
    }
    struct ir_attr a =
        dictionary ? ir_build_dictionary(w->b, items, (uint32_t)n) : ir_build_array(w->b, items, (uint32_t)n);
    free(items);
    return a;
}

static struct ir_attr integer(struct walk *w, MlirAttribute attr)
{
    MlirType type = mlirAttributeGetType(attr);
    bool is_integer = mlirTypeIsAInteger(type);
    if (is_integer && mlirIntegerTypeGetWidth(type) > 64)
        return text_attr(w, attr);
    struct ir_attr a = ir_build_unit(w->b);
    a.kind = IR_ATTR_INT;
    a.type = walk_type(w, type);
    if (is_integer && mlirIntegerTypeIsUnsigned(type))
        a.value = (int64_t)mlirIntegerAttrGetValueUInt(attr);
    else if (is_integer && mlirIntegerTypeIsSigned(type))
        a.value = mlirIntegerAttrGetValueSInt(attr);
    else
        a.value = mlirIntegerAttrGetValueInt(attr);
    return a;
}

static struct ir_attr floating(struct walk *w, MlirAttribute attr)
{
    struct ir_attr a = text_attr(w, attr);
    struct ir_program view = ir_builder_view(w->b);
    const char *text = ir_string(&view, a.first), *colon = strstr(text, " : ");
    char digits[64];
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    if (n >= sizeof digits)
        return a;
    memcpy(digits, text, n);
    a.kind = IR_ATTR_FLOAT;
    a.first = ir_build_string(w->b, digits, n);
    a.type = walk_type(w, mlirAttributeGetType(attr));
    return a;
}

static int64_t array_element(MlirAttribute attr, unsigned bits, intptr_t i)
{
    return bits == 1    ? mlirDenseBoolArrayGetElement(attr, i)
           : bits == 8  ? mlirDenseI8ArrayGetElement(attr, i)
           : bits == 16 ? mlirDenseI16ArrayGetElement(attr, i)
           : bits == 32 ? mlirDenseI32ArrayGetElement(attr, i)
                        : mlirDenseI64ArrayGetElement(attr, i);
}

static bool int_array(struct walk *w, MlirAttribute attr, struct ir_attr *out)
{
    unsigned bits = mlirAttributeIsADenseI64Array(attr)    ? 64
                    : mlirAttributeIsADenseBoolArray(attr) ? 1
                    : mlirAttributeIsADenseI32Array(attr)  ? 32
                    : mlirAttributeIsADenseI16Array(attr)  ? 16
                    : mlirAttributeIsADenseI8Array(attr)   ? 8
                                                           : 0;
    if (!bits)
        return false;
    intptr_t n = mlirDenseArrayGetNumElements(attr);
    int64_t *ints = mem_zalloc((size_t)n, sizeof *ints);
    char type[8];
    for (intptr_t i = 0; i < n; i++)
        ints[i] = array_element(attr, bits, i);
    *out = bits == 1 ? ir_build_bools(w->b, ints, (uint32_t)n) : ir_build_ints(w->b, ints, (uint32_t)n);
    snprintf(type, sizeof type, "i%u", bits);
    out->type = ir_build_type(w->b, type, strlen(type));
    free(ints);
    return true;
}

/* `hex<7 : tensor<4xf32>>` of the reader's own dialect */
static bool hex_attr(struct walk *w, MlirAttribute attr, struct ir_attr *out)
{
    MlirStringRef space = mlirOpaqueAttrGetDialectNamespace(attr), data = mlirOpaqueAttrGetData(attr);
    if (space.length != strlen(READER_DIALECT) || memcmp(space.data, READER_DIALECT, space.length) != 0)
        return false;
    char *text = mem_strndup(data.data, data.length), *rest = NULL;
    if (strncmp(text, "hex<", 4) != 0) {
        free(text);
        return false;
    }
    struct text type = {0};
    size_t k = strtoul(text + 4, &rest, 10);
    BASE_CHECK(k < w->s->hexes.count && strncmp(rest, " : ", 3) == 0 && data.length > 5);
    text_add_n(&type, rest + 3, strlen(rest + 3) - 1);
    reveal(&type);
    *out = walk_hex(w->s, w->b, w->s->hexes.at[k].digits, ir_build_type(w->b, type.at, type.size));
    text_release(&type);
    free(text);
    return true;
}

static struct ir_attr attr_new(struct walk *w, MlirAttribute attr)
{
    struct ir_attr a;
    if (mlirAttributeIsAUnit(attr))
        return ir_build_unit(w->b);
    if (mlirAttributeIsABool(attr))
        return ir_build_bool(w->b, mlirBoolAttrGetValue(attr));
    if (mlirAttributeIsAInteger(attr))
        return integer(w, attr);
    if (mlirAttributeIsAFloat(attr))
        return floating(w, attr);
    if (mlirAttributeIsAString(attr) && mlirTypeIsANone(mlirAttributeGetType(attr)))
        return walk_string(w, IR_ATTR_STRING, mlirStringAttrGetValue(attr));
    if (mlirAttributeIsAFlatSymbolRef(attr))
        return walk_string(w, IR_ATTR_SYMBOL, mlirFlatSymbolRefAttrGetValue(attr));
    if (mlirAttributeIsAType(attr))
        return ir_build_type_attr(w->b, walk_type(w, mlirTypeAttrGetValue(attr)));
    if (mlirAttributeIsAArray(attr) || mlirAttributeIsADictionary(attr))
        return collection(w, attr, mlirAttributeIsADictionary(attr));
    if (mlirAttributeIsAOpaque(attr) && hex_attr(w, attr, &a))
        return a;
    if (int_array(w, attr, &a))
        return a;
    if ((mlirAttributeIsADenseIntElements(attr) || mlirAttributeIsADenseFPElements(attr) ||
         mlirAttributeIsADenseElements(attr)) &&
        !mlirAttributeIsADenseResourceElements(attr) && dense_attr(w, attr, &a))
        return a;
    return text_attr(w, attr);
}

static struct ir_attr attr_decode(struct walk *w, MlirAttribute attr)
{
    struct map_slot *slot = map_find(&w->attrs, attr.ptr);
    if (slot->key)
        return w->decoded.at[slot->value - 1];
    struct ir_attr a = attr_new(w, attr);
    VEC_PUSH(&w->decoded, a);
    map_put(&w->attrs, attr.ptr, (uint32_t)w->decoded.count - 1);
    return a;
}

enum { OLD_LIST_MAX = 1024 }; /* a list of dimensions is far shorter; longer ones are data and stay dense */

/* Up to 2023 lists of integers were spelt dense<..> : tensor<Nxi64>; now they are arrays. Old ones become
 * arrays here (a splat is repeated), so that everything above knows one spelling. */
static struct ir_attr modern(struct walk *w, MlirStringRef op, MlirStringRef name, struct ir_attr a)
{
    static const char *const lists[] = {"broadcast_dimensions",
                                        "broadcast_sizes",
                                        "permutation",
                                        "dimensions",
                                        "start_indices",
                                        "limit_indices",
                                        "strides",
                                        "slice_sizes",
                                        "edge_padding_low",
                                        "edge_padding_high",
                                        "interior_padding",
                                        "fft_length",
                                        "window_dimensions",
                                        "window_strides",
                                        "base_dilations",
                                        "window_dilations",
                                        "lhs_dilation",
                                        "rhs_dilation",
                                        "window_reversal",
                                        "known_expanding_dimensions",
                                        "known_nonexpanding_dimensions"};
    unsigned k = 0, count = sizeof lists / sizeof *lists;
    if (a.kind != IR_ATTR_DENSE || op.length < 10 || memcmp(op.data, "stablehlo.", 10) != 0)
        return a;
    while (k < count && (strlen(lists[k]) != name.length || memcmp(lists[k], name.data, name.length) != 0))
        k++;
    struct ir_program view = ir_builder_view(w->b);
    const struct ir_type *t = &view.types[a.type];
    if (k == count || t->rank != 1 || (t->element != IR_I64 && t->element != IR_I1))
        return a;
    int64_t n = ir_type_dims(&view, t)[0];
    const struct ir_constant *c = &view.constants[a.first];
    if (n > OLD_LIST_MAX)
        return a;
    int64_t ints[OLD_LIST_MAX];
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *at = view.bytes + c->offset + (c->splat ? 0 : (size_t)i * c->element_bytes);
        ints[i] = 0;
        memcpy(&ints[i], at, c->element_bytes);
    }
    return t->element == IR_I1 ? ir_build_bools(w->b, ints, (uint32_t)n)
                               : ir_build_ints(w->b, ints, (uint32_t)n);
}

struct ir_attr walk_attr(struct walk *w, MlirStringRef op, MlirStringRef name, MlirAttribute attr)
{
    return modern(w, op, name, attr_decode(w, attr));
}
