/* What is still held at the peak when all that is worth it is computed again (rematerialise.c): one kernel at
 * a time, the one that frees most, of equals the one that was met first.
 *
 *   heap    what frees most first       readers    of each value: the kernels whose worth it changes
 *   (an entry whose kernel is worth something else by now is dropped when it comes up)
 *
 * Of many layers there are thousands of kernels to choose from, thousands of times: what a kernel frees is
 * found again only where something that it makes or reads is held no longer, or from now on. */
#include "cost/rematerialise.h"

#include <stdlib.h>
#include <string.h>

struct worth {
    int64_t freed;
    uint32_t met, place; /* the kernel's number among those that were met; its place in the line */
};
struct reader {
    uint32_t place, next; /* 1 + the next reader of the value; 0: it is the last */
};
struct price_kept {
    uint8_t *held;       /* per value: at the peak */
    uint32_t *first;     /* per value: 1 + the first of its readers; 0: none */
    struct worth *worth; /* per kernel of the line; met 0: it is not looked at */
    size_t held_room, first_room, worth_room;
    VEC(struct reader) readers;
    VEC(struct worth) heap;
    uint32_t met;
};

static struct price_kept *kept_of(struct price_scratch *scratch)
{
    if (!scratch->kept)
        scratch->kept = mem_zalloc(1, sizeof *scratch->kept);
    return scratch->kept;
}

void price_kept_destroy(struct price_kept *kept)
{
    if (!kept)
        return;
    free(kept->held);
    free(kept->first);
    free(kept->worth);
    VEC_FREE(&kept->readers);
    VEC_FREE(&kept->heap);
    free(kept);
}

static bool may_compute_again(const struct price_scratch *scratch, const struct spmd_local *local,
                              const struct kernel *kernel)
{
    const struct spmd_step *step = &local->steps[kernel->step];
    bool convolves = (kernel->traits & (KERNEL_MULTIPLIES | KERNEL_DOT)) == KERNEL_MULTIPLIES;
    return !(kernel->traits & (KERNEL_SENDS | KERNEL_MARKS | KERNEL_INSIDE)) && !convolves &&
           step_is_local(step->kind) && price_info_of(scratch, step)->class != OP_OTHER;
}

/* .. of all layers that a step of a fold stands for */
static int64_t bytes_of(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t value)
{
    uint32_t step = local->values[value].step;
    bool copied = step != SPMD_NONE && part_of(scratch, local, &local->steps[step]) == 1;
    return stored_bytes(scratch, local, value) * (copied ? 1 + scratch->fold->copies : 1);
}

/* What it frees to run the kernel again where its results are read, less what has to be held for that. */
static int64_t freed_by(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct kernel *kernel)
{
    const struct spmd_step *step = &local->steps[kernel->step];
    int64_t freed = 0;
    for (uint32_t value = step->results; value < step->results + step->result_count; value++)
        freed += scratch->kept->held[value] ? bytes_of(scratch, local, value) : 0;
    for (uint32_t root = kernel->roots; freed > 0 && root < kernel->roots + kernel->root_count; root++) {
        uint32_t read = scratch->pool[root].value;
        if (read >= local->argument_count && !scratch->kept->held[read] && !scratch->values[read].homed)
            freed -= bytes_of(scratch, local, read);
    }
    return freed;
}

/* ---------------------------------------------------------------- the heap */
static bool is_more(const struct worth *one, const struct worth *other)
{
    return one->freed != other->freed ? one->freed > other->freed : one->met < other->met;
}

static void push_worth(struct price_kept *kept, struct worth worth)
{
    VEC_PUSH(&kept->heap, worth);
    size_t at = kept->heap.count - 1;
    for (; at > 0 && is_more(&worth, &kept->heap.at[(at - 1) / 2]); at = (at - 1) / 2)
        kept->heap.at[at] = kept->heap.at[(at - 1) / 2];
    kept->heap.at[at] = worth;
}

static struct worth pop_worth(struct price_kept *kept)
{
    struct worth first = kept->heap.at[0], last = kept->heap.at[--kept->heap.count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < kept->heap.count; at = child) {
        child += child + 1 < kept->heap.count && is_more(&kept->heap.at[child + 1], &kept->heap.at[child]);
        if (!is_more(&kept->heap.at[child], &last))
            break;
        kept->heap.at[at] = kept->heap.at[child];
    }
    kept->heap.at[at] = last;
    return first;
}

/* the kernel at the place is looked at, and worth what it frees now */
static void weigh(struct price_scratch *scratch, const struct spmd_local *local, uint32_t place)
{
    struct price_kept *kept = scratch->kept;
    struct worth *worth = &kept->worth[place];
    if (!worth->met)
        *worth = (struct worth){0, ++kept->met, place};
    int64_t freed = freed_by(scratch, local, &scratch->line[place]);
    if (freed == worth->freed)
        return;
    worth->freed = freed;
    if (freed > 0)
        push_worth(kept, *worth);
}

/* .. those that read the value, if they are looked at */
static void weigh_readers(struct price_scratch *scratch, const struct spmd_local *local, uint32_t value)
{
    const struct price_kept *kept = scratch->kept;
    for (uint32_t at = kept->first[value]; at; at = kept->readers.at[at - 1].next)
        if (kept->worth[kept->readers.at[at - 1].place].met)
            weigh(scratch, local, kept->readers.at[at - 1].place);
}

/* ---------------------------------------------------------------- what is held */
static void list_readers(struct price_scratch *scratch, const struct spmd_local *local)
{
    struct price_kept *kept = scratch->kept;
    kept->readers.count = 0;
    for (uint32_t place = 0; place < scratch->kernel_count; place++) {
        const struct kernel *kernel = &scratch->line[place];
        if (!may_compute_again(scratch, local, kernel))
            continue;
        for (uint32_t root = kernel->roots; root < kernel->roots + kernel->root_count; root++) {
            uint32_t read = scratch->pool[root].value;
            if (read < local->argument_count)
                continue;
            VEC_PUSH(&kept->readers, ((struct reader){place, kept->first[read]}));
            kept->first[read] = (uint32_t)kept->readers.count;
        }
    }
}

/* Does the kernel make something that is held at the time? Adds its bytes. */
static bool hold_results(struct price_scratch *scratch, const struct spmd_local *local,
                         const struct kernel *kernel, uint32_t now, int64_t *bytes)
{
    const struct spmd_step *step = &local->steps[kernel->step];
    bool any = false;
    for (uint32_t value = step->results; value < step->results + step->result_count; value++) {
        if (!is_buffer(scratch, value) || scratch->ranges[value].from > now ||
            scratch->ranges[value].until <= now)
            continue;
        any = true;
        scratch->kept->held[value] = true;
        *bytes += bytes_of(scratch, local, value);
    }
    return any;
}

/* Values that are held at the time, and the kernels that make them and may run again; returns their bytes. */
static int64_t begin_kept(struct price_scratch *scratch, const struct spmd_local *local, uint32_t now)
{
    struct price_kept *kept = kept_of(scratch);
    int64_t bytes = 0;
    GROW(kept->held, kept->held_room, (size_t)local->value_count + 1);
    GROW(kept->first, kept->first_room, (size_t)local->value_count + 1);
    GROW(kept->worth, kept->worth_room, scratch->kernel_count + 1);
    memset(kept->held, 0, local->value_count);
    memset(kept->first, 0, local->value_count * sizeof *kept->first);
    memset(kept->worth, 0, scratch->kernel_count * sizeof *kept->worth);
    kept->heap.count = kept->met = 0;
    scratch->walk.count = 0;
    for (uint32_t place = 0; place <= now; place++) {
        const struct kernel *kernel = &scratch->line[place];
        if (hold_results(scratch, local, kernel, now, &bytes) && place < now &&
            may_compute_again(scratch, local, kernel))
            VEC_PUSH(&scratch->walk, place);
    }
    list_readers(scratch, local);
    for (size_t i = 0; i < scratch->walk.count; i++)
        weigh(scratch, local, scratch->walk.at[i]);
    return bytes;
}

/* From now on the value is held, and what makes it may run again. */
static void hold(struct price_scratch *scratch, const struct spmd_local *local, uint32_t value)
{
    uint32_t made = local->values[value].step;
    scratch->kept->held[value] = true;
    weigh_readers(scratch, local, value);
    if (made != SPMD_NONE && may_compute_again(scratch, local, &scratch->line[scratch->at[made]]))
        weigh(scratch, local, scratch->at[made]);
}

/* Nothing of what the kernel makes is held now, and all that it reads. */
static void compute_again(struct price_scratch *scratch, const struct spmd_local *local, uint32_t place)
{
    const struct kernel *kernel = &scratch->line[place];
    const struct spmd_step *step = &local->steps[kernel->step];
    for (uint32_t value = step->results; value < step->results + step->result_count; value++)
        scratch->kept->held[value] = false;
    for (uint32_t root = kernel->roots; root < kernel->roots + kernel->root_count; root++) {
        uint32_t read = scratch->pool[root].value;
        if (read >= local->argument_count && !scratch->kept->held[read] && !scratch->values[read].homed)
            hold(scratch, local, read);
    }
    weigh(scratch, local, place);
    for (uint32_t value = step->results; value < step->results + step->result_count; value++)
        weigh_readers(scratch, local, value);
}

int64_t price_kept_least(struct price_scratch *scratch, const struct spmd_local *local, uint32_t now)
{
    int64_t bytes = begin_kept(scratch, local, now);
    struct price_kept *kept = scratch->kept;
    while (kept->heap.count) {
        struct worth best = pop_worth(kept);
        if (best.freed != kept->worth[best.place].freed)
            continue;
        bytes -= best.freed;
        compute_again(scratch, local, best.place);
    }
    return bytes;
}
