/* The price of a plan: the pricing passes put together, and what reports ask of them.
 *
 * Kernels are found and timed (fusion.c, roofline.c), their memory is priced in the orders that the compiler
 * may choose (memory.c), then the makespan of a step (makespan.c, hidden_time.c). C(s) weighs both. */
#include "cost/beaten.h"
#include "cost/gathered.h"
#include "cost/rematerialise.h"

#include <stdlib.h>
#include <string.h>

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
    price_combine_reductions(*scratch, local);
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

/* the order that counts so far, its peak and what its compiler compares it by */
struct found {
    int64_t peak, counted;
    struct price *out;
};

enum { EQUAL_PARTS = 100 };

/* Does this order count rather than the one found? The largest peak does; or, of a compiler that looks for
 * the least, the least of what it counts. Of equals the first: an order by memory also has small values early
 * that are no kernels here. With barriers the last one, by memory: depth first is counted up to a quarter too
 * low there (which products wait is decided by names). */
static bool counts_more(const struct price_scratch *scratch, const struct found *found, int64_t peak)
{
    if (!scratch->least_order)
        return peak >= found->peak;
    return scratch->barrier_count || scratch->counted_peak < found->counted - found->counted / EQUAL_PARTS;
}

/* the peak of one order; out has the one that counts */
static int64_t try_order(struct price_scratch *scratch, const struct spmd_local *local,
                         const struct kernel *line, enum cost_order order, struct found *found)
{
    struct price here = {0};
    price_memory(scratch, local, line, order, &here);
    if (found->out->peak_order == COST_ORDER_EITHER || counts_more(scratch, found, here.peak_bytes)) {
        *found = (struct found){here.peak_bytes, scratch->counted_peak, found->out};
        found->out->peak_bytes = here.peak_bytes;
        found->out->peak_step = here.peak_step;
        found->out->peak_order = (uint8_t)order;
    }
    return here.peak_bytes;
}

/* of a compiler whose scheduler hides collectives; leaves the scratch as of program order */
static void price_hiding_order(struct price_scratch *scratch, const struct spmd_local *local,
                               const struct cost_machine *machine, struct price *out)
{
    struct price of_program = {0};
    price_memory(scratch, local, price_hiding(scratch, local), COST_ORDER_HIDING, out);
    out->peak_order = COST_ORDER_HIDING;
    out->hiding_peak_bytes = out->peak_bytes;
    price_find_kept(scratch, local, machine, out);
    price_memory(scratch, local, scratch->kernels, COST_ORDER_PROGRAM, &of_program);
    out->program_peak_bytes = of_program.peak_bytes;
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

void price_sum_kernels(const struct price_scratch *scratch, const struct spmd_local *local, struct price *out)
{
    out->matmul_ps = out->compute_ps = out->communication_ps = 0;
    for (size_t i = 0; i < scratch->kernel_count; i++) {
        const struct kernel *kernel = &scratch->kernels[i];
        const struct spmd_step *step = &local->steps[kernel->step];
        int64_t layers = part_of(scratch, local, step) == 1 ? 1 + scratch->fold->copies : 1,
                ps = times_trips(times_trips(kernel->ps, step->trips), layers);
        if (spmd_step_is_collective(step))
            out->communication_ps += ps;
        else
            out->compute_ps += ps;
    }
    out->exposed_ps = out->communication_ps / 2;
    out->step_ps = out->critical_path_ps = out->compute_ps + out->exposed_ps;
}

/* Is the step longer than that of a plan that may win, whatever the peak? What is near the limit by the fold
 * is so by the program, and of both sides a plan that is too slow is as good as any other. */
static bool is_hopeless(struct price_scratch *scratch, const struct spmd_local *local,
                        const struct cost_machine *machine, struct price_timed *timed, struct price *out)
{
    if (!scratch->hopeless_ps || scratch->fold->unfolded)
        return false;
    price_time(scratch, local, machine, timed, out);
    return out->step_ps > scratch->hopeless_ps;
}

/* A fold's peak of the order that hides collectives matters near the limit, and is not to be believed there:
 * then that of all layers is found, or told. */
static void find_hiding_peak(struct price_scratch *scratch, const struct spmd_local *local,
                             const struct cost_machine *machine, struct price_timed *timed, struct price *out)
{
    struct price near = *out;
    scratch->hiding_known = !scratch->fold || out->peak_order != COST_ORDER_HIDING;
    if (scratch->hiding_known)
        return;
    price_rematerialise(scratch, machine, &near);
    scratch->hiding_known = !scratch->fold->unfolded && !price_near_limit(&near, machine->memory_limit_bytes);
    if (scratch->hiding_known || scratch->fold->doubted ||
        (scratch->far_bytes && price_least_peak(&near) > scratch->far_bytes))
        return;
    if (scratch->fold->shorter) {
        scratch->hiding_known = price_deep_peak(scratch, local, machine, out);
        return;
    }
    if (!timed->unfolded)
        timed->unfolded = price_unfold(scratch, local, machine, NULL);
    if (is_hopeless(scratch, local, machine, timed, out)) {
        scratch->hiding_known = scratch->left_open = true;
        price_rematerialise(scratch, machine, out);
    } else {
        scratch->hiding_known = price_unfolded_peak(timed->unfolded, machine, out);
        scratch->kept_bytes = timed->unfolded->scratch->kept_bytes;
    }
}

static void find_peak(struct price_scratch *scratch, const struct spmd_local *local,
                      const struct cost_machine *machine, struct price *out)
{
    if (machine->order == COST_ORDER_EITHER && price_hides(machine)) {
        price_hiding_order(scratch, local, machine, out);
    } else if (machine->order == COST_ORDER_EITHER) {
        price_orders(scratch, local, out);
    } else {
        price_memory(scratch, local, scratch->kernels, (enum cost_order)local->order, out);
        out->peak_order = COST_ORDER_PROGRAM;
    }
}

void price_local(const struct spmd_local *local, const struct cost_machine *machine,
                 struct price_scratch **scratch, const struct price_fold *fold, struct price *out)
{
    struct price_scratch *s = *scratch = *scratch ? *scratch : price_scratch_create(NULL);
    struct price_timed timed = {0};
    s->fold = fold;
    s->kept_bytes = 0;
    find_kernels(local, machine, scratch, out);
    s->left_open = s->hiding_known = price_is_beaten(s, local, machine, &timed, out);
    if (!s->left_open) {
        find_peak(s, local, machine, out);
        find_hiding_peak(s, local, machine, &timed, out);
    }
    if (!s->left_open)
        price_rematerialise(s, machine, out);
    if (s->far_bytes && price_least_peak(out) > s->far_bytes)
        price_sum_kernels(s, local, out);
    else if (!s->left_open)
        price_time(s, local, machine, &timed, out);
    price_add_rematerialised(machine, out);
    s->fold = NULL;
}

/* words for people, then a name; of what is no order (a damaged snapshot's) the first */
static const char *const order_words[][2] = {[COST_ORDER_EITHER] = {"in program order", "program"},
                                             [COST_ORDER_PROGRAM] = {"in program order", "program"},
                                             [COST_ORDER_DEPTH_FIRST] = {"depth first", "depth_first"},
                                             [COST_ORDER_MEMORY] = {"by memory", "memory"},
                                             [COST_ORDER_HIDING] = {"as collectives are hidden", "hiding"}};

const char *price_order_words(uint8_t order)
{
    return order_words[order <= COST_ORDER_HIDING ? order : COST_ORDER_EITHER][0];
}

const char *price_order_name(uint8_t order)
{
    return order_words[order <= COST_ORDER_HIDING ? order : COST_ORDER_EITHER][1];
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

/* of a scratch whose kernels have their times; the price is that of the steps as they stand */
static struct price_interval *trace_kernels(struct price_scratch *scratch, const struct spmd_local *local,
                                            const struct cost_machine *machine, struct price *price,
                                            uint32_t *count)
{
    struct price_interval *trace = mem_zalloc(scratch->kernel_count + 1, sizeof *trace);
    price_run_kernels(scratch, local, machine, trace, price);
    *count = (uint32_t)scratch->kernel_count;
    return trace;
}

struct price_interval *price_trace(const struct spmd_local *local, const struct cost_machine *machine,
                                   uint32_t *count)
{
    struct price_scratch *scratch = NULL;
    struct price price;
    analyse(local, machine, &scratch, &price);
    struct price_interval *trace = trace_kernels(scratch, local, machine, &price, count);
    price_scratch_destroy(scratch);
    return trace;
}

static int64_t *times_of_steps(const struct price_scratch *scratch, const struct spmd_local *local)
{
    int64_t *times = mem_zalloc((size_t)local->step_count + 1, sizeof *times);
    for (size_t i = 0; i < scratch->kernel_count; i++)
        times[scratch->kernels[i].step] = scratch->kernels[i].ps;
    return times;
}

int64_t *price_step_times(const struct spmd_local *local, const struct cost_machine *machine)
{
    struct price_scratch *scratch = NULL;
    struct price price;
    analyse(local, machine, &scratch, &price);
    int64_t *times = times_of_steps(scratch, local);
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
    int64_t boundary = price_boundary(&price);
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
        price_held_copy(scratch, local, entry) > 0 &&
        /* beside what is put in order: the blocks as they came, or as they go */
        !scratch->values[entry->results].lent)
        VEC_PUSH(&out, ((struct price_live){entry->results, price_held_copy(scratch, local, entry)}));
    for (uint32_t kernel = 0; begun && kernel < scratch->kernel_count; kernel++) {
        const struct spmd_step *gather = &local->steps[scratch->kernels[kernel].step];
        int64_t copied = price_gathered_copy(scratch, local, gather);
        if (copied && scratch->at[price_gathered_by(scratch, local, gather)] == now)
            VEC_PUSH(&out, ((struct price_live){local->operands[gather->operands], copied}));
    }
    for (uint32_t i = 0; i < local->step_count;
         i++) /* operands packed for the combined collective of this step */
        if (local->steps[i].combined && local->steps[i].combined == local->steps[place].combined &&
            packed(local, i))
            VEC_PUSH(&out, ((struct price_live){local->operands[local->steps[i].operands],
                                                price_packed_bytes(scratch, local, &local->steps[i])}));
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

static const struct kernel *line_in(struct price_scratch *scratch, const struct spmd_local *local,
                                    enum cost_order order)
{
    const struct kernel *line = scratch->kernels;
    if (order == COST_ORDER_HIDING)
        line = price_hiding(scratch, local);
    if (order == COST_ORDER_DEPTH_FIRST || order == COST_ORDER_MEMORY)
        line = price_depth_first(scratch, local);
    return order == COST_ORDER_MEMORY ? price_by_memory(scratch) : line;
}

static void find_held(struct price_scratch *scratch, const struct spmd_local *local, enum cost_order order,
                      struct price *price, struct price_held *out)
{
    price_memory(scratch, local, line_in(scratch, local, order), order, price);
    *out = (struct price_held){.count = (uint32_t)scratch->kernel_count,
                               .alive = mem_zalloc(scratch->kernel_count + 1, sizeof *out->alive)};
    for (uint32_t i = 0; i < out->count; i++) {
        out->alive[i] = scratch->deltas[i];
        out->peak = out->alive[i] > out->alive[out->peak] ? i : out->peak;
    }
    out->live = live_in(scratch, local, out->peak, out->count > 0, &out->live_count);
}

void price_measure(struct price_scratch *scratch, const struct spmd_local *local,
                   const struct cost_machine *machine, enum cost_order order, struct price_measured *out)
{
    struct price held, price;
    find_kernels(local, machine, &scratch, &price);
    held = price;
    out->step_times = times_of_steps(scratch, local);
    find_held(scratch, local, order, &held, &out->held);
    price_memory(scratch, local, scratch->kernels, (enum cost_order)local->order, &price);
    out->trace = trace_kernels(scratch, local, machine, &price, &out->trace_count);
}

void price_measured_release(struct price_measured *measured)
{
    free(measured->step_times);
    free(measured->trace);
    free(measured->held.alive);
    free(measured->held.live);
}

/* ---------------------------------------------------------------- C(s) */
struct cost price_cost(const struct price *price, const struct price *unsharded, int64_t memory_limit_bytes)
{
    const double one = 4294967296.0; /* 2^32 */
    double initial = unsharded->step_ps > 0 ? (double)unsharded->step_ps : 1;
    double c = (double)price->step_ps / initial;
    struct cost cost = {0, 0};
    if (price->peak_bytes > memory_limit_bytes) {
        int64_t limit = memory_limit_bytes > 0 ? memory_limit_bytes : 1, over = price->peak_bytes - limit;
        int64_t percent = limit / 100 > 0 ? limit / 100 : 1;
        c += COST_OVER_LIMIT * ((double)over / (double)limit);
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
