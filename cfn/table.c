/* Tables by content: a hash of the entries and the shape finds an equal one, which gets one more reference.
 * Many links have equal tables, so what rules want to know of a table (finite, functional, separable) is
 * found once for all of them. A table never changes after it was made; the last reference frees it. */
#include "cfn/table.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 1024, GROWTH = 4 }; /* a bucket holds one table on average, at most */

void cfn_tables_release(struct cfn_tables *tables)
{
    for (size_t bucket = 0; bucket < tables->bucket_count; bucket++)
        for (struct cfn_table *table = tables->buckets[bucket], *next; table; table = next) {
            next = table->next;
            free(table);
        }
    free(tables->buckets);
    *tables = (struct cfn_tables){0};
}

static void grow(struct cfn_tables *tables)
{
    size_t count = tables->bucket_count ? tables->bucket_count * GROWTH : FIRST_BUCKETS;
    struct cfn_table **made = mem_zalloc(count, sizeof(struct cfn_table *));
    for (size_t bucket = 0; bucket < tables->bucket_count; bucket++)
        for (struct cfn_table *table = tables->buckets[bucket], *next; table; table = next) {
            next = table->next;
            table->next = made[table->hash % count];
            made[table->hash % count] = table;
        }
    free(tables->buckets);
    tables->buckets = made;
    tables->bucket_count = count;
}

static bool is_separable(const struct cfn_table *table)
{
    if (!table->finite)
        return false;
    for (int32_t a = 1; a < table->rows; a++) {
        const int64_t *row = table->entry + (size_t)a * (size_t)table->cols;
        for (int32_t b = 1; b < table->cols; b++)
            if (row[b] - row[0] != table->entry[b] - table->entry[0])
                return false;
    }
    return true;
}

static void classify(struct cfn_table *table)
{
    table->finite = table->rows_functional = table->cols_functional = table->rows_supported =
        table->cols_supported = true;
    for (int32_t a = 0; a < table->rows; a++) {
        int32_t finite = 0;
        for (int32_t b = 0; b < table->cols; b++)
            finite += !cfn_infinite(table->entry[(size_t)a * (size_t)table->cols + (size_t)b]);
        table->finite = table->finite && finite == table->cols;
        table->rows_functional = table->rows_functional && finite == 1;
        table->rows_supported = table->rows_supported && finite > 0;
    }
    for (int32_t b = 0; b < table->cols && !table->finite; b++) {
        int32_t finite = 0;
        for (int32_t a = 0; a < table->rows; a++)
            finite += !cfn_infinite(table->entry[(size_t)a * (size_t)table->cols + (size_t)b]);
        table->cols_functional = table->cols_functional && finite == 1;
        table->cols_supported = table->cols_supported && finite > 0;
    }
    if (table->finite)
        table->cols_functional = table->rows == 1;
    table->separable = is_separable(table);
}

struct cfn_table *cfn_table_intern(struct cfn_tables *tables, int32_t rows, int32_t cols,
                                   const int64_t *entry)
{
    size_t bytes = (size_t)rows * (size_t)cols * sizeof *entry;
    uint64_t hash = hash_bytes(entry, bytes, ((uint64_t)rows << 32) | (uint64_t)cols);
    if (tables->count >= tables->bucket_count)
        grow(tables);
    struct cfn_table **bucket = &tables->buckets[hash % tables->bucket_count];
    for (struct cfn_table *there = *bucket; there; there = there->next)
        if (there->hash == hash && there->rows == rows && there->cols == cols &&
            memcmp(there->entry, entry, bytes) == 0) {
            there->refs++;
            return there;
        }
    struct cfn_table *table = mem_alloc(sizeof *table + bytes);
    *table = (struct cfn_table){.rows = rows, .cols = cols, .refs = 1, .hash = hash, .next = *bucket};
    memcpy(table->entry, entry, bytes);
    classify(table);
    *bucket = table;
    tables->count++;
    return table;
}

void cfn_table_drop(struct cfn_tables *tables, struct cfn_table *table)
{
    if (--table->refs)
        return;
    struct cfn_table **at = &tables->buckets[table->hash % tables->bucket_count];
    while (*at != table)
        at = &(*at)->next;
    *at = table->next;
    tables->count--;
    free(table);
}
