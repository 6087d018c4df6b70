/* The order that a latency hiding scheduler makes of a program, for its memory.
 *
 *   program    gather a | dot | dot b | reduce b | dot c | reduce c | updates ..
 *   backward   updates beside c's reduction, then its product, b's reduction beside what is ready, ..
 *
 * XLA for GPUs schedules from the end of the program. An instruction is ready when all that reads it is
 * scheduled. One collective is under way at a time: whenever the link is free the end of the one is taken
 * that has most collective time before it and in it; its begin follows when what ran meanwhile took as
 * long, or nothing else is ready. One with no collective before it waits until another one wants the link.
 * Of computations the one with most collective time before it runs, of equals the later one of the
 * program. So products of weights' gradients move away from the chain, and what they read waits for them.
 * What is computed from arguments alone, without a product, runs right before what reads it.
 *
 * An edge takes a microsecond. What takes longer covers that; where what takes no time stands at the edge
 * (a reshape before a product, a kernel that keeps rows, a barrier, the choice of one of several results),
 * what is read stalls a moment, and a computation that is ready runs first, however shallow it is. So
 * products of weights' gradients are let in between those of the chain, one a stall. Products that are
 * merged go together.
 *
 * A unit is a kernel of the program or several that run as one (schedule.c). Source: openxla/xla,
 * latency_hiding_scheduler.cc (order of comparisons, ready times), gpu_latency_hiding_scheduler.cc (what
 * takes no time, latencies), of whose rules those without effect on peaks are left out: costs near the
 * time that is to be hidden, what makes more others ready. O(n log n), nothing allocates but arrays that
 * grow. */
#include "cost/graph.h"

#include <string.h>

enum {
    EDGE_PS = 1000000,     /* kLowLatency */
    MERGED_MOST = 32 << 20 /* bytes, xla_gpu_dot_merger_threshold_mb */
};

/* a sweep over the units from the end */
struct sweep {
    struct price_graph *graph;
    int64_t now_ps, until_ps;     /* since the end; when the collective under way has had its time */
    int64_t computed_ps, then_ps; /* so far, and when that collective's end was placed */
    uint32_t flying;              /* 1 + that one's unit; 0: none */
    uint32_t left;                /* units that are not placed */
    uint32_t last;                /* none behind this one is left */
    uint32_t computations, dones; /* how many wait in graph->computations, graph->dones: heaps */
    uint32_t fresh;               /* the first of graph->fresh that waits */
};

static bool goes_first(const struct hidden_ready *one, const struct hidden_ready *other)
{
    return one->depth_ps != other->depth_ps ? one->depth_ps > other->depth_ps : one->place > other->place;
}

static void push(const struct price_graph *graph, struct hidden_ready *heap, uint32_t *count, uint32_t unit)
{
    struct hidden_ready ready = {graph->hidden[unit].depth_ps, graph->hidden[unit].place, unit};
    uint32_t at = (*count)++;
    for (; at > 0 && goes_first(&ready, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = ready;
}

static uint32_t pop(struct hidden_ready *heap, uint32_t *count)
{
    uint32_t first = heap[0].unit, at = 0;
    struct hidden_ready last = heap[--*count];
    for (uint32_t child; (child = 2 * at + 1) < *count; at = child) {
        child += child + 1 < *count && goes_first(&heap[child + 1], &heap[child]);
        if (!goes_first(&heap[child], &last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return first;
}

/* Of a kernel, as the scheduler believes: what keeps rows and what is copied is free, and so are
 * convolutions, which are calls of a library. */
static int64_t believed_ps(const struct spmd_local *local, const struct kernel *kernel)
{
    if ((kernel->traits & (KERNEL_MULTIPLIES | KERNEL_DOT)) == KERNEL_MULTIPLIES)
        return 0;
    return times_trips(kernel->traits & KERNEL_SENDS ? kernel->ps : kernel->ps - kernel->apart_ps,
                       kernel_trips(local, kernel));
}

/* What one turn of a loop scatters, in each turn of those around it together. XLA:GPU pipelines that: the
 * last turn's runs behind the loop, beside what else is there (the gradient of what comes after the layers),
 * so that the loop is placed as its begin. */
static int64_t pipelined_ps(const struct price_graph *graph, const struct unit *unit)
{
    const struct kernel *kernels = graph->scratch->kernels;
    const struct spmd_step *loop = &graph->local->steps[kernels[unit->first].step];
    int64_t ps = 0;
    if (loop->kind == SPMD_LOOP)
        for (uint32_t k = unit->first; k <= unit->last; k++)
            ps += kernels[k].traits & KERNEL_SCATTERS ? kernels[k].ps : 0;
    return times_trips(ps, loop->trips);
}

/* what it runs, if it is no barrier */
static void note_kernels(struct price_graph *graph, const struct unit *unit, struct hidden *hidden)
{
    const struct kernel *kernels = graph->scratch->kernels;
    uint16_t traits = kernels[unit->first].traits;
    hidden->collective = traits & KERNEL_SENDS;
    hidden->early = (traits & (KERNEL_COMPUTES | KERNEL_MULTIPLIES)) == KERNEL_COMPUTES;
    hidden->region = traits & KERNEL_OPENS;
    hidden->ps = hidden->region ? pipelined_ps(graph, unit) : 0;
    hidden->collective |= hidden->ps > 0;
    for (uint32_t k = unit->first, more = !hidden->region; more;
         k = more = price_next_in_unit(graph, unit, k))
        hidden->ps += believed_ps(graph->local, &kernels[k]);
}

/* Is the unit one matrix product and nothing else? */
static bool is_dot(const struct price_graph *graph, const struct unit *unit)
{
    const struct kernel *kernel = &graph->scratch->kernels[unit->first];
    return unit->first == unit->last && kernel->traits & KERNEL_DOT && !kernel->next;
}

/* Does a product read what is reshaped for it, an array of more dimensions than a matrix? */
static bool reads_reshaped(const struct price_graph *graph, const struct unit *unit)
{
    return is_dot(graph, unit) && graph->scratch->kernels[unit->first].traits & KERNEL_RESHAPES;
}

/* the step of a unit that is one matrix product and nothing else; or NULL */
static const struct spmd_step *dot_of(const struct price_graph *graph, uint32_t self)
{
    const struct unit *unit = &graph->units[self];
    return is_dot(graph, unit) ? &graph->local->steps[graph->scratch->kernels[unit->first].step] : NULL;
}

/* A unit that is read but not noted yet; NDA_NONE when there is none, and then the unit is noted: collectives
 * before it, and whether it may wait for its reader. (What runs as one stands where its first member does,
 * others may follow what comes later. In a circle one of them counts as noted.) */
static uint32_t note_reads(struct price_graph *graph, uint32_t self)
{
    const struct unit *unit = &graph->units[self];
    struct hidden *hidden = &graph->hidden[self];
    int64_t depth_ps = 0;
    bool early = hidden->early;
    for (uint32_t k = unit->reads; k < unit->reads + unit->read_count; k++) {
        uint32_t from = graph->edges.at[k];
        const struct hidden *read = &graph->hidden[from];
        if (from < graph->local->argument_count)
            continue;
        if (read->noted == NOTED_NOT)
            return from;
        depth_ps = read->depth_ps > depth_ps ? read->depth_ps : depth_ps;
        early &= read->early;
    }
    hidden->before_ps = depth_ps;
    hidden->depth_ps = depth_ps + (hidden->collective ? hidden->ps : 0);
    hidden->early = early;
    hidden->noted = NOTED;
    return NDA_NONE;
}

/* the unit's depth, after that of all it reads */
static void note_unit(struct price_graph *graph, uint32_t self)
{
    graph->stack.count = 0;
    VEC_PUSH(&graph->stack, self);
    while (graph->stack.count) {
        uint32_t at = graph->stack.at[graph->stack.count - 1];
        graph->hidden[at].noted = graph->hidden[at].noted == NOTED ? NOTED : NOTED_OPEN;
        uint32_t before = graph->hidden[at].noted == NOTED ? NDA_NONE : note_reads(graph, at);
        if (before == NDA_NONE)
            graph->stack.count--;
        else
            VEC_PUSH(&graph->stack, before);
    }
}

/* what is known of the unit alone */
static void describe(struct price_graph *graph, uint32_t self, uint32_t place)
{
    const struct unit *unit = &graph->units[self];
    struct hidden *hidden = &graph->hidden[self];
    *hidden = (struct hidden){
        .readers = unit->users, .place = place, .early = true, .barrier = unit->first > unit->last};
    if (!hidden->barrier) {
        note_kernels(graph, unit, hidden);
        hidden->several = price_next_in_unit(graph, unit, unit->first);
    }
    hidden->stalls =
        hidden->barrier || (!hidden->collective && hidden->ps < EDGE_PS) || reads_reshaped(graph, unit);
}

/* all of them, barriers where they stand in the program */
static void note_units(struct price_graph *graph)
{
    const struct price_scratch *scratch = graph->scratch;
    uint32_t arguments = graph->local->argument_count, barrier = 0;
    for (uint32_t unit = arguments + graph->barriers, place = 1; unit < graph->count; unit++) {
        uint32_t step = scratch->kernels[graph->units[unit].first].step;
        while (barrier < graph->barriers && scratch->barriers[barrier].step < step)
            describe(graph, arguments + barrier++, place++);
        describe(graph, unit, place++);
    }
    for (uint32_t unit = arguments; unit < graph->count; unit++)
        note_unit(graph, unit);
}

/* Barriers are placed at once, and so is what waits for nothing, but not where it makes several results
 * (zeros of several tables): those stall. */
static void make_ready(struct sweep *sweep, uint32_t unit, bool stalls)
{
    struct price_graph *graph = sweep->graph;
    struct hidden *hidden = &graph->hidden[unit];
    if ((hidden->early && !hidden->several) || hidden->barrier) {
        VEC_PUSH(&graph->stack, unit);
    } else if (hidden->collective) {
        push(graph, graph->dones, &sweep->dones, unit);
    } else if (stalls) {
        hidden->ready_ps = sweep->now_ps + EDGE_PS;
        VEC_PUSH(&graph->fresh, unit);
    } else {
        push(graph, graph->computations, &sweep->computations, unit);
    }
}

/* the unit runs before all that was placed so far */
static void place(struct sweep *sweep, uint32_t self)
{
    struct price_graph *graph = sweep->graph;
    const struct unit *unit = &graph->units[self];
    graph->units[self].state = UNIT_PLACED;
    graph->hidden[self].placed = true;
    graph->order[--sweep->left] = self;
    for (uint32_t k = 0; k < unit->read_count; k++) {
        uint32_t from = graph->edges.at[unit->reads + k];
        if (from >= graph->local->argument_count && --graph->hidden[from].readers == 0 &&
            !graph->hidden[from].placed)
            make_ready(sweep, from, graph->hidden[self].stalls || graph->hidden[from].several);
    }
}

/* what has stalled for long enough is ready */
static void ripen(struct sweep *sweep)
{
    struct price_graph *graph = sweep->graph;
    while (sweep->fresh < graph->fresh.count &&
           graph->hidden[graph->fresh.at[sweep->fresh]].ready_ps <= sweep->now_ps)
        push(graph, graph->computations, &sweep->computations, graph->fresh.at[sweep->fresh++]);
}

/* Is the collective under way issued before the best computation runs? */
static bool issues(const struct sweep *sweep)
{
    const struct price_graph *graph = sweep->graph;
    if (!sweep->computations)
        return true;
    if (sweep->until_ps > sweep->now_ps)
        return false;
    const struct hidden *flying = &graph->hidden[sweep->flying - 1];
    const struct hidden_ready *best = &graph->computations[0];
    if (sweep->dones)
        return true;
    return flying->before_ps > 0 && (flying->before_ps != best->depth_ps ? flying->before_ps > best->depth_ps
                                                                         : flying->place > best->place);
}

/* Units may wait for one another in a circle: kernels that run as one may read what a barrier lets through
 * that waits for one of them. Then the last one of the program goes first. */
static uint32_t break_circle(struct sweep *sweep)
{
    while (sweep->graph->hidden[sweep->last].placed)
        sweep->last--;
    return sweep->last;
}

/* bytes of a product's result and of its other operand */
static int64_t bytes_beside(const struct price_graph *graph, const struct spmd_step *dot, uint32_t operand)
{
    return graph->local->values[dot->results].bytes +
           graph->local->values[graph->local->operands[dot->operands + 1 - operand]].bytes;
}

/* Do two products run as one? Those that read the same array do where one of them is small but for it.
 * Source: XLA's dot merger; its threshold as final HLO has it (queries, keys and values one product, gates
 * not). */
static bool merges(const struct price_graph *graph, uint32_t self, uint32_t other)
{
    const struct spmd_step *dots[2] = {dot_of(graph, self), dot_of(graph, other)};
    const uint32_t *operands = graph->local->operands;
    for (uint32_t i = 0; dots[0] && dots[1] && i < 4; i++) {
        uint32_t one = i & 1, second = i >> 1,
                 buffer = buffer_of(graph->scratch, operands[dots[0]->operands + one]);
        if (buffer != NDA_NONE && buffer == buffer_of(graph->scratch, operands[dots[1]->operands + second]) &&
            (bytes_beside(graph, dots[0], one) <= MERGED_MOST ||
             bytes_beside(graph, dots[1], second) <= MERGED_MOST))
            return true;
    }
    return false;
}

static void compute(struct sweep *sweep, uint32_t unit)
{
    sweep->now_ps += sweep->graph->hidden[unit].ps;
    sweep->computed_ps += sweep->graph->hidden[unit].ps;
    place(sweep, unit);
}

/* the best computation, and what is merged with it */
static void compute_next(struct sweep *sweep)
{
    struct price_graph *graph = sweep->graph;
    uint32_t next, first = sweep->computations ? graph->computations[0].unit : break_circle(sweep);
    do {
        next = sweep->computations ? pop(graph->computations, &sweep->computations) : first;
        compute(sweep, next);
    } while (sweep->computations && merges(graph, next, graph->computations[0].unit));
}

/* Where all that is ready stalls, and no collective is sooner, time goes on. */
static void wait_for_stalled(struct sweep *sweep)
{
    const struct price_graph *graph = sweep->graph;
    ripen(sweep);
    if (sweep->computations || sweep->fresh == graph->fresh.count || graph->stack.count)
        return;
    int64_t ready_ps = graph->hidden[graph->fresh.at[sweep->fresh]].ready_ps;
    if (sweep->flying ? sweep->until_ps > ready_ps : !sweep->dones) {
        sweep->now_ps = ready_ps;
        ripen(sweep);
    }
}

/* the end of the best collective */
static void end_collective(struct sweep *sweep)
{
    struct price_graph *graph = sweep->graph;
    uint32_t next = pop(graph->dones, &sweep->dones);
    sweep->flying = next + 1;
    sweep->until_ps = sweep->now_ps + graph->hidden[next].ps;
    sweep->then_ps = sweep->computed_ps;
    VEC_PUSH(&graph->done, next);
    VEC_PUSH(&graph->placed_then, graph->count - graph->local->argument_count - sweep->left);
}

/* Of a loop that is pipelined the first turn stands before it, among what is outside: reductions that nothing
 * waits for come between those of the turn, and what else is ready fills what the turn waits for. */
static void fill_turn(struct sweep *sweep, uint32_t loop)
{
    struct price_graph *graph = sweep->graph;
    int64_t waits_ps = graph->scratch->kernels[graph->units[loop].first].apart_ps,
            until_ps = sweep->computed_ps + waits_ps;
    while (sweep->computed_ps < until_ps) {
        ripen(sweep);
        if (graph->stack.count) {
            compute(sweep, graph->stack.at[--graph->stack.count]);
        } else if (sweep->dones) {
            end_collective(sweep);
            place(sweep, sweep->flying - 1);
        } else if (sweep->computations) {
            compute_next(sweep);
        } else {
            break;
        }
    }
}

/* the begin of the collective under way; what was not computed beside it is waited for */
static void begin_collective(struct sweep *sweep)
{
    uint32_t next = sweep->flying - 1;
    if (sweep->graph->hidden[next].region)
        fill_turn(sweep, next);
    int64_t alone_ps = sweep->graph->hidden[next].ps - (sweep->computed_ps - sweep->then_ps);
    sweep->graph->waited_ps += alone_ps > 0 && !sweep->graph->hidden[next].region ? alone_ps : 0;
    sweep->now_ps = sweep->now_ps > sweep->until_ps ? sweep->now_ps : sweep->until_ps;
    sweep->flying = 0;
    place(sweep, next);
}

static void run_next(struct sweep *sweep)
{
    struct price_graph *graph = sweep->graph;
    wait_for_stalled(sweep);
    if (graph->stack.count)
        compute(sweep, graph->stack.at[--graph->stack.count]);
    else if (!sweep->flying && sweep->dones)
        end_collective(sweep);
    else if (sweep->flying && issues(sweep))
        begin_collective(sweep);
    else
        compute_next(sweep);
}

void price_order_hiding(struct price_graph *graph)
{
    uint32_t arguments = graph->local->argument_count;
    struct sweep sweep = {.graph = graph, .left = graph->count - arguments, .last = graph->count - 1};
    GROW(graph->hidden, graph->hidden_room, graph->count);
    GROW(graph->computations, graph->computation_room, graph->count);
    GROW(graph->dones, graph->done_room, graph->count);
    note_units(graph);
    graph->stack.count = graph->fresh.count = graph->done.count = graph->placed_then.count = 0;
    graph->waited_ps = 0;
    if (graph->whole)
        place(&sweep, graph->count - 1);
    for (uint32_t unit = arguments; unit + graph->whole < graph->count; unit++)
        if (graph->units[unit].users == 0)
            make_ready(&sweep, unit, false);
    while (sweep.left)
        run_next(&sweep);
    graph->placed = graph->count - arguments;
}
