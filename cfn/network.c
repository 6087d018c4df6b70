#include "cfn/network.h"

#include "cfn/timeline.h"

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

/* ---- from the problem ---- */

/* the greatest cap on costs under which all functions together stay finite in 64 bits */
static int64_t choose_cap(const struct cfn_problem *p, bool use_infinite, bool *lowered, struct error *e)
{
    uint32_t functions = p->node_count + p->edge_count;
    int64_t *most = mem_zalloc((size_t)functions + 1, sizeof *most);
    int64_t *matrix_most = mem_zalloc((size_t)p->matrix_count + 1, sizeof *most);
    __int128 below = 0;
#define SCAN(from, count, into)                                                                              \
    for (uint64_t k = 0; k < (count); k++) {                                                                 \
        int64_t c = (from)[k], size = c < 0 ? -c : c;                                                        \
        below += c < 0 ? -(__int128)c : 0;                                                                   \
        if (!(use_infinite && c >= CFN_LARGE) && size > (into))                                              \
            (into) = size;                                                                                   \
    }
    for (uint32_t m = 0; m < p->matrix_count; m++)
        SCAN(p->entries + p->matrices[m].start, p->matrices[m].count, matrix_most[m])
    for (uint32_t i = 0; i < p->node_count; i++)
        SCAN(p->costs + p->nodes[i].first_value, (uint64_t)p->nodes[i].domain, most[i])
#undef SCAN
    for (uint32_t i = 0; i < p->edge_count; i++)
        most[p->node_count + i] = matrix_most[p->edges[i].matrix];
    int64_t cap = INT64_MAX;
    for (int64_t next = (int64_t)1 << 62; cap > 1; cap = next, next /= 2) {
        __int128 sum = 0;
        for (uint32_t i = 0; i < functions; i++)
            sum += most[i] < cap ? most[i] : cap;
        *lowered = cap != INT64_MAX;
        if (sum <= CFN_LARGE)
            break;
    }
    free(most);
    free(matrix_most);
    if (below > CFN_LARGE / 4) {
        error_set(e, ERROR_RESOURCE, "negative costs sum to more than this solver's 64-bit range");
        return 0;
    }
    return cap;
}

static int64_t load_cost(int64_t c, bool use_infinite, int64_t cap)
{
    return use_infinite && c >= CFN_LARGE ? CFN_INFINITE : c < cap ? c : cap;
}

static void load_nodes(struct cfn_network *n, bool use_infinite, int64_t cap)
{
    const struct cfn_problem *p = n->problem;
    for (uint32_t i = 0; i < p->node_count; i++) {
        struct cfn_super *s = &n->nodes[i];
        s->size = p->nodes[i].domain;
        s->unary = mem_alloc((size_t)s->size * sizeof *s->unary);
        for (int32_t a = 0; a < s->size; a++)
            s->unary[a] = load_cost(p->costs[p->nodes[i].first_value + (uint64_t)a], use_infinite, cap);
    }
}

static struct cfn_table *load_table(struct cfn_network *n, uint32_t matrix, int32_t rows, int32_t cols,
                                    bool use_infinite, int64_t cap)
{
    const struct cfn_matrix *m = &n->problem->matrices[matrix];
    int64_t *entry = mem_alloc(m->count * sizeof *entry);
    for (uint64_t i = 0; i < m->count; i++)
        entry[i] = load_cost(n->problem->entries[m->start + i], use_infinite, cap);
    struct cfn_table *t = cfn_table_intern(&n->tables, rows, cols, entry);
    free(entry);
    return t;
}

static void load_edges(struct cfn_network *n, bool use_infinite, int64_t cap)
{
    const struct cfn_problem *p = n->problem;
    struct cfn_table **known = mem_zalloc((size_t)p->matrix_count + 1, sizeof(struct cfn_table *));
    for (uint32_t i = 0; i < p->edge_count; i++) {
        const struct cfn_edge *edge = &p->edges[i];
        const int64_t *from = p->entries + p->matrices[edge->matrix].start;
        struct cfn_super *s = &n->nodes[edge->first];
        if (edge->second < 0 || edge->second == edge->first) {
            size_t step = edge->second < 0 ? 1 : (size_t)s->size + 1;
            for (int32_t a = 0; a < s->size; a++)
                s->unary[a] = cfn_add(s->unary[a], load_cost(from[(size_t)a * step], use_infinite, cap));
            continue;
        }
        struct cfn_table **t = &known[edge->matrix];
        int32_t rows = s->size, cols = n->nodes[edge->second].size;
        if (!*t || (*t)->rows != rows || (*t)->cols != cols) {
            if (*t)
                cfn_table_drop(&n->tables, *t);
            *t = load_table(n, edge->matrix, rows, cols, use_infinite, cap);
        }
        (*t)->refs++;
        cfn_network_connect(n, edge->first, edge->second, *t);
    }
    for (uint32_t m = 0; m < p->matrix_count; m++)
        if (known[m])
            cfn_table_drop(&n->tables, known[m]);
    free(known);
}

enum error_code cfn_network_create(const struct cfn_problem *p, bool use_infinite, struct cfn_network **out,
                                   struct error *e)
{
    struct cfn_network *n = mem_zalloc(1, sizeof *n);
    *out = n;
    n->problem = p;
    n->nodes = mem_zalloc((size_t)p->node_count + 1, sizeof *n->nodes);
    n->limit = p->limit;
    cfn_undo_init(&n->undo);
    int64_t cap = choose_cap(p, use_infinite, &n->lowered, e);
    if (!cap)
        return ERROR_RESOURCE;
    load_nodes(n, use_infinite, cap);
    enum error_code code = cfn_timeline_load(n, e);
    if (code != ERROR_OK)
        return code;
    for (uint32_t i = 0; i < p->node_count; i++)
        cfn_network_push(n, (int32_t)i);
    load_edges(n, use_infinite, cap);
    return ERROR_OK;
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
