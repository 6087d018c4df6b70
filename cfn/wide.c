/* Wide moves: bucket elimination with conditioning (R. Dechter, "Bucket elimination: a unifying framework for
 * reasoning", 1999) on a part of the network.
 *
 *   plan         simulated: the node of least table goes next, its neighbours become joined; when the least
 *                is too large, the node with the largest table is fixed and leaves all scopes
 *   eliminate    in that order: message(scope) = min over values of costs, links and messages received
 *   assign       back: the best value beside those of the scope; ties keep the present one
 *
 * A message goes to the first of its scope to be eliminated, whose values are its fastest index, padded to
 * whole vectors: all rows that are added when a node is eliminated are contiguous. A table is never larger
 * than the cells of its node: rows are padded to at most eight times their values, as the node's own are. */
#include "cfn/wide.h"

#include "cfn/kernel.h"

#include <math.h>
#include <stdlib.h>

enum {
    LANES = 8,      /* rows are whole multiples of it */
    NODE_WORK = 32, /* table entries that planning counts as: for a node, */
    PAIR_SHARE = 4, /* and one for so many pairs of nodes */
    MOST_FACTORS = CFN_WIDE_NODES + CFN_WIDE_SCOPE,
};

void cfn_wide_create(const struct cfn_model *model, struct cfn_wide *wide)
{
    size_t n = (size_t)model->node_count + 1, most = n < CFN_WIDE_NODES ? n : CFN_WIDE_NODES;
    *wide = (struct cfn_wide){.model = model};
    wide->at = mem_zalloc(most, sizeof *wide->at);
    wide->place = mem_alloc(n * sizeof *wide->place);
    memset(wide->place, 0xff, n * sizeof *wide->place);
    wide->order = mem_zalloc(most, sizeof *wide->order);
    wide->belief = mem_zalloc((size_t)model->largest * most + 1, sizeof *wide->belief);
    wide->partial = mem_zalloc((size_t)model->largest + 1, sizeof *wide->partial);
    wide->tables = mem_alloc(CFN_WIDE_CELLS * sizeof *wide->tables);
}

void cfn_wide_release(struct cfn_wide *wide)
{
    free(wide->at);
    free(wide->place);
    free(wide->order);
    free(wide->belief);
    free(wide->partial);
    free(wide->tables);
    *wide = (struct cfn_wide){0};
}

/* ---- sets of places ---- */

static bool holds(const uint64_t *set, int32_t place)
{
    return set[place / 64] >> (place % 64) & 1;
}

static void include(uint64_t *set, int32_t place)
{
    set[place / 64] |= UINT64_C(1) << (place % 64);
}

static void leave_out(uint64_t *set, int32_t place)
{
    set[place / 64] &= ~(UINT64_C(1) << (place % 64));
}

/* the first of the set from `place` on; -1: none */
static int32_t next_of(const uint64_t *set, int32_t place)
{
    for (int32_t w = place / 64; w < CFN_WIDE_WORDS; w++) {
        uint64_t bits = w == place / 64 ? set[w] & ~UINT64_C(0) << (place % 64) : set[w];
        if (bits)
            return w * 64 + __builtin_ctzll(bits);
    }
    return -1;
}

#define FOR_EACH_OF(set, place)                                                                              \
    for (int32_t place = next_of(set, 0); place >= 0;                                                        \
         place = place + 1 < CFN_WIDE_NODES ? next_of(set, place + 1) : -1)

/* ---- plan ---- */

static void count_cells(struct cfn_wide *wide, int32_t place)
{
    struct cfn_wide_node *at = &wide->at[place];
    int32_t scope = 0;
    at->cells = wide->model->width[at->node];
    FOR_EACH_OF(at->near, other)
    {
        at->cells *= wide->model->size[wide->at[other].node];
        scope++;
    }
    if (scope > CFN_WIDE_SCOPE)
        at->cells = HUGE_VAL;
}

static void offer(struct cfn_wide *wide, const int32_t *nodes, int32_t count)
{
    const struct cfn_model *model = wide->model;
    for (int32_t i = 0; i < count; i++) {
        wide->at[i] = (struct cfn_wide_node){.node = nodes[i], .order = -1};
        wide->place[nodes[i]] = i;
    }
    for (int32_t i = 0; i < count; i++)
        for (uint32_t k = model->first_arc[nodes[i]]; k < model->first_arc[nodes[i] + 1]; k++)
            if (wide->place[model->arcs[k].other] >= 0)
                include(wide->at[i].near, wide->place[model->arcs[k].other]);
    for (int32_t i = 0; i < count; i++)
        count_cells(wide, i);
}

/* keeps its value: it leaves all sets, and the scopes of those that are eliminated already */
static void keep_fixed(struct cfn_wide *wide, int32_t place, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (holds(wide->at[i].near, place)) {
            leave_out(wide->at[i].near, place);
            count_cells(wide, i);
        }
    wide->place[wide->at[place].node] = -1;
}

static void eliminate_next(struct cfn_wide *wide, int32_t place)
{
    struct cfn_wide_node *at = &wide->at[place];
    at->order = wide->eliminated;
    wide->order[wide->eliminated++] = place;
    FOR_EACH_OF(at->near, other)
    {
        struct cfn_wide_node *neighbour = &wide->at[other];
        for (int w = 0; w < CFN_WIDE_WORDS; w++)
            neighbour->near[w] |= at->near[w];
        leave_out(neighbour->near, other);
        leave_out(neighbour->near, place);
    }
    FOR_EACH_OF(at->near, other)
    count_cells(wide, other);
}

/* of left[0..count), which hold places: the index of that with the least (or most) cells */
static int32_t extreme(const struct cfn_wide *wide, const int32_t *left, int32_t count, bool most)
{
    int32_t best = 0;
    for (int32_t k = 1; k < count; k++) {
        double cells = wide->at[left[k]].cells, than = wide->at[left[best]].cells;
        best = (most ? cells > than : cells < than) ? k : best;
    }
    return best;
}

/* Ties go to the first in an order that is drawn anew, so that moves differ. */
static void plan(struct cfn_wide *wide, struct rng *rng, int32_t count, double largest, double total)
{
    int32_t left[CFN_WIDE_NODES], offered = count;
    wide->eliminated = 0;
    for (int32_t k = 0; k < count; k++) {
        int32_t j = (int32_t)rng_below(rng, (uint64_t)k + 1);
        left[k] = left[j];
        left[j] = k;
    }
    while (count > 0) {
        int32_t k = extreme(wide, left, count, false);
        double cells = wide->at[left[k]].cells;
        if (cells <= largest && cells <= total) {
            total -= cells;
            eliminate_next(wide, left[k]);
        } else {
            k = extreme(wide, left, count, true);
            keep_fixed(wide, left[k], offered);
        }
        left[k] = left[--count];
    }
}

/* scopes in the order of elimination, with room for messages and beliefs */
static void lay_out(struct cfn_wide *wide)
{
    const struct cfn_model *model = wide->model;
    size_t table = 0, belief = 0;
    for (int32_t k = 0; k < wide->eliminated; k++) {
        struct cfn_wide_node *at = &wide->at[wide->order[k]];
        at->belief = belief;
        belief += (size_t)model->width[at->node];
        FOR_EACH_OF(at->near, other)
        {
            int32_t i = at->scope_count++;
            for (; i > 0 && wide->at[at->scope[i - 1]].order > wide->at[other].order; i--)
                at->scope[i] = at->scope[i - 1];
            at->scope[i] = other;
        }
        size_t size = 1;
        for (int32_t i = 0; i < at->scope_count; i++) {
            int32_t node = wide->at[at->scope[i]].node;
            at->stride[i] = size;
            size *= (size_t)(i ? model->size[node] : model->width[node]);
        }
        at->table = table;
        table += size;
    }
}

/* ---- eliminate ---- */

CFN_KERNEL static void add_row(float *restrict sum, const float *restrict row, int32_t width)
{
    for (int32_t a = 0; a < width; a++)
        sum[a] += row[a];
}

/* What changes with the value b of the first of a scope: row f of it stands at base[f] + b * stride[f]. */
struct rows {
    int32_t count;
    const float *base[MOST_FACTORS];
    size_t stride[MOST_FACTORS];
};

/* out[b] = min over a of sum[a] + the rows of b; width: a multiple of LANES */
CFN_KERNEL static void least_sums(float *restrict out, int32_t size, const float *restrict sum,
                                  const struct rows *rows, int32_t width)
{
    for (int32_t b = 0; b < size; b++) {
        float lane[LANES];
        for (int l = 0; l < LANES; l++)
            lane[l] = HUGE_VALF;
        for (int32_t a = 0; a < width; a += LANES) {
            float cost[LANES];
            for (int l = 0; l < LANES; l++)
                cost[l] = sum[a + l];
            for (int32_t f = 0; f < rows->count; f++) {
                const float *row = rows->base[f] + (size_t)b * rows->stride[f] + a;
                for (int l = 0; l < LANES; l++)
                    cost[l] += row[l];
            }
            for (int l = 0; l < LANES; l++)
                lane[l] = cost[l] < lane[l] ? cost[l] : lane[l];
        }
        for (int half = LANES / 2; half > 0; half /= 2)
            for (int l = 0; l < half; l++)
                lane[l] = lane[l + half] < lane[l] ? lane[l + half] : lane[l];
        out[b] = lane[0];
    }
}

/* costs beside fixed neighbours */
static void start_belief(struct cfn_wide *wide, const struct cfn_wide_node *at, const float *unary,
                         const int32_t *value)
{
    const struct cfn_model *model = wide->model;
    float *belief = wide->belief + at->belief;
    uint32_t from = model->first_arc[at->node], to = model->first_arc[at->node + 1];
    wide->work += (uint64_t)model->width[at->node] * (to - from + 1);
    memcpy(belief, unary + model->offset[at->node], (size_t)model->width[at->node] * sizeof *belief);
    for (uint32_t k = from; k < to; k++) {
        const struct cfn_arc *arc = &model->arcs[k];
        if (wide->place[arc->other] < 0)
            add_row(belief, arc->columns + (size_t)value[arc->other] * (size_t)arc->column_width,
                    model->width[at->node]);
    }
}

/* What is added row by row when a node is eliminated: links to its scope, messages that came to it; what
 * changes with the first of the scope comes first. */
struct factors {
    int32_t count, with_first;
    const float *rows[MOST_FACTORS];
    size_t stride[MOST_FACTORS][CFN_WIDE_SCOPE]; /* by place in the scope */
};

/* -> its strides, all 0 */
static size_t *add_factor(struct factors *factors, const float *rows)
{
    size_t *stride = factors->stride[factors->count];
    memset(stride, 0, sizeof factors->stride[0]);
    factors->rows[factors->count++] = rows;
    return stride;
}

static void add_links(const struct cfn_wide *wide, const struct cfn_wide_node *at, struct factors *factors)
{
    const struct cfn_model *model = wide->model;
    for (uint32_t k = model->first_arc[at->node]; k < model->first_arc[at->node + 1]; k++)
        for (int32_t s = 0; s < at->scope_count; s++)
            if (model->arcs[k].other == wide->at[at->scope[s]].node)
                add_factor(factors, model->arcs[k].columns)[s] = (size_t)model->arcs[k].column_width;
}

/* messages of one node's values alone are in its belief already */
static void add_messages(const struct cfn_wide *wide, const struct cfn_wide_node *at, struct factors *factors)
{
    for (int32_t k = 0; k < at->order; k++) {
        const struct cfn_wide_node *child = &wide->at[wide->order[k]];
        if (child->scope_count < 2 || wide->at[child->scope[0]].order != at->order)
            continue;
        size_t *stride = add_factor(factors, wide->tables + child->table);
        for (int32_t i = 1; i < child->scope_count; i++)
            for (int32_t s = 0; s < at->scope_count; s++)
                if (at->scope[s] == child->scope[i])
                    stride[s] = child->stride[i];
    }
}

static void collect_factors(const struct cfn_wide *wide, const struct cfn_wide_node *at,
                            struct factors *factors)
{
    factors->count = factors->with_first = 0;
    add_links(wide, at, factors);
    add_messages(wide, at, factors);
    for (int32_t f = 0; f < factors->count; f++) {
        if (!factors->stride[f][0])
            continue;
        int32_t to = factors->with_first++;
        const float *rows = factors->rows[f];
        size_t stride[CFN_WIDE_SCOPE];
        memcpy(stride, factors->stride[f], sizeof stride);
        memcpy(factors->stride[f], factors->stride[to], sizeof stride);
        memcpy(factors->stride[to], stride, sizeof stride);
        factors->rows[f] = factors->rows[to];
        factors->rows[to] = rows;
    }
}

static const float *row_of(const struct factors *factors, int32_t f, const int32_t *assigned,
                           int32_t scope_count)
{
    const float *row = factors->rows[f];
    for (int32_t s = 0; s < scope_count; s++)
        row += (size_t)assigned[s] * factors->stride[f][s];
    return row;
}

/* the next values of the scope but its first; false after the last */
static bool advance(const struct cfn_wide *wide, const struct cfn_wide_node *at, int32_t *assigned)
{
    for (int32_t s = 1; s < at->scope_count; s++) {
        if (++assigned[s] < wide->model->size[wide->at[at->scope[s]].node])
            return true;
        assigned[s] = 0;
    }
    return false;
}

/* the message of a node whose scope is not empty */
static void eliminate(struct cfn_wide *wide, const struct cfn_wide_node *at, const struct factors *factors)
{
    const struct cfn_model *model = wide->model;
    int32_t width = model->width[at->node], assigned[CFN_WIDE_SCOPE] = {0};
    int32_t first = wide->at[at->scope[0]].node;
    float *out = wide->tables + at->table;
    struct rows rows = {.count = factors->with_first};
    for (int32_t f = 0; f < rows.count; f++)
        rows.stride[f] = factors->stride[f][0];
    wide->work += (uint64_t)(at->cells * rows.count);
    do {
        memcpy(wide->partial, wide->belief + at->belief, (size_t)width * sizeof *wide->partial);
        for (int32_t f = 0; f < factors->count; f++) {
            const float *row = row_of(factors, f, assigned, at->scope_count);
            if (f < rows.count)
                rows.base[f] = row;
            else
                add_row(wide->partial, row, width);
        }
        least_sums(out, model->size[first], wide->partial, &rows, width);
        for (int32_t b = model->size[first]; b < model->width[first]; b++)
            out[b] = CFN_HUGE;
        out += model->width[first];
    } while (advance(wide, at, assigned));
}

/* ---- the move ---- */

static int32_t assign(struct cfn_wide *wide, struct factors *factors, int32_t *value, int32_t *changed,
                      int32_t *old)
{
    const struct cfn_model *model = wide->model;
    int32_t changes = 0;
    for (int32_t k = wide->eliminated; k-- > 0;) {
        const struct cfn_wide_node *at = &wide->at[wide->order[k]];
        int32_t assigned[CFN_WIDE_SCOPE], best = value[at->node];
        float *belief = wide->belief + at->belief;
        collect_factors(wide, at, factors);
        for (int32_t s = 0; s < at->scope_count; s++)
            assigned[s] = value[wide->at[at->scope[s]].node];
        for (int32_t f = 0; f < factors->count; f++)
            add_row(belief, row_of(factors, f, assigned, at->scope_count), model->width[at->node]);
        for (int32_t a = 0; a < model->size[at->node]; a++)
            best = belief[a] < belief[best] ? a : best;
        if (best == value[at->node])
            continue;
        old[changes] = value[at->node];
        changed[changes++] = at->node;
        value[at->node] = best;
    }
    return changes;
}

int32_t cfn_wide_move(struct cfn_wide *wide, struct rng *rng, const int32_t *nodes, int32_t count,
                      double largest, double total, const float *unary, int32_t *value, int32_t *changed,
                      int32_t *old)
{
    struct factors factors;
    wide->work += (uint64_t)count * NODE_WORK + (uint64_t)count * (uint64_t)count / PAIR_SHARE;
    offer(wide, nodes, count);
    plan(wide, rng, count, largest, total < CFN_WIDE_CELLS ? total : CFN_WIDE_CELLS);
    lay_out(wide);
    for (int32_t k = 0; k < wide->eliminated; k++)
        start_belief(wide, &wide->at[wide->order[k]], unary, value);
    for (int32_t k = 0; k < wide->eliminated; k++) {
        const struct cfn_wide_node *at = &wide->at[wide->order[k]];
        if (!at->scope_count)
            continue;
        collect_factors(wide, at, &factors);
        eliminate(wide, at, &factors);
        const struct cfn_wide_node *next = &wide->at[at->scope[0]];
        if (at->scope_count == 1) /* a message of one node's values is part of its costs */
            add_row(wide->belief + next->belief, wide->tables + at->table, wide->model->width[next->node]);
    }
    int32_t changes = assign(wide, &factors, value, changed, old);
    for (int32_t i = 0; i < count; i++)
        wide->place[wide->at[i].node] = -1;
    return changes;
}
