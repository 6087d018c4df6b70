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

struct map_slot *map_find(struct map *map, const void *key)
{
    if (map->count * 2 >= map->room) {
        struct map old = *map;
        map->room = old.room ? old.room * 2 : 1024;
        map->slots = mem_zalloc(map->room, sizeof *map->slots);
        for (size_t i = 0; i < old.room; i++)
            if (old.slots[i].key) {
                size_t k = hash_mix((uint64_t)(uintptr_t)old.slots[i].key) & (map->room - 1);
                while (map->slots[k].key)
                    k = (k + 1) & (map->room - 1);
                map->slots[k] = old.slots[i];
            }
        free(old.slots);
    }
    size_t k = hash_mix((uint64_t)(uintptr_t)key) & (map->room - 1);
    while (map->slots[k].key && map->slots[k].key != key)
        k = (k + 1) & (map->room - 1);
    return &map->slots[k];
}

void map_put(struct map *map, const void *key, uint32_t value)
{
    struct map_slot *slot = map_find(map, key);
    map->count += slot->key == NULL;
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
static void reveal(struct text *text)
{
    static const char text_head[] = "#" READER_DIALECT ".text<", type_head[] = "!" READER_DIALECT ".";
    if (!text->at || !memmem(text->at, text->size, READER_DIALECT, strlen(READER_DIALECT)))
        return;
    size_t to = 0, i = 0;
    VEC(size_t) closing = {0}; /* bracket depths at which a `<` was dropped: its `>` goes too */
    size_t depth = 0;
    while (i < text->size) {
        if (text->size - i >= sizeof text_head - 1 &&
            memcmp(text->at + i, text_head, sizeof text_head - 1) == 0) {
            i += sizeof text_head - 1;
            VEC_PUSH(&closing, depth);
            depth++;
            continue;
        }
        if (text->size - i >= sizeof type_head - 1 &&
            memcmp(text->at + i, type_head, sizeof type_head - 1) == 0) {
            i += sizeof type_head - 1;
            continue;
        }
        char character = text->at[i++];
        depth += character == '<';
        if (character == '>' && depth && !(to && text->at[to - 1] == '-')) {
            depth--;
            if (closing.count && closing.at[closing.count - 1] == depth) {
                closing.count--;
                continue;
            }
        }
        text->at[to++] = character;
    }
    VEC_FREE(&closing);
    text->size = to;
    text->at[to] = 0;
}

uint32_t walk_type(struct walk *walk, MlirType type)
{
    struct map_slot *slot = map_find(&walk->types, type.ptr);
    if (slot->key)
        return slot->value - 1;
    walk->scratch.size = 0;
    mlirTypePrint(type, walk_add_piece, &walk->scratch);
    reveal(&walk->scratch);
    uint32_t index = ir_build_type(walk->builder, walk->scratch.at, walk->scratch.size);
    map_put(&walk->types, type.ptr, index);
    return index;
}

struct ir_attr walk_string(struct walk *walk, enum ir_attr_kind kind, MlirStringRef text)
{
    struct ir_attr attr = ir_build_unit(walk->builder);
    attr.kind = kind;
    attr.first = ir_build_string(walk->builder, text.data, text.length);
    return attr;
}

/* Where the type begins in `dense<..> : T` or `dense_resource<key> : T`; 0 when it is nothing like it. */
static size_t constant_type(const struct text *text)
{
    bool quoted = false;
    size_t depth = 0, i = strcspn(text->at, "<");
    if (strncmp(text->at, "dense<", 6) != 0 && strncmp(text->at, "dense_resource<", 15) != 0)
        return 0;
    for (; i < text->size; i++) {
        char character = text->at[i];
        quoted = quoted ? character != '"' : character == '"';
        i += quoted && character == '\\';
        depth += !quoted && character == '<';
        if (!quoted && character == '>' && --depth == 0)
            break;
    }
    return text->size - i > 4 && memcmp(text->at + i, "> : ", 4) == 0 ? i + 4 : 0;
}

/* An attribute as its text; of a constant that is kept as text, the type is still decoded. */
static struct ir_attr text_attr(struct walk *walk, MlirAttribute attr)
{
    walk->scratch.size = 0;
    mlirAttributePrint(attr, walk_add_piece, &walk->scratch);
    reveal(&walk->scratch);
    struct ir_attr ir_attr =
        walk_string(walk, IR_ATTR_TEXT, (MlirStringRef){walk->scratch.at, walk->scratch.size});
    size_t type = constant_type(&walk->scratch);
    if (type)
        ir_attr.type = ir_build_type(walk->builder, walk->scratch.at + type, walk->scratch.size - type);
    return ir_attr;
}

/* ---------------------------------------------------------------- constants */
static int digit(char character)
{
    return character >= '0' && character <= '9'   ? character - '0'
           : character >= 'a' && character <= 'f' ? character - 'a' + 10
           : character >= 'A' && character <= 'F' ? character - 'A' + 10
                                                  : -1;
}

static void hex_bytes(struct scan *scan, struct span digits, unsigned char *to)
{
    for (uint32_t i = digits.at; i + 1 < digits.end; i += 2) {
        int high = digit(scan->text[i]), low = digit(scan->text[i + 1]);
        if (high < 0 || low < 0)
            scan_fail(scan, ERROR_INVALID_MODULE, high < 0 ? i : i + 1, "not a hex digit in this constant");
        *to++ = (unsigned char)(high << 4 | low);
    }
}

/* The digits of a hex constant (`dense<"0x..">`) -> its elements. An i1 takes a byte since 2026; before,
 * eight shared one, lowest bit first. The length tells which it is. */
struct ir_attr walk_hex(struct scan *scan, struct ir_builder *builder, struct span digits, uint32_t type)
{
    struct ir_program view = ir_builder_view(builder);
    const struct ir_type *ir_type = &view.types[type];
    size_t size = (digits.end - digits.at) / 2,
           storage = ir_element_storage((enum ir_element)ir_type->element);
    int64_t count = ir_type->kind == IR_TYPE_TENSOR ? ir_type_elements(&view, ir_type) : -1;
    unsigned char *bytes;
    if (count < 0 || storage == 0)
        scan_fail(scan, ERROR_UNSUPPORTED_MODULE, digits.at,
                  "a hex constant needs a tensor of fixed shape and known "
                  "element type");
    bool even = (digits.end - digits.at) % 2 == 0, bit = ir_type->element == IR_I1;
    bool packed = bit && count > 1 && size == ((size_t)count + 7) / 8;
    bool splat = size == storage && count > 1 && !packed;
    if (!even || (!packed && !splat && ((size_t)count > SIZE_MAX / 16 || size != (size_t)count * storage)))
        scan_fail(scan, ERROR_INVALID_MODULE, digits.at, "this constant has %zu bytes; its type needs %llu",
                  size, (unsigned long long)count * storage);
    struct ir_attr attr =
        ir_build_dense_room(builder, type, splat ? storage : (size_t)count * storage, splat, &bytes);
    if (!packed) {
        hex_bytes(scan, digits, bytes);
        for (size_t i = 0; bit && i < size; i++)
            bytes[i] = bytes[i] != 0;
        return attr;
    }
    unsigned char *bits = mem_alloc(size);
    hex_bytes(scan, digits, bits);
    for (size_t i = 0; i < (size_t)count; i++)
        bytes[i] = bits[i / 8] >> (i % 8) & 1;
    free(bits);
    return attr;
}

static bool dense_attr(struct walk *walk, MlirAttribute attr, struct ir_attr *out)
{
    MlirType type = mlirAttributeGetType(attr);
    if (!mlirTypeIsATensor(type))
        return false;
    uint32_t index = walk_type(walk, type);
    struct ir_program view = ir_builder_view(walk->builder);
    const struct ir_type *ir_type = &view.types[index];
    size_t storage = ir_element_storage((enum ir_element)ir_type->element);
    if (ir_type->kind != IR_TYPE_TENSOR || storage == 0 || ir_type->flags ||
        ir_type_elements(&view, ir_type) < 0)
        return false;
    /* also `dense<7> : tensor<0xi32>`, which keeps its element */
    bool splat = mlirDenseElementsAttrIsSplat(attr), bit = ir_type->element == IR_I1;
    size_t count = (size_t)ir_type_elements(&view, ir_type), stored = splat ? 1 : count;
    unsigned char *bytes;
    *out = ir_build_dense_room(walk->builder, index, stored * storage, splat && count != 1, &bytes);
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
static struct ir_attr attr_decode(struct walk *walk, MlirAttribute attr);

static struct ir_attr collection(struct walk *walk, MlirAttribute attr, bool dictionary)
{
    intptr_t n = dictionary ? mlirDictionaryAttrGetNumElements(attr) : mlirArrayAttrGetNumElements(attr);
    struct ir_attr *items = mem_zalloc((size_t)n, sizeof *items);
    for (intptr_t i = 0; i < n; i++) {
        if (!dictionary) {
            items[i] = attr_decode(walk, mlirArrayAttrGetElement(attr, i));
            continue;
        }
        MlirNamedAttribute entry = mlirDictionaryAttrGetElement(attr, i);
        MlirStringRef name = mlirIdentifierStr(entry.name);
        items[i] = attr_decode(walk, entry.attribute);
        items[i].name = ir_build_string(walk->builder, name.data, name.length);
    }
    struct ir_attr ir_attr = dictionary ? ir_build_dictionary(walk->builder, items, (uint32_t)n)
                                        : ir_build_array(walk->builder, items, (uint32_t)n);
    free(items);
    return ir_attr;
}

static struct ir_attr integer(struct walk *walk, MlirAttribute attr)
{
    MlirType type = mlirAttributeGetType(attr);
    bool is_integer = mlirTypeIsAInteger(type);
    if (is_integer && mlirIntegerTypeGetWidth(type) > 64)
        return text_attr(walk, attr);
    struct ir_attr ir_attr = ir_build_unit(walk->builder);
    ir_attr.kind = IR_ATTR_INT;
    ir_attr.type = walk_type(walk, type);
    if (is_integer && mlirIntegerTypeIsUnsigned(type))
        ir_attr.value = (int64_t)mlirIntegerAttrGetValueUInt(attr);
    else if (is_integer && mlirIntegerTypeIsSigned(type))
        ir_attr.value = mlirIntegerAttrGetValueSInt(attr);
    else
        ir_attr.value = mlirIntegerAttrGetValueInt(attr);
    return ir_attr;
}

static struct ir_attr floating(struct walk *walk, MlirAttribute attr)
{
    struct ir_attr ir_attr = text_attr(walk, attr);
    struct ir_program view = ir_builder_view(walk->builder);
    const char *text = ir_string(&view, ir_attr.first), *colon = strstr(text, " : ");
    char digits[64];
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    if (n >= sizeof digits)
        return ir_attr;
    memcpy(digits, text, n);
    ir_attr.kind = IR_ATTR_FLOAT;
    ir_attr.first = ir_build_string(walk->builder, digits, n);
    ir_attr.type = walk_type(walk, mlirAttributeGetType(attr));
    return ir_attr;
}

static int64_t array_element(MlirAttribute attr, unsigned bits, intptr_t i)
{
    return bits == 1    ? mlirDenseBoolArrayGetElement(attr, i)
           : bits == 8  ? mlirDenseI8ArrayGetElement(attr, i)
           : bits == 16 ? mlirDenseI16ArrayGetElement(attr, i)
           : bits == 32 ? mlirDenseI32ArrayGetElement(attr, i)
                        : mlirDenseI64ArrayGetElement(attr, i);
}

static bool int_array(struct walk *walk, MlirAttribute attr, struct ir_attr *out)
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
    *out = bits == 1 ? ir_build_bools(walk->builder, ints, (uint32_t)n)
                     : ir_build_ints(walk->builder, ints, (uint32_t)n);
    snprintf(type, sizeof type, "i%u", bits);
    out->type = ir_build_type(walk->builder, type, strlen(type));
    free(ints);
    return true;
}

/* `hex<7 : tensor<4xf32>>` of the reader's own dialect */
static bool hex_attr(struct walk *walk, MlirAttribute attr, struct ir_attr *out)
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
    BASE_CHECK(k < walk->scan->hexes.count && strncmp(rest, " : ", 3) == 0 && data.length > 5);
    text_add_n(&type, rest + 3, strlen(rest + 3) - 1);
    reveal(&type);
    *out = walk_hex(walk->scan, walk->builder, walk->scan->hexes.at[k].digits,
                    ir_build_type(walk->builder, type.at, type.size));
    text_release(&type);
    free(text);
    return true;
}

static struct ir_attr attr_new(struct walk *walk, MlirAttribute attr)
{
    struct ir_attr ir_attr;
    if (mlirAttributeIsAUnit(attr))
        return ir_build_unit(walk->builder);
    if (mlirAttributeIsABool(attr))
        return ir_build_bool(walk->builder, mlirBoolAttrGetValue(attr));
    if (mlirAttributeIsAInteger(attr))
        return integer(walk, attr);
    if (mlirAttributeIsAFloat(attr))
        return floating(walk, attr);
    if (mlirAttributeIsAString(attr) && mlirTypeIsANone(mlirAttributeGetType(attr)))
        return walk_string(walk, IR_ATTR_STRING, mlirStringAttrGetValue(attr));
    if (mlirAttributeIsAFlatSymbolRef(attr))
        return walk_string(walk, IR_ATTR_SYMBOL, mlirFlatSymbolRefAttrGetValue(attr));
    if (mlirAttributeIsAType(attr))
        return ir_build_type_attr(walk->builder, walk_type(walk, mlirTypeAttrGetValue(attr)));
    if (mlirAttributeIsAArray(attr) || mlirAttributeIsADictionary(attr))
        return collection(walk, attr, mlirAttributeIsADictionary(attr));
    if (mlirAttributeIsAOpaque(attr) && hex_attr(walk, attr, &ir_attr))
        return ir_attr;
    if (int_array(walk, attr, &ir_attr))
        return ir_attr;
    if ((mlirAttributeIsADenseIntElements(attr) || mlirAttributeIsADenseFPElements(attr) ||
         mlirAttributeIsADenseElements(attr)) &&
        !mlirAttributeIsADenseResourceElements(attr) && dense_attr(walk, attr, &ir_attr))
        return ir_attr;
    return text_attr(walk, attr);
}

static struct ir_attr attr_decode(struct walk *walk, MlirAttribute attr)
{
    struct map_slot *slot = map_find(&walk->attrs, attr.ptr);
    if (slot->key)
        return walk->decoded.at[slot->value - 1];
    struct ir_attr ir_attr = attr_new(walk, attr);
    VEC_PUSH(&walk->decoded, ir_attr);
    map_put(&walk->attrs, attr.ptr, (uint32_t)walk->decoded.count - 1);
    return ir_attr;
}

enum { OLD_LIST_MAX = 1024 }; /* a list of dimensions is far shorter; longer ones are data and stay dense */

/* Up to 2023 lists of integers were spelt dense<..> : tensor<Nxi64>; now they are arrays. Old ones become
 * arrays here (a splat is repeated), so that everything above knows one spelling. */
static struct ir_attr modern(struct walk *walk, MlirStringRef op, MlirStringRef name, struct ir_attr attr)
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
    if (attr.kind != IR_ATTR_DENSE || op.length < 10 || memcmp(op.data, "stablehlo.", 10) != 0)
        return attr;
    while (k < count && (strlen(lists[k]) != name.length || memcmp(lists[k], name.data, name.length) != 0))
        k++;
    struct ir_program view = ir_builder_view(walk->builder);
    const struct ir_type *type = &view.types[attr.type];
    if (k == count || type->rank != 1 || (type->element != IR_I64 && type->element != IR_I1))
        return attr;
    int64_t n = ir_type_dims(&view, type)[0];
    const struct ir_constant *constant = &view.constants[attr.first];
    if (n > OLD_LIST_MAX)
        return attr;
    int64_t ints[OLD_LIST_MAX];
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *at =
            view.bytes + constant->offset + (constant->splat ? 0 : (size_t)i * constant->element_bytes);
        ints[i] = 0;
        memcpy(&ints[i], at, constant->element_bytes);
    }
    return type->element == IR_I1 ? ir_build_bools(walk->builder, ints, (uint32_t)n)
                                  : ir_build_ints(walk->builder, ints, (uint32_t)n);
}

struct ir_attr walk_attr(struct walk *walk, MlirStringRef op, MlirStringRef name, MlirAttribute attr)
{
    return modern(walk, op, name, attr_decode(walk, attr));
}
