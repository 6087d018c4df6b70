/* The local search behind a stage of rollouts: every list one change away from the best one, in a fixed
 * order, shared by the tasks.
 *
 * Candidates of a list of n decisions: n deletions, n x n moves, then for each decision (those of most
 * gain alone first) n + 1 insertions, and other sides and scopes in the place of one. A round is a window of
 * them; task i tries those congruent to i and goes on from the first better list it meets. The merge takes
 * the best; without a gain the next round has the next window, until all were tried (a local optimum) or the
 * evaluations are spent.
 *
 * Exchanges (core_list_exchanges) have a place in the order and are left out: an insertion in front of what
 * would be exchanged says nearly the same, as earlier decisions win. */
#include "mcts/core.h"

#include <stdlib.h>

struct ranked {
    int32_t gain;
    uint16_t decision;
};

static int by_gain(const void *left, const void *right)
{
    const struct ranked *ranked = left, *other_ranked = right;
    if (ranked->gain != other_ranked->gain)
        return ranked->gain > other_ranked->gain ? -1 : 1;
    return (ranked->decision > other_ranked->decision) - (ranked->decision < other_ranked->decision);
}

uint32_t core_polish_candidates(const struct search *search, const struct core_plan *best)
{
    return (uint32_t)core_list_changes(&best->list, search->domain->decision_count);
}

/* Node of a list, priced if nobody has. */
static enum error_code price_list(struct core_task *task, struct search_list *list, uint32_t *node,
                                  struct error *e)
{
    struct hash128 hash;
    TRY(core_task_check(task, e));
    task->search->domain->replay(task->session, list, &hash);
    return core_task_value(task, list, hash, FOUND_POLISH, node, e);
}

enum { WINDOW = 256, WINDOW_SHARE = 4 }; /* candidates of a task in one round; chosen, not tuned */

uint32_t core_polish_window(const struct search *search)
{
    return search->options.parallelism *
           (search->first_rollouts < WINDOW / WINDOW_SHARE ? search->first_rollouts * WINDOW_SHARE : WINDOW);
}

/* 1/200 of C: what is within it of the best plan may join those that are kept. Chosen, not tuned. */
enum { NEAR_BASE = 200 };

enum error_code core_polish(struct core_task *task, struct error *e)
{
    const struct search *search = task->search;
    uint32_t decisions = search->domain->decision_count;
    struct ranked *ranked = mem_zalloc(decisions, sizeof *ranked);
    uint16_t *order = mem_zalloc(decisions, sizeof *order);
    for (uint32_t i = 0; i < decisions; i++)
        ranked[i] = (struct ranked){task->snapshot->gains[i], (uint16_t)i};
    if (decisions)
        qsort(ranked, decisions, sizeof *ranked, by_gain);
    for (uint32_t i = 0; i < decisions; i++)
        order[i] = ranked[i].decision;
    struct core_plan base = task->snapshot->elites.at[0];
    uint64_t from = task->snapshot->polish_offset, end = from + core_polish_window(search);
    uint64_t left = search->polish_budget > task->snapshot->polish_evaluations
                        ? search->polish_budget - task->snapshot->polish_evaluations
                        : 0;
    task->beaten = core_to_beat(search, &base);
    task->beaten += task->beaten / NEAR_BASE;
    task->quota = left / task->snapshot->tasks + (task->index < left % task->snapshot->tasks);
    enum error_code code = ERROR_OK;
    for (uint64_t k = from + task->index; k < end && task->evaluations < task->quota && !code;
         k += task->snapshot->tasks) {
        struct search_list list = base.list;
        uint32_t node;
        task->polish_tried++;
        if (core_list_exchanges(search->domain, &base.list, k, order) ||
            !core_list_change(&list, k, order, decisions))
            continue;
        code = price_list(task, &list, &node, e);
        if (!code && hash128_compare(task->snapshot->elites.at[0].hash, base.hash) != 0)
            base = task->snapshot->elites.at[0];
    }
    free(ranked);
    free(order);
    return code;
}
