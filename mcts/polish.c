/* The final local search: every list one change away from the best one, in a fixed order, shared by the
 * tasks.
 *
 * Candidates of a list of n decisions: n deletions, n x n moves, then for each decision (those of most
 * gain alone first) n + 1 insertions and n replacements. A round is a window of them; task i tries those
 * congruent to i and goes on from the first better list it meets. The merge takes the best; without a gain
 * the next round has the next window, until all were tried (a local optimum) or the evaluations are spent. */
#include "mcts/core.h"

#include <stdlib.h>

struct ranked {
    int32_t gain;
    uint16_t decision;
};

static int by_gain(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    return (x->decision > y->decision) - (x->decision < y->decision);
}

static bool change(struct search_list *l, uint64_t k, const struct ranked *ranked, uint32_t decisions)
{
    uint64_t n = l->count;
    if (k < n)
        return core_list_delete(l, (uint32_t)k);
    k -= n;
    if (k < n * n)
        return core_list_move(l, (uint32_t)(k / n), (uint32_t)(k % n));
    k -= n * n;
    uint64_t d = k / (2 * n + 1), at = k % (2 * n + 1);
    if (d >= decisions)
        return false;
    if (at <= n)
        return core_list_insert(l, (uint32_t)at, ranked[d].decision);
    return core_list_replace(l, (uint32_t)(at - n - 1), ranked[d].decision);
}

uint32_t core_polish_candidates(const struct search *s, const struct core_plan *best)
{
    uint64_t n = best->list.count;
    return (uint32_t)(n + n * n + s->domain->decision_count * (2 * n + 1));
}

enum { WINDOW = 256, WINDOW_SHARE = 4 }; /* candidates of a task in one round; chosen, not tuned */

uint32_t core_polish_window(const struct search *s)
{
    return s->options.parallelism *
           (s->first_rollouts < WINDOW / WINDOW_SHARE ? s->first_rollouts * WINDOW_SHARE : WINDOW);
}

enum error_code core_polish(struct core_task *t, struct error *e)
{
    const struct search *s = t->s;
    uint32_t decisions = s->domain->decision_count;
    struct ranked *ranked = mem_zalloc(decisions, sizeof *ranked);
    for (uint32_t i = 0; i < decisions; i++)
        ranked[i] = (struct ranked){t->p->gains[i], (uint16_t)i};
    if (decisions)
        qsort(ranked, decisions, sizeof *ranked, by_gain);
    struct core_plan base = t->p->elites.at[0];
    uint64_t from = t->p->polish_offset, end = from + core_polish_window(s);
    uint64_t left =
        s->polish_budget > t->p->polish_evaluations ? s->polish_budget - t->p->polish_evaluations : 0;
    t->quota = left / t->p->tasks + (t->index < left % t->p->tasks);
    enum error_code code = ERROR_OK;
    for (uint64_t k = from + t->index; k < end && t->evaluations < t->quota && !code; k += t->p->tasks) {
        struct search_list list = base.list;
        struct hash128 hash;
        uint32_t node;
        t->polish_tried++;
        if (!change(&list, k, ranked, decisions))
            continue;
        code = core_task_check(t, e);
        if (code)
            break;
        s->domain->replay(t->session, &list, &hash);
        code = core_task_value(t, &list, hash, FOUND_POLISH, &node, e);
        if (!code && hash128_compare(t->p->elites.at[0].hash, base.hash) != 0)
            base = t->p->elites.at[0];
    }
    free(ranked);
    return code;
}
