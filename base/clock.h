/* The monotonic clock: nobody sets it, it says how much time has passed. */
#ifndef TOAST_BASE_CLOCK_H
#define TOAST_BASE_CLOCK_H

#include <time.h>

static inline double clock_seconds(void)
{
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    return (double)when.tv_sec + (double)when.tv_nsec * 1e-9;
}

static inline long long clock_ms(void)
{
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    return when.tv_sec * 1000LL + when.tv_nsec / 1000000;
}

#endif
