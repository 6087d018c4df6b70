/* toast plan: a whole job (planner/job.h) in this process. Progress on stderr, the report on stdout,
 * files in -o DIR. The files equal those of the service for the same request, but timing.json, which only
 * this command writes. */
#include "api/artifacts.h"
#include "api/flags.h"
#include "base/file.h"
#include "cli/output.h"
#include "report/report.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_STAGES = 16 };
struct stage { /* of a run, in the order in which they begin */
    const char *name;
    double wall_s, cpu_s; /* cpu_s: of all threads together */
};

struct plan_command {
    struct api_flags flags;
    const char *module, *directory;
    char *request_text, *profile_text;
    long threads;
    uint32_t alternatives; /* that were written */
    char confirm[600];     /* where nothing fits: the command that asks the compiler */
    bool json, quiet, verbose;
    struct stage stages[MOST_STAGES], *now; /* now: NULL, or the one that the run is in, since: */
    double now_wall_s, now_cpu_s;
    uint32_t stage_count;
    double limit_s; /* of the whole run; 0: none */
    double start, read_s, analyse_s, search_s, finish_s;
};

static int help(void)
{
    struct text text = {0};
    text_add(
        &text,
        "usage: toast plan MODULE --mesh AXES --device NAME [options] [-o DIR]\n\n"
        "Plans a StableHLO module (text or gzip; - reads standard input) and writes plan.json, report.json,\n"
        "report.html, report.txt, timing.json, annotated.mlir, manual.mlir, local.mlir into DIR (default: "
        "toast-plan).\n\n");
    api_flags_help(&text);
    text_add(
        &text,
        "  --request          FILE   a job request (JSON, as posted to the service); flags override it\n"
        "  --profile          FILE   what was measured on your devices (JSON, as posted to /v1/profiles)\n"
        "  --threads          N      threads of the search; default: one a core\n"
        "  --json                    print report.json instead of the summary\n"
        "  --quiet                   no progress\n"
        "  --verbose                 what each stage took, at the end on stderr (timing.json has it always)\n"
        "  -o                 DIR    where the files go\n\n"
        "examples:\n"
        "  toast plan model.mlir --mesh data=4,model=2 --device a100-40 -o plan/\n"
        "  toast plan t7b.mlir.gz --mesh data=4,model=4 --device a100-40 --pin '*/wq=-,model,-'\n"
        "  toast plan small.mlir --mesh data=8 --device h100 --proof --outputs plan,report\n\n"
        "exit status: 0 done and fits, 1 internal error, 2 usage, 3 nothing fits, 4 cut by time, 6 "
        "module refused\n");
    fputs(text.at, stdout);
    text_release(&text);
    return 0;
}

static double cpu_seconds(void)
{
    struct timespec when;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &when);
    return (double)when.tv_sec + 1e-9 * (double)when.tv_nsec;
}

static struct stage *find_stage(struct plan_command *command, const char *name)
{
    for (uint32_t i = 0; i < command->stage_count; i++)
        if (strcmp(command->stages[i].name, name) == 0)
            return &command->stages[i];
    struct stage *next = &command->stages[command->stage_count];
    next->name = name;
    command->stage_count += command->stage_count + 1 < MOST_STAGES; /* beyond: the last takes the place */
    return next;
}

/* the stage before ends where this one begins; NULL: none does */
static void begin_stage(const char *name, void *user)
{
    struct plan_command *command = user;
    double wall_s = clock_seconds(), cpu_s = cpu_seconds();
    if (command->now) {
        command->now->wall_s += wall_s - command->now_wall_s;
        command->now->cpu_s += cpu_s - command->now_cpu_s;
    }
    command->now = name ? find_stage(command, name) : NULL;
    malloc_trim(0); /* what one stage's threads have freed the next takes from elsewhere */
    command->now_wall_s = wall_s;
    command->now_cpu_s = cpu_s;
}

/* Of the time that was asked for, when the experts' race, the search, the network and the report have to be
 * through (docs/search.md, Time). Chosen, not tuned */
static const double experts_end = 0.25, search_end = 0.75, network_end = 0.875, report_end = 1;

static bool is_late(enum planner_share share, void *user)
{
    const struct plan_command *command = user;
    double end = share == PLANNER_SHARE_EXPERTS   ? experts_end
                 : share == PLANNER_SHARE_NETWORK ? network_end
                                                  : report_end;
    return clock_seconds() - command->start >= end * command->limit_s;
}

/* the time asked for, from the start on, as a job's deadline; the shorter of two */
static void bound(struct plan_command *command, struct api_request *request)
{
    double deadline = request->deadline_s, seconds = request->seconds;
    command->limit_s = deadline > 0 && (seconds <= 0 || deadline < seconds) ? deadline : seconds;
    if (command->limit_s <= 0)
        return;
    request->planning.late = is_late;
    request->planning.late_user = command;
}

/* 0 when it is none */
static long whole_number(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    return *end ? 0 : n;
}

/* -1: go on; else the exit status */
static int take_options(struct plan_command *command, int argc, char **argv)
{
    struct error e;
    for (int i = 1; i < argc; i++) {
        int taken = api_flags_take(&command->flags, argc, argv, &i, &e);
        if (taken < 0)
            return cli_usage("plan", "%s", e.message);
        if (taken > 0)
            continue;
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return help();
        if (strcmp(argv[i], "--json") == 0)
            command->json = true;
        else if (strcmp(argv[i], "--quiet") == 0)
            command->quiet = true;
        else if (strcmp(argv[i], "--verbose") == 0)
            command->verbose = true;
        else if (strcmp(argv[i], "-o") == 0 && more)
            command->directory = argv[++i];
        else if (strcmp(argv[i], "--threads") == 0 && more)
            command->threads = whole_number(argv[++i]);
        else if (strcmp(argv[i], "--request") == 0 && more) {
            free(command->request_text);
            if (file_read(argv[++i], API_MAX_JSON_BYTES, &command->request_text, &command->flags.request_size,
                          &e) != ERROR_OK)
                return cli_fail("plan", NULL, &e);
            command->flags.request = command->request_text;
        } else if (strcmp(argv[i], "--profile") == 0 && more) {
            free(command->profile_text);
            if (file_read(argv[++i], API_MAX_JSON_BYTES, &command->profile_text, &command->flags.profile_size,
                          &e) != ERROR_OK)
                return cli_fail("plan", NULL, &e);
            command->flags.profile = command->profile_text;
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return cli_usage("plan", "unknown option or missing value: '%s'", argv[i]);
        } else if (command->module) {
            return cli_usage("plan", "one module at a time; '%s' is a second one", argv[i]);
        } else {
            command->module = argv[i];
        }
    }
    if (!command->module)
        return cli_usage("plan", "a module is needed");
    if (command->threads < 1 || command->threads > 1024)
        return cli_usage("plan", "--threads needs 1 to 1024");
    return -1;
}

static void show_progress(const struct search_state *state, void *user)
{
    const struct plan_command *command = user;
    if (command->quiet)
        return;
    char step[32], peak[32];
    report_time(state->best.price.step_ps, step);
    report_bytes(state->best.price.peak_bytes, peak);
    fprintf(stderr, "%6.1f s  %s %u: %llu rollouts, best %s, %s (%s)\n", clock_seconds() - command->start,
            state->phase == SEARCH_EPOCHS ? "epoch" : "polish", state->epoch,
            (unsigned long long)state->rollouts, step, peak, state->best.found_by);
}

/* alternatives/2/plan.json: its folders are made */
static enum error_code write_artifact(const char *directory, const struct api_artifact *artifact,
                                      struct error *e)
{
    char *path = mem_printf("%s/%s", directory, artifact->name);
    enum error_code code = ERROR_OK;
    for (char *slash = path + strlen(directory) + 1; code == ERROR_OK && (slash = strchr(slash, '/'));) {
        *slash = 0;
        code = file_make_directory(path, e);
        *slash++ = '/';
    }
    if (code == ERROR_OK)
        code = file_write(path, artifact->bytes, artifact->size, e);
    free(path);
    return code;
}

/* Before the search: an hour of it would be lost to a folder in which nothing can be written. */
static enum error_code open_folder(const char *directory, struct error *e)
{
    struct stat found;
    enum error_code code = file_make_directory(directory, e);
    if (code != ERROR_OK)
        return code;
    int failed = stat(directory, &found) != 0          ? errno
                 : !S_ISDIR(found.st_mode)             ? ENOTDIR
                 : access(directory, W_OK | X_OK) != 0 ? errno
                                                       : 0;
    return failed ? error_set(e, file_error(failed), "%s: %s; name another folder with -o", directory,
                              strerror(failed))
                  : ERROR_OK;
}

static enum error_code write_files(const struct plan_command *command, const struct api_artifacts *artifacts,
                                   struct error *e)
{
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; code == ERROR_OK && i < artifacts->count; i++)
        code = write_artifact(command->directory, &artifacts->at[i], e);
    if (code != ERROR_OK)
        return code;
    struct text timing = {0};
    text_printf(&timing,
                "{\"read_s\": %.3f, \"analyse_s\": %.3f, \"search_s\": %.3f, \"finish_s\": %.3f, "
                "\"total_s\": %.3f, \"threads\": %ld, \"stages\": [",
                command->read_s, command->analyse_s, command->search_s, command->finish_s,
                clock_seconds() - command->start, command->threads);
    for (uint32_t i = 0; i < command->stage_count; i++)
        text_printf(&timing, "%s{\"name\": \"%s\", \"wall_s\": %.3f, \"cpu_s\": %.3f}", i ? ", " : "",
                    command->stages[i].name, command->stages[i].wall_s, command->stages[i].cpu_s);
    text_add(&timing, "]}\n");
    char *path = mem_printf("%s/timing.json", command->directory);
    code = file_write(path, timing.at, timing.size, e);
    free(path);
    text_release(&timing);
    return code;
}

static void print_stages(const struct plan_command *command)
{
    fprintf(stderr, "%-14s %8s %8s\n", "stage", "wall s", "cpu s");
    for (uint32_t i = 0; i < command->stage_count; i++)
        fprintf(stderr, "%-14s %8.3f %8.3f\n", command->stages[i].name, command->stages[i].wall_s,
                command->stages[i].cpu_s);
}

static void print_result(const struct plan_command *command, const struct api_artifacts *artifacts)
{
    const char *wanted = command->json ? "report.json" : "report.txt";
    bool found = false;
    for (uint32_t i = 0; i < artifacts->count; i++)
        if (strcmp(artifacts->at[i].name, wanted) == 0) {
            fwrite(artifacts->at[i].bytes, 1, artifacts->at[i].size, stdout);
            found = true;
        }
    if (command->json && !found)
        fprintf(stderr, "toast plan: %s is not printed: 'report' is not among the outputs\n", wanted);
    if (!command->json)
        printf("\nfiles in %s:", command->directory);
    for (uint32_t i = 0; !command->json && i < artifacts->count; i++)
        if (!strchr(artifacts->at[i].name, '/'))
            printf(" %s", artifacts->at[i].name);
    if (!command->json && command->alternatives)
        printf(" alternatives/1..%u/", command->alternatives);
    printf(command->json ? "" : " timing.json\n");
    if (command->confirm[0])
        fprintf(stderr, "toast plan: by the estimate nothing fits; to ask the compiler itself: %s\n",
                command->confirm);
}

static enum error_code finish(struct plan_command *command, const struct api_request *request,
                              struct planner_job *job, const struct search_state *state,
                              const struct search_blob *last, bool reproducible, struct api_artifacts *out,
                              int *status, struct error *e)
{
    struct planner_outcome outcome;
    if (!command->quiet && planner_job_wants_network(job, reproducible))
        fprintf(stderr, "%6.1f s  cost-function network\n", clock_seconds() - command->start);
    enum error_code code = planner_job_end(job, state, last, reproducible, &outcome, e);
    if (code != ERROR_OK)
        return code;
    begin_stage("files", command);
    api_artifacts_create(request, &outcome, out);
    command->alternatives = outcome.alternative_count;
    if (!outcome.fits) {
        char *folder = mem_printf("%s/", command->directory);
        report_confirming(outcome.report, folder, command->confirm, sizeof command->confirm);
        free(folder);
    }
    bool different = outcome.proved && outcome.proof.status == VERIFY_PROOF_DIFFERENT;
    bool inconclusive = outcome.proved && outcome.proof.status == VERIFY_PROOF_INCONCLUSIVE;
    *status = !outcome.fits ? 3 : different ? 1 : inconclusive ? 7 : outcome.report->reproducible ? 0 : 4;
    planner_outcome_release(&outcome);
    return ERROR_OK;
}

static enum error_code run_job(struct plan_command *command, const struct api_request *request,
                               const struct ir_program *image, int *status, struct error *e)
{
    struct planner_job *job = NULL;
    struct search_state state;
    struct search_blob last = {0};
    struct api_artifacts artifacts = {0};
    bool reproducible = true;
    double t = clock_seconds();
    if (request->planning.referee[0])
        return error_set_pointer(e, ERROR_NOT_AVAILABLE, "/referee",
                                 "a referee judges jobs of a service; here run toast-referee on the files");
    enum error_code code = planner_job_create(&request->planning, image, &job, e);
    if (code == ERROR_OK)
        code = open_folder(command->directory, e);
    if (code != ERROR_OK) {
        planner_job_destroy(job);
        return code;
    }
    command->analyse_s = clock_seconds() - t;
    t = clock_seconds();
    bool deadline = request->deadline_s > 0 && command->limit_s == request->deadline_s;
    double left = search_end * command->limit_s - (t - command->start);
    begin_stage("search", command);
    code = search_run(planner_job_search(job), (uint32_t)command->threads,
                      command->limit_s > 0 ? fmax(left, 0.001) : 0, show_progress, command, &state, &last,
                      &reproducible, e);
    command->search_s = clock_seconds() - t;
    t = clock_seconds();
    if (code == ERROR_OK && deadline && !reproducible && request->deadline_fail)
        code = error_set(e, ERROR_DEADLINE,
                         "the deadline of %g s passed during the search, and on_deadline is fail",
                         request->deadline_s);
    if (code == ERROR_OK)
        code = finish(command, request, job, &state, &last, reproducible, &artifacts, status, e);
    command->finish_s = clock_seconds() - t;
    begin_stage(NULL, command);
    if (code == ERROR_OK)
        code = write_files(command, &artifacts, e);
    if (code == ERROR_OK) {
        print_result(command, &artifacts);
        if (command->verbose)
            print_stages(command);
    }
    api_artifacts_release(&artifacts);
    free(last.bytes);
    planner_job_destroy(job);
    return code;
}

int cmd_plan(int argc, char **argv)
{
    struct plan_command command = {
        .directory = "toast-plan", .threads = sysconf(_SC_NPROCESSORS_ONLN), .start = clock_seconds()};
    struct error e = {0};
    struct api_request *request = NULL;
    struct ir_program image = {0};
    char *json = NULL;
    /* arrays of large programs go back to the system when a stage is done with them */
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_TRIM_THRESHOLD, 1 << 20); /* a quarter fewer page faults at 96 layers than with 128 KiB */
    int status = take_options(&command, argc, argv);
    if (status >= 0)
        goto out;
    enum error_code code = api_flags_request(&command.flags, &json, &e);
    if (code == ERROR_OK)
        code = api_request_parse(json, strlen(json), NULL, true, &request, &e);
    if (code == ERROR_OK) {
        request->planning.threads = (uint32_t)command.threads;
        request->planning.stage = begin_stage;
        request->planning.stage_user = &command;
        bound(&command, request);
        begin_stage("reading", &command);
    }
    if (code == ERROR_OK)
        code = cli_read_module(command.module, &image, &e);
    command.read_s = clock_seconds() - command.start;
    if (code == ERROR_OK)
        code = run_job(&command, request, &image, &status, &e);
    if (code != ERROR_OK)
        status = cli_fail("plan", command.module, &e);
out:
    ir_program_release(&image);
    api_request_destroy(request);
    free(json);
    free(command.request_text);
    free(command.profile_text);
    return status;
}
