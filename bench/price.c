/* bench_price [--plans N] [MODEL ..]: how long a plan's evaluation takes. Random decision lists of 1 to 8
 * decisions on mesh data=4,model=4, a100-40; each plan once (nothing is remembered between them). Columns:
 * ops after preparation, mean steps of the local programs, processor milliseconds of apply (the list), walk
 * and price, evaluations a second. */
#include "bench/usage.h"
#include "tests/support/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void)
{
    struct timespec when;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &when);
    return (double)when.tv_sec + (double)when.tv_nsec * 1e-9;
}

struct totals {
    double apply_s, walk_s, price_s;
    double steps;
};

static void random_plan(const struct plan_context *context, struct rng *rng, struct plan *plan)
{
    uint32_t offered, length = 1 + (uint32_t)rng_below(rng, 8);
    const struct plan_decision *decisions = plan_context_decisions(context, &offered);
    plan_copy(plan, plan_context_start(context));
    for (uint32_t i = 0; i < length && offered; i++)
        plan_apply(context, plan, decisions[rng_below(rng, offered)]);
}

static enum error_code measure(const struct plan_context *context, const struct cost_machine *machine,
                               uint32_t plans, struct totals *out, struct error *e)
{
    const struct mesh *mesh = plan_context_mesh(context);
    struct spmd_options walk = spmd_default_options(mesh);
    struct spmd_local local = {0};
    struct price_scratch *scratch = NULL;
    struct plan plan;
    struct rng rng = {.state = 1};
    enum error_code code = ERROR_OK;
    cost_walk_options(machine, mesh, &walk);
    plan_init(&plan, plan_context_nda(context), mesh);
    *out = (struct totals){0};
    for (uint32_t i = 0; i <= plans && !code; i++) { /* the first, in which arrays grow, is not counted */
        struct price price;
        double t0 = seconds();
        random_plan(context, &rng, &plan);
        double t1 = seconds();
        code = spmd_walk(context, &plan, &walk, &local, e);
        if (code)
            break;
        double t2 = seconds();
        price_local(&local, machine, &scratch, NULL, &price);
        double t3 = seconds();
        if (i == 0)
            continue;
        out->apply_s += t1 - t0;
        out->walk_s += t2 - t1;
        out->price_s += t3 - t2;
        out->steps += local.step_count;
    }
    price_scratch_destroy(scratch);
    spmd_local_release(&local);
    plan_release(&plan);
    return code;
}

static enum error_code bench(const char *path, uint32_t plans, struct error *e)
{
    struct subject subject;
    struct totals totals;
    enum error_code code = subject_file(&subject, path, e);
    if (!code)
        code = subject_mesh(&subject, "data=4,model=4", e);
    if (!code)
        code = subject_device(&subject, "a100-40", 0, e);
    if (!code)
        code = measure(subject.context, &subject.machine, plans, &totals, e);
    if (!code) {
        const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
        double each = 1e3 / plans, whole = totals.apply_s + totals.walk_s + totals.price_s;
        printf("%-24s %8u %9.0f %9.3f %9.3f %9.3f %12.0f\n", name, subject.program.op_count,
               totals.steps / plans, totals.apply_s * each, totals.walk_s * each, totals.price_s * each,
               plans / whole);
    }
    subject_close(&subject);
    return code;
}

static const char help[] = "usage: bench_price [--plans N] [MODEL ..]\n"
                           "\n"
                           "How long a plan's evaluation takes: random lists of 1 to 8 decisions on "
                           "data=4,model=4, a100-40, each plan once. Columns:\n"
                           "ops after preparation, mean steps of the local programs, processor milliseconds "
                           "of apply, walk and price, evaluations a\n"
                           "second. Without MODEL: the thirteen of tests/models.\n"
                           "\n"
                           "  --plans N   plans a model; default 50\n"
                           "\n"
                           "example:\n"
                           "  build/release/bin/bench_price --plans 30 tests/models/t2b.mlir.gz\n";

int main(int argc, char **argv)
{
    static const char *const standard[] = {
        "mlp.mlir",         "paper_attention.mlir", "t2b.mlir.gz", "t2b_16k.mlir.gz", "t2b_remat.mlir.gz",
        "t2b_scan.mlir.gz", "t2b_flat.mlir.gz",     "t7b.mlir.gz", "gpt.mlir.gz",     "gpt_torch.mlir.gz",
        "gns.mlir.gz",      "unet.mlir.gz",         "itx.mlir.gz"};
    int known = (int)(sizeof standard / sizeof *standard), count = 0, failed = 0;
    uint32_t plans = 50;
    struct error e;
    usage_help(argc, argv, help);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--plans") == 0)
            plans = (uint32_t)usage_number(argc, argv, &i, 1);
        else
            argv[count++] = argv[i], usage_operand(argv[i]);
    printf("%-24s %8s %9s %9s %9s %9s %12s\n", "model", "ops", "steps", "apply ms", "walk ms", "price ms",
           "evaluations/s");
    for (int i = 0; i < (count ? count : known); i++) {
        char *path = count ? mem_strdup(argv[i]) : mem_printf("tests/models/%s", standard[i]);
        if (bench(path, plans, &e) != ERROR_OK)
            failed = fprintf(stderr, "%s: %s\n", path, e.message) > 0;
        fflush(stdout);
        free(path);
    }
    return failed;
}
