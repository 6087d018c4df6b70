/* The local search behind a stage of rollouts: every list one change away from the best one, in a fixed
 * order, shared by the tasks.
 *
 * Candidates of a list of n decisions: n deletions, n x n moves, then for each decision (those of most
 * gain alone first) n + 1 insertions and n replacements. A round is a window of them; task i tries those
 * congruent to i and goes on from the first better list it meets. The merge takes the best; without a gain
 * the next round has the next window, until all were tried (a local optimum) or the evaluations are spent.
 *
 * What a plan cannot do without is not replaced: where deleting a decision loses more than PILLAR, lists with
 * another one in its place are not priced. Of t2b and a Llama that is every third evaluation of a round, and
 * none of the 100 gains of their rounds. */
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

/* about 5 % of C (walker_start) */
enum { PILLAR = 50 * REWARD_DEPTH };

/* Node of a list, priced if nobody has. */
static enum error_code price_list(struct core_task *task, struct search_list *list, uint32_t *node,
                                  struct error *e)
{
    struct hash128 hash;
    TRY(core_task_check(task, e));
    task->search->domain->replay(task->session, list, &hash);
    return core_task_value(task, list, hash, FOUND_POLISH, node, e);
}

/* Which decisions of the base are pillars; by number, of the domain's. Deletions are candidates anyway. */
static enum error_code find_pillars(struct core_task *task, const struct core_plan *base, uint8_t *pillars,
                                    struct error *e)
{
    const struct search *search = task->search;
    int32_t reward = core_reward(search, base->cost);
    for (uint32_t i = 0; i < base->list.count && task->evaluations < task->quota; i++) {
        struct search_list list = base->list;
        uint32_t node;
        if (!core_list_delete(&list, i))
            continue;
        TRY(price_list(task, &list, &node, e));
        pillars[base->list.at[i]] = reward - task->snapshot->tree.nodes.at[node].value > PILLAR;
    }
    return ERROR_OK;
}

/* does candidate k put another decision in the place of a pillar? */
static bool topples(const struct search_list *list, uint64_t k, const uint8_t *pillars)
{
    uint64_t n = list->count, at;
    if (k < n + n * n)
        return false;
    at = (k - n - n * n) % (2 * n + 1);
    return at > n && pillars[list->at[at - n - 1]];
}

enum { WINDOW = 256, WINDOW_SHARE = 4 }; /* candidates of a task in one round; chosen, not tuned */

uint32_t core_polish_window(const struct search *search)
{
    return search->options.parallelism *
           (search->first_rollouts < WINDOW / WINDOW_SHARE ? search->first_rollouts * WINDOW_SHARE : WINDOW);
}

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
    task->quota = left / task->snapshot->tasks + (task->index < left % task->snapshot->tasks);
    uint8_t *pillars = mem_zalloc(search->domain->total_count, 1);
    enum error_code code =
        from < core_polish_candidates(search, &base) ? find_pillars(task, &base, pillars, e) : ERROR_OK;
    for (uint64_t k = from + task->index; k < end && task->evaluations < task->quota && !code;
         k += task->snapshot->tasks) {
        struct search_list list = base.list;
        uint32_t node;
        task->polish_tried++;
        if (topples(&base.list, k, pillars) || !core_list_change(&list, k, order, decisions))
            continue;
        code = price_list(task, &list, &node, e);
        if (!code && hash128_compare(task->snapshot->elites.at[0].hash, base.hash) != 0)
            base = task->snapshot->elites.at[0];
    }
    free(pillars);
    free(ranked);
    free(order);
    return code;
}
