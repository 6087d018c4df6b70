/* Collectives of every baseline on each small model, mesh data=4,model=2, before combining: count and
 * bytes by kind and axes, against tests/spmd/golden/baselines.txt; and the paper's figure 5b's local program
 * in full (attention.txt). TOAST_GOLDEN=accept writes the files anew; review the difference. */
/* timeout: 120 */
#include "walk_support.h"

#include <stdlib.h>

static void compare(const char *name, const struct text *text)
{
    struct error e = {0};
    size_t size;
    char *path = mem_printf("%s/tests/spmd/golden/%s", TOAST_SOURCE_DIR, name);
    const char *mode = getenv("TOAST_GOLDEN");

    if (mode && strcmp(mode, "accept") == 0)
        ASSERT_OK(file_write(path, text->at, text->size, &e), &e);
    char *expected = support_read(path, &size);
    const char *a = expected, *b = text->at;
    for (int line = 1; *a || *b; line++) {
        size_t m = strcspn(a, "\n"), n = strcspn(b, "\n");
        if (m != n || memcmp(a, b, n) != 0)
            fail_msg("%s:%d:\n  expected: %.*s\n  found:    %.*s", path, line, (int)m, a, (int)n, b);
        a += m + (a[m] == '\n');
        b += n + (b[n] == '\n');
    }
    free(expected);
    free(path);
}

static void add_sums(const struct model *model, struct text *text)
{
    struct spmd_collective_sum sums[256];
    uint32_t n = spmd_collective_sums(&model->local, sums, 256);

    for (uint32_t i = 0; i < n; i++) {
        text_printf(text, "    %s", spmd_step_kind_name((enum spmd_step_kind)sums[i].kind));
        for (uint32_t axis = 0; axis < sums[i].axis_count; axis++)
            text_printf(text, "%s%s", axis ? "," : " ", model->mesh.axes[sums[i].axes[axis]].name);
        text_printf(text, ": %lld, %lld bytes\n", (long long)sums[i].count, (long long)sums[i].bytes);
    }
    if (!n)
        text_add(text, "    none\n");
}

static void test_baselines(void **state)
{
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
                                         "small/itx.mlir"};
    struct text text = {0};

    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct model model;
        uint32_t count;
        model_open(&model, models[i], "data=4,model=2");
        struct plan_baseline *baseline = plan_baselines(model.context, &count);
        struct spmd_options options = spmd_default_options(&model.mesh);
        options.combine_bytes = 1;
        for (uint32_t k = 0; k < count; k++) {
            struct plan plan = {0};
            plan_init(&plan, model.nda, &model.mesh);
            plan_replay(model.context, baseline[k].decisions, &baseline[k].count, &plan);
            model_walk(&model, &plan, &options);
            text_printf(&text, "%s %s\n", models[i], baseline[k].name);
            add_sums(&model, &text);
            plan_release(&plan);
        }
        free(baseline);
        model_close(&model);
    }
    compare("baselines.txt", &text);
    text_release(&text);
}

static void test_attention_text(void **state)
{
    struct model model;
    struct text text = {0};

    (void)state;
    model_open(&model, "paper_attention.mlir", "s=4");
    for (uint32_t bits = 0; bits < 2; bits++) {
        struct plan plan = {0};
        struct plan_decision decision = {
            .group = model_group(&model, 0, 0), .bits = bits, .axis = 0, .scope = PLAN_SCOPE_ALL};
        plan_init(&plan, model.nda, &model.mesh);
        assert_true(plan_apply(model.context, &plan, decision) > 0);
        model_walk(&model, &plan, NULL);
        text_printf(&text, "side %u\n", bits);
        spmd_local_text(&model.local, &text);
        plan_release(&plan);
    }
    compare("attention.txt", &text);
    text_release(&text);
    model_close(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_text),
        cmocka_unit_test(test_baselines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
