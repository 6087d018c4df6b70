/* Step time, and what the pricing passes give put together.
 *
 * Makespan: steps run in program order on one compute stream and one stream per mesh axis. A collective
 * starts when its operands are there and the streams of its axes are free, and blocks compute for (1 -
 * overlap) of its time; compute waits for the collectives whose results it uses. In a loop every step counts
 * trips times. Of the regions of a branch the slowest counts. */
#include "cost/internal.h"

#include <stdlib.h>
#include <string.h>

struct clock {
    int64_t compute_ps; /* when the compute stream is free */
    int64_t link_ps[MESH_MAX_AXES];
    int64_t other_ps, matmul_ps, communication_ps;
};

enum { BRANCH_DEPTH = 32 }; /* deeper branches are priced as if all their regions ran */
struct branch {
    struct clock before, slowest;
};

static int64_t times_trips(int64_t ps, int64_t trips)
{
    int64_t product;
    return __builtin_mul_overflow(ps, trips, &product) || product > COST_LONGEST_PS ? COST_LONGEST_PS
                                                                                    : product;
}

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void run_collective(struct clock *clock, const struct spmd_step *step, int64_t ps, int64_t *ready,
                           double overlap)
{
    int64_t hidden = overlap > 0 ? (int64_t)((double)ps * overlap) : 0;
    int64_t start = later(clock->compute_ps, *ready);
    for (uint32_t axis = 0; axis < step->axis_count; axis++)
        start = later(start, clock->link_ps[step->axes[axis]]);
    for (uint32_t axis = 0; axis < step->axis_count; axis++)
        clock->link_ps[step->axes[axis]] = start + ps;
    clock->compute_ps += ps - hidden;
    clock->communication_ps += ps;
    *ready = start + ps;
}

static int64_t run_kernel(struct price_scratch *scratch, const struct spmd_local *local,
                          const struct kernel *k, struct clock *clock, double overlap)
{
    const struct spmd_step *step = &local->steps[k->step];
    const struct root *roots = scratch->pool + k->roots;
    int64_t ps = times_trips(k->ps, step->trips), ready = 0, path = 0;
    for (uint32_t i = 0; i < k->root_count; i++) {
        ready = later(ready, scratch->times[roots[i].value].ready_ps);
        path = later(path, scratch->times[roots[i].value].path_ps);
    }
    path += ps;
    if (spmd_step_is_collective(step)) {
        int64_t copy_ps = times_trips(k->copy_ps, step->trips);
        clock->compute_ps += copy_ps;
        clock->other_ps += copy_ps;
        run_collective(clock, step, ps, &ready, overlap);
    } else if (step_is_local(step->kind)) {
        clock->compute_ps = later(clock->compute_ps, ready) + ps;
        if (step->kind == SPMD_OP && step_info(scratch, step)->class == OP_MATMUL)
            clock->matmul_ps += ps;
        else
            clock->other_ps += ps;
        ready = clock->compute_ps;
    }
    for (uint32_t result = 0; result < step->result_count; result++)
        scratch->times[step->results + result] = (struct value_times){ready, path};
    return path;
}

/* when everything issued so far is done */
static int64_t finish(const struct clock *clock)
{
    int64_t ps = clock->compute_ps;
    for (int axis = 0; axis < MESH_MAX_AXES; axis++)
        ps = later(ps, clock->link_ps[axis]);
    return ps;
}

static void branch_step(struct branch *stack, uint32_t *depth, uint8_t kind, struct clock *clock)
{
    if (kind == SPMD_BRANCH) {
        if (*depth < BRANCH_DEPTH)
            stack[*depth] = (struct branch){*clock, *clock};
        ++*depth;
        return;
    }
    if (*depth == 0 || *depth > BRANCH_DEPTH) {
        *depth -= *depth > 0 && kind == SPMD_BRANCH_END;
        return;
    }
    struct branch *branch = &stack[*depth - 1];
    if (finish(clock) > finish(&branch->slowest))
        branch->slowest = *clock;
    *clock = kind == SPMD_BRANCH_END ? branch->slowest : branch->before;
    *depth -= kind == SPMD_BRANCH_END;
}

static void run(struct price_scratch *scratch, const struct spmd_local *local,
                const struct cost_machine *machine, struct price *out)
{
    struct clock clock = {0};
    struct branch stack[BRANCH_DEPTH];
    uint32_t depth = 0;
    int64_t longest = 0;
    for (size_t i = 0; i < scratch->kernel_count; i++) {
        uint8_t kind = local->steps[scratch->kernels[i].step].kind;
        longest = later(longest, run_kernel(scratch, local, &scratch->kernels[i], &clock, machine->overlap));
        if (kind == SPMD_BRANCH || kind == SPMD_BRANCH_NEXT || kind == SPMD_BRANCH_END)
            branch_step(stack, &depth, kind, &clock);
    }
    out->step_ps = finish(&clock);
    out->matmul_ps = clock.matmul_ps;
    out->compute_ps = clock.matmul_ps + clock.other_ps;
    out->communication_ps = clock.communication_ps;
    out->exposed_ps = out->step_ps - out->compute_ps;
    out->critical_path_ps = longest;
}

/* what kernels there are and how long each takes */
static struct price_scratch *find_kernels(const struct spmd_local *local, const struct cost_machine *machine,
                                          struct price_scratch **scratch, struct price *out)
{
    if (!*scratch)
        *scratch = price_scratch_create(NULL);
    memset(out, 0, sizeof *out);
    price_prepare(*scratch, local, machine);
    price_fuse(*scratch, local);
    price_combine(*scratch, local);
    price_siblings(*scratch, local);
    price_times(*scratch, local, machine);
    return *scratch;
}

/* everything but the makespan, of the steps as they stand */
static struct price_scratch *analyse(const struct spmd_local *local, const struct cost_machine *machine,
                                     struct price_scratch **scratch, struct price *out)
{
    struct price_scratch *s = find_kernels(local, machine, scratch, out);
    price_memory(s, local, s->kernels, out);
    return s;
}

/* the larger of two orders' peaks; leaves the scratch as of program order */
static void price_either_order(struct price_scratch *scratch, const struct spmd_local *local,
                               struct price *out)
{
    price_memory(scratch, local, price_depth_first(scratch, local), out);
    int64_t depth_first = out->peak_bytes;
    uint32_t step = out->peak_step;
    price_memory(scratch, local, scratch->kernels, out);
    out->program_peak_bytes = out->peak_bytes;
    out->depth_first_peak_bytes = depth_first;
    if (depth_first > out->peak_bytes) {
        out->peak_bytes = depth_first;
        out->peak_step = step;
    }
}

void price_local(const struct spmd_local *local, const struct cost_machine *machine,
                 struct price_scratch **scratch, struct price *out)
{
    struct price_scratch *s = find_kernels(local, machine, scratch, out);
    if (machine->order == COST_ORDER_EITHER)
        price_either_order(s, local, out);
    else
        price_memory(s, local, s->kernels, out);
    run(s, local, machine, out);
}

bool price_reorder_to_peak(struct spmd_local *local, const struct cost_machine *machine, struct price *price)
{
    struct price_scratch *scratch = NULL;
    struct price there;
    if (price->depth_first_peak_bytes <= price->program_peak_bytes)
        return false;
    price_reorder(local, machine, &scratch, COST_ORDER_DEPTH_FIRST);
    analyse(local, machine, &scratch, &there);
    price->peak_step = there.peak_step;
    price_scratch_destroy(scratch);
    return true;
}

int64_t *price_step_times(const struct spmd_local *local, const struct cost_machine *machine)
{
    struct price_scratch *scratch = NULL;
    struct price price;
    analyse(local, machine, &scratch, &price);
    int64_t *times = mem_zalloc((size_t)local->step_count + 1, sizeof *times);
    for (size_t i = 0; i < scratch->kernel_count; i++)
        times[scratch->kernels[i].step] = scratch->kernels[i].ps;
    price_scratch_destroy(scratch);
    return times;
}

int64_t price_step(const struct spmd_local *local, const struct cost_machine *machine, uint32_t step,
                   const char **algorithm)
{
    const struct spmd_step *entry = &local->steps[step];
    if (algorithm)
        *algorithm = "none";
    if (spmd_step_is_collective(entry) && !entry->combined) {
        int64_t bytes =
            local->values[entry->kind == SPMD_ALL_GATHER ? entry->results : local->operands[entry->operands]]
                .bytes;
        struct cost_collective collective =
            cost_collective_price(machine, local->mesh, entry->kind, entry->axes, entry->axis_count, bytes);
        if (algorithm)
            *algorithm = collective.algorithm;
        return collective.time_ps;
    }
    if (spmd_step_is_collective(entry) && algorithm) { /* the algorithm of the whole tuple */
        int64_t bytes = 0;
        for (uint32_t i = 0; i < local->step_count; i++)
            if (local->steps[i].combined == entry->combined)
                bytes +=
                    local
                        ->values[entry->kind == SPMD_ALL_GATHER ? local->steps[i].results
                                                                : local->operands[local->steps[i].operands]]
                        .bytes;
        *algorithm =
            cost_collective_price(machine, local->mesh, entry->kind, entry->axes, entry->axis_count, bytes)
                .algorithm;
    }
    int64_t *times = price_step_times(local, machine), ps = times[step];
    free(times);
    return ps;
}

/* ---------------------------------------------------------------- what stands in memory when */
/* the last kernel at or before a step; 0 when there is none */
static uint32_t kernel_at(const struct price_scratch *scratch, uint32_t step)
{
    uint32_t low = 0, high = (uint32_t)scratch->kernel_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (scratch->kernels[middle].step <= step)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int64_t *price_timeline(const struct spmd_local *local, const struct cost_machine *machine)
{
    struct price_scratch *scratch = NULL;
    struct price price;
    analyse(local, machine, &scratch, &price);
    int64_t *alive = mem_zalloc((size_t)local->step_count + 1, sizeof *alive);
    int64_t boundary = price.argument_bytes + price.output_bytes - price.alias_bytes;
    for (uint32_t i = 0; i < local->step_count; i++)
        alive[i] = scratch->kernel_count && scratch->kernels[0].step <= i
                       ? scratch->deltas[kernel_at(scratch, i)]
                       : boundary;
    price_scratch_destroy(scratch);
    return alive;
}

/* is this member of a combined collective not the only one? */
static bool packed(const struct spmd_local *local, uint32_t step)
{
    uint32_t id = local->steps[step].combined;
    return (step > 0 && local->steps[step - 1].combined == id) ||
           (step + 1 < local->step_count && local->steps[step + 1].combined == id);
}

struct price_live *price_live_at(const struct spmd_local *local, const struct cost_machine *machine,
                                 uint32_t step, uint32_t *count)
{
    struct price_scratch *scratch = NULL;
    struct price price;
    VEC(struct price_live) out = {0};
    analyse(local, machine, &scratch, &price);
    uint32_t now = kernel_at(scratch, step);
    bool begun = scratch->kernel_count && scratch->kernels[0].step <= step;
    for (uint32_t value = 0; value < local->value_count; value++)
        if (value < local->argument_count ||
            (begun && scratch->values[value].state == VALUE_BUFFER && scratch->ranges[value].from <= now &&
             now < scratch->ranges[value].until))
            VEC_PUSH(&out, ((struct price_live){value, stored_bytes(scratch, local, value)}));
    const struct spmd_step *entry = begun ? &local->steps[scratch->kernels[now].step] : NULL;
    if (entry && !(entry->combined && packed(local, scratch->kernels[now].step)) &&
        price_ordered_copy(scratch, local, entry) > 0 &&
        /* beside what is put in order: the blocks as they came, or as they go */
        !scratch->values[entry->results].lent)
        VEC_PUSH(&out, ((struct price_live){entry->results, price_ordered_copy(scratch, local, entry)}));
    for (uint32_t i = 0; i < local->step_count;
         i++) /* operands packed for the combined collective of this step */
        if (local->steps[i].combined && local->steps[i].combined == local->steps[step].combined &&
            packed(local, i))
            VEC_PUSH(&out,
                     ((struct price_live){local->operands[local->steps[i].operands],
                                          local->values[local->operands[local->steps[i].operands]].bytes}));
    const struct spmd_step *last = local->step_count ? &local->steps[local->step_count - 1] : NULL;
    for (uint32_t operand = 0; last && last->kind == SPMD_RESULT && operand < last->operand_count;
         operand++) {
        uint32_t value = local->operands[last->operands + operand],
                 argument = scratch->program->alias_argument[operand];
        if (argument == NDA_NONE || local->values[argument].bytes != local->values[value].bytes)
            VEC_PUSH(&out, ((struct price_live){value, local->values[value].bytes}));
    }
    price_scratch_destroy(scratch);
    *count = (uint32_t)out.count;
    return out.at;
}

/* ---------------------------------------------------------------- C(s) */
enum { OVER_LIMIT_WEIGHT = 10 }; /* of memory above the limit: the constant C of MP; chosen, not tuned */

struct cost price_cost(const struct price *price, const struct price *unsharded, int64_t memory_limit_bytes)
{
    const double one = 4294967296.0; /* 2^32 */
    double initial = unsharded->step_ps > 0 ? (double)unsharded->step_ps : 1;
    double c = (double)price->step_ps / initial;
    struct cost cost = {0, 0};
    if (price->peak_bytes > memory_limit_bytes) {
        int64_t limit = memory_limit_bytes > 0 ? memory_limit_bytes : 1, over = price->peak_bytes - limit;
        int64_t percent = limit / 100 > 0 ? limit / 100 : 1;
        c += OVER_LIMIT_WEIGHT * ((double)over / (double)limit);
        cost.over_steps = (over + percent - 1) / percent;
    }
    c *= one;
    cost.c = c < 9e18 ? (int64_t)(c + 0.5) : INT64_C(9000000000000000000);
    return cost;
}

int cost_compare(struct cost cost, struct hash128 ha, struct cost other_cost, struct hash128 hb)
{
    if (cost.over_steps != other_cost.over_steps)
        return cost.over_steps < other_cost.over_steps ? -1 : 1;
    if (cost.c != other_cost.c)
        return cost.c < other_cost.c ? -1 : 1;
    return hash128_compare(ha, hb);
}
