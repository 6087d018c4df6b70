/* toast evaluate: what a solution of a contest problem (cost-function network) costs and uses, by the referee
 * (cfn/evaluate.h), in exact arithmetic. */
#include "base/file.h"
#include "cfn/evaluate.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: toast evaluate PROBLEM --solution FILE\n\n"
    "Prints what a solution of a contest problem (JSON, gzip too) costs and uses, in exact arithmetic. The "
    "solution is\n"
    "the last line of FILE that begins with '[': one value index per node. Exit status 3 when it is not "
    "feasible.\n\n"
    "  --solution FILE       the solution; - is standard input\n\n"
    "examples:\n"
    "  toast evaluate example.json --solution answer.txt\n"
    "  toast solve big.json.gz --seconds 60 | toast evaluate big.json.gz --solution -\n";

static void print_verdict(const struct cfn_problem *problem, const struct cfn_verdict *verdict)
{
    char a[48], b[48];
    printf("cost %s\npeak usage %s at time %lld\n", cfn_format_wide(verdict->cost, a),
           cfn_format_wide(verdict->peak, b), (long long)verdict->peak_time);
    if (problem->has_limit)
        printf("limit %lld\n", (long long)problem->limit);
    if (verdict->feasible)
        printf("feasible\n");
    else
        printf("not feasible: usage %s at time %lld, the first above the limit\n",
               cfn_format_wide(verdict->violated_usage, a), (long long)verdict->violated_time);
}

int cmd_evaluate(int argc, char **argv)
{
    const char *path = NULL, *solution = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        } else if (strcmp(argv[i], "--solution") == 0) {
            if (++i == argc)
                return cli_usage("evaluate", "--solution needs a file");
            solution = argv[i];
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return cli_usage("evaluate", "there is no option %s", argv[i]);
        } else if (path) {
            return cli_usage("evaluate", "one problem at a time");
        } else {
            path = argv[i];
        }
    }
    if (!path || !solution)
        return cli_usage("evaluate", "a problem and --solution are needed");
    struct cfn_problem problem = {0};
    struct cfn_verdict verdict = {0};
    struct error e = {.code = ERROR_OK};
    char *text = NULL;
    int32_t *values = NULL;
    size_t size = 0;
    const char *blame = path;
    enum error_code code = cfn_problem_open(path, &problem, &e);
    if (code == ERROR_OK) {
        blame = solution;
        code = file_read(solution, (size_t)1 << 30, &text, &size, &e);
    }
    if (code == ERROR_OK)
        code = cfn_solution_read(&problem, text, size, &values, &e);
    if (code == ERROR_OK)
        code = cfn_evaluate(&problem, values, &verdict, &e);
    if (code == ERROR_OK)
        print_verdict(&problem, &verdict);
    int status = code != ERROR_OK ? cli_fail("evaluate", blame, &e) : verdict.feasible ? 0 : 3;
    free(values);
    free(text);
    cfn_problem_release(&problem);
    return status;
}
