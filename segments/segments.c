/* Blocks and segments of a module, step after step (internal.h), and their arrays handed over. */
#include "segments/internal.h"

#include <stdlib.h>
#include <string.h>

/* edges by the space they lead into */
static void index_edges_in(struct segments_graph *graph, const struct nda *n)
{
    graph->in_start = mem_zalloc((size_t)n->space_count + 2, sizeof *graph->in_start);
    graph->in = mem_alloc(((size_t)n->edge_count + 1) * sizeof *graph->in);
    for (uint32_t edge = 0; edge < n->edge_count; edge++)
        graph->in_start[n->factors[n->edge_to[edge]].space + 1]++;
    for (uint32_t space = 0; space < n->space_count; space++)
        graph->in_start[space + 1] += graph->in_start[space];
    for (uint32_t edge = 0; edge < n->edge_count; edge++)
        graph->in[graph->in_start[n->factors[n->edge_to[edge]].space]++] = edge;
    for (uint32_t space = n->space_count; space > 0; space--)
        graph->in_start[space] = graph->in_start[space - 1];
    graph->in_start[0] = 0;
}

static void index_neighbours(struct segments_graph *graph, const struct nda *n)
{
    uint32_t *start = mem_zalloc((size_t)n->factor_count + 2, sizeof *start);
    graph->around = mem_alloc((2 * (size_t)n->edge_count + 1) * sizeof *graph->around);
    for (uint32_t edge = 0; edge < n->edge_count; edge++) {
        start[n->edge_from[edge] + 1]++;
        start[n->edge_to[edge] + 1]++;
    }
    for (uint32_t factor = 0; factor < n->factor_count; factor++)
        start[factor + 1] += start[factor];
    for (uint32_t edge = 0; edge < n->edge_count; edge++) {
        graph->around[start[n->edge_from[edge]]++] = n->edge_to[edge];
        graph->around[start[n->edge_to[edge]]++] = n->edge_from[edge];
    }
    for (uint32_t factor = n->factor_count; factor > 0; factor--)
        start[factor] = start[factor - 1];
    start[0] = 0;
    graph->around_start = start;
}

#define HAND_OVER(field, list)                                                                               \
    do {                                                                                                     \
        out->field = arena_alloc(out->arena, ((list).count + 1) * sizeof *out->field);                       \
        if ((list).count)                                                                                    \
            memcpy(out->field, (list).at, (list).count * sizeof *out->field);                                \
        VEC_FREE(&(list));                                                                                   \
    } while (0)

static void hand_over(struct segments_build *build)
{
    struct segments *out = build->out;
    out->contraction_count = (uint32_t)build->contractions.count;
    out->block_count = (uint32_t)build->blocks.count;
    out->strategy_count = (uint32_t)build->strategies.count;
    out->cell_count = (uint32_t)build->cells.count;
    out->dependence_count = (uint32_t)build->dependences.count;
    out->segment_count = (uint32_t)build->segments.count;
    out->kind_count = (uint32_t)build->kinds.count;
    out->pair_count = (uint32_t)build->pairs.count;
    HAND_OVER(contractions, build->contractions);
    HAND_OVER(blocks, build->blocks);
    HAND_OVER(strategies, build->strategies);
    HAND_OVER(cells, build->cells);
    HAND_OVER(dependences, build->dependences);
    HAND_OVER(segments, build->segments);
    HAND_OVER(kinds, build->kinds);
    HAND_OVER(pairs, build->pairs);
}

void segments_create(const struct nda *n, int64_t devices, uint64_t most, struct segments **out)
{
    struct segments *segments = mem_zalloc(1, sizeof *segments);
    struct segments_build build = {.out = segments, .n = n, .most = most};
    segments->nda = n;
    segments->devices = devices < 2 ? 2 : devices;
    segments->arena = arena_create();
    segments->owner = arena_alloc(segments->arena, ((size_t)n->space_count + 1) * sizeof *segments->owner);
    index_edges_in(&build.graph, n);
    index_neighbours(&build.graph, n);
    segments_find_contractions(&build);
    segments_find_gradients(&build);
    segments_find_blocks(&build);
    segments_find_strategies(&build);
    segments_find_dependences(&build);
    segments_cover(&build);
    hand_over(&build);
    free(build.graph.in_start);
    free(build.graph.in);
    free(build.graph.around_start);
    free(build.graph.around);
    free(build.graph.contraction_of);
    *out = segments;
}

void segments_destroy(struct segments *segments)
{
    if (!segments)
        return;
    arena_destroy(segments->arena);
    free(segments);
}
