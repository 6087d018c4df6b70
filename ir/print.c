/* Printing a program (print.h), generic form: one walk over the image, no allocation but the text and one
 * number a value. Pretty forms are print_form.c's and print_special.c's. Values get numbers in the order in
 * which they are printed; an op with several results takes one number (`%3:2` where it is defined, `%3#1`
 * where its second result is used). */
#include "ir/printer.h"

#include "ir/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Constants of more elements are printed as hex: a list is for people, and nobody reads a longer one. */
enum { DENSE_LIST = 64 };

static void string_literal(struct text *out, const char *string, size_t size)
{
    text_add_char(out, '"');
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)string[i];
        if (byte == '"' || byte == '\\')
            text_printf(out, "\\%c", byte);
        else if (byte < 0x20 || byte >= 0x7f)
            text_printf(out, "\\%02X", byte);
        else
            text_add_char(out, (char)byte);
    }
    text_add_char(out, '"');
}

static bool is_letter(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           character == '_';
}

static bool is_bare(const char *string, const char *further)
{
    if (!is_letter(*string))
        return false;
    for (string++; *string; string++)
        if (!is_letter(*string) && !(*string >= '0' && *string <= '9') && !strchr(further, *string))
            return false;
    return true;
}

static void name(struct text *out, const struct ir_program *program, uint32_t string, const char *further)
{
    const struct ir_string *s = &program->strings[string];
    const char *at = program->characters + s->offset;
    if (strlen(at) == s->size && is_bare(at, further))
        text_add_n(out, at, s->size);
    else
        string_literal(out, at, s->size);
}

/* ---------------------------------------------------------------- elements of constants */
/* the shortest decimal of 6 or more digits that reads back as the same value */
static void decimal(struct text *out, double v, bool is_double)
{
    char buffer[64];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(buffer, sizeof buffer, "%.*e", digits, v);
        double back = strtod(buffer, NULL);
        if (is_double ? back == v : (float)back == (float)v)
            break;
    }
    text_add(out, buffer);
}

static double small_float(uint32_t bits, unsigned exponent_bits, unsigned mantissa_bits)
{
    unsigned exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
    double m = (double)(bits & ((1u << mantissa_bits) - 1)) / (double)(1u << mantissa_bits);
    int bias = (1 << (exponent_bits - 1)) - 1, power = exponent ? (int)exponent - bias : 1 - bias;
    double v = exponent ? 1 + m : m;
    for (; power > 0; power--)
        v *= 2;
    for (; power < 0; power++)
        v /= 2;
    return bits >> (exponent_bits + mantissa_bits) & 1 ? -v : v;
}

static void float_element(struct text *out, enum ir_element e, const unsigned char *at)
{
    uint64_t bits = 0;
    unsigned size = ir_element_storage(e);
    memcpy(&bits, at, size);
    if (e == IR_F64 && (bits >> 52 & 0x7ff) != 0x7ff) {
        double d;
        memcpy(&d, at, sizeof d);
        decimal(out, d, true);
    } else if (e == IR_F32 && (bits >> 23 & 0xff) != 0xff) {
        float f;
        memcpy(&f, at, sizeof f);
        decimal(out, f, false);
    } else if (e == IR_BF16 && (bits >> 7 & 0xff) != 0xff) {
        uint32_t wide = (uint32_t)bits << 16;
        float f;
        memcpy(&f, &wide, sizeof f);
        decimal(out, f, false);
    } else if (e == IR_F16 && (bits >> 10 & 0x1f) != 0x1f) {
        decimal(out, small_float((uint32_t)bits, 5, 10), false);
    } else {
        text_printf(out, "0x%0*llX", (int)size * 2, (unsigned long long)bits);
    }
}

static void integer_element(struct text *out, enum ir_element e, const unsigned char *at)
{
    uint64_t bits = 0;
    unsigned size = ir_element_storage(e);
    memcpy(&bits, at, size);
    if (e == IR_I1)
        text_add(out, bits ? "true" : "false");
    else if (e >= IR_UI2 && e <= IR_UI64)
        text_printf(out, "%llu", (unsigned long long)bits);
    else if (e == IR_I2 || e == IR_I4) /* stored in a byte, sign bit as that of the narrow type */
        text_printf(out, "%d", e == IR_I2 ? ((int)(bits & 3) ^ 2) - 2 : ((int)(bits & 15) ^ 8) - 8);
    else
        text_printf(out, "%lld", (long long)((int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size)));
}

static void element(struct text *out, enum ir_element e, const unsigned char *at)
{
    if (e == IR_C64 || e == IR_C128) {
        enum ir_element part = e == IR_C64 ? IR_F32 : IR_F64;
        text_add_char(out, '(');
        float_element(out, part, at);
        text_add_char(out, ',');
        float_element(out, part, at + ir_element_storage(part));
        text_add_char(out, ')');
    } else if (ir_element_is_float(e)) {
        float_element(out, e, at);
    } else {
        integer_element(out, e, at);
    }
}

static const unsigned char *element_list(struct text *out, const struct ir_program *program,
                                         const struct ir_type *type, unsigned dim, const unsigned char *at)
{
    enum ir_element e = (enum ir_element)type->element;
    if (dim == type->rank) {
        element(out, e, at);
        return at + ir_element_storage(e);
    }
    text_add_char(out, '[');
    for (int64_t i = 0; i < ir_type_dims(program, type)[dim]; i++) {
        if (i)
            text_add(out, ", ");
        at = element_list(out, program, type, dim + 1, at);
    }
    text_add_char(out, ']');
    return at;
}

static void hex(struct text *out, const unsigned char *at, size_t size)
{
    static const char digits[] = "0123456789ABCDEF";
    char chunk[1024];
    text_add(out, "\"0x");
    while (size) {
        size_t n = size < sizeof chunk / 2 ? size : sizeof chunk / 2;
        for (size_t i = 0; i < n; i++) {
            chunk[2 * i] = digits[at[i] >> 4];
            chunk[2 * i + 1] = digits[at[i] & 15];
        }
        text_add_n(out, chunk, 2 * n);
        at += n;
        size -= n;
    }
    text_add_char(out, '"');
}

static void dense(struct text *out, const struct ir_program *program, const struct ir_attr *attr)
{
    const struct ir_type *type = &program->types[attr->type];
    const struct ir_constant *k = &program->constants[attr->first];
    const unsigned char *at = program->bytes + k->offset;
    int64_t n = ir_type_elements(program, type);
    text_add(out, "dense<");
    if (k->splat)
        element(out, (enum ir_element)type->element, at);
    else if (n && (n <= DENSE_LIST || type->element == IR_I1))
        element_list(out, program, type, 0, at);
    else if (n)
        hex(out, at, (size_t)k->size);
    text_add(out, "> : ");
    ir_print_type(program, attr->type, out);
}

/* ---------------------------------------------------------------- types and attributes */
void ir_print_type(const struct ir_program *program, uint32_t type, struct text *out)
{
    const struct ir_string *string = &program->strings[program->types[type].text];
    text_add_n(out, program->characters + string->offset, string->size);
}

static bool is_unsigned(const struct ir_program *program, uint32_t type)
{
    return strncmp(ir_string(program, program->types[type].text), "ui", 2) == 0;
}

static void int_array(struct text *out, const struct ir_program *program, const struct ir_attr *attr)
{
    bool bits = attr->kind == IR_ATTR_BOOLS;
    text_printf(out, "array<%s", bits ? "i1" : ir_string(program, program->types[attr->type].text));
    for (uint32_t i = 0; i < attr->count; i++) {
        int64_t v = program->ints[attr->first + i];
        text_add(out, i ? ", " : ": ");
        if (bits)
            text_add(out, v ? "true" : "false");
        else
            text_printf(out, "%lld", (long long)v);
    }
    text_add_char(out, '>');
}

static bool is_hidden(const struct ir_program *program, const struct ir_attr *attr)
{
    return attr->name != IR_NONE && (strcmp(ir_string(program, attr->name), IR_RESOURCES) == 0 ||
                                     strcmp(ir_string(program, attr->name), IR_PRETTY) == 0);
}

/* those whose bit is not in `used` */
static void entries(struct text *out, const struct ir_program *program, uint32_t first, uint32_t count,
                    uint64_t used)
{
    bool comma = false;
    text_add_char(out, '{');
    for (uint32_t i = first; i < first + count; i++) {
        const struct ir_attr *attr = &program->attrs[i];
        if ((i - first < PRINTER_ATTRS && used >> (i - first) & 1) || is_hidden(program, attr))
            continue;
        if (comma)
            text_add(out, ", ");
        comma = true;
        name(out, program, attr->name, "$.");
        if (attr->kind == IR_ATTR_UNIT)
            continue;
        text_add(out, " = ");
        ir_print_attr(program, attr, out);
    }
    text_add_char(out, '}');
}

void ir_print_attr(const struct ir_program *program, const struct ir_attr *attr, struct text *out)
{
    switch ((enum ir_attr_kind)attr->kind) {
    case IR_ATTR_UNIT: text_add(out, "unit"); break;
    case IR_ATTR_BOOL: text_add(out, attr->value ? "true" : "false"); break;
    case IR_ATTR_INT:
        if (is_unsigned(program, attr->type))
            text_printf(out, "%llu : ", (unsigned long long)attr->value);
        else
            text_printf(out, "%lld : ", (long long)attr->value);
        ir_print_type(program, attr->type, out);
        break;
    case IR_ATTR_FLOAT:
        text_printf(out, "%s : ", ir_string(program, attr->first));
        ir_print_type(program, attr->type, out);
        break;
    case IR_ATTR_STRING:
        string_literal(out, ir_string(program, attr->first), program->strings[attr->first].size);
        break;
    case IR_ATTR_SYMBOL:
        text_add_char(out, '@');
        name(out, program, attr->first, "$.-");
        break;
    case IR_ATTR_TYPE: ir_print_type(program, attr->type, out); break;
    case IR_ATTR_INTS:
    case IR_ATTR_BOOLS: int_array(out, program, attr); break;
    case IR_ATTR_DENSE: dense(out, program, attr); break;
    case IR_ATTR_ARRAY:
        text_add_char(out, '[');
        for (uint32_t i = 0; i < attr->count; i++) {
            if (i)
                text_add(out, ", ");
            ir_print_attr(program, &program->attrs[attr->first + i], out);
        }
        text_add_char(out, ']');
        break;
    case IR_ATTR_DICTIONARY: entries(out, program, attr->first, attr->count, 0); break;
    case IR_ATTR_TEXT:
        text_add_n(out, ir_string(program, attr->first), program->strings[attr->first].size);
        break;
    }
}

/* ---------------------------------------------------------------- ops */
void printer_indent(struct printer *printer, unsigned depth)
{
    static const char blanks[] = "                                ";
    struct text *out = printer->out;
    unsigned n = depth * 2;
    for (; n > sizeof blanks - 1; n -= (unsigned)sizeof blanks - 1)
        text_add_n(out, blanks, sizeof blanks - 1);
    text_add_n(out, blanks, n);
}

static void decimal_number(struct text *out, uint32_t n)
{
    char digits[12];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    text_add_n(out, digits + at, sizeof digits - at);
}

void printer_value(struct printer *printer, uint32_t value)
{
    const struct ir_value *ir_value = &printer->program->values[value];
    text_add(printer->out, printer->pretty && ir_value->op == IR_NONE ? "%arg" : "%");
    decimal_number(printer->out, printer->numbers[value]);
    if (ir_value->op != IR_NONE && printer->program->ops[ir_value->op].result_count > 1) {
        text_add_char(printer->out, '#');
        decimal_number(printer->out, ir_value->index);
    }
}

void printer_type(struct printer *printer, uint32_t value)
{
    ir_print_type(printer->program, printer->program->values[value].type, printer->out);
}

void printer_operands(struct printer *printer, const struct ir_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        text_add(printer->out, i ? ", " : "");
        printer_value(printer, printer->program->operands[op->operands + i]);
    }
}

void printer_symbol(struct printer *printer, uint32_t string)
{
    text_add_char(printer->out, '@');
    name(printer->out, printer->program, string, "$.-");
}

void printer_dictionary(struct printer *printer, const struct ir_op *op, uint64_t used, const char *word)
{
    const struct ir_program *program = printer->program;
    bool any = false;
    for (uint32_t i = 0; i < op->attr_count && !any; i++)
        any = !(i < PRINTER_ATTRS && used >> i & 1) && !is_hidden(program, &program->attrs[op->attrs + i]);
    if (!any)
        return;
    text_printf(printer->out, " %s", word);
    entries(printer->out, program, op->attrs, op->attr_count, used);
}

uint32_t printer_attr(const struct printer *printer, const struct ir_op *op, const char *name)
{
    const struct ir_program *program = printer->program;
    for (uint32_t i = 0; i < op->attr_count; i++)
        if (strcmp(ir_string(program, program->attrs[op->attrs + i].name), name) == 0)
            return i;
    return IR_NONE;
}

void printer_number_arguments(struct printer *printer, uint32_t block)
{
    const struct ir_block *ir_block = &printer->program->blocks[block];
    uint32_t *next = printer->pretty ? &printer->next_argument : &printer->next;
    for (uint32_t i = 0; i < ir_block->arg_count; i++)
        printer->numbers[ir_block->args + i] = (*next)++;
}

static void print_op(struct printer *printer, uint32_t op, unsigned depth);

static void block_header(struct printer *printer, uint32_t block, unsigned depth, bool labelled)
{
    const struct ir_block *ir_block = &printer->program->blocks[block];
    printer_number_arguments(printer, block);
    if (!labelled)
        return;
    printer_indent(printer, depth);
    text_printf(printer->out, "^bb%u", (unsigned)printer->next_label++);
    for (uint32_t i = 0; i < ir_block->arg_count; i++) {
        text_add(printer->out, i ? ", " : "(");
        printer_value(printer, ir_block->args + i);
        text_add(printer->out, ": ");
        printer_type(printer, ir_block->args + i);
        printer_value_location(printer, ir_block->args + i);
    }
    text_add(printer->out, ir_block->arg_count ? "):\n" : ":\n");
}

void printer_ops(struct printer *printer, uint32_t block, unsigned depth)
{
    const struct ir_block *ir_block = &printer->program->blocks[block];
    for (uint32_t i = 0; i < ir_block->op_count; i++)
        print_op(printer, printer->program->block_ops[ir_block->ops + i], depth);
}

static void regions(struct printer *printer, const struct ir_op *op, unsigned depth)
{
    const struct ir_program *program = printer->program;
    for (uint32_t r = 0; r < op->region_count; r++) {
        const struct ir_region *region = &program->regions[op->regions + r];
        uint32_t label = printer->next_label;
        printer->next_label = 0;
        text_add(printer->out, r ? ", {\n" : " ({\n");
        for (uint32_t k = 0; k < region->block_count; k++) {
            const struct ir_block *block = &program->blocks[region->blocks + k];
            block_header(printer, region->blocks + k, depth, k || block->arg_count || !block->op_count);
            printer_ops(printer, region->blocks + k, depth + 1);
        }
        printer->next_label = label;
        printer_indent(printer, depth);
        text_add_char(printer->out, '}');
    }
    if (op->region_count)
        text_add_char(printer->out, ')');
}

void printer_signature(struct printer *printer, const struct ir_op *op)
{
    const struct ir_program *program = printer->program;
    text_add(printer->out, " : (");
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (i)
            text_add(printer->out, ", ");
        printer_type(printer, program->operands[op->operands + i]);
    }
    text_add(printer->out, ") -> ");
    bool bare =
        op->result_count == 1 && program->types[program->values[op->results].type].kind != IR_TYPE_FUNCTION;
    if (!bare)
        text_add_char(printer->out, '(');
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (i)
            text_add(printer->out, ", ");
        printer_type(printer, op->results + i);
    }
    text_add(printer->out, bare ? "" : ")");
}

/* an op from its name to its type */
static void generic(struct printer *printer, const struct ir_op *op, unsigned depth)
{
    const struct ir_program *program = printer->program;
    string_literal(printer->out, ir_string(program, op->name), program->strings[op->name].size);
    text_add_char(printer->out, '(');
    printer_operands(printer, op);
    text_add_char(printer->out, ')');
    regions(printer, op, depth);
    printer_dictionary(printer, op, 0, "");
    printer_signature(printer, op);
}

static void print_op(struct printer *printer, uint32_t op, unsigned depth)
{
    const struct ir_program *program = printer->program;
    const struct ir_op *ir_op = &program->ops[op];
    printer_indent(printer, depth);
    if (ir_op->result_count) {
        text_add_char(printer->out, '%');
        decimal_number(printer->out, printer->next);
        if (ir_op->result_count > 1) {
            text_add_char(printer->out, ':');
            decimal_number(printer->out, ir_op->result_count);
        }
        text_add(printer->out, " = ");
        for (uint32_t i = 0; i < ir_op->result_count; i++)
            printer->numbers[ir_op->results + i] = printer->next;
        printer->next++;
    }
    if (!printer->pretty || !(printer_form(printer, op) || printer_special(printer, op, depth)))
        generic(printer, ir_op, depth);
    printer_location(printer, ir_op->loc);
    text_add_char(printer->out, '\n');
}

static void print(const struct ir_program *program, bool pretty, struct text *out)
{
    struct printer printer = {.program = program, .out = out, .pretty = pretty};
    printer.numbers = mem_zalloc(program->value_count, sizeof *printer.numbers);
    printer_locations_begin(&printer);
    printer_location_definitions(&printer, true);
    print_op(&printer, 0, 0);
    printer_location_definitions(&printer, false);
    printer_locations_end(&printer);
    const struct ir_attr *resources = ir_attr_find(program, 0, IR_RESOURCES);
    if (resources && resources->kind == IR_ATTR_TEXT)
        text_printf(out, "\n%s\n", ir_string(program, resources->first));
    free(printer.numbers);
}

void ir_print(const struct ir_program *program, struct text *out)
{
    print(program, false, out);
}

void ir_print_pretty(const struct ir_program *program, struct text *out)
{
    print(program, true, out);
}

void ir_print_as_read(const struct ir_program *program, struct text *out)
{
    print(program, ir_attr_find(program, 0, IR_PRETTY) != NULL, out);
}
