/* timeout: 120 */
/* Segments' priced tables in auto's race: only where all their prices are a small part of the search's, and
 * in the network's place only where their plan is better than that and the search's. */
#include "support.h"

#include "api/request.h"
#include "base/file.h"
#include "ir/read.h"
#include "planner/job.h"

#include <stdlib.h>
#include <string.h>

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char REQUEST[] =
    "{\"module\": \"sha256:" DIGEST "\", \"mesh\": {\"axes\": [{\"name\": \"data\", \"size\": 4}]}, "
    "\"device\": \"tpu-v5e\", \"planner\": \"auto\", \"outputs\": [\"plan\"]}";

/* whether segments take the network's place after so many evaluations of a search that found `best` */
static bool race(struct planner_job *job, uint64_t evaluations, struct cost best)
{
    struct error e;
    struct search_blob blob = {0};
    struct search_state *state = mem_zalloc(1, sizeof *state);
    state->evaluations = evaluations;
    state->best.cost = best;
    ASSERT_OK(planner_job_network(job, state, 1, NULL, NULL, &blob, &e), &e);
    bool is = segments_answer_is(blob.bytes, blob.size);
    ASSERT_OK(planner_job_take_network(job, blob.bytes, blob.size, &e), &e);
    free(blob.bytes);
    free(state);
    return is;
}

static void where_cheap(void **unused)
{
    struct error e;
    struct api_request *api_request;
    struct ir_program image;
    struct planner_job *job;
    struct search_plan best;
    struct cost poor = {0, 1e9F}, perfect = {0, 0};
    struct search_state *state = mem_zalloc(1, sizeof *state);
    char *text;
    size_t size;
    ASSERT_OK(file_read(SUPPORT_MODELS "small/t2b.mlir", (size_t)1 << 24, &text, &size, &e), &e);
    ASSERT_OK(ir_read(text, size, NULL, &image, &e), &e);
    free(text);
    ASSERT_OK(api_request_parse(REQUEST, strlen(REQUEST), NULL, false, &api_request, &e), &e);
    ASSERT_OK(planner_job_create(&api_request->planning, &image, &job, &e), &e);
    assert_false(race(job, 0, poor));
    assert_false(race(job, 64 * 16 - 1, poor)); /* 63 prices are a sixteenth */
    assert_false(race(job, 1000000, perfect));
    assert_true(race(job, 1000000, poor));
    state->best.cost = poor;
    planner_job_best(job, state, true, &best);
    print_message("%s, %.3f ms\n", best.found_by, (double)best.price.step_ps / 1e9);
    free(state);
    planner_job_destroy(job);
    ir_program_release(&image);
    api_request_destroy(api_request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(where_cheap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
