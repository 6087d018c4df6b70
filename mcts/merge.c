/* Deltas of all tasks -> the next snapshot: sums of edges, least lists, best plans; then what comes next.
 *
 * Pure, and free of the order in which tasks ran: increments are added, best values and lists are maxima and
 * minima. Every delta is checked before anything of it counts (snapshot.c); only here, at the end of an
 * epoch, does a search stop. */
#include "mcts/core.h"

#include <stdlib.h>

static void absorb_nodes(struct core_snapshot *snapshot, const struct core_delta *delta, uint64_t *known)
{
    for (size_t i = 0; i < delta->nodes.count; i++) {
        const struct core_delta_node *n = &delta->nodes.at[i];
        uint32_t node = tree_node(&snapshot->tree, n->state, n->list.at, n->list.count);
        if (n->value == TREE_UNKNOWN)
            continue;
        int32_t *value = &snapshot->tree.nodes.at[node].value;
        bool met = *value != TREE_UNKNOWN;
        *known += met;
        *value = met && *value < n->value ? *value : n->value; /* rough ones are too high */
    }
}

static void absorb_edges(struct core_snapshot *snapshot, const struct core_delta *delta)
{
    for (size_t i = 0; i < delta->edges.count; i++) {
        const struct core_delta_edge *delta_edge = &delta->edges.at[i];
        uint32_t node = tree_find(&snapshot->tree, delta_edge->state);
        if (node == TREE_NONE) { /* the sender leaves no such edge */
            snapshot->cut++;
            continue;
        }
        uint32_t at_edge =
            tree_edge(&snapshot->tree, node, delta_edge->action, delta_edge->child); /* may move the edges */
        struct tree_edge *edge = &snapshot->tree.edges.at[at_edge];
        edge->n += delta_edge->dn;
        edge->w += delta_edge->dw;
        if (delta_edge->dn && delta_edge->best > edge->best)
            edge->best = delta_edge->best;
    }
}

/* Evaluations count plans, not pricings: what two tasks of one epoch priced counts once. */
static void absorb(struct core_snapshot *snapshot, const struct core_delta *delta)
{
    uint64_t known = 0;
    absorb_nodes(snapshot, delta, &known);
    absorb_edges(snapshot, delta);
    uint64_t fresh = delta->evaluations > known ? delta->evaluations - known : 0;
    snapshot->rollouts += delta->rollouts;
    snapshot->evaluations += fresh;
    snapshot->cut += delta->cut;
    if (snapshot->phase == SEARCH_POLISH)
        snapshot->polish_evaluations += fresh;
    for (uint32_t i = 0; i < delta->elites.count; i++)
        core_elites_offer(&snapshot->elites, &delta->elites.at[i]);
    for (size_t i = 0; i < delta->gains.count; i++)
        snapshot->gains[delta->gains.at[i].decision] = delta->gains.at[i].gain;
}

/* Keeps the most visited edges, and the nodes that they or a price need. */
static void prune(struct core_snapshot *snapshot)
{
    struct tree *tree = &snapshot->tree;
    if (tree->edges.count <= CORE_SNAPSHOT_EDGES)
        return;
    uint32_t least = 1;
    for (size_t kept = tree->edges.count; kept > CORE_SNAPSHOT_EDGES; least *= 2) {
        kept = 0;
        for (size_t i = 0; i < tree->edges.count; i++)
            kept += tree->edges.at[i].n > least;
    }
    struct tree next = {0};
    for (uint32_t i = 0; i < tree->edges.count; i++) {
        const struct tree_edge *edge = &tree->edges.at[i];
        if (edge->n <= least / 2) {
            snapshot->cut++;
            continue;
        }
        const struct tree_node *from = &tree->nodes.at[edge->node];
        uint32_t node = tree_node(&next, from->state, tree->pool.at + from->list, from->list_count);
        next.nodes.at[node].value = from->value;
        uint32_t at_copy = tree_edge(&next, node, edge->action, edge->child); /* may move the edges */
        struct tree_edge *copy = &next.edges.at[at_copy];
        copy->n = edge->n;
        copy->w = edge->w;
        copy->best = edge->best;
        uint32_t child = tree_find(tree, edge->child);
        if (child != TREE_NONE) {
            const struct tree_node *to = &tree->nodes.at[child];
            node = tree_node(&next, to->state, tree->pool.at + to->list, to->list_count);
            next.nodes.at[node].value = to->value;
        }
    }
    tree_release(tree);
    *tree = next;
}

static void add_curve(struct core_snapshot *snapshot)
{
    const struct core_plan *best = &snapshot->best;
    const struct core_curve *last = &snapshot->curve[snapshot->curve_count - (snapshot->curve_count > 0)];
    if (snapshot->curve_count && last->rollouts == snapshot->rollouts && last->cost.c == best->cost.c &&
        last->cost.over_steps == best->cost.over_steps)
        return;                                /* a round of polish without a gain */
    if (snapshot->curve_count == CORE_CURVE) { /* full: every other point goes */
        for (uint32_t i = 0; i < CORE_CURVE / 2; i++)
            snapshot->curve[i] = snapshot->curve[i * 2];
        snapshot->curve_count = CORE_CURVE / 2;
    }
    snapshot->curve[snapshot->curve_count++] =
        (struct core_curve){snapshot->rollouts, best->cost, best->price.step_ps};
}

static void finish(struct core_snapshot *snapshot, enum core_stop why)
{
    if (snapshot->stop == STOP_NONE)
        snapshot->stop = why;
    snapshot->phase = SEARCH_DONE;
    snapshot->tasks = 0;
}

static void begin_stage(const struct search *search, struct core_snapshot *snapshot)
{
    uint64_t end = snapshot->rollouts + search->next_stage;
    snapshot->stage_end = (uint32_t)(end < search->options.rollouts ? end : search->options.rollouts);
    snapshot->phase = SEARCH_EPOCHS;
    snapshot->idle = snapshot->stage_gained = 0;
}

/* The stage and its local search are over: another one, or the end. */
static void end_stage(const struct search *search, struct core_snapshot *snapshot)
{
    snapshot->barren = snapshot->stage_gained ? 0 : snapshot->barren + 1;
    if (snapshot->rollouts >= search->options.rollouts)
        finish(snapshot, STOP_BUDGET);
    else if (snapshot->barren >= CORE_BARREN_STAGES)
        finish(snapshot, STOP_NO_GAIN);
    else
        begin_stage(search, snapshot);
}

static bool polishes(const struct search *search, const struct core_snapshot *snapshot)
{
    /* what a stage found nothing better than was polished before */
    return core_is_staged(search) && snapshot->polish_evaluations < search->polish_budget &&
           (snapshot->stage_gained || !snapshot->polish_round);
}

/* Only here, at the end of an epoch, does anything stop. */
static void advance(const struct search *search, struct core_snapshot *snapshot, bool gained)
{
    bool climbing = core_climbing(search, snapshot);
    snapshot->epoch++;
    snapshot->stage_gained |= gained;
    if (climbing)
        return;
    if (snapshot->phase == SEARCH_EPOCHS) {
        snapshot->idle = gained ? 0 : snapshot->idle + 1;
        if (snapshot->rollouts < snapshot->stage_end && snapshot->idle < CORE_IDLE_EPOCHS)
            return;
        if (!polishes(search, snapshot)) {
            end_stage(search, snapshot);
            return;
        }
        snapshot->phase = SEARCH_POLISH;
        snapshot->polish_offset = 0;
        return;
    }
    snapshot->polish_round++;
    snapshot->polish_offset = gained ? 0 : snapshot->polish_offset + core_polish_window(search);
    if (snapshot->polish_evaluations >= search->polish_budget ||
        snapshot->polish_offset >= core_polish_candidates(search, &snapshot->elites.at[0]))
        end_stage(search, snapshot);
}

static enum error_code absorb_all(const struct search *search, struct core_snapshot *snapshot,
                                  const struct search_blob *deltas, uint32_t delta_count, struct error *e)
{
    struct core_checked checked = {0};
    for (uint32_t i = 0; i < delta_count; i++) {
        struct core_delta delta;
        enum error_code code = core_delta_read(search, deltas[i].bytes, deltas[i].size, &delta, e);
        if (code)
            return code;
        if (delta.index != i || delta.epoch != snapshot->epoch || delta.phase != snapshot->phase)
            code = error_set(e, ERROR_INVALID_REQUEST, "delta %u is of task %u of epoch %u, not of epoch %u",
                             i, delta.index, delta.epoch, snapshot->epoch);
        if (!code)
            code = core_best_check(search, &delta.elites, &checked, e);
        if (!code)
            absorb(snapshot, &delta);
        core_delta_release(&delta);
        if (code)
            return code;
    }
    /* a later plan of a delta may have given the best one another list */
    return core_best_check(search, &snapshot->elites, &checked, e);
}

enum error_code search_merge(const struct search *search, const void *snapshot, size_t size,
                             const struct search_blob *deltas, uint32_t delta_count, struct search_blob *next,
                             struct error *e)
{
    struct core_snapshot p;
    *next = (struct search_blob){0};
    enum error_code code = core_snapshot_read(search, snapshot, size, &p, e);
    if (code)
        return code;
    if (p.phase == SEARCH_DONE || delta_count != p.tasks)
        code = error_set(e, ERROR_INVALID_REQUEST, "epoch %u has %u tasks, not %u", p.epoch, p.tasks,
                         delta_count);
    struct hash128 before = p.elites.at[0].hash;
    if (!code)
        code = absorb_all(search, &p, deltas, delta_count, e);
    if (!code) {
        advance(search, &p, hash128_compare(before, p.elites.at[0].hash) != 0);
        prune(&p);
        code = core_best_settle(search, &p, e);
    }
    if (!code) {
        add_curve(&p);
        core_snapshot_write(search, &p, next);
    }
    core_snapshot_release(&p);
    return code;
}
