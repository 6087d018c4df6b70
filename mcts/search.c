/* The search on a domain: budget, root, baselines, first snapshot, and what a snapshot says. */
#include "mcts/core.h"

#include "base/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const found_names[] = {"replicated", "baseline", "mcts",      "polish",
                                          "random",     "greedy",   "per_action"};
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
    /* shares of the rollouts: before the first local search, but no fewer than so many, and between two.
     * 706 before the first leave t7b on 8x8 0.9 % behind (docs/performance.md) */
    FIRST_STAGE = 5,
    FEWEST_STAGE = 1200,
    NEXT_STAGE = 16,
    /* evaluations of all local searches together: clamp(rollouts, 32, 2048) */
    FEWEST_POLISH = 32,
    MOST_POLISH = 2048
};

static enum error_code set_options(struct search *search, const struct search_options *options,
                                   struct error *e)
{
    uint64_t operations = search->domain->operations ? search->domain->operations : 1;
    if (options)
        search->options = *options;
    if (!search->options.rollouts)
        search->options.rollouts =
            (uint32_t)clamp(BUDGET_OPERATIONS / operations, FEWEST_ROLLOUTS, MOST_ROLLOUTS);
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
    search->first_stage = search->options.rollouts / FIRST_STAGE;
    if (search->first_stage < FEWEST_STAGE)
        search->first_stage =
            search->options.rollouts < FEWEST_STAGE ? search->options.rollouts : FEWEST_STAGE;
    search->next_stage = search->options.rollouts / NEXT_STAGE + 1;
    search->first_rollouts = (uint32_t)clamp(FIRST_OPERATIONS / operations, FEWEST_FIRST, MOST_FIRST);
    return ERROR_OK;
}

static enum error_code price_list(const struct search *search, void *session, struct core_plan *plan,
                                  struct error *e)
{
    search->domain->replay(session, &plan->list, &plan->hash);
    if (core_memo_find(search->memo, plan->hash, &plan->price, &plan->cost))
        return ERROR_OK;
    enum error_code code = search->domain->price(session, &plan->list, &plan->price, &plan->cost, e);
    if (!code)
        core_memo_put(search->memo, plan->hash, &plan->price, plan->cost);
    return code;
}

/* The best expert is climbed to: from the cheapest of the list, with axes that are alike at once and axis by
 * axis, over plans that differ in what an axis does, in the side of a sequence's conflict or in what is
 * gathered again, while that pays. The steps of the climb join the list. */
enum {
    MOST_CLIMBING = 200, /* plans priced for that, in all; about 2 ms each for t2b */
    CLIMBS = 2,
    JOINING = 2 /* plans of a step, at most */
};

static enum error_code price_baseline(struct search *search, void *session,
                                      const struct search_domain_baseline *from, uint32_t index,
                                      struct core_plan *plan, struct error *e)
{
    *plan = (struct core_plan){.list = from->list, .found = FOUND_BASELINE, .baseline = (uint16_t)index};
    return price_list(search, session, plan, e);
}

/* Experts are priced exactly where they may be the best, by their prices on the fold: those that are further
 * behind than a fold errs by far, which is by half a percent at most. */
enum { NEAR_BEST = 50, NEAR_STEPS = 4 }; /* 1/50 of C; steps of 1 % over the limit */

static bool deserves_whole(const struct search *search, uint32_t index)
{
    const struct cost *cost = &search->baselines[index].cost, *best = &search->best_baseline;
    return cost->c <= best->c + best->c / NEAR_BEST && cost->over_steps <= best->over_steps + NEAR_STEPS;
}

static void note_best(struct search *search)
{
    for (uint32_t i = 0; i < search->domain->baseline_count; i++) {
        const struct cost *cost = &search->baselines[i].cost;
        bool better = cost->over_steps != search->best_baseline.over_steps
                          ? cost->over_steps < search->best_baseline.over_steps
                          : cost->c < search->best_baseline.c;
        if (i == 0 || better)
            search->best_baseline = *cost;
    }
}

/* its exact price, if it may be the best, and its row of the table */
static enum error_code publish_baseline(struct search *search, void *session, uint32_t index, struct error *e)
{
    const struct search_domain *domain = search->domain;
    struct search_plan *out = &search->baseline_plans[index];
    struct core_plan *whole = &search->wholes[index];
    *whole = search->baselines[index];
    bool estimated = domain->price_whole && !deserves_whole(search, index);
    enum error_code code = domain->price_whole && !estimated
                               ? domain->price_whole(session, &whole->list, &whole->price, &whole->cost, e)
                               : ERROR_OK;
    core_plan_publish(search, whole, out);
    out->estimated = estimated;
    snprintf(out->found_by, sizeof out->found_by, "%s", domain->baselines[index].name);
    return code;
}

/* What prices plans at the same time, a thread each: sessions of the domain over the evaluator's. */
struct pricers {
    uint32_t count;
    bool own; /* the evaluator's are theirs */
    struct evaluator_session *evaluators[SEARCH_THREADS];
    void *sessions[SEARCH_THREADS];
};

/* plans that are priced at once: plan i by thread i modulo the threads, so that it meets what is known
 * there */
struct round {
    struct search *search;
    const struct pricers *pricers;
    const struct search_domain_baseline *list;
    struct core_plan *plans; /* of list */
    uint32_t count;
    bool publish; /* they are the search's baselines and have their prices on the fold */
    enum error_code codes[SEARCH_THREADS];
    struct error errors[SEARCH_THREADS];
};

static void price_share(void *user, uint32_t number)
{
    struct round *round = user;
    void *session = round->pricers->sessions[number];
    enum error_code code = ERROR_OK;
    struct error *e = &round->errors[number];
    for (uint32_t i = number; i < round->count && !code; i += round->pricers->count) {
        code = round->publish
                   ? publish_baseline(round->search, session, i, e)
                   : price_baseline(round->search, session, &round->list[i], i, &round->plans[i], e);
    }
    round->codes[number] = code;
}

static enum error_code run_round(struct round *round, struct error *e)
{
    threads_run(round->pricers->count, price_share, round);
    for (uint32_t i = 0; i < round->pricers->count; i++)
        if (round->codes[i]) {
            if (e)
                *e = round->errors[i];
            return round->codes[i];
        }
    return ERROR_OK;
}

static void open_pricers(const struct search *search, struct pricers *pricers)
{
    const struct search_options *options = &search->options;
    struct search_domain *domain = search->domain;
    uint32_t wanted = options->threads ? options->threads : 1;
    *pricers = (struct pricers){.count = wanted < SEARCH_THREADS ? wanted : SEARCH_THREADS,
                                .own = !options->sessions && domain->evaluator_create};
    for (uint32_t i = 0; i < pricers->count; i++) {
        if (options->sessions)
            pricers->evaluators[i] = options->sessions[i];
        else if (domain->evaluator_create)
            pricers->evaluators[i] = domain->evaluator_create(domain);
        pricers->sessions[i] = domain->session_create(domain, pricers->evaluators[i]);
    }
}

static void close_pricers(const struct search *search, const struct pricers *pricers)
{
    for (uint32_t i = 0; i < pricers->count; i++) {
        search->domain->session_destroy(pricers->sessions[i]);
        if (pricers->own)
            search->domain->evaluator_destroy(pricers->evaluators[i]);
    }
}

static enum error_code append_baseline(struct search *search, void *session,
                                       const struct search_domain_baseline *from, struct core_plan plan,
                                       struct error *e)
{
    struct search_domain *domain = search->domain;
    uint32_t index = domain->baseline_count++;
    domain->baselines = mem_realloc(domain->baselines, index + 1, sizeof *domain->baselines);
    search->baselines = mem_realloc(search->baselines, index + 1, sizeof *search->baselines);
    search->baseline_plans = mem_realloc(search->baseline_plans, index + 1, sizeof *search->baseline_plans);
    search->wholes = mem_realloc(search->wholes, index + 1, sizeof *search->wholes);
    domain->baselines[index] = *from;
    plan.baseline = (uint16_t)index;
    search->baselines[index] = plan;
    return publish_baseline(search, session, index, e);
}

/* the number of an expert plan that is there; UINT32_MAX: none */
static uint32_t baseline_with(const struct search *search, struct hash128 hash)
{
    for (uint32_t i = 0; i < search->domain->baseline_count; i++)
        if (hash128_compare(search->baselines[i].hash, hash) == 0)
            return i;
    return UINT32_MAX;
}

/* cheaper plans than `than` among those listed */
static enum error_code price_variants(struct search *search, const struct pricers *pricers,
                                      const struct search_domain_baseline *list, uint32_t count,
                                      const struct core_plan *than, uint32_t *left, struct core_elites *out,
                                      struct error *e)
{
    struct core_plan *plans = mem_zalloc((size_t)count + 1, sizeof *plans);
    count = count < *left ? count : *left;
    *left -= count;
    struct round round = {.search = search, .pricers = pricers, .list = list, .plans = plans, .count = count};
    enum error_code code = run_round(&round, e);
    for (uint32_t i = 0; i < count && !code; i++)
        if (cost_compare(plans[i].cost, plans[i].hash, than->cost, than->hash) < 0 &&
            (plans[i].cost.c < than->cost.c || plans[i].cost.over_steps < than->cost.over_steps))
            core_elites_offer(out, &plans[i]);
    free(plans);
    return code;
}

/* One step: to the cheapest plan around that of the index in this turn, if it is cheaper. It and the
 * next join the list, because a fold's price is not the whole program's. */
static enum error_code climb_once(struct search *search, const struct pricers *pricers, uint32_t *index,
                                  uint32_t turn, uint32_t *left, bool *climbed, struct error *e)
{
    uint32_t count = 0;
    struct search_domain_baseline *list =
        search->domain->variants(search->domain, search->domain->baselines[*index].name, turn, &count);
    struct core_elites found = {.count = 0};
    enum error_code code =
        price_variants(search, pricers, list, count, &search->baselines[*index], left, &found, e);
    *climbed = !code && found.count;
    for (uint32_t k = 0; k < found.count && k < JOINING && !code; k++) {
        if (baseline_with(search, found.at[k].hash) == UINT32_MAX)
            code = append_baseline(search, pricers->sessions[0], &list[found.at[k].baseline], found.at[k], e);
        if (k == 0)
            *index = baseline_with(search, found.at[k].hash);
    }
    free(list);
    return code;
}

/* whether two experts do the same on some axis: a word of a name is strategy:axis */
static bool have_in_common(const char *name, const char *other)
{
    for (size_t size; *name; name += size + (name[size] == '+')) {
        size = strcspn(name, "+");
        for (const char *at = other; *at; at += strcspn(at, "+"), at += *at == '+')
            if (strcspn(at, "+") == size && strncmp(at, name, size) == 0)
                return true;
    }
    return false;
}

/* Where the next climb begins: the cheapest that has nothing in common with where others began, as their
 * neighbours end where they do; UINT32_MAX: none is left. */
static uint32_t next_start(const struct search *search, const uint32_t *starts, uint32_t begun,
                           uint32_t count)
{
    const struct core_plan *plans = search->baselines;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        bool free = best == UINT32_MAX ||
                    cost_compare(plans[i].cost, plans[i].hash, plans[best].cost, plans[best].hash) < 0;
        for (uint32_t k = 0; k < begun && free; k++)
            free = starts[k] != i && !have_in_common(search->domain->baselines[starts[k]].name,
                                                     search->domain->baselines[i].name);
        best = free ? i : best;
    }
    return best;
}

static enum error_code climb(struct search *search, const struct pricers *pricers, struct error *e)
{
    uint32_t first = search->domain->baseline_count, turns = search->domain->variant_turns, starts[CLIMBS];
    enum error_code code = ERROR_OK;
    for (uint32_t k = 0; k < CLIMBS && !code && search->domain->variants; k++) {
        uint32_t left = MOST_CLIMBING / CLIMBS, index = next_start(search, starts, k, first);
        if (index == UINT32_MAX)
            break;
        starts[k] = index;
        for (uint32_t turn = turns - 1, idle = 0; idle < turns && left && !code; turn = (turn + 1) % turns) {
            bool climbed = false;
            code = climb_once(search, pricers, &index, turn, &left, &climbed, e);
            idle = climbed ? 0 : idle + 1;
        }
    }
    return code;
}

static enum error_code price_root(struct search *search, void *session, struct error *e)
{
    search->root.found = FOUND_START;
    enum error_code code = price_list(search, session, &search->root, e);
    search->root_whole = search->root;
    if (!code && search->domain->price_whole)
        code = search->domain->price_whole(session, &search->root_whole.list, &search->root_whole.price,
                                           &search->root_whole.cost, e);
    search->root_reward = code ? 0 : core_reward(search, search->root.cost);
    return code;
}

/* With a margin: what is dearer than an expert that was priced cannot win, however the fold errs. Where no
 * expert fits, memory orders the plans, and none is hopeless. */
static void set_hopeless(struct search *search)
{
    struct search_domain *domain = search->domain;
    const struct cost *best = &search->best_baseline;
    domain->has_hopeless = domain->price_whole && domain->baseline_count && !search->options.no_baselines &&
                           best->over_steps == 0;
    domain->hopeless = (struct cost){best->c + best->c / NEAR_BEST, 0};
}

static enum error_code price_baselines(struct search *search, struct error *e)
{
    struct pricers pricers;
    open_pricers(search, &pricers);
    enum error_code code = price_root(search, pricers.sessions[0], e);
    struct round round = {.search = search,
                          .pricers = &pricers,
                          .list = search->domain->baselines,
                          .plans = search->baselines,
                          .count = search->domain->baseline_count};
    if (!code)
        code = run_round(&round, e);
    note_best(search);
    round.publish = true;
    if (!code)
        code = run_round(&round, e);
    if (!code)
        code = climb(search, &pricers, e);
    set_hopeless(search);
    close_pricers(search, &pricers);
    search->options.sessions = NULL;
    return code;
}

static uint64_t identity(const struct search *search)
{
    const struct search_options *options = &search->options;
    const uint64_t words[] = {3 /* format */,
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
                              (uint64_t)search->root.price.peak_bytes};
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        h = hash_combine(h, words[i]);
    const struct core_tuning *tuning = &search->tuning;
    const uint64_t tuned[] = {
        tuning->walkers,   tuning->playout,     tuning->explore,   tuning->widen,         tuning->strangers,
        tuning->slacks,    tuning->walk_length, tuning->mean_only, tuning->uniform_prior, tuning->last_only,
        tuning->no_polish, tuning->apart,       tuning->any_length};
    for (size_t i = 0; i < sizeof tuned / sizeof *tuned; i++)
        h = hash_combine(h, tuned[i]);
    for (uint32_t i = 0; i < search->domain->baseline_count; i++)
        h = hash_combine(h, search->baselines[i].hash.lo ^ (uint64_t)search->baselines[i].cost.c);
    return h;
}

void core_tune(struct search *search, struct core_tuning tuning)
{
    search->tuning = tuning;
    search->polish_budget =
        tuning.no_polish ? 0 : clamp(search->options.rollouts, FEWEST_POLISH, MOST_POLISH);
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
    search->baselines = mem_zalloc(domain->baseline_count, sizeof *search->baselines);
    search->baseline_plans = mem_zalloc(domain->baseline_count, sizeof *search->baseline_plans);
    search->wholes = mem_zalloc(domain->baseline_count, sizeof *search->wholes);
    enum error_code code = set_options(search, options, e);
    if (!code)
        code = price_baselines(search, e);
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

const struct search_plan *search_baseline(const struct search *search, uint32_t i)
{
    return &search->baseline_plans[i];
}

void core_snapshot_reset(const struct search *search, struct core_snapshot *snapshot)
{
    tree_release(&snapshot->tree);
    snapshot->elites.count = 0;
    core_elites_offer(&snapshot->elites, &search->root);
    uint32_t node = tree_node(&snapshot->tree, tree_state(search->root.hash), search->root.list.at,
                              search->root.list.count);
    snapshot->tree.nodes.at[node].value = search->root_reward;
    for (uint32_t i = 0; i < search->domain->baseline_count && !search->options.no_baselines; i++) {
        const struct core_plan *plan = &search->baselines[i];
        core_elites_offer(&snapshot->elites, plan);
        node = tree_node(&snapshot->tree, tree_state(plan->hash), plan->list.at, plan->list.count);
        snapshot->tree.nodes.at[node].value = core_reward(search, plan->cost);
    }
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
        if (!search->baseline_plans[i].estimated &&
            cost_compare(search->wholes[i].cost, search->wholes[i].hash, p.best.cost, p.best.hash) < 0)
            p.best = search->wholes[i];
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
