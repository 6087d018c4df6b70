/* What a worker owns, and the few operations that every phase uses: the clock of work, the pool of elites,
 * recording an answer, a repaired and polished copy of a point. The pool holds distinct costs in ascending
 * order: two answers of equal cost are taken for the same one. */
#include "cfn/worker.h"

#include "cfn/repair.h"

#include <math.h>
#include <stdlib.h>

enum {
    ASK_EVERY = 8, /* calls of cfn_worker_done: the clock is asked once in so many */
    FEW = 200,     /* an improvement ends when less than one node in so many changed */
};

void cfn_worker_create(const struct cfn_model *m, int number, uint64_t seed, struct cfn_worker *w)
{
    size_t n = (size_t)m->node_count + 1, t = (size_t)m->time_count + 1;
    *w = (struct cfn_worker){.m = m, .number = number, .rng = {hash_combine(seed, (uint64_t)number)}};
    cfn_trws_create(m, &w->trws);
    cfn_forest_create(m, &w->forest);
    cfn_state_create(m, &w->state);
    cfn_point_create(m, &w->x);
    cfn_point_create(m, &w->best);
    for (int i = 0; i < CFN_POOL; i++)
        cfn_point_create(m, &w->pool.at[i]);
    w->lambda = mem_zalloc(t, sizeof(double));
    w->best_lambda = mem_zalloc(t, sizeof(double));
    w->rate = mem_zalloc(t, sizeof(double));
    w->average = mem_zalloc(t, sizeof(double));
    w->sign = mem_zalloc(t, sizeof *w->sign);
    w->profile = mem_zalloc(t, sizeof *w->profile);
    w->unary = mem_zalloc(m->value_count + 16, sizeof *w->unary);
    w->all = mem_zalloc(n, sizeof *w->all);
    w->ball = mem_zalloc(n, sizeof *w->ball);
    w->changed = mem_zalloc(n, sizeof *w->changed);
    w->old = mem_zalloc(n, sizeof *w->old);
    w->seen = mem_zalloc(n, sizeof *w->seen);
    w->best_estimate = -HUGE_VAL;
    w->bound = INT64_MIN;
}

void cfn_worker_release(struct cfn_worker *w)
{
    cfn_trws_release(&w->trws);
    cfn_forest_release(&w->forest);
    cfn_state_release(&w->state);
    cfn_point_release(&w->x);
    cfn_point_release(&w->best);
    for (int i = 0; i < CFN_POOL; i++)
        cfn_point_release(&w->pool.at[i]);
    cfn_leaves_release(&w->leaves);
    free(w->lambda);
    free(w->best_lambda);
    free(w->rate);
    free(w->average);
    free(w->sign);
    free(w->profile);
    free(w->unary);
    free(w->all);
    free(w->ball);
    free(w->changed);
    free(w->old);
    free(w->seen);
}

void cfn_worker_begin(struct cfn_worker *w)
{
    for (int32_t i = 0; i < w->m->node_count; i++)
        w->all[i] = i; /* moves shuffle it */
    cfn_worker_spend(w);
}

void cfn_worker_spend(struct cfn_worker *w)
{
    w->work += w->forest.work + w->state.work;
    w->forest.work = w->state.work = 0;
}

bool cfn_worker_done(struct cfn_worker *w)
{
    cfn_worker_spend(w);
    if (!w->stopped && w->stop && w->asked++ % ASK_EVERY == 0)
        w->stopped = w->stop(w->user);
    return w->stopped || w->work >= w->phase_end;
}

void cfn_pool_add(const struct cfn_model *m, struct cfn_pool *pool, const struct cfn_point *p)
{
    int at = pool->count;
    for (int i = 0; i < pool->count; i++)
        if (pool->at[i].cost == p->cost)
            return;
    if (at == CFN_POOL && pool->at[at - 1].cost <= p->cost)
        return;
    at = at == CFN_POOL ? at - 1 : at;
    cfn_point_copy(m, &pool->at[at], p);
    pool->count = at + 1;
    for (; at > 0 && pool->at[at].cost < pool->at[at - 1].cost; at--) {
        struct cfn_point swap = pool->at[at];
        pool->at[at] = pool->at[at - 1];
        pool->at[at - 1] = swap;
    }
}

void cfn_worker_record(struct cfn_worker *w, const struct cfn_point *p)
{
    if (!cfn_point_feasible(p))
        return;
    cfn_pool_add(w->m, &w->pool, p);
    if (w->has_best && w->best.cost <= p->cost)
        return;
    cfn_point_copy(w->m, &w->best, p);
    w->has_best = true;
    if (w->found)
        w->found(w->user, w->number, p->cost, p);
}

bool cfn_worker_finish(struct cfn_worker *w, const struct cfn_point *p)
{
    cfn_state_load(&w->state, p);
    w->work += w->m->forest_work;
    if (p->forbidden || !cfn_repair(&w->state))
        return false;
    cfn_polish(&w->state);
    cfn_worker_record(w, &w->state.at);
    return true;
}

void cfn_worker_improve(struct cfn_worker *w, int most)
{
    const struct cfn_model *m = w->m;
    for (int k = 0; k < most; k++) {
        int32_t changes = cfn_forest_move(&w->forest, &w->rng, w->all, m->node_count, w->unary, 0, w->x.value,
                                          w->changed, NULL);
        if ((changes <= m->node_count / FEW && k) || cfn_worker_done(w))
            break;
    }
    cfn_point_evaluate(m, &w->x, w->profile);
    w->work += cfn_point_work(m);
    cfn_worker_spend(w);
}
