/* Comparing results of two runs: strict about kinds, shapes, integers and NaN, tolerant about rounding only
 * (verify_compare in prove.h). */
#include "verify/prove.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify/value.h"

/* component i of a tensor as a double (complex numbers have two) */
static double get(const struct verify_tensor *t, int64_t i)
{
    switch (verify_store_of(t->element)) {
    case VERIFY_U8: return ((const uint8_t *)t->data)[i];
    case VERIFY_I64: return (double)((const int64_t *)t->data)[i];
    case VERIFY_F32:
    case VERIFY_C64: return (double)((const float *)t->data)[i];
    case VERIFY_F64:
    case VERIFY_C128: return ((const double *)t->data)[i];
    case VERIFY_NONE: break;
    }
    return 0;
}

static void found(struct verify_difference *d, uint32_t result, int64_t index, double a, double b,
                  double error)
{
    d->result = result;
    d->index = index;
    d->reference = a;
    d->candidate = b;
    d->worst = error;
    snprintf(d->what, sizeof d->what, "result %u[%lld] is %.9g instead of %.9g", result, (long long)index, b,
             a);
}

static void compare_whole(const struct verify_tensor *a, const struct verify_tensor *b, uint32_t result,
                          struct verify_difference *d)
{
    int64_t n = verify_tensor_count(a);
    size_t size = verify_element_size(a->element);
    if (memcmp(a->data, b->data, (size_t)n * size) == 0)
        return;
    int64_t i = 0;
    while (memcmp((char *)a->data + (size_t)i * size, (char *)b->data + (size_t)i * size, size) == 0)
        i++;
    if (d->verdict != VERIFY_DIFFERENT)
        found(d, result, i, get(a, i), get(b, i), INFINITY);
    d->verdict = VERIFY_DIFFERENT;
}

/* Stands for the largest magnitude of a result that is all zeros: positive, so that nothing is divided by
 * 0, and so small that any other number differs from it. */
static const double LEAST_MAGNITUDE = 1e-300;

static void compare_float(const struct verify_tensor *a, const struct verify_tensor *b, uint32_t result,
                          double tolerance, double floor, struct verify_difference *d)
{
    int64_t n = verify_tensor_count(a) * (verify_store_of(a->element) >= VERIFY_C64 ? 2 : 1);
    double most = floor > 0 ? floor : LEAST_MAGNITUDE;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(get(a, i)) && fabs(get(a, i)) > most)
            most = fabs(get(a, i));
    for (int64_t i = 0; i < n; i++) {
        double x = get(a, i), y = get(b, i);
        if (isnan(x)) {
            if (d->verdict == VERIFY_EQUAL) {
                found(d, result, i, x, y, d->worst);
                d->verdict = VERIFY_INCONCLUSIVE;
            }
            continue;
        }
        double error = x == y ? 0 : isfinite(x) && isfinite(y) ? fabs(x - y) / most : INFINITY;
        bool fails = !(error <= tolerance);
        if (fails ? d->verdict != VERIFY_DIFFERENT : d->verdict == VERIFY_EQUAL && error > d->worst)
            found(d, result, i, x, y, error);
        else if (error > d->worst)
            d->worst = error;
        if (fails)
            d->verdict = VERIFY_DIFFERENT;
    }
}

struct verify_difference verify_compare(const struct verify_tensor *reference,
                                        const struct verify_tensor *candidate, uint32_t count,
                                        double tolerance, double floor)
{
    struct verify_difference d = {.verdict = VERIFY_EQUAL, .result = IR_NONE};
    for (uint32_t r = 0; r < count; r++) {
        const struct verify_tensor *a = &reference[r], *b = &candidate[r];
        bool same = a->element == b->element && a->rank == b->rank;
        for (uint32_t i = 0; i < a->rank && same; i++)
            same = a->dims[i] == b->dims[i];
        if (!same) {
            d = (struct verify_difference){.verdict = VERIFY_DIFFERENT, .worst = INFINITY, .result = r};
            snprintf(d.what, sizeof d.what, "result %u has another element type or shape", r);
            return d;
        }
        if (verify_store_of(a->element) <= VERIFY_I64)
            compare_whole(a, b, r, &d);
        else
            compare_float(a, b, r, tolerance, floor, &d);
    }
    return d;
}

/* By the narrowest float type, relative to a result's largest magnitude. Narrow types are rounded after
 * each op, so their tolerance is a few units of rounding; wider ones leave room for what cancels in long
 * sums:
 *
 *             unit of rounding    tolerance
 *     f64     1.1e-16             1e-9
 *     f32     6.0e-8              5e-5
 *     f16     4.9e-4              4e-3
 *     bf16    3.9e-3              3e-2      and narrower types */
double verify_tolerance(const struct ir_program *p)
{
    double tolerance = 1e-9;
    for (uint32_t i = 0; i < p->type_count; i++) {
        enum ir_element element = (enum ir_element)p->types[i].element;
        if (p->types[i].kind != IR_TYPE_TENSOR)
            continue;
        double t = element == IR_F32 || element == IR_C64              ? 5e-5
                   : element == IR_F16                                 ? 4e-3
                   : ir_element_is_float(element) && element != IR_F64 ? 3e-2
                                                                       : 0;
        tolerance = t > tolerance ? t : tolerance;
    }
    return tolerance;
}
