/* Reductions from a worklist to their common fixpoint. A node is visited when it, a link or a neighbour
 * changed; cheap rules come first, and the first that changes something ends the visit. Dominance is dear
 * and waits until the worklist is empty.
 *
 *   +-> memory     prune values beyond the limit, forget times that cannot be violated
 *   |   drain      visit queued nodes: consistency, assignment, separation, merging, elimination
 *   |   dominance  over nodes that changed
 *   |   times      that any other implies, when nothing else changed
 *   +-- again, while anything did
 *
 * "Consistency" is arc consistency of the finite entries (A. Mackworth, "Consistency in networks of
 * relations", 1977). Each rule keeps an optimum and puts what it did on the undo stack, so stopping anywhere
 * is lossless. The order is fixed: equal problems have equal remainders, unless the clock stops it. */
#include "cfn/reduce.h"

#include "cfn/dominate.h"
#include "cfn/eliminate.h"
#include "cfn/merge.h"
#include "cfn/timeline.h"

#include <stdlib.h>

/* visits, and nodes looked at for dominance, between two questions whether to stop */
enum { ASK_VISITS = 1024, ASK_NODES = 256 };

static bool row_supported(const struct cfn_view *view, int32_t a)
{
    for (int32_t b = 0; b < view->size; b++)
        if (!cfn_infinite(view->at[(size_t)a * view->own + (size_t)b * view->step]))
            return true;
    return false;
}

static bool make_consistent(struct cfn_network *n, int32_t node)
{
    struct cfn_super *super = &n->nodes[node];
    int32_t *kept = mem_alloc((size_t)super->size * sizeof *kept), count = 0;
    bool *gone = mem_zalloc((size_t)super->size, sizeof *gone), dropped;
    for (size_t i = 0; i < super->links.count; i++) {
        struct cfn_view view = cfn_network_view(n, node, super->links.at[i]);
        if (view.turned ? view.table->cols_supported : view.table->rows_supported)
            continue;
        for (int32_t a = 0; a < super->size; a++)
            gone[a] = gone[a] || !row_supported(&view, a);
    }
    for (int32_t a = 0; a < super->size; a++)
        if (!gone[a] && !cfn_infinite(super->unary[a]))
            kept[count++] = a;
    dropped = count < super->size;
    if (dropped)
        cfn_network_keep(n, node, kept, count);
    free(kept);
    free(gone);
    return dropped;
}

/* a node with one value: its rows become unary costs */
static void assign(struct cfn_network *n, int32_t node)
{
    struct cfn_super *super = &n->nodes[node];
    while (super->links.count) {
        int32_t link = super->links.at[super->links.count - 1];
        struct cfn_view view = cfn_network_view(n, node, link);
        for (int32_t b = 0; b < view.size; b++)
            n->nodes[view.other].unary[b] =
                cfn_add(n->nodes[view.other].unary[b], view.at[(size_t)b * view.step]);
        cfn_network_cut(n, link);
    }
    n->wiped = n->wiped || cfn_infinite(super->unary[0]);
    n->constant += cfn_infinite(super->unary[0]) ? 0 : super->unary[0];
    cfn_undo_push(
        &n->undo,
        (struct cfn_undo_step){.kind = CFN_UNDO_ELIMINATE, .node = node, .one = -1, .other = -1, .width = 1},
        1)[0] = 0;
    cfn_network_remove(n, node);
}

static bool separate(struct cfn_network *n, int32_t node, int32_t link)
{
    struct cfn_view view = cfn_network_view(n, node, link);
    if (!view.table->separable)
        return false;
    for (int32_t a = 0; a < n->nodes[node].size; a++)
        n->nodes[node].unary[a] = cfn_add(n->nodes[node].unary[a], view.at[(size_t)a * view.own]);
    for (int32_t b = 0; b < view.size; b++)
        n->nodes[view.other].unary[b] =
            cfn_add(n->nodes[view.other].unary[b], view.at[(size_t)b * view.step] - view.at[0]);
    cfn_network_cut(n, link);
    return true;
}

/* one visit; true when the node changed and is in the worklist again, or is gone */
static bool visit(struct cfn_network *n, int32_t node, unsigned rules)
{
    struct cfn_super *super = &n->nodes[node];
    if ((rules & CFN_RULE_CONSISTENCY) && make_consistent(n, node))
        return true;
    if ((rules & CFN_RULE_ASSIGN) && super->size == 1) {
        assign(n, node);
        return true;
    }
    for (size_t i = 0; i < super->links.count; i++) {
        int32_t link = super->links.at[i];
        if ((rules & CFN_RULE_SEPARATE) && separate(n, node, link))
            return true;
        if ((rules & CFN_RULE_MERGE) && cfn_merge_link(n, node, link))
            return true;
    }
    return (rules & CFN_RULE_ELIMINATE) && cfn_eliminate_node(n, node);
}

static void drain(struct cfn_network *n, unsigned rules, bool (*stop)(void *), void *user)
{
    while (n->queue_head < n->queue.count && !n->wiped) {
        int32_t node = n->queue.at[n->queue_head++];
        n->nodes[node].queued = false;
        if (n->nodes[node].size)
            visit(n, node, rules);
        if (n->queue_head % ASK_VISITS == 0 && stop && stop(user))
            return;
        if (n->queue_head == n->queue.count)
            n->queue_head = n->queue.count = 0;
    }
}

/* dominance where something changed; true when a value went */
static bool dominate_stale(struct cfn_network *n, bool (*stop)(void *), void *user)
{
    bool any = false;
    for (uint32_t i = 0; i < n->problem->node_count; i++) {
        if (!n->nodes[i].size || !n->nodes[i].stale)
            continue;
        n->nodes[i].stale = false;
        any = cfn_dominate_node(n, (int32_t)i) || any;
        if (i % ASK_NODES == 0 && stop && stop(user))
            return false;
    }
    return any;
}

void cfn_reduce(struct cfn_network *n, unsigned rules, bool (*stop)(void *user), void *user)
{
    bool again = true;
    while (again && !n->wiped && !(stop && stop(user))) {
        again = false;
        if ((rules & CFN_RULE_MEMORY) && n->changed_usage) {
            cfn_timeline_prune(n);
            cfn_timeline_shrink(n, rules & CFN_RULE_IMPLY);
        }
        drain(n, rules, stop, user);
        if (!n->wiped && (rules & CFN_RULE_DOMINATE))
            again = dominate_stale(n, stop, user);
        again = again || ((rules & CFN_RULE_MEMORY) && n->changed_usage) || n->queue_head < n->queue.count;
        if (!again && !n->wiped && (rules & CFN_RULE_IMPLY))
            again = cfn_timeline_shrink_all(n);
    }
}

struct cfn_size cfn_reduce_size(const struct cfn_network *n)
{
    struct cfn_size size = {.times = (uint32_t)n->time_count};
    for (uint32_t i = 0; i < n->problem->node_count; i++) {
        const struct cfn_super *super = &n->nodes[i];
        size.nodes += super->size > 0;
        size.values += (uint64_t)super->size;
        size.items += super->items.count;
        size.links += (uint32_t)super->links.count;
    }
    size.links /= 2;
    return size;
}
