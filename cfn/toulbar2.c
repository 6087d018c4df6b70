/* toulbar2 as a process: a file of its wcsp format in, its log and its solution file out, all in a private
 * directory that is removed at the end. Costs are shifted so that every function's least is 0 and divided by
 * a power of two when their sum would pass its range; forbidden entries get the top, which is above every
 * sum. Never runs through a shell. Its answer is only an assignment: whoever asks prices it. */
#include "cfn/toulbar2.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static const int64_t most_sum = (int64_t)1 << 55; /* toulbar2's own costs end near 2^58 */
enum {
    PATH_ROOM = 600,     /* directory (512) and a name */
    MOST_SEED = 1000000, /* seeds are given to it below this */
    WAIT_NS = 2000000,   /* between two looks at the process: 2 ms */
    ASK_LOOKS = 50,      /* looks between two questions whether to stop: 0.1 s */
};

/* ---- finding it ---- */

enum error_code cfn_toulbar2_open(struct cfn_toulbar2 *toulbar2, struct error *e)
{
    const char *path = getenv("PATH"), *tmp = getenv("TMPDIR");
    *toulbar2 = (struct cfn_toulbar2){{0}, {0}};
    for (const char *at = path ? path : "/usr/bin"; *at;) {
        size_t size = strcspn(at, ":");
        snprintf(toulbar2->program, sizeof toulbar2->program, "%.*s/toulbar2", (int)size, at);
        if (size && access(toulbar2->program, X_OK) == 0)
            break;
        toulbar2->program[0] = 0;
        at += size + (at[size] == ':');
    }
    if (!toulbar2->program[0])
        return error_set(e, ERROR_NOT_AVAILABLE,
                         "the method ucr needs toulbar2, which is not in PATH: install Debian's package "
                         "toulbar2, or use the default method");
    snprintf(toulbar2->directory, sizeof toulbar2->directory, "%.400s/toast-ucr.XXXXXX",
             tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(toulbar2->directory)) {
        toulbar2->directory[0] = 0;
        return error_set(e, ERROR_IO, "no temporary directory for toulbar2: %s", strerror(errno));
    }
    return ERROR_OK;
}

static const char *const file_names[] = {"problem.wcsp", "log", "sol"};
enum { PROBLEM, LOG, SOLUTION, FILES };

static void file_path(const struct cfn_toulbar2 *toulbar2, int file, char *out, size_t size)
{
    snprintf(out, size, "%s/%s", toulbar2->directory, file_names[file]);
}

void cfn_toulbar2_close(struct cfn_toulbar2 *toulbar2)
{
    char path[PATH_ROOM];
    for (int f = 0; f < FILES && toulbar2->directory[0]; f++) {
        file_path(toulbar2, f, path, sizeof path);
        unlink(path);
    }
    if (toulbar2->directory[0])
        rmdir(toulbar2->directory);
    *toulbar2 = (struct cfn_toulbar2){{0}, {0}};
}

/* ---- writing the problem: every function less its least cost, all divided when the sum is too large ---- */

struct range {
    int64_t least, most; /* of the finite costs */
};

static void widen(struct range *range, int64_t c)
{
    if (cfn_infinite(c))
        return;
    range->least = c < range->least ? c : range->least;
    range->most = c > range->most ? c : range->most;
}

static struct range unary_range(const struct cfn_model *model, const int64_t *unary, int32_t i)
{
    struct range range = {INT64_MAX, INT64_MIN};
    for (int32_t a = 0; a < model->size[i]; a++)
        widen(&range, unary[model->offset[i] + (size_t)a]);
    return range;
}

static struct range arc_range(const struct cfn_model *model, int32_t i, const struct cfn_arc *arc)
{
    struct range range = {INT64_MAX, INT64_MIN};
    for (int32_t a = 0; a < model->size[i]; a++)
        for (int32_t b = 0; b < model->size[arc->other]; b++)
            widen(&range, arc->exact[(size_t)a * arc->own + (size_t)b * arc->step]);
    return range;
}

struct scale {
    int64_t divisor, top;
};

static struct scale choose_scale(const struct cfn_model *model, const int64_t *unary)
{
    __int128 sum = 1;
    struct scale scale = {1, 0};
    for (int32_t i = 0; i < model->node_count; i++) {
        struct range range = unary_range(model, unary, i);
        sum += range.most > range.least ? (__int128)range.most - range.least : 0;
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
            range = arc_range(model, i, &model->arcs[k]);
            sum +=
                model->arcs[k].other > i && range.most > range.least ? (__int128)range.most - range.least : 0;
        }
    }
    while (sum / scale.divisor > most_sum)
        scale.divisor *= 2;
    scale.top = (int64_t)(sum / scale.divisor) + 1;
    return scale;
}

static int64_t scaled(const struct scale *scale, int64_t c, int64_t least)
{
    return cfn_infinite(c) ? scale->top : (c - least) / scale->divisor;
}

static void write_unary(FILE *file, const struct cfn_model *model, const int64_t *unary,
                        const struct scale *scale, int32_t i)
{
    int64_t least = unary_range(model, unary, i).least;
    fprintf(file, "1 %d 0 %d\n", i, model->size[i]);
    for (int32_t a = 0; a < model->size[i]; a++)
        fprintf(file, "%d %" PRId64 "\n", a, scaled(scale, unary[model->offset[i] + (size_t)a], least));
}

static void write_arc(FILE *file, const struct cfn_model *model, const struct scale *scale, int32_t i,
                      const struct cfn_arc *arc)
{
    int64_t least = arc_range(model, i, arc).least;
    int32_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t a = 0; a < model->size[i]; a++)
            for (int32_t b = 0; b < model->size[arc->other]; b++) {
                int64_t c = scaled(scale, arc->exact[(size_t)a * arc->own + (size_t)b * arc->step], least);
                if (c && pass)
                    fprintf(file, "%d %d %" PRId64 "\n", a, b, c);
                count += c && !pass;
            }
        if (!pass)
            fprintf(file, "2 %d %d 0 %d\n", i, arc->other, count);
    }
}

static bool write_problem(const char *path, const struct cfn_model *model, const int64_t *unary)
{
    struct scale scale = choose_scale(model, unary);
    FILE *file = fopen(path, "w");
    int32_t largest = 1;
    if (!file)
        return false;
    for (int32_t i = 0; i < model->node_count; i++)
        largest = model->size[i] > largest ? model->size[i] : largest;
    fprintf(file, "toast %d %d %d %" PRId64 "\n", model->node_count, largest,
            model->node_count + model->link_count, scale.top);
    for (int32_t i = 0; i < model->node_count; i++)
        fprintf(file, i ? " %d" : "%d", model->size[i]);
    fputc('\n', file);
    for (int32_t i = 0; i < model->node_count; i++) {
        write_unary(file, model, unary, &scale, i);
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++)
            if (model->arcs[k].other > i)
                write_arc(file, model, &scale, i, &model->arcs[k]);
    }
    bool failed = ferror(file);
    return fclose(file) == 0 && !failed;
}

/* ---- running it ---- */

static int start(const struct cfn_toulbar2 *toulbar2, const struct cfn_toulbar2_run *run, pid_t *pid)
{
    char problem[PATH_ROOM], log[PATH_ROOM], timer[40], backtracks[40], seed[40], solution[PATH_ROOM + 20];
    char *argv[8] = {(char *)(uintptr_t)toulbar2->program, problem, solution, seed};
    int count = 4;
    posix_spawn_file_actions_t actions;
    file_path(toulbar2, PROBLEM, problem, sizeof problem);
    file_path(toulbar2, LOG, log, sizeof log);
    snprintf(solution, sizeof solution, "-w=%s/%s", toulbar2->directory, file_names[SOLUTION]);
    snprintf(seed, sizeof seed, "-seed=%" PRIu64, run->seed % MOST_SEED);
    if (run->seconds > 0) {
        snprintf(timer, sizeof timer, "-timer=%d", run->seconds < 1 ? 1 : (int)run->seconds);
        argv[count++] = timer;
    }
    if (run->backtracks) {
        snprintf(backtracks, sizeof backtracks, "-bt=%" PRIu64, run->backtracks);
        argv[count++] = backtracks;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int status = posix_spawn(pid, toulbar2->program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return status;
}

static void await(pid_t pid, const struct cfn_toulbar2_run *run)
{
    const struct timespec pause = {.tv_nsec = WAIT_NS};
    for (int k = 0; waitpid(pid, NULL, WNOHANG) == 0; k++) {
        if (k % ASK_LOOKS == 0 && run->stop && run->stop(run->user))
            kill(pid, SIGKILL);
        nanosleep(&pause, NULL);
    }
}

static bool log_says_optimum(const struct cfn_toulbar2 *toulbar2)
{
    char path[PATH_ROOM], line[512];
    bool found = false;
    file_path(toulbar2, LOG, path, sizeof path);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        found = found || strncmp(line, "Optimum:", 8) == 0;
    if (file)
        fclose(file);
    return found;
}

/* the last complete row of values; false when there is none */
static bool read_solution(const struct cfn_toulbar2 *toulbar2, const struct cfn_model *model, int32_t *value)
{
    char path[PATH_ROOM];
    int32_t count = 0, v;
    int32_t *row = mem_zalloc((size_t)model->node_count + 1, sizeof *row);
    file_path(toulbar2, SOLUTION, path, sizeof path);
    FILE *file = fopen(path, "r");
    while (file && fscanf(file, "%" SCNd32, &v) == 1) {
        if (v < 0 || v >= model->size[count])
            break;
        row[count++] = v;
        if (count < model->node_count)
            continue;
        memcpy(value, row, (size_t)count * sizeof *row);
        count = 0;
        free(row);
        fclose(file);
        return true;
    }
    if (file)
        fclose(file);
    free(row);
    return false;
}

enum error_code cfn_toulbar2_solve(const struct cfn_toulbar2 *toulbar2, const struct cfn_model *model,
                                   const int64_t *unary, const struct cfn_toulbar2_run *run, int32_t *value,
                                   enum cfn_toulbar2_result *result, struct error *e)
{
    char path[PATH_ROOM];
    pid_t pid;
    *result = CFN_TOULBAR2_NONE;
    file_path(toulbar2, SOLUTION, path, sizeof path);
    unlink(path);
    file_path(toulbar2, PROBLEM, path, sizeof path);
    if (!write_problem(path, model, unary))
        return error_set(e, ERROR_IO, "the problem for toulbar2 could not be written under %s",
                         toulbar2->directory);
    if (start(toulbar2, run, &pid) != 0)
        return error_set(e, ERROR_IO, "%s could not be started", toulbar2->program);
    await(pid, run);
    if (read_solution(toulbar2, model, value))
        *result = log_says_optimum(toulbar2) ? CFN_TOULBAR2_OPTIMAL : CFN_TOULBAR2_FOUND;
    return ERROR_OK;
}
