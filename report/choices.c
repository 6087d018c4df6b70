/* Choices: a factor splits a dimension of a color, and colors that look alike are one group; so the factors
 * of one group on one axis are what one decision would do, where the network does it. Worth is measured:
 * the plan without them is walked and priced. */
#include "report/choices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* measured at most: those with most factors; the others are listed without a worth of their own */
enum { MEASURED = 48 };
/* What a choice has to cost to be dropped, of the plan's cost. Chosen. */
#define LEAST_GAIN 1e-3

static uint32_t group_of(const struct nda *n, uint32_t space, uint32_t factor)
{
    return n->colors[n->factors[n->spaces[space].factors + factor].color].group;
}

/* of a (group, axis) how many factors there are in the plan, and how many there could be */
struct tally {
    uint32_t *factors, *offered;
};

static void count(const struct plan_context *context, const struct report *report, struct tally *tally)
{
    const struct nda *n = plan_context_nda(context);
    const struct mesh *mesh = plan_context_mesh(context);
    for (uint32_t i = 0; i < report->plan.factor_count; i++) {
        const struct plan_factor *factor = &report->plan.factors[i];
        tally->factors[group_of(n, factor->space, factor->factor) * mesh->axis_count + factor->axis]++;
    }
    for (uint32_t space = 0; space < n->space_count; space++)
        for (uint32_t k = 0; k < n->spaces[space].factor_count; k++) {
            const struct nda_factor *factor = &n->factors[n->spaces[space].factors + k];
            for (uint32_t axis = 0; axis < mesh->axis_count && factor->shardable; axis++)
                if (factor->size % mesh->axes[axis].size == 0)
                    tally->offered[group_of(n, space, k) * mesh->axis_count + axis]++;
        }
}

static int by_factors(const void *left, const void *right)
{
    const struct report_choice *choice = left, *other = right;
    if (choice->factors != other->factors)
        return choice->factors > other->factors ? -1 : 1;
    int order = strcmp(choice->text, other->text);
    return order ? order : (int)choice->group - (int)other->group;
}

static int by_worth(const void *left, const void *right)
{
    const struct report_choice *choice = left, *other = right;
    if (choice->measured != other->measured)
        return choice->measured ? -1 : 1;
    if (choice->worth_ps != other->worth_ps)
        return choice->worth_ps > other->worth_ps ? -1 : 1;
    return by_factors(left, right);
}

/* the plan's decisions and all factors but those of one choice */
static enum error_code price_without(const struct plan_context *context, struct evaluator_session *session,
                                     const struct report *report, struct hash128 whole_plan,
                                     struct report_choice *choice, struct plan *plan, struct error *e)
{
    const struct nda *n = plan_context_nda(context);
    struct price price;
    plan_copy(plan, plan_context_start(context));
    for (uint32_t i = 0; i < report->plan.count; i++)
        plan_apply(context, plan, report->plan.decisions[i]);
    for (uint32_t i = 0; i < report->plan.factor_count; i++) {
        const struct plan_factor *factor = &report->plan.factors[i];
        if (factor->axis != choice->axis || group_of(n, factor->space, factor->factor) != choice->group)
            plan_apply_factor(context, plan, factor->space, factor->factor, factor->axis);
    }
    TRY(evaluator_price_alike(session, plan, &price, &choice->cost, e));
    choice->worth_ps = price.step_ps - report->price.step_ps;
    choice->measured = true;
    choice->hash = plan->hash;
    choice->step_ps = price.step_ps;
    choice->peak_bytes = price.peak_bytes;
    /* each that is dropped is another report, which measures all of this again */
    choice->missed = cost_compare(choice->cost, choice->hash, report->cost, whole_plan) < 0 &&
                     (choice->cost.over_steps < report->cost.over_steps ||
                      (double)choice->cost.c < (1 - LEAST_GAIN) * (double)report->cost.c);
    return ERROR_OK;
}

static void list(const struct plan_context *context, struct report *report)
{
    const struct nda *n = plan_context_nda(context);
    const struct mesh *mesh = plan_context_mesh(context);
    size_t pairs = (size_t)n->group_count * mesh->axis_count;
    struct tally tally = {mem_zalloc(pairs + 1, sizeof(uint32_t)), mem_zalloc(pairs + 1, sizeof(uint32_t))};
    count(context, report, &tally);
    report->choices = arena_alloc(report->arena, (pairs + 1) * sizeof *report->choices);
    for (size_t i = 0; i < pairs; i++) {
        if (!tally.factors[i])
            continue;
        struct report_choice *choice = &report->choices[report->choice_count++];
        *choice = (struct report_choice){.group = (uint32_t)(i / mesh->axis_count),
                                         .axis = (uint8_t)(i % mesh->axis_count),
                                         .factors = tally.factors[i],
                                         .offered = tally.offered[i]};
        snprintf(choice->text, sizeof choice->text, "%s@%s", n->groups[choice->group].label,
                 mesh->axes[choice->axis].name);
    }
    free(tally.factors);
    free(tally.offered);
}

enum error_code report_choices(const struct plan_context *context, struct evaluator_session *session,
                               const struct plan *plan, struct report *report, int **cell_choice,
                               struct error *e)
{
    const struct nda *n = plan_context_nda(context);
    const struct plan *start = plan_context_start(context);
    enum error_code code = ERROR_OK;
    *cell_choice = NULL;
    if (report->plan.factor_count == 0)
        return ERROR_OK;
    list(context, report);
    qsort(report->choices, report->choice_count, sizeof *report->choices, by_factors);
    struct plan without;
    plan_init(&without, n, plan_context_mesh(context));
    for (uint32_t i = 0; i < report->choice_count && i < MEASURED && !code; i++)
        code = price_without(context, session, report, plan->hash, &report->choices[i], &without, e);
    plan_release(&without);
    qsort(report->choices, report->choice_count, sizeof *report->choices, by_worth);
    size_t cells = (size_t)plan->space_count * plan->axis_count;
    *cell_choice = mem_alloc((cells + 1) * sizeof **cell_choice);
    for (size_t i = 0; i < cells; i++) {
        uint32_t space = (uint32_t)(i / plan->axis_count), axis = (uint32_t)(i % plan->axis_count);
        (*cell_choice)[i] = -1;
        if (plan->cells[i].factor == NDA_NO_FACTOR || start->cells[i].factor != NDA_NO_FACTOR)
            continue;
        for (uint32_t k = 0; k < report->choice_count; k++)
            if (report->choices[k].axis == axis &&
                report->choices[k].group == group_of(n, space, plan->cells[i].factor))
                (*cell_choice)[i] = (int)k;
    }
    return code;
}
