/* Attribute values that pretty forms spell in an own way: words, numbers, symbols, bracketed text.
 *
 * Each function reads one value from the text and appends the attribute that it stands for to the op being
 * read (attr_begin and its siblings, rewrite.c): `LT` becomes `comparison_direction =
 * #stablehlo<comparison_direction LT>`. Wherever a value may stand, an attribute alias (`#a`) may stand too
 * and is copied as it is. What is not spelt as the op allows is refused at its place in the text. */
#include "ir/reader/forms.h"

#include <string.h>

/* `[HIGH, DEFAULT]` of dots and convolutions */
void form_precisions(struct scan *s)
{
    attr_begin(s, "precision_config");
    if (scan_peek(s) == '#') {
        attr_copy(s, scan_attr(s, NULL));
        return;
    }
    attr_add(s, "[");
    scan_expect(s, "[");
    for (bool first = true; !scan_accept(s, "]"); first = false) {
        if (!first)
            scan_expect(s, ",");
        struct span w = scan_word(s);
        if (w.at == w.end)
            scan_expect(s, "DEFAULT");
        attr_add(s, first ? "#stablehlo<precision " : ", #stablehlo<precision ");
        attr_copy(s, w);
        attr_add(s, ">");
    }
    attr_add(s, "]");
}

/* `e8m7` of reduce_precision */
void form_exponent_mantissa(struct scan *s)
{
    struct span w = scan_word(s);
    uint32_t m = w.at + 1;
    while (m < w.end && s->text[m] >= '0' && s->text[m] <= '9')
        m++;
    bool ok = w.end > w.at && s->text[w.at] == 'e' && m > w.at + 1 && m + 1 < w.end && s->text[m] == 'm';
    for (uint32_t i = m + 1; ok && i < w.end; i++)
        ok = s->text[i] >= '0' && s->text[i] <= '9';
    if (!ok)
        scan_fail(s, ERROR_INVALID_MODULE, w.at, "expected a format like e8m7");
    attr_begin(s, "exponent_bits");
    attr_copy(s, (struct span){w.at + 1, m});
    attr_add(s, " : i32");
    attr_begin(s, "mantissa_bits");
    attr_copy(s, (struct span){m + 1, w.end});
    attr_add(s, " : i32");
}

/* of sdy.propagation_barrier; the number is the place in Shardy's enumeration */
void form_direction(struct scan *s)
{
    static const char *const words[] = {"NONE", "FORWARD", "BACKWARD", "BOTH"};
    struct span w = scan_word(s);
    for (unsigned i = 0; i < 4; i++)
        if (scan_is(s, w, words[i])) {
            attr_begin(s, "allowed_direction");
            text_printf(&s->attrs, "%u : i32", i);
            return;
        }
    scan_fail(s, ERROR_INVALID_MODULE, w.at, "expected NONE, FORWARD, BACKWARD or BOTH");
}

static void symbol_attr(struct scan *s, const char *name, bool as_string)
{
    struct span y = scan_symbol(s);
    attr_begin(s, name);
    if (as_string)
        attr_symbol_name(s, y);
    else
        attr_copy(s, y);
}

/* a constant's value, and the op's type, which is the value's */
static void value_attr(struct scan *s, const char *name)
{
    struct span type, v = scan_attr(s, &type);
    attr_begin(s, name);
    attr_copy(s, v);
    write_operands(s);
    attr_flush(s);
    scan_write(s, " : () -> ");
    struct alias *a = s->text[v.at] == '#' ? scan_alias(s, v) : NULL;
    if (type.end)
        form_result_type(s, type);
    else if (a && a->type_size)
        text_add_n(&s->out, s->aliases_text.at + a->type, a->type_size);
    else
        scan_fail(s, ERROR_INVALID_MODULE, v.at, "expected ': TYPE' after the constant's value");
}

static void typed_word(struct scan *s, const struct form_item *i, struct span w)
{
    if (w.at == w.end)
        scan_fail(s, ERROR_INVALID_MODULE, w.at, "expected a word for %s", i->attr);
    attr_begin(s, i->attr);
    attr_add(s, "#stablehlo<");
    attr_add(s, i->second);
    attr_add(s, " ");
    attr_copy(s, w);
    attr_add(s, ">");
}

void form_attr_item(struct scan *s, char kind, const struct form_item *i)
{
    bool alias = scan_peek(s) == '#';
    if (kind == 'I') {
        attr_ints(s, i->attr);
    } else if (alias && strchr("EGNnBS", kind)) {
        attr_begin(s, i->attr);
        attr_copy(s, scan_attr(s, NULL));
    } else if (kind == 'E') {
        typed_word(s, i, scan_word(s));
    } else if (kind == 'N' || kind == 'n') {
        attr_begin(s, i->attr);
        attr_copy(s, scan_integer(s));
        attr_add(s, kind == 'N' ? " : i64" : " : i32");
    } else if (kind == 'B') {
        struct span w = scan_word(s);
        if (!scan_is(s, w, "true") && !scan_is(s, w, "false"))
            scan_fail(s, ERROR_INVALID_MODULE, w.at, "expected true or false");
        attr_begin(s, i->attr);
        attr_copy(s, w);
    } else if (kind == 'S') {
        attr_begin(s, i->attr);
        attr_copy(s, scan_string(s));
    } else if (kind == 'Y' || kind == 'y') {
        symbol_attr(s, i->attr, kind == 'y');
    } else if (kind == 'G') {
        char open = scan_peek(s);
        if (open != '<' && open != '[' && open != '{')
            scan_expect(s, "<");
        attr_begin(s, i->attr);
        attr_add(s, i->second);
        attr_copy(s, scan_balanced(s));
        attr_add(s, i->third);
    } else {
        value_attr(s, i->attr);
    }
}
