/* Two simple searches to compare with at equal evaluations: random lists, and greedy appending with restarts
 * (bench/search; no user gets them). Both count every pricing of a new plan as a rollout, and do all of the
 * budget in one task. */
#include "mcts/core.h"

/* lists drawn for each evaluation before giving up: small programs have few plans */
enum { TRIES = 32 };

enum error_code core_random(struct core_task *task, struct error *e)
{
    enum error_code code = ERROR_OK;
    uint64_t decisions = task->search->domain->decision_count;
    for (uint64_t i = 0; decisions && i < task->quota * TRIES && task->evaluations < task->quota && !code;
         i++) {
        struct search_list list = {.count = 1 + (uint32_t)rng_below(&task->rng, 9)};
        for (uint32_t k = 0; k < list.count; k++)
            list.at[k] = (uint16_t)rng_below(&task->rng, decisions);
        struct hash128 hash;
        uint32_t node;
        code = core_task_check(task, e);
        if (code)
            break;
        task->search->domain->replay(task->session, &list, &hash);
        code = core_task_value(task, &list, hash, FOUND_RANDOM, &node, e);
    }
    task->rollouts = task->quota;
    return code;
}

/* Appends the decision that gains most until none gains. */
static enum error_code climb(struct core_task *task, struct search_list *list, int32_t value, struct error *e)
{
    for (;;) {
        struct search_list best_list = *list;
        int32_t best = value;
        for (uint32_t decision = 0; decision < task->search->domain->decision_count; decision++) {
            struct search_list next = *list;
            struct hash128 hash;
            uint32_t node;
            if (task->evaluations >= task->quota)
                return ERROR_OK;
            if (!core_list_insert(&next, next.count, (uint16_t)decision))
                return ERROR_OK;
            enum error_code code = core_task_check(task, e);
            if (code)
                return code;
            task->search->domain->replay(task->session, &next, &hash);
            code = core_task_value(task, &next, hash, FOUND_GREEDY, &node, e);
            if (code)
                return code;
            if (task->snapshot->tree.nodes.at[node].value > best) {
                best = task->snapshot->tree.nodes.at[node].value;
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
enum error_code core_greedy(struct core_task *task, struct error *e)
{
    struct search_list list = {.count = 0};
    enum error_code code = climb(task, &list, task->search->root_reward, e);
    uint32_t decisions = task->search->domain->decision_count;
    for (uint64_t i = 0; decisions && i < 4 * decisions && task->evaluations < task->quota && !code; i++) {
        list = (struct search_list){1, {(uint16_t)rng_below(&task->rng, decisions)}};
        struct hash128 hash;
        uint32_t node;
        task->search->domain->replay(task->session, &list, &hash);
        code = core_task_value(task, &list, hash, FOUND_GREEDY, &node, e);
        if (!code)
            code = climb(task, &list, task->snapshot->tree.nodes.at[node].value, e);
    }
    task->rollouts = task->quota;
    return code;
}
