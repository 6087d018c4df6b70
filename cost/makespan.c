/* Makespan: kernels run in the order of the program on two streams, one that computes and one that
 * communicates (XLA and NCCL queue collectives one behind the other).
 *
 *   compute        | dot 1 |  waits  | dot 2 | add | .. |
 *   communication  | gather 2 | reduce 1 | ..
 *
 * A collective starts when its operands are there and the stream is free; a computation when the collectives
 * that it reads are done and what stands before it is. Both orders are fixed by the program and by times of
 * kernels. Gathers of weights, whose operands come from arguments without a matrix product, run as far
 * ahead as the stream lets them, but hold no more than a bounded number of bytes that nobody has read yet.
 * Where the backend schedules from the end of the program (gradients_late), prefetch.c says before which
 * kernels they are issued, and what no product needs is put off (late.c): behind each collective
 * that products wait for, what was put off two of them earlier runs until it takes as long, reductions
 * included, the others when the chain is through, then the updates in the order of their reductions; combined
 * reductions start with their last member. A collective that takes less may so leave a product to the end, or
 * let another gather go first: the price is not strictly monotone. What is computed from arguments alone
 * runs ahead of the program, for the gathers of it. Nothing hides behind what the compiler's scheduler takes
 * as free (apart_ps of kernels): it is added at the end. Where
 * nothing overlaps (cost_machine.asynchronous is false) a collective blocks both streams.
 *
 * Nothing crosses the mark of a branch or of a loop with collectives: both streams join there. In a loop
 * every step counts trips times. Of the regions of a branch the slowest counts. */
#include "cost/beaten.h"

#include <stdlib.h>
#include <string.h>

struct clock {
    int64_t compute_ps, link_ps; /* when each stream is free */
    int64_t other_ps, matmul_ps, communication_ps;
    int64_t apart_ps; /* of kernels that nothing hides behind: on neither stream */
};

/* Gathered weights that wait for their first reader, in the order of the stream (a ring): a further gather
 * starts no earlier than so many of them were read that at most `room` bytes wait with it. */
enum { WINDOW_GATHERS = 256 }; /* more wait only where gathers are under 8 MB each: they are not bounded */
struct window {
    int64_t room, waiting; /* bytes */
    uint32_t first, count;
    struct {
        int64_t bytes, read_ps; /* read_ps: when its first reader started; -1: not yet */
    } gathers[WINDOW_GATHERS];
};

enum { BRANCH_DEPTH = 32 }; /* deeper branches are priced as if all their regions ran */
struct branch {
    struct clock before, slowest;
};

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* the earliest start of a gather of so many bytes that goes into the window */
static int64_t enter_window(struct window *window, int64_t bytes)
{
    int64_t start = 0;
    while (window->count && (window->waiting + bytes > window->room || window->count == WINDOW_GATHERS)) {
        uint32_t oldest = window->first % WINDOW_GATHERS;
        if (window->gathers[oldest].read_ps < 0 && window->count < WINDOW_GATHERS)
            break; /* nobody reads it before this gather's own place in the program */
        start = later(start, window->gathers[oldest].read_ps);
        window->waiting -= window->gathers[oldest].bytes;
        window->first++;
        window->count--;
    }
    uint32_t slot = (window->first + window->count++) % WINDOW_GATHERS;
    window->gathers[slot].bytes = bytes;
    window->gathers[slot].read_ps = -1;
    window->waiting += bytes;
    return start;
}

/* what a makespan is made of */
struct run {
    struct price_scratch *scratch;
    const struct spmd_local *local;
    bool asynchronous;
    uint16_t blocking; /* of the backend */
    struct clock clock;
    struct window window;
    struct price_interval *trace; /* NULL, or one a kernel */
    /* where the backend runs gradients late: late collectives numbered; collectives of the chain that ran,
     * and those up to the next mark */
    uint32_t late_count, chain_count, chain_total;
    bool gradients_late;
    int64_t held_ps; /* of members that the collective which runs now takes along */
};

/* when everything issued so far is done */
static int64_t finish(const struct clock *clock)
{
    return later(clock->compute_ps, clock->link_ps);
}

/* first reader of a gather in the window: what waits for its room may go on */
static void read_window(struct window *window, const struct value_times *times, int64_t start)
{
    uint32_t slot = times->gather - 1;
    if (slot - window->first < window->count && window->gathers[slot % WINDOW_GATHERS].read_ps < 0)
        window->gathers[slot % WINDOW_GATHERS].read_ps = start;
}

static void clear_window(struct window *window)
{
    window->first += window->count;
    window->count = 0;
    window->waiting = 0;
}

/* is the collective one that nothing runs beside? */
static inline bool blocks(const struct run *run, const struct spmd_step *step)
{
    return !run->asynchronous || (run->blocking >> step->kind & 1);
}

/* when the collective starts; *times of what it reads become those of its results */
static int64_t run_collective(struct run *run, const struct kernel *kernel, const struct spmd_step *step,
                              int64_t ps, struct value_times *times)
{
    int64_t start = later(times->ready_ps, run->clock.link_ps);
    if (kernel->led_by && !blocks(run, step)) { /* done when the first of them is */
        const struct spmd_step *first = &run->local->steps[run->scratch->kernels[kernel->led_by - 1].step];
        *times = run->scratch->times[first->results];
        return times->ready_ps;
    }
    if (blocks(run, step)) {
        start = later(start, run->clock.compute_ps);
        run->clock.compute_ps = start + ps;
    } else if (times->of_weights && step->kind == SPMD_ALL_GATHER) {
        int64_t room = enter_window(&run->window, run->local->values[step->results].bytes);
        start = later(start, room);
        times->gather = run->window.first + run->window.count;
    }
    times->ready_ps = run->clock.link_ps = start + ps;
    run->clock.communication_ps += ps;
    return start;
}

/* Is it computed from arguments alone? Then it may run before everything else, and gathers of weights do not
 * wait for its place in the program. */
static inline bool runs_ahead(const struct run *run, const struct kernel *kernel,
                              const struct spmd_step *step)
{
    if (!step->result_count || !run->scratch->times[step->results].of_weights || !step_is_local(step->kind))
        return false;
    const struct root *roots = run->scratch->pool + kernel->roots;
    for (uint32_t i = 0; i < kernel->root_count; i++)
        if (!run->scratch->times[roots[i].value].ahead)
            return false;
    return true;
}

/* the same of a computation, which the buffers that its kernel reads let start */
static int64_t run_computation(struct run *run, const struct kernel *kernel, const struct spmd_step *step,
                               int64_t ps, struct value_times *times)
{
    const struct root *roots = run->scratch->pool + kernel->roots;
    int64_t start = later(run->clock.compute_ps, times->ready_ps);
    for (uint32_t i = 0; i < kernel->root_count; i++)
        if (run->scratch->times[roots[i].value].gather)
            read_window(&run->window, &run->scratch->times[roots[i].value], start);
    bool matmul = step->kind == SPMD_OP && step_info(run->scratch, step)->class == OP_MATMUL;
    int64_t turning_ps = matmul ? times_trips(kernel->copy_ps, step->trips) : 0;
    run->clock.matmul_ps += matmul ? ps - turning_ps : 0;
    run->clock.other_ps += matmul ? turning_ps : ps;
    int64_t apart_ps = times_trips(kernel->apart_ps, step->trips);
    run->clock.apart_ps += apart_ps;
    run->clock.compute_ps = start + ps - apart_ps;
    times->ready_ps =
        times->ahead && times->path_ps < run->clock.compute_ps ? times->path_ps : run->clock.compute_ps;
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

/* Runs one kernel and says when its results are there. */
static int64_t run_kernel(struct run *run, uint32_t index)
{
    const struct kernel *kernel = &run->scratch->kernels[index];
    const struct spmd_step *step = &run->local->steps[kernel->step];
    const struct root *roots = run->scratch->pool + kernel->roots;
    int64_t ps = times_trips(kernel->ps, step->trips) + run->held_ps, start = 0,
            before = run->clock.compute_ps;
    struct value_times times = {.of_weights =
                                    step->result_count ? run->scratch->times[step->results].of_weights : 0};
    for (uint32_t i = 0; i < kernel->root_count; i++) {
        const struct value_times *root = &run->scratch->times[roots[i].value];
        times.ready_ps = later(times.ready_ps, root->ready_ps);
        times.path_ps = later(times.path_ps, root->path_ps);
    }
    times.path_ps += ps;
    times.ahead = runs_ahead(run, kernel, step);
    if (spmd_step_is_collective(step)) {
        int64_t copy_ps = times_trips(kernel->copy_ps, step->trips);
        run->clock.compute_ps += copy_ps;
        run->clock.other_ps += copy_ps;
        start = run_collective(run, kernel, step, ps, &times);
        if (run->trace && blocks(run, step) && start > before + copy_ps)
            trace_wait(run, kernel, before + copy_ps, start);
    } else if (step_is_local(step->kind)) {
        start = run_computation(run, kernel, step, ps, &times);
        if (run->trace && start > before)
            trace_wait(run, kernel, before, start);
    } else if (kernel->looped) {
        start = times.ready_ps = run->clock.compute_ps = later(times.ready_ps, run->clock.compute_ps);
    } else { /* both streams join */
        start = times.ready_ps = run->clock.compute_ps = run->clock.link_ps = finish(&run->clock);
        clear_window(&run->window);
        if (run->trace && start > before)
            trace_wait(run, kernel, before, start);
    }
    if (run->trace)
        run->trace[index] = (struct price_interval){
            kernel->step, start, start + ps, spmd_step_is_collective(step) && blocks(run, step) ? ps : 0};
    for (uint32_t result = 0; result < step->result_count; result++) {
        times.late = run->scratch->times[step->results + result].late;
        run->scratch->times[step->results + result] = times;
    }
    return times.path_ps;
}

/* ---------------------------------------------------------------- late kernels */
/* A member of a combined collective waits for the others: what it takes is added to the last one's. true: it
 * waits. */
static bool hold_member(struct run *run, uint32_t index)
{
    const struct kernel *kernel = &run->scratch->kernels[index];
    struct late_kernel *group = &run->scratch->late[kernel->joined];
    const struct spmd_step *step = &run->local->steps[kernel->step];
    if (!kernel->joined || !group->members || --group->members == 0)
        return false;
    for (uint32_t i = kernel->roots; i < kernel->roots + kernel->root_count; i++)
        group->ready_ps = later(group->ready_ps, run->scratch->times[run->scratch->pool[i].value].ready_ps);
    group->held_ps += times_trips(kernel->ps, step->trips);
    run->clock.compute_ps += times_trips(kernel->copy_ps, step->trips);
    run->clock.other_ps += times_trips(kernel->copy_ps, step->trips);
    run->scratch->late[index].member = group->held;
    group->held = index + 1;
    return true;
}

/* the members that waited are done when the last one is; in the trace each has its part of the time */
static void release_members(struct run *run, uint32_t index)
{
    struct price_scratch *scratch = run->scratch;
    const struct kernel *kernels = scratch->kernels;
    struct late_kernel *group = &scratch->late[kernels[index].joined];
    const struct spmd_step *last = &run->local->steps[kernels[index].step];
    int64_t end = scratch->times[last->results].ready_ps,
            from = end - times_trips(kernels[index].ps, last->trips);
    if (run->trace)
        run->trace[index].start_ps = from;
    for (uint32_t at = group->held; at; at = scratch->late[at - 1].member) {
        const struct spmd_step *step = &run->local->steps[kernels[at - 1].step];
        int64_t ps = times_trips(kernels[at - 1].ps, step->trips);
        scratch->times[step->results].ready_ps = end;
        scratch->times[step->results].path_ps = scratch->times[last->results].path_ps;
        if (run->trace)
            run->trace[at - 1] = (struct price_interval){kernels[at - 1].step, from - ps, from, 0};
        from -= ps;
    }
    group->held = 0;
    group->held_ps = group->ready_ps = 0;
}

static int64_t run_late_kernel(struct run *run, uint32_t index)
{
    const struct late_kernel *group = &run->scratch->late[run->scratch->kernels[index].joined];
    if (hold_member(run, index))
        return 0;
    bool takes = run->scratch->kernels[index].joined && group->held;
    if (takes) {
        run->clock.link_ps = later(run->clock.link_ps, group->ready_ps);
        run->held_ps = group->held_ps;
    }
    int64_t path_ps = run_kernel(run, index);
    run->held_ps = 0;
    if (takes)
        release_members(run, index);
    return path_ps;
}

/* the first kernel of a list runs and leaves it */
static int64_t run_first(struct run *run, uint32_t list)
{
    struct late_kernel *late = run->scratch->late;
    uint32_t at = late[list].first;
    int64_t path_ps = run_late_kernel(run, at - 1);
    late[list].first = late[at - 1].next;
    late[list].last = late[list].first ? late[list].last : 0;
    return path_ps;
}

/* Of late kernels those run behind a collective of the chain that were put off before the one two places
 * before it: gradients' reductions take about two of them, and XLA, which comes from the end, has them and
 * the products that they wait for run that much later. The last one is followed by none: behind it those that
 * were put off before it. */
enum { LATE_BY = 2 };

/* Behind a collective that products wait for late kernels run, in order, until their computations take as
 * long as it does. */
static int64_t fill_wait(struct run *run, int64_t ps)
{
    struct late_kernel *late = run->scratch->late;
    uint32_t later_by = run->chain_count == run->chain_total ? 0 : LATE_BY;
    int64_t longest = 0, covered = 0;
    for (uint32_t at = late[0].first; at && late[at - 1].behind + later_by < run->chain_count;
         at = late[0].first) {
        const struct kernel *kernel = &run->scratch->kernels[at - 1];
        bool computes = kernel->traits & KERNEL_COMPUTES;
        if (computes && covered >= ps)
            break;
        covered += computes ? times_trips(kernel->ps, run->local->steps[kernel->step].trips) : 0;
        longest = later(longest, run_first(run, 0));
    }
    return longest;
}

/* behind a kernel of the chain: what waits for nothing is sent where the link is free */
static int64_t use_idle_link(struct run *run)
{
    uint32_t list = price_idle_list(run->scratch);
    return run->scratch->late[list].first && run->clock.link_ps <= run->clock.compute_ps
               ? run_first(run, list)
               : 0;
}

/* everything late that has not run: the chain is through, or a mark comes */
static int64_t run_late(struct run *run)
{
    struct late_kernel *late = run->scratch->late;
    int64_t longest = 0;
    while (late[price_idle_list(run->scratch)].first)
        longest = later(longest, run_first(run, price_idle_list(run->scratch)));
    for (uint32_t number = 0; number <= run->late_count; number++) {
        uint32_t list = price_late_list(run->scratch, number);
        if (list == LATE_NONE)
            continue;
        for (uint32_t at = late[list].first; at; at = late[at - 1].next)
            longest = later(longest, run_late_kernel(run, at - 1));
        late[list].first = late[list].last = 0;
    }
    return longest;
}

static inline bool is_mark(const struct kernel *kernel)
{
    return !(kernel->traits & (KERNEL_SENDS | KERNEL_COMPUTES)) && !kernel->looped;
}

/* counts the collectives of the chain from a kernel to the next mark */
static void begin_chain(struct run *run, uint32_t kernel)
{
    const uint8_t kind = KERNEL_SENDS | KERNEL_LATE | KERNEL_OF_WEIGHTS;
    run->chain_count = run->chain_total = 0;
    for (uint32_t i = kernel; i < run->scratch->kernel_count; i++) {
        if (is_mark(&run->scratch->kernels[i]))
            break;
        run->chain_total += (run->scratch->kernels[i].traits & kind) == KERNEL_SENDS;
    }
}

/* a kernel, and the gathers that it leads */
static int64_t run_leader(struct run *run, uint32_t index)
{
    const struct late_kernel *late = run->scratch->late;
    int64_t longest = run_kernel(run, index);
    for (uint32_t at = late[index].leads; at; at = late[at - 1].issue_next)
        longest = later(longest, run_kernel(run, at - 1));
    return longest;
}

/* the gathers of weights that prefetch.c puts before a kernel: not before what stands before it is done */
static int64_t issue_gathers(struct run *run, uint32_t index)
{
    int64_t longest = 0;
    for (uint32_t at = run->scratch->late[index].issue; at; at = run->scratch->late[at - 1].issue_next) {
        run->clock.link_ps = later(run->clock.link_ps, run->clock.compute_ps);
        longest = later(longest, run_leader(run, at - 1));
    }
    return longest;
}

/* the next kernel of the program: now, or put off */
static int64_t take_kernel(struct run *run, uint32_t index)
{
    const struct kernel *kernel = &run->scratch->kernels[index];
    if (!run->gradients_late)
        return run_kernel(run, index);
    if (is_mark(kernel)) {
        int64_t path_ps = run_late(run);
        begin_chain(run, index + 1);
        return later(path_ps, run_kernel(run, index));
    }
    if (!kernel->looped && kernel->traits & KERNEL_LATE) {
        price_late_add(run->scratch, run->local, index, run->chain_count, &run->late_count);
        return 0;
    }
    if (run->scratch->late[index].issued || kernel->led_by)
        return 0;
    int64_t path_ps = issue_gathers(run, index);
    path_ps = later(path_ps, run_leader(run, index));
    path_ps = later(path_ps, use_idle_link(run));
    if ((kernel->traits & (KERNEL_SENDS | KERNEL_OF_WEIGHTS)) == KERNEL_SENDS) {
        run->chain_count++;
        path_ps =
            later(path_ps, fill_wait(run, times_trips(kernel->ps, run->local->steps[kernel->step].trips)));
    }
    return path_ps;
}

/* with what runs apart from both streams */
static int64_t finish_whole(const struct clock *clock)
{
    return finish(clock) + clock->apart_ps;
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
    if (finish_whole(clock) > finish_whole(&branch->slowest))
        branch->slowest = *clock;
    *clock = kind == SPMD_BRANCH_END ? branch->slowest : branch->before;
    *depth -= kind == SPMD_BRANCH_END;
}

/* ---------------------------------------------------------------- the trace */
struct computed {
    int64_t at_ps, net_ps; /* when it starts, how long it holds the compute stream */
    int64_t apart_ps;      /* what runs apart, of this one and those before it */
    uint32_t kernel;
};

static int by_time(const void *left, const void *right)
{
    const struct computed *one = left, *other = right;
    return one->at_ps != other->at_ps     ? (one->at_ps < other->at_ps ? -1 : 1)
           : one->net_ps != other->net_ps ? (one->net_ps < other->net_ps ? -1 : 1)
           : one->kernel < other->kernel  ? -1
                                          : one->kernel > other->kernel;
}

/* so much runs apart before a time */
static int64_t apart_before(const struct computed *computed, size_t count, int64_t at_ps)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (computed[middle].at_ps < at_ps)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? computed[low - 1].apart_ps : 0;
}

/* In the trace what runs apart stands where it runs: everything else is that much later, and a collective
 * that is under way pauses. */
static void spread_apart(const struct run *run)
{
    const struct price_scratch *scratch = run->scratch;
    struct computed *computed = mem_zalloc(scratch->kernel_count + 1, sizeof *computed);
    size_t count = 0;
    int64_t apart_ps = 0;
    for (uint32_t i = 0; i < scratch->kernel_count; i++) {
        const struct spmd_step *step = &run->local->steps[scratch->kernels[i].step];
        int64_t ps = times_trips(scratch->kernels[i].apart_ps, step->trips),
                start_ps = run->trace[i].start_ps;
        if (step_is_local(step->kind))
            computed[count++] = (struct computed){start_ps, run->trace[i].end_ps - start_ps - ps, ps, i};
    }
    if (count > 1)
        qsort(computed, count, sizeof *computed, by_time);
    for (size_t i = 0; i < count; i++) {
        struct price_interval *interval = &run->trace[computed[i].kernel];
        interval->start_ps += apart_ps;
        interval->end_ps += apart_ps;
        computed[i].apart_ps = apart_ps += computed[i].apart_ps;
    }
    for (uint32_t i = 0; i < scratch->kernel_count; i++) {
        struct price_interval *interval = &run->trace[i];
        if (step_is_local(run->local->steps[interval->step].kind))
            continue;
        interval->start_ps += apart_before(computed, count, interval->start_ps);
        interval->end_ps += apart_before(computed, count, interval->end_ps);
    }
    free(computed);
}

int64_t price_gather_room(const struct cost_machine *machine, const struct price *price)
{
    int64_t slack = machine->memory_limit_bytes - price->peak_bytes, most = machine->backend->prefetch_bytes;
    return slack < 0 ? 0 : slack < most ? slack : most;
}

void price_run_kernels(struct price_scratch *scratch, const struct spmd_local *local,
                       const struct cost_machine *machine, struct price_interval *trace, struct price *out)
{
    struct run run = {
        .scratch = scratch, .local = local, .asynchronous = machine->asynchronous, .trace = trace};
    run.blocking = machine->backend->blocking;
    run.gradients_late = machine->asynchronous && machine->backend->gradients_late;
    if (run.gradients_late) {
        price_late_begin(scratch, local);
        price_prefetch(scratch, local);
        begin_chain(&run, 0);
    }
    struct branch stack[BRANCH_DEPTH];
    uint32_t depth = 0;
    int64_t longest = 0;
    run.window.room = price_gather_room(machine, out);
    for (uint32_t i = 0; i < scratch->kernel_count; i++) {
        uint8_t kind = local->steps[scratch->kernels[i].step].kind;
        longest = later(longest, take_kernel(&run, i));
        if (kind == SPMD_BRANCH || kind == SPMD_BRANCH_NEXT || kind == SPMD_BRANCH_END)
            branch_step(stack, &depth, kind, &run.clock);
    }
    if (trace)
        spread_apart(&run);
    out->step_ps = finish_whole(&run.clock);
    out->matmul_ps = run.clock.matmul_ps;
    out->compute_ps = run.clock.matmul_ps + run.clock.other_ps;
    out->communication_ps = run.clock.communication_ps;
    out->exposed_ps = out->step_ps - out->compute_ps;
    out->critical_path_ps = longest;
}

/* arguments are as price_fuse left them */
void price_rewind(struct price_scratch *scratch, const struct spmd_local *local)
{
    for (uint32_t value = 0; value < local->value_count; value++)
        scratch->times[value] = (struct value_times){.of_weights = scratch->times[value].of_weights,
                                                     .ahead = value < local->argument_count};
}
