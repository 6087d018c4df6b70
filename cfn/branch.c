/* Branch and bound on what reductions leave when that is small: depth first over a fixed order of nodes (A.
 * Land and A. Doig, "An automatic method of solving discrete programming problems", Econometrica 1960).
 *
 *   depth d     order[d] takes each of its values, cheapest first
 *   cost[d]     unary costs, with the tables of links to the d fixed nodes already added (forward checking)
 *   bound       fixed costs + least cost[d] of each open node + least entry of each link between open nodes
 *
 * The order puts nodes with many links to earlier ones first, so that tables turn into unary costs early.
 * Usage is kept by time and a value that passes the limit is not tried. Sums are integers, so the result is
 * a proof: OPTIMAL or EMPTY. Never recurses deeper than MOST_NODES, never takes more than max_steps steps:
 * then the result is OPEN. */
#include "cfn/branch.h"

#include <stdlib.h>
#include <string.h>

/* beyond these the search with bounds from the dual is the better tool */
enum { MOST_NODES = 64, MOST_VALUES = 4096, MOST_TIMES = 4096 };

struct branching {
    const struct cfn_model *m;
    struct cfn_point *best;
    int64_t upper;
    bool found, exhausted; /* exhausted: steps ran out */
    uint64_t steps;
    int32_t order[MOST_NODES], place[MOST_NODES];
    int64_t open_links[MOST_NODES + 1]; /* by depth: least entries of links between nodes not yet fixed */
    /* by depth: unary costs beside fixed neighbours, value_count each */
    int64_t *cost;
    int64_t *usage;
    int32_t value[MOST_NODES];
};

static int64_t least_entry(const struct cfn_model *m, int32_t i, const struct cfn_arc *arc)
{
    int64_t least = CFN_INFINITE;
    for (int32_t a = 0; a < m->size[i]; a++)
        for (int32_t b = 0; b < m->size[arc->other]; b++) {
            int64_t c = arc->exact[(size_t)a * arc->own + (size_t)b * arc->step];
            least = c < least ? c : least;
        }
    return least;
}

/* most links to nodes placed before first; ties by degree, then number */
static void choose_order(struct branching *s)
{
    const struct cfn_model *m = s->m;
    int32_t joined[MOST_NODES] = {0};
    for (int32_t i = 0; i < m->node_count; i++)
        s->place[i] = -1;
    for (int32_t d = 0; d < m->node_count; d++) {
        int32_t next = -1;
        for (int32_t i = 0; i < m->node_count; i++) {
            uint32_t degree = m->first_arc[i + 1] - m->first_arc[i];
            if (s->place[i] < 0 &&
                (next < 0 || joined[i] > joined[next] ||
                 (joined[i] == joined[next] && degree > m->first_arc[next + 1] - m->first_arc[next])))
                next = i;
        }
        s->order[d] = next;
        s->place[next] = d;
        for (uint32_t k = m->first_arc[next]; k < m->first_arc[next + 1]; k++)
            joined[m->arcs[k].other]++;
    }
    for (int32_t i = 0; i < m->node_count; i++)
        for (uint32_t k = m->first_arc[i]; k < m->first_arc[i + 1]; k++) {
            int64_t least = s->place[i] < s->place[m->arcs[k].other] ? least_entry(m, i, &m->arcs[k]) : 0;
            for (int32_t d = 0; d <= s->place[i]; d++)
                s->open_links[d] = cfn_add(s->open_links[d], least);
        }
}

static int64_t lower_bound(const struct branching *s, int32_t depth, int64_t fixed)
{
    const struct cfn_model *m = s->m;
    const int64_t *cost = s->cost + (size_t)depth * m->value_count;
    int64_t bound = cfn_add(fixed, s->open_links[depth]);
    for (int32_t d = depth; d < m->node_count; d++) {
        const int64_t *at = cost + m->offset[s->order[d]];
        int64_t least = at[0];
        for (int32_t a = 1; a < m->size[s->order[d]]; a++)
            least = at[a] < least ? at[a] : least;
        bound = cfn_add(bound, least);
    }
    return bound;
}

/* adds (or, with sign -1, takes off) the node's usage; false when some time exceeds the limit */
static bool move_usage(struct branching *s, int32_t i, int32_t a, int64_t sign)
{
    const struct cfn_model *m = s->m;
    bool fits = true;
    for (uint32_t k = m->first_item[i]; k < m->first_item[i + 1]; k++)
        for (int32_t t = m->items[k].left; t < m->items[k].right; t++) {
            s->usage[t] += sign * m->items[k].use[a];
            fits = fits && s->usage[t] <= m->limit;
        }
    return fits;
}

/* costs of the next depth once node i has value a */
static void fix(struct branching *s, int32_t depth, int32_t i, int32_t a)
{
    const struct cfn_model *m = s->m;
    int64_t *next = s->cost + (size_t)(depth + 1) * m->value_count;
    memcpy(next, s->cost + (size_t)depth * m->value_count, m->value_count * sizeof *next);
    for (uint32_t k = m->first_arc[i]; k < m->first_arc[i + 1]; k++) {
        const struct cfn_arc *arc = &m->arcs[k];
        int64_t *at = next + m->offset[arc->other];
        for (int32_t b = 0; b < m->size[arc->other] && s->place[arc->other] > depth; b++)
            at[b] = cfn_add(at[b], arc->exact[(size_t)a * arc->own + (size_t)b * arc->step]);
    }
}

static void descend(struct branching *s, int32_t depth, int64_t fixed)
{
    const struct cfn_model *m = s->m;
    int64_t bound = lower_bound(s, depth, fixed);
    if (cfn_infinite(bound) || (s->found && bound >= s->upper))
        return;
    if (depth == m->node_count) {
        s->found = true;
        s->upper = fixed;
        memcpy(s->best->value, s->value, (size_t)m->node_count * sizeof *s->value);
        return;
    }
    int32_t i = s->order[depth];
    const int64_t *cost = s->cost + (size_t)depth * m->value_count + m->offset[i];
    int64_t last = INT64_MIN;
    int32_t a = -1;
    for (int32_t tried = 0; tried < m->size[i] && !s->exhausted; tried++) {
        int32_t next = -1; /* ascending (cost, value) after (last, a) */
        for (int32_t b = 0; b < m->size[i]; b++)
            if ((cost[b] > last || (cost[b] == last && b > a)) && (next < 0 || cost[b] < cost[next]))
                next = b;
        a = next;
        last = cost[a];
        if (cfn_infinite(last))
            return;
        if (s->steps-- == 0) {
            s->exhausted = true;
            return;
        }
        s->value[i] = a;
        if (move_usage(s, i, a, 1)) {
            fix(s, depth, i, a);
            descend(s, depth + 1, cfn_add(fixed, last));
        }
        move_usage(s, i, a, -1);
    }
}

enum cfn_branch_result cfn_branch(const struct cfn_model *m, uint64_t max_steps, struct cfn_point *best)
{
    best->forbidden = 1;
    if (m->node_count > MOST_NODES || m->value_count > MOST_VALUES || m->time_count > MOST_TIMES)
        return CFN_BRANCH_OPEN;
    struct branching s = {.m = m, .best = best, .steps = max_steps};
    s.cost = mem_alloc(((size_t)m->node_count + 1) * (m->value_count + 1) * sizeof *s.cost);
    s.usage = mem_alloc(((size_t)m->time_count + 1) * sizeof *s.usage);
    memcpy(s.cost, m->unary, m->value_count * sizeof *s.cost);
    memcpy(s.usage, m->base, (size_t)m->time_count * sizeof *s.usage);
    choose_order(&s);
    bool fits = true;
    for (int32_t t = 0; t < m->time_count; t++)
        fits = fits && m->base[t] <= m->limit;
    if (fits)
        descend(&s, 0, m->constant);
    free(s.cost);
    free(s.usage);
    if (s.found) {
        best->cost = s.upper;
        best->forbidden = 0;
    }
    return s.exhausted ? CFN_BRANCH_OPEN : s.found ? CFN_BRANCH_OPTIMAL : CFN_BRANCH_EMPTY;
}
