/* Ordered decision lists and the best plans seen. Moves change a list or refuse; none leaves it longer than
 * SEARCH_MAX_DEPTH. */
#include "mcts/core.h"

#include <string.h>

bool core_list_insert(struct search_list *list, uint32_t at, uint16_t decision)
{
    if (list->count >= SEARCH_MAX_DEPTH || at > list->count)
        return false;
    memmove(list->at + at + 1, list->at + at, (list->count - at) * sizeof list->at[0]);
    list->at[at] = decision;
    list->count++;
    return true;
}

bool core_list_delete(struct search_list *list, uint32_t at)
{
    if (at >= list->count)
        return false;
    memmove(list->at + at, list->at + at + 1, (list->count - at - 1) * sizeof list->at[0]);
    list->count--;
    return true;
}

bool core_list_move(struct search_list *list, uint32_t from, uint32_t to)
{
    if (from >= list->count || to >= list->count || from == to)
        return false;
    uint16_t decision = list->at[from];
    memmove(list->at + from, list->at + from + 1, (list->count - from - 1) * sizeof list->at[0]);
    memmove(list->at + to + 1, list->at + to, (list->count - 1 - to) * sizeof list->at[0]);
    list->at[to] = decision;
    return true;
}

bool core_list_replace(struct search_list *list, uint32_t at, uint16_t decision)
{
    if (at >= list->count || list->at[at] == decision)
        return false;
    list->at[at] = decision;
    return true;
}

uint64_t core_list_changes(const struct search_list *list, uint32_t decisions)
{
    uint64_t n = list->count;
    return n + n * n + decisions * (2 * n + 1);
}

bool core_list_change(struct search_list *list, uint64_t k, const uint16_t *order, uint32_t decisions)
{
    uint64_t n = list->count;
    if (k < n)
        return core_list_delete(list, (uint32_t)k);
    k -= n;
    if (k < n * n)
        return core_list_move(list, (uint32_t)(k / n), (uint32_t)(k % n));
    k -= n * n;
    uint64_t d = k / (2 * n + 1), at = k % (2 * n + 1);
    if (d >= decisions)
        return false;
    uint16_t decision = order ? order[d] : (uint16_t)d;
    if (at <= n)
        return core_list_insert(list, (uint32_t)at, decision);
    return core_list_replace(list, (uint32_t)(at - n - 1), decision);
}

/* the same dimensions on the same axis: another side of their conflicts, or another scope */
static bool is_alike(const struct search_domain *domain, uint16_t one, uint16_t other)
{
    return domain->decisions && domain->decisions[one].group == domain->decisions[other].group &&
           domain->decisions[one].axis == domain->decisions[other].axis;
}

bool core_list_exchanges(const struct search_domain *domain, const struct search_list *list, uint64_t k,
                         const uint16_t *order)
{
    uint64_t n = list->count, places = 2 * n + 1;
    if (k < n + n * n)
        return false;
    uint64_t rest = k - n - n * n, d = rest / places, at = rest % places;
    return at > n && d < domain->decision_count &&
           !is_alike(domain, list->at[at - n - 1], order ? order[d] : (uint16_t)d);
}

bool core_list_act(struct search_list *list, uint32_t action)
{
    return core_list_insert(list, action % 2 == TREE_FIRST ? 0 : list->count, (uint16_t)(action / 2));
}

/* best plans differ by more than 1/700 of C: of 1/300 to 1/5000 what is best on the corpus with the seed that
 * is taken by default (docs/performance.md) */
enum { APART = 700 };

/* Do they cost about the same? Such plans are mostly one with a decision more that does next to nothing: of
 * eight of them seven tell a walk nothing. */
static bool is_near(struct cost one, struct cost other)
{
    int64_t apart = one.c > other.c ? one.c - other.c : other.c - one.c;
    return one.over_steps == other.over_steps && apart <= one.c / APART;
}

/* The plan goes to place `at`: those behind it that are near it leave. false: one before it is near. */
static bool make_room(struct core_elites *e, uint32_t at, const struct core_plan *plan)
{
    for (uint32_t i = 0; i < at; i++)
        if (is_near(e->at[i].cost, plan->cost))
            return false;
    uint32_t left = at;
    for (uint32_t i = at; i < e->count; i++)
        if (!is_near(e->at[i].cost, plan->cost))
            e->at[left++] = e->at[i];
    e->count = left;
    return true;
}

bool core_elites_offer(struct core_elites *e, const struct core_plan *plan)
{
    uint32_t at = 0;
    while (at < e->count && cost_compare(e->at[at].cost, e->at[at].hash, plan->cost, plan->hash) < 0)
        at++;
    /* the same plan: the lesser list stays */
    if (at < e->count && hash128_compare(e->at[at].hash, plan->hash) == 0) {
        struct search_list *mine = &e->at[at].list;
        if (tree_list_compare(plan->list.at, plan->list.count, mine->at, mine->count) < 0)
            *mine = plan->list;
        return false;
    }
    if (!make_room(e, at, plan) || at == CORE_ELITES)
        return false;
    if (e->count < CORE_ELITES)
        e->count++;
    memmove(e->at + at + 1, e->at + at, (e->count - at - 1) * sizeof e->at[0]);
    e->at[at] = *plan;
    return at == 0;
}
