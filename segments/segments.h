/* What repeats in a module: ParallelBlocks, segments of them, and the plan that a choice for each block
 * means.
 *
 *   contractions     dots and convolutions in program order, and lookups in a table that is an argument;
 *                    backward ones belong to the forward one that they differentiate, those of a second
 *                    forward pass (jax.checkpoint) to the one that they repeat             contractions.c
 *   blocks           CFP's algorithm 1: from each ungrouped contraction over users, while every side of its
 *                    result can still be split (equation 2); then every space has an owner       blocks.c
 *   strategies       the sides of the entry that the devices divide, and what each shards in the block
 *                                                                                            strategies.c
 *   segments         windows of blocks with equal contraction dependences, as few kinds as possible
 *                                                                                              segments.c
 *   composition      tables by the walk's price, a network of them solved by cfn/               compose.h
 *
 *     block 0 [qkv, scores, mix] - block 1 [out] - block 2 [up] - block 3 [down] - block 4 [qkv ..] ..
 *     segment 0 = blocks 0..3, kind A        segment 1 = blocks 4..7, kind B       segment 2, kind B ..
 *
 * Spaces, factors and M are the analysis's (analysis/nda.h); a factor's kind says what Table 1 of CFP says
 * of an index, and M composes it (affine.h has the expressions themselves). Everything here is a pure
 * function of the analysis and a number of devices, in time near linear in the program times the depth of a
 * block; any module has an answer: one without contractions has no blocks. Immutable once created.
 *
 * Source: CFP (Hu et al., 2025), sections 3.2, 3.3, 4.1 and 4.3; docs/segments.md. */
#ifndef TOAST_SEGMENTS_SEGMENTS_H
#define TOAST_SEGMENTS_SEGMENTS_H

#include "analysis/nda.h"

/* sides of a contraction's iteration space */
enum segments_side {
    SEGMENTS_BATCH,      /* in both operands and the result */
    SEGMENTS_ROWS,       /* of the data operand and the result */
    SEGMENTS_COLUMNS,    /* of the weight operand and the result */
    SEGMENTS_CONTRACTED, /* of both operands; of a lookup the rows of its table */
    SEGMENTS_SIDES
};
const char *segments_side_name(enum segments_side side); /* "batch", "rows", "columns", "contracted" */

struct segments_contraction {
    uint32_t space;
    uint32_t block;                 /* NDA_NONE: of none */
    uint32_t forward;               /* contraction that this one differentiates or repeats; NDA_NONE: none */
    uint32_t ordinal;               /* among the forward contractions of its block */
    uint8_t is_lookup;              /* a gather from a table */
    uint64_t sides[SEGMENTS_SIDES]; /* bits: factor numbers of the space */
};
struct segments_cell { /* what a strategy shards */
    uint32_t space;
    uint8_t factor;
};
struct segments_strategy {
    uint8_t side;               /* enum segments_side */
    uint8_t factor;             /* of the entry's space */
    uint32_t cells, cell_count; /* range of cells: in the spaces that the block owns, entry first */
};
struct segments_block {
    uint32_t entry;                            /* contraction */
    uint32_t forward_count, contraction_count; /* forward ones; all */
    uint32_t space_count;                      /* owned */
    uint32_t strategies, strategy_count;       /* range of strategies */
    uint64_t shape;                            /* of its contractions and the dependences among them */
};
/* of a block on an earlier one, through the contractions nearest to each other */
struct segments_dependence {
    uint32_t from, to; /* contractions */
    uint64_t flow;     /* hash of which factors of the one become which of the other (CFP's equation 1) */
};
struct segments_segment {
    uint32_t first, count, kind; /* blocks [first, first + count) */
};
struct segments_kind {
    uint32_t example; /* segment */
    uint32_t instances;
    uint64_t configurations; /* product of its blocks' strategies; UINT64_MAX: beyond */
};
/* blocks of two kinds of segments between which a dependence crosses */
struct segments_pair {
    uint32_t from_kind, from_block, to_kind, to_block; /* blocks: numbers within the segment */
    uint32_t example;                                  /* dependence */
    uint32_t instances;
};

struct segments {
    const struct nda *nda; /* borrowed */
    int64_t devices;
    uint32_t *owner; /* per space: block; NDA_NONE */
    struct segments_contraction *contractions;
    struct segments_block *blocks;
    struct segments_strategy *strategies;
    struct segments_cell *cells;
    struct segments_dependence *dependences;
    struct segments_segment *segments;
    uint32_t *segment_of; /* per block */
    struct segments_kind *kinds;
    struct segments_pair *pairs;
    uint32_t contraction_count, block_count, strategy_count, cell_count, dependence_count, segment_count,
        kind_count, pair_count;
    uint64_t programs; /* CFP's equation 7: configurations of all kinds, strategies of all pairs */
    struct arena *arena;
};

enum { SEGMENTS_MOST_CONFIGURATIONS = 256 };

/* devices: P of CFP's equation 2, at least 2; of the axes that strategies split over. most: windows of more
 * configurations are cut; SEGMENTS_MOST_CONFIGURATIONS unless there is a reason. */
void segments_create(const struct nda *n, int64_t devices, uint64_t most, struct segments **out);
void segments_destroy(struct segments *segments); /* NULL is fine */

static inline uint32_t segments_strategy_count(const struct segments *segments, uint32_t block)
{
    return segments->blocks[block].strategy_count;
}
/* "dot_general [16, 32, 64] x [64, 192]" */
void segments_contraction_text(const struct segments *segments, uint32_t contraction, struct text *out);
/* blocks, segments, kinds, pairs and programs as tables for people; as JSON members without braces */
void segments_text(const struct segments *segments, struct text *out);
void segments_json(const struct segments *segments, struct text *out);
/* contractions by block and segment with their dependences, for Graphviz */
void segments_dot(const struct segments *segments, struct text *out);
/* the same as a picture that stands alone: a column a segment (svg.c) */
void segments_svg(const struct segments *segments, struct text *out);

#endif
