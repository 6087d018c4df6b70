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

static void run(struct price_scratch *scratch, const struct spmd_local *local,
                const struct cost_machine *machine, struct price_unfolded **unfolded, struct price *out)
{
    if (scratch->fold && !*unfolded)
        *unfolded = price_unfold(scratch, local, machine, NULL);
    if (*unfolded && price_hides(machine))
        price_unfolded_prepare(*unfolded);
    if (*unfolded)
        price_run_kernels((*unfolded)->scratch, &(*unfolded)->local, machine, NULL, out);
    else
        price_run_kernels(scratch, local, machine, NULL, out);
}

/* as price_memory does, for the unfolding */
static void note_kernels(struct price_scratch *scratch)
{
    for (uint32_t kernel = 0; kernel < scratch->kernel_count; kernel++)
        scratch->at[scratch->kernels[kernel].step] = kernel;
}

/* Do computations alone take longer? No collective need be put in order then. */
static bool computes_longer(const struct price_scratch *scratch, const struct spmd_local *local,
                            struct price *out)
{
    struct price sums = {.peak_order = COST_ORDER_PROGRAM};
    price_sum_kernels(scratch, local, &sums);
    if (sums.compute_ps > scratch->beaten_ps)
        *out = sums;
    return sums.compute_ps > scratch->beaten_ps;
}

bool price_is_beaten(struct price_scratch *scratch, const struct spmd_local *local,
                     const struct cost_machine *machine, struct price_timed *timed, struct price *out)
{
    if (!scratch->beaten_ps)
        return false;
    if (computes_longer(scratch, local, out))
        return true;
    note_kernels(scratch);
    timed->early.peak_order = COST_ORDER_PROGRAM;
    run(scratch, local, machine, &timed->unfolded, &timed->early);
    timed->known = timed->early.step_ps <= scratch->beaten_ps;
    if (!timed->known)
        *out = timed->early;
    return !timed->known;
}

void price_run_in_order(struct price_scratch *scratch, const struct spmd_local *local,
                        const struct cost_machine *machine, const struct price_timed *timed,
                        struct price *out)
{
    const struct price *early = &timed->early;
    struct price_unfolded *unfolded = timed->unfolded;
    if (!timed->known) {
        run(scratch, local, machine, &unfolded, out);
        return;
    }
    out->step_ps = early->step_ps;
    out->matmul_ps = early->matmul_ps;
    out->compute_ps = early->compute_ps;
    out->communication_ps = early->communication_ps;
    out->exposed_ps = early->exposed_ps;
    out->critical_path_ps = early->critical_path_ps;
}
