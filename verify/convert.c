/* Conversion between element types as XLA does it: float to integer saturates and NaN gives 0, integers
 * wrap, floats round to nearest even. Any type to any other; a complex number loses its imaginary part when
 * it becomes real. */
#include "verify/elementwise.h"

#include <math.h>
#include <string.h>

unsigned verify_element_width(enum ir_element element)
{
    if (element == IR_I2 || element == IR_UI2)
        return 2;
    return element == IR_I4 || element == IR_UI4 ? 4
           : element == IR_I1                    ? 1
           : element == IR_INDEX                 ? 64
                                                 : ir_element_bits(element);
}

static int64_t saturate(double x, enum ir_element to)
{
    if (isnan(x))
        return 0;
    unsigned bits = verify_element_width(to);
    bool u = verify_element_unsigned(to);
    double low = u ? 0 : -ldexp(1, (int)bits - 1), high = ldexp(1, (int)bits - !u);
    x = trunc(x);
    if (x < low)
        x = low;
    if (x >= high)
        return u ? (bits == 64 ? -1 : (int64_t)(((uint64_t)1 << bits) - 1))
                 : (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
    return u ? (int64_t)(uint64_t)x : (int64_t)x;
}

static double as_double(enum ir_element from, const void *in, int64_t i)
{
    switch (verify_store_of(from)) {
    case VERIFY_U8: return ((const uint8_t *)in)[i];
    case VERIFY_I64:
        return from == IR_UI64 ? (double)((const uint64_t *)in)[i] : (double)((const int64_t *)in)[i];
    case VERIFY_F32: return (double)((const float *)in)[i];
    case VERIFY_C64: return (double)((const float *)in)[2 * i];
    case VERIFY_F64: return ((const double *)in)[i];
    case VERIFY_C128: return ((const double *)in)[2 * i];
    case VERIFY_NONE: break;
    }
    return 0;
}

static void convert_to_int(enum ir_element from, const void *in, enum ir_element to, int64_t *o, int64_t n)
{
    enum verify_store f = verify_store_of(from);
    for (int64_t i = 0; i < n; i++)
        o[i] = f == VERIFY_I64  ? ((const int64_t *)in)[i]
               : f == VERIFY_U8 ? ((const uint8_t *)in)[i]
                                : saturate(as_double(from, in, i), to);
    if (f == VERIFY_I64)
        verify_round_all(to, o, n);
}

void verify_convert(enum ir_element from, const void *in, enum ir_element to, void *out, int64_t n)
{
    enum verify_store f = verify_store_of(from), t = verify_store_of(to);
    struct verify_array array = {from, false, in};
    if (t == VERIFY_I64) {
        convert_to_int(from, in, to, out, n);
        return;
    }
    if (f == VERIFY_F32 && t == VERIFY_F32) {
        memcpy(out, in, (size_t)n * sizeof(float));
        if (from != to)
            verify_round_all(to, out, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (t == VERIFY_C64 || t == VERIFY_C128)
            verify_complex_put(to, out, i,
                               f == VERIFY_C64 || f == VERIFY_C128 ? verify_complex_get(&array, i)
                                                                   : as_double(from, in, i));
        else if (t == VERIFY_U8)
            ((uint8_t *)out)[i] = as_double(from, in, i) != 0;
        else if (t == VERIFY_F64)
            ((double *)out)[i] = as_double(from, in, i);
        else
            ((float *)out)[i] =
                to == IR_F32 ? (float)as_double(from, in, i) : verify_round(to, as_double(from, in, i));
    }
}
