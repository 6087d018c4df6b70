/* Two simple searches to compare with at equal evaluations: random lists, and greedy appending with restarts
 * (bench/search; no user gets them). Both count every pricing of a new plan as a rollout, and do all of the
 * budget in one task. */
#include "mcts/core.h"

/* lists drawn for each evaluation before giving up: small programs have few plans */
enum { TRIES = 32 };

enum error_code core_random(struct core_task *t, struct error *e)
{
    enum error_code code = ERROR_OK;
    uint64_t decisions = t->s->domain->decision_count;
    for (uint64_t i = 0; decisions && i < t->quota * TRIES && t->evaluations < t->quota && !code; i++) {
        struct search_list list = {.count = 1 + (uint32_t)rng_below(&t->rng, 9)};
        for (uint32_t k = 0; k < list.count; k++)
            list.at[k] = (uint16_t)rng_below(&t->rng, decisions);
        struct hash128 hash;
        uint32_t node;
        code = core_task_check(t, e);
        if (code)
            break;
        t->s->domain->replay(t->session, &list, &hash);
        code = core_task_value(t, &list, hash, FOUND_RANDOM, &node, e);
    }
    t->rollouts = t->quota;
    return code;
}

/* Appends the decision that gains most until none gains. */
static enum error_code climb(struct core_task *t, struct search_list *list, int32_t value, struct error *e)
{
    for (;;) {
        struct search_list best_list = *list;
        int32_t best = value;
        for (uint32_t d = 0; d < t->s->domain->decision_count; d++) {
            struct search_list next = *list;
            struct hash128 hash;
            uint32_t node;
            if (t->evaluations >= t->quota)
                return ERROR_OK;
            if (!core_list_insert(&next, next.count, (uint16_t)d))
                return ERROR_OK;
            enum error_code code = core_task_check(t, e);
            if (code)
                return code;
            t->s->domain->replay(t->session, &next, &hash);
            code = core_task_value(t, &next, hash, FOUND_GREEDY, &node, e);
            if (code)
                return code;
            if (t->p->tree.nodes.at[node].value > best) {
                best = t->p->tree.nodes.at[node].value;
                best_list = next;
            }
        }
        if (best <= value)
            return ERROR_OK;
        *list = best_list;
        value = best;
    }
}

/* First from the root, then from random single decisions. */
enum error_code core_greedy(struct core_task *t, struct error *e)
{
    struct search_list list = {.count = 0};
    enum error_code code = climb(t, &list, t->s->root_reward, e);
    uint32_t decisions = t->s->domain->decision_count;
    for (uint64_t i = 0; decisions && i < 4 * decisions && t->evaluations < t->quota && !code; i++) {
        list = (struct search_list){1, {(uint16_t)rng_below(&t->rng, decisions)}};
        struct hash128 hash;
        uint32_t node;
        t->s->domain->replay(t->session, &list, &hash);
        code = core_task_value(t, &list, hash, FOUND_GREEDY, &node, e);
        if (!code)
            code = climb(t, &list, t->p->tree.nodes.at[node].value, e);
    }
    t->rollouts = t->quota;
    return code;
}
