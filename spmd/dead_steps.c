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
static uint32_t mark_dead(struct walk *w, uint32_t *uses)
{
    struct spmd_local *l = w->l;
    uint32_t dead = 0;

    memset(uses, 0, l->value_count * sizeof *uses);
    for (uint32_t i = 0; i < l->operand_count; i++)
        uses[l->operands[i]]++;
    for (size_t i = 0; i < w->s->suspects.count; i++) {
        struct spmd_step *s = &l->steps[w->s->suspects.at[i]];
        bool used = s->kind > SPMD_MASK || s->op == SPMD_NONE || s->combined;
        for (uint32_t k = 0; k < s->result_count; k++)
            used |= uses[s->results + k] > 0;
        if (used)
            continue;
        for (uint32_t k = 0; k < s->operand_count; k++) {
            uint32_t v = spmd_operand(l, s, k);
            if (--uses[v] == 0 && l->values[v].step != SPMD_NONE)
                VEC_PUSH(&w->s->suspects, l->values[v].step);
        }
        s->op = SPMD_NONE; /* dead */
        dead++;
    }
    return dead;
}

void walk_remove_dead(struct walk *w)
{
    struct spmd_local *l = w->l;

    if (!w->s->suspects.count)
        return;
    VEC_RESERVE(&w->s->remap, l->value_count);
    uint32_t *map = w->s->remap.at;
    if (!mark_dead(w, map))
        return;
    uint32_t values = l->argument_count, steps = 0;
    /* values stand in the order of their steps' making, not of their steps (held all_reduces): keep that
     * order */
    for (uint32_t v = 0; v < l->value_count; v++) {
        uint32_t step = l->values[v].step;
        if (v < l->argument_count) {
            map[v] = v;
        } else if (l->steps[step].op == SPMD_NONE) {
            map[v] = SPMD_NONE;
        } else {
            map[v] = values;
            l->values[values++] = l->values[v];
        }
    }
    l->value_count = values;
    for (uint32_t i = 0; i < l->step_count; i++) {
        struct spmd_step s = l->steps[i];
        if (s.op == SPMD_NONE)
            continue;
        s.results = s.result_count ? map[s.results] : 0;
        for (uint32_t k = 0; k < s.operand_count; k++)
            l->operands[s.operands + k] = map[l->operands[s.operands + k]];
        for (uint32_t k = 0; k < s.result_count; k++)
            l->values[s.results + k].step = steps;
        l->steps[steps++] = s;
    }
    l->step_count = steps;
}

void spmd_local_reorder(struct spmd_local *l, const uint32_t *order)
{
    struct spmd_step *steps = mem_alloc(((size_t)l->step_room + 1) * sizeof *steps);

    for (uint32_t i = 0; i < l->step_count; i++) {
        steps[i] = l->steps[order[i]];
        for (uint32_t k = 0; k < steps[i].result_count; k++)
            l->values[steps[i].results + k].step = i;
    }
    free(l->steps);
    l->steps = steps;
}
