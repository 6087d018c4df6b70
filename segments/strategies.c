/* The strategies of a block: one for each side of its entry that the devices divide, and the factors that it
 * shards in the spaces of the block.
 *
 * A side may be several indices (batch and sequence of [batch, sequence, features]). What an index reaches
 * follows M both ways inside the block and takes one factor of a space at most, the first to arrive; where a
 * second one arrives the two conflict, as of a sequence in attention. The batch (its color's role) stands
 * for its side where it is on it; else the index that splits most of the block's further contractions without
 * being contracted in one (heads, not their features: CFP's equation 2), of these the one with the fewest
 * conflicts, of these the one that reaches the most, of these the major one. */
#include "segments/internal.h"

#include <stdlib.h>
#include <string.h>

const char *segments_side_name(enum segments_side side)
{
    static const char *const names[SEGMENTS_SIDES] = {"batch", "rows", "columns", "contracted"};
    return names[side];
}

struct reach {
    struct segments_build *build;
    uint32_t *stamp; /* per space: round in which it was reached */
    uint32_t round, conflicts;
    uint32_t *taken;     /* per space: factor that arrived first */
    VEC(uint32_t) queue; /* factors, in the order of arrival */
};

static void follow(struct reach *reach, uint32_t block, uint32_t factor_index)
{
    const struct segments_build *build = reach->build;
    const struct segments_graph *graph = &build->graph;
    const struct nda *n = build->n;
    reach->queue.count = 0;
    reach->round++;
    reach->conflicts = 0;
    reach->stamp[n->factors[factor_index].space] = reach->round;
    reach->taken[n->factors[factor_index].space] = factor_index;
    VEC_PUSH(&reach->queue, factor_index);
    for (size_t head = 0; head < reach->queue.count; head++) {
        uint32_t at = reach->queue.at[head];
        for (uint32_t i = graph->around_start[at]; i < graph->around_start[at + 1]; i++) {
            uint32_t next = graph->around[i], space = n->factors[next].space;
            if (build->out->owner[space] != block || !segments_can_split(n, next, build->out->devices))
                continue;
            if (reach->stamp[space] == reach->round) {
                reach->conflicts += reach->taken[space] != next;
                continue;
            }
            reach->stamp[space] = reach->round;
            reach->taken[space] = next;
            VEC_PUSH(&reach->queue, next);
        }
    }
}

/* Forward contractions behind the entry that are split and give no partial result. Where one is not reached
 * (rotary halves that are put together again end an index), what it wants is gathered. */
static uint32_t count_split(const struct reach *reach)
{
    const struct segments_build *build = reach->build;
    uint32_t count = 0;
    for (size_t i = 1; i < reach->queue.count; i++) {
        const struct nda_factor *factor = &build->n->factors[reach->queue.at[i]];
        uint32_t at = build->graph.contraction_of[factor->space];
        count +=
            factor->kind == NDA_PARALLEL && at != NDA_NONE && build->contractions.at[at].forward == NDA_NONE;
    }
    return count;
}

/* What the block owns and M does not connect inside of it (a backward op whose way leads over another block)
 * takes the factor of the same color. */
static void complete(struct reach *reach, uint32_t block, uint32_t color)
{
    const struct segments_build *build = reach->build;
    const struct nda *n = build->n;
    for (uint32_t space = 0; space < n->space_count; space++)
        for (uint32_t k = 0; build->out->owner[space] == block && k < n->spaces[space].factor_count; k++) {
            uint32_t factor_index = n->spaces[space].factors + k;
            if (reach->stamp[space] == reach->round || n->factors[factor_index].color != color ||
                !segments_can_split(n, factor_index, build->out->devices))
                continue;
            reach->stamp[space] = reach->round;
            VEC_PUSH(&reach->queue, factor_index);
        }
}

static void add_strategy(struct reach *reach, uint32_t block, uint8_t side, uint32_t factor_index)
{
    struct segments_build *build = reach->build;
    const struct nda *n = build->n;
    follow(reach, block, factor_index);
    complete(reach, block, n->factors[factor_index].color);
    struct segments_strategy strategy = {
        .side = side,
        .factor = (uint8_t)(factor_index - n->spaces[n->factors[factor_index].space].factors),
        .cells = (uint32_t)build->cells.count,
        .cell_count = (uint32_t)reach->queue.count};
    for (size_t i = 0; i < reach->queue.count; i++) {
        uint32_t space = n->factors[reach->queue.at[i]].space;
        VEC_PUSH(&build->cells,
                 ((struct segments_cell){space, (uint8_t)(reach->queue.at[i] - n->spaces[space].factors)}));
    }
    build->blocks.at[block].strategy_count++;
    VEC_PUSH(&build->strategies, strategy);
}

/* the factor that stands for a side; NDA_NONE: the devices divide none */
static uint32_t choose(struct reach *reach, uint32_t block, uint32_t side)
{
    const struct segments_build *build = reach->build;
    const struct nda *n = build->n;
    const struct segments_contraction *entry = &build->contractions.at[build->blocks.at[block].entry];
    uint32_t best = NDA_NONE, fewest = 0, most_split = 0;
    size_t most = 0;
    for (uint32_t k = 0; k < n->spaces[entry->space].factor_count; k++) {
        uint32_t factor_index = n->spaces[entry->space].factors + k;
        if (!(entry->sides[side] >> k & 1) || !segments_can_split(n, factor_index, build->out->devices))
            continue;
        if (n->colors[n->factors[factor_index].color].roles & NDA_COLOR_BATCH)
            return factor_index;
        follow(reach, block, factor_index);
        uint32_t split = count_split(reach);
        bool better = split != most_split          ? split > most_split
                      : reach->conflicts != fewest ? reach->conflicts < fewest
                                                   : reach->queue.count > most;
        if (best == NDA_NONE || better) {
            most_split = split;
            most = reach->queue.count;
            fewest = reach->conflicts;
            best = factor_index;
        }
    }
    return best;
}

void segments_find_strategies(struct segments_build *build)
{
    const struct nda *n = build->n;
    struct reach reach = {.build = build,
                          .stamp = mem_zalloc((size_t)n->space_count + 1, sizeof *reach.stamp),
                          .taken = mem_zalloc((size_t)n->space_count + 1, sizeof *reach.taken)};
    for (uint32_t block = 0; block < build->blocks.count; block++) {
        build->blocks.at[block].strategies = (uint32_t)build->strategies.count;
        for (int side = 0; side < SEGMENTS_SIDES; side++) {
            uint32_t best = choose(&reach, block, (uint32_t)side);
            if (best != NDA_NONE)
                add_strategy(&reach, block, (uint8_t)side, best);
        }
    }
    VEC_FREE(&reach.queue);
    free(reach.stamp);
    free(reach.taken);
}
