/* CFP's algorithm 1: ParallelBlocks, and an owner for every space.
 *
 * From each contraction that has no block yet, in program order, the users of what the block makes join it
 * while every side of the entry's result is still split by some factor that reaches them (CFP's equation 2
 * for every index); a side that the devices do not divide has to be there as a whole. A block is convex:
 * what depends on it through a contraction outside of it (the residual sum behind the next block, the whole
 * backward pass) stays out, as its split is decided there.
 *
 *     member   joined                   weak      depends on members, some side is lost (a norm's mean)
 *     beyond   behind a contraction that did not join: never joins
 *
 * Backward contractions then join their forward contraction, and what is left (parameters, their updates,
 * norms, the backward elementwise ops) follows the nearest block, the earlier one where two are as near. */
#include "segments/internal.h"

#include <stdlib.h>
#include <string.h>

enum { NOTHING, MEMBER, WEAK, BEYOND };

struct sweep {
    struct segments_build *build;
    uint8_t *state;                  /* per space */
    uint64_t *labels;                /* per factor: the entry's factors that it is, of members */
    uint64_t needed[SEGMENTS_SIDES]; /* of each side the factors of which one has to survive; 0: none */
    bool divided[SEGMENTS_SIDES];    /* it has to survive as something that the devices divide */
    uint32_t block;
    struct segments_front front;
};

/* The factors of the sides of the entry's result that the devices divide. Of a side of which they divide none
 * (a router's few experts) all: it ends the block, too, which would else hold whatever has the same batch. */
static void find_needed(struct sweep *sweep, const struct segments_contraction *entry)
{
    const struct nda *n = sweep->build->n;
    for (int side = 0; side < SEGMENTS_CONTRACTED; side++) {
        uint64_t divided = 0;
        for (uint32_t k = 0; k < n->spaces[entry->space].factor_count; k++)
            if ((entry->sides[side] >> k & 1) &&
                segments_can_split(n, n->spaces[entry->space].factors + k, sweep->build->out->devices))
                divided |= UINT64_C(1) << k;
        sweep->divided[side] = divided != 0;
        sweep->needed[side] = divided ? divided : entry->sides[side];
    }
}

/* Where there are rows alone (a gate of one number a token) nothing ends them: what has other indices stays
 * out. */
static bool survives(const struct sweep *sweep, uint32_t space)
{
    const struct nda *n = sweep->build->n;
    bool has_rows_alone = !sweep->needed[SEGMENTS_BATCH] && !sweep->needed[SEGMENTS_COLUMNS];
    uint64_t whole = 0, split = 0;
    for (uint32_t k = 0; k < n->spaces[space].factor_count; k++) {
        uint32_t factor_index = n->spaces[space].factors + k;
        if (n->factors[factor_index].kind != NDA_PARALLEL)
            continue;
        if (has_rows_alone && !sweep->labels[factor_index])
            return false;
        whole |= sweep->labels[factor_index];
        if (segments_can_split(n, factor_index, sweep->build->out->devices))
            split |= sweep->labels[factor_index];
    }
    for (int side = 0; side < SEGMENTS_CONTRACTED; side++)
        if (sweep->needed[side] && !(sweep->needed[side] & (sweep->divided[side] ? split : whole)))
            return false;
    return split != 0;
}

/* the labels that come with M's edges, and the worst of where they come from */
static uint8_t gather_labels(struct sweep *sweep, uint32_t space)
{
    const struct segments_graph *graph = &sweep->build->graph;
    const struct nda *n = sweep->build->n;
    uint8_t worst = NOTHING;
    for (uint32_t i = graph->in_start[space]; i < graph->in_start[space + 1]; i++) {
        uint32_t edge = graph->in[i], from = n->factors[n->edge_from[edge]].space;
        worst = sweep->state[from] > worst ? sweep->state[from] : worst;
        if (sweep->state[from] == MEMBER)
            sweep->labels[n->edge_to[edge]] |= sweep->labels[n->edge_from[edge]];
    }
    return worst;
}

static void join(struct sweep *sweep, uint32_t space)
{
    uint32_t contraction = sweep->build->graph.contraction_of[space];
    sweep->state[space] = MEMBER;
    sweep->build->out->owner[space] = sweep->block;
    if (contraction != NDA_NONE)
        sweep->build->contractions.at[contraction].block = sweep->block;
}

static void grow(struct sweep *sweep, uint32_t entry)
{
    const struct segments_build *build = sweep->build;
    const struct nda *n = build->n;
    const struct segments_contraction *contraction = &build->contractions.at[entry];
    uint32_t first = contraction->space;
    find_needed(sweep, contraction);
    join(sweep, first);
    for (uint32_t k = 0; k < n->spaces[first].factor_count; k++)
        sweep->labels[n->spaces[first].factors + k] = UINT64_C(1) << k;
    /* behind the last space that reads a member nothing joins */
    uint32_t last = segments_front_push(&sweep->front, first), space = first;
    while (segments_front_next(&sweep->front, &space) && space <= last) {
        uint8_t worst = gather_labels(sweep, space);
        if (worst == NOTHING)
            continue;
        uint32_t at = build->graph.contraction_of[space];
        bool open = build->out->owner[space] == NDA_NONE &&
                    (at == NDA_NONE || build->contractions.at[at].forward == NDA_NONE);
        if (worst != BEYOND && open && survives(sweep, space))
            join(sweep, space);
        else
            sweep->state[space] = worst == BEYOND || at != NDA_NONE ? BEYOND : WEAK;
        uint32_t reader = segments_front_push(&sweep->front, space);
        last = sweep->state[space] == MEMBER && reader > last ? reader : last;
    }
    segments_front_forget(&sweep->front, first, sweep->state, sweep->labels);
}

/* every space without an owner takes that of the nearest one */
static void spread(struct segments_build *build)
{
    const struct nda *n = build->n;
    uint32_t *owner = build->out->owner, *queue = mem_alloc(((size_t)n->space_count + 1) * sizeof *queue);
    uint32_t count = 0, head = 0;
    uint32_t *start = mem_zalloc(build->blocks.count + 2, sizeof *start);
    for (uint32_t space = 0; space < n->space_count; space++) /* sources: by block, then by space */
        if (owner[space] != NDA_NONE) {
            start[owner[space] + 1]++;
            count++;
        }
    for (size_t i = 0; i < build->blocks.count; i++)
        start[i + 1] += start[i];
    for (uint32_t space = 0; space < n->space_count; space++)
        if (owner[space] != NDA_NONE)
            queue[start[owner[space]]++] = space;
    while (head < count) {
        uint32_t space = queue[head++];
        for (uint32_t k = 0; k < n->spaces[space].factor_count; k++) {
            const struct segments_graph *graph = &build->graph;
            uint32_t factor_index = n->spaces[space].factors + k;
            for (uint32_t i = graph->around_start[factor_index]; i < graph->around_start[factor_index + 1];
                 i++) {
                uint32_t next = n->factors[graph->around[i]].space;
                if (owner[next] != NDA_NONE)
                    continue;
                owner[next] = owner[space];
                queue[count++] = next;
            }
        }
    }
    free(start);
    free(queue);
}

static void count_members(struct segments_build *build)
{
    for (uint32_t space = 0; space < build->n->space_count; space++)
        if (build->out->owner[space] != NDA_NONE)
            build->blocks.at[build->out->owner[space]].space_count++;
    for (size_t i = 0; i < build->contractions.count; i++) {
        struct segments_contraction *it = &build->contractions.at[i];
        struct segments_block *block = &build->blocks.at[it->block];
        if (it->forward == NDA_NONE)
            it->ordinal = block->forward_count++;
        block->contraction_count++;
    }
}

void segments_find_blocks(struct segments_build *build)
{
    const struct nda *n = build->n;
    struct sweep sweep = {.build = build,
                          .state = mem_zalloc((size_t)n->space_count + 1, 1),
                          .labels = mem_zalloc((size_t)n->factor_count + 1, sizeof *sweep.labels)};
    segments_front_init(&sweep.front, build);
    memset(build->out->owner, 0xff, ((size_t)n->space_count + 1) * sizeof *build->out->owner);
    for (uint32_t i = 0; i < build->contractions.count; i++) {
        if (build->contractions.at[i].forward != NDA_NONE || build->contractions.at[i].block != NDA_NONE)
            continue;
        sweep.block = (uint32_t)build->blocks.count;
        VEC_PUSH(&build->blocks, ((struct segments_block){.entry = i}));
        grow(&sweep, i);
    }
    for (size_t i = 0; i < build->contractions.count; i++) {
        struct segments_contraction *it = &build->contractions.at[i];
        if (it->forward == NDA_NONE)
            continue;
        it->block = build->contractions.at[it->forward].block;
        build->out->owner[it->space] = it->block;
    }
    spread(build);
    count_members(build);
    segments_front_release(&sweep.front);
    free(sweep.state);
    free(sweep.labels);
}
