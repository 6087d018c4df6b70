/* Decodes the attributes of ops that have structure (attrs.h): dialect attributes from their text
 * (`#stablehlo.gather<offset_dims = [1], ..>`, whose fields come in any order and are left out when they are
 * empty or zero), lists from arrays and dense constants, and elements of constants.
 *
 * Every value is read from the program each time it is asked for; nothing is cached or allocated (ir_matrix
 * apart). Malformed text gives -1, never a crash: ir_verify calls these functions first, on text from
 * anywhere. */
#include "ir/attrs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ text of dialect attributes */
static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* the text after `name =`, where name is a whole word; NULL when there is no such field */
static const char *field(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = strstr(text, name); s; s = strstr(s + n, name)) {
        if ((s > text && is_word(s[-1])) || is_word(s[n]))
            continue;
        const char *v = s + n;
        while (isspace((unsigned char)*v))
            v++;
        if (*v != '=')
            continue;
        v++;
        while (isspace((unsigned char)*v))
            v++;
        return v;
    }
    return NULL;
}

/* "[1, 2]" -> list; 0 on success */
static int parse_list(const char *s, struct ir_dims *out)
{
    out->count = 0;
    if (!s || *s != '[')
        return -1;
    for (s++; *s != ']';) {
        while (isspace((unsigned char)*s) || *s == ',')
            s++;
        if (*s == ']')
            break;
        char *end;
        long long n = strtoll(s, &end, 10);
        if (end == s || out->count == IR_MAX_RANK)
            return -1;
        out->at[out->count++] = n;
        s = end;
    }
    return 0;
}

/* an absent field is an empty list */
static int field_list(const char *text, const char *name, struct ir_dims *out)
{
    const char *s = field(text, name);
    out->count = 0;
    return s ? parse_list(s, out) : 0;
}

static int64_t field_int(const char *text, const char *name)
{
    const char *s = field(text, name);
    return s ? strtoll(s, NULL, 10) : 0;
}

static const char *attr_text(const struct ir_program *p, uint32_t op, const char *name)
{
    const struct ir_attr *a = ir_attr_find(p, op, name);
    return a && a->kind == IR_ATTR_TEXT ? ir_string(p, a->first) : NULL;
}

/* ------------------------------------------------------------------ constants */
static uint64_t constant_elements(const struct ir_program *p, const struct ir_attr *dense)
{
    return dense->type == IR_NONE ? 0 : (uint64_t)ir_type_elements(p, &p->types[dense->type]);
}

static const unsigned char *element(const struct ir_program *p, const struct ir_attr *dense, uint64_t index)
{
    if (dense->kind != IR_ATTR_DENSE)
        return NULL; /* kept as text */
    const struct ir_constant *c = &p->constants[dense->first];
    uint64_t at = c->splat ? 0 : index * c->element_bytes;
    return at + c->element_bytes <= c->size ? p->bytes + c->offset + at : NULL;
}

static double small_float(uint32_t bits, int exponent_bits, int mantissa_bits, int bias)
{
    uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
    int exponent = (int)(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
    double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1,
           value = (double)mantissa / (double)(1u << mantissa_bits);
    int power = exponent ? exponent - bias : 1 - bias;
    value += exponent ? 1 : 0;
    for (; power > 0; power--)
        value *= 2;
    for (; power < 0; power++)
        value /= 2;
    return sign * value;
}

static double half_to_double(uint16_t bits)
{
    if ((bits & 0x7c00) == 0x7c00)
        return bits & 0x3ff ? __builtin_nan("") : bits & 0x8000 ? -__builtin_inf() : __builtin_inf();
    return small_float(bits, 5, 10, 15);
}

double ir_constant_double(const struct ir_program *p, const struct ir_attr *dense, uint64_t index)
{
    const unsigned char *b = element(p, dense, index);
    if (!b)
        return 0;
    enum ir_element e = (enum ir_element)p->types[dense->type].element;
    uint16_t half;
    uint32_t word;
    float f;
    double d;
    switch ((int)e) {
    case IR_F64:
    case IR_C128: memcpy(&d, b, 8); return d;
    case IR_F32:
    case IR_C64:
    case IR_TF32: memcpy(&f, b, 4); return (double)f;
    case IR_BF16:
        memcpy(&half, b, 2);
        word = (uint32_t)half << 16;
        memcpy(&f, &word, 4);
        return (double)f;
    case IR_F16: memcpy(&half, b, 2); return half_to_double(half);
    case IR_F8E4M3:
    case IR_F8E4M3FN: return small_float(*b, 4, 3, 7);
    case IR_F8E4M3FNUZ: return small_float(*b, 4, 3, 8);
    case IR_F8E4M3B11FNUZ: return small_float(*b, 4, 3, 11);
    case IR_F8E5M2: return small_float(*b, 5, 2, 15);
    case IR_F8E5M2FNUZ: return small_float(*b, 5, 2, 16);
    case IR_F8E3M4: return small_float(*b, 3, 4, 3);
    default: return (double)ir_constant_int(p, dense, index);
    }
}

int64_t ir_constant_int(const struct ir_program *p, const struct ir_attr *dense, uint64_t index)
{
    const unsigned char *b = element(p, dense, index);
    if (!b)
        return 0;
    const struct ir_constant *c = &p->constants[dense->first];
    uint64_t raw = 0;
    memcpy(&raw, b, c->element_bytes < 8 ? c->element_bytes : 8);
    switch ((int)p->types[dense->type].element) {
    case IR_I8: return (int8_t)raw;
    case IR_I2: return (int64_t)(raw << 62) >> 62;
    case IR_I4: return (int64_t)(raw << 60) >> 60;
    case IR_I16: return (int16_t)raw;
    case IR_I32: return (int32_t)raw;
    case IR_I1: return raw & 1;
    case IR_BF16:
    case IR_F16:
    case IR_F32:
    case IR_F64:
    case IR_C64:
    case IR_C128: return (int64_t)ir_constant_double(p, dense, index);
    default: return (int64_t)raw;
    }
}

/* ------------------------------------------------------------------ lists, integers, words */
static int attr_list(const struct ir_program *p, const struct ir_attr *a, struct ir_dims *out)
{
    out->count = 0;
    if (!a)
        return 0;
    if (a->kind == IR_ATTR_INTS || a->kind == IR_ATTR_BOOLS) {
        if (a->count > IR_MAX_RANK)
            return -1;
        for (uint32_t i = 0; i < a->count; i++)
            out->at[out->count++] = p->ints[a->first + i];
        return 0;
    }
    if (a->kind == IR_ATTR_DENSE) {
        uint64_t n = constant_elements(p, a);
        if (n > IR_MAX_RANK)
            return -1;
        for (uint64_t i = 0; i < n; i++)
            out->at[out->count++] = ir_constant_int(p, a, i);
        return 0;
    }
    if (a->kind == IR_ATTR_ARRAY) {
        if (a->count > IR_MAX_RANK)
            return -1;
        for (uint32_t i = 0; i < a->count; i++) {
            if (p->attrs[a->first + i].kind != IR_ATTR_INT)
                return -1;
            out->at[out->count++] = p->attrs[a->first + i].value;
        }
        return 0;
    }
    return -1;
}

int ir_dims(const struct ir_program *p, uint32_t op, const char *name, struct ir_dims *out)
{
    return attr_list(p, ir_attr_find(p, op, name), out);
}

int64_t ir_int(const struct ir_program *p, uint32_t op, const char *name, int64_t absent)
{
    const struct ir_attr *a = ir_attr_find(p, op, name);
    if (!a)
        return absent;
    return a->kind == IR_ATTR_INT || a->kind == IR_ATTR_BOOL ? a->value
           : a->kind == IR_ATTR_UNIT                         ? 1
                                                             : absent;
}

void ir_word(const struct ir_program *p, uint32_t op, const char *name, char out[32])
{
    const char *text = attr_text(p, op, name);
    out[0] = 0;
    const char *end = text ? strrchr(text, '>') : NULL;
    if (!end)
        return;
    const char *start = end;
    while (start > text && is_word(start[-1]))
        start--;
    snprintf(out, 32, "%.*s", (int)(end - start < 31 ? end - start : 31), start);
}

int64_t *ir_matrix(const struct ir_program *p, uint32_t op, const char *name, uint32_t *rows,
                   uint32_t *columns)
{
    const struct ir_attr *a = ir_attr_find(p, op, name);
    *rows = *columns = 0;
    if (!a || a->kind != IR_ATTR_DENSE || p->types[a->type].rank != 2)
        return NULL;
    const int64_t *dims = ir_type_dims(p, &p->types[a->type]);
    uint64_t n = constant_elements(p, a);
    int64_t *out = mem_zalloc(n + 1, sizeof *out);
    for (uint64_t i = 0; i < n; i++)
        out[i] = ir_constant_int(p, a, i);
    *rows = (uint32_t)dims[0];
    *columns = (uint32_t)dims[1];
    return out;
}

/* ------------------------------------------------------------------ dot, gather, scatter */
int ir_dot(const struct ir_program *p, uint32_t op, struct ir_dot *out)
{
    memset(out, 0, sizeof *out);
    if (p->ops[op].code == IR_DOT) {
        uint32_t rank = ir_value_type(p, ir_operand(p, op, 0))->rank;
        if (rank == 0)
            return -1;
        out->lhs_contract = (struct ir_dims){{rank - 1}, 1};
        out->rhs_contract = (struct ir_dims){{0}, 1};
        return 0;
    }
    const char *text = attr_text(p, op, "dot_dimension_numbers");
    if (!text)
        return -1;
    if (field_list(text, "lhs_batching_dimensions", &out->lhs_batch) ||
        field_list(text, "rhs_batching_dimensions", &out->rhs_batch) ||
        field_list(text, "lhs_contracting_dimensions", &out->lhs_contract) ||
        field_list(text, "rhs_contracting_dimensions", &out->rhs_contract))
        return -1;
    return out->lhs_batch.count == out->rhs_batch.count && out->lhs_contract.count == out->rhs_contract.count
               ? 0
               : -1;
}

int ir_gather(const struct ir_program *p, uint32_t op, struct ir_gather *out)
{
    memset(out, 0, sizeof *out);
    const char *text = attr_text(p, op, "dimension_numbers");
    if (!text || field_list(text, "offset_dims", &out->offset_dims) ||
        field_list(text, "collapsed_slice_dims", &out->collapsed_dims) ||
        field_list(text, "operand_batching_dims", &out->operand_batch) ||
        field_list(text, "start_indices_batching_dims", &out->indices_batch) ||
        field_list(text, "start_index_map", &out->start_index_map) ||
        ir_dims(p, op, "slice_sizes", &out->slice_sizes))
        return -1;
    out->index_vector_dim = field_int(text, "index_vector_dim");
    return 0;
}

int ir_scatter(const struct ir_program *p, uint32_t op, struct ir_scatter *out)
{
    memset(out, 0, sizeof *out);
    const char *text = attr_text(p, op, "scatter_dimension_numbers");
    if (!text || field_list(text, "update_window_dims", &out->update_window_dims) ||
        field_list(text, "inserted_window_dims", &out->inserted_window_dims) ||
        field_list(text, "input_batching_dims", &out->input_batch) ||
        field_list(text, "scatter_indices_batching_dims", &out->indices_batch) ||
        field_list(text, "scatter_dims_to_operand_dims", &out->dims_to_operand))
        return -1;
    out->index_vector_dim = field_int(text, "index_vector_dim");
    out->unique_indices = ir_int(p, op, "unique_indices", 0) != 0;
    if (p->ops[op].operand_count < 3 || p->ops[op].operand_count % 2 == 0)
        return -1;
    out->input_count = (p->ops[op].operand_count - 1) / 2;
    return 0;
}

/* ------------------------------------------------------------------ windows and convolution */
static void fill_with(struct ir_dims *d, uint32_t count, int64_t value)
{
    if (d->count)
        return;
    for (uint32_t i = 0; i < count; i++)
        d->at[i] = value;
    d->count = count;
}

/* padding: Nx2 dense, absent = zeros */
static int read_padding(const struct ir_program *p, uint32_t op, struct ir_window *w, uint32_t count)
{
    const struct ir_attr *a = ir_attr_find(p, op, "padding");
    fill_with(&w->low, count, 0);
    fill_with(&w->high, count, 0);
    if (!a)
        return 0;
    if (a->kind != IR_ATTR_DENSE || constant_elements(p, a) != (uint64_t)count * 2)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        w->low.at[i] = ir_constant_int(p, a, 2 * i);
        w->high.at[i] = ir_constant_int(p, a, 2 * i + 1);
    }
    return 0;
}

static int read_window(const struct ir_program *p, uint32_t op, struct ir_window *w, const char *stride,
                       const char *base, const char *window)
{
    uint32_t count = w->size.count;
    if (ir_dims(p, op, stride, &w->stride) || ir_dims(p, op, base, &w->base_dilation) ||
        ir_dims(p, op, window, &w->window_dilation) || ir_dims(p, op, "window_reversal", &w->reversal))
        return -1;
    fill_with(&w->stride, count, 1);
    fill_with(&w->base_dilation, count, 1);
    fill_with(&w->window_dilation, count, 1);
    fill_with(&w->reversal, count, 0);
    if (w->stride.count != count || w->base_dilation.count != count || w->window_dilation.count != count ||
        w->reversal.count != count)
        return -1;
    return read_padding(p, op, w, count);
}

int ir_reduce_window(const struct ir_program *p, uint32_t op, struct ir_window *out)
{
    memset(out, 0, sizeof *out);
    if (ir_dims(p, op, "window_dimensions", &out->size))
        return -1;
    return read_window(p, op, out, "window_strides", "base_dilations", "window_dilations");
}

int ir_select_and_scatter(const struct ir_program *p, uint32_t op, struct ir_window *out)
{
    return ir_reduce_window(p, op, out);
}

/* "[b, 0, 1, f]": positions of two letters and of the numbers */
static const char *conv_part(const char *s, char first, char second, int64_t *a, int64_t *b,
                             struct ir_dims *spatial)
{
    s = strchr(s, '[');
    if (!s)
        return NULL;
    *a = *b = -1;
    spatial->count = 0;
    int64_t position = 0;
    for (s++; *s && *s != ']'; position++) {
        while (isspace((unsigned char)*s) || *s == ',')
            s++;
        if (*s == first || *s == second) {
            *(*s == first ? a : b) = position;
            s++;
        } else if (isdigit((unsigned char)*s)) {
            char *end;
            long n = strtol(s, &end, 10);
            if (n < 0 || n >= IR_MAX_RANK)
                return NULL;
            spatial->at[n] = position;
            spatial->count++;
            s = end;
        } else {
            return NULL;
        }
        while (isspace((unsigned char)*s))
            s++;
    }
    return *s == ']' && *a >= 0 && *b >= 0 ? s + 1 : NULL;
}

int ir_conv(const struct ir_program *p, uint32_t op, struct ir_conv *out)
{
    memset(out, 0, sizeof *out);
    const char *s = attr_text(p, op, "dimension_numbers");
    if (s)
        s = conv_part(s, 'b', 'f', &out->input_batch, &out->input_feature, &out->input_spatial);
    if (s)
        s = conv_part(s, 'i', 'o', &out->kernel_input, &out->kernel_output, &out->kernel_spatial);
    if (s)
        s = conv_part(s, 'b', 'f', &out->output_batch, &out->output_feature, &out->output_spatial);
    if (!s || out->input_spatial.count != out->kernel_spatial.count ||
        out->input_spatial.count != out->output_spatial.count)
        return -1;
    const struct ir_type *kernel = ir_value_type(p, ir_operand(p, op, 1));
    out->window.size.count = out->kernel_spatial.count;
    for (uint32_t i = 0; i < out->kernel_spatial.count; i++) {
        if (out->kernel_spatial.at[i] >= kernel->rank)
            return -1;
        out->window.size.at[i] = ir_type_dims(p, kernel)[out->kernel_spatial.at[i]];
    }
    out->feature_groups = ir_int(p, op, "feature_group_count", 1);
    out->batch_groups = ir_int(p, op, "batch_group_count", 1);
    return read_window(p, op, &out->window, "window_strides", "lhs_dilation", "rhs_dilation");
}
