/* Spaces that something reached so far leads to, in the program's order: of a thousand blocks each reaches a
 * few, so that a look at all spaces for every block would take time with the square of the program. */
#include "segments/internal.h"

#include <stdlib.h>
#include <string.h>

enum { BITS = 64 };

void segments_front_init(struct segments_front *front, const struct segments_build *build)
{
    *front = (struct segments_front){.build = build};
    front->waiting = mem_zalloc(build->n->space_count / BITS + 1, sizeof *front->waiting);
}

void segments_front_release(struct segments_front *front)
{
    VEC_FREE(&front->visited);
    free(front->waiting);
}

uint32_t segments_front_push(struct segments_front *front, uint32_t space)
{
    const struct segments_graph *graph = &front->build->graph;
    const struct nda *n = front->build->n;
    uint32_t last = space;
    for (uint32_t k = 0; k < n->spaces[space].factor_count; k++) {
        uint32_t factor = n->spaces[space].factors + k;
        for (uint32_t i = graph->around_start[factor]; i < graph->around_start[factor + 1]; i++) {
            uint32_t next = n->factors[graph->around[i]].space;
            if (next <= space)
                continue;
            front->waiting[next / BITS] |= UINT64_C(1) << (next % BITS);
            last = next > last ? next : last;
        }
    }
    return last;
}

bool segments_front_next(struct segments_front *front, uint32_t *space)
{
    uint32_t words = front->build->n->space_count / BITS + 1;
    for (uint32_t word = *space / BITS; word < words; word++)
        if (front->waiting[word]) {
            *space = word * BITS + (uint32_t)__builtin_ctzll(front->waiting[word]);
            front->waiting[word] &= front->waiting[word] - 1;
            VEC_PUSH(&front->visited, *space);
            return true;
        }
    return false;
}

void segments_front_forget(struct segments_front *front, uint32_t space, uint8_t *state, uint64_t *labels)
{
    const struct nda *n = front->build->n;
    VEC_PUSH(&front->visited, space);
    for (size_t i = 0; i < front->visited.count; i++) {
        const struct nda_space *visited = &n->spaces[front->visited.at[i]];
        state[front->visited.at[i]] = 0;
        for (uint32_t k = 0; k < visited->factor_count; k++)
            labels[visited->factors + k] = 0;
    }
    memset(front->waiting + space / BITS, 0,
           (n->space_count / BITS + 1 - space / BITS) * sizeof *front->waiting);
    front->visited.count = 0;
}
