#include "cfn/repair.h"

enum { MAX_FLIPS = 400, MAX_PASSES = 4 };

static int64_t use_at(const struct cfn_model *m, int32_t i, int32_t a, int32_t t)
{
    int64_t use = 0;
    for (uint32_t k = m->first_item[i]; k < m->first_item[i + 1]; k++)
        if (m->items[k].left <= t && t < m->items[k].right)
            use += m->items[k].use[a];
    return use;
}

static void flip(struct cfn_state *s, int32_t node, int32_t a)
{
    int32_t old = s->at.value[node];
    s->at.value[node] = a;
    cfn_state_commit(s, &node, &old, 1);
}

static bool covers(const struct cfn_model *m, int32_t i, int32_t t)
{
    for (uint32_t k = m->first_item[i]; k < m->first_item[i + 1]; k++)
        if (m->items[k].left <= t && t < m->items[k].right)
            return true;
    return false;
}

/* the flip of least cost per unit taken off time t; false when there is none */
static bool best_relief(struct cfn_state *s, int32_t t, int64_t excess, int32_t *node, int32_t *value)
{
    const struct cfn_model *m = s->m;
    double best = 0;
    bool found = false;
    for (int32_t i = 0; i < m->node_count; i++) {
        if (!covers(m, i, t))
            continue;
        int64_t now = use_at(m, i, s->at.value[i], t);
        for (int32_t a = 0; a < m->size[i]; a++) {
            int64_t less = now - use_at(m, i, a, t);
            int32_t forbidden;
            if (less <= 0)
                continue;
            s->work += 8 * (m->first_arc[i + 1] - m->first_arc[i]);
            double score = (double)cfn_point_flip_cost(m, &s->at, i, a, &forbidden) /
                           (double)(less < excess ? less : excess);
            if (forbidden > 0 || (found && score >= best))
                continue;
            found = true;
            best = score;
            *node = i;
            *value = a;
        }
    }
    s->work += m->first_item[m->node_count];
    return found;
}

bool cfn_repair(struct cfn_state *s, int64_t *profile)
{
    const struct cfn_model *m = s->m;
    for (int flips = 0; s->at.worst > 0; flips++) {
        int32_t t = 0, node = 0, value = 0;
        cfn_state_profile(s, profile);
        for (int32_t k = 1; k < m->time_count; k++)
            t = profile[k] > profile[t] ? k : t;
        if (flips == MAX_FLIPS || !best_relief(s, t, profile[t] - m->limit, &node, &value))
            return false;
        flip(s, node, value);
    }
    return true;
}

static bool improve_node(struct cfn_state *s, int32_t i)
{
    const struct cfn_model *m = s->m;
    int64_t best = 0;
    int32_t value = -1;
    for (int32_t a = 0; a < m->size[i]; a++) {
        int32_t forbidden, old = s->at.value[i];
        if (a == old)
            continue;
        int64_t change = cfn_point_flip_cost(m, &s->at, i, a, &forbidden);
        if (change >= best || forbidden > 0)
            continue;
        flip(s, i, a); /* does it fit? */
        if (s->at.worst <= 0) {
            best = change;
            value = a;
        }
        cfn_state_revert(s, &i, &old, 1);
    }
    s->work += (uint64_t)m->size[i] * (m->first_arc[i + 1] - m->first_arc[i]);
    if (value >= 0)
        flip(s, i, value);
    return value >= 0;
}

void cfn_polish(struct cfn_state *s)
{
    bool any = true;
    for (int pass = 0; pass < MAX_PASSES && any; pass++) {
        any = false;
        for (int32_t i = 0; i < s->m->node_count; i++)
            any = improve_node(s, i) || any;
    }
}
