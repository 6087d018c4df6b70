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

#include "cfn/clear.h"

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
    END_PASSES = 4,  /* under the best multipliers, before the certificate: fours until one gains little */
    STALL_STEPS = 40,
    TRY_EVERY = 4, /* steps, while no answer is known: repairs that fail take long */
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
static const double rate_stuck = 0.5;      /* of all rates, when there was nothing to move */
static const double least_gain = 1e-7;     /* of the bound, for another END_PASSES */
static const double least_gap_gain = 1e-4; /* of the gap to the best answer, likewise */
static const double worth_steps =
    1e-3;                             /* of that gap: what STALL_STEPS gain at least, or the phase is over */
static const double usage_kept = 0.7; /* of the averaged usage, by the step */
/* a quick certificate gives away a part in 10^7: nearer to the best answer than this the exact one decides */
static const double near_best = 1e-5;
/* an answer will probably cost at most so many times the bound */
static const double likely_above = 1.25;
/* worth a repair: this far beyond the limit without and with an answer, and this much dearer than it */
static const double excess_without = 0.25, excess_with = 0.1, dearer = 0.02;

static double pass(struct cfn_worker *worker, int passes)
{
    double bound = 0;
    for (int k = 0; k < passes; k++)
        bound = cfn_trws_iterate(&worker->trws);
    worker->work += (uint64_t)passes * (2 * worker->trws.model->table_work + worker->model->forest_work);
    return bound;
}

int64_t cfn_dual_bound(struct cfn_worker *worker)
{
    int64_t bound = cfn_trws_certify_quickly(&worker->trws);
    worker->work += 2 * worker->trws.model->table_work;
    if (bound > INT64_MIN && worker->has_best &&
        (double)bound < (double)worker->best.cost - near_best * fabs((double)worker->best.cost))
        return bound;
    worker->work += CFN_CERTIFY_PASSES * worker->trws.model->table_work;
    int64_t exact = cfn_trws_certify(&worker->trws);
    return exact > bound ? exact : bound;
}

void cfn_dual_certify(struct cfn_worker *worker)
{
    int64_t bound = cfn_dual_bound(worker);
    worker->bound = bound > worker->bound ? bound : worker->bound;
}

/* worth a repair, once nothing in it is forbidden: nearly within the limit, not much dearer than the best */
static bool promising(const struct cfn_worker *worker, int step)
{
    if (!worker->has_best)
        return step % TRY_EVERY == 0 &&
               (double)worker->point.worst < excess_without * (double)worker->model->limit;
    return (double)worker->point.worst < excess_with * (double)worker->model->limit &&
           (double)worker->point.cost < (double)worker->best.cost + dearer * fabs((double)worker->best.cost);
}

void cfn_dual_start(struct cfn_worker *worker)
{
    for (int k = 0; k < START_PASSES && (k == 0 || !cfn_worker_done(worker)); k++)
        worker->best_estimate = pass(worker, 1);
    cfn_dual_certify(worker);
    cfn_trws_round(&worker->trws, worker->point.value);
    cfn_price_unary(worker->model, worker->trws.prices, 1, worker->unary);
    cfn_worker_improve(worker, START_MOVES);
    if (promising(worker, 0) && cfn_clear(worker) && promising(worker, 0))
        cfn_worker_finish(worker, &worker->point);
}

/* The subgradient from the averaged usage, relative to the limit: the peak of every violated stretch, and
 * every slack time that has a price. Returns its squared length. */
static double subgradient(struct cfn_worker *worker, double *g)
{
    const struct cfn_model *model = worker->model;
    double limit = model->limit > 0 ? (double)model->limit : 1, length = 0;
    for (int32_t time = 0; time < model->time_count;) {
        double over = (worker->average[time] - (double)model->limit) / limit;
        g[time] = 0;
        if (over <= 0) {
            if (worker->lambda[time] > 0)
                g[time] = over < CFN_STEP_SLACK ? CFN_STEP_SLACK : over;
            length += g[time] * g[time];
            time++;
            continue;
        }
        int32_t peak = time;
        for (; time < model->time_count && worker->average[time] > (double)model->limit; time++) {
            g[time] = 0;
            peak = worker->average[time] > worker->average[peak] ? time : peak;
        }
        over = (worker->average[peak] - (double)model->limit) / limit;
        g[peak] = over > CFN_STEP_EXCESS ? CFN_STEP_EXCESS : over;
        length += g[peak] * g[peak];
    }
    return length;
}

/* by sign, each time with a rate of its own: grows while the direction holds, shrinks when it turns */
static void step_by_sign(struct cfn_worker *worker, const double *g, double rate)
{
    double limit = worker->model->limit > 0 ? (double)worker->model->limit : 1;
    for (int32_t time = 0; time < worker->model->time_count; time++) {
        int32_t way = g[time] > 0 ? 1 : g[time] < 0 ? -1 : 0, run = worker->sign[time];
        if (way == 0)
            continue;
        if (worker->rate[time] <= 0)
            worker->rate[time] = rate;
        bool same = (run > 0) == (way > 0) && run != 0;
        if (run != 0 && !same)
            worker->rate[time] *= rate_turned;
        else if (run >= 2 && g[time] >= CFN_STEP_EXCESS)
            /* far beyond the limit: the price has its order of magnitude still to find */
            worker->rate[time] *= rate_far;
        else if (run >= 3 || run <= -3)
            worker->rate[time] *= rate_along;
        worker->sign[time] = same ? run + way : way;
        worker->lambda[time] += way * worker->rate[time] / limit;
        worker->lambda[time] = worker->lambda[time] > 0 ? worker->lambda[time] : 0;
    }
}

/* From the best multipliers a step too far costs one step (Barahona and Anbil's volume algorithm); from the
 * last ones (Polyak) steps wander further, and find bounds that the others do not. Workers take one each. */
static void step(struct cfn_worker *worker, const double *from, const double *g, double length, double level)
{
    double limit = worker->model->limit > 0 ? (double)worker->model->limit : 1,
           size = level / (length + CFN_STEP_LENGTH);
    for (int32_t time = 0; time < worker->model->time_count; time++) {
        worker->lambda[time] = from[time] + size * g[time] / limit;
        worker->lambda[time] = worker->lambda[time] > 0 ? worker->lambda[time] : 0;
    }
}

double cfn_dual_step_work(const struct cfn_model *model)
{
    return 3.0 * (double)model->table_work + FEW_MOVES * (double)model->forest_work;
}

static void one_step(struct cfn_worker *worker, int passes, int moves, int step)
{
    const struct cfn_model *model = worker->model;
    cfn_trws_price(&worker->trws, worker->lambda);
    double bound = pass(worker, passes), keep = step == 0 ? 0 : usage_kept;
    if (bound > worker->best_estimate) {
        worker->best_estimate = bound;
        memcpy(worker->best_lambda, worker->lambda, (size_t)model->time_count * sizeof *worker->lambda);
    }
    cfn_trws_round(&worker->trws, worker->point.value);
    cfn_price_unary(model, worker->trws.prices, 1, worker->unary);
    worker->work += cfn_price_work(model);
    cfn_worker_improve(worker, moves);
    for (int32_t time = 0; time < model->time_count; time++)
        worker->average[time] = keep * worker->average[time] + (1 - keep) * (double)worker->profile[time];
    if (promising(worker, step) && cfn_clear(worker) && promising(worker, step))
        cfn_worker_finish(worker, &worker->point);
}

/* the scale of steps: what an answer will probably cost. The best so far may still be many times that. */
static double likely_cost(const struct cfn_worker *worker)
{
    double best = worker->has_best ? (double)worker->best.cost : (double)worker->point.cost,
           most = likely_above * worker->best_estimate;
    return worker->best_estimate > 0 && best > most ? most : best;
}

static double gap_to(const struct cfn_worker *worker, double best)
{
    double gap = best - worker->best_estimate, most = most_gap * fabs(best);
    return gap > most ? most : gap < 1 ? 1 : gap;
}

/* How far above the best bound steps aim: further while the bound rises, nearer when it has not for a while,
 * never beyond the best answer nor a fifth of it. */
static double level(struct cfn_worker *worker, double best)
{
    double gap = gap_to(worker, best);
    if (!(worker->level > 0))
        worker->level = first_level * fabs(best);
    if (worker->best_estimate > worker->level_estimate) {
        worker->level *= level_up;
        worker->level_steps = 0;
    } else if (++worker->level_steps % LEVEL_STEPS == 0) {
        worker->level *= level_down;
    }
    worker->level_estimate = worker->best_estimate;
    worker->level = worker->level > gap                 ? gap
                    : worker->level < least_level * gap ? least_level * gap
                                                        : worker->level;
    return worker->level;
}

/* Nothing to move: the averaged usage is within the limit and nothing has a price. The average forgets slowly
 * (a first step that goes too far is followed by one that takes all prices back), so this step's usage
 * decides; where that is slack, too, on from the best multipliers with shorter steps. 0: those are 0, and
 * within the limit: what is left to gain comes from passes alone. */
static double unstick(struct cfn_worker *worker, double *g)
{
    const struct cfn_model *model = worker->model;
    bool priced = false;
    for (int32_t time = 0; time < model->time_count; time++) {
        worker->average[time] = (double)worker->profile[time];
        worker->rate[time] *= rate_stuck;
        worker->sign[time] = 0;
        priced = priced || worker->best_lambda[time] > 0;
    }
    double size = subgradient(worker, g);
    if (size > 0 || !priced)
        return size;
    memcpy(worker->lambda, worker->best_lambda, (size_t)model->time_count * sizeof *worker->lambda);
    return subgradient(worker, g);
}

/* passes under the best multipliers until some gain next to nothing, or the phase ends */
static void settle(struct cfn_worker *worker, bool until_still)
{
    cfn_trws_price(&worker->trws, worker->best_lambda);
    for (double before = pass(worker, END_PASSES); until_still && !cfn_worker_done(worker);) {
        double bound = pass(worker, END_PASSES);
        double gap = worker->has_best ? (double)worker->best.cost - bound : 0;
        if (bound - before < least_gain * fabs(bound) || bound - before < least_gap_gain * gap)
            break;
        before = bound;
    }
}

void cfn_dual_phase(struct cfn_worker *worker, int round)
{
    const struct cfn_model *model = worker->model;
    double *g = mem_zalloc((size_t)model->time_count + 1, sizeof *g);
    uint64_t begin = worker->work, length = worker->phase_end > begin ? worker->phase_end - begin : 1;
    double theta0 = first_theta;
    for (int k = 0; k < round && theta0 > least_theta; k++)
        theta0 *= theta_a_round;
    bool cheap = (double)length < ENOUGH_STEPS * cfn_dual_step_work(model);
    memcpy(worker->lambda, worker->best_lambda, (size_t)model->time_count * sizeof *worker->lambda);
    double stalled_at = worker->best_estimate;
    for (int k = 0; !cfn_worker_done(worker); k++) {
        if (k % STALL_STEPS == STALL_STEPS - 1 && worker->sign_steps >= SIGN_STEPS) {
            if (worker->has_best &&
                worker->best_estimate - stalled_at < worth_steps * gap_to(worker, (double)worker->best.cost))
                break;
            stalled_at = worker->best_estimate;
        }
        one_step(worker, cheap || (round + worker->number) % 2 == 0 ? 1 : MANY_PASSES,
                 cheap ? FEW_MOVES : MAX_MOVES, k);
        double size = subgradient(worker, g), best = likely_cost(worker);
        if (size <= 0 && k > 0 && worker->goes_on)
            size = unstick(worker, g);
        if (size <= 0 && k > 0)
            break; /* nothing to move: without usage limits in force */
        if (worker->sign_steps < SIGN_STEPS) {
            worker->sign_steps++;
            step_by_sign(worker, g, first_rate * fabs(best));
        } else if (worker->number == 0) {
            step(worker, worker->best_lambda, g, size, level_used * level(worker, best));
        } else {
            double share = (double)(worker->work - begin) / (double)length;
            step(worker, worker->lambda, g, size,
                 theta0 / (1 + theta_fall * share * share) * gap_to(worker, best));
        }
    }
    if (!worker->stopped ||
        worker->bound == INT64_MIN) { /* otherwise there is no time for a little more bound */
        settle(worker, worker->goes_on);
        cfn_dual_certify(worker);
    }
    free(g);
}
