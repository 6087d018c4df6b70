/* One node for what repeats: a network as large as a few layers.
 *
 *   layers    0 | 1   2   3 .. L-2 | L-1          nodes    0 | 1 | L-1
 *
 * A space of layers 1 to L - 2 has the node of its like in layer 1, the one that stands for them in a fold
 * (analysis/fold.h). The node costs what all of them cost; between two nodes each edge counts as often as it
 * is there; an edge from a space to its own like of the next layer is a cost of the node. They are split
 * alike, which is what a search decides, too. Of what each layer keeps for another pass all is alive at a
 * time, of what it only passes on one layer's: the lives in the unsharded program say which. */
#include "plan_cfn/internal.h"

#include "analysis/fold.h"

#include <stdlib.h>
#include <string.h>

void plan_cfn_share(struct plan_cfn *n, const struct fold *fold)
{
    uint32_t count = n->nda->space_count;
    if (!fold_holds(fold, plan_context_start(n->context)))
        return;
    n->like = mem_alloc(((size_t)count + 1) * sizeof *n->like);
    for (uint32_t space = 0; space < count; space++)
        n->like[space] = space;
    for (uint32_t i = 0; i < fold->space_count; i++)
        n->like[fold->spaces[i].gone] = fold->spaces[i].kept;
    for (uint32_t space = 0; space < count; space++) /* of a result the like may have one itself */
        while (n->like[n->like[space]] != n->like[space])
            n->like[space] = n->like[n->like[space]];
}

/* ---------------------------------------------------------------- lives */
struct event {
    uint32_t node, time;
    int32_t more; /* 1: one begins to hold memory, -1: it ends */
};

static int by_node(const void *left, const void *right)
{
    const struct event *one = left, *other = right;
    return one->node != other->node   ? (one->node < other->node ? -1 : 1)
           : one->time != other->time ? (one->time < other->time ? -1 : 1)
                                      : (one->more > other->more) - (one->more < other->more);
}

/* the events of one node: how many hold memory at a time, and while at least half as many do */
static void count_together(const struct event *events, size_t count, struct plan_cfn_spaces *out)
{
    uint32_t now = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        now += (uint32_t)events[i].more;
        most = now > most ? now : most;
    }
    out->together = most;
    if (2 * most <= out->count) /* the one that stands for them says when */
        return;
    bool begun = false;
    for (size_t i = 0; i < count; i++) {
        uint32_t before = now;
        now += (uint32_t)events[i].more;
        if (!begun && 2 * now >= most) {
            out->life.from = events[i].time;
            begun = true;
        }
        if (2 * before >= most && 2 * now < most)
            out->life.until = events[i].time;
    }
}

void plan_cfn_count_shared(struct plan_cfn *n)
{
    uint32_t nodes = n->problem.node_count;
    VEC(struct event) events = {0};
    free(n->shared);
    n->shared = mem_zalloc((size_t)nodes + 1, sizeof *n->shared);
    for (uint32_t node = 0; node < nodes; node++)
        n->shared[node].life = plan_cfn_life(n, n->space_of[node]);
    for (uint32_t space = 0; space < n->nda->space_count; space++) {
        uint32_t node = n->node_of[space];
        if (node == NDA_NONE)
            continue;
        struct cost_life life = plan_cfn_life(n, space);
        n->shared[node].count++;
        if (life.from >= life.until)
            continue;
        VEC_PUSH(&events, ((struct event){node, life.from, 1}));
        VEC_PUSH(&events, ((struct event){node, life.until, -1}));
    }
    if (events.count)
        qsort(events.at, events.count, sizeof *events.at, by_node);
    for (size_t i = 0, end; i < events.count; i = end) {
        for (end = i; end < events.count && events.at[end].node == events.at[i].node;)
            end++;
        count_together(events.at + i, end - i, &n->shared[events.at[i].node]);
    }
    VEC_FREE(&events);
}

/* ---------------------------------------------------------------- edges */
static int by_nodes(const void *left, const void *right)
{
    const struct cfn_edge *one = left, *other = right;
    return one->first != other->first     ? (one->first < other->first ? -1 : 1)
           : one->second != other->second ? (one->second < other->second ? -1 : 1)
                                          : (one->matrix > other->matrix) - (one->matrix < other->matrix);
}

/* ps: a dearer entry costs this; what is forbidden stays so */
static const int64_t MOST_PS = INT64_C(100000000000000000);

static int64_t times(int64_t entry, uint32_t count)
{
    if (entry >= PLAN_CFN_FORBIDDEN)
        return PLAN_CFN_FORBIDDEN;
    return entry < MOST_PS / count ? entry * count : MOST_PS;
}

struct summed { /* of which edges a matrix is the sum */
    struct hash128 of;
    uint32_t matrix;
};
struct sharing {
    struct plan_cfn *n;
    VEC(struct cfn_edge) edges;
    VEC(struct cfn_matrix) matrices;
    VEC(int64_t) entries;
    VEC(struct summed) known;
};

/* by matrices and how often each is there: many pairs of nodes have the same */
static struct hash128 name_sum(const struct cfn_edge *edges, size_t count)
{
    struct hash128 name = {1, 2};
    for (size_t i = 0; i < count; i++) {
        name.hi = hash_combine(name.hi, edges[i].matrix);
        name.lo = hash_combine(name.lo, ~(uint64_t)edges[i].matrix);
    }
    return name;
}

static void add_to_node(struct plan_cfn *n, const struct cfn_edge *edge, uint32_t count)
{
    const struct cfn_problem *problem = &n->problem;
    const int64_t *entries = problem->entries + problem->matrices[edge->matrix].start;
    uint32_t domain = plan_cfn_domain(n, (uint32_t)edge->first);
    for (uint32_t k = 0; k < domain; k++) {
        int64_t *cost = &problem->costs[n->first_option[edge->first] + k];
        int64_t more = times(entries[(size_t)k * domain + k], count);
        *cost = *cost >= PLAN_CFN_FORBIDDEN || more >= PLAN_CFN_FORBIDDEN ? PLAN_CFN_FORBIDDEN : *cost + more;
    }
}

static enum error_code add_sum(struct sharing *sharing, const struct cfn_edge *edges, size_t count,
                               struct error *e)
{
    const struct cfn_problem *problem = &sharing->n->problem;
    uint64_t start = sharing->entries.count, size = problem->matrices[edges[0].matrix].count;
    if (start + size > PLAN_CFN_MAX_ENTRIES)
        return error_set(e, ERROR_TOO_LARGE, "the module as a network has more than %d matrix entries",
                         PLAN_CFN_MAX_ENTRIES);
    VEC_RESERVE(&sharing->entries, start + size);
    int64_t *sum = sharing->entries.at + start;
    memset(sum, 0, size * sizeof *sum);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && edges[end].matrix == edges[i].matrix;)
            end++;
        const int64_t *entries = problem->entries + problem->matrices[edges[i].matrix].start;
        for (uint64_t k = 0; k < size; k++) {
            int64_t more = times(entries[k], (uint32_t)(end - i));
            sum[k] = sum[k] >= PLAN_CFN_FORBIDDEN || more >= PLAN_CFN_FORBIDDEN ? PLAN_CFN_FORBIDDEN
                     : sum[k] + more < MOST_PS                                  ? sum[k] + more
                                                                                : MOST_PS;
        }
    }
    sharing->entries.count = start + size;
    VEC_PUSH(&sharing->matrices, ((struct cfn_matrix){start, size}));
    return ERROR_OK;
}

/* the edges between one pair of nodes as one */
static enum error_code add_between(struct sharing *sharing, const struct cfn_edge *edges, size_t count,
                                   struct error *e)
{
    struct summed sum = {name_sum(edges, count), (uint32_t)sharing->matrices.count};
    size_t at = 0;
    while (at < sharing->known.count && hash128_compare(sharing->known.at[at].of, sum.of) != 0)
        at++;
    if (at == sharing->known.count) {
        TRY(add_sum(sharing, edges, count, e));
        VEC_PUSH(&sharing->known, sum);
    }
    VEC_PUSH(&sharing->edges,
             ((struct cfn_edge){edges[0].first, edges[0].second, sharing->known.at[at].matrix}));
    return ERROR_OK;
}

enum error_code plan_cfn_share_edges(struct plan_cfn *n, struct error *e)
{
    struct cfn_problem *problem = &n->problem;
    struct sharing sharing = {.n = n};
    enum error_code code = ERROR_OK;
    if (problem->edge_count)
        qsort(problem->edges, problem->edge_count, sizeof *problem->edges, by_nodes);
    for (uint32_t i = 0, end; i < problem->edge_count && code == ERROR_OK; i = end) {
        const struct cfn_edge *first = &problem->edges[i];
        for (end = i; end < problem->edge_count && problem->edges[end].first == first->first &&
                      problem->edges[end].second == first->second;)
            end++;
        if (first->first != first->second) {
            code = add_between(&sharing, first, end - i, e);
            continue;
        }
        for (uint32_t k = i; k < end; k++)
            add_to_node(n, &problem->edges[k], 1);
    }
    VEC_FREE(&sharing.known);
    free(problem->edges);
    free(problem->matrices);
    free(problem->entries);
    problem->edges = sharing.edges.at;
    problem->edge_count = (uint32_t)sharing.edges.count;
    problem->matrices = sharing.matrices.at;
    problem->matrix_count = (uint32_t)sharing.matrices.count;
    problem->entries = sharing.entries.at;
    problem->entry_count = sharing.entries.count;
    return code;
}
