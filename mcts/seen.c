/* The search's archive: every plan that was priced and that the snapshot still has, best first.
 *
 * Nothing is priced or replayed here, and nothing in a snapshot changes: a visitor gets each plan's
 * decisions and stops when it has what it wants. The order is that of rewards, which fall with the cost;
 * equal rewards by state, so that equal snapshots are visited alike. */
#include "mcts/core.h"

#include <stdlib.h>

struct seen {
    int32_t value;
    uint32_t node;
    uint64_t state;
};

static int by_value(const void *left, const void *right)
{
    const struct seen *seen = left, *other = right;
    if (seen->value != other->value)
        return seen->value > other->value ? -1 : 1;
    return (seen->state > other->state) - (seen->state < other->state);
}

static void visit_all(const struct search *search, const struct tree *tree, const struct seen *sorted,
                      size_t count, search_seen_visit visit, void *user)
{
    for (size_t i = 0; i < count; i++) {
        struct search_list list;
        struct plan_decision decisions[SEARCH_MAX_LIST];
        tree_node_list(tree, sorted[i].node, &list);
        for (uint32_t k = 0; k < list.count; k++)
            decisions[k] = search->domain->decisions[list.at[k]];
        if (!visit(decisions, list.count, user))
            return;
    }
}

enum error_code search_seen(const struct search *search, const void *snapshot, size_t size,
                            search_seen_visit visit, void *user, struct error *e)
{
    struct core_snapshot p;
    TRY(core_snapshot_read(search, snapshot, size, &p, e));
    VEC(struct seen) sorted = {0};
    for (uint32_t i = 0; i < p.tree.nodes.count && search->domain->decisions; i++) {
        const struct tree_node *node = &p.tree.nodes.at[i];
        struct seen seen = {node->value, i, node->state};
        if (node->value != TREE_UNKNOWN)
            VEC_PUSH(&sorted, seen);
    }
    if (sorted.count)
        qsort(sorted.at, sorted.count, sizeof *sorted.at, by_value);
    visit_all(search, &p.tree, sorted.at, sorted.count, visit, user);
    VEC_FREE(&sorted);
    core_snapshot_release(&p);
    return ERROR_OK;
}
