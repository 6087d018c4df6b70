/* Collectives that a compiler combines, although they stand apart in the program: those that nothing waits
 * for in between. Weights that are gathered, gradients that are reduced, results that are made whole; up to
 * backend.combine_bytes of results, and none across the begin or end of a loop that sends something. See
 * joining.h. */
#include "cost/joining.h"

#include <string.h>

int64_t price_collective_bytes(const struct spmd_local *local, const struct spmd_step *step)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < step->operand_count; i++)
        bytes += local
                     ->values[step->kind == SPMD_ALL_GATHER ? step->results + i
                                                            : local->operands[step->operands + i]]
                     .bytes;
    return bytes;
}

/* Which collectives a compiler combines, although they stand apart in the program: those that nothing waits
 * for in between. Results are gathered for no product: weights that were updated in parts. */
enum { ROLE_OTHER, ROLE_WEIGHT, ROLE_GRADIENT, ROLE_RESULT };

/* cost_collective_price's time of a collective like the step, of so many bytes */
static int64_t collective_ps(struct known_time *known, const struct spmd_local *local,
                             const struct cost_machine *machine, const struct spmd_step *step, int64_t bytes)
{
    known += (uint64_t)bytes * HASH_GOLDEN >> 61 & (KNOWN_TIMES - 1);
    if (bytes <= 0 || known->bytes != bytes || known->kind != step->kind ||
        known->axis_count != step->axis_count || memcmp(known->axes, step->axes, step->axis_count) != 0) {
        *known = (struct known_time){.bytes = bytes, .kind = step->kind, .axis_count = step->axis_count};
        memcpy(known->axes, step->axes, step->axis_count);
        known->ps =
            cost_collective_price(machine, local->mesh, step->kind, step->axes, step->axis_count, bytes)
                .time_ps;
    }
    return known->ps;
}

/* one more member is charged what it adds to those before it: latency is paid once */
static int64_t add_member(struct joining *joining, struct joined *joined, const struct spmd_local *local,
                          const struct cost_machine *machine, const struct spmd_step *step)
{
    joined->bytes += price_collective_bytes(local, step);
    int64_t before = joined->ps;
    joined->ps = collective_ps(joining->known, local, machine, step, joined->bytes);
    return joined->ps - before;
}

static uint8_t element_of(const struct spmd_local *local, const struct spmd_step *step)
{
    return (uint8_t)ir_value_type(local->nda->program, local->values[step->results].origin)->element;
}

static uint8_t role_of(const struct price_scratch *scratch, const struct spmd_step *step)
{
    if (step->kind == SPMD_ALL_GATHER)
        return scratch->times[step->results].of_weights    ? ROLE_WEIGHT
               : scratch->uses[step->results].feeds_matmul ? ROLE_OTHER
                                                           : ROLE_RESULT;
    if (step->kind != SPMD_ALL_REDUCE && step->kind != SPMD_REDUCE_SCATTER)
        return ROLE_OTHER;
    return scratch->uses[step->results].feeds_matmul ? ROLE_OTHER : ROLE_GRADIENT;
}

/* the collectives that this one is combined with; begun anew where it would be too large with them */
static struct joined *find_joined(struct joining *joining, const struct spmd_step *step, uint8_t role,
                                  int64_t result_bytes, int64_t combine_bytes, uint32_t at)
{
    uint32_t axes = 0, i = 0;
    if (result_bytes > combine_bytes) { /* combined with none, those before and behind it may be */
        joining->alone = (struct joined){.number = ++joining->begun, .first = at};
        return &joining->alone;
    }
    for (uint32_t k = 0; k < step->axis_count; k++)
        axes |= 1u << step->axes[k];
    while (i < joining->count && !(joining->open[i].kind == step->kind && joining->open[i].axes == axes &&
                                   joining->open[i].role == role))
        i++;
    if (i == JOINED_KINDS)
        i = 0;
    bool fits = i < joining->count && joining->open[i].axes == axes && joining->open[i].kind == step->kind &&
                joining->open[i].role == role &&
                joining->open[i].result_bytes + result_bytes <= combine_bytes;
    if (i == joining->count)
        joining->count++;
    if (!fits)
        joining->open[i] = (struct joined){
            .axes = axes, .number = ++joining->begun, .kind = step->kind, .role = role, .first = at};
    joining->open[i].result_bytes += result_bytes;
    return &joining->open[i];
}

void price_collective(const struct price_scratch *scratch, const struct spmd_local *local,
                      const struct cost_machine *machine, struct kernel *kernels, uint32_t at,
                      enum tuple_place place, struct joining *joining)
{
    struct kernel *kernel = &kernels[at];
    const struct spmd_step *step = &local->steps[kernel->step];
    uint8_t role = machine->backend->combine_bytes ? role_of(scratch, step) : ROLE_OTHER;
    if (place == TUPLE_FIRST || (place == TUPLE_NONE && role == ROLE_OTHER && !kernel->beside))
        joining->tuple = (struct joined){.bytes = 0};
    kernel->joined = kernel->led_by = 0;
    if (role == ROLE_OTHER) {
        kernel->ps = add_member(joining, &joining->tuple, local, machine, step);
        return;
    }
    struct joined *joined = find_joined(joining, step, role, local->values[step->results].bytes,
                                        machine->backend->combine_bytes, at);
    kernel->ps = add_member(joining, joined, local, machine, step);
    if (role == ROLE_GRADIENT)
        kernel->joined = joined->number;
    if (role == ROLE_WEIGHT && joined->first != at) {
        kernels[joined->first].ps += kernel->ps;
        kernel->led_by = joined->first + 1;
        kernel->ps = 0;
    }
}

enum { BESIDE_MOST = 8 }; /* kernels between two all_reduces that run as one */
/* Does a kernel read what an all_reduce of the chain's last ones makes? */
static bool reads_chain(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct joining *joining, uint32_t kernel)
{
    const struct kernel *k = &scratch->kernels[kernel];
    for (uint32_t i = k->roots; i < k->roots + k->root_count; i++) {
        uint32_t by = local->values[scratch->pool[i].value].step,
                 at = by == SPMD_NONE || !spmd_step_is_collective(&local->steps[by]) ? SPMD_NONE
                                                                                     : scratch->at[by];
        if (at != SPMD_NONE && at + 1 >= joining->chain_first && at + 1 <= joining->chain_last)
            return true;
    }
    return false;
}

void price_note_beside(struct price_scratch *scratch, const struct spmd_local *local,
                       const struct cost_machine *machine, uint32_t at, struct joining *joining)
{
    struct kernel *kernel = &scratch->kernels[at];
    const struct spmd_step *step = &local->steps[kernel->step];
    kernel->beside = false;
    if (!machine->backend->combine_bytes || step->kind != SPMD_ALL_REDUCE || step->combined ||
        role_of(scratch, step) != ROLE_OTHER)
        return;
    uint32_t last = joining->chain_last;
    const struct spmd_step *before = last ? &local->steps[scratch->kernels[last - 1].step] : step;
    bool joins =
        last && at - last < BESIDE_MOST && before->reducer == step->reducer &&
        before->axis_count == step->axis_count && memcmp(before->axes, step->axes, step->axis_count) == 0 &&
        element_of(local, before) == element_of(local, step) &&
        joining->tuple.bytes + price_collective_bytes(local, step) <= machine->backend->combine_bytes;
    for (uint32_t i = last; joins && i <= at; i++)
        joins = !reads_chain(scratch, local, joining, i);
    kernel->beside = joins;
    joining->chain_first = joins ? joining->chain_first : at + 1;
    joining->chain_last = at + 1;
}

/* are all buffers that the kernel reads computed from arguments without a matrix product? */
static void note_made(struct price_scratch *scratch, const struct spmd_local *local,
                      const struct kernel *kernel)
{
    const struct spmd_step *step = &local->steps[kernel->step];
    uint8_t of_weights = step->kind != SPMD_OP || step_info(scratch, step)->class != OP_MATMUL;
    for (uint32_t i = 0; of_weights && i < kernel->root_count; i++)
        of_weights = scratch->times[scratch->pool[kernel->roots + i].value].of_weights;
    for (uint32_t result = 0; result < step->result_count; result++)
        scratch->times[step->results + result] = (struct value_times){.of_weights = of_weights};
}

static uint8_t is_of_weights(const struct price_scratch *scratch, uint32_t value)
{
    uint32_t buffer = buffer_of(scratch, value);
    return buffer == NDA_NONE || scratch->times[buffer].of_weights; /* what is no buffer is a constant */
}

/* what is carried begins as what it is before the loop */
static void note_entry(struct price_scratch *scratch, const struct spmd_local *local,
                       const struct spmd_step *loop)
{
    for (uint32_t c = 0; c < loop->operand_count; c++) {
        uint8_t of_weights = is_of_weights(scratch, local->operands[loop->operands + c]);
        for (uint32_t turn = 0; turn < 2; turn++)
            scratch->times[loop->results + turn * loop->operand_count + c].of_weights = of_weights;
    }
}

/* true: of what is carried something comes out of the body as no weights that went in as such */
static bool note_exit(struct price_scratch *scratch, const struct spmd_local *local,
                      const struct spmd_step *end, const struct spmd_step *loop)
{
    bool changed = false;
    for (uint32_t c = 0; c < end->operand_count; c++) {
        uint8_t of_weights = is_of_weights(scratch, local->operands[end->operands + c]),
                *went_in = &scratch->times[loop->results + end->operand_count + c].of_weights;
        changed |= *went_in && !of_weights;
        *went_in &= of_weights;
        scratch->times[loop->results + c].of_weights = scratch->times[end->results + c].of_weights = *went_in;
    }
    return changed;
}

void price_note_weights(struct price_scratch *scratch, const struct spmd_local *local)
{
    for (uint32_t i = 0; i < scratch->kernel_count; i++) {
        const struct kernel *kernel = &scratch->kernels[i];
        const struct spmd_step *step = &local->steps[kernel->step];
        note_made(scratch, local, kernel);
        if (step->kind == SPMD_LOOP) {
            note_entry(scratch, local, step);
        } else if (step->kind == SPMD_LOOP_END) {
            uint32_t loop = scratch->loop_end[kernel->step];
            bool once_more = note_exit(scratch, local, step, &local->steps[loop]);
            while (once_more && scratch->kernels[i].step != loop)
                i--; /* the body again */
        }
    }
}
