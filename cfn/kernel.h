/* What inner loops share: aligned rows padded to whole vectors, loops compiled for several instruction sets
 * (addition and minimum only, lane by lane: every set gives the same bits), and a logarithm without libm. */
#ifndef TOAST_CFN_KERNEL_H
#define TOAST_CFN_KERNEL_H

#include "base/hash.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&     \
    !defined(__SANITIZE_THREAD__)
#define CFN_KERNEL __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define CFN_KERNEL
#endif

/* stands for infinite cost in float and double rows; a few dozen of them still add up to a float */
#define CFN_HUGE 1e30f

static inline int32_t cfn_padded(int32_t size)
{
    return size <= 8 ? 8 : (size + 15) / 16 * 16;
}

/* natural logarithm for x > 0: x = m * 2^k, log m by the series of atanh; relative error below 1e-9 */
static inline double cfn_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)((bits >> 52) & 2047) - 1023;
    bits = (bits & 0xfffffffffffffu) | ((uint64_t)1023 << 52);
    memcpy(&x, &bits, sizeof x);
    double y = (x - 1) / (x + 1), square = y * y, term = y, sum = 0;
    for (int i = 1; i < 25; i += 2, term *= square)
        sum += term / i;
    return 2 * sum + exponent * 0.69314718055994530942;
}

/* e to the x, for |x| up to some tens, by halving and the series */
static inline double cfn_exp(double x)
{
    double y = x / 1024, sum = 1 + y * (1 + y / 2 * (1 + y / 3 * (1 + y / 4)));
    for (int i = 0; i < 10; i++)
        sum *= sum;
    return sum;
}

/* log-uniform between low and high (0 < low <= high) */
static inline double cfn_log_uniform(struct rng *rng, double low, double high)
{
    return low * cfn_exp(rng_unit(rng) * cfn_log(high / low));
}

#endif
