/* Lagrangian dual of the usage limit (M. Held and R. Karp 1971; A. Geoffrion, "Lagrangean relaxation for
 * integer programming", 1974). Each retained time t has a multiplier, the price of a unit of usage then.
 * Without the limit the problem is a plain network, which TRW-S bounds; the bound is concave in the
 * multipliers and steps go uphill.
 *
 *   until the phase ends
 *       price        unary costs with lambda
 *       pass         TRW-S: a bound, messages
 *       round, move  a point near the relaxed optimum; its usage, averaged, is the subgradient
 *       repair       the point, when it is nearly feasible
 *       step         by sign at first, then from the best multipliers (worker 0) or the last ones (worker 1)
 *   a certificate at the best multipliers
 *
 * Steps by sign are those of M. Riedmiller and H. Braun, "A direct adaptive method for faster
 * backpropagation learning: the RPROP algorithm", 1993: they find the order of magnitude of each price,
 * which nobody knows beforehand. Later ones use the length of the subgradient and the gap to an answer (B.
 * Polyak, "Minimization of unsmooth functionals", 1969), from the best point as in F. Barahona and R. Anbil,
 * "The volume algorithm", Mathematical Programming 2000.
 *
 * Estimates steer, they are never shown: w->bound only changes by cfn_trws_certify. */
#include "cfn/dual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    START_PASSES = 60, /* at lambda = 0 */
    START_MOVES = 30,
    SIGN_STEPS = 40, /* multipliers that start at 0 need about so many before anything is feasible */
    MAX_MOVES = 8,   /* forest moves of a step; */
    FEW_MOVES = 2,   /* of a step where a phase has room for fewer than ENOUGH_STEPS of them */
    ENOUGH_STEPS = 80,
    MANY_PASSES = 4, /* of a step, in every other round and of every other worker */
    LEVEL_STEPS = 6, /* without a better bound, before the level falls */
    END_PASSES = 4,  /* under the best multipliers, before the certificate */
    TRY_EVERY = 4,   /* steps, while no answer is known: repairs that fail take long */
};
/* The level, how far above the best bound steps aim: first, of the answer's cost; least and most, of the gap
 * and of the answer's cost; how it grows and shrinks; the share of it that a step from the best takes. */
static const double first_level = 0.02, least_level = 0.02, most_gap = 0.2;
static const double level_up = 1.2, level_down = 0.6, level_used = 0.5;
/* Polyak's factor: first, smaller by the round, but where phases are short there are many rounds; and how
 * much smaller at a phase's end: 1 / (1 + 99) */
static const double first_theta = 0.4, theta_a_round = 0.75, least_theta = 0.1, theta_fall = 99;
/* rates of steps by sign: first, of the answer's cost; after a turn; far beyond the limit; on a long run */
static const double first_rate = 0.02, rate_turned = 0.7, rate_far = 1.6, rate_along = 1.2;
static const double usage_kept = 0.7; /* of the averaged usage, by the step */
/* an answer will probably cost at most so many times the bound */
static const double likely_above = 1.25;
/* worth a repair: this far beyond the limit without and with an answer, and this much dearer than it */
static const double excess_without = 0.25, excess_with = 0.1, dearer = 0.02;

static double pass(struct cfn_worker *w, int passes)
{
    double bound = 0;
    for (int k = 0; k < passes; k++)
        bound = cfn_trws_iterate(&w->trws);
    w->work += (uint64_t)passes * (2 * w->m->table_work + w->m->forest_work);
    return bound;
}

/* certifies the bound at the priced multipliers */
static void certify(struct cfn_worker *w)
{
    int64_t bound = cfn_trws_certify(&w->trws);
    w->bound = bound > w->bound ? bound : w->bound;
    w->work += CFN_CERTIFY_PASSES * w->m->table_work;
}

/* worth a repair: nothing forbidden, nearly within the limit, and not much dearer than the best */
static bool promising(const struct cfn_worker *w, int step)
{
    if (w->x.forbidden)
        return false;
    if (!w->has_best)
        return step % TRY_EVERY == 0 && (double)w->x.worst < excess_without * (double)w->m->limit;
    return (double)w->x.worst < excess_with * (double)w->m->limit &&
           (double)w->x.cost < (double)w->best.cost + dearer * fabs((double)w->best.cost);
}

void cfn_dual_start(struct cfn_worker *w)
{
    for (int k = 0; k < START_PASSES && (k == 0 || !cfn_worker_done(w)); k++)
        w->best_estimate = pass(w, 1);
    certify(w);
    cfn_trws_round(&w->trws, w->x.value);
    cfn_price_unary(w->m, w->trws.prices, 1, w->unary);
    cfn_worker_improve(w, START_MOVES);
    if (promising(w, 0))
        cfn_worker_finish(w, &w->x);
}

/* The subgradient from the averaged usage, relative to the limit: the peak of every violated stretch, and
 * every slack time that has a price. Returns its squared length. */
static double subgradient(struct cfn_worker *w, double *g)
{
    const struct cfn_model *m = w->m;
    double limit = m->limit > 0 ? (double)m->limit : 1, length = 0;
    for (int32_t t = 0; t < m->time_count;) {
        double over = (w->average[t] - (double)m->limit) / limit;
        g[t] = 0;
        if (over <= 0) {
            if (w->lambda[t] > 0)
                g[t] = over < CFN_STEP_SLACK ? CFN_STEP_SLACK : over;
            length += g[t] * g[t];
            t++;
            continue;
        }
        int32_t peak = t;
        for (; t < m->time_count && w->average[t] > (double)m->limit; t++) {
            g[t] = 0;
            peak = w->average[t] > w->average[peak] ? t : peak;
        }
        over = (w->average[peak] - (double)m->limit) / limit;
        g[peak] = over > CFN_STEP_EXCESS ? CFN_STEP_EXCESS : over;
        length += g[peak] * g[peak];
    }
    return length;
}

/* by sign, each time with a rate of its own: grows while the direction holds, shrinks when it turns */
static void step_by_sign(struct cfn_worker *w, const double *g, double rate)
{
    double limit = w->m->limit > 0 ? (double)w->m->limit : 1;
    for (int32_t t = 0; t < w->m->time_count; t++) {
        int32_t way = g[t] > 0 ? 1 : g[t] < 0 ? -1 : 0, run = w->sign[t];
        if (way == 0)
            continue;
        if (w->rate[t] <= 0)
            w->rate[t] = rate;
        bool same = (run > 0) == (way > 0) && run != 0;
        if (run != 0 && !same)
            w->rate[t] *= rate_turned;
        else if (run >= 2 && g[t] >= CFN_STEP_EXCESS)
            /* far beyond the limit: the price has its order of magnitude still to find */
            w->rate[t] *= rate_far;
        else if (run >= 3 || run <= -3)
            w->rate[t] *= rate_along;
        w->sign[t] = same ? run + way : way;
        w->lambda[t] += way * w->rate[t] / limit;
        w->lambda[t] = w->lambda[t] > 0 ? w->lambda[t] : 0;
    }
}

/* From the best multipliers a step too far costs one step (Barahona and Anbil's volume algorithm); from the
 * last ones (Polyak) steps wander further, and find bounds that the others do not. Workers take one each. */
static void step(struct cfn_worker *w, const double *from, const double *g, double length, double level)
{
    double limit = w->m->limit > 0 ? (double)w->m->limit : 1, size = level / (length + CFN_STEP_LENGTH);
    for (int32_t t = 0; t < w->m->time_count; t++) {
        w->lambda[t] = from[t] + size * g[t] / limit;
        w->lambda[t] = w->lambda[t] > 0 ? w->lambda[t] : 0;
    }
}

double cfn_dual_step_work(const struct cfn_model *m)
{
    return 3.0 * (double)m->table_work + FEW_MOVES * (double)m->forest_work;
}

static void one_step(struct cfn_worker *w, int passes, int moves, int step)
{
    const struct cfn_model *m = w->m;
    cfn_trws_price(&w->trws, w->lambda);
    double bound = pass(w, passes), keep = step == 0 ? 0 : usage_kept;
    if (bound > w->best_estimate) {
        w->best_estimate = bound;
        memcpy(w->best_lambda, w->lambda, (size_t)m->time_count * sizeof *w->lambda);
    }
    cfn_trws_round(&w->trws, w->x.value);
    cfn_price_unary(m, w->trws.prices, 1, w->unary);
    w->work += cfn_price_work(m);
    cfn_worker_improve(w, moves);
    for (int32_t t = 0; t < m->time_count; t++)
        w->average[t] = keep * w->average[t] + (1 - keep) * (double)w->profile[t];
    if (promising(w, step))
        cfn_worker_finish(w, &w->x);
}

/* the scale of steps: what an answer will probably cost. The best so far may still be many times that. */
static double likely_cost(const struct cfn_worker *w)
{
    double best = w->has_best ? (double)w->best.cost : (double)w->x.cost,
           most = likely_above * w->best_estimate;
    return w->best_estimate > 0 && best > most ? most : best;
}

static double gap_to(const struct cfn_worker *w, double best)
{
    double gap = best - w->best_estimate, most = most_gap * fabs(best);
    return gap > most ? most : gap < 1 ? 1 : gap;
}

/* How far above the best bound steps aim: further while the bound rises, nearer when it has not for a while,
 * never beyond the best answer nor a fifth of it. */
static double level(struct cfn_worker *w, double best)
{
    double gap = gap_to(w, best);
    if (!(w->level > 0))
        w->level = first_level * fabs(best);
    if (w->best_estimate > w->level_estimate) {
        w->level *= level_up;
        w->level_steps = 0;
    } else if (++w->level_steps % LEVEL_STEPS == 0) {
        w->level *= level_down;
    }
    w->level_estimate = w->best_estimate;
    w->level = w->level > gap ? gap : w->level < least_level * gap ? least_level * gap : w->level;
    return w->level;
}

void cfn_dual_phase(struct cfn_worker *w, int round)
{
    const struct cfn_model *m = w->m;
    double *g = mem_zalloc((size_t)m->time_count + 1, sizeof *g);
    uint64_t begin = w->work, length = w->phase_end > begin ? w->phase_end - begin : 1;
    double theta0 = first_theta;
    for (int k = 0; k < round && theta0 > least_theta; k++)
        theta0 *= theta_a_round;
    bool cheap = (double)length < ENOUGH_STEPS * cfn_dual_step_work(m);
    memcpy(w->lambda, w->best_lambda, (size_t)m->time_count * sizeof *w->lambda);
    for (int k = 0; !cfn_worker_done(w); k++) {
        one_step(w, cheap || (round + w->number) % 2 == 0 ? 1 : MANY_PASSES, cheap ? FEW_MOVES : MAX_MOVES,
                 k);
        double size = subgradient(w, g), best = likely_cost(w);
        if (size <= 0 && k > 0)
            break; /* nothing to move: without usage limits in force */
        if (w->sign_steps < SIGN_STEPS) {
            w->sign_steps++;
            step_by_sign(w, g, first_rate * fabs(best));
        } else if (w->number == 0) {
            step(w, w->best_lambda, g, size, level_used * level(w, best));
        } else {
            double share = (double)(w->work - begin) / (double)length;
            step(w, w->lambda, g, size, theta0 / (1 + theta_fall * share * share) * gap_to(w, best));
        }
    }
    if (!w->stopped || w->bound == INT64_MIN) { /* otherwise there is no time for a little more bound */
        cfn_trws_price(&w->trws, w->best_lambda);
        pass(w, END_PASSES);
        certify(w);
    }
    free(g);
}
