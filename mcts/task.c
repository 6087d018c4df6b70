/* One task: a pure function of search, snapshot and index, whoever runs it. It works on its own copy of the
 * tree and hands back what it added: the delta. */
#include "mcts/core.h"

#include <stdlib.h>

uint64_t core_task_rollouts(const struct search *s, const struct core_snapshot *p, uint32_t index)
{
    if (p->phase != SEARCH_EPOCHS || p->rollouts >= s->options.rollouts)
        return 0;
    uint64_t left = s->options.rollouts - p->rollouts;
    uint64_t each = (uint64_t)s->first_rollouts << (p->epoch < 5 ? p->epoch : 5);
    if (s->options.method != SEARCH_MCTS && s->options.method != SEARCH_PER_ACTION)
        each = left; /* one task does it all */
    if (each * p->tasks <= left)
        return each;
    return left / p->tasks + (index < left % p->tasks); /* the last epoch is cut */
}

/* ---- the delta ---- */

struct candidate {
    uint32_t edge, n;
    uint64_t state;
    uint32_t action;
};

static int by_visits(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    return x->action < y->action ? -1 : x->action > y->action;
}

static void add_node(struct core_delta *d, struct tree *tree, uint32_t node)
{
    struct tree_node *n = &tree->nodes.at[node];
    if (!n->fresh)
        return;
    n->fresh = 0;
    struct core_delta_node out = {.state = n->state, .value = n->value};
    tree_node_list(tree, node, &out.list);
    VEC_PUSH(&d->nodes, out);
}

static void collect_edges(struct core_delta *d, struct tree *tree)
{
    VEC(struct candidate) found = {0};
    for (uint32_t i = 0; i < tree->edges.count; i++) {
        const struct tree_edge *x = &tree->edges.at[i];
        if (x->n == x->base_n && !x->fresh)
            continue;
        struct candidate c = {i, x->n - x->base_n, tree->nodes.at[x->node].state, x->action};
        VEC_PUSH(&found, c);
    }
    if (found.count)
        qsort(found.at, found.count, sizeof *found.at, by_visits);
    for (size_t i = 0; i < found.count; i++) {
        if (i >= CORE_DELTA_EDGES) {
            d->cut += found.count - i;
            break;
        }
        const struct tree_edge *x = &tree->edges.at[found.at[i].edge];
        struct core_delta_edge out = {.state = found.at[i].state,
                                      .child = x->child,
                                      .dw = x->w - x->base_w,
                                      .action = x->action,
                                      .dn = x->n - x->base_n,
                                      .best = x->n ? x->best : 0};
        VEC_PUSH(&d->edges, out);
        add_node(d, tree, x->node);
        uint32_t child = tree_find(tree, x->child);
        if (child != TREE_NONE)
            add_node(d, tree, child);
    }
    VEC_FREE(&found);
}

static void collect(struct core_task *t, struct core_delta *d)
{
    struct tree *tree = &t->p->tree;
    *d = (struct core_delta){.epoch = t->p->epoch,
                             .phase = t->p->phase,
                             .index = t->index,
                             .rollouts = t->rollouts,
                             .evaluations = t->evaluations,
                             .elites = t->p->elites,
                             .polish_tried = t->polish_tried};
    for (size_t i = 0; i < t->gains.count; i++)
        VEC_PUSH(&d->gains, t->gains.at[i]);
    collect_edges(d, tree);
    /* plans that were priced and hang on no edge sent: walkers', polish's; oldest first */
    uint32_t values = 0;
    for (uint32_t i = 0; i < tree->nodes.count; i++) {
        if (!tree->nodes.at[i].fresh || tree->nodes.at[i].value == TREE_UNKNOWN)
            continue;
        if (values++ < CORE_DELTA_VALUES)
            add_node(d, tree, i);
        else
            d->cut++;
    }
}

static enum error_code run(struct core_task *t, struct error *e)
{
    if (t->p->phase == SEARCH_POLISH)
        return core_polish(t, e);
    t->quota = core_task_rollouts(t->s, t->p, t->index);
    switch ((enum search_method)t->s->options.method) {
    case SEARCH_MCTS:
    case SEARCH_PER_ACTION: return core_rollouts(t, e);
    case SEARCH_RANDOM: return core_random(t, e);
    case SEARCH_GREEDY: return core_greedy(t, e);
    case SEARCH_BASELINES:
    case SEARCH_START: break; /* done from the beginning */
    }
    return error_set(e, ERROR_INTERNAL, "method %u has no tasks", t->s->options.method);
}

enum error_code search_task(const struct search *s, const void *snapshot, size_t size, uint32_t index,
                            struct evaluator_session *session, const struct search_control *control,
                            struct search_blob *delta, struct error *e)
{
    struct core_snapshot p;
    *delta = (struct search_blob){0};
    enum error_code code = core_snapshot_read(s, snapshot, size, &p, e);
    if (code)
        return code;
    if (p.phase == SEARCH_DONE || index >= p.tasks) {
        code = error_set(e, ERROR_INVALID_REQUEST, "there is no task %u in epoch %u", index, p.epoch);
        core_snapshot_release(&p);
        return code;
    }
    if (s->tuning.apart && p.phase == SEARCH_EPOCHS)
        core_snapshot_reset(s, &p);
    uint32_t actions = core_action_count(s);
    struct core_task t = {
        .s = s,
        .p = &p,
        .control = control,
        .index = index,
        .rng = {hash_combine(hash_combine(hash_combine(s->options.seed, p.epoch), p.phase), index)}};
    t.session = s->domain->session_create(s->domain, session);
    t.prior = mem_zalloc(actions, sizeof *t.prior);
    t.order = mem_zalloc(actions, sizeof *t.order);
    t.mark = mem_zalloc(actions, sizeof *t.mark);
    code = run(&t, e);
    if (!code) {
        struct core_delta d;
        collect(&t, &d);
        core_delta_write(s, &d, delta);
        core_delta_release(&d);
    }
    s->domain->session_destroy(t.session);
    VEC_FREE(&t.gains);
    free(t.prior);
    free(t.order);
    free(t.mark);
    core_snapshot_release(&p);
    return code;
}
