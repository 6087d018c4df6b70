/* The check of folded prices, before a search relies on them.
 *
 * The experts' plans are priced on the fold, and the best of them, which are near to what a search will look
 * at, on the whole program as well; so are some random lists of decisions. Where step time or peak of one of
 * the former is off by more than MOST_WRONG, or of more than MOST_BEYOND of the latter, more layers are kept;
 * where that is no better, the program is priced as a whole. */
#include "planner/fold.h"

#include <math.h>
#include <stdlib.h>

enum {
    FEWEST_KEPT = 4,
    MOST_KEPT = 8, /* beyond that little is saved on the depths that there are */
    CHECKED = 8,
    RANDOM = 16,
    MOST_BEYOND = 2,
    MOST_DECISIONS = 8, /* of a random list */
    MOST_EXPERTS = 128
};
static const double MOST_WRONG = 0.005;

struct candidate {
    uint32_t index;
    struct cost cost;
    struct price price;
};

static int cheaper(const void *left, const void *right)
{
    const struct candidate *one = left, *other = right;
    if (one->cost.over_steps != other->cost.over_steps)
        return one->cost.over_steps < other->cost.over_steps ? -1 : 1;
    if (one->cost.c != other->cost.c)
        return one->cost.c < other->cost.c ? -1 : 1;
    return one->index < other->index ? -1 : one->index > other->index;
}

struct check {
    const struct plan_context *context;
    struct evaluator_session *session;
    const struct plan_baseline *experts;
    struct plan plan;
};

static const struct plan *replay(struct check *check, uint32_t index)
{
    plan_copy(&check->plan, plan_context_start(check->context));
    for (uint32_t i = 0; i < check->experts[index].count; i++)
        plan_apply(check->context, &check->plan, check->experts[index].decisions[i]);
    return &check->plan;
}

static double apart(int64_t folded, int64_t whole)
{
    return whole ? fabs((double)folded / (double)whole - 1) : 0;
}

static double error_of(const struct price *folded, const struct price *whole)
{
    return fmax(apart(folded->step_ps, whole->step_ps), apart(folded->peak_bytes, whole->peak_bytes));
}

static enum error_code compare_random(struct check *check, struct planner_fold *out, struct error *e)
{
    struct rng rng = {1};
    struct price whole, folded;
    uint32_t count;
    const struct plan_decision *decisions = plan_context_decisions(check->context, &count);
    out->random = out->beyond = 0;
    for (; count && out->random < RANDOM; out->random++) {
        plan_copy(&check->plan, plan_context_start(check->context));
        for (uint64_t k = 1 + rng_below(&rng, MOST_DECISIONS); k-- > 0;)
            plan_apply(check->context, &check->plan, decisions[rng_below(&rng, count)]);
        TRY(evaluator_price(check->session, &check->plan, &whole, NULL, e));
        TRY(evaluator_price_folded(check->session, &check->plan, &folded, NULL, e));
        out->beyond += error_of(&folded, &whole) > MOST_WRONG;
    }
    return ERROR_OK;
}

static enum error_code compare(struct check *check, uint32_t count, struct planner_fold *out, struct error *e)
{
    struct candidate candidates[MOST_EXPERTS];
    count = count < MOST_EXPERTS ? count : MOST_EXPERTS;
    for (uint32_t i = 0; i < count; i++) {
        candidates[i].index = i;
        TRY(evaluator_price_folded(check->session, replay(check, i), &candidates[i].price,
                                   &candidates[i].cost, e));
    }
    qsort(candidates, count, sizeof *candidates, cheaper);
    out->checked = count < CHECKED ? count : CHECKED;
    out->worst = 0;
    for (uint32_t i = 0; i < out->checked; i++) {
        struct price whole;
        TRY(evaluator_price(check->session, replay(check, candidates[i].index), &whole, NULL, e));
        out->worst = fmax(out->worst, error_of(&candidates[i].price, &whole));
        if (out->worst > MOST_WRONG)
            return ERROR_OK;
    }
    return compare_random(check, out, e);
}

static enum error_code try_fold(const struct evaluator *evaluator, struct planner_fold *out, struct error *e)
{
    struct check check = {.context = evaluator_context(evaluator)};
    uint32_t count;
    struct plan_baseline *experts = plan_baselines(check.context, &count);
    check.experts = experts;
    check.session = evaluator_session_create(evaluator);
    plan_init(&check.plan, plan_context_nda(check.context), plan_context_mesh(check.context));
    enum error_code code = compare(&check, count, out, e);
    plan_release(&check.plan);
    evaluator_session_destroy(check.session);
    free(experts);
    return code;
}

enum error_code planner_fold_choose(struct evaluator *evaluator, struct planner_fold *out, struct error *e)
{
    double least = 0;
    *out = (struct planner_fold){0};
    for (uint32_t kept = FEWEST_KEPT; kept <= MOST_KEPT; kept += 2) {
        if (!evaluator_fold(evaluator, kept))
            break;
        out->layers = evaluator_fold_layers(evaluator);
        enum error_code code = try_fold(evaluator, out, e);
        if (code != ERROR_OK || (out->checked && out->worst <= MOST_WRONG && out->beyond <= MOST_BEYOND)) {
            out->kept = kept;
            return code;
        }
        least = least == 0 || out->worst < least ? out->worst : least;
    }
    evaluator_fold(evaluator, 0);
    *out = (struct planner_fold){
        .layers = out->layers, .worst = least, .random = out->random, .beyond = out->beyond};
    return ERROR_OK;
}
