/* Tables by content: a hash of the entries and the shape finds an equal one, which gets one more reference.
 * Many links have equal tables, so what rules want to know of a table (finite, functional, separable) is
 * found once for all of them. A table never changes after it was made; the last reference frees it. */
#include "cfn/table.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 1024, GROWTH = 4 }; /* a bucket holds one table on average, at most */

void cfn_tables_release(struct cfn_tables *s)
{
    for (size_t b = 0; b < s->bucket_count; b++)
        for (struct cfn_table *t = s->buckets[b], *next; t; t = next) {
            next = t->next;
            free(t);
        }
    free(s->buckets);
    *s = (struct cfn_tables){0};
}

static void grow(struct cfn_tables *s)
{
    size_t count = s->bucket_count ? s->bucket_count * GROWTH : FIRST_BUCKETS;
    struct cfn_table **made = mem_zalloc(count, sizeof(struct cfn_table *));
    for (size_t b = 0; b < s->bucket_count; b++)
        for (struct cfn_table *t = s->buckets[b], *next; t; t = next) {
            next = t->next;
            t->next = made[t->hash % count];
            made[t->hash % count] = t;
        }
    free(s->buckets);
    s->buckets = made;
    s->bucket_count = count;
}

static bool is_separable(const struct cfn_table *t)
{
    if (!t->finite)
        return false;
    for (int32_t a = 1; a < t->rows; a++) {
        const int64_t *row = t->entry + (size_t)a * (size_t)t->cols;
        for (int32_t b = 1; b < t->cols; b++)
            if (row[b] - row[0] != t->entry[b] - t->entry[0])
                return false;
    }
    return true;
}

static void classify(struct cfn_table *t)
{
    t->finite = t->rows_functional = t->cols_functional = t->rows_supported = t->cols_supported = true;
    for (int32_t a = 0; a < t->rows; a++) {
        int32_t finite = 0;
        for (int32_t b = 0; b < t->cols; b++)
            finite += !cfn_infinite(t->entry[(size_t)a * (size_t)t->cols + (size_t)b]);
        t->finite = t->finite && finite == t->cols;
        t->rows_functional = t->rows_functional && finite == 1;
        t->rows_supported = t->rows_supported && finite > 0;
    }
    for (int32_t b = 0; b < t->cols && !t->finite; b++) {
        int32_t finite = 0;
        for (int32_t a = 0; a < t->rows; a++)
            finite += !cfn_infinite(t->entry[(size_t)a * (size_t)t->cols + (size_t)b]);
        t->cols_functional = t->cols_functional && finite == 1;
        t->cols_supported = t->cols_supported && finite > 0;
    }
    if (t->finite)
        t->cols_functional = t->rows == 1;
    t->separable = is_separable(t);
}

struct cfn_table *cfn_table_intern(struct cfn_tables *s, int32_t rows, int32_t cols, const int64_t *entry)
{
    size_t bytes = (size_t)rows * (size_t)cols * sizeof *entry;
    uint64_t hash = hash_bytes(entry, bytes, ((uint64_t)rows << 32) | (uint64_t)cols);
    if (s->count >= s->bucket_count)
        grow(s);
    struct cfn_table **bucket = &s->buckets[hash % s->bucket_count];
    for (struct cfn_table *t = *bucket; t; t = t->next)
        if (t->hash == hash && t->rows == rows && t->cols == cols && memcmp(t->entry, entry, bytes) == 0) {
            t->refs++;
            return t;
        }
    struct cfn_table *t = mem_alloc(sizeof *t + bytes);
    *t = (struct cfn_table){.rows = rows, .cols = cols, .refs = 1, .hash = hash, .next = *bucket};
    memcpy(t->entry, entry, bytes);
    classify(t);
    *bucket = t;
    s->count++;
    return t;
}

void cfn_table_drop(struct cfn_tables *s, struct cfn_table *t)
{
    if (--t->refs)
        return;
    struct cfn_table **at = &s->buckets[t->hash % s->bucket_count];
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    s->count--;
    free(t);
}
