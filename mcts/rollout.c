/* One rollout: a trajectory from a start to a plan that is priced, and what it tells every edge on its
 * way.
 *
 * Two kinds. *Trajectories* start at the root or a baseline and walk down the tree by PUCT; the first new
 * plan is where they end, or where a short playout begins. *Walkers* start at one of the best plans known
 * and change its ordered list (insert anywhere, delete, move, replace): order is priority, and a change in
 * the middle of a list is out of reach of the tree's two places. Whatever either prices becomes a node
 * that the other can use.
 *
 *   root --a--> node --b--> node --c--> new plan: priced        back_up: the reward goes to c, b, a, and to
 *                |  \                                            the stop edge of the node where it ended
 *               stop  d (its own record)
 *
 * A task reads no clock and draws only from its own generator, so that its rollouts depend on the snapshot,
 * its index and the seed alone. */
#include "mcts/core.h"

enum {
    MAX_PATH = SEARCH_MAX_LIST + 2,
    DRAWS = 8, /* by prior, of an action that was not tried, before the list is gone through in order */
    PLAYOUT_ACTIONS = 4, /* of one playout at most */
    MORE_MOVES = 3       /* a walker's step makes a further change with a chance of one in three */
}; /* chosen, not tuned */
static const double quarter = 0.25; /* unit of tuning.explore and tuning.widen */

struct path {
    uint32_t edges[MAX_PATH], count;
};

static void visit(struct core_task *task, uint32_t edge, int32_t r)
{
    struct tree_edge *tree_edge = &task->snapshot->tree.edges.at[edge];
    tree_edge->n++;
    tree_edge->w += r;
    if (r > tree_edge->best)
        tree_edge->best = r;
}

/* what a decision more costs a trajectory (the paper, section 4.1: short ones are easier to learn from) */
static int32_t depth_reward(const struct core_task *task)
{
    return task->search->tuning.any_length ? 0 : REWARD_DEPTH;
}

/* The trajectory ends at node, whose value is known. */
static void back_up(struct core_task *task, const struct path *path, uint32_t node)
{
    struct tree *tree = &task->snapshot->tree;
    const struct tree_node *n = &tree->nodes.at[node];
    int32_t r = n->value - n->list_count * depth_reward(task);
    visit(task, tree_edge(tree, node, TREE_STOP, n->state), r);
    for (uint32_t i = 0; i < path->count; i++)
        visit(task, path->edges[i], r);
    task->rollouts++;
}

static double quality(const struct core_task *task, const struct tree_edge *edge)
{
    if (task->search->tuning.mean_only)
        return (double)edge->w / edge->n;
    return 0.5 * ((double)edge->w / edge->n) + 0.5 * edge->best;
}

/* Range of the qualities of a node's edges, for putting them on a scale of 0 to 1 whatever the depth: the
 * reward's scale is that of the whole search, and the last percent is a thousandth of it. */
struct range {
    double low, high, visits;
    uint32_t tried; /* actions with an effect, without stop */
};

/* marks the actions that have an edge */
static struct range range_of(struct core_task *task, uint32_t node)
{
    const struct tree *tree = &task->snapshot->tree;
    struct range range = {0, 0, 0, 0};
    task->stamp++;
    for (uint32_t i = tree->nodes.at[node].edges; i != TREE_NONE; i = tree->edges.at[i].next) {
        const struct tree_edge *edge = &tree->edges.at[i];
        if (edge->action != TREE_STOP) {
            task->mark[edge->action] = task->stamp;
            range.tried += edge->child != tree->nodes.at[node].state;
        }
        if (!edge->n)
            continue;
        double q = quality(task, edge);
        range.low = range.visits == 0 || q < range.low ? q : range.low;
        range.high = range.visits == 0 || q > range.high ? q : range.high;
        range.visits += edge->n;
    }
    if (range.high - range.low < REWARD_DEPTH)
        range.low = range.high - REWARD_DEPTH;
    return range;
}

static bool may_try(const struct core_task *task, uint32_t action)
{
    return task->mark[action] != task->stamp && !(task->search->tuning.last_only && action % 2 == TREE_FIRST);
}

/* An action without an edge: drawn by prior, else the first in order. False: all were tried. */
static bool draw_untried(struct core_task *task, uint32_t *action)
{
    for (uint32_t i = 0; i < DRAWS; i++) {
        *action = core_prior_draw(task);
        if (may_try(task, *action))
            return true;
    }
    for (uint32_t i = 0; i < core_action_count(task->search); i++) {
        *action = task->order[i];
        if (may_try(task, *action))
            return true;
    }
    return false;
}

/* A node widens with the square root of its visits; else the edge of highest Q + U is taken. The prior of
 * U is relative to the mean over all actions, shared by the edges there are. The stop edge exists from the
 * node's first pricing on and competes by its own record. False: nowhere to go. */
static bool select_action(struct core_task *task, uint32_t node, uint32_t *action, uint32_t *edge)
{
    const struct tree *tree = &task->snapshot->tree;
    struct range range = range_of(task, node);
    double root = __builtin_sqrt(range.visits + 1), best = -1;
    *edge = TREE_NONE;
    if (tree->nodes.at[node].list_count < SEARCH_MAX_DEPTH &&
        range.tried < quarter * task->search->tuning.widen * root && draw_untried(task, action))
        return true;
    double reach = root * quarter * task->search->tuning.explore / (range.tried + 1);
    for (uint32_t i = tree->nodes.at[node].edges; i != TREE_NONE; i = tree->edges.at[i].next) {
        const struct tree_edge *tree_edge = &tree->edges.at[i];
        if (tree_edge->child == tree->nodes.at[node].state && tree_edge->action != TREE_STOP)
            continue; /* without effect */
        double q = tree_edge->n ? (quality(task, tree_edge) - range.low) / (range.high - range.low) : 0.5;
        double prior = tree_edge->action == TREE_STOP
                           ? 1
                           : task->prior[tree_edge->action] * core_action_count(task->search);
        double score = q + prior * reach / (1 + tree_edge->n);
        if (*edge == TREE_NONE || score > best || (score == best && tree_edge->action < *action)) {
            best = score;
            *action = tree_edge->action;
            *edge = i;
        }
    }
    return *edge != TREE_NONE;
}

/* From a plan that nobody had seen: a few further actions by prior, then a price. */
static enum error_code play_out(struct core_task *task, struct search_list *list, struct hash128 *hash)
{
    for (uint32_t tries = 0;
         tries < PLAYOUT_ACTIONS && rng_below(&task->rng, TUNING_SIXTEENTHS) < task->search->tuning.playout;
         tries++) {
        struct search_list next = *list;
        struct hash128 next_hash;
        if (!core_list_act(&next, core_prior_draw(task)))
            break;
        task->search->domain->replay(task->session, &next, &next_hash);
        *list = next;
        *hash = next_hash;
    }
    return ERROR_OK;
}

/* Takes an action nobody took here. *node = the child; *ended = the trajectory ends there (it is priced). */
static enum error_code expand(struct core_task *task, struct path *path, uint32_t *node, uint32_t action,
                              bool *ended, struct error *e)
{
    struct tree *tree = &task->snapshot->tree;
    struct search_list list;
    struct hash128 hash;
    tree_node_list(tree, *node, &list);
    *ended = false;
    if (core_list_act(&list, action))
        task->search->domain->replay(task->session, &list, &hash);
    else
        hash = (struct hash128){0, tree->nodes.at[*node].state}; /* no room */
    uint32_t edge = tree_edge(tree, *node, action, tree_state(hash));
    if (tree_state(hash) == tree->nodes.at[*node].state)
        return ERROR_OK; /* without effect: never selected again */
    path->edges[path->count++] = edge;
    uint32_t child = tree_find(tree, tree_state(hash));
    if (child != TREE_NONE && tree->nodes.at[child].value != TREE_UNKNOWN) {
        *node =
            tree_node(tree, tree_state(hash), list.at, list.count); /* a transposition: go on from there */
        return ERROR_OK;
    }
    *node = tree_node(tree, tree_state(hash), list.at, list.count);
    enum error_code code = play_out(task, &list, &hash);
    *ended = true;
    return code ? code : core_task_value(task, &list, hash, FOUND_MCTS, node, e);
}

static enum error_code trajectory(struct core_task *task, uint32_t node, struct error *e)
{
    struct path path = {.count = 0};
    bool ended = false;
    while (!ended && path.count < MAX_PATH - 1) {
        uint32_t action = TREE_STOP, edge;
        if (!select_action(task, node, &action, &edge) || action == TREE_STOP)
            break;
        if (edge == TREE_NONE) {
            enum error_code code = expand(task, &path, &node, action, &ended, e);
            if (code)
                return code;
            continue;
        }
        struct tree *tree = &task->snapshot->tree;
        uint32_t child = tree_find(tree, tree->edges.at[edge].child);
        path.edges[path.count++] = edge;
        if (child == TREE_NONE) { /* its list was cut from a delta: make it again */
            struct search_list list;
            struct hash128 hash;
            tree_node_list(tree, node, &list);
            if (!core_list_act(&list, action))
                break;
            task->search->domain->replay(task->session, &list, &hash);
            tree->edges.at[edge].child = tree_state(hash);
            child = tree_node(tree, tree_state(hash), list.at, list.count);
        }
        node = child;
    }
    if (!ended) { /* ended by stop, depth or a known plan: priced already in most cases */
        struct search_list list;
        struct hash128 hash;
        tree_node_list(&task->snapshot->tree, node, &list);
        if (task->snapshot->tree.nodes.at[node].value == TREE_UNKNOWN) {
            task->search->domain->replay(task->session, &list, &hash);
            enum error_code code = core_task_value(task, &list, hash, FOUND_MCTS, &node, e);
            if (code)
                return code;
        }
    }
    back_up(task, &path, node);
    return ERROR_OK;
}

/* ---- walkers ---- */

struct walker {
    struct search_list list;
    int32_t value;
    int32_t slack; /* how much worse a step may be */
};

static uint16_t draw_decision(struct core_task *task)
{
    if (rng_below(&task->rng, 2))
        return (uint16_t)(core_prior_draw(task) / 2);
    return (uint16_t)rng_below(&task->rng, task->search->domain->decision_count);
}

/* of eight moves three insert, one deletes, two move, two replace; chosen, not tuned */
static bool random_move(struct core_task *task, struct search_list *list)
{
    uint64_t kind = rng_below(&task->rng, 8);
    uint32_t n = list->count;
    if (n == 0 || kind < 3)
        return core_list_insert(list, (uint32_t)rng_below(&task->rng, n + 1), draw_decision(task));
    if (kind < 4)
        return core_list_delete(list, (uint32_t)rng_below(&task->rng, n));
    if (kind < 6)
        return core_list_move(list, (uint32_t)rng_below(&task->rng, n), (uint32_t)rng_below(&task->rng, n));
    return core_list_replace(list, (uint32_t)rng_below(&task->rng, n), draw_decision(task));
}

/* Where walks begin: the best plans, or the empty list and the baselines, from where other hills are in
 * reach. Steps may lose 0, 0.5, 2 or 5 % of C (log2(1.01) / log2(2 x 64) is about 10 REWARD_DEPTH). */
static void walker_start(struct core_task *task, struct walker *walker)
{
    const struct search *search = task->search;
    const struct core_elites *elites = &task->snapshot->elites;
    uint64_t a = rng_below(&task->rng, elites->count), b = rng_below(&task->rng, elites->count);
    const struct core_plan *from = &elites->at[a < b ? a : b];
    uint32_t baselines = search->options.no_baselines ? 0 : search->domain->baseline_count;
    if (rng_below(&task->rng, TUNING_EIGHTHS) < search->tuning.strangers)
        from = baselines && rng_below(&task->rng, 2) ? &search->baselines[rng_below(&task->rng, baselines)]
                                                     : &search->root;
    static const int32_t slacks[] = {0, 5 * REWARD_DEPTH, 20 * REWARD_DEPTH, 50 * REWARD_DEPTH};
    walker->list = from->list;
    walker->value = core_reward(search, from->cost) - (int32_t)from->list.count * depth_reward(task);
    walker->slack = slacks[rng_below(&task->rng, search->tuning.slacks)];
}

static enum error_code walk(struct core_task *task, struct walker *walker, struct error *e)
{
    struct search_list list = walker->list;
    struct hash128 hash;
    uint32_t node, moved = 0;
    do
        moved += random_move(task, &list);
    while (!moved || rng_below(&task->rng, MORE_MOVES) == 0);
    task->search->domain->replay(task->session, &list, &hash);
    enum error_code code = core_task_value(task, &list, hash, FOUND_MCTS, &node, e);
    if (code)
        return code;
    int32_t value = task->snapshot->tree.nodes.at[node].value - (int32_t)list.count * depth_reward(task);
    if (value >= walker->value - walker->slack) {
        walker->value = value;
        walker->list = list;
    }
    back_up(task, &(struct path){.count = 0}, node);
    return ERROR_OK;
}

/* ---- a task's rollouts ---- */

/* One-step gains at the root that nobody has yet: the task's share, by index. */
static enum error_code first_steps(struct core_task *task, struct error *e)
{
    uint32_t unknown = 0;
    for (uint32_t i = 0; i < task->search->domain->decision_count && task->rollouts < task->quota; i++) {
        if (task->snapshot->gains[i] != TREE_UNKNOWN || unknown++ % task->snapshot->tasks != task->index)
            continue;
        struct search_list list = {1, {(uint16_t)i}};
        struct hash128 hash;
        task->search->domain->replay(task->session, &list, &hash);
        uint32_t node;
        enum error_code code = core_task_check(task, e);
        if (!code)
            code = core_task_value(task, &list, hash, FOUND_MCTS, &node, e);
        if (code)
            return code;
        struct tree *tree = &task->snapshot->tree;
        struct core_gain gain = {(uint16_t)i,
                                 tree->nodes.at[node].value - task->search->root_reward - REWARD_DEPTH};
        VEC_PUSH(&task->gains, gain);
        uint32_t root = tree_find(tree, tree_state(task->search->root.hash));
        struct path path = {.count = 0};
        if (root != TREE_NONE && root != node) {
            path.edges[path.count++] = tree_edge(tree, root, i * 2 + TREE_LAST, tree_state(hash));
        }
        back_up(task, &path, node);
    }
    for (size_t i = 0; i < task->gains.count; i++)
        task->snapshot->gains[task->gains.at[i].decision] = task->gains.at[i].gain;
    return ERROR_OK;
}

enum error_code core_rollouts(struct core_task *task, struct error *e)
{
    enum error_code code = first_steps(task, e);
    core_prior_fill(task);
    struct walker walker;
    walker_start(task, &walker);
    const struct search *search = task->search;
    uint32_t baselines = search->options.no_baselines ? 0 : search->domain->baseline_count;
    while (!code && task->rollouts < task->quota) {
        code = core_task_check(task, e);
        if (code)
            break;
        uint64_t kind = rng_below(&task->rng, TUNING_EIGHTHS);
        if (kind < search->tuning.walkers && search->domain->decision_count) {
            if (rng_below(&task->rng, search->tuning.walk_length) == 0)
                walker_start(task, &walker);
            code = walk(task, &walker, e);
            continue;
        }
        const struct core_plan *start = &search->root;
        if (baselines && rng_below(&task->rng, 2))
            start = &search->baselines[rng_below(&task->rng, baselines)];
        uint32_t node =
            tree_node(&task->snapshot->tree, tree_state(start->hash), start->list.at, start->list.count);
        if (task->snapshot->tree.nodes.at[node].value == TREE_UNKNOWN)
            task->snapshot->tree.nodes.at[node].value = core_reward(search, start->cost);
        code = trajectory(task, node, e);
    }
    return code;
}
