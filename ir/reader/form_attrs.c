/* Attribute values that pretty forms spell in an own way: words, numbers, symbols, bracketed text.
 *
 * Each function reads one value from the text and appends the attribute that it stands for to the op being
 * read (attr_begin and its siblings, rewrite.c): `LT` becomes `comparison_direction =
 * #stablehlo<comparison_direction LT>`. Wherever a value may stand, an attribute alias (`#a`) may stand too
 * and is copied as it is. What is not spelt as the op allows is refused at its place in the text. */
#include "ir/reader/forms.h"

#include <string.h>

/* `[HIGH, DEFAULT]` of dots and convolutions */
void form_precisions(struct scan *scan)
{
    attr_begin(scan, "precision_config");
    if (scan_peek(scan) == '#') {
        attr_copy(scan, scan_attr(scan, NULL));
        return;
    }
    attr_add(scan, "[");
    scan_expect(scan, "[");
    for (bool first = true; !scan_accept(scan, "]"); first = false) {
        if (!first)
            scan_expect(scan, ",");
        struct span word = scan_word(scan);
        if (word.at == word.end)
            scan_expect(scan, "DEFAULT");
        attr_add(scan, first ? "#stablehlo<precision " : ", #stablehlo<precision ");
        attr_copy(scan, word);
        attr_add(scan, ">");
    }
    attr_add(scan, "]");
}

/* `e8m7` of reduce_precision */
void form_exponent_mantissa(struct scan *scan)
{
    struct span word = scan_word(scan);
    uint32_t m = word.at + 1;
    while (m < word.end && scan->text[m] >= '0' && scan->text[m] <= '9')
        m++;
    bool ok = word.end > word.at && scan->text[word.at] == 'e' && m > word.at + 1 && m + 1 < word.end &&
              scan->text[m] == 'm';
    for (uint32_t i = m + 1; ok && i < word.end; i++)
        ok = scan->text[i] >= '0' && scan->text[i] <= '9';
    if (!ok)
        scan_fail(scan, ERROR_INVALID_MODULE, word.at, "expected a format like e8m7");
    attr_begin(scan, "exponent_bits");
    attr_copy(scan, (struct span){word.at + 1, m});
    attr_add(scan, " : i32");
    attr_begin(scan, "mantissa_bits");
    attr_copy(scan, (struct span){m + 1, word.end});
    attr_add(scan, " : i32");
}

/* of sdy.propagation_barrier; the number is the place in Shardy's enumeration */
void form_direction(struct scan *scan)
{
    static const char *const words[] = {"NONE", "FORWARD", "BACKWARD", "BOTH"};
    struct span word = scan_word(scan);
    for (unsigned i = 0; i < 4; i++)
        if (scan_is(scan, word, words[i])) {
            attr_begin(scan, "allowed_direction");
            text_printf(&scan->attrs, "%u : i32", i);
            return;
        }
    scan_fail(scan, ERROR_INVALID_MODULE, word.at, "expected NONE, FORWARD, BACKWARD or BOTH");
}

static void symbol_attr(struct scan *scan, const char *name, bool as_string)
{
    struct span span = scan_symbol(scan);
    attr_begin(scan, name);
    if (as_string)
        attr_symbol_name(scan, span);
    else
        attr_copy(scan, span);
}

/* a constant's value, and the op's type, which is the value's */
static void value_attr(struct scan *scan, const char *name)
{
    struct span type, value = scan_attr(scan, &type);
    attr_begin(scan, name);
    attr_copy(scan, value);
    write_operands(scan);
    attr_flush(scan);
    scan_write(scan, " : () -> ");
    struct alias *alias = scan->text[value.at] == '#' ? scan_alias(scan, value) : NULL;
    if (type.end)
        form_result_type(scan, type);
    else if (alias && alias->type_size)
        text_add_n(&scan->out, scan->aliases_text.at + alias->type, alias->type_size);
    else
        scan_fail(scan, ERROR_INVALID_MODULE, value.at, "expected ': TYPE' after the constant's value");
}

static void typed_word(struct scan *scan, const struct ir_form_item *i, struct span word)
{
    if (word.at == word.end)
        scan_fail(scan, ERROR_INVALID_MODULE, word.at, "expected a word for %s", i->attr);
    attr_begin(scan, i->attr);
    attr_add(scan, "#stablehlo<");
    attr_add(scan, i->second);
    attr_add(scan, " ");
    attr_copy(scan, word);
    attr_add(scan, ">");
}

void form_attr_item(struct scan *scan, char kind, const struct ir_form_item *i)
{
    bool alias = scan_peek(scan) == '#';
    if (kind == 'I') {
        attr_ints(scan, i->attr);
    } else if (alias && strchr("EGNnBS", kind)) {
        attr_begin(scan, i->attr);
        attr_copy(scan, scan_attr(scan, NULL));
    } else if (kind == 'E') {
        typed_word(scan, i, scan_word(scan));
    } else if (kind == 'N' || kind == 'n') {
        attr_begin(scan, i->attr);
        attr_copy(scan, scan_integer(scan));
        attr_add(scan, kind == 'N' ? " : i64" : " : i32");
    } else if (kind == 'B') {
        struct span word = scan_word(scan);
        if (!scan_is(scan, word, "true") && !scan_is(scan, word, "false"))
            scan_fail(scan, ERROR_INVALID_MODULE, word.at, "expected true or false");
        attr_begin(scan, i->attr);
        attr_copy(scan, word);
    } else if (kind == 'S') {
        attr_begin(scan, i->attr);
        attr_copy(scan, scan_string(scan));
    } else if (kind == 'Y' || kind == 'y') {
        symbol_attr(scan, i->attr, kind == 'y');
    } else if (kind == 'G') {
        char open = scan_peek(scan);
        if (open != '<' && open != '[' && open != '{')
            scan_expect(scan, "<");
        attr_begin(scan, i->attr);
        attr_add(scan, i->second);
        attr_copy(scan, scan_balanced(scan));
        attr_add(scan, i->third);
    } else {
        value_attr(scan, i->attr);
    }
}
