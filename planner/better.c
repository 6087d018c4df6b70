/* A report measures, for every dimension left whole, the plan with one more decision (report/whole.h), and
 * for every choice of a network's plan the plan without it (report/choices.h). Where such a plan is better
 * than the one that is reported the answer would not be the best that fits, as far as is known: so it
 * becomes the answer, and is reported in its turn. */
#include "planner/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take_if_better(const struct planner_better *one, struct planner_better *best)
{
    bool none = !best->whole && !best->choice;
    if (none || cost_compare(one->cost, one->hash, best->cost, best->hash) < 0)
        *best = *one;
}

bool planner_better_try(const struct report *report, struct planner_better *out)
{
    *out = (struct planner_better){.whole = NULL};
    for (uint32_t i = 0; i < report->whole_count; i++) {
        const struct report_whole *whole = &report->whole[i];
        struct planner_better one = {.whole = whole,
                                     .hash = whole->best.hash,
                                     .cost = whole->best.cost,
                                     .step_ps = whole->best.step_ps,
                                     .peak_bytes = whole->best.peak_bytes};
        if (whole->reason == REPORT_MISSED)
            take_if_better(&one, out);
    }
    for (uint32_t i = 0; i < report->choice_count; i++) {
        const struct report_choice *choice = &report->choices[i];
        struct planner_better one = {.choice = choice,
                                     .hash = choice->hash,
                                     .cost = choice->cost,
                                     .step_ps = choice->step_ps,
                                     .peak_bytes = choice->peak_bytes};
        if (choice->missed)
            take_if_better(&one, out);
    }
    return out->whole || out->choice;
}

/* the decision before or behind those of a list */
static bool extend(struct search_plan *plan, const struct report_try *better)
{
    if (plan->count == SEARCH_MAX_LIST)
        return false;
    uint32_t at = better->first ? 0 : plan->count;
    memmove(&plan->decisions[at + 1], &plan->decisions[at], (plan->count - at) * sizeof *plan->decisions);
    plan->decisions[at] = better->decision;
    plan->count++;
    return true;
}

static bool is_of(const struct planner_job *j, const struct report_choice *choice,
                  const struct plan_factor *factor)
{
    uint32_t index = j->nda->spaces[factor->space].factors + factor->factor;
    return choice && factor->axis == choice->axis &&
           j->nda->colors[j->nda->factors[index].color].group == choice->group;
}

/* Of a plan with factors beyond its decisions all becomes factors: a decision cannot stand behind those. */
static bool flatten(const struct planner_job *j, struct search_plan *plan,
                    const struct planner_better *better, struct plan_factors *factors)
{
    struct search_plan before = *plan;
    struct plan reached;
    plan_init(&reached, j->nda, &j->request->mesh);
    plan_copy(&reached, plan_context_start(j->context));
    if (better->whole && better->whole->best.first)
        plan_apply(j->context, &reached, better->whole->best.decision);
    for (uint32_t i = 0; i < before.count; i++)
        plan_apply(j->context, &reached, before.decisions[i]);
    for (uint32_t i = 0; i < before.factor_count; i++)
        if (!is_of(j, better->choice, &before.factors[i]))
            plan_apply_factor(j->context, &reached, before.factors[i].space, before.factors[i].factor,
                              before.factors[i].axis);
    if (better->whole && !better->whole->best.first)
        plan_apply(j->context, &reached, better->whole->best.decision);
    bool same = hash128_compare(reached.hash, better->hash) == 0;
    if (same) {
        struct plan_factors listed;
        plan_factors_list(j->context, &reached, &listed);
        free(factors->at); /* before.factors may have been these */
        *factors = listed;
        plan->count = 0;
        plan->factors = factors->at;
        plan->factor_count = factors->count;
    }
    plan_release(&reached);
    return same;
}

/* "cfn" -> "polish of cfn"; of what the search found it is the search's own "polish" */
static void tell_origin(struct search_plan *plan)
{
    struct search_plan before = *plan;
    if (strcmp(before.found_by, "mcts") == 0)
        snprintf(plan->found_by, sizeof plan->found_by, "polish");
    else if (strncmp(before.found_by, "polish", strlen("polish")) != 0)
        snprintf(plan->found_by, sizeof plan->found_by, "polish of %.140s", before.found_by);
}

bool planner_job_take_better(const struct planner_job *j, const struct planner_better *better,
                             struct search_plan *plan, struct plan_factors *factors)
{
    if (!(plan->factor_count ? flatten(j, plan, better, factors) : extend(plan, &better->whole->best)))
        return false;
    plan->hash = better->hash;
    plan->cost = better->cost;
    plan->price.step_ps = better->step_ps; /* the report prices it whole */
    plan->price.peak_bytes = better->peak_bytes;
    tell_origin(plan);
    return true;
}
