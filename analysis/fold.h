/* A program with its repeated layers cut to a few: what a search prices instead of the whole.
 *
 *   layers of the program    0   1 | 2   3   4 .. L-3 | L-2 L-1
 *   of the fold              0   1 |                  |  2   3     KEPT of them; L - KEPT are gone
 *   part of their ops        -   1 |                  |  2   -     the two at the cut stand for what is gone
 *
 * Layers are found by shape alone: the longest repeat among the contractions seeds a map that takes each
 * op to the one at its place in the next layer, and the map grows along operands and uses while ops are
 * alike (fold_match.c). What the map cannot reach (embedding, head, sums over all layers) belongs to no
 * layer and stays. At the cut every op reads what stands at the same place of the nearest layer that is left.
 *
 * The fold is a view: ops, values, spaces and plans keep their numbers, only fewer ops are in @main's body
 * and some operands are others. So a plan of the program is a plan of its fold, which says the same wherever
 * fold_holds: where the layers that are gone have the cells of the one that stands for them. What a price of
 * the fold says of the whole is cost/evaluator.c's business.
 *
 * A pure function of the analysis; immutable once created. Source: docs/design/segments.md. */
#ifndef TOAST_ANALYSIS_FOLD_H
#define TOAST_ANALYSIS_FOLD_H

#include "analysis/plan.h"

enum { FOLD_ELSEWHERE = 3 };
struct fold_pair { /* spaces or arguments: one that is gone, and the one that stands for it */
    uint32_t gone, kept;
};

enum { FOLD_NO_LAYER = -1000000 };
/* Where every node of the whole program stands. A node is an op (its number) or an argument of @main (its
 * number behind those of the ops); an op in a region stands where the op of the body around it does. */
struct fold_places {
    uint32_t op_count, block; /* of the program; the body */
    int32_t *layer;           /* by node: 0 .. layers - 1, or FOLD_NO_LAYER */
    uint32_t *next, *before;  /* by node: its like in the next layer, in the one before; NDA_NONE */
    uint32_t *position;       /* by op: in the body */
    uint32_t *at;             /* by position: the op */
    uint32_t positions;
    uint32_t *result;   /* by value: the first result of the function that it is; NDA_NONE */
    uint32_t *returned; /* by result: the value of the whole program */
    uint32_t results;
    int32_t from, until; /* layers [from, until) are gone */
};

/* The same program with fewer layers: of those that are gone the first `copies`, the others nowhere (their
 * nodes are in no layer, and have no position). */
struct fold_shorter {
    struct fold_places places; /* result and returned are the fold's own */
    uint32_t copies;
};
/* what more than FOLD_DEEP layers that are gone hold is told from two shorter programs
 * (cost/unfold_deep.c) */
enum { FOLD_DEEP = 40, FOLD_SHORTER = 2 };

struct fold {
    struct nda nda; /* the view: of `program`; all else borrowed from the analysis it was made of */
    struct ir_program program; /* its arrays are borrowed, but the three below */
    uint32_t *operands, *block_ops;
    struct ir_block *blocks;
    uint32_t layers, kept, copies; /* copies: layers that are gone */
    uint8_t *part;       /* by op: 1 or 2 in the layers at the cut, FOLD_ELSEWHERE in others, 0 in none */
    uint8_t *value_part; /* by value: the same of the op that makes it, or of the argument */
    struct fold_places places;
    bool deep;
    struct fold_shorter shorter[FOLD_SHORTER]; /* if deep, by copies */
    struct fold_pair *spaces;
    uint32_t space_count;
    struct fold_pair *arguments;
    uint32_t argument_count;
};

/* the node that makes a value; NDA_NONE: a region's argument */
static inline uint32_t fold_maker(const struct fold_places *places, const struct ir_program *program,
                                  uint32_t value)
{
    const struct ir_value *ir_value = &program->values[value];
    if (ir_value->op != IR_NONE)
        return ir_value->op;
    return ir_value->block == places->block ? places->op_count + ir_value->index : (uint32_t)NDA_NONE;
}
/* what another node, which makes as many, makes in the place of a value */
static inline uint32_t fold_value(const struct fold_places *places, const struct ir_program *program,
                                  uint32_t node, uint32_t value)
{
    return node < places->op_count ? program->ops[node].results + program->values[value].index
                                   : program->blocks[places->block].args + node - places->op_count;
}

/* kept: layers that stay, at least 3; an odd one more where the program begins. NULL: nothing repeats often
 * enough (at least kept + 2 layers), or what repeats cannot be cut. Owned; n is borrowed and must outlive
 * it. */
struct fold *fold_create(const struct nda *n, uint32_t kept);
void fold_destroy(struct fold *fold); /* NULL is fine */
/* does the fold stand for the whole under this plan? */
bool fold_holds(const struct fold *fold, const struct plan *plan);
/* part of it: are the arguments gathered again that are so in the layer that stands for them? */
bool fold_arguments_hold(const struct fold *fold, const struct plan *plan);

#endif
