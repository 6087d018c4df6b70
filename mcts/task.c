/* One task: a pure function of search, snapshot and index, whoever runs it. It works on its own copy of the
 * tree and hands back what it added: the delta. */
#include "mcts/core.h"

#include <stdlib.h>

uint64_t core_task_rollouts(const struct search *search, const struct core_snapshot *snapshot, uint32_t index)
{
    if (snapshot->phase != SEARCH_EPOCHS || snapshot->rollouts >= snapshot->stage_end)
        return 0;
    uint64_t left = snapshot->stage_end - snapshot->rollouts;
    uint32_t age = snapshot->epoch - search->climb_rounds;
    uint64_t each = (uint64_t)search->first_rollouts << (age < 5 ? age : 5);
    if (search->options.method != SEARCH_MCTS && search->options.method != SEARCH_PER_ACTION)
        each = left; /* one task does it all */
    if (each * snapshot->tasks <= left)
        return each;
    return left / snapshot->tasks + (index < left % snapshot->tasks); /* a stage's last epoch is cut */
}

/* ---- the delta ---- */

struct candidate {
    uint32_t edge, n;
    uint64_t state;
    uint32_t action;
};

static int by_visits(const void *left, const void *right)
{
    const struct candidate *candidate = left, *other_candidate = right;
    if (candidate->n != other_candidate->n)
        return candidate->n > other_candidate->n ? -1 : 1;
    if (candidate->state != other_candidate->state)
        return candidate->state < other_candidate->state ? -1 : 1;
    return candidate->action < other_candidate->action ? -1 : candidate->action > other_candidate->action;
}

static void add_node(struct core_delta *delta, struct tree *tree, uint32_t node)
{
    struct tree_node *n = &tree->nodes.at[node];
    if (!n->fresh)
        return;
    n->fresh = 0;
    struct core_delta_node out = {.state = n->state, .value = n->value};
    tree_node_list(tree, node, &out.list);
    VEC_PUSH(&delta->nodes, out);
}

static void collect_edges(struct core_delta *delta, struct tree *tree)
{
    VEC(struct candidate) found = {0};
    for (uint32_t i = 0; i < tree->edges.count; i++) {
        const struct tree_edge *edge = &tree->edges.at[i];
        if (edge->n == edge->base_n && !edge->fresh)
            continue;
        struct candidate candidate = {i, edge->n - edge->base_n, tree->nodes.at[edge->node].state,
                                      edge->action};
        VEC_PUSH(&found, candidate);
    }
    if (found.count)
        qsort(found.at, found.count, sizeof *found.at, by_visits);
    for (size_t i = 0; i < found.count; i++) {
        if (i >= CORE_DELTA_EDGES) {
            delta->cut += found.count - i;
            break;
        }
        const struct tree_edge *edge = &tree->edges.at[found.at[i].edge];
        struct core_delta_edge out = {.state = found.at[i].state,
                                      .child = edge->child,
                                      .dw = edge->w - edge->base_w,
                                      .action = edge->action,
                                      .dn = edge->n - edge->base_n,
                                      .best = edge->n ? edge->best : 0};
        VEC_PUSH(&delta->edges, out);
        add_node(delta, tree, edge->node);
        uint32_t child = tree_find(tree, edge->child);
        if (child != TREE_NONE)
            add_node(delta, tree, child);
    }
    VEC_FREE(&found);
}

static void collect(struct core_task *task, struct core_delta *delta)
{
    struct tree *tree = &task->snapshot->tree;
    *delta = (struct core_delta){.epoch = task->snapshot->epoch,
                                 .phase = task->snapshot->phase,
                                 .index = task->index,
                                 .rollouts = task->rollouts,
                                 .evaluations = task->evaluations,
                                 .elites = task->snapshot->elites,
                                 .polish_tried = task->polish_tried};
    for (size_t i = 0; i < task->gains.count; i++)
        VEC_PUSH(&delta->gains, task->gains.at[i]);
    collect_edges(delta, tree);
    /* plans that were priced and hang on no edge sent: walkers', polish's; oldest first */
    uint32_t values = 0;
    for (uint32_t i = 0; i < tree->nodes.count; i++) {
        if (!tree->nodes.at[i].fresh || tree->nodes.at[i].value == TREE_UNKNOWN)
            continue;
        if (values++ < CORE_DELTA_VALUES)
            add_node(delta, tree, i);
        else
            delta->cut++;
    }
}

static enum error_code run(struct core_task *task, struct error *e)
{
    if (task->snapshot->phase == SEARCH_POLISH)
        return core_polish(task, e);
    if (core_climbing(task->search, task->snapshot))
        return core_climbs(task, e);
    task->quota = core_task_rollouts(task->search, task->snapshot, task->index);
    switch ((enum search_method)task->search->options.method) {
    case SEARCH_MCTS:
    case SEARCH_PER_ACTION: return core_rollouts(task, e);
    case SEARCH_RANDOM: return core_random(task, e);
    case SEARCH_GREEDY: return core_greedy(task, e);
    case SEARCH_BASELINES:
    case SEARCH_START: break; /* done from the beginning */
    }
    return error_set(e, ERROR_INTERNAL, "method %u has no tasks", task->search->options.method);
}

enum error_code search_task(const struct search *search, const void *snapshot, size_t size, uint32_t index,
                            struct evaluator_session *session, const struct search_control *control,
                            struct search_blob *delta, struct error *e)
{
    struct core_snapshot p;
    *delta = (struct search_blob){0};
    enum error_code code = core_snapshot_read(search, snapshot, size, &p, e);
    if (code)
        return code;
    if (p.phase == SEARCH_DONE || index >= p.tasks) {
        code = error_set(e, ERROR_INVALID_REQUEST, "there is no task %u in epoch %u", index, p.epoch);
        core_snapshot_release(&p);
        return code;
    }
    if (search->tuning.apart && p.phase == SEARCH_EPOCHS)
        core_snapshot_reset(search, &p);
    uint32_t actions = core_action_count(search);
    struct core_task task = {
        .search = search,
        .snapshot = &p,
        .control = control,
        .index = index,
        .rng = {hash_combine(hash_combine(hash_combine(search->options.seed, p.epoch), p.phase), index)}};
    task.session = search->domain->session_create(search->domain, session);
    task.prior = mem_zalloc(actions, sizeof *task.prior);
    task.order = mem_zalloc(actions, sizeof *task.order);
    task.mark = mem_zalloc(actions, sizeof *task.mark);
    code = run(&task, e);
    if (!code) {
        struct core_delta core_delta;
        collect(&task, &core_delta);
        core_delta_write(search, &core_delta, delta);
        core_delta_release(&core_delta);
    }
    search->domain->session_destroy(task.session);
    VEC_FREE(&task.gains);
    free(task.prior);
    free(task.order);
    free(task.mark);
    core_snapshot_release(&p);
    return code;
}
