/* Opening an untrusted program image: no index, range or string is used before it was looked at.
 *
 * What is established, in this order:
 *   1. the sections lie inside the block, aligned and without overflow; strings end with NUL;
 *   2. types, constants and attributes refer to what exists, attributes only to earlier ones (no cycle);
 *   3. each op stands in exactly one block, each block in one region, each region in one op that comes before
 *      the ops inside it: a tree;
 *   4. every operand is defined before its use, in a block around it.
 * Nesting is bounded, and so is every recursion over a checked image. Whether ops make sense as StableHLO
 * is not looked at (ir_verify). Never writes to the block. */
#include "ir/image.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct check {
    struct ir_program *program;
    struct error *e;
    uint16_t *depth; /* scratch: of attributes, then of blocks */
};

static enum error_code damaged(struct check *check, const char *what, uint64_t index)
{
    return error_set(check->e, ERROR_INTERNAL, "the program image is damaged: %s %llu", what,
                     (unsigned long long)index);
}

static bool range_ok(uint64_t first, uint64_t count, uint64_t limit)
{
    return count <= limit && first <= limit - count;
}

static enum error_code map_sections(struct check *check, const unsigned char *image, size_t size)
{
    struct ir_image_header image_header;
    if (size < sizeof image_header || ((uintptr_t)image & 7) != 0)
        return damaged(check, "size", size);
    memcpy(&image_header, image, sizeof image_header);
    if (memcmp(image_header.magic, IR_IMAGE_MAGIC, sizeof image_header.magic) != 0)
        return error_set(check->e, ERROR_INTERNAL, "not a program image");
    if (image_header.version != IR_IMAGE_VERSION || image_header.sections != IR_IMAGE_SECTION_COUNT)
        return error_set(check->e, ERROR_INTERNAL, "a program image of another version (%u, this is %u)",
                         (unsigned)image_header.version, (unsigned)IR_IMAGE_VERSION);
    if (image_header.size != size)
        return damaged(check, "header size", image_header.size);
#define X(array, number, type)                                                                               \
    {                                                                                                        \
        uint64_t offset = image_header.section[IR_SECTION_##array].offset,                                   \
                 count = image_header.section[IR_SECTION_##array].count;                                     \
        if (offset < sizeof image_header || (offset & 7) || offset > size ||                                 \
            count > (size - offset) / sizeof(type))                                                          \
            return damaged(check, "section " #array, offset);                                                \
        if (sizeof(type) > 1 && count > IR_NONE - 1u)                                                        \
            return damaged(check, "count of " #array, count);                                                \
        check->program->array = (const type *)(const void *)(image + offset);                                \
        check->program->number = count;                                                                      \
    }
    IR_IMAGE_SECTIONS(X)
#undef X
    memcpy(check->program->digest, image_header.digest, sizeof image_header.digest);
    return ERROR_OK;
}

static enum error_code check_strings(struct check *check)
{
    const struct ir_program *program = check->program;
    for (uint32_t i = 0; i < program->string_count; i++) {
        const struct ir_string *string = &program->strings[i];
        if (!range_ok(string->offset, (uint64_t)string->size + 1, program->character_count) ||
            program->characters[string->offset + string->size])
            return damaged(check, "string", i);
    }
    return ERROR_OK;
}

static enum error_code check_types(struct check *check)
{
    const struct ir_program *program = check->program;
    for (uint32_t i = 0; i < program->type_count; i++) {
        const struct ir_type *type = &program->types[i];
        if (type->kind > IR_TYPE_OTHER || type->element >= IR_ELEMENTS || type->text >= program->string_count)
            return damaged(check, "type", i);
        if (type->rank && !range_ok(type->ints, type->rank, program->int_count))
            return damaged(check, "sizes of type", i);
        if (type->rank == 0 && type->ints > program->int_count)
            return damaged(check, "sizes of type", i);
        for (unsigned d = 0; d < type->rank; d++)
            if (program->ints[type->ints + d] < ((type->flags & IR_TYPE_DYNAMIC) ? -1 : 0))
                return damaged(check, "a size of type", i);
    }
    return ERROR_OK;
}

static bool dense_ok(const struct ir_program *program, const struct ir_attr *attr)
{
    if (attr->first >= program->constant_count || attr->type == IR_NONE ||
        program->types[attr->type].kind != IR_TYPE_TENSOR)
        return false;
    const struct ir_type *type = &program->types[attr->type];
    const struct ir_constant *k = &program->constants[attr->first];
    int64_t n = ir_type_elements(program, type);
    uint32_t storage = ir_element_storage((enum ir_element)type->element);
    if (n < 0 || storage == 0 || k->element_bytes != storage || k->splat > 1)
        return false;
    uint64_t count = k->splat ? 1 : (uint64_t)n;
    return count <= UINT64_MAX / storage && k->size == count * storage &&
           range_ok(k->offset, k->size, program->byte_count);
}

static enum error_code check_attr(struct check *check, uint32_t i)
{
    const struct ir_program *program = check->program;
    const struct ir_attr *attr = &program->attrs[i];
    bool ok = (attr->name == IR_NONE || attr->name < program->string_count) &&
              (attr->type == IR_NONE || attr->type < program->type_count) && attr->kind <= IR_ATTR_TEXT;
    check->depth[i] = 0;
    switch ((enum ir_attr_kind)(ok ? attr->kind : IR_ATTR_UNIT)) {
    case IR_ATTR_UNIT:
    case IR_ATTR_BOOL: break;
    case IR_ATTR_INT:
    case IR_ATTR_TYPE: ok = attr->type != IR_NONE; break;
    case IR_ATTR_FLOAT: ok = attr->type != IR_NONE && attr->first < program->string_count; break;
    case IR_ATTR_STRING:
    case IR_ATTR_SYMBOL:
    case IR_ATTR_TEXT: ok = attr->first < program->string_count; break;
    case IR_ATTR_INTS:
        ok = attr->type != IR_NONE && range_ok(attr->first, attr->count, program->int_count);
        break;
    case IR_ATTR_BOOLS: ok = range_ok(attr->first, attr->count, program->int_count); break;
    case IR_ATTR_DENSE: ok = dense_ok(program, attr); break;
    case IR_ATTR_ARRAY:
    case IR_ATTR_DICTIONARY:
        ok = range_ok(attr->first, attr->count, i);
        for (uint32_t k = 0; ok && k < attr->count; k++) {
            uint32_t child = attr->first + k;
            if (check->depth[i] <= check->depth[child])
                check->depth[i] = (uint16_t)(check->depth[child] + 1);
            ok = check->depth[i] < IR_IMAGE_DEPTH &&
                 (program->attrs[child].name != IR_NONE) == (attr->kind == IR_ATTR_DICTIONARY);
        }
        break;
    }
    return ok ? ERROR_OK : damaged(check, "attribute", i);
}

static enum error_code check_attrs(struct check *check)
{
    check->depth = mem_zalloc(check->program->attr_count, sizeof *check->depth);
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; code == ERROR_OK && i < check->program->attr_count; i++)
        code = check_attr(check, i);
    free(check->depth);
    check->depth = NULL;
    return code;
}

static enum error_code check_value(struct check *check, uint32_t i)
{
    const struct ir_program *program = check->program;
    const struct ir_value *value = &program->values[i];
    if (value->type >= program->type_count || value->block >= program->block_count)
        return damaged(check, "value", i);
    if (value->op != IR_NONE) {
        if (value->op >= program->op_count || value->index >= program->ops[value->op].result_count ||
            (uint64_t)program->ops[value->op].results + value->index != i ||
            program->ops[value->op].block != value->block)
            return damaged(check, "definition of value", i);
    } else if (value->index >= program->blocks[value->block].arg_count ||
               (uint64_t)program->blocks[value->block].args + value->index != i) {
        return damaged(check, "block argument", i);
    }
    return ERROR_OK;
}

static enum error_code check_op(struct check *check, uint32_t i)
{
    const struct ir_program *program = check->program;
    const struct ir_op *op = &program->ops[i];
    if (op->name >= program->string_count || op->code >= IR_OPCODES ||
        (op->code && strcmp(ir_opcode_name((enum ir_opcode)op->code), ir_string(program, op->name)) != 0) ||
        !range_ok(op->operands, op->operand_count, program->operand_count) ||
        !range_ok(op->results, op->result_count, program->value_count) ||
        !range_ok(op->regions, op->region_count, program->region_count) ||
        !range_ok(op->attrs, op->attr_count, program->attr_count) ||
        (op->location != IR_NONE && op->location >= program->string_count) ||
        op->loc >= program->location_count || op->line > INT32_MAX || op->column > INT32_MAX)
        return damaged(check, "op", i);
    if (i == 0 ? op->code != IR_MODULE || op->block != IR_NONE || op->result_count || op->operand_count
               : op->block >= program->block_count)
        return damaged(check, "block of op", i);
    for (uint32_t k = 0; k < op->result_count; k++)
        if (program->values[op->results + k].op != i || program->values[op->results + k].index != k)
            return damaged(check, "results of op", i);
    for (uint32_t k = 0; k < op->region_count; k++)
        if (program->regions[op->regions + k].op != i)
            return damaged(check, "regions of op", i);
    for (uint32_t k = 0; k < op->attr_count; k++)
        if (program->attrs[op->attrs + k].name == IR_NONE)
            return damaged(check, "attributes of op", i);
    for (uint32_t k = 0; k < op->operand_count; k++)
        if (program->operands[op->operands + k] >= program->value_count)
            return damaged(check, "operands of op", i);
    return ERROR_OK;
}

/* Every region and block belongs to one parent: the parents' ranges follow one another without a gap, and
 * their counts add up to the whole array, so none is named twice or left out. */
static enum error_code check_tree(struct check *check)
{
    const struct ir_program *program = check->program;
    uint64_t regions = 0, blocks = 0, ops = 0;
    for (uint32_t i = 0; i < program->op_count; i++)
        regions += program->ops[i].region_count;
    if (program->op_count == 0 || regions != program->region_count)
        return damaged(check, "number of regions", regions);
    for (uint32_t i = 0; i < program->region_count; i++) {
        const struct ir_region *region = &program->regions[i];
        if (region->op >= program->op_count || i < program->ops[region->op].regions ||
            i - program->ops[region->op].regions >= program->ops[region->op].region_count ||
            !range_ok(region->blocks, region->block_count, program->block_count))
            return damaged(check, "region", i);
        blocks += region->block_count;
        for (uint32_t k = 0; k < region->block_count; k++)
            if (program->blocks[region->blocks + k].region != i)
                return damaged(check, "blocks of region", i);
    }
    if (blocks != program->block_count)
        return damaged(check, "number of blocks", blocks);
    for (uint32_t i = 0; i < program->block_count; i++) {
        const struct ir_block *block = &program->blocks[i];
        if (block->region >= program->region_count ||
            !range_ok(block->args, block->arg_count, program->value_count) ||
            !range_ok(block->ops, block->op_count, program->block_op_count))
            return damaged(check, "block", i);
        ops += block->op_count;
        uint32_t last = program->regions[block->region].op;
        for (uint32_t k = 0; k < block->op_count; k++) {
            uint32_t op = program->block_ops[block->ops + k];
            if (op >= program->op_count || op <= last || program->ops[op].block != i)
                return damaged(check, "ops of block", i);
            last = op;
        }
        for (uint32_t k = 0; k < block->arg_count; k++)
            if (program->values[block->args + k].op != IR_NONE || program->values[block->args + k].block != i)
                return damaged(check, "arguments of block", i);
    }
    if (ops != program->op_count - 1 || program->block_op_count != ops)
        return damaged(check, "number of ops in blocks", ops);
    return ERROR_OK;
}

/* Ops are in program order, parents before children, so walking up from an op's block meets only blocks whose
 * parents are known. A value may be used where that walk passes its block. */
static enum error_code check_uses(struct check *check)
{
    const struct ir_program *program = check->program;
    check->depth = mem_zalloc(program->block_count, sizeof *check->depth);
    enum error_code code = ERROR_OK;
    for (uint32_t i = 1; code == ERROR_OK && i < program->op_count; i++) {
        uint32_t block = program->ops[i].block, parent = program->regions[program->blocks[block].region].op;
        uint16_t above = parent ? check->depth[program->ops[parent].block] : 0;
        check->depth[block] = (uint16_t)(above + 1);
        if (check->depth[block] > IR_IMAGE_DEPTH)
            code = damaged(check, "nesting of op", i);
        for (uint32_t k = 0; code == ERROR_OK && k < program->ops[i].operand_count; k++) {
            const struct ir_value *value = &program->values[program->operands[program->ops[i].operands + k]];
            uint32_t at = block;
            while (at != value->block && at != IR_NONE)
                at = program->ops[program->regions[program->blocks[at].region].op].block;
            if (at == IR_NONE || (value->op != IR_NONE && value->op >= i))
                code = damaged(check, "operand of op", i);
            /* an op's own results are not visible inside its regions */
            for (uint32_t up = block; code == ERROR_OK && value->op != IR_NONE && up != at;) {
                uint32_t around = program->regions[program->blocks[up].region].op;
                if (around == value->op)
                    code = damaged(check, "operand of op", i);
                up = program->ops[around].block;
            }
        }
    }
    free(check->depth);
    check->depth = NULL;
    return code;
}

/* what its kind has, its parts before it, nested no deeper than recursion may go */
static bool location_ok(struct check *check, uint32_t i)
{
    const struct ir_program *program = check->program;
    const struct ir_location *location = &program->locations[i];
    bool named = location->kind == IR_LOCATION_FILE || location->kind == IR_LOCATION_NAME;
    if (location->kind > IR_LOCATION_FUSED || (location->kind == IR_LOCATION_UNKNOWN) != (i == 0) ||
        !range_ok(location->first, location->count, program->location_part_count) ||
        (location->text == IR_NONE ? named : location->text >= program->string_count) ||
        (location->kind == IR_LOCATION_CALLSITE && location->count != 2) ||
        (location->kind < IR_LOCATION_CALLSITE && location->count > (location->kind == IR_LOCATION_NAME)))
        return false;
    check->depth[i] = 1;
    for (uint32_t k = 0; k < location->count; k++) {
        uint32_t part = program->location_parts[location->first + k];
        if (part >= i || check->depth[part] >= IR_IMAGE_DEPTH)
            return false;
        if (check->depth[i] <= check->depth[part])
            check->depth[i] = (uint16_t)(check->depth[part] + 1);
    }
    return true;
}

static enum error_code check_locations(struct check *check)
{
    enum error_code code = check->program->location_count ? ERROR_OK : damaged(check, "locations", 0);
    check->depth = mem_zalloc(check->program->location_count + 1, sizeof *check->depth);
    for (uint32_t i = 0; i < check->program->location_count && !code; i++)
        if (!location_ok(check, i))
            code = damaged(check, "location", i);
    free(check->depth);
    check->depth = NULL;
    return code;
}

static enum error_code check_value_locations(struct check *check)
{
    const struct ir_program *program = check->program;
    for (uint32_t i = 0; i < program->value_location_count; i++)
        if (program->value_locations[i].value >= program->value_count ||
            program->value_locations[i].text >= program->string_count ||
            program->value_locations[i].loc >= program->location_count ||
            (i && program->value_locations[i].value <= program->value_locations[i - 1].value))
            return damaged(check, "value location", i);
    return ERROR_OK;
}

enum error_code ir_image_open(const void *image, size_t size, struct ir_program *program, struct error *e)
{
    struct check check = {.program = program, .e = e};
    memset(program, 0, sizeof *program);
    enum error_code code = map_sections(&check, image, size);
    if (code == ERROR_OK)
        code = check_strings(&check);
    if (code == ERROR_OK)
        code = check_types(&check);
    if (code == ERROR_OK)
        code = check_attrs(&check);
    if (code == ERROR_OK)
        code = check_locations(&check);
    for (uint32_t i = 0; code == ERROR_OK && i < program->op_count; i++)
        code = check_op(&check, i);
    if (code == ERROR_OK)
        code = check_tree(&check);
    for (uint32_t i = 0; code == ERROR_OK && i < program->value_count; i++)
        code = check_value(&check, i);
    if (code == ERROR_OK)
        code = check_uses(&check);
    if (code == ERROR_OK)
        code = check_value_locations(&check);
    if (code != ERROR_OK) {
        memset(program, 0, sizeof *program);
        return code;
    }
    program->image = image;
    program->image_size = size;
    program->owned = false;
    return ERROR_OK;
}

void ir_program_release(struct ir_program *program)
{
    if (program->image && program->owned)
        free((void *)(uintptr_t)program->image);
    else if (program->image)
        munmap((void *)(uintptr_t)program->image, program->image_size);
    memset(program, 0, sizeof *program);
}
