/* Gradients that lie as the update of another one wants it.
 *
 *   head       [width, words]   gradient made as [words, width], read transposed   } one shape, one constant:
 *   embedding  [words, width]   gradient scattered into [words, width], read as is } both lie transposed
 *
 * XLA has one broadcast of each number and shape, such as the share of a gradient in its moment, and values
 * that meet in elementwise ops lie alike. So two gradients of one shape that are reduced alone (what is
 * combined stands in one flat array, and has no order) get one order, although their updates want two: that
 * of the product's. The other update runs across its arguments, which are copied for it (memory.c), like one
 * whose gradient comes turned. Source: XLA's layout assignment; modules before and after it. */
#include "cost/internal.h"

#include <string.h>

/* is it one all_reduce of its own, larger than what is combined? */
static bool is_reduced_alone(const struct price_scratch *scratch, const struct spmd_local *local,
                             const struct spmd_step *step)
{
    return step->kind == SPMD_ALL_REDUCE && !step->combined && step->depth == 0 &&
           local->values[step->results].bytes > scratch->combine_bytes;
}

/* does it sum the results of a product? */
static bool reduces_product(const struct price_scratch *scratch, const struct spmd_local *local,
                            const struct spmd_step *step)
{
    uint32_t by = local->values[local->operands[step->operands]].step;
    return by != SPMD_NONE && local->steps[by].kind == SPMD_OP &&
           step_info(scratch, &local->steps[by])->class == OP_MATMUL;
}

static bool have_same_dims(const struct spmd_local *local, uint32_t one, uint32_t other)
{
    int64_t dims[2][IR_MAX_RANK];
    const struct spmd_value *values[2] = {&local->values[one], &local->values[other]};
    uint16_t rank = ir_value_type(local->nda->program, values[0]->origin)->rank;
    if (values[0]->bytes != values[1]->bytes ||
        rank != ir_value_type(local->nda->program, values[1]->origin)->rank)
        return false;
    for (int i = 0; i < 2; i++)
        spmd_local_dims(local->nda, local->mesh, values[i]->origin, &values[i]->form, dims[i]);
    return memcmp(dims[0], dims[1], rank * sizeof *dims[0]) == 0;
}

enum { HEADS_MOST = 4 };
void price_find_twins(struct price_scratch *scratch, const struct spmd_local *local)
{
    uint32_t heads[HEADS_MOST], count = 0;
    for (uint32_t kernel = 0; kernel < scratch->kernel_count && count < HEADS_MOST; kernel++) {
        const struct spmd_step *step = &local->steps[scratch->kernels[kernel].step];
        if (is_reduced_alone(scratch, local, step) && scratch->uses[step->results].transposed &&
            reduces_product(scratch, local, step))
            heads[count++] = step->results;
    }
    for (uint32_t kernel = 0; count && kernel < scratch->kernel_count; kernel++) {
        const struct spmd_step *step = &local->steps[scratch->kernels[kernel].step];
        if (!is_reduced_alone(scratch, local, step) || scratch->uses[step->results].transposed ||
            reduces_product(scratch, local, step))
            continue;
        for (uint32_t i = 0; i < count; i++)
            scratch->values[step->results].turned |= have_same_dims(local, step->results, heads[i]);
    }
}
