#include "cfn/state.h"

#include <stdlib.h>
#include <string.h>

void cfn_state_create(const struct cfn_model *m, struct cfn_state *s)
{
    *s = (struct cfn_state){.m = m};
    cfn_point_create(m, &s->at);
    s->step = mem_zalloc((size_t)m->time_count + 1, sizeof *s->step);
    s->former = mem_zalloc((size_t)m->node_count + 1, sizeof *s->former);
    s->stamp = mem_zalloc((size_t)m->node_count + 1, sizeof *s->stamp);
}

void cfn_state_release(struct cfn_state *s)
{
    cfn_point_release(&s->at);
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
}

static void add(struct cfn_point *p, int64_t after, int64_t before)
{
    p->forbidden += cfn_infinite(after) - cfn_infinite(before);
    p->cost += (cfn_infinite(after) ? 0 : after) - (cfn_infinite(before) ? 0 : before);
}

static void price_node(struct cfn_state *s, int32_t i)
{
    const struct cfn_model *m = s->m;
    int32_t new = s->at.value[i], old = s->former[i];
    add(&s->at, m->unary[m->offset[i] + (size_t) new], m->unary[m->offset[i] + (size_t)old]);
    for (uint32_t k = m->first_arc[i]; k < m->first_arc[i + 1]; k++) {
        const struct cfn_arc *arc = &m->arcs[k];
        bool moved = s->stamp[arc->other] == s->now;
        int32_t there = s->at.value[arc->other], was = moved ? s->former[arc->other] : there;
        if (moved && arc->other > i)
            continue; /* counted from the other end */
        add(&s->at, arc->exact[(size_t) new * arc->own + (size_t)there * arc->step],
            arc->exact[(size_t)old * arc->own + (size_t)was * arc->step]);
    }
    s->work += (m->first_arc[i + 1] - m->first_arc[i]) * 4;
}

/* moves node i's items from one value to another; true when usage changed */
static bool move_usage(struct cfn_state *s, int32_t i, int32_t from, int32_t to)
{
    const struct cfn_model *m = s->m;
    bool any = false;
    for (uint32_t k = m->first_item[i]; k < m->first_item[i + 1]; k++) {
        int64_t change = m->items[k].use[to] - m->items[k].use[from];
        s->step[m->items[k].left] += change;
        s->step[m->items[k].right] -= change;
        any = any || change;
    }
    return any;
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
    bool moved = false;
    s->before.cost = s->at.cost;
    s->before.worst = s->at.worst;
    s->before.forbidden = s->at.forbidden;
    s->now++;
    for (int32_t k = 0; k < count; k++) {
        s->stamp[nodes[k]] = s->now;
        s->former[nodes[k]] = old[k];
    }
    for (int32_t k = 0; k < count; k++) {
        price_node(s, nodes[k]);
        moved = move_usage(s, nodes[k], old[k], s->at.value[nodes[k]]) || moved;
    }
    if (moved) {
        s->at.worst = worst_of(s);
        s->work += (uint64_t)s->m->time_count;
    }
}

void cfn_state_revert(struct cfn_state *s, const int32_t *nodes, const int32_t *old, int32_t count)
{
    for (int32_t k = 0; k < count; k++) {
        move_usage(s, nodes[k], s->at.value[nodes[k]], old[k]);
        s->at.value[nodes[k]] = old[k];
    }
    s->at.cost = s->before.cost;
    s->at.worst = s->before.worst;
    s->at.forbidden = s->before.forbidden;
}

void cfn_state_profile(const struct cfn_state *s, int64_t *out)
{
    int64_t sum = 0;
    for (int32_t t = 0; t < s->m->time_count; t++) {
        sum += s->step[t];
        out[t] = s->m->base[t] + sum;
    }
}
