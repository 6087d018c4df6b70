/* The search as a schedule of phases; the table `schedule` below is the algorithm's table of contents.
 *
 *   first points, start                                     answers and a bound before there are multipliers
 *   +-> dual        multipliers, bound, repaired points     again at once while the bound still rises
 *   |   moves       large-neighbourhood search
 *   |   crossover   the best with elites
 *   |   moves       shorter, from the best
 *   |   prove       branch and bound on small models (worker 0), moves (worker 1)
 *   +-- round       a run that has stopped improving joins the others once, then a new one begins
 *   +-> crossover, moves or prove, until the budget ends    with the answers of all runs
 *
 * Two logical workers do each phase with seeds of their own, and exchange at its end: best answer, elites,
 * multipliers. How many threads there are decides how long that takes and nothing else. Phases are measured
 * in table entries, so that a search that is told units gives the same bytes everywhere; a clock, when there
 * is one, can only end it. */
#include "cfn/search.h"

#include "cfn/crossover.h"
#include "cfn/dual.h"
#include "cfn/first.h"
#include "cfn/lns.h"
#include "cfn/prove.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    CROSSOVERS = 6,        /* of a crossover phase; it ends by itself */
    STEPS_A_PHASE = 40,    /* of the multipliers, that a dual phase should have room for */
    PROVE_IDLE = 2,        /* phases of branching in a row that did not raise the bound: then only */
    PROVE_IDLE_ROUNDS = 8, /* one round in so many tries again */
    STALE_ROUNDS = 2,      /* without a better answer, before a run ends */
};
static const double unit_work = 1048576; /* table entries */
/* turns units into the schedule's seconds when no clock is given */
static const double nominal_units_per_s = 1000;
/* The length D of a phase: this share of the budget, but within two lengths of time; on short budgets at
 * most, and on large models up to, a share of the budget. */
static const double phase_share = 0.04, least_phase_s = 1.5, most_phase_s = 2;
static const double most_phase_share = 0.12, most_large_phase_share = 0.25;
static const double start_share = 0.05; /* of the budget, for a start and for first points each */
static const double best_odds = 0.7;    /* of moves from the best answer rather than from an elite */
/* a dual phase that lifts the bound by this share is followed by another */
static const double rising = 0.001;
/* kept of the time: for writing the answer; of the budget; for a pass, but at most a share of the budget */
static const double write_s = 0.2, write_share = 0.005, most_pass_share = 0.25;
/* what cannot be interrupted, a pass or a certificate, takes at most so long for each table entry */
static const double slow_entry_s = 6e-9;
static const double probe_share = 0.05; /* of the budget, for probing every value before branching */
static const double last_stage = 0.85, most_units = 1e12;
static const double worth_waiting = 5e-6; /* of the cost: a run that gains less in a round is over soon */

/* ---- what workers call ---- */

static bool stop(void *user)
{
    const struct cfn_search *s = user;
    const struct cfn_budget *b = s->budget;
    return (b->cancelled && b->cancelled(b->user)) ||
           (b->seconds > 0 && b->clock(b->user) >= b->seconds - s->reserve_s);
}

static void found(void *user, int number, int64_t cost, const struct cfn_point *p)
{
    struct cfn_search *s = user;
    (void)number;
    (void)p;
    pthread_mutex_lock(&s->lock);
    if (!s->any_shown || cost < s->shown) {
        s->shown = cost;
        s->any_shown = true;
        if (s->budget->progress)
            s->budget->progress(s->budget->user, cost, s->bound);
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- phases ---- */

static double elapsed(const struct cfn_search *s)
{
    return s->budget->seconds > 0 ? s->budget->clock(s->budget->user) : 0;
}

/* gives both workers the best answer, the joint pool, and the best multipliers with their messages */
static void exchange(struct cfn_search *s)
{
    const struct cfn_model *m = s->m;
    struct cfn_worker *a = &s->worker[0], *b = &s->worker[1];
    for (int k = 0; k < 2; k++) {
        struct cfn_worker *from = k ? b : a, *to = k ? a : b;
        if (from->has_best && (!to->has_best || from->best.cost < to->best.cost)) {
            cfn_point_copy(m, &to->best, &from->best);
            to->has_best = true;
        }
        for (int i = 0; i < from->pool.count; i++)
            cfn_pool_add(m, &to->pool, &from->pool.at[i]);
        if (from->best_estimate > to->best_estimate) {
            memcpy(to->best_lambda, from->best_lambda, (size_t)m->time_count * sizeof(double));
            memcpy(to->trws.message, from->trws.message, m->message_count * sizeof(double));
            to->best_estimate = from->best_estimate;
        }
        s->bound = from->bound > s->bound ? from->bound : s->bound;
    }
    if (s->budget->units == 0 && s->budget->seconds > 0 && elapsed(s) > 0)
        s->rate = s->position / elapsed(s);
}

static void lns_from_phase(struct cfn_worker *w)
{
    cfn_lns_phase(w, w->has_best ? &w->best : &w->x);
}

/* of the best, or of an elite */
static void lns_from_pool(struct cfn_worker *w)
{
    bool best = !w->pool.count || rng_unit(&w->rng) < best_odds;
    int elite = best ? 0 : (int)rng_below(&w->rng, (uint64_t)w->pool.count);
    if (!w->has_best) {
        cfn_lns_phase(w, &w->x);
        return;
    }
    struct cfn_point from;
    cfn_point_create(w->m, &from);
    cfn_point_copy(w->m, &from, best ? &w->best : &w->pool.at[elite]);
    cfn_lns_phase(w, &from);
    cfn_point_release(&from);
}

/* the best answer of all runs; NULL: none */
static const struct cfn_point *best_of_all(const struct cfn_search *s)
{
    const struct cfn_worker *w = &s->worker[0];
    if (s->hall.count && (!w->has_best || s->hall.at[0].cost < w->best.cost))
        return &s->hall.at[0];
    return w->has_best ? &w->best : NULL;
}

/* Worker 0 may try to raise the bound by branching, while the other goes on with moves. */
static bool may_prove(const struct cfn_search *s)
{
    if (s->idle >= PROVE_IDLE && s->round % PROVE_IDLE_ROUNDS != 0)
        return false; /* it did not help of late: now and then, when answers and multipliers are better */
    const struct cfn_budget *b = s->budget;
    double units = b->units ? (double)b->units : b->seconds > 0 ? b->seconds * s->rate : most_units;
    return !(b->without & CFN_WITHOUT_PROVE) && best_of_all(s) &&
           cfn_prove_probe_work(s->m) < probe_share * units * unit_work;
}

/* What branching leaves out is what cannot beat the best answer of all runs: it is measured by that one,
 * always, or its bound would be none. */
static void prove(struct cfn_search *s, struct cfn_worker *w)
{
    const struct cfn_point *best = best_of_all(s);
    bool has_own = w->has_best, other = best != &w->best;
    struct cfn_point own;
    cfn_point_create(s->m, &own);
    if (other) {
        cfn_point_copy(s->m, &own, &w->best);
        cfn_point_copy(s->m, &w->best, best);
        w->has_best = true;
    }
    cfn_prove_phase(w);
    if (other && w->best.cost >= best->cost) {
        cfn_point_copy(s->m, &w->best, &own);
        w->has_best = has_own;
    }
    cfn_point_release(&own);
}

void cfn_search_work(struct cfn_search *s, int number)
{
    struct cfn_worker *w = &s->worker[number];
    uint64_t begin = (uint64_t)(s->position * unit_work);
    w->work = w->work < begin ? begin : w->work;
    w->phase_end = (uint64_t)((s->position + s->units) * unit_work);
    cfn_worker_begin(w);
    switch (s->part) {
    case CFN_PART_START: cfn_dual_start(w); break;
    case CFN_PART_FIRST: cfn_first_points(w); break;
    case CFN_PART_DUAL: cfn_dual_phase(w, s->round); break;
    case CFN_PART_LNS:
    case CFN_PART_LNS_SHORT: lns_from_phase(w); break;
    case CFN_PART_CROSS:
    case CFN_PART_LAST_CROSS: cfn_crossover_pool(w, CROSSOVERS); break;
    case CFN_PART_PROVE:
    case CFN_PART_LAST_LNS:
        if (number == 0 && may_prove(s))
            prove(s, w);
        else
            lns_from_pool(w);
        break;
    case CFN_PART_OVER: break;
    }
    cfn_worker_spend(w);
}

void cfn_search_join(struct cfn_search *s)
{
    bool proving = (s->part == CFN_PART_PROVE || s->part == CFN_PART_LAST_LNS) && may_prove(s);
    int64_t before = s->bound;
    for (int k = 0; k < CFN_WORKERS; k++) /* phases may end early, or pass their ends by a step */
        if ((double)s->worker[k].work > s->position * unit_work)
            s->position = (double)s->worker[k].work / unit_work;
    exchange(s);
    if (proving)
        s->idle = s->bound > before ? 0 : s->idle + 1;
}

/* ---- runs: answers found one from another end in one valley; another run may end in a deeper one ---- */

/* the workers go on from the answers of all runs */
static void join_runs(struct cfn_search *s)
{
    for (int k = 0; k < CFN_WORKERS && s->hall.count; k++) {
        struct cfn_worker *w = &s->worker[k];
        for (int i = 0; i < s->hall.count; i++)
            cfn_pool_add(s->m, &w->pool, &s->hall.at[i]);
        if (!w->has_best || s->hall.at[0].cost < w->best.cost)
            cfn_point_copy(s->m, &w->best, &s->hall.at[0]);
        w->has_best = true;
    }
    s->joint = true;
}

static void begin_run(struct cfn_search *s)
{
    for (int k = 0; k < CFN_WORKERS; k++) {
        s->worker[k].has_best = false;
        s->worker[k].pool.count = 0;
        s->worker[k].rho = 0;
    }
    s->joint = false;
    s->run_best = INT64_MAX;
    s->stale = 0;
}

/* At a round's end: a run that has not got better of late meets the others, once; when that leads nowhere
 * either, a new one begins with the multipliers that there are. */
static void end_round(struct cfn_search *s)
{
    const struct cfn_worker *w = &s->worker[0];
    if (!w->has_best)
        return;
    bool better = s->run_best == INT64_MAX ||
                  (double)(s->run_best - w->best.cost) > worth_waiting * fabs((double)s->run_best);
    s->run_best = w->best.cost < s->run_best ? w->best.cost : s->run_best;
    s->stale = better ? 0 : s->stale + 1;
    if (s->stale < STALE_ROUNDS)
        return;
    cfn_pool_add(s->m, &s->hall, &w->best);
    if (s->joint || s->hall.count == 1) {
        begin_run(s);
        return;
    }
    join_runs(s);
    s->run_best = w->best.cost;
    s->stale = STALE_ROUNDS - 1;
}

/* ---- the schedule ---- */

static bool proved(const struct cfn_search *s)
{
    const struct cfn_point *best = best_of_all(s);
    return best && best->cost <= s->bound;
}

double cfn_search_spent(const struct cfn_search *s)
{
    const struct cfn_budget *b = s->budget;
    double by_time = b->seconds > 0 ? elapsed(s) / (b->seconds - s->reserve_s) : 0;
    double by_work = b->units ? s->position / (double)b->units : 0;
    if (s->worker[0].stopped || s->worker[1].stopped || proved(s))
        return 1;
    return b->units ? (by_work > 1 ? 1 : by_work) : by_time;
}

/* The schedule's D, in units; on large models enough for a dual phase of STEPS_A_PHASE steps. */
static double phase_units(const struct cfn_search *s)
{
    const struct cfn_budget *b = s->budget;
    double seconds = b->units ? (double)b->units / s->rate : b->seconds, d = phase_share * seconds;
    if (seconds <= 0)
        return 4 * s->rate;
    d = d < least_phase_s ? least_phase_s : d > most_phase_s ? most_phase_s : d;
    d = d < most_phase_share * seconds ? d : most_phase_share * seconds;
    double steps = STEPS_A_PHASE * cfn_dual_step_work(s->m) / unit_work,
           most = most_large_phase_share * seconds * s->rate;
    steps = steps < most ? steps : most;
    return d * s->rate > steps ? d * s->rate : steps;
}

/* a start and first points end by themselves when this is plenty */
static double start_units(const struct cfn_search *s)
{
    const struct cfn_budget *b = s->budget;
    return start_share * (b->units ? (double)b->units : b->seconds > 0 ? b->seconds * s->rate : most_units);
}

/* While dual phases lift the bound, multipliers are worth more than moves under the present ones. */
static bool still_rising(const struct cfn_search *s)
{
    return s->before != INT64_MIN && (double)s->bound - (double)s->before > rising * fabs((double)s->bound);
}

/* In order; the five of a round repeat until .85 of the budget, the last two until its end. */
static const struct {
    enum cfn_part part;
    unsigned needs; /* switched off with this technique; 0: always there */
    double length;  /* in the schedule's D; 0: a start's */
} schedule[] = {
    {CFN_PART_FIRST, 0, 0},
    {CFN_PART_START, 0, 0},
    {CFN_PART_DUAL, CFN_WITHOUT_DUAL, 1},
    {CFN_PART_LNS, CFN_WITHOUT_LNS, 1}, /* not while the bound is rising */
    {CFN_PART_CROSS, CFN_WITHOUT_CROSSOVER, 1},
    {CFN_PART_LNS_SHORT, CFN_WITHOUT_LNS, 0.3},
    {CFN_PART_PROVE, CFN_WITHOUT_PROVE, 1}, /* on small models */
    {CFN_PART_LAST_CROSS, CFN_WITHOUT_CROSSOVER, 1},
    {CFN_PART_LAST_LNS, CFN_WITHOUT_LNS, 0.4},
    {CFN_PART_OVER, 0, 0},
};

static enum cfn_part follower(struct cfn_search *s)
{
    const unsigned both = CFN_WITHOUT_DUAL | CFN_WITHOUT_LNS;
    bool lns = !(s->budget->without & CFN_WITHOUT_LNS), may_end = lns && best_of_all(s);
    if (!s->begun)
        return CFN_PART_FIRST;
    if (s->part == CFN_PART_START && (s->budget->without & both) == both)
        return CFN_PART_OVER;
    if (s->part == CFN_PART_LAST_LNS)
        return CFN_PART_LAST_CROSS;
    if (s->part != CFN_PART_PROVE)
        return s->part + 1;
    double spent = cfn_search_spent(s);
    if (!best_of_all(s) && spent > s->give_up_without)
        return CFN_PART_OVER;
    if (spent >= last_stage) {
        join_runs(s);
        return may_end ? CFN_PART_LAST_CROSS : CFN_PART_OVER;
    }
    end_round(s);
    s->round++;
    return CFN_PART_DUAL;
}

bool cfn_search_next(struct cfn_search *s)
{
    while (s->part != CFN_PART_OVER) {
        s->part = follower(s);
        if (s->begun && cfn_search_spent(s) >= 1)
            s->part = CFN_PART_OVER;
        s->begun = true;
        if (s->part == CFN_PART_OVER || (schedule[s->part].needs & s->budget->without) ||
            (s->part == CFN_PART_LNS && still_rising(s)) ||
            (s->part == CFN_PART_PROVE && (!may_prove(s) || still_rising(s))))
            continue;
        if (s->part == CFN_PART_DUAL)
            s->before = s->bound;
        double length = schedule[s->part].length, left = s->total - s->position;
        s->units = length > 0 ? length * phase_units(s) : start_units(s);
        s->units = s->units < left ? s->units : left;
        return true;
    }
    return false;
}

/* ---- life ---- */

void cfn_search_create(const struct cfn_model *m, const struct cfn_budget *b, double give_up_without,
                       struct cfn_search *s)
{
    *s = (struct cfn_search){.m = m,
                             .budget = b,
                             .bound = INT64_MIN,
                             .before = INT64_MIN,
                             .run_best = INT64_MAX,
                             .rate = nominal_units_per_s,
                             .give_up_without = give_up_without};
    s->total = b->units ? (double)b->units : most_units;
    double pass_s = (double)m->table_work * slow_entry_s;
    s->reserve_s = write_s + write_share * b->seconds +
                   (pass_s < most_pass_share * b->seconds ? pass_s : most_pass_share * b->seconds);
    pthread_mutex_init(&s->lock, NULL);
    for (int i = 0; i < CFN_POOL; i++)
        cfn_point_create(m, &s->hall.at[i]);
    for (int k = 0; k < CFN_WORKERS; k++) {
        struct cfn_worker *w = &s->worker[k];
        cfn_worker_create(m, k, b->seed, w);
        w->stop = w->state.stop = stop;
        w->found = found;
        w->user = w->state.user = s;
    }
}

void cfn_search_release(struct cfn_search *s)
{
    for (int k = 0; k < CFN_WORKERS; k++)
        cfn_worker_release(&s->worker[k]);
    for (int i = 0; i < CFN_POOL; i++)
        cfn_point_release(&s->hall.at[i]);
    pthread_mutex_destroy(&s->lock);
}

void cfn_search_result(const struct cfn_search *s, struct cfn_found *out)
{
    const struct cfn_point *best = best_of_all(s);
    *out = (struct cfn_found){.bound = s->bound, .units = (uint64_t)s->position};
    if (best) {
        out->values = mem_zalloc((size_t)s->m->network->problem->node_count + 1, sizeof *out->values);
        cfn_point_expand(s->m, best, out->values);
        out->cost = best->cost;
    }
    out->cut = s->worker[0].stopped || s->worker[1].stopped || s->budget->units == 0;
}

/* ---- all of it in this process ---- */

static void *second_worker(void *user)
{
    cfn_search_work(user, 1);
    return NULL;
}

void cfn_search_run(struct cfn_search *s)
{
    while (cfn_search_next(s)) {
        pthread_t thread;
        bool second = s->budget->threads > 1 && pthread_create(&thread, NULL, second_worker, s) == 0;
        cfn_search_work(s, 0);
        if (second)
            pthread_join(thread, NULL);
        else
            cfn_search_work(s, 1);
        cfn_search_join(s);
    }
}
