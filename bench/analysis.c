/* Analysis and apply: time by layers (must be near linear) on generated transformers of 2 to 96 layers,
 * and on modules given as arguments (tests/models/t2b.mlir.gz ..).
 *
 *   bench_analysis [MODULE...] */
#include "analysis/plan.h"
#include "base/file.h"
#include "bench/usage.h"
#include "ir/prepare.h"
#include "ir/read.h"
#include "tests/support/layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now_s(void)
{
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    return (double)when.tv_sec + (double)when.tv_nsec * 1e-9;
}

/* nanoseconds of a plan_apply of the group with most names, and of a copy */
static void time_apply(const struct nda *n, double *apply_ns, double *copy_ns, uint32_t *changed)
{
    struct mesh mesh;
    struct plan_context *context;
    struct plan plan;
    struct plan_decision decision = {0};
    struct error e;
    int rounds = 500;
    if (mesh_parse("data=4,model=2", &mesh, &e) != ERROR_OK ||
        plan_context_create(n, &mesh, NULL, 0, &context, &e) != ERROR_OK)
        exit(1);
    for (uint32_t group = 0; group < n->group_count; group++)
        if (n->groups[group].touches_argument &&
            n->groups[group].factor_count > n->groups[decision.group].factor_count)
            decision.group = group;
    plan_init(&plan, n, &mesh);
    *apply_ns = *copy_ns = 1e18;
    for (int i = 0; i < rounds; i++) { /* the best of many: other programs run too */
        double start = now_s(), middle, end;
        plan_copy(&plan, plan_context_start(context));
        middle = now_s();
        *changed = plan_apply(context, &plan, decision);
        end = now_s();
        *copy_ns = (middle - start) * 1e9 < *copy_ns ? (middle - start) * 1e9 : *copy_ns;
        *apply_ns = (end - middle) * 1e9 < *apply_ns ? (end - middle) * 1e9 : *apply_ns;
    }
    plan_release(&plan);
    plan_context_destroy(context);
}

static int measure(const char *label, const char *text, size_t size)
{
    struct ir_program read = {0}, program = {0};
    struct nda *n = NULL;
    struct error e = {0};
    double t0 = now_s(), t1, t2, t3, apply_ns, copy_ns;
    uint32_t changed = 0;
    enum error_code code = ir_read(text, size, NULL, &read, &e);
    t1 = now_s();
    if (code == ERROR_OK)
        code = ir_prepare(&read, &program, &e);
    t2 = now_s();
    t3 = 1e18;
    for (int i = 0; i < 5 && code == ERROR_OK; i++) {
        double start = now_s();
        nda_destroy(n);
        code = nda_create(&program, NULL, &n, &e);
        t3 = now_s() - start < t3 ? now_s() - start : t3;
    }
    if (code != ERROR_OK) {
        fprintf(stderr, "%s:%d:%d: %s\n", label, e.line, e.column, e.message);
        return 1;
    }
    time_apply(n, &apply_ns, &copy_ns, &changed);
    printf("%-28s%9u%9u%10u%6u%8u%8u%10.1f%10.1f%10.1f%10.3f%10.1f%8u%9.1f\n", label, nda_operation_count(n),
           n->factor_count, n->conflict_count, n->set_count, n->class_count, n->group_count, (t1 - t0) * 1e3,
           (t2 - t1) * 1e3, t3 * 1e3, t3 * 1e6 / nda_operation_count(n), apply_ns / 1e3, changed,
           copy_ns / 1e3);
    nda_destroy(n);
    ir_program_release(&program);
    ir_program_release(&read);
    return 0;
}

static const char help[] =
    "usage: bench_analysis [MODULE ..]\n"
    "\n"
    "Time of reading, preparing, analysing (ms, and us an op, which must stay flat as modules grow) and of "
    "applying one\n"
    "decision, on generated transformers of 2 to 96 layers, or on the modules given.\n"
    "\n"
    "examples:\n"
    "  build/release/bin/bench_analysis\n"
    "  build/release/bin/bench_analysis tests/models/t2b.mlir.gz tests/models/t7b.mlir.gz\n";

int main(int argc, char **argv)
{
    static const int layers[] = {2, 4, 8, 18, 28, 48, 96};
    struct text other_text = {0};
    struct rusage usage;
    int status = 0;
    usage_help(argc, argv, help);
    for (int i = 1; i < argc; i++)
        usage_operand(argv[i]);
    printf("%-28s%9s%9s%10s%6s%8s%8s%10s%10s%10s%10s%10s%8s%9s\n", "module", "ops", "names", "conflicts",
           "sets", "classes", "groups", "read ms", "prep ms", "nda ms", "us an op", "apply us", "names",
           "copy us");
    for (size_t i = 0; argc == 1 && i < sizeof layers / sizeof *layers; i++) {
        char label[40];
        snprintf(label, sizeof label, "generated, %d layers", layers[i]);
        layers_generate(&other_text, layers[i]);
        status |= measure(label, other_text.at, other_text.size);
    }
    for (int i = 1; i < argc; i++) {
        struct error e;
        size_t size;
        char *text;
        const char *slash = strrchr(argv[i], '/');
        if (file_read(argv[i], (size_t)512 << 20, &text, &size, &e) != ERROR_OK) {
            fprintf(stderr, "%s\n", e.message);
            return 1;
        }
        status |= measure(slash ? slash + 1 : argv[i], text, size);
        free(text);
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("peak memory of this process %ld MB\n", usage.ru_maxrss / 1024);
    text_release(&other_text);
    return status;
}
