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
    const struct cfn_model *m;
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
    const struct cfn_budget *b = user;
    return (b->cancelled && b->cancelled(b->user)) ||
           (b->seconds > 0 && b->clock(b->user) >= time_share * b->seconds);
}

/* the starting weights: first_weight * scale_step^scale */
static void set_weights(struct relaxer *r)
{
    double weight = first_weight;
    for (int k = 0; k < r->scale; k++)
        weight *= scale_step;
    for (uint32_t k = 0; k < r->m->first_item[r->m->node_count]; k++)
        r->weight[k] = weight * (1 + weight_noise * rng_unit(&r->rng));
}

/* items' uses are already less their minimum */
static void price(struct relaxer *r)
{
    const struct cfn_model *m = r->m;
    memcpy(r->unary, m->unary, m->value_count * sizeof *r->unary);
    for (int32_t i = 0; i < m->node_count; i++)
        for (uint32_t k = m->first_item[i]; k < m->first_item[i + 1]; k++)
            for (int32_t a = 0; a < m->size[i]; a++) {
                int64_t *c = &r->unary[m->offset[i] + (size_t)a];
                double penalty = r->weight[k] * (double)m->items[k].use[a];
                *c = cfn_add(*c, penalty < (double)CFN_LARGE ? (int64_t)penalty : CFN_LARGE);
            }
}

static void raise_weights_where_violated(struct relaxer *r)
{
    const struct cfn_model *m = r->m;
    for (uint32_t k = 0; k < m->first_item[m->node_count]; k++) {
        bool violated = false;
        for (int32_t t = m->items[k].left; t < m->items[k].right && !violated; t++)
            violated = r->profile[t] > m->limit;
        if (violated)
            r->weight[k] *= 1 + r->change;
    }
}

/* Until weights with a feasible answer are known they grow tenfold; then they follow Algorithm 1. */
static void adapt_weights(struct relaxer *r, bool feasible)
{
    if (r->scale < SCALES && !feasible) {
        r->scale++;
        set_weights(r);
        return;
    }
    if (r->scale < SCALES)
        r->scale = SCALES;
    for (uint32_t k = 0; feasible && k < r->m->first_item[r->m->node_count]; k++)
        r->weight[k] *= 1 - r->change;
    if (!feasible)
        raise_weights_where_violated(r);
    r->change = r->change > least_change ? change_down * r->change : least_change;
}

static void keep_if_best(struct relaxer *r, const struct cfn_point *p)
{
    if (!cfn_point_feasible(p) || (r->has_best && r->best.cost <= p->cost))
        return;
    cfn_point_copy(r->m, &r->best, p);
    r->has_best = true;
}

static void *iterate(void *user)
{
    struct relaxer *r = user;
    const struct cfn_budget *b = r->budget;
    enum cfn_toulbar2_result result;
    struct cfn_toulbar2_run run = {.seed = rng_below(&r->rng, SEEDS), .stop = over};
    run.user = (void *)(uintptr_t)b;
    if (b->seconds > 0) {
        double left = b->seconds - b->clock(b->user), most = run_share * b->seconds;
        most = most > least_run_s ? most : least_run_s;
        run.seconds = left < most ? left : most;
    }
    if (b->units)
        run.backtracks = BACKTRACKS;
    struct cfn_point p;
    cfn_point_create(r->m, &p);
    price(r);
    r->code = cfn_toulbar2_solve(&r->toulbar2, r->m, r->unary, &run, p.value, &result, r->e);
    if (r->code == ERROR_OK && result != CFN_TOULBAR2_NONE) {
        cfn_point_evaluate(r->m, &p, r->profile);
        bool feasible = cfn_point_feasible(&p);
        if (feasible) {
            cfn_state_load(&r->state, &p);
            cfn_polish(&r->state);
            keep_if_best(r, &r->state.at);
        }
        adapt_weights(r, feasible);
    }
    cfn_point_release(&p);
    return NULL;
}

/* one iteration of both workers */
static void run_round(struct relaxer *r, int threads)
{
    pthread_t thread;
    bool second = threads > 1 && pthread_create(&thread, NULL, iterate, &r[1]) == 0;
    iterate(&r[0]);
    if (second)
        pthread_join(thread, NULL);
    else
        iterate(&r[1]);
}

static enum error_code relaxer_init(struct relaxer *r, int number, const struct cfn_model *m,
                                    const struct cfn_budget *b, struct error *e)
{
    size_t items = m->first_item[m->node_count];
    *r = (struct relaxer){.m = m, .budget = b, .e = e, .change = first_change, .scale = number};
    r->rng = (struct rng){hash_combine(b->seed, (uint64_t)number)};
    r->weight = mem_zalloc(items + 1, sizeof *r->weight);
    r->unary = mem_zalloc(m->value_count + 1, sizeof *r->unary);
    r->profile = mem_zalloc((size_t)m->time_count + 1, sizeof *r->profile);
    cfn_state_create(m, &r->state);
    cfn_point_create(m, &r->best);
    set_weights(r);
    return cfn_toulbar2_open(&r->toulbar2, e);
}

static void relaxer_release(struct relaxer *r)
{
    cfn_toulbar2_close(&r->toulbar2);
    cfn_state_release(&r->state);
    cfn_point_release(&r->best);
    free(r->weight);
    free(r->unary);
    free(r->profile);
}

static void take_best(const struct relaxer *r, const struct cfn_model *m, struct cfn_found *out)
{
    const struct relaxer *best =
        r[1].has_best && (!r[0].has_best || r[1].best.cost < r[0].best.cost) ? &r[1] : r;
    if (!best->has_best)
        return;
    out->values = mem_zalloc((size_t)m->network->problem->node_count + 1, sizeof *out->values);
    cfn_point_expand(m, &best->best, out->values);
    out->cost = best->best.cost;
}

enum error_code cfn_ucr_search(const struct cfn_model *m, const struct cfn_budget *budget,
                               struct cfn_found *out, struct error *e)
{
    struct relaxer r[WORKERS];
    struct error errors[WORKERS] = {{0}};
    *out = (struct cfn_found){.bound = INT64_MIN};
    enum error_code code = relaxer_init(&r[0], 0, m, budget, &errors[0]);
    enum error_code second = relaxer_init(&r[1], 1, m, budget, &errors[1]);
    code = code != ERROR_OK ? code : second;
    int64_t shown = INT64_MAX;
    while (code == ERROR_OK && !over((void *)(uintptr_t)budget) &&
           (!budget->units || out->units < budget->units)) {
        run_round(r, budget->threads);
        out->units += CFN_UCR_UNITS;
        code = r[0].code != ERROR_OK ? r[0].code : r[1].code;
        for (int k = 0; k < WORKERS; k++)
            if (r[k].has_best && r[k].best.cost < shown && budget->progress)
                budget->progress(budget->user, shown = r[k].best.cost, INT64_MIN);
    }
    if (code == ERROR_OK)
        take_best(r, m, out);
    else if (e)
        *e = errors[0].code != ERROR_OK ? errors[0] : errors[1];
    out->cut = budget->units == 0 || over((void *)(uintptr_t)budget);
    for (int k = 0; k < WORKERS; k++)
        relaxer_release(&r[k]);
    return code;
}
