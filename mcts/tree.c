/* The transposition table (tree.h has the drawing): nodes, edges and lists in three arrays, nodes found by an
 * open-addressed table of node index + 1 (0: free), at most half full. */
#include "mcts/tree.h"

#include <stdlib.h>
#include <string.h>

void tree_release(struct tree *tree)
{
    VEC_FREE(&tree->nodes);
    VEC_FREE(&tree->edges);
    VEC_FREE(&tree->pool);
    free(tree->slots);
    *tree = (struct tree){0};
}

static uint32_t slot_of(const struct tree *tree, uint64_t state)
{
    uint32_t mask = tree->slot_count - 1, i = (uint32_t)hash_mix(state) & mask;
    while (tree->slots[i] && tree->nodes.at[tree->slots[i] - 1].state != state)
        i = (i + 1) & mask;
    return i;
}

uint32_t tree_find(const struct tree *tree, uint64_t state)
{
    if (!tree->slot_count)
        return TREE_NONE;
    uint32_t s = tree->slots[slot_of(tree, state)];
    return s ? s - 1 : TREE_NONE;
}

static void grow(struct tree *tree)
{
    free(tree->slots);
    tree->slot_count = tree->slot_count ? tree->slot_count * 2 : 64;
    tree->slots = mem_zalloc(tree->slot_count, sizeof *tree->slots);
    for (uint32_t i = 0; i < tree->nodes.count; i++)
        tree->slots[slot_of(tree, tree->nodes.at[i].state)] = i + 1;
}

int tree_list_compare(const uint16_t *a, uint32_t a_count, const uint16_t *b, uint32_t b_count)
{
    if (a_count != b_count)
        return a_count < b_count ? -1 : 1;
    for (uint32_t i = 0; i < a_count; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static void set_list(struct tree *tree, struct tree_node *n, const uint16_t *list, uint32_t count)
{
    if (count > n->list_count || n->list == TREE_NONE) { /* else it fits where the old one stands */
        n->list = (uint32_t)tree->pool.count;
        VEC_RESERVE(&tree->pool, tree->pool.count + count);
        tree->pool.count += count;
    }
    if (count)
        memcpy(tree->pool.at + n->list, list, count * sizeof *list);
    n->list_count = (uint16_t)count;
    n->fresh = 1;
}

uint32_t tree_node(struct tree *tree, uint64_t state, const uint16_t *list, uint32_t count)
{
    uint32_t i = tree_find(tree, state);
    if (i != TREE_NONE) {
        struct tree_node *n = &tree->nodes.at[i];
        if (tree_list_compare(list, count, tree->pool.at + n->list, n->list_count) < 0)
            set_list(tree, n, list, count);
        return i;
    }
    if ((tree->nodes.count + 1) * 2 > tree->slot_count)
        grow(tree);
    i = (uint32_t)tree->nodes.count;
    struct tree_node fresh = {.state = state, .edges = TREE_NONE, .list = TREE_NONE, .value = TREE_UNKNOWN};
    VEC_PUSH(&tree->nodes, fresh);
    tree->slots[slot_of(tree, state)] = i + 1;
    set_list(tree, &tree->nodes.at[i], list, count);
    return i;
}

void tree_node_list(const struct tree *tree, uint32_t node, struct search_list *out)
{
    const struct tree_node *n = &tree->nodes.at[node];
    out->count = n->list_count;
    if (n->list_count)
        memcpy(out->at, tree->pool.at + n->list, n->list_count * sizeof out->at[0]);
}

uint32_t tree_edge_find(const struct tree *tree, uint32_t node, uint32_t action)
{
    uint32_t e = tree->nodes.at[node].edges;
    while (e != TREE_NONE && tree->edges.at[e].action != action)
        e = tree->edges.at[e].next;
    return e;
}

uint32_t tree_edge(struct tree *tree, uint32_t node, uint32_t action, uint64_t child)
{
    uint32_t e = tree_edge_find(tree, node, action);
    if (e != TREE_NONE)
        return e;
    e = (uint32_t)tree->edges.count;
    struct tree_edge fresh = {.child = child,
                              .node = node,
                              .next = tree->nodes.at[node].edges,
                              .action = action,
                              .best = -INT32_MAX,
                              .fresh = 1};
    VEC_PUSH(&tree->edges, fresh);
    tree->nodes.at[node].edges = e;
    return e;
}
