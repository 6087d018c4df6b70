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
static void read_arguments(struct scan *s, struct arguments *a)
{
    scan_expect(s, "(");
    for (bool first = true; !scan_accept(s, ")"); first = false) {
        struct argument x = {nothing, nothing, nothing, 0};
        if (!first)
            scan_expect(s, ",");
        if (scan_peek(s) == '%') {
            x.value = scan_value(s);
            scan_expect(s, ":");
        }
        x.type = scan_type(s);
        x.dictionary = take_dictionary(s);
        x.loc = scan_loc(s);
        VEC_PUSH(&a->list, x);
    }
}

static void write_block_header(struct scan *s, const struct arguments *a)
{
    if (!a->list.count)
        return;
    scan_write(s, "^bb0(");
    for (size_t i = 0; i < a->list.count; i++) {
        const struct argument *x = &a->list.at[i];
        if (x->value.at == x->value.end)
            scan_fail(s, ERROR_INVALID_MODULE, x->type.at, "expected a name like '%%arg0' before this type");
        write_block_arg(s, x->value, x->type, x->loc, i == 0);
    }
    scan_write(s, "):\n");
}

static void write_types(struct scan *s, struct text *to, const struct arguments *a)
{
    text_add(to, "(");
    for (size_t i = 0; i < a->list.count; i++) {
        if (i)
            text_add(to, ", ");
        scan_copy(s, to, a->list.at[i].type);
    }
    text_add(to, ")");
}

/* ---------------------------------------------------------------- module and functions */
static void module(struct scan *s)
{
    struct span name = nothing, dictionary = nothing;
    if (scan_peek(s) == '@')
        name = scan_symbol(s);
    if (scan_accept_word(s, "attributes"))
        dictionary = take_dictionary(s);
    scan_expect(s, "{");
    scan_write(s, "() ({\n^bb0:\n");
    rewrite_region(s);
    scan_write(s, "})");
    if (name.end) {
        attr_begin(s, "sym_name");
        attr_symbol_name(s, name);
    }
    attr_dictionary(s, dictionary);
    attr_flush(s);
    scan_write(s, " : () -> ()");
}

static void argument_dictionaries(struct scan *s, const char *name, const struct arguments *a)
{
    bool any = false;
    for (size_t i = 0; i < a->list.count; i++) {
        struct span d = a->list.at[i].dictionary;
        any |= d.end && !span_is_blank(s, (struct span){d.at + 1, d.end - 1});
    }
    if (!any)
        return;
    attr_begin(s, name);
    for (size_t i = 0; i < a->list.count; i++) {
        attr_add(s, i ? ", " : "[");
        if (a->list.at[i].dictionary.end)
            attr_copy(s, a->list.at[i].dictionary);
        else
            attr_add(s, "{}");
    }
    attr_add(s, "]");
}

static void function(struct scan *s)
{
    static const char *const visibilities[] = {"public", "private", "nested"};
    struct arguments args = {0}, outs = {0};
    const char *visibility = NULL;
    struct span dictionary = nothing;
    for (unsigned i = 0; i < 3 && !visibility; i++)
        if (scan_accept_word(s, visibilities[i]))
            visibility = visibilities[i];
    struct span name = scan_symbol(s);
    read_arguments(s, &args);
    if (scan_accept(s, "->")) {
        if (scan_peek(s) == '(') {
            read_arguments(s, &outs);
        } else {
            struct argument only = {nothing, scan_type(s), nothing, 0};
            VEC_PUSH(&outs.list, only);
        }
    }
    if (scan_accept_word(s, "attributes"))
        dictionary = take_dictionary(s);
    scan_write(s, "() ({\n");
    if (scan_accept(s, "{")) {
        write_block_header(s, &args);
        rewrite_region(s);
    }
    scan_write(s, "})");
    attr_begin(s, "sym_name");
    attr_symbol_name(s, name);
    attr_begin(s, "function_type");
    write_types(s, &s->attrs, &args);
    attr_add(s, " -> ");
    write_types(s, &s->attrs, &outs);
    if (visibility) {
        attr_begin(s, "sym_visibility");
        text_printf(&s->attrs, "\"%s\"", visibility);
    }
    argument_dictionaries(s, "arg_attrs", &args);
    argument_dictionaries(s, "res_attrs", &outs);
    attr_dictionary(s, dictionary);
    attr_flush(s);
    scan_write(s, " : () -> ()");
    VEC_FREE(&args.list);
    VEC_FREE(&outs.list);
}

/* ---------------------------------------------------------------- control flow and reductions */
static void while_loop(struct scan *s)
{
    struct arguments args = {0};
    struct span dictionary = nothing;
    s->operands.count = 0;
    scan_expect(s, "(");
    for (bool first = true; !scan_accept(s, ")"); first = false) {
        struct argument x = {nothing, nothing, nothing, 0};
        if (!first)
            scan_expect(s, ",");
        x.value = scan_value(s);
        scan_expect(s, "=");
        VEC_PUSH(&s->operands, scan_value(s));
        VEC_PUSH(&args.list, x);
    }
    if (args.list.count)
        scan_expect(s, ":");
    for (size_t i = 0; i < args.list.count; i++) {
        if (i)
            scan_expect(s, ",");
        args.list.at[i].type = scan_type(s);
        args.list.at[i].loc = scan_loc(s);
    }
    if (scan_accept_word(s, "attributes"))
        dictionary = take_dictionary(s);
    write_operands(s);
    for (unsigned i = 0; i < 2; i++) {
        scan_expect_word(s, i ? "do" : "cond");
        scan_expect(s, "{");
        scan_write(s, i ? ", {\n" : " ({\n");
        write_block_header(s, &args);
        rewrite_region(s);
        scan_write(s, "}");
    }
    scan_write(s, ")");
    attr_dictionary(s, dictionary);
    attr_flush(s);
    scan_write(s, " : ");
    write_types(s, &s->out, &args);
    scan_write(s, " -> ");
    write_types(s, &s->out, &args);
    VEC_FREE(&args.list);
}

/* `tensor<E>` for the element type of the first operand of a function type */
static char *scalar_type(struct scan *s, struct span fn)
{
    struct text t = {0};
    scan_copy(s, &t, fn);
    char *at = t.at + (*t.at == '(');
    while (*at == ' ')
        at++;
    char *end = at;
    int depth = 0;
    for (; *end && (depth || (*end != ',' && *end != ')')); end++)
        depth += (*end == '<' || *end == '(') - ((*end == '>' && end[-1] != '-') || *end == ')');
    if (strncmp(at, "tensor<", 7) != 0 || end[-1] != '>')
        scan_fail(s, ERROR_INVALID_MODULE, fn.at, "expected tensors in the type of this reduce");
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
    text_release(&t);
    return out;
}

static void short_reducer(struct scan *s, struct span op, struct span fn)
{
    char *scalar = scalar_type(s, fn);
    text_printf(&s->out, "({\n^bb0(%%" READER_DIALECT ".x: %s, %%" READER_DIALECT ".y: %s):\n", scalar,
                scalar);
    s->arg_count += 2;
    op_begin(s, op.at);
    scan_write(s, "%" READER_DIALECT ".z = \"");
    scan_copy(s, &s->out, op);
    text_printf(&s->out, "\"(%%" READER_DIALECT ".x, %%" READER_DIALECT ".y) : (%s, %s) -> %s\n", scalar,
                scalar, scalar);
    op_begin(s, op.at);
    text_printf(&s->out, "\"stablehlo.return\"(%%" READER_DIALECT ".z) : (%s) -> ()\n})", scalar);
    free(scalar);
}

/* `(%a: T, %p: T) (%b: U, %q: U) { .. }`: elements first, then accumulators */
static void long_reducer(struct scan *s)
{
    struct arguments pairs = {0}, args = {0};
    while (scan_peek(s) == '(')
        read_arguments(s, &pairs);
    for (unsigned k = 0; k < 2; k++)
        for (size_t i = k; i < pairs.list.count; i += 2)
            VEC_PUSH(&args.list, pairs.list.at[i]);
    scan_expect(s, "{");
    scan_write(s, "({\n");
    write_block_header(s, &args);
    rewrite_region(s);
    scan_write(s, "})");
    VEC_FREE(&pairs.list);
    VEC_FREE(&args.list);
}

static void reduce(struct scan *s)
{
    VEC(struct span) inits = {0};
    struct span op = nothing;
    s->operands.count = 0;
    do {
        scan_expect(s, "(");
        VEC_PUSH(&s->operands, scan_value(s));
        scan_expect_word(s, "init");
        scan_expect(s, ":");
        VEC_PUSH(&inits, scan_value(s));
        scan_expect(s, ")");
    } while (scan_accept(s, ","));
    for (size_t i = 0; i < inits.count; i++)
        VEC_PUSH(&s->operands, inits.at[i]);
    VEC_FREE(&inits);
    write_operands(s);
    if (scan_accept_word(s, "applies")) {
        op = scan_word(s);
        if (op.at == op.end)
            scan_fail(s, ERROR_INVALID_MODULE, op.at, "expected an op like stablehlo.add");
    }
    scan_expect_word(s, "across");
    scan_expect_word(s, "dimensions");
    scan_expect(s, "=");
    struct span dims = scan_peek(s) == '#' ? scan_attr(s, NULL) : scan_balanced(s);
    struct span dictionary = take_dictionary(s);
    scan_expect(s, ":");
    struct span fn = scan_type(s);
    if (op.end) {
        short_reducer(s, op, fn);
    } else {
        scan_expect_word(s, "reducer");
        long_reducer(s);
    }
    uint32_t after = s->at;
    s->at = dims.at;
    attr_ints(s, "dimensions");
    s->at = after;
    attr_dictionary(s, dictionary);
    attr_flush(s);
    scan_write(s, " : ");
    scan_copy(s, &s->out, fn);
}

/* ---------------------------------------------------------------- composite, scan */
static void composite(struct scan *s)
{
    struct span name = scan_string(s);
    s->operands.count = 0;
    operand_list(s);
    write_operands(s);
    if (scan_accept(s, "(")) {
        scan_write(s, " (");
        for (bool first = true; !scan_accept(s, ")"); first = false) {
            if (!first)
                scan_expect(s, ",");
            scan_expect(s, "{");
            scan_write(s, first ? "{\n" : ", {\n");
            rewrite_region(s);
            scan_write(s, "}");
        }
        scan_write(s, ")");
    }
    attr_begin(s, "name");
    attr_copy(s, name);
    attr_dictionary(s, take_dictionary(s));
    attr_flush(s);
    write_function_type(s);
}

/* how many types a function type gives */
static unsigned result_count(struct scan *s, struct span fn)
{
    uint32_t after = s->at;
    unsigned count = 0;
    s->at = fn.at;
    scan_balanced(s);
    scan_expect(s, "->");
    if (scan_accept(s, "("))
        for (; !scan_accept(s, ")"); count++) {
            if (count)
                scan_expect(s, ",");
            scan_type(s);
        }
    else
        count = 1;
    s->at = after;
    return count;
}

static void operands_in_parentheses(struct scan *s)
{
    scan_expect(s, "(");
    operand_list(s);
    scan_expect(s, ")");
}

static void scan_op(struct scan *s)
{
    struct span dictionary = nothing;
    s->operands.count = 0;
    operands_in_parentheses(s);
    unsigned inputs = (unsigned)s->operands.count;
    scan_expect_word(s, "inits");
    operands_in_parentheses(s);
    unsigned inits = (unsigned)s->operands.count - inputs;
    scan_expect_word(s, "dimension");
    scan_expect(s, "=");
    struct span dimension = scan_integer(s);
    if (scan_accept_word(s, "attributes"))
        dictionary = take_dictionary(s);
    write_operands(s);
    scan_expect(s, "{");
    scan_write(s, " ({\n");
    rewrite_region(s);
    scan_write(s, "})");
    scan_expect(s, ":");
    struct span fn = scan_type(s);
    unsigned outs = s->text[fn.at] == '(' ? result_count(s, fn) : 0;
    if (outs < inits)
        scan_fail(s, ERROR_INVALID_MODULE, fn.at, "expected at least as many results as initial values");
    attr_begin(s, "dimension");
    attr_copy(s, dimension);
    attr_add(s, " : i64");
    attr_begin(s, "operandSegmentSizes");
    text_printf(&s->attrs, "array<i32: %u, %u>", inputs, inits);
    attr_begin(s, "resultSegmentSizes");
    text_printf(&s->attrs, "array<i32: %u, %u>", outs - inits, inits);
    attr_dictionary(s, dictionary);
    attr_flush(s);
    scan_write(s, " : ");
    scan_copy(s, &s->out, fn);
}

/* ---------------------------------------------------------------- sdy computations */
static struct span list_attr(struct scan *s, const char *word, char open)
{
    if (!scan_accept_word(s, word))
        return nothing;
    scan_expect(s, "=");
    if (scan_peek(s) == '#')
        return scan_attr(s, NULL);
    if (scan_peek(s) != open)
        scan_expect(s, open == '[' ? "[" : "{");
    return scan_balanced(s);
}

static void wrapped_attr(struct scan *s, const char *name, const char *before, struct span v,
                         const char *after)
{
    if (!v.end)
        return;
    bool whole = s->text[v.at] == '#';
    attr_begin(s, name);
    attr_add(s, whole ? "" : before);
    attr_copy(s, v);
    attr_add(s, whole ? "" : after);
}

static void computation(struct scan *s, bool manual)
{
    struct arguments args = {0};
    struct span name = nothing, axes = nothing;
    if (!manual) {
        scan_expect(s, "<");
        name = scan_string(s);
        scan_expect(s, ">");
    }
    s->operands.count = 0;
    operands_in_parentheses(s);
    struct span in = list_attr(s, "in_shardings", '['), out = list_attr(s, "out_shardings", '[');
    if (manual)
        axes = list_attr(s, "manual_axes", '{');
    read_arguments(s, &args);
    write_operands(s);
    scan_expect(s, "{");
    scan_write(s, " ({\n");
    write_block_header(s, &args);
    rewrite_region(s);
    scan_write(s, "})");
    if (name.end) {
        attr_begin(s, "name");
        attr_copy(s, name);
    }
    wrapped_attr(s, "in_shardings", "#sdy.sharding_per_value<", in, ">");
    wrapped_attr(s, "out_shardings", "#sdy.sharding_per_value<", out, ">");
    wrapped_attr(s, "manual_axes", "#sdy<manual_axes", axes, ">");
    attr_dictionary(s, take_dictionary(s));
    attr_flush(s);
    write_function_type(s);
    VEC_FREE(&args.list);
}

bool special_rewrite(struct scan *s, struct span name, const char *full)
{
    static const char *const names[] = {
        "builtin.module",      "func.func", "stablehlo.while",        "stablehlo.reduce",
        "stablehlo.composite", "chlo.scan", "sdy.manual_computation", "sdy.named_computation"};
    unsigned which = 0, count = sizeof names / sizeof *names;
    while (which < count && strcmp(full, names[which]) != 0)
        which++;
    if (which == count)
        return false;
    text_printf(&s->out, "\"%s\"", full);
    switch (which) {
    case 0: module(s); break;
    case 1: function(s); break;
    case 2: while_loop(s); break;
    case 3: reduce(s); break;
    case 4: composite(s); break;
    case 5: scan_op(s); break;
    default: computation(s, which == 6);
    }
    return true;
}
