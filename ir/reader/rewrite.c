/* The rewriter's main loop: the text as a whole, statements, regions and generic ops (rewrite.h). It also
 * has what all pretty forms need: operands, attributes and function types of the op being read. */
#include "ir/reader/rewrite.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- attributes of the op being read */
void attr_begin(struct scan *s, const char *name)
{
    if (s->attrs.size)
        text_add(&s->attrs, ", ");
    text_add(&s->attrs, name);
    text_add(&s->attrs, " = ");
}

void attr_add(struct scan *s, const char *text)
{
    text_add(&s->attrs, text);
}

void attr_copy(struct scan *s, struct span from)
{
    scan_copy(s, &s->attrs, from);
}

void attr_symbol_name(struct scan *s, struct span symbol)
{
    struct span name = {symbol.at + 1, symbol.end};
    bool quoted = s->text[name.at] == '"';
    attr_add(s, quoted ? "" : "\"");
    text_add_n(&s->attrs, s->text + name.at, name.end - name.at);
    attr_add(s, quoted ? "" : "\"");
}

bool span_is_blank(const struct scan *s, struct span x)
{
    while (x.at < x.end) {
        char c = s->text[x.at];
        if (c == '/' && x.at + 1 < x.end && s->text[x.at + 1] == '/') {
            const char *newline = memchr(s->text + x.at, '\n', x.end - x.at);
            if (!newline)
                return true;
            x.at = (uint32_t)(newline - s->text);
        } else if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
            return false;
        }
        x.at++;
    }
    return true;
}

void attr_dictionary(struct scan *s, struct span braces)
{
    if (braces.end < braces.at + 2)
        return;
    struct span body = {braces.at + 1, braces.end - 1};
    if (span_is_blank(s, body))
        return;
    if (s->attrs.size)
        text_add(&s->attrs, ", ");
    attr_copy(s, body);
}

void attr_flush(struct scan *s)
{
    if (s->attrs.size) {
        scan_write(s, " {");
        for (size_t i = 0; i < s->attr_traces.count; i++) {
            struct trace t = s->attr_traces.at[i];
            t.out += s->out.size;
            VEC_PUSH(&s->traces, t);
        }
        text_add_n(&s->out, s->attrs.at, s->attrs.size);
        scan_write(s, "}");
    }
    s->attrs.size = 0;
    s->attr_traces.count = 0;
}

struct span take_dictionary(struct scan *s)
{
    if (scan_peek(s) != '{')
        return (struct span){0, 0};
    return scan_balanced(s);
}

/* ---------------------------------------------------------------- parts of ops */
void operand_list(struct scan *s)
{
    if (scan_peek(s) != '%')
        return;
    for (;;) {
        VEC_PUSH(&s->operands, scan_value(s));
        uint32_t before = s->at;
        if (scan_accept(s, ",") && scan_peek(s) == '%')
            continue;
        s->at = before;
        return;
    }
}

void write_operands(struct scan *s)
{
    scan_write(s, "(");
    for (size_t i = 0; i < s->operands.count; i++) {
        if (i)
            scan_write(s, ", ");
        struct span v = s->operands.at[i];
        if (s->tracing)
            scan_copy(s, &s->out, v);
        else
            text_add_n(&s->out, s->text + v.at, v.end - v.at);
    }
    scan_write(s, ")");
}

void write_function_type(struct scan *s)
{
    scan_expect(s, ":");
    scan_write(s, " : ");
    scan_copy(s, &s->out, scan_type(s));
}

void write_block_arg(struct scan *s, struct span value, struct span type, uint32_t loc, bool first)
{
    scan_write(s, first ? "" : ", ");
    scan_copy(s, &s->out, value);
    scan_write(s, ": ");
    scan_copy(s, &s->out, type);
    if (loc) {
        struct arg_place a = {s->arg_count, loc};
        VEC_PUSH(&s->args, a);
    }
    s->arg_count++;
}

size_t op_begin(struct scan *s, uint32_t at)
{
    struct op_place o = {at, 0};
    VEC_PUSH(&s->ops, o);
    if (s->tracing) {
        struct trace t = {s->out.size, at, 0};
        VEC_PUSH(&s->traces, t);
    }
    return s->ops.count - 1;
}

/* ---------------------------------------------------------------- regions */
static void block_label(struct scan *s)
{
    struct span label = {s->at++, 0};
    label.end = scan_word(s).end;
    if (label.end == label.at + 1)
        scan_fail(s, ERROR_INVALID_MODULE, label.at, "expected the name of a block after '^'");
    scan_copy(s, &s->out, label);
    if (scan_accept(s, "(")) {
        scan_write(s, "(");
        for (bool first = true; !scan_accept(s, ")"); first = false) {
            if (!first)
                scan_expect(s, ",");
            struct span value = scan_value(s);
            scan_expect(s, ":");
            struct span type = scan_type(s);
            write_block_arg(s, value, type, scan_loc(s), first);
        }
        scan_write(s, ")");
    }
    scan_expect(s, ":");
    scan_write(s, ":\n");
}

void rewrite_region(struct scan *s)
{
    uint32_t open = s->at ? s->at - 1 : 0;
    scan_enter(s);
    for (;;) {
        char c = scan_peek(s);
        if (c == '}') {
            s->at++;
            break;
        }
        if (c == 0)
            scan_fail(s, ERROR_INVALID_MODULE, open, "this '{' is not closed: the text ends first");
        if (c == '^')
            block_label(s);
        else
            rewrite_statement(s);
    }
    s->depth--;
}

static void generic_regions(struct scan *s, bool is_module)
{
    uint32_t before = (scan_blank(s), s->at);
    if (!scan_accept(s, "(") || scan_peek(s) != '{') {
        s->at = before;
        return;
    }
    scan_write(s, " (");
    do {
        scan_expect(s, "{");
        scan_write(s, s->out.at[s->out.size - 1] == '}' ? ", {\n" : "{\n");
        if (is_module && scan_peek(s) == '}')
            scan_write(s, "^bb0:\n");
        rewrite_region(s);
        scan_write(s, "}");
    } while (scan_accept(s, ","));
    scan_expect(s, ")");
    scan_write(s, ")");
}

/* The rest of `"name"(operands) <{..}> ({..}) {..} : type`, from its `(` on. Properties (`<{..}>`) join the
 * attributes. */
void rewrite_generic_rest(struct scan *s, bool is_module)
{
    struct span properties = {0, 0};
    scan_expect(s, "(");
    s->operands.count = 0;
    operand_list(s);
    scan_expect(s, ")");
    write_operands(s);
    if (scan_peek(s) == '[')
        scan_fail(s, ERROR_UNSUPPORTED_MODULE, s->at,
                  "branches between blocks are not supported; use stablehlo's "
                  "while, case and if");
    if (scan_accept(s, "<")) {
        properties = take_dictionary(s);
        scan_expect(s, ">");
    }
    generic_regions(s, is_module);
    attr_dictionary(s, properties);
    attr_dictionary(s, take_dictionary(s));
    attr_flush(s);
    write_function_type(s);
}

/* ---------------------------------------------------------------- statements */
static void results(struct scan *s)
{
    for (bool first = true;; first = false) {
        struct span v = scan_value(s);
        scan_write(s, first ? "" : ", ");
        scan_copy(s, &s->out, v);
        if (scan_accept(s, ":")) {
            scan_write(s, ":");
            scan_copy(s, &s->out, scan_integer(s));
        }
        if (scan_accept(s, "="))
            break;
        scan_expect(s, ",");
    }
    scan_write(s, " = ");
}

static void full_name(struct scan *s, struct span name, char full[64])
{
    static const char *const short_names[][2] = {{"module", "builtin.module"},
                                                 {"return", "func.return"},
                                                 {"call", "func.call"},
                                                 {"constant", "func.constant"},
                                                 {"func", "func.func"}};
    size_t size = name.end - name.at;
    if (size > 63)
        size = 63;
    memcpy(full, s->text + name.at, size);
    full[size] = 0;
    for (unsigned i = 0; i < sizeof short_names / sizeof *short_names; i++)
        if (strcmp(full, short_names[i][0]) == 0)
            strcpy(full, short_names[i][1]);
}

void rewrite_statement(struct scan *s)
{
    char full[64], quoted[64];
    if (scan_peek(s) == '%')
        results(s);
    scan_blank(s);
    size_t op = op_begin(s, s->at);
    if (scan_peek(s) == '"') {
        struct span name = scan_string(s);
        scan_copy(s, &s->out, name);
        rewrite_generic_rest(s, scan_is(s, name, "\"builtin.module\""));
    } else {
        struct span name = scan_word(s);
        if (name.at == name.end)
            scan_fail(s, ERROR_INVALID_MODULE, s->at, "expected an op, found %s",
                      scan_quote(s, s->at, quoted));
        full_name(s, name, full);
        if (!form_rewrite(s, name, full) && !special_rewrite(s, name, full))
            scan_fail(s, strchr(full, '.') ? ERROR_UNSUPPORTED_MODULE : ERROR_INVALID_MODULE, name.at,
                      "'%s' is not an op whose short form is known; write it in generic form: \"%s\"(..) : "
                      "(..) -> ..",
                      full, full);
    }
    s->ops.at[op].loc = scan_loc(s);
    scan_write(s, "\n");
}

/* ---------------------------------------------------------------- the text */
static void resources(struct scan *s)
{
    uint32_t at = s->at;
    const char *end = memmem(s->text + at, s->size - at, "#-}", 3);
    if (!end)
        scan_fail(s, ERROR_INVALID_MODULE, at, "'{-#' is not closed by '#-}'");
    s->at = (uint32_t)(end + 3 - s->text);
    s->resources = (struct span){at, s->at};
}

static void check_bytes(struct scan *s)
{
    static const char bytecode[] = {'M', 'L', (char)0xef, 'R'};
    if (s->size >= 4 && memcmp(s->text, bytecode, 4) == 0)
        scan_fail(s, ERROR_UNSUPPORTED_MODULE, 0,
                  "this is MLIR bytecode; send the module as text (print it with "
                  "str(module), or mlir-opt without --emit-bytecode)");
    const char *nul = memchr(s->text, 0, s->size);
    if (nul)
        scan_fail(s, ERROR_INVALID_MODULE, (uint32_t)(nul - s->text), "a NUL byte: this is not text");
    static const char *const alien[] = {"f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E8M0FNU"};
    for (unsigned i = 0; i < sizeof alien / sizeof *alien; i++)
        s->has_alien |= memmem(s->text, s->size, alien[i], strlen(alien[i])) != NULL;
}

static bool at_module(struct scan *s)
{
    uint32_t before = s->at;
    struct span w = scan_word(s);
    s->at = before;
    static const char quoted[] = "\"builtin.module\"";
    return scan_is(s, w, "module") || scan_is(s, w, "builtin.module") ||
           (s->size - before >= sizeof quoted - 1 &&
            memcmp(s->text + before, quoted, sizeof quoted - 1) == 0);
}

void rewrite_text(struct scan *s)
{
    unsigned statements = 0, modules = 0;
    check_bytes(s);
    for (;;) {
        char c = scan_peek(s);
        if (c == 0)
            break;
        if (c == '#' || c == '!') {
            scan_define_alias(s);
        } else if (c == '{' && s->size - s->at > 3 && memcmp(s->text + s->at, "{-#", 3) == 0) {
            resources(s);
        } else {
            modules += at_module(s);
            statements++;
            rewrite_statement(s);
        }
    }
    if (!statements)
        scan_fail(s, ERROR_INVALID_MODULE, s->size, "the text holds no op; expected a module");
    s->wrapped = statements != 1 || modules != 1;
}

uint32_t rewrite_origin(const struct scan *s, size_t out)
{
    uint32_t at = 0;
    for (size_t i = 0; i < s->traces.count; i++) {
        const struct trace *t = &s->traces.at[i];
        if (t->out > out)
            break;
        size_t ahead = out - t->out;
        at = t->at + (ahead < t->size ? (uint32_t)ahead : t->size);
    }
    return at;
}
