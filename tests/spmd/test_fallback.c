/* label: unit */
/* timeout: 240 */
/* On the models of tests/models no op falls back to replication but those of docs/op-status.md: for every baseline on
 * 4x2 and some random plans, the ops that the walk had to replicate are collected and looked up there. */
#include "support.h"

#include "ir/prepare.h"
#include "ir/read.h"
#include "spmd/local.h"

#include <stdlib.h>
#include <string.h>

static const char *const models[] = {"mlp.mlir", "paper_attention.mlir", "small/t2b.mlir", "small/t2b_flat.mlir", "small/t2b_remat.mlir",
                                     "small/t2b_scan.mlir", "small/gpt.mlir", "small/gpt_torch.mlir", "small/gns.mlir",
                                     "small/unet.mlir", "small/itx.mlir", "t2b.mlir.gz", "t2b_16k.mlir.gz", "t7b.mlir.gz",
                                     "t2b_remat.mlir.gz", "t2b_scan.mlir.gz", "t2b_flat.mlir.gz", "gpt.mlir.gz",
                                     "gpt_torch.mlir.gz", "gns.mlir.gz", "unet.mlir.gz", "itx.mlir.gz"};
static char *listed;   /* docs/op-status.md from "## Replicated" on */

static void check_walk(const char *model, const struct plan_context *c, const struct plan *p, struct spmd_local *l)
{
    struct spmd_options options = spmd_default_options(plan_context_mesh(c));
    struct error e;
    ASSERT_OK(spmd_walk(c, p, &options, l, &e), &e);
    for (uint32_t i = 0; i < l->replicated_op_count; i++) {
        char *name = mem_printf("`%s`", ir_op_name(l->nda->program, l->replicated_ops[i]));
        if (!strstr(listed, name))
            fail_msg("%s line %u: %s was replicated, which docs/op-status.md does not list", model,
                     l->nda->program->ops[l->replicated_ops[i]].line, name);
        free(name);
    }
}

static void check_model(const char *model)
{
    char *path = mem_printf("%s%s", SUPPORT_MODELS, model);
    size_t size;
    char *text = support_read(path, &size);
    struct ir_program image = {0}, prepared = {0};
    struct nda *n = NULL;
    struct mesh m = {0};
    struct plan_context *c = NULL;
    struct spmd_local l = {0};
    struct error e;
    ASSERT_OK(ir_read(text, size, NULL, &image, &e), &e);
    ASSERT_OK(ir_prepare(&image, &prepared, &e), &e);
    ASSERT_OK(nda_create(&prepared, NULL, &n, &e), &e);
    ASSERT_OK(mesh_parse("data=4,model=2", &m, &e), &e);
    ASSERT_OK(plan_context_create(n, &m, NULL, 0, &c, &e), &e);
    uint32_t count;
    struct plan_baseline *baselines = plan_baselines(c, &count);
    for (uint32_t b = 0; b < count + 8; b++) {
        struct plan p;
        plan_init(&p, n, &m);
        plan_copy(&p, plan_context_start(c));
        if (b < count)
            plan_replay(c, baselines[b].decisions, &baselines[b].count, &p);
        else
            plan_random(c, &(struct rng){b}, &p);
        check_walk(model, c, &p, &l);
        plan_release(&p);
    }
    free(baselines);
    spmd_local_release(&l);
    plan_context_destroy(c);
    nda_destroy(n);
    ir_program_release(&prepared);
    ir_program_release(&image);
    free(text);
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
    ir_read_program(TOAST_BINARY_DIR "/toast-read");
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_listed_ops_are_replicated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
