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
    const struct cfn_link *l = &n->links.at[link];
    bool turned = l->first != node;
    return (struct cfn_view){
        .other = turned ? l->first : l->second,
        .size = turned ? l->table->rows : l->table->cols,
        .own = turned ? 1 : (size_t)l->table->cols,
        .step = turned ? (size_t)l->table->cols : 1,
        .at = l->table->entry,
        .table = l->table,
        .turned = turned,
    };
}

static int32_t find_link(const struct cfn_network *n, int32_t one, int32_t other)
{
    const struct cfn_super *s = &n->nodes[one];
    if (n->nodes[other].links.count < s->links.count)
        s = &n->nodes[other];
    for (size_t i = 0; i < s->links.count; i++) {
        const struct cfn_link *l = &n->links.at[s->links.at[i]];
        if ((l->first == one && l->second == other) || (l->first == other && l->second == one))
            return s->links.at[i];
    }
    return -1;
}

void cfn_network_connect(struct cfn_network *n, int32_t one, int32_t other, struct cfn_table *t)
{
    int32_t found = find_link(n, one, other);
    cfn_network_push(n, one);
    cfn_network_push(n, other);
    if (found < 0) {
        VEC_PUSH(&n->links, ((struct cfn_link){one, other, t}));
        VEC_PUSH(&n->nodes[one].links, (int32_t)n->links.count - 1);
        VEC_PUSH(&n->nodes[other].links, (int32_t)n->links.count - 1);
        return;
    }
    struct cfn_link *l = &n->links.at[found];
    struct cfn_view v = cfn_network_view(n, one, found);
    int64_t *sum = mem_alloc((size_t)l->table->rows * (size_t)l->table->cols * sizeof *sum);
    for (int32_t a = 0; a < t->rows; a++)
        for (int32_t b = 0; b < t->cols; b++) {
            size_t i = (size_t)a * v.own + (size_t)b * v.step;
            sum[i] = cfn_add(v.at[i], t->entry[(size_t)a * (size_t)t->cols + (size_t)b]);
        }
    struct cfn_table *made = cfn_table_intern(&n->tables, l->table->rows, l->table->cols, sum);
    free(sum);
    cfn_table_drop(&n->tables, t);
    cfn_table_drop(&n->tables, l->table);
    l->table = made;
}

static void forget_link(struct cfn_super *s, int32_t link)
{
    size_t i = 0;
    while (s->links.at[i] != link)
        i++;
    s->links.at[i] = s->links.at[--s->links.count];
}

void cfn_network_cut(struct cfn_network *n, int32_t link)
{
    struct cfn_link *l = &n->links.at[link];
    forget_link(&n->nodes[l->first], link);
    forget_link(&n->nodes[l->second], link);
    cfn_network_push(n, l->first);
    cfn_network_push(n, l->second);
    cfn_table_drop(&n->tables, l->table);
    l->table = NULL;
}

/* the table of a link with only the kept rows or columns of one end */
static void narrow_link(struct cfn_network *n, int32_t node, int32_t link, const int32_t *kept, int32_t count)
{
    struct cfn_link *l = &n->links.at[link];
    struct cfn_view v = cfn_network_view(n, node, link);
    int32_t rows = v.turned ? v.size : count, cols = v.turned ? count : v.size;
    int64_t *entry = mem_alloc((size_t)rows * (size_t)cols * sizeof *entry);
    for (int32_t a = 0; a < count; a++)
        for (int32_t b = 0; b < v.size; b++)
            entry[v.turned ? b * count + a : a * v.size + b] =
                v.at[(size_t)kept[a] * v.own + (size_t)b * v.step];
    struct cfn_table *made = cfn_table_intern(&n->tables, rows, cols, entry);
    free(entry);
    cfn_table_drop(&n->tables, l->table);
    l->table = made;
    cfn_network_push(n, v.other);
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
    struct cfn_super *s = &n->nodes[node];
    size_t left = 0;
    int32_t *map =
        cfn_undo_push(&n->undo, (struct cfn_undo_step){.kind = CFN_UNDO_DROP, .node = node}, (size_t)count);
    for (int32_t a = 0; a < count; a++) {
        map[a] = kept[a];
        s->unary[a] = s->unary[kept[a]];
    }
    for (size_t i = 0; i < s->links.count; i++)
        narrow_link(n, node, s->links.at[i], kept, count);
    for (size_t i = 0; i < s->items.count; i++) {
        struct cfn_item item = s->items.at[i];
        for (int32_t a = 0; a < count; a++)
            item.use[a] = item.use[kept[a]];
        if (settle_item(n, &item, count))
            s->items.at[left++] = item;
        else
            free(item.use);
    }
    s->items.count = left;
    s->size = count;
    n->wiped = n->wiped || count == 0;
    n->changed_usage = true;
    cfn_network_push(n, node);
}

void cfn_network_add_item(struct cfn_network *n, int32_t node, struct cfn_item item)
{
    struct cfn_super *s = &n->nodes[node];
    size_t at = s->items.count;
    if (!settle_item(n, &item, s->size) || item.left >= item.right) {
        free(item.use);
        return;
    }
    while (at > 0 && (s->items.at[at - 1].left > item.left ||
                      (s->items.at[at - 1].left == item.left && s->items.at[at - 1].right > item.right)))
        at--;
    if (at > 0 && s->items.at[at - 1].left == item.left && s->items.at[at - 1].right == item.right) {
        struct cfn_item *there = &s->items.at[at - 1];
        for (int32_t a = 0; a < s->size; a++)
            there->use[a] += item.use[a];
        free(item.use);
        if (!settle_item(n, there, s->size)) {
            free(there->use);
            memmove(there, there + 1, (s->items.count - at) * sizeof *there);
            s->items.count--;
        }
        return;
    }
    VEC_PUSH(&s->items, item);
    memmove(&s->items.at[at + 1], &s->items.at[at], (s->items.count - 1 - at) * sizeof item);
    s->items.at[at] = item;
}

void cfn_network_remove(struct cfn_network *n, int32_t node)
{
    struct cfn_super *s = &n->nodes[node];
    for (size_t i = 0; i < s->items.count; i++)
        free(s->items.at[i].use);
    VEC_FREE(&s->items);
    VEC_FREE(&s->links);
    free(s->unary);
    s->unary = NULL;
    s->size = 0;
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
