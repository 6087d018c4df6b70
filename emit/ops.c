/* The small StableHLO ops that local modules are made of (slice, pad, reshape, transpose, add ..), each a
 * function from tensors to a tensor. Building cannot fail, and none of them looks at a form. */
#include "emit/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum error_code emit_reject(const struct emit *e, struct error *error, const char *format, ...)
{
    char what[600];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const struct ir_op *op = &e->program->ops[e->op];
    return error_set_at(error, ERROR_UNSUPPORTED_MODULE, (int)op->line, (int)op->column, "%s: %s",
                        ir_op_name(e->program, e->op), what);
}

struct ir_position emit_position(struct emit *e)
{
    struct ir_position position = ir_build_position(e->builder, e->program, e->op);
    if (e->moved != IR_NONE) {
        uint32_t op = e->program->values[e->moved].op;
        position.loc = ir_build_copy_location(e->builder, e->program,
                                              op == IR_NONE ? ir_value_loc(e->program, e->moved)
                                                            : e->program->ops[op].loc);
    }
    return position;
}

uint32_t emit_type(struct emit *e, enum ir_element element, uint32_t rank, const int64_t *dims)
{
    return ir_build_tensor_type(e->builder, element, rank, dims);
}

uint32_t emit_op(struct emit *e, const char *name, const uint32_t *operands, uint32_t operand_count,
                 const uint32_t *types, uint32_t type_count, const struct ir_attr *attrs, uint32_t attr_count)
{
    struct ir_op_spec spec = {.name = name,
                              .operands = operands,
                              .operand_count = operand_count,
                              .result_types = types,
                              .result_count = type_count,
                              .attrs = attrs,
                              .attr_count = attr_count,
                              .position = emit_position(e)};
    return ir_build_op(e->builder, &spec);
}

static struct emit_tensor tensor(enum ir_element element, uint32_t rank, const int64_t *dims)
{
    struct emit_tensor tensor = {.element = element, .rank = rank};
    BASE_CHECK(rank <= EMIT_MAX_RANK);
    if (rank)
        memcpy(tensor.dims, dims, rank * sizeof *dims);
    return tensor;
}

struct emit_tensor emit_one(struct emit *e, const char *name, const struct emit_tensor *operands,
                            uint32_t count, enum ir_element element, uint32_t rank, const int64_t *dims,
                            const struct ir_attr *attrs, uint32_t attr_count)
{
    struct emit_tensor out = tensor(element, rank, dims);
    uint32_t *values = mem_alloc((count + 1) * sizeof *values);
    for (uint32_t i = 0; i < count; i++)
        values[i] = operands[i].value;
    uint32_t type = emit_type(e, element, rank, dims);
    uint32_t op = emit_op(e, name, values, count, &type, 1, attrs, attr_count);
    free(values);
    out.value = ir_builder_result(e->builder, op, 0);
    return out;
}

struct emit_tensor emit_unary(struct emit *e, const char *name, struct emit_tensor tensor)
{
    return emit_one(e, name, &tensor, 1, tensor.element, tensor.rank, tensor.dims, NULL, 0);
}

struct emit_tensor emit_binary(struct emit *e, const char *name, struct emit_tensor tensor,
                               struct emit_tensor other)
{
    struct emit_tensor operands[2] = {tensor, other};
    return emit_one(e, name, operands, 2, tensor.element, tensor.rank, tensor.dims, NULL, 0);
}

struct emit_tensor emit_compare(struct emit *e, const char *direction, struct emit_tensor tensor,
                                struct emit_tensor other)
{
    struct emit_tensor operands[2] = {tensor, other};
    char text[64];
    snprintf(text, sizeof text, "#stablehlo<comparison_direction %s>", direction);
    struct ir_attr attr = ir_build_named(e->builder, "comparison_direction", ir_build_text(e->builder, text));
    return emit_one(e, "stablehlo.compare", operands, 2, IR_I1, tensor.rank, tensor.dims, &attr, 1);
}

struct emit_tensor emit_select(struct emit *e, struct emit_tensor tensor, struct emit_tensor x,
                               struct emit_tensor other)
{
    struct emit_tensor operands[3] = {tensor, x, other};
    return emit_one(e, "stablehlo.select", operands, 3, x.element, x.rank, x.dims, NULL, 0);
}

struct emit_tensor emit_convert(struct emit *e, struct emit_tensor tensor, enum ir_element element)
{
    if (tensor.element == element)
        return tensor;
    return emit_one(e, "stablehlo.convert", &tensor, 1, element, tensor.rank, tensor.dims, NULL, 0);
}

static bool same_dims(const struct emit_tensor *tensor, uint32_t rank, const int64_t *dims)
{
    return tensor->rank == rank && (!rank || memcmp(tensor->dims, dims, rank * sizeof *dims) == 0);
}

struct emit_tensor emit_reshape(struct emit *e, struct emit_tensor tensor, uint32_t rank, const int64_t *dims)
{
    if (same_dims(&tensor, rank, dims))
        return tensor;
    return emit_one(e, "stablehlo.reshape", &tensor, 1, tensor.element, rank, dims, NULL, 0);
}

struct emit_tensor emit_transpose(struct emit *e, struct emit_tensor tensor, const int64_t *permutation)
{
    int64_t dims[EMIT_MAX_RANK];
    bool moved = false;
    for (uint32_t dim = 0; dim < tensor.rank; dim++) {
        dims[dim] = tensor.dims[permutation[dim]];
        moved |= permutation[dim] != dim;
    }
    if (!moved)
        return tensor;
    struct ir_attr attr =
        ir_build_named(e->builder, "permutation", ir_build_ints(e->builder, permutation, tensor.rank));
    return emit_one(e, "stablehlo.transpose", &tensor, 1, tensor.element, tensor.rank, dims, &attr, 1);
}

struct emit_tensor emit_broadcast(struct emit *e, struct emit_tensor tensor, uint32_t rank,
                                  const int64_t *dims, const int64_t *map)
{
    if (same_dims(&tensor, rank, dims))
        return tensor;
    struct ir_attr attr =
        ir_build_named(e->builder, "broadcast_dimensions", ir_build_ints(e->builder, map, tensor.rank));
    return emit_one(e, "stablehlo.broadcast_in_dim", &tensor, 1, tensor.element, rank, dims, &attr, 1);
}

struct emit_tensor emit_spread(struct emit *e, struct emit_tensor scalar, uint32_t rank, const int64_t *dims)
{
    return emit_broadcast(e, scalar, rank, dims, NULL);
}

struct emit_tensor emit_slice(struct emit *e, struct emit_tensor tensor, uint32_t dim, int64_t start,
                              int64_t limit)
{
    int64_t starts[EMIT_MAX_RANK] = {0}, limits[EMIT_MAX_RANK], strides[EMIT_MAX_RANK], dims[EMIT_MAX_RANK];
    for (uint32_t dim = 0; dim < tensor.rank; dim++) {
        dims[dim] = limits[dim] = tensor.dims[dim];
        strides[dim] = 1;
    }
    if (start == 0 && limit == tensor.dims[dim])
        return tensor;
    starts[dim] = start;
    limits[dim] = limit;
    dims[dim] = limit - start;
    struct ir_attr attrs[3] = {
        ir_build_named(e->builder, "start_indices", ir_build_ints(e->builder, starts, tensor.rank)),
        ir_build_named(e->builder, "limit_indices", ir_build_ints(e->builder, limits, tensor.rank)),
        ir_build_named(e->builder, "strides", ir_build_ints(e->builder, strides, tensor.rank)),
    };
    return emit_one(e, "stablehlo.slice", &tensor, 1, tensor.element, tensor.rank, dims, attrs, 3);
}

struct emit_tensor emit_concatenate(struct emit *e, const struct emit_tensor *parts, uint32_t count,
                                    uint32_t dim)
{
    struct emit_tensor out = parts[0];
    if (count == 1)
        return out;
    for (uint32_t i = 1; i < count; i++)
        out.dims[dim] += parts[i].dims[dim];
    struct ir_attr attr = ir_build_named(e->builder, "dimension", ir_build_int(e->builder, dim, "i64"));
    return emit_one(e, "stablehlo.concatenate", parts, count, out.element, out.rank, out.dims, &attr, 1);
}

struct emit_tensor emit_dynamic_slice(struct emit *e, struct emit_tensor tensor,
                                      const struct emit_tensor *starts, const int64_t *sizes)
{
    struct emit_tensor operands[EMIT_MAX_RANK + 1] = {tensor};
    for (uint32_t dim = 0; dim < tensor.rank; dim++)
        operands[dim + 1] = starts[dim];
    struct ir_attr attr =
        ir_build_named(e->builder, "slice_sizes", ir_build_ints(e->builder, sizes, tensor.rank));
    return emit_one(e, "stablehlo.dynamic_slice", operands, tensor.rank + 1, tensor.element, tensor.rank,
                    sizes, &attr, 1);
}

struct emit_tensor emit_dynamic_update(struct emit *e, struct emit_tensor tensor, struct emit_tensor update,
                                       const struct emit_tensor *starts)
{
    struct emit_tensor operands[EMIT_MAX_RANK + 2] = {tensor, update};
    for (uint32_t dim = 0; dim < tensor.rank; dim++)
        operands[dim + 2] = starts[dim];
    return emit_one(e, "stablehlo.dynamic_update_slice", operands, tensor.rank + 2, tensor.element,
                    tensor.rank, tensor.dims, NULL, 0);
}

struct emit_tensor emit_pad_zeros(struct emit *e, struct emit_tensor tensor, uint32_t dim, int64_t low,
                                  int64_t high)
{
    int64_t lows[EMIT_MAX_RANK] = {0}, highs[EMIT_MAX_RANK] = {0}, none[EMIT_MAX_RANK] = {0},
            dims[EMIT_MAX_RANK];
    memcpy(dims, tensor.dims, sizeof dims);
    lows[dim] = low;
    highs[dim] = high;
    dims[dim] += low + high;
    struct emit_tensor operands[2] = {tensor, emit_zeros(e, tensor.element, 0, NULL)};
    struct ir_attr attrs[3] = {
        ir_build_named(e->builder, "edge_padding_low", ir_build_ints(e->builder, lows, tensor.rank)),
        ir_build_named(e->builder, "edge_padding_high", ir_build_ints(e->builder, highs, tensor.rank)),
        ir_build_named(e->builder, "interior_padding", ir_build_ints(e->builder, none, tensor.rank)),
    };
    return emit_one(e, "stablehlo.pad", operands, 2, tensor.element, tensor.rank, dims, attrs, 3);
}

static const char *const reducer_op[] = {
    [NDA_REDUCE_ADD] = "stablehlo.add",     [NDA_REDUCE_MULTIPLY] = "stablehlo.multiply",
    [NDA_REDUCE_MAX] = "stablehlo.maximum", [NDA_REDUCE_MIN] = "stablehlo.minimum",
    [NDA_REDUCE_AND] = "stablehlo.and",     [NDA_REDUCE_OR] = "stablehlo.or",
};

/* ---------------------------------------------------------------- constants */
static unsigned element_bytes(enum ir_element element)
{
    return ir_element_bits(element) / 8;
}

static struct emit_tensor splat(struct emit *e, enum ir_element element, const void *bytes, uint32_t rank,
                                const int64_t *dims)
{
    uint32_t type = emit_type(e, element, rank, dims);
    struct ir_attr attr = ir_build_named(
        e->builder, "value", ir_build_dense(e->builder, type, bytes, element_bytes(element), true));
    return emit_one(e, "stablehlo.constant", NULL, 0, element, rank, dims, &attr, 1);
}

struct emit_tensor emit_integer(struct emit *e, enum ir_element element, int64_t value, uint32_t rank,
                                const int64_t *dims)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)value >> (8 * i));
    return splat(e, element, bytes, rank, dims);
}

struct emit_tensor emit_zeros(struct emit *e, enum ir_element element, uint32_t rank, const int64_t *dims)
{
    static const unsigned char zeros[16];
    return splat(e, element, zeros, rank, dims);
}

/* bit patterns of one and infinity, by the formats' definitions (IEEE 754; bfloat16 is float32's upper half)
 */
static bool float_bits(enum ir_element element, uint64_t *one, uint64_t *infinity, uint64_t *sign)
{
    if (element == IR_BF16)
        return *one = 0x3f80, *infinity = 0x7f80, *sign = 0x8000, true;
    if (element == IR_F16)
        return *one = 0x3c00, *infinity = 0x7c00, *sign = 0x8000, true;
    if (element == IR_F32 || element == IR_C64)
        return *one = 0x3f800000, *infinity = 0x7f800000, *sign = 0x80000000, true;
    if (element == IR_F64 || element == IR_C128)
        return *one = 0x3ff0000000000000, *infinity = 0x7ff0000000000000, *sign = (uint64_t)1 << 63, true;
    if (element == IR_F8E5M2)
        return *one = 0x3c, *infinity = 0x7c, *sign = 0x80, true;
    return false;
}

/* lowest and highest integer of the element type, as two's complement bits; i1 is 0 and 1 */
static void integer_range(enum ir_element element, uint64_t *lowest, uint64_t *highest)
{
    unsigned bits = element == IR_I1                        ? 1
                    : element == IR_I2 || element == IR_UI2 ? 2
                    : element == IR_I4 || element == IR_UI4 ? 4
                                                            : ir_element_bits(element);
    uint64_t all = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    bool is_unsigned = element == IR_I1 || (element >= IR_UI2 && element <= IR_UI64);
    *lowest = is_unsigned ? 0 : (uint64_t)1 << (bits - 1);
    *highest = is_unsigned ? all : all >> 1;
}

bool emit_identity_bytes(enum nda_reducer reducer, enum ir_element element, unsigned char bytes[16])
{
    uint64_t one = 1, infinity = 0, sign = 0, lowest = 0, highest = 0, bits = 0;
    bool is_float = ir_element_is_float(element) || element == IR_C64 || element == IR_C128;
    if (is_float && !float_bits(element, &one, &infinity, &sign) && reducer != NDA_REDUCE_ADD)
        return false;
    if (!is_float)
        integer_range(element, &lowest, &highest);
    switch (reducer) {
    case NDA_REDUCE_ADD:
    case NDA_REDUCE_OR: bits = 0; break;
    case NDA_REDUCE_MULTIPLY: bits = one; break;
    case NDA_REDUCE_MAX: bits = is_float ? infinity | sign : lowest; break;
    case NDA_REDUCE_MIN: bits = is_float ? infinity : highest; break;
    case NDA_REDUCE_AND: bits = element == IR_I1 ? 1 : UINT64_MAX; break;
    case NDA_REDUCE_NONE: return false;
    }
    memset(bytes, 0, 16);
    for (unsigned i = 0; i < (element == IR_C64 ? 4 : 8); i++)
        bytes[i] = (unsigned char)(bits >> (8 * i));
    return true;
}

bool emit_identity(struct emit *e, enum nda_reducer reducer, enum ir_element element, uint32_t rank,
                   const int64_t *dims, struct emit_tensor *out)
{
    unsigned char bytes[16];
    if (!emit_identity_bytes(reducer, element, bytes))
        return false;
    *out = splat(e, element, bytes, rank, dims);
    return true;
}

struct emit_tensor emit_reduce_op(struct emit *e, enum nda_reducer reducer, struct emit_tensor tensor,
                                  struct emit_tensor other)
{
    return emit_binary(e, reducer_op[reducer], tensor, other);
}

void emit_reducer_region(struct emit *e, enum nda_reducer reducer, enum ir_element element)
{
    uint32_t scalar = emit_type(e, element, 0, NULL), types[2] = {scalar, scalar};
    ir_build_region(e->builder);
    uint32_t first = ir_build_block(e->builder, types, 2), operands[2] = {first, first + 1};
    uint32_t op = emit_op(e, reducer_op[reducer], operands, 2, &scalar, 1, NULL, 0);
    uint32_t result = ir_builder_result(e->builder, op, 0);
    emit_op(e, "stablehlo.return", &result, 1, NULL, 0, NULL, 0);
    ir_build_end_block(e->builder);
    ir_build_end_region(e->builder);
}
