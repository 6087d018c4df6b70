/* timeout: 240 */
/* The answer gives way to the better plans that its report comes upon: from the pins alone, from a plan of
 * factors (a network's), and not where the search was cut short. A proof that has begun ends with the
 * time. */
#include "support.h"

#include "api/request.h"
#include "base/file.h"
#include "ir/read.h"
#include "planner/job.h"

#include <stdlib.h>
#include <string.h>

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char REQUEST[] =
    "{\"module\": \"sha256:" DIGEST "\", \"mesh\": {\"axes\": [{\"name\": \"data\", \"size\": 4}, "
    "{\"name\": \"model\", \"size\": 2}]}, \"device\": \"tpu-v5e\", \"planner\": \"auto\", "
    "\"outputs\": [\"plan\", \"manual\"], \"proof\": true}";

struct planned {
    struct api_request *request;
    struct ir_program image;
    struct planner_job *job;
};

static void open_job(const char *model, struct planned *planned)
{
    struct error e;
    char *text;
    size_t size;
    ASSERT_OK(file_read(model, (size_t)1 << 24, &text, &size, &e), &e);
    ASSERT_OK(ir_read(text, size, NULL, &planned->image, &e), &e);
    free(text);
    ASSERT_OK(api_request_parse(REQUEST, strlen(REQUEST), NULL, false, &planned->request, &e), &e);
    planned->request->planning.no_baselines = true; /* experts do not race: the plan is the search's */
    ASSERT_OK(planner_job_create(&planned->request->planning, &planned->image, &planned->job, &e), &e);
}

static void close_job(struct planned *planned)
{
    planner_job_destroy(planned->job);
    ir_program_release(&planned->image);
    api_request_destroy(planned->request);
}

/* what would be written had a search ended with this plan */
static struct search_plan finish(const struct planned *planned, const struct search_plan *best, bool whole,
                                 uint32_t *missed)
{
    struct error e;
    struct planner_outcome outcome;
    struct search_state *state = mem_zalloc(1, sizeof *state);
    state->best = *best;
    ASSERT_OK(planner_job_finish(planned->job, state, NULL, whole, &outcome, &e), &e);
    free(state);
    *missed = 0;
    for (uint32_t i = 0; i < outcome.report->whole_count; i++)
        *missed += outcome.report->whole[i].reason == REPORT_MISSED;
    for (uint32_t i = 0; whole && i < outcome.report->choice_count; i++)
        assert_false(outcome.report->choices[i].missed); /* what costs is dropped */
    struct search_plan found = outcome.report->plan;
    found.cost = outcome.report->cost;
    found.factors = NULL;
    assert_int_equal(outcome.proof.status, VERIFY_EQUAL);
    planner_outcome_release(&outcome);
    return found;
}

static void price(const struct planned *planned, const struct plan *plan, struct search_plan *out)
{
    struct error e;
    struct evaluator_session *session = evaluator_session_create(planner_job_evaluator(planned->job));
    ASSERT_OK(evaluator_price(session, plan, &out->price, &out->cost, &e), &e);
    out->hash = plan->hash;
    evaluator_session_destroy(session);
}

static bool is_better(const struct search_plan *plan, const struct search_plan *than)
{
    return cost_compare(plan->cost, plan->hash, than->cost, than->hash) < 0;
}

static void from_nothing(void **unused)
{
    struct planned planned;
    struct search_plan start = {.found_by = "mcts"};
    uint32_t missed;
    open_job(SUPPORT_MODELS "small/t2b.mlir", &planned);
    price(&planned, plan_context_start(planner_job_context(planned.job)), &start);
    struct search_plan cut = finish(&planned, &start, false, &missed);
    assert_true(missed > 0 && cut.count == 0);
    assert_string_equal(cut.found_by, "mcts");
    struct search_plan found = finish(&planned, &start, true, &missed);
    assert_true(is_better(&found, &start));
    assert_true(found.count > 0 && found.factor_count == 0);
    assert_string_equal(found.found_by, "polish");
    assert_true(missed == 0 || found.count == 8);
    struct search_plan again = finish(&planned, &found, true, &missed);
    assert_true(missed > 0 || hash128_compare(again.hash, found.hash) == 0);
    close_job(&planned);
}

static void from_factors(void **unused)
{
    struct planned planned;
    struct search_plan start = {.found_by = "cfn"};
    struct plan_factors factors;
    struct plan plan;
    uint32_t missed, count;
    open_job(SUPPORT_MODELS "mlp.mlir", &planned);
    const struct plan_context *context = planner_job_context(planned.job);
    const struct plan_decision *decisions = plan_context_decisions(context, &count);
    plan_init(&plan, plan_context_nda(context), plan_context_mesh(context));
    bool some = false;
    for (uint32_t i = 0; i < count; i++) {
        plan_copy(&plan, plan_context_start(context));
        plan_apply(context, &plan, decisions[i]);
        plan_factors_list(context, &plan, &factors);
        price(&planned, &plan, &start);
        start.factors = factors.at;
        start.factor_count = factors.count;
        struct search_plan found = finish(&planned, &start, true, &missed);
        assert_false(is_better(&start, &found));
        if (hash128_compare(found.hash, start.hash) != 0) {
            some = true;
            assert_true(is_better(&found, &start));
            /* where all of its factors cost, what is left is the pins, to which decisions are added */
            assert_true((found.count == 0) != (found.factor_count == 0));
        }
        free(factors.at);
    }
    assert_true(some);
    plan_release(&plan);
    close_job(&planned);
}

static void note_proof(const char *stage, void *user)
{
    *(bool *)user |= strcmp(stage, "proof") == 0;
}

static bool late_with_proof(enum planner_share share, void *user)
{
    (void)share;
    return *(const bool *)user;
}

/* the time is over when the proof has begun: it ends, and the report says that it was left out */
static void proofs_end_with_the_time(void **unused)
{
    struct planned planned;
    struct search_plan start = {.found_by = "mcts"};
    struct planner_outcome outcome;
    struct error e;
    bool proves = false;
    open_job(SUPPORT_MODELS "small/t2b.mlir", &planned);
    price(&planned, plan_context_start(planner_job_context(planned.job)), &start);
    struct planner_request *request = &planned.request->planning;
    request->stage = note_proof;
    request->late = late_with_proof;
    request->stage_user = request->late_user = &proves;
    struct search_state *state = mem_zalloc(1, sizeof *state);
    state->best = start;
    ASSERT_OK(planner_job_finish(planned.job, state, NULL, false, &outcome, &e), &e);
    free(state);
    assert_true(proves && (outcome.report->cut & REPORT_CUT_PROOF));
    assert_false(outcome.proved || outcome.report->reproducible);
    assert_string_equal(outcome.report->proof_status, "not_run");
    assert_string_equal(outcome.report->proof_reason, "deadline");
    planner_outcome_release(&outcome);
    close_job(&planned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(from_nothing), cmocka_unit_test(from_factors),
                                       cmocka_unit_test(proofs_end_with_the_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
