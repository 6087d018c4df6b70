/* Pretty forms with regions, and those that no row of the table of formats can describe: module, func.func,
 * while, reduce, composite, scan, manual_computation, named_computation.
 *
 * The generic form wants operands, regions, attributes and types in this order. What the pretty form says
 * earlier is kept as spans until its turn comes. */
#include "ir/reader/rewrite.h"

#include <stdlib.h>
#include <string.h>

struct argument {
    struct span value, type, dictionary;
    uint32_t loc;
};

struct arguments {
    VEC(struct argument) list;
};

static const struct span nothing = {0, 0};

/* `(%a: T {d} loc(..), ..)` of functions and blocks; declarations leave the names out */
static void read_arguments(struct scan *scan, struct arguments *arguments)
{
    scan_expect(scan, "(");
    for (bool first = true; !scan_accept(scan, ")"); first = false) {
        struct argument argument = {nothing, nothing, nothing, 0};
        if (!first)
            scan_expect(scan, ",");
        if (scan_peek(scan) == '%') {
            argument.value = scan_value(scan);
            scan_expect(scan, ":");
        }
        argument.type = scan_type(scan);
        argument.dictionary = take_dictionary(scan);
        argument.loc = scan_loc(scan);
        VEC_PUSH(&arguments->list, argument);
    }
}

static void write_block_header(struct scan *scan, const struct arguments *arguments)
{
    if (!arguments->list.count)
        return;
    scan_write(scan, "^bb0(");
    for (size_t i = 0; i < arguments->list.count; i++) {
        const struct argument *argument = &arguments->list.at[i];
        if (argument->value.at == argument->value.end)
            scan_fail(scan, ERROR_INVALID_MODULE, argument->type.at,
                      "expected a name like '%%arg0' before this type");
        write_block_arg(scan, argument->value, argument->type, argument->loc, i == 0);
    }
    scan_write(scan, "):\n");
}

static void write_types(struct scan *scan, struct text *to, const struct arguments *arguments)
{
    text_add(to, "(");
    for (size_t i = 0; i < arguments->list.count; i++) {
        if (i)
            text_add(to, ", ");
        scan_copy(scan, to, arguments->list.at[i].type);
    }
    text_add(to, ")");
}

/* ---------------------------------------------------------------- module and functions */
static void module(struct scan *scan)
{
    struct span name = nothing, dictionary = nothing;
    if (scan_peek(scan) == '@')
        name = scan_symbol(scan);
    if (scan_accept_word(scan, "attributes"))
        dictionary = take_dictionary(scan);
    scan_expect(scan, "{");
    scan_write(scan, "() ({\n^bb0:\n");
    rewrite_region(scan);
    scan_write(scan, "})");
    if (name.end) {
        attr_begin(scan, "sym_name");
        attr_symbol_name(scan, name);
    }
    attr_dictionary(scan, dictionary);
    attr_flush(scan);
    scan_write(scan, " : () -> ()");
}

static void argument_dictionaries(struct scan *scan, const char *name, const struct arguments *arguments)
{
    bool any = false;
    for (size_t i = 0; i < arguments->list.count; i++) {
        struct span span = arguments->list.at[i].dictionary;
        any |= span.end && !span_is_blank(scan, (struct span){span.at + 1, span.end - 1});
    }
    if (!any)
        return;
    attr_begin(scan, name);
    for (size_t i = 0; i < arguments->list.count; i++) {
        attr_add(scan, i ? ", " : "[");
        if (arguments->list.at[i].dictionary.end)
            attr_copy(scan, arguments->list.at[i].dictionary);
        else
            attr_add(scan, "{}");
    }
    attr_add(scan, "]");
}

static void function(struct scan *scan)
{
    static const char *const visibilities[] = {"public", "private", "nested"};
    struct arguments args = {0}, outs = {0};
    const char *visibility = NULL;
    struct span dictionary = nothing;
    for (unsigned i = 0; i < 3 && !visibility; i++)
        if (scan_accept_word(scan, visibilities[i]))
            visibility = visibilities[i];
    struct span name = scan_symbol(scan);
    read_arguments(scan, &args);
    if (scan_accept(scan, "->")) {
        if (scan_peek(scan) == '(') {
            read_arguments(scan, &outs);
        } else {
            struct argument only = {nothing, scan_type(scan), nothing, 0};
            VEC_PUSH(&outs.list, only);
        }
    }
    if (scan_accept_word(scan, "attributes"))
        dictionary = take_dictionary(scan);
    scan_write(scan, "() ({\n");
    if (scan_accept(scan, "{")) {
        write_block_header(scan, &args);
        rewrite_region(scan);
    }
    scan_write(scan, "})");
    attr_begin(scan, "sym_name");
    attr_symbol_name(scan, name);
    attr_begin(scan, "function_type");
    write_types(scan, &scan->attrs, &args);
    attr_add(scan, " -> ");
    write_types(scan, &scan->attrs, &outs);
    if (visibility) {
        attr_begin(scan, "sym_visibility");
        text_printf(&scan->attrs, "\"%s\"", visibility);
    }
    argument_dictionaries(scan, "arg_attrs", &args);
    argument_dictionaries(scan, "res_attrs", &outs);
    attr_dictionary(scan, dictionary);
    attr_flush(scan);
    scan_write(scan, " : () -> ()");
    VEC_FREE(&args.list);
    VEC_FREE(&outs.list);
}

/* ---------------------------------------------------------------- control flow and reductions */
static void while_loop(struct scan *scan)
{
    struct arguments args = {0};
    struct span dictionary = nothing;
    scan->operands.count = 0;
    scan_expect(scan, "(");
    for (bool first = true; !scan_accept(scan, ")"); first = false) {
        struct argument argument = {nothing, nothing, nothing, 0};
        if (!first)
            scan_expect(scan, ",");
        argument.value = scan_value(scan);
        scan_expect(scan, "=");
        VEC_PUSH(&scan->operands, scan_value(scan));
        VEC_PUSH(&args.list, argument);
    }
    if (args.list.count)
        scan_expect(scan, ":");
    for (size_t i = 0; i < args.list.count; i++) {
        if (i)
            scan_expect(scan, ",");
        args.list.at[i].type = scan_type(scan);
        args.list.at[i].loc = scan_loc(scan);
    }
    if (scan_accept_word(scan, "attributes"))
        dictionary = take_dictionary(scan);
    write_operands(scan);
    for (unsigned i = 0; i < 2; i++) {
        scan_expect_word(scan, i ? "do" : "cond");
        scan_expect(scan, "{");
        scan_write(scan, i ? ", {\n" : " ({\n");
        write_block_header(scan, &args);
        rewrite_region(scan);
        scan_write(scan, "}");
    }
    scan_write(scan, ")");
    attr_dictionary(scan, dictionary);
    attr_flush(scan);
    scan_write(scan, " : ");
    write_types(scan, &scan->out, &args);
    scan_write(scan, " -> ");
    write_types(scan, &scan->out, &args);
    VEC_FREE(&args.list);
}

/* `tensor<E>` for the element type of the first operand of a function type */
static char *scalar_type(struct scan *scan, struct span fn)
{
    struct text text = {0};
    scan_copy(scan, &text, fn);
    char *at = text.at + (*text.at == '(');
    while (*at == ' ')
        at++;
    char *end = at;
    int depth = 0;
    for (; *end && (depth || (*end != ',' && *end != ')')); end++)
        depth += (*end == '<' || *end == '(') - ((*end == '>' && end[-1] != '-') || *end == ')');
    if (strncmp(at, "tensor<", 7) != 0 || end[-1] != '>')
        scan_fail(scan, ERROR_INVALID_MODULE, fn.at, "expected tensors in the type of this reduce");
    at += 7;
    for (char *x = at; *x == '?' || *x == '*' || (*x >= '0' && *x <= '9'); x++) {
        while (*x == '?' || *x == '*' || (*x >= '0' && *x <= '9'))
            x++;
        if (*x != 'x')
            break;
        at = x + 1;
    }
    size_t size = 0;
    for (depth = 0; at + size < end - 1 && (depth || at[size] != ','); size++)
        depth += (at[size] == '<') - (at[size] == '>');
    char *out = mem_printf("tensor<%.*s>", (int)size, at);
    text_release(&text);
    return out;
}

static void short_reducer(struct scan *scan, struct span op, struct span fn)
{
    char *scalar = scalar_type(scan, fn);
    text_printf(&scan->out, "({\n^bb0(%%" READER_DIALECT ".x: %s, %%" READER_DIALECT ".y: %s):\n", scalar,
                scalar);
    scan->arg_count += 2;
    scan->inherit = (uint32_t)op_begin(scan, op.at);
    scan_write(scan, "%" READER_DIALECT ".z = \"");
    scan_copy(scan, &scan->out, op);
    text_printf(&scan->out, "\"(%%" READER_DIALECT ".x, %%" READER_DIALECT ".y) : (%s, %s) -> %s\n", scalar,
                scalar, scalar);
    op_begin(scan, op.at);
    text_printf(&scan->out, "\"stablehlo.return\"(%%" READER_DIALECT ".z) : (%s) -> ()\n})", scalar);
    free(scalar);
}

/* `(%a: T, %p: T) (%b: U, %q: U) { .. }`: elements first, then accumulators */
static void long_reducer(struct scan *scan)
{
    struct arguments pairs = {0}, args = {0};
    while (scan_peek(scan) == '(')
        read_arguments(scan, &pairs);
    for (unsigned k = 0; k < 2; k++)
        for (size_t i = k; i < pairs.list.count; i += 2)
            VEC_PUSH(&args.list, pairs.list.at[i]);
    scan_expect(scan, "{");
    scan_write(scan, "({\n");
    write_block_header(scan, &args);
    rewrite_region(scan);
    scan_write(scan, "})");
    VEC_FREE(&pairs.list);
    VEC_FREE(&args.list);
}

static void reduce(struct scan *scan)
{
    VEC(struct span) inits = {0};
    struct span op = nothing;
    scan->operands.count = 0;
    do {
        scan_expect(scan, "(");
        VEC_PUSH(&scan->operands, scan_value(scan));
        scan_expect_word(scan, "init");
        scan_expect(scan, ":");
        VEC_PUSH(&inits, scan_value(scan));
        scan_expect(scan, ")");
    } while (scan_accept(scan, ","));
    for (size_t i = 0; i < inits.count; i++)
        VEC_PUSH(&scan->operands, inits.at[i]);
    VEC_FREE(&inits);
    write_operands(scan);
    if (scan_accept_word(scan, "applies")) {
        op = scan_word(scan);
        if (op.at == op.end)
            scan_fail(scan, ERROR_INVALID_MODULE, op.at, "expected an op like stablehlo.add");
    }
    scan_expect_word(scan, "across");
    scan_expect_word(scan, "dimensions");
    scan_expect(scan, "=");
    struct span dims = scan_peek(scan) == '#' ? scan_attr(scan, NULL) : scan_balanced(scan);
    struct span dictionary = take_dictionary(scan);
    scan_expect(scan, ":");
    struct span fn = scan_type(scan);
    if (op.end) {
        short_reducer(scan, op, fn);
    } else {
        scan_expect_word(scan, "reducer");
        long_reducer(scan);
    }
    uint32_t after = scan->at;
    scan->at = dims.at;
    attr_ints(scan, "dimensions");
    scan->at = after;
    attr_dictionary(scan, dictionary);
    attr_flush(scan);
    scan_write(scan, " : ");
    scan_copy(scan, &scan->out, fn);
}

/* ---------------------------------------------------------------- composite, scan */
static void composite(struct scan *scan)
{
    struct span name = scan_string(scan);
    scan->operands.count = 0;
    operand_list(scan);
    write_operands(scan);
    if (scan_accept(scan, "(")) {
        scan_write(scan, " (");
        for (bool first = true; !scan_accept(scan, ")"); first = false) {
            if (!first)
                scan_expect(scan, ",");
            scan_expect(scan, "{");
            scan_write(scan, first ? "{\n" : ", {\n");
            rewrite_region(scan);
            scan_write(scan, "}");
        }
        scan_write(scan, ")");
    }
    attr_begin(scan, "name");
    attr_copy(scan, name);
    attr_dictionary(scan, take_dictionary(scan));
    attr_flush(scan);
    write_function_type(scan);
}

/* how many types a function type gives */
static unsigned result_count(struct scan *scan, struct span fn)
{
    uint32_t after = scan->at;
    unsigned count = 0;
    scan->at = fn.at;
    scan_balanced(scan);
    scan_expect(scan, "->");
    if (scan_accept(scan, "("))
        for (; !scan_accept(scan, ")"); count++) {
            if (count)
                scan_expect(scan, ",");
            scan_type(scan);
        }
    else
        count = 1;
    scan->at = after;
    return count;
}

static void operands_in_parentheses(struct scan *scan)
{
    scan_expect(scan, "(");
    operand_list(scan);
    scan_expect(scan, ")");
}

static void scan_op(struct scan *scan)
{
    struct span dictionary = nothing;
    scan->operands.count = 0;
    operands_in_parentheses(scan);
    unsigned inputs = (unsigned)scan->operands.count;
    scan_expect_word(scan, "inits");
    operands_in_parentheses(scan);
    unsigned inits = (unsigned)scan->operands.count - inputs;
    scan_expect_word(scan, "dimension");
    scan_expect(scan, "=");
    struct span dimension = scan_integer(scan);
    if (scan_accept_word(scan, "attributes"))
        dictionary = take_dictionary(scan);
    write_operands(scan);
    scan_expect(scan, "{");
    scan_write(scan, " ({\n");
    rewrite_region(scan);
    scan_write(scan, "})");
    scan_expect(scan, ":");
    struct span fn = scan_type(scan);
    unsigned outs = scan->text[fn.at] == '(' ? result_count(scan, fn) : 0;
    if (outs < inits)
        scan_fail(scan, ERROR_INVALID_MODULE, fn.at, "expected at least as many results as initial values");
    attr_begin(scan, "dimension");
    attr_copy(scan, dimension);
    attr_add(scan, " : i64");
    attr_begin(scan, "operandSegmentSizes");
    text_printf(&scan->attrs, "array<i32: %u, %u>", inputs, inits);
    attr_begin(scan, "resultSegmentSizes");
    text_printf(&scan->attrs, "array<i32: %u, %u>", outs - inits, inits);
    attr_dictionary(scan, dictionary);
    attr_flush(scan);
    scan_write(scan, " : ");
    scan_copy(scan, &scan->out, fn);
}

/* ---------------------------------------------------------------- sdy computations */
static struct span list_attr(struct scan *scan, const char *word, char open)
{
    if (!scan_accept_word(scan, word))
        return nothing;
    scan_expect(scan, "=");
    if (scan_peek(scan) == '#')
        return scan_attr(scan, NULL);
    if (scan_peek(scan) != open)
        scan_expect(scan, open == '[' ? "[" : "{");
    return scan_balanced(scan);
}

static void wrapped_attr(struct scan *scan, const char *name, const char *before, struct span value,
                         const char *after)
{
    if (!value.end)
        return;
    bool whole = scan->text[value.at] == '#';
    attr_begin(scan, name);
    attr_add(scan, whole ? "" : before);
    attr_copy(scan, value);
    attr_add(scan, whole ? "" : after);
}

static void computation(struct scan *scan, bool manual)
{
    struct arguments args = {0};
    struct span name = nothing, axes = nothing;
    if (!manual) {
        scan_expect(scan, "<");
        name = scan_string(scan);
        scan_expect(scan, ">");
    }
    scan->operands.count = 0;
    operands_in_parentheses(scan);
    struct span in = list_attr(scan, "in_shardings", '['), out = list_attr(scan, "out_shardings", '[');
    if (manual)
        axes = list_attr(scan, "manual_axes", '{');
    read_arguments(scan, &args);
    write_operands(scan);
    scan_expect(scan, "{");
    scan_write(scan, " ({\n");
    write_block_header(scan, &args);
    rewrite_region(scan);
    scan_write(scan, "})");
    if (name.end) {
        attr_begin(scan, "name");
        attr_copy(scan, name);
    }
    wrapped_attr(scan, "in_shardings", "#sdy.sharding_per_value<", in, ">");
    wrapped_attr(scan, "out_shardings", "#sdy.sharding_per_value<", out, ">");
    wrapped_attr(scan, "manual_axes", "#sdy<manual_axes", axes, ">");
    attr_dictionary(scan, take_dictionary(scan));
    attr_flush(scan);
    write_function_type(scan);
    VEC_FREE(&args.list);
}

bool special_rewrite(struct scan *scan, struct span name, const char *full)
{
    static const char *const names[] = {
        "builtin.module",      "func.func", "stablehlo.while",        "stablehlo.reduce",
        "stablehlo.composite", "chlo.scan", "sdy.manual_computation", "sdy.named_computation"};
    unsigned which = 0, count = sizeof names / sizeof *names;
    while (which < count && strcmp(full, names[which]) != 0)
        which++;
    if (which == count)
        return false;
    text_printf(&scan->out, "\"%s\"", full);
    switch (which) {
    case 0: module(scan); break;
    case 1: function(scan); break;
    case 2: while_loop(scan); break;
    case 3: reduce(scan); break;
    case 4: composite(scan); break;
    case 5: scan_op(scan); break;
    default: computation(scan, which == 6);
    }
    return true;
}
