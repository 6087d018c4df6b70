/* What a scheduler counts when it compares orders: not what the program will take.
 *
 * XLA's memory scheduler compares the bytes of values, each from where it is made to where it is read last. A
 * donated argument is such a value: it is gone when it was read for the last time, though its memory is the
 * result's from then on, and the result counts from where it is written. Nothing is written over an operand.
 *
 *   time                      0    1    2    3    4    5
 *   donated argument          #########
 *   copy of it                     #########                read instead of it from time 1 on
 *   result that takes it                     ##########
 *   argument that is not      #########################
 *
 * So a copy of a donated argument that nothing else reads counts nothing, whenever it runs, and takes memory
 * all the same. Here are the differences to what memory.c counts, which has the argument's memory
 * throughout. */
#include "cost/internal.h"

#include <string.h>

void price_count_begin(struct price_scratch *scratch)
{
    size_t times = scratch->kernel_count + 2;
    for (int part = 0; scratch->least_order && part < (scratch->fold ? COUNTED_PARTS : 1); part++) {
        GROW(scratch->counted[part], scratch->counted_room[part], times);
        memset(scratch->counted[part], 0, times * sizeof **scratch->counted);
    }
}

void price_count(struct price_scratch *scratch, uint8_t part, int64_t bytes, struct live_range live_range)
{
    if (!scratch->least_order || live_range.from >= live_range.until)
        return;
    scratch->counted[0][live_range.from] += bytes;
    scratch->counted[0][live_range.until] -= bytes;
    if (part == 1 || part == 2) {
        scratch->counted[part][live_range.from] += bytes;
        scratch->counted[part][live_range.until] -= bytes;
    }
}

/* when a result's buffer is there: loops and branches have it from their beginning on */
static uint32_t made_at(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t buffer)
{
    uint32_t step = local->values[buffer].step;
    uint8_t kind = local->steps[step].kind;
    return scratch->at[kind == SPMD_LOOP_END || kind == SPMD_BRANCH_END ? scratch->loop_end[step] : step];
}

/* from when on nothing reads the argument itself; its copy is made before the kernel at whose time it
 * begins */
static uint32_t read_until(const struct price_scratch *scratch, uint32_t argument)
{
    const struct value_work *work = &scratch->values[argument];
    const struct live_range *copy = &scratch->ranges[argument];
    uint32_t until = copy->until == work->last + 1 ? work->before + 1 : work->last + 1;
    return copy->until && until <= copy->from ? copy->from : until;
}

static void count_result(struct price_scratch *scratch, const struct spmd_local *local, uint32_t buffer,
                         uint32_t argument, uint8_t part)
{
    int64_t bytes = price_held_bytes(scratch, local, buffer);
    uint32_t made = made_at(scratch, local, buffer), end = made + 1;
    if (argument == NDA_NONE) {
        price_count(scratch, part, -bytes, (struct live_range){0, made});
        return;
    }
    uint32_t read = read_until(scratch, argument);
    price_count(scratch, part, -bytes, (struct live_range){read, made});
    while (end < scratch->kernel_count && scratch->line[end].follows)
        end++;
    if (read > made && scratch->ranges[buffer].from >= scratch->ranges[buffer].until)
        price_count(scratch, part, bytes, (struct live_range){made, end});
}

void price_count_boundary(struct price_scratch *scratch, const struct spmd_local *local)
{
    if (!scratch->least_order || !local->step_count ||
        local->steps[local->step_count - 1].kind != SPMD_RESULT)
        return;
    const struct spmd_step *results = &local->steps[local->step_count - 1];
    for (uint32_t operand = 0; operand < results->operand_count; operand++) {
        uint32_t value = local->operands[results->operands + operand], buffer = buffer_of(scratch, value),
                 argument = scratch->program->alias_argument[operand];
        if (buffer == NDA_NONE || buffer < local->argument_count || local->values[buffer].step == SPMD_NONE)
            continue;
        if (argument != NDA_NONE && local->values[argument].bytes != local->values[value].bytes)
            argument = NDA_NONE;
        if (scratch->fold && argument != NDA_NONE && !scratch->uses[argument].uses)
            continue; /* of a layer that is gone: counted with those that are there */
        count_result(scratch, local, buffer, argument,
                     part_of(scratch, local, &local->steps[local->values[buffer].step]));
    }
}
