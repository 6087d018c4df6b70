/* Kernel search (E. Angelelli, R. Mansini, M. Speranza, "Kernel search: a general heuristic for the
 * multi-dimensional knapsack problem", 2010): restrict the problem to what a relaxation finds promising, and
 * search there with everything that there is. Here the relaxation is the one that bounds come from, clusters
 * included, and the restricted problem a narrow model. */
#include "cfn/likely.h"

#include "cfn/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the gap between bound and best answer: how far above the bound a value is still likely. On cores of 160
 * and 300 nodes all values of the best answers, or all but one or two, are within a tenth of it. */
static const double least_share = 0.02, most_share = 0.2;

/* what an answer with each value costs at least, as far as the messages at hand know */
static void price_values(struct cfn_worker *worker, double *least)
{
    struct cfn_trws *trws = &worker->trws;
    size_t size = (trws->model->message_count + 1) * sizeof *trws->message;
    double *kept = mem_alloc(size);
    cfn_trws_price(trws, worker->best_lambda);
    memcpy(kept, trws->message, trws->model->message_count * sizeof *kept);
    (void)cfn_trws_marginals(trws, least);
    memcpy(trws->message, kept, trws->model->message_count * sizeof *kept);
    worker->work += 2 * trws->model->table_work + worker->model->forest_work;
    free(kept);
}

static void keep_values_of(const struct cfn_model *model, const struct cfn_point *point, uint8_t *mask)
{
    for (int32_t i = 0; i < model->node_count; i++)
        mask[model->offset[i] + (size_t)point->value[i]] = 0;
}

/* by padded value, not 0: left out */
static uint8_t *unlikely_values(struct cfn_worker *worker)
{
    const struct cfn_model *model = worker->model;
    uint8_t *mask = mem_zalloc(model->value_count + 1, 1);
    double *least = mem_zalloc(model->value_count + 1, sizeof *least),
           gap = (double)worker->best.cost - worker->best_estimate,
           most = worker->best_estimate + gap * cfn_log_uniform(&worker->rng, least_share, most_share);
    price_values(worker, least);
    for (size_t a = 0; a < model->value_count; a++)
        mask[a] = least[a] > most;
    keep_values_of(model, &worker->best, mask);
    for (int k = 0; k < worker->pool.count; k++)
        keep_values_of(model, &worker->pool.at[k], mask);
    free(least);
    return mask;
}

static void copy_price(struct cfn_point *to, const struct cfn_point *from)
{
    to->cost = from->cost;
    to->forbidden = from->forbidden;
    to->worst = from->worst;
}

/* all of its values are in the narrow model */
static void narrow_point(const struct cfn_narrow *narrow, const struct cfn_point *from, struct cfn_point *to)
{
    const struct cfn_model *model = &narrow->model;
    for (int32_t i = 0; i < model->node_count; i++)
        for (int32_t a = 0; a < model->size[i]; a++)
            if (narrow->value[model->offset[i] + (size_t)a] == from->value[i])
                to->value[i] = a;
    copy_price(to, from);
}

static void widen_point(const struct cfn_narrow *narrow, const struct cfn_point *from, struct cfn_point *to)
{
    for (int32_t i = 0; i < narrow->model.node_count; i++)
        to->value[i] = narrow->value[narrow->model.offset[i] + (size_t)from->value[i]];
    copy_price(to, from);
}

/* with what the worker has found so far */
static void begin(struct cfn_worker *worker, const struct cfn_narrow *narrow, struct cfn_worker *inner)
{
    cfn_worker_create(&narrow->model, worker->number, rng_next(&worker->rng), inner);
    inner->stop = inner->state.stop = worker->stop;
    inner->user = inner->state.user = worker->user;
    inner->found = worker->found;
    inner->clears = worker->clears;
    inner->widens = worker->widens;
    inner->work = worker->work;
    inner->phase_end = worker->phase_end;
    inner->fixes = worker->fixes;
    inner->rho = worker->rho;
    inner->bound = worker->bound;
    inner->best_estimate = worker->best_estimate;
    memcpy(inner->best_lambda, worker->best_lambda,
           (size_t)worker->model->time_count * sizeof *worker->best_lambda);
    narrow_point(narrow, &worker->best, &inner->best);
    inner->has_best = true;
    for (int k = 0; k < worker->pool.count; k++) {
        narrow_point(narrow, &worker->pool.at[k], &inner->point);
        cfn_pool_add(&narrow->model, &inner->pool, &inner->point);
    }
    cfn_worker_begin(inner);
}

static void end(struct cfn_worker *worker, const struct cfn_narrow *narrow, const struct cfn_worker *inner)
{
    worker->work = inner->work;
    worker->stopped = inner->stopped;
    worker->rho = inner->rho;
    for (int k = 0; k < inner->pool.count; k++) {
        widen_point(narrow, &inner->pool.at[k], &worker->point);
        cfn_worker_record(worker, &worker->point);
    }
}

void cfn_likely_phase(struct cfn_worker *worker, void (*phase)(struct cfn_worker *))
{
    if (!worker->has_best || !(worker->best_estimate > -HUGE_VAL)) {
        phase(worker);
        return;
    }
    struct cfn_worker inner;
    struct cfn_narrow narrow;
    uint8_t *mask = unlikely_values(worker);
    cfn_narrow_create(worker->model, mask, &narrow);
    worker->work += narrow.work;
    begin(worker, &narrow, &inner);
    phase(&inner);
    cfn_worker_spend(&inner);
    end(worker, &narrow, &inner);
    cfn_worker_release(&inner);
    cfn_narrow_release(&narrow);
    free(mask);
}
