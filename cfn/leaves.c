/* The open leaves of the proof's tree: room for them, and giving it back. What they mean is in prove.c;
 * nothing here reads a bound or a mask. */
#include "cfn/leaves.h"

#include "base/memory.h"

#include <stdlib.h>

void cfn_leaves_release(struct cfn_leaves *leaves)
{
    free(leaves->bound);
    free(leaves->mask);
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
}
