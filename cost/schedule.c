/* Other orders for the same local program.
 *
 * Units: a kernel with what is fused into it, the members of one combined collective, or a whole loop or
 * branch (whose inside keeps its order). An order of units that respects which buffers they read becomes
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
#include "cost/graph.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- units */
static uint32_t unit_end(const struct price_graph *g, uint32_t kernel)
{
    const struct spmd_step *steps = g->l->steps;
    const struct kernel *k = g->s->kernels;
    uint32_t step = k[kernel].step, last = kernel;
    if (steps[step].kind == SPMD_LOOP || steps[step].kind == SPMD_BRANCH) {
        while (k[last].step != g->s->loop_end[step])
            last++;
    } else if (steps[step].combined) {
        while (last + 1 < g->s->kernel_count && steps[k[last + 1].step].combined == steps[step].combined)
            last++;
    }
    return last;
}

static void add_reads(struct price_graph *g, struct unit *u, uint32_t self)
{
    u->reads = (uint32_t)g->edges.count;
    for (uint32_t k = u->first; k <= u->last; k++) {
        const struct kernel *kernel = &g->s->kernels[k];
        for (uint32_t r = 0; r < kernel->root_count; r++) {
            uint32_t value = g->s->pool[kernel->roots + r].value, step = g->l->values[value].step;
            uint32_t from = step == SPMD_NONE ? value : g->unit_of[step];
            if (from == self || g->units[from].read_by == self + 1)
                continue;
            g->units[from].read_by = self + 1;
            g->units[from].users++;
            VEC_PUSH(&g->edges, from);
        }
    }
    u->read_count = (uint32_t)g->edges.count - u->reads;
}

static void add_unit(struct price_graph *g, uint32_t kernel)
{
    const struct price_scratch *s = g->s;
    struct unit *u = &g->units[g->count];
    *u = (struct unit){.first = kernel, .last = unit_end(g, kernel)};
    for (uint32_t k = u->first; k <= u->last; k++) {
        const struct spmd_step *t = &g->l->steps[s->kernels[k].step];
        g->unit_of[s->kernels[k].step] = g->count;
        for (uint32_t r = t->results; r < t->results + t->result_count; r++)
            u->bytes += s->values[r].state == VALUE_BUFFER ? g->l->values[r].bytes : 0;
    }
    add_reads(g, u, g->count);
    g->count++;
}

/* the units of a program that price_fuse has seen */
static struct price_graph *make_units(struct price_scratch *s, const struct spmd_local *l)
{
    if (!s->graph)
        s->graph = mem_zalloc(1, sizeof *s->graph);
    struct price_graph *g = s->graph;
    g->l = l;
    g->s = s;
    g->edges.count = g->stack.count = 0;
    g->placed = 0;
    GROW(g->units, g->unit_room, l->argument_count + s->kernel_count + 1);
    GROW(g->unit_of, g->unit_of_room, (size_t)l->step_count + 1);
    GROW(g->order, g->order_room, s->kernel_count + 1);
    for (uint32_t a = 0; a < l->argument_count; a++)
        g->units[a] = (struct unit){.bytes = l->values[a].bytes, .state = UNIT_PLACED};
    g->count = l->argument_count;
    for (uint32_t k = 0; k < s->kernel_count; k = g->units[g->count - 1].last + 1)
        add_unit(g, k);
    return g;
}

/* ---------------------------------------------------------------- depth first */
static int by_cone(const void *a, const void *b)
{
    const struct read *x = a, *y = b;
    return x->shared != y->shared ? (x->shared < y->shared ? 1 : -1)
           : x->cone != y->cone   ? (x->cone < y->cone ? 1 : -1)
           : x->unit < y->unit    ? -1
                                  : x->unit > y->unit;
}

enum { INSERTION_MOST = 16 }; /* sorted by insertion; not tuned */

/* most units read a few; what returns the results reads hundreds */
static void sort_reads(struct read *r, size_t count)
{
    if (count > INSERTION_MOST) {
        qsort(r, count, sizeof *r, by_cone);
        return;
    }
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && by_cone(&r[k], &r[k - 1]) < 0; k--) {
            struct read swap = r[k];
            r[k] = r[k - 1];
            r[k - 1] = swap;
        }
}

/* puts what a unit reads and is not yet placed on the stack, what goes first on top */
static void push_reads(struct price_graph *g, const struct unit *u, bool by_cones)
{
    g->reads.count = 0;
    for (uint32_t k = 0; k < u->read_count; k++) {
        uint32_t unit = g->edges.at[u->reads + k];
        const struct unit *r = &g->units[unit];
        if (!r->state)
            VEC_PUSH(&g->reads, ((struct read){r->shared, r->cone, unit}));
    }
    if (by_cones)
        sort_reads(g->reads.at, g->reads.count);
    for (size_t k = g->reads.count; k-- > 0;)
        VEC_PUSH(&g->stack, g->reads.at[k].unit);
}

/* places every unit that the last one needs after what it reads */
static void visit(struct price_graph *g, bool by_cones)
{
    g->placed = 0;
    VEC_PUSH(&g->stack, g->count - 1);
    while (g->stack.count) {
        uint32_t at = g->stack.at[g->stack.count - 1];
        struct unit *u = &g->units[at];
        if (u->state) {
            g->stack.count--;
            if (u->state == UNIT_OPEN)
                g->order[g->placed++] = at;
            u->state = UNIT_PLACED;
            continue;
        }
        u->state = UNIT_OPEN;
        push_reads(g, u, by_cones);
    }
}

/* over the units in the order in which they are placed, which they leave */
static void weigh_cones(struct price_graph *g)
{
    int64_t all = 0, units = g->count;
    for (uint32_t i = 0; i < g->l->argument_count; i++) {
        struct unit *u = &g->units[i];
        u->shared = u->users ? u->users - 1 : 0;
        u->cone = u->bytes;
        all += u->bytes;
    }
    for (uint32_t i = 0; i < g->placed; i++) {
        struct unit *u = &g->units[g->order[i]];
        u->shared = u->users ? u->users - 1 : 0;
        u->cone = u->bytes;
        u->state = UNIT_WAITS;
        all += u->bytes;
        for (uint32_t k = 0; k < u->read_count; k++) {
            u->shared += g->units[g->edges.at[u->reads + k]].shared;
            u->cone += g->units[g->edges.at[u->reads + k]].cone;
        }
        u->shared = u->shared < units ? u->shared : units;
        u->cone = u->cone < all ? u->cone : all;
    }
}

static void order_depth_first(struct price_graph *g)
{
    visit(g, false);
    weigh_cones(g);
    visit(g, true);
}

static void put_in_line(struct price_graph *g, const struct unit *u, uint32_t *count)
{
    for (uint32_t k = u->first; k <= u->last; k++)
        g->line[(*count)++] = g->s->kernels[k];
}

const struct kernel *price_depth_first(struct price_scratch *s, const struct spmd_local *l)
{
    uint32_t count = 0;
    if (!s->kernel_count)
        return s->kernels;
    struct price_graph *g = make_units(s, l);
    order_depth_first(g);
    GROW(g->line, g->line_room, s->kernel_count);
    for (uint32_t i = 0; i + 1 < g->placed; i++)
        put_in_line(g, &g->units[g->order[i]], &count);
    for (uint32_t i = l->argument_count; i + 1 < g->count; i++)
        if (!g->units[i].state) /* what no result needs */
            put_in_line(g, &g->units[i], &count);
    put_in_line(g, &g->units[g->count - 1], &count);
    return g->line;
}

/* ---------------------------------------------------------------- memory */
static int64_t frees(const struct price_graph *g, const struct unit *u, const uint32_t *left)
{
    int64_t bytes = -u->bytes;
    for (uint32_t k = 0; k < u->read_count; k++) {
        uint32_t from = g->edges.at[u->reads + k];
        if (from >= g->l->argument_count && left[from] == 1)
            bytes += g->units[from].bytes;
    }
    return bytes;
}

struct lists {
    uint32_t *left;          /* per unit: readers that are not placed */
    uint32_t *waits;         /* per unit: units it reads that are not placed */
    uint32_t *start, *feeds; /* per unit: its readers, feeds[start[i] .. start[i + 1]) */
    VEC(uint32_t) ready;
};

static void make_lists(struct price_graph *g, struct lists *s)
{
    uint32_t arguments = g->l->argument_count, *fill = mem_zalloc((size_t)g->count + 1, sizeof *fill);
    s->left = mem_zalloc((size_t)g->count + 1, sizeof *s->left);
    s->waits = mem_zalloc((size_t)g->count + 1, sizeof *s->waits);
    s->start = mem_zalloc((size_t)g->count + 2, sizeof *s->start);
    for (uint32_t i = 0; i < g->count; i++) {
        s->left[i] = g->units[i].users;
        s->start[i + 1] = s->start[i] + g->units[i].users;
    }
    s->feeds = mem_zalloc((size_t)s->start[g->count] + 1, sizeof *s->feeds);
    for (uint32_t i = arguments; i < g->count; i++)
        for (uint32_t k = 0; k < g->units[i].read_count; k++) {
            uint32_t from = g->edges.at[g->units[i].reads + k];
            s->feeds[s->start[from] + fill[from]++] = i;
            s->waits[i] += from >= arguments;
        }
    for (uint32_t i = arguments; i + 1 < g->count; i++)
        if (!s->waits[i])
            VEC_PUSH(&s->ready, i);
    free(fill);
}

static uint32_t take_best(struct price_graph *g, struct lists *s)
{
    size_t best = 0;
    int64_t most = INT64_MIN;
    for (size_t i = 0; i < s->ready.count; i++) {
        int64_t bytes = frees(g, &g->units[s->ready.at[i]], s->left);
        if (bytes > most || (bytes == most && s->ready.at[i] < s->ready.at[best])) {
            most = bytes;
            best = i;
        }
    }
    uint32_t at = s->ready.at[best];
    s->ready.at[best] = s->ready.at[--s->ready.count];
    return at;
}

static void order_by_memory(struct price_graph *g)
{
    struct lists s = {0};
    make_lists(g, &s);
    while (s.ready.count) {
        uint32_t at = take_best(g, &s);
        g->order[g->placed++] = at;
        for (uint32_t k = 0; k < g->units[at].read_count; k++)
            s.left[g->edges.at[g->units[at].reads + k]]--;
        for (uint32_t k = s.start[at]; k < s.start[at + 1]; k++)
            if (--s.waits[s.feeds[k]] == 0 && s.feeds[k] + 1 < g->count)
                VEC_PUSH(&s.ready, s.feeds[k]);
    }
    g->order[g->placed++] = g->count - 1;
    free(s.left);
    free(s.waits);
    free(s.start);
    free(s.feeds);
    VEC_FREE(&s.ready);
}

/* ---------------------------------------------------------------- steps */
struct steps {
    uint32_t *order, count;
    uint8_t *placed;
};

/* a step, after the steps of what it reads that are not placed: those are fused or free */
static void place_step(const struct price_graph *g, struct steps *out, uint32_t step)
{
    const struct spmd_step *t = &g->l->steps[step];
    if (out->placed[step])
        return;
    out->placed[step] = 1;
    for (uint32_t o = 0; o < t->operand_count; o++) {
        uint32_t from = g->l->values[g->l->operands[t->operands + o]].step;
        if (from != SPMD_NONE)
            place_step(g, out, from);
    }
    out->order[out->count++] = step;
}

/* what the steps of a region or combined collective read from outside must stand before its first step */
static void place_unit(const struct price_graph *g, struct steps *out, const struct unit *u)
{
    uint32_t first = g->s->kernels[u->first].step, last = g->s->kernels[u->last].step;
    for (uint32_t step = first; step <= last && first != last; step++) {
        const struct spmd_step *t = &g->l->steps[step];
        for (uint32_t o = 0; o < t->operand_count; o++) {
            uint32_t from = g->l->values[g->l->operands[t->operands + o]].step;
            if (from != SPMD_NONE && from < first)
                place_step(g, out, from);
        }
    }
    for (uint32_t step = first; step <= last; step++)
        place_step(g, out, step);
}

void price_reorder(struct spmd_local *l, struct price_scratch **scratch, enum cost_order order)
{
    if (order == COST_ORDER_EITHER || order == COST_ORDER_PROGRAM)
        return;
    if (!*scratch)
        *scratch = price_scratch_create(NULL);
    price_prepare(*scratch, l);
    price_fuse(*scratch, l);
    if (!(*scratch)->kernel_count)
        return;
    struct price_graph *g = make_units(*scratch, l);
    if (order == COST_ORDER_DEPTH_FIRST)
        order_depth_first(g);
    else
        order_by_memory(g);
    struct steps out = {.order = mem_zalloc((size_t)l->step_count + 1, sizeof *out.order),
                        .placed = mem_zalloc((size_t)l->step_count + 1, 1)};
    for (uint32_t i = 0; i + 1 < g->placed; i++)
        place_unit(g, &out, &g->units[g->order[i]]);
    for (uint32_t step = 0; step < l->step_count; step++) /* whatever no result needs, and the results */
        place_step(g, &out, step);
    spmd_local_reorder(l, out.order);
    free(out.order);
    free(out.placed);
}
