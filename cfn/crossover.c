/* Partition crossover (D. Whitley, D. Hains, A. Howe, "Tunneling between optima", GECCO 2009, there for
 * tours). Where two points differ, the difference falls into parts that no link joins:
 *
 *   node   0 1 2 3 4 5 6
 *   x      0 0 1 2 2 1 0
 *   y      0 0 2 1 2 0 0
 *              * *   *      parts {2, 3} and {5}, where 2 and 3 are linked and 5 to neither
 *
 * Apart from usage a part changes the cost by the same amount whichever other parts are taken, so each is
 * decided by itself: tried in random order, kept when cost and priced violation fall together. Usage couples
 * parts; what exceeds the limit in the end is repaired. Never ends dearer than x by the state's own price,
 * and never records an infeasible point. */
#include "cfn/crossover.h"

#include "cfn/repair.h"

#include <stdlib.h>

/* the part of the difference around `start` into w->ball */
static int32_t part_of(struct cfn_worker *w, const struct cfn_point *y, int32_t start)
{
    const struct cfn_model *m = w->m;
    const int32_t *x = w->state.at.value;
    int32_t count = 0;
    w->seen[start] = w->seen_now;
    w->ball[count++] = start;
    for (int32_t at = 0; at < count; at++)
        for (uint32_t k = m->first_arc[w->ball[at]]; k < m->first_arc[w->ball[at] + 1]; k++) {
            int32_t other = m->arcs[k].other;
            if (w->seen[other] == w->seen_now || x[other] == y->value[other])
                continue;
            w->seen[other] = w->seen_now;
            w->ball[count++] = other;
        }
    return count;
}

static void try_part(struct cfn_worker *w, const struct cfn_point *y, int32_t count)
{
    struct cfn_state *s = &w->state;
    double before = (double)s->at.cost + (s->at.worst > 0 ? w->rho * (double)s->at.worst : 0);
    for (int32_t k = 0; k < count; k++) {
        w->old[k] = s->at.value[w->ball[k]];
        s->at.value[w->ball[k]] = y->value[w->ball[k]];
    }
    cfn_state_commit(s, w->ball, w->old, count);
    double after = (double)s->at.cost + (s->at.worst > 0 ? w->rho * (double)s->at.worst : 0);
    if (after >= before || s->at.forbidden > s->before.forbidden)
        cfn_state_revert(s, w->ball, w->old, count);
}

void cfn_crossover(struct cfn_worker *w, const struct cfn_point *x, const struct cfn_point *y)
{
    const struct cfn_model *m = w->m;
    int32_t differ = 0;
    cfn_state_load(&w->state, x);
    w->work += m->forest_work;
    for (int32_t i = 0; i < m->node_count; i++)
        if (x->value[i] != y->value[i])
            w->changed[differ++] = i;
    w->seen_now++;
    for (int32_t k = 0; k < differ; k++) {
        int32_t j = k + (int32_t)rng_below(&w->rng, (uint64_t)(differ - k)), start = w->changed[j];
        w->changed[j] = w->changed[k];
        w->changed[k] = start;
        if (w->seen[start] != w->seen_now)
            try_part(w, y, part_of(w, y, start));
    }
    if (w->state.at.forbidden || !cfn_repair(&w->state))
        return;
    cfn_polish(&w->state);
    cfn_worker_record(w, &w->state.at);
}

void cfn_crossover_pool(struct cfn_worker *w, int count)
{
    struct cfn_point x;
    if (!w->has_best || !w->pool.count)
        return;
    cfn_point_create(w->m, &x);
    for (int k = 0; k < count && !w->stopped; k++) {
        int y = (int)rng_below(&w->rng, (uint64_t)w->pool.count);
        cfn_point_copy(w->m, &x, &w->best);
        cfn_crossover(w, &x, &w->pool.at[y]);
        cfn_worker_spend(w);
    }
    cfn_point_release(&x);
}
