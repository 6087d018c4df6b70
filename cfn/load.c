/* From the problem to the network. Edges over one node, and of a node with itself, become unary costs;
 * parallel edges are summed into one link. Costs that are too large for 64-bit sums are capped, and the cap
 * only lowers costs: an optimum of the capped network is still a lower bound of the problem's. Usage becomes
 * items over the retained times (timeline.h). */
#include "cfn/load.h"

#include "cfn/timeline.h"

#include <stdlib.h>

#define FIRST_CAP ((int64_t)1 << 62)  /* halved until all fits: at most 62 times */
#define MOST_NEGATIVE (CFN_LARGE / 4) /* sum of what lies below 0: finite costs stay finite after any rule */

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
    for (int64_t next = FIRST_CAP; cap > 1; cap = next, next /= 2) {
        __int128 sum = 0;
        for (uint32_t i = 0; i < functions; i++)
            sum += most[i] < cap ? most[i] : cap;
        *lowered = cap != INT64_MAX;
        if (sum <= CFN_LARGE)
            break;
    }
    free(most);
    free(matrix_most);
    if (below > MOST_NEGATIVE) {
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
