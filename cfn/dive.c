/* A phase of dives goes in batches. Each has prices and messages of its own:
 *
 *   batch      share    of the best multipliers: 1, or drawn from [0, 1)
 *              settle   messages begin anew, SETTLE_PASSES passes; what an answer with each value costs at
 *                       least
 *     dive     hold     a value at random that may be in a better answer; PASSES passes
 *              land     round, forest moves, repair and polish; messages back to the batch's
 *
 * The best multipliers are balanced for the bound, and every valley has others: below the prices that keep
 * the limit, other valleys are cheapest, and repair does the rest. Messages begin anew because a few passes
 * under new prices round to more different places than those of a long dual phase. */
#include "cfn/dive.h"

#include "cfn/clear.h"
#include "cfn/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETTLE_PASSES = 40,
    PASSES = 3, /* with a value held */
    MOVES = 8,  /* forest moves of a landing */
    DIVES_A_BATCH = 64,
};
static const double near_limit = 0.1; /* excess, of the limit, that repair may mend */

struct diving { /* scratch of one phase */
    struct cfn_worker *worker;
    double *found, *message; /* messages as the phase found them; of the batch */
    double *least;           /* by padded value: what an answer with it costs at least, in this batch */
    uint8_t *held;           /* all values of the node held but one */
};

double cfn_dive_work(const struct cfn_model *model)
{
    return (2.0 * PASSES + 1) * (double)model->table_work +
           (PASSES + MOVES + 2.0) * (double)model->forest_work + 2.0 * model->time_count;
}

static double best_cost(const struct cfn_worker *worker)
{
    return worker->has_best ? (double)worker->best.cost : HUGE_VAL;
}

static double pass(struct cfn_worker *worker, int passes)
{
    double bound = 0;
    for (int k = 0; k < passes; k++)
        bound = cfn_trws_iterate(&worker->trws);
    worker->work += (uint64_t)passes * (2 * worker->trws.model->table_work + worker->model->forest_work);
    return bound;
}

void cfn_dive_land(struct cfn_worker *worker)
{
    const struct cfn_model *model = worker->model;
    const uint8_t *dropped = worker->trws.dropped;
    cfn_trws_round(&worker->trws, worker->point.value);
    cfn_price_unary(model, worker->trws.prices, 1, worker->unary);
    for (size_t a = 0; a < model->value_count && dropped; a++)
        if (dropped[a])
            worker->unary[a] = CFN_HUGE;
    worker->work += worker->trws.model->table_work + model->forest_work + cfn_price_work(model);
    cfn_worker_improve(worker, MOVES);
    if ((double)worker->point.worst < near_limit * (double)model->limit && cfn_clear(worker))
        cfn_worker_finish(worker, &worker->point);
}

static void settle(struct diving *diving, int batch)
{
    struct cfn_worker *worker = diving->worker;
    const struct cfn_model *model = worker->model;
    double share = (batch + worker->number) % 2 ? rng_unit(&worker->rng) : 1;
    for (int32_t time = 0; time < model->time_count; time++)
        worker->lambda[time] = share * worker->best_lambda[time];
    memset(worker->trws.message, 0, worker->trws.model->message_count * sizeof *worker->trws.message);
    cfn_trws_price(&worker->trws, worker->lambda);
    pass(worker, SETTLE_PASSES - 1);
    cfn_trws_marginals(&worker->trws, diving->least);
    worker->work += 2 * worker->trws.model->table_work + model->forest_work;
    memcpy(diving->message, worker->trws.message,
           worker->trws.model->message_count * sizeof *diving->message);
}

static void dive(struct diving *diving, int32_t node, int32_t value)
{
    struct cfn_worker *worker = diving->worker;
    const struct cfn_model *model = worker->model;
    memset(diving->held + model->offset[node], 1, (size_t)model->size[node]);
    diving->held[model->offset[node] + (size_t)value] = 0;
    worker->trws.dropped = diving->held;
    cfn_trws_price(&worker->trws, worker->lambda);
    if (pass(worker, PASSES) < best_cost(worker))
        cfn_dive_land(worker);
    memset(diving->held + model->offset[node], 0, (size_t)model->size[node]);
    worker->trws.dropped = NULL;
    cfn_trws_price(&worker->trws, worker->lambda);
    memcpy(worker->trws.message, diving->message,
           worker->trws.model->message_count * sizeof *diving->message);
}

static void dive_at_random(struct diving *diving)
{
    struct cfn_worker *worker = diving->worker;
    const struct cfn_model *model = worker->model;
    int32_t node = (int32_t)rng_below(&worker->rng, (uint64_t)model->node_count);
    int32_t value = (int32_t)rng_below(&worker->rng, (uint64_t)model->size[node]);
    worker->work += (uint64_t)model->width[node];
    if (model->size[node] > 1 && diving->least[model->offset[node] + (size_t)value] < best_cost(worker))
        dive(diving, node, value);
}

void cfn_dive_phase(struct cfn_worker *worker)
{
    const struct cfn_model *model = worker->model;
    size_t size = (worker->trws.model->message_count + 1) * sizeof(double);
    if (!(worker->best_estimate > -HUGE_VAL) || !model->node_count)
        return;
    struct diving diving = {.worker = worker,
                            .found = mem_alloc(size),
                            .message = mem_alloc(size),
                            .least = mem_zalloc(model->value_count + 1, sizeof *diving.least),
                            .held = mem_zalloc(model->value_count + 1, 1)};
    worker->trws.drop_cost = cfn_worker_drop_cost(worker);
    memcpy(diving.found, worker->trws.message, worker->trws.model->message_count * sizeof(double));
    for (int batch = 0; !cfn_worker_done(worker); batch++) {
        settle(&diving, batch);
        for (int k = 0; k < DIVES_A_BATCH && !cfn_worker_done(worker); k++)
            dive_at_random(&diving);
    }
    memcpy(worker->trws.message, diving.found, worker->trws.model->message_count * sizeof(double));
    cfn_trws_price(&worker->trws, worker->best_lambda);
    free(diving.found);
    free(diving.message);
    free(diving.least);
    free(diving.held);
}
