/* Kernels of elementwise ops over arrays, used for whole tensors (elementwise.c) and for the bodies of
 * reducers and comparators (lanes.c). Counts are in elements; arrays are borrowed; nothing is allocated. */
#ifndef TOAST_VERIFY_ELEMENTWISE_H
#define TOAST_VERIFY_ELEMENTWISE_H

#include "verify/value.h"

#include <complex.h>

#ifndef CMPLX /* clang leaves it out */
#define CMPLX(re, im) ((double complex){(re), (im)})
#endif

enum { COMPARE_EQ, COMPARE_NE, COMPARE_GE, COMPARE_GT, COMPARE_LE, COMPARE_LT };

struct verify_elementwise { /* an op decoded once */
    int code;               /* enum ir_opcode */
    int compare;            /* COMPARE_EQ .. */
    bool total_order;
    int exponent_bits, mantissa_bits;
};
/* ERROR_NOT_AVAILABLE when the op has no kernel */
enum error_code verify_elementwise_decode(const struct verify_state *state, uint32_t op,
                                          struct verify_elementwise *out, struct error *e) BASE_CHECKED;
/* n elements; false: no kernel for these element types */
bool verify_elementwise_run(const struct verify_elementwise *kernel, const struct verify_array *in,
                            uint32_t count, enum ir_element element, void *out, int64_t n);

unsigned verify_element_width(enum ir_element element); /* bits of an integer type's values: i4 has 4 */

/* elementwise_complex.c */
double complex verify_complex_get(const struct verify_array *in, int64_t i);
void verify_complex_put(enum ir_element element, void *to, int64_t i, double complex z);
bool verify_elementwise_complex(const struct verify_elementwise *kernel, const struct verify_array *in,
                                uint32_t count, enum ir_element element, void *out, int64_t n);
/* complex numbers of two real arrays */
bool verify_elementwise_join(const struct verify_array *in, enum ir_element element, void *out, int64_t n);

#endif
