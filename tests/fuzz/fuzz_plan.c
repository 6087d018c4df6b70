/* plan.json: refused, or replayed on a module (tests/models/mlp.mlir). */
#include "reader.h"

#include "api/plan_file.h"
#include "ir/prepare.h"

static struct ir_program read, prepared;
static struct nda *nda;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    struct error e = {0};
    fuzz_model(&read);
    FUZZ_CHECK(ir_prepare(&read, &prepared, &e) == ERROR_OK);
    FUZZ_CHECK(nda_create(&prepared, NULL, &nda, &e) == ERROR_OK);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct planner_plan *planner_plan = NULL;
    struct plan_context *context = NULL;
    struct plan plan;
    struct error e = {0};
    enum error_code code = api_plan_parse((const char *)data, size, &planner_plan, &e);
    fuzz_check_error(code, &e, data, size);
    FUZZ_CHECK(code != ERROR_INTERNAL && (code == ERROR_OK) == (planner_plan != NULL));
    if (code != ERROR_OK)
        return 0;
    code = planner_plan_apply(planner_plan, nda, &context, &plan, &e);
    FUZZ_CHECK(code == ERROR_OK || (e.code == code && e.message[0] && code != ERROR_INTERNAL));
    if (code == ERROR_OK) {
        plan_release(&plan);
        plan_context_destroy(context);
    }
    planner_plan_destroy(planner_plan);
    return 0;
}
