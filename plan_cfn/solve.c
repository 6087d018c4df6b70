/* From a module to a plan and a bound.
 *
 *   rounds     solve a heuristic network, price its plan by the walk, lower the limit when it did not fit
 *   bound      solve the admissible network; nothing when some space has options left out
 *
 * A quick run solves the network that mostly wins. Where that is not behind what is known already it tries
 * the others by an eighth of the passes, and whole where that comes near the best (docs/performance.md has
 * the figures). The plan that is returned is the best of all that were priced, the pins alone among them:
 * there is always one. */
#include "plan_cfn/internal.h"

#include <stdlib.h>

enum { DEFAULT_PASSES = 2000, LEAST_UNITS = 8, MOST_UNITS = 10000, LIMIT_ROUNDS = 3, SCOUT_SHARE = 8 };
/* costs over the best so far, over what is known */
static const double SCOUT_NEAR = 1.01, KNOWN_NEAR = 1.005;
static const enum plan_cfn_kind HEURISTIC[] = {PLAN_CFN_FULL, PLAN_CFN_SHARED, PLAN_CFN_MOVING};

struct rounds {
    const struct evaluator *v;
    const struct plan_cfn_budget *budget;
    uint64_t passes;
    struct evaluator_session *session;
    struct plan_cfn_answer *out;
    struct plan plan, best;
    bool found;
};

/* a unit is 2^20 matrix entries */
static struct cfn_budget solver_budget(const struct plan_cfn_budget *b, uint64_t passes,
                                       const struct cfn_problem *p)
{
    double entries = 0;
    for (uint32_t i = 0; i < p->edge_count; i++)
        entries += (double)p->matrices[p->edges[i].matrix].count;
    double units = entries / 1048576.0 * (double)passes;
    return (struct cfn_budget){.units = units < LEAST_UNITS  ? LEAST_UNITS
                                        : units > MOST_UNITS ? MOST_UNITS
                                                             : (uint64_t)units,
                               .threads = b->threads == 2 ? 2 : 1,
                               .seed = b->seed,
                               .cancelled = b->cancelled,
                               .user = b->user};
}

static enum error_code check_cancelled(const struct plan_cfn_budget *b, struct error *e)
{
    if (b->cancelled && b->cancelled(b->user))
        return error_set(e, ERROR_CANCELLED, "cancelled");
    return ERROR_OK;
}

/* One solution, its price and cost. Not *found: *limit is raised to what is possible, as the walk may fit
 * what the network thinks cannot. */
static enum error_code one_round(struct rounds *r, struct plan_cfn *n, int64_t *limit, bool *found,
                                 struct price *price, struct cost *cost, struct error *e)
{
    struct cfn_budget budget = solver_budget(r->budget, r->passes, plan_cfn_problem(n));
    struct cfn_answer answer = {0};
    enum error_code code = cfn_solve(plan_cfn_problem(n), &budget, &answer, e);
    *found = code == ERROR_OK && answer.values != NULL;
    if (*found) {
        plan_cfn_plan(n, answer.values, &r->plan);
        code = evaluator_price(r->session, &r->plan, price, cost, e);
    }
    if (code == ERROR_OK && !*found)
        *limit = (int64_t)answer.verdict.peak / 100 * 110;
    cfn_answer_release(&answer);
    if (code == ERROR_OK)
        code = check_cancelled(r->budget, e);
    if (code != ERROR_OK || !*found)
        return code;
    r->out->rounds++;
    if (!r->found || cost_compare(*cost, r->plan.hash, r->out->cost, r->best.hash) < 0) {
        plan_copy(&r->best, &r->plan);
        r->out->cost = *cost;
        r->out->price = *price;
        r->found = true;
    }
    return ERROR_OK;
}

/* Rounds of one network. *least: the best cost among them, where any has an answer. */
static enum error_code heuristic(struct rounds *r, struct plan_cfn *n, struct cost *least, bool *any,
                                 struct error *e)
{
    int64_t limit = evaluator_machine(r->v)->memory_limit_bytes, now = limit;
    enum error_code code = ERROR_OK;
    *any = false;
    plan_cfn_set_limit(n, now);
    for (int i = 0; i < LIMIT_ROUNDS && code == ERROR_OK; i++) {
        struct price price;
        struct cost cost;
        bool found;
        code = one_round(r, n, &now, &found, &price, &cost, e);
        if (code == ERROR_OK && found &&
            (!*any || cost_compare(cost, (struct hash128){0}, *least, (struct hash128){0}) < 0)) {
            *least = cost;
            *any = true;
        }
        if (code != ERROR_OK || (found && price.peak_bytes <= limit))
            break;
        if (found)
            now = (int64_t)((double)now * 0.97 * (double)limit / (double)price.peak_bytes);
        plan_cfn_set_limit(n, now);
    }
    return code;
}

static bool is_near(struct cost a, struct cost best, double ratio)
{
    return a.over_steps <= best.over_steps && (double)a.c <= ratio * (double)best.c;
}

static enum error_code all_heuristics(struct rounds *r, struct plan_cfn *n, struct error *e)
{
    uint64_t passes = r->passes;
    struct cost least;
    bool any;
    const struct plan_cfn_budget *b = r->budget;
    enum error_code code = heuristic(r, n, &least, &any, e);
    if (code == ERROR_OK && b->quick && b->known && !is_near(r->out->cost, *b->known, KNOWN_NEAR))
        return code;
    for (size_t i = 1; i < sizeof HEURISTIC / sizeof *HEURISTIC && code == ERROR_OK; i++) {
        code = plan_cfn_switch(n, HEURISTIC[i], e);
        bool scout = b->quick && passes >= SCOUT_SHARE, whole = !scout;
        if (code == ERROR_OK && scout) {
            r->passes = passes / SCOUT_SHARE;
            code = heuristic(r, n, &least, &any, e);
            r->passes = passes;
            whole = any && is_near(least, r->out->cost, SCOUT_NEAR);
        }
        if (code == ERROR_OK && whole)
            code = heuristic(r, n, &least, &any, e);
    }
    return code;
}

static enum error_code bound(struct rounds *r, struct plan_cfn *n, struct error *e)
{
    struct cfn_answer answer = {0};
    if (!plan_cfn_complete(n))
        return ERROR_OK;
    enum error_code code = plan_cfn_switch(n, PLAN_CFN_ADMISSIBLE, e);
    if (code == ERROR_OK) {
        struct cfn_budget budget = solver_budget(r->budget, r->passes, plan_cfn_problem(n));
        code = cfn_solve(plan_cfn_problem(n), &budget, &answer, e);
        r->out->has_bound = code == ERROR_OK && answer.has_bound && answer.bound > 0;
        r->out->bound_ps = r->out->has_bound ? (int64_t)answer.bound : 0;
    }
    cfn_answer_release(&answer);
    return code == ERROR_OK ? check_cancelled(r->budget, e) : code;
}

enum error_code plan_cfn_solve(const struct evaluator *v, const struct plan_cfn_budget *budget,
                               struct plan_cfn_answer *out, struct error *e)
{
    const struct plan_context *c = evaluator_context(v);
    struct rounds r = {
        .v = v, .budget = budget, .out = out, .passes = budget->passes ? budget->passes : DEFAULT_PASSES};
    struct plan_cfn *n = NULL;
    *out = (struct plan_cfn_answer){0};
    r.session = evaluator_session_create(v);
    plan_init(&r.plan, plan_context_nda(c), plan_context_mesh(c));
    plan_init(&r.best, plan_context_nda(c), plan_context_mesh(c));
    plan_copy(&r.best, plan_context_start(c));
    enum error_code code = evaluator_price(r.session, &r.best, &out->price, &out->cost, e);
    r.found = true; /* the pins alone: what there is when no network has an answer */
    if (code == ERROR_OK)
        code = plan_cfn_create(v, HEURISTIC[0], &n, e);
    if (code == ERROR_OK)
        code = all_heuristics(&r, n, e);
    if (code == ERROR_OK && !budget->quick)
        code = bound(&r, n, e);
    plan_cfn_destroy(n);
    if (code == ERROR_OK) {
        out->hash = r.best.hash;
        plan_factors_list(c, &r.best, &out->factors);
    }
    plan_release(&r.plan);
    plan_release(&r.best);
    evaluator_session_destroy(r.session);
    return code;
}

void plan_cfn_answer_release(struct plan_cfn_answer *a)
{
    free(a->factors.at);
    *a = (struct plan_cfn_answer){0};
}
