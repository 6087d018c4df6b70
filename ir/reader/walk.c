/* The only user of the MLIR C API: parse generic text with nothing but builtin registered, then walk it.
 *
 * Ops and block arguments are met in the order in which the rewriter wrote them, so the k-th op of the walk is the
 * k-th of scan.ops: positions and locations need not pass through MLIR. Types and attributes are unique in MLIR;
 * each is decoded once and remembered by its pointer. */
#include "ir/reader/walk.h"

#include "base/hash.h"
#include "ir/image.h"
#include "ir/reader/rewrite.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <mlir-c/Diagnostics.h>
#include <mlir-c/IR.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* pointer -> index + 1 */
struct map {
    struct map_slot {
        const void *key;
        uint32_t value;
    } *slots;
    size_t room, count;
};

struct walk {
    struct scan *s;
    struct ir_builder *b;
    struct map types, attrs, values;
    VEC(struct ir_attr) decoded;      /* by map attrs */
    struct text scratch;
    size_t op, arg, arg_place;        /* met so far */
    uint32_t line_at;                 /* line and column follow the ops, which come in the text's order */
    int line;
    uint32_t line_start;
};

static struct map_slot *map_find(struct map *m, const void *key)
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

static void map_put(struct map *m, const void *key, uint32_t value)
{
    struct map_slot *slot = map_find(m, key);
    m->count += slot->key == NULL;
    slot->key = key;
    slot->value = value + 1;
}

/* ---------------------------------------------------------------- text from MLIR */
static void add_piece(MlirStringRef piece, void *to)
{
    text_add_n(to, piece.data, piece.length);
}

/* takes `#toast_reader.text<X>` to X and drops `!toast_reader.` before element types */
static void reveal(struct text *t)
{
    static const char text_head[] = "#" READER_DIALECT ".text<", type_head[] = "!" READER_DIALECT ".";
    if (!t->at || !memmem(t->at, t->size, READER_DIALECT, strlen(READER_DIALECT)))
        return;
    size_t to = 0, i = 0;
    VEC(size_t) closing = {0};   /* depths of `<` whose `>` goes too */
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

static uint32_t type_index(struct walk *w, MlirType type)
{
    struct map_slot *slot = map_find(&w->types, type.ptr);
    if (slot->key)
        return slot->value - 1;
    w->scratch.size = 0;
    mlirTypePrint(type, add_piece, &w->scratch);
    reveal(&w->scratch);
    uint32_t index = ir_build_type(w->b, w->scratch.at, w->scratch.size);
    map_put(&w->types, type.ptr, index);
    return index;
}

static struct ir_attr string_attr(struct walk *w, enum ir_attr_kind kind, MlirStringRef text)
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

/* as spelt; constants kept as text still tell their type */
static struct ir_attr text_attr(struct walk *w, MlirAttribute attr)
{
    w->scratch.size = 0;
    mlirAttributePrint(attr, add_piece, &w->scratch);
    reveal(&w->scratch);
    struct ir_attr a = string_attr(w, IR_ATTR_TEXT, (MlirStringRef){w->scratch.at, w->scratch.size});
    size_t type = constant_type(&w->scratch);
    if (type)
        a.type = ir_build_type(w->b, w->scratch.at + type, w->scratch.size - type);
    return a;
}

/* ---------------------------------------------------------------- constants */
static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
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

/* since 2026 an i1 takes a byte, before eight shared one, lowest bit first: told apart by the length */
struct ir_attr walk_hex(struct scan *s, struct ir_builder *b, struct span digits, uint32_t type)
{
    struct ir_program view = ir_builder_view(b);
    const struct ir_type *t = &view.types[type];
    size_t size = (digits.end - digits.at) / 2, storage = ir_element_storage((enum ir_element)t->element);
    int64_t count = t->kind == IR_TYPE_TENSOR ? ir_type_elements(&view, t) : -1;
    unsigned char *bytes;
    if (count < 0 || storage == 0)
        scan_fail(s, ERROR_UNSUPPORTED_MODULE, digits.at, "a hex constant needs a tensor of fixed shape and known "
                                                          "element type");
    bool even = (digits.end - digits.at) % 2 == 0, bit = t->element == IR_I1;
    bool packed = bit && count > 1 && size == ((size_t)count + 7) / 8;
    bool splat = size == storage && count > 1 && !packed;
    if (!even || (!packed && !splat && ((size_t)count > SIZE_MAX / 16 || size != (size_t)count * storage)))
        scan_fail(s, ERROR_INVALID_MODULE, digits.at, "this constant has %zu bytes; its type needs %llu", size,
                  (unsigned long long)count * storage);
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
    uint32_t index = type_index(w, type);
    struct ir_program view = ir_builder_view(w->b);
    const struct ir_type *t = &view.types[index];
    size_t storage = ir_element_storage((enum ir_element)t->element);
    if (t->kind != IR_TYPE_TENSOR || storage == 0 || t->flags || ir_type_elements(&view, t) < 0)
        return false;
    /* `dense<7> : tensor<0xi32>` is a splat too: it keeps its element */
    bool splat = mlirDenseElementsAttrIsSplat(attr), bit = t->element == IR_I1;
    size_t count = (size_t)ir_type_elements(&view, t), stored = splat ? 1 : count;
    unsigned char *bytes;
    *out = ir_build_dense_room(w->b, index, stored * storage, splat && count != 1, &bytes);
    if (!stored)
        return true;
    if (!bit)
        memcpy(bytes, mlirDenseElementsAttrGetRawData(attr), stored * storage);
    else if (stored == 1)
        bytes[0] = splat ? mlirDenseElementsAttrGetBoolSplatValue(attr) : mlirDenseElementsAttrGetBoolValue(attr, 0);
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
    struct ir_attr a = dictionary ? ir_build_dictionary(w->b, items, (uint32_t)n) : ir_build_array(w->b, items, (uint32_t)n);
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
    a.type = type_index(w, type);
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
    a.type = type_index(w, mlirAttributeGetType(attr));
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
        return string_attr(w, IR_ATTR_STRING, mlirStringAttrGetValue(attr));
    if (mlirAttributeIsAFlatSymbolRef(attr))
        return string_attr(w, IR_ATTR_SYMBOL, mlirFlatSymbolRefAttrGetValue(attr));
    if (mlirAttributeIsAType(attr))
        return ir_build_type_attr(w->b, type_index(w, mlirTypeAttrGetValue(attr)));
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

/* Up to 2023 lists of integers were dense<..> : tensor<Nxi64>; now they are arrays. A splat is repeated. */
static struct ir_attr modern(struct walk *w, MlirStringRef op, MlirStringRef name, struct ir_attr a)
{
    static const char *const lists[] = {
        "broadcast_dimensions", "broadcast_sizes", "permutation", "dimensions", "start_indices", "limit_indices",
        "strides", "slice_sizes", "edge_padding_low", "edge_padding_high", "interior_padding", "fft_length",
        "window_dimensions", "window_strides", "base_dilations", "window_dilations", "lhs_dilation", "rhs_dilation",
        "window_reversal", "known_expanding_dimensions", "known_nonexpanding_dimensions"};
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
    if (n > 1024)
        return a;
    int64_t ints[1024];
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *at = view.bytes + c->offset + (c->splat ? 0 : (size_t)i * c->element_bytes);
        ints[i] = 0;
        memcpy(&ints[i], at, c->element_bytes);
    }
    return t->element == IR_I1 ? ir_build_bools(w->b, ints, (uint32_t)n) : ir_build_ints(w->b, ints, (uint32_t)n);
}

/* ---------------------------------------------------------------- ops */
static void position(struct walk *w, uint32_t at, struct ir_op_spec *spec)
{
    const char *text = w->s->text;
    if (at < w->line_at) {
        w->line_at = w->line_start = 0;
        w->line = 1;
    }
    const char *newline;
    while ((newline = memchr(text + w->line_at, '\n', at - w->line_at))) {
        w->line++;
        w->line_start = w->line_at = (uint32_t)(newline - text) + 1;
    }
    w->line_at = at;
    spec->line = (uint32_t)w->line;
    spec->column = at - w->line_start + 1;
}

/* The string of a location, remembered with its alias when it is one. */
static const char *location_text(struct walk *w, uint32_t loc, bool name_first, struct text *out)
{
    struct scan *s = w->s;
    s->at = loc + 3;
    scan_expect(s, "(");
    struct alias *a = NULL;
    if (scan_peek(s) == '#') {
        struct span name = {s->at++, 0};
        name.end = scan_word(s).end;
        a = scan_alias(s, name);
    }
    uint32_t *cached = !a ? NULL : name_first ? &a->arg_string : &a->op_string;
    if (cached && *cached == UINT32_MAX)
        return NULL;
    if (cached && *cached) {
        struct ir_program view = ir_builder_view(w->b);
        out->size = 0;
        text_add_n(out, ir_string(&view, *cached - 1), view.strings[*cached - 1].size);
        return out->at;
    }
    bool found = location_resolve(s, loc, name_first, out) && out->size;
    if (cached)
        *cached = found ? ir_build_string(w->b, out->at, out->size) + 1 : UINT32_MAX;
    return found ? out->at : NULL;
}

static void block_args(struct walk *w, MlirBlock block)
{
    intptr_t n = mlirBlockGetNumArguments(block);
    uint32_t *types = mem_zalloc((size_t)n, sizeof *types);
    for (intptr_t i = 0; i < n; i++)
        types[i] = type_index(w, mlirValueGetType(mlirBlockGetArgument(block, i)));
    uint32_t first = ir_build_block(w->b, types, (uint32_t)n);
    for (intptr_t i = 0; i < n; i++, w->arg++) {
        map_put(&w->values, mlirBlockGetArgument(block, i).ptr, first + (uint32_t)i);
        if (w->arg_place < w->s->args.count && w->s->args.at[w->arg_place].arg == w->arg) {
            const char *text = location_text(w, w->s->args.at[w->arg_place].loc, true, &w->scratch);
            w->arg_place++;
            if (text)
                ir_build_value_location(w->b, first + (uint32_t)i, text, strlen(text));
        }
    }
    free(types);
}

static void walk_op(struct walk *w, MlirOperation op);

static void walk_regions(struct walk *w, MlirOperation op, intptr_t count)
{
    for (intptr_t r = 0; r < count; r++) {
        ir_build_region(w->b);
        for (MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r)); !mlirBlockIsNull(block);
             block = mlirBlockGetNextInRegion(block)) {
            block_args(w, block);
            for (MlirOperation inner = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(inner);
                 inner = mlirOperationGetNextInBlock(inner))
                walk_op(w, inner);
            ir_build_end_block(w->b);
        }
        ir_build_end_region(w->b);
    }
    ir_build_end(w->b);
}

/* operands, result types and attributes of one op, reused from op to op: none of it lives while regions are walked */
struct op_lists {
    VEC(uint32_t) operands;
    VEC(uint32_t) types;
    VEC(struct ir_attr) attrs;
};

static void fill_operands(struct walk *w, MlirOperation op, struct op_lists *l, uint32_t at)
{
    intptr_t n = mlirOperationGetNumOperands(op);
    for (intptr_t i = 0; i < n; i++) {
        struct map_slot *slot = map_find(&w->values, mlirOperationGetOperand(op, i).ptr);
        if (!slot->key)
            scan_fail(w->s, ERROR_INVALID_MODULE, at, "operand %d of this op is used before it is defined", (int)i);
        VEC_PUSH(&l->operands, slot->value - 1);
    }
}

static void fill_attrs(struct walk *w, MlirOperation op, struct op_lists *l, bool root)
{
    MlirStringRef op_name = mlirIdentifierStr(mlirOperationGetName(op));
    intptr_t n = mlirOperationGetNumAttributes(op);
    for (intptr_t i = 0; i < n; i++) {
        MlirNamedAttribute named = mlirOperationGetAttribute(op, i);
        MlirStringRef name = mlirIdentifierStr(named.name);
        struct ir_attr a = modern(w, op_name, name, attr_decode(w, named.attribute));
        a.name = ir_build_string(w->b, name.data, name.length);
        VEC_PUSH(&l->attrs, a);
    }
    if (root && w->s->resources.end) {
        struct span r = w->s->resources;
        struct ir_attr a = string_attr(w, IR_ATTR_TEXT, (MlirStringRef){w->s->text + r.at, r.end - r.at});
        VEC_PUSH(&l->attrs, ir_build_named(w->b, IR_RESOURCES, a));
    }
}

static void walk_op(struct walk *w, MlirOperation op)
{
    struct op_lists l = {0};
    struct text location = {0};
    struct ir_op_spec spec = {0};
    uint32_t at = 0;
    bool root = mlirOperationIsNull(mlirOperationGetParentOperation(op)), made = root && w->s->wrapped;
    if (!made) {
        BASE_CHECK(w->op < w->s->ops.count);
        struct op_place place = w->s->ops.at[w->op++];
        at = place.at;
        position(w, at, &spec);
        if (place.loc)
            spec.location = location_text(w, place.loc, false, &location);
    }
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
    char *name_text = mem_strndup(name.data, name.length);
    spec.name = name_text;
    fill_operands(w, op, &l, at);
    intptr_t results = mlirOperationGetNumResults(op), regions = mlirOperationGetNumRegions(op);
    for (intptr_t i = 0; i < results; i++)
        VEC_PUSH(&l.types, type_index(w, mlirValueGetType(mlirOperationGetResult(op, i))));
    fill_attrs(w, op, &l, root);
    spec.operands = l.operands.at;
    spec.operand_count = (uint32_t)l.operands.count;
    spec.result_types = l.types.at;
    spec.result_count = (uint32_t)l.types.count;
    spec.attrs = l.attrs.at;
    spec.attr_count = (uint32_t)l.attrs.count;
    uint32_t index = regions ? ir_build_begin(w->b, &spec) : ir_build_op(w->b, &spec);
    for (intptr_t i = 0; i < results; i++)
        map_put(&w->values, mlirOperationGetResult(op, i).ptr, ir_builder_result(w->b, index, (uint32_t)i));
    VEC_FREE(&l.operands);
    VEC_FREE(&l.types);
    VEC_FREE(&l.attrs);
    text_release(&location);
    free(name_text);
    if (regions)
        walk_regions(w, op, regions);
}

/* ---------------------------------------------------------------- parsing */
struct complaint {
    char message[600];
    char place[200];
    bool seen;
};

static MlirLogicalResult complain(MlirDiagnostic diagnostic, void *user)
{
    struct complaint *c = user;
    if (!c->seen && mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError) {
        struct text t = {0};
        mlirDiagnosticPrint(diagnostic, add_piece, &t);
        snprintf(c->message, sizeof c->message, "%s", t.at ? t.at : "");
        t.size = 0;
        mlirLocationPrint(mlirDiagnosticGetLocation(diagnostic), add_piece, &t);
        snprintf(c->place, sizeof c->place, "%s", t.at ? t.at : "");
        text_release(&t);
        c->seen = true;
    }
    return mlirLogicalResultSuccess();
}

/* `loc("-":LINE:COLUMN)` in the rewritten text -> offset in it */
static size_t written_offset(const struct scan *s, const char *place)
{
    unsigned line = 1, column = 1;
    const char *colon = strstr(place, "\":");
    if (colon && sscanf(colon + 2, "%u:%u", &line, &column) != 2)
        return 0;
    const char *at = s->out.at, *end = at + s->out.size;
    for (; line > 1 && at < end; line--) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return (size_t)(at - s->out.at) + (column ? column - 1 : 0);
}

void walk_start(void)
{
    mlirContextDestroy(mlirContextCreateWithThreading(false));
}

struct ir_builder *walk_text(struct scan *s)
{
    struct complaint complaint = {.seen = false};
    MlirContext context = mlirContextCreateWithThreading(false);
    mlirContextSetAllowUnregisteredDialects(context, true);
    mlirContextAttachDiagnosticHandler(context, complain, &complaint, NULL);
    MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreate(s->out.at, s->out.size));
    if (mlirModuleIsNull(module)) {
        uint32_t at = rewrite_origin(s, written_offset(s, complaint.place));
        char quoted[64];
        scan_fail(s, ERROR_INVALID_MODULE, at, "%s, at %s",
                  complaint.seen ? complaint.message : "MLIR refuses this text without saying why",
                  scan_quote(s, at, quoted));
    }
    text_release(&s->out);
    struct walk w = {.s = s, .b = ir_builder_create(), .line = 1};
    walk_op(&w, mlirModuleGetOperation(module));
    BASE_CHECK(w.op == s->ops.count && w.arg == s->arg_count);
    return w.b;
}
