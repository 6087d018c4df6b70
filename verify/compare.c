/* Comparing results of two runs: strict about kinds, shapes, integers and NaN, tolerant about rounding only
 * (verify_compare in prove.h). */
#include "verify/prove.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify/value.h"

/* component i of a tensor as a double (complex numbers have two) */
static double get(const struct verify_tensor *tensor, int64_t i)
{
    switch (verify_store_of(tensor->element)) {
    case VERIFY_U8: return ((const uint8_t *)tensor->data)[i];
    case VERIFY_I64: return (double)((const int64_t *)tensor->data)[i];
    case VERIFY_F32:
    case VERIFY_C64: return (double)((const float *)tensor->data)[i];
    case VERIFY_F64:
    case VERIFY_C128: return ((const double *)tensor->data)[i];
    case VERIFY_NONE: break;
    }
    return 0;
}

double verify_element(const struct verify_tensor *tensor, int64_t i)
{
    return get(tensor, i);
}

static void found(struct verify_difference *difference, uint32_t result, int64_t index, double a, double b,
                  double error)
{
    difference->result = result;
    difference->index = index;
    difference->reference = a;
    difference->candidate = b;
    difference->worst = error;
    snprintf(difference->what, sizeof difference->what, "result %u[%lld] is %.9g instead of %.9g", result,
             (long long)index, b, a);
}

static void compare_whole(const struct verify_tensor *want, const struct verify_tensor *got, uint32_t result,
                          struct verify_difference *difference)
{
    int64_t n = verify_tensor_count(want);
    size_t size = verify_element_size(want->element);
    if (memcmp(want->data, got->data, (size_t)n * size) == 0)
        return;
    int64_t i = 0;
    while (memcmp((char *)want->data + (size_t)i * size, (char *)got->data + (size_t)i * size, size) == 0)
        i++;
    if (difference->verdict != VERIFY_DIFFERENT)
        found(difference, result, i, get(want, i), get(got, i), INFINITY);
    difference->verdict = VERIFY_DIFFERENT;
}

/* Stands for the largest magnitude of a result that is all zeros: positive, so that nothing is divided by
 * 0, and so small that any other number differs from it. */
static const double LEAST_MAGNITUDE = 1e-300;

static void compare_float(const struct verify_tensor *want, const struct verify_tensor *got, uint32_t result,
                          double tolerance, double floor, struct verify_difference *difference)
{
    int64_t n = verify_tensor_count(want) * (verify_store_of(want->element) >= VERIFY_C64 ? 2 : 1);
    double most = floor > 0 ? floor : LEAST_MAGNITUDE;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(get(want, i)) && fabs(get(want, i)) > most)
            most = fabs(get(want, i));
    for (int64_t i = 0; i < n; i++) {
        double x = get(want, i), y = get(got, i);
        if (isnan(x)) {
            if (difference->verdict == VERIFY_EQUAL) {
                found(difference, result, i, x, y, difference->worst);
                difference->verdict = VERIFY_INCONCLUSIVE;
            }
            continue;
        }
        double error = x == y ? 0 : isfinite(x) && isfinite(y) ? fabs(x - y) / most : INFINITY;
        bool fails = !(error <= tolerance);
        if (fails ? difference->verdict != VERIFY_DIFFERENT
                  : difference->verdict == VERIFY_EQUAL && error > difference->worst)
            found(difference, result, i, x, y, error);
        else if (error > difference->worst)
            difference->worst = error;
        if (fails)
            difference->verdict = VERIFY_DIFFERENT;
    }
}

struct verify_difference verify_compare(const struct verify_tensor *reference,
                                        const struct verify_tensor *candidate, uint32_t count,
                                        double tolerance, double floor)
{
    struct verify_difference difference = {.verdict = VERIFY_EQUAL, .result = IR_NONE};
    for (uint32_t r = 0; r < count; r++) {
        const struct verify_tensor *want = &reference[r], *got = &candidate[r];
        bool same = want->element == got->element && want->rank == got->rank;
        for (uint32_t i = 0; i < want->rank && same; i++)
            same = want->dims[i] == got->dims[i];
        if (!same) {
            difference =
                (struct verify_difference){.verdict = VERIFY_DIFFERENT, .worst = INFINITY, .result = r};
            snprintf(difference.what, sizeof difference.what, "result %u has another element type or shape",
                     r);
            return difference;
        }
        if (verify_store_of(want->element) <= VERIFY_I64)
            compare_whole(want, got, r, &difference);
        else
            compare_float(want, got, r, tolerance, floor, &difference);
    }
    return difference;
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
double verify_tolerance(const struct ir_program *program)
{
    double tolerance = 1e-9;
    for (uint32_t i = 0; i < program->type_count; i++) {
        enum ir_element element = (enum ir_element)program->types[i].element;
        if (program->types[i].kind != IR_TYPE_TENSOR)
            continue;
        double t = element == IR_F32 || element == IR_C64              ? 5e-5
                   : element == IR_F16                                 ? 4e-3
                   : ir_element_is_float(element) && element != IR_F64 ? 3e-2
                                                                       : 0;
        tolerance = t > tolerance ? t : tolerance;
    }
    return tolerance;
}
