/* Reduce_scatters that the compiler combines, far apart as they stand.
 *
 *     layer 1   dot --> reduce_scatter --.                      dot ----.
 *     layer 0   dot --> reduce_scatter --+--> update     is     dot ----+--> one reduce_scatter --> updates
 *
 * The emitted module has them apart (spmd/combine.c); XLA:GPU then makes one op of those of one kind,
 * group and element type, up to backend.combine_bytes of results. It needs all operands, so that products
 * wait for each other, and in an order that goes depth first what they are made of waits, too. Memory
 * alone is priced by it: schedule.c takes the members as one unit, memory.c holds their operands until the
 * last one.
 *
 * Members are not in a loop, and no reduce_scatter depends on them: so none can depend on another,
 * whatever the order of the steps. For the same reason they are taken in an order that the steps have no
 * part in: as a walk from the first result meets them. What libtpu combines is reductions.c's. */
#include "cost/internal.h"

#include <stdlib.h>
#include <string.h>

static bool may_combine(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct kernel *k)
{
    return (k->traits & (KERNEL_SCATTERS | KERNEL_INSIDE)) == KERNEL_SCATTERS &&
           !scratch->values[local->steps[k->step].results].scattered;
}

/* Is a reduce_scatter made of what the kernel makes? Of marks it is taken to be: what a region makes of what
 * it reads is not followed. */
static bool leads_to_scatter(const struct price_scratch *scratch, const struct spmd_local *local,
                             const struct kernel *k)
{
    const struct spmd_step *step = &local->steps[k->step];
    if (!(k->traits & (KERNEL_COMPUTES | KERNEL_SENDS)))
        return k->traits & KERNEL_MARKS;
    bool scattered = k->traits & KERNEL_SCATTERS;
    for (uint32_t result = 0; result < step->result_count; result++)
        scattered |= scratch->values[step->results + result].scattered;
    return scattered;
}

/* Flags every buffer that a reduce_scatter is made of, however far away. Members of a tuple op are one: what
 * one of them reads all of them wait for. */
static void flag_scattered(struct price_scratch *scratch, const struct spmd_local *local)
{
    const struct kernel *kernels = scratch->kernels;
    for (size_t end = scratch->kernel_count, first; end > 0; end = first) {
        first = end - 1;
        uint32_t tuple = local->steps[kernels[first].step].combined;
        bool scattered = leads_to_scatter(scratch, local, &kernels[first]);
        while (tuple && first > 0 && local->steps[kernels[first - 1].step].combined == tuple)
            scattered |= leads_to_scatter(scratch, local, &kernels[--first]);
        for (size_t i = first; scattered && i < end; i++)
            for (uint32_t root = kernels[i].roots; root < kernels[i].roots + kernels[i].root_count; root++)
                scratch->values[scratch->pool[root].value].scattered = 1;
    }
}

/* Flags what is computed from those that may be combined. */
static void flag_reduced(struct price_scratch *scratch, const struct spmd_local *local)
{
    for (uint32_t i = 0; i < scratch->kernel_count; i++) {
        const struct kernel *k = &scratch->kernels[i];
        const struct spmd_step *step = &local->steps[k->step];
        bool reduced = may_combine(scratch, local, k);
        for (uint32_t root = k->roots; !reduced && root < k->roots + k->root_count; root++)
            reduced = scratch->values[scratch->pool[root].value].reduced;
        for (uint32_t result = 0; reduced && result < step->result_count; result++)
            scratch->values[step->results + result].reduced = 1;
    }
}

bool price_keeps_apart(const struct price_scratch *scratch, uint32_t leader, uint32_t value)
{
    return scratch->values[leader].scattered != scratch->values[value].scattered;
}

static uint8_t element_of(const struct spmd_local *local, uint32_t value)
{
    return (uint8_t)ir_value_type(local->nda->program, local->values[value].origin)->element;
}

static int by_key(const void *left, const void *right)
{
    const struct scatter *scatter = left, *other = right;
    int axes = memcmp(scatter->axes, other->axes, sizeof scatter->axes);
    return axes                                 ? axes
           : scatter->element != other->element ? (scatter->element < other->element ? -1 : 1)
           : scatter->reducer != other->reducer ? (scatter->reducer < other->reducer ? -1 : 1)
           : scatter->walk != other->walk       ? (scatter->walk < other->walk ? -1 : 1)
           : scatter->op != other->op           ? (scatter->op < other->op ? -1 : 1)
           : scatter->origin != other->origin   ? (scatter->origin < other->origin ? -1 : 1)
           : scatter->kernel < other->kernel    ? -1
                                                : scatter->kernel > other->kernel;
}

static bool same_key(const struct scatter *scatter, const struct scatter *other)
{
    return scatter->element == other->element && scatter->reducer == other->reducer &&
           memcmp(scatter->axes, other->axes, sizeof scatter->axes) == 0;
}

/* Numbers, from 1 on, the reduce_scatters that may combine as a walk from the first result meets them, into
 * scratch->at of their steps: updates are walked through, gradients are not. */
static void number_scatters(struct price_scratch *scratch, const struct spmd_local *local)
{
    enum { UNMET = 0x80000000u }; /* | kernel */
    uint32_t number = 0;
    for (uint32_t i = 0; i < scratch->kernel_count; i++)
        scratch->at[scratch->kernels[i].step] = UNMET | i;
    scratch->walk.count = 0;
    VEC_PUSH(&scratch->walk, (uint32_t)scratch->kernel_count - 1);
    while (scratch->walk.count) {
        const struct kernel *kernel = &scratch->kernels[scratch->walk.at[--scratch->walk.count]];
        uint32_t *at = &scratch->at[kernel->step];
        if (!(*at & UNMET))
            continue;
        bool scatter = may_combine(scratch, local, kernel);
        *at = scatter ? ++number : 0;
        for (uint32_t root = kernel->roots + kernel->root_count; !scatter && root-- > kernel->roots;) {
            uint32_t value = scratch->pool[root].value;
            bool reduced = value >= local->argument_count && scratch->values[value].reduced;
            uint32_t made = reduced ? scratch->at[local->values[value].step] : 0;
            if (made & UNMET)
                VEC_PUSH(&scratch->walk, made & ~UNMET);
        }
    }
}

static uint32_t find_scatters(struct price_scratch *scratch, const struct spmd_local *local)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < scratch->kernel_count; i++) {
        if (!may_combine(scratch, local, &scratch->kernels[i]))
            continue;
        const struct spmd_step *step = &local->steps[scratch->kernels[i].step];
        GROW(scratch->scatters, scratch->scatter_room, count + 1);
        struct scatter *scatter = &scratch->scatters[count++];
        *scatter = (struct scatter){.kernel = i,
                                    .op = step->op,
                                    .walk = scratch->at[scratch->kernels[i].step],
                                    .origin = local->values[step->results].origin,
                                    .element = element_of(local, step->results),
                                    .reducer = step->reducer};
        memset(scatter->axes, 0xff, sizeof scatter->axes);
        memcpy(scatter->axes, step->axes, step->axis_count);
    }
    return count;
}

void price_combine(struct price_scratch *scratch, const struct spmd_local *local)
{
    uint32_t count = 0;
    scratch->combined_count = 0;
    for (size_t i = 0; i < scratch->kernel_count && count < 2; i++)
        count += (scratch->kernels[i].traits & KERNEL_SCATTERS) != 0;
    if (scratch->reduce_bytes || scratch->combine_bytes == 0 || count < 2)
        return;
    flag_scattered(scratch, local);
    flag_reduced(scratch, local);
    number_scatters(scratch, local);
    count = find_scatters(scratch, local);
    if (count > 1)
        qsort(scratch->scatters, count, sizeof *scratch->scatters, by_key);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct scatter *scatter = &scratch->scatters[i];
        struct kernel *k = &scratch->kernels[scatter->kernel];
        const struct spmd_step *step = &local->steps[k->step];
        int64_t own = local->values[step->results].bytes;
        bool joins = i > 0 && same_key(scatter, scatter - 1) && bytes + own <= scratch->combine_bytes;
        bytes = joins ? bytes + own : own;
        if (!joins)
            continue;
        struct kernel *before = &scratch->kernels[scatter[-1].kernel];
        if (!before->together)
            before->together = ++scratch->combined_count;
        k->together = before->together;
        k->follows = true;
        before->next = scatter->kernel;
    }
    GROW(scratch->combined_last, scratch->combined_room, scratch->combined_count + 1);
}
