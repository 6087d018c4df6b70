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
static int64_t choose_cap(const struct cfn_problem *problem, bool use_infinite, bool *lowered,
                          struct error *e)
{
    uint32_t functions = problem->node_count + problem->edge_count;
    int64_t *most = mem_zalloc((size_t)functions + 1, sizeof *most);
    int64_t *matrix_most = mem_zalloc((size_t)problem->matrix_count + 1, sizeof *most);
    __int128 below = 0;
#define SCAN(from, count, into)                                                                              \
    for (uint64_t k = 0; k < (count); k++) {                                                                 \
        int64_t c = (from)[k], size = c < 0 ? -c : c;                                                        \
        below += c < 0 ? -(__int128)c : 0;                                                                   \
        if (!(use_infinite && c >= CFN_LARGE) && size > (into))                                              \
            (into) = size;                                                                                   \
    }
    for (uint32_t matrix = 0; matrix < problem->matrix_count; matrix++)
        SCAN(problem->entries + problem->matrices[matrix].start, problem->matrices[matrix].count,
             matrix_most[matrix])
    for (uint32_t i = 0; i < problem->node_count; i++)
        SCAN(problem->costs + problem->nodes[i].first_value, (uint64_t)problem->nodes[i].domain, most[i])
#undef SCAN
    for (uint32_t i = 0; i < problem->edge_count; i++)
        most[problem->node_count + i] = matrix_most[problem->edges[i].matrix];
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
    const struct cfn_problem *problem = n->problem;
    for (uint32_t i = 0; i < problem->node_count; i++) {
        struct cfn_super *super = &n->nodes[i];
        super->size = problem->nodes[i].domain;
        super->unary = mem_alloc((size_t)super->size * sizeof *super->unary);
        for (int32_t a = 0; a < super->size; a++)
            super->unary[a] =
                load_cost(problem->costs[problem->nodes[i].first_value + (uint64_t)a], use_infinite, cap);
    }
}

static struct cfn_table *load_table(struct cfn_network *n, uint32_t matrix, int32_t rows, int32_t cols,
                                    bool use_infinite, int64_t cap)
{
    const struct cfn_matrix *cfn_matrix = &n->problem->matrices[matrix];
    int64_t *entry = mem_alloc(cfn_matrix->count * sizeof *entry);
    for (uint64_t i = 0; i < cfn_matrix->count; i++)
        entry[i] = load_cost(n->problem->entries[cfn_matrix->start + i], use_infinite, cap);
    struct cfn_table *table = cfn_table_intern(&n->tables, rows, cols, entry);
    free(entry);
    return table;
}

static void load_edges(struct cfn_network *n, bool use_infinite, int64_t cap)
{
    const struct cfn_problem *problem = n->problem;
    struct cfn_table **known = mem_zalloc((size_t)problem->matrix_count + 1, sizeof(struct cfn_table *));
    for (uint32_t i = 0; i < problem->edge_count; i++) {
        const struct cfn_edge *edge = &problem->edges[i];
        const int64_t *from = problem->entries + problem->matrices[edge->matrix].start;
        struct cfn_super *super = &n->nodes[edge->first];
        if (edge->second < 0 || edge->second == edge->first) {
            size_t step = edge->second < 0 ? 1 : (size_t)super->size + 1;
            for (int32_t a = 0; a < super->size; a++)
                super->unary[a] =
                    cfn_add(super->unary[a], load_cost(from[(size_t)a * step], use_infinite, cap));
            continue;
        }
        struct cfn_table **table = &known[edge->matrix];
        int32_t rows = super->size, cols = n->nodes[edge->second].size;
        if (!*table || (*table)->rows != rows || (*table)->cols != cols) {
            if (*table)
                cfn_table_drop(&n->tables, *table);
            *table = load_table(n, edge->matrix, rows, cols, use_infinite, cap);
        }
        (*table)->refs++;
        cfn_network_connect(n, edge->first, edge->second, *table);
    }
    for (uint32_t matrix = 0; matrix < problem->matrix_count; matrix++)
        if (known[matrix])
            cfn_table_drop(&n->tables, known[matrix]);
    free(known);
}

enum error_code cfn_network_create(const struct cfn_problem *problem, bool use_infinite,
                                   struct cfn_network **out, struct error *e)
{
    struct cfn_network *n = mem_zalloc(1, sizeof *n);
    *out = n;
    n->problem = problem;
    n->nodes = mem_zalloc((size_t)problem->node_count + 1, sizeof *n->nodes);
    n->limit = problem->limit;
    cfn_undo_init(&n->undo);
    int64_t cap = choose_cap(problem, use_infinite, &n->lowered, e);
    if (!cap)
        return ERROR_RESOURCE;
    load_nodes(n, use_infinite, cap);
    enum error_code code = cfn_timeline_load(n, e);
    if (code != ERROR_OK)
        return code;
    for (uint32_t i = 0; i < problem->node_count; i++)
        cfn_network_push(n, (int32_t)i);
    load_edges(n, use_infinite, cap);
    return ERROR_OK;
}
