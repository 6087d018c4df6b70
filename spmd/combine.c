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

static bool same_group(const struct walk_pending *a, const struct walk_pending *b)
{
    return a->reducer == b->reducer && a->element == b->element && a->axis_count == b->axis_count &&
           memcmp(a->axes, b->axes, a->axis_count) == 0;
}

/* places the bucket of pending entry `at` (all entries like it), in the order they came */
static void flush_like(struct walk *w, size_t at)
{
    struct walk_pending key = w->s->pending.at[at];
    uint32_t members = 0, id = 0;
    size_t left = 0;

    for (size_t i = 0; i < w->s->pending.count; i++)
        members += same_group(&w->s->pending.at[i], &key);
    if (members > 1)
        id = ++w->next_combined;
    for (size_t i = 0; i < w->s->pending.count; i++) {
        struct walk_pending p = w->s->pending.at[i];
        if (!same_group(&p, &key)) {
            w->s->pending.at[left++] = p;
            continue;
        }
        struct spmd_step *s = walk_new_step(w, SPMD_ALL_REDUCE, p.op);
        s->reducer = p.reducer;
        s->axis_count = p.axis_count;
        memcpy(s->axes, p.axes, sizeof s->axes);
        s->decision_space = p.space;
        s->results = p.result;
        s->result_count = 1;
        s->combined = id;
        w->l->values[p.result].step = w->l->step_count - 1;
        uint32_t base = (uint32_t)w->s->stack.count;
        VEC_PUSH(&w->s->stack, p.operand);
        walk_push_operands(w, s, base);
    }
    w->s->pending.count = left;
}

void walk_flush(struct walk *w)
{
    while (w->s->pending.count)
        flush_like(w, 0);
}

void walk_settle(struct walk *w, uint32_t value)
{
    if (w->l->values[value].step != WALK_PENDING)
        return;
    for (size_t i = 0; i < w->s->pending.count; i++)
        if (w->s->pending.at[i].result == value) {
            flush_like(w, i);
            return;
        }
    BASE_CHECK(!"a pending value is in no bucket");
}

bool walk_hold(struct walk *w, const struct walk_pending *p)
{
    int64_t bytes = w->l->values[p->result].bytes, sum = bytes;
    size_t like = SIZE_MAX;

    if (bytes >= w->combine_bytes)
        return false;
    for (size_t i = 0; i < w->s->pending.count; i++)
        if (same_group(&w->s->pending.at[i], p)) {
            sum += w->l->values[w->s->pending.at[i].result].bytes;
            like = i;
        }
    if (sum > w->combine_bytes && like != SIZE_MAX)
        flush_like(w, like);
    VEC_PUSH(&w->s->pending, *p);
    w->l->values[p->result].step = WALK_PENDING;
    return true;
}

/* The newest step joins the run of gathers that ends right before it, when it may. */
void walk_combine_last(struct walk *w)
{
    uint32_t last = w->l->step_count - 1;
    struct spmd_step *s = &w->l->steps[last], *first = w->run ? &w->l->steps[last - w->run] : NULL;
    int64_t bytes = w->l->values[s->results].bytes;

    if (s->kind != SPMD_ALL_GATHER || s->atom != 0 || bytes >= w->combine_bytes) {
        w->run = 0;
        return;
    }
    const struct spmd_value *from = spmd_operand_value(w->l, s, 0);
    bool joins = first && last == w->run_end && first->axis_count == s->axis_count &&
                 memcmp(first->axes, s->axes, s->axis_count) == 0 &&
                 w->run_bytes + bytes <= w->combine_bytes &&
                 ir_value_type(w->program, from->origin)->element ==
                     ir_value_type(w->program, w->l->values[first->results].origin)->element &&
                 (from->step == SPMD_NONE || from->step < last - w->run);
    w->run_end = last + 1;
    if (!joins) {
        w->run = 1;
        w->run_bytes = bytes;
        return;
    }
    if (!first->combined)
        first->combined = ++w->next_combined;
    s->combined = first->combined;
    w->run++;
    w->run_bytes += bytes;
}
