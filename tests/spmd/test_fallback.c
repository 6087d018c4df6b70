/* label: unit */
/* timeout: 240 */
/* On the models of tests/models no op falls back to replication but those of docs/op-status.md: for every
 * baseline on 4x2 and some random plans, the ops that the walk had to replicate are collected and looked
 * up there. */
#include "subject.h"
#include "support.h"

#include "spmd/local.h"

#include <stdlib.h>
#include <string.h>

static const char *const models[] = {"mlp.mlir",
                                     "paper_attention.mlir",
                                     "small/t2b.mlir",
                                     "small/t2b_flat.mlir",
                                     "small/t2b_remat.mlir",
                                     "small/t2b_scan.mlir",
                                     "small/gpt.mlir",
                                     "small/gpt_torch.mlir",
                                     "small/gns.mlir",
                                     "small/unet.mlir",
                                     "small/itx.mlir",
                                     "t2b.mlir.gz",
                                     "t2b_16k.mlir.gz",
                                     "t7b.mlir.gz",
                                     "t2b_remat.mlir.gz",
                                     "t2b_scan.mlir.gz",
                                     "t2b_flat.mlir.gz",
                                     "gpt.mlir.gz",
                                     "gpt_torch.mlir.gz",
                                     "gns.mlir.gz",
                                     "unet.mlir.gz",
                                     "itx.mlir.gz"};
static char *listed; /* docs/op-status.md from "## Replicated" on */

static void check_walk(const char *model, const struct plan_context *context, const struct plan *plan,
                       struct spmd_local *local)
{
    struct spmd_options options = spmd_default_options(plan_context_mesh(context));
    struct error e;
    ASSERT_OK(spmd_walk(context, plan, &options, local, &e), &e);
    for (uint32_t i = 0; i < local->replicated_op_count; i++) {
        char *name = mem_printf("`%s`", ir_op_name(local->nda->program, local->replicated_ops[i]));
        if (!strstr(listed, name))
            fail_msg("%s line %u: %s was replicated, which docs/op-status.md does not list", model,
                     local->nda->program->ops[local->replicated_ops[i]].line, name);
        free(name);
    }
}

static void check_model(const char *model)
{
    char *path = mem_printf("%s%s", SUPPORT_MODELS, model);
    struct subject subject;
    struct spmd_local local = {0};
    struct error e;
    ASSERT_OK(subject_file(&subject, path, &e), &e);
    ASSERT_OK(subject_mesh(&subject, "data=4,model=2", &e), &e);
    uint32_t count;
    struct plan_baseline *baselines = plan_baselines(subject.context, &count);
    for (uint32_t b = 0; b < count + 8; b++) {
        struct plan plan;
        plan_init(&plan, subject.nda, &subject.mesh);
        plan_copy(&plan, plan_context_start(subject.context));
        if (b < count)
            plan_replay(subject.context, baselines[b].decisions, &baselines[b].count, &plan);
        else
            plan_random(subject.context, &(struct rng){b}, &plan);
        check_walk(model, subject.context, &plan, &local);
        plan_release(&plan);
    }
    free(baselines);
    spmd_local_release(&local);
    subject_close(&subject);
    free(path);
}

static void only_listed_ops_are_replicated(void **state)
{
    (void)state;
    char *status = support_read(TOAST_SOURCE_DIR "/docs/op-status.md", NULL);
    listed = strstr(status, "## Replicated");
    assert_non_null(listed);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        check_model(models[i]);
    free(status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_listed_ops_are_replicated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
