/* Makespan: kernels run in the order of the program on two streams, one that computes and one that
 * communicates (collectives queue one behind the other).
 *
 *   compute        | dot 1 |  waits  | dot 2 | add | .. |
 *   communication  | permute 1 | reduce 1 | ..
 *
 * A collective starts when its operands are there and the stream is free; a computation when the collectives
 * that it reads are done and what stands before it is. Both orders are the program's. Where nothing overlaps
 * (cost_machine.asynchronous is false), and of the kinds that the backend names, a collective blocks both
 * streams. A backend that orders the program to hide collectives has a makespan of its own (hidden_time.c).
 *
 * Nothing crosses the mark of a loop or branch: both streams join there. In a loop every step counts trips
 * times. Of the regions of a branch the slowest counts. */
#include "cost/beaten.h"

struct clock {
    int64_t compute_ps, link_ps; /* when each stream is free */
    struct kernel_sums sums;
};

enum { BRANCH_DEPTH = 32 }; /* deeper branches are priced as if all their regions ran */
struct branch {
    struct clock before, slowest;
};

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* what a makespan is made of */
struct run {
    struct price_scratch *scratch;
    const struct spmd_local *local;
    bool asynchronous;
    uint16_t blocking; /* of the backend */
    struct clock clock;
    struct price_interval *trace; /* NULL, or one a kernel */
};

/* when everything issued so far is done */
static int64_t finish(const struct clock *clock)
{
    return later(clock->compute_ps, clock->link_ps);
}

/* is the collective one that nothing runs beside? */
static inline bool blocks(const struct run *run, const struct spmd_step *step)
{
    return !run->asynchronous || (run->blocking >> step->kind & 1);
}

/* when the collective starts; *times of what it reads become those of its results */
static int64_t run_collective(struct run *run, const struct spmd_step *step, int64_t ps,
                              struct value_times *times)
{
    int64_t start = later(times->ready_ps, run->clock.link_ps);
    if (blocks(run, step)) {
        start = later(start, run->clock.compute_ps);
        run->clock.compute_ps = start + ps;
    }
    times->ready_ps = run->clock.link_ps = start + ps;
    return start;
}

/* the same of a computation, which the buffers that its kernel reads let start */
static int64_t run_computation(struct run *run, int64_t ps, struct value_times *times)
{
    int64_t start = later(run->clock.compute_ps, times->ready_ps);
    times->ready_ps = run->clock.compute_ps = start + ps;
    return start;
}

/* the collective that ended last, but not after `until`; SPMD_NONE: none has run */
static uint32_t ended_last(const struct run *run, int64_t until)
{
    uint32_t last = SPMD_NONE;
    for (uint32_t i = 0; i < run->scratch->kernel_count; i++) {
        const struct price_interval *one = &run->trace[i];
        if (spmd_step_is_collective(&run->local->steps[run->scratch->kernels[i].step]) && one->end_ps > 0 &&
            one->end_ps <= until && (last == SPMD_NONE || one->end_ps > run->trace[last].end_ps))
            last = i;
    }
    return last;
}

/* The compute stream stood still until `until`: put down to the collective that made what was waited for,
 * else (it was computed from a collective's result, or the link was not free) to the one that ended last. */
static void trace_wait(struct run *run, const struct kernel *kernel, int64_t from, int64_t until)
{
    const struct root *roots = run->scratch->pool + kernel->roots;
    uint32_t last = SPMD_NONE;
    for (uint32_t i = 0; i < kernel->root_count; i++)
        if (run->scratch->times[roots[i].value].ready_ps == until)
            last = run->local->values[roots[i].value].step;
    last = last != SPMD_NONE && spmd_step_is_collective(&run->local->steps[last]) ? run->scratch->at[last]
                                                                                  : ended_last(run, until);
    if (last != SPMD_NONE)
        run->trace[last].exposed_ps += until - from;
}

void price_add_kernel(const struct spmd_local *local, const struct kernel *kernel, struct kernel_sums *sums)
{
    int64_t trips = kernel_trips(local, kernel);
    int64_t ps = times_trips(kernel->ps, trips), copy_ps = times_trips(kernel->copy_ps, trips);
    if (kernel->traits & KERNEL_SENDS) {
        sums->communication_ps += ps;
        sums->other_ps += copy_ps;
    } else if (kernel->traits & KERNEL_MULTIPLIES) {
        sums->matmul_ps += ps - copy_ps; /* what turns its operands is none of it */
        sums->other_ps += copy_ps;
    } else if (kernel->traits & KERNEL_COMPUTES) {
        sums->other_ps += ps;
    }
}

/* Runs one kernel and says when its results are there. */
static int64_t run_kernel(struct run *run, uint32_t index)
{
    const struct kernel *kernel = &run->scratch->kernels[index];
    const struct spmd_step *step = &run->local->steps[kernel->step];
    const struct root *roots = run->scratch->pool + kernel->roots;
    int64_t ps = times_trips(kernel->ps, step->trips), start = 0, before = run->clock.compute_ps;
    struct value_times times = {.of_weights =
                                    step->result_count ? run->scratch->times[step->results].of_weights : 0};
    for (uint32_t i = 0; i < kernel->root_count; i++) {
        const struct value_times *root = &run->scratch->times[roots[i].value];
        times.ready_ps = later(times.ready_ps, root->ready_ps);
        times.path_ps = later(times.path_ps, root->path_ps);
    }
    times.path_ps += ps;
    price_add_kernel(run->local, kernel, &run->clock.sums);
    if (spmd_step_is_collective(step)) {
        int64_t copy_ps = times_trips(kernel->copy_ps, step->trips);
        run->clock.compute_ps += copy_ps;
        start = run_collective(run, step, ps, &times);
        if (run->trace && blocks(run, step) && start > before + copy_ps)
            trace_wait(run, kernel, before + copy_ps, start);
    } else if (step_is_local(step->kind)) {
        start = run_computation(run, ps, &times);
        if (run->trace && start > before)
            trace_wait(run, kernel, before, start);
    } else { /* both streams join */
        start = times.ready_ps = run->clock.compute_ps = run->clock.link_ps = finish(&run->clock);
        if (run->trace && start > before)
            trace_wait(run, kernel, before, start);
    }
    if (run->trace)
        run->trace[index] = (struct price_interval){
            kernel->step, start, start + ps, spmd_step_is_collective(step) && blocks(run, step) ? ps : 0};
    for (uint32_t result = 0; result < step->result_count; result++)
        run->scratch->times[step->results + result] = times;
    return times.path_ps;
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

void price_run_kernels(struct price_scratch *scratch, const struct spmd_local *local,
                       const struct cost_machine *machine, struct price_interval *trace, struct price *out)
{
    if (price_hides(machine)) {
        price_run_hiding(scratch, local, trace, out);
        return;
    }
    struct run run = {
        .scratch = scratch, .local = local, .asynchronous = machine->asynchronous, .trace = trace};
    run.blocking = machine->backend->blocking;
    struct branch stack[BRANCH_DEPTH];
    uint32_t depth = 0;
    int64_t longest = 0;
    for (uint32_t i = 0; i < scratch->kernel_count; i++) {
        uint8_t kind = local->steps[scratch->kernels[i].step].kind;
        longest = later(longest, run_kernel(&run, i));
        if (kind == SPMD_BRANCH || kind == SPMD_BRANCH_NEXT || kind == SPMD_BRANCH_END)
            branch_step(stack, &depth, kind, &run.clock);
    }
    out->step_ps = finish(&run.clock);
    out->matmul_ps = run.clock.sums.matmul_ps;
    out->compute_ps = run.clock.sums.matmul_ps + run.clock.sums.other_ps;
    out->communication_ps = run.clock.sums.communication_ps;
    out->exposed_ps = out->step_ps - out->compute_ps;
    out->critical_path_ps = longest;
}
