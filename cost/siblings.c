/* Kernels with several results: what reads the same arrays, or a product's result alone, runs as one.
 *
 *     a, b --> kernel 3: x = a * b        one kernel with results x and r: reads a, b once,
 *     a, x --> kernel 5: r = sum(a + x)   is launched once, and x need not be read back
 *
 * A kernel joins an earlier one (the leader of a group) of its region that goes over as many elements, when
 * every buffer it reads was there before the leader ran or is an elementwise result of the group, and it
 * shares at least one. What is one number of arguments (a rate of learning) could run before everything: it
 * is there at any time, and joins only its like, so that units still wait for earlier ones alone.
 * For XLA:GPU a chain whose results no more than weights' gradients are made of runs at the place of the last
 * kernel that joined: there all is read that the chain of products made meanwhile, and is not held for it.
 * Reductions join only reductions of as many results; for XLA:GPU sums of columns save nothing, they read
 * what they sum up themselves. What it saves are bytes and a launch, and the depth-first order runs the group
 * at one place; which buffers there are is fusion.c's matter. Source: XLA's multi-output fusion. */
#include "cost/gathered.h"
#include "cost/internal.h"

#include <string.h>

/* is it made by a kernel that may run before all others? step: of the kernel that reads it */
static bool is_free(const struct price_scratch *scratch, uint32_t maker, uint32_t step)
{
    if (maker >= step)
        return false;
    uint32_t kernel = scratch->at[maker];
    return scratch->kernels[kernel].traits & KERNEL_SHARES && scratch->groups[kernel].free;
}

/* one number computed from arguments and from such numbers: a rate of learning by the step's number */
static bool may_run_first(const struct price_scratch *scratch, const struct spmd_local *local,
                          const struct kernel *kernel, int64_t elements)
{
    if (elements != 1)
        return false;
    for (uint32_t i = kernel->roots; i < kernel->roots + kernel->root_count; i++) {
        uint32_t maker = local->values[scratch->pool[i].value].step;
        if (maker != SPMD_NONE && !is_free(scratch, maker, kernel->step))
            return false;
    }
    return true;
}

/* Flags what products are computed of whose results are read by products again: of the other values no more
 * than gradients of weights are made. What a region reads is flagged. */
static void flag_chain(struct price_scratch *scratch, const struct spmd_local *local)
{
    for (size_t i = scratch->kernel_count; i-- > 0;) {
        const struct kernel *k = &scratch->kernels[i];
        const struct spmd_step *step = &local->steps[k->step];
        bool product = k->traits & KERNEL_MULTIPLIES, chain = k->traits & KERNEL_MARKS;
        for (uint32_t result = step->results; result < step->results + step->result_count; result++)
            chain |= scratch->values[result].chain || (product && scratch->uses[result].feeds_matmul);
        for (uint32_t root = k->roots; chain && root < k->roots + k->root_count; root++)
            scratch->values[scratch->pool[root].value].chain = 1;
    }
}

/* May the kernel run where a later one does that shares what it reads? So it may when nothing of the chain
 * waits for it: what sums up a gain's gradient, or computes an activation again for a weight's. */
static bool runs_aside(const struct price_scratch *scratch, const struct spmd_local *local,
                       const struct kernel *kernel)
{
    return scratch->hides && !(kernel->traits & KERNEL_INSIDE) &&
           !scratch->values[local->steps[kernel->step].results].chain;
}

/* What makes a value in the middle of a group: an elementwise result of the group is read there. */
static bool is_of_group(const struct price_scratch *scratch, uint32_t maker, uint32_t leader)
{
    uint32_t kernel = scratch->at[maker];
    return (scratch->kernels[kernel].traits & (KERNEL_SHARES | KERNEL_REDUCES)) == KERNEL_SHARES &&
           scratch->groups[kernel].leader == leader;
}

/* bytes that the kernel need not read when it runs with the group of `leader`; 0: it may not */
static int64_t shared_bytes(const struct price_scratch *scratch, const struct spmd_local *local,
                            uint32_t kernel, uint32_t leader)
{
    const struct kernel *k = &scratch->kernels[kernel];
    const struct sibling_group *group = &scratch->groups[leader];
    int64_t shared = 0;
    if (group->elements != scratch->groups[kernel].elements || group->free != scratch->groups[kernel].free ||
        group->region != scratch->groups[kernel].region || group->late > scratch->groups[kernel].late ||
        !price_is_through(scratch, k, scratch->kernels[leader].step) ||
        (k->traits & KERNEL_REDUCES && group->reduced && group->reduced != scratch->groups[kernel].reduced))
        return 0;
    for (uint32_t i = k->roots; i < k->roots + k->root_count; i++) {
        uint32_t value = scratch->pool[i].value, maker = local->values[value].step;
        bool before = maker == SPMD_NONE || maker < group->since ||
                      (!group->free && is_free(scratch, maker, k->step)) ||
                      (group->aside && scratch->values[value].chain);
        if (before && scratch->readers[value] != leader + 1)
            continue;
        /* an unfolded program, which is an estimate, may have a maker behind what reads it */
        if (!before && (maker >= k->step || !is_of_group(scratch, maker, leader)))
            return 0;
        shared += scratch->pool[i].bytes;
    }
    return shared;
}

/* The kernel becomes the last of the chain that the leader begins or is in: what runs behind a picker is in
 * the picker's chain and leads others itself. */
static void append(struct price_scratch *scratch, const struct spmd_local *local, uint32_t leader,
                   uint32_t kernel)
{
    struct kernel *k = &scratch->kernels[kernel];
    struct sibling_group *group = &scratch->groups[leader];
    while (scratch->kernels[group->last].next)
        group->last = scratch->kernels[group->last].next;
    scratch->kernels[group->last].next = kernel;
    group->last = kernel;
    group->since = group->aside ? k->step : group->since;
    group->aside &= runs_aside(scratch, local, k);
    k->follows = true;
}

/* In loops the order stays. A kernel that a reduce_scatter is made of stays apart from one that none is made
 * of: combined reduce_scatters could come between (combine.c). */
static void chain(struct price_scratch *scratch, const struct spmd_local *local, uint32_t leader,
                  uint32_t kernel)
{
    const struct kernel *first = &scratch->kernels[leader], *k = &scratch->kernels[kernel];
    if (!(k->traits & KERNEL_INSIDE) &&
        !price_keeps_apart(scratch, local->steps[first->step].results, local->steps[k->step].results))
        append(scratch, local, leader, kernel);
}

/* What picks from an array, row by row, and nothing of the chain waits for (the loss of a softmax whose
 * gradient is wanted at once), runs right before the next kernel that goes over the array: XLA computes it
 * with what that one needs of the rows, and the array is not held for it. */
static bool picks_for(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t kernel,
                      uint32_t picker)
{
    const struct kernel *k = &scratch->kernels[kernel], *picks = &scratch->kernels[picker];
    const struct sibling_group *group = &scratch->groups[picker];
    bool picked = false;
    if (!group->aside || picks->next || picks->follows || k->traits & KERNEL_INSIDE ||
        group->region != scratch->groups[kernel].region || !price_is_through(scratch, k, picks->step))
        return false;
    for (uint32_t i = k->roots; i < k->roots + k->root_count; i++) {
        uint32_t value = scratch->pool[i].value, maker = local->values[value].step;
        if (maker != SPMD_NONE && maker > picks->step && !is_free(scratch, maker, k->step))
            return false;
        for (uint32_t j = picks->roots; j < picks->roots + picks->root_count; j++)
            picked |= scratch->pool[j].value == value && scratch->pool[j].bytes < scratch->pool[i].bytes &&
                      maker != SPMD_NONE;
    }
    return picked;
}

/* Kernels that read nothing: zeros that are scattered into. Those of as many elements of one size are made at
 * once, when the first of them is needed. Source: final HLO of XLA:GPU (graph: loop_broadcast_fusion with
 * eight results). */
enum { ZEROS_KNOWN = 8 };
struct zeros {
    uint32_t leaders[ZEROS_KNOWN], count;
};

static void join_zeros(struct price_scratch *scratch, const struct spmd_local *local, uint32_t kernel,
                       struct zeros *zeros)
{
    int64_t bytes = local->values[local->steps[scratch->kernels[kernel].step].results].bytes,
            elements = scratch->groups[kernel].elements;
    for (uint32_t i = 0; i < zeros->count; i++) {
        uint32_t leader = zeros->leaders[i];
        if (local->values[local->steps[scratch->kernels[leader].step].results].bytes == bytes &&
            scratch->groups[leader].elements == elements) {
            scratch->groups[kernel].leader = leader;
            chain(scratch, local, leader, kernel);
            return;
        }
    }
    if (zeros->count < ZEROS_KNOWN)
        zeros->leaders[zeros->count++] = kernel;
}

static void join_picker(struct price_scratch *scratch, const struct spmd_local *local, uint32_t kernel)
{
    const struct kernel *k = &scratch->kernels[kernel];
    for (uint32_t i = k->roots; i < k->roots + k->root_count; i++) {
        uint32_t reader = scratch->readers[scratch->pool[i].value];
        if (reader && picks_for(scratch, local, kernel, reader - 1)) {
            append(scratch, local, reader - 1, kernel);
            return;
        }
    }
}

/* Does the kernel gather from a copy that no product writes, or is it computed from such rows? By memory that
 * runs as late as it can, so that what others wait for does not run with it. */
static bool is_late(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t kernel)
{
    const struct kernel *k = &scratch->kernels[kernel];
    const struct spmd_step *step = &local->steps[k->step];
    if (!(scratch->rules & COST_FUSE_PRODUCTS)) /* no gather has a copy, and what is unfolded may stand before
                                                 * what it reads */
        return false;
    bool late =
        price_gathered_copy(scratch, local, step) && price_gathered_by(scratch, local, step) == k->step;
    for (uint32_t i = k->roots; !late && i < k->roots + k->root_count; i++) {
        uint32_t maker = local->values[scratch->pool[i].value].step;
        late = maker != SPMD_NONE && scratch->at[maker] < kernel && scratch->groups[scratch->at[maker]].late;
    }
    return late;
}

static void join(struct price_scratch *scratch, const struct spmd_local *local, uint32_t kernel,
                 uint32_t region, struct zeros *zeros)
{
    struct kernel *k = &scratch->kernels[kernel];
    const struct spmd_step *step = &local->steps[k->step];
    struct sibling_group *own = &scratch->groups[kernel];
    *own = (struct sibling_group){.leader = kernel, .last = kernel, .region = region, .since = k->step};
    own->late = is_late(scratch, local, kernel);
    if (!(k->traits & KERNEL_SHARES))
        return;
    bool reduce = k->traits & KERNEL_REDUCES;
    own->elements = k->elements;
    own->reduced = reduce ? local->values[step->results].bytes : 0;
    own->free = may_run_first(scratch, local, k, own->elements);
    own->aside = !own->free && runs_aside(scratch, local, k);
    if (!k->root_count && own->elements > 1 && !step->depth && scratch->rules & COST_FUSE_GATHERED) {
        join_zeros(scratch, local, kernel, zeros);
        return;
    }
    uint32_t best = kernel;
    for (uint32_t i = k->roots; i < k->roots + k->root_count; i++) {
        uint32_t reader = scratch->readers[scratch->pool[i].value];
        if (!reader || reader - 1 == best)
            continue;
        int64_t bytes = shared_bytes(scratch, local, kernel, reader - 1);
        if (bytes > k->shared_bytes) {
            k->shared_bytes = bytes;
            best = reader - 1;
        }
    }
    if (reduce && scratch->rules & COST_FUSE_COLUMNS && step_info(scratch, step)->columns)
        k->shared_bytes = 0;
    own->leader = best;
    if (best != kernel)
        chain(scratch, local, best, kernel);
    else if (scratch->hides && !reduce)
        join_picker(scratch, local, kernel);
    if (reduce)
        scratch->groups[best].reduced = own->reduced;
    for (uint32_t i = k->roots; i < k->roots + k->root_count; i++)
        scratch->readers[scratch->pool[i].value] = best + 1;
    scratch->readers[step->results] = reduce ? 0 : best + 1;
}

/* the product that the kernel's result is stored instead of; NDA_NONE: of none */
static uint32_t product_of(const struct price_scratch *scratch, const struct spmd_local *local,
                           uint32_t kernel)
{
    const struct spmd_step *step = &local->steps[scratch->kernels[kernel].step];
    uint32_t product = step->kind == SPMD_OP ? price_epilogue_of(scratch, local, step) : NDA_NONE;
    return product != NDA_NONE && is_buffer(scratch, product) && is_buffer(scratch, step->results) ? product
                                                                                                   : NDA_NONE;
}

/* the kernel and what is chained to it run in the product's */
static void join_product(struct price_scratch *scratch, const struct spmd_local *local, uint32_t kernel,
                         uint32_t product)
{
    struct kernel *last = &scratch->kernels[scratch->at[local->values[product].step]];
    while (last->next)
        last = &scratch->kernels[last->next];
    last->next = kernel;
    scratch->kernels[kernel].follows = true;
    scratch->values[product].inner = 1;
}

/* Products all of whose readers are kernels with results that are stored instead. readers: per value. */
static void join_products(struct price_scratch *scratch, const struct spmd_local *local)
{
    memset(scratch->readers, 0, (size_t)local->value_count * sizeof *scratch->readers);
    for (uint32_t kernel = 0; kernel < scratch->kernel_count; kernel++) {
        scratch->groups[kernel].product = product_of(scratch, local, kernel);
        for (uint32_t i = 0; i < scratch->kernels[kernel].root_count; i++)
            scratch->readers[scratch->pool[scratch->kernels[kernel].roots + i].value]++;
    }
    for (uint32_t kernel = 0; kernel < scratch->kernel_count; kernel++) {
        uint32_t product = scratch->groups[kernel].product;
        if (product == NDA_NONE)
            continue;
        const struct kernel *k = &scratch->kernels[kernel],
                            *made = &scratch->kernels[scratch->at[local->values[product].step]];
        uint32_t leader = k->follows ? scratch->groups[kernel].leader : kernel;
        bool apart = made->next || made->follows || scratch->values[product].scattered ||
                     scratch->groups[leader].product != product || !price_is_through(scratch, k, made->step);
        scratch->readers[product] -= !apart;
    }
    for (uint32_t kernel = 0; kernel < scratch->kernel_count; kernel++) {
        uint32_t product = scratch->kernels[kernel].follows ? NDA_NONE : scratch->groups[kernel].product;
        if (product != NDA_NONE && !scratch->readers[product])
            join_product(scratch, local, kernel, product);
    }
}

void price_siblings(struct price_scratch *scratch, const struct spmd_local *local)
{
    if (!(scratch->rules & COST_FUSE_SIBLINGS))
        return;
    GROW(scratch->groups, scratch->group_room, scratch->kernel_count + 1);
    GROW(scratch->readers, scratch->reader_room, local->value_count + 1);
    memset(scratch->readers, 0, (size_t)local->value_count * sizeof *scratch->readers);
    for (uint32_t kernel = 0; kernel < scratch->kernel_count; kernel++)
        scratch->at[scratch->kernels[kernel].step] = kernel;
    uint32_t marks = 0;
    if (scratch->hides)
        flag_chain(scratch, local);
    struct zeros zeros = {.count = 0};
    for (uint32_t kernel = 0; kernel < scratch->kernel_count; kernel++) {
        uint16_t traits = scratch->kernels[kernel].traits;
        marks += !(traits & (KERNEL_COMPUTES | KERNEL_SENDS));
        join(scratch, local, kernel, traits & KERNEL_INSIDE ? marks : 0, &zeros);
    }
    if (scratch->rules & COST_FUSE_EPILOGUE)
        join_products(scratch, local);
}
