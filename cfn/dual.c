#include "cfn/dual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    START_PASSES = 60,
    START_MOVES = 30,
    SIGN_STEPS = 40,
    MAX_MOVES = 8,
    FEW_MOVES = 2,
    ENOUGH_STEPS = 80,
    LEVEL_STEPS = 6,
    END_PASSES = 4
};
static const double first_level = 0.02, least_level = 0.02; /* of the answer's cost; of the gap */
/* where phases are short there are many rounds */
static const double least_theta = 0.1;
static const double clip_up = 0.3, clip_down = -0.1; /* of violations relative to the limit */

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
    w->work += 12 * w->m->table_work;
}

/* worth a repair: nothing forbidden, nearly within the limit, and not much dearer than the best */
static bool promising(const struct cfn_worker *w, int step)
{
    if (w->x.forbidden)
        return false;
    if (!w->has_best) /* repairs that fail take long */
        return step % 4 == 0 && (double)w->x.worst < 0.25 * (double)w->m->limit;
    return (double)w->x.worst < 0.1 * (double)w->m->limit &&
           (double)w->x.cost < (double)w->best.cost + 0.02 * fabs((double)w->best.cost);
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
                g[t] = over < clip_down ? clip_down : over;
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
        g[peak] = over > clip_up ? clip_up : over;
        length += g[peak] * g[peak];
    }
    return length;
}

/* by sign, each time with a rate of its own: grows while the direction holds, shrinks when it turns */
static void step_by_sign(struct cfn_worker *w, const double *g, double first_rate)
{
    double limit = w->m->limit > 0 ? (double)w->m->limit : 1;
    for (int32_t t = 0; t < w->m->time_count; t++) {
        int32_t way = g[t] > 0 ? 1 : g[t] < 0 ? -1 : 0, run = w->sign[t];
        if (way == 0)
            continue;
        if (w->rate[t] <= 0)
            w->rate[t] = first_rate;
        bool same = (run > 0) == (way > 0) && run != 0;
        if (run != 0 && !same)
            w->rate[t] *= 0.7;
        else if (run >= 2 && g[t] >= clip_up)
            /* far beyond the limit: the price has its order of magnitude still to find */
            w->rate[t] *= 1.6;
        else if (run >= 3 || run <= -3)
            w->rate[t] *= 1.2;
        w->sign[t] = same ? run + way : way;
        w->lambda[t] += way * w->rate[t] / limit;
        w->lambda[t] = w->lambda[t] > 0 ? w->lambda[t] : 0;
    }
}

/* From the best multipliers a step too far costs one step (Barahona and Anbil's volume algorithm); from the
 * last ones (Polyak) steps wander further, and find bounds that the others do not. Workers take one each. */
static void step(struct cfn_worker *w, const double *from, const double *g, double length, double level)
{
    double limit = w->m->limit > 0 ? (double)w->m->limit : 1, size = level / (length + 1e-5);
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
    double bound = pass(w, passes), keep = step == 0 ? 0 : 0.7;
    if (bound > w->best_estimate) {
        w->best_estimate = bound;
        memcpy(w->best_lambda, w->lambda, (size_t)m->time_count * sizeof *w->lambda);
    }
    cfn_trws_round(&w->trws, w->x.value);
    cfn_price_unary(m, w->trws.prices, 1, w->unary);
    w->work += m->value_count + m->first_item[m->node_count] * 16ull;
    cfn_worker_improve(w, moves);
    for (int32_t t = 0; t < m->time_count; t++)
        w->average[t] = keep * w->average[t] + (1 - keep) * (double)w->profile[t];
    if (promising(w, step))
        cfn_worker_finish(w, &w->x);
}

/* the scale of steps: what an answer will probably cost. The best so far may still be many times that. */
static double likely_cost(const struct cfn_worker *w)
{
    double best = w->has_best ? (double)w->best.cost : (double)w->x.cost, most = 1.25 * w->best_estimate;
    return w->best_estimate > 0 && best > most ? most : best;
}

static double gap_to(const struct cfn_worker *w, double best)
{
    double gap = best - w->best_estimate, most = 0.2 * fabs(best);
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
        w->level *= 1.2;
        w->level_steps = 0;
    } else if (++w->level_steps % LEVEL_STEPS == 0) {
        w->level *= 0.6;
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
    double theta0 = 0.4;
    for (int k = 0; k < round && theta0 > least_theta; k++)
        theta0 *= 0.75;
    bool cheap = (double)length < ENOUGH_STEPS * cfn_dual_step_work(m);
    memcpy(w->lambda, w->best_lambda, (size_t)m->time_count * sizeof *w->lambda);
    for (int k = 0; !cfn_worker_done(w); k++) {
        one_step(w, cheap || (round + w->number) % 2 == 0 ? 1 : 4, cheap ? FEW_MOVES : MAX_MOVES, k);
        double size = subgradient(w, g), best = likely_cost(w);
        if (size <= 0 && k > 0)
            break; /* nothing to move: without usage limits in force */
        if (w->sign_steps < SIGN_STEPS) {
            w->sign_steps++;
            step_by_sign(w, g, 0.02 * fabs(best));
        } else if (w->number == 0) {
            step(w, w->best_lambda, g, size, 0.5 * level(w, best));
        } else {
            double share = (double)(w->work - begin) / (double)length;
            step(w, w->lambda, g, size, theta0 / (1 + 99 * share * share) * gap_to(w, best));
        }
    }
    if (!w->stopped || w->bound == INT64_MIN) { /* otherwise there is no time for a little more bound */
        cfn_trws_price(&w->trws, w->best_lambda);
        pass(w, END_PASSES);
        certify(w);
    }
    free(g);
}
