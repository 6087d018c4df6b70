/* timeout: 120 */
/* A job in this process: plan.json of the best so far, which a worker writes after every epoch, is made
 * without the rest of the report and must not differ from the plan.json of the end but for `constraints` and
 * `sums`. */
#include "support.h"

#include "api/artifacts.h"
#include "base/file.h"
#include "ir/read.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char request[] =
    "{\"module\": \"sha256:" DIGEST "\", \"mesh\": {\"axes\": [{\"name\": \"data\", \"size\": 4}, "
    "{\"name\": \"model\", \"size\": 2}]}, \"device\": \"a100-40\", \"planner\": \"mcts\", "
    "\"budget\": {\"rollouts\": 300}, \"outputs\": [\"plan\"]}";

static void test_plan_so_far(void **state)
{
    (void)state;
    struct error e;
    struct api_request *api_request;
    struct ir_program image;
    struct planner_job *job;
    char *text, *so_far;
    size_t size;
    ASSERT_OK(file_read("tests/models/small/gpt_torch.mlir", (size_t)1 << 24, &text, &size, &e), &e);
    ASSERT_OK(ir_read(text, size, NULL, &image, &e), &e);
    free(text);
    ASSERT_OK(api_request_parse(request, strlen(request), NULL, false, &api_request, &e), &e);
    ASSERT_OK(planner_job_create(&api_request->planning, &image, &job, &e), &e);
    struct search_state *found = mem_zalloc(1, sizeof *found);
    ASSERT_OK(search_run(planner_job_search(job), 1, 0, NULL, NULL, found, NULL, NULL, &e), &e);
    assert_true(found->best.count > 0); /* decisions whose worth is told */
    struct api_artifacts end;
    struct planner_outcome outcome;
    for (int reproducible = 0; reproducible < 2; reproducible++) {
        struct report *report;
        ASSERT_OK(planner_job_report(job, found, reproducible, &report, &e), &e);
        so_far = api_plan_text(api_request, report);
        report_destroy(report);
        ASSERT_OK(planner_job_finish(job, found, NULL, reproducible, &outcome, &e), &e);
        api_artifacts_create(api_request, &outcome, &end);
        planner_outcome_release(&outcome);
        const struct api_artifact *plan = NULL;
        for (uint32_t i = 0; i < end.count; i++)
            if (strcmp(end.at[i].name, "plan.json") == 0)
                plan = &end.at[i];
        assert_non_null(plan);
        /* a finished job's has what takes longer to find, too */
        json_t *whole = json_loadb(plan->bytes, plan->size, 0, NULL), *early = json_loads(so_far, 0, NULL);
        assert_true(json_is_array(json_object_get(whole, "constraints")));
        assert_int_equal(json_object_del(whole, "constraints"), 0);
        assert_int_equal(json_object_del(whole, "sums"), 0);
        assert_true(json_equal(whole, early));
        json_decref(whole);
        json_decref(early);
        assert_non_null(strstr(so_far, "\"worth_ps\""));
        free(so_far);
        api_artifacts_release(&end);
    }
    free(found);
    planner_job_destroy(job);
    ir_program_release(&image);
    api_request_destroy(api_request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plan_so_far)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
