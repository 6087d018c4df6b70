/* A program computed in f64 (verify_wide in prove.h): a view whose floats are all f64, and complex numbers
 * two of them. Rounding is a billionth of what it is in f32, so that it hides a billionth as much: what a
 * small gradient adds to a large parameter, one tensor's part of a norm over all.
 *
 * Only types and constants differ; ops, operands and regions are the program's own. bitcast_convert reads the
 * bits that a number had before (verify_options.narrow). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "verify/prove.h"
#include "verify/value.h"

static enum ir_element widened(enum ir_element element)
{
    switch (verify_store_of(element)) {
    case VERIFY_F32: return IR_F64;
    case VERIFY_C64: return IR_C128;
    case VERIFY_NONE:
    case VERIFY_U8:
    case VERIFY_I64:
    case VERIFY_F64:
    case VERIFY_C128: break;
    }
    return element;
}

static bool widens(const struct ir_program *program, uint32_t type)
{
    return type != IR_NONE && program->types[type].kind == IR_TYPE_TENSOR &&
           widened((enum ir_element)program->types[type].element) != program->types[type].element;
}

static bool is_constant(const struct ir_program *program, const struct ir_attr *attr)
{
    return attr->kind == IR_ATTR_DENSE && widens(program, attr->type);
}

/* parts of the constant's numbers that are stored: two for each complex number */
static uint64_t parts_of(const struct ir_program *program, const struct ir_attr *attr)
{
    const struct ir_constant *constant = &program->constants[attr->first];
    enum ir_element element = (enum ir_element)program->types[attr->type].element;
    uint64_t parts = element == IR_C64 || element == IR_C128 ? 2 : 1;
    return constant->element_bytes ? constant->size / constant->element_bytes * parts : 0;
}

static double part(const struct ir_program *program, const struct ir_attr *attr, uint64_t index)
{
    float x;
    double y;
    if (program->types[attr->type].element == IR_C128) {
        memcpy(&y, program->bytes + program->constants[attr->first].offset + index * sizeof y, sizeof y);
        return y;
    }
    if (program->types[attr->type].element != IR_C64)
        return ir_constant_double(program, attr, index);
    memcpy(&x, program->bytes + program->constants[attr->first].offset + index * sizeof x, sizeof x);
    return (double)x;
}

static void widen_constants(const struct ir_program *program, struct verify_wide *out)
{
    uint64_t bytes = program->byte_count, at = bytes = (bytes + 7) & ~(uint64_t)7;
    uint32_t count = program->constant_count;
    for (uint32_t i = 0; i < program->attr_count; i++)
        if (is_constant(program, &program->attrs[i])) {
            bytes += parts_of(program, &program->attrs[i]) * sizeof(double);
            count++;
        }
    out->attrs = mem_alloc((size_t)(program->attr_count + 1) * sizeof *out->attrs);
    out->constants = mem_alloc((size_t)(count + 1) * sizeof *out->constants);
    out->bytes = mem_zalloc((size_t)bytes + 1, 1);
    memcpy(out->attrs, program->attrs, (size_t)program->attr_count * sizeof *out->attrs);
    memcpy(out->constants, program->constants, (size_t)program->constant_count * sizeof *out->constants);
    memcpy(out->bytes, program->bytes, (size_t)program->byte_count);
    count = program->constant_count;
    for (uint32_t i = 0; i < program->attr_count; i++) {
        const struct ir_attr *attr = &program->attrs[i];
        if (!is_constant(program, attr))
            continue;
        uint64_t parts = parts_of(program, attr);
        for (uint64_t k = 0; k < parts; k++) {
            double x = part(program, attr, k);
            memcpy(out->bytes + at + k * sizeof x, &x, sizeof x);
        }
        bool complex_number = program->types[attr->type].element == IR_C64;
        out->constants[count] = (struct ir_constant){at, parts * sizeof(double), complex_number ? 16 : 8,
                                                     program->constants[attr->first].splat};
        out->attrs[i].first = count++;
        at += parts * sizeof(double);
    }
    out->program.attrs = out->attrs;
    out->program.constants = out->constants;
    out->program.constant_count = count;
    out->program.bytes = out->bytes;
    out->program.byte_count = bytes;
}

bool verify_wide_make(const struct ir_program *program, struct verify_wide *out)
{
    bool any = false;
    *out = (struct verify_wide){.program = *program};
    out->program.owned = false;
    out->types = mem_alloc((size_t)(program->type_count + 1) * sizeof *out->types);
    memcpy(out->types, program->types, (size_t)program->type_count * sizeof *out->types);
    for (uint32_t i = 0; i < program->type_count; i++)
        if (widens(program, i)) {
            out->types[i].element = (uint16_t)widened((enum ir_element)program->types[i].element);
            any = true;
        }
    out->program.types = out->types;
    widen_constants(program, out);
    return any;
}

void verify_wide_release(struct verify_wide *wide)
{
    free(wide->types);
    free(wide->attrs);
    free(wide->constants);
    free(wide->bytes);
    free(wide->ops);
    free(wide->operands);
    *wide = (struct verify_wide){0};
}

static int64_t parts_count(const struct verify_tensor *tensor)
{
    return verify_tensor_count(tensor) * (verify_store_of(tensor->element) >= VERIFY_C64 ? 2 : 1);
}

static struct verify_tensor copied(const struct verify_tensor *from)
{
    struct verify_tensor to = *from;
    size_t bytes = (size_t)verify_tensor_count(from) * verify_element_size(from->element);
    to.data = mem_alloc(bytes + 16);
    memcpy(to.data, from->data, bytes);
    return to;
}

struct verify_tensor verify_wide_tensor(const struct verify_tensor *from)
{
    if (widened(from->element) == from->element)
        return copied(from);
    struct verify_tensor to = *from;
    int64_t count = parts_count(from);
    double *numbers = mem_alloc((size_t)count * sizeof *numbers + 16);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = (double)((const float *)from->data)[i];
    to.element = widened(from->element);
    to.data = numbers;
    return to;
}

struct verify_tensor verify_narrow_tensor(const struct verify_tensor *from, enum ir_element element)
{
    if (element == from->element)
        return copied(from);
    struct verify_tensor to = *from;
    int64_t count = parts_count(from);
    float *numbers = mem_alloc((size_t)count * sizeof *numbers + 16);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = verify_round(element, ((const double *)from->data)[i]);
    to.element = element;
    to.data = numbers;
    return to;
}

/* ---------------------------------------------------------------- constants of two programs */
typedef VEC(double) number_list;

static bool is_number(const struct ir_program *program, const struct ir_attr *attr)
{
    return attr->kind == IR_ATTR_DENSE && attr->type != IR_NONE &&
           ir_element_is_float((enum ir_element)program->types[attr->type].element);
}

/* the finite ones, as no NaN has a place in an order */
static void add_numbers(const struct ir_program *program, number_list *out)
{
    for (uint32_t i = 0; i < program->attr_count; i++) {
        const struct ir_attr *attr = &program->attrs[i];
        for (uint64_t k = 0; is_number(program, attr) && k < parts_of(program, attr); k++)
            if (isfinite(part(program, attr, k)))
                VEC_PUSH(out, part(program, attr, k));
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool verify_constants_differ(const struct ir_program *original, const struct ir_program *lowered)
{
    number_list has = {0}, other = {0};
    bool differ = false;
    add_numbers(original, &has);
    add_numbers(lowered, &other);
    if (has.count)
        qsort(has.at, has.count, sizeof *has.at, by_size);
    for (size_t i = 0; i < other.count && !differ; i++) {
        double x = other.at[i];
        differ =
            x != 0 && fabs(x) != 1 && !(has.count && bsearch(&x, has.at, has.count, sizeof *has.at, by_size));
    }
    VEC_FREE(&has);
    VEC_FREE(&other);
    return differ;
}
