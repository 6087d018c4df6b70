/* Decodes the attributes of ops that have structure (attrs.h): dialect attributes from their text
 * (`#stablehlo.gather<offset_dims = [1], ..>`, whose fields come in any order and are left out when they are
 * empty or zero), lists from arrays and dense constants, and elements of constants.
 *
 * Every value is read from the program each time it is asked for; nothing is cached or allocated (ir_matrix
 * apart). Malformed text gives -1, never a crash: ir_verify calls these functions first, on text from
 * anywhere. */
#include "ir/attrs.h"

#include "base/hash.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ text of dialect attributes */
static bool is_word(char character)
{
    return isalnum((unsigned char)character) || character == '_';
}

/* the text after `name =`, where name is a whole word; NULL when there is no such field */
static const char *field(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *string = strstr(text, name); string; string = strstr(string + n, name)) {
        if ((string > text && is_word(string[-1])) || is_word(string[n]))
            continue;
        const char *v = string + n;
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
static int parse_list(const char *string, struct ir_dims *out)
{
    out->count = 0;
    if (!string || *string != '[')
        return -1;
    for (string++; *string != ']';) {
        while (isspace((unsigned char)*string) || *string == ',')
            string++;
        if (*string == ']')
            break;
        char *end;
        long long n = strtoll(string, &end, 10);
        if (end == string || out->count == IR_MAX_RANK)
            return -1;
        out->at[out->count++] = n;
        string = end;
    }
    return 0;
}

/* an absent field is an empty list */
static int field_list(const char *text, const char *name, struct ir_dims *out)
{
    const char *string = field(text, name);
    out->count = 0;
    return string ? parse_list(string, out) : 0;
}

static int64_t field_int(const char *text, const char *name)
{
    const char *string = field(text, name);
    return string ? strtoll(string, NULL, 10) : 0;
}

static const char *attr_text(const struct ir_program *program, uint32_t op, const char *name)
{
    const struct ir_attr *attr = ir_attr_find(program, op, name);
    return attr && attr->kind == IR_ATTR_TEXT ? ir_string(program, attr->first) : NULL;
}

/* ------------------------------------------------------------------ constants */
static uint64_t constant_elements(const struct ir_program *program, const struct ir_attr *dense)
{
    return dense->type == IR_NONE ? 0 : (uint64_t)ir_type_elements(program, &program->types[dense->type]);
}

static const unsigned char *element(const struct ir_program *program, const struct ir_attr *dense,
                                    uint64_t index)
{
    if (dense->kind != IR_ATTR_DENSE)
        return NULL; /* kept as text */
    const struct ir_constant *constant = &program->constants[dense->first];
    uint64_t at = constant->splat ? 0 : index * constant->element_bytes;
    return at + constant->element_bytes <= constant->size ? program->bytes + constant->offset + at : NULL;
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

double ir_constant_double(const struct ir_program *program, const struct ir_attr *dense, uint64_t index)
{
    const unsigned char *b = element(program, dense, index);
    if (!b)
        return 0;
    enum ir_element e = (enum ir_element)program->types[dense->type].element;
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
    default: return (double)ir_constant_int(program, dense, index);
    }
}

int64_t ir_constant_int(const struct ir_program *program, const struct ir_attr *dense, uint64_t index)
{
    const unsigned char *b = element(program, dense, index);
    if (!b)
        return 0;
    const struct ir_constant *constant = &program->constants[dense->first];
    uint64_t raw = 0;
    memcpy(&raw, b, constant->element_bytes < 8 ? constant->element_bytes : 8);
    switch ((int)program->types[dense->type].element) {
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
    case IR_C128: return (int64_t)ir_constant_double(program, dense, index);
    default: return (int64_t)raw;
    }
}

/* ------------------------------------------------------------------ lists, integers, words */
static int attr_list(const struct ir_program *program, const struct ir_attr *attr, struct ir_dims *out)
{
    out->count = 0;
    if (!attr)
        return 0;
    if (attr->kind == IR_ATTR_INTS || attr->kind == IR_ATTR_BOOLS) {
        if (attr->count > IR_MAX_RANK)
            return -1;
        for (uint32_t i = 0; i < attr->count; i++)
            out->at[out->count++] = program->ints[attr->first + i];
        return 0;
    }
    if (attr->kind == IR_ATTR_DENSE) {
        uint64_t n = constant_elements(program, attr);
        if (n > IR_MAX_RANK)
            return -1;
        for (uint64_t i = 0; i < n; i++)
            out->at[out->count++] = ir_constant_int(program, attr, i);
        return 0;
    }
    if (attr->kind == IR_ATTR_ARRAY) {
        if (attr->count > IR_MAX_RANK)
            return -1;
        for (uint32_t i = 0; i < attr->count; i++) {
            if (program->attrs[attr->first + i].kind != IR_ATTR_INT)
                return -1;
            out->at[out->count++] = program->attrs[attr->first + i].value;
        }
        return 0;
    }
    return -1;
}

bool ir_dims_has(const struct ir_dims *list, int64_t dim)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->at[i] == dim)
            return true;
    return false;
}

int ir_dims(const struct ir_program *program, uint32_t op, const char *name, struct ir_dims *out)
{
    return attr_list(program, ir_attr_find(program, op, name), out);
}

int64_t ir_int(const struct ir_program *program, uint32_t op, const char *name, int64_t absent)
{
    const struct ir_attr *attr = ir_attr_find(program, op, name);
    if (!attr)
        return absent;
    return attr->kind == IR_ATTR_INT || attr->kind == IR_ATTR_BOOL ? attr->value
           : attr->kind == IR_ATTR_UNIT                            ? 1
                                                                   : absent;
}

void ir_word(const struct ir_program *program, uint32_t op, const char *name, char out[32])
{
    const char *text = attr_text(program, op, name);
    out[0] = 0;
    const char *end = text ? strrchr(text, '>') : NULL;
    if (!end)
        return;
    const char *start = end;
    while (start > text && is_word(start[-1]))
        start--;
    snprintf(out, 32, "%.*s", (int)(end - start < 31 ? end - start : 31), start);
}

int64_t *ir_matrix(const struct ir_program *program, uint32_t op, const char *name, uint32_t *rows,
                   uint32_t *columns)
{
    const struct ir_attr *attr = ir_attr_find(program, op, name);
    *rows = *columns = 0;
    if (!attr || attr->kind != IR_ATTR_DENSE || program->types[attr->type].rank != 2)
        return NULL;
    const int64_t *dims = ir_type_dims(program, &program->types[attr->type]);
    uint64_t n = constant_elements(program, attr);
    int64_t *out = mem_zalloc(n + 1, sizeof *out);
    for (uint64_t i = 0; i < n; i++)
        out[i] = ir_constant_int(program, attr, i);
    *rows = (uint32_t)dims[0];
    *columns = (uint32_t)dims[1];
    return out;
}

/* ------------------------------------------------------------------ dot, gather, scatter */
int ir_dot(const struct ir_program *program, uint32_t op, struct ir_dot *out)
{
    memset(out, 0, sizeof *out);
    if (program->ops[op].code == IR_DOT) {
        uint32_t rank = ir_value_type(program, ir_operand(program, op, 0))->rank;
        if (rank == 0)
            return -1;
        out->lhs_contract = (struct ir_dims){{rank - 1}, 1};
        out->rhs_contract = (struct ir_dims){{0}, 1};
        return 0;
    }
    const char *text = attr_text(program, op, "dot_dimension_numbers");
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

int ir_gather(const struct ir_program *program, uint32_t op, struct ir_gather *out)
{
    memset(out, 0, sizeof *out);
    const char *text = attr_text(program, op, "dimension_numbers");
    if (!text || field_list(text, "offset_dims", &out->offset_dims) ||
        field_list(text, "collapsed_slice_dims", &out->collapsed_dims) ||
        field_list(text, "operand_batching_dims", &out->operand_batch) ||
        field_list(text, "start_indices_batching_dims", &out->indices_batch) ||
        field_list(text, "start_index_map", &out->start_index_map) ||
        ir_dims(program, op, "slice_sizes", &out->slice_sizes))
        return -1;
    out->index_vector_dim = field_int(text, "index_vector_dim");
    return 0;
}

int ir_scatter(const struct ir_program *program, uint32_t op, struct ir_scatter *out)
{
    memset(out, 0, sizeof *out);
    const char *text = attr_text(program, op, "scatter_dimension_numbers");
    if (!text || field_list(text, "update_window_dims", &out->update_window_dims) ||
        field_list(text, "inserted_window_dims", &out->inserted_window_dims) ||
        field_list(text, "input_batching_dims", &out->input_batch) ||
        field_list(text, "scatter_indices_batching_dims", &out->indices_batch) ||
        field_list(text, "scatter_dims_to_operand_dims", &out->dims_to_operand))
        return -1;
    out->index_vector_dim = field_int(text, "index_vector_dim");
    out->unique_indices = ir_int(program, op, "unique_indices", 0) != 0;
    if (program->ops[op].operand_count < 3 || program->ops[op].operand_count % 2 == 0)
        return -1;
    out->input_count = (program->ops[op].operand_count - 1) / 2;
    return 0;
}

/* ------------------------------------------------------------------ windows and convolution */
static void fill_with(struct ir_dims *dims, uint32_t count, int64_t value)
{
    if (dims->count)
        return;
    for (uint32_t i = 0; i < count; i++)
        dims->at[i] = value;
    dims->count = count;
}

/* padding: Nx2 dense, absent = zeros */
static int read_padding(const struct ir_program *program, uint32_t op, struct ir_window *window,
                        uint32_t count)
{
    const struct ir_attr *attr = ir_attr_find(program, op, "padding");
    fill_with(&window->low, count, 0);
    fill_with(&window->high, count, 0);
    if (!attr)
        return 0;
    if (attr->kind != IR_ATTR_DENSE || constant_elements(program, attr) != (uint64_t)count * 2)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        window->low.at[i] = ir_constant_int(program, attr, 2 * i);
        window->high.at[i] = ir_constant_int(program, attr, 2 * i + 1);
    }
    return 0;
}

static int read_window(const struct ir_program *program, uint32_t op, struct ir_window *ir_window,
                       const char *stride, const char *base, const char *window)
{
    uint32_t count = ir_window->size.count;
    if (ir_dims(program, op, stride, &ir_window->stride) ||
        ir_dims(program, op, base, &ir_window->base_dilation) ||
        ir_dims(program, op, window, &ir_window->window_dilation) ||
        ir_dims(program, op, "window_reversal", &ir_window->reversal))
        return -1;
    fill_with(&ir_window->stride, count, 1);
    fill_with(&ir_window->base_dilation, count, 1);
    fill_with(&ir_window->window_dilation, count, 1);
    fill_with(&ir_window->reversal, count, 0);
    if (ir_window->stride.count != count || ir_window->base_dilation.count != count ||
        ir_window->window_dilation.count != count || ir_window->reversal.count != count)
        return -1;
    return read_padding(program, op, ir_window, count);
}

int ir_reduce_window(const struct ir_program *program, uint32_t op, struct ir_window *out)
{
    memset(out, 0, sizeof *out);
    if (ir_dims(program, op, "window_dimensions", &out->size))
        return -1;
    return read_window(program, op, out, "window_strides", "base_dilations", "window_dilations");
}

int ir_select_and_scatter(const struct ir_program *program, uint32_t op, struct ir_window *out)
{
    return ir_reduce_window(program, op, out);
}

/* "[b, 0, 1, f]": positions of two letters and of the numbers */
static const char *conv_part(const char *string, char first, char second, int64_t *a, int64_t *b,
                             struct ir_dims *spatial)
{
    string = strchr(string, '[');
    if (!string)
        return NULL;
    *a = *b = -1;
    spatial->count = 0;
    int64_t position = 0;
    for (string++; *string && *string != ']'; position++) {
        while (isspace((unsigned char)*string) || *string == ',')
            string++;
        if (*string == first || *string == second) {
            *(*string == first ? a : b) = position;
            string++;
        } else if (isdigit((unsigned char)*string)) {
            char *end;
            long n = strtol(string, &end, 10);
            if (n < 0 || n >= IR_MAX_RANK)
                return NULL;
            spatial->at[n] = position;
            spatial->count++;
            string = end;
        } else {
            return NULL;
        }
        while (isspace((unsigned char)*string))
            string++;
    }
    return *string == ']' && *a >= 0 && *b >= 0 ? string + 1 : NULL;
}

int ir_conv(const struct ir_program *program, uint32_t op, struct ir_conv *out)
{
    memset(out, 0, sizeof *out);
    const char *string = attr_text(program, op, "dimension_numbers");
    if (string)
        string = conv_part(string, 'b', 'f', &out->input_batch, &out->input_feature, &out->input_spatial);
    if (string)
        string = conv_part(string, 'i', 'o', &out->kernel_input, &out->kernel_output, &out->kernel_spatial);
    if (string)
        string = conv_part(string, 'b', 'f', &out->output_batch, &out->output_feature, &out->output_spatial);
    if (!string || out->input_spatial.count != out->kernel_spatial.count ||
        out->input_spatial.count != out->output_spatial.count)
        return -1;
    const struct ir_type *kernel = ir_value_type(program, ir_operand(program, op, 1));
    out->window.size.count = out->kernel_spatial.count;
    for (uint32_t i = 0; i < out->kernel_spatial.count; i++) {
        if (out->kernel_spatial.at[i] >= kernel->rank)
            return -1;
        out->window.size.at[i] = ir_type_dims(program, kernel)[out->kernel_spatial.at[i]];
    }
    out->feature_groups = ir_int(program, op, "feature_group_count", 1);
    out->batch_groups = ir_int(program, op, "batch_group_count", 1);
    return read_window(program, op, &out->window, "window_strides", "lhs_dilation", "rhs_dilation");
}

/* ---- which ops are alike ---- */
static uint64_t attribute_key(const struct ir_program *program, const struct ir_attr *attr)
{
    uint64_t h = hash_combine(attr->kind, attr->name);
    h = hash_combine(h, attr->type);
    switch ((enum ir_attr_kind)attr->kind) {
    case IR_ATTR_INTS:
    case IR_ATTR_BOOLS:
        for (uint32_t i = 0; i < attr->count; i++)
            h = hash_combine(h, (uint64_t)program->ints[attr->first + i]);
        return h;
    case IR_ATTR_ARRAY:
    case IR_ATTR_DICTIONARY:
        for (uint32_t i = 0; i < attr->count; i++)
            h = hash_combine(h, attribute_key(program, &program->attrs[attr->first + i]));
        return h;
    case IR_ATTR_DENSE: return h;
    case IR_ATTR_UNIT:
    case IR_ATTR_BOOL:
    case IR_ATTR_INT:
    case IR_ATTR_TYPE: return hash_combine(h, (uint64_t)attr->value);
    case IR_ATTR_FLOAT:
    case IR_ATTR_STRING:
    case IR_ATTR_SYMBOL:
    case IR_ATTR_TEXT: return hash_combine(h, attr->first);
    }
    return h;
}

uint64_t ir_op_key(const struct ir_program *program, uint32_t op)
{
    const struct ir_op *ir_op = &program->ops[op];
    uint64_t h = hash_combine(ir_op->name, ir_op->operand_count);
    for (uint32_t i = 0; i < ir_op->operand_count; i++)
        h = hash_combine(h, program->values[ir_operand(program, op, i)].type);
    for (uint32_t i = 0; i < ir_op->result_count; i++)
        h = hash_combine(h, program->values[ir_op->results + i].type);
    for (uint32_t i = 0; i < ir_op->attr_count; i++)
        h = hash_combine(h, attribute_key(program, &program->attrs[ir_op->attrs + i]));
    for (uint32_t region = 0; region < ir_op->region_count; region++) {
        uint32_t block = ir_region_block(program, op, region);
        h = hash_combine(h, block == IR_NONE ? 0 : program->blocks[block].arg_count + 1);
        for (uint32_t i = 0; block != IR_NONE && i < program->blocks[block].op_count; i++)
            h = hash_combine(h, ir_op_key(program, program->block_ops[program->blocks[block].ops + i]));
    }
    return h ? h : 1;
}

uint64_t ir_op_content_key(const struct ir_program *program, uint32_t op)
{
    const struct ir_op *ir_op = &program->ops[op];
    uint64_t h = ir_op_key(program, op);
    for (uint32_t i = 0; i < ir_op->attr_count; i++) {
        const struct ir_attr *attr = &program->attrs[ir_op->attrs + i];
        if (attr->kind != IR_ATTR_DENSE)
            continue;
        const struct ir_constant *constant = &program->constants[attr->first];
        h = hash_combine(h, hash_bytes(program->bytes + constant->offset, constant->size, constant->splat));
    }
    return h;
}
