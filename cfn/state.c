/* A point under change. Costs follow the links of what moved: a link between two moved nodes is counted
 * once, from its end of the greater number. Usage follows in one of two ways, whichever is cheaper for the
 * size of the change:
 *
 *   few items    into the tree of maxima (usage.h), at the logarithm of the times each
 *   many items   into the list of steps, then one sweep over all times; the tree is rebuilt when next asked
 *
 * The list of steps is always right; `swept` says that the tree is behind it. One change can be taken back,
 * no more. */
#include "cfn/state.h"

#include <stdlib.h>
#include <string.h>

void cfn_state_create(const struct cfn_model *m, struct cfn_state *s)
{
    *s = (struct cfn_state){.m = m};
    cfn_point_create(m, &s->at);
    cfn_usage_create(&s->usage, m->time_count);
    s->step = mem_zalloc((size_t)m->time_count + 1, sizeof *s->step);
    s->former = mem_zalloc((size_t)m->node_count + 1, sizeof *s->former);
    s->stamp = mem_zalloc((size_t)m->node_count + 1, sizeof *s->stamp);
}

void cfn_state_release(struct cfn_state *s)
{
    cfn_point_release(&s->at);
    cfn_usage_release(&s->usage);
    free(s->step);
    free(s->former);
    free(s->stamp);
}

void cfn_state_load(struct cfn_state *s, const struct cfn_point *p)
{
    cfn_point_copy(s->m, &s->at, p);
    cfn_point_evaluate(s->m, &s->at, s->step);
    for (int32_t t = s->m->time_count; t-- > 0;) {
        s->step[t] -= s->m->base[t];
        if (t + 1 < s->m->time_count)
            s->step[t + 1] -= s->step[t];
    }
    cfn_usage_load(&s->usage, s->m->base, s->step);
    s->swept = false;
}

void cfn_state_sync(struct cfn_state *s)
{
    if (s->swept)
        cfn_usage_load(&s->usage, s->m->base, s->step);
    s->swept = false;
}

/* table entries that they count as */
enum { ARC_WORK = 4, ITEM_WORK = 2, TREE_WORK = 32 };
/* Moving an item in the tree costs about as much as SWEEP times do in a sweep. */
enum { SWEEP = 96 };

static void add(struct cfn_point *p, int64_t after, int64_t before)
{
    p->forbidden += cfn_infinite(after) - cfn_infinite(before);
    p->cost += (cfn_infinite(after) ? 0 : after) - (cfn_infinite(before) ? 0 : before);
}

static void price_node(struct cfn_state *s, int32_t i)
{
    const struct cfn_model *m = s->m;
    int32_t new = s->at.value[i], old = s->former[i];
    add(&s->at, m->unary[m->offset[i] + (size_t)new], m->unary[m->offset[i] + (size_t)old]);
    for (uint32_t k = m->first_arc[i]; k < m->first_arc[i + 1]; k++) {
        const struct cfn_arc *arc = &m->arcs[k];
        bool moved = s->stamp[arc->other] == s->now;
        int32_t there = s->at.value[arc->other], was = moved ? s->former[arc->other] : there;
        if (moved && arc->other > i)
            continue; /* counted from the other end */
        add(&s->at, arc->exact[(size_t)new * arc->own + (size_t)there * arc->step],
            arc->exact[(size_t)old * arc->own + (size_t)was * arc->step]);
    }
    s->work += (m->first_arc[i + 1] - m->first_arc[i]) * ARC_WORK;
}

/* node i's items from one value to another, in s->step and, when `tree`, in s->usage */
static void move_usage(struct cfn_state *s, int32_t i, int32_t from, int32_t to, bool tree)
{
    const struct cfn_model *m = s->m;
    for (uint32_t k = m->first_item[i]; k < m->first_item[i + 1]; k++) {
        const struct cfn_model_item *item = &m->items[k];
        int64_t change = item->use[to] - item->use[from];
        s->step[item->left] += change;
        s->step[item->right] -= change;
        if (tree)
            cfn_usage_add(&s->usage, item->left, item->right, change);
    }
    s->work += (m->first_item[i + 1] - m->first_item[i]) * (uint32_t)(tree ? TREE_WORK : ITEM_WORK);
}

static int64_t excess(const struct cfn_state *s)
{
    return s->m->time_count ? cfn_usage_most(&s->usage) - s->m->limit : INT64_MIN;
}

static int64_t worst_of(const struct cfn_state *s)
{
    int64_t sum = 0, worst = INT64_MIN;
    for (int32_t t = 0; t < s->m->time_count; t++) {
        sum += s->step[t];
        int64_t usage = s->m->base[t] + sum;
        worst = usage > worst ? usage : worst;
    }
    return s->m->time_count ? worst - s->m->limit : INT64_MIN;
}

void cfn_state_commit(struct cfn_state *s, const int32_t *nodes, const int32_t *old, int32_t count)
{
    const struct cfn_model *m = s->m;
    uint32_t items = 0;
    s->before.cost = s->at.cost;
    s->before.worst = s->at.worst;
    s->before.forbidden = s->at.forbidden;
    s->now++;
    for (int32_t k = 0; k < count; k++) {
        s->stamp[nodes[k]] = s->now;
        s->former[nodes[k]] = old[k];
        items += m->first_item[nodes[k] + 1] - m->first_item[nodes[k]];
    }
    bool sweep = items > (uint32_t)m->time_count / SWEEP;
    if (items)
        cfn_state_sync(s);
    for (int32_t k = 0; k < count; k++) {
        price_node(s, nodes[k]);
        move_usage(s, nodes[k], old[k], s->at.value[nodes[k]], !sweep);
    }
    if (!items)
        return;
    s->swept = sweep;
    s->at.worst = sweep ? worst_of(s) : excess(s);
    s->work += sweep ? (uint64_t)m->time_count : 0;
}

void cfn_state_revert(struct cfn_state *s, const int32_t *nodes, const int32_t *old, int32_t count)
{
    bool items = false;
    for (int32_t k = 0; k < count; k++) {
        items = items || s->m->first_item[nodes[k] + 1] > s->m->first_item[nodes[k]];
        move_usage(s, nodes[k], s->at.value[nodes[k]], old[k], !s->swept);
        s->at.value[nodes[k]] = old[k];
    }
    s->swept = s->swept && !items; /* the tree was not touched by a swept commit */
    s->at.cost = s->before.cost;
    s->at.worst = s->before.worst;
    s->at.forbidden = s->before.forbidden;
}

void cfn_state_move(struct cfn_state *s, int32_t node, int32_t value)
{
    int32_t old = s->at.value[node], forbidden;
    cfn_state_sync(s);
    s->at.cost += cfn_point_flip_cost(s->m, &s->at, node, value, &forbidden);
    s->at.forbidden += forbidden;
    s->at.value[node] = value;
    move_usage(s, node, old, value, true);
    s->at.worst = excess(s);
}

bool cfn_state_fits(struct cfn_state *s, int32_t node, int32_t value)
{
    int32_t old = s->at.value[node];
    cfn_state_sync(s);
    move_usage(s, node, old, value, true);
    bool fits = !s->m->time_count || cfn_usage_most(&s->usage) <= s->m->limit;
    move_usage(s, node, value, old, true);
    return fits;
}
