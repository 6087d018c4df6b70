/* First feasible points, before there are multipliers. One price for every unit of usage, at all times
 * alike; forest moves give a point under it; the price's logarithm is bisected for the least one at which
 * the point is within the limit. Every point that is nearly within it is repaired and recorded, so that the
 * bisection leaves several answers, not one. The two workers cut at different places and so look at
 * different prices. When nothing came of it: every node at the value that uses least over its time,
 * repaired. */
#include "cfn/first.h"

#include "cfn/clear.h"
#include "cfn/kernel.h"

#include <math.h>

enum { STEPS = 10, MOVES = 3 };                           /* ten cuts leave at most a twentieth of a decade */
static const double least_scale = 1e-4, most_scale = 1e4; /* of the cost per unit of usage in all */
static const double near_limit = 0.25;                    /* excess, of the limit, that repair may mend */
static const double cut_first = 0.4, cut_second = 0.6;    /* workers bisect at different places */

/* usage of a value summed over the time it is held */
static double volume(const struct cfn_model *model, int32_t i, int32_t a)
{
    double sum = 0;
    for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++)
        sum += (double)model->items[k].use[a] * (model->items[k].right - model->items[k].left);
    return sum;
}

static void take_least(struct cfn_worker *worker)
{
    const struct cfn_model *model = worker->model;
    for (int32_t i = 0; i < model->node_count; i++) {
        const int64_t *cost = model->unary + model->offset[i];
        double least = HUGE_VAL;
        for (int32_t a = 0; a < model->size[i]; a++) {
            double v = volume(model, i, a);
            if (v > least || (v == least && cost[a] >= cost[worker->point.value[i]]))
                continue;
            least = v;
            worker->point.value[i] = a;
        }
    }
    worker->work += cfn_price_work(model);
    cfn_point_evaluate(model, &worker->point, worker->profile);
    cfn_worker_finish(worker, &worker->point);
}

/* what usage could add up to if every node took its greatest */
static double greatest_usage(const struct cfn_model *model)
{
    double sum = 1;
    for (int32_t i = 0; i < model->node_count; i++) {
        double most = 0;
        for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++)
            for (int32_t a = 0; a < model->size[i]; a++)
                most = (double)model->items[k].use[a] > most ? (double)model->items[k].use[a] : most;
        sum += most;
    }
    return sum;
}

static void price_evenly(struct cfn_worker *worker, double price)
{
    const struct cfn_model *model = worker->model;
    for (int32_t i = 0; i < model->node_count; i++) {
        float *c = worker->unary + model->offset[i];
        for (int32_t a = 0; a < model->width[i]; a++) {
            int64_t exact = model->unary[model->offset[i] + (size_t)a];
            c[a] = cfn_infinite(exact) ? CFN_HUGE : (float)exact;
        }
        for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++)
            for (int32_t a = 0; a < model->size[i]; a++)
                c[a] += (float)(price * (double)model->items[k].use[a]);
    }
    worker->work += cfn_price_work(model);
}

/* by bisection of the price's logarithm: the least at which what comes out is within the limit */
static void scan_prices(struct cfn_worker *worker)
{
    const struct cfn_model *model = worker->model;
    cfn_point_evaluate(model, &worker->point, worker->profile);
    double cost = fabs((double)worker->point.cost) + 1, unit = cost / greatest_usage(model);
    double low = cfn_log(least_scale), high = cfn_log(most_scale);
    double part = worker->number ? cut_second : cut_first;
    for (int k = 0; k < STEPS && !cfn_worker_done(worker); k++) {
        double at = low + part * (high - low);
        price_evenly(worker, unit * cfn_exp(at));
        cfn_worker_improve(worker, MOVES);
        if (worker->point.worst > 0)
            low = at;
        else
            high = at;
        if ((double)worker->point.worst < near_limit * (double)model->limit && cfn_clear(worker))
            cfn_worker_finish(worker, &worker->point);
    }
}

void cfn_first_points(struct cfn_worker *worker)
{
    if (!worker->model->time_count) /* no usage counts: any assignment is within the limit */
        return;
    scan_prices(worker);
    if (!worker->has_best)
        take_least(worker);
}
