/* The algorithm's table of contents is cfn_search at the end of this file. */
#include "cfn/search.h"

#include "cfn/crossover.h"
#include "cfn/dual.h"
#include "cfn/first.h"
#include "cfn/lns.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 2, CROSSOVERS = 6, STEPS_A_PHASE = 40 };
static const double unit_work = 1048576;
static const double nominal_units_per_s =
    1000; /* turns units into the schedule's seconds when no clock is given */
static const double last_stage = 0.85, most_units = 1e12;

struct search {
    const struct cfn_model *m;
    const struct cfn_budget *budget;
    struct cfn_worker worker[WORKERS];
    double position, total; /* in units of each worker */
    double rate;            /* units a second */
    double reserve_s;       /* kept for writing the answer */
    int64_t bound, shown;   /* shown: best cost reported */
    pthread_mutex_t lock;   /* of shown and the progress call */
    bool any_shown;
};

/* ---- what workers call ---- */

static bool stop(void *user)
{
    const struct search *s = user;
    const struct cfn_budget *b = s->budget;
    return (b->cancelled && b->cancelled(b->user)) ||
           (b->seconds > 0 && b->clock(b->user) >= b->seconds - s->reserve_s);
}

static void found(void *user, int number, int64_t cost, const struct cfn_point *p)
{
    struct search *s = user;
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

struct job {
    struct cfn_worker *w;
    void (*phase)(struct cfn_worker *w, int round);
    int round;
};

static void *run_job(void *user)
{
    struct job *j = user;
    j->phase(j->w, j->round);
    return NULL;
}

static double elapsed(const struct search *s)
{
    return s->budget->seconds > 0 ? s->budget->clock(s->budget->user) : 0;
}

/* gives both workers the best answer, the joint pool, and the best multipliers with their messages */
static void exchange(struct search *s)
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

static void run_phase(struct search *s, double units, void (*phase)(struct cfn_worker *, int), int round)
{
    struct job jobs[WORKERS];
    pthread_t thread;
    double left = s->total - s->position;
    units = units < left ? units : left;
    for (int k = 0; k < WORKERS; k++) {
        uint64_t begin = (uint64_t)(s->position * unit_work);
        jobs[k] = (struct job){&s->worker[k], phase, round};
        if (s->worker[k].work < begin)
            s->worker[k].work = begin;
        s->worker[k].phase_end = (uint64_t)((s->position + units) * unit_work);
    }
    bool second = s->budget->threads > 1 && pthread_create(&thread, NULL, run_job, &jobs[1]) == 0;
    run_job(&jobs[0]);
    if (second)
        pthread_join(thread, NULL);
    else
        run_job(&jobs[1]);
    for (int k = 0; k < WORKERS; k++) /* phases may end early, or pass their ends by a step */
        if ((double)s->worker[k].work > s->position * unit_work)
            s->position = (double)s->worker[k].work / unit_work;
    exchange(s);
}

static void start(struct cfn_worker *w, int round)
{
    (void)round;
    cfn_dual_start(w);
}

static void first(struct cfn_worker *w, int round)
{
    (void)round;
    cfn_first_points(w);
}

static void lns_from_phase(struct cfn_worker *w, int round)
{
    (void)round;
    cfn_lns_phase(w, w->has_best ? &w->best : &w->x);
}

/* of the best (0.7), or of an elite */
static void lns_from_pool(struct cfn_worker *w, int round)
{
    (void)round;
    bool best = !w->pool.count || rng_unit(&w->rng) < 0.7;
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

static void cross(struct cfn_worker *w, int round)
{
    (void)round;
    cfn_crossover_pool(w, CROSSOVERS);
}

/* ---- the schedule ---- */

static bool proved(const struct search *s)
{
    return s->worker[0].has_best && s->worker[0].best.cost <= s->bound;
}

/* share of the budget spent; 1 when it is over */
static double spent(const struct search *s)
{
    const struct cfn_budget *b = s->budget;
    double by_time = b->seconds > 0 ? elapsed(s) / (b->seconds - s->reserve_s) : 0;
    double by_work = b->units ? s->position / (double)b->units : 0;
    if (s->worker[0].stopped || s->worker[1].stopped || proved(s))
        return 1;
    return b->units ? (by_work > 1 ? 1 : by_work) : by_time;
}

/* The schedule's D, in units: .04 of the budget, 1.5 to 4 s of it but at most .12; on large models enough for
 * a dual phase of some steps, up to .25 */
static double phase_units(const struct search *s)
{
    const struct cfn_budget *b = s->budget;
    double seconds = b->units ? (double)b->units / s->rate : b->seconds, d = 0.04 * seconds;
    if (seconds <= 0)
        return 4 * s->rate;
    d = d < 1.5 ? 1.5 : d > 4 ? 4 : d;
    d = d < 0.12 * seconds ? d : 0.12 * seconds;
    double steps = STEPS_A_PHASE * cfn_dual_step_work(s->m) / unit_work, most = 0.25 * seconds * s->rate;
    steps = steps < most ? steps : most;
    return d * s->rate > steps ? d * s->rate : steps;
}

/* .05 of the budget, for a start and for first points each; both end by themselves when that is plenty */
static double start_units(const struct search *s)
{
    const struct cfn_budget *b = s->budget;
    return 0.05 * (b->units ? (double)b->units : b->seconds > 0 ? b->seconds * s->rate : most_units);
}

/* While a dual phase lifts the bound by .1 %, multipliers are worth more than moves under the present ones.
 */
static bool still_rising(const struct search *s, int64_t before)
{
    return before != INT64_MIN && (double)s->bound - (double)before > 0.001 * fabs((double)s->bound);
}

static void search_init(struct search *s, const struct cfn_model *m, const struct cfn_budget *b)
{
    *s = (struct search){.m = m, .budget = b, .bound = INT64_MIN, .rate = nominal_units_per_s};
    s->total = b->units ? (double)b->units : most_units;
    s->reserve_s = 0.2 + 0.005 * b->seconds;
    pthread_mutex_init(&s->lock, NULL);
    for (int k = 0; k < WORKERS; k++) {
        struct cfn_worker *w = &s->worker[k];
        cfn_worker_create(m, k, b->seed, w);
        w->stop = stop;
        w->found = found;
        w->user = s;
        w->state.stop = stop;
        w->state.user = s;
    }
}

static void search_finish(struct search *s, struct cfn_found *out)
{
    struct cfn_worker *w = &s->worker[0];
    if (w->has_best) {
        out->values = mem_zalloc((size_t)s->m->network->problem->node_count + 1, sizeof *out->values);
        cfn_point_expand(s->m, &w->best, out->values);
        out->cost = w->best.cost;
    }
    out->bound = s->bound;
    out->units = (uint64_t)s->position;
    out->cut = s->worker[0].stopped || s->worker[1].stopped || s->budget->units == 0;
    for (int k = 0; k < WORKERS; k++)
        cfn_worker_release(&s->worker[k]);
    pthread_mutex_destroy(&s->lock);
}

void cfn_search(const struct cfn_model *m, const struct cfn_budget *budget, double give_up_without,
                struct cfn_found *out)
{
    struct search s;
    *out = (struct cfn_found){.bound = INT64_MIN};
    search_init(&s, m, budget);
    unsigned without = budget->without;
    bool dual = !(without & CFN_WITHOUT_DUAL), lns = !(without & CFN_WITHOUT_LNS);
    bool crossover = !(without & CFN_WITHOUT_CROSSOVER);

    run_phase(&s, start_units(&s), start, 0);
    run_phase(&s, start_units(&s), first, 0);
    for (int round = 0; spent(&s) < last_stage && (lns || dual); round++) {
        double d = phase_units(&s);
        int64_t before = s.bound;
        if (dual)
            run_phase(&s, d, cfn_dual_phase, round);
        if (lns && spent(&s) < 1 && !still_rising(&s, before))
            run_phase(&s, d, lns_from_phase, round);
        if (crossover && spent(&s) < 1)
            run_phase(&s, d, cross, round);
        if (lns && spent(&s) < 1)
            run_phase(&s, 0.3 * d, lns_from_phase, round);
        if (!s.worker[0].has_best && spent(&s) > give_up_without)
            break;
    }
    for (int round = 0; spent(&s) < 1 && lns && s.worker[0].has_best; round++) {
        double d = phase_units(&s);
        if (crossover)
            run_phase(&s, d, cross, round);
        run_phase(&s, 0.4 * d, lns_from_pool, round);
    }
    search_finish(&s, out);
}
