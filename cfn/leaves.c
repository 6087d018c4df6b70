/* The open leaves of the proof's tree: room for them, and giving it back. What they mean is in prove.c;
 * nothing here reads a bound or a mask. */
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
