/* The types behind a pretty op's colon, completed to the function type of the generic form.
 *
 * Pretty forms write as few types as the op's definition allows; the generic form always has `(operands) ->
 * (results)`. The kind letter is the format's (forms.c). For an op of two operands:
 *
 *     :t   tensor<4xf32>                     -> (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
 *     :s   tensor<4xi1>, tensor<4xf32>       -> (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
 *     :c   tensor<4xcomplex<f32>>            -> (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
 *     :f   (tensor<4xf32>) -> tensor<4xi32>  -> as it is
 *
 * Types are copied as text with their aliases expanded; whether they fit the op is never asked here. */
#include "ir/reader/forms.h"

#include <stdlib.h>
#include <string.h>

/* the type with its aliases expanded, in scratch (valid until scratch changes) */
static const char *expanded(struct scan *scan, struct span type, struct text *scratch)
{
    scratch->size = 0;
    scan_copy(scan, scratch, type);
    return scratch->at;
}

/* a function type, or an alias of one? */
static bool is_function(struct scan *scan, struct span type)
{
    if (scan->text[type.at] != '!')
        return scan->text[type.at] == '(';
    struct alias *alias = scan_alias(scan, type);
    return alias && alias->size && scan->aliases_text.at[alias->text] == '(';
}

/* the type `count` times with commas between */
static void repeated(struct scan *scan, struct span type, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i)
            scan_write(scan, ", ");
        scan_copy(scan, &scan->out, type);
    }
}

/* a result's type; a function type needs parentheses around it */
void form_result_type(struct scan *scan, struct span type)
{
    bool function = is_function(scan, type);
    scan_write(scan, function ? "(" : "");
    scan_copy(scan, &scan->out, type);
    scan_write(scan, function ? ")" : "");
}

/* `P, T` of select (predicate and branches), or a function type alone */
static void select_type(struct scan *scan)
{
    struct span first = scan_type(scan);
    if (!scan_accept(scan, ",")) {
        scan_copy(scan, &scan->out, first);
        return;
    }
    struct span rest = scan_type(scan);
    scan_write(scan, "(");
    scan_copy(scan, &scan->out, first);
    scan_write(scan, ", ");
    repeated(scan, rest, 2);
    scan_write(scan, ") -> ");
    scan_copy(scan, &scan->out, rest);
}

/* result T; the operands' type is T with complex<E> replaced by E */
static void complex_type(struct scan *scan, struct span type)
{
    struct text text = {0};
    char *at = strdup(expanded(scan, type, &text)), *open = strstr(at, "complex<"),
         *close = open ? strchr(open, '>') : NULL;
    if (!close)
        scan_fail(scan, ERROR_INVALID_MODULE, type.at, "expected a tensor of complex numbers");
    text.size = 0;
    text_printf(&text, "%.*s%.*s%s", (int)(open - at), at, (int)(close - open - 8), open + 8, close + 1);
    text_printf(&scan->out, "(%s, %s) -> %s", text.at, text.at, at);
    free(at);
    text_release(&text);
}

/* result tuple<A, B>; the operands are its parts */
static void tuple_type(struct scan *scan, struct span type)
{
    struct text text = {0};
    expanded(scan, type, &text);
    if (text.size < 7 || memcmp(text.at, "tuple<", 6) != 0)
        scan_fail(scan, ERROR_INVALID_MODULE, type.at, "expected a tuple type");
    text_printf(&scan->out, "(%.*s) -> %s", (int)text.size - 7, text.at + 6, text.at);
    text_release(&text);
}

void form_type_list(struct scan *scan)
{
    do {
        scan_copy(scan, &scan->out, scan_type(scan));
        if (!scan_accept(scan, ","))
            return;
        scan_write(scan, ", ");
    } while (true);
}

/* `T, T -> T` of CHLO, with or without parentheses */
static void arrow_type(struct scan *scan)
{
    if (scan_peek(scan) == '(') {
        scan_copy(scan, &scan->out, scan_type(scan));
        return;
    }
    scan_write(scan, "(");
    form_type_list(scan);
    scan_expect(scan, "->");
    scan_write(scan, ") -> ");
    if (scan_peek(scan) == '(')
        scan_copy(scan, &scan->out, scan_balanced(scan));
    else
        scan_copy(scan, &scan->out, scan_type(scan));
}

void form_write_type(struct scan *scan, char kind)
{
    struct span type;
    scan_write(scan, " : ");
    if (kind == 'n' || (kind == 'u' && scan_peek(scan) != ':')) {
        if (kind == 'u' && scan->operands.count)
            scan_expect(scan, ":");
        scan_write(scan, "() -> ()");
        return;
    }
    scan_expect(scan, ":");
    switch (kind) {
    case 'u':
        scan_write(scan, "(");
        form_type_list(scan);
        scan_write(scan, ") -> ()");
        return;
    case 's': select_type(scan); return;
    case 'h': arrow_type(scan); return;
    default: break;
    }
    type = scan_type(scan);
    if (kind == 'f' && !is_function(scan, type))
        scan_fail(scan, ERROR_INVALID_MODULE, type.at,
                  "expected a function type like '(tensor<2xf32>) -> tensor<2xf32>'");
    if (kind == 'f' || (is_function(scan, type) && (kind == 't' || kind == 'c'))) {
        scan_copy(scan, &scan->out, type);
    } else if (kind == 't' || kind == '1') {
        scan_write(scan, "(");
        repeated(scan, type, scan->operands.count);
        scan_write(scan, ") -> ");
        scan_copy(scan, &scan->out, type);
    } else if (kind == 'c') {
        complex_type(scan, type);
    } else if (kind == 'm') {
        tuple_type(scan, type);
    } else if (kind == 'g') {
        scan_write(scan, "(");
        scan_copy(scan, &scan->out, type);
        scan_write(scan, ") -> ()");
    } else {
        scan_write(scan, "() -> ");
        form_result_type(scan, type);
    }
}
