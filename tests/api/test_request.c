/* Requests: what is taken, what is refused and where, canonical form and digest; flags make the same
 * requests. */
#include "support.h"

#include "api/flags.h"
#include "api/request.h"

#include <stdlib.h>
#include <string.h>

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define MESH "\"mesh\": {\"axes\": [{\"name\": \"data\", \"size\": 4}, {\"name\": \"model\", \"size\": 2}]}"
#define BASE "\"module\": \"sha256:" DIGEST "\", " MESH ", \"device\": \"a100-40\""

static enum error_code parse(const char *json, struct error *e)
{
    struct api_request *request = NULL;
    memset(e, 0, sizeof *e);
    enum error_code code = api_request_parse(json, strlen(json), NULL, false, &request, e);
    api_request_destroy(request);
    return code;
}

/* request, code, pointer ("" = none) */
static const struct {
    const char *json;
    enum error_code code;
    const char *pointer;
} bad[] = {
    {"", ERROR_INVALID_JSON, ""},
    {"{", ERROR_INVALID_JSON, ""},
    {"3", ERROR_INVALID_JSON, ""},
    {"[]", ERROR_INVALID_REQUEST, ""},
    {"{} x", ERROR_INVALID_JSON, ""},
    {"{\"seed\": 1, \"seed\": 2}", ERROR_INVALID_JSON, ""},
    {"{\"seed\": NaN}", ERROR_INVALID_JSON, ""},
    {"{\"seed\": 1e400}", ERROR_INVALID_JSON, ""},
    {"{\"seed\": 9223372036854775808}", ERROR_INVALID_JSON, ""},
    {"{\"seed\": \"\xff\"}", ERROR_INVALID_JSON, ""},
    {"{" BASE ", \"colour\": 1}", ERROR_INVALID_REQUEST, "/colour"},
    {"{" MESH ", \"device\": \"a100-40\"}", ERROR_INVALID_REQUEST, "/module"},
    {"{\"module\": \"sha256:xyz\", " MESH ", \"device\": \"a100-40\"}", ERROR_INVALID_REQUEST, "/module"},
    {"{\"module\": {\"url\": \"http://x\"}, " MESH "}", ERROR_INVALID_REQUEST, "/module/url"},
    {"{\"module\": \"sha256:" DIGEST "\", \"device\": \"a100-40\"}", ERROR_INVALID_MESH, "/mesh"},
    {"{\"module\": \"sha256:" DIGEST "\", \"mesh\": {\"axes\": []}}", ERROR_INVALID_MESH, "/mesh/axes"},
    {"{\"module\": \"sha256:" DIGEST "\", \"mesh\": {\"axes\": [{\"name\": \"a\", \"size\": 0}]}}",
     ERROR_INVALID_MESH, "/mesh/axes"},
    {"{\"module\": \"sha256:" DIGEST "\", \"mesh\": {\"axes\": [{\"name\": \"a\", \"size\": 2.0}]}}",
     ERROR_INVALID_REQUEST, "/mesh/axes/0/size"},
    {"{\"module\": \"sha256:" DIGEST
     "\", \"mesh\": {\"axes\": [{\"name\": \"a\", \"size\": 2}, {\"name\": \"a\", \"size\": 2}]}}",
     ERROR_INVALID_MESH, "/mesh/axes"},
    {"{\"module\": \"sha256:" DIGEST "\", \"mesh\": {\"axes\": [{\"name\": \"a\", \"size\": 2097152}]}}",
     ERROR_INVALID_MESH, "/mesh/axes"},
    {"{\"module\": \"sha256:" DIGEST "\", \"mesh\": {\"devices\": 16}}", ERROR_NOT_AVAILABLE,
     "/mesh/devices"},
    {"{\"module\": \"sha256:" DIGEST "\", " MESH ", \"device\": \"abacus\"}", ERROR_UNKNOWN_DEVICE,
     "/device"},
    {"{\"module\": \"sha256:" DIGEST "\", " MESH "}", ERROR_UNKNOWN_DEVICE, "/device"},
    {"{" BASE ", \"memory_limit_bytes\": -1}", ERROR_INVALID_REQUEST, "/memory_limit_bytes"},
    {"{" BASE ", \"budget\": {\"rollouts\": -5}}", ERROR_INVALID_REQUEST, "/budget/rollouts"},
    {"{" BASE ", \"budget\": {\"minutes\": 5}}", ERROR_INVALID_REQUEST, "/budget/minutes"},
    {"{" BASE ", \"parallelism\": 257}", ERROR_INVALID_REQUEST, "/parallelism"},
    {"{" BASE ", \"planner\": \"oracle\"}", ERROR_INVALID_REQUEST, "/planner"},
    {"{" BASE ", \"objective\": \"pareto\"}", ERROR_NOT_AVAILABLE, "/objective"},
    {"{" BASE ", \"outputs\": [\"plan\", \"picture\"]}", ERROR_INVALID_REQUEST, "/outputs/1"},
    {"{" BASE ", \"constraints\": [{\"dims\": []}]}", ERROR_INVALID_CONSTRAINT, "/constraints/0"},
    {"{" BASE ", \"constraints\": [{\"argument\": \"w\", \"dims\": [[\"nowhere\"]]}]}",
     ERROR_INVALID_CONSTRAINT, "/constraints/0/dims/0/0"},
    {"{" BASE ", \"proof\": 1}", ERROR_INVALID_REQUEST, "/proof"},
    {"{" BASE ", \"labels\": {\"a\": 1}}", ERROR_INVALID_REQUEST, "/labels/a"},
};

static void bad_requests_say_where(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct error e;
        enum error_code code = parse(bad[i].json, &e);
        if (code != bad[i].code || strcmp(e.pointer, bad[i].pointer) != 0 || !e.message[0])
            fail_msg("%s: got %s at '%s' (%s), wanted %s at '%s'", bad[i].json, error_code_text(code),
                     e.pointer, e.message, error_code_text(bad[i].code), bad[i].pointer);
        if (code == ERROR_INVALID_JSON)
            assert_true(e.line >= 1 && e.column >= 1);
    }
}

static void whole_request_is_taken(void **state)
{
    (void)state;
    const char *json =
        "{" BASE ", \"memory_limit_bytes\": 1000000000, \"objective\": \"step_time\", \"planner\": \"mcts\","
        "\"constraints\": [{\"argument\": \"params/*/wq\", \"dims\": [[\"model\"], [], null]}],"
        "\"argument_names\": [\"a\", \"b\"], \"trip_counts\": {\"while@model.py:88\": 32},"
        "\"budget\": {\"rollouts\": 100, \"seconds\": 1.5}, \"parallelism\": 4, \"seed\": 7,"
        "\"outputs\": [\"annotated\", \"plan\"], \"proof\": true, \"on_deadline\": \"best\","
        "\"deadline_s\": 600, \"labels\": {\"team\": \"speech\"}}";
    struct api_request *request = NULL;
    struct error e;
    ASSERT_OK(api_request_parse(json, strlen(json), NULL, false, &request, &e), &e);
    assert_string_equal(request->module_digest, DIGEST);
    assert_int_equal(request->planning.mesh.axis_count, 2);
    assert_int_equal(request->planning.mesh.axes[1].size, 2);
    assert_int_equal(request->planning.constraint_count, 1);
    assert_int_equal(request->planning.constraints[0].rank, 3);
    assert_string_equal(request->planning.constraints[0].dims[0].axes[0], "model");
    assert_int_equal(request->planning.constraints[0].dims[2].open, 1);
    assert_int_equal(request->planning.analysis.trip_counts[0].trips, 32);
    assert_int_equal(request->planning.rollouts, 100);
    assert_int_equal(request->planning.outputs, PLANNER_OUTPUT_ANNOTATED | PLANNER_OUTPUT_PLAN);
    assert_true(request->planning.proof);
    assert_null(strstr(request->canonical, "speech"));
    api_request_destroy(request);
}

static void digest_ignores_labels_order_and_spelling(void **state)
{
    (void)state;
    const char *texts[] = {"{" BASE ", \"seed\": 1}", "{ \"seed\" : 1, \"labels\": {\"x\": \"y\"}, " BASE "}",
                           "{" BASE ", \"seed\": 2}"};
    char digests[3][65];
    for (int i = 0; i < 3; i++) {
        struct api_request *request = NULL;
        struct error e;
        ASSERT_OK(api_request_parse(texts[i], strlen(texts[i]), NULL, false, &request, &e), &e);
        api_request_digest(request, request->module_digest, digests[i]);
        api_request_destroy(request);
    }
    assert_string_equal(digests[0], digests[1]);
    assert_string_not_equal(digests[0], digests[2]);
}

static void inline_and_side_modules(void **state)
{
    (void)state;
    struct api_request *request = NULL;
    struct error e;
    const char *text = "{\"module\": {\"inline\": \"abc\"}, " MESH ", \"device\": \"h100\"}";
    ASSERT_OK(api_request_parse(text, strlen(text), NULL, false, &request, &e), &e);
    assert_string_equal(request->module_digest,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(request->module_inline_size, 3);
    api_request_destroy(request);
    assert_int_equal(api_request_parse(text, strlen(text), DIGEST, false, &request, &e),
                     ERROR_INVALID_REQUEST);
    text = "{" MESH ", \"device\": \"h100\"}";
    ASSERT_OK(api_request_parse(text, strlen(text), DIGEST, false, &request, &e), &e);
    assert_string_equal(request->module_digest, DIGEST);
    api_request_destroy(request);
}

static void flags_make_requests(void **state)
{
    (void)state;
    char *argv[] = {"plan",
                    "--mesh",
                    "data=4,model=2",
                    "--device",
                    "a100-40",
                    "--pin",
                    "params/*/wq=model,-,?,data+model",
                    "--rollouts",
                    "50",
                    "--seed",
                    "9",
                    "--proof",
                    "--outputs",
                    "plan,report"};
    struct api_flags flags = {0};
    struct error e;
    for (int i = 1; i < (int)(sizeof argv / sizeof *argv); i++)
        assert_int_equal(api_flags_take(&flags, sizeof argv / sizeof *argv, argv, &i, &e), 1);
    char *json = NULL;
    struct api_request *request = NULL;
    ASSERT_OK(api_flags_request(&flags, &json, &e), &e);
    ASSERT_OK(api_request_parse(json, strlen(json), NULL, true, &request, &e), &e);
    assert_int_equal(request->planning.constraints[0].rank, 4);
    assert_int_equal(request->planning.constraints[0].dims[3].count, 2);
    assert_int_equal(request->planning.seed, 9);
    assert_int_equal(request->planning.rollouts, 50);
    api_request_destroy(request);
    free(json);
    flags.mesh = "data=0";
    assert_int_equal(api_flags_request(&flags, &json, &e), ERROR_INVALID_MESH);
    flags.mesh = "data=4";
    flags.seed = "x";
    assert_int_equal(api_flags_request(&flags, &json, &e), ERROR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_requests_say_where),
        cmocka_unit_test(whole_request_is_taken),
        cmocka_unit_test(digest_ignores_labels_order_and_spelling),
        cmocka_unit_test(inline_and_side_modules),
        cmocka_unit_test(flags_make_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
