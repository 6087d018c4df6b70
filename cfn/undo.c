/* The stack of reductions, and its way back. Maps live in one arena: they are freed together. Applying is
 * one loop from the last step to the first; each sets the value of one node from values that are already
 * set. */
#include "cfn/undo.h"

#include <stdlib.h>

void cfn_undo_init(struct cfn_undo *u)
{
    *u = (struct cfn_undo){.arena = arena_create()};
}

void cfn_undo_release(struct cfn_undo *u)
{
    VEC_FREE(&u->steps);
    arena_destroy(u->arena);
    u->arena = NULL;
}

int32_t *cfn_undo_push(struct cfn_undo *u, struct cfn_undo_step step, size_t count)
{
    step.map = arena_alloc(u->arena, (count + 1) * sizeof *step.map);
    VEC_PUSH(&u->steps, step);
    return step.map;
}

void cfn_undo_apply(const struct cfn_undo *u, int32_t *values)
{
    for (size_t i = u->steps.count; i-- > 0;) {
        const struct cfn_undo_step *s = &u->steps.at[i];
        switch (s->kind) {
        case CFN_UNDO_DROP: values[s->node] = s->map[values[s->node]]; break;
        case CFN_UNDO_MERGE: values[s->node] = s->map[values[s->one]]; break;
        case CFN_UNDO_ELIMINATE: {
            int32_t a = s->one < 0 ? 0 : values[s->one], b = s->other < 0 ? 0 : values[s->other];
            values[s->node] = s->map[a * s->width + b];
            break;
        }
        }
    }
}
