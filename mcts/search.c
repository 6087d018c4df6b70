/* The search on a domain: budget, root, baselines, first snapshot, and what a snapshot says. */
#include "mcts/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const found_names[] = {"replicated", "baseline",   "mcts",    "polish", "random",
                                          "greedy",     "per_action", "descent", "climb"};
static const char *const stop_names[] = {"", "budget", "no_gain", "cancelled", "seconds", "exhausted"};

int32_t core_reward(const struct search *search, struct cost cost)
{
    return reward_value(reward_cost(search->root.cost.c, search->root.cost.over_steps),
                        reward_cost(cost.c, cost.over_steps), search->domain->devices);
}

void core_plan_publish(const struct search *search, const struct core_plan *plan, struct search_plan *out)
{
    *out = (struct search_plan){
        .count = plan->list.count, .hash = plan->hash, .cost = plan->cost, .price = plan->price};
    for (uint32_t i = 0; i < plan->list.count && search->domain->decisions; i++)
        out->decisions[i] = search->domain->decisions[plan->list.at[i]];
    if (plan->found == FOUND_BASELINE)
        snprintf(out->found_by, sizeof out->found_by, "baseline %.150s",
                 search->domain->baselines[plan->baseline].name);
    else
        snprintf(out->found_by, sizeof out->found_by, "%s", found_names[plan->found]);
}

/* Ablations: docs/performance.md, What each part is worth, where rows that differ by a percent or two mean
 * nothing: explore halved or doubled, no playout, walks from the best plans only and uphill only stay within
 * that; without walkers t2b_scan loses a further 1.1 %. walk_length and widen: chosen, not tuned. */
struct core_tuning core_tuning_default(void)
{
    return (struct core_tuning){.walkers = 3,
                                .playout = 2,
                                .explore = 4,
                                .widen = 1,
                                .strangers = 4,
                                .slacks = 2,
                                .walk_length = 100};
}

/* Budget and tasks are functions of the program's size, because a rollout's time is in proportion to it:
 * about 1.9 ms for the 21,000 ops of t2b, whose search takes 13.5 s of processor time (docs/performance.md).
 * Chosen, not tuned. */
enum {
    /* operations priced: clamp(2^27 / ops, 128, 20000) rollouts; beyond 2^16 operations, which no cache
     * holds, 2^16 / ops of these */
    BUDGET_OPERATIONS = 1 << 27,
    CACHED_OPERATIONS = 1 << 16,
    FEWEST_ROLLOUTS = 128,
    MOST_ROLLOUTS = 20000,
    FIRST_OPERATIONS = 1 << 18, /* of a task of epoch 0: clamp(2^18 / ops, 4, 1024) rollouts */
    FEWEST_FIRST = 4,
    MOST_FIRST = 1024,
    TASKS = 16, /* an epoch's */
    /* shares of the rollouts: tenths before the first local search, those of climbs among them, but no fewer
     * than so many, and between two (docs/search.md, Climbs) */
    FIRST_STAGE = 2,
    FEWEST_STAGE = 1200,
    NEXT_STAGE = 24,
    CLIMB_SHARE = 21,   /* of the rollouts: those of a round of climbs, at most */
    LEAST_RUINED = 512, /* rounds of two and of ruins, where a round has so many */
    /* evaluations of all local searches together: clamp(rollouts, 32, 2048) */
    FEWEST_POLISH = 32,
    MOST_POLISH = 2048
};

static enum error_code set_options(struct search *search, const struct search_options *options,
                                   struct error *e)
{
    uint64_t operations = search->domain->operations ? search->domain->operations : 1;
    uint64_t budget = BUDGET_OPERATIONS / operations;
    if (operations > CACHED_OPERATIONS)
        budget = budget * CACHED_OPERATIONS / operations;
    if (options)
        search->options = *options;
    if (!search->options.rollouts)
        search->options.rollouts = (uint32_t)core_clamp(budget, FEWEST_ROLLOUTS, MOST_ROLLOUTS);
    if (!search->options.parallelism)
        search->options.parallelism = TASKS;
    if (search->options.parallelism > CORE_MAX_TASKS)
        return error_set(e, ERROR_INVALID_REQUEST, "parallelism %u is above %u", search->options.parallelism,
                         CORE_MAX_TASKS);
    if (search->options.rollouts > CORE_MAX_ROLLOUTS)
        return error_set(e, ERROR_INVALID_REQUEST, "%u rollouts are above %u", search->options.rollouts,
                         CORE_MAX_ROLLOUTS);
    if (search->options.method > SEARCH_START)
        return error_set(e, ERROR_INVALID_REQUEST, "unknown search method %u", search->options.method);
    if (search->options.method == SEARCH_RANDOM || search->options.method == SEARCH_GREEDY)
        search->options.parallelism = 1;
    if (search->options.method == SEARCH_START)
        search->domain->baseline_count = 0;
    search->next_stage = search->options.rollouts / NEXT_STAGE + 1;
    search->first_rollouts = (uint32_t)core_clamp(FIRST_OPERATIONS / operations, FEWEST_FIRST, MOST_FIRST);
    return ERROR_OK;
}

static uint64_t identity(const struct search *search)
{
    const struct search_options *options = &search->options;
    const uint64_t words[] = {9 /* format, what estimates are, when a stage ends */,
                              search->domain->price_whole != NULL,
                              options->seed,
                              options->rollouts,
                              options->parallelism,
                              options->no_baselines,
                              options->method,
                              search->domain->decision_count,
                              search->domain->total_count,
                              search->domain->baseline_count,
                              search->domain->operations,
                              search->domain->devices,
                              search->root.hash.hi,
                              search->root.hash.lo,
                              (uint64_t)search->root.cost.c,
                              (uint64_t)search->root.price.step_ps,
                              (uint64_t)search->root.price.peak_bytes,
                              search->domain->has_limits,
                              (uint64_t)search->domain->limits.hopeless,
                              (uint64_t)search->domain->limits.far,
                              (uint64_t)search->domain->limits.far_bytes};
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        h = hash_combine(h, words[i]);
    const struct core_tuning *tuning = &search->tuning;
    const uint64_t tuned[] = {
        tuning->walkers,   tuning->playout,     tuning->explore,   tuning->widen,         tuning->strangers,
        tuning->slacks,    tuning->walk_length, tuning->mean_only, tuning->uniform_prior, tuning->last_only,
        tuning->no_polish, tuning->no_climbs,   tuning->apart,     tuning->any_length};
    for (size_t i = 0; i < sizeof tuned / sizeof *tuned; i++)
        h = hash_combine(h, tuned[i]);
    for (uint32_t i = 0; i < search->domain->baseline_count; i++)
        h = hash_combine(h, search->baselines[i].hash.lo ^ (uint64_t)search->baselines[i].cost.c);
    for (uint32_t i = 0; i < search->descent_count; i++)
        h = hash_combine(h, search->descents[i].hash.lo ^ (uint64_t)search->descents[i].cost.c);
    return h;
}

/* rollouts before the first local search: a round of climbs fewer where there are few */
static uint32_t first_stage(const struct search *search)
{
    uint64_t rollouts = search->options.rollouts, share = rollouts * FIRST_STAGE / 10,
             least = rollouts < FEWEST_STAGE ? rollouts : FEWEST_STAGE, stage = share > least ? share : least;
    return (uint32_t)(stage - (search->climb_rounds == CORE_FEW_CLIMB_ROUNDS ? search->climb_round : 0));
}

void core_tune(struct search *search, struct core_tuning tuning)
{
    search->tuning = tuning;
    search->polish_budget =
        tuning.no_polish ? 0 : core_clamp(search->options.rollouts, FEWEST_POLISH, MOST_POLISH);
    search->climb_round = tuning.no_climbs || search->options.method != SEARCH_MCTS
                              ? 0
                              : search->options.rollouts / CLIMB_SHARE;
    search->climb_rounds = !search->climb_round                 ? 0
                           : search->climb_round < LEAST_RUINED ? CORE_FEW_CLIMB_ROUNDS
                                                                : CORE_CLIMB_ROUNDS;
    search->first_stage = first_stage(search);
    search->id = identity(search);
}

/* Weights gathered again cost time for memory: actions only where no baseline fits, so that other searches
 * are as small as they were. */
static void offer_regathers(struct search *search)
{
    bool fits = search->root.cost.over_steps == 0;
    for (uint32_t i = 0; i < search->domain->baseline_count; i++)
        fits |= search->baselines[i].cost.over_steps == 0;
    if (!fits)
        search->domain->decision_count += search->domain->regather_count;
}

enum error_code search_create_on(struct search_domain *domain, const struct search_options *options,
                                 struct search **out, struct error *e)
{
    struct search *search = mem_zalloc(1, sizeof *search);
    search->domain = domain;
    search->memo = core_memo_create();
    search->whole_memo = core_memo_create();
    search->baselines = mem_zalloc(domain->baseline_count, sizeof *search->baselines);
    search->baseline_plans = mem_zalloc(domain->baseline_count, sizeof *search->baseline_plans);
    search->wholes = mem_zalloc(domain->baseline_count, sizeof *search->wholes);
    enum error_code code = set_options(search, options, e);
    if (!code)
        code = core_race_experts(search, e);
    if (!code)
        offer_regathers(search);
    if (code) {
        search_destroy(search);
        return code;
    }
    core_tune(search, core_tuning_default());
    *out = search;
    return ERROR_OK;
}

void search_destroy(struct search *search)
{
    if (!search)
        return;
    core_memo_destroy(search->memo);
    core_memo_destroy(search->whole_memo);
    free(search->baselines);
    free(search->baseline_plans);
    free(search->wholes);
    search->domain->destroy(search->domain);
    free(search);
}

uint32_t search_baseline_count(const struct search *search)
{
    return search->domain->baseline_count;
}

bool search_experts_cut(const struct search *search)
{
    return atomic_load(&search->experts_cut);
}

const struct search_plan *search_baseline(const struct search *search, uint32_t i)
{
    return &search->baseline_plans[i];
}

static void offer(const struct search *search, struct core_snapshot *snapshot, const struct core_plan *plan)
{
    core_elites_offer(&snapshot->elites, plan);
    uint32_t node = tree_node(&snapshot->tree, tree_state(plan->hash), plan->list.at, plan->list.count);
    snapshot->tree.nodes.at[node].value = core_reward(search, plan->cost);
}

void core_snapshot_reset(const struct search *search, struct core_snapshot *snapshot)
{
    tree_release(&snapshot->tree);
    snapshot->elites.count = 0;
    offer(search, snapshot, &search->root);
    for (uint32_t i = 0; i < search->domain->baseline_count && !search->options.no_baselines; i++)
        offer(search, snapshot, &search->baselines[i]);
    for (uint32_t i = 0; i < search->descent_count; i++)
        offer(search, snapshot, &search->descents[i]);
}

static void keep_better(struct core_plan *best, const struct core_plan *plan)
{
    if (cost_compare(plan->cost, plan->hash, best->cost, best->hash) < 0)
        *best = *plan;
}

void search_begin(const struct search *search, struct search_blob *snapshot)
{
    struct core_snapshot p = {.phase = SEARCH_EPOCHS, .tasks = search->options.parallelism};
    p.stage_end = core_is_staged(search) ? search->first_stage : search->options.rollouts;
    uint32_t decisions = search->domain->decision_count;
    p.gains = mem_zalloc(decisions, sizeof *p.gains);
    for (uint32_t i = 0; i < decisions; i++)
        p.gains[i] = TREE_UNKNOWN;
    core_snapshot_reset(search, &p);
    p.best = search->root_whole;
    for (uint32_t i = 0; i < search->domain->baseline_count && !search->options.no_baselines; i++)
        if (!search->baseline_plans[i].estimated)
            keep_better(&p.best, &search->wholes[i]);
    for (uint32_t i = 0; i < search->descent_count; i++)
        keep_better(&p.best, &search->whole_descents[i]);
    p.curve_count = 1;
    p.curve[0] = (struct core_curve){0, p.best.cost, p.best.price.step_ps};
    if (!decisions || search->options.method == SEARCH_BASELINES || search->options.method == SEARCH_START) {
        p.phase = SEARCH_DONE;
        p.tasks = 0;
        p.stop = STOP_EXHAUSTED;
    }
    core_snapshot_write(search, &p, snapshot);
    core_snapshot_release(&p);
}

/* the visits of the stop edges, by the decisions of their nodes */
static void count_lengths(const struct tree *tree, uint64_t *lengths)
{
    for (size_t i = 0; i < tree->edges.count; i++)
        if (tree->edges.at[i].action == TREE_STOP)
            lengths[tree->nodes.at[tree->edges.at[i].node].list_count] += tree->edges.at[i].n;
}

enum error_code search_open(const struct search *search, const void *snapshot, size_t size,
                            struct search_state *out, struct error *e)
{
    struct core_snapshot p;
    enum error_code code = core_snapshot_read(search, snapshot, size, &p, e);
    if (code)
        return code;
    code = core_best_check(search, &p.elites, NULL, e);
    if (!code) {
        *out = (struct search_state){.epoch = p.epoch,
                                     .phase = p.phase,
                                     .tasks = p.tasks,
                                     .rollouts = p.rollouts,
                                     .dropped = p.cut,
                                     .evaluations = p.evaluations,
                                     .curve_count = p.curve_count};
        core_plan_publish(search, &p.best, &out->best);
        snprintf(out->stop_reason, sizeof out->stop_reason, "%s", stop_names[p.stop]);
        for (uint32_t i = 0; i < p.curve_count; i++) {
            out->curve[i].rollouts = p.curve[i].rollouts;
            out->curve[i].cost = p.curve[i].cost;
            out->curve[i].step_ps = p.curve[i].step_ps;
        }
        count_lengths(&p.tree, out->lengths);
    }
    core_snapshot_release(&p);
    return code;
}

bool search_plan_replay(const struct plan_context *context, const struct search_plan *from, struct plan *out)
{
    plan_copy(out, plan_context_start(context));
    for (uint32_t i = 0; i < from->count; i++)
        plan_apply(context, out, from->decisions[i]);
    return plan_factors_apply(context, from->factors, from->factor_count, out) &&
           hash128_compare(out->hash, from->hash) == 0;
}

uint64_t search_budget(const struct search *search)
{
    return search->options.rollouts;
}
