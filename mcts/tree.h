/* The transposition table: a node is a plan (64 bits of its hash), an edge an action taken there.
 *
 *   slots   [ . 1 . . 2 . ]                 by hash of state: node index + 1; . is free
 *               |     |
 *   nodes   [   n0    n1   .. ]
 *               | edges
 *   edges       e3 --next--> e0 --> none    all edges of n0, newest first
 *               action a, child = state of n1
 *   pool    [ list of n0 | list of n1 | .. ]  the decisions that lead to each node
 *
 *   node  state -> value (reward of the plan itself, once priced), least list known to reach it, its edges
 *   edge  (state, action) -> child state, visits n, sum of rewards w, best reward seen through it
 *
 * Visits of an edge are kept apart from those of its child: another path may have visited the child. n and w
 * only grow by additions and best by maximum, lists by minimum, so that merging is free of order. Pointers
 * are valid until the next insertion; indices stay. */
#ifndef TOAST_MCTS_TREE_H
#define TOAST_MCTS_TREE_H

#include "base/memory.h"
#include "mcts/domain.h"

enum {
    TREE_NONE = UINT32_MAX,
    TREE_STOP = UINT32_MAX,  /* action: the trajectory ends here */
    TREE_UNKNOWN = INT32_MIN /* value of a plan that was not priced */
};
/* other actions: decision x 2 + place */
enum { TREE_LAST, TREE_FIRST };

struct tree_node {
    uint64_t state;
    uint32_t edges; /* first of a list by tree_edge.next */
    uint32_t list;  /* in tree.pool */
    uint16_t list_count;
    /* not in the snapshot, or a lesser list or a value since: belongs in the delta */
    uint8_t fresh;
    int32_t value;
};
struct tree_edge {
    uint64_t child;    /* == state of its node: the action changes nothing there */
    int64_t w, base_w; /* base: as in the snapshot */
    uint32_t n, base_n;
    uint32_t node, next, action;
    int32_t best;
    uint8_t fresh; /* not in the snapshot */
};
struct tree {
    VEC(struct tree_node) nodes;
    VEC(struct tree_edge) edges;
    VEC(uint16_t) pool;
    uint32_t *slots;     /* node index + 1 by state */
    uint32_t slot_count; /* power of two */
};
void tree_release(struct tree *tree);

static inline uint64_t tree_state(struct hash128 hash)
{
    return hash.lo;
}
uint32_t tree_find(const struct tree *tree, uint64_t state); /* TREE_NONE */
/* finds or inserts; keeps the lesser (length, then lexicographic) list */
uint32_t tree_node(struct tree *tree, uint64_t state, const uint16_t *list, uint32_t count);
void tree_node_list(const struct tree *tree, uint32_t node, struct search_list *out);
uint32_t tree_edge_find(const struct tree *tree, uint32_t node, uint32_t action); /* TREE_NONE */
/* finds or inserts */
uint32_t tree_edge(struct tree *tree, uint32_t node, uint32_t action, uint64_t child);
int tree_list_compare(const uint16_t *a, uint32_t a_count, const uint16_t *b, uint32_t b_count);

#endif
