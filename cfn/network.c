/* The network as a structure: links, tables, values and items, kept consistent while rules take nodes apart.
 * Every change goes through these functions, which put the nodes it touches onto the worklist, keep at most
 * one link a pair, move what all values use alike into `base`, and drop what is empty. No rule is here
 * (reduce.h), and no reading (load.h). */
#include "cfn/network.h"

#include <stdlib.h>
#include <string.h>

void cfn_network_push(struct cfn_network *n, int32_t node)
{
    n->nodes[node].stale = true;
    if (n->nodes[node].queued || !n->nodes[node].size)
        return;
    n->nodes[node].queued = true;
    VEC_PUSH(&n->queue, node);
}

struct cfn_view cfn_network_view(const struct cfn_network *n, int32_t node, int32_t link)
{
    const struct cfn_link *cfn_link = &n->links.at[link];
    bool turned = cfn_link->first != node;
    return (struct cfn_view){
        .other = turned ? cfn_link->first : cfn_link->second,
        .size = turned ? cfn_link->table->rows : cfn_link->table->cols,
        .own = turned ? 1 : (size_t)cfn_link->table->cols,
        .step = turned ? (size_t)cfn_link->table->cols : 1,
        .at = cfn_link->table->entry,
        .table = cfn_link->table,
        .turned = turned,
    };
}

static int32_t find_link(const struct cfn_network *n, int32_t one, int32_t other)
{
    const struct cfn_super *super = &n->nodes[one];
    if (n->nodes[other].links.count < super->links.count)
        super = &n->nodes[other];
    for (size_t i = 0; i < super->links.count; i++) {
        const struct cfn_link *link = &n->links.at[super->links.at[i]];
        if ((link->first == one && link->second == other) || (link->first == other && link->second == one))
            return super->links.at[i];
    }
    return -1;
}

void cfn_network_connect(struct cfn_network *n, int32_t one, int32_t other, struct cfn_table *table)
{
    int32_t found = find_link(n, one, other);
    cfn_network_push(n, one);
    cfn_network_push(n, other);
    if (found < 0) {
        VEC_PUSH(&n->links, ((struct cfn_link){one, other, table}));
        VEC_PUSH(&n->nodes[one].links, (int32_t)n->links.count - 1);
        VEC_PUSH(&n->nodes[other].links, (int32_t)n->links.count - 1);
        return;
    }
    struct cfn_link *link = &n->links.at[found];
    struct cfn_view view = cfn_network_view(n, one, found);
    int64_t *sum = mem_alloc((size_t)link->table->rows * (size_t)link->table->cols * sizeof *sum);
    for (int32_t a = 0; a < table->rows; a++)
        for (int32_t b = 0; b < table->cols; b++) {
            size_t i = (size_t)a * view.own + (size_t)b * view.step;
            sum[i] = cfn_add(view.at[i], table->entry[(size_t)a * (size_t)table->cols + (size_t)b]);
        }
    struct cfn_table *made = cfn_table_intern(&n->tables, link->table->rows, link->table->cols, sum);
    free(sum);
    cfn_table_drop(&n->tables, table);
    cfn_table_drop(&n->tables, link->table);
    link->table = made;
}

static void forget_link(struct cfn_super *super, int32_t link)
{
    size_t i = 0;
    while (super->links.at[i] != link)
        i++;
    super->links.at[i] = super->links.at[--super->links.count];
}

void cfn_network_cut(struct cfn_network *n, int32_t link)
{
    struct cfn_link *cfn_link = &n->links.at[link];
    forget_link(&n->nodes[cfn_link->first], link);
    forget_link(&n->nodes[cfn_link->second], link);
    cfn_network_push(n, cfn_link->first);
    cfn_network_push(n, cfn_link->second);
    cfn_table_drop(&n->tables, cfn_link->table);
    cfn_link->table = NULL;
}

/* the table of a link with only the kept rows or columns of one end */
static void narrow_link(struct cfn_network *n, int32_t node, int32_t link, const int32_t *kept, int32_t count)
{
    struct cfn_link *cfn_link = &n->links.at[link];
    struct cfn_view view = cfn_network_view(n, node, link);
    int32_t rows = view.turned ? view.size : count, cols = view.turned ? count : view.size;
    int64_t *entry = mem_alloc((size_t)rows * (size_t)cols * sizeof *entry);
    for (int32_t a = 0; a < count; a++)
        for (int32_t b = 0; b < view.size; b++)
            entry[view.turned ? b * count + a : a * view.size + b] =
                view.at[(size_t)kept[a] * view.own + (size_t)b * view.step];
    struct cfn_table *made = cfn_table_intern(&n->tables, rows, cols, entry);
    free(entry);
    cfn_table_drop(&n->tables, cfn_link->table);
    cfn_link->table = made;
    cfn_network_push(n, view.other);
}

/* moves the least use of an item to base; false when nothing is left of it */
static bool settle_item(struct cfn_network *n, struct cfn_item *item, int32_t size)
{
    int64_t least = size ? INT64_MAX : 0, most = 0;
    for (int32_t a = 0; a < size; a++)
        least = item->use[a] < least ? item->use[a] : least;
    for (int32_t a = 0; a < size; a++) {
        item->use[a] -= least;
        most = item->use[a] > most ? item->use[a] : most;
    }
    for (int32_t t = item->left; t < item->right && least; t++)
        n->base[t] += least;
    n->changed_usage = n->changed_usage || least;
    return most > 0;
}

void cfn_network_keep(struct cfn_network *n, int32_t node, const int32_t *kept, int32_t count)
{
    struct cfn_super *super = &n->nodes[node];
    size_t left = 0;
    int32_t *map =
        cfn_undo_push(&n->undo, (struct cfn_undo_step){.kind = CFN_UNDO_DROP, .node = node}, (size_t)count);
    for (int32_t a = 0; a < count; a++) {
        map[a] = kept[a];
        super->unary[a] = super->unary[kept[a]];
    }
    for (size_t i = 0; i < super->links.count; i++)
        narrow_link(n, node, super->links.at[i], kept, count);
    for (size_t i = 0; i < super->items.count; i++) {
        struct cfn_item item = super->items.at[i];
        for (int32_t a = 0; a < count; a++)
            item.use[a] = item.use[kept[a]];
        if (settle_item(n, &item, count))
            super->items.at[left++] = item;
        else
            free(item.use);
    }
    super->items.count = left;
    super->size = count;
    n->wiped = n->wiped || count == 0;
    n->changed_usage = true;
    cfn_network_push(n, node);
}

void cfn_network_add_item(struct cfn_network *n, int32_t node, struct cfn_item item)
{
    struct cfn_super *super = &n->nodes[node];
    size_t at = super->items.count;
    if (!settle_item(n, &item, super->size) || item.left >= item.right) {
        free(item.use);
        return;
    }
    while (at > 0 &&
           (super->items.at[at - 1].left > item.left ||
            (super->items.at[at - 1].left == item.left && super->items.at[at - 1].right > item.right)))
        at--;
    if (at > 0 && super->items.at[at - 1].left == item.left && super->items.at[at - 1].right == item.right) {
        struct cfn_item *there = &super->items.at[at - 1];
        for (int32_t a = 0; a < super->size; a++)
            there->use[a] += item.use[a];
        free(item.use);
        if (!settle_item(n, there, super->size)) {
            free(there->use);
            memmove(there, there + 1, (super->items.count - at) * sizeof *there);
            super->items.count--;
        }
        return;
    }
    VEC_PUSH(&super->items, item);
    memmove(&super->items.at[at + 1], &super->items.at[at], (super->items.count - 1 - at) * sizeof item);
    super->items.at[at] = item;
}

void cfn_network_remove(struct cfn_network *n, int32_t node)
{
    struct cfn_super *super = &n->nodes[node];
    for (size_t i = 0; i < super->items.count; i++)
        free(super->items.at[i].use);
    VEC_FREE(&super->items);
    VEC_FREE(&super->links);
    free(super->unary);
    super->unary = NULL;
    super->size = 0;
}

void cfn_network_destroy(struct cfn_network *n)
{
    if (!n)
        return;
    for (uint32_t i = 0; i < n->problem->node_count; i++)
        cfn_network_remove(n, (int32_t)i);
    free(n->nodes);
    VEC_FREE(&n->links);
    VEC_FREE(&n->queue);
    cfn_tables_release(&n->tables);
    cfn_undo_release(&n->undo);
    free(n->base);
    free(n);
}
