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
    struct ir_program *p;
    struct error *e;
    uint16_t *depth; /* scratch: of attributes, then of blocks */
};

static enum error_code damaged(struct check *c, const char *what, uint64_t index)
{
    return error_set(c->e, ERROR_INTERNAL, "the program image is damaged: %s %llu", what,
                     (unsigned long long)index);
}

static bool range_ok(uint64_t first, uint64_t count, uint64_t limit)
{
    return count <= limit && first <= limit - count;
}

static enum error_code map_sections(struct check *c, const unsigned char *image, size_t size)
{
    struct ir_image_header h;
    if (size < sizeof h || ((uintptr_t)image & 7) != 0)
        return damaged(c, "size", size);
    memcpy(&h, image, sizeof h);
    if (memcmp(h.magic, IR_IMAGE_MAGIC, sizeof h.magic) != 0)
        return error_set(c->e, ERROR_INTERNAL, "not a program image");
    if (h.version != IR_IMAGE_VERSION || h.sections != IR_IMAGE_SECTION_COUNT)
        return error_set(c->e, ERROR_INTERNAL, "a program image of another version (%u, this is %u)",
                         (unsigned)h.version, (unsigned)IR_IMAGE_VERSION);
    if (h.size != size)
        return damaged(c, "header size", h.size);
#define X(array, number, type)                                                                               \
    {                                                                                                        \
        uint64_t offset = h.section[IR_SECTION_##array].offset, count = h.section[IR_SECTION_##array].count; \
        if (offset < sizeof h || (offset & 7) || offset > size || count > (size - offset) / sizeof(type))    \
            return damaged(c, "section " #array, offset);                                                    \
        if (sizeof(type) > 1 && count > IR_NONE - 1u)                                                        \
            return damaged(c, "count of " #array, count);                                                    \
        c->p->array = (const type *)(const void *)(image + offset);                                          \
        c->p->number = count;                                                                                \
    }
    IR_IMAGE_SECTIONS(X)
#undef X
    memcpy(c->p->digest, h.digest, sizeof h.digest);
    return ERROR_OK;
}

static enum error_code check_strings(struct check *c)
{
    const struct ir_program *p = c->p;
    for (uint32_t i = 0; i < p->string_count; i++) {
        const struct ir_string *s = &p->strings[i];
        if (!range_ok(s->offset, (uint64_t)s->size + 1, p->character_count) ||
            p->characters[s->offset + s->size])
            return damaged(c, "string", i);
    }
    return ERROR_OK;
}

static enum error_code check_types(struct check *c)
{
    const struct ir_program *p = c->p;
    for (uint32_t i = 0; i < p->type_count; i++) {
        const struct ir_type *t = &p->types[i];
        if (t->kind > IR_TYPE_OTHER || t->element >= IR_ELEMENTS || t->text >= p->string_count)
            return damaged(c, "type", i);
        if (t->rank && !range_ok(t->ints, t->rank, p->int_count))
            return damaged(c, "sizes of type", i);
        if (t->rank == 0 && t->ints > p->int_count)
            return damaged(c, "sizes of type", i);
        for (unsigned d = 0; d < t->rank; d++)
            if (p->ints[t->ints + d] < ((t->flags & IR_TYPE_DYNAMIC) ? -1 : 0))
                return damaged(c, "a size of type", i);
    }
    return ERROR_OK;
}

static bool dense_ok(const struct ir_program *p, const struct ir_attr *a)
{
    if (a->first >= p->constant_count || a->type == IR_NONE || p->types[a->type].kind != IR_TYPE_TENSOR)
        return false;
    const struct ir_type *t = &p->types[a->type];
    const struct ir_constant *k = &p->constants[a->first];
    int64_t n = ir_type_elements(p, t);
    uint32_t storage = ir_element_storage((enum ir_element)t->element);
    if (n < 0 || storage == 0 || k->element_bytes != storage || k->splat > 1)
        return false;
    uint64_t count = k->splat ? 1 : (uint64_t)n;
    return count <= UINT64_MAX / storage && k->size == count * storage &&
           range_ok(k->offset, k->size, p->byte_count);
}

static enum error_code check_attr(struct check *c, uint32_t i)
{
    const struct ir_program *p = c->p;
    const struct ir_attr *a = &p->attrs[i];
    bool ok = (a->name == IR_NONE || a->name < p->string_count) &&
              (a->type == IR_NONE || a->type < p->type_count) && a->kind <= IR_ATTR_TEXT;
    c->depth[i] = 0;
    switch ((enum ir_attr_kind)(ok ? a->kind : IR_ATTR_UNIT)) {
    case IR_ATTR_UNIT:
    case IR_ATTR_BOOL: break;
    case IR_ATTR_INT:
    case IR_ATTR_TYPE: ok = a->type != IR_NONE; break;
    case IR_ATTR_FLOAT: ok = a->type != IR_NONE && a->first < p->string_count; break;
    case IR_ATTR_STRING:
    case IR_ATTR_SYMBOL:
    case IR_ATTR_TEXT: ok = a->first < p->string_count; break;
    case IR_ATTR_INTS: ok = a->type != IR_NONE && range_ok(a->first, a->count, p->int_count); break;
    case IR_ATTR_BOOLS: ok = range_ok(a->first, a->count, p->int_count); break;
    case IR_ATTR_DENSE: ok = dense_ok(p, a); break;
    case IR_ATTR_ARRAY:
    case IR_ATTR_DICTIONARY:
        ok = range_ok(a->first, a->count, i);
        for (uint32_t k = 0; ok && k < a->count; k++) {
            uint32_t child = a->first + k;
            if (c->depth[i] <= c->depth[child])
                c->depth[i] = (uint16_t)(c->depth[child] + 1);
            ok = c->depth[i] < IR_IMAGE_DEPTH &&
                 (p->attrs[child].name != IR_NONE) == (a->kind == IR_ATTR_DICTIONARY);
        }
        break;
    }
    return ok ? ERROR_OK : damaged(c, "attribute", i);
}

static enum error_code check_attrs(struct check *c)
{
    c->depth = mem_zalloc(c->p->attr_count, sizeof *c->depth);
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; code == ERROR_OK && i < c->p->attr_count; i++)
        code = check_attr(c, i);
    free(c->depth);
    c->depth = NULL;
    return code;
}

static enum error_code check_value(struct check *c, uint32_t i)
{
    const struct ir_program *p = c->p;
    const struct ir_value *v = &p->values[i];
    if (v->type >= p->type_count || v->block >= p->block_count)
        return damaged(c, "value", i);
    if (v->op != IR_NONE) {
        if (v->op >= p->op_count || v->index >= p->ops[v->op].result_count ||
            (uint64_t)p->ops[v->op].results + v->index != i || p->ops[v->op].block != v->block)
            return damaged(c, "definition of value", i);
    } else if (v->index >= p->blocks[v->block].arg_count ||
               (uint64_t)p->blocks[v->block].args + v->index != i) {
        return damaged(c, "block argument", i);
    }
    return ERROR_OK;
}

static enum error_code check_op(struct check *c, uint32_t i)
{
    const struct ir_program *p = c->p;
    const struct ir_op *o = &p->ops[i];
    if (o->name >= p->string_count || o->code >= IR_OPCODES ||
        (o->code && strcmp(ir_opcode_name((enum ir_opcode)o->code), ir_string(p, o->name)) != 0) ||
        !range_ok(o->operands, o->operand_count, p->operand_count) ||
        !range_ok(o->results, o->result_count, p->value_count) ||
        !range_ok(o->regions, o->region_count, p->region_count) ||
        !range_ok(o->attrs, o->attr_count, p->attr_count) ||
        (o->location != IR_NONE && o->location >= p->string_count) || o->line > INT32_MAX ||
        o->column > INT32_MAX)
        return damaged(c, "op", i);
    if (i == 0 ? o->code != IR_MODULE || o->block != IR_NONE || o->result_count || o->operand_count
               : o->block >= p->block_count)
        return damaged(c, "block of op", i);
    for (uint32_t k = 0; k < o->result_count; k++)
        if (p->values[o->results + k].op != i || p->values[o->results + k].index != k)
            return damaged(c, "results of op", i);
    for (uint32_t k = 0; k < o->region_count; k++)
        if (p->regions[o->regions + k].op != i)
            return damaged(c, "regions of op", i);
    for (uint32_t k = 0; k < o->attr_count; k++)
        if (p->attrs[o->attrs + k].name == IR_NONE)
            return damaged(c, "attributes of op", i);
    for (uint32_t k = 0; k < o->operand_count; k++)
        if (p->operands[o->operands + k] >= p->value_count)
            return damaged(c, "operands of op", i);
    return ERROR_OK;
}

/* Every region and block belongs to one parent: the parents' ranges follow one another without a gap, and
 * their counts add up to the whole array, so none is named twice or left out. */
static enum error_code check_tree(struct check *c)
{
    const struct ir_program *p = c->p;
    uint64_t regions = 0, blocks = 0, ops = 0;
    for (uint32_t i = 0; i < p->op_count; i++)
        regions += p->ops[i].region_count;
    if (p->op_count == 0 || regions != p->region_count)
        return damaged(c, "number of regions", regions);
    for (uint32_t i = 0; i < p->region_count; i++) {
        const struct ir_region *r = &p->regions[i];
        if (r->op >= p->op_count || i < p->ops[r->op].regions ||
            i - p->ops[r->op].regions >= p->ops[r->op].region_count ||
            !range_ok(r->blocks, r->block_count, p->block_count))
            return damaged(c, "region", i);
        blocks += r->block_count;
        for (uint32_t k = 0; k < r->block_count; k++)
            if (p->blocks[r->blocks + k].region != i)
                return damaged(c, "blocks of region", i);
    }
    if (blocks != p->block_count)
        return damaged(c, "number of blocks", blocks);
    for (uint32_t i = 0; i < p->block_count; i++) {
        const struct ir_block *b = &p->blocks[i];
        if (b->region >= p->region_count || !range_ok(b->args, b->arg_count, p->value_count) ||
            !range_ok(b->ops, b->op_count, p->block_op_count))
            return damaged(c, "block", i);
        ops += b->op_count;
        uint32_t last = p->regions[b->region].op;
        for (uint32_t k = 0; k < b->op_count; k++) {
            uint32_t op = p->block_ops[b->ops + k];
            if (op >= p->op_count || op <= last || p->ops[op].block != i)
                return damaged(c, "ops of block", i);
            last = op;
        }
        for (uint32_t k = 0; k < b->arg_count; k++)
            if (p->values[b->args + k].op != IR_NONE || p->values[b->args + k].block != i)
                return damaged(c, "arguments of block", i);
    }
    if (ops != p->op_count - 1 || p->block_op_count != ops)
        return damaged(c, "number of ops in blocks", ops);
    return ERROR_OK;
}

/* Ops are in program order, parents before children, so walking up from an op's block meets only blocks whose
 * parents are known. A value may be used where that walk passes its block. */
static enum error_code check_uses(struct check *c)
{
    const struct ir_program *p = c->p;
    c->depth = mem_zalloc(p->block_count, sizeof *c->depth);
    enum error_code code = ERROR_OK;
    for (uint32_t i = 1; code == ERROR_OK && i < p->op_count; i++) {
        uint32_t block = p->ops[i].block, parent = p->regions[p->blocks[block].region].op;
        uint16_t above = parent ? c->depth[p->ops[parent].block] : 0;
        c->depth[block] = (uint16_t)(above + 1);
        if (c->depth[block] > IR_IMAGE_DEPTH)
            code = damaged(c, "nesting of op", i);
        for (uint32_t k = 0; code == ERROR_OK && k < p->ops[i].operand_count; k++) {
            const struct ir_value *v = &p->values[p->operands[p->ops[i].operands + k]];
            uint32_t at = block;
            while (at != v->block && at != IR_NONE)
                at = p->ops[p->regions[p->blocks[at].region].op].block;
            if (at == IR_NONE || (v->op != IR_NONE && v->op >= i))
                code = damaged(c, "operand of op", i);
            /* an op's own results are not visible inside its regions */
            for (uint32_t up = block; code == ERROR_OK && v->op != IR_NONE && up != at;) {
                uint32_t around = p->regions[p->blocks[up].region].op;
                if (around == v->op)
                    code = damaged(c, "operand of op", i);
                up = p->ops[around].block;
            }
        }
    }
    free(c->depth);
    c->depth = NULL;
    return code;
}

static enum error_code check_value_locations(struct check *c)
{
    const struct ir_program *p = c->p;
    for (uint32_t i = 0; i < p->value_location_count; i++)
        if (p->value_locations[i].value >= p->value_count || p->value_locations[i].text >= p->string_count ||
            (i && p->value_locations[i].value <= p->value_locations[i - 1].value))
            return damaged(c, "value location", i);
    return ERROR_OK;
}

enum error_code ir_image_open(const void *image, size_t size, struct ir_program *p, struct error *e)
{
    struct check c = {.p = p, .e = e};
    memset(p, 0, sizeof *p);
    enum error_code code = map_sections(&c, image, size);
    if (code == ERROR_OK)
        code = check_strings(&c);
    if (code == ERROR_OK)
        code = check_types(&c);
    if (code == ERROR_OK)
        code = check_attrs(&c);
    for (uint32_t i = 0; code == ERROR_OK && i < p->op_count; i++)
        code = check_op(&c, i);
    if (code == ERROR_OK)
        code = check_tree(&c);
    for (uint32_t i = 0; code == ERROR_OK && i < p->value_count; i++)
        code = check_value(&c, i);
    if (code == ERROR_OK)
        code = check_uses(&c);
    if (code == ERROR_OK)
        code = check_value_locations(&c);
    if (code != ERROR_OK) {
        memset(p, 0, sizeof *p);
        return code;
    }
    p->image = image;
    p->image_size = size;
    p->owned = false;
    return ERROR_OK;
}

void ir_program_release(struct ir_program *p)
{
    if (p->image && p->owned)
        free((void *)(uintptr_t)p->image);
    else if (p->image)
        munmap((void *)(uintptr_t)p->image, p->image_size);
    memset(p, 0, sizeof *p);
}
