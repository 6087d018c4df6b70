/* The makespan of the order that hides collectives (hiding.c).
 *
 *   compute        | dot 3 | dot 2 | dW 3 |  waits  | dot 1 | .. |
 *   communication          | reduce 3            |    | reduce 2 | ..
 *
 * Computations run one behind the other; beside them one collective at a time is under way, from its begin
 * to its end in that order. What is not computed meanwhile is waited for. So a step takes what its
 * computations take, and what collectives take alone.
 *
 * The inside of a loop or branch is ordered by itself, as the compiler does it, and nothing outside of it
 * runs beside it: times in a loop are of all trips together, of the regions of a branch the slowest counts.
 * What the compiler's scheduler takes as free (apart_ps of kernels) hides nothing either. */
#include "cost/beaten.h"
#include "cost/graph.h"

struct run {
    struct price_scratch *scratch;
    const struct spmd_local *local;
    struct price_interval *trace; /* NULL, or one a kernel: from the begin of its region */
};

static int64_t taken_ps(const struct hidden_sums *sums)
{
    return sums->kernels.matmul_ps + sums->kernels.other_ps + sums->waited_ps;
}

static void add_sums(struct hidden_sums *sums, const struct hidden_sums *more)
{
    sums->kernels.matmul_ps += more->kernels.matmul_ps;
    sums->kernels.other_ps += more->kernels.other_ps;
    sums->kernels.communication_ps += more->kernels.communication_ps;
    sums->waited_ps += more->waited_ps;
}

/* ---------------------------------------------------------------- the trace */
struct flight { /* the collective under way */
    int64_t begun_ps, left_ps, paused_ps;
};

/* a collective's begin: its kernels stand there one behind the other until its end is known */
static void begin_flight(const struct run *run, const struct price_graph *graph, uint32_t self,
                         struct flight *flight, int64_t *clock)
{
    const struct unit *unit = &graph->units[self];
    for (uint32_t k = unit->first, more = 1; more; k = more = price_next_in_unit(graph, unit, k)) {
        const struct kernel *kernel = &run->scratch->kernels[k];
        *clock += times_trips(kernel->copy_ps, kernel_trips(run->local, kernel));
    }
    *flight = (struct flight){.begun_ps = *clock, .left_ps = graph->hidden[self].ps};
}

/* .. and its end: the last of its kernels bears what is waited for */
static void end_flight(const struct run *run, const struct price_graph *graph, uint32_t self,
                       const struct flight *flight, int64_t *clock)
{
    const struct unit *unit = &graph->units[self];
    if (graph->hidden[self].region)
        return; /* what it scatters is in its own time */
    int64_t wait_ps = flight->left_ps > 0 ? flight->left_ps : 0, at = flight->begun_ps,
            end = at + graph->hidden[self].ps + flight->paused_ps;
    *clock += wait_ps;
    end = end < *clock ? end : *clock;
    for (uint32_t k = unit->first, more = 1; more; k = more) {
        const struct kernel *kernel = &run->scratch->kernels[k];
        int64_t ps = times_trips(kernel->ps, kernel_trips(run->local, kernel));
        more = price_next_in_unit(graph, unit, k);
        run->trace[k] = (struct price_interval){kernel->step, at, more ? at + ps : end, more ? 0 : wait_ps};
        at += ps;
    }
}

/* the inside of a loop or branch, whose trace begins at 0 so far, its marks included */
static void place_region(const struct run *run, const struct unit *unit, struct flight *flight,
                         int64_t *clock)
{
    int64_t ps = run->trace[unit->first].end_ps;
    for (uint32_t k = unit->first; k <= unit->last; k++) {
        run->trace[k].start_ps += *clock;
        run->trace[k].end_ps += *clock;
    }
    run->trace[unit->first].end_ps = *clock; /* marks take no time */
    run->trace[unit->last].start_ps = run->trace[unit->last].end_ps = *clock + ps;
    flight->paused_ps += ps;
    *clock += ps;
}

static void place_computation(const struct run *run, const struct price_graph *graph, uint32_t self,
                              struct flight *flight, int64_t *clock)
{
    const struct unit *unit = &graph->units[self];
    int64_t begun = *clock;
    for (uint32_t k = unit->first, more = 1; more; k = more = price_next_in_unit(graph, unit, k)) {
        const struct kernel *kernel = &run->scratch->kernels[k];
        int64_t ps =
            kernel->traits & KERNEL_COMPUTES ? times_trips(kernel->ps, kernel_trips(run->local, kernel)) : 0;
        run->trace[k] = (struct price_interval){kernel->step, *clock, *clock + ps, 0};
        *clock += ps;
    }
    flight->left_ps -= graph->hidden[self].ps;
    flight->paused_ps += *clock - begun - graph->hidden[self].ps;
}

/* the kernels of an ordered graph, from 0 on; how long it takes */
static int64_t trace_graph(const struct run *run, const struct price_graph *graph)
{
    struct flight flight = {0};
    int64_t clock = 0;
    uint32_t units = graph->count - graph->local->argument_count, done = (uint32_t)graph->done.count;
    for (uint32_t i = 0; i < units; i++) {
        uint32_t unit = graph->order[i];
        for (; done && graph->placed_then.at[done - 1] == units - i; done--)
            end_flight(run, graph, graph->done.at[done - 1], &flight, &clock);
        if (graph->hidden[unit].barrier)
            continue;
        if (graph->hidden[unit].region)
            place_region(run, &graph->units[unit], &flight, &clock);
        else if (graph->hidden[unit].collective)
            begin_flight(run, graph, unit, &flight, &clock);
        else
            place_computation(run, graph, unit, &flight, &clock);
    }
    for (; done; done--)
        end_flight(run, graph, graph->done.at[done - 1], &flight, &clock);
    return clock;
}

/* gathers that run as one are there together, when the first of them is */
static void trace_led(const struct run *run)
{
    for (uint32_t i = 0; i < run->scratch->kernel_count; i++) {
        uint32_t led_by = run->scratch->kernels[i].led_by;
        if (led_by)
            run->trace[i].start_ps = run->trace[i].end_ps = run->trace[led_by - 1].end_ps;
    }
}

/* ---------------------------------------------------------------- loops and branches */
static struct hidden_region *innermost(const struct run *run)
{
    return &run->scratch->regions.at[run->scratch->regions.count - 1];
}

/* The part of a region that ends before a kernel is ordered by itself: a loop's condition or body, a region
 * of a branch. */
static void end_part(const struct run *run, uint32_t end)
{
    struct price_scratch *scratch = run->scratch;
    struct hidden_region *region = innermost(run);
    if ((region->sends || run->trace) && end > region->first) {
        price_region_units(scratch, run->local, &scratch->region_graph, region->first, end - region->first);
        price_order_hiding(scratch->region_graph);
        region->sums.waited_ps += scratch->region_graph->waited_ps;
        if (run->trace)
            trace_graph(run, scratch->region_graph);
    }
    region->first = end + 1;
    region->sends = false;
}

/* .. of a branch: the slowest counts */
static void end_alternative(const struct run *run, uint32_t end)
{
    end_part(run, end);
    struct hidden_region *region = innermost(run);
    if (taken_ps(&region->sums) > taken_ps(&region->slowest))
        region->slowest = region->sums;
    region->sums = (struct hidden_sums){0};
}

/* what one turn of a loop waits for, in each turn of those around it together; the step before the end is in
 * the body */
static int64_t turn_ps(const struct run *run, const struct hidden_region *region, uint32_t end)
{
    const struct kernel *kernels = run->scratch->kernels;
    int64_t around = run->local->steps[kernels[region->mark].step].trips,
            inside = run->local->steps[kernels[end].step - 1].trips;
    return around > 0 && inside > around ? region->sums.waited_ps / (inside / around)
                                         : region->sums.waited_ps;
}

static void end_region(const struct run *run, uint32_t end, bool branch)
{
    if (branch)
        end_alternative(run, end);
    else
        end_part(run, end);
    struct hidden_region region = *innermost(run);
    const struct hidden_sums *sums = branch ? &region.slowest : &region.sums;
    if (!branch)
        run->scratch->kernels[region.mark].apart_ps = turn_ps(run, &region, end);
    run->scratch->regions.count--;
    add_sums(&innermost(run)->sums, sums);
    if (run->trace) {
        const struct kernel *kernels = run->scratch->kernels;
        run->trace[region.mark] = (struct price_interval){kernels[region.mark].step, 0, taken_ps(sums), 0};
        run->trace[end] = (struct price_interval){kernels[end].step, taken_ps(sums), taken_ps(sums), 0};
    }
}

static void take_kernel(const struct run *run, uint32_t at)
{
    const struct kernel *kernel = &run->scratch->kernels[at];
    if (kernel->traits & (KERNEL_COMPUTES | KERNEL_SENDS)) {
        price_add_kernel(run->local, kernel, &innermost(run)->sums.kernels);
        innermost(run)->sends |= (kernel->traits & KERNEL_SENDS) != 0;
        return;
    }
    const struct spmd_step *step = &run->local->steps[kernel->step];
    switch (step->kind) {
    case SPMD_LOOP:
    case SPMD_BRANCH:
        VEC_PUSH(&run->scratch->regions, ((struct hidden_region){.mark = at, .first = at + 1}));
        return;
    case SPMD_LOOP_BODY: end_part(run, at); return;
    case SPMD_BRANCH_NEXT: end_alternative(run, at); return;
    case SPMD_LOOP_END:
    case SPMD_BRANCH_END: end_region(run, at, step->kind == SPMD_BRANCH_END); return;
    default: return; /* the function's results */
    }
}

/* the longest chain of kernels, each as soon as what it reads is there */
static int64_t longest_chain(const struct run *run)
{
    struct value_times *times = run->scratch->times;
    int64_t longest = 0;
    for (uint32_t value = 0; value < run->local->value_count; value++)
        times[value].path_ps = 0; /* of a run before: what is placed late may be read before it is made */
    for (uint32_t i = 0; i < run->scratch->kernel_count; i++) {
        const struct kernel *kernel = &run->scratch->kernels[i];
        const struct spmd_step *step = &run->local->steps[kernel->step];
        const struct root *roots = run->scratch->pool + kernel->roots;
        int64_t ps = 0;
        for (uint32_t k = 0; k < kernel->root_count; k++)
            ps = times[roots[k].value].path_ps > ps ? times[roots[k].value].path_ps : ps;
        ps += times_trips(kernel->ps, step->trips);
        for (uint32_t result = step->results; result < step->results + step->result_count; result++)
            times[result].path_ps = ps;
        longest = ps > longest ? ps : longest;
    }
    return longest;
}

void price_run_regions(struct price_scratch *scratch, const struct spmd_local *local,
                       struct price_interval *trace)
{
    struct run run = {scratch, local, trace};
    scratch->regions.count = 0;
    VEC_PUSH(&scratch->regions, ((struct hidden_region){.first = 0}));
    for (uint32_t i = 0; i < scratch->kernel_count; i++)
        take_kernel(&run, i);
}

void price_run_hiding(struct price_scratch *scratch, const struct spmd_local *local,
                      struct price_interval *trace, struct price *out)
{
    struct run run = {scratch, local, trace};
    struct hidden_sums sums = {0};
    if (scratch->kernel_count) {
        const struct price_graph *graph = price_hidden_graph(scratch, local);
        if (trace) {
            price_run_regions(scratch, local, trace);
            trace_graph(&run, graph);
            trace_led(&run);
        }
        sums = scratch->regions.at[0].sums;
        sums.waited_ps += graph->waited_ps;
    }
    out->matmul_ps = sums.kernels.matmul_ps;
    out->compute_ps = sums.kernels.matmul_ps + sums.kernels.other_ps;
    out->communication_ps = sums.kernels.communication_ps;
    out->exposed_ps = sums.waited_ps;
    out->step_ps = taken_ps(&sums);
    bool beaten = scratch->beaten_ps && out->step_ps > scratch->beaten_ps;
    out->critical_path_ps = beaten ? 0 : longest_chain(&run); /* of what is beaten nobody asks for it */
}
