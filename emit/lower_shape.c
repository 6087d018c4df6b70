/* Constants, iota and ops that only move elements: sizes, limits and paddings at local sizes. */
#include "emit/lower.h"

#include <string.h>

static bool same_sizes(const struct emit_tensor *tensor, const struct emit_tensor *other)
{
    return tensor->rank == other->rank &&
           memcmp(tensor->dims, other->dims, tensor->rank * sizeof *tensor->dims) == 0;
}

/* o->out[i] written whole on every device, then cut to this device's block */
static enum error_code keep_own_block(struct emit *e, struct lower_op *lower, uint32_t i,
                                      struct emit_tensor whole, struct error *error)
{
    const struct spmd_value *value = &e->local->values[lower->step->results + i];
    if (same_sizes(&whole, &lower->out[i])) {
        lower->out[i] = whole;
        return ERROR_OK;
    }
    return emit_keep_block(e, whole, value->origin, &spmd_form_none, &value->form, &lower->out[i], error);
}

static struct emit_tensor whole_size(const struct emit *e, uint32_t value)
{
    const struct ir_type *type = ir_value_type(e->program, value);
    struct emit_tensor tensor = {
        .value = IR_NONE, .element = (enum ir_element)type->element, .rank = type->rank};
    memcpy(tensor.dims, ir_type_dims(e->program, type), type->rank * sizeof *tensor.dims);
    return tensor;
}

enum error_code lower_constant(struct emit *e, struct lower_op *lower, struct error *error)
{
    const struct ir_attr *value = ir_attr_find(e->program, lower->op, "value");
    struct emit_tensor *out = &lower->out[0], whole = whole_size(e, ir_result(e->program, lower->op, 0));
    if (value && value->kind == IR_ATTR_DENSE && e->program->constants[value->first].splat) {
        const struct ir_constant *constant = &e->program->constants[value->first];
        uint32_t type = emit_type(e, out->element, out->rank, out->dims);
        emit_attr_set(
            e, lower->attrs, &lower->attr_count, "value",
            ir_build_dense(e->builder, type, e->program->bytes + constant->offset, constant->size, true));
        *out = emit_one(e, "stablehlo.constant", NULL, 0, out->element, out->rank, out->dims, lower->attrs,
                        lower->attr_count);
        return ERROR_OK;
    }
    whole = emit_one(e, "stablehlo.constant", NULL, 0, whole.element, whole.rank, whole.dims, lower->attrs,
                     lower->attr_count);
    return keep_own_block(e, lower, 0, whole, error);
}

/* the global index of every element along a dim whose blocks are not one range: digit by digit */
static struct emit_tensor global_index(struct emit *e, const struct emit_tensor *out, uint32_t dim,
                                       const struct emit_layout *layout)
{
    struct ir_attr attr = ir_build_named(e->builder, "iota_dimension", ir_build_int(e->builder, 0, "i64"));
    int64_t n = layout->local;
    struct emit_tensor rest = emit_one(e, "stablehlo.iota", NULL, 0, IR_I32, 1, &n, &attr, 1),
                       sum = {.value = IR_NONE};
    for (uint32_t i = layout->count; i-- > 0;) {
        struct emit_tensor size = emit_integer(e, IR_I32, layout->at[i].local, 1, &n), digit = rest;
        if (i > 0) {
            digit = emit_binary(e, "stablehlo.remainder", rest, size);
            rest = emit_binary(e, "stablehlo.divide", rest, size);
        }
        if (layout->at[i].axes.count) {
            struct emit_tensor block = emit_block_index(e, &layout->at[i].axes);
            block = emit_binary(e, "stablehlo.multiply", block,
                                emit_integer(e, IR_I32, layout->at[i].local, 0, NULL));
            digit = emit_binary(e, "stablehlo.add", digit, emit_spread(e, block, 1, &n));
        }
        digit =
            emit_binary(e, "stablehlo.multiply", digit, emit_integer(e, IR_I32, layout->at[i].stride, 1, &n));
        sum = sum.value == IR_NONE ? digit : emit_binary(e, "stablehlo.add", sum, digit);
    }
    int64_t map = dim;
    return emit_broadcast(e, emit_convert(e, sum, out->element), out->rank, out->dims, &map);
}

enum error_code lower_iota(struct emit *e, struct lower_op *lower, struct error *error)
{
    struct emit_tensor *out = &lower->out[0];
    uint32_t dim = (uint32_t)ir_int(e->program, lower->op, "iota_dimension", 0);
    struct emit_layout layout = lower_out_layout(e, lower, 0, dim);
    if (!layout.sharded)
        return lower_as_is(e, lower, error);
    if (layout.size > INT32_MAX)
        return emit_reject(e, error, "dimension %u is sharded and has more than 2^31 elements", dim);
    if (!layout.contiguous) {
        *out = global_index(e, out, dim, &layout);
        return ERROR_OK;
    }
    /* counted in int32 so that a narrow type is rounded once, as in the whole iota */
    struct ir_attr attr = ir_build_named(e->builder, "iota_dimension", ir_build_int(e->builder, dim, "i64"));
    struct emit_tensor tensor =
        emit_one(e, "stablehlo.iota", NULL, 0, IR_I32, out->rank, out->dims, &attr, 1);
    struct emit_tensor offset = emit_spread(e, emit_layout_offset(e, &layout), out->rank, out->dims);
    *out = emit_convert(e, emit_binary(e, "stablehlo.add", tensor, offset), out->element);
    return ERROR_OK;
}

enum error_code lower_broadcast(struct emit *e, struct lower_op *lower, struct error *error)
{
    struct ir_dims map;
    const struct emit_tensor *in = &lower->in[0], *out = &lower->out[0];
    if (e->program->ops[lower->op].code == IR_BROADCAST) {
        lower_set_ints(e, lower, "broadcast_sizes", out->dims, out->rank - in->rank);
        map.count = in->rank;
        for (uint32_t dim = 0; dim < in->rank; dim++)
            map.at[dim] = out->rank - in->rank + dim;
    } else if (ir_dims(e->program, lower->op, "broadcast_dimensions", &map) != 0) {
        return emit_reject(e, error, "its dimensions cannot be read");
    }
    for (uint32_t dim = 0; dim < map.count; dim++)
        if (in->dims[dim] != 1 && in->dims[dim] != out->dims[map.at[dim]])
            return emit_reject(e, error,
                               "dimension %u has local size %lld in the operand and %lld in the result", dim,
                               (long long)in->dims[dim], (long long)out->dims[map.at[dim]]);
    return lower_as_is(e, lower, error);
}

enum error_code lower_reshape(struct emit *e, struct lower_op *lower, struct error *error)
{
    int64_t in = 1, out = 1;
    for (uint32_t dim = 0; dim < lower->in[0].rank; dim++)
        in *= lower->in[0].dims[dim];
    for (uint32_t dim = 0; dim < lower->out[0].rank; dim++)
        out *= lower->out[0].dims[dim];
    if (in != out)
        return emit_reject(e, error, "the local sizes of operand and result differ");
    return lower_as_is(e, lower, error);
}

/* ---------------------------------------------------------------- positions along sharded dims */
/* Positions of a dim in which only inner factors are sharded move in whole pieces: *piece elements of the
 * global dim are *local elements here. An unsharded dim has pieces of 1. */
static void piece_of(const struct emit_layout *layout, int64_t *piece, int64_t *local)
{
    bool started = false;
    *piece = *local = 1;
    for (uint32_t i = 0; i < layout->count; i++) {
        started |= layout->at[i].axes.count != 0;
        if (started) {
            *piece *= layout->at[i].size;
            *local *= layout->at[i].local;
        }
    }
}

/* a global position (or count) as a local one; false when it lies inside a piece */
static bool localize_position(const struct emit_layout *layout, int64_t *position)
{
    int64_t piece, local;
    piece_of(layout, &piece, &local);
    if (*position % piece != 0)
        return false;
    *position = *position / piece * local;
    return true;
}

enum error_code lower_slice(struct emit *e, struct lower_op *lower, struct error *error)
{
    struct ir_dims start, limit, stride;
    if (ir_dims(e->program, lower->op, "start_indices", &start) ||
        ir_dims(e->program, lower->op, "limit_indices", &limit) ||
        ir_dims(e->program, lower->op, "strides", &stride))
        return emit_reject(e, error, "its limits cannot be read");
    for (uint32_t dim = 0; dim < start.count; dim++) {
        struct emit_layout layout = lower_in_layout(e, lower, 0, dim);
        if (layout.sharded && (stride.at[dim] != 1 || !localize_position(&layout, &start.at[dim]) ||
                               !localize_position(&layout, &limit.at[dim]) ||
                               limit.at[dim] - start.at[dim] != lower->out[0].dims[dim]))
            return emit_reject(e, error, "dimension %u is sharded in pieces that the slice cuts", dim);
    }
    lower_set_ints(e, lower, "start_indices", start.at, start.count);
    lower_set_ints(e, lower, "limit_indices", limit.at, limit.count);
    return lower_as_is(e, lower, error);
}

enum error_code lower_pad(struct emit *e, struct lower_op *lower, struct error *error)
{
    struct ir_dims low, high, interior;
    if (ir_dims(e->program, lower->op, "edge_padding_low", &low) ||
        ir_dims(e->program, lower->op, "edge_padding_high", &high) ||
        ir_dims(e->program, lower->op, "interior_padding", &interior))
        return emit_reject(e, error, "its padding cannot be read");
    for (uint32_t dim = 0; dim < low.count; dim++) {
        struct emit_layout layout = lower_out_layout(e, lower, 0, dim);
        bool sharded = layout.sharded || lower_in_layout(e, lower, 0, dim).sharded;
        if (sharded && (interior.at[dim] != 0 || !localize_position(&layout, &low.at[dim]) ||
                        !localize_position(&layout, &high.at[dim]) ||
                        lower->in[0].dims[dim] + low.at[dim] + high.at[dim] != lower->out[0].dims[dim]))
            return emit_reject(e, error, "dimension %u is sharded in pieces that the padding cuts", dim);
    }
    lower_set_ints(e, lower, "edge_padding_low", low.at, low.count);
    lower_set_ints(e, lower, "edge_padding_high", high.at, high.count);
    return lower_as_is(e, lower, error);
}

enum error_code lower_concatenate(struct emit *e, struct lower_op *lower, struct error *error)
{
    uint32_t dim = (uint32_t)ir_int(e->program, lower->op, "dimension", 0);
    struct emit_layout layout = lower_out_layout(e, lower, 0, dim);
    int64_t sum = 0, size = 0;
    for (uint32_t i = 0; i < lower->in_count; i++) {
        struct emit_layout part = lower_in_layout(e, lower, i, dim);
        int64_t position = part.size;
        if (layout.sharded != part.sharded || !localize_position(&layout, &position) ||
            position != lower->in[i].dims[dim])
            return emit_reject(e, error, "dimension %u is sharded in pieces that operand %u does not fill",
                               dim, i);
        sum += lower->in[i].dims[dim];
        size += part.size;
    }
    if (sum != lower->out[0].dims[dim] || size != layout.size)
        return emit_reject(e, error, "the local sizes of the operands do not add up to the result's");
    return lower_as_is(e, lower, error);
}

/* reverse, sort, fft, bitcast ..: dims on which the op works must be whole; the others are batch */
enum error_code lower_whole_dims(struct emit *e, struct lower_op *lower, struct error *error)
{
    struct ir_dims worked = {.count = 0};
    enum ir_opcode code = (enum ir_opcode)e->program->ops[lower->op].code;
    const char *name = ir_op_name(e->program, lower->op);
    uint32_t rank = lower->in[0].rank;
    if (code == IR_REVERSE) {
        if (ir_dims(e->program, lower->op, "dimensions", &worked) != 0)
            return emit_reject(e, error, "its dimensions cannot be read");
    } else if (code == IR_SORT) {
        int64_t dim = ir_int(e->program, lower->op, "dimension", -1);
        worked.at[worked.count++] = dim < 0 ? dim + rank : dim;
    } else if (strcmp(name, "stablehlo.fft") == 0) {
        struct ir_dims length;
        if (ir_dims(e->program, lower->op, "fft_length", &length) != 0)
            return emit_reject(e, error, "its lengths cannot be read");
        for (uint32_t i = 0; i < length.count && i < rank; i++)
            worked.at[worked.count++] = rank - 1 - i;
    } else if (strcmp(name, "stablehlo.cholesky") == 0 || strcmp(name, "stablehlo.triangular_solve") == 0) {
        worked.at[worked.count++] = rank - 1;
        worked.at[worked.count++] = rank - 2;
    } else if (code == IR_CHLO_TOP_K || lower->out[0].rank < rank) {
        worked.at[worked.count++] = rank - 1; /* top_k; a bitcast that joins the last dim's elements */
    }
    for (uint32_t i = 0; i < worked.count; i++)
        for (uint32_t k = 0; k < lower->in_count; k++)
            if (lower->in[k].rank > worked.at[i] &&
                lower_in_layout(e, lower, k, (uint32_t)worked.at[i]).sharded)
                return emit_reject(e, error, "dimension %lld is sharded", (long long)worked.at[i]);
    return lower_as_is(e, lower, error);
}

/* Every device draws the whole array, so that all agree, and keeps its block. */
enum error_code lower_rng(struct emit *e, struct lower_op *lower, struct error *error)
{
    struct emit_tensor wanted[2];
    if (lower->out_count > 2)
        return emit_reject(e, error, "more than two results");
    if (e->program->ops[lower->op].code == IR_RNG)
        return emit_reject(
            e, error, "draws other numbers on every device; use rng_bit_generator, or the annotated form");
    for (uint32_t i = 0; i < lower->out_count; i++) {
        wanted[i] = lower->out[i];
        lower->out[i] = whole_size(e, ir_result(e->program, lower->op, i));
    }
    enum error_code code = lower_as_is(e, lower, error);
    for (uint32_t i = 0; i < lower->out_count && !code; i++) {
        struct emit_tensor whole = lower->out[i];
        lower->out[i] = wanted[i];
        code = keep_own_block(e, lower, i, whole, error);
    }
    return code;
}
