/* Matrix products by shape.
 *
 * What libraries of matrix products reach depends on the shape: XLA's table of an H100 has 73 to 79 % of the
 * peak for large ones, 40 to 50 % for the products of attention, 4 to 20 % for small ones. It was measured on
 * a grid (cost_matmul_grid: 256 to 4,096 in each dimension, up to 4 batches) and is read at the next shape of
 * it: the rate of what is larger is that of the largest. On the grid one form is within 7 %:
 *
 *     fixed + FLOPs / rate + share * bytes / bandwidth
 *
 * So a product of b batches of m x k x n takes it as often as its own work is that of the shape (b', m', k',
 * n') of the grid. The FLOPs are then its own, and its operands are moved again for every piece of the
 * result. Bytes alone are a bound all the same (price_matmul_ps). */
#include "cost/internal.h"

/* x over the next of what was measured */
static double beyond(double x, double least, double most)
{
    return x / (x < least ? least : x > most ? most : x);
}

struct price_shape price_shape_of(const struct price_rates *rates, const struct spmd_local *local,
                                  const struct spmd_step *step, double flops)
{
    const struct cost_matmul_grid *grid = &rates->matmul_grid;
    uint32_t lhs = local->operands[step->operands], rhs = local->operands[step->operands + 1],
             result = step->results;
    double work = flops / 2, left = (double)value_elements(local, lhs),
           right = (double)value_elements(local, rhs), made = (double)value_elements(local, result);
    /* b m k, b k n and b m n are known, and b m k n */
    double rows = beyond(work / right, grid->least, grid->most),
           columns = beyond(work / left, grid->least, grid->most),
           sums = beyond(work / made, grid->least, grid->most),
           batches = beyond(left / work * (right / work) * made, 1, grid->batches),
           pieces = rows * columns * sums * batches;
    double bytes = (double)local->values[lhs].bytes * columns + (double)local->values[rhs].bytes * rows +
                   (double)local->values[result].bytes * sums;
    return (struct price_shape){bytes * rates->ps_per_byte, pieces > 1 ? pieces : 1};
}
