/* The narrow float formats: rounding to them, and decoding their bits. Integers narrower than their storage
 * wrap here too.
 *
 * A format has so many exponent and mantissa bits, a bias, and one of four ways to use the highest exponent:
 *   IEEE    infinities and NaNs
 *   FN      no infinities; NaN is all ones
 *   UZ      no infinities and no minus zero; NaN has the pattern of minus zero
 *   PLAIN   neither infinities nor NaN
 * References: OCP 8-bit Floating Point Specification (OFP8) 1.0; OCP Microscaling Formats (MX) 1.0; for the
 * UZ formats Noune et al., 8-bit numerical formats for deep neural networks, 2022,
 * https://arxiv.org/abs/2206.02915. */
#include "verify/value.h"

#include <math.h>
#include <string.h>

enum flavour { IEEE, FN, UZ, PLAIN };
struct format {
    int exponent, mantissa, bias;
    enum flavour flavour;
};

static bool format_of(enum ir_element element, struct format *format)
{
    static const struct format formats[IR_ELEMENTS] = {
        [IR_BF16] = {8, 7, 127, IEEE},    [IR_F16] = {5, 10, 15, IEEE},
        [IR_F8E4M3] = {4, 3, 7, IEEE},    [IR_F8E4M3FN] = {4, 3, 7, FN},
        [IR_F8E4M3FNUZ] = {4, 3, 8, UZ},  [IR_F8E4M3B11FNUZ] = {4, 3, 11, UZ},
        [IR_F8E5M2] = {5, 2, 15, IEEE},   [IR_F8E5M2FNUZ] = {5, 2, 16, UZ},
        [IR_F8E3M4] = {3, 4, 3, IEEE},    [IR_F4E2M1FN] = {2, 1, 1, PLAIN},
        [IR_F6E2M3FN] = {2, 3, 1, PLAIN}, [IR_F6E3M2FN] = {3, 2, 3, PLAIN},
    };
    *format = formats[element];
    return format->exponent > 0;
}

/* largest finite magnitude */
static double format_max(const struct format *format)
{
    int top = (1 << format->exponent) - 1 - format->bias - (format->flavour == IEEE);
    double significand = 2 - ldexp(format->flavour == FN ? 2 : 1, -format->mantissa);
    return ldexp(significand, top);
}

/* x rounded to nearest even with so many mantissa bits and no exponent below `least` (gradual underflow) */
static double round_bits(double x, int mantissa, int least)
{
    if (x == 0 || isnan(x) || isinf(x))
        return x;
    int exponent;
    frexp(x, &exponent);
    exponent = exponent - 1 < least ? least : exponent - 1;
    return ldexp(nearbyint(ldexp(x, mantissa - exponent)), exponent - mantissa);
}

static float round_bf16(double x)
{
    /* x is rounded once, although in two steps: to odd at float's 24 bits, which keeps the information that
     * digits were lost, then to nearest even at 8 bits. */
    float f = (float)x;
    uint32_t u;
    if (isnan(f))
        return f;
    memcpy(&u, &f, 4);
    if ((double)f != x && !isinf(f)) {
        if (fabs((double)f) > fabs(x))
            u--;
        u |= 1;
    }
    u = (u + 0x7fff + ((u >> 16) & 1)) & 0xffff0000u;
    memcpy(&f, &u, 4);
    return f;
}

float verify_round(enum ir_element element, double x)
{
    struct format format;
    if (element == IR_BF16)
        return round_bf16(x);
    if (!format_of(element, &format) || isnan(x))
        return (float)x;
    double y = round_bits(x, format.mantissa, 1 - format.bias), max = format_max(&format);
    if (fabs(y) > max)
        y = format.flavour == IEEE    ? copysign(INFINITY, x)
            : format.flavour == PLAIN ? copysign(max, x)
                                      : (double)NAN;
    return (float)(format.flavour == UZ && y == 0 ? 0.0 : y);
}

static void round_integers(enum ir_element element, int64_t *x, int64_t n)
{
    unsigned bits = element == IR_I2 || element == IR_UI2   ? 2
                    : element == IR_I4 || element == IR_UI4 ? 4
                    : element == IR_INDEX                   ? 64
                                                            : ir_element_bits(element);
    if (bits >= 64)
        return;
    unsigned shift = 64 - bits;
    if (verify_element_unsigned(element))
        for (int64_t i = 0; i < n; i++)
            x[i] &= (int64_t)(((uint64_t)1 << bits) - 1);
    else
        for (int64_t i = 0; i < n; i++)
            x[i] = (int64_t)((uint64_t)x[i] << shift) >> shift;
}

void verify_round_all(enum ir_element element, void *data, int64_t n)
{
    enum verify_store store = verify_store_of(element);
    if (store == VERIFY_I64)
        round_integers(element, data, n);
    else if (store == VERIFY_F32 && element != IR_F32)
        for (int64_t i = 0; i < n; i++)
            ((float *)data)[i] = verify_round(element, (double)((float *)data)[i]);
}

double verify_decode_float(enum ir_element element, uint32_t bits)
{
    struct format format;
    if (!format_of(element, &format))
        return 0;
    uint32_t sign = (bits >> (format.exponent + format.mantissa)) & 1;
    int exponent = (int)((bits >> format.mantissa) & ((1u << format.exponent) - 1));
    uint32_t mantissa = bits & ((1u << format.mantissa) - 1);
    int top = (1 << format.exponent) - 1;
    double magnitude = exponent ? ldexp(1 + ldexp((double)mantissa, -format.mantissa), exponent - format.bias)
                                : ldexp((double)mantissa, 1 - format.bias - format.mantissa);
    if (format.flavour == IEEE && exponent == top)
        magnitude = mantissa ? (double)NAN : (double)INFINITY;
    if (format.flavour == FN && exponent == top && mantissa == (1u << format.mantissa) - 1)
        magnitude = (double)NAN;
    if (format.flavour == UZ && sign && exponent == 0 && mantissa == 0)
        return (double)NAN;
    return sign ? -magnitude : magnitude;
}

/* Below the exponent of every double (the smallest is 2^-1074): no gradual underflow. */
enum { NO_LEAST_EXPONENT = -2000 };

double verify_reduce_precision(double x, int exponent_bits, int mantissa_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1;
    if (isnan(x) || isinf(x))
        return x;
    double y = round_bits(x, mantissa_bits, NO_LEAST_EXPONENT);
    if (fabs(y) >= ldexp(1, bias + 1))
        return copysign(INFINITY, x);
    return fabs(y) < ldexp(1, 1 - bias) ? copysign(0.0, x) : y;
}
