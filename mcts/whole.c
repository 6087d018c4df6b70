/* Exact prices of what a search on estimates found.
 *
 * Where the domain's prices are estimates (of a folded program, cost/price.h), the tree, the rewards and the
 * elites are of estimates alone, so that all of them err alike. What leaves the search is exact: the experts
 * that may be the best (search.c), the best plan of every snapshot and its curve. When the search is done all
 * elites are priced exactly, and the best of them wins. Where prices are exact nothing is priced here. */
#include "mcts/core.h"

#include "base/threads.h"

#include <stdlib.h>

static bool is_better(const struct core_plan *plan, const struct core_plan *than)
{
    return cost_compare(plan->cost, plan->hash, than->cost, than->hash) < 0;
}

/* root and experts are known */
static bool take_known(const struct search *search, struct core_plan *plan)
{
    const struct core_plan *known = NULL;
    if (hash128_compare(search->root_whole.hash, plan->hash) == 0)
        known = &search->root_whole;
    for (uint32_t i = 0; i < search->domain->baseline_count && !known; i++)
        if (!search->baseline_plans[i].estimated && hash128_compare(search->wholes[i].hash, plan->hash) == 0)
            known = &search->wholes[i];
    if (known) {
        plan->price = known->price;
        plan->cost = known->cost;
    }
    return known != NULL;
}

static void open_session(struct core_whole *whole)
{
    const struct search_domain *domain = whole->search->domain;
    if (whole->session)
        return;
    whole->evaluator = domain->evaluator_create ? domain->evaluator_create(domain) : NULL;
    whole->session = domain->session_create(domain, whole->evaluator);
}

enum error_code core_whole_price(struct core_whole *whole, struct core_plan *plan, struct error *e)
{
    const struct search_domain *domain = whole->search->domain;
    if (!domain->price_whole || take_known(whole->search, plan) ||
        core_memo_find(whole->search->whole_memo, plan->hash, &plan->price, &plan->cost))
        return ERROR_OK;
    open_session(whole);
    enum error_code code = domain->price_whole(whole->session, &plan->list, &plan->price, &plan->cost, e);
    if (code == ERROR_OK) /* a plan that the estimate puts first, and the exact price does not, comes again */
        core_memo_put(whole->search->whole_memo, plan->hash, &plan->price, plan->cost);
    return code;
}

void core_whole_end(struct core_whole *whole)
{
    if (whole->session)
        whole->search->domain->session_destroy(whole->session);
    if (whole->evaluator)
        whole->search->domain->evaluator_destroy(whole->evaluator);
    *whole = (struct core_whole){.search = whole->search};
}

/* the exact price of a list that has neither hash nor price yet */
static enum error_code price_list(struct core_whole *whole, struct core_plan *plan, struct error *e)
{
    const struct search_domain *domain = whole->search->domain;
    open_session(whole);
    if (!domain->price_whole)
        return core_price_list(whole->search, whole->session, plan, e);
    domain->replay(whole->session, &plan->list, &plan->hash);
    return core_whole_price(whole, plan, e);
}

/* What settling is about to ask for, into the memo, by as many threads as the experts had: it then decides in
 * order on one, as if it had asked. */
struct ahead {
    struct core_whole wholes[SEARCH_THREADS];
    VEC(struct core_plan) plans;
};

static void price_one_ahead(void *user, uint32_t number, uint32_t i)
{
    struct ahead *ahead = user;
    struct error again; /* who asks for the plan meets it, too */
    (void)!price_list(&ahead->wholes[number], &ahead->plans.at[i], &again);
}

static void price_ahead(const struct search *search, struct ahead *ahead)
{
    uint32_t threads = search->options.threads < SEARCH_THREADS ? search->options.threads : SEARCH_THREADS;
    for (uint32_t i = 0; i < threads; i++)
        ahead->wholes[i].search = search;
    if (search->domain->price_whole && threads > 1 && ahead->plans.count > 1)
        threads_share(threads, (uint32_t)ahead->plans.count, price_one_ahead, ahead);
    for (uint32_t i = 0; i < threads; i++)
        core_whole_end(&ahead->wholes[i]);
    VEC_FREE(&ahead->plans);
}

enum { SAME = 1000000 }; /* as far as a report tells */

static bool is_same(int64_t one, int64_t other)
{
    int64_t apart = one > other ? one - other : other - one;
    return apart <= other / SAME;
}

static void price_shorter(const struct search *search, const struct core_plan *best)
{
    struct ahead ahead = {.plans = {0}};
    for (uint32_t i = best->list.count; i-- > 0;) {
        struct core_plan plan = *best;
        if (core_list_delete(&plan.list, i))
            VEC_PUSH(&ahead.plans, plan);
    }
    price_ahead(search, &ahead);
}

/* Leaves out what saves neither time nor memory: rollouts and local searches take whatever saves a
 * picosecond, or nothing at all beside what came before it, and no reader knows why it is there. An expert's
 * plan stays as its name says. */
static enum error_code simplify(struct core_whole *whole, struct core_plan *best, struct error *e)
{
    const struct core_plan before = *best;
    if (before.found == FOUND_START || before.found == FOUND_BASELINE)
        return ERROR_OK;
    price_shorter(whole->search, best);
    for (uint32_t i = before.list.count; i-- > 0;) {
        struct core_plan plan = *best;
        if (i >= best->list.count || !core_list_delete(&plan.list, i))
            continue;
        TRY(price_list(whole, &plan, e));
        if (plan.cost.over_steps <= before.cost.over_steps &&
            (plan.cost.c <= before.cost.c || is_same(plan.cost.c, before.cost.c)) &&
            (plan.price.peak_bytes <= before.price.peak_bytes ||
             is_same(plan.price.peak_bytes, before.price.peak_bytes)))
            *best = plan;
    }
    return ERROR_OK;
}

static void price_elites(const struct search *search, const struct core_snapshot *snapshot, uint32_t count)
{
    struct ahead ahead = {.plans = {0}};
    for (uint32_t i = 0; i < count; i++)
        if (hash128_compare(snapshot->elites.at[i].hash, snapshot->best.hash) != 0)
            VEC_PUSH(&ahead.plans, snapshot->elites.at[i]);
    price_ahead(search, &ahead);
}

enum error_code core_best_settle(const struct search *search, struct core_snapshot *snapshot, struct error *e)
{
    const struct core_elites *elites = &snapshot->elites;
    struct core_whole whole = {.search = search};
    enum error_code code = ERROR_OK;
    uint32_t count = snapshot->phase == SEARCH_DONE ? elites->count : 1;
    if (!search->domain->price_whole) {
        snapshot->best = elites->at[0];
        count = 0;
    }
    price_elites(search, snapshot, count);
    for (uint32_t i = 0; i < count && !code; i++) {
        struct core_plan plan = elites->at[i];
        if (hash128_compare(plan.hash, snapshot->best.hash) == 0)
            continue;
        code = core_whole_price(&whole, &plan, e);
        if (!code && is_better(&plan, &snapshot->best))
            snapshot->best = plan;
    }
    if (snapshot->phase == SEARCH_DONE && !code)
        code = simplify(&whole, &snapshot->best, e);
    core_whole_end(&whole);
    return code;
}
