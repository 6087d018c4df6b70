/* Values and their buffers (value.h): counted, recycled by size class, splats made dense when a family
 * needs them; and constants, decoded into the interpreter's layout. */
#include "verify/value.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum verify_store verify_store_of(enum ir_element element)
{
    if (element == IR_I1)
        return VERIFY_U8;
    if ((element >= IR_I2 && element <= IR_UI64) || element == IR_INDEX)
        return VERIFY_I64;
    if (element == IR_F64)
        return VERIFY_F64;
    if (element == IR_C64)
        return VERIFY_C64;
    if (element == IR_C128)
        return VERIFY_C128;
    if (element == IR_F8E8M0FNU || element == IR_TF32)
        return VERIFY_NONE;
    return element >= IR_BF16 && element <= IR_F6E3M2FN ? VERIFY_F32 : VERIFY_NONE;
}

bool verify_element_unsigned(enum ir_element element)
{
    return element == IR_I1 || (element >= IR_UI2 && element <= IR_UI64);
}

size_t verify_element_size(enum ir_element element)
{
    static const size_t bytes[] = {[VERIFY_NONE] = 0, [VERIFY_U8] = 1,  [VERIFY_I64] = 8,  [VERIFY_F32] = 4,
                                   [VERIFY_F64] = 8,  [VERIFY_C64] = 8, [VERIFY_C128] = 16};
    return bytes[verify_store_of(element)];
}

/* ---------------------------------------------------------------- public tensors */
void verify_tensor_release(struct verify_tensor *tensor)
{
    free(tensor->data);
    tensor->data = NULL;
}

int64_t verify_tensor_count(const struct verify_tensor *tensor)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        n *= tensor->dims[i];
    return n;
}

enum error_code verify_tensor_create(const struct ir_program *program, uint32_t type,
                                     struct verify_tensor *out, struct error *e)
{
    const struct ir_type *ir_type = &program->types[type];
    size_t size =
        ir_type->kind == IR_TYPE_TENSOR ? verify_element_size((enum ir_element)ir_type->element) : 0;
    if (size == 0 || ir_type->rank > IR_MAX_RANK || (ir_type->flags & (IR_TYPE_DYNAMIC | IR_TYPE_UNRANKED)))
        return error_set(e, ERROR_NOT_AVAILABLE, "values of type %s cannot be interpreted",
                         ir_string(program, ir_type->text));
    memset(out, 0, sizeof *out);
    out->element = (enum ir_element)ir_type->element;
    out->rank = ir_type->rank;
    for (uint32_t i = 0; i < ir_type->rank; i++)
        out->dims[i] = ir_type_dims(program, ir_type)[i];
    out->data = mem_zalloc((size_t)verify_tensor_count(out) + 1, size);
    return ERROR_OK;
}

/* ---------------------------------------------------------------- buffers */
static uint32_t bin_of(size_t bytes)
{
    uint32_t bin = 6;
    while (bin < VERIFY_BINS - 1 && ((size_t)1 << bin) < bytes)
        bin++;
    return bin;
}

static struct verify_buffer *buffer_take(struct verify_state *state, size_t bytes)
{
    uint32_t bin = bin_of(bytes);
    struct verify_buffer *buffer = state->free[bin];
    if (buffer) {
        state->free[bin] = buffer->next;
    } else if (posix_memalign((void **)&buffer, 64, sizeof *buffer + ((size_t)1 << bin)) != 0) {
        abort(); /* as mem_alloc: running out of memory ends the process */
    }
    buffer->uses = 1;
    buffer->bin = bin;
    buffer->next = NULL;
    return buffer;
}

static void buffer_drop(struct verify_state *state, struct verify_buffer *buffer)
{
    if (--buffer->uses > 0)
        return;
    buffer->next = state->free[buffer->bin];
    state->free[buffer->bin] = buffer;
}

void verify_state_release(struct verify_state *state)
{
    for (uint32_t value = 0; state->slots && value < state->program->value_count; value++) {
        for (uint32_t d = 0; d < state->slots[value].devices; d++)
            verify_value_drop(state, &state->slots[value].at[d]);
        free(state->slots[value].at);
    }
    for (int i = 0; i < VERIFY_BINS; i++)
        for (struct verify_buffer *buffer = state->free[i], *next; buffer; buffer = next) {
            next = buffer->next;
            free(buffer);
        }
    free(state->slots);
    free((void *)(uintptr_t)state->release);
    free((void *)(uintptr_t)state->release_at);
    free(state->active);
}

void *verify_scratch(struct verify_state *state, size_t bytes, struct verify_buffer **owner)
{
    *owner = buffer_take(state, bytes);
    return (*owner)->data;
}

void verify_scratch_drop(struct verify_state *state, struct verify_buffer *buffer)
{
    if (buffer)
        buffer_drop(state, buffer);
}

/* ---------------------------------------------------------------- values */
int64_t verify_type_count(const struct verify_state *state, const struct ir_type *type)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < type->rank; i++)
        n *= state->program->ints[type->ints + i];
    return n;
}

void *verify_data(const struct verify_value *value)
{
    return value->buffer->data;
}

void verify_value_alloc(struct verify_state *state, struct verify_value *value, bool splat)
{
    size_t n = splat ? 1 : (size_t)verify_type_count(state, value->type);
    value->splat = splat;
    value->buffer = buffer_take(state, n * verify_element_size((enum ir_element)value->type->element));
}

void verify_value_share(struct verify_value *to, const struct verify_value *from)
{
    to->buffer = from->buffer;
    to->splat = from->splat;
    if (to->buffer)
        to->buffer->uses++;
}

void verify_value_drop(struct verify_state *state, struct verify_value *value)
{
    if (value->buffer)
        buffer_drop(state, value->buffer);
    value->buffer = NULL;
}

static void fill(void *to, const void *element, size_t size, int64_t n)
{
    switch (size) {
    case 1: memset(to, *(const unsigned char *)element, (size_t)n); break;
    case 4:
        for (int64_t i = 0; i < n; i++)
            ((uint32_t *)to)[i] = *(const uint32_t *)element;
        break;
    case 8:
        for (int64_t i = 0; i < n; i++)
            ((uint64_t *)to)[i] = *(const uint64_t *)element;
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)to + (size_t)i * size, element, size);
    }
}

void verify_value_dense(struct verify_state *state, struct verify_value *value)
{
    if (!value->splat || !value->buffer)
        return;
    struct verify_value dense = {.type = value->type};
    verify_value_alloc(state, &dense, false);
    fill(verify_data(&dense), verify_data(value), verify_element_size((enum ir_element)value->type->element),
         verify_type_count(state, value->type));
    verify_value_drop(state, value);
    *value = dense;
}

int64_t verify_value_int(const struct verify_value *value, int64_t index)
{
    int64_t i = value->splat ? 0 : index;
    if (verify_store_of((enum ir_element)value->type->element) == VERIFY_U8)
        return ((const uint8_t *)verify_data(value))[i];
    return ((const int64_t *)verify_data(value))[i];
}

enum error_code verify_fail(const struct verify_state *state, uint32_t op, enum error_code code,
                            struct error *e, const char *format, ...)
{
    char why[600];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    const struct ir_op *ir_op = &state->program->ops[op];
    return error_set_at(e, code, (int)ir_op->line, (int)ir_op->column, "%s: %s",
                        ir_op_name(state->program, op), why);
}

/* ---------------------------------------------------------------- constants */
static uint64_t load(const unsigned char *bytes, uint32_t size)
{
    uint64_t x = 0;
    memcpy(&x, bytes, size > 8 ? 8 : size); /* little-endian hosts only, as the image */
    return x;
}

static void decode(enum ir_element element, const unsigned char *from, uint32_t size, void *to, int64_t n)
{
    enum verify_store store = verify_store_of(element);
    for (int64_t i = 0; i < n; i++, from += size) {
        switch (store) {
        case VERIFY_U8: ((uint8_t *)to)[i] = from[0] != 0; break;
        case VERIFY_I64: {
            uint64_t x = load(from, size);
            unsigned shift = size >= 8 ? 0 : 64 - 8 * size;
            ((int64_t *)to)[i] =
                verify_element_unsigned(element) ? (int64_t)x : (int64_t)(x << shift) >> shift;
            break;
        }
        case VERIFY_F32:
            if (size == 4)
                memcpy((float *)to + i, from, 4);
            else
                ((float *)to)[i] = (float)verify_decode_float(element, (uint32_t)load(from, size));
            break;
        case VERIFY_F64:
        case VERIFY_C64:
        case VERIFY_C128:
            memcpy((char *)to + (size_t)i * verify_element_size(element), from, verify_element_size(element));
            break;
        case VERIFY_NONE: break;
        }
    }
    if (store == VERIFY_I64)
        verify_round_all(element, to, n); /* i2 and i4 lie in bytes */
}

enum error_code verify_constant(struct verify_state *state, uint32_t op, const struct ir_attr *dense,
                                struct verify_value *out, struct error *e)
{
    enum ir_element element = (enum ir_element)out->type->element;
    if (!dense || dense->kind != IR_ATTR_DENSE)
        return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "only dense constants can be interpreted");
    const struct ir_constant *constant = &state->program->constants[dense->first];
    size_t size = verify_element_size(element);
    uint32_t least = element == IR_F64 || size > 8 || element == IR_C64 ? (uint32_t)size
                     : element == IR_F32                                ? 4
                                                                        : 1;
    if (constant->element_bytes < least ||
        (uint64_t)verify_type_count(state, out->type) * constant->element_bytes >
            constant->size * (constant->splat ? UINT32_MAX : 1))
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "the constant's data does not fit its type");
    bool splat = constant->splat || verify_type_count(state, out->type) == 1;
    verify_value_alloc(state, out, splat);
    decode(element, state->program->bytes + constant->offset, constant->element_bytes, verify_data(out),
           splat ? 1 : verify_type_count(state, out->type));
    return ERROR_OK;
}
