/* The order that a latency hiding scheduler makes of a program, for its memory.
 *
 *   program    gather a | dot | dot b | reduce b | dot c | reduce c | updates ..
 *   backward   updates beside c's reduction, then its product, b's reduction beside what is ready, ..
 *
 * XLA for GPUs schedules from the end of the program. An instruction is ready when all that reads it is
 * scheduled. One collective is under way at a time: whenever the link is free the end of the one is taken
 * that has most collective time before it and in it; its begin follows when what ran meanwhile took as long,
 * or nothing else is ready. One with no collective before it waits until another one wants the link. Of
 * computations the one with most collective time before it runs, of equals the later one of the program.
 * So products of weights' gradients move away from the chain, and what they read waits for them. What is
 * computed from arguments alone, without a product, runs right before what reads it.
 *
 * A unit is a kernel of the program or several that run as one (schedule.c). Source: openxla/xla,
 * latency_hiding_scheduler.cc, of whose rules those without effect on peaks are left out: costs near the time
 * that is to be hidden, what makes more others ready. O(n log n), nothing allocates but arrays that grow. */
#include "cost/graph.h"

#include <string.h>

/* a sweep over the units from the end */
struct sweep {
    struct price_graph *graph;
    int64_t now_ps, until_ps;     /* since the end; when the collective under way has had its time */
    uint32_t flying;              /* 1 + that one's unit; 0: none */
    uint32_t left;                /* units that are not placed */
    uint32_t last;                /* none behind this one is left */
    uint32_t computations, dones; /* how many wait in graph->computations, graph->dones: heaps */
};

/* does unit a go before unit b? */
static bool goes_first(const struct price_graph *graph, uint32_t a, uint32_t b)
{
    const struct hidden *one = &graph->hidden[a], *other = &graph->hidden[b];
    return one->depth_ps != other->depth_ps ? one->depth_ps > other->depth_ps : a > b;
}

static void push(const struct price_graph *graph, uint32_t *heap, uint32_t *count, uint32_t unit)
{
    uint32_t at = (*count)++;
    for (; at > 0 && goes_first(graph, unit, heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = unit;
}

static uint32_t pop(const struct price_graph *graph, uint32_t *heap, uint32_t *count)
{
    uint32_t first = heap[0], last = heap[--*count], at = 0;
    for (uint32_t child; (child = 2 * at + 1) < *count; at = child) {
        child += child + 1 < *count && goes_first(graph, heap[child + 1], heap[child]);
        if (!goes_first(graph, heap[child], last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return first;
}

/* Of a kernel, as the scheduler believes: what keeps rows and what is copied is free, and so are
 * convolutions, which are calls of a library. */
static int64_t believed_ps(const struct price_graph *graph, const struct kernel *kernel)
{
    const struct spmd_step *step = &graph->local->steps[kernel->step];
    if (step->kind == SPMD_OP && step_info(graph->scratch, step)->class == OP_MATMUL &&
        ir_opcode_family((enum ir_opcode)graph->local->nda->program->ops[step->op].code) != IR_FAMILY_DOT)
        return 0;
    return times_trips(spmd_step_is_collective(step) ? kernel->ps : kernel->ps - kernel->apart_ps,
                       step->trips);
}

/* what it takes, whether it is a collective and whether it may wait for its reader */
static void note_unit(struct price_graph *graph, uint32_t self)
{
    const struct unit *unit = &graph->units[self];
    struct hidden *hidden = &graph->hidden[self];
    const struct kernel *kernels = graph->scratch->kernels;
    *hidden = (struct hidden){.readers = unit->users};
    if (unit->first > unit->last) /* a barrier */
        return;
    const struct spmd_step *step = &graph->local->steps[kernels[unit->first].step];
    hidden->collective = spmd_step_is_collective(step);
    hidden->early = step_is_local(step->kind) &&
                    (step->kind != SPMD_OP || step_info(graph->scratch, step)->class != OP_MATMUL);
    for (uint32_t k = unit->first, more = 1; more; k = more = price_next_in_unit(graph, unit, k))
        hidden->ps += believed_ps(graph, &kernels[k]);
    for (uint32_t k = 0; k < unit->read_count; k++) {
        uint32_t from = graph->edges.at[unit->reads + k];
        const struct hidden *read = &graph->hidden[from];
        if (from < graph->local->argument_count)
            continue;
        if (from > self) { /* what runs as one begins with its first member, which others may follow */
            hidden->early = false;
            continue;
        }
        hidden->depth_ps = read->depth_ps > hidden->depth_ps ? read->depth_ps : hidden->depth_ps;
        hidden->early &= read->early;
    }
    hidden->before_ps = hidden->depth_ps;
    hidden->depth_ps += hidden->collective ? hidden->ps : 0;
}

static void make_ready(struct sweep *sweep, uint32_t unit)
{
    struct price_graph *graph = sweep->graph;
    if (graph->hidden[unit].early)
        VEC_PUSH(&graph->stack, unit);
    else if (graph->hidden[unit].collective)
        push(graph, graph->dones, &sweep->dones, unit);
    else
        push(graph, graph->computations, &sweep->computations, unit);
}

/* the unit runs before all that was placed so far */
static void place(struct sweep *sweep, uint32_t self)
{
    struct price_graph *graph = sweep->graph;
    const struct unit *unit = &graph->units[self];
    graph->units[self].state = UNIT_PLACED;
    graph->order[--sweep->left] = self;
    for (uint32_t k = 0; k < unit->read_count; k++) {
        uint32_t from = graph->edges.at[unit->reads + k];
        if (from >= graph->local->argument_count && --graph->hidden[from].readers == 0 &&
            graph->units[from].state != UNIT_PLACED)
            make_ready(sweep, from);
    }
}

/* Is the collective under way issued before the best computation runs? */
static bool issues(const struct sweep *sweep)
{
    const struct price_graph *graph = sweep->graph;
    if (!sweep->computations)
        return true;
    if (sweep->until_ps > sweep->now_ps)
        return false;
    const struct hidden *flying = &graph->hidden[sweep->flying - 1],
                        *best = &graph->hidden[graph->computations[0]];
    if (sweep->dones)
        return true;
    return flying->before_ps > 0 &&
           (flying->before_ps != best->depth_ps ? flying->before_ps > best->depth_ps
                                                : sweep->flying - 1 > graph->computations[0]);
}

/* Units may wait for one another in a circle: kernels that run as one may read what a barrier lets through
 * that waits for one of them. Then the last one of the program goes first. */
static uint32_t break_circle(struct sweep *sweep)
{
    while (sweep->graph->units[sweep->last].state == UNIT_PLACED)
        sweep->last--;
    return sweep->last;
}

static void run_next(struct sweep *sweep)
{
    struct price_graph *graph = sweep->graph;
    uint32_t next;
    if (graph->stack.count) {
        next = graph->stack.at[--graph->stack.count];
        sweep->now_ps += graph->hidden[next].ps;
    } else if (!sweep->flying && sweep->dones) {
        next = pop(graph, graph->dones, &sweep->dones);
        sweep->flying = next + 1;
        sweep->until_ps = sweep->now_ps + graph->hidden[next].ps;
        return;
    } else if (sweep->flying && issues(sweep)) {
        next = sweep->flying - 1;
        sweep->now_ps = sweep->now_ps > sweep->until_ps ? sweep->now_ps : sweep->until_ps;
        sweep->flying = 0;
    } else {
        next =
            sweep->computations ? pop(graph, graph->computations, &sweep->computations) : break_circle(sweep);
        sweep->now_ps += graph->hidden[next].ps;
    }
    place(sweep, next);
}

void price_order_hiding(struct price_graph *graph)
{
    uint32_t arguments = graph->local->argument_count;
    struct sweep sweep = {.graph = graph, .left = graph->count - arguments, .last = graph->count - 1};
    GROW(graph->hidden, graph->hidden_room, graph->count);
    GROW(graph->computations, graph->computation_room, graph->count);
    GROW(graph->dones, graph->done_room, graph->count);
    graph->stack.count = 0;
    for (uint32_t unit = arguments; unit < graph->count; unit++)
        note_unit(graph, unit);
    place(&sweep, graph->count - 1);
    for (uint32_t unit = arguments; unit + 1 < graph->count; unit++)
        if (graph->units[unit].users == 0)
            make_ready(&sweep, unit);
    while (sweep.left)
        run_next(&sweep);
    graph->placed = graph->count - arguments;
}
