/* Printing a program in generic form (print.h): one walk over the image, no allocation but the text and one
 * number a value. Values get numbers in the order in which they are printed; an op with several results
 * takes one number (`%3:2` where it is defined, `%3#1` where its second result is used). */
#include "ir/print.h"

#include "ir/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct printer {
    const struct ir_program *p;
    struct text *out;
    uint32_t *numbers; /* by value: number of its op or of the argument */
    uint32_t next, next_label;
};

/* Constants of more elements are printed as hex: a list is for people, and nobody reads a longer one. */
enum { DENSE_LIST = 64 };

static void string_literal(struct text *out, const char *s, size_t size)
{
    text_add_char(out, '"');
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            text_printf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            text_printf(out, "\\%02X", c);
        else
            text_add_char(out, (char)c);
    }
    text_add_char(out, '"');
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_bare(const char *s, const char *further)
{
    if (!is_letter(*s))
        return false;
    for (s++; *s; s++)
        if (!is_letter(*s) && !(*s >= '0' && *s <= '9') && !strchr(further, *s))
            return false;
    return true;
}

static void name(struct text *out, const struct ir_program *p, uint32_t string, const char *further)
{
    const struct ir_string *s = &p->strings[string];
    const char *at = p->characters + s->offset;
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

static const unsigned char *element_list(struct text *out, const struct ir_program *p,
                                         const struct ir_type *t, unsigned dim, const unsigned char *at)
{
    enum ir_element e = (enum ir_element)t->element;
    if (dim == t->rank) {
        element(out, e, at);
        return at + ir_element_storage(e);
    }
    text_add_char(out, '[');
    for (int64_t i = 0; i < ir_type_dims(p, t)[dim]; i++) {
        if (i)
            text_add(out, ", ");
        at = element_list(out, p, t, dim + 1, at);
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

static void dense(struct text *out, const struct ir_program *p, const struct ir_attr *a)
{
    const struct ir_type *t = &p->types[a->type];
    const struct ir_constant *k = &p->constants[a->first];
    const unsigned char *at = p->bytes + k->offset;
    int64_t n = ir_type_elements(p, t);
    text_add(out, "dense<");
    if (k->splat)
        element(out, (enum ir_element)t->element, at);
    else if (n && (n <= DENSE_LIST || t->element == IR_I1))
        element_list(out, p, t, 0, at);
    else if (n)
        hex(out, at, (size_t)k->size);
    text_add(out, "> : ");
    ir_print_type(p, a->type, out);
}

/* ---------------------------------------------------------------- types and attributes */
void ir_print_type(const struct ir_program *p, uint32_t type, struct text *out)
{
    const struct ir_string *s = &p->strings[p->types[type].text];
    text_add_n(out, p->characters + s->offset, s->size);
}

static bool is_unsigned(const struct ir_program *p, uint32_t type)
{
    return strncmp(ir_string(p, p->types[type].text), "ui", 2) == 0;
}

static void int_array(struct text *out, const struct ir_program *p, const struct ir_attr *a)
{
    bool bits = a->kind == IR_ATTR_BOOLS;
    text_printf(out, "array<%s", bits ? "i1" : ir_string(p, p->types[a->type].text));
    for (uint32_t i = 0; i < a->count; i++) {
        int64_t v = p->ints[a->first + i];
        text_add(out, i ? ", " : ": ");
        if (bits)
            text_add(out, v ? "true" : "false");
        else
            text_printf(out, "%lld", (long long)v);
    }
    text_add_char(out, '>');
}

static bool is_resources(const struct ir_program *p, const struct ir_attr *a)
{
    return a->name != IR_NONE && strcmp(ir_string(p, a->name), IR_RESOURCES) == 0;
}

static void entries(struct text *out, const struct ir_program *p, uint32_t first, uint32_t count)
{
    bool comma = false;
    text_add_char(out, '{');
    for (uint32_t i = first; i < first + count; i++) {
        const struct ir_attr *a = &p->attrs[i];
        if (is_resources(p, a))
            continue;
        if (comma)
            text_add(out, ", ");
        comma = true;
        name(out, p, a->name, "$.");
        if (a->kind == IR_ATTR_UNIT)
            continue;
        text_add(out, " = ");
        ir_print_attr(p, a, out);
    }
    text_add_char(out, '}');
}

void ir_print_attr(const struct ir_program *p, const struct ir_attr *a, struct text *out)
{
    switch ((enum ir_attr_kind)a->kind) {
    case IR_ATTR_UNIT: text_add(out, "unit"); break;
    case IR_ATTR_BOOL: text_add(out, a->value ? "true" : "false"); break;
    case IR_ATTR_INT:
        if (is_unsigned(p, a->type))
            text_printf(out, "%llu : ", (unsigned long long)a->value);
        else
            text_printf(out, "%lld : ", (long long)a->value);
        ir_print_type(p, a->type, out);
        break;
    case IR_ATTR_FLOAT:
        text_printf(out, "%s : ", ir_string(p, a->first));
        ir_print_type(p, a->type, out);
        break;
    case IR_ATTR_STRING: string_literal(out, ir_string(p, a->first), p->strings[a->first].size); break;
    case IR_ATTR_SYMBOL:
        text_add_char(out, '@');
        name(out, p, a->first, "$.-");
        break;
    case IR_ATTR_TYPE: ir_print_type(p, a->type, out); break;
    case IR_ATTR_INTS:
    case IR_ATTR_BOOLS: int_array(out, p, a); break;
    case IR_ATTR_DENSE: dense(out, p, a); break;
    case IR_ATTR_ARRAY:
        text_add_char(out, '[');
        for (uint32_t i = 0; i < a->count; i++) {
            if (i)
                text_add(out, ", ");
            ir_print_attr(p, &p->attrs[a->first + i], out);
        }
        text_add_char(out, ']');
        break;
    case IR_ATTR_DICTIONARY: entries(out, p, a->first, a->count); break;
    case IR_ATTR_TEXT: text_add_n(out, ir_string(p, a->first), p->strings[a->first].size); break;
    }
}

/* ---------------------------------------------------------------- ops */
static void indent(struct text *out, unsigned depth)
{
    static const char blanks[] = "                                ";
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

static void value(struct printer *w, uint32_t v)
{
    const struct ir_value *x = &w->p->values[v];
    text_add_char(w->out, '%');
    decimal_number(w->out, w->numbers[v]);
    if (x->op != IR_NONE && w->p->ops[x->op].result_count > 1) {
        text_add_char(w->out, '#');
        decimal_number(w->out, x->index);
    }
}

static void print_op(struct printer *w, uint32_t op, unsigned depth);

static void block_header(struct printer *w, uint32_t block, unsigned depth, bool labelled)
{
    const struct ir_block *b = &w->p->blocks[block];
    for (uint32_t i = 0; i < b->arg_count; i++)
        w->numbers[b->args + i] = w->next++;
    if (!labelled)
        return;
    indent(w->out, depth);
    text_printf(w->out, "^bb%u", (unsigned)w->next_label++);
    for (uint32_t i = 0; i < b->arg_count; i++) {
        text_add(w->out, i ? ", " : "(");
        value(w, b->args + i);
        text_add(w->out, ": ");
        ir_print_type(w->p, w->p->values[b->args + i].type, w->out);
    }
    text_add(w->out, b->arg_count ? "):\n" : ":\n");
}

static void regions(struct printer *w, const struct ir_op *o, unsigned depth)
{
    const struct ir_program *p = w->p;
    for (uint32_t r = 0; r < o->region_count; r++) {
        const struct ir_region *region = &p->regions[o->regions + r];
        uint32_t label = w->next_label;
        w->next_label = 0;
        text_add(w->out, r ? ", {\n" : " ({\n");
        for (uint32_t k = 0; k < region->block_count; k++) {
            const struct ir_block *b = &p->blocks[region->blocks + k];
            block_header(w, region->blocks + k, depth, k || b->arg_count || !b->op_count);
            for (uint32_t i = 0; i < b->op_count; i++)
                print_op(w, p->block_ops[b->ops + i], depth + 1);
        }
        w->next_label = label;
        indent(w->out, depth);
        text_add_char(w->out, '}');
    }
    if (o->region_count)
        text_add_char(w->out, ')');
}

static void signature(struct printer *w, const struct ir_op *o)
{
    const struct ir_program *p = w->p;
    text_add(w->out, " : (");
    for (uint32_t i = 0; i < o->operand_count; i++) {
        if (i)
            text_add(w->out, ", ");
        ir_print_type(p, p->values[p->operands[o->operands + i]].type, w->out);
    }
    text_add(w->out, ") -> ");
    bool bare = o->result_count == 1 && p->types[p->values[o->results].type].kind != IR_TYPE_FUNCTION;
    if (!bare)
        text_add_char(w->out, '(');
    for (uint32_t i = 0; i < o->result_count; i++) {
        if (i)
            text_add(w->out, ", ");
        ir_print_type(p, p->values[o->results + i].type, w->out);
    }
    text_add(w->out, bare ? "\n" : ")\n");
}

static void print_op(struct printer *w, uint32_t op, unsigned depth)
{
    const struct ir_program *p = w->p;
    const struct ir_op *o = &p->ops[op];
    indent(w->out, depth);
    if (o->result_count) {
        text_add_char(w->out, '%');
        decimal_number(w->out, w->next);
        if (o->result_count > 1) {
            text_add_char(w->out, ':');
            decimal_number(w->out, o->result_count);
        }
        text_add(w->out, " = ");
        for (uint32_t i = 0; i < o->result_count; i++)
            w->numbers[o->results + i] = w->next;
        w->next++;
    }
    string_literal(w->out, ir_string(p, o->name), p->strings[o->name].size);
    text_add_char(w->out, '(');
    for (uint32_t i = 0; i < o->operand_count; i++) {
        if (i)
            text_add(w->out, ", ");
        value(w, p->operands[o->operands + i]);
    }
    text_add_char(w->out, ')');
    regions(w, o, depth);
    uint32_t hidden = 0;
    for (uint32_t i = 0; i < o->attr_count; i++)
        hidden += is_resources(p, &p->attrs[o->attrs + i]);
    if (o->attr_count > hidden) {
        text_add_char(w->out, ' ');
        entries(w->out, p, o->attrs, o->attr_count);
    }
    signature(w, o);
}

void ir_print(const struct ir_program *p, struct text *out)
{
    struct printer w = {.p = p, .out = out};
    w.numbers = mem_zalloc(p->value_count, sizeof *w.numbers);
    print_op(&w, 0, 0);
    const struct ir_attr *resources = ir_attr_find(p, 0, IR_RESOURCES);
    if (resources && resources->kind == IR_ATTR_TEXT)
        text_printf(out, "\n%s\n", ir_string(p, resources->first));
    free(w.numbers);
}
