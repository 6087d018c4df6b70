/* Elementwise ops on whole tensors and lanes: one switch outside each loop, so that the loops vectorise.
 * The loops over real types are in elementwise_real.def, complex numbers in elementwise_complex.c; here are
 * integers, booleans, and the choice between them.
 *
 * An operand is dense or splat (one element for all). The caller computes a result of splats only once. */
#include "verify/elementwise.h"

#include <math.h>
#include <string.h>

/* A loop over o[i] = expression of x = a[i] and y = b[i], either of them possibly a splat. Returns from the
 * calling function. */
#define PAIRS(T, expression)                                                                                 \
    do {                                                                                                     \
        if (in[0].splat) {                                                                                   \
            const T x = a[0];                                                                                \
            for (int64_t i = 0; i < n; i++) {                                                                \
                const T y = b[in[1].splat ? 0 : i];                                                          \
                (void)y;                                                                                     \
                o[i] = (expression);                                                                         \
            }                                                                                                \
        } else if (in[1].splat) {                                                                            \
            const T y = b[0];                                                                                \
            for (int64_t i = 0; i < n; i++) {                                                                \
                const T x = a[i];                                                                            \
                (void)y;                                                                                     \
                o[i] = (expression);                                                                         \
            }                                                                                                \
        } else {                                                                                             \
            for (int64_t i = 0; i < n; i++) {                                                                \
                const T x = a[i], y = b[i];                                                                  \
                (void)y;                                                                                     \
                o[i] = (expression);                                                                         \
            }                                                                                                \
        }                                                                                                    \
        return true;                                                                                         \
    } while (0)

/* ---------------------------------------------------------------- special functions */
/* Inverse of erf: Newton's method from Winitzki's approximation. Near 1 the residual is taken from erfc,
 * which keeps the digits that 1 - erf loses. */
static double erf_inverse(double y)
{
    double size = fabs(y);
    if (!(size < 1))
        return size == 1 ? copysign(INFINITY, y) : NAN;
    double w = log1p(-size) + log1p(size), t = 2 / (M_PI * 0.147) + w / 2;
    double x = sqrt(sqrt(t * t - w / 0.147) - t);
    for (int i = 0; i < 4; i++)
        x -= (size < 0.5 ? erf(x) - size : (1 - size) - erfc(x)) / (M_2_SQRTPI * exp(-x * x));
    return copysign(x, y);
}

static double log_gamma(double x)
{
    int sign;
    return isinf(x) ? INFINITY : lgamma_r(x, &sign);
}

/* psi(x): the recurrence up to x >= 10, then the asymptotic series (Abramowitz and Stegun, Handbook of
 * Mathematical Functions, 6.3.18) */
static double digamma(double x)
{
    double r = 0;
    if (x <= 0) {
        if (x == floor(x))
            return NAN;
        return digamma(1 - x) - M_PI / tan(M_PI * x);
    }
    for (; x < 10; x += 1)
        r -= 1 / x;
    double s = 1 / (x * x);
    return r + log(x) - 0.5 / x -
           s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132)))));
}

/* An integer that orders doubles as IEEE 754 totalOrder: -NaN < -inf < .. < -0 < +0 < .. < inf < NaN. */
static int64_t total_key(double x)
{
    int64_t k;
    memcpy(&k, &x, 8);
    return k < 0 ? k ^ INT64_MAX : k;
}

#define REAL float
#define REAL_NAME(x) x##_f32
#include "verify/elementwise_real.def"
#undef REAL
#undef REAL_NAME
#define REAL double
#define REAL_NAME(x) x##_f64
#include "verify/elementwise_real.def"
#undef REAL
#undef REAL_NAME

/* ---------------------------------------------------------------- integers */
static int64_t power_int(int64_t x, int64_t y)
{
    if (y < 0)
        return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
    uint64_t r = 1, b = (uint64_t)x;
    for (; y; y >>= 1, b *= b)
        if (y & 1)
            r *= b;
    return (int64_t)r;
}

static int64_t divide_int(int64_t x, int64_t y, bool is_unsigned, bool remainder)
{
    if (y == 0)
        return remainder ? x : -1;
    if (is_unsigned)
        return (int64_t)(remainder ? (uint64_t)x % (uint64_t)y : (uint64_t)x / (uint64_t)y);
    if (y == -1)
        return remainder ? 0 : (int64_t)(0 - (uint64_t)x);
    return remainder ? x % y : x / y;
}

static int64_t shift_right(int64_t x, int64_t y, unsigned bits, bool arithmetic)
{
    uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    if (!arithmetic)
        return (uint64_t)y >= bits ? 0 : (int64_t)(((uint64_t)x & mask) >> y);
    int64_t s = (int64_t)((uint64_t)x << (64 - bits)) >> (64 - bits);
    return (uint64_t)y >= bits ? (s < 0 ? -1 : 0) : s >> y;
}

static bool unary_int(int code, enum ir_element element, const int64_t *a, int64_t *o, int64_t n)
{
    bool is_unsigned = verify_element_unsigned(element);
    unsigned bits = verify_element_width(element);
    uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = a[i];
        switch (code) {
        case IR_ABS: o[i] = x < 0 && !is_unsigned ? (int64_t)(0 - (uint64_t)x) : x; break;
        case IR_NEGATE: o[i] = (int64_t)(0 - (uint64_t)x); break;
        case IR_NOT: o[i] = ~x; break;
        case IR_SIGN: o[i] = is_unsigned ? x != 0 : (x > 0) - (x < 0); break;
        case IR_POPCNT: o[i] = __builtin_popcountll((uint64_t)x & mask); break;
        case IR_COUNT_LEADING_ZEROS:
            o[i] = ((uint64_t)x & mask) ? __builtin_clzll((uint64_t)x & mask) - (int)(64 - bits) : (int)bits;
            break;
        case IR_CHLO_SQUARE: o[i] = (int64_t)((uint64_t)x * (uint64_t)x); break;
        case IR_REAL:
        case IR_CHLO_CONJ: o[i] = x; break;
        default: return false;
        }
    }
    return true;
}

static bool binary_int(int code, const struct verify_array *in, int64_t *o, int64_t n)
{
    const int64_t *a = in[0].data, *b = in[1].data;
    bool u = verify_element_unsigned(in[0].element);
    unsigned bits = verify_element_width(in[0].element);
    switch (code) {
    case IR_ADD: PAIRS(int64_t, (int64_t)((uint64_t)x + (uint64_t)y));
    case IR_SUBTRACT: PAIRS(int64_t, (int64_t)((uint64_t)x - (uint64_t)y));
    case IR_MULTIPLY: PAIRS(int64_t, (int64_t)((uint64_t)x * (uint64_t)y));
    case IR_MAXIMUM: PAIRS(int64_t, u ? ((uint64_t)x > (uint64_t)y ? x : y) : x > y ? x : y);
    case IR_MINIMUM: PAIRS(int64_t, u ? ((uint64_t)x < (uint64_t)y ? x : y) : x < y ? x : y);
    case IR_AND: PAIRS(int64_t, x &y);
    case IR_OR: PAIRS(int64_t, x | y);
    case IR_XOR: PAIRS(int64_t, x ^ y);
    case IR_DIVIDE: PAIRS(int64_t, divide_int(x, y, u, false));
    case IR_REMAINDER: PAIRS(int64_t, divide_int(x, y, u, true));
    case IR_POWER: PAIRS(int64_t, power_int(x, y));
    case IR_SHIFT_LEFT: PAIRS(int64_t, (uint64_t)y >= bits ? 0 : (int64_t)((uint64_t)x << y));
    case IR_SHIFT_RIGHT_LOGICAL: PAIRS(int64_t, shift_right(x, y, bits, false));
    case IR_SHIFT_RIGHT_ARITHMETIC: PAIRS(int64_t, shift_right(x, y, bits, true));
    default: return false;
    }
}

static bool binary_bool(int code, const struct verify_array *in, uint8_t *o, int64_t n)
{
    const uint8_t *a = in[0].data, *b = in[1].data;
    switch (code) {
    case IR_ADD: /* on i1 addition is `or` and multiplication is `and` */
    case IR_OR:
    case IR_MAXIMUM: PAIRS(uint8_t, x | y);
    case IR_MULTIPLY:
    case IR_AND:
    case IR_MINIMUM: PAIRS(uint8_t, x &y);
    case IR_XOR: PAIRS(uint8_t, x ^ y);
    default: return false;
    }
}

#define COMPARISONS(T)                                                                                       \
    switch (kernel->compare) {                                                                               \
    case COMPARE_EQ: PAIRS(T, x == y);                                                                       \
    case COMPARE_NE: PAIRS(T, x != y);                                                                       \
    case COMPARE_GE: PAIRS(T, x >= y);                                                                       \
    case COMPARE_GT: PAIRS(T, x > y);                                                                        \
    case COMPARE_LE: PAIRS(T, x <= y);                                                                       \
    default: PAIRS(T, x < y);                                                                                \
    }

static bool compare_u8(const struct verify_elementwise *kernel, const struct verify_array *in, uint8_t *o,
                       int64_t n)
{
    const uint8_t *a = in[0].data, *b = in[1].data;
    COMPARISONS(uint8_t)
}
static bool compare_i64(const struct verify_elementwise *kernel, const struct verify_array *in, uint8_t *o,
                        int64_t n)
{
    const int64_t *a = in[0].data, *b = in[1].data;
    COMPARISONS(int64_t)
}
static bool compare_u64(const struct verify_elementwise *kernel, const struct verify_array *in, uint8_t *o,
                        int64_t n)
{
    const uint64_t *a = in[0].data, *b = in[1].data;
    COMPARISONS(uint64_t)
}

/* ---------------------------------------------------------------- ops of their own */
#define SELECT(T)                                                                                            \
    {                                                                                                        \
        const T *a = in[1].data, *b = in[2].data;                                                            \
        T *o = out;                                                                                          \
        if (in[0].splat && !in[1].splat && !in[2].splat) {                                                   \
            memcpy(o, p[0] ? a : b, (size_t)n * sizeof(T));                                                  \
            return;                                                                                          \
        }                                                                                                    \
        const int64_t sp = !in[0].splat, sa = !in[1].splat, sb = !in[2].splat;                               \
        for (int64_t i = 0; i < n; i++)                                                                      \
            o[i] = p[sp * i] ? a[sa * i] : b[sb * i];                                                        \
        return;                                                                                              \
    }

static void run_select(const struct verify_array *in, void *out, int64_t n)
{
    const uint8_t *p = in[0].data;
    switch (verify_element_size(in[1].element)) {
    case 1: SELECT(uint8_t)
    case 4: SELECT(uint32_t)
    case 8: SELECT(uint64_t)
    default:
        for (int64_t i = 0; i < n; i++) {
            const struct verify_array *from = p[in[0].splat ? 0 : i] ? &in[1] : &in[2];
            memcpy((char *)out + 16 * i, (const char *)from->data + 16 * (from->splat ? 0 : i), 16);
        }
    }
}

static bool run_clamp(const struct verify_array *in, enum ir_element element, void *out, int64_t n)
{
    const struct verify_elementwise most = {.code = IR_MAXIMUM}, least = {.code = IR_MINIMUM};
    const struct verify_array first[2] = {in[0], in[1]}, second[2] = {in[2], {element, false, out}};
    return verify_elementwise_run(&most, first, 2, element, out, n) &&
           verify_elementwise_run(&least, second, 2, element, out, n);
}

static bool run_next_after(const struct verify_array *in, enum ir_element element, void *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t ia = in[0].splat ? 0 : i, ib = in[1].splat ? 0 : i;
        if (element == IR_F64)
            ((double *)out)[i] =
                nextafter(((const double *)in[0].data)[ia], ((const double *)in[1].data)[ib]);
        else if (element == IR_F32)
            ((float *)out)[i] = nextafterf(((const float *)in[0].data)[ia], ((const float *)in[1].data)[ib]);
        else
            return false;
    }
    return true;
}

static bool run_reduce_precision(const struct verify_elementwise *kernel, const struct verify_array *in,
                                 void *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (verify_store_of(in->element) == VERIFY_F32)
            ((float *)out)[i] = (float)verify_reduce_precision((double)((const float *)in->data)[i],
                                                               kernel->exponent_bits, kernel->mantissa_bits);
        else
            ((double *)out)[i] = verify_reduce_precision(((const double *)in->data)[i], kernel->exponent_bits,
                                                         kernel->mantissa_bits);
    }
    return true;
}

/* ---------------------------------------------------------------- dispatch */
enum error_code verify_elementwise_decode(const struct verify_state *state, uint32_t op,
                                          struct verify_elementwise *out, struct error *e)
{
    static const char *const directions[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
    char word[32];
    memset(out, 0, sizeof *out);
    out->code = state->program->ops[op].code;
    if (ir_opcode_family((enum ir_opcode)out->code) != IR_FAMILY_ELEMENTWISE)
        return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "the interpreter does not know this op here");
    if (out->code == IR_COMPARE) {
        ir_word(state->program, op, "comparison_direction", word);
        out->compare = -1;
        for (int i = 0; i < 6; i++)
            if (strcmp(word, directions[i]) == 0)
                out->compare = i;
        if (out->compare < 0)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "comparison direction '%s' is unknown",
                               word);
        ir_word(state->program, op, "compare_type", word);
        out->total_order = strcmp(word, "TOTALORDER") == 0;
    }
    out->exponent_bits = (int)ir_int(state->program, op, "exponent_bits", 8);
    out->mantissa_bits = (int)ir_int(state->program, op, "mantissa_bits", 23);
    if (out->exponent_bits < 1 || out->exponent_bits > 11 || out->mantissa_bits < 0 ||
        out->mantissa_bits > 52)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "exponent and mantissa bits are out of range");
    return ERROR_OK;
}

static bool run_compare(const struct verify_elementwise *kernel, const struct verify_array *in, void *out,
                        int64_t n)
{
    switch (verify_store_of(in[0].element)) {
    case VERIFY_U8: return compare_u8(kernel, in, out, n);
    case VERIFY_I64:
        return in[0].element == IR_UI64 ? compare_u64(kernel, in, out, n) : compare_i64(kernel, in, out, n);
    case VERIFY_F32: return compare_f32(kernel, in, out, n);
    case VERIFY_F64: return compare_f64(kernel, in, out, n);
    case VERIFY_C64:
    case VERIFY_C128: return verify_elementwise_complex(kernel, in, 2, IR_I1, out, n);
    case VERIFY_NONE: break;
    }
    return false;
}

static bool run_plain(const struct verify_elementwise *kernel, const struct verify_array *in, uint32_t count,
                      enum ir_element element, void *out, int64_t n)
{
    switch (verify_store_of(in[0].element)) {
    case VERIFY_U8:
        if (kernel->code == IR_NOT) {
            for (int64_t i = 0; i < n; i++)
                ((uint8_t *)out)[i] = !((const uint8_t *)in[0].data)[i];
            return true;
        }
        return count == 2 && binary_bool(kernel->code, in, out, n);
    case VERIFY_I64:
        return count == 1 ? unary_int(kernel->code, in[0].element, in[0].data, out, n)
                          : binary_int(kernel->code, in, out, n);
    case VERIFY_F32:
        return count == 2         ? binary_f32(kernel->code, in, out, n)
               : element == IR_I1 ? test_f32(kernel->code, in[0].data, out, n)
                                  : unary_f32(kernel->code, in[0].data, out, n);
    case VERIFY_F64:
        return count == 2         ? binary_f64(kernel->code, in, out, n)
               : element == IR_I1 ? test_f64(kernel->code, in[0].data, out, n)
                                  : unary_f64(kernel->code, in[0].data, out, n);
    case VERIFY_C64:
    case VERIFY_C128: return verify_elementwise_complex(kernel, in, count, element, out, n);
    case VERIFY_NONE: break;
    }
    return false;
}

bool verify_elementwise_run(const struct verify_elementwise *kernel, const struct verify_array *in,
                            uint32_t count, enum ir_element element, void *out, int64_t n)
{
    bool done;
    switch (kernel->code) {
    case IR_CONVERT: verify_convert(in[0].element, in[0].data, element, out, n); return true;
    case IR_SELECT: run_select(in, out, n); return true;
    case IR_CLAMP: return run_clamp(in, element, out, n);
    case IR_COMPARE: return run_compare(kernel, in, out, n);
    case IR_COMPLEX: return verify_elementwise_join(in, element, out, n);
    case IR_REDUCE_PRECISION: done = run_reduce_precision(kernel, in, out, n); break;
    case IR_CHLO_NEXT_AFTER: return run_next_after(in, element, out, n);
    default: done = run_plain(kernel, in, count, element, out, n);
    }
    if (done && element != IR_F32 && element != IR_I1)
        verify_round_all(element, out, n);
    return done;
}

enum error_code verify_eval_elementwise(struct verify_state *state, uint32_t op, struct verify_value *in,
                                        struct verify_value *out, struct error *e)
{
    static const unsigned char operands_of[] = {[IR_SELECT] = 3, [IR_CLAMP] = 3};
    struct verify_elementwise kernel;
    struct verify_array arrays[3];
    uint32_t count = state->program->ops[op].operand_count;
    enum error_code code = verify_elementwise_decode(state, op, &kernel, e);
    if (code)
        return code;
    bool turned = state->options.turned && verify_turns(state->program, op);
    if (turned && kernel.code != IR_SELECT)
        kernel.code = kernel.code == IR_MAXIMUM ? IR_MINIMUM : IR_MAXIMUM;
    bool splat = true, three = (size_t)kernel.code < sizeof operands_of && operands_of[kernel.code] == 3;
    int64_t n = verify_type_count(state, out->type);
    if (count < 1 || count > 3 || (count == 3) != three)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "%u operands", count);
    for (uint32_t i = 0; i < count; i++) {
        bool scalar = verify_type_count(state, in[i].type) == 1;
        if (!scalar && verify_type_count(state, in[i].type) != n)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                               "operand %u has another shape than the result", i);
        arrays[i] = (struct verify_array){(enum ir_element)in[i].type->element, in[i].splat || scalar,
                                          verify_data(&in[i])};
        splat = splat && arrays[i].splat;
    }
    if (turned && kernel.code == IR_SELECT) {
        struct verify_array chosen = arrays[1];
        arrays[1] = arrays[2];
        arrays[2] = chosen;
    }
    if (splat)
        n = n > 0;
    else if (count == 1 && in->splat)
        verify_value_dense(state, in);
    verify_value_alloc(state, out, splat);
    if (splat)
        for (uint32_t i = 0; i < count; i++)
            arrays[i].splat = false;
    if (!verify_elementwise_run(&kernel, arrays, count, (enum ir_element)out->type->element, verify_data(out),
                                n))
        return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "not interpreted for element type %s",
                           ir_element_name((enum ir_element)in[0].type->element));
    return ERROR_OK;
}
