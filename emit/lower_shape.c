/* Constants, iota and ops that only move elements: sizes, limits and paddings at local sizes. */
#include "emit/lower.h"

#include <string.h>

static bool same_sizes(const struct emit_tensor *x, const struct emit_tensor *y)
{
    return x->rank == y->rank && memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) == 0;
}

/* o->out[i] written whole on every device, then cut to this device's block */
static enum error_code keep_own_block(struct emit *e, struct lower_op *o, uint32_t i,
                                      struct emit_tensor whole, struct error *error)
{
    const struct spmd_value *v = &e->local->values[o->step->results + i];
    if (same_sizes(&whole, &o->out[i])) {
        o->out[i] = whole;
        return ERROR_OK;
    }
    return emit_keep_block(e, whole, v->origin, &spmd_form_none, &v->form, &o->out[i], error);
}

static struct emit_tensor whole_size(const struct emit *e, uint32_t value)
{
    const struct ir_type *t = ir_value_type(e->program, value);
    struct emit_tensor x = {.value = IR_NONE, .element = (enum ir_element)t->element, .rank = t->rank};
    memcpy(x.dims, ir_type_dims(e->program, t), t->rank * sizeof *x.dims);
    return x;
}

enum error_code lower_constant(struct emit *e, struct lower_op *o, struct error *error)
{
    const struct ir_attr *value = ir_attr_find(e->program, o->op, "value");
    struct emit_tensor *out = &o->out[0], whole = whole_size(e, ir_result(e->program, o->op, 0));
    if (value && value->kind == IR_ATTR_DENSE && e->program->constants[value->first].splat) {
        const struct ir_constant *c = &e->program->constants[value->first];
        uint32_t type = emit_type(e, out->element, out->rank, out->dims);
        emit_attr_set(e, o->attrs, &o->attr_count, "value",
                      ir_build_dense(e->b, type, e->program->bytes + c->offset, c->size, true));
        *out = emit_one(e, "stablehlo.constant", NULL, 0, out->element, out->rank, out->dims, o->attrs,
                        o->attr_count);
        return ERROR_OK;
    }
    whole = emit_one(e, "stablehlo.constant", NULL, 0, whole.element, whole.rank, whole.dims, o->attrs,
                     o->attr_count);
    return keep_own_block(e, o, 0, whole, error);
}

/* the global index of every element along a dim whose blocks are not one range: digit by digit */
static struct emit_tensor global_index(struct emit *e, const struct emit_tensor *out, uint32_t dim,
                                       const struct emit_layout *l)
{
    struct ir_attr attr = ir_build_named(e->b, "iota_dimension", ir_build_int(e->b, 0, "i64"));
    int64_t n = l->local;
    struct emit_tensor rest = emit_one(e, "stablehlo.iota", NULL, 0, IR_I32, 1, &n, &attr, 1),
                       sum = {.value = IR_NONE};
    for (uint32_t i = l->count; i-- > 0;) {
        struct emit_tensor size = emit_integer(e, IR_I32, l->at[i].local, 1, &n), digit = rest;
        if (i > 0) {
            digit = emit_binary(e, "stablehlo.remainder", rest, size);
            rest = emit_binary(e, "stablehlo.divide", rest, size);
        }
        if (l->at[i].axes.count) {
            struct emit_tensor block = emit_block_index(e, &l->at[i].axes);
            block =
                emit_binary(e, "stablehlo.multiply", block, emit_integer(e, IR_I32, l->at[i].local, 0, NULL));
            digit = emit_binary(e, "stablehlo.add", digit, emit_spread(e, block, 1, &n));
        }
        digit = emit_binary(e, "stablehlo.multiply", digit, emit_integer(e, IR_I32, l->at[i].stride, 1, &n));
        sum = sum.value == IR_NONE ? digit : emit_binary(e, "stablehlo.add", sum, digit);
    }
    int64_t map = dim;
    return emit_broadcast(e, emit_convert(e, sum, out->element), out->rank, out->dims, &map);
}

enum error_code lower_iota(struct emit *e, struct lower_op *o, struct error *error)
{
    struct emit_tensor *out = &o->out[0];
    uint32_t dim = (uint32_t)ir_int(e->program, o->op, "iota_dimension", 0);
    struct emit_layout l = lower_out_layout(e, o, 0, dim);
    if (!l.sharded)
        return lower_as_is(e, o, error);
    if (l.size > INT32_MAX)
        return emit_reject(e, error, "dimension %u is sharded and has more than 2^31 elements", dim);
    if (!l.contiguous) {
        *out = global_index(e, out, dim, &l);
        return ERROR_OK;
    }
    /* counted in int32 so that a narrow type is rounded once, as in the whole iota */
    struct ir_attr attr = ir_build_named(e->b, "iota_dimension", ir_build_int(e->b, dim, "i64"));
    struct emit_tensor x = emit_one(e, "stablehlo.iota", NULL, 0, IR_I32, out->rank, out->dims, &attr, 1);
    struct emit_tensor offset = emit_spread(e, emit_layout_offset(e, &l), out->rank, out->dims);
    *out = emit_convert(e, emit_binary(e, "stablehlo.add", x, offset), out->element);
    return ERROR_OK;
}

enum error_code lower_broadcast(struct emit *e, struct lower_op *o, struct error *error)
{
    struct ir_dims map;
    const struct emit_tensor *in = &o->in[0], *out = &o->out[0];
    if (e->program->ops[o->op].code == IR_BROADCAST) {
        lower_set_ints(e, o, "broadcast_sizes", out->dims, out->rank - in->rank);
        map.count = in->rank;
        for (uint32_t d = 0; d < in->rank; d++)
            map.at[d] = out->rank - in->rank + d;
    } else if (ir_dims(e->program, o->op, "broadcast_dimensions", &map) != 0) {
        return emit_reject(e, error, "its dimensions cannot be read");
    }
    for (uint32_t d = 0; d < map.count; d++)
        if (in->dims[d] != 1 && in->dims[d] != out->dims[map.at[d]])
            return emit_reject(e, error,
                               "dimension %u has local size %lld in the operand and %lld in the result", d,
                               (long long)in->dims[d], (long long)out->dims[map.at[d]]);
    return lower_as_is(e, o, error);
}

enum error_code lower_reshape(struct emit *e, struct lower_op *o, struct error *error)
{
    int64_t in = 1, out = 1;
    for (uint32_t d = 0; d < o->in[0].rank; d++)
        in *= o->in[0].dims[d];
    for (uint32_t d = 0; d < o->out[0].rank; d++)
        out *= o->out[0].dims[d];
    if (in != out)
        return emit_reject(e, error, "the local sizes of operand and result differ");
    return lower_as_is(e, o, error);
}

/* ---------------------------------------------------------------- positions along sharded dims */
/* Positions of a dim in which only inner factors are sharded move in whole pieces: *piece elements of the
 * global dim are *local elements here. An unsharded dim has pieces of 1. */
static void piece_of(const struct emit_layout *l, int64_t *piece, int64_t *local)
{
    bool started = false;
    *piece = *local = 1;
    for (uint32_t i = 0; i < l->count; i++) {
        started |= l->at[i].axes.count != 0;
        if (started) {
            *piece *= l->at[i].size;
            *local *= l->at[i].local;
        }
    }
}

/* a global position (or count) as a local one; false when it lies inside a piece */
static bool localize_position(const struct emit_layout *l, int64_t *position)
{
    int64_t piece, local;
    piece_of(l, &piece, &local);
    if (*position % piece != 0)
        return false;
    *position = *position / piece * local;
    return true;
}

enum error_code lower_slice(struct emit *e, struct lower_op *o, struct error *error)
{
    struct ir_dims start, limit, stride;
    if (ir_dims(e->program, o->op, "start_indices", &start) ||
        ir_dims(e->program, o->op, "limit_indices", &limit) || ir_dims(e->program, o->op, "strides", &stride))
        return emit_reject(e, error, "its limits cannot be read");
    for (uint32_t d = 0; d < start.count; d++) {
        struct emit_layout l = lower_in_layout(e, o, 0, d);
        if (l.sharded &&
            (stride.at[d] != 1 || !localize_position(&l, &start.at[d]) ||
             !localize_position(&l, &limit.at[d]) || limit.at[d] - start.at[d] != o->out[0].dims[d]))
            return emit_reject(e, error, "dimension %u is sharded in pieces that the slice cuts", d);
    }
    lower_set_ints(e, o, "start_indices", start.at, start.count);
    lower_set_ints(e, o, "limit_indices", limit.at, limit.count);
    return lower_as_is(e, o, error);
}

enum error_code lower_pad(struct emit *e, struct lower_op *o, struct error *error)
{
    struct ir_dims low, high, interior;
    if (ir_dims(e->program, o->op, "edge_padding_low", &low) ||
        ir_dims(e->program, o->op, "edge_padding_high", &high) ||
        ir_dims(e->program, o->op, "interior_padding", &interior))
        return emit_reject(e, error, "its padding cannot be read");
    for (uint32_t d = 0; d < low.count; d++) {
        struct emit_layout l = lower_out_layout(e, o, 0, d);
        bool sharded = l.sharded || lower_in_layout(e, o, 0, d).sharded;
        if (sharded && (interior.at[d] != 0 || !localize_position(&l, &low.at[d]) ||
                        !localize_position(&l, &high.at[d]) ||
                        o->in[0].dims[d] + low.at[d] + high.at[d] != o->out[0].dims[d]))
            return emit_reject(e, error, "dimension %u is sharded in pieces that the padding cuts", d);
    }
    lower_set_ints(e, o, "edge_padding_low", low.at, low.count);
    lower_set_ints(e, o, "edge_padding_high", high.at, high.count);
    return lower_as_is(e, o, error);
}

enum error_code lower_concatenate(struct emit *e, struct lower_op *o, struct error *error)
{
    uint32_t dim = (uint32_t)ir_int(e->program, o->op, "dimension", 0);
    struct emit_layout l = lower_out_layout(e, o, 0, dim);
    int64_t sum = 0, size = 0;
    for (uint32_t i = 0; i < o->in_count; i++) {
        struct emit_layout part = lower_in_layout(e, o, i, dim);
        int64_t position = part.size;
        if (l.sharded != part.sharded || !localize_position(&l, &position) || position != o->in[i].dims[dim])
            return emit_reject(e, error, "dimension %u is sharded in pieces that operand %u does not fill",
                               dim, i);
        sum += o->in[i].dims[dim];
        size += part.size;
    }
    if (sum != o->out[0].dims[dim] || size != l.size)
        return emit_reject(e, error, "the local sizes of the operands do not add up to the result's");
    return lower_as_is(e, o, error);
}

/* reverse, sort, fft, bitcast ..: dims on which the op works must be whole; the others are batch */
enum error_code lower_whole_dims(struct emit *e, struct lower_op *o, struct error *error)
{
    struct ir_dims worked = {.count = 0};
    enum ir_opcode code = (enum ir_opcode)e->program->ops[o->op].code;
    const char *name = ir_op_name(e->program, o->op);
    uint32_t rank = o->in[0].rank;
    if (code == IR_REVERSE) {
        if (ir_dims(e->program, o->op, "dimensions", &worked) != 0)
            return emit_reject(e, error, "its dimensions cannot be read");
    } else if (code == IR_SORT) {
        int64_t dim = ir_int(e->program, o->op, "dimension", -1);
        worked.at[worked.count++] = dim < 0 ? dim + rank : dim;
    } else if (strcmp(name, "stablehlo.fft") == 0) {
        struct ir_dims length;
        if (ir_dims(e->program, o->op, "fft_length", &length) != 0)
            return emit_reject(e, error, "its lengths cannot be read");
        for (uint32_t i = 0; i < length.count && i < rank; i++)
            worked.at[worked.count++] = rank - 1 - i;
    } else if (strcmp(name, "stablehlo.cholesky") == 0 || strcmp(name, "stablehlo.triangular_solve") == 0) {
        worked.at[worked.count++] = rank - 1;
        worked.at[worked.count++] = rank - 2;
    } else if (code == IR_CHLO_TOP_K || o->out[0].rank < rank) {
        worked.at[worked.count++] = rank - 1; /* top_k; a bitcast that joins the last dim's elements */
    }
    for (uint32_t i = 0; i < worked.count; i++)
        for (uint32_t k = 0; k < o->in_count; k++)
            if (o->in[k].rank > worked.at[i] && lower_in_layout(e, o, k, (uint32_t)worked.at[i]).sharded)
                return emit_reject(e, error, "dimension %lld is sharded", (long long)worked.at[i]);
    return lower_as_is(e, o, error);
}

/* Every device draws the whole array, so that all agree, and keeps its block. */
enum error_code lower_rng(struct emit *e, struct lower_op *o, struct error *error)
{
    struct emit_tensor wanted[2];
    if (o->out_count > 2)
        return emit_reject(e, error, "more than two results");
    if (e->program->ops[o->op].code == IR_RNG)
        return emit_reject(
            e, error, "draws other numbers on every device; use rng_bit_generator, or the annotated form");
    for (uint32_t i = 0; i < o->out_count; i++) {
        wanted[i] = o->out[i];
        o->out[i] = whole_size(e, ir_result(e->program, o->op, i));
    }
    enum error_code code = lower_as_is(e, o, error);
    for (uint32_t i = 0; i < o->out_count && !code; i++) {
        struct emit_tensor whole = o->out[i];
        o->out[i] = wanted[i];
        code = keep_own_block(e, o, i, whole, error);
    }
    return code;
}
