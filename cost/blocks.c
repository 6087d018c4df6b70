/* The copies that put gathered blocks in order.
 *
 *   all_gather along an inner dimension, 2 devices:      as they arrive      as the value wants them
 *   device 0 has  a0  a1   (rows 0, 1)                   a0 a1 b0 b1         a0 b0
 *   device 1 has  b0  b1                                                     a1 b1
 */
#include "cost/internal.h"

/* is there more than one block of the value outside this atom (or whole dim)? */
static bool has_outer(const struct spmd_local *l, uint32_t value, uint8_t atom)
{
    const struct spmd_value *v = &l->values[value];
    int64_t outer = 1;
    if (atom == 0 || atom == 255)
        return false;
    const struct nda_atom *atoms = nda_atoms(l->nda, v->origin);
    for (uint32_t i = 0; i < nda_atom_count(l->nda, v->origin); i++) {
        if (spmd_is_whole(atom) ? atoms[i].dim >= atom - SPMD_WHOLE : i >= atom)
            break;
        int64_t size = atoms[i].size;
        for (uint32_t a = 0; a < l->mesh->axis_count; a++)
            if (v->form.at[a] == i)
                size /= l->mesh->axes[a].size;
        outer *= size;
    }
    return outer > 1;
}

/* Blocks travel whole. Where the dimension is not the outermost one they are brought into order by a copy: of
 * what was gathered, if a kernel wants it in memory; of what is to be scattered. */
int64_t price_ordered_copy(const struct price_scratch *s, const struct spmd_local *l,
                           const struct spmd_step *t)
{
    if (t->kind != SPMD_ALL_GATHER && t->kind != SPMD_REDUCE_SCATTER)
        return 0;
    uint32_t operand = l->operands[t->operands];
    if (t->kind == SPMD_ALL_GATHER && s->uses[t->results].hard && has_outer(l, t->results, t->atom))
        return l->values[t->results].bytes;
    if (t->kind == SPMD_REDUCE_SCATTER && has_outer(l, operand, t->to_atom))
        return l->values[operand].bytes;
    return 0;
}
