/* Combining: independent collectives of one kind and group become one tuple op, up to combine_bytes.
 *
 * An all_reduce neither grows nor shrinks its operand, so a small one may wait without holding more
 * memory: it waits in a bucket until something wants a result of the bucket, the bucket is full or the
 * region ends. Gradients' all_reduces, which stand far apart, meet there. Gathers change size, so that
 * waiting is not free: they combine with neighbours only, and only along the outermost dimension, where
 * the tuple op needs no local transposes. Scatters, all_to_alls and permutes have no tuple form that takes
 * less than a copy: they stay alone. */
#include "spmd/walk.h"

#include <string.h>

static bool same_group(const struct walk_pending *pending, const struct walk_pending *walk_pending)
{
    return pending->reducer == walk_pending->reducer && pending->element == walk_pending->element &&
           pending->axis_count == walk_pending->axis_count &&
           memcmp(pending->axes, walk_pending->axes, pending->axis_count) == 0;
}

/* places the bucket of pending entry `at` (all entries like it), in the order they came */
static void flush_like(struct walk *walk, size_t at)
{
    struct walk_pending key = walk->scratch->pending.at[at];
    uint32_t members = 0, id = 0;
    size_t left = 0;

    for (size_t i = 0; i < walk->scratch->pending.count; i++)
        members += same_group(&walk->scratch->pending.at[i], &key);
    if (members > 1)
        id = ++walk->next_combined;
    for (size_t i = 0; i < walk->scratch->pending.count; i++) {
        struct walk_pending pending = walk->scratch->pending.at[i];
        if (!same_group(&pending, &key)) {
            walk->scratch->pending.at[left++] = pending;
            continue;
        }
        struct spmd_step *step = walk_new_step(walk, SPMD_ALL_REDUCE, pending.op);
        step->reducer = pending.reducer;
        step->axis_count = pending.axis_count;
        memcpy(step->axes, pending.axes, sizeof step->axes);
        step->decision_space = pending.space;
        step->results = pending.result;
        step->result_count = 1;
        step->combined = id;
        walk->local->values[pending.result].step = walk->local->step_count - 1;
        uint32_t base = (uint32_t)walk->scratch->stack.count;
        VEC_PUSH(&walk->scratch->stack, pending.operand);
        walk_push_operands(walk, step, base);
    }
    walk->scratch->pending.count = left;
}

void walk_flush(struct walk *walk)
{
    while (walk->scratch->pending.count)
        flush_like(walk, 0);
}

void walk_settle(struct walk *walk, uint32_t value)
{
    if (walk->local->values[value].step != WALK_PENDING)
        return;
    for (size_t i = 0; i < walk->scratch->pending.count; i++)
        if (walk->scratch->pending.at[i].result == value) {
            flush_like(walk, i);
            return;
        }
    BASE_CHECK(!"a pending value is in no bucket");
}

bool walk_hold(struct walk *walk, const struct walk_pending *pending)
{
    int64_t bytes = walk->local->values[pending->result].bytes, sum = bytes;
    size_t like = SIZE_MAX;

    if (bytes >= walk->combine_bytes)
        return false;
    for (size_t i = 0; i < walk->scratch->pending.count; i++)
        if (same_group(&walk->scratch->pending.at[i], pending)) {
            sum += walk->local->values[walk->scratch->pending.at[i].result].bytes;
            like = i;
        }
    if (sum > walk->combine_bytes && like != SIZE_MAX)
        flush_like(walk, like);
    VEC_PUSH(&walk->scratch->pending, *pending);
    walk->local->values[pending->result].step = WALK_PENDING;
    return true;
}

/* The newest step joins the run of gathers that ends right before it, when it may. */
void walk_combine_last(struct walk *walk)
{
    uint32_t last = walk->local->step_count - 1;
    struct spmd_step *step = &walk->local->steps[last],
                     *first = walk->run ? &walk->local->steps[last - walk->run] : NULL;
    int64_t bytes = walk->local->values[step->results].bytes;

    if (step->kind != SPMD_ALL_GATHER || step->atom != 0 || bytes >= walk->combine_bytes) {
        walk->run = 0;
        return;
    }
    const struct spmd_value *from = spmd_operand_value(walk->local, step, 0);
    bool joins = first && last == walk->run_end && first->axis_count == step->axis_count &&
                 memcmp(first->axes, step->axes, step->axis_count) == 0 &&
                 walk->run_bytes + bytes <= walk->combine_bytes &&
                 ir_value_type(walk->program, from->origin)->element ==
                     ir_value_type(walk->program, walk->local->values[first->results].origin)->element &&
                 (from->step == SPMD_NONE || from->step < last - walk->run);
    walk->run_end = last + 1;
    if (!joins) {
        walk->run = 1;
        walk->run_bytes = bytes;
        return;
    }
    if (!first->combined)
        first->combined = ++walk->next_combined;
    step->combined = first->combined;
    walk->run++;
    walk->run_bytes += bytes;
}
