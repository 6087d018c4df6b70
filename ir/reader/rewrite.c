/* The rewriter's main loop: the text as a whole, statements, regions and generic ops (rewrite.h). It also
 * has what all pretty forms need: operands, attributes and function types of the op being read. */
#include "ir/reader/rewrite.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- attributes of the op being read */
void attr_begin(struct scan *scan, const char *name)
{
    if (scan->attrs.size)
        text_add(&scan->attrs, ", ");
    text_add(&scan->attrs, name);
    text_add(&scan->attrs, " = ");
}

void attr_add(struct scan *scan, const char *text)
{
    text_add(&scan->attrs, text);
}

void attr_copy(struct scan *scan, struct span from)
{
    scan_copy(scan, &scan->attrs, from);
}

void attr_symbol_name(struct scan *scan, struct span symbol)
{
    struct span name = {symbol.at + 1, symbol.end};
    bool quoted = scan->text[name.at] == '"';
    attr_add(scan, quoted ? "" : "\"");
    text_add_n(&scan->attrs, scan->text + name.at, name.end - name.at);
    attr_add(scan, quoted ? "" : "\"");
}

bool span_is_blank(const struct scan *scan, struct span span)
{
    while (span.at < span.end) {
        char character = scan->text[span.at];
        if (character == '/' && span.at + 1 < span.end && scan->text[span.at + 1] == '/') {
            const char *newline = memchr(scan->text + span.at, '\n', span.end - span.at);
            if (!newline)
                return true;
            span.at = (uint32_t)(newline - scan->text);
        } else if (character != ' ' && character != '\n' && character != '\t' && character != '\r') {
            return false;
        }
        span.at++;
    }
    return true;
}

void attr_dictionary(struct scan *scan, struct span braces)
{
    if (braces.end < braces.at + 2)
        return;
    struct span body = {braces.at + 1, braces.end - 1};
    if (span_is_blank(scan, body))
        return;
    if (scan->attrs.size)
        text_add(&scan->attrs, ", ");
    attr_copy(scan, body);
}

void attr_flush(struct scan *scan)
{
    if (scan->attrs.size) {
        scan_write(scan, " {");
        for (size_t i = 0; i < scan->attr_traces.count; i++) {
            struct trace trace = scan->attr_traces.at[i];
            trace.out += scan->out.size;
            VEC_PUSH(&scan->traces, trace);
        }
        text_add_n(&scan->out, scan->attrs.at, scan->attrs.size);
        scan_write(scan, "}");
    }
    scan->attrs.size = 0;
    scan->attr_traces.count = 0;
}

struct span take_dictionary(struct scan *scan)
{
    if (scan_peek(scan) != '{')
        return (struct span){0, 0};
    return scan_balanced(scan);
}

/* ---------------------------------------------------------------- parts of ops */
void operand_list(struct scan *scan)
{
    if (scan_peek(scan) != '%')
        return;
    for (;;) {
        VEC_PUSH(&scan->operands, scan_value(scan));
        uint32_t before = scan->at;
        if (scan_accept(scan, ",") && scan_peek(scan) == '%')
            continue;
        scan->at = before;
        return;
    }
}

void write_operands(struct scan *scan)
{
    scan_write(scan, "(");
    for (size_t i = 0; i < scan->operands.count; i++) {
        if (i)
            scan_write(scan, ", ");
        struct span value = scan->operands.at[i];
        if (scan->tracing)
            scan_copy(scan, &scan->out, value);
        else
            text_add_n(&scan->out, scan->text + value.at, value.end - value.at);
    }
    scan_write(scan, ")");
}

void write_function_type(struct scan *scan)
{
    scan_expect(scan, ":");
    scan_write(scan, " : ");
    scan_copy(scan, &scan->out, scan_type(scan));
}

void write_block_arg(struct scan *scan, struct span value, struct span type, uint32_t loc, bool first)
{
    scan_write(scan, first ? "" : ", ");
    scan_copy(scan, &scan->out, value);
    scan_write(scan, ": ");
    scan_copy(scan, &scan->out, type);
    if (loc) {
        struct arg_place arg_place = {scan->arg_count, loc};
        VEC_PUSH(&scan->args, arg_place);
    }
    scan->arg_count++;
}

size_t op_begin(struct scan *scan, uint32_t at)
{
    struct op_place op_place = {at, 0};
    VEC_PUSH(&scan->ops, op_place);
    if (scan->tracing) {
        struct trace trace = {scan->out.size, at, 0};
        VEC_PUSH(&scan->traces, trace);
    }
    return scan->ops.count - 1;
}

/* ---------------------------------------------------------------- regions */
static void block_label(struct scan *scan)
{
    struct span label = {scan->at++, 0};
    label.end = scan_word(scan).end;
    if (label.end == label.at + 1)
        scan_fail(scan, ERROR_INVALID_MODULE, label.at, "expected the name of a block after '^'");
    scan_copy(scan, &scan->out, label);
    if (scan_accept(scan, "(")) {
        scan_write(scan, "(");
        for (bool first = true; !scan_accept(scan, ")"); first = false) {
            if (!first)
                scan_expect(scan, ",");
            struct span value = scan_value(scan);
            scan_expect(scan, ":");
            struct span type = scan_type(scan);
            write_block_arg(scan, value, type, scan_loc(scan), first);
        }
        scan_write(scan, ")");
    }
    scan_expect(scan, ":");
    scan_write(scan, ":\n");
}

void rewrite_region(struct scan *scan)
{
    uint32_t open = scan->at ? scan->at - 1 : 0;
    scan_enter(scan);
    for (;;) {
        char character = scan_peek(scan);
        if (character == '}') {
            scan->at++;
            break;
        }
        if (character == 0)
            scan_fail(scan, ERROR_INVALID_MODULE, open, "this '{' is not closed: the text ends first");
        if (character == '^')
            block_label(scan);
        else
            rewrite_statement(scan);
    }
    scan->depth--;
}

static void generic_regions(struct scan *scan, bool is_module)
{
    uint32_t before = (scan_blank(scan), scan->at);
    if (!scan_accept(scan, "(") || scan_peek(scan) != '{') {
        scan->at = before;
        return;
    }
    scan_write(scan, " (");
    do {
        scan_expect(scan, "{");
        scan_write(scan, scan->out.at[scan->out.size - 1] == '}' ? ", {\n" : "{\n");
        if (is_module && scan_peek(scan) == '}')
            scan_write(scan, "^bb0:\n");
        rewrite_region(scan);
        scan_write(scan, "}");
    } while (scan_accept(scan, ","));
    scan_expect(scan, ")");
    scan_write(scan, ")");
}

/* The rest of `"name"(operands) <{..}> ({..}) {..} : type`, from its `(` on. Properties (`<{..}>`) join the
 * attributes. */
void rewrite_generic_rest(struct scan *scan, bool is_module)
{
    struct span properties = {0, 0};
    scan_expect(scan, "(");
    scan->operands.count = 0;
    operand_list(scan);
    scan_expect(scan, ")");
    write_operands(scan);
    if (scan_peek(scan) == '[')
        scan_fail(scan, ERROR_UNSUPPORTED_MODULE, scan->at,
                  "branches between blocks are not supported; use stablehlo's "
                  "while, case and if");
    if (scan_accept(scan, "<")) {
        properties = take_dictionary(scan);
        scan_expect(scan, ">");
    }
    generic_regions(scan, is_module);
    attr_dictionary(scan, properties);
    attr_dictionary(scan, take_dictionary(scan));
    attr_flush(scan);
    write_function_type(scan);
}

/* ---------------------------------------------------------------- statements */
static void results(struct scan *scan)
{
    for (bool first = true;; first = false) {
        struct span value = scan_value(scan);
        scan_write(scan, first ? "" : ", ");
        scan_copy(scan, &scan->out, value);
        if (scan_accept(scan, ":")) {
            scan_write(scan, ":");
            scan_copy(scan, &scan->out, scan_integer(scan));
        }
        if (scan_accept(scan, "="))
            break;
        scan_expect(scan, ",");
    }
    scan_write(scan, " = ");
}

static void full_name(struct scan *scan, struct span name, char full[64])
{
    static const char *const short_names[][2] = {{"module", "builtin.module"},
                                                 {"return", "func.return"},
                                                 {"call", "func.call"},
                                                 {"constant", "func.constant"},
                                                 {"func", "func.func"}};
    size_t size = name.end - name.at;
    if (size > 63)
        size = 63;
    memcpy(full, scan->text + name.at, size);
    full[size] = 0;
    for (unsigned i = 0; i < sizeof short_names / sizeof *short_names; i++)
        if (strcmp(full, short_names[i][0]) == 0)
            strcpy(full, short_names[i][1]);
}

/* does the module spell ops in generic form that have a pretty one? */
static void count_quoted(struct scan *scan, struct span name)
{
    char full[64];
    size_t size = name.end - name.at;
    if (size < 3 || size - 2 > sizeof full - 1)
        return;
    memcpy(full, scan->text + name.at + 1, size - 2);
    full[size - 2] = 0;
    scan->quoted += form_known(scan, full);
}

/* The location of a short reduce is also that of the ops and arguments which it stands for. */
static void inherit_location(struct scan *scan, uint32_t loc)
{
    for (size_t i = scan->inherit; i < scan->ops.count; i++)
        scan->ops.at[i].loc = loc;
    for (uint32_t i = 2; i > 0 && loc; i--) {
        struct arg_place place = {scan->arg_count - i, loc};
        VEC_PUSH(&scan->args, place);
    }
    scan->inherit = 0;
}

void rewrite_statement(struct scan *scan)
{
    char full[64], quoted[64];
    if (scan_peek(scan) == '%')
        results(scan);
    scan_blank(scan);
    size_t op = op_begin(scan, scan->at);
    if (scan_peek(scan) == '"') {
        struct span name = scan_string(scan);
        scan_copy(scan, &scan->out, name);
        count_quoted(scan, name);
        rewrite_generic_rest(scan, scan_is(scan, name, "\"builtin.module\""));
    } else {
        struct span name = scan_word(scan);
        if (name.at == name.end)
            scan_fail(scan, ERROR_INVALID_MODULE, scan->at, "expected an op, found %s",
                      scan_quote(scan, scan->at, quoted));
        full_name(scan, name, full);
        scan->pretty += memchr(scan->text + name.at, '.', name.end - name.at) != NULL;
        if (strcmp(full, "HloModule") == 0)
            scan_fail(
                scan, ERROR_UNSUPPORTED_MODULE, name.at,
                "this is HLO text; StableHLO is read here: in JAX jax.jit(step).lower(..).as_text(), in "
                "torch_xla what its export to StableHLO writes");
        if (!form_rewrite(scan, name, full) && !special_rewrite(scan, name, full))
            scan_fail(scan, strchr(full, '.') ? ERROR_UNSUPPORTED_MODULE : ERROR_INVALID_MODULE, name.at,
                      "'%s' is not an op whose short form is known; write it in generic form: \"%s\"(..) : "
                      "(..) -> ..",
                      full, full);
    }
    scan->ops.at[op].loc = scan_loc(scan);
    if (scan->inherit)
        inherit_location(scan, scan->ops.at[op].loc);
    scan_write(scan, "\n");
}

/* ---------------------------------------------------------------- the text */
static void resources(struct scan *scan)
{
    uint32_t at = scan->at;
    const char *end = memmem(scan->text + at, scan->size - at, "#-}", 3);
    if (!end)
        scan_fail(scan, ERROR_INVALID_MODULE, at, "'{-#' is not closed by '#-}'");
    scan->at = (uint32_t)(end + 3 - scan->text);
    scan->resources = (struct span){at, scan->at};
}

static void check_bytes(struct scan *scan)
{
    static const char bytecode[] = {'M', 'L', (char)0xef, 'R'};
    if (scan->size >= 4 && memcmp(scan->text, bytecode, 4) == 0)
        scan_fail(scan, ERROR_UNSUPPORTED_MODULE, 0,
                  "this is MLIR bytecode; send the module as text: python3 -m toast.text FILE > module.mlir "
                  "(clients/python), str(module), or mlir-opt without --emit-bytecode");
    const char *nul = memchr(scan->text, 0, scan->size);
    if (nul)
        scan_fail(scan, ERROR_INVALID_MODULE, (uint32_t)(nul - scan->text), "a NUL byte: this is not text");
    static const char *const alien[] = {"f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E8M0FNU"};
    for (unsigned i = 0; i < sizeof alien / sizeof *alien; i++)
        scan->has_alien |= memmem(scan->text, scan->size, alien[i], strlen(alien[i])) != NULL;
}

static bool at_module(struct scan *scan)
{
    uint32_t before = scan->at;
    struct span word = scan_word(scan);
    scan->at = before;
    static const char quoted[] = "\"builtin.module\"";
    return scan_is(scan, word, "module") || scan_is(scan, word, "builtin.module") ||
           (scan->size - before >= sizeof quoted - 1 &&
            memcmp(scan->text + before, quoted, sizeof quoted - 1) == 0);
}

void rewrite_text(struct scan *scan)
{
    unsigned statements = 0, modules = 0;
    check_bytes(scan);
    for (;;) {
        char character = scan_peek(scan);
        if (character == 0)
            break;
        if (character == '#' || character == '!') {
            scan_define_alias(scan);
        } else if (character == '{' && scan->size - scan->at > 3 &&
                   memcmp(scan->text + scan->at, "{-#", 3) == 0) {
            resources(scan);
        } else {
            modules += at_module(scan);
            statements++;
            rewrite_statement(scan);
        }
    }
    if (!statements)
        scan_fail(scan, ERROR_INVALID_MODULE, scan->size, "the text holds no op; expected a module");
    scan->wrapped = statements != 1 || modules != 1;
}

uint32_t rewrite_origin(const struct scan *scan, size_t out)
{
    uint32_t at = 0;
    for (size_t i = 0; i < scan->traces.count; i++) {
        const struct trace *trace = &scan->traces.at[i];
        if (trace->out > out)
            break;
        size_t ahead = out - trace->out;
        at = trace->at + (ahead < trace->size ? (uint32_t)ahead : trace->size);
    }
    return at;
}
