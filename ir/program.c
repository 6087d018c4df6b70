/* The tables of opcodes and element types, and the accessors of a program (program.h). Nothing here changes a
 * program; ir_program_release apart, nothing has effects. */
#include "ir/image.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum ir_family family;
} opcodes[IR_OPCODES] = {
    [IR_UNKNOWN] = {NULL, IR_FAMILY_UNKNOWN},
#define IR_OP(code, name, family) [IR_##code] = {name, IR_FAMILY_##family},
#include "ir/ops.def"
#undef IR_OP
};

enum {
    NUMBER_NONE,
#define IR_NUMBERED(code) NUMBER_##code,
#include "ir/numbers.def"
#undef IR_NUMBERED
};
static const uint8_t numbers[IR_OPCODES] = {
#define IR_NUMBERED(code) [IR_##code] = NUMBER_##code,
#include "ir/numbers.def"
#undef IR_NUMBERED
};

static const char *const families[IR_FAMILIES] = {
    [IR_FAMILY_UNKNOWN] = "unknown",
    [IR_FAMILY_STRUCTURE] = "structure",
    [IR_FAMILY_ELEMENTWISE] = "elementwise",
    [IR_FAMILY_CONSTANT] = "constant",
    [IR_FAMILY_IOTA] = "iota",
    [IR_FAMILY_BROADCAST] = "broadcast",
    [IR_FAMILY_TRANSPOSE] = "transpose",
    [IR_FAMILY_RESHAPE] = "reshape",
    [IR_FAMILY_DOT] = "dot",
    [IR_FAMILY_CONVOLUTION] = "convolution",
    [IR_FAMILY_REDUCE] = "reduce",
    [IR_FAMILY_REDUCE_WINDOW] = "reduce_window",
    [IR_FAMILY_BATCH_NORM] = "batch_norm",
    [IR_FAMILY_GATHER] = "gather",
    [IR_FAMILY_SCATTER] = "scatter",
    [IR_FAMILY_SLICE] = "slice",
    [IR_FAMILY_PAD] = "pad",
    [IR_FAMILY_CONCATENATE] = "concatenate",
    [IR_FAMILY_REVERSE] = "reverse",
    [IR_FAMILY_DYNAMIC_SLICE] = "dynamic_slice",
    [IR_FAMILY_DYNAMIC_UPDATE] = "dynamic_update",
    [IR_FAMILY_SORT] = "sort",
    [IR_FAMILY_RNG] = "rng",
    [IR_FAMILY_LINALG] = "linalg",
    [IR_FAMILY_BITCAST] = "bitcast",
    [IR_FAMILY_CONTROL] = "control",
    [IR_FAMILY_BARRIER] = "barrier",
    [IR_FAMILY_CUSTOM_CALL] = "custom_call",
    [IR_FAMILY_COLLECTIVE] = "collective",
    [IR_FAMILY_SHARDY] = "shardy",
};

/* name; bits in device memory; bytes of an element of a dense constant; floating point */
static const struct {
    const char *name;
    uint16_t bits, storage;
    bool is_float;
} elements[IR_ELEMENTS] = {
    [IR_ELEMENT_NONE] = {"none", 0, 0, false},
    [IR_I1] = {"i1", 8, 1, false},
    [IR_I2] = {"i2", 8, 1, false},
    [IR_I4] = {"i4", 8, 1, false},
    [IR_I8] = {"i8", 8, 1, false},
    [IR_I16] = {"i16", 16, 2, false},
    [IR_I32] = {"i32", 32, 4, false},
    [IR_I64] = {"i64", 64, 8, false},
    [IR_UI2] = {"ui2", 8, 1, false},
    [IR_UI4] = {"ui4", 8, 1, false},
    [IR_UI8] = {"ui8", 8, 1, false},
    [IR_UI16] = {"ui16", 16, 2, false},
    [IR_UI32] = {"ui32", 32, 4, false},
    [IR_UI64] = {"ui64", 64, 8, false},
    [IR_BF16] = {"bf16", 16, 2, true},
    [IR_F16] = {"f16", 16, 2, true},
    [IR_F32] = {"f32", 32, 4, true},
    [IR_F64] = {"f64", 64, 8, true},
    [IR_F8E4M3] = {"f8E4M3", 8, 1, true},
    [IR_F8E4M3FN] = {"f8E4M3FN", 8, 1, true},
    [IR_F8E4M3FNUZ] = {"f8E4M3FNUZ", 8, 1, true},
    [IR_F8E4M3B11FNUZ] = {"f8E4M3B11FNUZ", 8, 1, true},
    [IR_F8E5M2] = {"f8E5M2", 8, 1, true},
    [IR_F8E5M2FNUZ] = {"f8E5M2FNUZ", 8, 1, true},
    [IR_F8E3M4] = {"f8E3M4", 8, 1, true},
    [IR_F8E8M0FNU] = {"f8E8M0FNU", 8, 1, true},
    [IR_F4E2M1FN] = {"f4E2M1FN", 8, 1, true},
    [IR_F6E2M3FN] = {"f6E2M3FN", 8, 1, true},
    [IR_F6E3M2FN] = {"f6E3M2FN", 8, 1, true},
    [IR_TF32] = {"tf32", 32, 0, true},
    [IR_C64] = {"complex<f32>", 64, 8, false},
    [IR_C128] = {"complex<f64>", 128, 16, false},
    [IR_INDEX] = {"index", 64, 8, false},
    [IR_ELEMENT_OTHER] = {"other", 0, 0, false},
};

const char *ir_opcode_name(enum ir_opcode code)
{
    return (unsigned)code < IR_OPCODES ? opcodes[code].name : NULL;
}

uint64_t ir_opcode_number(enum ir_opcode code)
{
    if (code == IR_UNKNOWN || numbers[code])
        return numbers[code];
    return hash_bytes(opcodes[code].name, strlen(opcodes[code].name), NUMBER_NONE);
}

enum ir_family ir_opcode_family(enum ir_opcode code)
{
    return (unsigned)code < IR_OPCODES ? opcodes[code].family : IR_FAMILY_UNKNOWN;
}

const char *ir_family_name(enum ir_family family)
{
    return (unsigned)family < IR_FAMILIES ? families[family] : "unknown";
}

/* Binary search: ops.def is sorted by name, which a test checks. */
enum ir_opcode ir_opcode_find(const char *name, size_t size)
{
    unsigned low = 1, high = IR_OPCODES;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        const char *at = opcodes[middle].name;
        int order = strncmp(at, name, size);
        if (order == 0)
            order = at[size] != 0;
        if (order == 0)
            return (enum ir_opcode)middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return IR_UNKNOWN;
}

const char *ir_element_name(enum ir_element e)
{
    return (unsigned)e < IR_ELEMENTS ? elements[e].name : "none";
}

unsigned ir_element_bits(enum ir_element e)
{
    return (unsigned)e < IR_ELEMENTS ? elements[e].bits : 0;
}

bool ir_element_is_float(enum ir_element e)
{
    return (unsigned)e < IR_ELEMENTS && elements[e].is_float;
}

/* f32 has the exponent range of bf16, and reaches further than every other smaller type, so that even their
 * subnormal numbers are exact in it; the same holds for f64 and f32. */
bool ir_element_widens(enum ir_element from, enum ir_element to)
{
    return (to == IR_F32 || to == IR_F64) && ir_element_is_float(from) &&
           ir_element_bits(from) < ir_element_bits(to);
}

uint32_t ir_element_storage(enum ir_element e)
{
    return (unsigned)e < IR_ELEMENTS ? elements[e].storage : 0;
}

int64_t ir_type_elements(const struct ir_program *program, const struct ir_type *type)
{
    const int64_t *dims = ir_type_dims(program, type);
    int64_t n = 1;
    for (unsigned i = 0; i < type->rank; i++) {
        if (dims[i] < 0)
            return -1;
        if (dims[i] == 0)
            return 0;
        if (__builtin_mul_overflow(n, dims[i], &n))
            n = INT64_MAX;
    }
    return n;
}

int64_t ir_type_bytes(const struct ir_program *program, const struct ir_type *type)
{
    int64_t n = ir_type_elements(program, type), bytes;
    if (n < 0)
        return -1;
    if (__builtin_mul_overflow(n, (int64_t)(ir_element_bits((enum ir_element)type->element) / 8), &bytes))
        return INT64_MAX;
    return bytes;
}

uint32_t ir_region_block(const struct ir_program *program, uint32_t op, uint32_t region)
{
    const struct ir_op *ir_op = &program->ops[op];
    if (region >= ir_op->region_count)
        return IR_NONE;
    const struct ir_region *ir_region = &program->regions[ir_op->regions + region];
    return ir_region->block_count ? ir_region->blocks : IR_NONE;
}

uint32_t ir_block_terminator(const struct ir_program *program, uint32_t block)
{
    const struct ir_block *ir_block = &program->blocks[block];
    return ir_block->op_count ? program->block_ops[ir_block->ops + ir_block->op_count - 1] : IR_NONE;
}

uint32_t ir_function(const struct ir_program *program, const char *symbol)
{
    uint32_t body = program->op_count ? ir_region_block(program, 0, 0) : IR_NONE;
    if (body == IR_NONE)
        return IR_NONE;
    const struct ir_block *block = &program->blocks[body];
    for (uint32_t i = 0; i < block->op_count; i++) {
        uint32_t op = program->block_ops[block->ops + i];
        if (program->ops[op].code != IR_FUNC)
            continue;
        const struct ir_attr *name = ir_attr_find(program, op, "sym_name");
        if (name && name->kind == IR_ATTR_STRING && strcmp(ir_string(program, name->first), symbol) == 0)
            return op;
    }
    return IR_NONE;
}

static const struct ir_attr *find(const struct ir_program *program, uint32_t first, uint32_t count,
                                  const char *name)
{
    for (uint32_t i = first; i < first + count; i++)
        if (program->attrs[i].name != IR_NONE &&
            strcmp(ir_string(program, program->attrs[i].name), name) == 0)
            return &program->attrs[i];
    return NULL;
}

const struct ir_attr *ir_attr_find(const struct ir_program *program, uint32_t op, const char *name)
{
    return find(program, program->ops[op].attrs, program->ops[op].attr_count, name);
}

const struct ir_attr *ir_attr_entry(const struct ir_program *program, const struct ir_attr *dictionary,
                                    const char *name)
{
    if (!dictionary || dictionary->kind != IR_ATTR_DICTIONARY)
        return NULL;
    return find(program, dictionary->first, dictionary->count, name);
}

static const struct ir_attr *dictionary_at(const struct ir_program *program, uint32_t func, const char *list,
                                           uint32_t i)
{
    const struct ir_attr *all = ir_attr_find(program, func, list);
    if (!all || all->kind != IR_ATTR_ARRAY || i >= all->count)
        return NULL;
    const struct ir_attr *dictionary = &program->attrs[all->first + i];
    return dictionary->kind == IR_ATTR_DICTIONARY && dictionary->count ? dictionary : NULL;
}

const struct ir_attr *ir_function_arg_attrs(const struct ir_program *program, uint32_t func, uint32_t i)
{
    return dictionary_at(program, func, "arg_attrs", i);
}

const struct ir_attr *ir_function_result_attrs(const struct ir_program *program, uint32_t func, uint32_t i)
{
    return dictionary_at(program, func, "res_attrs", i);
}

uint32_t ir_location_name(const struct ir_program *program, uint32_t location, uint32_t *behind)
{
    const struct ir_location *at = &program->locations[location];
    const uint32_t *parts = program->location_parts + at->first;
    uint32_t name = IR_NONE, unused;
    behind = behind ? behind : &unused;
    *behind = location;
    if (at->kind == IR_LOCATION_NAME) {
        const struct ir_string *text = &program->strings[at->text];
        *behind = at->count ? parts[0] : 0;
        if (!text->size || program->characters[text->offset + text->size - 1] != ':')
            return at->text;
        return ir_location_name(program, *behind, behind);
    }
    uint32_t count = at->kind == IR_LOCATION_CALLSITE ? 1 : at->kind == IR_LOCATION_FUSED ? at->count : 0;
    for (uint32_t i = 0; i < count && name == IR_NONE; i++)
        name = ir_location_name(program, parts[i], NULL);
    return name;
}

static const struct ir_value_location *value_location(const struct ir_program *program, uint32_t value)
{
    uint32_t low = 0, high = program->value_location_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (program->value_locations[middle].value == value)
            return &program->value_locations[middle];
        if (program->value_locations[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const char *ir_value_location(const struct ir_program *program, uint32_t value)
{
    const struct ir_value_location *found = value_location(program, value);
    return found ? ir_string(program, found->text) : "";
}

uint32_t ir_value_loc(const struct ir_program *program, uint32_t value)
{
    const struct ir_value_location *found = value_location(program, value);
    return found ? found->loc : 0;
}

static bool is_return(const struct ir_program *program, uint32_t op)
{
    return program->ops[op].code == IR_RETURN || program->ops[op].code == IR_FUNC_RETURN;
}

enum ir_opcode ir_region_reducer(const struct ir_program *program, uint32_t op, uint32_t region)
{
    uint32_t block = ir_region_block(program, op, region);
    if (block == IR_NONE || program->regions[program->ops[op].regions + region].block_count != 1)
        return IR_UNKNOWN;
    const struct ir_block *ir_block = &program->blocks[block];
    if (ir_block->arg_count != 2 || ir_block->op_count == 0 || ir_block->op_count > 2)
        return IR_UNKNOWN;
    uint32_t last = program->block_ops[ir_block->ops + ir_block->op_count - 1];
    if (!is_return(program, last) || program->ops[last].operand_count != 1)
        return IR_UNKNOWN;
    uint32_t out = ir_operand(program, last, 0);
    if (ir_block->op_count == 1)
        return out == ir_block->args + 1 ? IR_SELECT : IR_UNKNOWN;
    uint32_t body = program->block_ops[ir_block->ops];
    const struct ir_op *ir_op = &program->ops[body];
    if (ir_op->operand_count != 2 || ir_op->result_count != 1 || out != ir_op->results)
        return IR_UNKNOWN;
    uint32_t x = ir_operand(program, body, 0), y = ir_operand(program, body, 1);
    if (!((x == ir_block->args && y == ir_block->args + 1) ||
          (y == ir_block->args && x == ir_block->args + 1)))
        return IR_UNKNOWN;
    static const enum ir_opcode known[] = {IR_ADD, IR_MULTIPLY, IR_MAXIMUM, IR_MINIMUM,
                                           IR_AND, IR_OR,       IR_XOR};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (ir_op->code == known[i])
            return known[i];
    return IR_UNKNOWN;
}
