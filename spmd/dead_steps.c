/* Takes the steps out of a local program whose results nothing uses.
 *
 * They arise where an op was computed in its planned form and every use then had it computed again in another
 * form (walk_obtain.c), which notes the first step as a suspect. Only suspects, and what only they used, are
 * looked at; where there are none, nothing is copied. Order and values of the other steps stay; their numbers
 * close up. Never removes control flow, the function's results or a member of a combined collective. */
#include "spmd/walk.h"

#include <stdlib.h>
#include <string.h>

/* Counts the uses of every value, then kills suspects without uses, and what only they used. */
static uint32_t mark_dead(struct walk *walk, uint32_t *uses)
{
    struct spmd_local *local = walk->local;
    uint32_t dead = 0;

    memset(uses, 0, local->value_count * sizeof *uses);
    for (uint32_t i = 0; i < local->operand_count; i++)
        uses[local->operands[i]]++;
    for (size_t i = 0; i < walk->scratch->suspects.count; i++) {
        struct spmd_step *step = &local->steps[walk->scratch->suspects.at[i]];
        bool used = step->kind > SPMD_MASK || step->op == SPMD_NONE || step->combined;
        for (uint32_t k = 0; k < step->result_count; k++)
            used |= uses[step->results + k] > 0;
        if (used)
            continue;
        for (uint32_t k = 0; k < step->operand_count; k++) {
            uint32_t value = spmd_operand(local, step, k);
            if (--uses[value] == 0 && local->values[value].step != SPMD_NONE)
                VEC_PUSH(&walk->scratch->suspects, local->values[value].step);
        }
        step->op = SPMD_NONE; /* dead */
        dead++;
    }
    return dead;
}

void walk_remove_dead(struct walk *walk)
{
    struct spmd_local *local = walk->local;

    if (!walk->scratch->suspects.count)
        return;
    VEC_RESERVE(&walk->scratch->remap, local->value_count);
    uint32_t *map = walk->scratch->remap.at;
    if (!mark_dead(walk, map))
        return;
    uint32_t values = local->argument_count, steps = 0;
    /* values stand in the order of their steps' making, not of their steps (held all_reduces): keep that
     * order */
    for (uint32_t value = 0; value < local->value_count; value++) {
        uint32_t step = local->values[value].step;
        if (value < local->argument_count) {
            map[value] = value;
        } else if (local->steps[step].op == SPMD_NONE) {
            map[value] = SPMD_NONE;
        } else {
            map[value] = values;
            local->values[values++] = local->values[value];
        }
    }
    local->value_count = values;
    for (uint32_t i = 0; i < local->step_count; i++) {
        struct spmd_step step = local->steps[i];
        if (step.op == SPMD_NONE)
            continue;
        step.results = step.result_count ? map[step.results] : 0;
        for (uint32_t k = 0; k < step.operand_count; k++)
            local->operands[step.operands + k] = map[local->operands[step.operands + k]];
        for (uint32_t k = 0; k < step.result_count; k++)
            local->values[step.results + k].step = steps;
        local->steps[steps++] = step;
    }
    local->step_count = steps;
}

void spmd_local_reorder(struct spmd_local *local, const uint32_t *order)
{
    struct spmd_step *steps = mem_alloc(((size_t)local->step_room + 1) * sizeof *steps);

    for (uint32_t i = 0; i < local->step_count; i++) {
        steps[i] = local->steps[order[i]];
        for (uint32_t k = 0; k < steps[i].result_count; k++)
            local->values[steps[i].results + k].step = i;
    }
    free(local->steps);
    local->steps = steps;
}
