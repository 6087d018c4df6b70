/* The makespan before the memory, for who asks only whether a plan is better than one that is there.
 *
 *   what is computed  -- beyond that plan's step -->  no order of collectives, no memory in the price
 *          | not beyond
 *          v
 *   makespan          -- beyond that plan's step -->  no memory in the price
 *          | not beyond
 *          v
 *   memory
 *
 * Nine of ten plans that a local search tries are slower than the one that it stands at, and their memory
 * takes as long to find as their makespan. What is held makes no step shorter. */
#include "cost/beaten.h"

void price_time(struct price_scratch *scratch, const struct spmd_local *local,
                const struct cost_machine *machine, struct price_timed *timed, struct price *out)
{
    if (timed->known)
        return;
    timed->known = true;
    if (scratch->fold && !timed->unfolded)
        timed->unfolded = price_unfold(scratch, local, machine, NULL);
    struct price_unfolded *unfolded = timed->unfolded;
    if (unfolded && price_hides(machine))
        price_unfolded_prepare(unfolded);
    price_run_kernels(unfolded ? unfolded->scratch : scratch, unfolded ? &unfolded->local : local, machine,
                      NULL, out);
}

/* as price_memory does, for the unfolding */
static void note_kernels(struct price_scratch *scratch)
{
    for (uint32_t kernel = 0; kernel < scratch->kernel_count; kernel++)
        scratch->at[scratch->kernels[kernel].step] = kernel;
}

bool price_is_beaten(struct price_scratch *scratch, const struct spmd_local *local,
                     const struct cost_machine *machine, struct price_timed *timed, struct price *out)
{
    if (!scratch->beaten_ps)
        return false;
    price_sum_kernels(scratch, local, out);
    bool beaten = out->compute_ps > scratch->beaten_ps;
    if (!beaten) {
        note_kernels(scratch);
        price_time(scratch, local, machine, timed, out);
        beaten = out->step_ps > scratch->beaten_ps;
    }
    if (beaten)
        out->peak_order = COST_ORDER_PROGRAM;
    return beaten;
}
