/* Cost tables of the reduced network: immutable, equal ones stored once, counted references.
 *
 * Costs are int64. CFN_INFINITE stands for "no optimum uses this"; anything at or above half of it is
 * infinite, and sums saturate. Finite values stay below 10^18 in magnitude: load.c sees to it. */
#ifndef TOAST_CFN_TABLE_H
#define TOAST_CFN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFN_INFINITE ((int64_t)4000000000000000000)
/* A problem's cost of this or more is meant as "never": it is read as infinite, and as finite only when no
 * answer below it is found (session.h). A tenth of CFN_INFINITE: the loader sees to it that all finite costs
 * together stay below this. */
#define CFN_LARGE ((int64_t)400000000000000000)

static inline bool cfn_infinite(int64_t c)
{
    return c >= CFN_INFINITE / 2;
}

static inline int64_t cfn_add(int64_t a, int64_t b)
{
    return cfn_infinite(a) || cfn_infinite(b) ? CFN_INFINITE : a + b;
}

struct cfn_table {
    int32_t rows, cols;
    uint32_t refs;
    uint32_t mark; /* scratch of whoever numbers tables */
    uint64_t hash;
    struct cfn_table *next; /* in its bucket */
    bool finite;            /* no infinite entry */
    bool separable;         /* finite, and entry(a, b) = entry(a, 0) + entry(0, b) - entry(0, 0) */
    bool rows_functional;   /* every row has exactly one finite entry */
    bool cols_functional;
    bool rows_supported; /* every row has a finite entry */
    bool cols_supported;
    int64_t entry[]; /* row-major */
};

struct cfn_tables {
    struct cfn_table **buckets;
    size_t bucket_count, count;
};

void cfn_tables_release(struct cfn_tables *tables); /* tables too */
/* a table of these entries (copied), one reference for the caller */
struct cfn_table *cfn_table_intern(struct cfn_tables *tables, int32_t rows, int32_t cols,
                                   const int64_t *entry);
void cfn_table_drop(struct cfn_tables *tables, struct cfn_table *table); /* gives a reference back */

#endif
