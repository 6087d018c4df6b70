/* Which plan a job would write now: the search's, the network's, or the one of a run before that was cut
 * short. */
#include "planner/parts.h"
#include "report/whole.h"

#include <stdio.h>
#include <stdlib.h>

/* Passes of the solver over the network's edges (plan_cfn_budget.passes): 2000 is plan_cfn_solve's own
 * default, and the quick race under auto gets a tenth of that work. */
enum { QUICK_NETWORK_PASSES = 200, FULL_NETWORK_PASSES = 2000 };
/* Under auto priced tables of segments race where their prices are at most a sixteenth of the search's, and
 * at least 64, what a few blocks take. */
enum { SEGMENTS_PART = 16, SEGMENTS_LEAST = 64 };
static const double SAME = 1e-6; /* of peaks; of times: report_costs_the_same */

/* ---- the network ---- */

bool planner_job_wants_network(const struct planner_job *j, bool whole)
{
    return j->request->method == PLANNER_CFN || j->request->method == PLANNER_SEGMENTS ||
           (whole && j->request->method == PLANNER_AUTO && !planner_late(j->request, PLANNER_SHARE_NETWORK));
}

/* prices: 0: no limit */
static enum error_code solve_segments(const struct planner_job *j, uint64_t prices, int threads,
                                      bool (*cancelled)(void *user), void *user, struct segments_answer *out,
                                      struct error *e)
{
    const struct planner_profile *profile = j->request->profile;
    struct segments_budget budget = {.seed = j->request->seed,
                                     .prices = prices,
                                     .threads = threads,
                                     .timings = profile && profile->timings.count ? &profile->timings : NULL,
                                     .cancelled = cancelled,
                                     .user = user};
    return segments_solve(j->evaluator, &budget, out, e);
}

static enum error_code write_segments(const struct planner_job *j, int threads, bool (*cancelled)(void *user),
                                      void *user, struct search_blob *out, struct error *e)
{
    struct segments_answer answer;
    enum error_code code = solve_segments(j, 0, threads, cancelled, user, &answer, e);
    if (code == ERROR_OK)
        segments_answer_write(&answer, &out->bytes, &out->size);
    segments_answer_release(&answer);
    return code;
}

/* whole prices that take a part of what the search's took: those were of the layers that the fold keeps */
static uint64_t cheap_prices(const struct planner_job *j, const struct search_state *state)
{
    uint64_t kept = j->fold.kept ? j->fold.kept : 1, layers = j->fold.kept ? j->fold.layers : 1;
    uint64_t prices = state->evaluations / SEGMENTS_PART * kept / layers;
    return prices < SEGMENTS_LEAST ? 0 : prices;
}

/* In the network's place where segments' plan is better than that and the search's. */
static enum error_code race_segments(const struct planner_job *j, const struct search_state *state,
                                     const struct plan_cfn_answer *network, int threads,
                                     bool (*cancelled)(void *user), void *user, struct search_blob *out,
                                     struct error *e)
{
    uint64_t prices = cheap_prices(j, state);
    struct segments_answer answer = {0};
    enum error_code code =
        prices ? solve_segments(j, prices, threads, cancelled, user, &answer, e) : ERROR_OK;
    struct hash128 hash = answer.plan.hash;
    if (code == ERROR_OK && answer.blocks &&
        cost_compare(answer.plan.cost, hash, network->cost, network->hash) < 0 &&
        cost_compare(answer.plan.cost, hash, state->best.cost, state->best.hash) < 0)
        segments_answer_write(&answer, &out->bytes, &out->size);
    segments_answer_release(&answer);
    return code;
}

enum error_code planner_job_network(const struct planner_job *j, const struct search_state *state,
                                    int threads, bool (*cancelled)(void *user), void *user,
                                    struct search_blob *out, struct error *e)
{
    bool quick = j->request->method == PLANNER_AUTO;
    if (j->request->method == PLANNER_SEGMENTS)
        return write_segments(j, threads, cancelled, user, out, e);
    if (quick && j->request->profile && j->request->profile->timings.count) {
        struct error inner = {0};
        enum error_code tried = write_segments(j, threads, cancelled, user, out, &inner);
        if (tried == ERROR_OK)
            return ERROR_OK;
        if (tried != ERROR_INVALID_REQUEST && tried != ERROR_NOT_AVAILABLE) {
            *e = inner;
            return tried;
        } /* times of other modules: the profile may serve many */
    }
    struct plan_cfn_budget budget = {.passes = quick ? QUICK_NETWORK_PASSES : FULL_NETWORK_PASSES,
                                     .seed = j->request->seed,
                                     .quick = quick,
                                     .known = &state->best.cost,
                                     .threads = threads,
                                     .cancelled = cancelled,
                                     .user = user};
    struct plan_cfn_answer answer;
    enum error_code code = plan_cfn_solve(j->evaluator, &budget, &answer, e);
    if (code == ERROR_OK && quick)
        code = race_segments(j, state, &answer, threads, cancelled, user, out, e);
    if (code == ERROR_OK && !out->bytes)
        plan_cfn_answer_write(&answer, &out->bytes, &out->size);
    plan_cfn_answer_release(&answer);
    return code;
}

enum error_code planner_job_take_network(struct planner_job *j, const void *bytes, size_t size,
                                         struct error *e)
{
    if (segments_answer_is(bytes, size)) {
        segments_answer_release(&j->segments);
        TRY(segments_answer_read(j->evaluator, bytes, size, &j->segments, e));
        j->has_segments = true;
        return ERROR_OK;
    }
    plan_cfn_answer_release(&j->network);
    enum error_code code = plan_cfn_answer_read(j->evaluator, bytes, size, &j->network, e);
    j->has_network = code == ERROR_OK;
    return code;
}

/* ---- the incumbent ---- */

/* the plan's own decisions, which the report names, and beside them its factors */
static enum error_code describe_incumbent(struct planner_job *j, const struct planner_plan *from,
                                          const struct plan *reached, struct error *e)
{
    struct search_plan *plan = &j->incumbent;
    TRY(planner_plan_decisions(from, j->context, plan->decisions, SEARCH_MAX_LIST, &plan->count, e));
    plan->hash = reached->hash;
    snprintf(plan->found_by, sizeof plan->found_by, "%s", from->found_by);
    if (from->factor_count) {
        planner_plan_factors(from, j->context, &j->incumbent_factors);
        plan->factors = j->incumbent_factors.at;
        plan->factor_count = j->incumbent_factors.count;
    }
    struct evaluator_session *session = evaluator_session_create(j->evaluator);
    enum error_code code = evaluator_price(session, reached, &plan->price, &plan->cost, e);
    evaluator_session_destroy(session);
    return code;
}

enum error_code planner_job_take_incumbent(struct planner_job *j, const struct planner_plan *plan,
                                           struct error *e)
{
    struct plan reached;
    free(j->incumbent_factors.at);
    j->incumbent_factors = (struct plan_factors){0};
    j->incumbent = (struct search_plan){0};
    j->has_incumbent = false;
    if (!plan)
        return ERROR_OK;
    plan_init(&reached, j->nda, &j->request->mesh);
    enum error_code code = planner_plan_replay(plan, j->context, &reached, e);
    if (code == ERROR_OK)
        code = describe_incumbent(j, plan, &reached, e);
    j->has_incumbent = code == ERROR_OK;
    plan_release(&reached);
    return code;
}

/* ---- who leads ---- */

/* The better plan: the one that fits, the cheaper, the one that takes less memory; of two that are equal in
 * all of that a list of decisions says more to its reader than a list of factors. */
static bool is_better(const struct search_plan *plan, const struct search_plan *than)
{
    if (plan->cost.over_steps != than->cost.over_steps)
        return plan->cost.over_steps < than->cost.over_steps;
    if (plan->cost.c != than->cost.c)
        return plan->cost.c < than->cost.c;
    if (plan->price.peak_bytes != than->price.peak_bytes)
        return plan->price.peak_bytes < than->price.peak_bytes;
    return plan->factor_count < than->factor_count;
}

/* `propagate` completes the pins that it is given, and no expert takes their place. */
static bool experts_race(const struct planner_job *j)
{
    if (j->request->no_baselines) /* an ablation: priced, not raced */
        return false;
    return j->request->method == PLANNER_AUTO || j->request->method == PLANNER_MCTS ||
           j->request->method == PLANNER_CFN || j->request->method == PLANNER_BASELINES;
}

static struct search_plan network_runner(const struct planner_job *j)
{
    return (struct search_plan){.hash = j->network.hash,
                                .cost = j->network.cost,
                                .price = j->network.price,
                                .found_by = "cfn",
                                .factors = j->network.factors.at,
                                .factor_count = j->network.factors.count};
}

static struct search_plan segments_runner(const struct planner_job *j)
{
    return (struct search_plan){.hash = j->segments.plan.hash,
                                .cost = j->segments.plan.cost,
                                .price = j->segments.plan.price,
                                .found_by = "segments",
                                .factors = j->segments.plan.factors.at,
                                .factor_count = j->segments.plan.factors.count};
}

bool planner_job_runner(const struct planner_job *j, uint32_t number, struct search_plan *out)
{
    uint32_t experts = experts_race(j) ? search_baseline_count(j->search) : 0;
    if (number < experts) {
        *out = *search_baseline(j->search, number);
        return true;
    }
    number -= experts;
    if (j->has_network && number-- == 0) {
        *out = network_runner(j);
        return true;
    }
    if (j->has_segments && number-- == 0) {
        *out = segments_runner(j);
        return true;
    }
    if (j->has_yours && experts_race(j) && number == 0) {
        *out = j->yours;
        return true;
    }
    return false;
}

/* of two that cost the same, as far as a report tells, the one with less memory; of equal memory the one that
 * a list of decisions explains: a network finds an expert's plan but for crumbs (17 ps of 3.7 ms) */
static bool is_preferred(const struct search_plan *plan, const struct search_plan *than)
{
    double peak = (double)plan->price.peak_bytes, other = (double)than->price.peak_bytes;
    if (peak < (1 - SAME) * other || peak > (1 + SAME) * other)
        return peak < other;
    return plan->factor_count < than->factor_count;
}

void planner_job_best(const struct planner_job *j, const struct search_state *state, bool whole,
                      struct search_plan *out)
{
    struct search_plan runner;
    *out = state->best;
    for (uint32_t i = 0; planner_job_runner(j, i, &runner); i++)
        if (!runner.estimated && is_better(&runner, out))
            *out = runner;
    struct cost least = out->cost;
    if (report_costs_the_same(state->best.cost, least) && is_preferred(&state->best, out))
        *out = state->best;
    for (uint32_t i = 0; planner_job_runner(j, i, &runner); i++)
        if (!runner.estimated && report_costs_the_same(runner.cost, least) && is_preferred(&runner, out))
            *out = runner;
    if (j->has_given && !is_better(out, &j->given)) /* no better one: the answer is the plan that was sent */
        *out = j->given;
    /* what was measured decides, not the price, between what was asked to be measured and the experts */
    if (j->has_segments && j->segments.measured && j->request->method == PLANNER_SEGMENTS &&
        j->segments.plan.cost.over_steps == 0)
        *out = segments_runner(j);
    if (!whole && j->has_incumbent && is_better(&j->incumbent, out))
        *out = j->incumbent;
}

/* ---- what is shown meanwhile ---- */

/* of the search, by rollouts; never all of it before the end, because a local search follows them, and never
 * less than before, though rollouts go on behind a local search */
static double fraction(const struct search_state *state, uint64_t budget)
{
    if (state->phase == SEARCH_DONE)
        return 1;
    double done = budget ? (double)state->rollouts / (double)budget : 0;
    return done < 0.95 ? done : 0.95;
}

static int64_t best_baseline(const struct search *search)
{
    struct cost least = {0, 0};
    int64_t step_ps = 0;
    for (uint32_t i = 0; i < search_baseline_count(search); i++) {
        const struct search_plan *plan = search_baseline(search, i);
        if (i == 0 || cost_compare(plan->cost, plan->hash, least, plan->hash) < 0) {
            least = plan->cost;
            step_ps = plan->price.step_ps;
        }
    }
    return step_ps;
}

void planner_job_progress(const struct planner_job *j, const struct search_state *state, bool whole,
                          struct planner_progress *out)
{
    struct search_plan best;
    planner_job_best(j, state, whole, &best);
    *out = (struct planner_progress){.epoch = state->epoch,
                                     .rollouts = state->rollouts,
                                     .evaluations = state->evaluations,
                                     .fraction = fraction(state, search_budget(j->search)),
                                     .best = best.price,
                                     .fits = best.price.peak_bytes <= j->machine.memory_limit_bytes,
                                     .best_baseline_ps = best_baseline(j->search)};
    snprintf(out->found_by, sizeof out->found_by, "%s", best.found_by);
}

void planner_progress_end(struct planner_progress *progress, const struct report *report)
{
    progress->best = report->price;
    progress->fits = report->smallest_budget_bytes == 0;
    snprintf(progress->found_by, sizeof progress->found_by, "%s", report->plan.found_by);
}
