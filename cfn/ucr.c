/* Usage-constrained relaxation, what won the contest, to compare with. Each item has a weight; its use times
 * the weight is added to the costs; toulbar2 solves what is then a network without a limit; the weights
 * learn from its answer.
 *
 *   find scales    weights of 0.1, 1, 10 .. until an answer is feasible
 *   then           feasible: all weights fall; not: those of items in violated stretches rise; always by less
 *
 * Weights only steer: every answer is priced and polished here, and no bound comes of it. cfn_ucr_search, at
 * the end of the file, is the loop. */
#include "cfn/ucr.h"

#include "base/hash.h"
#include "cfn/repair.h"
#include "cfn/toulbar2.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORKERS = 2,
    BACKTRACKS = 20000, /* of one run where units are given: what it did does not depend on the clock then */
    SCALES = 14,        /* starting weights: 0.1, 1, 10 .. 0.1 * 10^13 */
    SEEDS = 1000000,    /* of the exact solver */
};
static const double first_weight = 0.1, scale_step = 10; /* 0.1, 1, 10, 100, then on */
static const double least_run_s = 1, run_share = 0.1;    /* of the time, for one run of the exact solver */
static const double first_change = 0.3, least_change = 0.02, change_down = 0.95; /* of weights, relative */
static const double weight_noise = 0.1; /* so that two workers' weights are not the same */
static const double time_share = 0.98;  /* of the time: the rest is for writing the answer */

struct relaxer {
    const struct cfn_model *model;
    const struct cfn_budget *budget;
    struct cfn_toulbar2 toulbar2;
    struct rng rng;
    double *weight; /* by item */
    double change;  /* of weights, relative */
    int scale;      /* of the starting weights; beyond SCALES: feasible weights are known */
    int64_t *unary, *profile;
    struct cfn_state state;
    struct cfn_point best;
    bool has_best;
    enum error_code code;
    struct error *e;
};

static bool over(void *user)
{
    const struct cfn_budget *budget = user;
    return (budget->cancelled && budget->cancelled(budget->user)) ||
           (budget->seconds > 0 && budget->clock(budget->user) >= time_share * budget->seconds);
}

/* the starting weights: first_weight * scale_step^scale */
static void set_weights(struct relaxer *relaxer)
{
    double weight = first_weight;
    for (int k = 0; k < relaxer->scale; k++)
        weight *= scale_step;
    for (uint32_t k = 0; k < relaxer->model->first_item[relaxer->model->node_count]; k++)
        relaxer->weight[k] = weight * (1 + weight_noise * rng_unit(&relaxer->rng));
}

/* items' uses are already less their minimum */
static void price(struct relaxer *relaxer)
{
    const struct cfn_model *model = relaxer->model;
    memcpy(relaxer->unary, model->unary, model->value_count * sizeof *relaxer->unary);
    for (int32_t i = 0; i < model->node_count; i++)
        for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++)
            for (int32_t a = 0; a < model->size[i]; a++) {
                int64_t *c = &relaxer->unary[model->offset[i] + (size_t)a];
                double penalty = relaxer->weight[k] * (double)model->items[k].use[a];
                *c = cfn_add(*c, penalty < (double)CFN_LARGE ? (int64_t)penalty : CFN_LARGE);
            }
}

static void raise_weights_where_violated(struct relaxer *relaxer)
{
    const struct cfn_model *model = relaxer->model;
    for (uint32_t k = 0; k < model->first_item[model->node_count]; k++) {
        bool violated = false;
        for (int32_t t = model->items[k].left; t < model->items[k].right && !violated; t++)
            violated = relaxer->profile[t] > model->limit;
        if (violated)
            relaxer->weight[k] *= 1 + relaxer->change;
    }
}

/* Until weights with a feasible answer are known they grow tenfold; then they follow UCR's algorithm 1. */
static void adapt_weights(struct relaxer *relaxer, bool feasible)
{
    if (relaxer->scale < SCALES && !feasible) {
        relaxer->scale++;
        set_weights(relaxer);
        return;
    }
    if (relaxer->scale < SCALES)
        relaxer->scale = SCALES;
    for (uint32_t k = 0; feasible && k < relaxer->model->first_item[relaxer->model->node_count]; k++)
        relaxer->weight[k] *= 1 - relaxer->change;
    if (!feasible)
        raise_weights_where_violated(relaxer);
    relaxer->change = relaxer->change > least_change ? change_down * relaxer->change : least_change;
}

static void keep_if_best(struct relaxer *relaxer, const struct cfn_point *point)
{
    if (!cfn_point_feasible(point) || (relaxer->has_best && relaxer->best.cost <= point->cost))
        return;
    cfn_point_copy(relaxer->model, &relaxer->best, point);
    relaxer->has_best = true;
}

static void *iterate(void *user)
{
    struct relaxer *relaxer = user;
    const struct cfn_budget *budget = relaxer->budget;
    enum cfn_toulbar2_result result;
    struct cfn_toulbar2_run run = {.seed = rng_below(&relaxer->rng, SEEDS), .stop = over};
    run.user = (void *)(uintptr_t)budget;
    if (budget->seconds > 0) {
        double left = budget->seconds - budget->clock(budget->user), most = run_share * budget->seconds;
        most = most > least_run_s ? most : least_run_s;
        run.seconds = left < most ? left : most;
    }
    if (budget->units)
        run.backtracks = BACKTRACKS;
    struct cfn_point point;
    cfn_point_create(relaxer->model, &point);
    price(relaxer);
    relaxer->code = cfn_toulbar2_solve(&relaxer->toulbar2, relaxer->model, relaxer->unary, &run, point.value,
                                       &result, relaxer->e);
    if (relaxer->code == ERROR_OK && result != CFN_TOULBAR2_NONE) {
        cfn_point_evaluate(relaxer->model, &point, relaxer->profile);
        bool feasible = cfn_point_feasible(&point);
        if (feasible) {
            cfn_state_load(&relaxer->state, &point);
            cfn_polish(&relaxer->state);
            keep_if_best(relaxer, &relaxer->state.at);
        }
        adapt_weights(relaxer, feasible);
    }
    cfn_point_release(&point);
    return NULL;
}

/* one iteration of both workers */
static void run_round(struct relaxer *relaxer, int threads)
{
    pthread_t thread;
    bool second = threads > 1 && pthread_create(&thread, NULL, iterate, &relaxer[1]) == 0;
    iterate(&relaxer[0]);
    if (second)
        pthread_join(thread, NULL);
    else
        iterate(&relaxer[1]);
}

static enum error_code relaxer_init(struct relaxer *relaxer, int number, const struct cfn_model *model,
                                    const struct cfn_budget *budget, struct error *e)
{
    size_t items = model->first_item[model->node_count];
    *relaxer =
        (struct relaxer){.model = model, .budget = budget, .e = e, .change = first_change, .scale = number};
    relaxer->rng = (struct rng){hash_combine(budget->seed, (uint64_t)number)};
    relaxer->weight = mem_zalloc(items + 1, sizeof *relaxer->weight);
    relaxer->unary = mem_zalloc(model->value_count + 1, sizeof *relaxer->unary);
    relaxer->profile = mem_zalloc((size_t)model->time_count + 1, sizeof *relaxer->profile);
    cfn_state_create(model, &relaxer->state);
    cfn_point_create(model, &relaxer->best);
    set_weights(relaxer);
    return cfn_toulbar2_open(&relaxer->toulbar2, e);
}

static void relaxer_release(struct relaxer *relaxer)
{
    cfn_toulbar2_close(&relaxer->toulbar2);
    cfn_state_release(&relaxer->state);
    cfn_point_release(&relaxer->best);
    free(relaxer->weight);
    free(relaxer->unary);
    free(relaxer->profile);
}

static void take_best(const struct relaxer *relaxer, const struct cfn_model *model, struct cfn_found *out)
{
    const struct relaxer *best =
        relaxer[1].has_best && (!relaxer[0].has_best || relaxer[1].best.cost < relaxer[0].best.cost)
            ? &relaxer[1]
            : relaxer;
    if (!best->has_best)
        return;
    out->values = mem_zalloc((size_t)model->network->problem->node_count + 1, sizeof *out->values);
    cfn_point_expand(model, &best->best, out->values);
    out->cost = best->best.cost;
}

enum error_code cfn_ucr_search(const struct cfn_model *model, const struct cfn_budget *budget,
                               struct cfn_found *out, struct error *e)
{
    struct relaxer relaxer[WORKERS];
    struct error errors[WORKERS] = {{0}};
    *out = (struct cfn_found){.bound = INT64_MIN};
    enum error_code code = relaxer_init(&relaxer[0], 0, model, budget, &errors[0]);
    enum error_code second = relaxer_init(&relaxer[1], 1, model, budget, &errors[1]);
    code = code != ERROR_OK ? code : second;
    int64_t shown = INT64_MAX;
    while (code == ERROR_OK && !over((void *)(uintptr_t)budget) &&
           (!budget->units || out->units < budget->units)) {
        run_round(relaxer, budget->threads);
        out->units += CFN_UCR_UNITS;
        code = relaxer[0].code != ERROR_OK ? relaxer[0].code : relaxer[1].code;
        for (int k = 0; k < WORKERS; k++)
            if (relaxer[k].has_best && relaxer[k].best.cost < shown && budget->progress)
                budget->progress(budget->user, shown = relaxer[k].best.cost, INT64_MIN);
    }
    if (code == ERROR_OK)
        take_best(relaxer, model, out);
    else if (e)
        *e = errors[0].code != ERROR_OK ? errors[0] : errors[1];
    out->cut = budget->units == 0 || over((void *)(uintptr_t)budget);
    for (int k = 0; k < WORKERS; k++)
        relaxer_release(&relaxer[k]);
    return code;
}
