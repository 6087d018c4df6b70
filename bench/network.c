/* bench_network [--models FOLDER] [--passes N] [--quick] [--search] [FILE[:MESH[:DEVICE]] ..]
 *
 * Every module as a cost-function network: its size, seconds to build it and to solve, the price of the
 * solver's plan by the walk over the best expert's and over the search's (with --search), and the
 * certified bound under all plans over the best known price. */
#include "bench/usage.h"
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
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    return (double)when.tv_sec + 1e-9 * (double)when.tv_nsec;
}

static void must(enum error_code code, const struct error *e)
{
    if (code == ERROR_OK)
        return;
    fprintf(stderr, "bench_network: %s: %s (line %d)\n", error_code_text(code), e->message, e->line);
    exit(1);
}

static void subject_open(struct subject *subject, const char *path, const char *mesh, const char *device)
{
    struct error e;
    must(subject_file(subject, path, &e), &e);
    must(subject_mesh(subject, mesh, &e), &e);
    must(subject_device(subject, device, 0, &e), &e);
}

/* the cost of the search's best plan with its default budget, or of the best expert's */
static struct search_plan search_best(const struct subject *subject, bool search)
{
    struct search *other_search;
    struct error e;
    struct search_state *state = mem_alloc(sizeof *state);
    struct search_options options = {.seed = 1, .method = search ? SEARCH_MCTS : SEARCH_BASELINES};
    must(search_create(subject->evaluator, &options, &other_search, &e), &e);
    must(search_run(other_search, 2, 0, NULL, NULL, state, NULL, NULL, &e), &e);
    struct search_plan best = state->best;
    search_destroy(other_search);
    free(state);
    return best;
}

static double ratio(int64_t a, int64_t b)
{
    return (double)a / (double)b;
}

static void measure(const char *name, const struct subject *subject, uint64_t passes, bool quick, bool search)
{
    struct error e;
    struct plan_cfn *n;
    struct plan_cfn_answer cfn_answer;
    double start = now_s();
    must(plan_cfn_create(subject->evaluator, PLAN_CFN_SHARED, &n, &e), &e);
    double built = now_s() - start;
    const struct cfn_problem *problem = plan_cfn_problem(n);
    printf("%-20s %7u %7u %6u %9llu %7.2f ", name, problem->node_count, problem->edge_count,
           problem->matrix_count, (unsigned long long)problem->entry_count, built);
    fflush(stdout);
    plan_cfn_destroy(n);
    start = now_s();
    struct plan_cfn_budget budget = {.passes = passes, .seed = 1, .threads = 2, .quick = quick};
    must(plan_cfn_solve(subject->evaluator, &budget, &cfn_answer, &e), &e);
    double solved = now_s() - start;
    struct search_plan expert = search_best(subject, false),
                       found = search ? search_best(subject, true) : expert;
    int64_t best = found.price.step_ps < cfn_answer.price.step_ps || cfn_answer.cost.over_steps
                       ? found.price.step_ps
                       : cfn_answer.price.step_ps;
    printf("%7.2f %6u %10.3f %4s %8.4f ", solved, cfn_answer.rounds, (double)cfn_answer.price.step_ps * 1e-9,
           cfn_answer.cost.over_steps ? "no" : "yes", ratio(cfn_answer.price.step_ps, expert.price.step_ps));
    if (search)
        printf("%8.4f ", ratio(cfn_answer.price.step_ps, found.price.step_ps));
    else
        printf("%8s ", "-");
    if (cfn_answer.has_bound)
        printf("%8.4f\n", ratio(cfn_answer.bound_ps, best));
    else
        printf("%8s\n", "-");
    plan_cfn_answer_release(&cfn_answer);
}

static const char help[] =
    "usage: bench_network [--models DIR] [--passes N] [--quick] [--search] [FILE[:MESH[:DEVICE]] ..]\n"
    "\n"
    "Every module as a cost-function network: its size, seconds to build and to solve it, the price of the "
    "solver's plan over the\n"
    "best expert's, and the certified bound of all plans over the best known price. Without FILE: ten "
    "modules of tests/models.\n"
    "\n"
    "  --models DIR   where the files are; default tests/models\n"
    "  --passes N     work of the solver; planner `auto` takes 200\n"
    "  --quick        as planner `auto` does it: the first network whole, the others by an eighth\n"
    "  --search       also against the search with its default budget\n"
    "\n"
    "example:\n"
    "  build/release/bin/bench_network --passes 200 t2b.mlir.gz:data=8,model=8 itx.mlir.gz:data=4,model=4\n";

int main(int argc, char **argv)
{
    const char *folder = "tests/models", *files[64];
    uint64_t passes = 0;
    bool search = false, quick = false;
    size_t count = 0;
    usage_help(argc, argv, help);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--models") == 0)
            folder = usage_value(argc, argv, &i);
        else if (strcmp(argv[i], "--passes") == 0)
            passes = usage_number(argc, argv, &i, 1);
        else if (strcmp(argv[i], "--quick") == 0)
            quick = true;
        else if (strcmp(argv[i], "--search") == 0)
            search = true;
        else if (count < sizeof files / sizeof *files)
            files[count++] = usage_operand(argv[i]);
        else
            usage_refuse(argv[i], "one too many");
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
        struct subject subject;
        subject_open(&subject, path, mesh ? mesh : "data=4,model=2", device ? device : "a100-40");
        measure(name, &subject, passes, quick, search);
        subject_close(&subject);
    }
    return 0;
}
