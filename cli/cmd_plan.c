/* toast plan: a whole job (planner/job.h) in this process. Progress on stderr, the report on stdout,
 * files in -o DIR. The files equal those of the service for the same request, but timing.json, which only
 * this command writes. */
#include "api/artifacts.h"
#include "api/flags.h"
#include "base/file.h"
#include "cli/output.h"
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct plan_command {
    struct api_flags flags;
    const char *module, *directory;
    char *request_text;
    long threads;
    bool json, quiet;
    double start, read_s, analyse_s, search_s, finish_s;
};

static int help(void)
{
    struct text t = {0};
    text_add(
        &t,
        "usage: toast plan MODULE --mesh AXES --device NAME [options] [-o DIR]\n\n"
        "Plans a StableHLO module (text or gzip; - reads standard input) and writes plan.json, report.json,\n"
        "report.html, report.txt, timing.json, annotated.mlir, manual.mlir, local.mlir into DIR (default: "
        "toast-plan).\n\n");
    api_flags_help(&t);
    text_add(&t,
             "  --request          FILE   a job request (JSON, as posted to the service); flags override it\n"
             "  --threads          N      threads of the search; default: one a core\n"
             "  --json                    print report.json instead of the summary\n"
             "  --quiet                   no progress\n"
             "  -o                 DIR    where the files go\n\n"
             "examples:\n"
             "  toast plan model.mlir --mesh data=4,model=2 --device a100-40 -o plan/\n"
             "  toast plan t7b.mlir.gz --mesh data=4,model=4 --device a100-40 --pin '*/wq=-,model,-'\n"
             "  toast plan small.mlir --mesh data=8 --device h100 --proof --outputs plan,report\n\n"
             "exit status: 0 done and fits, 1 internal error, 2 usage, 3 nothing fits, 4 cut by time, 6 "
             "module refused\n");
    fputs(t.at, stdout);
    text_release(&t);
    return 0;
}

/* 0 when it is none */
static long whole_number(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    return *end ? 0 : n;
}

/* -1: go on; else the exit status */
static int take_options(struct plan_command *p, int argc, char **argv)
{
    struct error e;
    for (int i = 1; i < argc; i++) {
        int taken = api_flags_take(&p->flags, argc, argv, &i, &e);
        if (taken < 0)
            return cli_usage("plan", "%s", e.message);
        if (taken > 0)
            continue;
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return help();
        if (strcmp(argv[i], "--json") == 0)
            p->json = true;
        else if (strcmp(argv[i], "--quiet") == 0)
            p->quiet = true;
        else if (strcmp(argv[i], "-o") == 0 && more)
            p->directory = argv[++i];
        else if (strcmp(argv[i], "--threads") == 0 && more)
            p->threads = whole_number(argv[++i]);
        else if (strcmp(argv[i], "--request") == 0 && more) {
            free(p->request_text);
            if (file_read(argv[++i], API_MAX_JSON_BYTES, &p->request_text, &p->flags.request_size, &e) !=
                ERROR_OK)
                return cli_fail("plan", NULL, &e);
            p->flags.request = p->request_text;
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return cli_usage("plan", "unknown option or missing value: '%s'", argv[i]);
        } else if (p->module) {
            return cli_usage("plan", "one module at a time; '%s' is a second one", argv[i]);
        } else {
            p->module = argv[i];
        }
    }
    if (!p->module)
        return cli_usage("plan", "a module is needed");
    if (p->threads < 1 || p->threads > 1024)
        return cli_usage("plan", "--threads needs 1 to 1024");
    return -1;
}

static void show_progress(const struct search_state *s, void *user)
{
    const struct plan_command *p = user;
    if (p->quiet)
        return;
    char step[32], peak[32];
    report_time(s->best.price.step_ps, step);
    report_bytes(s->best.price.peak_bytes, peak);
    fprintf(stderr, "%6.1f s  %s %u: %llu rollouts, best %s, %s (%s)\n", cli_seconds() - p->start,
            s->phase == SEARCH_EPOCHS ? "epoch" : "polish", s->epoch, (unsigned long long)s->rollouts, step,
            peak, s->best.found_by);
}

static enum error_code write_files(const struct plan_command *p, const struct api_artifacts *a,
                                   struct error *e)
{
    enum error_code code = file_make_directory(p->directory, e);
    for (uint32_t i = 0; code == ERROR_OK && i < a->count; i++) {
        char *path = mem_printf("%s/%s", p->directory, a->at[i].name);
        code = file_write(path, a->at[i].bytes, a->at[i].size, e);
        free(path);
    }
    if (code != ERROR_OK)
        return code;
    char *timing =
        mem_printf("{\"read_s\": %.3f, \"analyse_s\": %.3f, \"search_s\": %.3f, \"finish_s\": %.3f, "
                   "\"total_s\": %.3f, \"threads\": %ld}\n",
                   p->read_s, p->analyse_s, p->search_s, p->finish_s, cli_seconds() - p->start, p->threads);
    char *path = mem_printf("%s/timing.json", p->directory);
    code = file_write(path, timing, strlen(timing), e);
    free(path);
    free(timing);
    return code;
}

static void print_result(const struct plan_command *p, const struct api_artifacts *a)
{
    const char *wanted = p->json ? "report.json" : "report.txt";
    bool found = false;
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(a->at[i].name, wanted) == 0) {
            fwrite(a->at[i].bytes, 1, a->at[i].size, stdout);
            found = true;
        }
    if (p->json && !found)
        fprintf(stderr, "toast plan: %s is not printed: 'report' is not among the outputs\n", wanted);
    if (!p->json)
        printf("\nfiles in %s:", p->directory);
    for (uint32_t i = 0; !p->json && i < a->count; i++)
        printf(" %s", a->at[i].name);
    printf(p->json ? "" : " timing.json\n");
}

static enum error_code solve_network(const struct plan_command *p, const struct search_state *state,
                                     struct planner_job *job, struct error *e)
{
    struct search_blob answer = {0};
    if (!p->quiet)
        fprintf(stderr, "%6.1f s  cost-function network\n", cli_seconds() - p->start);
    enum error_code code = planner_job_network(job, state, p->threads > 1 ? 2 : 1, NULL, NULL, &answer, e);
    if (code == ERROR_OK)
        code = planner_job_take_network(job, answer.bytes, answer.size, e);
    free(answer.bytes);
    return code;
}

static enum error_code finish(const struct api_request *r, const struct planner_job *job,
                              const struct search_state *state, bool reproducible, struct api_artifacts *out,
                              int *status, struct error *e)
{
    struct planner_outcome outcome;
    enum error_code code = planner_job_finish(job, state, reproducible, &outcome, e);
    if (code != ERROR_OK)
        return code;
    api_artifacts_create(r, &outcome, out);
    bool failed = outcome.proved && outcome.proof.status == VERIFY_PROOF_FAILED;
    *status = !outcome.fits ? 3 : failed ? 1 : reproducible ? 0 : 4;
    planner_outcome_release(&outcome);
    return ERROR_OK;
}

static enum error_code run_job(struct plan_command *p, const struct api_request *r,
                               const struct ir_program *image, int *status, struct error *e)
{
    struct planner_job *job = NULL;
    struct search_state state;
    struct api_artifacts artifacts = {0};
    bool reproducible = true;
    double t = cli_seconds();
    enum error_code code = planner_job_create(&r->planning, image, &job, e);
    if (code != ERROR_OK)
        return code;
    p->analyse_s = cli_seconds() - t;
    t = cli_seconds();
    /* counts from the start, as a job's does */
    double left = r->deadline_s > 0 ? fmax(r->deadline_s - (t - p->start), 0.001) : 0;
    bool deadline = left > 0 && (r->seconds <= 0 || left < r->seconds);
    code = search_run(planner_job_search(job), (uint32_t)p->threads, deadline ? left : r->seconds,
                      show_progress, p, &state, &reproducible, e);
    p->search_s = cli_seconds() - t;
    t = cli_seconds();
    if (code == ERROR_OK && deadline && !reproducible && r->deadline_fail)
        code = error_set(e, ERROR_DEADLINE,
                         "the deadline of %g s passed during the search, and on_deadline is fail",
                         r->deadline_s);
    if (code == ERROR_OK && planner_job_wants_network(job, reproducible))
        code = solve_network(p, &state, job, e);
    if (code == ERROR_OK)
        code = finish(r, job, &state, reproducible, &artifacts, status, e);
    p->finish_s = cli_seconds() - t;
    if (code == ERROR_OK)
        code = write_files(p, &artifacts, e);
    if (code == ERROR_OK) {
        print_result(p, &artifacts);
    }
    api_artifacts_release(&artifacts);
    planner_job_destroy(job);
    return code;
}

int cmd_plan(int argc, char **argv)
{
    struct plan_command p = {
        .directory = "toast-plan", .threads = sysconf(_SC_NPROCESSORS_ONLN), .start = cli_seconds()};
    struct error e = {0};
    struct api_request *request = NULL;
    struct ir_program image = {0};
    char *json = NULL;
    int status = take_options(&p, argc, argv);
    if (status >= 0)
        goto out;
    enum error_code code = api_flags_request(&p.flags, &json, &e);
    if (code == ERROR_OK)
        code = api_request_parse(json, strlen(json), NULL, true, &request, &e);
    if (code == ERROR_OK)
        code = cli_read_module(p.module, &image, &e);
    p.read_s = cli_seconds() - p.start;
    if (code == ERROR_OK)
        code = run_job(&p, request, &image, &status, &e);
    if (code != ERROR_OK)
        status = cli_fail("plan", p.module, &e);
out:
    ir_program_release(&image);
    api_request_destroy(request);
    free(json);
    free(p.request_text);
    return status;
}
