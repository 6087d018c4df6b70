/* Other orders for the same local program.
 *
 * Units: a kernel with what is fused into it, the members of one combined collective, a whole loop or branch
 * (whose inside keeps its order), or a barrier, which has no kernel and stands between its operands and all
 * that reads its results. An order of units that respects which buffers they read becomes
 * an order of kernels (price_depth_first: what the memory of a plan is priced in beside program order) or
 * of steps (price_reorder): what is fused stands right before the first kernel that reads it.
 *
 * depth first: from the results backward, each operand's whole cone before the next operand's; cones that
 * are read from elsewhere too come first, then large ones. This is the order in which XLA compiles for
 * CPUs whatever the order in the text. Cones are summed over paths, so that most sums reach their cap:
 * units for the readers, and for the bytes what all units summed so far make. So of deep cones the one
 * summed last comes first, and the order of summing matters: operands in their order, from the results
 * backward, as XLA does it.
 *
 * memory: of the units that are ready the one that frees most. Gathers of weights grow memory whenever
 * they come, so that this greedy order makes them all before the forward pass: docs/performance.md has
 * figures. */
#include "cost/gathered.h"
#include "cost/graph.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- units */
uint32_t price_unit_end(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t kernel)
{
    const struct spmd_step *steps = local->steps;
    const struct kernel *k = scratch->kernels;
    uint32_t step = k[kernel].step, last = kernel;
    if (steps[step].kind == SPMD_LOOP || steps[step].kind == SPMD_BRANCH) {
        while (k[last].step != scratch->loop_end[step])
            last++;
    } else if (steps[step].combined) {
        while (last + 1 < scratch->kernel_count && steps[k[last + 1].step].combined == steps[step].combined)
            last++;
    }
    return last;
}

/* a unit without kernels */
static inline bool is_barrier(const struct unit *unit)
{
    return unit->first > unit->last;
}

static void add_read(struct price_graph *graph, uint32_t self, uint32_t from)
{
    if (from == self || graph->units[from].read_by == self + 1)
        return;
    graph->units[from].read_by = self + 1;
    graph->units[from].users++;
    VEC_PUSH(&graph->edges, from);
}

/* a kernel's or barrier's roots, and the barrier that it is behind */
static void add_roots(struct price_graph *graph, uint32_t self, uint32_t roots, uint32_t count,
                      uint32_t behind)
{
    for (uint32_t root = roots; root < roots + count; root++) {
        uint32_t from = graph->unit_of[graph->scratch->pool[root].value];
        if (from != NDA_NONE)
            add_read(graph, self, from);
    }
    if (behind && graph->barriers)
        add_read(graph, self, graph->local->argument_count + behind - 1);
}

static void add_reads(struct price_graph *graph, uint32_t self)
{
    struct unit *unit = &graph->units[self];
    unit->reads = (uint32_t)graph->edges.count;
    if (is_barrier(unit)) {
        const struct barrier *barrier = &graph->scratch->barriers[self - graph->local->argument_count];
        add_roots(graph, self, barrier->roots, barrier->root_count, barrier->behind);
    }
    for (uint32_t k = unit->first, more = !is_barrier(unit); more;
         k = more = price_next_in_unit(graph, unit, k)) {
        const struct kernel *kernel = &graph->scratch->kernels[k];
        add_roots(graph, self, kernel->roots, kernel->root_count, kernel->behind);
    }
    unit->read_count = (uint32_t)graph->edges.count - unit->reads;
}

/* the unit that begins with a kernel */
static void add_unit(struct price_graph *graph, uint32_t kernel)
{
    const struct price_scratch *scratch = graph->scratch;
    struct unit *unit = &graph->units[graph->count];
    bool chained = scratch->kernels[kernel].next; /* a tuple, too (reductions.c) */
    *unit = (struct unit){.first = kernel,
                          .last = chained ? kernel : price_unit_end(scratch, graph->local, kernel)};
    for (uint32_t k = kernel, more = 1; more; k = more = price_next_in_unit(graph, unit, k)) {
        const struct spmd_step *step = &graph->local->steps[scratch->kernels[k].step];
        for (uint32_t value = step->results; value < step->results + step->result_count; value++)
            graph->unit_of[value] = graph->count;
        for (uint32_t value = step->results; graph->weighs && value < step->results + step->result_count;
             value++)
            unit->bytes += scratch->values[value].state == VALUE_BUFFER && !scratch->values[value].inner
                               ? stored_bytes(scratch, graph->local, value)
                               : 0;
    }
    graph->count++;
}

/* what is made for a gather alone counts where it is made, and where it is gathered from */
static void add_gathered(struct price_graph *graph)
{
    const struct price_scratch *scratch = graph->scratch;
    for (uint32_t k = 0; k < scratch->kernel_count; k++) {
        const struct spmd_step *step = &graph->local->steps[scratch->kernels[k].step];
        int64_t bytes = price_gathered_copy(scratch, graph->local, step);
        if (!bytes)
            continue;
        const struct spmd_step *by = &graph->local->steps[price_gathered_by(scratch, graph->local, step)];
        graph->units[graph->unit_of[by->results]].beside += bytes;
        if (by != step)
            graph->units[graph->unit_of[step->results]].beside -= bytes;
    }
}

static struct price_graph *begin_units(struct price_scratch *scratch, const struct spmd_local *local,
                                       struct price_graph **kept, bool weighs)
{
    if (!*kept)
        *kept = mem_zalloc(1, sizeof **kept);
    struct price_graph *graph = *kept;
    graph->local = local;
    graph->scratch = scratch;
    graph->weighs = weighs;
    graph->edges.count = graph->stack.count = 0;
    graph->placed = graph->barriers = 0;
    graph->ordered_inside = false;
    GROW(graph->units, graph->unit_room,
         local->argument_count + scratch->barrier_count + scratch->kernel_count + 1);
    GROW(graph->unit_of, graph->unit_of_room, (size_t)local->value_count + 1);
    memset(graph->unit_of, 0xff, (size_t)local->value_count * sizeof *graph->unit_of); /* NDA_NONE */
    GROW(graph->order, graph->order_room, scratch->barrier_count + scratch->kernel_count + 1);
    for (uint32_t argument = 0; argument < local->argument_count; argument++) {
        graph->units[argument] = (struct unit){.bytes = local->values[argument].bytes, .state = UNIT_PLACED};
        graph->unit_of[argument] = argument;
    }
    graph->count = local->argument_count;
    return graph;
}

static void add_units(struct price_graph *graph, uint32_t first, uint32_t count)
{
    const struct kernel *kernels = graph->scratch->kernels;
    graph->whole = count == graph->scratch->kernel_count;
    for (uint32_t k = first; k < first + count; k++)
        if (!kernels[k].follows) {
            add_unit(graph, k);
            k = graph->units[graph->count - 1].last;
        }
    for (uint32_t i = graph->local->argument_count; i < graph->count; i++)
        add_reads(graph, i);
}

void price_region_units(struct price_scratch *scratch, const struct spmd_local *local,
                        struct price_graph **kept, uint32_t first, uint32_t count)
{
    add_units(begin_units(scratch, local, kept, false), first, count);
}

/* the units of a program that price_fuse has seen */
static struct price_graph *make_units(struct price_scratch *scratch, const struct spmd_local *local,
                                      bool weighs)
{
    struct price_graph *graph = begin_units(scratch, local, &scratch->graph, weighs);
    scratch->hidden_graph = false;
    for (graph->barriers = 0; graph->barriers < scratch->barrier_count; graph->barriers++)
        graph->units[graph->count++] = (struct unit){.first = 1};
    add_units(graph, 0, (uint32_t)scratch->kernel_count);
    if (scratch->least_order)
        add_gathered(graph);
    price_find_overwrites(graph);
    return graph;
}

/* ---------------------------------------------------------------- depth first */
static int by_cone(const void *left, const void *right)
{
    const struct read *read = left, *other_read = right;
    return read->shared != other_read->shared ? (read->shared < other_read->shared ? 1 : -1)
           : read->cone != other_read->cone   ? (read->cone < other_read->cone ? 1 : -1)
           : read->unit < other_read->unit    ? -1
                                              : read->unit > other_read->unit;
}

enum { INSERTION_MOST = 16 }; /* sorted by insertion; not tuned */

/* most units read a few; what returns the results reads hundreds */
static void sort_reads(struct read *read, size_t count)
{
    if (count > INSERTION_MOST) {
        qsort(read, count, sizeof *read, by_cone);
        return;
    }
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && by_cone(&read[k], &read[k - 1]) < 0; k--) {
            struct read swap = read[k];
            read[k] = read[k - 1];
            read[k - 1] = swap;
        }
}

static void push_read(struct price_graph *graph, uint32_t unit)
{
    const struct unit *r = &graph->units[unit];
    if (!r->state)
        VEC_PUSH(&graph->reads, ((struct read){r->shared, r->cone, unit}));
}

/* puts what a unit reads, and waits for, and is not yet placed on the stack, what goes first on top */
static void push_reads(struct price_graph *graph, const struct unit *other_unit, bool by_cones)
{
    graph->reads.count = 0;
    for (uint32_t k = 0; k < other_unit->read_count; k++)
        push_read(graph, graph->edges.at[other_unit->reads + k]);
    for (uint32_t k = other_unit->waits_for; k; k = graph->waits.at[k - 1].next_waited)
        push_read(graph, graph->waits.at[k - 1].reader);
    if (by_cones)
        sort_reads(graph->reads.at, graph->reads.count);
    for (size_t k = graph->reads.count; k-- > 0;)
        VEC_PUSH(&graph->stack, graph->reads.at[k].unit);
}

/* places every unit that the last one needs after what it reads */
static void visit(struct price_graph *graph, bool by_cones)
{
    graph->placed = 0;
    VEC_PUSH(&graph->stack, graph->count - 1);
    while (graph->stack.count) {
        uint32_t at = graph->stack.at[graph->stack.count - 1];
        struct unit *unit = &graph->units[at];
        if (unit->state) {
            graph->stack.count--;
            if (unit->state == UNIT_OPEN)
                graph->order[graph->placed++] = at;
            unit->state = UNIT_PLACED;
            continue;
        }
        unit->state = UNIT_OPEN;
        push_reads(graph, unit, by_cones);
    }
}

/* over the units in the order in which they are placed, which they leave */
static void weigh_cones(struct price_graph *graph)
{
    int64_t all = 0, units = graph->count;
    for (uint32_t i = 0; i < graph->local->argument_count; i++) {
        struct unit *unit = &graph->units[i];
        bool counts = !graph->scratch->least_order;
        unit->shared = counts && unit->users ? unit->users - 1 : 0;
        unit->cone = counts ? unit->bytes : 0;
        all += unit->cone;
    }
    for (uint32_t i = 0; i < graph->placed; i++) {
        struct unit *unit = &graph->units[graph->order[i]];
        unit->shared = unit->users ? unit->users - 1 : 0;
        unit->cone = unit->bytes;
        unit->state = UNIT_WAITS;
        all += unit->bytes;
        for (uint32_t k = 0; k < unit->read_count; k++) {
            unit->shared += graph->units[graph->edges.at[unit->reads + k]].shared;
            unit->cone += graph->units[graph->edges.at[unit->reads + k]].cone;
        }
        unit->shared = unit->shared < units ? unit->shared : units;
        unit->cone = unit->cone < all ? unit->cone : all;
    }
}

static void order_depth_first(struct price_graph *graph)
{
    visit(graph, false);
    weigh_cones(graph);
    visit(graph, true);
}

static void put_in_line(struct price_graph *graph, const struct unit *unit, uint32_t *count)
{
    for (uint32_t k = unit->first, more = !is_barrier(unit); more;
         k = more = price_next_in_unit(graph, unit, k))
        graph->line[(*count)++] = graph->scratch->kernels[graph->ordered_inside ? graph->inside[k] : k];
}

/* ---------------------------------------------------------------- memory */
/* bytes freed when the unit has run, less those it makes; arguments and results are never freed */
static int64_t frees(const struct price_graph *graph, uint32_t self)
{
    const struct unit *unit = &graph->units[self];
    int64_t bytes = -unit->bytes - unit->beside;
    for (uint32_t k = 0; k < unit->read_count; k++) {
        uint32_t from = graph->edges.at[unit->reads + k];
        if (from >= graph->local->argument_count && graph->links[from].left == 1)
            bytes += graph->units[from].bytes;
    }
    return bytes;
}

/* does a run before b? Of equals the one that got ready last. */
static inline bool goes_first(const struct ready *a, const struct ready *b)
{
    return a->bytes != b->bytes   ? a->bytes > b->bytes
           : a->users != b->users ? a->users > b->users
                                  : a->number > b->number;
}

static void sift_down(struct price_graph *graph, struct ready entry)
{
    struct ready *heap = graph->ready.at;
    size_t at = 0, count = graph->ready.count;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && goes_first(&heap[child + 1], &heap[child]);
        if (!goes_first(&heap[child], &entry))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = entry;
}

/* puts a unit into the heap, or once more, when it frees more than before: the entry before is then stale */
static void add_ready(struct price_graph *graph, uint32_t self)
{
    const struct unit *unit = &graph->units[self];
    struct ready entry = {frees(graph, self), unit->users, graph->numbered++, self};
    graph->links[self].entry = entry.number;
    size_t at = graph->ready.count;
    VEC_PUSH(&graph->ready, entry);
    for (struct ready *heap = graph->ready.at; at && goes_first(&entry, &heap[(at - 1) / 2]);
         heap[at] = entry) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
}

/* links: of every unit its readers, feeds[start .. start + users), and how many of them and of what it reads
 * are not placed */
static void link_units(struct price_graph *graph)
{
    uint32_t arguments = graph->local->argument_count, start = 0;
    GROW(graph->links, graph->link_room, graph->count);
    GROW(graph->feeds, graph->feed_room, graph->edges.count);
    for (uint32_t i = 0; i < graph->count; i++) {
        graph->links[i] = (struct link){.start = start, .left = graph->units[i].users};
        start += graph->units[i].users;
    }
    for (uint32_t i = arguments; i < graph->count; i++)
        for (uint32_t k = 0; k < graph->units[i].read_count; k++) {
            struct link *from = &graph->links[graph->edges.at[graph->units[i].reads + k]];
            graph->feeds[from->start + from->filled++] = i;
            graph->links[i].waits += from >= &graph->links[arguments];
        }
    for (size_t k = 0; k < graph->waits.count; k++)
        graph->links[graph->waits.at[k].writer].waits++;
}

/* what became the last reader of something frees more now */
static void raise_readers(struct price_graph *graph, uint32_t of)
{
    const struct link *link = &graph->links[of];
    for (uint32_t k = link->start; k < link->start + link->filled; k++) {
        uint32_t reader = graph->feeds[k];
        if (graph->units[reader].state == UNIT_OPEN && reader + 1 < graph->count)
            add_ready(graph, reader);
    }
}

/* one less that the unit waits for */
static void go_on(struct price_graph *graph, uint32_t self)
{
    if (--graph->links[self].waits || self + 1 == graph->count)
        return;
    graph->units[self].state = UNIT_OPEN;
    add_ready(graph, self);
}

static void place_next(struct price_graph *graph, uint32_t self)
{
    const struct unit *unit = &graph->units[self];
    graph->units[self].state = UNIT_PLACED;
    graph->order[graph->placed++] = self;
    for (uint32_t k = 0; k < unit->read_count; k++) {
        uint32_t from = graph->edges.at[unit->reads + k];
        if (--graph->links[from].left == 1 && from >= graph->local->argument_count)
            raise_readers(graph, from);
    }
    const struct link *link = &graph->links[self];
    for (uint32_t k = link->start; k < link->start + link->filled; k++)
        go_on(graph, graph->feeds[k]);
    for (uint32_t k = unit->releases; k; k = graph->waits.at[k - 1].next_released)
        go_on(graph, graph->waits.at[k - 1].writer);
}

static void order_by_memory(struct price_graph *graph)
{
    link_units(graph);
    graph->placed = graph->numbered = 0;
    graph->ready.count = 0;
    for (uint32_t i = graph->local->argument_count; i < graph->count; i++)
        graph->units[i].state = UNIT_WAITS;
    for (int reading = 0; reading < 2; reading++) /* what reads nothing is ready before any argument is */
        for (uint32_t i = graph->local->argument_count; i + 1 < graph->count; i++)
            if (!graph->links[i].waits && (graph->units[i].read_count > 0) == reading) {
                graph->units[i].state = UNIT_OPEN;
                add_ready(graph, i);
            }
    while (graph->ready.count) {
        struct ready best = graph->ready.at[0], last = graph->ready.at[--graph->ready.count];
        if (graph->ready.count)
            sift_down(graph, last);
        if (graph->units[best.unit].state == UNIT_OPEN && graph->links[best.unit].entry == best.number)
            place_next(graph, best.unit);
    }
    graph->order[graph->placed++] = graph->count - 1;
}

/* ---------------------------------------------------------------- insides */
/* Puts kernels first .. first + count - 1, a part of a loop or branch, into the order that hides collectives;
 * of a region in it its kernels stay together, in the order that they have by now. */
static void order_part(struct price_graph *outer, struct price_scratch *scratch, uint32_t first,
                       uint32_t count)
{
    uint32_t *inside = outer->inside, placed = 0;
    price_region_units(scratch, outer->local, &scratch->region_graph, first, count);
    struct price_graph *graph = scratch->region_graph;
    price_order_hiding(graph);
    GROW(graph->inside, graph->inside_room, count);
    for (uint32_t i = 0; i < graph->placed; i++) {
        const struct unit *unit = &graph->units[graph->order[i]];
        for (uint32_t k = unit->first, more = 1; more; k = more = price_next_in_unit(graph, unit, k))
            graph->inside[placed++] = inside[k];
    }
    BASE_CHECK(placed == count);
    memcpy(inside + first, graph->inside, count * sizeof *inside);
}

static void begin_insides(struct price_graph *graph)
{
    uint32_t count = (uint32_t)graph->scratch->kernel_count;
    GROW(graph->inside, graph->inside_room, count);
    for (uint32_t k = 0; k < count; k++)
        graph->inside[k] = k;
    graph->ordered_inside = true;
}

/* inside: what stands at each kernel's place once loops and branches, innermost first, have each part in its
 * own order, as each is a computation of the module that is scheduled */
static void order_insides(struct price_graph *graph, struct price_scratch *scratch)
{
    graph->stack.count = 0;        /* first kernels of the parts that are open */
    graph->ordered_inside = false; /* whatever order they had */
    for (uint32_t k = 0; k < scratch->kernel_count; k++) {
        if (!(scratch->kernels[k].traits & KERNEL_MARKS))
            continue;
        enum spmd_step_kind kind = (enum spmd_step_kind)graph->local->steps[scratch->kernels[k].step].kind;
        bool opens = kind == SPMD_LOOP || kind == SPMD_BRANCH;
        bool parts = kind == SPMD_LOOP_BODY || kind == SPMD_BRANCH_NEXT;
        if (opens && !graph->ordered_inside)
            begin_insides(graph);
        if (parts || kind == SPMD_LOOP_END || kind == SPMD_BRANCH_END) {
            uint32_t first = graph->stack.at[--graph->stack.count];
            if (kind != SPMD_LOOP_BODY && k > first)
                order_part(graph, scratch, first, k - first);
        }
        if (opens || parts)
            VEC_PUSH(&graph->stack, k + 1);
    }
}

/* ---------------------------------------------------------------- lines */
/* the kernels in the order of the units; what no result needs stands before the results */
static const struct kernel *line_of(struct price_graph *graph)
{
    const struct price_scratch *scratch = graph->scratch;
    uint32_t count = 0;
    GROW(graph->line, graph->line_room, scratch->kernel_count);
    for (uint32_t i = 0; i + 1 < graph->placed; i++)
        put_in_line(graph, &graph->units[graph->order[i]], &count);
    for (uint32_t i = graph->local->argument_count; i + 1 < graph->count; i++)
        if (!graph->units[i].state)
            put_in_line(graph, &graph->units[i], &count);
    put_in_line(graph, &graph->units[graph->count - 1], &count);
    BASE_CHECK(count == scratch->kernel_count);
    return graph->line;
}

const struct kernel *price_depth_first(struct price_scratch *scratch, const struct spmd_local *local)
{
    if (!scratch->kernel_count)
        return scratch->kernels;
    struct price_graph *graph = make_units(scratch, local, true);
    order_depth_first(graph);
    return line_of(graph);
}

const struct price_graph *price_hidden_graph(struct price_scratch *scratch, const struct spmd_local *local)
{
    if (!scratch->hidden_graph) {
        price_run_regions(scratch, local, NULL);
        price_order_hiding(make_units(scratch, local, false));
        scratch->hidden_graph = true;
    }
    return scratch->graph;
}

const struct kernel *price_hiding(struct price_scratch *scratch, const struct spmd_local *local)
{
    if (!scratch->kernel_count)
        return scratch->kernels;
    price_hidden_graph(scratch, local);
    order_insides(scratch->graph, scratch);
    return line_of(scratch->graph);
}

const struct kernel *price_by_memory(struct price_scratch *scratch)
{
    if (!scratch->kernel_count)
        return scratch->kernels;
    order_by_memory(scratch->graph);
    return line_of(scratch->graph);
}

/* ---------------------------------------------------------------- steps */
struct steps {
    uint32_t *order, count;
    uint8_t *placed;
};

/* a step, after the steps of what it reads that are not placed: those are fused or free */
static void place_step(const struct price_graph *graph, struct steps *out, uint32_t step)
{
    const struct spmd_step *entry = &graph->local->steps[step];
    if (out->placed[step])
        return;
    out->placed[step] = 1;
    for (uint32_t operand = 0; operand < entry->operand_count; operand++) {
        uint32_t from = graph->local->values[graph->local->operands[entry->operands + operand]].step;
        if (from != SPMD_NONE)
            place_step(graph, out, from);
    }
    out->order[out->count++] = step;
}

/* the operands of what runs as one with a unit's first kernel stand before it, as the members of a tuple stay
 * beside each other */
static void place_before_chain(const struct price_graph *graph, struct steps *out, const struct unit *unit)
{
    const struct kernel *kernels = graph->scratch->kernels;
    for (uint32_t k = unit->first, more = 1; more && unit->first == unit->last; k = more = kernels[k].next) {
        const struct spmd_step *entry = &graph->local->steps[kernels[k].step];
        for (uint32_t operand = 0; entry->combined && operand < entry->operand_count; operand++) {
            uint32_t from = graph->local->values[graph->local->operands[entry->operands + operand]].step;
            if (from != SPMD_NONE)
                place_step(graph, out, from);
        }
    }
}

/* what the steps first .. last read from outside of them stands before the first */
static void place_outside(const struct price_graph *graph, struct steps *out, uint32_t first, uint32_t last)
{
    for (uint32_t step = first; step <= last && first != last; step++) {
        const struct spmd_step *entry = &graph->local->steps[step];
        for (uint32_t operand = 0; operand < entry->operand_count; operand++) {
            uint32_t from = graph->local->values[graph->local->operands[entry->operands + operand]].step;
            if (from != SPMD_NONE && from < first)
                place_step(graph, out, from);
        }
    }
}

/* a loop or branch, each part of it in its own order, what no kernel reads before the part's end */
static void place_region(struct price_graph *graph, struct steps *out, const struct unit *unit)
{
    graph->stack.count = 0; /* the marks behind which the open parts are */
    for (uint32_t k = unit->first; k <= unit->last; k++) {
        uint32_t step = graph->scratch->kernels[graph->ordered_inside ? graph->inside[k] : k].step;
        enum spmd_step_kind kind = (enum spmd_step_kind)graph->local->steps[step].kind;
        bool opens = kind == SPMD_LOOP || kind == SPMD_BRANCH;
        bool parts = kind == SPMD_LOOP_BODY || kind == SPMD_BRANCH_NEXT;
        if (opens)
            place_outside(graph, out, step, graph->scratch->loop_end[step]);
        if (parts || kind == SPMD_LOOP_END || kind == SPMD_BRANCH_END)
            for (uint32_t inside = graph->stack.at[--graph->stack.count] + 1; inside < step; inside++)
                place_step(graph, out, inside);
        place_step(graph, out, step);
        if (opens || parts)
            VEC_PUSH(&graph->stack, step);
    }
}

static void place_unit(struct price_graph *graph, struct steps *out, const struct unit *unit)
{
    const struct kernel *kernels = graph->scratch->kernels;
    if (is_barrier(unit))
        return;
    uint32_t first = kernels[unit->first].step, last = kernels[unit->last].step;
    if (kernels[unit->first].traits & KERNEL_OPENS) {
        place_region(graph, out, unit);
        return;
    }
    place_before_chain(graph, out, unit);
    place_outside(graph, out, first, last);
    for (uint32_t step = first; step <= last; step++)
        place_step(graph, out, step);
    for (uint32_t k = unit->first; first == last && kernels[k].next; k = kernels[k].next)
        place_step(graph, out, kernels[kernels[k].next].step);
}

void price_reorder(struct spmd_local *local, const struct cost_machine *machine,
                   struct price_scratch **scratch, enum cost_order order)
{
    if (order == COST_ORDER_EITHER || order == COST_ORDER_PROGRAM)
        return;
    if (!*scratch)
        *scratch = price_scratch_create(NULL);
    price_prepare(*scratch, local, machine);
    price_fuse(*scratch, local);
    price_combine(*scratch, local);
    price_siblings(*scratch, local);
    price_combine_reductions(*scratch, local);
    if (order == COST_ORDER_HIDING) {
        price_times(*scratch, local, machine);
        price_run_regions(*scratch, local, NULL);
    }
    if (!(*scratch)->kernel_count)
        return;
    struct price_graph *graph = make_units(*scratch, local, order != COST_ORDER_HIDING);
    if (order == COST_ORDER_DEPTH_FIRST)
        order_depth_first(graph);
    else if (order == COST_ORDER_HIDING)
        price_order_hiding(graph);
    else
        order_by_memory(graph);
    if (order == COST_ORDER_HIDING)
        order_insides(graph, *scratch);
    struct steps out = {.order = mem_zalloc((size_t)local->step_count + 1, sizeof *out.order),
                        .placed = mem_zalloc((size_t)local->step_count + 1, 1)};
    for (uint32_t i = 0; i + 1 < graph->placed; i++)
        place_unit(graph, &out, &graph->units[graph->order[i]]);
    for (uint32_t step = 0; step < local->step_count; step++) /* whatever no result needs, and the results */
        place_step(graph, &out, step);
    spmd_local_reorder(local, out.order);
    local->order = (uint8_t)order;
    free(out.order);
    free(out.placed);
}
