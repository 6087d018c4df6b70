/* Live ranges: where every buffer takes memory, and the peak.
 *
 * As XLA counts it: arguments and results take memory throughout (a result that takes a donated argument's
 * buffer once), everything else from the kernel that writes it to the last that reads it. A buffer can have a
 * *home*, memory that is counted elsewhere: a result is written where the caller gets it, the body's new
 * value of a loop where the old one was, a branch's result where the op's result will be. It takes memory of
 * its own only while its home still holds something that is needed. Members of a combined collective are
 * packed into one array, and their results are parts of one: operands die at the first member's step, results
 * live from the last member's on, as long as any of them. Elementwise kernels and updates take over an
 * operand's buffer on its last use; collectives hold operand and result.
 *
 *   time of the line     0   1   2   3   4   5
 *   argument             ########################   throughout
 *   temporary                |###########|          written by kernel 1, last read by kernel 3: [1, 4), or
 *   elementwise of it                |#######|      [1, 3) where kernel 3 writes its result over it
 *   homed in a result        (none)                 its memory is the result's, counted throughout
 *   deltas               0   +t  0   e-t 0   -e     bytes begun less ended; their sum so far is alive
 *
 * Time is a kernel's place in the line: the order that is priced, of kernels alone. What stands between two
 * kernels is fused, free or a name, and takes no memory. */
#include "cost/gathered.h"

#include <string.h>

/* ---------------------------------------------------------------- when */
enum { MOST_LOOPS = 64 }; /* nested */
struct open_loops {
    uint32_t count;
    /* LOOP steps, outermost first; deeper ones only lose the extension of live ranges */
    uint32_t at[MOST_LOOPS];
};

/* A buffer from outside a loop that the loop reads lives until the loop ends. */
static inline void use_root(struct price_scratch *scratch, const struct spmd_local *local,
                            const struct open_loops *loops, uint32_t root, uint32_t time)
{
    uint32_t until = time;
    for (uint32_t i = 0; i < loops->count; i++) {
        uint32_t defined = local->values[root].step;
        if (defined == SPMD_NONE || defined < loops->at[i]) {
            until = scratch->at[scratch->loop_end[loops->at[i]]];
            break;
        }
    }
    if (scratch->values[root].last < until) {
        scratch->values[root].before = scratch->values[root].last;
        scratch->values[root].last = until;
    }
}

static void begin_values(struct price_scratch *scratch, const struct spmd_local *local)
{
    for (uint32_t argument = 0; argument < local->argument_count; argument++) {
        scratch->values[argument].last = scratch->values[argument].before = 0;
        scratch->values[argument].homed = scratch->values[argument].lent = 0;
        scratch->values[argument].turned = 0;
    }
    for (uint32_t kernel = 0; kernel < scratch->kernel_count; kernel++) {
        const struct spmd_step *step = step_at(scratch, local, kernel);
        scratch->at[scratch->line[kernel].step] = kernel;
        for (uint32_t value = step->results; value < step->results + step->result_count; value++) {
            scratch->values[value].last = kernel;
            scratch->values[value].homed = scratch->values[value].lent = 0;
            scratch->values[value].turned = 0;
        }
    }
}

/* Where products take their operands in a gather runs on a core of its own (SparseCore), and the next kernel
 * beside it: what it reads is needed until that one has run. */
static bool gathers_beside(const struct price_scratch *scratch, const struct spmd_step *step)
{
    return scratch->rules & COST_FUSE_PRODUCTS && step->kind == SPMD_OP && step->depth == 0 &&
           step_info(scratch, step)->class == OP_GATHER;
}

/* at, last: every kernel's place and the last one that needs each buffer */
static void find_times(struct price_scratch *scratch, const struct spmd_local *local)
{
    struct open_loops loops = {0};
    begin_values(scratch, local);
    for (uint32_t kernel = 0; scratch->combined_count && kernel < scratch->kernel_count; kernel++)
        if (scratch->line[kernel].together)
            scratch->combined_last[scratch->line[kernel].together - 1] = kernel;
    for (uint32_t kernel = 0, packed = 0; kernel < scratch->kernel_count; kernel++) {
        const struct kernel *k = &scratch->line[kernel];
        const struct spmd_step *step = &local->steps[k->step];
        if (k->together)
            packed = scratch->combined_last[k->together - 1];
        else if (!step->combined || kernel == 0 ||
                 step_at(scratch, local, kernel - 1)->combined != step->combined)
            packed = kernel; /* the first member's step packs the operands of all */
        if (gathers_beside(scratch, step) && kernel + 1 < scratch->kernel_count)
            packed++;
        for (uint32_t r = k->roots; r < k->roots + k->root_count; r++)
            use_root(scratch, local, &loops, scratch->pool[r].value, packed);
        if (step->kind == SPMD_LOOP && loops.count < MOST_LOOPS)
            loops.at[loops.count++] = k->step;
        else if (step->kind == SPMD_LOOP_END && loops.count &&
                 loops.at[loops.count - 1] == scratch->loop_end[k->step])
            loops.count--;
    }
}

/* ---------------------------------------------------------------- homes */
static void give_home(struct price_scratch *scratch, uint32_t value, uint32_t home_free)
{
    scratch->values[value].homed = 1;
    scratch->values[value].home_free = home_free;
}

static void home_results(struct price_scratch *scratch, const struct spmd_local *local,
                         const struct spmd_step *step)
{
    for (uint32_t operand = 0; operand < step->operand_count; operand++) {
        uint32_t buffer = buffer_of(scratch, local->operands[step->operands + operand]);
        if (buffer == NDA_NONE || buffer < local->argument_count || scratch->values[buffer].homed)
            continue;
        uint32_t argument = scratch->program->alias_argument[operand];
        if (argument != NDA_NONE &&
            local->values[argument].bytes != local->values[local->operands[step->operands + operand]].bytes)
            argument = NDA_NONE;
        bool taken = argument != NDA_NONE && scratch->uses[argument].uses > 0;
        give_home(scratch, buffer, taken ? scratch->values[argument].last + 1 : 0);
    }
}

/* The body's new values go where the carried ones are; a carried value goes where the loop's result goes. */
static void home_loop(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step)
{
    const struct spmd_step *end = &local->steps[step], *loop = &local->steps[scratch->loop_end[step]];
    uint32_t n = end->result_count;
    for (uint32_t c = 0; c < n; c++) {
        uint32_t result = end->results + c, carry = loop->results + n + c;
        if (!is_buffer(scratch, carry))
            continue;
        uint32_t value = buffer_of(scratch, local->operands[end->operands + c]);
        if (value != NDA_NONE && value >= local->argument_count && value != carry &&
            !scratch->values[value].homed && local->values[value].step > scratch->loop_end[step])
            give_home(scratch, value, scratch->uses[carry].uses ? scratch->values[carry].last + 1 : 0);
        if (is_buffer(scratch, result) && scratch->values[result].homed)
            give_home(scratch, carry, scratch->values[result].home_free);
        scratch->values[carry].last =
            scratch->at[step]; /* the buffer stays until the loop ends, whatever it holds */
    }
}

static void home_branch(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step,
                        uint32_t open)
{
    const struct spmd_step *entry = &local->steps[step];
    for (uint32_t operand = 0; operand < entry->operand_count; operand++) {
        uint32_t value = buffer_of(scratch, local->operands[entry->operands + operand]);
        if (value != NDA_NONE && value >= local->argument_count && !scratch->values[value].homed &&
            local->values[value].step > open)
            give_home(scratch, value, 0);
    }
}

/* An operand that is used for the last time where its successor is written passes that one's home on. */
static void home_operand(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step,
                         uint32_t operand, uint32_t successor)
{
    uint32_t value = buffer_of(scratch, operand);
    if (!scratch->values[successor].homed || value == NDA_NONE || value < local->argument_count ||
        scratch->values[value].homed || scratch->values[value].last != scratch->at[step])
        return;
    give_home(scratch, value, scratch->values[successor].home_free);
}

static void find_homes(struct price_scratch *scratch, const struct spmd_local *local)
{
    uint32_t branch_at = NDA_NONE; /* BRANCH whose END was met last (reverse order) */
    for (size_t k = scratch->kernel_count; k-- > 0;) {
        uint32_t i = scratch->line[k].step;
        const struct spmd_step *step = &local->steps[i];
        switch ((enum spmd_step_kind)step->kind) {
        case SPMD_RESULT: home_results(scratch, local, step); break;
        case SPMD_LOOP_END: home_loop(scratch, local, i); break;
        case SPMD_LOOP:
            for (uint32_t operand = 0; operand < step->operand_count; operand++)
                if (is_buffer(scratch, step->results + step->operand_count + operand))
                    home_operand(scratch, local, i, local->operands[step->operands + operand],
                                 step->results + step->operand_count + operand);
            break;
        case SPMD_BRANCH_END:
            branch_at = scratch->loop_end[i];
            home_branch(scratch, local, i, branch_at);
            break;
        case SPMD_BRANCH_NEXT: home_branch(scratch, local, i, branch_at == NDA_NONE ? i : branch_at); break;
        case SPMD_OP:
            if (step_info(scratch, step)->class == OP_UPDATE && is_buffer(scratch, step->results))
                home_operand(scratch, local, i, price_written_into(scratch, local, step), step->results);
            break;
        case SPMD_ALL_REDUCE:
        case SPMD_ALL_GATHER:
        case SPMD_REDUCE_SCATTER:
        case SPMD_ALL_TO_ALL:
        case SPMD_PERMUTE:
        case SPMD_SLICE:
        case SPMD_MASK:
        case SPMD_LOOP_BODY:
        case SPMD_BRANCH: break;
        }
    }
}

/* may the step's result lie where an operand lies that it reads? */
static inline bool writes_in_place(const struct price_scratch *scratch, const struct spmd_step *step)
{
    return step->kind == SPMD_OP ? step_info(scratch, step)->in_place
                                 : step->kind == SPMD_LOOP || step->kind == SPMD_LOOP_END;
}

/* ---------------------------------------------------------------- ranges */
/* memory of a value's own during [from, until) */
static struct live_range range_of(const struct price_scratch *scratch, const struct spmd_local *local,
                                  uint32_t value)
{
    const struct value_work *work = &scratch->values[value];
    uint32_t step = local->values[value].step;
    if (work->state != VALUE_BUFFER || step == SPMD_NONE || work->inner)
        return (struct live_range){0, 0};
    if (local->steps[step].kind == SPMD_BRANCH_END)
        step = scratch->loop_end[step];
    uint32_t from = scratch->at[step];
    if (work->homed) {
        bool waits = work->home_free > from + writes_in_place(scratch, &local->steps[step]);
        return (struct live_range){from, waits ? work->home_free : from};
    }
    return (struct live_range){from, work->last + 1};
}

/* A buffer that dies now and can be written over: the new one begins where it ends. */
static bool take_over(struct price_scratch *scratch, const struct spmd_local *local, uint32_t now,
                      uint32_t donor, uint32_t value)
{
    struct live_range *live_range = &scratch->ranges[donor];
    if (scratch->ranges[value].from >= scratch->ranges[value].until || scratch->ranges[value].from != now)
        return false;
    if (live_range->from >= live_range->until || live_range->until != now + 1 || live_range->from == now ||
        stored_bytes(scratch, local, donor) < stored_bytes(scratch, local, value))
        return false;
    live_range->until = now;
    price_heap_inherit(scratch, donor, value);
    uint8_t part = part_of(scratch, local, &local->steps[local->values[donor].step]);
    int64_t bytes = stored_bytes(scratch, local, donor);
    add_range(scratch, part, -bytes, (struct live_range){now, now + 1});
    price_count(scratch, part, bytes, (struct live_range){now, now + 1});
    return true;
}

static void share_carried(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step)
{
    const struct spmd_step *entry = &local->steps[step];
    uint32_t n = entry->operand_count, first = entry->kind == SPMD_LOOP ? entry->results + n : entry->results;
    for (uint32_t c = 0; c < n && first + c < entry->results + entry->result_count; c++) {
        uint32_t donor = entry->kind == SPMD_LOOP ? buffer_of(scratch, local->operands[entry->operands + c])
                                                  : local->steps[scratch->loop_end[step]].results + n + c;
        if (donor != NDA_NONE && is_buffer(scratch, donor))
            (void)take_over(scratch, local, scratch->at[step], donor, first + c);
    }
}

static void share_in_kernel(struct price_scratch *scratch, const struct spmd_local *local, uint32_t now)
{
    const struct kernel *k = &scratch->line[now];
    const struct spmd_step *step = &local->steps[k->step];
    if (step->kind == SPMD_LOOP || step->kind == SPMD_LOOP_END) {
        share_carried(scratch, local, k->step);
        return;
    }
    if (scratch->reduces_in_place && (step->kind == SPMD_ALL_REDUCE ||
                                      (step->result_count == 1 && scratch->values[step->results].whole))) {
        (void)take_over(scratch, local, now, scratch->pool[k->roots].value, step->results);
        return;
    }
    if (step->kind != SPMD_OP || step->result_count != 1 || !step_info(scratch, step)->in_place ||
        (k->traits & (KERNEL_ROWS | KERNEL_INSIDE)) == (KERNEL_ROWS | KERNEL_INSIDE) ||
        price_is_of_rows(scratch, local, step->results) ||
        (step_info(scratch, step)->class == OP_UPDATE &&
         buffer_of(scratch, price_written_into(scratch, local, step)) == NDA_NONE))
        return;
    const struct root *roots = scratch->pool + k->roots;
    for (uint32_t i = 0; i < k->root_count; i++) {
        /* if only part of it is read, elements would be written before they are read */
        bool whole = roots[i].bytes >= price_unpadded_bytes(scratch, local, roots[i].value);
        if (whole && take_over(scratch, local, now, roots[i].value, step->results))
            return;
    }
}

static void place_results(struct price_scratch *scratch, const struct spmd_local *local,
                          const struct spmd_step *step)
{
    for (uint32_t value = step->results; value < step->results + step->result_count; value++) {
        scratch->ranges[value] = range_of(scratch, local, value);
        add_range(scratch, part_of(scratch, local, step), stored_bytes(scratch, local, value),
                  scratch->ranges[value]);
    }
}

/* what a step needs beside its operands and results, while it runs */
static void place_copies(struct price_scratch *scratch, const struct spmd_local *local,
                         const struct spmd_step *step, struct live_range now)
{
    uint8_t part = part_of(scratch, local, step);
    int64_t ordered = price_held_copy(scratch, local, step),
            gathered = price_gathered_copy(scratch, local, step);
    add_range(scratch, part, ordered, now);
    price_heap_add(scratch, step->results, ordered, now);
    bool wide = step->kind == SPMD_OP && step->result_count == 1 && scratch->values[step->results].wide;
    if (wide && scratch->rules & COST_FUSE_STRIDED && price_turns_wide(scratch, local, step))
        add_range(scratch, part, local->values[step->results].bytes, now); /* until it is turned */
    uint32_t anew = price_made_anew(scratch, local, step);
    if (anew != SPMD_NONE)
        add_range(scratch, part, local->values[anew].bytes, now);
    if (gathered) {
        uint32_t made = scratch->at[price_gathered_by(scratch, local, step)];
        bool waits = made < now.until && price_gather_waits(scratch, local, step);
        now = (struct live_range){made, waits ? now.until : made + 1};
        add_range(scratch, part, gathered, now);
        price_heap_add(scratch, NDA_NONE, gathered, now);
    }
}

/* of a combined collective's member, in the array that its operands are packed into */
int64_t price_packed_bytes(const struct price_scratch *scratch, const struct spmd_local *local,
                           const struct spmd_step *step)
{
    return local->values[local->operands[step->operands]].bytes << scratch->values[step->results].flat;
}

/* kernels [first, first + count) of the line: the members of one combined collective */
static void place_combined(struct price_scratch *scratch, const struct spmd_local *local, uint32_t first,
                           uint32_t count)
{
    struct live_range packed = {first, first + count}, packing = packed;
    uint32_t last = packed.until - 1;
    int64_t bytes = 0;
    if (scratch->reduces_in_place && step_at(scratch, local, first)->kind == SPMD_ALL_REDUCE)
        packing.until--; /* where the results are written */
    for (uint32_t k = first; k < first + count; k++) {
        const struct spmd_step *step = step_at(scratch, local, k);
        int64_t own = price_packed_bytes(scratch, local, step);
        bytes += own;
        add_range(scratch, part_of(scratch, local, step), own, packing);
        if (scratch->values[step->results].last > last)
            last = scratch->values[step->results].last;
    }
    price_heap_add(scratch, NDA_NONE, bytes, packing);
    for (uint32_t k = first; k < first + count; k++) {
        uint32_t result = step_at(scratch, local, k)->results;
        struct live_range live_range = range_of(scratch, local, result);
        live_range = (struct live_range){packed.until - 1,
                                         scratch->values[result].homed ? live_range.until : last + 1};
        scratch->ranges[result] = live_range;
        add_range(scratch, part_of(scratch, local, step_at(scratch, local, k)),
                  stored_bytes(scratch, local, result), live_range);
    }
}

static uint32_t combined_members(const struct price_scratch *scratch, const struct spmd_local *local,
                                 uint32_t kernel)
{
    uint32_t id = step_at(scratch, local, kernel)->combined, count = 1;
    while (id && kernel + count < scratch->kernel_count &&
           step_at(scratch, local, kernel + count)->combined == id)
        count++;
    return count;
}

static void count_boundary(const struct price_scratch *scratch, const struct spmd_local *local,
                           struct price *out)
{
    out->argument_bytes = out->output_bytes = out->alias_bytes = 0;
    for (uint32_t argument = 0; argument < local->argument_count; argument++)
        out->argument_bytes += price_held_bytes(scratch, local, argument);
    if (!local->step_count || local->steps[local->step_count - 1].kind != SPMD_RESULT)
        return;
    const struct spmd_step *step = &local->steps[local->step_count - 1];
    for (uint32_t operand = 0; operand < step->operand_count; operand++) {
        uint32_t result = local->operands[step->operands + operand];
        int64_t bytes = price_held_bytes(scratch, local, result);
        uint32_t argument = scratch->program->alias_argument[operand];
        out->output_bytes += bytes;
        if (argument != NDA_NONE && local->values[argument].bytes == local->values[result].bytes)
            out->alias_bytes += bytes;
    }
}

/* Idle bytes of the heap. Which holes there are depends on details of the order that are not known, so that
 * more or less than a compiler usually leaves beside what is held (also by a fold's layers that are gone) is
 * not believed. */
static int64_t idle_of(const struct price_scratch *scratch, int64_t idle, int64_t held)
{
    int64_t least = held / 1000 * scratch->idle_least, most = held / 1000 * scratch->idle_most;
    return idle > most ? most : idle < least ? least : idle;
}

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* the line's peak and its step; bytes alive at each time from now on in deltas. Of a fold each layer that is
 * gone holds what both layers at the cut hold at that time: what only one of them holds is on its way to the
 * next layer, and the others have let it go or have not made it yet. While one of the two runs that says
 * nothing; their peak is no higher than the same of the first or the last layer. */
static void find_peak(struct price_scratch *scratch, const struct spmd_local *local, struct price *out)
{
    uint8_t running = 0;
    int64_t boundary = price_boundary(out), temporaries = 0;
    int64_t parts[2] = {0}, beyond[COUNTED_PARTS] = {0};
    const int64_t *extents = scratch->best_fit ? price_heap_extents(scratch, local) : NULL;
    out->peak_bytes = boundary;
    scratch->counted_peak = 0;
    out->peak_step = 0;
    for (uint32_t kernel = 0; kernel < scratch->kernel_count; kernel++) {
        temporaries += scratch->deltas[kernel];
        for (int of = 0; of < COUNTED_PARTS && scratch->least_order && (of == 0 || scratch->fold); of++)
            beyond[of] += scratch->counted[of][kernel];
        int64_t held = temporaries, counted = boundary + temporaries + beyond[0];
        if (scratch->fold) {
            uint8_t part = part_of(scratch, local, step_at(scratch, local, kernel));
            running = part ? part : running;
            parts[0] += scratch->part_deltas[0][kernel];
            parts[1] += scratch->part_deltas[1][kernel];
            held += scratch->fold->copies * least(parts[0], parts[1]);
            counted += scratch->fold->copies * least(parts[0] + beyond[1], parts[1] + beyond[2]);
        }
        int64_t idle = extents ? idle_of(scratch, extents[kernel] - temporaries, held) : 0;
        int64_t alive = boundary + held + idle;
        scratch->deltas[kernel] = alive;
        if (running == 1 || running == 2)
            continue;
        scratch->counted_peak = counted > scratch->counted_peak ? counted : scratch->counted_peak;
        if (alive > out->peak_bytes) {
            out->peak_bytes = alive;
            out->peak_step = scratch->line[kernel].step;
        }
    }
}

/* ---------------------------------------------------------------- turned arguments */
enum { TURNED_LEAST = 1 << 20 }; /* bytes; less is not worth a look */

/* A reduced gradient that keeps the order of the product that made it. Where a transpose reads it, the update
 * runs in that order, and the arguments it reads (parameter, moments) are copied into it before. So are those
 * read beside what such updates make: the new parameter is made of new moments. For XLA:GPU that is the
 * gradient of stacked weights (experts) reduced alone; it copies an argument at its first use: moments when
 * the last product has run; parameters early, and their own memory is free for gradients from then on. For
 * libtpu it is what is reduced together with others, in one flat array, and what is scattered into blocks of
 * a tile's lanes or more; its copies are kernels that the order places. Both ask any other product for the
 * order that its reader wants (docs/design/price.md). */
/* local size of the dimension that a reduce_scatter scatters */
static int64_t scattered_size(const struct spmd_local *local, const struct spmd_step *step)
{
    int64_t dims[IR_MAX_RANK];
    const struct spmd_value *value = &local->values[step->results];
    spmd_local_dims(local->nda, local->mesh, value->origin, &value->form, dims);
    return dims[price_scattered_dim(local, step)];
}

/* the product whose summands are reduced, on whichever axes one after the other; or NULL */
static const struct op_info *reduced_product(const struct price_scratch *scratch,
                                             const struct spmd_local *local,
                                             const struct spmd_step *reduction)
{
    const struct spmd_step *step = reduction;
    do {
        uint32_t by = local->values[local->operands[step->operands]].step;
        step = by == SPMD_NONE ? NULL : &local->steps[by];
    } while (step && (step->kind == SPMD_REDUCE_SCATTER || step->kind == SPMD_ALL_REDUCE));
    const struct op_info *info = step && step->kind == SPMD_OP ? step_info(scratch, step) : NULL;
    return info && info->class == OP_MATMUL ? info : NULL;
}

/* Stacked products stay in their order however they are reduced, but for what is combined (all_reduces are),
 * and for blocks of their last dimension, which lies outermost then: what is read transposed has the same
 * innermost one. */
static bool keeps_stacked_order(const struct price_scratch *scratch, const struct spmd_local *local,
                                const struct spmd_step *reduction, const struct op_info *product)
{
    const struct spmd_step *step = reduction;
    if (!(product->stacked & 4) ||
        (step->kind == SPMD_ALL_REDUCE && local->values[step->results].bytes <= scratch->combine_bytes))
        return false;
    for (; step->kind != SPMD_OP; step = &local->steps[local->values[local->operands[step->operands]].step])
        if (step->kind == SPMD_REDUCE_SCATTER && price_scattered_dim(local, step) > product->batch_dims)
            return false;
    return true;
}

/* What is larger as float32 is itself turned, right before its update, where it was in a flat array and is no
 * block of a reduce_scatter. */
enum { FLAT_MOST = 40 << 20 };
static bool turned_flat(const struct spmd_local *local, const struct spmd_step *reduction)
{
    uint32_t by = local->values[local->operands[reduction->operands]].step;
    bool scattered = by != SPMD_NONE && local->steps[by].kind == SPMD_REDUCE_SCATTER;
    return reduction->combined && (scattered || value_elements(local, reduction->results) * 4 <= FLAT_MOST);
}

static bool keeps_order(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct spmd_step *reduction)
{
    if (local->values[reduction->results].bytes <= TURNED_LEAST)
        return false;
    const struct op_info *product = reduced_product(scratch, local, reduction);
    if (!product || scratch->rules & COST_FUSE_BATCHED)
        return product && keeps_stacked_order(scratch, local, reduction, product);
    return reduction->kind == SPMD_REDUCE_SCATTER ? scattered_size(local, reduction) >= TILE_LANES
                                                  : turned_flat(local, reduction);
}

static bool is_turned(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t value)
{
    uint32_t step = local->values[value].step;
    if (step == SPMD_NONE || scratch->values[value].turned)
        return step != SPMD_NONE;
    const struct spmd_step *made = &local->steps[step];
    if (!scratch->uses[value].transposed)
        return false;
    if (made->kind == SPMD_OP)
        return scratch->rules & COST_FUSE_BATCHED && step_info(scratch, made)->stacked & 4 &&
               local->values[value].bytes > TURNED_LEAST;
    return (made->kind == SPMD_ALL_REDUCE || made->kind == SPMD_REDUCE_SCATTER) &&
           keeps_order(scratch, local, made);
}

/* When a copy runs that the compiler's order places: by memory before the first kernel that takes more bytes
 * than it, for it could run all the time; in an order that goes from the results backward, when it is
 * read. */
static uint32_t copied_at(const struct price_scratch *scratch, int64_t bytes, uint32_t now)
{
    uint32_t at = scratch->by_memory ? 0 : now;
    while (at < now && scratch->growth[at] <= bytes)
        at++;
    return at;
}

/* of an argument, beside itself */
static void place_copy(struct price_scratch *scratch, uint8_t part, uint32_t argument, int64_t bytes,
                       struct live_range live_range)
{
    scratch->copied_bytes[argument] = bytes;
    scratch->ranges[argument] = live_range;
    add_range(scratch, part, bytes, live_range);
}

/* the result that takes the argument's buffer; NDA_NONE when there is none, or none as large */
static uint32_t donated_to(const struct price_scratch *scratch, const struct spmd_local *local,
                           uint32_t argument)
{
    const struct spmd_step *results = &local->steps[local->step_count - 1];
    for (uint32_t operand = 0; results->kind == SPMD_RESULT && operand < results->operand_count; operand++) {
        uint32_t value = local->operands[results->operands + operand];
        if (scratch->program->alias_argument[operand] == argument &&
            local->values[value].bytes == local->values[argument].bytes)
            return value;
    }
    return NDA_NONE;
}

/* Is its new value gathered from all devices into its buffer? Then libtpu copies it before it is gathered
 * from or read by a loop, and everything reads the copy. (Under zero2; not what is written in place.) */
static bool is_gathered_anew(const struct price_scratch *scratch, const struct spmd_local *local,
                             uint32_t argument)
{
    if (argument >= local->argument_count || scratch->values[argument].turned ||
        local->values[argument].bytes <= TURNED_LEAST)
        return false;
    uint32_t result = donated_to(scratch, local, argument),
             made = result == NDA_NONE ? SPMD_NONE : local->values[result].step;
    return made != SPMD_NONE && local->steps[made].kind == SPMD_ALL_GATHER &&
           price_gathers_tiles(local, &local->steps[made]);
}

static void copy_whole(struct price_scratch *scratch, const struct spmd_local *local, uint32_t argument,
                       uint32_t now)
{
    scratch->values[argument].turned = 1;
    place_copy(scratch, 0, argument, local->values[argument].bytes,
               (struct live_range){now, scratch->values[argument].last + 1});
}

static void copy_table(struct price_scratch *scratch, const struct spmd_local *local, uint32_t now)
{
    const struct spmd_step *step = step_at(scratch, local, now);
    if (step->kind != SPMD_OP || step_info(scratch, step)->class != OP_GATHER)
        return;
    uint32_t argument = buffer_of(scratch, local->operands[step->operands]);
    if (is_gathered_anew(scratch, local, argument))
        copy_whole(scratch, local, argument, now);
}

/* from: when the outermost loop around the kernel begins */
static void copy_looped(struct price_scratch *scratch, const struct spmd_local *local, uint32_t now,
                        uint32_t from)
{
    const struct kernel *kernel = &scratch->line[now];
    for (uint32_t root = kernel->roots; root < kernel->roots + kernel->root_count; root++)
        if (is_gathered_anew(scratch, local, scratch->pool[root].value))
            copy_whole(scratch, local, scratch->pool[root].value, from);
}

static void copy_gathered(struct price_scratch *scratch, const struct spmd_local *local)
{
    for (uint32_t now = 0, from = 0; now < scratch->kernel_count; now++) {
        const struct spmd_step *step = step_at(scratch, local, now);
        copy_table(scratch, local, now);
        from = step->depth == 0 ? now : from;
        if (step->depth > 0 || step->kind == SPMD_LOOP)
            copy_looped(scratch, local, now, from);
    }
}

/* is it made by an update that runs in the other order? */
static bool made_turned(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t value)
{
    return scratch->values[value].turned && local->values[value].step != SPMD_NONE &&
           local->steps[local->values[value].step].kind == SPMD_OP;
}

/* Is a gradient read that was scattered along a dimension of the argument that is not its outermost one?
 * What XLA:GPU scatters lies with that dimension outermost, so that the update writes across the argument
 * and reads a copy. */
static bool is_scattered_across(const struct price_scratch *scratch, const struct spmd_local *local,
                                const struct kernel *k, uint32_t argument)
{
    const uint8_t *at = local->values[argument].form.at;
    for (uint32_t root = k->roots; root < k->roots + k->root_count; root++) {
        uint32_t made = local->values[scratch->pool[root].value].step;
        const struct spmd_step *step = made == SPMD_NONE ? NULL : &local->steps[made];
        for (uint32_t axis = 0; step && step->kind == SPMD_REDUCE_SCATTER && axis < step->axis_count; axis++)
            if (price_has_outer(local, argument, at[step->axes[axis]]))
                return true;
    }
    return false;
}

/* Bytes that move because arguments are copied into the other order for this kernel, and because it runs
 * apart from the updates that make what it reads; notes what is in that order now. With ranges the copies
 * take memory: `now` is the kernel's time, moments are copied from `idle` on. */
static int64_t turn_arguments(struct price_scratch *scratch, const struct spmd_local *local,
                              const struct kernel *k, const uint32_t *ranges, uint32_t idle)
{
    const struct spmd_step *step = &local->steps[k->step];
    const struct root *roots = scratch->pool + k->roots;
    bool update = false, scattered = false, placed = scratch->rules & COST_FUSE_TURNED;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < k->root_count; i++) {
        uint32_t made = local->values[roots[i].value].step;
        update |= is_turned(scratch, local, roots[i].value);
        scattered |= made != SPMD_NONE && local->steps[made].kind == SPMD_REDUCE_SCATTER;
    }
    scattered &= ranges && !placed; /* the time of those is charged with their collectives' */
    if ((!update && !scattered) || step->kind != SPMD_OP || step_info(scratch, step)->class == OP_MATMUL)
        return 0;
    if (update)
        scratch->values[step->results].turned = local->values[step->results].bytes > TURNED_LEAST;
    for (uint32_t i = 0; i < k->root_count; i++) {
        uint32_t argument = roots[i].value;
        if (argument >= local->argument_count && k->shared_bytes && made_turned(scratch, local, argument))
            bytes += roots[i].bytes;
        if (argument >= local->argument_count || local->values[argument].bytes <= TURNED_LEAST ||
            scratch->values[argument].turned ||
            (placed && price_innermost_size(local, argument) < TILE_LANES))
            continue;
        if (!update && !is_scattered_across(scratch, local, k, argument))
            continue;
        /* (what is short lies outermost in libtpu's arguments: in a transposed gradient's order already) */
        int64_t read = roots[i].bytes; /* of a slice no more than that is copied */
        scratch->values[argument].turned = 1;
        bytes += 2 * read;
        if (!ranges || (!placed && scratch->uses[argument].feeds_matmul))
            continue;
        uint32_t now = *ranges, from = placed ? copied_at(scratch, read, now) : idle < now ? idle : now;
        place_copy(scratch, part_of(scratch, local, step), argument, read,
                   (struct live_range){from, now + 1});
    }
    return bytes;
}

int64_t price_turned_bytes(struct price_scratch *scratch, const struct spmd_local *local,
                           const struct kernel *kernel)
{
    return turn_arguments(scratch, local, kernel, NULL, 0);
}

/* what each kernel makes, less what it is the last to read */
static void find_growth(struct price_scratch *scratch, const struct spmd_local *local)
{
    GROW(scratch->growth, scratch->growth_room, scratch->kernel_count);
    memset(scratch->growth, 0, scratch->kernel_count * sizeof *scratch->growth);
    for (uint32_t kernel = 0; kernel < scratch->kernel_count; kernel++) {
        const struct spmd_step *step = step_at(scratch, local, kernel);
        for (uint32_t value = step->results; value < step->results + step->result_count; value++) {
            int64_t bytes = is_buffer(scratch, value) ? stored_bytes(scratch, local, value) : 0;
            scratch->growth[kernel] += bytes;
            scratch->growth[scratch->values[value].last] -= bytes;
        }
        int64_t gathered = price_gathered_copy(scratch, local, step);
        if (gathered) {
            scratch->growth[scratch->at[price_gathered_by(scratch, local, step)]] += gathered;
            scratch->growth[kernel] -= gathered;
        }
    }
}

static void turn_all(struct price_scratch *scratch, const struct spmd_local *local)
{
    uint32_t idle = 0; /* time after the last product */
    for (uint32_t kernel = 0; kernel < scratch->kernel_count; kernel++) {
        const struct spmd_step *step = step_at(scratch, local, kernel);
        if (step->kind == SPMD_OP && step_info(scratch, step)->class == OP_MATMUL)
            idle = kernel + 1;
    }
    if (scratch->by_memory)
        find_growth(scratch, local);
    GROW(scratch->copied_bytes, scratch->copied_room, local->argument_count);
    if (scratch->rules & COST_FUSE_TURNED)
        copy_gathered(scratch, local);
    if (scratch->rules & COST_FUSE_BATCHED)
        price_find_twins(scratch, local);
    for (uint32_t kernel = 0; kernel < scratch->kernel_count; kernel++)
        turn_arguments(scratch, local, &scratch->line[kernel], &kernel, idle);
}

void price_memory(struct price_scratch *scratch, const struct spmd_local *local, const struct kernel *line,
                  enum cost_order order, struct price *out)
{
    scratch->line = line;
    scratch->by_memory = order == COST_ORDER_MEMORY;
    price_heap_begin(scratch, local);
    price_count_begin(scratch);
    GROW(scratch->deltas, scratch->delta_room, scratch->kernel_count + 2);
    memset(scratch->deltas, 0, (scratch->kernel_count + 2) * sizeof *scratch->deltas);
    for (int part = 0; scratch->fold && part < 2; part++) {
        GROW(scratch->part_deltas[part], scratch->part_delta_room[part], scratch->kernel_count + 2);
        memset(scratch->part_deltas[part], 0,
               (scratch->kernel_count + 2) * sizeof *scratch->part_deltas[part]);
    }
    find_times(scratch, local);
    find_homes(scratch, local);
    for (uint32_t argument = 0; argument < local->argument_count; argument++)
        scratch->ranges[argument] = (struct live_range){0, 0};
    for (uint32_t i = 0, count; i < scratch->kernel_count; i += count) {
        count = combined_members(scratch, local, i);
        if (count > 1) {
            place_combined(scratch, local, i, count);
            continue;
        }
        const struct spmd_step *step = step_at(scratch, local, i);
        place_results(scratch, local, step);
        place_copies(scratch, local, step, (struct live_range){i, i + 1});
        share_in_kernel(scratch, local, i);
    }
    if (scratch->rules & (COST_FUSE_TURNED | COST_FUSE_BATCHED))
        turn_all(scratch, local);
    if (scratch->rules & COST_FUSE_PRODUCTS)
        price_place_hoisted(scratch, local);
    count_boundary(scratch, local, out);
    price_count_boundary(scratch, local);
    if (!scratch->results_apart)
        price_lend(scratch, local, out->argument_bytes + out->output_bytes);
    find_peak(scratch, local, out);
}
