/* The stack of reductions, and its way back. Maps live in one arena: they are freed together. Applying is
 * one loop from the last step to the first; each sets the value of one node from values that are already
 * set. */
#include "cfn/undo.h"

#include <stdlib.h>

void cfn_undo_init(struct cfn_undo *undo)
{
    *undo = (struct cfn_undo){.arena = arena_create()};
}

void cfn_undo_release(struct cfn_undo *undo)
{
    VEC_FREE(&undo->steps);
    arena_destroy(undo->arena);
    undo->arena = NULL;
}

int32_t *cfn_undo_push(struct cfn_undo *undo, struct cfn_undo_step step, size_t count)
{
    step.map = arena_alloc(undo->arena, (count + 1) * sizeof *step.map);
    VEC_PUSH(&undo->steps, step);
    return step.map;
}

void cfn_undo_apply(const struct cfn_undo *undo, int32_t *values)
{
    for (size_t i = undo->steps.count; i-- > 0;) {
        const struct cfn_undo_step *undo_step = &undo->steps.at[i];
        switch (undo_step->kind) {
        case CFN_UNDO_DROP: values[undo_step->node] = undo_step->map[values[undo_step->node]]; break;
        case CFN_UNDO_MERGE: values[undo_step->node] = undo_step->map[values[undo_step->one]]; break;
        case CFN_UNDO_ELIMINATE: {
            int32_t a = undo_step->one < 0 ? 0 : values[undo_step->one],
                    b = undo_step->other < 0 ? 0 : values[undo_step->other];
            values[undo_step->node] = undo_step->map[a * undo_step->width + b];
            break;
        }
        }
    }
}
