/* The peak of the order that hides collectives of a deep program, told from two shorter ones.
 *
 *   4 layers that are gone ---- a     8 ---- b     92 ---- b + (b - a) / 4 * 84
 *
 * How much such an order puts off settles within a few layers; from then on each layer adds as much that is
 * held as the one before it. So the peak near the limit, which takes three times what the clock does, costs
 * the same at any depth. It is an estimate, for a search: what is published is unfolded as a whole
 * (unfold_memory.c) or priced whole. The clock still sees every layer: which small reductions run as one
 * depends on how many there are, and a step told so would be up to 2 % off. */
#include "cost/unfold.h"

/* of all layers that are gone, from what the shorter programs take */
static int64_t told(const struct price_fold *fold, int64_t shorter, int64_t longer)
{
    int64_t more = fold->shorter[1].copies - fold->shorter[0].copies,
            beyond = fold->copies - fold->shorter[1].copies;
    return longer + (longer - shorter) / more * beyond;
}

bool price_deep_peak(struct price_scratch *scratch, const struct spmd_local *local,
                     const struct cost_machine *machine, struct price *out)
{
    int64_t peaks[FOLD_SHORTER];
    for (uint32_t i = 0; i < FOLD_SHORTER; i++) {
        struct price shorter = *out;
        if (!price_unfolded_peak(price_unfold(scratch, local, machine, &scratch->fold->shorter[i]), machine,
                                 &shorter))
            return false;
        peaks[i] = shorter.peak_bytes;
    }
    out->peak_bytes = out->hiding_peak_bytes = told(scratch->fold, peaks[0], peaks[1]);
    return true;
}
