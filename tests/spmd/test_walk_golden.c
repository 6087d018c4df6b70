/* Collectives of every baseline on each small model, mesh data=4,model=2, before combining: count and
 * bytes by kind and axes, against tests/spmd/golden/baselines.txt; and figure 5b's local program in full
 * (attention.txt). TOAST_GOLDEN=accept writes the files anew; review the difference. */
/* timeout: 120 */
#include "walk_support.h"

#include <stdlib.h>

static void compare(const char *name, const struct text *t)
{
    struct error e = {0};
    size_t size;
    char *path = mem_printf("%s/tests/spmd/golden/%s", TOAST_SOURCE_DIR, name);
    const char *mode = getenv("TOAST_GOLDEN");

    if (mode && strcmp(mode, "accept") == 0)
        ASSERT_OK(file_write(path, t->at, t->size, &e), &e);
    char *expected = support_read(path, &size);
    const char *a = expected, *b = t->at;
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

static void add_sums(const struct model *m, struct text *t)
{
    struct spmd_collective_sum sums[256];
    uint32_t n = spmd_collective_sums(&m->local, sums, 256);

    for (uint32_t i = 0; i < n; i++) {
        text_printf(t, "    %s", spmd_step_kind_name((enum spmd_step_kind)sums[i].kind));
        for (uint32_t a = 0; a < sums[i].axis_count; a++)
            text_printf(t, "%s%s", a ? "," : " ", m->mesh.axes[sums[i].axes[a]].name);
        text_printf(t, ": %lld, %lld bytes\n", (long long)sums[i].count, (long long)sums[i].bytes);
    }
    if (!n)
        text_add(t, "    none\n");
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
    struct text t = {0};

    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct model m;
        uint32_t count;
        model_open(&m, models[i], "data=4,model=2");
        struct plan_baseline *b = plan_baselines(m.context, &count);
        struct spmd_options o = spmd_default_options(&m.mesh);
        o.combine_bytes = 1;
        for (uint32_t k = 0; k < count; k++) {
            struct plan p = {0};
            plan_init(&p, m.nda, &m.mesh);
            plan_replay(m.context, b[k].decisions, &b[k].count, &p);
            model_walk(&m, &p, &o);
            text_printf(&t, "%s %s\n", models[i], b[k].name);
            add_sums(&m, &t);
            plan_release(&p);
        }
        free(b);
        model_close(&m);
    }
    compare("baselines.txt", &t);
    text_release(&t);
}

static void test_attention_text(void **state)
{
    struct model m;
    struct text t = {0};

    (void)state;
    model_open(&m, "paper_attention.mlir", "s=4");
    for (uint32_t bits = 0; bits < 2; bits++) {
        struct plan p = {0};
        struct plan_decision d = {
            .group = model_group(&m, 0, 0), .bits = bits, .axis = 0, .scope = PLAN_SCOPE_ALL};
        plan_init(&p, m.nda, &m.mesh);
        assert_true(plan_apply(m.context, &p, d) > 0);
        model_walk(&m, &p, NULL);
        text_printf(&t, "side %u\n", bits);
        spmd_local_text(&m.local, &t);
        plan_release(&p);
    }
    compare("attention.txt", &t);
    text_release(&t);
    model_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_text),
        cmocka_unit_test(test_baselines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
