/* Pretty forms that have no region: the loop that reads a format of ir/forms.def.
 *
 * Reading an op is a walk over its format, which reads the pretty text and writes the generic form at the
 * same time:
 *
 *     text      %2 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
 *     format                             x ,'dims'=I{permutation}  A  :f
 *     written   %2 = "stablehlo.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> ..
 *
 * Types are form_types.c's, attribute values form_attrs.c's and lists.c's; ops with regions are special.c's.
 * Nothing here checks shapes or operand counts: ir_verify does, on the program. */
#include "ir/reader/forms.h"

#include "base/hash.h"
#include "ir/forms.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- finding a format */
/* The format of an op's full name, NULL when the table (ir/forms.def) has none. Both answers are kept in the
 * cache: a text of a million ops has some dozens of different ones. */
static const char *find(const char *full, struct cached *cache)
{
    struct cached *cached = &cache[hash_bytes(full, strlen(full), 2) & (SCAN_FORMS - 1)];
    if (strcmp(cached->name, full) == 0)
        return cached->format;
    const char *format = ir_form_find(full);
    if (strlen(full) < sizeof cached->name) {
        strcpy(cached->name, full);
        cached->format = format;
    }
    return format;
}

/* ---------------------------------------------------------------- reading a format */
/* optimization_barrier: the operands' types are the results' types, written twice */
static void barrier(struct scan *scan)
{
    if (scan_accept(scan, "(")) {
        scan_expect(scan, ")");
        write_operands(scan);
        attr_flush(scan);
        scan_write(scan, " : () -> ()");
        return;
    }
    operand_list(scan);
    write_operands(scan);
    attr_flush(scan);
    scan_write(scan, " : (");
    scan_expect(scan, ":");
    size_t start = scan->out.size;
    form_type_list(scan);
    size_t size = scan->out.size - start;
    char *types = mem_strndup(scan->out.at + start, size);
    text_printf(&scan->out, ") -> (%s)", types);
    free(types);
}

/* At `?`, the start of an optional part. Returns a place in the format from which the loop goes on with the
 * next item: inside the part when the text has it, at its closing `;` when not (nothing of the text is used
 * up). */
static const char *option(struct scan *scan, const char *f)
{
    char word[32];
    uint32_t before = (scan_blank(scan), scan->at);
    bool there = f[1] != ',' || scan_accept(scan, ",");
    if (f[1] == ',')
        f++;
    if (there && f[1] == '\'') {
        f = ir_form_keyword(f + 1, word);
        there = scan_accept_word(scan, word);
    }
    if (there)
        return f;
    scan->at = before;
    while (*f != ';')
        f++;
    return f;
}

static void run(struct scan *scan, const char *format)
{
    struct ir_form_item item;
    char word[32], punctuation[2] = "";
    for (const char *f = format; *f; f++) {
        switch (*f) {
        case 'x': VEC_PUSH(&scan->operands, scan_value(scan)); break;
        case 'l': operand_list(scan); break;
        case '\'':
            f = ir_form_keyword(f, word);
            scan_expect_word(scan, word);
            break;
        case '?': f = option(scan, f); break;
        case ';': break;
        case 'A': attr_dictionary(scan, take_dictionary(scan)); break;
        case 'P': form_precisions(scan); break;
        case 'X': form_exponent_mantissa(scan); break;
        case 'D': form_direction(scan); break;
        case 'b': barrier(scan); break;
        case 'd': list_dot(scan); break;
        case 'c': list_convolution(scan); break;
        case 'z': list_slice(scan); break;
        case ':':
            write_operands(scan);
            attr_flush(scan);
            form_write_type(scan, *++f);
            break;
        case ',':
        case '=':
        case '(':
        case ')':
        case '[':
        case ']':
            punctuation[0] = *f;
            scan_expect(scan, punctuation);
            break;
        default: {
            char kind = *f;
            f = ir_form_braces(f + 1, &item);
            form_attr_item(scan, kind, &item);
        }
        }
    }
}

bool form_known(struct scan *scan, const char *full)
{
    return find(full, scan->forms) != NULL;
}

bool form_rewrite(struct scan *scan, struct span name, const char *full)
{
    const char *format = find(full, scan->forms);
    if (!format)
        return false;
    text_printf(&scan->out, "\"%s\"", full);
    scan->operands.count = 0;
    if (strcmp(full, "stablehlo.constant") == 0 && scan_peek(scan) == '(')
        rewrite_generic_rest(scan, false); /* printed so where value and result have different types */
    else
        run(scan, format);
    return true;
}
