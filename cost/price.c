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
    return __builtin_mul_overflow(ps, trips, &product) || product > INT64_C(4000000000000000000)
               ? INT64_C(4000000000000000000)
               : product;
}

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void run_collective(struct clock *c, const struct spmd_step *t, int64_t ps, int64_t *ready,
                           double overlap)
{
    int64_t hidden = overlap > 0 ? (int64_t)((double)ps * overlap) : 0;
    int64_t start = later(c->compute_ps, *ready);
    for (uint32_t a = 0; a < t->axis_count; a++)
        start = later(start, c->link_ps[t->axes[a]]);
    for (uint32_t a = 0; a < t->axis_count; a++)
        c->link_ps[t->axes[a]] = start + ps;
    c->compute_ps += ps - hidden;
    c->communication_ps += ps;
    *ready = start + ps;
}

static int64_t run_kernel(struct price_scratch *s, const struct spmd_local *l, const struct kernel *k,
                          struct clock *c, double overlap)
{
    const struct spmd_step *t = &l->steps[k->step];
    const struct root *roots = s->pool + k->roots;
    int64_t ps = times_trips(k->ps, t->trips), ready = 0, path = 0;
    for (uint32_t i = 0; i < k->root_count; i++) {
        ready = later(ready, s->times[roots[i].value].ready_ps);
        path = later(path, s->times[roots[i].value].path_ps);
    }
    path += ps;
    if (spmd_step_is_collective(t)) {
        run_collective(c, t, ps, &ready, overlap);
    } else if (step_is_local(t->kind)) {
        c->compute_ps = later(c->compute_ps, ready) + ps;
        if (t->kind == SPMD_OP && step_info(s, t)->class == OP_MATMUL)
            c->matmul_ps += ps;
        else
            c->other_ps += ps;
        ready = c->compute_ps;
    }
    for (uint32_t r = 0; r < t->result_count; r++)
        s->times[t->results + r] = (struct value_times){ready, path};
    return path;
}

/* when everything issued so far is done */
static int64_t finish(const struct clock *c)
{
    int64_t ps = c->compute_ps;
    for (int a = 0; a < MESH_MAX_AXES; a++)
        ps = later(ps, c->link_ps[a]);
    return ps;
}

static void branch_step(struct branch *stack, uint32_t *depth, uint8_t kind, struct clock *c)
{
    if (kind == SPMD_BRANCH) {
        if (*depth < BRANCH_DEPTH)
            stack[*depth] = (struct branch){*c, *c};
        ++*depth;
        return;
    }
    if (*depth == 0 || *depth > BRANCH_DEPTH) {
        *depth -= *depth > 0 && kind == SPMD_BRANCH_END;
        return;
    }
    struct branch *b = &stack[*depth - 1];
    if (finish(c) > finish(&b->slowest))
        b->slowest = *c;
    *c = kind == SPMD_BRANCH_END ? b->slowest : b->before;
    *depth -= kind == SPMD_BRANCH_END;
}

static void run(struct price_scratch *s, const struct spmd_local *l, const struct cost_machine *machine,
                struct price *out)
{
    struct clock c = {0};
    struct branch stack[BRANCH_DEPTH];
    uint32_t depth = 0;
    int64_t longest = 0;
    for (size_t i = 0; i < s->kernel_count; i++) {
        uint8_t kind = l->steps[s->kernels[i].step].kind;
        longest = later(longest, run_kernel(s, l, &s->kernels[i], &c, machine->overlap));
        if (kind == SPMD_BRANCH || kind == SPMD_BRANCH_NEXT || kind == SPMD_BRANCH_END)
            branch_step(stack, &depth, kind, &c);
    }
    out->step_ps = finish(&c);
    out->matmul_ps = c.matmul_ps;
    out->compute_ps = c.matmul_ps + c.other_ps;
    out->communication_ps = c.communication_ps;
    out->exposed_ps = out->step_ps - out->compute_ps;
    out->critical_path_ps = longest;
}

/* what kernels there are and how long each takes */
static struct price_scratch *find_kernels(const struct spmd_local *l, const struct cost_machine *machine,
                                          struct price_scratch **scratch, struct price *out)
{
    if (!*scratch)
        *scratch = price_scratch_create(NULL);
    memset(out, 0, sizeof *out);
    price_prepare(*scratch, l);
    price_fuse(*scratch, l);
    price_times(*scratch, l, machine);
    return *scratch;
}

/* everything but the makespan, of the steps as they stand */
static struct price_scratch *analyse(const struct spmd_local *l, const struct cost_machine *machine,
                                     struct price_scratch **scratch, struct price *out)
{
    struct price_scratch *s = find_kernels(l, machine, scratch, out);
    price_memory(s, l, s->kernels, out);
    return s;
}

/* the larger of two orders' peaks; leaves the scratch as of program order */
static void price_either_order(struct price_scratch *s, const struct spmd_local *l, struct price *out)
{
    price_memory(s, l, price_depth_first(s, l), out);
    int64_t depth_first = out->peak_bytes;
    uint32_t step = out->peak_step;
    price_memory(s, l, s->kernels, out);
    out->program_peak_bytes = out->peak_bytes;
    out->depth_first_peak_bytes = depth_first;
    if (depth_first > out->peak_bytes) {
        out->peak_bytes = depth_first;
        out->peak_step = step;
    }
}

void price_local(const struct spmd_local *l, const struct cost_machine *machine,
                 struct price_scratch **scratch, struct price *out)
{
    struct price_scratch *s = find_kernels(l, machine, scratch, out);
    if (machine->order == COST_ORDER_EITHER)
        price_either_order(s, l, out);
    else
        price_memory(s, l, s->kernels, out);
    run(s, l, machine, out);
}

bool price_reorder_to_peak(struct spmd_local *l, const struct cost_machine *machine, struct price *p)
{
    struct price_scratch *s = NULL;
    struct price there;
    if (p->depth_first_peak_bytes <= p->program_peak_bytes)
        return false;
    price_reorder(l, &s, COST_ORDER_DEPTH_FIRST);
    analyse(l, machine, &s, &there);
    p->peak_step = there.peak_step;
    price_scratch_destroy(s);
    return true;
}

int64_t *price_step_times(const struct spmd_local *l, const struct cost_machine *machine)
{
    struct price_scratch *s = NULL;
    struct price p;
    analyse(l, machine, &s, &p);
    int64_t *times = mem_zalloc((size_t)l->step_count + 1, sizeof *times);
    for (size_t i = 0; i < s->kernel_count; i++)
        times[s->kernels[i].step] = s->kernels[i].ps;
    price_scratch_destroy(s);
    return times;
}

int64_t price_step(const struct spmd_local *l, const struct cost_machine *machine, uint32_t step,
                   const char **algorithm)
{
    const struct spmd_step *t = &l->steps[step];
    if (algorithm)
        *algorithm = "none";
    if (spmd_step_is_collective(t) && !t->combined) {
        int64_t bytes = l->values[t->kind == SPMD_ALL_GATHER ? t->results : l->operands[t->operands]].bytes;
        struct cost_collective c =
            cost_collective_price(machine, l->mesh, t->kind, t->axes, t->axis_count, bytes);
        if (algorithm)
            *algorithm = c.algorithm;
        return c.time_ps;
    }
    if (spmd_step_is_collective(t) && algorithm) { /* the algorithm of the whole tuple */
        int64_t bytes = 0;
        for (uint32_t i = 0; i < l->step_count; i++)
            if (l->steps[i].combined == t->combined)
                bytes += l->values[t->kind == SPMD_ALL_GATHER ? l->steps[i].results
                                                              : l->operands[l->steps[i].operands]]
                             .bytes;
        *algorithm =
            cost_collective_price(machine, l->mesh, t->kind, t->axes, t->axis_count, bytes).algorithm;
    }
    int64_t *times = price_step_times(l, machine), ps = times[step];
    free(times);
    return ps;
}

/* ---------------------------------------------------------------- what stands in memory when */
/* the last kernel at or before a step; 0 when there is none */
static uint32_t kernel_at(const struct price_scratch *s, uint32_t step)
{
    uint32_t low = 0, high = (uint32_t)s->kernel_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (s->kernels[middle].step <= step)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int64_t *price_timeline(const struct spmd_local *l, const struct cost_machine *machine)
{
    struct price_scratch *s = NULL;
    struct price p;
    analyse(l, machine, &s, &p);
    int64_t *alive = mem_zalloc((size_t)l->step_count + 1, sizeof *alive);
    int64_t boundary = p.argument_bytes + p.output_bytes - p.alias_bytes;
    for (uint32_t i = 0; i < l->step_count; i++)
        alive[i] = s->kernel_count && s->kernels[0].step <= i ? s->deltas[kernel_at(s, i)] : boundary;
    price_scratch_destroy(s);
    return alive;
}

/* is this member of a combined collective not the only one? */
static bool packed(const struct spmd_local *l, uint32_t step)
{
    uint32_t id = l->steps[step].combined;
    return (step > 0 && l->steps[step - 1].combined == id) ||
           (step + 1 < l->step_count && l->steps[step + 1].combined == id);
}

struct price_live *price_live_at(const struct spmd_local *l, const struct cost_machine *machine,
                                 uint32_t step, uint32_t *count)
{
    struct price_scratch *s = NULL;
    struct price p;
    VEC(struct price_live) out = {0};
    analyse(l, machine, &s, &p);
    uint32_t now = kernel_at(s, step);
    bool begun = s->kernel_count && s->kernels[0].step <= step;
    for (uint32_t v = 0; v < l->value_count; v++)
        if (v < l->argument_count || (begun && s->values[v].state == VALUE_BUFFER &&
                                      s->ranges[v].from <= now && now < s->ranges[v].until))
            VEC_PUSH(&out, ((struct price_live){v, l->values[v].bytes}));
    const struct spmd_step *t = begun ? &l->steps[s->kernels[now].step] : NULL;
    if (t && !(t->combined && packed(l, s->kernels[now].step)) && price_ordered_copy(s, l, t) > 0 &&
        /* beside what is put in order: the blocks as they came, or as they go */
        !s->values[t->results].lent)
        VEC_PUSH(&out, ((struct price_live){t->results, price_ordered_copy(s, l, t)}));
    for (uint32_t i = 0; i < l->step_count;
         i++) /* operands packed for the combined collective of this step */
        if (l->steps[i].combined && l->steps[i].combined == l->steps[step].combined && packed(l, i))
            VEC_PUSH(&out, ((struct price_live){l->operands[l->steps[i].operands],
                                                l->values[l->operands[l->steps[i].operands]].bytes}));
    const struct spmd_step *last = l->step_count ? &l->steps[l->step_count - 1] : NULL;
    for (uint32_t r = 0; last && last->kind == SPMD_RESULT && r < last->operand_count; r++) {
        uint32_t value = l->operands[last->operands + r], argument = s->program->alias_argument[r];
        if (argument == NDA_NONE || l->values[argument].bytes != l->values[value].bytes)
            VEC_PUSH(&out, ((struct price_live){value, l->values[value].bytes}));
    }
    price_scratch_destroy(s);
    *count = (uint32_t)out.count;
    return out.at;
}

/* ---------------------------------------------------------------- C(s) */
struct cost price_cost(const struct price *p, const struct price *unsharded, int64_t memory_limit_bytes)
{
    const double one = 4294967296.0; /* 2^32 */
    double initial = unsharded->step_ps > 0 ? (double)unsharded->step_ps : 1;
    double c = (double)p->step_ps / initial;
    struct cost cost = {0, 0};
    if (p->peak_bytes > memory_limit_bytes) {
        int64_t limit = memory_limit_bytes > 0 ? memory_limit_bytes : 1, over = p->peak_bytes - limit;
        int64_t percent = limit / 100 > 0 ? limit / 100 : 1;
        c += 10 * ((double)over / (double)limit);
        cost.over_steps = (over + percent - 1) / percent;
    }
    c *= one;
    cost.c = c < 9e18 ? (int64_t)(c + 0.5) : INT64_C(9000000000000000000);
    return cost;
}

int cost_compare(struct cost a, struct hash128 ha, struct cost b, struct hash128 hb)
{
    if (a.over_steps != b.over_steps)
        return a.over_steps < b.over_steps ? -1 : 1;
    if (a.c != b.c)
        return a.c < b.c ? -1 : 1;
    return hash128_compare(ha, hb);
}
