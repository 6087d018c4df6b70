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
    struct ir_builder *builder = mem_zalloc(1, sizeof *builder);
    struct ir_location unknown = {.kind = IR_LOCATION_UNKNOWN, .text = IR_NONE};
    VEC_PUSH(&builder->locations, unknown);
    return builder;
}

void ir_builder_destroy(struct ir_builder *builder)
{
    if (!builder)
        return;
#define X(array, count, type) VEC_FREE(&builder->array);
    IR_IMAGE_SECTIONS(X)
#undef X
    VEC_FREE(&builder->slots);
    VEC_FREE(&builder->location_slots);
    VEC_FREE(&builder->type_of_string);
    VEC_FREE(&builder->code_of_string);
    VEC_FREE(&builder->frames);
    VEC_FREE(&builder->open_ops);
    VEC_FREE(&builder->open_blocks);
    VEC_FREE(&builder->open_regions);
    VEC_FREE(&builder->copies.types);
    VEC_FREE(&builder->copies.constants);
    VEC_FREE(&builder->copies.locations);
    free(builder);
}

/* ---------------------------------------------------------------- strings and types */
void builder_slots_grow(const struct ir_builder *builder, builder_slots *slots, uint32_t first,
                        uint32_t count, size_t (*hash)(const struct ir_builder *builder, uint32_t entry))
{
    size_t room = slots->count ? slots->count * 2 : 256;
    free(slots->at);
    slots->at = mem_zalloc(room, sizeof *slots->at);
    slots->count = slots->room = room;
    for (uint32_t entry = first; entry < first + count; entry++) {
        size_t slot = hash(builder, entry) & (room - 1);
        while (slots->at[slot])
            slot = (slot + 1) & (room - 1);
        slots->at[slot] = entry + 1;
    }
}

static size_t string_hash(const struct ir_builder *builder, uint32_t entry)
{
    const struct ir_string *string = &builder->strings.at[entry];
    return hash_bytes(builder->characters.at + string->offset, string->size, 0);
}

uint32_t ir_build_string(struct ir_builder *builder, const char *text, size_t size)
{
    if (builder->strings.count * 2 >= builder->slots.count)
        builder_slots_grow(builder, &builder->slots, 0, (uint32_t)builder->strings.count, string_hash);
    size_t slot = hash_bytes(text, size, 0) & (builder->slots.count - 1);
    for (; builder->slots.at[slot]; slot = (slot + 1) & (builder->slots.count - 1)) {
        const struct ir_string *string = &builder->strings.at[builder->slots.at[slot] - 1];
        if (string->size == size && memcmp(builder->characters.at + string->offset, text, size) == 0)
            return builder->slots.at[slot] - 1;
    }
    BASE_CHECK(builder->characters.count + size + 1 < UINT32_MAX);
    struct ir_string made = {(uint32_t)builder->characters.count, (uint32_t)size};
    VEC_RESERVE(&builder->characters, builder->characters.count + size + 1);
    memcpy(builder->characters.at + builder->characters.count, text, size);
    builder->characters.at[builder->characters.count + size] = 0;
    builder->characters.count += size + 1;
    VEC_PUSH(&builder->strings, made);
    VEC_PUSH(&builder->type_of_string, 0);
    VEC_PUSH(&builder->code_of_string, 0);
    builder->slots.at[slot] = (uint32_t)builder->strings.count;
    return (uint32_t)builder->strings.count - 1;
}

uint32_t ir_build_cstring(struct ir_builder *builder, const char *text)
{
    return ir_build_string(builder, text, strlen(text));
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
static const char *parse_sizes(struct ir_builder *builder, const char *at, const char *end,
                               struct ir_type *type)
{
    if (end - at > 2 && at[0] == '*' && at[1] == 'x') {
        type->flags |= IR_TYPE_UNRANKED;
        return at + 2;
    }
    for (;;) {
        const char *digits = at;
        int64_t size = 0;
        if (at < end && *at == '?') {
            size = -1;
            type->flags |= IR_TYPE_DYNAMIC;
            at++;
        }
        for (; size >= 0 && at < end && *at >= '0' && *at <= '9'; at++)
            if (__builtin_mul_overflow(size, 10, &size) || __builtin_add_overflow(size, *at - '0', &size))
                return NULL;
        if (at == digits)
            return at;
        if (at == end || *at != 'x' || type->rank == UINT16_MAX)
            return NULL;
        at++;
        VEC_PUSH(&builder->ints, size);
        type->rank++;
    }
}

static bool starts(const char *text, size_t size, const char *with)
{
    return size >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static void decode_type(struct ir_builder *builder, const char *text, size_t size, struct ir_type *type)
{
    type->kind = IR_TYPE_OTHER;
    type->ints = (uint32_t)builder->ints.count;
    if (size && text[0] == '(') {
        type->kind = IR_TYPE_FUNCTION;
    } else if (starts(text, size, "tuple<")) {
        type->kind = IR_TYPE_TUPLE;
    } else if (size == strlen("!stablehlo.token") && starts(text, size, "!stablehlo.token")) {
        type->kind = IR_TYPE_TOKEN;
    } else if (starts(text, size, "tensor<") && text[size - 1] == '>') {
        size_t before = builder->ints.count;
        const char *end = text + size - 1, *at = parse_sizes(builder, text + strlen("tensor<"), end, type),
                   *stop = at;
        if (!at) {
            builder->ints.count = before;
            type->rank = type->flags = 0;
            return;
        }
        for (int depth = 0; stop < end && (*stop != ',' || depth); stop++)
            depth += (*stop == '<' || *stop == '(' || *stop == '[') -
                     (*stop == '>' || *stop == ')' || *stop == ']');
        if (stop < end)
            type->flags |= IR_TYPE_ENCODED;
        type->kind = IR_TYPE_TENSOR;
        type->element = (uint16_t)element_named(at, (size_t)(stop - at));
        if (starts(at, (size_t)(stop - at), "!quant."))
            type->flags |= IR_TYPE_QUANTIZED;
    }
}

uint32_t ir_build_type(struct ir_builder *builder, const char *text, size_t size)
{
    uint32_t spelt = ir_build_string(builder, text, size);
    if (builder->type_of_string.at[spelt])
        return builder->type_of_string.at[spelt] - 1;
    struct ir_type type = {.text = spelt};
    decode_type(builder, text, size, &type);
    VEC_PUSH(&builder->types, type);
    builder->type_of_string.at[spelt] = (uint32_t)builder->types.count;
    return (uint32_t)builder->types.count - 1;
}

uint32_t ir_build_tensor_type(struct ir_builder *builder, enum ir_element element, uint32_t rank,
                              const int64_t *dims)
{
    char small[512];
    size_t n = 7;
    memcpy(small, "tensor<", 7);
    BASE_CHECK(rank <= 20);
    for (uint32_t i = 0; i < rank; i++)
        n += (size_t)snprintf(small + n, sizeof small - n, "%lldx", (long long)dims[i]);
    n += (size_t)snprintf(small + n, sizeof small - n, "%s>", ir_element_name(element));
    return ir_build_type(builder, small, n);
}

/* ---------------------------------------------------------------- ops, regions, blocks */
static struct frame *top(struct ir_builder *builder, enum frame_kind kind)
{
    BASE_CHECK(builder->frames.count && builder->frames.at[builder->frames.count - 1].kind == kind);
    return &builder->frames.at[builder->frames.count - 1];
}

static void push(struct ir_builder *builder, struct frame frame)
{
    VEC_PUSH(&builder->frames, frame);
}

static uint32_t value_new(struct ir_builder *builder, uint32_t type, uint32_t op, uint32_t index)
{
    struct ir_value value = {.type = type, .op = op, .block = IR_NONE, .index = index};
    BASE_CHECK(type < builder->types.count);
    VEC_PUSH(&builder->values, value);
    return (uint32_t)builder->values.count - 1;
}

uint32_t ir_build_op(struct ir_builder *builder, const struct ir_op_spec *op_spec)
{
    uint32_t index = (uint32_t)builder->ops.count;
    const struct ir_position *position = &op_spec->position;
    struct ir_op op = {.block = IR_NONE,
                       .line = position->line,
                       .column = position->column,
                       .location = IR_NONE,
                       .loc = position->loc};
    op.name = ir_build_cstring(builder, op_spec->name);
    if (!builder->code_of_string.at[op.name])
        builder->code_of_string.at[op.name] =
            (uint16_t)(ir_opcode_find(op_spec->name, strlen(op_spec->name)) + 1);
    op.code = (uint16_t)(builder->code_of_string.at[op.name] - 1);
    if (position->location)
        op.location = ir_build_cstring(builder, position->location);
    if (builder->frames.count) {
        top(builder, FRAME_BLOCK);
        VEC_PUSH(&builder->open_ops, index);
    } else {
        BASE_CHECK(index == 0);
    }
    op.operands = (uint32_t)builder->operands.count;
    op.operand_count = op_spec->operand_count;
    for (uint32_t i = 0; i < op_spec->operand_count; i++) {
        BASE_CHECK(op_spec->operands[i] < builder->values.count);
        VEC_PUSH(&builder->operands, op_spec->operands[i]);
    }
    op.results = (uint32_t)builder->values.count;
    op.result_count = op_spec->result_count;
    for (uint32_t i = 0; i < op_spec->result_count; i++)
        value_new(builder, op_spec->result_types[i], index, i);
    op.attrs = builder_attrs(builder, IR_ATTR_DICTIONARY, op_spec->attrs, op_spec->attr_count).first;
    op.attr_count = op_spec->attr_count;
    op.regions = (uint32_t)builder->regions.count;
    VEC_PUSH(&builder->ops, op);
    return index;
}

uint32_t ir_build_begin(struct ir_builder *builder, const struct ir_op_spec *spec)
{
    uint32_t op = ir_build_op(builder, spec);
    push(builder, (struct frame){.kind = FRAME_OP, .op = op, .base = builder->open_regions.count});
    return op;
}

void ir_build_region(struct ir_builder *builder)
{
    top(builder, FRAME_OP);
    push(builder, (struct frame){.kind = FRAME_REGION, .base = builder->open_blocks.count});
}

uint32_t ir_build_block(struct ir_builder *builder, const uint32_t *arg_types, uint32_t arg_count)
{
    top(builder, FRAME_REGION);
    struct frame frame = {.kind = FRAME_BLOCK, .base = builder->open_ops.count, .arg_count = arg_count};
    frame.args = (uint32_t)builder->values.count;
    for (uint32_t i = 0; i < arg_count; i++)
        value_new(builder, arg_types[i], IR_NONE, i);
    push(builder, frame);
    return frame.args;
}

void ir_build_value_location(struct ir_builder *builder, uint32_t value, const char *text, size_t size,
                             uint32_t loc)
{
    struct ir_value_location value_location = {value, ir_build_string(builder, text, size), loc};
    BASE_CHECK(!builder->value_locations.count ||
               builder->value_locations.at[builder->value_locations.count - 1].value < value);
    VEC_PUSH(&builder->value_locations, value_location);
}

void ir_build_end_block(struct ir_builder *builder)
{
    struct frame frame = *top(builder, FRAME_BLOCK);
    struct ir_block block = {.region = IR_NONE, .args = frame.args, .arg_count = frame.arg_count};
    block.ops = (uint32_t)builder->block_ops.count;
    block.op_count = (uint32_t)(builder->open_ops.count - frame.base);
    for (size_t i = frame.base; i < builder->open_ops.count; i++)
        VEC_PUSH(&builder->block_ops, builder->open_ops.at[i]);
    builder->open_ops.count = frame.base;
    builder->frames.count--;
    VEC_PUSH(&builder->open_blocks, block);
}

/* The block has its final index: write it into its arguments, its ops and their results. */
static void place_block(struct ir_builder *builder, const struct ir_block *block, uint32_t index)
{
    for (uint32_t i = 0; i < block->arg_count; i++)
        builder->values.at[block->args + i].block = index;
    for (uint32_t i = 0; i < block->op_count; i++) {
        struct ir_op *op = &builder->ops.at[builder->block_ops.at[block->ops + i]];
        op->block = index;
        for (uint32_t k = 0; k < op->result_count; k++)
            builder->values.at[op->results + k].block = index;
    }
}

void ir_build_end_region(struct ir_builder *builder)
{
    struct frame frame = *top(builder, FRAME_REGION);
    struct ir_region region = {.blocks = (uint32_t)builder->blocks.count};
    region.block_count = (uint32_t)(builder->open_blocks.count - frame.base);
    for (size_t i = frame.base; i < builder->open_blocks.count; i++) {
        place_block(builder, &builder->open_blocks.at[i], (uint32_t)builder->blocks.count);
        VEC_PUSH(&builder->blocks, builder->open_blocks.at[i]);
    }
    builder->open_blocks.count = frame.base;
    builder->frames.count--;
    VEC_PUSH(&builder->open_regions, region);
}

void ir_build_end(struct ir_builder *builder)
{
    struct frame frame = *top(builder, FRAME_OP);
    struct ir_op *op = &builder->ops.at[frame.op];
    op->regions = (uint32_t)builder->regions.count;
    op->region_count = (uint32_t)(builder->open_regions.count - frame.base);
    for (size_t i = frame.base; i < builder->open_regions.count; i++) {
        struct ir_region region = builder->open_regions.at[i];
        region.op = frame.op;
        for (uint32_t k = 0; k < region.block_count; k++)
            builder->blocks.at[region.blocks + k].region = (uint32_t)builder->regions.count;
        VEC_PUSH(&builder->regions, region);
    }
    builder->open_regions.count = frame.base;
    builder->frames.count--;
}

uint32_t ir_builder_result(const struct ir_builder *builder, uint32_t op, uint32_t i)
{
    BASE_CHECK(op < builder->ops.count && i < builder->ops.at[op].result_count);
    return builder->ops.at[op].results + i;
}

uint32_t ir_builder_value_type(const struct ir_builder *builder, uint32_t value)
{
    BASE_CHECK(value < builder->values.count);
    return builder->values.at[value].type;
}

/* ---------------------------------------------------------------- the finished image */
struct ir_program ir_builder_view(const struct ir_builder *builder)
{
    struct ir_program program = {0};
#define X(array, number, type)                                                                               \
    program.array = builder->array.at;                                                                       \
    program.number = builder->array.count;
    IR_IMAGE_SECTIONS(X)
#undef X
    return program;
}

static void layout(const struct ir_builder *builder, const uint8_t digest[32],
                   struct ir_image_header *image_header)
{
    BASE_CHECK(builder->frames.count == 0 && builder->ops.count > 0 && builder->ops.count < IR_NONE &&
               builder->values.count < IR_NONE && builder->attrs.count < IR_NONE &&
               builder->operands.count < IR_NONE && builder->ints.count < IR_NONE);
    memset(image_header, 0, sizeof *image_header);
    memcpy(image_header->magic, IR_IMAGE_MAGIC, sizeof image_header->magic);
    image_header->version = IR_IMAGE_VERSION;
    image_header->sections = IR_IMAGE_SECTION_COUNT;
    if (digest)
        memcpy(image_header->digest, digest, sizeof image_header->digest);
    uint64_t offset = sizeof *image_header;
#define X(array, number, type)                                                                               \
    offset = (offset + 7) & ~(uint64_t)7;                                                                    \
    image_header->section[IR_SECTION_##array].offset = offset;                                               \
    image_header->section[IR_SECTION_##array].count = builder->array.count;                                  \
    offset += builder->array.count * sizeof(type);
    IR_IMAGE_SECTIONS(X)
#undef X
    image_header->size = offset;
}

void ir_builder_finish(struct ir_builder *builder, const uint8_t digest[32], struct ir_program *out)
{
    struct ir_image_header image_header;
    layout(builder, digest, &image_header);
    unsigned char *image = mem_alloc((size_t)image_header.size);
    memset(out, 0, sizeof *out);
    memcpy(image, &image_header, sizeof image_header);
    size_t end = sizeof image_header;
#define X(array, number, type)                                                                               \
    {                                                                                                        \
        size_t at = (size_t)image_header.section[IR_SECTION_##array].offset,                                 \
               bytes = builder->array.count * sizeof(type);                                                  \
        memset(image + end, 0, at - end);                                                                    \
        if (bytes)                                                                                           \
            memcpy(image + at, builder->array.at, bytes);                                                    \
        end = at + bytes;                                                                                    \
        out->array = (const type *)(const void *)(image + at);                                               \
        out->number = builder->array.count;                                                                  \
        VEC_FREE(&builder->array);                                                                           \
    }
    IR_IMAGE_SECTIONS(X)
#undef X
    memcpy(out->digest, image_header.digest, sizeof image_header.digest);
    out->image = image;
    out->image_size = (size_t)image_header.size;
    out->owned = true;
    ir_builder_destroy(builder);
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

int ir_builder_write(struct ir_builder *builder, const uint8_t digest[32], int fd)
{
    struct ir_image_header image_header;
    layout(builder, digest, &image_header);
    int failed = ftruncate(fd, (off_t)image_header.size) ? errno : 0;
#define X(array, number, type)                                                                               \
    if (!failed)                                                                                             \
        failed = write_at(fd, image_header.section[IR_SECTION_##array].offset, builder->array.at,            \
                          builder->array.count * sizeof(type));                                              \
    VEC_FREE(&builder->array);
    IR_IMAGE_SECTIONS(X)
#undef X
    if (!failed)
        failed = write_at(fd, 0, &image_header, sizeof image_header);
    ir_builder_destroy(builder);
    return failed;
}
