/* Ops that move elements: iota, broadcast, transpose, slices, pad, concatenate, reverse, bitcast_convert.
 * Each builds dims and strides for one verify_copy, by the definitions of the StableHLO specification
 * (https://openxla.org/stablehlo/spec). */
#include "verify/value.h"

#include <string.h>

static const int64_t *dims_of(const struct verify_state *state, const struct verify_value *value)
{
    return ir_type_dims(state->program, value->type);
}

static size_t size_of(const struct verify_value *value)
{
    return verify_element_size((enum ir_element)value->type->element);
}

/* a list attribute that must have `count` entries */
static enum error_code list(const struct verify_state *state, uint32_t op, const char *name, uint32_t count,
                            struct ir_dims *out, struct error *e)
{
    if (ir_dims(state->program, op, name, out) != 0 || out->count != count)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "%s must have %u entries", name, count);
    return ERROR_OK;
}

/* copies `in`, seen through dims and strides from an offset, into the whole of a new `out` */
static void view(struct verify_state *state, const struct verify_value *in, int64_t offset,
                 const int64_t *strides, struct verify_value *out)
{
    int64_t own[IR_MAX_RANK];
    verify_strides(out->type->rank, dims_of(state, out), own);
    verify_value_alloc(state, out, false);
    verify_copy(size_of(out), out->type->rank, dims_of(state, out), verify_data(out), own,
                (const char *)verify_data(in) + offset * (int64_t)size_of(in), strides);
}

enum error_code verify_eval_iota(struct verify_state *state, uint32_t op, struct verify_value *in,
                                 struct verify_value *out, struct error *e)
{
    int64_t dim = ir_int(state->program, op, "iota_dimension", -1);
    const int64_t *dims = dims_of(state, out);
    if (dim < 0 || dim >= out->type->rank)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "iota_dimension is out of range");
    verify_value_alloc(state, out, false);
    enum ir_element element = (enum ir_element)out->type->element;
    struct verify_buffer *owner;
    int64_t *line = verify_scratch(state, (size_t)(dims[dim] + 1) * sizeof *line, &owner);
    for (int64_t i = 0; i < dims[dim]; i++)
        line[i] = i;
    int64_t own[IR_MAX_RANK], from[IR_MAX_RANK] = {0};
    struct verify_buffer *converted;
    void *values = verify_scratch(state, (size_t)(dims[dim] + 1) * IR_ELEMENT_BYTES, &converted);
    verify_convert(IR_I64, line, element, values, dims[dim]);
    verify_strides(out->type->rank, dims, own);
    from[dim] = 1;
    verify_copy(size_of(out), out->type->rank, dims, verify_data(out), own, values, from);
    verify_scratch_drop(state, owner);
    verify_scratch_drop(state, converted);
    return ERROR_OK;
}

enum error_code verify_eval_broadcast(struct verify_state *state, uint32_t op, struct verify_value *in,
                                      struct verify_value *out, struct error *e)
{
    struct ir_dims to;
    const int64_t *from = dims_of(state, in), *dims = dims_of(state, out);
    uint32_t rank = in->type->rank;
    int64_t own[IR_MAX_RANK], strides[IR_MAX_RANK] = {0};
    if (state->program->ops[op].code == IR_BROADCAST) {
        to.count = rank;
        for (uint32_t i = 0; i < rank; i++)
            to.at[i] = (int64_t)out->type->rank - rank + i;
    } else {
        enum error_code code = list(state, op, "broadcast_dimensions", rank, &to, e);
        if (code)
            return code;
    }
    if (in->splat || verify_type_count(state, in->type) == 1) {
        verify_value_share(out, in);
        out->splat = true;
        return ERROR_OK;
    }
    verify_strides(rank, from, own);
    for (uint32_t i = 0; i < rank; i++) {
        if (to.at[i] < 0 || to.at[i] >= out->type->rank || (from[i] != 1 && from[i] != dims[to.at[i]]))
            return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                               "operand dimension %u does not fit the result", i);
        strides[to.at[i]] = from[i] == 1 ? 0 : own[i];
    }
    view(state, in, 0, strides, out);
    return ERROR_OK;
}

enum error_code verify_eval_transpose(struct verify_state *state, uint32_t op, struct verify_value *in,
                                      struct verify_value *out, struct error *e)
{
    struct ir_dims permutation;
    int64_t own[IR_MAX_RANK], strides[IR_MAX_RANK];
    enum error_code code = list(state, op, "permutation", out->type->rank, &permutation, e);
    if (code)
        return code;
    verify_strides(in->type->rank, dims_of(state, in), own);
    for (uint32_t i = 0; i < permutation.count; i++) {
        int64_t d = permutation.at[i];
        if (d < 0 || d >= in->type->rank || dims_of(state, in)[d] != dims_of(state, out)[i])
            return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                               "permutation does not give the result's shape");
        strides[i] = own[d];
    }
    if (in->splat)
        verify_value_share(out, in);
    else
        view(state, in, 0, strides, out);
    return ERROR_OK;
}

enum error_code verify_eval_reverse(struct verify_state *state, uint32_t op, struct verify_value *in,
                                    struct verify_value *out, struct error *e)
{
    struct ir_dims reversed;
    int64_t strides[IR_MAX_RANK], offset = 0;
    if (ir_dims(state->program, op, "dimensions", &reversed) != 0)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "dimensions is missing");
    verify_strides(in->type->rank, dims_of(state, in), strides);
    for (uint32_t i = 0; i < reversed.count; i++) {
        int64_t d = reversed.at[i];
        if (d < 0 || d >= in->type->rank)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "dimension out of range");
        offset += (dims_of(state, in)[d] - 1) * strides[d];
        strides[d] = -strides[d];
    }
    if (in->splat)
        verify_value_share(out, in);
    else
        view(state, in, verify_type_count(state, in->type) ? offset : 0, strides, out);
    return ERROR_OK;
}

enum error_code verify_eval_slice(struct verify_state *state, uint32_t op, struct verify_value *in,
                                  struct verify_value *out, struct error *e)
{
    struct ir_dims start, limit, step;
    int64_t strides[IR_MAX_RANK], offset = 0;
    uint32_t rank = in->type->rank;
    enum error_code code = list(state, op, "start_indices", rank, &start, e);
    code = code ? code : list(state, op, "limit_indices", rank, &limit, e);
    code = code ? code : list(state, op, "strides", rank, &step, e);
    if (code)
        return code;
    verify_strides(rank, dims_of(state, in), strides);
    for (uint32_t i = 0; i < rank; i++) {
        if (start.at[i] < 0 || limit.at[i] > dims_of(state, in)[i] || start.at[i] > limit.at[i] ||
            step.at[i] < 1 ||
            dims_of(state, out)[i] != (limit.at[i] - start.at[i] + step.at[i] - 1) / step.at[i])
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "slice of dimension %u does not fit", i);
        offset += start.at[i] * strides[i];
        strides[i] *= step.at[i];
    }
    if (in->splat)
        verify_value_share(out, in);
    else
        view(state, in, verify_type_count(state, out->type) ? offset : 0, strides, out);
    return ERROR_OK;
}

enum error_code verify_eval_concatenate(struct verify_state *state, uint32_t op, struct verify_value *in,
                                        struct verify_value *out, struct error *e)
{
    int64_t dim = ir_int(state->program, op, "dimension", -1), own[IR_MAX_RANK], from[IR_MAX_RANK], at = 0;
    uint32_t rank = out->type->rank;
    if (dim < 0 || dim >= rank)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "dimension is out of range");
    for (uint32_t k = 0; k < state->program->ops[op].operand_count; k++) {
        for (uint32_t i = 0; i < rank; i++)
            if (in[k].type->rank != rank ||
                (i != (uint32_t)dim && dims_of(state, &in[k])[i] != dims_of(state, out)[i]))
                return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operand %u does not fit the result",
                                   k);
        at += dims_of(state, &in[k])[dim];
    }
    if (at != dims_of(state, out)[dim])
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operands do not add up to the result");
    verify_value_alloc(state, out, false);
    verify_strides(rank, dims_of(state, out), own);
    at = 0;
    for (uint32_t k = 0; k < state->program->ops[op].operand_count; k++) {
        memset(from, 0, sizeof from);
        if (!in[k].splat)
            verify_strides(rank, dims_of(state, &in[k]), from);
        verify_copy(size_of(out), rank, dims_of(state, &in[k]),
                    (char *)verify_data(out) + at * own[dim] * (int64_t)size_of(out), own,
                    verify_data(&in[k]), from);
        at += dims_of(state, &in[k])[dim];
    }
    return ERROR_OK;
}

/* Which positions of an operand dimension of size n land inside the result after padding: first and count. (A
 * negative padding cuts some off.) */
static void pad_range(int64_t n, int64_t low, int64_t step, int64_t result, int64_t *first, int64_t *count)
{
    *first = low < 0 ? (-low + step - 1) / step : 0;
    int64_t last = result - 1 - low < 0 ? -1 : (result - 1 - low) / step;
    if (last > n - 1)
        last = n - 1;
    *count = last < *first ? 0 : last - *first + 1;
}

enum error_code verify_eval_pad(struct verify_state *state, uint32_t op, struct verify_value *in,
                                struct verify_value *out, struct error *e)
{
    struct ir_dims low, high, interior;
    uint32_t rank = in->type->rank;
    int64_t own[IR_MAX_RANK], from[IR_MAX_RANK], dims[IR_MAX_RANK], to = 0, offset = 0;
    enum error_code code = list(state, op, "edge_padding_low", rank, &low, e);
    code = code ? code : list(state, op, "edge_padding_high", rank, &high, e);
    code = code ? code : list(state, op, "interior_padding", rank, &interior, e);
    if (code)
        return code;
    verify_value_dense(state, &in[0]);
    struct verify_value filled = {.type = out->type};
    verify_value_share(&filled, &in[1]);
    filled.splat = true;
    verify_value_dense(state, &filled);
    verify_strides(rank, dims_of(state, out), own);
    verify_strides(rank, dims_of(state, in), from);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t n = dims_of(state, in)[i], step = interior.at[i] + 1, first;
        if (step < 1 || dims_of(state, out)[i] != low.at[i] + high.at[i] + (n > 0 ? (n - 1) * step + 1 : 0))
            return verify_value_drop(state, &filled),
                   verify_fail(state, op, ERROR_INVALID_MODULE, e, "padding of dimension %u does not fit", i);
        pad_range(n, low.at[i], step, dims_of(state, out)[i], &first, &dims[i]);
        offset += first * from[i];
        to += (first * step + low.at[i]) * own[i];
        own[i] *= step;
    }
    size_t size = size_of(out);
    bool empty = false;
    for (uint32_t i = 0; i < rank; i++)
        empty = empty || dims[i] == 0;
    if (!empty)
        verify_copy(size, rank, dims, (char *)verify_data(&filled) + to * (int64_t)size, own,
                    (char *)verify_data(in) + offset * (int64_t)size, from);
    *out = filled;
    return ERROR_OK;
}

/* The element offset of a box of these sizes at the start indices, which are clamped so that it lies in
 * dims. */
static int64_t clamped_offset(const struct verify_value *starts, uint32_t rank, const int64_t *dims,
                              const int64_t *sizes, const int64_t *strides)
{
    int64_t offset = 0;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t at = verify_value_int(&starts[i], 0), most = dims[i] - sizes[i];
        if (starts[i].type->element == IR_UI64 && at < 0)
            at = most;
        offset += (at < 0 ? 0 : at > most ? most : at) * strides[i];
    }
    return offset;
}

enum error_code verify_eval_dynamic_slice(struct verify_state *state, uint32_t op, struct verify_value *in,
                                          struct verify_value *out, struct error *e)
{
    int64_t strides[IR_MAX_RANK];
    uint32_t rank = in->type->rank;
    const int64_t *dims = dims_of(state, in), *sizes = dims_of(state, out);
    if (state->program->ops[op].operand_count != rank + 1 || out->type->rank != rank)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "%u start indices expected", rank);
    for (uint32_t i = 0; i < rank; i++)
        if (sizes[i] > dims[i])
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "slice is larger than dimension %u", i);
    if (in->splat) {
        verify_value_share(out, in);
        return ERROR_OK;
    }
    verify_strides(rank, dims, strides);
    view(state, in, clamped_offset(in + 1, rank, dims, sizes, strides), strides, out);
    return ERROR_OK;
}

enum error_code verify_eval_dynamic_update(struct verify_state *state, uint32_t op, struct verify_value *in,
                                           struct verify_value *out, struct error *e)
{
    int64_t own[IR_MAX_RANK], from[IR_MAX_RANK];
    uint32_t rank = out->type->rank;
    const int64_t *dims = dims_of(state, out), *sizes = dims_of(state, &in[1]);
    if (state->program->ops[op].operand_count != rank + 2 || in[1].type->rank != rank ||
        verify_type_count(state, in->type) != verify_type_count(state, out->type))
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "%u start indices expected", rank);
    for (uint32_t i = 0; i < rank; i++)
        if (sizes[i] > dims[i])
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "update is larger than dimension %u", i);
    verify_value_dense(state, &in[0]);
    verify_value_dense(state, &in[1]);
    verify_strides(rank, dims, own);
    verify_strides(rank, sizes, from);
    int64_t offset = clamped_offset(in + 2, rank, dims, sizes, own);
    if (in[0].buffer->uses == 1) { /* the only reference: update in place */
        out->buffer = in[0].buffer;
        out->splat = false;
        in[0].buffer = NULL;
    } else {
        verify_value_alloc(state, out, false);
        memcpy(verify_data(out), verify_data(in), (size_t)verify_type_count(state, out->type) * size_of(out));
    }
    verify_copy(size_of(out), rank, sizes, (char *)verify_data(out) + offset * (int64_t)size_of(out), own,
                verify_data(&in[1]), from);
    return ERROR_OK;
}

/* ---------------------------------------------------------------- bitcast_convert */
/* Element i's bits, of a number that is `element` in the module, and back. In a widened program it is stored
 * as a double. */
static uint64_t bits_of(const struct verify_value *value, enum ir_element element, int64_t i)
{
    uint64_t x = 0;
    float f;
    bool widened = value->type->element != element;
    switch ((int)verify_store_of(element)) {
    case VERIFY_U8: return ((const uint8_t *)verify_data(value))[i];
    case VERIFY_F32:
        f = widened ? verify_round(element, ((const double *)verify_data(value))[i])
                    : ((const float *)verify_data(value))[i];
        memcpy(&x, &f, 4);
        return element == IR_BF16 ? x >> 16 : x;
    default: memcpy(&x, (const char *)verify_data(value) + 8 * i, 8); return x;
    }
}

static void put_bits(struct verify_value *value, enum ir_element element, int64_t i, uint64_t x)
{
    float f;
    uint32_t u = (uint32_t)x;
    switch ((int)verify_store_of(element)) {
    case VERIFY_U8: ((uint8_t *)verify_data(value))[i] = x != 0; break;
    case VERIFY_F32:
        memcpy(&f, &u, 4);
        if (element != IR_F32)
            f = (float)verify_decode_float(element, u);
        if (value->type->element != element)
            ((double *)verify_data(value))[i] = (double)f;
        else
            ((float *)verify_data(value))[i] = f;
        break;
    default:
        memcpy((char *)verify_data(value) + 8 * i, &x, 8);
        if (element != IR_F64)
            verify_round_all(element, (char *)verify_data(value) + 8 * i, 1);
    }
}

/* the element type that the module itself has there */
static enum ir_element own_element(const struct verify_state *state, const struct ir_type *type)
{
    const struct ir_type *own =
        state->options.narrow ? &state->options.narrow[type - state->program->types] : type;
    return (enum ir_element)own->element;
}

enum error_code verify_eval_bitcast(struct verify_state *state, uint32_t op, struct verify_value *in,
                                    struct verify_value *out, struct error *e)
{
    enum ir_element from = own_element(state, in->type), to = own_element(state, out->type);
    unsigned a = ir_element_bits(from), b = ir_element_bits(to), least = a < b ? a : b;
    int64_t na = verify_type_count(state, in->type), nb = verify_type_count(state, out->type);
    enum verify_store fs = verify_store_of(from), ts = verify_store_of(to);
    /* narrow floats are stored as float: their own bits are gone */
    bool narrow = fs == VERIFY_F32 && from != IR_F32 && from != IR_BF16;
    if (narrow || fs >= VERIFY_C64 || ts >= VERIFY_C64 || a > 64 || b > 64 || (a < 8) || (b < 8))
        return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "from %s to %s is not interpreted",
                           ir_element_name(from), ir_element_name(to));
    if (na * (int64_t)a != nb * (int64_t)b)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operand and result differ in bits");
    verify_value_dense(state, in);
    verify_value_alloc(state, out, false);
    uint64_t mask = least == 64 ? UINT64_MAX : ((uint64_t)1 << least) - 1;
    unsigned parts_a = a / least, parts_b = b / least;
    for (int64_t i = 0; i < nb; i++) {
        uint64_t x = 0;
        for (unsigned k = 0; k < parts_b; k++) {
            int64_t part = i * parts_b + k; /* in units of the narrower type, lowest bits first */
            x |= ((bits_of(in, from, part / parts_a) >> (least * (unsigned)(part % parts_a))) & mask)
                 << (least * k);
        }
        put_bits(out, to, i, x);
    }
    return ERROR_OK;
}
