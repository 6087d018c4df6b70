/* What a worker owns, and the few operations that every phase uses: the clock of work, the pool of elites,
 * recording an answer, a repaired and polished copy of a point. The pool holds distinct costs in ascending
 * order: two answers of equal cost are taken for the same one. */
#include "cfn/worker.h"

#include "cfn/repair.h"
#include "cfn/tighten.h"

#include <math.h>
#include <stdlib.h>

enum {
    ASK_EVERY = 8, /* calls of cfn_worker_done: the clock is asked once in so many */
    FEW = 200,     /* an improvement ends when less than one node in so many changed */
};

/* the best answer or bound: a share of it, one over a node's links, still forbids at some distance */
static const double far_above = 1000;

void cfn_worker_create(const struct cfn_model *model, int number, uint64_t seed, struct cfn_worker *worker)
{
    size_t n = (size_t)model->node_count + 1, t = (size_t)model->time_count + 1;
    *worker =
        (struct cfn_worker){.model = model, .number = number, .rng = {hash_combine(seed, (uint64_t)number)}};
    cfn_trws_create(model, &worker->trws);
    cfn_forest_create(model, &worker->forest);
    cfn_wide_create(model, &worker->wide);
    cfn_state_create(model, &worker->state);
    cfn_point_create(model, &worker->point);
    cfn_point_create(model, &worker->best);
    for (int i = 0; i < CFN_POOL; i++)
        cfn_point_create(model, &worker->pool.at[i]);
    worker->lambda = mem_zalloc(t, sizeof(double));
    worker->best_lambda = mem_zalloc(t, sizeof(double));
    worker->rate = mem_zalloc(t, sizeof(double));
    worker->average = mem_zalloc(t, sizeof(double));
    worker->sign = mem_zalloc(t, sizeof *worker->sign);
    worker->shifted = mem_zalloc(t, sizeof *worker->shifted);
    worker->profile = mem_zalloc(t, sizeof *worker->profile);
    worker->unary = mem_zalloc(model->value_count + 16, sizeof *worker->unary);
    worker->all = mem_zalloc(n, sizeof *worker->all);
    worker->ball = mem_zalloc(n, sizeof *worker->ball);
    worker->changed = mem_zalloc(n, sizeof *worker->changed);
    worker->old = mem_zalloc(n, sizeof *worker->old);
    worker->seen = mem_zalloc(n, sizeof *worker->seen);
    worker->best_estimate = -HUGE_VAL;
    worker->bound = INT64_MIN;
}

void cfn_worker_release(struct cfn_worker *worker)
{
    cfn_tighten_release(worker);
    cfn_trws_release(&worker->trws);
    cfn_forest_release(&worker->forest);
    cfn_wide_release(&worker->wide);
    cfn_state_release(&worker->state);
    cfn_point_release(&worker->point);
    cfn_point_release(&worker->best);
    for (int i = 0; i < CFN_POOL; i++)
        cfn_point_release(&worker->pool.at[i]);
    cfn_leaves_release(&worker->leaves);
    free(worker->lambda);
    free(worker->best_lambda);
    free(worker->rate);
    free(worker->average);
    free(worker->sign);
    free(worker->profile);
    free(worker->shifted);
    free(worker->unary);
    free(worker->all);
    free(worker->ball);
    free(worker->changed);
    free(worker->old);
    free(worker->seen);
}

void cfn_worker_begin(struct cfn_worker *worker)
{
    for (int32_t i = 0; i < worker->model->node_count; i++)
        worker->all[i] = i; /* moves shuffle it */
    cfn_worker_spend(worker);
}

void cfn_worker_spend(struct cfn_worker *worker)
{
    worker->work += worker->forest.work + worker->wide.work + worker->state.work;
    worker->forest.work = worker->wide.work = worker->state.work = 0;
}

bool cfn_worker_done(struct cfn_worker *worker)
{
    cfn_worker_spend(worker);
    if (!worker->stopped && worker->stop && worker->asked++ % ASK_EVERY == 0)
        worker->stopped = worker->stop(worker->user);
    return worker->stopped || worker->work >= worker->phase_end;
}

double cfn_worker_drop_cost(const struct cfn_worker *worker)
{
    double cost = worker->has_best ? fabs((double)worker->best.cost) : 0,
           bound = worker->best_estimate > -HUGE_VAL ? fabs(worker->best_estimate) : 0;
    return far_above * ((cost > bound ? cost : bound) + 1);
}

void cfn_pool_add(const struct cfn_model *model, struct cfn_pool *pool, const struct cfn_point *point)
{
    int at = pool->count;
    for (int i = 0; i < pool->count; i++)
        if (pool->at[i].cost == point->cost)
            return;
    if (at == CFN_POOL && pool->at[at - 1].cost <= point->cost)
        return;
    at = at == CFN_POOL ? at - 1 : at;
    cfn_point_copy(model, &pool->at[at], point);
    pool->count = at + 1;
    for (; at > 0 && pool->at[at].cost < pool->at[at - 1].cost; at--) {
        struct cfn_point swap = pool->at[at];
        pool->at[at] = pool->at[at - 1];
        pool->at[at - 1] = swap;
    }
}

void cfn_worker_record(struct cfn_worker *worker, const struct cfn_point *point)
{
    if (!cfn_point_feasible(point))
        return;
    cfn_pool_add(worker->model, &worker->pool, point);
    if (worker->has_best && worker->best.cost <= point->cost)
        return;
    cfn_point_copy(worker->model, &worker->best, point);
    worker->has_best = true;
    if (worker->found)
        worker->found(worker->user, worker->number, point->cost, point);
}

int32_t cfn_worker_ball(struct cfn_worker *worker, int32_t start, int32_t size)
{
    const struct cfn_model *model = worker->model;
    int32_t count = 0;
    worker->seen[start] = ++worker->seen_now;
    worker->ball[count++] = start;
    for (int32_t at = 0; at < count && count < size; at++) {
        uint32_t from = model->first_arc[worker->ball[at]],
                 degree = model->first_arc[worker->ball[at] + 1] - from;
        uint32_t turn = degree ? (uint32_t)rng_below(&worker->rng, degree) : 0;
        for (uint32_t k = 0; k < degree && count < size; k++) {
            int32_t other = model->arcs[from + (k + turn) % degree].other;
            if (worker->seen[other] == worker->seen_now)
                continue;
            worker->seen[other] = worker->seen_now;
            worker->ball[count++] = other;
        }
    }
    return count;
}

bool cfn_worker_finish(struct cfn_worker *worker, const struct cfn_point *point)
{
    cfn_state_load(&worker->state, point);
    worker->work += worker->model->forest_work;
    if (point->forbidden || !cfn_repair(&worker->state))
        return false;
    cfn_polish(&worker->state);
    cfn_worker_record(worker, &worker->state.at);
    return true;
}

void cfn_worker_improve(struct cfn_worker *worker, int most)
{
    const struct cfn_model *model = worker->model;
    for (int k = 0; k < most; k++) {
        int32_t changes = cfn_forest_move(&worker->forest, &worker->rng, worker->all, model->node_count,
                                          worker->unary, 0, worker->point.value, worker->changed, NULL);
        if ((changes <= model->node_count / FEW && k) || cfn_worker_done(worker))
            break;
    }
    cfn_point_evaluate(model, &worker->point, worker->profile);
    worker->work += cfn_point_work(model);
    cfn_worker_spend(worker);
}
