/* Step time, and what the pricing passes give put together.
 *
 * Makespan: steps run in the order of the program on two streams, one that computes and one that
 * communicates (XLA and NCCL queue collectives one behind the other).
 *
 *   compute        | dot 1 |  waits  | dot 2 | add | .. |
 *   communication  | gather 2 | reduce 1 | ..
 *
 * A collective starts when its operands are there and the stream is free; a computation when the collectives
 * that it reads are done and what stands before it is. Both orders are fixed, so that what takes less time
 * never makes the step longer: a list schedule would hide more, but is not monotone, and a search finds what
 * it gets wrong. Gathers of weights, whose operands come from arguments without a matrix product, run as far
 * ahead as the stream lets them, but hold no more than a bounded number of bytes that nobody has read yet.
 * Where the backend runs gradients late, what no product needs is put off (late.c): behind each collective
 * that products wait for, what was put off two of them earlier runs until it takes as long, reductions
 * included, the others when the chain is through, then the updates in the order of their reductions; combined
 * reductions start with their last member. How much runs behind a collective is the one thing that depends on
 * times: a collective that takes less may leave a product to the end. What is computed from arguments alone
 * runs ahead of the program, for the gathers of it. Where
 * nothing overlaps (cost_machine.asynchronous is false) a collective blocks both streams.
 *
 * Nothing crosses the mark of a loop or a branch: both streams join there. In a loop every step counts trips
 * times. Of the regions of a branch the slowest counts. */
#include "cost/internal.h"

#include <stdlib.h>
#include <string.h>

struct clock {
    int64_t compute_ps, link_ps; /* when each stream is free */
    int64_t other_ps, matmul_ps, communication_ps;
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
static int64_t run_collective(struct run *run, const struct spmd_step *step, int64_t ps,
                              struct value_times *times)
{
    int64_t start = later(times->ready_ps, run->clock.link_ps);
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
    run->clock.compute_ps = start + ps;
    times->ready_ps = times->ahead ? times->path_ps : run->clock.compute_ps;
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
        start = run_collective(run, step, ps, &times);
        if (run->trace && blocks(run, step) && start > before + copy_ps)
            trace_wait(run, kernel, before + copy_ps, start);
    } else if (step_is_local(step->kind)) {
        start = run_computation(run, kernel, step, ps, &times);
        if (run->trace && start > before)
            trace_wait(run, kernel, before, start);
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
        bool computes = step_is_local(run->local->steps[kernel->step].kind);
        if (computes && covered >= ps)
            break;
        covered += computes ? times_trips(kernel->ps, run->local->steps[kernel->step].trips) : 0;
        longest = later(longest, run_late_kernel(run, at - 1));
        late[0].first = late[at - 1].next;
        late[0].last = late[0].first ? late[0].last : 0;
    }
    return longest;
}

/* everything late that has not run: the chain is through, or a mark comes */
static int64_t run_late(struct run *run)
{
    struct late_kernel *late = run->scratch->late;
    int64_t longest = 0;
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

static inline bool in_chain(const struct price_scratch *scratch, const struct spmd_local *local,
                            uint32_t kernel)
{
    const struct spmd_step *step = &local->steps[scratch->kernels[kernel].step];
    return spmd_step_is_collective(step) && !scratch->times[step->results].of_weights &&
           !price_is_late(scratch, local, kernel);
}

/* counts the collectives of the chain from a kernel to the next mark */
static void begin_chain(struct run *run, uint32_t kernel)
{
    run->chain_count = run->chain_total = 0;
    for (uint32_t i = kernel; i < run->scratch->kernel_count; i++) {
        const struct spmd_step *step = &run->local->steps[run->scratch->kernels[i].step];
        if (!spmd_step_is_collective(step) && !step_is_local(step->kind))
            break;
        run->chain_total += in_chain(run->scratch, run->local, i);
    }
}

/* the next kernel of the program: now, or put off */
static int64_t take_kernel(struct run *run, uint32_t index)
{
    const struct spmd_step *step = &run->local->steps[run->scratch->kernels[index].step];
    if (!run->gradients_late)
        return run_kernel(run, index);
    bool collective = spmd_step_is_collective(step);
    if (!collective && !step_is_local(step->kind)) {
        int64_t path_ps = run_late(run);
        begin_chain(run, index + 1);
        return later(path_ps, run_kernel(run, index));
    }
    if (price_is_late(run->scratch, run->local, index)) {
        price_late_add(run->scratch, run->local, index, run->chain_count, &run->late_count);
        return 0;
    }
    int64_t path_ps = run_kernel(run, index);
    if (collective && !run->scratch->times[step->results].of_weights) {
        run->chain_count++;
        path_ps = later(path_ps, fill_wait(run, times_trips(run->scratch->kernels[index].ps, step->trips)));
    }
    return path_ps;
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

/* The makespan of the kernels in program order; out has its memory already. trace: NULL, or room for one
 * interval a kernel. */
static void run_kernels(struct price_scratch *scratch, const struct spmd_local *local,
                        const struct cost_machine *machine, struct price_interval *trace, struct price *out)
{
    struct run run = {
        .scratch = scratch, .local = local, .asynchronous = machine->asynchronous, .trace = trace};
    run.blocking = machine->backend->blocking;
    run.gradients_late = machine->asynchronous && machine->backend->gradients_late;
    if (run.gradients_late) {
        price_late_begin(scratch);
        begin_chain(&run, 0);
    }
    struct branch stack[BRANCH_DEPTH];
    uint32_t depth = 0;
    int64_t longest = 0, slack = machine->memory_limit_bytes - out->peak_bytes,
            most = machine->backend->prefetch_bytes;
    run.window.room = slack < 0 ? 0 : slack < most ? slack : most;
    for (uint32_t i = 0; i < scratch->kernel_count; i++) {
        uint8_t kind = local->steps[scratch->kernels[i].step].kind;
        longest = later(longest, take_kernel(&run, i));
        if (kind == SPMD_BRANCH || kind == SPMD_BRANCH_NEXT || kind == SPMD_BRANCH_END)
            branch_step(stack, &depth, kind, &run.clock);
    }
    out->step_ps = finish(&run.clock);
    out->matmul_ps = run.clock.matmul_ps;
    out->compute_ps = run.clock.matmul_ps + run.clock.other_ps;
    out->communication_ps = run.clock.communication_ps;
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
    price_memory(s, local, s->kernels, (enum cost_order)local->order, out);
    return s;
}

/* the order that counts so far, its peak and what of it counts */
struct found {
    int64_t peak, uncopied, counted;
    struct price *out;
};

enum { EQUAL_PARTS = 1000 };

/* Does this order count rather than the one found? The largest peak does; or, of a compiler that looks for
 * the least, the least one without copies of what no product reads. Where the two are equal but for copies,
 * that says too little: the largest counts again. */
static bool counts_more(const struct price_scratch *scratch, const struct found *found, int64_t peak)
{
    int64_t apart = scratch->uncopied_peak - found->uncopied, equal = found->uncopied / EQUAL_PARTS;
    if (!scratch->least_order || (apart <= equal && -apart <= equal))
        return peak >= found->peak;
    return scratch->counted_peak <= found->counted;
}

/* the peak of one order; out has the one that counts */
static int64_t try_order(struct price_scratch *scratch, const struct spmd_local *local,
                         const struct kernel *line, enum cost_order order, struct found *found)
{
    struct price here = {0};
    price_memory(scratch, local, line, order, &here);
    if (found->out->peak_order == COST_ORDER_EITHER || counts_more(scratch, found, here.peak_bytes)) {
        *found = (struct found){here.peak_bytes, scratch->uncopied_peak, scratch->counted_peak, found->out};
        found->out->peak_bytes = here.peak_bytes;
        found->out->peak_step = here.peak_step;
        found->out->peak_order = (uint8_t)order;
    }
    return here.peak_bytes;
}

/* the orders that a compiler tries; leaves the scratch as of program order */
static void price_orders(struct price_scratch *scratch, const struct spmd_local *local, struct price *out)
{
    struct found found = {.out = out};
    out->depth_first_peak_bytes =
        try_order(scratch, local, price_depth_first(scratch, local), COST_ORDER_DEPTH_FIRST, &found);
    if (scratch->least_order)
        out->memory_peak_bytes =
            try_order(scratch, local, price_by_memory(scratch), COST_ORDER_MEMORY, &found);
    struct price of_program = *out;
    price_memory(scratch, local, scratch->kernels, COST_ORDER_PROGRAM, &of_program);
    of_program.program_peak_bytes = of_program.peak_bytes;
    if (scratch->least_order || of_program.peak_bytes < out->peak_bytes) {
        of_program.peak_bytes = out->peak_bytes;
        of_program.peak_step = out->peak_step;
    } else {
        of_program.peak_order = COST_ORDER_PROGRAM;
    }
    *out = of_program;
}

void price_local(const struct spmd_local *local, const struct cost_machine *machine,
                 struct price_scratch **scratch, const struct price_fold *fold, struct price *out)
{
    struct price_scratch *s = *scratch = *scratch ? *scratch : price_scratch_create(NULL);
    s->fold = fold;
    find_kernels(local, machine, scratch, out);
    if (machine->order == COST_ORDER_EITHER)
        price_orders(s, local, out);
    else {
        price_memory(s, local, s->kernels, (enum cost_order)local->order, out);
        out->peak_order = COST_ORDER_PROGRAM;
    }
    if (fold) {
        struct price_unfolded *unfolded = price_unfold(s, local, machine);
        run_kernels(&unfolded->scratch, &unfolded->local, machine, NULL, out);
    } else {
        run_kernels(s, local, machine, NULL, out);
    }
    s->fold = NULL;
}

/* words for people, then a name; of what is no order (a damaged snapshot's) the first */
static const char *const order_words[][2] = {[COST_ORDER_EITHER] = {"in program order", "program"},
                                             [COST_ORDER_PROGRAM] = {"in program order", "program"},
                                             [COST_ORDER_DEPTH_FIRST] = {"depth first", "depth_first"},
                                             [COST_ORDER_MEMORY] = {"by memory", "memory"}};

const char *price_order_words(uint8_t order)
{
    return order_words[order <= COST_ORDER_MEMORY ? order : COST_ORDER_EITHER][0];
}

const char *price_order_name(uint8_t order)
{
    return order_words[order <= COST_ORDER_MEMORY ? order : COST_ORDER_EITHER][1];
}

bool price_reorder_to_peak(struct spmd_local *local, const struct cost_machine *machine, struct price *price)
{
    struct price_scratch *scratch = NULL;
    struct price there;
    if (price->peak_order == COST_ORDER_PROGRAM)
        return false;
    price_reorder(local, machine, &scratch, (enum cost_order)price->peak_order);
    analyse(local, machine, &scratch, &there);
    price->peak_step = there.peak_step;
    price_scratch_destroy(scratch);
    return true;
}

struct price_interval *price_trace(const struct spmd_local *local, const struct cost_machine *machine,
                                   uint32_t *count)
{
    struct price_scratch *scratch = NULL;
    struct price price;
    analyse(local, machine, &scratch, &price);
    struct price_interval *trace = mem_zalloc(scratch->kernel_count + 1, sizeof *trace);
    run_kernels(scratch, local, machine, trace, &price);
    *count = (uint32_t)scratch->kernel_count;
    price_scratch_destroy(scratch);
    return trace;
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

/* bytes of a collective, on which its algorithm depends */
static int64_t moved_bytes(const struct spmd_local *local, const struct spmd_step *step)
{
    return local->values[step->kind == SPMD_ALL_GATHER ? step->results : local->operands[step->operands]]
        .bytes;
}

const char *price_algorithm(const struct spmd_local *local, const struct cost_machine *machine, uint32_t step)
{
    const struct spmd_step *entry = &local->steps[step];
    if (!spmd_step_is_collective(entry))
        return "none";
    int64_t bytes = entry->combined ? 0 : moved_bytes(local, entry);
    for (uint32_t i = 0; entry->combined && i < local->step_count; i++) /* that of the whole tuple */
        if (local->steps[i].combined == entry->combined)
            bytes += moved_bytes(local, &local->steps[i]);
    return cost_collective_price(machine, local->mesh, entry->kind, entry->axes, entry->axis_count, bytes)
        .algorithm;
}

int64_t price_step(const struct spmd_local *local, const struct cost_machine *machine, uint32_t step,
                   const char **algorithm)
{
    const struct spmd_step *entry = &local->steps[step];
    if (algorithm)
        *algorithm = price_algorithm(local, machine, step);
    if (spmd_step_is_collective(entry) && !entry->combined)
        return cost_collective_price(machine, local->mesh, entry->kind, entry->axes, entry->axis_count,
                                     moved_bytes(local, entry))
            .time_ps;
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

/* what is alive at a place of the order that was priced last; begun: not before its first kernel */
static struct price_live *live_in(const struct price_scratch *scratch, const struct spmd_local *local,
                                  uint32_t now, bool begun, uint32_t *count)
{
    VEC(struct price_live) out = {0};
    uint32_t place = begun ? scratch->line[now].step : 0;
    for (uint32_t value = 0; value < local->value_count; value++) {
        bool there = begun && scratch->values[value].state == VALUE_BUFFER &&
                     scratch->ranges[value].from <= now && now < scratch->ranges[value].until;
        if (value < local->argument_count) /* its range is a copy's, in another order */
            VEC_PUSH(&out, ((struct price_live){value, stored_bytes(scratch, local, value)}));
        if (there)
            VEC_PUSH(&out, ((struct price_live){value, value < local->argument_count
                                                           ? scratch->copied_bytes[value]
                                                           : stored_bytes(scratch, local, value)}));
    }
    const struct spmd_step *entry = begun ? &local->steps[scratch->line[now].step] : NULL;
    if (entry && !(entry->combined && packed(local, scratch->line[now].step)) &&
        price_ordered_copy(scratch, local, entry) > 0 &&
        /* beside what is put in order: the blocks as they came, or as they go */
        !scratch->values[entry->results].lent)
        VEC_PUSH(&out, ((struct price_live){entry->results, price_ordered_copy(scratch, local, entry)}));
    for (uint32_t kernel = 0; begun && kernel < scratch->kernel_count; kernel++) {
        const struct spmd_step *gather = &local->steps[scratch->kernels[kernel].step];
        int64_t copied = price_gathered_copy(scratch, local, gather);
        if (copied && price_gathered_at(scratch, local, gather) == now)
            VEC_PUSH(&out, ((struct price_live){local->operands[gather->operands], copied}));
    }
    for (uint32_t i = 0; i < local->step_count;
         i++) /* operands packed for the combined collective of this step */
        if (local->steps[i].combined && local->steps[i].combined == local->steps[place].combined &&
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
    *count = (uint32_t)out.count;
    return out.at;
}

struct price_live *price_live_at(const struct spmd_local *local, const struct cost_machine *machine,
                                 uint32_t step, uint32_t *count)
{
    struct price_scratch *scratch = NULL;
    struct price price;
    analyse(local, machine, &scratch, &price);
    bool begun = scratch->kernel_count && scratch->kernels[0].step <= step;
    struct price_live *live = live_in(scratch, local, kernel_at(scratch, step), begun, count);
    price_scratch_destroy(scratch);
    return live;
}

void price_held_find(const struct spmd_local *local, const struct cost_machine *machine,
                     enum cost_order order, struct price_held *out)
{
    struct price_scratch *scratch = NULL;
    struct price price;
    find_kernels(local, machine, &scratch, &price);
    const struct kernel *line = scratch->kernels;
    if (order == COST_ORDER_DEPTH_FIRST || order == COST_ORDER_MEMORY)
        line = price_depth_first(scratch, local);
    if (order == COST_ORDER_MEMORY)
        line = price_by_memory(scratch);
    price_memory(scratch, local, line, order, &price);
    *out = (struct price_held){.count = (uint32_t)scratch->kernel_count,
                               .alive = mem_zalloc(scratch->kernel_count + 1, sizeof *out->alive)};
    for (uint32_t i = 0; i < out->count; i++) {
        out->alive[i] = scratch->deltas[i];
        out->peak = out->alive[i] > out->alive[out->peak] ? i : out->peak;
    }
    out->live = live_in(scratch, local, out->peak, out->count > 0, &out->live_count);
    price_scratch_destroy(scratch);
}

void price_held_release(struct price_held *held)
{
    free(held->alive);
    free(held->live);
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
