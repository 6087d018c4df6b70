/* What XLA:GPU computes again near the limit instead of holding it (HloRematerialization, behind its
 * schedule), until its count of temporaries is below what it leaves them, or nothing is worth it any more.
 *
 *   held at the peak          frees     holds instead
 *   joined  <- gathered, x    1.6 GB    gathered, 0.5 GB, and x, which is held anyway: computed again
 *   wide    <- joined         0.5 GB    joined, 1.6 GB: stays
 *   x       <- all_reduce     -         a collective is never computed again
 *
 * It takes one kernel at a time, the one that frees most, and what that reads has to be held from then on: so
 * a value stays whose operands are larger than it (kept.c). What collectives, convolutions (calls of cuDNN),
 * loops and other calls make stays, too. Source: xla/hlo/transforms/simplifiers/hlo_rematerialization.cc
 * (MemoryReducedIfRematerialized, CanBeRematerialized); docs/design/price.md. */
#include "cost/rematerialise.h"

/* what it leaves temporaries; 0: it never computes anything again */
static int64_t temporary_limit(const struct cost_machine *machine, const struct price *out)
{
    const struct cost_backend *backend = machine->backend;
    return (machine->device.memory_bytes / 100 * backend->remat_memory - price_boundary(out)) / 100 *
           backend->remat_temporaries;
}

void price_find_kept(struct price_scratch *scratch, const struct spmd_local *local,
                     const struct cost_machine *machine, const struct price *out)
{
    int64_t limit = temporary_limit(machine, out);
    scratch->kept_bytes = 0;
    /* of all layers there may be a third more than of a fold */
    if (!machine->backend->remat_memory || !scratch->kernel_count ||
        out->peak_bytes - price_boundary(out) <= (scratch->fold ? limit / 4 * 3 : limit))
        return;
    scratch->kept_bytes = price_kept_least(scratch, local, scratch->at[out->peak_step]);
}

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void price_rematerialise(const struct price_scratch *scratch, const struct cost_machine *machine,
                         struct price *out)
{
    const struct cost_backend *backend = machine->backend;
    int64_t temporaries = out->peak_bytes - price_boundary(out), limit = temporary_limit(machine, out);
    if (!backend->remat_memory || temporaries <= limit)
        return;
    int64_t reached = limit > 0 ? limit / 100 * backend->remat_counted : 0,
            least = machine->device.no_bf16_arithmetic ? backend->remat_least_wide : backend->remat_least;
    reached = larger(reached, larger(temporaries / 100 * least, scratch->kept_bytes));
    if (reached >= temporaries)
        return;
    out->rematerialised_bytes = temporaries - reached;
    out->peak_bytes -= out->rematerialised_bytes;
}

void price_add_rematerialised(const struct cost_machine *machine, struct price *out)
{
    if (!out->rematerialised_bytes)
        return;
    struct price_rates rates = price_rates_of(machine);
    int64_t ps = cost_round_ps((double)out->rematerialised_bytes * machine->backend->remat_moves *
                               rates.ps_per_byte * rates.weight);
    out->step_ps += ps;
    out->compute_ps += ps;
}
