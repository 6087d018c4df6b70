/* Exact prices of what a search on estimates found.
 *
 * Where the domain's prices are estimates (of a folded program, cost/price.h), the tree, the rewards and the
 * elites are of estimates alone, so that all of them err alike. What leaves the search is exact: the experts
 * that may be the best (search.c), the best plan of every snapshot and its curve. When the search is done all
 * elites are priced exactly, and the best of them wins. Where prices are exact nothing is priced here. */
#include "mcts/core.h"

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

enum error_code core_whole_price(struct core_whole *whole, struct core_plan *plan, struct error *e)
{
    const struct search_domain *domain = whole->search->domain;
    if (!domain->price_whole || take_known(whole->search, plan) ||
        core_memo_find(whole->search->whole_memo, plan->hash, &plan->price, &plan->cost))
        return ERROR_OK;
    if (!whole->session) {
        whole->evaluator = domain->evaluator_create ? domain->evaluator_create(domain) : NULL;
        whole->session = domain->session_create(domain, whole->evaluator);
    }
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

enum error_code core_best_settle(const struct search *search, struct core_snapshot *snapshot, struct error *e)
{
    const struct core_elites *elites = &snapshot->elites;
    if (!search->domain->price_whole) {
        snapshot->best = elites->at[0];
        return ERROR_OK;
    }
    struct core_whole whole = {.search = search};
    enum error_code code = ERROR_OK;
    uint32_t count = snapshot->phase == SEARCH_DONE ? elites->count : 1;
    for (uint32_t i = 0; i < count && !code; i++) {
        struct core_plan plan = elites->at[i];
        if (hash128_compare(plan.hash, snapshot->best.hash) == 0)
            continue;
        code = core_whole_price(&whole, &plan, e);
        if (!code && is_better(&plan, &snapshot->best))
            snapshot->best = plan;
    }
    core_whole_end(&whole);
    return code;
}
