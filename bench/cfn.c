/* bench_cfn FILE[:SECONDS[:PUBLISHED]] .. [--seconds S] [--units N] [--threads N] [--seed N] [--ablation]
 *           [--scaling]
 *
 * One row a problem: seconds allowed, cost, certified bound, gap, cost over the published one, seconds to
 * within 1 % and 0.1 % of the final cost, processor seconds, peak memory of the process so far. --ablation
 * repeats each with one technique off at a time, and with the contest winner's method (ucr) when toulbar2 is
 * installed; --scaling with one thread too. --units measures work instead of time, for loaded machines. */
#include "bench/usage.h"
#include "cfn/solve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { IMPROVEMENTS = 4096 };

struct run {
    double start;
    int count;
    struct {
        double seconds;
        int64_t cost;
    } at[IMPROVEMENTS];
};

static double seconds_of(clockid_t clock)
{
    struct timespec when;
    clock_gettime(clock, &when);
    return (double)when.tv_sec + (double)when.tv_nsec * 1e-9;
}

static double since_start(void *user)
{
    return seconds_of(CLOCK_MONOTONIC) - ((const struct run *)user)->start;
}

static void progress(void *user, int64_t cost, int64_t bound)
{
    struct run *run = user;
    (void)bound;
    if (run->count == IMPROVEMENTS)
        return;
    run->at[run->count].seconds = since_start(run);
    run->at[run->count++].cost = cost;
}

static double time_to(const struct run *run, double cost)
{
    for (int i = 0; i < run->count; i++)
        if ((double)run->at[i].cost <= cost)
            return run->at[i].seconds;
    return -1;
}

static int measure(const char *path, const char *label, double published, struct cfn_budget budget)
{
    struct run run = {.start = seconds_of(CLOCK_MONOTONIC)};
    double processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    struct cfn_problem problem = {0};
    struct cfn_answer answer = {0};
    struct error e;
    struct rusage usage;
    char cost[48], bound[48];
    budget.clock = since_start;
    budget.progress = progress;
    budget.user = &run;
    if (cfn_problem_open(path, &problem, &e) != ERROR_OK ||
        cfn_solve(&problem, &budget, &answer, &e) != ERROR_OK) {
        fprintf(stderr, "%s: %s\n", path, e.message);
        cfn_problem_release(&problem);
        return 1;
    }
    double final = (double)answer.verdict.cost, size = final > 0 ? final : 1;
    double gap = answer.has_bound ? 100 * (final - (double)answer.bound) / size : 100;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-14.14s %-12s %7.1f %20s %20s %9.4f ",
           problem.name[0] ? problem.name + (strlen(problem.name) > 14 ? strlen(problem.name) - 14 : 0)
                           : path,
           label, budget.seconds, answer.values ? cfn_format_wide(answer.verdict.cost, cost) : "infeasible",
           answer.has_bound ? cfn_format_wide(answer.bound, bound) : "-", gap);
    if (published > 0)
        printf("%9.5f ", final / published);
    else
        printf("%9s ", "-");
    printf("%7.2f %7.2f %7.1f %7ld\n", time_to(&run, final * 1.01), time_to(&run, final * 1.001),
           seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor, usage.ru_maxrss / 1024);
    fflush(stdout);
    cfn_answer_release(&answer);
    cfn_problem_release(&problem);
    return 0;
}

static int measure_all(char *argument, struct cfn_budget budget, int ablation, int scaling)
{
    static const struct {
        const char *name;
        unsigned without;
    } parts[] = {{"- dual", CFN_WITHOUT_DUAL},           {"- lns", CFN_WITHOUT_LNS},
                 {"- crossover", CFN_WITHOUT_CROSSOVER}, {"- reduction", CFN_WITHOUT_REDUCTION},
                 {"- branch", CFN_WITHOUT_BRANCH},       {"- prove", CFN_WITHOUT_PROVE},
                 {"- dives", CFN_WITHOUT_DIVES},         {"- going on", CFN_WITHOUT_GOING_ON},
                 {"- implied", CFN_WITHOUT_IMPLIED},     {"- fixing", CFN_WITHOUT_FIXING},
                 {"- wide", CFN_WITHOUT_WIDE},           {"- clusters", CFN_WITHOUT_CLUSTERS},
                 {"- clearing", CFN_WITHOUT_CLEARING},   {"- conflicts", CFN_WITHOUT_CONFLICTS},
                 {"- likely", CFN_WITHOUT_LIKELY}};
    double published = 0;
    char *colon = strchr(argument, ':');
    if (colon) {
        *colon = 0;
        budget.seconds = atof(colon + 1);
        char *second = strchr(colon + 1, ':');
        published = second ? atof(second + 1) : 0;
    }
    int failed = measure(argument, "all", published, budget);
    for (size_t k = 0; ablation && k < sizeof parts / sizeof *parts; k++) {
        struct cfn_budget less = budget;
        less.without = parts[k].without;
        failed |= measure(argument, parts[k].name, published, less);
    }
    if (ablation) {
        struct cfn_budget other = budget;
        other.method = CFN_METHOD_UCR;
        failed |= measure(argument, "ucr", published, other);
    }
    if (scaling) {
        budget.threads = 1;
        failed |= measure(argument, "1 thread", published, budget);
    }
    return failed;
}

static const char help[] = "usage: bench_cfn FILE[:SECONDS[:PUBLISHED]] .. [--seconds S] [--units N] "
                           "[--threads 1|2] [--seed N] [--ablation]\n"
                           "                 [--scaling]\n"
                           "\n"
                           "The solver of cost-function networks, one row a problem: seconds allowed, cost, "
                           "certified bound, gap, cost over the\n"
                           "published one, seconds to within 1 % and 0.1 % of the final cost, processor "
                           "seconds, peak memory of the process so far.\n"
                           "\n"
                           "  --seconds S    time of each problem without one of its own; default 10\n"
                           "  --units N      work instead of time, for loaded machines\n"
                           "  --ablation     each again with one technique off at a time, and by the contest "
                           "winner's method (needs toulbar2)\n"
                           "  --scaling      each again with one thread\n"
                           "\n"
                           "examples:\n"
                           "  build/release/bin/bench_cfn_generate --nodes 5000 > chain.json\n"
                           "  build/release/bin/bench_cfn chain.json:5 --seed 1\n";

int main(int argc, char **argv)
{
    struct cfn_budget budget = {.seconds = 10, .threads = 2, .seed = 1};
    int ablation = 0, scaling = 0, failed = 0, files = 0;
    usage_help(argc, argv, help);
    for (int i = 1; i < argc; i++) {
        double x = i + 1 < argc ? atof(argv[i + 1]) : 0;
        if (strcmp(argv[i], "--ablation") == 0)
            ablation = 1;
        else if (strcmp(argv[i], "--scaling") == 0)
            scaling = 1;
        else if (strcmp(argv[i], "--seconds") == 0 && x > 0)
            budget.seconds = x, argv[i++] = NULL;
        else if (strcmp(argv[i], "--units") == 0 && x > 0)
            budget.units = (uint64_t)x, budget.seconds = 0, argv[i++] = NULL;
        else if (strcmp(argv[i], "--threads") == 0 && (x == 1 || x == 2))
            budget.threads = (int)x, argv[i++] = NULL;
        else if (strcmp(argv[i], "--seed") == 0 && x >= 0)
            budget.seed = (uint64_t)x, argv[i++] = NULL;
        else if (argv[i][0] != '-') {
            files++;
            continue;
        } else
            usage_refuse(argv[i], "no such option, or not with this value");
        argv[i] = NULL;
    }
    if (!files)
        usage_refuse("bench_cfn", "needs a file");
    printf("%-14s %-12s %7s %20s %20s %9s %9s %7s %7s %7s %7s\n", "problem", "techniques", "limit s", "cost",
           "bound", "gap %", "published", "to 1%", "to .1%", "cpu s", "MiB");
    for (int i = 1; i < argc; i++)
        if (argv[i])
            failed |= measure_all(argv[i], budget, ablation, scaling);
    return failed;
}
