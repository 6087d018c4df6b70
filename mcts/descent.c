/* Where the fastest experts do not fit: from each of the fastest, change after change, to a plan that does.
 *
 * A step takes the change that frees most of what is above the limit for the time that it costs; changes are
 * a deletion, and a decision in front of the others or behind them. What freed nothing is not tried in the
 * steps that follow, until none of the others frees anything. Rollouts seldom come there: all that does not
 * fit is worth less than all that does, so that the way from a fast plan to one that fits leads through plans
 * that are worth nothing (docs/search.md, Tight limits). */
#include "mcts/core.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* plans priced in all: clamp(2^23 / ops, 300, 1000). Chosen, not tuned */
    DESCENT_OPERATIONS = 1 << 23,
    LEAST_PRICES = 300,
    MOST_PRICES = 1000,
    PLACES = 2 /* of a decision: in front, behind */
};

struct descent {
    struct search *search;
    const struct core_pricers *pricers;
    uint32_t decisions, left; /* that are tried; plans to price */
    struct core_plan base;
    struct core_plan *around; /* by change: deletions, then decisions by place */
    uint8_t *idle;            /* by change: it freed nothing when it was tried */
    uint32_t *numbers;        /* of the changes that are priced */
    struct hash128 *hashes;   /* scratch */
};

static enum error_code price_one(void *user, void *session, uint32_t i, struct error *e)
{
    struct descent *descent = user;
    if (core_experts_over(descent->search)) {
        descent->around[descent->numbers[i]].cost = descent->base.cost; /* frees nothing */
        return ERROR_OK;
    }
    return core_price_list(descent->search, session, &descent->around[descent->numbers[i]], e);
}

/* one change: its plan, if there is one */
static bool change(const struct descent *descent, uint32_t k, struct core_plan *plan)
{
    const struct search_list *base = &descent->base.list;
    uint32_t insertion = k - SEARCH_MAX_LIST;
    *plan = (struct core_plan){.list = *base, .found = FOUND_DESCENT};
    if (k < SEARCH_MAX_LIST)
        return core_list_delete(&plan->list, k);
    return core_list_insert(&plan->list, insertion % PLACES ? 0 : base->count,
                            (uint16_t)(insertion / PLACES));
}

static int by_hash(const void *left, const void *right)
{
    return hash128_compare(*(const struct hash128 *)left, *(const struct hash128 *)right);
}

/* of the plans listed, how many differ: many decisions change nothing, or do it from either place */
static uint32_t count_plans(const struct descent *descent, uint32_t count)
{
    uint32_t plans = 0;
    for (uint32_t i = 0; i < count; i++)
        descent->hashes[i] = descent->around[descent->numbers[i]].hash;
    qsort(descent->hashes, count, sizeof *descent->hashes, by_hash);
    for (uint32_t i = 0; i < count; i++)
        plans += i == 0 || by_hash(&descent->hashes[i - 1], &descent->hashes[i]) != 0;
    return plans;
}

/* time for what is freed: what costs none is first, by the time that it saves */
static bool is_better_step(const struct core_plan *base, const struct core_plan *plan,
                           const struct core_plan *than)
{
    double slower = (double)(plan->price.step_ps - base->price.step_ps),
           than_slower = (double)(than->price.step_ps - base->price.step_ps),
           freed = (double)(base->cost.over_steps - plan->cost.over_steps),
           than_freed = (double)(base->cost.over_steps - than->cost.over_steps);
    if (slower <= 0 || than_slower <= 0)
        return slower < than_slower;
    return slower * than_freed < than_slower * freed;
}

/* the best step of the changes that are not idle; NULL: none frees anything */
static enum error_code look_around(struct descent *descent, const struct core_plan **best, struct error *e)
{
    const struct core_plan *base = &descent->base;
    uint32_t count = 0;
    *best = NULL;
    for (uint32_t k = 0; k < SEARCH_MAX_LIST + PLACES * descent->decisions; k++)
        if (!descent->idle[k] && change(descent, k, &descent->around[k]))
            descent->numbers[count++] = k;
    enum error_code code = core_pricers_run(descent->pricers, count, price_one, descent, e);
    uint32_t plans = code ? 0 : count_plans(descent, count);
    if (core_experts_over(descent->search))
        plans = descent->left;
    descent->left -= plans < descent->left ? plans : descent->left;
    for (uint32_t i = 0; i < count && !code; i++) {
        const struct core_plan *plan = &descent->around[descent->numbers[i]];
        bool frees = plan->cost.over_steps < base->cost.over_steps;
        descent->idle[descent->numbers[i]] = !frees && descent->numbers[i] >= SEARCH_MAX_LIST;
        if (frees && (!*best || is_better_step(base, plan, *best)))
            *best = plan;
    }
    return code;
}

/* stepped: whether a change frees memory at all */
static enum error_code step(struct descent *descent, bool *stepped, struct error *e)
{
    const struct core_plan *best = NULL;
    enum error_code code = look_around(descent, &best, e);
    if (!code && !best && descent->left) {
        memset(descent->idle, 0, SEARCH_MAX_LIST + (size_t)PLACES * descent->decisions);
        code = look_around(descent, &best, e);
    }
    *stepped = best != NULL;
    if (best)
        descent->base = *best;
    return code;
}

static enum error_code keep(struct search *search, void *session, const struct core_plan *plan,
                            struct error *e)
{
    const struct search_domain *domain = search->domain;
    for (uint32_t i = 0; i < search->descent_count; i++)
        if (hash128_compare(search->descents[i].hash, plan->hash) == 0)
            return ERROR_OK;
    struct core_plan *whole = &search->whole_descents[search->descent_count];
    *whole = search->descents[search->descent_count] = *plan;
    search->descent_count++;
    return domain->price_whole ? domain->price_whole(session, &whole->list, &whole->price, &whole->cost, e)
                               : ERROR_OK;
}

static enum error_code descend_from(struct descent *descent, uint32_t start, struct error *e)
{
    enum error_code code = ERROR_OK;
    descent->base = descent->search->baselines[start];
    memset(descent->idle, 0, SEARCH_MAX_LIST + (size_t)PLACES * descent->decisions);
    for (bool stepped = true; descent->base.cost.over_steps && stepped && descent->left && !code;)
        code = step(descent, &stepped, e);
    if (code || descent->base.cost.over_steps)
        return code;
    return keep(descent->search, descent->pricers->sessions[0], &descent->base, e);
}

enum error_code core_descend(struct search *search, const struct core_pricers *pricers, struct error *e)
{
    const struct search_domain *domain = search->domain;
    uint32_t starts[CORE_DESCENTS];
    enum error_code code = ERROR_OK;
    if (search->options.no_baselines || search->options.method != SEARCH_MCTS)
        return ERROR_OK;
    struct descent descent = {.search = search,
                              .pricers = pricers,
                              .decisions = domain->decision_count + domain->regather_count,
                              .left = (uint32_t)core_clamp(DESCENT_OPERATIONS / (domain->operations + 1),
                                                           LEAST_PRICES, MOST_PRICES)};
    size_t changes = SEARCH_MAX_LIST + (size_t)PLACES * descent.decisions;
    descent.around = mem_alloc(changes * sizeof *descent.around);
    descent.idle = mem_alloc(changes);
    descent.numbers = mem_alloc(changes * sizeof *descent.numbers);
    descent.hashes = mem_alloc(changes * sizeof *descent.hashes);
    for (uint32_t k = 0; k < CORE_DESCENTS && descent.left && !code; k++) {
        starts[k] = core_best_over(search, starts, k, domain->baseline_count, true);
        if (starts[k] == UINT32_MAX)
            break;
        code = descend_from(&descent, starts[k], e);
    }
    free(descent.around);
    free(descent.idle);
    free(descent.numbers);
    free(descent.hashes);
    return code;
}
