/* Elementwise ops on complex numbers: one element at a time, all arithmetic in double complex, rounded on
 * storing. */
#include "verify/elementwise.h"

#include <math.h>

double complex verify_complex_get(const struct verify_array *in, int64_t i)
{
    i = in->splat ? 0 : i;
    if (verify_store_of(in->element) == VERIFY_C64)
        return ((const float *)in->data)[2 * i] + I * (double)((const float *)in->data)[2 * i + 1];
    return ((const double *)in->data)[2 * i] + I * ((const double *)in->data)[2 * i + 1];
}

void verify_complex_put(enum ir_element element, void *to, int64_t i, double complex z)
{
    if (verify_store_of(element) == VERIFY_C64) {
        ((float *)to)[2 * i] = (float)creal(z);
        ((float *)to)[2 * i + 1] = (float)cimag(z);
    } else {
        ((double *)to)[2 * i] = creal(z);
        ((double *)to)[2 * i + 1] = cimag(z);
    }
}

static void put_real(enum ir_element element, void *to, int64_t i, double x)
{
    if (verify_store_of(element) == VERIFY_F32)
        ((float *)to)[i] = (float)x;
    else
        ((double *)to)[i] = x;
}

static bool complex_value(int code, double complex x, double complex y, double complex *z)
{
    switch (code) {
    case IR_ADD: *z = x + y; break;
    case IR_SUBTRACT: *z = x - y; break;
    case IR_MULTIPLY:
        *z = CMPLX(creal(x) * creal(y) - cimag(x) * cimag(y), creal(x) * cimag(y) + cimag(x) * creal(y));
        break;
    case IR_DIVIDE: *z = x / y; break;
    case IR_POWER: *z = cpow(x, y); break;
    case IR_NEGATE: *z = -x; break;
    case IR_CHLO_CONJ: *z = conj(x); break;
    case IR_CHLO_SQUARE:
        *z = CMPLX((creal(x) - cimag(x)) * (creal(x) + cimag(x)), 2 * creal(x) * cimag(x));
        break;
    case IR_EXPONENTIAL: *z = cexp(x); break;
    case IR_EXPONENTIAL_MINUS_ONE: *z = cexp(x) - 1; break;
    case IR_LOG: *z = clog(x); break;
    case IR_LOG_PLUS_ONE: *z = clog(1 + x); break;
    case IR_LOGISTIC: *z = 1 / (1 + cexp(-x)); break;
    case IR_SQRT: *z = csqrt(x); break;
    case IR_RSQRT: *z = 1 / csqrt(x); break;
    case IR_SINE: *z = csin(x); break;
    case IR_COSINE: *z = ccos(x); break;
    case IR_TAN:
    case IR_CHLO_TAN: *z = ctan(x); break;
    case IR_TANH: *z = ctanh(x); break;
    case IR_SIGN: *z = x == 0 ? 0 : x / cabs(x); break;
    default: return false;
    }
    return true;
}

bool verify_elementwise_complex(const struct verify_elementwise *kernel, const struct verify_array *in,
                                uint32_t count, enum ir_element element, void *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double complex x = verify_complex_get(&in[0], i), y = count > 1 ? verify_complex_get(&in[1], i) : 0,
                       z = 0;
        if (kernel->code == IR_ABS)
            put_real(element, out, i, cabs(x));
        else if (kernel->code == IR_REAL)
            put_real(element, out, i, creal(x));
        else if (kernel->code == IR_IMAG)
            put_real(element, out, i, cimag(x));
        else if (kernel->code == IR_IS_FINITE)
            ((uint8_t *)out)[i] = isfinite(creal(x)) && isfinite(cimag(x));
        else if (kernel->code == IR_COMPARE)
            ((uint8_t *)out)[i] = kernel->compare == COMPARE_NE ? x != y : x == y;
        else if (complex_value(kernel->code, x, y, &z))
            verify_complex_put(element, out, i, z);
        else
            return false;
    }
    return true;
}

bool verify_elementwise_join(const struct verify_array *in, enum ir_element element, void *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t ia = in[0].splat ? 0 : i, ib = in[1].splat ? 0 : i;
        if (element == IR_C64) {
            ((float *)out)[2 * i] = ((const float *)in[0].data)[ia];
            ((float *)out)[2 * i + 1] = ((const float *)in[1].data)[ib];
        } else {
            ((double *)out)[2 * i] = ((const double *)in[0].data)[ia];
            ((double *)out)[2 * i + 1] = ((const double *)in[1].data)[ib];
        }
    }
    return true;
}
