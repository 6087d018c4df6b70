/* clang-format off */
/* Pretty forms that have no region: a table of ops and formats, and what reads a format.
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
#include "ir/reader/rewrite.h"

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

static const char *find(const char *full, struct cached *cache)
{
    struct cached *c = &cache[hash_bytes(full, strlen(full), 2) & 255];
    if (strcmp(c->name, full) == 0)
        return c->format;
    const char *dot = strchr(full, '.'), *format = NULL;
    for (unsigned i = 0; dot && !format && i < sizeof table / sizeof *table; i++)
        if (listed(table[i].dialect, full, (size_t)(dot - full)) &&
            listed(table[i].names, dot + 1, strlen(dot + 1)))
            format = table[i].format;
    if (strlen(full) < sizeof c->name) {
        strcpy(c->name, full);
        c->format = format;
    }
    return format;
}

/* ---------------------------------------------------------------- types */
static const char *expanded(struct scan *s, struct span type, struct text *scratch)
{
    scratch->size = 0;
    scan_copy(s, scratch, type);
    return scratch->at;
}

static bool is_function(struct scan *s, struct span type)
{
    if (s->text[type.at] != '!')
        return s->text[type.at] == '(';
    struct alias *a = scan_alias(s, type);
    return a && a->size && s->aliases_text.at[a->text] == '(';
}

static void repeated(struct scan *s, struct span type, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i)
            scan_write(s, ", ");
        scan_copy(s, &s->out, type);
    }
}

static void result_type(struct scan *s, struct span type)
{
    bool function = is_function(s, type);
    scan_write(s, function ? "(" : "");
    scan_copy(s, &s->out, type);
    scan_write(s, function ? ")" : "");
}

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

static void tuple_type(struct scan *s, struct span type)
{
    struct text t = {0};
    expanded(s, type, &t);
    if (t.size < 7 || memcmp(t.at, "tuple<", 6) != 0)
        scan_fail(s, ERROR_INVALID_MODULE, type.at, "expected a tuple type");
    text_printf(&s->out, "(%.*s) -> %s", (int)t.size - 7, t.at + 6, t.at);
    text_release(&t);
}

static void type_list(struct scan *s)
{
    do {
        scan_copy(s, &s->out, scan_type(s));
        if (!scan_accept(s, ","))
            return;
        scan_write(s, ", ");
    } while (true);
}

static void arrow_type(struct scan *s)
{
    if (scan_peek(s) == '(') {
        scan_copy(s, &s->out, scan_type(s));
        return;
    }
    scan_write(s, "(");
    type_list(s);
    scan_expect(s, "->");
    scan_write(s, ") -> ");
    if (scan_peek(s) == '(')
        scan_copy(s, &s->out, scan_balanced(s));
    else
        scan_copy(s, &s->out, scan_type(s));
}

static void write_type(struct scan *s, char kind)
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
        type_list(s);
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
        result_type(s, type);
    }
}

/* ---------------------------------------------------------------- attribute items */
struct item {
    char attr[40], second[40], third[4];
};

static const char *braces(const char *f, struct item *item)
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

static void precisions(struct scan *s)
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

static void exponent_mantissa(struct scan *s)
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

static void direction(struct scan *s)
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
        result_type(s, type);
    else if (a && a->type_size)
        text_add_n(&s->out, s->aliases_text.at + a->type, a->type_size);
    else
        scan_fail(s, ERROR_INVALID_MODULE, v.at, "expected ': TYPE' after the constant's value");
}

static void typed_word(struct scan *s, const struct item *i, struct span w)
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

static void attr_item(struct scan *s, char kind, const struct item *i)
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

static void barrier(struct scan *s)
{
    if (scan_accept(s, "(")) {
        scan_expect(s, ")");
        write_operands(s);
        attr_flush(s);
        scan_write(s, " : () -> ()");
        return;
    }
    operand_list(s);
    write_operands(s);
    attr_flush(s);
    scan_write(s, " : (");
    scan_expect(s, ":");
    size_t start = s->out.size;
    type_list(s);
    size_t size = s->out.size - start;
    char *types = mem_strndup(s->out.at + start, size);
    text_printf(&s->out, ") -> (%s)", types);
    free(types);
}

/* ---------------------------------------------------------------- a format */
static const char *keyword(const char *f, char word[32])
{
    size_t n = 0;
    for (f++; *f != '\''; f++)
        if (n < 31)
            word[n++] = *f;
    word[n] = 0;
    return f;
}

/* At `?`: the item before the first one still to be read when the part is there, else the `;` that ends it.
 */
static const char *option(struct scan *s, const char *f)
{
    char word[32];
    uint32_t before = (scan_blank(s), s->at);
    bool there = f[1] != ',' || scan_accept(s, ",");
    if (f[1] == ',')
        f++;
    if (there && f[1] == '\'') {
        f = keyword(f + 1, word);
        there = scan_accept_word(s, word);
    }
    if (there)
        return f;
    s->at = before;
    while (*f != ';')
        f++;
    return f;
}

static void run(struct scan *s, const char *format)
{
    struct item item;
    char word[32], punctuation[2] = "";
    for (const char *f = format; *f; f++) {
        switch (*f) {
        case 'x': VEC_PUSH(&s->operands, scan_value(s)); break;
        case 'l': operand_list(s); break;
        case '\'':
            f = keyword(f, word);
            scan_expect_word(s, word);
            break;
        case '?': f = option(s, f); break;
        case ';': break;
        case 'A': attr_dictionary(s, take_dictionary(s)); break;
        case 'P': precisions(s); break;
        case 'X': exponent_mantissa(s); break;
        case 'D': direction(s); break;
        case 'b': barrier(s); break;
        case 'd': list_dot(s); break;
        case 'c': list_convolution(s); break;
        case 'z': list_slice(s); break;
        case ':':
            write_operands(s);
            attr_flush(s);
            write_type(s, *++f);
            break;
        case ',':
        case '=':
        case '(':
        case ')':
        case '[':
        case ']':
            punctuation[0] = *f;
            scan_expect(s, punctuation);
            break;
        default: {
            char kind = *f;
            f = braces(f + 1, &item);
            attr_item(s, kind, &item);
        }
        }
    }
}

bool form_rewrite(struct scan *s, struct span name, const char *full)
{
    const char *format = find(full, s->forms);
    if (!format)
        return false;
    text_printf(&s->out, "\"%s\"", full);
    s->operands.count = 0;
    if (strcmp(full, "stablehlo.constant") == 0 && scan_peek(s) == '(')
        rewrite_generic_rest(s, false); /* printed so where value and result have different types */
    else
        run(s, format);
    return true;
}
