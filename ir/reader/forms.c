/* clang-format off */
/* Pretty forms that have no region: one table of ops and formats, and the loop that reads a format.
 *
 * StableHLO, CHLO, func and Shardy print most ops in an own short form. The table says for each op what
 * follows its name, as a string of one-letter items; reading an op is a walk over that string, which reads
 * the pretty text and writes the generic form at the same time:
 *
 *     text      %2 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
 *     format                             x ,'dims'=I{permutation}  A  :f
 *     written   %2 = "stablehlo.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> ..
 *
 * To teach the reader another op without regions is to add a row. Types are form_types.c's, attribute values
 * form_attrs.c's and lists.c's; ops with regions are special.c's. Nothing here checks shapes or operand
 * counts: ir_verify does, on the program.
 *
 * A format is a string of items; {a} names the attribute that an item becomes.
 *   x            one operand                        l            a list of operands, maybe none
 *   'word'       this word                          , = ( ) [ ]  this character
 *   A            attribute dictionary, optional     ?..;         optional part; told by its first `,` or word
 *   I{a}         [1, 2] -> array<i64: 1, 2>         N{a} n{a}    integer -> i64, i32
 *   E{a|k}       WORD -> #stablehlo<k WORD>         B{a} S{a}    bool, string
 *   P            [HIGH, ..] -> precision_config     X            eXmY of reduce_precision
 *   Y{a} y{a}    @symbol -> symbol, string          v{a}         value; the op's result has its type
 *   G{a|p|s}     bracketed text -> p text s         D            direction of sdy.propagation_barrier
 *   d c z        dimension numbers of dot_general, of convolution, ranges of slice (lists.c)
 *   b            operands or `()`, `: T, ..` the results' types too
 *   :t one type for all or a function type          :f           function type
 *   :s of select          :c of complex             :m of tuple  :h `T, T -> T` without parentheses
 *   :r result only        :1 (T) -> T               :g (T) -> () :u operands' types, no result  :n nothing */
/* clang-format on */
#include "ir/reader/forms.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *dialect, *names, *format;
} table[] = {
    {"stablehlo",
     "abs cbrt ceil convert cosine count_leading_zeros exponential exponential_minus_one floor imag log "
     "log_plus_one "
     "logistic negate not popcnt real round_nearest_afz round_nearest_even rsqrt sign sine sqrt tan tanh "
     "uniform_quantize uniform_dequantize",
     "xA:t"},
    {"stablehlo", "is_finite", "xA:f"},
    {"stablehlo",
     "add and atan2 divide maximum minimum multiply or power remainder shift_left shift_right_arithmetic "
     "shift_right_logical subtract xor",
     "x,xA:t"},
    {"stablehlo", "clamp", "x,x,xA:t"},
    {"stablehlo", "complex", "x,xA:c"},
    {"stablehlo", "select", "x,x,xA:s"},
    {"stablehlo", "compare",
     "E{comparison_direction|comparison_direction},x,x?,E{compare_type|comparison_type};A:f"},
    {"stablehlo", "reduce_precision", "x,'format'=XA:t"},
    {"stablehlo", "after_all", "lA:t"},
    {"stablehlo", "create_token replica_id partition_id", "A:r"},
    {"stablehlo chlo sdy", "constant", "Av{value}"},
    {"stablehlo", "iota", "'dim'=N{iota_dimension}A:r"},
    {"stablehlo", "dynamic_iota", "x,'dim'=N{iota_dimension}A:f"},
    {"stablehlo", "rng", "x,x,x,'distribution'=E{rng_distribution|rng_distribution}A:f"},
    {"stablehlo", "rng_bit_generator", "x,'algorithm'=E{rng_algorithm|rng_algorithm}A:f"},
    {"stablehlo",
     "reshape bitcast_convert dynamic_update_slice dynamic_reshape real_dynamic_slice dynamic_pad", "lA:f"},
    {"stablehlo", "broadcast", "x,'sizes'=I{broadcast_sizes}A:f"},
    {"stablehlo", "broadcast_in_dim", "x,'dims'=I{broadcast_dimensions}A:f"},
    {"stablehlo", "dynamic_broadcast_in_dim", "x,x,'dims'=I{broadcast_dimensions}A:f"},
    {"stablehlo", "transpose", "x,'dims'=I{permutation}A:f"},
    {"stablehlo", "reverse", "x,'dims'=I{dimensions}A:t"},
    {"stablehlo", "dynamic_slice", "l,'sizes'=I{slice_sizes}A:f"},
    {"stablehlo", "concatenate", "l,'dim'=N{dimension}A:f"},
    {"stablehlo", "pad",
     "x,x,'low'=I{edge_padding_low},'high'=I{edge_padding_high},'interior'=I{interior_padding}A:f"},
    {"stablehlo", "get_dimension_size", "x,'dim'=N{dimension}A:f"},
    {"stablehlo", "set_dimension_size", "x,x,'dim'=N{dimension}A:f"},
    {"stablehlo", "optimization_barrier", "Ab"},
    {"stablehlo", "tuple", "lA:m"},
    {"stablehlo", "get_tuple_element", "x[n{index}]A:f"},
    {"stablehlo", "dot", "x,x?,'precision'=P;A:f"},
    {"stablehlo", "dot_general",
     "x,xd?,'precision'=P;?,'algorithm'=G{algorithm|#stablehlo.dot_algorithm|};A:f"},
    {"stablehlo", "convolution", "(x,x)cA:f"},
    {"stablehlo", "slice", "xzA:f"},
    {"stablehlo", "fft", "x,'type'=E{fft_type|fft_type},'length'=I{fft_length}A:f"},
    {"stablehlo", "cholesky", "x?,'lower'=B{lower};A:t"},
    {"stablehlo", "einsum", "x,x,'config'=S{einsum_config}A:f"},
    {"stablehlo", "unary_einsum", "x,'config'=S{einsum_config}A:f"},
    {"stablehlo", "custom_call", "y{call_target_name}(l)A:f"},
    {"stablehlo func", "return", "lA:u"},
    {"func", "call", "Y{callee}(l)A:f"},
    {"func", "constant", "Y{value}A:r"},
    {"chlo",
     "acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf is_neg_inf "
     "is_pos_inf "
     "lgamma sinh square tan",
     "xA:h"},
    {"chlo", "mulhi next_after polygamma zeta", "x,xA:h"},
    {"chlo",
     "broadcast_add broadcast_and broadcast_atan2 broadcast_compare broadcast_complex broadcast_divide "
     "broadcast_maximum broadcast_minimum broadcast_multiply broadcast_next_after broadcast_or "
     "broadcast_polygamma "
     "broadcast_power broadcast_remainder broadcast_shift_left broadcast_shift_right_arithmetic "
     "broadcast_shift_right_logical broadcast_subtract broadcast_xor broadcast_zeta",
     "x,xA:f"},
    {"chlo", "broadcast_select", "x,x,xA:f"},
    {"chlo", "top_k", "(x,'k'=N{k}?,'is_stable'=B{is_stable};)A:h"},
    {"sdy", "mesh", "y{sym_name}=G{mesh|#sdy.mesh|}A:n"},
    {"sdy", "sharding_constraint reshard", "xG{sharding|#sdy.sharding|}A:1"},
    {"sdy", "sharding_group", "x'group_id'=N{group_id}A:g"},
    {"sdy", "propagation_barrier", "x'allowed_direction'=DA:1"},
    {"sdy", "data_flow_edge", "x?'sharding'=G{sharding|#sdy.sharding|};A:1"},
    {"sdy", "func_data_flow_edge", "xA:1"},
    {"sdy", "return", "Al:u"},
    {"sdy", "all_gather",
     "G{gathering_axes|#sdy<list_of_axis_ref_lists|>}x'out_sharding'=G{out_sharding|#sdy.sharding|}A:1"},
    {"sdy", "all_slice",
     "G{slicing_axes|#sdy<list_of_axis_ref_lists|>}x'out_sharding'=G{out_sharding|#sdy.sharding|}A:1"},
    {"sdy", "reduce_scatter",
     "G{reduce_scatter_axes|#sdy<list_of_axis_ref_lists|>}x'out_sharding'=G{out_sharding|#sdy.sharding|}A:1"},
    {"sdy", "sharded_to_unreduced",
     "G{axes|#sdy<list_of_axis_ref_lists|>}x'out_sharding'=G{out_sharding|#sdy.sharding|}A:1"},
    {"sdy", "all_reduce",
     "G{reduction_axes|#sdy<axis_ref_list|>}x'out_sharding'=G{out_sharding|#sdy.sharding|}A:1"},
    {"sdy", "replicated_to_unreduced",
     "G{axes|#sdy<axis_ref_list|>}x'out_sharding'=G{out_sharding|#sdy.sharding|}A:1"},
    {"sdy", "all_to_all",
     "G{params|#sdy<all_to_all_param_list|>}x'out_sharding'=G{out_sharding|#sdy.sharding|}A:1"},
    {"sdy", "collective_permute", "x'out_sharding'=G{out_sharding|#sdy.sharding|}A:1"},
};

/* ---------------------------------------------------------------- finding a format */
/* is `word` one of the space-separated words? */
static bool listed(const char *words, const char *word, size_t size)
{
    for (const char *at = words; *at;) {
        size_t n = strcspn(at, " ");
        if (n == size && memcmp(at, word, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

/* The format of an op's full name, NULL when the table has none. Both answers are kept in the cache: a text
 * of a million ops has some dozens of different ones. */
static const char *find(const char *full, struct cached *cache)
{
    struct cached *cached = &cache[hash_bytes(full, strlen(full), 2) & (SCAN_FORMS - 1)];
    if (strcmp(cached->name, full) == 0)
        return cached->format;
    const char *dot = strchr(full, '.'), *format = NULL;
    for (unsigned i = 0; dot && !format && i < sizeof table / sizeof *table; i++)
        if (listed(table[i].dialect, full, (size_t)(dot - full)) &&
            listed(table[i].names, dot + 1, strlen(dot + 1)))
            format = table[i].format;
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

/* `f` is at a quote: the word between it and the next one, which is returned */
static const char *keyword(const char *f, char word[32])
{
    size_t n = 0;
    for (f++; *f != '\''; f++)
        if (n < 31)
            word[n++] = *f;
    word[n] = 0;
    return f;
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
        f = keyword(f + 1, word);
        there = scan_accept_word(scan, word);
    }
    if (there)
        return f;
    scan->at = before;
    while (*f != ';')
        f++;
    return f;
}

/* `f` is at the brace of `{attr|second|third}`: fills the item and returns the place of the closing brace */
static const char *braces(const char *f, struct form_item *item)
{
    char *parts[3] = {item->attr, item->second, item->third};
    size_t sizes[3] = {sizeof item->attr, sizeof item->second, sizeof item->third}, n = 0;
    memset(item, 0, sizeof *item);
    for (unsigned k = 0; *++f != '}';) {
        if (*f == '|') {
            k++;
            n = 0;
        } else if (n + 1 < sizes[k]) {
            parts[k][n++] = *f;
        }
    }
    return f;
}

static void run(struct scan *scan, const char *format)
{
    struct form_item item;
    char word[32], punctuation[2] = "";
    for (const char *f = format; *f; f++) {
        switch (*f) {
        case 'x': VEC_PUSH(&scan->operands, scan_value(scan)); break;
        case 'l': operand_list(scan); break;
        case '\'':
            f = keyword(f, word);
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
            f = braces(f + 1, &item);
            form_attr_item(scan, kind, &item);
        }
        }
    }
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
