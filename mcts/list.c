/* Ordered decision lists and the best plans seen. Moves change a list or refuse; none leaves it longer than
 * SEARCH_MAX_DEPTH. */
#include "mcts/core.h"

#include <string.h>

bool core_list_insert(struct search_list *l, uint32_t at, uint16_t decision)
{
    if (l->count >= SEARCH_MAX_DEPTH || at > l->count)
        return false;
    memmove(l->at + at + 1, l->at + at, (l->count - at) * sizeof l->at[0]);
    l->at[at] = decision;
    l->count++;
    return true;
}

bool core_list_delete(struct search_list *l, uint32_t at)
{
    if (at >= l->count)
        return false;
    memmove(l->at + at, l->at + at + 1, (l->count - at - 1) * sizeof l->at[0]);
    l->count--;
    return true;
}

bool core_list_move(struct search_list *l, uint32_t from, uint32_t to)
{
    if (from >= l->count || to >= l->count || from == to)
        return false;
    uint16_t decision = l->at[from];
    memmove(l->at + from, l->at + from + 1, (l->count - from - 1) * sizeof l->at[0]);
    memmove(l->at + to + 1, l->at + to, (l->count - 1 - to) * sizeof l->at[0]);
    l->at[to] = decision;
    return true;
}

bool core_list_replace(struct search_list *l, uint32_t at, uint16_t decision)
{
    if (at >= l->count || l->at[at] == decision)
        return false;
    l->at[at] = decision;
    return true;
}

bool core_list_act(struct search_list *l, uint32_t action)
{
    return core_list_insert(l, action % 2 == TREE_FIRST ? 0 : l->count, (uint16_t)(action / 2));
}

bool core_elites_offer(struct core_elites *e, const struct core_plan *p)
{
    uint32_t at = 0;
    while (at < e->count && cost_compare(e->at[at].cost, e->at[at].hash, p->cost, p->hash) < 0)
        at++;
    /* the same plan: the lesser list stays */
    if (at < e->count && hash128_compare(e->at[at].hash, p->hash) == 0) {
        struct search_list *mine = &e->at[at].list;
        if (tree_list_compare(p->list.at, p->list.count, mine->at, mine->count) < 0)
            *mine = p->list;
        return false;
    }
    if (at == CORE_ELITES)
        return false;
    if (e->count < CORE_ELITES)
        e->count++;
    memmove(e->at + at + 1, e->at + at, (e->count - at - 1) * sizeof e->at[0]);
    e->at[at] = *p;
    return at == 0;
}
