/* The open leaves of the proof's tree: room for them, and giving it back; parting them between two workers by
 * their bounds. What they mean is in prove.c; nothing here reads a mask. */
#include "cfn/leaves.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const size_t most_start = (size_t)4 << 20; /* numbers: 16 MiB of a job's blob between two phases */

void cfn_leaves_release(struct cfn_leaves *leaves)
{
    free(leaves->bound);
    free(leaves->mask);
    free(leaves->start);
    free(leaves->started);
    free(leaves->gain);
    *leaves = (struct cfn_leaves){0};
}

void cfn_leaves_reserve(const struct cfn_model *model, struct cfn_leaves *leaves, int32_t count)
{
    if (!leaves->gain)
        leaves->gain = mem_zalloc((size_t)model->node_count + 1, sizeof *leaves->gain);
    if (count <= leaves->room)
        return;
    leaves->room = count > 2 * leaves->room ? count : 2 * leaves->room;
    leaves->bound = mem_realloc(leaves->bound, (size_t)leaves->room, sizeof *leaves->bound);
    leaves->mask = mem_realloc(leaves->mask, (size_t)leaves->room, model->value_count);
    leaves->started = mem_realloc(leaves->started, (size_t)leaves->room, sizeof *leaves->started);
}

float *cfn_leaves_start(struct cfn_leaves *leaves, int32_t k, size_t start_size)
{
    if (start_size != leaves->start_size) {
        memset(leaves->started, 0, (size_t)leaves->room);
        free(leaves->start);
        leaves->start = NULL;
        leaves->start_room = 0;
        leaves->start_size = start_size;
    }
    if (!start_size || (size_t)k >= most_start / start_size)
        return NULL;
    if (k >= leaves->start_room) {
        leaves->start_room = k < 8 ? 16 : 2 * k;
        leaves->start =
            mem_realloc(leaves->start, (size_t)leaves->start_room, start_size * sizeof *leaves->start);
    }
    return leaves->start + (size_t)k * start_size;
}

void cfn_leaves_move(const struct cfn_model *model, struct cfn_leaves *leaves, int32_t to, int32_t from)
{
    if (to == from)
        return;
    leaves->bound[to] = leaves->bound[from];
    memcpy(leaves->mask + (size_t)to * model->value_count, leaves->mask + (size_t)from * model->value_count,
           model->value_count);
    leaves->started[to] = leaves->started[from];
    if (leaves->started[from])
        memcpy(leaves->start + (size_t)to * leaves->start_size,
               leaves->start + (size_t)from * leaves->start_size, leaves->start_size * sizeof *leaves->start);
}

int32_t cfn_leaves_least(const struct cfn_leaves *leaves)
{
    int32_t least = leaves->count ? 0 : -1;
    for (int32_t k = 1; k < leaves->count; k++)
        least = leaves->bound[k] < leaves->bound[least] ? k : least;
    return least;
}

int64_t cfn_leaves_bound(const struct cfn_leaves *leaves)
{
    return leaves->count ? leaves->bound[cfn_leaves_least(leaves)] : INT64_MAX;
}

/* ---- two workers ---- */

static void append(const struct cfn_model *model, struct cfn_leaves *to, const struct cfn_leaves *from,
                   int32_t leaf)
{
    cfn_leaves_reserve(model, to, to->count + 1);
    to->bound[to->count] = from->bound[leaf];
    memcpy(to->mask + (size_t)to->count * model->value_count, from->mask + (size_t)leaf * model->value_count,
           model->value_count);
    to->started[to->count] = 0;
    float *start = from->started[leaf] && (!to->count || to->start_size == from->start_size)
                       ? cfn_leaves_start(to, to->count, from->start_size)
                       : NULL;
    if (start) {
        memcpy(start, from->start + (size_t)leaf * from->start_size, from->start_size * sizeof *start);
        to->started[to->count] = 1;
    }
    to->count++;
}

struct ranked {
    int64_t bound;
    int32_t leaf;
};

static int by_bound(const void *left, const void *right)
{
    const struct ranked *x = left, *y = right;
    return x->bound != y->bound ? (x->bound < y->bound ? -1 : 1) : x->leaf - y->leaf;
}

void cfn_leaves_share(const struct cfn_model *model, struct cfn_leaves *from, struct cfn_leaves *to)
{
    struct ranked *ranked = mem_alloc(((size_t)from->count + 1) * sizeof *ranked);
    uint8_t *goes = mem_zalloc((size_t)from->count + 1, 1);
    int32_t kept = 0;
    for (int32_t k = 0; k < from->count; k++)
        ranked[k] = (struct ranked){from->bound[k], k};
    qsort(ranked, (size_t)from->count, sizeof *ranked, by_bound);
    to->count = 0;
    cfn_leaves_reserve(model, to, from->count / 2 + 1);
    memcpy(to->gain, from->gain, (size_t)model->node_count * sizeof *to->gain);
    for (int32_t k = 1; k < from->count; k += 2) {
        append(model, to, from, ranked[k].leaf);
        goes[ranked[k].leaf] = 1;
    }
    for (int32_t k = 0; k < from->count; k++)
        if (!goes[k])
            cfn_leaves_move(model, from, kept++, k);
    from->count = kept;
    from->shared = to->shared = to->begun = true;
    from->elsewhere = cfn_leaves_bound(to);
    to->elsewhere = cfn_leaves_bound(from);
    free(ranked);
    free(goes);
}

void cfn_leaves_join(const struct cfn_model *model, struct cfn_leaves *to, struct cfn_leaves *from)
{
    for (int32_t k = 0; k < from->count; k++)
        append(model, to, from, k);
    for (int32_t i = 0; i < model->node_count; i++)
        to->gain[i] = to->gain[i] < 0 ? from->gain[i] : to->gain[i];
    from->count = 0;
    from->shared = to->shared = from->begun = false;
}
