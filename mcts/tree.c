/* The transposition table (tree.h has the drawing): nodes, edges and lists in three arrays, nodes found by an
 * open-addressed table of node index + 1 (0: free), at most half full. */
#include "mcts/tree.h"

#include <stdlib.h>
#include <string.h>

void tree_release(struct tree *t)
{
    VEC_FREE(&t->nodes);
    VEC_FREE(&t->edges);
    VEC_FREE(&t->pool);
    free(t->slots);
    *t = (struct tree){0};
}

static uint32_t slot_of(const struct tree *t, uint64_t state)
{
    uint32_t mask = t->slot_count - 1, i = (uint32_t)hash_mix(state) & mask;
    while (t->slots[i] && t->nodes.at[t->slots[i] - 1].state != state)
        i = (i + 1) & mask;
    return i;
}

uint32_t tree_find(const struct tree *t, uint64_t state)
{
    if (!t->slot_count)
        return TREE_NONE;
    uint32_t s = t->slots[slot_of(t, state)];
    return s ? s - 1 : TREE_NONE;
}

static void grow(struct tree *t)
{
    free(t->slots);
    t->slot_count = t->slot_count ? t->slot_count * 2 : 64;
    t->slots = mem_zalloc(t->slot_count, sizeof *t->slots);
    for (uint32_t i = 0; i < t->nodes.count; i++)
        t->slots[slot_of(t, t->nodes.at[i].state)] = i + 1;
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

static void set_list(struct tree *t, struct tree_node *n, const uint16_t *list, uint32_t count)
{
    if (count > n->list_count || n->list == TREE_NONE) { /* else it fits where the old one stands */
        n->list = (uint32_t)t->pool.count;
        VEC_RESERVE(&t->pool, t->pool.count + count);
        t->pool.count += count;
    }
    if (count)
        memcpy(t->pool.at + n->list, list, count * sizeof *list);
    n->list_count = (uint16_t)count;
    n->fresh = 1;
}

uint32_t tree_node(struct tree *t, uint64_t state, const uint16_t *list, uint32_t count)
{
    uint32_t i = tree_find(t, state);
    if (i != TREE_NONE) {
        struct tree_node *n = &t->nodes.at[i];
        if (tree_list_compare(list, count, t->pool.at + n->list, n->list_count) < 0)
            set_list(t, n, list, count);
        return i;
    }
    if ((t->nodes.count + 1) * 2 > t->slot_count)
        grow(t);
    i = (uint32_t)t->nodes.count;
    struct tree_node fresh = {.state = state, .edges = TREE_NONE, .list = TREE_NONE, .value = TREE_UNKNOWN};
    VEC_PUSH(&t->nodes, fresh);
    t->slots[slot_of(t, state)] = i + 1;
    set_list(t, &t->nodes.at[i], list, count);
    return i;
}

void tree_node_list(const struct tree *t, uint32_t node, struct search_list *out)
{
    const struct tree_node *n = &t->nodes.at[node];
    out->count = n->list_count;
    if (n->list_count)
        memcpy(out->at, t->pool.at + n->list, n->list_count * sizeof out->at[0]);
}

uint32_t tree_edge_find(const struct tree *t, uint32_t node, uint32_t action)
{
    uint32_t e = t->nodes.at[node].edges;
    while (e != TREE_NONE && t->edges.at[e].action != action)
        e = t->edges.at[e].next;
    return e;
}

uint32_t tree_edge(struct tree *t, uint32_t node, uint32_t action, uint64_t child)
{
    uint32_t e = tree_edge_find(t, node, action);
    if (e != TREE_NONE)
        return e;
    e = (uint32_t)t->edges.count;
    struct tree_edge fresh = {.child = child,
                              .node = node,
                              .next = t->nodes.at[node].edges,
                              .action = action,
                              .best = -INT32_MAX,
                              .fresh = 1};
    VEC_PUSH(&t->edges, fresh);
    t->nodes.at[node].edges = e;
    return e;
}
