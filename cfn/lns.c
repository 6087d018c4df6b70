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
 * walks. */
#include "cfn/lns.h"

#include "cfn/kernel.h"

#include <stdlib.h>

enum {
    SCALE_TRIALS = 128, /* under one scale of the penalties */
    PATIENCE = 64,      /* trials beyond the limit in a row, before rho grows */
    LEAST_BALL = 4,
    MOST_BALL = 1500, /* nodes */
    TRIAL_WORK = 64,  /* table entries, for what a trial does beside its move */
};
static const double most_ball_share = 0.9; /* of all nodes: something has to stay fixed */
static const double scale_range = 1.2;     /* penalties times e^-1.2 to e^1.2: a third to three times */
static const double unpriced = 0.1;        /* of the scales are 0 */
static const double least_noise = 1e-3, most_noise = 3; /* Gumbel scale, of the cost of a node on average */
static const double worsening = 1e-6; /* of the cost: a trial may end dearer by a random share of this */
/* rho falls with every trial within the limit, and rises with one in PATIENCE beyond it */
static const double rho_up = 1.03, rho_down = 0.985;
static const double rho_least = 0.01, rho_most = 1000; /* of where it starts */
/* a limit's worth of violation costs at least this share of the cost */
static const double rho_of_cost = 0.01;

/* breadth first from a random node; returns the size */
static int32_t grow_ball(struct cfn_worker *w, int32_t size)
{
    const struct cfn_model *m = w->m;
    int32_t count = 0, start = (int32_t)rng_below(&w->rng, (uint64_t)m->node_count);
    w->seen[start] = ++w->seen_now;
    w->ball[count++] = start;
    for (int32_t at = 0; at < count && count < size; at++) {
        uint32_t from = m->first_arc[w->ball[at]], degree = m->first_arc[w->ball[at] + 1] - from;
        uint32_t turn = degree ? (uint32_t)rng_below(&w->rng, degree) : 0;
        for (uint32_t k = 0; k < degree && count < size; k++) {
            int32_t other = m->arcs[from + (k + turn) % degree].other;
            if (w->seen[other] == w->seen_now)
                continue;
            w->seen[other] = w->seen_now;
            w->ball[count++] = other;
        }
    }
    return count;
}

static double price_of(const struct cfn_worker *w, int64_t cost, int64_t worst)
{
    return (double)cost + (worst > 0 ? w->rho * (double)worst : 0);
}

static void new_scale(struct cfn_worker *w)
{
    double scale = rng_unit(&w->rng) < unpriced ? 0 : cfn_exp((2 * rng_unit(&w->rng) - 1) * scale_range);
    cfn_price_unary(w->m, w->trws.prices, scale, w->unary);
    w->work += cfn_price_work(w->m);
}

static void one_trial(struct cfn_worker *w, double unit, double threshold, int *infeasible)
{
    const struct cfn_model *m = w->m;
    struct cfn_state *s = &w->state;
    double most = most_ball_share * m->node_count < MOST_BALL ? most_ball_share * m->node_count : MOST_BALL;
    int32_t size = most <= LEAST_BALL ? m->node_count : (int32_t)cfn_log_uniform(&w->rng, LEAST_BALL, most);
    double noise = rng_below(&w->rng, 2) ? unit * cfn_log_uniform(&w->rng, least_noise, most_noise) : 0;
    double before = price_of(w, s->at.cost, s->at.worst);
    int32_t count = grow_ball(w, size);
    int32_t changes = cfn_forest_move(&w->forest, &w->rng, w->ball, count, w->unary, noise, s->at.value,
                                      w->changed, w->old);
    if (changes) {
        cfn_state_commit(s, w->changed, w->old, changes);
        bool worse = s->at.forbidden > s->before.forbidden ||
                     (s->at.forbidden == s->before.forbidden &&
                      price_of(w, s->at.cost, s->at.worst) > before + threshold);
        if (worse)
            cfn_state_revert(s, w->changed, w->old, changes);
        else if (cfn_point_feasible(&s->at) && (!w->has_best || s->at.cost < w->best.cost))
            cfn_worker_record(w, &s->at);
    }
    if (s->at.worst > 0) {
        if (++*infeasible % PATIENCE == 0)
            w->rho *= rho_up;
    } else {
        *infeasible = 0;
        w->rho *= rho_down;
    }
}

/* rho starts at the total price of usage, or a share of the cost, and stays within a wide band of it */
static double rho_start(const struct cfn_worker *w)
{
    double total = w->trws.prices[w->m->time_count];
    double share = rho_of_cost * (double)(w->state.at.cost > 0 ? w->state.at.cost : 1) /
                   (double)(w->m->limit > 0 ? w->m->limit : 1);
    return total > share ? total : share;
}

void cfn_lns_phase(struct cfn_worker *w, const struct cfn_point *start)
{
    const struct cfn_model *m = w->m;
    int infeasible = 0;
    if (!m->node_count)
        return;
    cfn_trws_price(&w->trws, w->best_lambda);
    cfn_state_load(&w->state, start);
    w->work += m->forest_work;
    double rho0 = rho_start(w);
    double cost = (double)(w->state.at.cost > 0 ? w->state.at.cost : 1), unit = cost / m->node_count;
    if (!(w->rho > 0))
        w->rho = rho0;
    for (uint64_t trial = 0; !cfn_worker_done(w); trial++) {
        if (trial % SCALE_TRIALS == 0)
            new_scale(w);
        w->rho = w->rho < rho0 * rho_least  ? rho0 * rho_least
                 : w->rho > rho0 * rho_most ? rho0 * rho_most
                                            : w->rho;
        one_trial(w, unit, rng_unit(&w->rng) * worsening * cost, &infeasible);
        w->work += TRIAL_WORK;
    }
    struct cfn_point end;
    cfn_point_create(m, &end);
    cfn_point_copy(m, &end, &w->state.at);
    if (!end.forbidden && (!w->has_best || price_of(w, end.cost, end.worst) < (double)w->best.cost))
        cfn_worker_finish(w, &end);
    cfn_point_release(&end);
}
