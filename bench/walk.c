/* Microseconds a walk, by model and plan: `bench_walk [MODEL..]`; the models of tests/models when none is
 * given. */
#include "bench/usage.h"
#include "spmd/local.h"
#include "tests/support/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_us(void)
{
    struct timespec when;

    clock_gettime(CLOCK_MONOTONIC, &when);
    return (double)when.tv_sec * 1e6 + (double)when.tv_nsec / 1e3;
}

static enum error_code run_plan(const struct plan_context *context, const char *name, const struct plan *plan,
                                struct spmd_local *local, struct error *e)
{
    double best = 1e18, begin = now_us();
    uint32_t collectives = 0;

    for (int i = 0; i < 200 && now_us() - begin < 3e5; i++) {
        double start = now_us();
        enum error_code code = spmd_walk(context, plan, NULL, local, e);
        if (code != ERROR_OK)
            return code;
        double us = now_us() - start;
        best = us < best ? us : best;
    }
    for (uint32_t i = 0; i < local->step_count; i++)
        collectives += spmd_step_is_collective(&local->steps[i]);
    printf("    %-44s %9.0f us %8u steps %6u collectives\n", name, best, local->step_count, collectives);
    return ERROR_OK;
}

/* the first, a middle and the last baseline, and a random plan */
static enum error_code run_plans(const struct plan_context *context, struct error *e)
{
    const struct nda *n = plan_context_nda(context);
    struct spmd_local local = {0};
    struct plan plan = {0};
    struct rng rng = {1};
    enum error_code code = ERROR_OK;
    uint32_t count = 0;
    struct plan_baseline *baseline = plan_baselines(context, &count);

    for (uint32_t i = 0; i < count && code == ERROR_OK; i++) {
        if (i != 0 && i != count / 2 && i + 1 != count)
            continue;
        plan_init(&plan, n, plan_context_mesh(context));
        plan_replay(context, baseline[i].decisions, &baseline[i].count, &plan);
        code = run_plan(context, baseline[i].name, &plan, &local, e);
        plan_release(&plan);
    }
    free(baseline);
    plan_init(&plan, n, plan_context_mesh(context));
    plan_random(context, &rng, &plan);
    if (code == ERROR_OK)
        code = run_plan(context, "random", &plan, &local, e);
    plan_release(&plan);
    spmd_local_release(&local);
    return code;
}

static enum error_code run_model(const char *path, struct error *e)
{
    struct subject subject;
    enum error_code code = subject_file(&subject, path, e);

    if (code == ERROR_OK)
        code = subject_mesh(&subject, "data=4,model=4", e);
    if (code == ERROR_OK) {
        printf("%s: %u spaces\n", path, subject.nda->space_count);
        code = run_plans(subject.context, e);
    }
    subject_close(&subject);
    return code;
}

static const char help[] = "usage: bench_walk [MODEL ..]\n"
                           "\n"
                           "Microseconds of a walk (program and plan to the local program), the best of up "
                           "to 200 in 0.3 s, under the first, a middle\n"
                           "and the last expert plan and a random one on data=4,model=4. Without MODEL: the "
                           "thirteen of tests/models.\n"
                           "\n"
                           "example:\n"
                           "  build/release/bin/bench_walk tests/models/t2b.mlir.gz\n";

int main(int argc, char **argv)
{
    static const char *const all[] = {
        "mlp.mlir",         "paper_attention.mlir", "t2b.mlir.gz", "t2b_16k.mlir.gz", "t2b_remat.mlir.gz",
        "t2b_scan.mlir.gz", "t2b_flat.mlir.gz",     "t7b.mlir.gz", "gpt.mlir.gz",     "gpt_torch.mlir.gz",
        "gns.mlir.gz",      "unet.mlir.gz",         "itx.mlir.gz"};
    struct error e = {0};
    char path[4096];

    usage_help(argc, argv, help);
    for (int i = 1; i < argc; i++)
        usage_operand(argv[i]);
    for (int i = 1; i < argc; i++)
        if (run_model(argv[i], &e) != ERROR_OK)
            fprintf(stderr, "%s: %s\n", argv[i], e.message);
    for (size_t i = 0; argc == 1 && i < sizeof all / sizeof *all; i++) {
        snprintf(path, sizeof path, "tests/models/%s", all[i]);
        if (run_model(path, &e) != ERROR_OK)
            fprintf(stderr, "%s: %s\n", path, e.message);
    }
    return e.code != ERROR_OK;
}
