/* Matrix product in double: rows of both sides are packed into panels, and a block of 4 x 8 sums stays in
 * registers.
 *
 *     panel of a: ROWS wide        panel of b: COLUMNS wide       sums: ROWS x COLUMNS
 *     a(0,k) .. a(3,k)        x    b(0,k) .. b(7,k)          +=   c00 c01 .. c31 (vectors of 4)   for each k
 *
 * The product of two floats is exact in double, and every sum runs over k in order, so what floats give
 * depends neither on the processor's vector width nor on whether it fuses multiplication and addition (f64
 * may, in the last bit). */
#include "verify/value.h"

#include <string.h>

enum {
    ROWS = 4,                     /* 4 x 8 sums are 8 vectors of 4 doubles: half of the 16 AVX registers */
    COLUMNS = VERIFY_PANEL_WIDTH, /* two vectors */
    BLOCK = 64                    /* rows packed at a time */
};

typedef double vector __attribute__((vector_size(4 * sizeof(double)), aligned(8), may_alias));

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                \
    !defined(__clang__)
__attribute__((target_clones("fma", "default"), optimize("fp-contract=fast")))
#endif
static void
block(int64_t depth, const double *a, const double *b, double *out, int64_t stride)
{
    vector c00 = {0}, c01 = {0}, c10 = {0}, c11 = {0}, c20 = {0}, c21 = {0}, c30 = {0}, c31 = {0};
    for (int64_t k = 0; k < depth; k++, a += ROWS, b += COLUMNS) {
        const vector x = *(const vector *)b, y = *(const vector *)(b + 4);
        c00 += a[0] * x;
        c01 += a[0] * y;
        c10 += a[1] * x;
        c11 += a[1] * y;
        c20 += a[2] * x;
        c21 += a[2] * y;
        c30 += a[3] * x;
        c31 += a[3] * y;
    }
    *(vector *)out = c00;
    *(vector *)(out + 4) = c01;
    *(vector *)(out + stride) = c10;
    *(vector *)(out + stride + 4) = c11;
    *(vector *)(out + 2 * stride) = c20;
    *(vector *)(out + 2 * stride + 4) = c21;
    *(vector *)(out + 3 * stride) = c30;
    *(vector *)(out + 3 * stride + 4) = c31;
}

void verify_gemm(struct verify_state *state, int64_t rows, int64_t columns, int64_t depth, verify_pack *a,
                 const void *ac, verify_pack *b, const void *bc, double *out)
{
    struct verify_buffer *owner_a, *owner_b;
    int64_t padded = (columns + COLUMNS - 1) / COLUMNS * COLUMNS;
    double *pb = verify_scratch(state, (size_t)(padded * depth + 8) * sizeof(double), &owner_b);
    double *pa = verify_scratch(state, (size_t)(BLOCK * depth + 8) * sizeof(double), &owner_a);
    double tile[ROWS * COLUMNS];
    for (int64_t j = 0; j < columns; j += COLUMNS)
        b(bc, j, columns - j < COLUMNS ? columns - j : COLUMNS, COLUMNS, pb + j * depth);
    for (int64_t i0 = 0; i0 < rows; i0 += BLOCK) {
        int64_t some = rows - i0 < BLOCK ? rows - i0 : BLOCK;
        for (int64_t i = 0; i < some; i += ROWS)
            a(ac, i0 + i, some - i < ROWS ? some - i : ROWS, ROWS, pa + i * depth);
        for (int64_t j = 0; j < columns; j += COLUMNS)
            for (int64_t i = 0; i < some; i += ROWS) {
                int64_t m = some - i < ROWS ? some - i : ROWS,
                        n = columns - j < COLUMNS ? columns - j : COLUMNS;
                double *to = out + (i0 + i) * columns + j;
                bool whole = m == ROWS && n == COLUMNS;
                block(depth, pa + i * depth, pb + j * depth, whole ? to : tile, whole ? columns : COLUMNS);
                for (int64_t r = 0; r < m && !whole; r++)
                    memcpy(to + r * columns, tile + r * COLUMNS, (size_t)n * sizeof(double));
            }
    }
    verify_scratch_drop(state, owner_a);
    verify_scratch_drop(state, owner_b);
}

void verify_store_sums(enum ir_element element, const double *sums, void *to, int64_t n)
{
    if (element == IR_F64)
        memcpy(to, sums, (size_t)n * sizeof(double));
    else if (element == IR_F32)
        for (int64_t i = 0; i < n; i++)
            ((float *)to)[i] = (float)sums[i];
    else
        for (int64_t i = 0; i < n; i++)
            ((float *)to)[i] = verify_round(element, sums[i]);
}
