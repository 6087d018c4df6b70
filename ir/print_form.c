/* Pretty forms without regions, printed: a walk over the op's format (forms.def), which says what stands
 * between its name and its type. Everything the format names must be there and of the kind that it spells;
 * otherwise what was printed is taken back and the op stands in generic form. */
#include "ir/attrs.h"
#include "ir/forms.h"
#include "ir/printer.h"

#include <stdlib.h>
#include <string.h>

/* the op being printed */
struct form {
    struct printer *printer;
    uint32_t index; /* of the op */
    const struct ir_op *op;
    uint64_t used;    /* attributes that items print */
    uint32_t operand; /* the next one */
    bool blank;       /* before the next item */
};

/* ---------------------------------------------------------------- attributes that a format names */
static bool claim(struct form *form, const char *name)
{
    uint32_t i = printer_attr(form->printer, form->op, name);
    if (i == IR_NONE)
        return false;
    form->used |= UINT64_C(1) << i;
    return true;
}

static bool claim_list(struct form *form, const char *const *names, unsigned count)
{
    bool all = true;
    for (unsigned i = 0; i < count; i++)
        all &= claim(form, names[i]);
    return all;
}

/* those of an item that names none in braces */
static bool claim_fixed(struct form *form, char kind)
{
    static const char *const slice[] = {"start_indices", "limit_indices", "strides"};
    static const char *const window[] = {"window_strides", "padding", "lhs_dilation", "rhs_dilation",
                                         "window_reversal"};
    static const char *const bits[] = {"exponent_bits", "mantissa_bits"};
    switch (kind) {
    case 'P': return claim(form, "precision_config");
    case 'X': return claim_list(form, bits, 2);
    case 'D': return claim(form, "allowed_direction");
    case 'd': return claim(form, "dot_dimension_numbers");
    case 'z': return claim_list(form, slice, 3);
    case 'c': claim_list(form, window, 5); return claim(form, "dimension_numbers");
    default: return true;
    }
}

/* one pass over the format, as the dictionary may stand before items; false: one is missing */
static bool claim_all(struct form *form, const char *format)
{
    struct ir_form_item item;
    char word[32];
    bool optional = false;
    for (const char *f = format; *f; f++) {
        char kind = *f;
        if (kind == '?' || kind == ';') {
            optional = kind == '?';
        } else if (kind == '\'') {
            f = ir_form_keyword(f, word);
        } else if (kind == ':') {
            f++;
        } else if (f[1] == '{') {
            f = ir_form_braces(f + 1, &item);
            if (!claim(form, item.attr) && !optional)
                return false;
        } else if (!claim_fixed(form, kind) && !optional) {
            return false;
        }
    }
    return true;
}

static const struct ir_attr *find(const struct form *form, const char *name)
{
    return ir_attr_find(form->printer->program, form->index, name);
}

/* ---------------------------------------------------------------- values of attributes */
static void blank(struct form *form)
{
    if (form->blank)
        text_add_char(form->printer->out, ' ');
    form->blank = true;
}

/* `[1, 2]` of array<i64: 1, 2> or array<i1: ..> */
static bool list(struct form *form, const struct ir_attr *attr)
{
    const struct ir_program *program = form->printer->program;
    struct text *out = form->printer->out;
    bool bits = attr->kind == IR_ATTR_BOOLS;
    if (!bits && (attr->kind != IR_ATTR_INTS ||
                  strcmp(ir_string(program, program->types[attr->type].text), "i64") != 0))
        return false;
    text_add_char(out, '[');
    for (uint32_t i = 0; i < attr->count; i++) {
        long long number = program->ints[attr->first + i];
        text_add(out, i ? ", " : "");
        if (bits)
            text_add(out, number ? "true" : "false");
        else
            text_printf(out, "%lld", number);
    }
    text_add_char(out, ']');
    return true;
}

/* what a text has between `before` and `after`; false when it does not begin and end so */
static bool within(struct form *form, const struct ir_attr *attr, const char *before, const char *after)
{
    const struct ir_program *program = form->printer->program;
    if (attr->kind != IR_ATTR_TEXT)
        return false;
    const char *text = ir_string(program, attr->first);
    size_t size = program->strings[attr->first].size, first = strlen(before), last = strlen(after);
    if (size < first + last || memcmp(text, before, first) != 0 ||
        memcmp(text + size - last, after, last) != 0)
        return false;
    text_add_n(form->printer->out, text + first, size - first - last);
    return true;
}

static bool enumerator(struct form *form, const struct ir_attr *attr, const char *kind)
{
    char before[64] = "#stablehlo<";
    strncat(before, kind, sizeof before - 14);
    strcat(before, " ");
    return within(form, attr, before, ">");
}

static bool integer(struct form *form, const struct ir_attr *attr, const char *type)
{
    const struct ir_program *program = form->printer->program;
    if (!attr || attr->kind != IR_ATTR_INT ||
        strcmp(ir_string(program, program->types[attr->type].text), type) != 0)
        return false;
    text_printf(form->printer->out, "%lld", (long long)attr->value);
    return true;
}

static bool precisions(struct form *form)
{
    const struct ir_attr *attr = find(form, "precision_config");
    if (attr->kind != IR_ATTR_ARRAY)
        return false;
    text_add_char(form->printer->out, '[');
    for (uint32_t i = 0; i < attr->count; i++) {
        text_add(form->printer->out, i ? ", " : "");
        if (!enumerator(form, &form->printer->program->attrs[attr->first + i], "precision"))
            return false;
    }
    text_add_char(form->printer->out, ']');
    return true;
}

static bool exponent_mantissa(struct form *form)
{
    text_add_char(form->printer->out, 'e');
    if (!integer(form, find(form, "exponent_bits"), "i32"))
        return false;
    text_add_char(form->printer->out, 'm');
    return integer(form, find(form, "mantissa_bits"), "i32");
}

static bool direction(struct form *form)
{
    static const char *const words[] = {"NONE", "FORWARD", "BACKWARD", "BOTH"};
    const struct ir_attr *attr = find(form, "allowed_direction");
    if (attr->kind != IR_ATTR_INT || attr->value < 0 || attr->value > 3)
        return false;
    text_add(form->printer->out, words[attr->value]);
    return true;
}

/* a constant's value with its type, which is the result's */
static bool constant(struct form *form, const struct ir_attr *attr)
{
    const struct ir_program *program = form->printer->program;
    if (form->op->operand_count || form->op->result_count != 1 ||
        (attr->kind != IR_ATTR_DENSE && attr->kind != IR_ATTR_TEXT) ||
        attr->type != program->values[form->op->results].type)
        return false;
    ir_print_attr(program, attr, form->printer->out);
    return true;
}

static bool symbol(struct form *form, const struct ir_attr *attr, enum ir_attr_kind kind)
{
    if (attr->kind != kind)
        return false;
    printer_symbol(form->printer, attr->first);
    return true;
}

static bool attribute(struct form *form, char kind, const struct ir_form_item *item)
{
    const struct ir_attr *attr = find(form, item->attr);
    struct text *out = form->printer->out;
    blank(form);
    switch (kind) {
    case 'I': return attr->kind == IR_ATTR_INTS && list(form, attr);
    case 'N': return integer(form, attr, "i64");
    case 'n': return integer(form, attr, "i32");
    case 'E': return enumerator(form, attr, item->second);
    case 'G': return within(form, attr, item->second, item->third);
    case 'B': text_add(out, attr->value ? "true" : "false"); return attr->kind == IR_ATTR_BOOL;
    case 'S': ir_print_attr(form->printer->program, attr, out); return attr->kind == IR_ATTR_STRING;
    case 'Y': return symbol(form, attr, IR_ATTR_SYMBOL);
    case 'y': return symbol(form, attr, IR_ATTR_STRING);
    default: return constant(form, attr);
    }
}

/* ---------------------------------------------------------------- dimension numbers */
static void dims(struct text *out, const struct ir_dims *list)
{
    text_add_char(out, '[');
    for (uint32_t i = 0; i < list->count; i++)
        text_printf(out, "%s%lld", i ? ", " : "", (long long)list->at[i]);
    text_add_char(out, ']');
}

/* `, batching_dims = [0] x [0], contracting_dims = [2] x [1]` */
static bool dot_dimensions(struct form *form)
{
    struct text *out = form->printer->out;
    struct ir_dot dot;
    if (ir_dot(form->printer->program, form->index, &dot) != 0)
        return false;
    if (dot.lhs_batch.count || dot.rhs_batch.count) {
        text_add(out, ", batching_dims = ");
        dims(out, &dot.lhs_batch);
        text_add(out, " x ");
        dims(out, &dot.rhs_batch);
    }
    text_add(out, ", contracting_dims = ");
    dims(out, &dot.lhs_contract);
    text_add(out, " x ");
    dims(out, &dot.rhs_contract);
    return true;
}

/* `[0:4, 2:8:2]` */
static bool slice_ranges(struct form *form)
{
    const struct ir_program *program = form->printer->program;
    struct ir_dims start, limit, stride;
    if (ir_dims(program, form->index, "start_indices", &start) != 0 ||
        ir_dims(program, form->index, "limit_indices", &limit) != 0 ||
        ir_dims(program, form->index, "strides", &stride) != 0 || start.count != limit.count ||
        start.count != stride.count)
        return false;
    text_add(form->printer->out, " [");
    for (uint32_t i = 0; i < start.count; i++) {
        text_printf(form->printer->out, "%s%lld:%lld", i ? ", " : "", (long long)start.at[i],
                    (long long)limit.at[i]);
        if (stride.at[i] != 1)
            text_printf(form->printer->out, ":%lld", (long long)stride.at[i]);
    }
    text_add_char(form->printer->out, ']');
    return true;
}

/* `[[0, 0], [1, 1]]` */
static bool padding(struct form *form)
{
    struct text *out = form->printer->out;
    uint32_t rows, columns;
    int64_t *pad = ir_matrix(form->printer->program, form->index, "padding", &rows, &columns);
    if (!pad || columns != 2) {
        free(pad);
        return false;
    }
    text_add_char(out, '[');
    for (uint32_t i = 0; i < rows; i++)
        text_printf(out, "%s[%lld, %lld]", i ? ", " : "", (long long)pad[2 * i], (long long)pad[2 * i + 1]);
    text_add_char(out, ']');
    free(pad);
    return true;
}

/* ` dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 1]]}` */
static bool convolution(struct form *form)
{
    static const char *const keys[][2] = {{"stride", "window_strides"},
                                          {"pad", "padding"},
                                          {"lhs_dilate", "lhs_dilation"},
                                          {"rhs_dilate", "rhs_dilation"},
                                          {"reverse", "window_reversal"}};
    struct text *out = form->printer->out;
    bool comma = false;
    text_add(out, " dim_numbers = ");
    if (!within(form, find(form, "dimension_numbers"), "#stablehlo.conv<", ">"))
        return false;
    text_add(out, ", window = {");
    for (unsigned k = 0; k < 5; k++) {
        const struct ir_attr *attr = find(form, keys[k][1]);
        if (!attr)
            continue;
        text_printf(out, "%s%s = ", comma ? ", " : "", keys[k][0]);
        comma = true;
        if (!(k == 1 ? padding(form) : list(form, attr)))
            return false;
    }
    text_add_char(out, '}');
    return true;
}

/* ---------------------------------------------------------------- types */
static uint32_t type_of(const struct form *form, uint32_t value)
{
    return form->printer->program->values[value].type;
}

static uint32_t operand_type(const struct form *form, uint32_t i)
{
    return type_of(form, ir_operand(form->printer->program, form->index, i));
}

/* do operands and results from these on have one type? */
static bool one_type(const struct form *form, uint32_t from)
{
    for (uint32_t i = from; i < form->op->operand_count; i++)
        if (operand_type(form, i) != type_of(form, form->op->results))
            return false;
    return true;
}

static void one(struct form *form, uint32_t type)
{
    text_add(form->printer->out, " : ");
    ir_print_type(form->printer->program, type, form->printer->out);
}

static bool operand_types(struct form *form)
{
    for (uint32_t i = 0; i < form->op->operand_count; i++) {
        text_add(form->printer->out, i ? ", " : " : ");
        ir_print_type(form->printer->program, operand_type(form, i), form->printer->out);
    }
    return true;
}

/* `T, T -> T` of CHLO */
static bool arrow_types(struct form *form)
{
    struct text *out = form->printer->out;
    uint32_t count = form->op->result_count;
    if (!form->op->operand_count || !count)
        return false;
    operand_types(form);
    text_add(out, count > 1 ? " -> (" : " -> ");
    for (uint32_t i = 0; i < count; i++) {
        text_add(out, i ? ", " : "");
        printer_type(form->printer, form->op->results + i);
    }
    text_add(out, count > 1 ? ")" : "");
    return true;
}

/* tuple<A, B> of operands A and B */
static bool tuple_type(struct form *form)
{
    const struct ir_program *program = form->printer->program;
    struct text text = {0};
    text_add(&text, "tuple<");
    for (uint32_t i = 0; i < form->op->operand_count; i++) {
        text_add(&text, i ? ", " : "");
        ir_print_type(program, operand_type(form, i), &text);
    }
    text_add(&text, ">");
    uint32_t type = type_of(form, form->op->results);
    bool same = strcmp(text.at, ir_string(program, program->types[type].text)) == 0;
    text_release(&text);
    one(form, type);
    return same;
}

/* optimization_barrier: `%0, %1 : T, U`, or `()` */
static bool barrier(struct form *form)
{
    const struct ir_op *op = form->op;
    if (op->operand_count != op->result_count)
        return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (operand_type(form, i) != type_of(form, op->results + i))
            return false;
    text_add(form->printer->out, op->operand_count ? " " : " ()");
    printer_operands(form->printer, op);
    form->operand = op->operand_count;
    return operand_types(form);
}

static bool is_function(const struct form *form, uint32_t type)
{
    return form->printer->program->types[type].kind == IR_TYPE_FUNCTION;
}

/* `: kind` of the format, when all operands were printed */
static bool types(struct form *form, char kind)
{
    const struct ir_op *op = form->op;
    uint32_t operands = op->operand_count, results = op->result_count;
    if (form->operand != operands)
        return false;
    switch (kind) {
    case 'u': return results == 0 && operand_types(form);
    case 'n': return operands == 0 && results == 0;
    case 'g': return results == 0 && operands == 1 && operand_types(form);
    case 'h': return arrow_types(form);
    case 'm': return results == 1 && tuple_type(form);
    default: break;
    }
    bool whole = kind == 'f' || kind == 'c' || results != 1 || is_function(form, type_of(form, op->results));
    if (kind == 's' && !whole && operands == 3 && one_type(form, 1)) {
        one(form, operand_type(form, 0));
        text_add(form->printer->out, ", ");
        ir_print_type(form->printer->program, operand_type(form, 1), form->printer->out);
    } else if ((kind == 't' && !whole && one_type(form, 0)) || (kind == 'r' && !whole && operands == 0) ||
               (kind == '1' && !whole && operands == 1 && one_type(form, 0))) {
        one(form, type_of(form, op->results));
    } else if (kind == 'f' || kind == 't' || kind == 's' || kind == 'c') {
        printer_signature(form->printer, op);
    } else {
        return false;
    }
    return true;
}

/* ---------------------------------------------------------------- the walk */
/* At `?`: the format goes on here when the attribute of the part is there, else at its closing `;`. */
static const char *option(const struct form *form, const char *f)
{
    struct ir_form_item item = {.attr = "precision_config"};
    char word[32];
    const char *end = strchr(f, ';');
    for (const char *at = f + 1; at < end; at++) {
        if (*at == '\'')
            at = ir_form_keyword(at, word);
        else if (at[1] == '{')
            at = ir_form_braces(at + 1, &item);
    }
    return find(form, item.attr) ? f : end;
}

static bool operand(struct form *form)
{
    if (form->operand >= form->op->operand_count)
        return false;
    blank(form);
    printer_value(form->printer, ir_operand(form->printer->program, form->index, form->operand++));
    return true;
}

static void punctuation(struct form *form, char character)
{
    if (character == '=')
        text_add_char(form->printer->out, ' ');
    text_add_char(form->printer->out, character);
    form->blank = character == ',' || character == '=';
}

static void word(struct form *form, const char *text)
{
    blank(form);
    text_add(form->printer->out, text);
    /* Shardy's word of an attribute stands without `=` */
    form->blank = true;
}

static void all_operands(struct form *form)
{
    if (form->op->operand_count)
        blank(form);
    printer_operands(form->printer, form->op);
    form->operand = form->op->operand_count;
    form->blank = true;
}

static bool walk(struct form *form, const char *format)
{
    struct ir_form_item item;
    char text[32];
    bool ok = true;
    for (const char *f = format; *f && ok; f++) {
        switch (*f) {
        case 'x': ok = operand(form); break;
        case 'l': all_operands(form); break;
        case '\'':
            f = ir_form_keyword(f, text);
            word(form, text);
            break;
        case '?': f = option(form, f); break;
        case ';': break;
        case 'A': printer_dictionary(form->printer, form->op, form->used, ""); break;
        case 'P':
            blank(form);
            ok = precisions(form);
            break;
        case 'X':
            blank(form);
            ok = exponent_mantissa(form);
            break;
        case 'D':
            blank(form);
            ok = direction(form);
            break;
        case 'b': ok = barrier(form); break;
        case 'd': ok = dot_dimensions(form); break;
        case 'c': ok = convolution(form); break;
        case 'z': ok = slice_ranges(form); break;
        case ':': ok = types(form, *++f); break;
        case ',':
        case '=':
        case '(':
        case ')':
        case '[':
        case ']': punctuation(form, *f); break;
        default: {
            char kind = *f;
            f = ir_form_braces(f + 1, &item);
            ok = attribute(form, kind, &item);
        }
        }
    }
    return ok && form->operand == form->op->operand_count;
}

static const char *format_of(struct printer *printer, const struct ir_op *op)
{
    if (op->code == IR_UNKNOWN)
        return ir_form_find(ir_string(printer->program, op->name));
    if (!printer->formats_known[op->code])
        printer->formats[op->code] = ir_form_find(ir_string(printer->program, op->name));
    printer->formats_known[op->code] = true;
    return printer->formats[op->code];
}

bool printer_form(struct printer *printer, uint32_t op)
{
    struct form form = {.printer = printer, .index = op, .op = &printer->program->ops[op], .blank = true};
    const char *format = format_of(printer, form.op);
    if (!format || form.op->region_count || form.op->attr_count > PRINTER_ATTRS || !claim_all(&form, format))
        return false;
    size_t size = printer->out->size;
    const char *name = ir_string(printer->program, form.op->name);
    text_add(printer->out, strcmp(name, "func.return") == 0 ? "return" : name);
    if (walk(&form, format))
        return true;
    printer->out->size = size;
    printer->out->at[size] = 0;
    return false;
}
