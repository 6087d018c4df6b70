/* A program at smaller sizes, op for op; see shrunken.h. */
#include "planner/shrunken.h"

#include "ir/build.h"
#include "ir/prepare.h"

#include <stdlib.h>
#include <string.h>

enum { FEW_TRIPS = 4 }; /* of a loop that nothing tells how often to run */

struct shrinker {
    const struct nda *n;
    const struct ir_program *program;
    const int64_t *atoms;
    bool widen;     /* floats of fewer bits become f32 */
    int64_t *bound; /* by op: what is taken off a constant that bounds a loop */
    struct ir_builder *builder;
    uint32_t *map;
};
typedef VEC(uint32_t) id_list;
typedef VEC(struct ir_attr) attr_list;

/* ---- types ---- */
/* sizes of a value's dims; rank entries */
static void new_dims(const struct shrinker *shrinker, uint32_t value, int64_t *dims)
{
    const struct ir_type *type = ir_value_type(shrinker->program, value);
    bool seen[IR_MAX_RANK] = {false};
    memcpy(dims, ir_type_dims(shrinker->program, type), sizeof *dims * type->rank);
    for (uint32_t at = shrinker->n->value_atoms[value]; at < shrinker->n->value_atoms[value + 1]; at++) {
        uint8_t dim = shrinker->n->atoms[at].dim;
        dims[dim] = (seen[dim] ? dims[dim] : 1) * shrinker->atoms[at];
        seen[dim] = true;
    }
}

static enum ir_element new_element(const struct shrinker *shrinker, enum ir_element element)
{
    return shrinker->widen && element != IR_F32 && ir_element_is_float(element) &&
                   ir_element_widens(element, IR_F32)
               ? IR_F32
               : element;
}

static uint32_t new_type(struct shrinker *shrinker, uint32_t value)
{
    const struct ir_type *type = ir_value_type(shrinker->program, value);
    enum ir_element element = new_element(shrinker, (enum ir_element)type->element);
    int64_t dims[IR_MAX_RANK];
    if (type->kind != IR_TYPE_TENSOR ||
        (shrinker->n->value_atoms[value] == shrinker->n->value_atoms[value + 1] && element == type->element))
        return ir_build_copy_type(shrinker->builder, shrinker->program,
                                  shrinker->program->values[value].type);
    new_dims(shrinker, value, dims);
    return ir_build_tensor_type(shrinker->builder, element, type->rank, dims);
}

static void add_type(struct shrinker *shrinker, uint32_t value, struct text *out)
{
    struct ir_program view;
    uint32_t type = new_type(shrinker, value);
    view = ir_builder_view(shrinker->builder);
    text_add(out, ir_string(&view, view.types[type].text));
}

static struct ir_attr function_type(struct shrinker *shrinker, uint32_t op)
{
    uint32_t block = ir_region_block(shrinker->program, op, 0);
    uint32_t last = ir_block_terminator(shrinker->program, block);
    struct text text = {0};
    text_add(&text, "(");
    for (uint32_t i = 0; i < shrinker->program->blocks[block].arg_count; i++) {
        text_add(&text, i ? ", " : "");
        add_type(shrinker, shrinker->program->blocks[block].args + i, &text);
    }
    text_add(&text, ") -> (");
    for (uint32_t i = 0; i < shrinker->program->ops[last].operand_count; i++) {
        text_add(&text, i ? ", " : "");
        add_type(shrinker, ir_operand(shrinker->program, last, i), &text);
    }
    text_add(&text, ")");
    struct ir_attr attr =
        ir_build_type_attr(shrinker->builder, ir_build_type(shrinker->builder, text.at, text.size));
    text_release(&text);
    return attr;
}

/* ---- constants ---- */
/* which element of the original is element `index` of the smaller constant: the same place in each atom */
static uint64_t original_index(const struct shrinker *shrinker, uint32_t value, uint64_t index)
{
    const struct nda *n = shrinker->n;
    uint64_t at = 0, stride = 1;
    for (uint32_t atom = n->value_atoms[value + 1]; atom-- > n->value_atoms[value];) {
        uint64_t size = (uint64_t)shrinker->atoms[atom];
        at += index % size * stride;
        index /= size;
        stride *= (uint64_t)n->atoms[atom].size;
    }
    return at;
}

/* one element of a constant, at the place that is built */
static void copy_element(const struct shrinker *shrinker, const struct ir_attr *attr, uint64_t index,
                         bool widened, unsigned char *to)
{
    const struct ir_constant *constant = &shrinker->program->constants[attr->first];
    float value = widened ? (float)ir_constant_double(shrinker->program, attr, index) : 0;
    if (widened)
        memcpy(to, &value, sizeof value);
    else
        memcpy(to,
               shrinker->program->bytes + constant->offset +
                   (constant->splat ? 0 : index * constant->element_bytes),
               constant->element_bytes);
}

static struct ir_attr cut_constant(struct shrinker *shrinker, uint32_t op, const struct ir_attr *attr)
{
    uint32_t value = ir_result(shrinker->program, op, 0), type = new_type(shrinker, value);
    const struct ir_constant *constant = &shrinker->program->constants[attr->first];
    enum ir_element element = (enum ir_element)ir_value_type(shrinker->program, value)->element;
    bool widened = new_element(shrinker, element) != element;
    uint64_t count = 1, width = widened ? sizeof(float) : constant->element_bytes;
    unsigned char *to;
    int64_t dims[IR_MAX_RANK];
    new_dims(shrinker, value, dims);
    for (uint32_t dim = 0; dim < ir_value_type(shrinker->program, value)->rank && !constant->splat; dim++)
        count *= (uint64_t)dims[dim];
    struct ir_attr made = ir_build_dense_room(shrinker->builder, type, count * width, constant->splat, &to);
    for (uint64_t i = 0; i < count; i++)
        copy_element(shrinker, attr, original_index(shrinker, value, i), widened, to + i * width);
    return made;
}

/* the same integer, less what is taken off: elements of 1 to 8 bytes, little-endian */
static struct ir_attr lower_bound(struct shrinker *shrinker, uint32_t op, const struct ir_attr *attr)
{
    const struct ir_constant *constant = &shrinker->program->constants[attr->first];
    int64_t value = ir_constant_int(shrinker->program, attr, 0) - shrinker->bound[op];
    return ir_build_dense(shrinker->builder, new_type(shrinker, ir_result(shrinker->program, op, 0)), &value,
                          constant->element_bytes, constant->splat);
}

/* ---- attributes that hold sizes ---- */
static struct ir_attr result_sizes(struct shrinker *shrinker, uint32_t op, uint32_t count)
{
    int64_t dims[IR_MAX_RANK];
    new_dims(shrinker, ir_result(shrinker->program, op, 0), dims);
    return ir_build_ints(shrinker->builder, dims, count);
}

/* positions along the last dimension: of frequencies or of positions, whichever are more */
static struct ir_attr fft_length(struct shrinker *shrinker, uint32_t op)
{
    struct ir_dims lengths;
    int64_t in[IR_MAX_RANK], out[IR_MAX_RANK], sizes[IR_MAX_RANK];
    uint32_t operand = ir_operand(shrinker->program, op, 0), result = ir_result(shrinker->program, op, 0);
    uint32_t rank = ir_value_type(shrinker->program, operand)->rank;
    BASE_CHECK(ir_dims(shrinker->program, op, "fft_length", &lengths) == 0 && lengths.count <= rank);
    new_dims(shrinker, operand, in);
    new_dims(shrinker, result, out);
    for (uint32_t i = 0; i < lengths.count; i++) {
        uint32_t dim = rank - lengths.count + i;
        sizes[i] = in[dim] > out[dim] ? in[dim] : out[dim];
    }
    return ir_build_ints(shrinker->builder, sizes, lengths.count);
}

static struct ir_attr gather_sizes(struct shrinker *shrinker, uint32_t op)
{
    struct ir_gather gather = {.index_vector_dim = 0};
    int64_t dims[IR_MAX_RANK], sizes[IR_MAX_RANK];
    uint32_t next = 0;
    BASE_CHECK(ir_gather(shrinker->program, op, &gather) == 0);
    new_dims(shrinker, ir_result(shrinker->program, op, 0), dims);
    for (uint32_t dim = 0; dim < gather.slice_sizes.count; dim++) {
        bool none = ir_dims_has(&gather.collapsed_dims, dim) || ir_dims_has(&gather.operand_batch, dim);
        sizes[dim] = none ? gather.slice_sizes.at[dim] : dims[gather.offset_dims.at[next++]];
    }
    return ir_build_ints(shrinker->builder, sizes, gather.slice_sizes.count);
}

/* where a part of `small` of `small_before` elements began at `start` of `large_before`, it begins now, among
 * `large`; a part that lacks as many as before (analysis/shrink_shifts.h) where it did */
static int64_t new_start(int64_t start, int64_t small_before, int64_t small, int64_t stride,
                         int64_t large_before, int64_t large)
{
    int64_t most = large - (small - 1) * stride - 1;
    bool shift = stride == 1 && large_before - small_before == large - small;
    start = shift || small == small_before ? start : start * small / small_before;
    return start > most && most >= 0 ? most : start;
}

static struct ir_attr slice_ints(struct shrinker *shrinker, uint32_t op, bool limits)
{
    struct ir_dims start, stride;
    int64_t from[IR_MAX_RANK], to[IR_MAX_RANK], out[IR_MAX_RANK];
    uint32_t result = ir_result(shrinker->program, op, 0);
    const int64_t *before = ir_type_dims(shrinker->program, ir_value_type(shrinker->program, result)),
                  *large =
                      ir_type_dims(shrinker->program,
                                   ir_value_type(shrinker->program, ir_operand(shrinker->program, op, 0)));
    BASE_CHECK(ir_dims(shrinker->program, op, "start_indices", &start) == 0 &&
               ir_dims(shrinker->program, op, "strides", &stride) == 0);
    new_dims(shrinker, ir_operand(shrinker->program, op, 0), from);
    new_dims(shrinker, result, to);
    for (uint32_t dim = 0; dim < start.count; dim++) {
        int64_t at = new_start(start.at[dim], before[dim], to[dim], stride.at[dim], large[dim], from[dim]);
        out[dim] = limits ? at + (to[dim] - 1) * stride.at[dim] + 1 : at;
    }
    return ir_build_ints(shrinker->builder, out, start.count);
}

static struct ir_attr pad_ints(struct shrinker *shrinker, uint32_t op, bool high)
{
    struct ir_dims low, above, interior;
    int64_t from[IR_MAX_RANK], to[IR_MAX_RANK], out[IR_MAX_RANK];
    uint32_t operand = ir_operand(shrinker->program, op, 0);
    const int64_t *before = ir_type_dims(shrinker->program, ir_value_type(shrinker->program, operand)),
                  *large =
                      ir_type_dims(shrinker->program,
                                   ir_value_type(shrinker->program, ir_result(shrinker->program, op, 0)));
    BASE_CHECK(ir_dims(shrinker->program, op, "edge_padding_low", &low) == 0 &&
               ir_dims(shrinker->program, op, "edge_padding_high", &above) == 0 &&
               ir_dims(shrinker->program, op, "interior_padding", &interior) == 0);
    new_dims(shrinker, operand, from);
    new_dims(shrinker, ir_result(shrinker->program, op, 0), to);
    for (uint32_t dim = 0; dim < low.count; dim++) {
        bool fills = low.at[dim] >= 0 && above.at[dim] >= 0 && interior.at[dim] == 0;
        bool cuts = low.at[dim] <= 0 && above.at[dim] <= 0 && interior.at[dim] == 0; /* a slice */
        int64_t at = fills  ? new_start(low.at[dim], before[dim], from[dim], 1, large[dim], to[dim])
                     : cuts ? -new_start(-low.at[dim], large[dim], to[dim], 1, before[dim], from[dim])
                            : low.at[dim];
        out[dim] = !high ? at : fills || cuts ? to[dim] - from[dim] - at : above.at[dim];
    }
    return ir_build_ints(shrinker->builder, out, low.count);
}

/* Windows as long as what they run over are as long as it is now, and so is the padding of a running sum
 * (analysis/shrink.c has no other windows that change): dimensions, and the rows of `padding`. */
static void new_window(struct shrinker *shrinker, uint32_t op, int64_t *sizes, int64_t *padding)
{
    const struct ir_program *program = shrinker->program;
    uint32_t operand = ir_operand(program, op, 0);
    const int64_t *before = ir_type_dims(program, ir_value_type(program, operand));
    struct ir_window window;
    int64_t dims[IR_MAX_RANK];
    BASE_CHECK(ir_reduce_window(program, op, &window) == 0);
    new_dims(shrinker, operand, dims);
    for (uint32_t dim = 0; dim < window.size.count; dim++) {
        int64_t pads[2] = {window.low.at[dim], window.high.at[dim]};
        bool whole = window.size.at[dim] == before[dim];
        sizes[dim] = whole ? dims[dim] : window.size.at[dim];
        for (uint32_t k = 0; k < 2; k++)
            padding[2 * dim + k] = whole && pads[k] && pads[k] == before[dim] - 1 ? dims[dim] - 1 : pads[k];
    }
}

static struct ir_attr window_ints(struct shrinker *shrinker, uint32_t op, bool pads)
{
    int64_t sizes[IR_MAX_RANK], padding[2 * IR_MAX_RANK],
        rank = ir_value_type(shrinker->program, ir_operand(shrinker->program, op, 0))->rank;
    new_window(shrinker, op, sizes, padding);
    if (!pads)
        return ir_build_ints(shrinker->builder, sizes, (uint32_t)rank);
    uint32_t type = ir_build_tensor_type(shrinker->builder, IR_I64, 2, (int64_t[]){rank, 2});
    return ir_build_dense(shrinker->builder, type, padding, sizeof *padding * 2 * (size_t)rank, false);
}

/* the number of groups follows from what each takes: features (or the batch) of one are the kernel's (the
 * result's) */
static struct ir_attr group_count(struct shrinker *shrinker, uint32_t op, bool batch)
{
    struct ir_conv conv;
    int64_t input[IR_MAX_RANK], other[IR_MAX_RANK];
    BASE_CHECK(ir_conv(shrinker->program, op, &conv) == 0);
    new_dims(shrinker, ir_operand(shrinker->program, op, 0), input);
    new_dims(shrinker, batch ? ir_result(shrinker->program, op, 0) : ir_operand(shrinker->program, op, 1),
             other);
    return ir_build_int(shrinker->builder,
                        batch ? input[conv.input_batch] / other[conv.output_batch]
                              : input[conv.input_feature] / other[conv.kernel_input],
                        "i64");
}

static bool resize_window_attr(struct shrinker *shrinker, uint32_t op, const char *name, struct ir_attr *out)
{
    uint16_t code = shrinker->program->ops[op].code;
    bool window = code == IR_REDUCE_WINDOW || code == IR_SELECT_AND_SCATTER;
    if (window && strcmp(name, "window_dimensions") == 0)
        *out = window_ints(shrinker, op, false);
    else if (window && strcmp(name, "padding") == 0)
        *out = window_ints(shrinker, op, true);
    else if (code == IR_CONVOLUTION && strcmp(name, "feature_group_count") == 0)
        *out = group_count(shrinker, op, false);
    else if (code == IR_CONVOLUTION && strcmp(name, "batch_group_count") == 0)
        *out = group_count(shrinker, op, true);
    else
        return false;
    return true;
}

/* the attribute at the new sizes; false: it holds none */
static bool resize_attr(struct shrinker *shrinker, uint32_t op, const struct ir_attr *attr, const char *name,
                        struct ir_attr *out)
{
    uint16_t code = shrinker->program->ops[op].code;
    if (code == IR_FUNC && strcmp(name, "function_type") == 0)
        *out = function_type(shrinker, op);
    else if (ir_opcode_family(code) == IR_FAMILY_CONSTANT && strcmp(name, "value") == 0 &&
             attr->kind == IR_ATTR_DENSE)
        *out = shrinker->bound[op] ? lower_bound(shrinker, op, attr) : cut_constant(shrinker, op, attr);
    else if (code == IR_SLICE && strcmp(name, "start_indices") == 0)
        *out = slice_ints(shrinker, op, false);
    else if (code == IR_SLICE && strcmp(name, "limit_indices") == 0)
        *out = slice_ints(shrinker, op, true);
    else if (code == IR_PAD && strcmp(name, "edge_padding_low") == 0)
        *out = pad_ints(shrinker, op, false);
    else if (code == IR_PAD && strcmp(name, "edge_padding_high") == 0)
        *out = pad_ints(shrinker, op, true);
    else if (code == IR_DYNAMIC_SLICE && strcmp(name, "slice_sizes") == 0)
        *out = result_sizes(shrinker, op,
                            ir_value_type(shrinker->program, ir_operand(shrinker->program, op, 0))->rank);
    else if (code == IR_FFT && strcmp(name, "fft_length") == 0)
        *out = fft_length(shrinker, op);
    else if (code == IR_GATHER && strcmp(name, "slice_sizes") == 0)
        *out = gather_sizes(shrinker, op);
    else if (code == IR_BROADCAST && strcmp(name, "broadcast_sizes") == 0)
        *out = result_sizes(
            shrinker, op,
            (uint32_t)ir_value_type(shrinker->program, ir_result(shrinker->program, op, 0))->rank -
                ir_value_type(shrinker->program, ir_operand(shrinker->program, op, 0))->rank);
    else if (!resize_window_attr(shrinker, op, name, out))
        return false;
    *out = ir_build_named(shrinker->builder, name, *out);
    return true;
}

/* ---- ops ---- */
static void copy_block(struct shrinker *shrinker, uint32_t block);

static void copy_regions(struct shrinker *shrinker, uint32_t op)
{
    const struct ir_program *program = shrinker->program;
    for (uint32_t g = 0; g < program->ops[op].region_count; g++) {
        uint32_t block = ir_region_block(program, op, g);
        ir_build_region(shrinker->builder);
        if (block != IR_NONE) {
            id_list types = {0};
            for (uint32_t i = 0; i < program->blocks[block].arg_count; i++)
                VEC_PUSH(&types, new_type(shrinker, program->blocks[block].args + i));
            uint32_t first = ir_build_block(shrinker->builder, types.at, (uint32_t)types.count);
            for (uint32_t i = 0; i < types.count; i++) {
                ir_build_copy_value_location(shrinker->builder, first + i, program,
                                             program->blocks[block].args + i);
                shrinker->map[program->blocks[block].args + i] = first + i;
            }
            VEC_FREE(&types);
            copy_block(shrinker, block);
            ir_build_end_block(shrinker->builder);
        }
        ir_build_end_region(shrinker->builder);
    }
}

static void copy_op(struct shrinker *shrinker, uint32_t op)
{
    const struct ir_program *program = shrinker->program;
    const struct ir_op *ir_op = &program->ops[op];
    id_list types = {0}, operands = {0};
    attr_list attrs = {0};
    for (uint32_t i = 0; i < ir_op->operand_count; i++)
        VEC_PUSH(&operands, shrinker->map[ir_operand(program, op, i)]);
    for (uint32_t i = 0; i < ir_op->result_count; i++)
        VEC_PUSH(&types, new_type(shrinker, ir_op->results + i));
    for (uint32_t i = 0; i < ir_op->attr_count; i++) {
        const struct ir_attr *attr = &program->attrs[ir_op->attrs + i];
        struct ir_attr made;
        if (attr->name == IR_NONE || !resize_attr(shrinker, op, attr, ir_string(program, attr->name), &made))
            made = ir_build_copy_attr(shrinker->builder, program, attr);
        VEC_PUSH(&attrs, made);
    }
    struct ir_op_spec spec = {.name = ir_op_name(program, op),
                              .operands = operands.at,
                              .operand_count = (uint32_t)operands.count,
                              .result_types = types.at,
                              .result_count = (uint32_t)types.count,
                              .attrs = attrs.at,
                              .attr_count = (uint32_t)attrs.count,
                              .position = ir_build_position(shrinker->builder, program, op)};
    uint32_t made = ir_build_begin(shrinker->builder, &spec);
    copy_regions(shrinker, op);
    ir_build_end(shrinker->builder);
    for (uint32_t i = 0; i < ir_op->result_count; i++)
        shrinker->map[ir_op->results + i] = ir_builder_result(shrinker->builder, made, i);
    VEC_FREE(&types);
    VEC_FREE(&operands);
    VEC_FREE(&attrs);
}

static void copy_block(struct shrinker *shrinker, uint32_t block)
{
    const struct ir_block *from = &shrinker->program->blocks[block];
    for (uint32_t i = 0; i < from->op_count; i++)
        copy_op(shrinker, shrinker->program->block_ops[from->ops + i]);
}

/* ---- loops ---- */
/* how often a loop of `trips` runs now: as often as the longest dimension of that size has elements which its
 * body takes apart one by one */
static int64_t new_trips(const struct shrinker *shrinker, uint32_t loop, int64_t trips)
{
    const struct ir_program *program = shrinker->program;
    const struct ir_block *body = &program->blocks[ir_region_block(program, loop, 1)];
    int64_t most = 0;
    for (uint32_t i = 0; i < body->op_count; i++) {
        uint32_t op = program->block_ops[body->ops + i];
        if (program->ops[op].code != IR_DYNAMIC_SLICE && program->ops[op].code != IR_DYNAMIC_UPDATE_SLICE)
            continue;
        uint32_t value = ir_operand(program, op, 0);
        for (uint32_t at = shrinker->n->value_atoms[value]; at < shrinker->n->value_atoms[value + 1]; at++)
            if (shrinker->n->atoms[at].size == trips && shrinker->atoms[at] > most)
                most = shrinker->atoms[at];
    }
    return most ? most : trips < FEW_TRIPS ? trips : FEW_TRIPS;
}

static void find_bounds(struct shrinker *shrinker)
{
    shrinker->bound = mem_zalloc((size_t)shrinker->program->op_count + 1, sizeof *shrinker->bound);
    for (uint32_t op = 0; op < shrinker->program->op_count; op++) {
        int64_t stride = 1, trips = shrinker->n->trip_count[op];
        if (shrinker->program->ops[op].code != IR_WHILE || trips < 2)
            continue;
        uint32_t bound = nda_trip_bound(shrinker->n, op, &stride);
        if (bound != NDA_NONE)
            shrinker->bound[bound] = (trips - new_trips(shrinker, op, trips)) * stride;
    }
}

enum error_code planner_shrink_program(const struct nda *n, const int64_t *atoms, bool widen,
                                       struct ir_program *out, struct error *e)
{
    struct shrinker shrinker = {.n = n, .program = n->program, .atoms = atoms, .widen = widen};
    find_bounds(&shrinker);
    shrinker.builder = ir_builder_create();
    shrinker.map = mem_zalloc((size_t)n->program->value_count + 1, sizeof *shrinker.map);
    copy_op(&shrinker, 0);
    ir_builder_finish(shrinker.builder, NULL, out);
    free(shrinker.map);
    free(shrinker.bound);
    enum error_code code = ir_verify(out, e);
    if (code != ERROR_OK)
        ir_program_release(out);
    return code;
}
