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
static const char *expanded(struct scan *s, struct span type, struct text *scratch)
{
    scratch->size = 0;
    scan_copy(s, scratch, type);
    return scratch->at;
}

/* a function type, or an alias of one? */
static bool is_function(struct scan *s, struct span type)
{
    if (s->text[type.at] != '!')
        return s->text[type.at] == '(';
    struct alias *a = scan_alias(s, type);
    return a && a->size && s->aliases_text.at[a->text] == '(';
}

/* the type `count` times with commas between */
static void repeated(struct scan *s, struct span type, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i)
            scan_write(s, ", ");
        scan_copy(s, &s->out, type);
    }
}

/* a result's type; a function type needs parentheses around it */
void form_result_type(struct scan *s, struct span type)
{
    bool function = is_function(s, type);
    scan_write(s, function ? "(" : "");
    scan_copy(s, &s->out, type);
    scan_write(s, function ? ")" : "");
}

/* `P, T` of select (predicate and branches), or a function type alone */
static void select_type(struct scan *s)
{
    struct span first = scan_type(s);
    if (!scan_accept(s, ",")) {
        scan_copy(s, &s->out, first);
        return;
    }
    struct span rest = scan_type(s);
    scan_write(s, "(");
    scan_copy(s, &s->out, first);
    scan_write(s, ", ");
    repeated(s, rest, 2);
    scan_write(s, ") -> ");
    scan_copy(s, &s->out, rest);
}

/* result T; the operands' type is T with complex<E> replaced by E */
static void complex_type(struct scan *s, struct span type)
{
    struct text t = {0};
    char *at = strdup(expanded(s, type, &t)), *open = strstr(at, "complex<"),
         *close = open ? strchr(open, '>') : NULL;
    if (!close)
        scan_fail(s, ERROR_INVALID_MODULE, type.at, "expected a tensor of complex numbers");
    t.size = 0;
    text_printf(&t, "%.*s%.*s%s", (int)(open - at), at, (int)(close - open - 8), open + 8, close + 1);
    text_printf(&s->out, "(%s, %s) -> %s", t.at, t.at, at);
    free(at);
    text_release(&t);
}

/* result tuple<A, B>; the operands are its parts */
static void tuple_type(struct scan *s, struct span type)
{
    struct text t = {0};
    expanded(s, type, &t);
    if (t.size < 7 || memcmp(t.at, "tuple<", 6) != 0)
        scan_fail(s, ERROR_INVALID_MODULE, type.at, "expected a tuple type");
    text_printf(&s->out, "(%.*s) -> %s", (int)t.size - 7, t.at + 6, t.at);
    text_release(&t);
}

void form_type_list(struct scan *s)
{
    do {
        scan_copy(s, &s->out, scan_type(s));
        if (!scan_accept(s, ","))
            return;
        scan_write(s, ", ");
    } while (true);
}

/* `T, T -> T` of CHLO, with or without parentheses */
static void arrow_type(struct scan *s)
{
    if (scan_peek(s) == '(') {
        scan_copy(s, &s->out, scan_type(s));
        return;
    }
    scan_write(s, "(");
    form_type_list(s);
    scan_expect(s, "->");
    scan_write(s, ") -> ");
    if (scan_peek(s) == '(')
        scan_copy(s, &s->out, scan_balanced(s));
    else
        scan_copy(s, &s->out, scan_type(s));
}

void form_write_type(struct scan *s, char kind)
{
    struct span type;
    scan_write(s, " : ");
    if (kind == 'n' || (kind == 'u' && scan_peek(s) != ':')) {
        if (kind == 'u' && s->operands.count)
            scan_expect(s, ":");
        scan_write(s, "() -> ()");
        return;
    }
    scan_expect(s, ":");
    switch (kind) {
    case 'u':
        scan_write(s, "(");
        form_type_list(s);
        scan_write(s, ") -> ()");
        return;
    case 's': select_type(s); return;
    case 'h': arrow_type(s); return;
    default: break;
    }
    type = scan_type(s);
    if (kind == 'f' && !is_function(s, type))
        scan_fail(s, ERROR_INVALID_MODULE, type.at,
                  "expected a function type like '(tensor<2xf32>) -> tensor<2xf32>'");
    if (kind == 'f' || (is_function(s, type) && (kind == 't' || kind == 'c'))) {
        scan_copy(s, &s->out, type);
    } else if (kind == 't' || kind == '1') {
        scan_write(s, "(");
        repeated(s, type, s->operands.count);
        scan_write(s, ") -> ");
        scan_copy(s, &s->out, type);
    } else if (kind == 'c') {
        complex_type(s, type);
    } else if (kind == 'm') {
        tuple_type(s, type);
    } else if (kind == 'g') {
        scan_write(s, "(");
        scan_copy(s, &s->out, type);
        scan_write(s, ") -> ()");
    } else {
        scan_write(s, "() -> ");
        form_result_type(s, type);
    }
}
