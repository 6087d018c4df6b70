/* Attributes that pretty forms spell as lists: integers, the ranges of slice, dimension numbers and windows
 * of dot_general and convolution. Each function reads one such list and appends the attributes of the
 * generic form; what is not spelt as the op allows is refused at its place. Whether numbers are in range is
 * not asked. */
#include "ir/reader/rewrite.h"

#include <stdlib.h>
#include <string.h>

static struct span inside(struct span brackets)
{
    return (struct span){brackets.at + 1, brackets.end - 1};
}

static struct span square(struct scan *s)
{
    if (scan_peek(s) != '[')
        scan_expect(s, "[");
    return scan_balanced(s);
}

static void ints(struct scan *s, const char *name, struct span brackets)
{
    attr_begin(s, name);
    if (s->text[brackets.at] == '#') {
        attr_copy(s, brackets);
        return;
    }
    bool empty = span_is_blank(s, inside(brackets));
    attr_add(s, empty ? "array<i64" : "array<i64: ");
    if (!empty)
        attr_copy(s, inside(brackets));
    attr_add(s, ">");
}

void attr_ints(struct scan *s, const char *name)
{
    ints(s, name, scan_peek(s) == '#' ? scan_attr(s, NULL) : square(s));
}

/* `[s:l, s:l:t, ..]` */
void list_slice(struct scan *s)
{
    struct text parts[3] = {{0}, {0}, {0}};
    static const char *const names[3] = {"start_indices", "limit_indices", "strides"};
    scan_expect(s, "[");
    for (bool first = true; !scan_accept(s, "]"); first = false) {
        if (!first)
            scan_expect(s, ",");
        for (int k = 0; k < 3; k++) {
            if (!first)
                text_add(&parts[k], ", ");
            if (k == 2 && !scan_accept(s, ":")) {
                text_add(&parts[k], "1");
                continue;
            }
            if (k == 1)
                scan_expect(s, ":");
            struct span n = scan_integer(s);
            text_add_n(&parts[k], s->text + n.at, n.end - n.at);
        }
    }
    for (int k = 0; k < 3; k++) {
        attr_begin(s, names[k]);
        attr_add(s, parts[k].size ? "array<i64: " : "array<i64");
        if (parts[k].size)
            attr_add(s, parts[k].at);
        attr_add(s, ">");
        text_release(&parts[k]);
    }
}

/* `, NAME = [..] x [..]`; false when it is not there */
static bool pair(struct scan *s, const char *name, struct span out[2])
{
    uint32_t before = (scan_blank(s), s->at);
    if (!scan_accept(s, ",") || !scan_accept_word(s, name)) {
        s->at = before;
        return false;
    }
    scan_expect(s, "=");
    out[0] = square(s);
    scan_expect_word(s, "x");
    out[1] = square(s);
    return true;
}

void list_dot(struct scan *s)
{
    static const char *const names[4] = {"lhs_batching_dimensions", "rhs_batching_dimensions",
                                         "lhs_contracting_dimensions", "rhs_contracting_dimensions"};
    struct span lists[4];
    bool batched = pair(s, "batching_dims", lists);
    if (!pair(s, "contracting_dims", lists + 2)) {
        scan_expect(s, ",");
        scan_expect_word(s, "contracting_dims");
    }
    attr_begin(s, "dot_dimension_numbers");
    attr_add(s, "#stablehlo.dot<");
    for (int k = batched ? 0 : 2, written = 0; k < 4; k++) {
        if (span_is_blank(s, inside(lists[k])))
            continue;
        attr_add(s, written++ ? ", " : "");
        attr_add(s, names[k]);
        attr_add(s, " = ");
        attr_copy(s, lists[k]);
    }
    attr_add(s, ">");
}

/* `[[l, h], ..]` -> dense<[[l, h], ..]> : tensor<Nx2xi64> */
static void padding(struct scan *s)
{
    struct span all = scan_peek(s) == '#' ? scan_attr(s, NULL) : square(s);
    attr_begin(s, "padding");
    if (s->text[all.at] == '#') {
        attr_copy(s, all);
        return;
    }
    unsigned rows = 0;
    for (uint32_t i = all.at + 1; i < all.end; i++)
        rows += s->text[i] == '[';
    attr_add(s, "dense<");
    if (rows)
        attr_copy(s, all);
    text_printf(&s->attrs, "> : tensor<%ux2xi64>", rows);
}

static void reversal(struct scan *s)
{
    attr_begin(s, "window_reversal");
    if (scan_peek(s) == '#') {
        attr_copy(s, scan_attr(s, NULL));
        return;
    }
    scan_expect(s, "[");
    attr_add(s, "array<i1");
    for (bool first = true; !scan_accept(s, "]"); first = false) {
        if (!first)
            scan_expect(s, ",");
        bool value = scan_accept_word(s, "true") || (scan_peek(s) == '1' && scan_accept(s, "1"));
        if (!value && !scan_accept_word(s, "false"))
            scan_expect(s, "0");
        attr_add(s, first ? ": " : ", ");
        attr_add(s, value ? "true" : "false");
    }
    attr_add(s, ">");
}

/* `dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [..], pad = [[..]], ..}` */
void list_convolution(struct scan *s)
{
    static const struct {
        const char *key, *attr;
    } keys[] = {{"stride", "window_strides"}, {"lhs_dilate", "lhs_dilation"}, {"rhs_dilate", "rhs_dilation"}};
    scan_expect_word(s, "dim_numbers");
    scan_expect(s, "=");
    attr_begin(s, "dimension_numbers");
    if (scan_peek(s) == '#') {
        attr_copy(s, scan_attr(s, NULL));
    } else {
        struct span v = square(s);
        scan_expect_word(s, "x");
        square(s);
        scan_expect(s, "->");
        v.end = square(s).end;
        attr_add(s, "#stablehlo.conv<");
        attr_copy(s, v);
        attr_add(s, ">");
    }
    scan_expect(s, ",");
    scan_expect_word(s, "window");
    scan_expect(s, "=");
    scan_expect(s, "{");
    for (bool first = true; !scan_accept(s, "}"); first = false) {
        if (!first)
            scan_expect(s, ",");
        struct span key = scan_word(s);
        scan_expect(s, "=");
        unsigned k = 0;
        while (k < 3 && !scan_is(s, key, keys[k].key))
            k++;
        if (k < 3)
            attr_ints(s, keys[k].attr);
        else if (scan_is(s, key, "pad"))
            padding(s);
        else if (scan_is(s, key, "reverse"))
            reversal(s);
        else
            scan_fail(s, ERROR_INVALID_MODULE, key.at,
                      "expected stride, pad, lhs_dilate, rhs_dilate or reverse in a window");
    }
}
