/* The search on a domain: budget, root, baselines, first snapshot, and what a snapshot says. */
#include "mcts/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const found_names[] = {"replicated", "baseline", "mcts",      "polish",
                                          "random",     "greedy",   "per_action"};
static const char *const stop_names[] = {"", "budget", "no_gain", "cancelled", "seconds", "exhausted"};

int32_t core_reward(const struct search *s, struct cost c)
{
    return reward_value(reward_cost(s->root.cost.c, s->root.cost.over_steps), reward_cost(c.c, c.over_steps),
                        s->domain->devices);
}

void core_plan_publish(const struct search *s, const struct core_plan *p, struct search_plan *out)
{
    *out = (struct search_plan){.count = p->list.count, .hash = p->hash, .cost = p->cost, .price = p->price};
    for (uint32_t i = 0; i < p->list.count && s->domain->decisions; i++)
        out->decisions[i] = s->domain->decisions[p->list.at[i]];
    if (p->found == FOUND_BASELINE)
        snprintf(out->found_by, sizeof out->found_by, "baseline %.150s",
                 s->domain->baselines[p->baseline].name);
    else
        snprintf(out->found_by, sizeof out->found_by, "%s", found_names[p->found]);
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

static uint64_t clamp(uint64_t x, uint64_t low, uint64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Budget and tasks are functions of the program's size, because a rollout's time is in proportion to it:
 * about 1.9 ms for the 21,000 ops of t2b, whose search takes 13.5 s of processor time (docs/performance.md).
 * Chosen, not tuned. */
enum {
    BUDGET_OPERATIONS = 1 << 27, /* operations priced: clamp(2^27 / ops, 2000, 20000) rollouts */
    FEWEST_ROLLOUTS = 2000,
    MOST_ROLLOUTS = 20000,
    FIRST_OPERATIONS = 1 << 18, /* of a task of epoch 0: clamp(2^18 / ops, 4, 1024) rollouts */
    FEWEST_FIRST = 4,
    MOST_FIRST = 1024,
    TASKS = 16, /* an epoch's */
    /* of the rollouts, as evaluations of the final local search: clamp(rollouts / 8, 32, 2048) */
    POLISH_SHARE = 8,
    FEWEST_POLISH = 32,
    MOST_POLISH = 2048
};

static enum error_code set_options(struct search *s, const struct search_options *options, struct error *e)
{
    uint64_t operations = s->domain->operations ? s->domain->operations : 1;
    if (options)
        s->options = *options;
    if (!s->options.rollouts)
        s->options.rollouts = (uint32_t)clamp(BUDGET_OPERATIONS / operations, FEWEST_ROLLOUTS, MOST_ROLLOUTS);
    if (!s->options.parallelism)
        s->options.parallelism = TASKS;
    if (s->options.parallelism > CORE_MAX_TASKS)
        return error_set(e, ERROR_INVALID_REQUEST, "parallelism %u is above %u", s->options.parallelism,
                         CORE_MAX_TASKS);
    if (s->options.rollouts > CORE_MAX_ROLLOUTS)
        return error_set(e, ERROR_INVALID_REQUEST, "%u rollouts are above %u", s->options.rollouts,
                         CORE_MAX_ROLLOUTS);
    if (s->options.method > SEARCH_START)
        return error_set(e, ERROR_INVALID_REQUEST, "unknown search method %u", s->options.method);
    if (s->options.method == SEARCH_RANDOM || s->options.method == SEARCH_GREEDY)
        s->options.parallelism = 1;
    if (s->options.method == SEARCH_START)
        s->domain->baseline_count = 0;
    s->first_rollouts = (uint32_t)clamp(FIRST_OPERATIONS / operations, FEWEST_FIRST, MOST_FIRST);
    return ERROR_OK;
}

static enum error_code price_list(const struct search *s, void *session, struct core_plan *p, struct error *e)
{
    s->domain->replay(session, &p->list, &p->hash);
    if (core_memo_find(s->memo, p->hash, &p->price, &p->cost))
        return ERROR_OK;
    enum error_code code = s->domain->price(session, &p->list, &p->price, &p->cost, e);
    if (!code)
        core_memo_put(s->memo, p->hash, &p->price, p->cost);
    return code;
}

static enum error_code price_baselines(struct search *s, struct error *e)
{
    struct evaluator_session *evaluator =
        s->domain->evaluator_create ? s->domain->evaluator_create(s->domain) : NULL;
    void *session = s->domain->session_create(s->domain, evaluator);
    s->root.found = FOUND_START;
    enum error_code code = price_list(s, session, &s->root, e);
    s->root_reward = code ? 0 : core_reward(s, s->root.cost);
    for (uint32_t i = 0; i < s->domain->baseline_count && !code; i++) {
        struct core_plan *b = &s->baselines[i];
        *b = (struct core_plan){
            .list = s->domain->baselines[i].list, .found = FOUND_BASELINE, .baseline = (uint16_t)i};
        code = price_list(s, session, b, e);
        core_plan_publish(s, b, &s->baseline_plans[i]);
        snprintf(s->baseline_plans[i].found_by, sizeof s->baseline_plans[i].found_by, "%s",
                 s->domain->baselines[i].name);
    }
    s->domain->session_destroy(session);
    if (evaluator)
        s->domain->evaluator_destroy(evaluator);
    return code;
}

static uint64_t identity(const struct search *s)
{
    const struct search_options *o = &s->options;
    const uint64_t words[] = {1 /* format */,
                              o->seed,
                              o->rollouts,
                              o->parallelism,
                              o->no_baselines,
                              o->method,
                              s->domain->decision_count,
                              s->domain->total_count,
                              s->domain->baseline_count,
                              s->domain->operations,
                              s->domain->devices,
                              s->root.hash.hi,
                              s->root.hash.lo,
                              (uint64_t)s->root.cost.c,
                              (uint64_t)s->root.price.step_ps,
                              (uint64_t)s->root.price.peak_bytes};
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        h = hash_combine(h, words[i]);
    const struct core_tuning *t = &s->tuning;
    const uint64_t tuned[] = {t->walkers,       t->playout,   t->explore,     t->widen,
                              t->strangers,     t->slacks,    t->walk_length, t->mean_only,
                              t->uniform_prior, t->last_only, t->no_polish,   t->apart};
    for (size_t i = 0; i < sizeof tuned / sizeof *tuned; i++)
        h = hash_combine(h, tuned[i]);
    for (uint32_t i = 0; i < s->domain->baseline_count; i++)
        h = hash_combine(h, s->baselines[i].hash.lo ^ (uint64_t)s->baselines[i].cost.c);
    return h;
}

void core_tune(struct search *s, struct core_tuning tuning)
{
    s->tuning = tuning;
    s->polish_budget =
        tuning.no_polish ? 0 : clamp(s->options.rollouts / POLISH_SHARE, FEWEST_POLISH, MOST_POLISH);
    s->id = identity(s);
}

/* Weights gathered again cost time for memory: actions only where no baseline fits, so that other searches
 * are as small as they were. */
static void offer_regathers(struct search *s)
{
    bool fits = s->root.cost.over_steps == 0;
    for (uint32_t i = 0; i < s->domain->baseline_count; i++)
        fits |= s->baselines[i].cost.over_steps == 0;
    if (!fits)
        s->domain->decision_count += s->domain->regather_count;
}

enum error_code search_create_on(struct search_domain *d, const struct search_options *options,
                                 struct search **out, struct error *e)
{
    struct search *s = mem_zalloc(1, sizeof *s);
    s->domain = d;
    s->memo = core_memo_create();
    s->baselines = mem_zalloc(d->baseline_count, sizeof *s->baselines);
    s->baseline_plans = mem_zalloc(d->baseline_count, sizeof *s->baseline_plans);
    enum error_code code = set_options(s, options, e);
    if (!code)
        code = price_baselines(s, e);
    if (!code)
        offer_regathers(s);
    if (code) {
        search_destroy(s);
        return code;
    }
    core_tune(s, core_tuning_default());
    *out = s;
    return ERROR_OK;
}

void search_destroy(struct search *s)
{
    if (!s)
        return;
    core_memo_destroy(s->memo);
    free(s->baselines);
    free(s->baseline_plans);
    s->domain->destroy(s->domain);
    free(s);
}

uint32_t search_baseline_count(const struct search *s)
{
    return s->domain->baseline_count;
}

const struct search_plan *search_baseline(const struct search *s, uint32_t i)
{
    return &s->baseline_plans[i];
}

void core_snapshot_reset(const struct search *s, struct core_snapshot *p)
{
    tree_release(&p->tree);
    p->elites.count = 0;
    core_elites_offer(&p->elites, &s->root);
    uint32_t node = tree_node(&p->tree, tree_state(s->root.hash), s->root.list.at, s->root.list.count);
    p->tree.nodes.at[node].value = s->root_reward;
    for (uint32_t i = 0; i < s->domain->baseline_count && !s->options.no_baselines; i++) {
        const struct core_plan *b = &s->baselines[i];
        core_elites_offer(&p->elites, b);
        node = tree_node(&p->tree, tree_state(b->hash), b->list.at, b->list.count);
        p->tree.nodes.at[node].value = core_reward(s, b->cost);
    }
}

void search_begin(const struct search *s, struct search_blob *snapshot)
{
    struct core_snapshot p = {.phase = SEARCH_EPOCHS, .tasks = s->options.parallelism};
    uint32_t decisions = s->domain->decision_count;
    p.gains = mem_zalloc(decisions, sizeof *p.gains);
    for (uint32_t i = 0; i < decisions; i++)
        p.gains[i] = TREE_UNKNOWN;
    core_snapshot_reset(s, &p);
    p.curve_count = 1;
    p.curve[0] = (struct core_curve){0, p.elites.at[0].cost, p.elites.at[0].price.step_ps};
    if (!decisions || s->options.method == SEARCH_BASELINES || s->options.method == SEARCH_START) {
        p.phase = SEARCH_DONE;
        p.tasks = 0;
        p.stop = STOP_EXHAUSTED;
    }
    core_snapshot_write(s, &p, snapshot);
    core_snapshot_release(&p);
}

enum error_code search_open(const struct search *s, const void *snapshot, size_t size,
                            struct search_state *out, struct error *e)
{
    struct core_snapshot p;
    enum error_code code = core_snapshot_read(s, snapshot, size, &p, e);
    if (code)
        return code;
    code = core_best_check(s, &p.elites, NULL, e);
    if (!code) {
        *out = (struct search_state){.epoch = p.epoch,
                                     .phase = p.phase,
                                     .tasks = p.tasks,
                                     .rollouts = p.rollouts,
                                     .dropped = p.cut,
                                     .evaluations = p.evaluations,
                                     .curve_count = p.curve_count};
        core_plan_publish(s, &p.elites.at[0], &out->best);
        snprintf(out->stop_reason, sizeof out->stop_reason, "%s", stop_names[p.stop]);
        for (uint32_t i = 0; i < p.curve_count; i++) {
            out->curve[i].rollouts = p.curve[i].rollouts;
            out->curve[i].cost = p.curve[i].cost;
            out->curve[i].step_ps = p.curve[i].step_ps;
        }
    }
    core_snapshot_release(&p);
    return code;
}

bool search_plan_replay(const struct plan_context *c, const struct search_plan *from, struct plan *out)
{
    plan_copy(out, plan_context_start(c));
    for (uint32_t i = 0; i < from->count; i++)
        plan_apply(c, out, from->decisions[i]);
    return plan_factors_apply(c, from->factors, from->factor_count, out) &&
           hash128_compare(out->hash, from->hash) == 0;
}

uint64_t search_budget(const struct search *s)
{
    return s->options.rollouts;
}
