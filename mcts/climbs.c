/* Hill climbs from several of the best plans, before any rollout: the hill on which the cheapest expert
 * stands is often not the highest, and a local search of the best plan alone (polish.c) never leaves it.
 *
 *   round 0    eight climbs, one from each of the best plans
 *   round 1    four, from the best of what these came to
 *   round 2    two (of small programs, as the next)
 *   round 3    four, from ruins of the two best: up to three decisions left out
 *
 * Rounds have equal shares of rollouts, at most. A climb goes to the first cheaper plan that it meets and
 * tries, in an order of its own, everything one change away from there: a decision left out, moved, put
 * anywhere, or its other side or scope in its place; where none pays, another decision in the place of one,
 * which is two thirds of what there is to try and one gain in four (docs/search.md, Climbs). Of a climb
 * only its end is among the best plans, so that those are of different hills. Each price is a rollout. */
#include "mcts/core.h"

#include <stdlib.h>

enum { RUINS = 4, BASES = 2, MOST_LEFT_OUT = 3 }; /* chosen, not tuned */

uint32_t core_climb_count(uint32_t round)
{
    return round == CORE_RUINED ? RUINS : CORE_ELITES >> round;
}

struct climb {
    struct core_task *task;
    struct core_plan at;
    uint64_t left; /* prices */
};

/* the value of a list's plan; *rises: it is cheaper than where the climb stands, which goes there */
static enum error_code try(struct climb *climb, const struct search_list *list, bool *rises, struct error *e)
{
    struct core_task *task = climb->task;
    struct core_elites elites = task->snapshot->elites; /* only a climb's end is one of them */
    struct core_plan plan = {.list = *list, .found = FOUND_CLIMB};
    uint64_t before = task->evaluations;
    uint32_t node;
    *rises = false;
    TRY(core_task_check(task, e));
    task->search->domain->replay(task->session, &plan.list, &plan.hash);
    task->beaten = core_to_beat(task->search, &climb->at);
    TRY(core_task_value(task, &plan.list, plan.hash, FOUND_CLIMB, &node, e));
    task->snapshot->elites = elites;
    climb->left -= task->evaluations > before;
    task->rollouts += task->evaluations > before;
    if (task->snapshot->tree.nodes.at[node].value <= core_reward(task->search, climb->at.cost))
        return ERROR_OK;
    /* known: the node has the reward alone */
    TRY(core_price_plan(task->search, task->session, task->beaten, &plan, e));
    *rises = plan.cost.over_steps != climb->at.cost.over_steps
                 ? plan.cost.over_steps < climb->at.cost.over_steps
                 : plan.cost.c < climb->at.cost.c;
    if (*rises)
        climb->at = plan;
    return ERROR_OK;
}

static enum error_code look_among(struct climb *climb, uint32_t *changes, uint64_t count, bool *stands,
                                  struct error *e)
{
    const struct search_domain *domain = climb->task->search->domain;
    for (uint64_t i = 0; i < count && climb->left && *stands; i++) {
        uint64_t drawn = i + rng_below(&climb->task->rng, count - i);
        uint32_t k = changes[drawn];
        struct search_list list = climb->at.list;
        bool rises = false;
        changes[drawn] = changes[i];
        if (core_list_change(&list, k, NULL, domain->decision_count))
            TRY(try(climb, &list, &rises, e));
        *stands = !rises;
    }
    return ERROR_OK;
}

/* all changes once until one pays, in random order, exchanges last; *stands: none did */
static enum error_code look_around(struct climb *climb, bool *stands, struct error *e)
{
    const struct search_domain *domain = climb->task->search->domain;
    uint64_t count = core_list_changes(&climb->at.list, domain->decision_count), plain = 0, last = count;
    uint32_t *changes = mem_alloc((count + 1) * sizeof *changes);
    for (uint32_t k = 0; k < count; k++)
        changes[core_list_exchanges(domain, &climb->at.list, k, NULL) ? --last : plain++] = k;
    *stands = true;
    enum error_code code = look_among(climb, changes, plain, stands, e);
    if (!code)
        code = look_among(climb, changes + plain, count - plain, stands, e);
    free(changes);
    return code;
}

/* leaves out a few decisions: what stood in the way of others */
static enum error_code ruin(struct climb *climb, struct error *e)
{
    struct core_task *task = climb->task;
    struct core_plan plan = {.list = climb->at.list, .found = FOUND_CLIMB};
    for (uint64_t left_out = 1 + rng_below(&task->rng, MOST_LEFT_OUT); left_out && plan.list.count;
         left_out--)
        core_list_delete(&plan.list, (uint32_t)rng_below(&task->rng, plan.list.count));
    TRY(core_price_list(task->search, task->session, &plan, e));
    climb->at = plan;
    return ERROR_OK;
}

enum error_code core_climbs(struct core_task *task, struct error *e)
{
    const struct core_elites starts = task->snapshot->elites;
    bool ruined = task->snapshot->epoch == CORE_RUINED;
    uint32_t count = core_climb_count(task->snapshot->epoch);
    for (uint32_t k = task->index; k < count && (ruined || k < starts.count); k += task->snapshot->tasks) {
        uint32_t start = !ruined ? k : starts.count < BASES ? 0 : k % BASES;
        struct climb climb = {
            .task = task, .at = starts.at[start], .left = task->search->climb_round / count};
        if (ruined)
            TRY(ruin(&climb, e));
        for (bool stands = false; climb.left && !stands;)
            TRY(look_around(&climb, &stands, e));
        core_elites_offer(&task->snapshot->elites, &climb.at);
    }
    return ERROR_OK;
}
