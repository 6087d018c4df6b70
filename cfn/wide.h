/* Wide moves: of the nodes offered, as many as bounded tables allow are re-optimised exactly together (bucket
 * elimination) while the rest stays fixed. A forest move frees trees; a wide move frees what has cycles, too,
 * as long as no node is eliminated beside more values of others than `largest` says.
 *
 *       * - * - *        eliminated in the order of least tables: a node's minimum over its values becomes a
 *       |   |   |        table of those that it still touches; where all tables are too large, the node that
 *       * - . - *        touches most is fixed instead (. here)
 *
 * Costs are the model's float rows, at or below the exact ones. Work is counted in table entries, before it
 * is done. All room is taken when it is created; a move allocates nothing. One thread at a time. */
#ifndef TOAST_CFN_WIDE_H
#define TOAST_CFN_WIDE_H

#include "base/hash.h"
#include "cfn/model.h"

enum {
    CFN_WIDE_NODES = 256, /* most that a move looks at */
    CFN_WIDE_WORDS = CFN_WIDE_NODES / 64,
    CFN_WIDE_SCOPE = 12,      /* nodes that one still touches when it is eliminated, at most */
    CFN_WIDE_CELLS = 1 << 22, /* entries of all tables of a move, at most */
};

/* one of the nodes offered; its place among them names it */
struct cfn_wide_node {
    int32_t node;                  /* of the model */
    int32_t order;                 /* among the eliminated; -1: not yet, or fixed */
    uint64_t near[CFN_WIDE_WORDS]; /* places it is joined to; once it is eliminated: its scope */
    double cells;                  /* what eliminating it next would touch: its values times the scope's */
    int32_t scope_count, scope[CFN_WIDE_SCOPE]; /* places, in the order of elimination */
    size_t table, stride[CFN_WIDE_SCOPE];       /* where its message begins; a step of each of the scope */
    size_t belief;                              /* where its costs begin in `belief` */
};

struct cfn_wide {
    const struct cfn_model *model; /* borrowed */
    struct cfn_wide_node *at;      /* CFN_WIDE_NODES */
    int32_t *place;                /* by the model's node; -1: not offered, or fixed */
    int32_t *order;                /* places, as eliminated */
    int32_t eliminated;            /* by the last move: the nodes at[order[k]].node, k below it */
    float *belief, *partial;
    float *tables; /* CFN_WIDE_CELLS */
    uint64_t work; /* table entries touched so far */
};

void cfn_wide_create(const struct cfn_model *model, struct cfn_wide *wide);
void cfn_wide_release(struct cfn_wide *wide);
/* One move over nodes[0..count), at most CFN_WIDE_NODES, without repeats. largest, total: entries of the
 * largest table and of all of them (at most CFN_WIDE_CELLS). unary: costs with penalties (cfn_price_unary).
 * changed, old (room for count) as in cfn_forest_move; returns how many changed. Ties keep the present value;
 * the cost under `unary` never rises, but for float rounding. */
int32_t cfn_wide_move(struct cfn_wide *wide, struct rng *rng, const int32_t *nodes, int32_t count,
                      double largest, double total, const float *unary, int32_t *value, int32_t *changed,
                      int32_t *old);

#endif
