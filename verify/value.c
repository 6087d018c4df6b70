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
void verify_tensor_release(struct verify_tensor *t)
{
    free(t->data);
    t->data = NULL;
}

int64_t verify_tensor_count(const struct verify_tensor *t)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

enum error_code verify_tensor_create(const struct ir_program *p, uint32_t type, struct verify_tensor *out,
                                     struct error *e)
{
    const struct ir_type *t = &p->types[type];
    size_t size = t->kind == IR_TYPE_TENSOR ? verify_element_size((enum ir_element)t->element) : 0;
    if (size == 0 || t->rank > IR_MAX_RANK || (t->flags & (IR_TYPE_DYNAMIC | IR_TYPE_UNRANKED)))
        return error_set(e, ERROR_NOT_AVAILABLE, "values of type %s cannot be interpreted",
                         ir_string(p, t->text));
    memset(out, 0, sizeof *out);
    out->element = (enum ir_element)t->element;
    out->rank = t->rank;
    for (uint32_t i = 0; i < t->rank; i++)
        out->dims[i] = ir_type_dims(p, t)[i];
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

static struct verify_buffer *buffer_take(struct verify_state *s, size_t bytes)
{
    uint32_t bin = bin_of(bytes);
    struct verify_buffer *b = s->free[bin];
    if (b) {
        s->free[bin] = b->next;
    } else if (posix_memalign((void **)&b, 64, sizeof *b + ((size_t)1 << bin)) != 0) {
        abort(); /* as mem_alloc: running out of memory ends the process */
    }
    b->uses = 1;
    b->bin = bin;
    b->next = NULL;
    return b;
}

static void buffer_drop(struct verify_state *s, struct verify_buffer *b)
{
    if (--b->uses > 0)
        return;
    b->next = s->free[b->bin];
    s->free[b->bin] = b;
}

void verify_state_release(struct verify_state *s)
{
    for (uint32_t v = 0; s->slots && v < s->p->value_count; v++) {
        for (uint32_t d = 0; d < s->slots[v].devices; d++)
            verify_value_drop(s, &s->slots[v].at[d]);
        free(s->slots[v].at);
    }
    for (int i = 0; i < VERIFY_BINS; i++)
        for (struct verify_buffer *b = s->free[i], *next; b; b = next) {
            next = b->next;
            free(b);
        }
    free(s->slots);
    free((void *)(uintptr_t)s->release);
    free((void *)(uintptr_t)s->release_at);
    free(s->active);
}

void *verify_scratch(struct verify_state *s, size_t bytes, struct verify_buffer **owner)
{
    *owner = buffer_take(s, bytes);
    return (*owner)->data;
}

void verify_scratch_drop(struct verify_state *s, struct verify_buffer *b)
{
    if (b)
        buffer_drop(s, b);
}

/* ---------------------------------------------------------------- values */
int64_t verify_type_count(const struct verify_state *s, const struct ir_type *t)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= s->p->ints[t->ints + i];
    return n;
}

void *verify_data(const struct verify_value *v)
{
    return v->buffer->data;
}

void verify_value_alloc(struct verify_state *s, struct verify_value *v, bool splat)
{
    size_t n = splat ? 1 : (size_t)verify_type_count(s, v->type);
    v->splat = splat;
    v->buffer = buffer_take(s, n * verify_element_size((enum ir_element)v->type->element));
}

void verify_value_share(struct verify_value *to, const struct verify_value *from)
{
    to->buffer = from->buffer;
    to->splat = from->splat;
    if (to->buffer)
        to->buffer->uses++;
}

void verify_value_drop(struct verify_state *s, struct verify_value *v)
{
    if (v->buffer)
        buffer_drop(s, v->buffer);
    v->buffer = NULL;
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

void verify_value_dense(struct verify_state *s, struct verify_value *v)
{
    if (!v->splat || !v->buffer)
        return;
    struct verify_value dense = {.type = v->type};
    verify_value_alloc(s, &dense, false);
    fill(verify_data(&dense), verify_data(v), verify_element_size((enum ir_element)v->type->element),
         verify_type_count(s, v->type));
    verify_value_drop(s, v);
    *v = dense;
}

int64_t verify_value_int(const struct verify_value *v, int64_t index)
{
    int64_t i = v->splat ? 0 : index;
    if (verify_store_of((enum ir_element)v->type->element) == VERIFY_U8)
        return ((const uint8_t *)verify_data(v))[i];
    return ((const int64_t *)verify_data(v))[i];
}

enum error_code verify_fail(const struct verify_state *s, uint32_t op, enum error_code code, struct error *e,
                            const char *format, ...)
{
    char why[600];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    const struct ir_op *o = &s->p->ops[op];
    return error_set_at(e, code, (int)o->line, (int)o->column, "%s: %s", ir_op_name(s->p, op), why);
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

enum error_code verify_constant(struct verify_state *s, uint32_t op, const struct ir_attr *dense,
                                struct verify_value *out, struct error *e)
{
    enum ir_element element = (enum ir_element)out->type->element;
    if (!dense || dense->kind != IR_ATTR_DENSE)
        return verify_fail(s, op, ERROR_NOT_AVAILABLE, e, "only dense constants can be interpreted");
    const struct ir_constant *c = &s->p->constants[dense->first];
    size_t size = verify_element_size(element);
    uint32_t least = element == IR_F64 || size > 8 || element == IR_C64 ? (uint32_t)size
                     : element == IR_F32                                ? 4
                                                                        : 1;
    if (c->element_bytes < least ||
        (uint64_t)verify_type_count(s, out->type) * c->element_bytes > c->size * (c->splat ? UINT32_MAX : 1))
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "the constant's data does not fit its type");
    bool splat = c->splat || verify_type_count(s, out->type) == 1;
    verify_value_alloc(s, out, splat);
    decode(element, s->p->bytes + c->offset, c->element_bytes, verify_data(out),
           splat ? 1 : verify_type_count(s, out->type));
    return ERROR_OK;
}
