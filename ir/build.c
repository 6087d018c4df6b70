/* The builder: growing arrays, interned strings and types, and a stack of what is open.
 *
 * In a program the ops of a block, the blocks of a region and the regions of an op are consecutive, but while
 * they are built they nest. So the children of whatever is open wait on three stacks:
 *
 *     frames         module > region > block > while > region > block       what is open, outermost first
 *     open_ops       [ .. ops of @main so far | ops of the loop's body so far ]
 *     open_blocks    [ blocks of closed siblings ]                          base of each frame: where its own
 *     open_regions   [ regions of closed siblings ]                         children begin
 *
 * When a frame closes, its children move from the stack's end to the program's array, consecutive at last,
 * and only then are the `block` and `region` of the children known and filled in. Ops, values and
 * attributes never move, so an index is final when it is handed out.
 *
 * The builder trusts its callers: it checks no types and no counts (ir_verify and ir_image_open do). */
#include "ir/builder.h"

#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ir_builder *ir_builder_create(void)
{
    return mem_zalloc(1, sizeof(struct ir_builder));
}

void ir_builder_destroy(struct ir_builder *b)
{
    if (!b)
        return;
#define X(array, count, type) VEC_FREE(&b->array);
    IR_IMAGE_SECTIONS(X)
#undef X
    VEC_FREE(&b->slots);
    VEC_FREE(&b->type_of_string);
    VEC_FREE(&b->code_of_string);
    VEC_FREE(&b->frames);
    VEC_FREE(&b->open_ops);
    VEC_FREE(&b->open_blocks);
    VEC_FREE(&b->open_regions);
    VEC_FREE(&b->copies.types);
    VEC_FREE(&b->copies.constants);
    free(b);
}

/* ---------------------------------------------------------------- strings and types */
static void strings_grow(struct ir_builder *b)
{
    size_t room = b->slots.count ? b->slots.count * 2 : 256;
    free(b->slots.at);
    b->slots.at = mem_zalloc(room, sizeof *b->slots.at);
    b->slots.count = b->slots.room = room;
    for (uint32_t i = 0; i < b->strings.count; i++) {
        const struct ir_string *s = &b->strings.at[i];
        size_t slot = hash_bytes(b->characters.at + s->offset, s->size, 0) & (room - 1);
        while (b->slots.at[slot])
            slot = (slot + 1) & (room - 1);
        b->slots.at[slot] = i + 1;
    }
}

uint32_t ir_build_string(struct ir_builder *b, const char *text, size_t size)
{
    if (b->strings.count * 2 >= b->slots.count)
        strings_grow(b);
    size_t slot = hash_bytes(text, size, 0) & (b->slots.count - 1);
    for (; b->slots.at[slot]; slot = (slot + 1) & (b->slots.count - 1)) {
        const struct ir_string *s = &b->strings.at[b->slots.at[slot] - 1];
        if (s->size == size && memcmp(b->characters.at + s->offset, text, size) == 0)
            return b->slots.at[slot] - 1;
    }
    BASE_CHECK(b->characters.count + size + 1 < UINT32_MAX);
    struct ir_string made = {(uint32_t)b->characters.count, (uint32_t)size};
    VEC_RESERVE(&b->characters, b->characters.count + size + 1);
    memcpy(b->characters.at + b->characters.count, text, size);
    b->characters.at[b->characters.count + size] = 0;
    b->characters.count += size + 1;
    VEC_PUSH(&b->strings, made);
    VEC_PUSH(&b->type_of_string, 0);
    VEC_PUSH(&b->code_of_string, 0);
    b->slots.at[slot] = (uint32_t)b->strings.count;
    return (uint32_t)b->strings.count - 1;
}

uint32_t ir_build_cstring(struct ir_builder *b, const char *text)
{
    return ir_build_string(b, text, strlen(text));
}

static enum ir_element element_named(const char *name, size_t size)
{
    for (int e = IR_I1; e < IR_ELEMENT_OTHER; e++)
        if (strncmp(ir_element_name((enum ir_element)e), name, size) == 0 &&
            ir_element_name((enum ir_element)e)[size] == 0)
            return (enum ir_element)e;
    return IR_ELEMENT_OTHER;
}

/* Pushes the sizes of `2x?x3xf32` to ints (-1 for `?`) and returns where the element type begins; NULL when
 * the text is not spelt so. */
static const char *parse_sizes(struct ir_builder *b, const char *at, const char *end, struct ir_type *t)
{
    if (end - at > 2 && at[0] == '*' && at[1] == 'x') {
        t->flags |= IR_TYPE_UNRANKED;
        return at + 2;
    }
    for (;;) {
        const char *digits = at;
        int64_t size = 0;
        if (at < end && *at == '?') {
            size = -1;
            t->flags |= IR_TYPE_DYNAMIC;
            at++;
        }
        for (; size >= 0 && at < end && *at >= '0' && *at <= '9'; at++)
            if (__builtin_mul_overflow(size, 10, &size) || __builtin_add_overflow(size, *at - '0', &size))
                return NULL;
        if (at == digits)
            return at;
        if (at == end || *at != 'x' || t->rank == UINT16_MAX)
            return NULL;
        at++;
        VEC_PUSH(&b->ints, size);
        t->rank++;
    }
}

static bool starts(const char *text, size_t size, const char *with)
{
    return size >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static void decode_type(struct ir_builder *b, const char *text, size_t size, struct ir_type *t)
{
    t->kind = IR_TYPE_OTHER;
    t->ints = (uint32_t)b->ints.count;
    if (size && text[0] == '(') {
        t->kind = IR_TYPE_FUNCTION;
    } else if (starts(text, size, "tuple<")) {
        t->kind = IR_TYPE_TUPLE;
    } else if (size == strlen("!stablehlo.token") && starts(text, size, "!stablehlo.token")) {
        t->kind = IR_TYPE_TOKEN;
    } else if (starts(text, size, "tensor<") && text[size - 1] == '>') {
        size_t before = b->ints.count;
        const char *end = text + size - 1, *at = parse_sizes(b, text + strlen("tensor<"), end, t), *stop = at;
        if (!at) {
            b->ints.count = before;
            t->rank = t->flags = 0;
            return;
        }
        for (int depth = 0; stop < end && (*stop != ',' || depth); stop++)
            depth += (*stop == '<' || *stop == '(' || *stop == '[') -
                     (*stop == '>' || *stop == ')' || *stop == ']');
        if (stop < end)
            t->flags |= IR_TYPE_ENCODED;
        t->kind = IR_TYPE_TENSOR;
        t->element = (uint16_t)element_named(at, (size_t)(stop - at));
        if (starts(at, (size_t)(stop - at), "!quant."))
            t->flags |= IR_TYPE_QUANTIZED;
    }
}

uint32_t ir_build_type(struct ir_builder *b, const char *text, size_t size)
{
    uint32_t spelt = ir_build_string(b, text, size);
    if (b->type_of_string.at[spelt])
        return b->type_of_string.at[spelt] - 1;
    struct ir_type t = {.text = spelt};
    decode_type(b, text, size, &t);
    VEC_PUSH(&b->types, t);
    b->type_of_string.at[spelt] = (uint32_t)b->types.count;
    return (uint32_t)b->types.count - 1;
}

uint32_t ir_build_tensor_type(struct ir_builder *b, enum ir_element element, uint32_t rank,
                              const int64_t *dims)
{
    char small[512];
    size_t n = 7;
    memcpy(small, "tensor<", 7);
    BASE_CHECK(rank <= 20);
    for (uint32_t i = 0; i < rank; i++)
        n += (size_t)snprintf(small + n, sizeof small - n, "%lldx", (long long)dims[i]);
    n += (size_t)snprintf(small + n, sizeof small - n, "%s>", ir_element_name(element));
    return ir_build_type(b, small, n);
}

/* ---------------------------------------------------------------- ops, regions, blocks */
static struct frame *top(struct ir_builder *b, enum frame_kind kind)
{
    BASE_CHECK(b->frames.count && b->frames.at[b->frames.count - 1].kind == kind);
    return &b->frames.at[b->frames.count - 1];
}

static void push(struct ir_builder *b, struct frame f)
{
    VEC_PUSH(&b->frames, f);
}

static uint32_t value_new(struct ir_builder *b, uint32_t type, uint32_t op, uint32_t index)
{
    struct ir_value v = {.type = type, .op = op, .block = IR_NONE, .index = index};
    BASE_CHECK(type < b->types.count);
    VEC_PUSH(&b->values, v);
    return (uint32_t)b->values.count - 1;
}

uint32_t ir_build_op(struct ir_builder *b, const struct ir_op_spec *s)
{
    uint32_t index = (uint32_t)b->ops.count;
    struct ir_op o = {.block = IR_NONE, .line = s->line, .column = s->column, .location = IR_NONE};
    o.name = ir_build_cstring(b, s->name);
    if (!b->code_of_string.at[o.name])
        b->code_of_string.at[o.name] = (uint16_t)(ir_opcode_find(s->name, strlen(s->name)) + 1);
    o.code = (uint16_t)(b->code_of_string.at[o.name] - 1);
    if (s->location)
        o.location = ir_build_cstring(b, s->location);
    if (b->frames.count) {
        top(b, FRAME_BLOCK);
        VEC_PUSH(&b->open_ops, index);
    } else {
        BASE_CHECK(index == 0);
    }
    o.operands = (uint32_t)b->operands.count;
    o.operand_count = s->operand_count;
    for (uint32_t i = 0; i < s->operand_count; i++) {
        BASE_CHECK(s->operands[i] < b->values.count);
        VEC_PUSH(&b->operands, s->operands[i]);
    }
    o.results = (uint32_t)b->values.count;
    o.result_count = s->result_count;
    for (uint32_t i = 0; i < s->result_count; i++)
        value_new(b, s->result_types[i], index, i);
    o.attrs = builder_attrs(b, IR_ATTR_DICTIONARY, s->attrs, s->attr_count).first;
    o.attr_count = s->attr_count;
    o.regions = (uint32_t)b->regions.count;
    VEC_PUSH(&b->ops, o);
    return index;
}

uint32_t ir_build_begin(struct ir_builder *b, const struct ir_op_spec *spec)
{
    uint32_t op = ir_build_op(b, spec);
    push(b, (struct frame){.kind = FRAME_OP, .op = op, .base = b->open_regions.count});
    return op;
}

void ir_build_region(struct ir_builder *b)
{
    top(b, FRAME_OP);
    push(b, (struct frame){.kind = FRAME_REGION, .base = b->open_blocks.count});
}

uint32_t ir_build_block(struct ir_builder *b, const uint32_t *arg_types, uint32_t arg_count)
{
    top(b, FRAME_REGION);
    struct frame f = {.kind = FRAME_BLOCK, .base = b->open_ops.count, .arg_count = arg_count};
    f.args = (uint32_t)b->values.count;
    for (uint32_t i = 0; i < arg_count; i++)
        value_new(b, arg_types[i], IR_NONE, i);
    push(b, f);
    return f.args;
}

void ir_build_value_location(struct ir_builder *b, uint32_t value, const char *text, size_t size)
{
    struct ir_value_location l = {value, ir_build_string(b, text, size)};
    BASE_CHECK(!b->value_locations.count ||
               b->value_locations.at[b->value_locations.count - 1].value < value);
    VEC_PUSH(&b->value_locations, l);
}

void ir_build_end_block(struct ir_builder *b)
{
    struct frame f = *top(b, FRAME_BLOCK);
    struct ir_block block = {.region = IR_NONE, .args = f.args, .arg_count = f.arg_count};
    block.ops = (uint32_t)b->block_ops.count;
    block.op_count = (uint32_t)(b->open_ops.count - f.base);
    for (size_t i = f.base; i < b->open_ops.count; i++)
        VEC_PUSH(&b->block_ops, b->open_ops.at[i]);
    b->open_ops.count = f.base;
    b->frames.count--;
    VEC_PUSH(&b->open_blocks, block);
}

/* The block has its final index: write it into its arguments, its ops and their results. */
static void place_block(struct ir_builder *b, const struct ir_block *block, uint32_t index)
{
    for (uint32_t i = 0; i < block->arg_count; i++)
        b->values.at[block->args + i].block = index;
    for (uint32_t i = 0; i < block->op_count; i++) {
        struct ir_op *o = &b->ops.at[b->block_ops.at[block->ops + i]];
        o->block = index;
        for (uint32_t k = 0; k < o->result_count; k++)
            b->values.at[o->results + k].block = index;
    }
}

void ir_build_end_region(struct ir_builder *b)
{
    struct frame f = *top(b, FRAME_REGION);
    struct ir_region region = {.blocks = (uint32_t)b->blocks.count};
    region.block_count = (uint32_t)(b->open_blocks.count - f.base);
    for (size_t i = f.base; i < b->open_blocks.count; i++) {
        place_block(b, &b->open_blocks.at[i], (uint32_t)b->blocks.count);
        VEC_PUSH(&b->blocks, b->open_blocks.at[i]);
    }
    b->open_blocks.count = f.base;
    b->frames.count--;
    VEC_PUSH(&b->open_regions, region);
}

void ir_build_end(struct ir_builder *b)
{
    struct frame f = *top(b, FRAME_OP);
    struct ir_op *o = &b->ops.at[f.op];
    o->regions = (uint32_t)b->regions.count;
    o->region_count = (uint32_t)(b->open_regions.count - f.base);
    for (size_t i = f.base; i < b->open_regions.count; i++) {
        struct ir_region r = b->open_regions.at[i];
        r.op = f.op;
        for (uint32_t k = 0; k < r.block_count; k++)
            b->blocks.at[r.blocks + k].region = (uint32_t)b->regions.count;
        VEC_PUSH(&b->regions, r);
    }
    b->open_regions.count = f.base;
    b->frames.count--;
}

uint32_t ir_builder_result(const struct ir_builder *b, uint32_t op, uint32_t i)
{
    BASE_CHECK(op < b->ops.count && i < b->ops.at[op].result_count);
    return b->ops.at[op].results + i;
}

uint32_t ir_builder_value_type(const struct ir_builder *b, uint32_t value)
{
    BASE_CHECK(value < b->values.count);
    return b->values.at[value].type;
}

/* ---------------------------------------------------------------- the finished image */
struct ir_program ir_builder_view(const struct ir_builder *b)
{
    struct ir_program p = {0};
#define X(array, number, type)                                                                               \
    p.array = b->array.at;                                                                                   \
    p.number = b->array.count;
    IR_IMAGE_SECTIONS(X)
#undef X
    return p;
}

static void layout(const struct ir_builder *b, const uint8_t digest[32], struct ir_image_header *h)
{
    BASE_CHECK(b->frames.count == 0 && b->ops.count > 0 && b->ops.count < IR_NONE &&
               b->values.count < IR_NONE && b->attrs.count < IR_NONE && b->operands.count < IR_NONE &&
               b->ints.count < IR_NONE);
    memset(h, 0, sizeof *h);
    memcpy(h->magic, IR_IMAGE_MAGIC, sizeof h->magic);
    h->version = IR_IMAGE_VERSION;
    h->sections = IR_IMAGE_SECTION_COUNT;
    if (digest)
        memcpy(h->digest, digest, sizeof h->digest);
    uint64_t offset = sizeof *h;
#define X(array, number, type)                                                                               \
    offset = (offset + 7) & ~(uint64_t)7;                                                                    \
    h->section[IR_SECTION_##array].offset = offset;                                                          \
    h->section[IR_SECTION_##array].count = b->array.count;                                                   \
    offset += b->array.count * sizeof(type);
    IR_IMAGE_SECTIONS(X)
#undef X
    h->size = offset;
}

void ir_builder_finish(struct ir_builder *b, const uint8_t digest[32], struct ir_program *out)
{
    struct ir_image_header h;
    layout(b, digest, &h);
    unsigned char *image = mem_alloc((size_t)h.size);
    memset(out, 0, sizeof *out);
    memcpy(image, &h, sizeof h);
    size_t end = sizeof h;
#define X(array, number, type)                                                                               \
    {                                                                                                        \
        size_t at = (size_t)h.section[IR_SECTION_##array].offset, bytes = b->array.count * sizeof(type);     \
        memset(image + end, 0, at - end);                                                                    \
        if (bytes)                                                                                           \
            memcpy(image + at, b->array.at, bytes);                                                          \
        end = at + bytes;                                                                                    \
        out->array = (const type *)(const void *)(image + at);                                               \
        out->number = b->array.count;                                                                        \
        VEC_FREE(&b->array);                                                                                 \
    }
    IR_IMAGE_SECTIONS(X)
#undef X
    memcpy(out->digest, h.digest, sizeof h.digest);
    out->image = image;
    out->image_size = (size_t)h.size;
    out->owned = true;
    ir_builder_destroy(b);
}

static int write_at(int fd, uint64_t offset, const void *bytes, size_t size)
{
    const char *from = bytes;
    while (size) {
        ssize_t n = pwrite(fd, from, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        from += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

int ir_builder_write(struct ir_builder *b, const uint8_t digest[32], int fd)
{
    struct ir_image_header h;
    layout(b, digest, &h);
    int failed = ftruncate(fd, (off_t)h.size) ? errno : 0;
#define X(array, number, type)                                                                               \
    if (!failed)                                                                                             \
        failed =                                                                                             \
            write_at(fd, h.section[IR_SECTION_##array].offset, b->array.at, b->array.count * sizeof(type));  \
    VEC_FREE(&b->array);
    IR_IMAGE_SECTIONS(X)
#undef X
    if (!failed)
        failed = write_at(fd, 0, &h, sizeof h);
    ir_builder_destroy(b);
    return failed;
}
