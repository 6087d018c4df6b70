/* toast solve: solves a cost-function network (contest JSON) with cfn/, and prints the best solution, its
 * cost and a certified bound. */
#include "base/memory.h"
#include "cfn/solve.h"
#include "cli/output.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: toast solve PROBLEM [--seconds S] [--units N] [--seed N] [--threads N] [--trace FILE]\n"
    "                           [--method search|ucr]\n\n"
    "Solves a contest problem (JSON, gzip too): one value per node, least total cost, summed usage within "
    "the limit at\n"
    "every time. Prints cost, lower bound and gap, and the answer as the last line. Ctrl-C ends early with "
    "the best so\n"
    "far. Exit status 3 when no assignment keeps the limit.\n\n"
    "  --seconds S           ends after S seconds from the start of the program, reading included (60)\n"
    "  --units N             ends after N units of work (about a millisecond each); the same seed and units "
    "give the\n"
    "                        same answer with 1 or 2 threads, unless --seconds cuts it\n"
    "  --seed N              of all random choices (1)\n"
    "  --threads N           1 or 2 (2); always two logical workers\n"
    "  --trace FILE          every improvement as CSV: seconds, cost, bound\n"
    "  --method NAME         search (the default), or ucr: the contest winner's usage-constrained "
    "relaxation, "
    "which needs\n"
    "                        Debian's package toulbar2, counts 250 units an iteration and gives no bound\n"
    "  --without PARTS       for measurements: of dual, lns, crossover, reduction, branch, prove; "
    "comma-separated\n\n"
    "examples:\n"
    "  toast solve problem.json.gz --seconds 60\n"
    "  toast solve problem.json --units 20000 --seed 7 --threads 1 > answer.txt\n";

struct run {
    double start;
    FILE *trace;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static bool cancelled(void *user)
{
    (void)user;
    return interrupted;
}

static double since_start(void *user)
{
    return clock_seconds() - ((const struct run *)user)->start;
}

static double gap_percent(double cost, double bound)
{
    return cost != 0 ? 100 * (cost - bound) / fabs(cost) : cost == bound ? 0 : 100;
}

static void progress(void *user, int64_t cost, int64_t bound)
{
    struct run *run = user;
    double seconds = since_start(user);
    if (bound == INT64_MIN)
        fprintf(stderr, "%8.2f s  best %lld\n", seconds, (long long)cost);
    else
        fprintf(stderr, "%8.2f s  best %lld  bound %lld  gap %.4f %%\n", seconds, (long long)cost,
                (long long)bound, gap_percent((double)cost, (double)bound));
    if (run->trace && bound == INT64_MIN)
        fprintf(run->trace, "%.3f,%lld,\n", seconds, (long long)cost);
    else if (run->trace)
        fprintf(run->trace, "%.3f,%lld,%lld\n", seconds, (long long)cost, (long long)bound);
}

static void print_answer(const struct cfn_problem *problem, const struct cfn_answer *answer)
{
    char cost[48], bound[48], used[48];
    if (answer->status == CFN_STATUS_INFEASIBLE) {
        printf("status infeasible: at time %lld usage is at least %s (exact), the limit %lld\n",
               (long long)answer->verdict.violated_time,
               cfn_format_wide(answer->verdict.violated_usage, used), (long long)problem->limit);
        return;
    }
    printf("status %s\ncost %s\n", answer->status == CFN_STATUS_OPTIMAL ? "optimal" : "feasible",
           cfn_format_wide(answer->verdict.cost, cost));
    if (answer->has_bound)
        printf("bound %s\ngap %.6f %%\n", cfn_format_wide(answer->bound, bound),
               answer->status == CFN_STATUS_OPTIMAL
                   ? 0
                   : gap_percent((double)answer->verdict.cost, (double)answer->bound));
    printf("peak usage %s at time %lld\n", cfn_format_wide(answer->verdict.peak, used),
           (long long)answer->verdict.peak_time);
    printf("reproducible: %s (%llu units)\n", answer->reproducible ? "true" : "false",
           (unsigned long long)answer->units);
    putchar('[');
    for (uint32_t i = 0; i < problem->node_count; i++)
        printf(i ? ", %d" : "%d", answer->values[i]);
    printf("]\n");
}

static bool parse_number(const char *text, double most, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return *text && !*end && *out >= 0 && *out <= most;
}

static bool parse_without(const char *text, unsigned *out)
{
    static const char *const names[] = {"dual", "lns", "crossover", "reduction", "branch", "prove"};
    while (*text) {
        size_t size = strcspn(text, ","), k = 0;
        while (k < 6 && !(strlen(names[k]) == size && memcmp(names[k], text, size) == 0))
            k++;
        if (k == 6)
            return false;
        *out |= 1u << k;
        text += size + (text[size] == ',');
    }
    return true;
}

struct options {
    const char *path, *trace;
    struct cfn_budget budget;
};

/* 0, or the exit status + 1 when there is nothing left to do */
static int parse(int argc, char **argv, struct options *options)
{
    bool seconds_given = false;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        double number = 0;
        if (strcmp(name, "--help") == 0) {
            fputs(usage, stdout);
            return 1;
        }
        if (name[0] != '-' || !name[1]) {
            if (options->path)
                return 1 + cli_usage("solve", "one problem at a time");
            options->path = name;
            continue;
        }
        if (++i == argc)
            return 1 + cli_usage("solve", "%s needs a value", name);
        if (strcmp(name, "--trace") == 0) {
            options->trace = argv[i];
        } else if (strcmp(name, "--without") == 0) {
            if (!parse_without(argv[i], &options->budget.without))
                return 1 +
                       cli_usage("solve", "--without takes dual, lns, crossover, reduction, branch, prove");
        } else if (strcmp(name, "--seconds") == 0) {
            if (!parse_number(argv[i], 1e6, &options->budget.seconds))
                return 1 + cli_usage("solve", "--seconds takes a number up to 1e6");
            seconds_given = true;
        } else if (strcmp(name, "--units") == 0 || strcmp(name, "--seed") == 0) {
            if (!parse_number(argv[i], 1e12, &number) || number != floor(number))
                return 1 + cli_usage("solve", "%s takes a whole number up to 1e12", name);
            *(strcmp(name, "--seed") == 0 ? &options->budget.seed : &options->budget.units) =
                (uint64_t)number;
        } else if (strcmp(name, "--method") == 0) {
            if (strcmp(argv[i], "search") && strcmp(argv[i], "ucr"))
                return 1 + cli_usage("solve", "--method takes search or ucr");
            options->budget.method = argv[i][0] == 'u' ? CFN_METHOD_UCR : CFN_METHOD_SEARCH;
        } else if (strcmp(name, "--threads") == 0) {
            if (!parse_number(argv[i], 2, &number) || (number != 1 && number != 2))
                return 1 + cli_usage("solve", "--threads takes 1 or 2");
            options->budget.threads = (int)number;
        } else {
            return 1 + cli_usage("solve", "there is no option %s", name);
        }
    }
    if (!options->path)
        return 1 + cli_usage("solve", "which problem?");
    if (!seconds_given && !options->budget.units)
        options->budget.seconds = 60;
    return 0;
}

int cmd_solve(int argc, char **argv)
{
    struct run run = {.start = clock_seconds()};
    struct options options = {.budget = {.threads = 2,
                                         .seed = 1,
                                         .clock = since_start,
                                         .cancelled = cancelled,
                                         .progress = progress,
                                         .user = &run}};
    int status = parse(argc, argv, &options);
    if (status)
        return status - 1;
    struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    struct cfn_problem problem = {0};
    struct cfn_answer answer = {0};
    struct error e = {.code = ERROR_OK};
    enum error_code code = cfn_problem_open(options.path, &problem, &e);
    if (code == ERROR_OK && options.trace && !(run.trace = fopen(options.trace, "w")))
        code = error_set(&e, ERROR_IO, "%s: it could not be written", options.trace);
    if (run.trace)
        fprintf(run.trace, "seconds,cost,bound\n");
    if (code == ERROR_OK)
        code = cfn_solve(&problem, &options.budget, &answer, &e);
    if (code == ERROR_OK)
        print_answer(&problem, &answer);
    if (run.trace && fclose(run.trace) != 0 && code == ERROR_OK)
        code = error_set(&e, ERROR_IO, "%s: it could not be written", options.trace);
    status = code != ERROR_OK                         ? cli_fail("solve", options.path, &e)
             : answer.status == CFN_STATUS_INFEASIBLE ? 3
                                                      : 0;
    cfn_answer_release(&answer);
    cfn_problem_release(&problem);
    return status;
}
