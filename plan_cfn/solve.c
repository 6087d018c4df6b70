/* From a module to a plan and a bound.
 *
 *   rounds     solve a heuristic network, price its plan by the walk, lower the limit when it did not fit
 *   bound      solve the admissible network; nothing when some space has options left out
 *
 * A quick run solves the network that mostly wins, by an eighth of the passes first: where that is far behind
 * what is known already it ends. Where the whole is not behind it tries the others in the same way
 * (docs/performance.md has the figures). The plan that is returned is the best of all that were priced, the
 * pins alone among them:
 * there is always one. */
#include "plan_cfn/internal.h"

#include <stdlib.h>

enum { DEFAULT_PASSES = 2000, LEAST_UNITS = 8, MOST_UNITS = 10000, LIMIT_ROUNDS = 3, SCOUT_SHARE = 8 };
/* costs over the best so far, over what is known */
static const double SCOUT_NEAR = 1.01, KNOWN_NEAR = 1.005, KNOWN_FAR = 1.1;
/* matrix entries to a unit, as cfn counts */
static const double UNIT_ENTRIES = 1 << 20;
/* where nothing fits, the next round has as its limit the least that is possible, and room above it */
enum { POSSIBLE_PERCENT = 110 };
/* A plan over the limit: the next round's limit is lower by the same ratio, and by this much more, because
 * the walk and the network do not err by the same share at every limit. */
static const double LOWER = 0.97;
static const enum plan_cfn_kind HEURISTIC[] = {PLAN_CFN_FULL, PLAN_CFN_SHARED, PLAN_CFN_MOVING};

struct rounds {
    const struct evaluator *evaluator;
    const struct plan_cfn_budget *budget;
    uint64_t passes;
    struct plan_cfn_answer *out;
    struct plan plan, best;
    bool found;
};

/* a unit is 2^20 matrix entries */
static struct cfn_budget solver_budget(const struct plan_cfn_budget *cfn_budget, uint64_t passes,
                                       const struct cfn_problem *problem)
{
    double entries = 0;
    for (uint32_t i = 0; i < problem->edge_count; i++)
        entries += (double)problem->matrices[problem->edges[i].matrix].count;
    double units = entries / UNIT_ENTRIES * (double)passes;
    return (struct cfn_budget){.units = units < LEAST_UNITS  ? LEAST_UNITS
                                        : units > MOST_UNITS ? MOST_UNITS
                                                             : (uint64_t)units,
                               .threads = cfn_budget->threads == 2 ? 2 : 1,
                               .seed = cfn_budget->seed,
                               .cancelled = cfn_budget->cancelled,
                               .user = cfn_budget->user};
}

static enum error_code check_cancelled(const struct plan_cfn_budget *cfn_budget, struct error *e)
{
    if (cfn_budget->cancelled && cfn_budget->cancelled(cfn_budget->user))
        return error_set(e, ERROR_CANCELLED, "cancelled");
    return ERROR_OK;
}

/* A session holds as much memory as a solver does, which works between two prices: each has its own. */
static enum error_code price_apart(const struct evaluator *evaluator, const struct plan *plan,
                                   struct price *price, struct cost *cost, struct error *e)
{
    struct evaluator_session *session = evaluator_session_create(evaluator);
    enum error_code code = evaluator_price_alike(session, plan, price, cost, e);
    evaluator_session_destroy(session);
    return code;
}

static enum error_code level(struct rounds *rounds, struct error *e)
{
    struct evaluator_session *session = evaluator_session_create(rounds->evaluator);
    enum error_code code = plan_cfn_level(evaluator_context(rounds->evaluator), session, &rounds->best,
                                          &rounds->out->price, &rounds->out->cost, e);
    evaluator_session_destroy(session);
    return code;
}

/* One solution, its price and cost. Not *found: *limit is raised to what is possible, as the walk may fit
 * what the network thinks cannot. */
static enum error_code one_round(struct rounds *rounds, struct plan_cfn *n, int64_t *limit, bool *found,
                                 struct price *price, struct cost *cost, struct error *e)
{
    struct cfn_budget budget = solver_budget(rounds->budget, rounds->passes, plan_cfn_problem(n));
    struct cfn_answer answer = {0};
    enum error_code code = cfn_solve(plan_cfn_problem(n), &budget, &answer, e);
    *found = code == ERROR_OK && answer.values != NULL;
    if (*found) {
        plan_cfn_plan(n, answer.values, &rounds->plan);
        code = price_apart(rounds->evaluator, &rounds->plan, price, cost, e);
    }
    if (code == ERROR_OK && !*found)
        *limit = (int64_t)answer.verdict.peak / 100 * POSSIBLE_PERCENT;
    cfn_answer_release(&answer);
    if (code == ERROR_OK)
        code = check_cancelled(rounds->budget, e);
    if (code != ERROR_OK || !*found)
        return code;
    rounds->out->rounds++;
    if (!rounds->found || cost_compare(*cost, rounds->plan.hash, rounds->out->cost, rounds->best.hash) < 0) {
        plan_copy(&rounds->best, &rounds->plan);
        rounds->out->cost = *cost;
        rounds->out->price = *price;
        rounds->found = true;
    }
    return ERROR_OK;
}

/* Rounds of one network. *least: the best cost among them, where any has an answer. */
static enum error_code heuristic(struct rounds *rounds, struct plan_cfn *n, struct cost *least, bool *any,
                                 struct error *e)
{
    int64_t limit = evaluator_machine(rounds->evaluator)->memory_limit_bytes, now = limit;
    enum error_code code = ERROR_OK;
    *any = false;
    plan_cfn_set_limit(n, now);
    for (int i = 0; i < LIMIT_ROUNDS && code == ERROR_OK; i++) {
        struct price price;
        struct cost cost;
        bool found;
        code = one_round(rounds, n, &now, &found, &price, &cost, e);
        if (code == ERROR_OK && found &&
            (!*any || cost_compare(cost, (struct hash128){0}, *least, (struct hash128){0}) < 0)) {
            *least = cost;
            *any = true;
        }
        if (code != ERROR_OK || (found && price.peak_bytes <= limit))
            break;
        if (found)
            now = (int64_t)((double)now * LOWER * (double)limit / (double)price.peak_bytes);
        plan_cfn_set_limit(n, now);
    }
    return code;
}

static bool is_near(struct cost cost, struct cost best, double ratio)
{
    return cost.over_steps <= best.over_steps && (double)cost.c <= ratio * (double)best.c;
}

static enum error_code all_heuristics(struct rounds *rounds, struct plan_cfn *n, struct error *e)
{
    uint64_t passes = rounds->passes;
    struct cost least;
    bool any;
    const struct plan_cfn_budget *cfn_budget = rounds->budget;
    enum error_code code = ERROR_OK;
    if (cfn_budget->quick && cfn_budget->known && passes >= SCOUT_SHARE) {
        rounds->passes = passes / SCOUT_SHARE;
        code = heuristic(rounds, n, &least, &any, e);
        rounds->passes = passes;
        if (code != ERROR_OK || (any && !is_near(least, *cfn_budget->known, KNOWN_FAR)))
            return code;
    }
    if (code == ERROR_OK)
        code = heuristic(rounds, n, &least, &any, e);
    if (code == ERROR_OK && cfn_budget->quick && cfn_budget->known &&
        !is_near(rounds->out->cost, *cfn_budget->known, KNOWN_NEAR))
        return code;
    for (size_t i = 1; i < sizeof HEURISTIC / sizeof *HEURISTIC && code == ERROR_OK; i++) {
        code = plan_cfn_switch(n, HEURISTIC[i], e);
        bool scout = cfn_budget->quick && passes >= SCOUT_SHARE, whole = !scout;
        if (code == ERROR_OK && scout) {
            rounds->passes = passes / SCOUT_SHARE;
            code = heuristic(rounds, n, &least, &any, e);
            rounds->passes = passes;
            whole = any && is_near(least, rounds->out->cost, SCOUT_NEAR);
        }
        if (code == ERROR_OK && whole)
            code = heuristic(rounds, n, &least, &any, e);
    }
    return code;
}

static enum error_code bound(struct rounds *rounds, struct plan_cfn *n, struct error *e)
{
    struct cfn_answer answer = {0};
    if (!plan_cfn_complete(n))
        return ERROR_OK;
    enum error_code code = plan_cfn_switch(n, PLAN_CFN_ADMISSIBLE, e);
    if (code == ERROR_OK) {
        struct cfn_budget budget = solver_budget(rounds->budget, rounds->passes, plan_cfn_problem(n));
        code = cfn_solve(plan_cfn_problem(n), &budget, &answer, e);
        rounds->out->has_bound = code == ERROR_OK && answer.has_bound && answer.bound > 0;
        rounds->out->bound_ps = rounds->out->has_bound ? (int64_t)answer.bound : 0;
    }
    cfn_answer_release(&answer);
    return code == ERROR_OK ? check_cancelled(rounds->budget, e) : code;
}

enum error_code plan_cfn_solve(const struct evaluator *evaluator, const struct plan_cfn_budget *budget,
                               struct plan_cfn_answer *out, struct error *e)
{
    const struct plan_context *context = evaluator_context(evaluator);
    struct rounds rounds = {.evaluator = evaluator,
                            .budget = budget,
                            .out = out,
                            .passes = budget->passes ? budget->passes : DEFAULT_PASSES};
    struct plan_cfn *n = NULL;
    *out = (struct plan_cfn_answer){0};
    plan_init(&rounds.plan, plan_context_nda(context), plan_context_mesh(context));
    plan_init(&rounds.best, plan_context_nda(context), plan_context_mesh(context));
    plan_copy(&rounds.best, plan_context_start(context));
    enum error_code code = price_apart(evaluator, &rounds.best, &out->price, &out->cost, e);
    rounds.found = true; /* the pins alone: what there is when no network has an answer */
    if (code == ERROR_OK)
        code = budget->quick ? plan_cfn_create_folded(evaluator, HEURISTIC[0], &n, e)
                             : plan_cfn_create(evaluator, HEURISTIC[0], &n, e);
    if (code == ERROR_OK)
        code = all_heuristics(&rounds, n, e);
    if (code == ERROR_OK)
        code = level(&rounds, e);
    if (code == ERROR_OK && !budget->quick)
        code = bound(&rounds, n, e);
    plan_cfn_destroy(n);
    if (code == ERROR_OK) {
        out->hash = rounds.best.hash;
        plan_factors_list(context, &rounds.best, &out->factors);
    }
    plan_release(&rounds.plan);
    plan_release(&rounds.best);
    return code;
}

void plan_cfn_answer_release(struct plan_cfn_answer *cfn_answer)
{
    free(cfn_answer->factors.at);
    *cfn_answer = (struct plan_cfn_answer){0};
}
