/* Large-neighbourhood search (P. Shaw, "Using constraint programming and local search methods to solve
 * vehicle routing problems", 1998): free a part of the point, solve the part well, keep the result when it
 * pays.
 *
 *   trial    ball     breadth first from a random node, of a log-uniform size
 *            move     one forest move over the ball under scaled penalties, every other time with noise
 *            accept   cost + rho * worst violation rose by less than a tiny random threshold; or revert
 *
 * rho is the price of a unit of violation: it rises while trials stay beyond the limit and falls while they
 * are within, so that the walk crosses the limit again and again. The best feasible point is recorded as it
 * is met; at the end the last point is repaired when it may be better. Equal seeds and work give equal
 * walks. After a scale that found nothing every other one is of each time by itself, so that usage may
 * go from one full time to another. */
#include "cfn/lns.h"

#include "cfn/kernel.h"

#include <stdlib.h>

enum {
    SCALE_TRIALS = 128, /* under one scale of the penalties */
    PATIENCE = 64,      /* trials beyond the limit in a row, before rho grows */
    LEAST_BALL = 4,
    MOST_BALL = 1500, /* nodes */
    SHIFT_WORK = 16,  /* table entries that a time with a price of its own counts as */
    TRIAL_WORK = 64,  /* table entries, for what a trial does beside its move */
};
static const double most_ball_share = 0.9; /* of all nodes: something has to stay fixed */
static const double scale_range = 1.2;     /* penalties times e^-1.2 to e^1.2: a third to three times */
static const double uneven = 0.5,
                    uneven_range = 1; /* after one that found nothing; a factor for each time, e^-1 to e */
static const double unpriced = 0.1;   /* of the scales are 0 */
static const double least_noise = 1e-3, most_noise = 3; /* Gumbel scale, of the cost of a node on average */
static const double worsening = 1e-6; /* of the cost: a trial may end dearer by a random share of this */
/* rho falls with every trial within the limit, and rises with one in PATIENCE beyond it */
static const double rho_up = 1.03, rho_down = 0.985;
static const double rho_least = 0.01, rho_most = 1000; /* of where it starts */
/* a limit's worth of violation costs at least this share of the cost */
static const double rho_of_cost = 0.01;
static const double least_share = 0.1, most_share = 0.9; /* of the work, for wide moves */
static const double least_cells = 512;                   /* of their largest table, at least */
static const double left_share = 0.25;  /* of what is left of the phase, for the tables of one */
static const double reward_kept = 0.97; /* of rewards, from scale to scale */

static double price_of(const struct cfn_worker *worker, int64_t cost, int64_t worst)
{
    return (double)cost + (worst > 0 ? worker->rho * (double)worst : 0);
}

/* The best multipliers are good on average; what moves usage from one full time to another needs the other
 * cheaper. */
static void shift_prices(struct cfn_worker *worker)
{
    const double *prices = worker->trws.prices;
    worker->shifted[0] = 0;
    for (int32_t time = 0; time < worker->model->time_count; time++) {
        double price = prices[time + 1] - prices[time];
        if (price > 0)
            price *= cfn_exp((2 * rng_unit(&worker->rng) - 1) * uneven_range);
        worker->shifted[time + 1] = worker->shifted[time] + price;
    }
    worker->work += (uint64_t)worker->model->time_count * SHIFT_WORK;
}

static void new_scale(struct cfn_worker *worker, bool stuck)
{
    double scale =
        rng_unit(&worker->rng) < unpriced ? 0 : cfn_exp((2 * rng_unit(&worker->rng) - 1) * scale_range);
    const double *prices = worker->trws.prices;
    if (stuck && rng_unit(&worker->rng) < uneven) {
        shift_prices(worker);
        prices = worker->shifted;
    }
    cfn_price_unary(worker->model, prices, scale, worker->unary);
    worker->work += cfn_price_work(worker->model);
}

/* ---- forest moves or wide ones ---- */

static void fade(struct cfn_reward *kind)
{
    kind->gain *= reward_kept;
    kind->work *= reward_kept;
}

/* Whether the next move is a wide one: work goes to both kinds by what a unit of it gained of late. */
static bool goes_wide(const struct cfn_worker *worker)
{
    const struct cfn_reward *forests = &worker->forests, *wides = &worker->wides;
    double by_forests = forests->gain / (forests->work + 1), by_wides = wides->gain / (wides->work + 1);
    double share = by_forests + by_wides > 0 ? by_wides / (by_forests + by_wides) : 0.5;
    share = share < least_share ? least_share : share > most_share ? most_share : share;
    return worker->widens && wides->work < share * (wides->work + forests->work + 1);
}

/* A move gains what the walk's cheapest answer, low (INT64_MAX: none yet), costs less after it. */
static void reward(struct cfn_worker *worker, struct cfn_reward *kind, uint64_t work, int64_t *low)
{
    const struct cfn_point *at = &worker->state.at;
    kind->work += (double)work;
    if (!cfn_point_feasible(at) || at->cost >= *low)
        return;
    kind->gain += *low == INT64_MAX ? 0 : (double)(*low - at->cost);
    *low = at->cost;
}

static int32_t wide_move(struct cfn_worker *worker, int32_t count)
{
    double left = worker->phase_end > worker->work ? (double)(worker->phase_end - worker->work) : 0,
           largest = cfn_log_uniform(&worker->rng, least_cells, CFN_WIDE_CELLS);
    return cfn_wide_move(&worker->wide, &worker->rng, worker->ball, count, largest, left * left_share,
                         worker->unary, worker->state.at.value, worker->changed, worker->old);
}

static void one_trial(struct cfn_worker *worker, double unit, double threshold, int *infeasible, int64_t *low)
{
    const struct cfn_model *model = worker->model;
    struct cfn_state *state = &worker->state;
    bool wide = goes_wide(worker);
    uint64_t begun = worker->work;
    double most =
        most_ball_share * model->node_count < MOST_BALL ? most_ball_share * model->node_count : MOST_BALL;
    if (wide && most > CFN_WIDE_NODES)
        most = CFN_WIDE_NODES;
    int32_t size =
        most <= LEAST_BALL ? model->node_count : (int32_t)cfn_log_uniform(&worker->rng, LEAST_BALL, most);
    double noise =
        rng_below(&worker->rng, 2) ? unit * cfn_log_uniform(&worker->rng, least_noise, most_noise) : 0;
    double before = price_of(worker, state->at.cost, state->at.worst);
    int32_t count =
        cfn_worker_ball(worker, (int32_t)rng_below(&worker->rng, (uint64_t)model->node_count), size);
    int32_t changes = wide
                          ? wide_move(worker, count)
                          : cfn_forest_move(&worker->forest, &worker->rng, worker->ball, count, worker->unary,
                                            noise, state->at.value, worker->changed, worker->old);
    if (changes) {
        cfn_state_commit(state, worker->changed, worker->old, changes);
        bool worse = state->at.forbidden > state->before.forbidden ||
                     (state->at.forbidden == state->before.forbidden &&
                      price_of(worker, state->at.cost, state->at.worst) > before + threshold);
        if (worse)
            cfn_state_revert(state, worker->changed, worker->old, changes);
        else if (cfn_point_feasible(&state->at) && (!worker->has_best || state->at.cost < worker->best.cost))
            cfn_worker_record(worker, &state->at);
    }
    cfn_worker_spend(worker);
    reward(worker, wide ? &worker->wides : &worker->forests, worker->work - begun, low);
    if (state->at.worst > 0) {
        if (++*infeasible % PATIENCE == 0)
            worker->rho *= rho_up;
    } else {
        *infeasible = 0;
        worker->rho *= rho_down;
    }
}

/* rho starts at the total price of usage, or a share of the cost, and stays within a wide band of it */
static double rho_start(const struct cfn_worker *worker)
{
    double total = worker->trws.prices[worker->model->time_count];
    double share = rho_of_cost * (double)(worker->state.at.cost > 0 ? worker->state.at.cost : 1) /
                   (double)(worker->model->limit > 0 ? worker->model->limit : 1);
    return total > share ? total : share;
}

void cfn_lns_phase(struct cfn_worker *worker, const struct cfn_point *start)
{
    const struct cfn_model *model = worker->model;
    int infeasible = 0;
    if (!model->node_count)
        return;
    cfn_trws_price(&worker->trws, worker->best_lambda);
    cfn_state_load(&worker->state, start);
    worker->work += model->forest_work;
    double rho0 = rho_start(worker);
    double cost = (double)(worker->state.at.cost > 0 ? worker->state.at.cost : 1),
           unit = cost / model->node_count;
    if (!(worker->rho > 0))
        worker->rho = rho0;
    int64_t low = cfn_point_feasible(&worker->state.at) ? worker->state.at.cost : INT64_MAX,
            low_then = INT64_MIN;
    for (uint64_t trial = 0; !cfn_worker_done(worker); trial++) {
        if (trial % SCALE_TRIALS == 0) {
            new_scale(worker, low == low_then);
            low_then = low;
            fade(&worker->forests);
            fade(&worker->wides);
        }
        worker->rho = worker->rho < rho0 * rho_least  ? rho0 * rho_least
                      : worker->rho > rho0 * rho_most ? rho0 * rho_most
                                                      : worker->rho;
        one_trial(worker, unit, rng_unit(&worker->rng) * worsening * cost, &infeasible, &low);
        worker->work += TRIAL_WORK;
    }
    struct cfn_point end;
    cfn_point_create(model, &end);
    cfn_point_copy(model, &end, &worker->state.at);
    if (!end.forbidden &&
        (!worker->has_best || price_of(worker, end.cost, end.worst) < (double)worker->best.cost))
        cfn_worker_finish(worker, &end);
    cfn_point_release(&end);
}
