/* bench_network [--models FOLDER] [--passes N] [--quick] [--search] [FILE[:MESH[:DEVICE]] ..]
 *
 * Every module as a cost-function network: its size, seconds to build it and to solve, the price of the
 * solver's plan by the walk over the best expert's and over the search's (with --search), and the
 * certified bound under all plans over the best known price. */
#include "mcts/search.h"
#include "plan_cfn/plan_cfn.h"
#include "tests/support/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const defaults[] = {
    "t2b.mlir.gz:data=8,model=8",         "t2b_flat.mlir.gz:data=8,model=8",  "t7b.mlir.gz:data=4,model=4",
    "gpt.mlir.gz:data=8,model=8",         "gpt_torch.mlir.gz:data=4,model=4", "gns.mlir.gz:data=4,model=4",
    "unet.mlir.gz:data=4,model=4",        "itx.mlir.gz:data=4,model=4",       "mlp.mlir:data=4,model=2",
    "paper_attention.mlir:data=4,model=2"};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(enum error_code code, const struct error *e)
{
    if (code == ERROR_OK)
        return;
    fprintf(stderr, "bench_network: %s: %s (line %d)\n", error_code_text(code), e->message, e->line);
    exit(1);
}

static void subject_open(struct subject *s, const char *path, const char *mesh, const char *device)
{
    struct error e;
    must(subject_file(s, path, &e), &e);
    must(subject_mesh(s, mesh, &e), &e);
    must(subject_device(s, device, 0, &e), &e);
}

/* the cost of the search's best plan with its default budget, or of the best expert's */
static struct search_plan search_best(const struct subject *s, bool search)
{
    struct search *h;
    struct error e;
    struct search_state *state = mem_alloc(sizeof *state);
    struct search_options options = {.seed = 1, .method = search ? SEARCH_MCTS : SEARCH_BASELINES};
    must(search_create(s->evaluator, &options, &h, &e), &e);
    must(search_run(h, 2, 0, NULL, NULL, state, NULL, &e), &e);
    struct search_plan best = state->best;
    search_destroy(h);
    free(state);
    return best;
}

static double ratio(int64_t a, int64_t b)
{
    return (double)a / (double)b;
}

static void measure(const char *name, const struct subject *s, uint64_t passes, bool quick, bool search)
{
    struct error e;
    struct plan_cfn *n;
    struct plan_cfn_answer a;
    double start = now_s();
    must(plan_cfn_create(s->evaluator, PLAN_CFN_SHARED, &n, &e), &e);
    double built = now_s() - start;
    const struct cfn_problem *p = plan_cfn_problem(n);
    printf("%-20s %7u %7u %6u %9llu %7.2f ", name, p->node_count, p->edge_count, p->matrix_count,
           (unsigned long long)p->entry_count, built);
    fflush(stdout);
    plan_cfn_destroy(n);
    start = now_s();
    struct plan_cfn_budget budget = {.passes = passes, .seed = 1, .threads = 2, .quick = quick};
    must(plan_cfn_solve(s->evaluator, &budget, &a, &e), &e);
    double solved = now_s() - start;
    struct search_plan expert = search_best(s, false), found = search ? search_best(s, true) : expert;
    int64_t best =
        found.price.step_ps < a.price.step_ps || a.cost.over_steps ? found.price.step_ps : a.price.step_ps;
    printf("%7.2f %6u %10.3f %4s %8.4f ", solved, a.rounds, (double)a.price.step_ps * 1e-9,
           a.cost.over_steps ? "no" : "yes", ratio(a.price.step_ps, expert.price.step_ps));
    if (search)
        printf("%8.4f ", ratio(a.price.step_ps, found.price.step_ps));
    else
        printf("%8s ", "-");
    if (a.has_bound)
        printf("%8.4f\n", ratio(a.bound_ps, best));
    else
        printf("%8s\n", "-");
    plan_cfn_answer_release(&a);
}

int main(int argc, char **argv)
{
    const char *folder = "tests/models", *files[64];
    uint64_t passes = 0;
    bool search = false, quick = false;
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--models") == 0 && i + 1 < argc)
            folder = argv[++i];
        else if (strcmp(argv[i], "--passes") == 0 && i + 1 < argc)
            passes = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--quick") == 0)
            quick = true;
        else if (strcmp(argv[i], "--search") == 0)
            search = true;
        else if (count < 64)
            files[count++] = argv[i];
    }
    if (!count)
        for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
            files[count++] = defaults[i];
    printf("module                 nodes   edges matric.   entries build s solve s rounds    step ms fits  "
           "/expert  /search "
           "bound/best\n");
    for (size_t i = 0; i < count; i++) {
        char name[256], path[1024];
        snprintf(name, sizeof name, "%s", files[i]);
        char *mesh = strchr(name, ':'), *device = mesh ? strchr(mesh + 1, ':') : NULL;
        if (mesh)
            *mesh++ = 0;
        if (device)
            *device++ = 0;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        struct subject s;
        subject_open(&s, path, mesh ? mesh : "data=4,model=2", device ? device : "a100-40");
        measure(name, &s, passes, quick, search);
        subject_close(&s);
    }
    return 0;
}
