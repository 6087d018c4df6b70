/* What every kind of task asks: may it go on, and what is the plan of a list worth. A plan is priced once a
 * snapshot: its node remembers the value. */
#include "mcts/core.h"

/* of the limit: of a plan that leaves less than that others hardly fit, and their memory is to be known.
 * Chosen, not tuned */
enum { TIGHT_PART = 4 };

/* in keys of prices that are remembered apart: they are of these limits alone, as what is beyond them may be
 * the best beside a dearer plan */
static uint64_t word_of(const struct price_limits *limits)
{
    uint64_t word = hash_combine((uint64_t)limits->hopeless, (uint64_t)limits->far);
    return hash_combine(word, (uint64_t)limits->far_bytes);
}

enum error_code core_task_check(const struct core_task *task, struct error *e)
{
    if (search_stops(task->control))
        return error_set(e, ERROR_CANCELLED, "the search was cancelled");
    return ERROR_OK;
}

int64_t core_to_beat(const struct search *search, const struct core_plan *plan)
{
    int64_t limit = search->domain->memory_limit_bytes;
    return limit > 0 && plan->price.peak_bytes <= limit - limit / TIGHT_PART ? plan->cost.c : 0;
}

static enum error_code price_as(const struct search *search, void *session, struct hash128 key,
                                int64_t beaten, struct core_plan *plan, struct error *e)
{
    if (core_memo_find(search->memo, key, &plan->price, &plan->cost))
        return ERROR_OK;
    TRY(search->domain->price(session, &plan->list, beaten, &plan->price, &plan->cost, e));
    core_memo_put(search->memo, key, &plan->price, plan->cost);
    return ERROR_OK;
}

enum error_code core_price_plan(const struct search *search, void *session, int64_t beaten,
                                struct core_plan *plan, struct error *e)
{
    struct hash128 key = beaten ? hash128_xor(plan->hash, hash_word((uint64_t)beaten)) : plan->hash;
    return price_as(search, session, key, beaten, plan, e);
}

enum error_code core_price_apart(const struct search *search, void *session, struct core_plan *plan,
                                 struct error *e)
{
    search->domain->replay(session, &plan->list, &plan->hash);
    if (core_memo_find(search->memo, plan->hash, &plan->price, &plan->cost))
        return ERROR_OK;
    return price_as(search, session, hash128_xor(plan->hash, hash_word(word_of(&search->domain->limits))), 0,
                    plan, e);
}

enum error_code core_price_list(const struct search *search, void *session, struct core_plan *plan,
                                struct error *e)
{
    search->domain->replay(session, &plan->list, &plan->hash);
    return core_price_plan(search, session, 0, plan, e);
}

enum error_code core_task_value(struct core_task *task, const struct search_list *list, struct hash128 hash,
                                enum core_found found, uint32_t *node, struct error *e)
{
    const struct search *search = task->search;
    *node = tree_node(&task->snapshot->tree, tree_state(hash), list->at, list->count);
    if (task->snapshot->tree.nodes.at[*node].value != TREE_UNKNOWN)
        return ERROR_OK;
    struct core_plan plan = {.list = *list, .hash = hash, .found = (uint16_t)found};
    TRY(core_price_plan(search, task->session, task->beaten, &plan, e));
    task->evaluations++;
    task->snapshot->tree.nodes.at[*node].value = core_reward(search, plan.cost);
    task->snapshot->tree.nodes.at[*node].fresh = 1;
    if (!task->beaten || plan.cost.c <= task->beaten) /* what is dearer may be priced roughly */
        core_elites_offer(&task->snapshot->elites, &plan);
    return ERROR_OK;
}
