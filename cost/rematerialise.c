/* What XLA:GPU computes again near the limit instead of holding it (HloRematerialization, behind its
 * schedule), until its count of temporaries is below what it leaves them, or nothing is worth it any more.
 *
 *   held at the peak          frees     holds instead
 *   joined  <- gathered, x    1.6 GB    gathered, 0.5 GB, and x, which is held anyway: computed again
 *   wide    <- joined         0.5 GB    joined, 1.6 GB: stays
 *   x       <- all_reduce     -         a collective is never computed again
 *
 * It takes one kernel at a time, the one that frees most, and what that reads has to be held from then on: so
 * a value stays whose operands are larger than it. What collectives, convolutions (calls of cuDNN), loops and
 * other calls make stays, too. Source: xla/hlo/transforms/simplifiers/hlo_rematerialization.cc
 * (MemoryReducedIfRematerialized, CanBeRematerialized); docs/design/price.md. */
#include "cost/rematerialise.h"

#include <string.h>

/* what it leaves temporaries; 0: it never computes anything again */
static int64_t temporary_limit(const struct cost_machine *machine, const struct price *out)
{
    const struct cost_backend *backend = machine->backend;
    return (machine->device.memory_bytes / 100 * backend->remat_memory - price_boundary(out)) / 100 *
           backend->remat_temporaries;
}

static bool may_compute_again(const struct price_scratch *scratch, const struct spmd_local *local,
                              const struct kernel *kernel)
{
    const struct spmd_step *step = &local->steps[kernel->step];
    bool convolves = (kernel->traits & (KERNEL_MULTIPLIES | KERNEL_DOT)) == KERNEL_MULTIPLIES;
    return !(kernel->traits & (KERNEL_SENDS | KERNEL_MARKS | KERNEL_INSIDE)) && !convolves &&
           step_is_local(step->kind) && price_info_of(scratch, step)->class != OP_OTHER;
}

/* .. of all layers that a step of a fold stands for */
static int64_t bytes_of(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t value)
{
    uint32_t step = local->values[value].step;
    bool copied = step != SPMD_NONE && part_of(scratch, local, &local->steps[step]) == 1;
    return stored_bytes(scratch, local, value) * (copied ? 1 + scratch->fold->copies : 1);
}

/* What it frees to run the kernel again where its results are read, less what has to be held for that. */
static int64_t freed_by(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct kernel *kernel)
{
    const struct spmd_step *step = &local->steps[kernel->step];
    int64_t freed = 0;
    for (uint32_t value = step->results; value < step->results + step->result_count; value++)
        freed += scratch->kept[value] ? bytes_of(scratch, local, value) : 0;
    for (uint32_t root = kernel->roots; freed > 0 && root < kernel->roots + kernel->root_count; root++) {
        uint32_t read = scratch->pool[root].value;
        if (read >= local->argument_count && !scratch->kept[read] && !scratch->values[read].homed)
            freed -= bytes_of(scratch, local, read);
    }
    return freed;
}

/* Values that are held at the time, and the kernels that make them and may run again; returns their bytes. */
static int64_t begin_kept(struct price_scratch *scratch, const struct spmd_local *local, uint32_t now)
{
    int64_t bytes = 0;
    GROW(scratch->kept, scratch->kept_room, local->value_count);
    memset(scratch->kept, 0, local->value_count);
    scratch->walk.count = 0;
    for (uint32_t at = 0; at <= now; at++) {
        const struct kernel *kernel = &scratch->line[at];
        const struct spmd_step *step = &local->steps[kernel->step];
        bool held = false;
        for (uint32_t value = step->results; value < step->results + step->result_count; value++) {
            if (!is_buffer(scratch, value) || scratch->ranges[value].from > now ||
                scratch->ranges[value].until <= now)
                continue;
            held = true;
            scratch->kept[value] = true;
            bytes += bytes_of(scratch, local, value);
        }
        if (held && at < now && may_compute_again(scratch, local, kernel))
            VEC_PUSH(&scratch->walk, at);
    }
    return bytes;
}

/* Nothing of what the kernel makes is held now, and all that it reads. */
static void compute_again(struct price_scratch *scratch, const struct spmd_local *local,
                          const struct kernel *kernel)
{
    const struct spmd_step *step = &local->steps[kernel->step];
    for (uint32_t value = step->results; value < step->results + step->result_count; value++)
        scratch->kept[value] = false;
    for (uint32_t root = kernel->roots; root < kernel->roots + kernel->root_count; root++) {
        uint32_t read = scratch->pool[root].value, made = local->values[read].step;
        if (read < local->argument_count || scratch->kept[read] || scratch->values[read].homed)
            continue;
        scratch->kept[read] = true;
        if (made != SPMD_NONE && may_compute_again(scratch, local, &scratch->line[scratch->at[made]]))
            VEC_PUSH(&scratch->walk, scratch->at[made]);
    }
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
    int64_t kept = begin_kept(scratch, local, scratch->at[out->peak_step]);
    for (;;) {
        int64_t most = 0;
        uint32_t best = 0;
        for (uint32_t i = 0; i < scratch->walk.count; i++) {
            int64_t freed = freed_by(scratch, local, &scratch->line[scratch->walk.at[i]]);
            best = freed > most ? i : best;
            most = freed > most ? freed : most;
        }
        if (most == 0)
            break;
        kept -= most;
        compute_again(scratch, local, &scratch->line[scratch->walk.at[best]]);
    }
    scratch->kept_bytes = kept;
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
