/* Deltas of all tasks -> the next snapshot: sums of edges, least lists, best plans; then what comes next.
 *
 * Pure, and free of the order in which tasks ran: increments are added, best values and lists are maxima and
 * minima. Every delta is checked before anything of it counts (snapshot.c); only here, at the end of an
 * epoch, does a search stop. */
#include "mcts/core.h"

#include <stdlib.h>

static void absorb_nodes(struct core_snapshot *p, const struct core_delta *d, uint64_t *known)
{
    for (size_t i = 0; i < d->nodes.count; i++) {
        const struct core_delta_node *n = &d->nodes.at[i];
        uint32_t node = tree_node(&p->tree, n->state, n->list.at, n->list.count);
        if (n->value == TREE_UNKNOWN)
            continue;
        *known += p->tree.nodes.at[node].value != TREE_UNKNOWN;
        p->tree.nodes.at[node].value = n->value;
    }
}

static void absorb_edges(struct core_snapshot *p, const struct core_delta *d)
{
    for (size_t i = 0; i < d->edges.count; i++) {
        const struct core_delta_edge *x = &d->edges.at[i];
        uint32_t node = tree_find(&p->tree, x->state);
        if (node == TREE_NONE) { /* the sender leaves no such edge */
            p->cut++;
            continue;
        }
        uint32_t at_edge = tree_edge(&p->tree, node, x->action, x->child); /* may move the edges */
        struct tree_edge *edge = &p->tree.edges.at[at_edge];
        edge->n += x->dn;
        edge->w += x->dw;
        if (x->dn && x->best > edge->best)
            edge->best = x->best;
    }
}

/* Evaluations count plans, not pricings: what two tasks of one epoch priced counts once. */
static void absorb(struct core_snapshot *p, const struct core_delta *d)
{
    uint64_t known = 0;
    absorb_nodes(p, d, &known);
    absorb_edges(p, d);
    uint64_t fresh = d->evaluations > known ? d->evaluations - known : 0;
    p->rollouts += d->rollouts;
    p->evaluations += fresh;
    p->cut += d->cut;
    if (p->phase == SEARCH_POLISH)
        p->polish_evaluations += fresh;
    for (uint32_t i = 0; i < d->elites.count; i++)
        core_elites_offer(&p->elites, &d->elites.at[i]);
    for (size_t i = 0; i < d->gains.count; i++)
        p->gains[d->gains.at[i].decision] = d->gains.at[i].gain;
}

/* Keeps the most visited edges, and the nodes that they or a price need. */
static void prune(struct core_snapshot *p)
{
    struct tree *t = &p->tree;
    if (t->edges.count <= CORE_SNAPSHOT_EDGES)
        return;
    uint32_t least = 1;
    for (size_t kept = t->edges.count; kept > CORE_SNAPSHOT_EDGES; least *= 2) {
        kept = 0;
        for (size_t i = 0; i < t->edges.count; i++)
            kept += t->edges.at[i].n > least;
    }
    struct tree next = {0};
    for (uint32_t i = 0; i < t->edges.count; i++) {
        const struct tree_edge *d = &t->edges.at[i];
        if (d->n <= least / 2) {
            p->cut++;
            continue;
        }
        const struct tree_node *from = &t->nodes.at[d->node];
        uint32_t node = tree_node(&next, from->state, t->pool.at + from->list, from->list_count);
        next.nodes.at[node].value = from->value;
        uint32_t at_copy = tree_edge(&next, node, d->action, d->child); /* may move the edges */
        struct tree_edge *copy = &next.edges.at[at_copy];
        copy->n = d->n;
        copy->w = d->w;
        copy->best = d->best;
        uint32_t child = tree_find(t, d->child);
        if (child != TREE_NONE) {
            const struct tree_node *to = &t->nodes.at[child];
            node = tree_node(&next, to->state, t->pool.at + to->list, to->list_count);
            next.nodes.at[node].value = to->value;
        }
    }
    tree_release(t);
    *t = next;
}

static void add_curve(struct core_snapshot *p)
{
    const struct core_plan *best = &p->elites.at[0];
    const struct core_curve *last = &p->curve[p->curve_count - (p->curve_count > 0)];
    if (p->curve_count && last->rollouts == p->rollouts && last->cost.c == best->cost.c &&
        last->cost.over_steps == best->cost.over_steps)
        return;                         /* a round of polish without a gain */
    if (p->curve_count == CORE_CURVE) { /* full: every other point goes */
        for (uint32_t i = 0; i < CORE_CURVE / 2; i++)
            p->curve[i] = p->curve[i * 2];
        p->curve_count = CORE_CURVE / 2;
    }
    p->curve[p->curve_count++] = (struct core_curve){p->rollouts, best->cost, best->price.step_ps};
}

static void finish(struct core_snapshot *p, enum core_stop why)
{
    if (p->stop == STOP_NONE)
        p->stop = why;
    p->phase = SEARCH_DONE;
    p->tasks = 0;
}

/* Only here, at the end of an epoch, does anything stop. */
static void advance(const struct search *s, struct core_snapshot *p, bool gained)
{
    p->epoch++;
    if (p->phase == SEARCH_EPOCHS) {
        p->idle = gained ? 0 : p->idle + 1;
        if (p->rollouts < s->options.rollouts && p->idle < CORE_IDLE_EPOCHS)
            return;
        p->stop = p->rollouts >= s->options.rollouts ? STOP_BUDGET : STOP_NO_GAIN;
        if (s->options.method == SEARCH_RANDOM || s->options.method == SEARCH_GREEDY || !s->polish_budget) {
            finish(p, STOP_BUDGET);
            return;
        }
        p->phase = SEARCH_POLISH;
        return;
    }
    p->polish_round++;
    p->polish_offset = gained ? 0 : p->polish_offset + core_polish_window(s);
    if (p->polish_evaluations >= s->polish_budget ||
        p->polish_offset >= core_polish_candidates(s, &p->elites.at[0]))
        finish(p, STOP_EXHAUSTED);
}

static enum error_code absorb_all(const struct search *s, struct core_snapshot *p,
                                  const struct search_blob *deltas, uint32_t delta_count, struct error *e)
{
    struct core_checked checked = {0};
    for (uint32_t i = 0; i < delta_count; i++) {
        struct core_delta d;
        enum error_code code = core_delta_read(s, deltas[i].bytes, deltas[i].size, &d, e);
        if (code)
            return code;
        if (d.index != i || d.epoch != p->epoch || d.phase != p->phase)
            code = error_set(e, ERROR_INVALID_REQUEST, "delta %u is of task %u of epoch %u, not of epoch %u",
                             i, d.index, d.epoch, p->epoch);
        if (!code)
            code = core_best_check(s, &d.elites, &checked, e);
        if (!code)
            absorb(p, &d);
        core_delta_release(&d);
        if (code)
            return code;
    }
    /* a later plan of a delta may have given the best one another list */
    return core_best_check(s, &p->elites, &checked, e);
}

enum error_code search_merge(const struct search *s, const void *snapshot, size_t size,
                             const struct search_blob *deltas, uint32_t delta_count, struct search_blob *next,
                             struct error *e)
{
    struct core_snapshot p;
    *next = (struct search_blob){0};
    enum error_code code = core_snapshot_read(s, snapshot, size, &p, e);
    if (code)
        return code;
    if (p.phase == SEARCH_DONE || delta_count != p.tasks)
        code = error_set(e, ERROR_INVALID_REQUEST, "epoch %u has %u tasks, not %u", p.epoch, p.tasks,
                         delta_count);
    struct hash128 before = p.elites.at[0].hash;
    if (!code)
        code = absorb_all(s, &p, deltas, delta_count, e);
    if (!code) {
        advance(s, &p, hash128_compare(before, p.elites.at[0].hash) != 0);
        prune(&p);
        add_curve(&p);
        core_snapshot_write(s, &p, next);
    }
    core_snapshot_release(&p);
    return code;
}
