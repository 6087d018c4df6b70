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
static int32_t part_of(struct cfn_worker *worker, const struct cfn_point *point, int32_t start)
{
    const struct cfn_model *model = worker->model;
    const int32_t *x = worker->state.at.value;
    int32_t count = 0;
    worker->seen[start] = worker->seen_now;
    worker->ball[count++] = start;
    for (int32_t at = 0; at < count; at++)
        for (uint32_t k = model->first_arc[worker->ball[at]]; k < model->first_arc[worker->ball[at] + 1];
             k++) {
            int32_t other = model->arcs[k].other;
            if (worker->seen[other] == worker->seen_now || x[other] == point->value[other])
                continue;
            worker->seen[other] = worker->seen_now;
            worker->ball[count++] = other;
        }
    return count;
}

static void try_part(struct cfn_worker *worker, const struct cfn_point *point, int32_t count)
{
    struct cfn_state *state = &worker->state;
    double before =
        (double)state->at.cost + (state->at.worst > 0 ? worker->rho * (double)state->at.worst : 0);
    for (int32_t k = 0; k < count; k++) {
        worker->old[k] = state->at.value[worker->ball[k]];
        state->at.value[worker->ball[k]] = point->value[worker->ball[k]];
    }
    cfn_state_commit(state, worker->ball, worker->old, count);
    double after = (double)state->at.cost + (state->at.worst > 0 ? worker->rho * (double)state->at.worst : 0);
    if (after >= before || state->at.forbidden > state->before.forbidden)
        cfn_state_revert(state, worker->ball, worker->old, count);
}

void cfn_crossover(struct cfn_worker *worker, const struct cfn_point *from, const struct cfn_point *guide)
{
    const struct cfn_model *model = worker->model;
    int32_t differ = 0;
    cfn_state_load(&worker->state, from);
    worker->work += model->forest_work;
    for (int32_t i = 0; i < model->node_count; i++)
        if (from->value[i] != guide->value[i])
            worker->changed[differ++] = i;
    worker->seen_now++;
    for (int32_t k = 0; k < differ; k++) {
        int32_t j = k + (int32_t)rng_below(&worker->rng, (uint64_t)(differ - k)), start = worker->changed[j];
        worker->changed[j] = worker->changed[k];
        worker->changed[k] = start;
        if (worker->seen[start] != worker->seen_now)
            try_part(worker, guide, part_of(worker, guide, start));
    }
    if (worker->state.at.forbidden || !cfn_repair(&worker->state))
        return;
    cfn_polish(&worker->state);
    cfn_worker_record(worker, &worker->state.at);
}

void cfn_crossover_pool(struct cfn_worker *worker, int count)
{
    struct cfn_point point;
    if (!worker->has_best || !worker->pool.count)
        return;
    cfn_point_create(worker->model, &point);
    for (int k = 0; k < count && !worker->stopped; k++) {
        int y = (int)rng_below(&worker->rng, (uint64_t)worker->pool.count);
        cfn_point_copy(worker->model, &point, &worker->best);
        cfn_crossover(worker, &point, &worker->pool.at[y]);
        cfn_worker_spend(worker);
    }
    cfn_point_release(&point);
}
