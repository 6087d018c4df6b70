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
    const struct cfn_model *model;
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

static int64_t least_entry(const struct cfn_model *model, int32_t i, const struct cfn_arc *arc)
{
    int64_t least = CFN_INFINITE;
    for (int32_t a = 0; a < model->size[i]; a++)
        for (int32_t b = 0; b < model->size[arc->other]; b++) {
            int64_t c = arc->exact[(size_t)a * arc->own + (size_t)b * arc->step];
            least = c < least ? c : least;
        }
    return least;
}

/* most links to nodes placed before first; ties by degree, then number */
static void choose_order(struct branching *branching)
{
    const struct cfn_model *model = branching->model;
    int32_t joined[MOST_NODES] = {0};
    for (int32_t i = 0; i < model->node_count; i++)
        branching->place[i] = -1;
    for (int32_t node = 0; node < model->node_count; node++) {
        int32_t next = -1;
        for (int32_t i = 0; i < model->node_count; i++) {
            uint32_t degree = model->first_arc[i + 1] - model->first_arc[i];
            if (branching->place[i] < 0 &&
                (next < 0 || joined[i] > joined[next] ||
                 (joined[i] == joined[next] && degree > model->first_arc[next + 1] - model->first_arc[next])))
                next = i;
        }
        branching->order[node] = next;
        branching->place[next] = node;
        for (uint32_t k = model->first_arc[next]; k < model->first_arc[next + 1]; k++)
            joined[model->arcs[k].other]++;
    }
    for (int32_t i = 0; i < model->node_count; i++)
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
            int64_t least = branching->place[i] < branching->place[model->arcs[k].other]
                                ? least_entry(model, i, &model->arcs[k])
                                : 0;
            for (int32_t d = 0; d <= branching->place[i]; d++)
                branching->open_links[d] = cfn_add(branching->open_links[d], least);
        }
}

static int64_t lower_bound(const struct branching *branching, int32_t depth, int64_t fixed)
{
    const struct cfn_model *model = branching->model;
    const int64_t *cost = branching->cost + (size_t)depth * model->value_count;
    int64_t bound = cfn_add(fixed, branching->open_links[depth]);
    for (int32_t node = depth; node < model->node_count; node++) {
        const int64_t *at = cost + model->offset[branching->order[node]];
        int64_t least = at[0];
        for (int32_t a = 1; a < model->size[branching->order[node]]; a++)
            least = at[a] < least ? at[a] : least;
        bound = cfn_add(bound, least);
    }
    return bound;
}

/* adds (or, with sign -1, takes off) the node's usage; false when some time exceeds the limit */
static bool move_usage(struct branching *branching, int32_t i, int32_t a, int64_t sign)
{
    const struct cfn_model *model = branching->model;
    bool fits = true;
    for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++)
        for (int32_t t = model->items[k].left; t < model->items[k].right; t++) {
            branching->usage[t] += sign * model->items[k].use[a];
            fits = fits && branching->usage[t] <= model->limit;
        }
    return fits;
}

/* costs of the next depth once node i has value a */
static void fix(struct branching *branching, int32_t depth, int32_t i, int32_t a)
{
    const struct cfn_model *model = branching->model;
    int64_t *next = branching->cost + (size_t)(depth + 1) * model->value_count;
    memcpy(next, branching->cost + (size_t)depth * model->value_count, model->value_count * sizeof *next);
    for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
        const struct cfn_arc *arc = &model->arcs[k];
        int64_t *at = next + model->offset[arc->other];
        for (int32_t b = 0; b < model->size[arc->other] && branching->place[arc->other] > depth; b++)
            at[b] = cfn_add(at[b], arc->exact[(size_t)a * arc->own + (size_t)b * arc->step]);
    }
}

static void descend(struct branching *branching, int32_t depth, int64_t fixed)
{
    const struct cfn_model *model = branching->model;
    int64_t bound = lower_bound(branching, depth, fixed);
    if (cfn_infinite(bound) || (branching->found && bound >= branching->upper))
        return;
    if (depth == model->node_count) {
        branching->found = true;
        branching->upper = fixed;
        memcpy(branching->best->value, branching->value,
               (size_t)model->node_count * sizeof *branching->value);
        return;
    }
    int32_t i = branching->order[depth];
    const int64_t *cost = branching->cost + (size_t)depth * model->value_count + model->offset[i];
    int64_t last = INT64_MIN;
    int32_t a = -1;
    for (int32_t tried = 0; tried < model->size[i] && !branching->exhausted; tried++) {
        int32_t next = -1; /* ascending (cost, value) after (last, a) */
        for (int32_t b = 0; b < model->size[i]; b++)
            if ((cost[b] > last || (cost[b] == last && b > a)) && (next < 0 || cost[b] < cost[next]))
                next = b;
        a = next;
        last = cost[a];
        if (cfn_infinite(last))
            return;
        if (branching->steps-- == 0) {
            branching->exhausted = true;
            return;
        }
        branching->value[i] = a;
        if (move_usage(branching, i, a, 1)) {
            fix(branching, depth, i, a);
            descend(branching, depth + 1, cfn_add(fixed, last));
        }
        move_usage(branching, i, a, -1);
    }
}

enum cfn_branch_result cfn_branch(const struct cfn_model *model, uint64_t max_steps, struct cfn_point *best)
{
    best->forbidden = 1;
    if (model->node_count > MOST_NODES || model->value_count > MOST_VALUES || model->time_count > MOST_TIMES)
        return CFN_BRANCH_OPEN;
    struct branching branching = {.model = model, .best = best, .steps = max_steps};
    branching.cost =
        mem_alloc(((size_t)model->node_count + 1) * (model->value_count + 1) * sizeof *branching.cost);
    branching.usage = mem_alloc(((size_t)model->time_count + 1) * sizeof *branching.usage);
    memcpy(branching.cost, model->unary, model->value_count * sizeof *branching.cost);
    memcpy(branching.usage, model->base, (size_t)model->time_count * sizeof *branching.usage);
    choose_order(&branching);
    bool fits = true;
    for (int32_t time = 0; time < model->time_count; time++)
        fits = fits && model->base[time] <= model->limit;
    if (fits)
        descend(&branching, 0, model->constant);
    free(branching.cost);
    free(branching.usage);
    if (branching.found) {
        best->cost = branching.upper;
        best->forbidden = 0;
    }
    return branching.exhausted ? CFN_BRANCH_OPEN : branching.found ? CFN_BRANCH_OPTIMAL : CFN_BRANCH_EMPTY;
}
