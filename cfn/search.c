/* The search as a schedule of phases; the table `schedule` below is the algorithm's table of contents.
 *
 *   first points, start                                     answers and a bound before there are multipliers
 *   +-> dual        multipliers, bound, repaired points     again at once while the bound still rises
 *   |   tighten     clusters of three nodes (worker 0), moves (worker 1); where cycles leave a gap
 *   |   branch      among likely values, for answers; on small models with a wide gap, before the proof
 *   |   dives       a node held at a value, carried through the network; on small models
 *   |   moves       large-neighbourhood search; on small models mostly among likely values
 *   |   crossover   the best with elites
 *   |   moves       shorter, from the best
 *   |   prove       branch and bound on small models (worker 0, and 1 where leaves suffice), or moves
 *   +-- round       a run that has stopped improving joins the others once, then a new one begins
 *   +-> crossover, moves, prove, until the budget ends    with the answers of all runs
 *
 * Two logical workers do each phase with seeds of their own, and exchange at its end: best answer, elites,
 * multipliers. How many threads there are decides how long that takes and nothing else. Phases are measured
 * in table entries, so that a search that is told units gives the same bytes everywhere; a clock, when there
 * is one, can only end it. */
#include "cfn/search.h"

#include "cfn/crossover.h"
#include "cfn/dive.h"
#include "cfn/dual.h"
#include "cfn/first.h"
#include "cfn/likely.h"
#include "cfn/lns.h"
#include "cfn/prove.h"
#include "cfn/tighten.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    CROSSOVERS = 6,        /* of a crossover phase; it ends by itself */
    STEPS_A_PHASE = 40,    /* of the multipliers, that a dual phase should have room for */
    PROVE_IDLE = 2,        /* phases of branching in a row that did not raise the bound: then only */
    PROVE_IDLE_ROUNDS = 8, /* one round in so many tries again */
    MOST_DIVE_NODES = 1000,
    LEAST_DIVES = 48,   /* that a part of a phase should have room for; or one on every node */
    TIGHTEN_STEPS = 10, /* that tightening should have room for, of some six passes each */
    TIGHTEN_PASSES = 6,
    TIGHTEN_IDLE_ROUNDS = 6, /* after one that gained little, before it is tried again */
    TIGHTEN_PHASES = 3,      /* lengths of a phase that tightening may take, at most; it ends by itself */
    LEAST_SHARED = 8,        /* leaves, for two workers to branch */
    LEAST_EXPANDED = 24,     /* that a phase of branching should have room for */
    STALE_ROUNDS = 2,        /* without a better answer, before a run ends */
};
static const double unit_work = 1048576; /* table entries */
/* turns units into the schedule's seconds when no clock is given */
static const double nominal_units_per_s = 1000;
/* The length D of a phase: this share of the budget, but within two lengths of time; on short budgets at
 * most, and on large models up to, a share of the budget. */
static const double phase_share = 0.04, least_phase_s = 0.03, least_dual_s = 1.5, most_phase_s = 2;
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
static const double dive_share = 0.5;   /* of D, has room for LEAST_DIVES */
/* of phases of multipliers and dives, once leaves of the proof have multipliers and landings of their own */
static const double beside_leaves = 0.25;
static const double sweep_share =
    0.1; /* of tightening's work: cells that a sweep over all clusters touches */
/* gap worth it, of the cost; while multipliers rise, and for branching for answers; raise of the bound worth
 * another, of the gap */
static const double least_gap = 1e-3, wide_gap = 0.05, worth_tightening = 0.01;
static const double last_stage = 0.85, most_units = 1e12;
static const double worth_waiting = 5e-6; /* of the cost: a run that gains less in a round is over soon */

/* ---- what workers call ---- */

static bool stop(void *user)
{
    const struct cfn_search *search = user;
    const struct cfn_budget *budget = search->budget;
    return (budget->cancelled && budget->cancelled(budget->user)) ||
           (budget->seconds > 0 && budget->clock(budget->user) >= budget->seconds - search->reserve_s);
}

static void found(void *user, int number, int64_t cost, const struct cfn_point *point)
{
    struct cfn_search *search = user;
    (void)number;
    (void)point;
    pthread_mutex_lock(&search->lock);
    if (!search->any_shown || cost < search->shown) {
        search->shown = cost;
        search->any_shown = true;
        if (search->budget->progress)
            search->budget->progress(search->budget->user, cost, search->bound);
    }
    pthread_mutex_unlock(&search->lock);
}

/* the bound rose, while the best answer is as it was */
static void show_bound(struct cfn_search *search)
{
    if (search->any_shown && search->budget->progress)
        search->budget->progress(search->budget->user, search->shown, search->bound);
}

/* ---- phases ---- */

static double elapsed(const struct cfn_search *search)
{
    return search->budget->seconds > 0 ? search->budget->clock(search->budget->user) : 0;
}

/* gives both workers the best answer, the joint pool, and the best multipliers with their messages */
static void exchange(struct cfn_search *search)
{
    const struct cfn_model *model = search->model;
    struct cfn_worker *first = &search->worker[0], *second = &search->worker[1];
    for (int k = 0; k < 2; k++) {
        struct cfn_worker *from = k ? second : first, *to = k ? first : second;
        if (from->has_best && (!to->has_best || from->best.cost < to->best.cost)) {
            cfn_point_copy(model, &to->best, &from->best);
            to->has_best = true;
        }
        for (int i = 0; i < from->pool.count; i++)
            cfn_pool_add(model, &to->pool, &from->pool.at[i]);
        if (from->best_estimate > to->best_estimate) {
            memcpy(to->best_lambda, from->best_lambda, (size_t)model->time_count * sizeof(double));
            memcpy(to->trws.message, from->trws.message, from->trws.model->message_count * sizeof(double));
            if (from->clusters) {
                memcpy(to->clusters->moved, from->clusters->moved,
                       from->clusters->moved_count * sizeof(int64_t));
                cfn_clusters_load(to->clusters);
            }
            to->best_estimate = from->best_estimate;
        }
        search->bound = from->bound > search->bound ? from->bound : search->bound;
    }
    if (search->budget->units == 0 && search->budget->seconds > 0 && elapsed(search) > 0)
        search->rate = search->position / elapsed(search);
}

static void lns_from_phase(struct cfn_worker *worker)
{
    cfn_lns_phase(worker, worker->has_best ? &worker->best : &worker->point);
}

/* of the best, or of an elite */
static void lns_from_pool(struct cfn_worker *worker)
{
    bool best = !worker->pool.count || rng_unit(&worker->rng) < best_odds;
    int elite = best ? 0 : (int)rng_below(&worker->rng, (uint64_t)worker->pool.count);
    if (!worker->has_best) {
        cfn_lns_phase(worker, &worker->point);
        return;
    }
    struct cfn_point from;
    cfn_point_create(worker->model, &from);
    cfn_point_copy(worker->model, &from, best ? &worker->best : &worker->pool.at[elite]);
    cfn_lns_phase(worker, &from);
    cfn_point_release(&from);
}

/* A phase of moves: the second worker's is among likely values, and the first's in every other round; answers
 * that the bound does not point to are found among all. Where a model is as small as the proof wants it. */
static void moves(const struct cfn_search *search, struct cfn_worker *worker,
                  void (*phase)(struct cfn_worker *))
{
    bool likely = worker->number == 1 || search->round % 2 == 1;
    if (likely && !(search->budget->without & CFN_WITHOUT_LIKELY) && cfn_prove_suits(search->model))
        cfn_likely_phase(worker, phase);
    else
        phase(worker);
}

/* the best answer of all runs as a worker knows it, without looking at the other: between phases both know
 * the same; NULL: none */
static const struct cfn_point *best_known(const struct cfn_search *search, const struct cfn_worker *worker)
{
    if (search->hall.count && (!worker->has_best || search->hall.at[0].cost < worker->best.cost))
        return &search->hall.at[0];
    return worker->has_best ? &worker->best : NULL;
}

static const struct cfn_point *best_of_all(const struct cfn_search *search)
{
    return best_known(search, &search->worker[0]);
}

static double budget_units(const struct cfn_search *search)
{
    const struct cfn_budget *budget = search->budget;
    return budget->units         ? (double)budget->units
           : budget->seconds > 0 ? budget->seconds * search->rate
                                 : most_units;
}

/* table entries that probing values before branching may take */
static double probing_work(const struct cfn_search *search)
{
    return probe_share * budget_units(search) * unit_work;
}

/* Worker 0 may try to raise the bound by branching, while the other goes on with moves or helps. */
static bool may_prove(const struct cfn_search *search, const struct cfn_worker *worker)
{
    if (search->idle >= PROVE_IDLE && search->round % PROVE_IDLE_ROUNDS != 0)
        return false; /* it did not help of late: now and then, when answers and multipliers are better */
    const struct cfn_budget *budget = search->budget;
    bool suits = budget->without & CFN_WITHOUT_FIXING
                     ? cfn_prove_probe_work(search->model) < probing_work(search)
                     : cfn_prove_suits(search->model);
    return suits && !(budget->without & CFN_WITHOUT_PROVE) && best_known(search, worker);
}

/* What branching leaves out is what cannot beat the best answer of all runs: it is measured by that one,
 * always, or its bound would be none. */
static void prove(struct cfn_search *search, struct cfn_worker *worker)
{
    const struct cfn_point *best = best_known(search, worker);
    bool has_own = worker->has_best, other = best != &worker->best;
    struct cfn_point own;
    cfn_point_create(search->model, &own);
    if (other) {
        cfn_point_copy(search->model, &own, &worker->best);
        cfn_point_copy(search->model, &worker->best, best);
        worker->has_best = true;
    }
    cfn_prove_phase(worker, probing_work(search));
    if (other && worker->best.cost >= best->cost) {
        cfn_point_copy(search->model, &worker->best, &own);
        worker->has_best = has_own;
    }
    cfn_point_release(&own);
}

/* what share_proof parted */
static void join_proof(struct cfn_search *search)
{
    struct cfn_worker *first = &search->worker[0], *second = &search->worker[1];
    if (!first->leaves.shared || !second->leaves.begun)
        return;
    int64_t best = best_of_all(search)->cost;
    if (second->has_best && second->best.cost < best)
        best = second->best.cost;
    cfn_prove_join(first, second, best);
}

/* Worker 0 may take longer over it, and is mostly done sooner. */
static void tighten(const struct cfn_search *search, struct cfn_worker *worker)
{
    if (!worker->clusters) {
        cfn_tighten_begin(worker, search->units * unit_work * sweep_share);
        worker->work += worker->clusters->conflicts.work;
    }
    if (worker->number == 0) {
        cfn_tighten_phase(worker);
        return;
    }
    worker->phase_end = (uint64_t)((search->position + search->units / TIGHTEN_PHASES) * unit_work);
    lns_from_pool(worker);
}

void cfn_search_work(struct cfn_search *search, int number)
{
    struct cfn_worker *worker = &search->worker[number];
    uint64_t begin = (uint64_t)(search->position * unit_work);
    worker->work = worker->work < begin ? begin : worker->work;
    worker->phase_end = (uint64_t)((search->position + search->units) * unit_work);
    cfn_worker_begin(worker);
    switch (search->part) {
    case CFN_PART_START: cfn_dual_start(worker); break;
    case CFN_PART_FIRST: cfn_first_points(worker); break;
    case CFN_PART_DUAL: cfn_dual_phase(worker, search->round); break;
    case CFN_PART_TIGHTEN: tighten(search, worker); break;
    case CFN_PART_BRANCH: cfn_likely_phase(worker, cfn_prove_for_answers); break;
    case CFN_PART_DIVE: cfn_dive_phase(worker); break;
    case CFN_PART_LNS:
    case CFN_PART_LNS_SHORT: moves(search, worker, lns_from_phase); break;
    case CFN_PART_CROSS:
    case CFN_PART_LAST_CROSS: cfn_crossover_pool(worker, CROSSOVERS); break;
    case CFN_PART_LAST_LNS: moves(search, worker, lns_from_pool); break;
    case CFN_PART_PROVE:
        if ((number == 0 || worker->leaves.count) && may_prove(search, worker))
            prove(search, worker);
        else
            moves(search, worker, lns_from_pool);
        break;
    case CFN_PART_OVER: break;
    }
    cfn_worker_spend(worker);
}

void cfn_search_join(struct cfn_search *search)
{
    bool proving = search->part == CFN_PART_PROVE && may_prove(search, &search->worker[0]);
    int64_t before = search->bound;
    join_proof(search);
    for (int k = 0; k < CFN_WORKERS; k++) /* phases may end early, or pass their ends by a step */
        if ((double)search->worker[k].work > search->position * unit_work)
            search->position = (double)search->worker[k].work / unit_work;
    exchange(search);
    if (search->bound > before)
        show_bound(search);
    if (search->part == CFN_PART_TIGHTEN) {
        double gap = (double)search->worker[0].best.cost - (double)before,
               gain = (double)search->bound - (double)before;
        search->tighten_from = search->round + (gain > worth_tightening * gap ? 1 : TIGHTEN_IDLE_ROUNDS);
    }
    if (proving)
        search->idle = search->bound > before ? 0 : search->idle + 1;
}

/* ---- runs: answers found one from another end in one valley; another run may end in a deeper one ---- */

/* the workers go on from the answers of all runs */
static void join_runs(struct cfn_search *search)
{
    for (int k = 0; k < CFN_WORKERS && search->hall.count; k++) {
        struct cfn_worker *worker = &search->worker[k];
        for (int i = 0; i < search->hall.count; i++)
            cfn_pool_add(search->model, &worker->pool, &search->hall.at[i]);
        if (!worker->has_best || search->hall.at[0].cost < worker->best.cost)
            cfn_point_copy(search->model, &worker->best, &search->hall.at[0]);
        worker->has_best = true;
    }
    search->joint = true;
}

static void begin_run(struct cfn_search *search)
{
    for (int k = 0; k < CFN_WORKERS; k++) {
        search->worker[k].has_best = false;
        search->worker[k].pool.count = 0;
        search->worker[k].rho = 0;
    }
    search->joint = false;
    search->run_best = INT64_MAX;
    search->stale = 0;
}

/* At a round's end: a run that has not got better of late meets the others, once; when that leads nowhere
 * either, a new one begins with the multipliers that there are. */
static void end_round(struct cfn_search *search)
{
    const struct cfn_worker *worker = &search->worker[0];
    if (!worker->has_best)
        return;
    bool better = search->run_best == INT64_MAX || (double)(search->run_best - worker->best.cost) >
                                                       worth_waiting * fabs((double)search->run_best);
    search->run_best = worker->best.cost < search->run_best ? worker->best.cost : search->run_best;
    search->stale = better ? 0 : search->stale + 1;
    if (search->stale < STALE_ROUNDS)
        return;
    cfn_pool_add(search->model, &search->hall, &worker->best);
    if (search->joint || search->hall.count == 1) {
        begin_run(search);
        return;
    }
    join_runs(search);
    search->run_best = worker->best.cost;
    search->stale = STALE_ROUNDS - 1;
}

/* ---- the schedule ---- */

static bool proved(const struct cfn_search *search)
{
    const struct cfn_point *best = best_of_all(search);
    return best && best->cost <= search->bound;
}

double cfn_search_spent(const struct cfn_search *search)
{
    const struct cfn_budget *budget = search->budget;
    double by_time = budget->seconds > 0 ? elapsed(search) / (budget->seconds - search->reserve_s) : 0;
    double by_work = budget->units ? search->position / (double)budget->units : 0;
    if (search->worker[0].stopped || search->worker[1].stopped || proved(search))
        return 1;
    return budget->units ? (by_work > 1 ? 1 : by_work) : by_time;
}

/* The schedule's D, in units; on large models enough for a dual phase of STEPS_A_PHASE steps. */
static double phase_of_at_least(const struct cfn_search *search, double least_s)
{
    const struct cfn_budget *budget = search->budget;
    double seconds = budget->units ? (double)budget->units / search->rate : budget->seconds,
           d = phase_share * seconds;
    if (seconds <= 0)
        return 4 * search->rate;
    d = d < least_s ? least_s : d > most_phase_s ? most_phase_s : d;
    d = d < most_phase_share * seconds ? d : most_phase_share * seconds;
    double steps = STEPS_A_PHASE * cfn_dual_step_work(search->model) / unit_work,
           most = most_large_phase_share * seconds * search->rate;
    steps = steps < most ? steps : most;
    return d * search->rate > steps ? d * search->rate : steps;
}

static double phase_units(const struct cfn_search *search)
{
    return phase_of_at_least(search, least_phase_s);
}

/* Of the multipliers: longer, as they end by themselves; each end of one takes passes and a certificate. */
static double dual_units(const struct cfn_search *search)
{
    return phase_of_at_least(search, least_dual_s);
}

/* a start and first points end by themselves when this is plenty */
static double start_units(const struct cfn_search *search)
{
    return start_share * budget_units(search);
}

/* phases of large models are a good part of the budget by themselves */
static double tighten_units(const struct cfn_search *search)
{
    double phases = TIGHTEN_PHASES * phase_units(search), most = most_phase_share * budget_units(search);
    return phases < most ? phases : most;
}

/* While dual phases lift the bound, multipliers are worth more than moves under the present ones. */
static bool still_rising(const struct cfn_search *search)
{
    return search->before != INT64_MIN &&
           (double)search->bound - (double)search->before > rising * fabs((double)search->bound);
}

/* On models where a phase is long enough: dives are of the whole network. */
static bool may_dive(const struct cfn_search *search)
{
    if (search->model->node_count > MOST_DIVE_NODES)
        return false;
    int32_t dives = search->model->node_count < LEAST_DIVES ? search->model->node_count : LEAST_DIVES;
    return cfn_dive_work(search->model) * dives < dive_share * phase_units(search) * unit_work;
}

/* While the gap is wide and the proof waits for multipliers and answers: leaves land in answers that nothing
 * else comes near. Every other round, in place of dives. */
static bool may_branch(const struct cfn_search *search)
{
    const struct cfn_point *best = best_of_all(search);
    if (search->budget->without & (CFN_WITHOUT_LIKELY | CFN_WITHOUT_PROVE))
        return false;
    return best && search->round % 2 == 0 && !search->worker[0].leaves.begun &&
           cfn_prove_suits(search->model) &&
           (double)best->cost - (double)search->bound > wide_gap * fabs((double)best->cost);
}

/* Where there is room for it and a gap is left, of which clusters closed some when they were last tried. A
 * wide gap is not of multipliers alone, and messages that know of cycles lead to other points: then also
 * while the multipliers rise. */
static bool may_tighten(const struct cfn_search *search)
{
    const struct cfn_point *best = best_of_all(search);
    const struct cfn_clusters *clusters = search->worker[0].clusters;
    double step = (double)TIGHTEN_PASSES * (double)search->model->table_work,
           least = still_rising(search) ? wide_gap : least_gap;
    return best && !(clusters && !clusters->count) && search->round >= search->tighten_from &&
           (double)best->cost - (double)search->bound > least * fabs((double)best->cost) &&
           tighten_units(search) * unit_work > TIGHTEN_STEPS * step;
}

/* In order; the eight of a round repeat until .85 of the budget, the last two, and proving, until its end. */
static const struct {
    enum cfn_part part;
    unsigned needs; /* switched off with any of these techniques; 0: always there */
    double length;  /* in the schedule's D; 0: a start's, or tightening's own */
} schedule[] = {
    {CFN_PART_FIRST, 0, 0},
    {CFN_PART_START, 0, 0},
    {CFN_PART_DUAL, CFN_WITHOUT_DUAL, 1},
    {CFN_PART_TIGHTEN, CFN_WITHOUT_DUAL | CFN_WITHOUT_CLUSTERS, 0},                  /* where a gap is left */
    {CFN_PART_BRANCH, CFN_WITHOUT_DUAL | CFN_WITHOUT_LIKELY | CFN_WITHOUT_PROVE, 1}, /* likewise */
    {CFN_PART_DIVE, CFN_WITHOUT_DUAL | CFN_WITHOUT_DIVES, 1},                        /* on small models */
    {CFN_PART_LNS, CFN_WITHOUT_LNS, 1}, /* not while the bound is rising */
    {CFN_PART_CROSS, CFN_WITHOUT_CROSSOVER, 1},
    {CFN_PART_LNS_SHORT, CFN_WITHOUT_LNS, 0.3},
    {CFN_PART_PROVE, CFN_WITHOUT_PROVE, 4}, /* on small models */
    {CFN_PART_LAST_CROSS, CFN_WITHOUT_CROSSOVER, 1},
    {CFN_PART_LAST_LNS, CFN_WITHOUT_LNS, 0.4},
    {CFN_PART_OVER, 0, 0},
};

/* of the part at hand, as long as the budget has them */
static double part_units(const struct cfn_search *search)
{
    enum cfn_part part = search->part;
    double length = schedule[part].length;
    double units = part == CFN_PART_DUAL      ? dual_units(search)
                   : part == CFN_PART_TIGHTEN ? tighten_units(search)
                   : length > 0               ? length * phase_units(search)
                                              : start_units(search);
    bool beside = search->worker[0].leaves.begun && (part == CFN_PART_DUAL || part == CFN_PART_DIVE);
    return beside ? units * beside_leaves : units;
}

/* whether a phase of branching gets so far that both workers should take part: where it does not, moves of
 * the second are worth more */
static bool has_leaf_room(const struct cfn_search *search)
{
    return cfn_prove_leaf_work(search->model) * LEAST_EXPANDED <
           schedule[CFN_PART_PROVE].length * phase_units(search) * unit_work;
}

/* The second worker takes every other leaf. */
static void share_proof(struct cfn_search *search)
{
    struct cfn_worker *first = &search->worker[0], *second = &search->worker[1];
    if (search->part == CFN_PART_PROVE && first->leaves.count >= LEAST_SHARED && has_leaf_room(search) &&
        may_prove(search, first))
        cfn_leaves_share(search->model, &first->leaves, &second->leaves);
}

/* whether the part at hand has nothing to do, as things are */
static bool left_out(const struct cfn_search *search)
{
    if (schedule[search->part].needs & search->budget->without)
        return true;
    if (search->part == CFN_PART_TIGHTEN)
        return !may_tighten(search);
    if (search->part == CFN_PART_BRANCH)
        return !may_branch(search);
    if (search->part == CFN_PART_DIVE)
        return !may_dive(search) || may_branch(search);
    if (search->part == CFN_PART_LNS)
        return still_rising(search);
    return search->part == CFN_PART_PROVE && (!may_prove(search, &search->worker[0]) || still_rising(search));
}

static enum cfn_part follower(struct cfn_search *search)
{
    const unsigned both = CFN_WITHOUT_DUAL | CFN_WITHOUT_LNS;
    bool lns = !(search->budget->without & CFN_WITHOUT_LNS), may_end = lns && best_of_all(search);
    if (!search->begun)
        return CFN_PART_FIRST;
    if (search->part == CFN_PART_START && (search->budget->without & both) == both)
        return CFN_PART_OVER;
    if (search->part == CFN_PART_LAST_LNS)
        return may_prove(search, &search->worker[0]) ? CFN_PART_PROVE : CFN_PART_LAST_CROSS;
    if (search->part != CFN_PART_PROVE)
        return search->part + 1;
    double spent = cfn_search_spent(search);
    if (!best_of_all(search) && spent > search->give_up_without)
        return CFN_PART_OVER;
    if (spent >= last_stage) {
        join_runs(search);
        return may_end ? CFN_PART_LAST_CROSS : CFN_PART_OVER;
    }
    end_round(search);
    search->round++;
    return CFN_PART_DUAL;
}

bool cfn_search_next(struct cfn_search *search)
{
    while (search->part != CFN_PART_OVER) {
        search->part = follower(search);
        if (search->begun && cfn_search_spent(search) >= 1)
            search->part = CFN_PART_OVER;
        search->begun = true;
        if (search->part == CFN_PART_OVER || left_out(search))
            continue;
        if (search->part == CFN_PART_DUAL || search->part == CFN_PART_LAST_CROSS)
            search->before = search->bound;
        double units = part_units(search), left = search->total - search->position;
        search->units = units < left ? units : left;
        share_proof(search);
        return true;
    }
    return false;
}

/* ---- life ---- */

void cfn_search_create(const struct cfn_model *model, const struct cfn_budget *budget, double give_up_without,
                       struct cfn_search *search)
{
    *search = (struct cfn_search){.model = model,
                                  .budget = budget,
                                  .bound = INT64_MIN,
                                  .before = INT64_MIN,
                                  .run_best = INT64_MAX,
                                  .rate = nominal_units_per_s,
                                  .give_up_without = give_up_without};
    search->total = budget->units ? (double)budget->units : most_units;
    double pass_s = (double)model->table_work * slow_entry_s;
    search->reserve_s =
        write_s + write_share * budget->seconds +
        (pass_s < most_pass_share * budget->seconds ? pass_s : most_pass_share * budget->seconds);
    pthread_mutex_init(&search->lock, NULL);
    for (int i = 0; i < CFN_POOL; i++)
        cfn_point_create(model, &search->hall.at[i]);
    for (int k = 0; k < CFN_WORKERS; k++) {
        struct cfn_worker *worker = &search->worker[k];
        cfn_worker_create(model, k, budget->seed, worker);
        worker->stop = worker->state.stop = stop;
        worker->found = found;
        worker->fixes = !(budget->without & CFN_WITHOUT_FIXING);
        worker->goes_on = !(budget->without & CFN_WITHOUT_GOING_ON);
        worker->excludes = !(budget->without & CFN_WITHOUT_CONFLICTS);
        worker->clears = !(budget->without & CFN_WITHOUT_CLEARING);
        worker->widens = !(budget->without & CFN_WITHOUT_WIDE);
        worker->user = worker->state.user = search;
    }
}

void cfn_search_release(struct cfn_search *search)
{
    for (int k = 0; k < CFN_WORKERS; k++)
        cfn_worker_release(&search->worker[k]);
    for (int i = 0; i < CFN_POOL; i++)
        cfn_point_release(&search->hall.at[i]);
    pthread_mutex_destroy(&search->lock);
}

void cfn_search_result(const struct cfn_search *search, struct cfn_found *out)
{
    const struct cfn_point *best = best_of_all(search);
    *out = (struct cfn_found){.bound = search->bound, .units = (uint64_t)search->position};
    if (best) {
        out->values =
            mem_zalloc((size_t)search->model->network->problem->node_count + 1, sizeof *out->values);
        cfn_point_expand(search->model, best, out->values);
        out->cost = best->cost;
    }
    out->cut = search->worker[0].stopped || search->worker[1].stopped || search->budget->units == 0;
}

/* ---- all of it in this process ---- */

static void *second_worker(void *user)
{
    cfn_search_work(user, 1);
    return NULL;
}

void cfn_search_run(struct cfn_search *search)
{
    while (cfn_search_next(search)) {
        pthread_t thread;
        bool second =
            search->budget->threads > 1 && pthread_create(&thread, NULL, second_worker, search) == 0;
        cfn_search_work(search, 0);
        if (second)
            pthread_join(thread, NULL);
        else
            cfn_search_work(search, 1);
        cfn_search_join(search);
    }
}
