/* Merging over a functional link: when every value of `keep` leaves exactly one finite value of `gone`,
 * f[a], the choice of `gone` is known and it becomes part of `keep`.
 *
 *   keep\gone    x    y
 *       a        0   inf     f[a] = x        value v of the merged node costs
 *       b       inf   3      f[b] = y            unary[v] + unary of gone at f[v] + table[v][f[v]],
 *       c        5   inf     f[c] = x        has the items of gone at f[v], and in its links row f[v]
 *
 * Costs, usage and the optimum stay the same; links that both had are summed. */
#include "cfn/merge.h"

#include <stdlib.h>

/* the one finite b of each value of keep's */
static int32_t *function_of(const struct cfn_view *view, int32_t size)
{
    int32_t *f = mem_alloc((size_t)size * sizeof *f);
    for (int32_t a = 0; a < size; a++)
        for (int32_t b = 0; b < view->size; b++)
            if (!cfn_infinite(view->at[(size_t)a * view->own + (size_t)b * view->step]))
                f[a] = b;
    return f;
}

static void move_links(struct cfn_network *n, int32_t keep, int32_t gone, const int32_t *f)
{
    int32_t size = n->nodes[keep].size;
    while (n->nodes[gone].links.count) {
        int32_t link = n->nodes[gone].links.at[n->nodes[gone].links.count - 1];
        struct cfn_view view = cfn_network_view(n, gone, link);
        int64_t *entry = mem_alloc((size_t)size * (size_t)view.size * sizeof *entry);
        for (int32_t a = 0; a < size; a++)
            for (int32_t c = 0; c < view.size; c++)
                entry[a * view.size + c] = view.at[(size_t)f[a] * view.own + (size_t)c * view.step];
        struct cfn_table *table = cfn_table_intern(&n->tables, size, view.size, entry);
        free(entry);
        cfn_network_cut(n, link);
        cfn_network_connect(n, keep, view.other, table);
    }
}

static void move_items(struct cfn_network *n, int32_t keep, int32_t gone, const int32_t *f)
{
    int32_t size = n->nodes[keep].size;
    for (size_t k = 0; k < n->nodes[gone].items.count; k++) {
        const struct cfn_item *old = &n->nodes[gone].items.at[k];
        struct cfn_item item = {old->left, old->right, mem_alloc((size_t)size * sizeof *item.use)};
        for (int32_t a = 0; a < size; a++)
            item.use[a] = old->use[f[a]];
        cfn_network_add_item(n, keep, item);
        n->changed_usage = true; /* together they may exceed what neither does alone */
    }
}

static void merge(struct cfn_network *n, int32_t keep, int32_t gone, int32_t link)
{
    struct cfn_super *super = &n->nodes[keep];
    struct cfn_view view = cfn_network_view(n, keep, link);
    int32_t *f = function_of(&view, super->size);
    int32_t *map =
        cfn_undo_push(&n->undo, (struct cfn_undo_step){.kind = CFN_UNDO_MERGE, .node = gone, .one = keep},
                      (size_t)super->size);
    for (int32_t a = 0; a < super->size; a++) {
        map[a] = f[a];
        super->unary[a] =
            cfn_add(super->unary[a], cfn_add(n->nodes[gone].unary[f[a]],
                                             view.at[(size_t)a * view.own + (size_t)f[a] * view.step]));
    }
    cfn_network_cut(n, link);
    move_items(n, keep, gone, f);
    move_links(n, keep, gone, f);
    cfn_network_remove(n, gone);
    cfn_network_push(n, keep);
    free(f);
}

bool cfn_merge_link(struct cfn_network *n, int32_t node, int32_t link)
{
    struct cfn_view view = cfn_network_view(n, node, link);
    bool forth = view.turned ? view.table->cols_functional : view.table->rows_functional;
    bool back = view.turned ? view.table->rows_functional : view.table->cols_functional;
    const struct cfn_super *super = &n->nodes[node], *b = &n->nodes[view.other];
    if (!forth && !back)
        return false;
    if (forth && back)
        forth = super->links.count + super->items.count >= b->links.count + b->items.count;
    if (forth)
        merge(n, node, view.other, link);
    else
        merge(n, view.other, node, link);
    return true;
}
