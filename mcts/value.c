/* What every kind of task asks: may it go on, and what is the plan of a list worth. A plan is priced once a
 * snapshot: its node remembers the value. */
#include "mcts/core.h"

enum error_code core_task_check(const struct core_task *t, struct error *e)
{
    if (t->control && t->control->stop && t->control->stop(t->control->user))
        return error_set(e, ERROR_CANCELLED, "the search was cancelled");
    return ERROR_OK;
}

enum error_code core_task_value(struct core_task *t, const struct search_list *list, struct hash128 hash,
                                enum core_found found, uint32_t *node, struct error *e)
{
    const struct search *s = t->s;
    *node = tree_node(&t->p->tree, tree_state(hash), list->at, list->count);
    if (t->p->tree.nodes.at[*node].value != TREE_UNKNOWN)
        return ERROR_OK;
    struct core_plan p = {.list = *list, .hash = hash, .found = (uint16_t)found};
    if (!core_memo_find(s->memo, hash, &p.price, &p.cost)) {
        enum error_code code = s->domain->price(t->session, list, &p.price, &p.cost, e);
        if (code)
            return code;
        core_memo_put(s->memo, hash, &p.price, p.cost);
    }
    t->evaluations++;
    t->p->tree.nodes.at[*node].value = core_reward(s, p.cost);
    t->p->tree.nodes.at[*node].fresh = 1;
    core_elites_offer(&t->p->elites, &p);
    return ERROR_OK;
}
