/* All_reduces that the compiler makes one of, far apart as they stand.
 *
 *     scores --> sum of exp -----> all_reduce --> .. --> gradients
 *          '---> target's score -> all_reduce --> loss                is
 *
 *     scores --> sum of exp ----.                .--> .. --> gradients
 *          '---> target's score +--> all_reduce -+--> loss
 *
 * Those of one group, element type and reducer that do not wait for each other run as one, up to
 * backend.reduce_bytes of operands: in the forward pass the two of a layer that computes attention and MLP
 * from the same input, a target's score with whatever is reduced last of all that is like it, gradients with
 * each other. Reduce_scatters that are all_reduces are among them, and the emitted module's own tuples
 * (spmd/combine.c). What is combined reads all its operands at one time, so some of them wait. Of memory
 * alone.
 *
 * They are taken in the order of the results that they first come to. Members are as many reductions of
 * their kind away from the results (height), so that none waits for another one; over groups of other kinds
 * one could all the same. So it is known of every reduction which ones are computed from it, and of a group
 * that was made each member leads to what any of them leads to.
 *
 * Source: libtpu 0.0.51, all_reduces with several operands in modules as they come to its scheduler. */
#include "cost/internal.h"

#include <stdlib.h>
#include <string.h>

enum { REDUCTIONS_MOST = 1024 }; /* more stay apart */

/* An array of one row, which the module's own tuples are, counts as so many where it is asked what fits. */
enum { FLAT_ROWS = 8 };

/* Sets of reductions, as bits by their number; behind them, in a word of its own, how early the first result
 * is that one comes to: 0, to none. */
struct reach {
    uint64_t *rows;
    size_t bits, words; /* words of a row, without that one and with it */
    uint32_t count; /* of reductions; rows of values follow theirs, then those of barriers, then two more */
    uint32_t values, barriers;
};

static uint64_t *row_of(const struct reach *reach, uint32_t number)
{
    return reach->rows + number * reach->words;
}

static uint64_t *value_row(const struct reach *reach, uint32_t value)
{
    return row_of(reach, reach->count + value);
}

static uint64_t *barrier_row(const struct reach *reach, uint32_t barrier)
{
    return row_of(reach, reach->count + reach->values + barrier);
}

static bool has(const uint64_t *row, uint32_t number)
{
    return row[number / 64] >> number % 64 & 1;
}

static void put(uint64_t *row, uint32_t number)
{
    row[number / 64] |= UINT64_C(1) << number % 64;
}

static void add_row(const struct reach *reach, uint64_t *row, const uint64_t *more)
{
    for (size_t i = 0; i < reach->bits; i++)
        row[i] |= more[i];
    if (row[reach->bits] < more[reach->bits])
        row[reach->bits] = more[reach->bits];
}

static bool meet(const struct reach *reach, const uint64_t *row, const uint64_t *other_row)
{
    for (size_t i = 0; i < reach->bits; i++)
        if (row[i] & other_row[i])
            return true;
    return false;
}

/* ---------------------------------------------------------------- which there are */
static uint32_t find_reductions(struct price_scratch *scratch, const struct spmd_local *local)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < scratch->kernel_count && count < REDUCTIONS_MOST; i++) {
        const struct spmd_step *step = &local->steps[scratch->kernels[i].step];
        bool whole = step->kind == SPMD_REDUCE_SCATTER && scratch->values[step->results].whole,
             inner =
                 step->combined && i && local->steps[scratch->kernels[i - 1].step].combined == step->combined;
        if (step->depth || inner || (step->kind != SPMD_ALL_REDUCE && !whole))
            continue;
        uint32_t origin = local->values[step->results].origin;
        GROW(scratch->reductions, scratch->reduction_room, count + 1);
        struct reduction *reduction = &scratch->reductions[count];
        *reduction =
            (struct reduction){.kernel = i,
                               .op = step->op,
                               .origin = origin,
                               .number = count++,
                               .element = (uint8_t)ir_value_type(local->nda->program, origin)->element,
                               .reducer = step->reducer};
        memset(reduction->axes, 0xff, sizeof reduction->axes);
        memcpy(reduction->axes, step->axes, step->axis_count);
    }
    return count;
}

static int by_kind(const struct reduction *reduction, const struct reduction *other)
{
    int axes = memcmp(reduction->axes, other->axes, sizeof reduction->axes);
    return axes                                   ? axes
           : reduction->element != other->element ? (reduction->element < other->element ? -1 : 1)
           : reduction->reducer != other->reducer ? (reduction->reducer < other->reducer ? -1 : 1)
                                                  : 0;
}

static int by_height(const void *left, const void *right)
{
    const struct reduction *reduction = left, *other = right;
    int kind = by_kind(reduction, other);
    return kind                                 ? kind
           : reduction->height != other->height ? (reduction->height < other->height ? -1 : 1)
           : reduction->early != other->early   ? (reduction->early > other->early ? -1 : 1)
           : reduction->op != other->op         ? (reduction->op < other->op ? -1 : 1)
           : reduction->origin != other->origin ? (reduction->origin < other->origin ? -1 : 1)
           : reduction->kernel < other->kernel  ? -1
                                                : reduction->kernel > other->kernel;
}

/* ---------------------------------------------------------------- what leads to what */
static struct reach make_reach(struct price_scratch *scratch, const struct spmd_local *local, uint32_t count)
{
    struct reach reach = {.bits = (count + 63) / 64,
                          .words = (count + 63) / 64 + 1,
                          .count = count,
                          .values = local->value_count,
                          .barriers = (uint32_t)scratch->barrier_count};
    size_t words = reach.words * ((size_t)count + reach.values + reach.barriers + 2);
    GROW(scratch->reached, scratch->reached_room, words);
    memset(scratch->reached, 0, words * sizeof *scratch->reached);
    reach.rows = scratch->reached;
    return reach;
}

static void add_to_roots(const struct price_scratch *scratch, const struct reach *reach,
                         const struct kernel *roots, const uint64_t *row)
{
    for (uint32_t root = roots->roots; root < roots->roots + roots->root_count; root++)
        add_row(reach, value_row(reach, scratch->pool[root].value), row);
    if (roots->behind)
        add_row(reach, barrier_row(reach, roots->behind - 1), row);
}

/* the kernel that comes after k in the unit [first, last]; 0: there is none */
static uint32_t next_of(const struct price_scratch *scratch, uint32_t first, uint32_t last, uint32_t k)
{
    return first == last ? scratch->kernels[k].next : k < last ? k + 1 : 0;
}

/* of a unit whose results' readers were all met; reduction: the one that it is, or NULL */
static void reach_unit(const struct price_scratch *scratch, const struct spmd_local *local,
                       const struct reach *reach, uint32_t first, struct reduction *reduction)
{
    uint32_t last = price_unit_end(scratch, local, first);
    uint64_t *row = barrier_row(reach, reach->barriers);
    memset(row, 0, reach->words * sizeof *row);
    for (uint32_t k = first, more = 1; more; k = more = next_of(scratch, first, last, k)) {
        const struct spmd_step *step = &local->steps[scratch->kernels[k].step];
        for (uint32_t value = step->results; value < step->results + step->result_count; value++)
            add_row(reach, row, value_row(reach, value));
    }
    if (reduction) {
        add_row(reach, row_of(reach, reduction->number), row);
        put(row, reduction->number);
        reduction->early = row[reach->bits];
    }
    for (uint32_t k = first, more = 1; more; k = more = next_of(scratch, first, last, k))
        add_to_roots(scratch, reach, &scratch->kernels[k], row);
}

static void reach_barrier(const struct price_scratch *scratch, const struct reach *reach, uint32_t number)
{
    const struct barrier *barrier = &scratch->barriers[number];
    struct kernel read = {
        .roots = barrier->roots, .root_count = barrier->root_count, .behind = barrier->behind};
    add_to_roots(scratch, reach, &read, barrier_row(reach, number));
}

static void reach_results(const struct price_scratch *scratch, const struct spmd_local *local,
                          const struct reach *reach)
{
    const struct spmd_step *results = &local->steps[local->step_count - 1];
    for (uint32_t i = 0; results->kind == SPMD_RESULT && i < results->operand_count; i++) {
        uint32_t buffer = buffer_of(scratch, local->operands[results->operands + i]);
        uint64_t *early = buffer == NDA_NONE ? NULL : value_row(reach, buffer) + reach->bits;
        if (early && !*early)
            *early = UINT64_MAX - i;
    }
}

/* Units wait for units that begin before them (siblings.c), so from the last one backwards. */
static void find_reach(struct price_scratch *scratch, const struct spmd_local *local,
                       const struct reach *reach)
{
    uint32_t reduction = reach->count, barrier = reach->barriers;
    reach_results(scratch, local, reach);
    scratch->walk.count = 0;
    for (uint32_t k = 0; k < scratch->kernel_count; k++)
        if (!scratch->kernels[k].follows) {
            VEC_PUSH(&scratch->walk, k);
            k = price_unit_end(scratch, local, k);
        }
    while (scratch->walk.count) {
        uint32_t first = scratch->walk.at[--scratch->walk.count];
        while (barrier && scratch->barriers[barrier - 1].step > scratch->kernels[first].step)
            reach_barrier(scratch, reach, --barrier);
        bool reduces = reduction && scratch->reductions[reduction - 1].kernel == first;
        reduction -= reduces;
        reach_unit(scratch, local, reach, first, reduces ? &scratch->reductions[reduction] : NULL);
    }
}

static void find_heights(struct price_scratch *scratch, const struct reach *reach)
{
    for (uint32_t i = reach->count; i-- > 0;) {
        struct reduction *self = &scratch->reductions[i];
        for (uint32_t k = i + 1; k < reach->count; k++) {
            const struct reduction *other = &scratch->reductions[k];
            if (other->height >= self->height && has(row_of(reach, i), k) && !by_kind(self, other))
                self->height = other->height + 1;
        }
    }
}

/* ---------------------------------------------------------------- groups */
static int64_t bytes_of(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct reduction *reduction)
{
    uint32_t last = price_unit_end(scratch, local, reduction->kernel);
    int64_t bytes = 0;
    for (uint32_t k = reduction->kernel; k <= last; k++) {
        const struct spmd_step *step = &local->steps[scratch->kernels[k].step];
        bytes += local->values[local->operands[step->operands]].bytes * (step->combined ? FLAT_ROWS : 1);
    }
    return bytes;
}

/* the kernels from `first` on that are one tuple run as a chain; the last one */
static uint32_t chain_tuple(struct price_scratch *scratch, const struct spmd_local *local, uint32_t first)
{
    uint32_t last = price_unit_end(scratch, local, first);
    for (uint32_t k = first; k < last; k++) {
        scratch->kernels[k].next = k + 1;
        scratch->kernels[k + 1].follows = true;
    }
    return last;
}

static void join(struct price_scratch *scratch, const struct spmd_local *local,
                 const struct reduction *before, struct reduction *reduction)
{
    scratch->kernels[chain_tuple(scratch, local, before->kernel)].next = reduction->kernel;
    scratch->kernels[reduction->kernel].follows = reduction->taken = true;
}

/* what leads to a member leads to all of them and to what they lead to */
static void close_group(const struct reach *reach, const uint64_t *members, uint64_t *behind)
{
    for (uint32_t i = 0; i < reach->count; i++) {
        uint64_t *row = row_of(reach, i);
        bool leads = meet(reach, row, members);
        if (leads)
            add_row(reach, row, members);
        if (leads || has(members, i))
            add_row(reach, row, behind);
    }
}

/* the group that begins with the reduction at `first` of those that are sorted */
static void make_group(struct price_scratch *scratch, const struct spmd_local *local,
                       const struct reach *reach, uint32_t first)
{
    const struct reduction *leader = &scratch->reductions[first], *last = leader;
    uint64_t *members = barrier_row(reach, reach->barriers), *behind = members + reach->words;
    int64_t bytes = bytes_of(scratch, local, leader);
    memset(members, 0, 2 * reach->words * sizeof *members);
    put(members, leader->number);
    add_row(reach, behind, row_of(reach, leader->number));
    for (uint32_t i = first + 1; i < reach->count; i++) {
        struct reduction *other = &scratch->reductions[i];
        if (other->height != leader->height || by_kind(other, leader))
            break;
        int64_t own = bytes_of(scratch, local, other);
        const uint64_t *row = row_of(reach, other->number);
        if (other->taken || bytes + own > scratch->reduce_bytes || has(behind, other->number) ||
            meet(reach, row, members))
            continue;
        bytes += own;
        put(members, other->number);
        add_row(reach, behind, row);
        join(scratch, local, last, other);
        last = other;
    }
    if (last == leader)
        return;
    chain_tuple(scratch, local, last->kernel);
    close_group(reach, members, behind);
}

/* ---------------------------------------------------------------- XLA:GPU */
/* the buffer that the kernel reads alone was gathered from another one */
static bool reads_picked(const struct price_scratch *scratch, const struct spmd_local *local,
                         const struct kernel *kernel)
{
    uint32_t by =
        kernel->root_count == 1 ? local->values[scratch->pool[kernel->roots].value].step : SPMD_NONE;
    return by != SPMD_NONE && local->steps[by].kind == SPMD_OP &&
           step_info(scratch, &local->steps[by])->class == OP_GATHER;
}

static bool reads(const struct price_scratch *scratch, const struct kernel *kernel, uint32_t value)
{
    for (uint32_t root = kernel->roots; root < kernel->roots + kernel->root_count; root++)
        if (scratch->pool[root].value == value)
            return true;
    return false;
}

static bool is_like(const struct spmd_local *local, const struct spmd_step *step,
                    const struct spmd_step *other)
{
    bool sums = step->kind == SPMD_ALL_REDUCE || step->kind == SPMD_REDUCE_SCATTER;
    return sums && step->kind == other->kind && step->atom == other->atom && step->depth == 0 &&
           !step->combined && step->reducer == other->reducer && step->axis_count == other->axis_count &&
           memcmp(step->axes, other->axes, step->axis_count) == 0 &&
           ir_value_type(local->nda->program, local->values[step->results].origin)->element ==
               ir_value_type(local->nda->program, local->values[other->results].origin)->element;
}

enum { PICKED_MOST = 64 }; /* kernels to the sum that what is picked is reduced with */

/* What was picked from split logits is reduced with the next sum like it that nothing before waits for it:
 * that of a softmax, so the logits are not held until the loss is summed up. */
static void combine_picked(struct price_scratch *scratch, const struct spmd_local *local)
{
    for (uint32_t i = 0; i < scratch->kernel_count; i++) {
        struct kernel *kernel = &scratch->kernels[i];
        const struct spmd_step *step = &local->steps[kernel->step];
        if (!is_like(local, step, step) || kernel->next || kernel->follows ||
            !reads_picked(scratch, local, kernel))
            continue;
        for (uint32_t k = i + 1; k < scratch->kernel_count && k <= i + PICKED_MOST; k++) {
            struct kernel *other = &scratch->kernels[k];
            if (reads(scratch, other, step->results))
                break;
            if (!is_like(local, &local->steps[other->step], step) || other->next || other->follows)
                continue;
            kernel->next = k;
            other->follows = true;
            break;
        }
    }
}

void price_combine_reductions(struct price_scratch *scratch, const struct spmd_local *local)
{
    if (scratch->hides)
        combine_picked(scratch, local);
    uint32_t count = scratch->reduce_bytes ? find_reductions(scratch, local) : 0;
    if (count < 2)
        return;
    struct reach reach = make_reach(scratch, local, count);
    find_reach(scratch, local, &reach);
    find_heights(scratch, &reach);
    qsort(scratch->reductions, count, sizeof *scratch->reductions, by_height);
    for (uint32_t i = 0; i < count; i++)
        if (!scratch->reductions[i].taken)
            make_group(scratch, local, &reach, i);
}
