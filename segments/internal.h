/* What the files of segments/ share while blocks and segments are found: M by space and by factor. */
#ifndef TOAST_SEGMENTS_INTERNAL_H
#define TOAST_SEGMENTS_INTERNAL_H

#include "segments/segments.h"

#include "base/hash.h"
#include "base/memory.h"

/* M, walkable both ways: edges into space s are in[in_start[s] .. in_start[s + 1]), those at factor f (from
 * it and into it) around[around_start[f] ..], as the factors at their other ends. */
struct segments_graph {
    uint32_t *in_start, *in; /* edges */
    uint32_t *around_start, *around;
    uint32_t *contraction_of; /* per space; NDA_NONE */
};
struct segments_build {
    struct segments *out;
    const struct nda *n;
    uint64_t most; /* configurations of a segment */
    struct segments_graph graph;
    VEC(struct segments_contraction) contractions;
    VEC(struct segments_block) blocks;
    VEC(struct segments_strategy) strategies;
    VEC(struct segments_cell) cells;
    VEC(struct segments_dependence) dependences; /* by `to` */
    VEC(struct segments_segment) segments;
    VEC(struct segments_kind) kinds;
    VEC(struct segments_pair) pairs;
};

/* front.c: walks along M from one space on, to what it leads to, each space once */
struct segments_front {
    const struct segments_build *build; /* borrowed; with its graph */
    uint64_t *waiting;                  /* a bit a space */
    VEC(uint32_t) visited;
};
void segments_front_init(struct segments_front *front, const struct segments_build *build);
void segments_front_release(struct segments_front *front);
/* the spaces behind this one that it leads to wait from now on; returns the last of them, itself if none */
uint32_t segments_front_push(struct segments_front *front, uint32_t space);
/* the first that waits from *space on, no longer waiting; false: none does */
bool segments_front_next(struct segments_front *front, uint32_t *space);
/* Nothing waits any more; state (per space) and labels (per factor) of all that was visited since the walk
 * began at `space`, and its own, are 0. */
void segments_front_forget(struct segments_front *front, uint32_t space, uint8_t *state, uint64_t *labels);

static inline bool segments_can_split(const struct nda *n, uint32_t factor_index, int64_t devices)
{
    return n->factors[factor_index].shardable && n->factors[factor_index].size % devices == 0;
}

void segments_find_contractions(struct segments_build *build); /* contractions.c */
void segments_find_gradients(struct segments_build *build);    /* gradients.c: `forward` of each */
/* recomputed.c: per value the first one that is the same, itself where none is; owned */
uint32_t *segments_find_recomputed(const struct nda *n);
void segments_find_blocks(struct segments_build *build);      /* blocks.c: blocks, owners */
void segments_find_strategies(struct segments_build *build);  /* strategies.c */
void segments_find_dependences(struct segments_build *build); /* dependences.c: and shapes */
/* of a dependence: its flow and which contractions of their blocks it is between */
uint64_t segments_dependence_hash(const struct segments_build *build, const struct segments_dependence *it);
void segments_cover(struct segments_build *build); /* cover.c: segments, kinds, pairs, programs */

/* A to Z, A1 to Z1, A2 .. (text.c) */
void segments_kind_text(uint32_t kind, struct text *out);

#endif
