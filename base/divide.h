/* Divisors of whole numbers. Pure; arguments of 0 or more. */
#ifndef TOAST_BASE_DIVIDE_H
#define TOAST_BASE_DIVIDE_H

#include <stdint.h>

/* the greatest; of 0 and b: b */
static inline int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* the least; both are 1 or more, and it is taken to fit */
static inline int64_t common_multiple(int64_t a, int64_t b)
{
    return a / common_divisor(a, b) * b;
}

#endif
