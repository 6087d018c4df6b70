/* The copies that put gathered blocks in order.
 *
 *   all_gather along an inner dimension, 2 devices:      as they arrive      as the value wants them
 *   device 0 has  a0  a1   (rows 0, 1)                   a0 a1 b0 b1         a0 b0
 *   device 1 has  b0  b1                                                     a1 b1
 */
#include "cost/internal.h"

bool price_has_outer(const struct spmd_local *local, uint32_t value, uint8_t atom)
{
    const struct spmd_value *spmd_value = &local->values[value];
    int64_t outer = 1;
    if (atom == 0 || atom == 255)
        return false;
    const struct nda_atom *atoms = nda_atoms(local->nda, spmd_value->origin);
    for (uint32_t i = 0; i < nda_atom_count(local->nda, spmd_value->origin); i++) {
        if (spmd_is_whole(atom) ? atoms[i].dim >= atom - SPMD_WHOLE : i >= atom)
            break;
        int64_t size = atoms[i].size;
        for (uint32_t axis = 0; axis < local->mesh->axis_count; axis++)
            if (spmd_value->form.at[axis] == i)
                size /= local->mesh->axes[axis].size;
        outer *= size;
    }
    return outer > 1;
}

/* is it the result of a product of stacked matrices? */
static bool is_stacked(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t value)
{
    uint32_t step = local->values[value].step;
    return scratch->rules & COST_FUSE_COPIES && step != SPMD_NONE && local->steps[step].kind == SPMD_OP &&
           step_info(scratch, &local->steps[step])->stacked & 4;
}

/* Blocks travel whole. Where the dimension is not the outermost one they are brought into order by a copy: of
 * what was gathered, if a kernel wants it in memory; of what is to be scattered. Stacked matrices are read
 * and written in any order, so that the dimension lies outermost on both sides: of them the block alone is
 * turned before it is gathered, and what is scattered is made so. */
int64_t price_ordered_copy(const struct price_scratch *scratch, const struct spmd_local *local,
                           const struct spmd_step *step)
{
    if (step->kind != SPMD_ALL_GATHER && step->kind != SPMD_REDUCE_SCATTER)
        return 0;
    uint32_t operand = local->operands[step->operands];
    uint8_t hard = scratch->uses[step->results].hard;
    if (step->kind == SPMD_ALL_GATHER && hard && price_has_outer(local, step->results, step->atom))
        return local->values[hard == HARD_STACKED ? operand : step->results].bytes;
    if (step->kind == SPMD_REDUCE_SCATTER && price_has_outer(local, operand, step->to_atom))
        return is_stacked(scratch, local, operand) ? 0 : local->values[operand].bytes;
    return 0;
}

/* A matrix that XLA:GPU gathers is read in either order: of it the block alone is turned before. */
static bool gathers_turned(const struct price_scratch *scratch, const struct spmd_local *local,
                           const struct spmd_step *step)
{
    return step->kind == SPMD_ALL_GATHER && !(scratch->uses[step->results].hard & HARD_OTHER) &&
           ir_value_type(local->nda->program, local->values[step->results].origin)->rank <= 2 &&
           price_has_outer(local, step->results, step->atom);
}

int64_t price_held_copy(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct spmd_step *step)
{
    bool ordered = scratch->rules & COST_FUSE_COPIES;
    if (step->kind == SPMD_REDUCE_SCATTER && (ordered || scratch->values[step->results].whole))
        return 0;
    if (ordered && gathers_turned(scratch, local, step))
        return local->values[local->operands[step->operands]].bytes;
    return price_ordered_copy(scratch, local, step);
}
