/* Best-first branch and bound under multipliers. Depth first (branch.c) wants cheap bounds and many nodes;
 * here a bound is a TRW-S certificate of a few milliseconds under multipliers of its own, and the tree stays
 * small.
 *
 *   begin     probe every value: fix it, bound the rest; what reaches the best answer goes
 *             (reduced-cost fixing, G. Dantzig, R. Fulkerson, S. Johnson 1954; probing, M. Savelsbergh 1994)
 *   expand    the leaf of least bound, on the node whose branching raised bounds most so far (pseudo-costs,
 *             M. Benichou et al. 1971); one child for each value left
 *   prune     values that do not fit beside everyone else's least usage; children at or above the best answer
 *   raise     w->bound to the least bound of all leaves, or to the best answer when none is left
 *
 * Bounds are certified ones throughout, so the result is a proof. Multipliers, messages and prices are left
 * as they were found. Interrupted work is dropped whole: a leaf is either expanded or as it was. */
#include "cfn/prove.h"

#include "base/memory.h"
#include "cfn/dual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROBE_STEPS = 3,  /* of the multipliers, for each value of the root: there are many */
    CHILD_STEPS = 10, /* for each child of a leaf: it stays */
    END_PASSES = 2,   /* under a leaf's best multipliers, before its certificate */
    MOST_LEAVES = 1 << 16,
};
static const size_t most_mask_bytes = (size_t)48 << 20;  /* of a job's blob between two phases */
static const uint64_t most_table_work = 400000;          /* entries a pass; then a child costs some 5 ms */
static const size_t most_values = 16384;                 /* the root alone takes a certificate for each */
static const double first_level = 0.5, level_down = 0.6; /* of the gap; after a step that did not help */
static const double gain_kept = 0.7, gain_new = 0.3;     /* of a node's running mean */

struct proving { /* scratch of one phase */
    struct cfn_worker *w;
    const struct cfn_model *m;
    double *message;    /* of the root, as the phase found them */
    double *centre, *g; /* multipliers: best of this leaf, direction */
    int64_t *least;     /* usage at each time with every node at its least */
    uint8_t *child, *leaf;
    int64_t *child_bound;
};

double cfn_prove_probe_work(const struct cfn_model *m)
{
    double passes = 2.0 * (PROBE_STEPS + END_PASSES) + CFN_CERTIFY_PASSES;
    if (m->table_work > most_table_work || m->value_count > most_values)
        return HUGE_VAL;
    return passes * (double)m->table_work * (double)m->value_count;
}

/* ---- memory: values that do not fit beside everything else's least ---- */

static int64_t least_use(const struct proving *p, int32_t i, const struct cfn_model_item *item,
                         const uint8_t *mask)
{
    int64_t least = INT64_MAX;
    for (int32_t a = 0; a < p->m->size[i]; a++)
        if (!mask[p->m->offset[i] + (size_t)a] && item->use[a] < least)
            least = item->use[a];
    return least;
}

static void sum_least(struct proving *p, const uint8_t *mask)
{
    const struct cfn_model *m = p->m;
    int64_t sum = 0;
    memset(p->least, 0, ((size_t)m->time_count + 1) * sizeof *p->least);
    for (int32_t i = 0; i < m->node_count; i++)
        for (uint32_t k = m->first_item[i]; k < m->first_item[i + 1]; k++) {
            int64_t least = least_use(p, i, &m->items[k], mask);
            p->least[m->items[k].left] += least;
            p->least[m->items[k].right] -= least;
        }
    for (int32_t t = 0; t < m->time_count; t++) {
        sum += p->least[t];
        p->least[t] = m->base[t] + sum;
    }
}

static bool item_fits(const struct proving *p, const struct cfn_model_item *item, int64_t more)
{
    for (int32_t t = item->left; t < item->right; t++)
        if (p->least[t] + more > p->m->limit)
            return false;
    return true;
}

/* One item at a time: what several items of a value need together is not looked at. false: nothing fits. */
static bool drop_what_does_not_fit(struct proving *p, uint8_t *mask)
{
    const struct cfn_model *m = p->m;
    bool any = true;
    while (any) {
        any = false;
        sum_least(p, mask);
        for (int32_t i = 0; i < m->node_count; i++)
            for (uint32_t k = m->first_item[i]; k < m->first_item[i + 1]; k++) {
                int64_t least = least_use(p, i, &m->items[k], mask), worst = INT64_MAX;
                if (least == INT64_MAX)
                    return false;
                for (int32_t a = 0; a < m->size[i]; a++) { /* what fits, everything below it fits, too */
                    uint8_t *gone = &mask[m->offset[i] + (size_t)a];
                    int64_t use = m->items[k].use[a];
                    if (*gone || use == least)
                        continue;
                    if (use >= worst || !item_fits(p, &m->items[k], use - least)) {
                        worst = use < worst ? use : worst;
                        *gone = 1;
                        any = true;
                    }
                }
            }
        p->w->work += (uint64_t)m->time_count + 8ull * m->first_item[m->node_count];
    }
    for (int32_t t = 0; t < m->time_count; t++)
        if (p->least[t] > m->limit)
            return false;
    return true;
}

/* ---- the bound of a leaf ---- */

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static double less(double a, double b)
{
    return a < b ? a : b;
}

static double direction(struct proving *p)
{
    const struct cfn_model *m = p->m;
    const int64_t *usage = p->w->profile;
    double limit = m->limit > 0 ? (double)m->limit : 1, length = 0;
    for (int32_t t = 0; t < m->time_count;) {
        int32_t peak = t;
        p->g[t] = 0;
        if (usage[t] <= m->limit) {
            if (p->centre[t] > 0)
                p->g[t] = greater((double)(usage[t] - m->limit) / limit, CFN_STEP_SLACK);
            length += p->g[t] * p->g[t];
            t++;
            continue;
        }
        for (; t < m->time_count && usage[t] > m->limit; t++) {
            p->g[t] = 0;
            peak = usage[t] > usage[peak] ? t : peak;
        }
        p->g[peak] = less((double)(usage[peak] - m->limit) / limit, CFN_STEP_EXCESS);
        length += p->g[peak] * p->g[peak];
    }
    return length;
}

static double one_pass(struct proving *p)
{
    p->w->work += 2 * p->m->table_work + 2 * p->m->forest_work;
    return cfn_trws_iterate(&p->w->trws);
}

/* the assignment that the passes suggest; recorded when it is an answer */
static void take_point(struct proving *p)
{
    struct cfn_worker *w = p->w;
    cfn_trws_round(&w->trws, w->x.value);
    cfn_point_evaluate(p->m, &w->x, w->profile);
    w->work += cfn_point_work(p->m);
    if (cfn_point_feasible(&w->x) && w->x.cost < w->best.cost)
        cfn_worker_record(w, &w->x);
}

/* certified; steps of the multipliers from the root's */
static int64_t bound_of(struct proving *p, const uint8_t *mask, int steps)
{
    struct cfn_worker *w = p->w;
    const struct cfn_model *m = p->m;
    double limit = m->limit > 0 ? (double)m->limit : 1, best = -HUGE_VAL, level = first_level;
    size_t times = (size_t)m->time_count * sizeof(double);
    w->trws.dropped = mask;
    memcpy(w->trws.message, p->message, m->message_count * sizeof(double));
    memcpy(w->lambda, w->best_lambda, times);
    memcpy(p->centre, w->best_lambda, times);
    for (int k = 0; k < steps; k++) {
        cfn_trws_price(&w->trws, w->lambda);
        double bound = one_pass(p);
        if (bound > best) {
            best = bound;
            memcpy(p->centre, w->lambda, times);
        } else {
            level *= level_down;
        }
        double gap = (double)w->best.cost - best;
        if (gap < 0)
            break;
        take_point(p);
        double length = direction(p);
        if (length <= 0)
            continue; /* more passes under the same prices */
        for (int32_t t = 0; t < m->time_count; t++)
            w->lambda[t] =
                greater(p->centre[t] + level * gap * p->g[t] / ((length + CFN_STEP_LENGTH) * limit), 0);
    }
    cfn_trws_price(&w->trws, p->centre);
    for (int k = 0; k < END_PASSES; k++)
        one_pass(p);
    w->work += CFN_CERTIFY_PASSES * m->table_work;
    return cfn_trws_certify(&w->trws);
}

/* ---- the tree ---- */

static int32_t values_left(const struct cfn_model *m, const uint8_t *mask, int32_t i)
{
    int32_t left = 0;
    for (int32_t a = 0; a < m->size[i]; a++)
        left += !mask[m->offset[i] + (size_t)a];
    return left;
}

static void fix(const struct cfn_model *m, const uint8_t *from, uint8_t *to, int32_t i, int32_t a)
{
    memcpy(to, from, m->value_count);
    memset(to + m->offset[i], 1, (size_t)m->size[i]);
    to[m->offset[i] + (size_t)a] = 0;
}

/* Bounds of the children on node i into p->child_bound (INT64_MAX: none); the mean of what they gain. Runs on
 * past the phase's end; worth nothing when w->stopped is set. */
static double try_node(struct proving *p, const uint8_t *leaf, int64_t leaf_bound, int32_t i, int steps)
{
    const struct cfn_model *m = p->m;
    double sum = 0, top = (double)p->w->best.cost - (double)leaf_bound;
    int32_t left = 0;
    for (int32_t a = 0; a < m->size[i]; a++) {
        p->child_bound[a] = INT64_MAX;
        (void)cfn_worker_done(p->w); /* asks whether to stop */
        if (leaf[m->offset[i] + (size_t)a] || p->w->stopped)
            continue;
        fix(m, leaf, p->child, i, a);
        if (drop_what_does_not_fit(p, p->child)) {
            int64_t bound = bound_of(p, p->child, steps);
            p->child_bound[a] = bound > leaf_bound ? bound : leaf_bound;
        }
        double gain = p->child_bound[a] == INT64_MAX ? top : (double)p->child_bound[a] - (double)leaf_bound;
        sum += gain < top ? gain : top;
        left++;
    }
    return left ? sum / left : 0;
}

static void add_leaf(struct proving *p, const uint8_t *mask, int64_t bound)
{
    struct cfn_leaves *v = &p->w->leaves;
    cfn_leaves_reserve(p->m, v, v->count + 1);
    memcpy(v->mask + (size_t)v->count * p->m->value_count, mask, p->m->value_count);
    v->bound[v->count++] = bound;
}

/* probes every value once: what cannot beat the best answer goes; first estimates of what nodes give */
static void begin(struct proving *p)
{
    struct cfn_worker *w = p->w;
    const struct cfn_model *m = p->m;
    cfn_leaves_reserve(m, &w->leaves, 1);
    memset(p->leaf, 0, m->value_count);
    bool fits = drop_what_does_not_fit(p, p->leaf);
    for (int32_t i = 0; i < m->node_count && fits && !w->stopped; i++) {
        w->leaves.gain[i] = try_node(p, p->leaf, w->bound, i, PROBE_STEPS);
        for (int32_t a = 0; a < m->size[i] && !w->stopped; a++)
            if (p->child_bound[a] >= w->best.cost)
                p->leaf[m->offset[i] + (size_t)a] = 1;
        fits = values_left(m, p->leaf, i) > 0;
    }
    if (w->stopped)
        return;
    if (fits)
        add_leaf(p, p->leaf, w->bound);
    w->leaves.begun = true;
}

static int32_t least_leaf(const struct cfn_leaves *v)
{
    int32_t least = 0;
    for (int32_t k = 1; k < v->count; k++)
        least = v->bound[k] < v->bound[least] ? k : least;
    return least;
}

static int32_t choose_node(const struct proving *p)
{
    int32_t chosen = -1;
    for (int32_t i = 0; i < p->m->node_count; i++)
        if (values_left(p->m, p->leaf, i) > 1 &&
            (chosen < 0 || p->w->leaves.gain[i] > p->w->leaves.gain[chosen]))
            chosen = i;
    return chosen;
}

/* every node has one value: the leaf is an answer, or none */
static void settle_leaf(struct proving *p)
{
    struct cfn_worker *w = p->w;
    for (int32_t i = 0; i < p->m->node_count; i++)
        for (int32_t a = 0; a < p->m->size[i]; a++)
            if (!p->leaf[p->m->offset[i] + (size_t)a])
                w->x.value[i] = a;
    cfn_point_evaluate(p->m, &w->x, w->profile);
    if (cfn_point_feasible(&w->x) && w->x.cost < w->best.cost)
        cfn_worker_record(w, &w->x);
}

/* the leaf of least bound becomes its children; when told to stop in between, it stays as it was */
static void expand(struct proving *p)
{
    struct cfn_worker *w = p->w;
    struct cfn_leaves *v = &w->leaves;
    const struct cfn_model *m = p->m;
    int32_t at = least_leaf(v), last = v->count - 1;
    int64_t bound = v->bound[at];
    memcpy(p->leaf, v->mask + (size_t)at * m->value_count, m->value_count);
    int32_t node = choose_node(p);
    double gain = node < 0 ? 0 : try_node(p, p->leaf, bound, node, CHILD_STEPS);
    if (w->stopped)
        return;
    v->bound[at] = v->bound[last];
    memmove(v->mask + (size_t)at * m->value_count, v->mask + (size_t)last * m->value_count, m->value_count);
    v->count--;
    if (node < 0) {
        settle_leaf(p);
        return;
    }
    v->gain[node] = gain_kept * v->gain[node] + gain_new * gain;
    for (int32_t a = 0; a < m->size[node]; a++) {
        if (p->child_bound[a] >= w->best.cost)
            continue;
        fix(m, p->leaf, p->child, node, a);
        if (drop_what_does_not_fit(p, p->child))
            add_leaf(p, p->child, p->child_bound[a]);
    }
}

static void raise_bound(struct cfn_worker *w)
{
    const struct cfn_leaves *v = &w->leaves;
    int64_t bound = v->count ? v->bound[least_leaf(v)] : w->best.cost;
    bound = bound < w->best.cost ? bound : w->best.cost;
    w->bound = bound > w->bound ? bound : w->bound;
}

void cfn_prove_phase(struct cfn_worker *w)
{
    const struct cfn_model *m = w->m;
    size_t times = (size_t)m->time_count + 1;
    struct proving p = {.w = w, .m = m};
    if (!w->has_best || w->bound == INT64_MIN)
        return;
    p.message = mem_alloc((m->message_count + 1) * sizeof *p.message);
    p.centre = mem_zalloc(times, sizeof *p.centre);
    p.g = mem_zalloc(times, sizeof *p.g);
    p.least = mem_zalloc(times, sizeof *p.least);
    p.child = mem_zalloc(m->value_count + 1, 1);
    p.leaf = mem_zalloc(m->value_count + 1, 1);
    p.child_bound = mem_zalloc((size_t)m->largest + 1, sizeof *p.child_bound);
    memcpy(p.message, w->trws.message, m->message_count * sizeof *p.message);
    if (!w->leaves.begun)
        begin(&p);
    while (w->leaves.begun && w->leaves.count && !cfn_worker_done(w) && w->leaves.count < MOST_LEAVES &&
           (size_t)w->leaves.count * m->value_count < most_mask_bytes)
        expand(&p);
    if (w->leaves.begun)
        raise_bound(w);
    w->trws.dropped = NULL;
    memcpy(w->trws.message, p.message, m->message_count * sizeof *p.message);
    cfn_trws_price(&w->trws, w->best_lambda);
    free(p.message);
    free(p.centre);
    free(p.g);
    free(p.least);
    free(p.child);
    free(p.leaf);
    free(p.child_bound);
}
