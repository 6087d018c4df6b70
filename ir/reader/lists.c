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

static struct span square(struct scan *scan)
{
    if (scan_peek(scan) != '[')
        scan_expect(scan, "[");
    return scan_balanced(scan);
}

static void ints(struct scan *scan, const char *name, struct span brackets)
{
    attr_begin(scan, name);
    if (scan->text[brackets.at] == '#') {
        attr_copy(scan, brackets);
        return;
    }
    bool empty = span_is_blank(scan, inside(brackets));
    attr_add(scan, empty ? "array<i64" : "array<i64: ");
    if (!empty)
        attr_copy(scan, inside(brackets));
    attr_add(scan, ">");
}

void attr_ints(struct scan *scan, const char *name)
{
    ints(scan, name, scan_peek(scan) == '#' ? scan_attr(scan, NULL) : square(scan));
}

/* `[scan:l, scan:l:t, ..]` */
void list_slice(struct scan *scan)
{
    struct text parts[3] = {{0}, {0}, {0}};
    static const char *const names[3] = {"start_indices", "limit_indices", "strides"};
    scan_expect(scan, "[");
    for (bool first = true; !scan_accept(scan, "]"); first = false) {
        if (!first)
            scan_expect(scan, ",");
        for (int k = 0; k < 3; k++) {
            if (!first)
                text_add(&parts[k], ", ");
            if (k == 2 && !scan_accept(scan, ":")) {
                text_add(&parts[k], "1");
                continue;
            }
            if (k == 1)
                scan_expect(scan, ":");
            struct span n = scan_integer(scan);
            text_add_n(&parts[k], scan->text + n.at, n.end - n.at);
        }
    }
    for (int k = 0; k < 3; k++) {
        attr_begin(scan, names[k]);
        attr_add(scan, parts[k].size ? "array<i64: " : "array<i64");
        if (parts[k].size)
            attr_add(scan, parts[k].at);
        attr_add(scan, ">");
        text_release(&parts[k]);
    }
}

/* `, NAME = [..] x [..]`; false when it is not there */
static bool pair(struct scan *scan, const char *name, struct span out[2])
{
    uint32_t before = (scan_blank(scan), scan->at);
    if (!scan_accept(scan, ",") || !scan_accept_word(scan, name)) {
        scan->at = before;
        return false;
    }
    scan_expect(scan, "=");
    out[0] = square(scan);
    scan_expect_word(scan, "x");
    out[1] = square(scan);
    return true;
}

void list_dot(struct scan *scan)
{
    static const char *const names[4] = {"lhs_batching_dimensions", "rhs_batching_dimensions",
                                         "lhs_contracting_dimensions", "rhs_contracting_dimensions"};
    struct span lists[4];
    bool batched = pair(scan, "batching_dims", lists);
    if (!pair(scan, "contracting_dims", lists + 2)) {
        scan_expect(scan, ",");
        scan_expect_word(scan, "contracting_dims");
    }
    attr_begin(scan, "dot_dimension_numbers");
    attr_add(scan, "#stablehlo.dot<");
    for (int k = batched ? 0 : 2, written = 0; k < 4; k++) {
        if (span_is_blank(scan, inside(lists[k])))
            continue;
        attr_add(scan, written++ ? ", " : "");
        attr_add(scan, names[k]);
        attr_add(scan, " = ");
        attr_copy(scan, lists[k]);
    }
    attr_add(scan, ">");
}

/* `[[l, h], ..]` -> dense<[[l, h], ..]> : tensor<Nx2xi64> */
static void padding(struct scan *scan)
{
    struct span all = scan_peek(scan) == '#' ? scan_attr(scan, NULL) : square(scan);
    attr_begin(scan, "padding");
    if (scan->text[all.at] == '#') {
        attr_copy(scan, all);
        return;
    }
    unsigned rows = 0;
    for (uint32_t i = all.at + 1; i < all.end; i++)
        rows += scan->text[i] == '[';
    attr_add(scan, "dense<");
    if (rows)
        attr_copy(scan, all);
    text_printf(&scan->attrs, "> : tensor<%ux2xi64>", rows);
}

static void reversal(struct scan *scan)
{
    attr_begin(scan, "window_reversal");
    if (scan_peek(scan) == '#') {
        attr_copy(scan, scan_attr(scan, NULL));
        return;
    }
    scan_expect(scan, "[");
    attr_add(scan, "array<i1");
    for (bool first = true; !scan_accept(scan, "]"); first = false) {
        if (!first)
            scan_expect(scan, ",");
        bool value = scan_accept_word(scan, "true") || (scan_peek(scan) == '1' && scan_accept(scan, "1"));
        if (!value && !scan_accept_word(scan, "false"))
            scan_expect(scan, "0");
        attr_add(scan, first ? ": " : ", ");
        attr_add(scan, value ? "true" : "false");
    }
    attr_add(scan, ">");
}

/* `dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [..], pad = [[..]], ..}` */
void list_convolution(struct scan *scan)
{
    static const struct {
        const char *key, *attr;
    } keys[] = {{"stride", "window_strides"}, {"lhs_dilate", "lhs_dilation"}, {"rhs_dilate", "rhs_dilation"}};
    scan_expect_word(scan, "dim_numbers");
    scan_expect(scan, "=");
    attr_begin(scan, "dimension_numbers");
    if (scan_peek(scan) == '#') {
        attr_copy(scan, scan_attr(scan, NULL));
    } else {
        struct span value = square(scan);
        scan_expect_word(scan, "x");
        square(scan);
        scan_expect(scan, "->");
        value.end = square(scan).end;
        attr_add(scan, "#stablehlo.conv<");
        attr_copy(scan, value);
        attr_add(scan, ">");
    }
    scan_expect(scan, ",");
    scan_expect_word(scan, "window");
    scan_expect(scan, "=");
    scan_expect(scan, "{");
    for (bool first = true; !scan_accept(scan, "}"); first = false) {
        if (!first)
            scan_expect(scan, ",");
        struct span key = scan_word(scan);
        scan_expect(scan, "=");
        unsigned k = 0;
        while (k < 3 && !scan_is(scan, key, keys[k].key))
            k++;
        if (k < 3)
            attr_ints(scan, keys[k].attr);
        else if (scan_is(scan, key, "pad"))
            padding(scan);
        else if (scan_is(scan, key, "reverse"))
            reversal(scan);
        else
            scan_fail(scan, ERROR_INVALID_MODULE, key.at,
                      "expected stride, pad, lhs_dilate, rhs_dilate or reverse in a window");
    }
}
