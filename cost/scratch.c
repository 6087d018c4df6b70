/* The working memory of one pricing: made, grown and freed here, filled by the passes.
 *
 * Arrays only grow, so that after the first few plans of a search no pricing allocates. Nothing in them is
 * kept from one pricing to the next but the facts of the program (struct price_program), and those only while
 * the program is the same. */
#include "cost/graph.h"

#include <stdlib.h>
#include <string.h>

static void graph_destroy(struct price_graph *g)
{
    if (!g)
        return;
    free(g->units);
    free(g->unit_of);
    free(g->order);
    free(g->line);
    VEC_FREE(&g->edges);
    VEC_FREE(&g->stack);
    VEC_FREE(&g->reads);
    free(g);
}

struct price_scratch *price_scratch_create(struct price_program *shared)
{
    struct price_scratch *s = mem_zalloc(1, sizeof *s);
    s->program = shared;
    s->program_shared = shared != NULL;
    return s;
}

void price_scratch_destroy(struct price_scratch *s)
{
    if (!s)
        return;
    if (!s->program_shared)
        price_program_destroy(s->program);
    free(s->uses);
    free(s->values);
    free(s->times);
    free(s->fates);
    free(s->ranges);
    free(s->deltas);
    free(s->kernels);
    free(s->pool);
    free(s->loop_end);
    free(s->at);
    graph_destroy(s->graph);
    free(s);
}

void price_prepare(struct price_scratch *s, const struct spmd_local *l)
{
    if (!s->program || s->program->nda != l->nda) {
        BASE_CHECK(!s->program_shared);
        price_program_destroy(s->program);
        s->program = price_program_create(l->nda);
    }
    GROW(s->uses, s->use_room, l->value_count + 1);
    GROW(s->values, s->value_room, l->value_count + 1);
    GROW(s->times, s->time_room, l->value_count + 1);
    GROW(s->fates, s->fate_room, l->step_count + 1);
    GROW(s->ranges, s->range_room, l->value_count + 1);
    GROW(s->deltas, s->delta_room, l->step_count + 2);
    GROW(s->at, s->at_room, l->step_count + 1);
    GROW(s->kernels, s->kernel_room, l->step_count + 1);
    GROW(s->loop_end, s->loop_room, l->step_count + 1);
    memset(s->uses, 0, (size_t)l->value_count * sizeof *s->uses);
    s->pool_count = s->kernel_count = 0;
    s->mark = 0;
}
