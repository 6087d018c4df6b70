/* Folded prices against whole ones: random plans priced both ways, how far apart they are and how long
 * each took.
 *
 * Errors are relative, of step time or peak, the larger; times are processor time of one thread. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "bench/usage.h"
#include "tests/support/subject.h"

static double now_s(void)
{
    struct timespec when;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &when);
    return (double)when.tv_sec + 1e-9 * (double)when.tv_nsec;
}

struct totals {
    double worst_step, worst_peak, sum, whole_s, folded_s;
    uint32_t beyond;
};

static void random_plan(const struct plan_context *context, struct rng *rng, struct plan *plan)
{
    uint32_t count;
    const struct plan_decision *decisions = plan_context_decisions(context, &count);
    plan_copy(plan, plan_context_start(context));
    for (uint64_t k = 1 + rng_below(rng, 8); count && k-- > 0;)
        plan_apply(context, plan, decisions[rng_below(rng, count)]);
}

static enum error_code compare(struct evaluator_session *session, const struct plan *plan, bool verbose,
                               struct totals *totals, struct error *e)
{
    struct price whole, folded;
    double start = now_s();
    TRY(evaluator_price(session, plan, &whole, NULL, e));
    double middle = now_s();
    TRY(evaluator_price_folded(session, plan, NULL, &folded, NULL, e));
    totals->folded_s += now_s() - middle;
    totals->whole_s += middle - start;
    double step = (double)folded.step_ps / (double)whole.step_ps - 1,
           peak = (double)folded.peak_bytes / (double)whole.peak_bytes - 1,
           error = fmax(fabs(step), fabs(peak));
    totals->worst_step = fmax(totals->worst_step, fabs(step));
    totals->worst_peak = fmax(totals->worst_peak, fabs(peak));
    totals->sum += error;
    totals->beyond += error > 0.005;
    if (verbose && error > 0.005)
        printf("  step %.3f ms %+.2f %%, compute %+.2f %%, communication %+.3f ms, peak %.1f MB %+.2f %%\n",
               1e-9 * (double)whole.step_ps, 100 * step,
               100 * ((double)folded.compute_ps / (double)whole.compute_ps - 1),
               1e-9 * (double)(folded.communication_ps - whole.communication_ps),
               1e-6 * (double)whole.peak_bytes, 100 * peak);
    if (verbose && fabs(peak) > 0.005)
        printf("    peaks in program order %.1f, folded %.1f MB; depth first %.1f, folded %.1f MB\n",
               1e-6 * (double)whole.program_peak_bytes, 1e-6 * (double)folded.program_peak_bytes,
               1e-6 * (double)whole.depth_first_peak_bytes, 1e-6 * (double)folded.depth_first_peak_bytes);
    return ERROR_OK;
}

static enum error_code bench(const char *path, const char *mesh, const char *device, int64_t limit_bytes,
                             uint32_t kept, uint32_t plans, bool verbose, struct error *e)
{
    struct subject subject;
    struct totals totals = {0};
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    TRY(subject_file(&subject, path, e));
    enum error_code code = subject_mesh(&subject, mesh, e);
    if (!code)
        code = subject_device(&subject, device, limit_bytes, e);
    if (!code && evaluator_fold(subject.evaluator, kept)) {
        struct evaluator_session *session = evaluator_session_create(subject.evaluator);
        struct plan plan;
        struct rng rng = {7};
        plan_init(&plan, subject.nda, &subject.mesh);
        for (uint32_t i = 0; i < plans && !code; i++) {
            random_plan(subject.context, &rng, &plan);
            code = compare(session, &plan, verbose, &totals, e);
        }
        printf("%-22s %6u %8.3f %8.3f %8.3f %8u %9.3f %9.3f %6.2f\n", name,
               evaluator_fold_layers(subject.evaluator), 100 * totals.sum / plans, 100 * totals.worst_step,
               100 * totals.worst_peak, totals.beyond, 1e3 * totals.whole_s / plans,
               1e3 * totals.folded_s / plans, totals.whole_s / totals.folded_s);
        plan_release(&plan);
        evaluator_session_destroy(session);
    } else if (!code) {
        printf("%-22s does not fold\n", name);
    }
    subject_close(&subject);
    return code;
}

static const char help[] =
    "usage: bench_fold [--plans N] [--kept N] [--mesh AXES] [--device NAME] [--memory-limit BYTES]\n"
    "                  [--verbose] [MODEL ..]\n"
    "\n"
    "Random plans priced on the folded program and on the whole one. Columns:\n"
    "layers, mean error, worst of step time, worst of the peak (all in percent), plans\n"
    "more than 0.5 % apart, milliseconds a price on the whole and on the fold, their ratio.\n"
    "Without MODEL: those of tests/models that repeat.\n"
    "\n"
    "  --plans N     plans a model; default 200\n"
    "  --kept N      layers that stay; default 4\n"
    "  --mesh AXES   default data=4,model=4\n"
    "  --device NAME default tpu-v5p\n"
    "  --memory-limit BYTES  of a device; one that plans exceed shows their peaks near the limit\n"
    "  --verbose     a line for each plan more than 0.5 % apart\n"
    "\n"
    "example:\n"
    "  build/release/bin/bench_fold --mesh data=8,model=8 tests/models/t2b.mlir.gz\n";

int main(int argc, char **argv)
{
    static const char *const standard[] = {"t2b.mlir.gz", "t2b_flat.mlir.gz", "t2b_remat.mlir.gz",
                                           "t7b.mlir.gz", "gpt.mlir.gz",      "gpt_torch.mlir.gz",
                                           "gns.mlir.gz", "itx.mlir.gz"};
    int known = (int)(sizeof standard / sizeof *standard), count = 0, failed = 0;
    uint32_t plans = 200, kept = 4;
    const char *mesh = "data=4,model=4", *device = "tpu-v5p";
    int64_t limit_bytes = 0;
    bool verbose = false;
    struct error e;
    usage_help(argc, argv, help);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--plans") == 0)
            plans = (uint32_t)usage_number(argc, argv, &i, 1);
        else if (strcmp(argv[i], "--kept") == 0)
            kept = (uint32_t)usage_number(argc, argv, &i, 3);
        else if (strcmp(argv[i], "--mesh") == 0)
            mesh = usage_value(argc, argv, &i);
        else if (strcmp(argv[i], "--device") == 0)
            device = usage_value(argc, argv, &i);
        else if (strcmp(argv[i], "--memory-limit") == 0)
            limit_bytes = (int64_t)usage_number(argc, argv, &i, 1);
        else if (strcmp(argv[i], "--verbose") == 0)
            verbose = true;
        else
            argv[count++] = argv[i], usage_operand(argv[i]);
    printf("%-22s %6s %8s %8s %8s %8s %9s %9s %6s\n", "model", "layers", "mean", "step", "peak", "beyond",
           "whole ms", "fold ms", "ratio");
    for (int i = 0; i < (count ? count : known); i++) {
        char *path = count ? mem_strdup(argv[i]) : mem_printf("tests/models/%s", standard[i]);
        if (bench(path, mesh, device, limit_bytes, kept, plans, verbose, &e) != ERROR_OK)
            failed = fprintf(stderr, "%s: %s\n", path, e.message) > 0;
        fflush(stdout);
        free(path);
    }
    return failed;
}
