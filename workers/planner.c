/* The planner's jobs as tasks, over planner/job.h:
 *
 *   read       module text -> program image (blob `image`), by the sandboxed reader, which the slot starts
 *   analyse    image -> first snapshot of the search (blob `snapshot`)
 *   rollouts   snapshot, index -> delta (also the rounds of the local search: search_task does both)
 *   merge      snapshot, deltas -> next snapshot, plan.json of the best so far
 *   network    snapshot -> what planner cfn found (blob `network`), where the request asks for it
 *   emit       snapshot -> artifacts; the job ends, unless the request names a referee: then the step
 *              `referee` follows, which is a referee's (queue/library_referee.lua), and emit once more with
 *              what it said (blob `referee`)
 *
 * A job that starts over (queue/library_restart.lua) has a blob `incumbent`, the plan.json of its best
 * plan so far: it is shown until the search has a better one, and competes where the search is cut short.
 * `emit` of such a job may have neither image nor snapshot: it reads the module and takes the search's
 * beginning.
 *
 * A process that works on a job keeps its parsed program, analysis, evaluator and search: a rollouts task
 * then costs the task alone. The job's `stop` field says that the search was ended early (cancel,
 * deadline, seconds). */
#include "workers/tasks.h"

#include "api/artifacts.h"
#include "api/bodies.h"
#include "api/plan_file.h"
#include "api/referee.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "ir/read.h"
#include "store/lent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct context {
    struct api_request *request;
    char module[STORE_DIGEST_SIZE];
    struct ir_program image;
    struct planner_job *job; /* NULL until the first task that needs it */
    struct evaluator_session *session;
    char snapshot_digest[STORE_DIGEST_SIZE];
    struct store_view snapshot;
    char best[33];                     /* hash of the plan that plan.json was last written for */
    char incumbent[STORE_DIGEST_SIZE]; /* blob that the job was last given as its incumbent */
};

static void context_close(void *user)
{
    struct context *context = user;
    evaluator_session_destroy(context->session);
    planner_job_destroy(context->job);
    ir_program_release(&context->image);
    store_view_release(&context->snapshot);
    api_request_destroy(context->request);
    free(context);
}

static enum error_code context_open(const struct tasks_task *task, void **out, struct error *e)
{
    struct context *context = mem_zalloc(1, sizeof *context);
    struct store_view text;
    snprintf(context->module, sizeof context->module, "%s", queue_field(task->fields, "module"));
    enum error_code code = store_get(task->store, queue_field(task->fields, "request"), &text, e);
    if (code == ERROR_OK) {
        code = api_request_parse(text.bytes, text.size, context->module, false, &context->request, e);
        store_view_release(&text);
    }
    if (code != ERROR_OK) {
        context_close(context);
        return code;
    }
    *out = context;
    return ERROR_OK;
}

static enum error_code read_module(struct context *context, const struct tasks_task *task,
                                   struct ir_program *out, struct error *e)
{
    int image;
    enum error_code code = store_lent_read(task->store, context->module, &image, e);
    if (code != ERROR_OK)
        return code;
    code = ir_read_map(image, out, e);
    close(image);
    return code;
}

static enum error_code open_image(struct context *context, const struct tasks_task *task, struct error *e)
{
    struct store_view view;
    enum error_code code = tasks_blob(task, "image", &view, e);
    if (code != ERROR_OK)
        return code;
    code = ir_image_open(view.bytes, view.size, &context->image, e);
    if (code != ERROR_OK) /* else the program has taken the mapping over and unmaps it */
        store_view_release(&view);
    return code;
}

static bool has_blob(const struct tasks_task *task, const char *field)
{
    return queue_field(task->fields, field)[0] != 0;
}

/* the job of this process, made once; deterministic, so every process has the same */
static enum error_code need_job(struct context *context, const struct tasks_task *task, struct error *e)
{
    if (context->job)
        return ERROR_OK;
    enum error_code code = has_blob(task, "b:image") ? open_image(context, task, e)
                                                     : read_module(context, task, &context->image, e);
    if (code != ERROR_OK)
        return code;
    code = planner_job_create(&context->request->planning, &context->image, &context->job, e);
    if (code == ERROR_OK)
        context->session = evaluator_session_create(planner_job_evaluator(context->job));
    else
        ir_program_release(&context->image);
    return code;
}

static enum error_code take_incumbent(struct planner_job *job, const char *json, size_t size, struct error *e)
{
    struct planner_plan *plan = NULL;
    enum error_code parsed = api_plan_parse(json, size, &plan, e);
    /* one that cannot be read takes the place of the one before, too */
    enum error_code code = planner_job_take_incumbent(job, plan, parsed == ERROR_OK ? e : NULL);
    planner_plan_destroy(plan);
    return parsed == ERROR_OK ? code : parsed;
}

/* An incumbent that is gone or does not apply any more is none: the search will find as good a plan. */
static enum error_code need_incumbent(struct context *context, const struct tasks_task *task, struct error *e)
{
    const char *digest = queue_field(task->fields, "b:incumbent");
    struct store_view text;
    struct error why = {0};
    if (!digest[0] || strcmp(digest, context->incumbent) == 0)
        return ERROR_OK;
    enum error_code code = store_get(task->store, digest, &text, &why);
    if (code == ERROR_OK) {
        code = take_incumbent(context->job, text.bytes, text.size, &why);
        store_view_release(&text);
    }
    if (code == ERROR_IO || code == ERROR_UNAVAILABLE || code == ERROR_CANCELLED) {
        *e = why;
        return code;
    }
    if (code != ERROR_OK)
        log_event("incumbent_lost", "job", task->job, "reason", why.message, NULL);
    snprintf(context->incumbent, sizeof context->incumbent, "%s", digest);
    return ERROR_OK;
}

static enum error_code need_snapshot(struct context *context, const struct tasks_task *task, struct error *e)
{
    const char *digest = queue_field(task->fields, "b:snapshot");
    if (strcmp(digest, context->snapshot_digest) == 0)
        return ERROR_OK;
    store_view_release(&context->snapshot);
    context->snapshot = (struct store_view){0};
    context->snapshot_digest[0] = 0;
    enum error_code code = tasks_blob(task, "snapshot", &context->snapshot, e);
    if (code == ERROR_OK)
        snprintf(context->snapshot_digest, sizeof context->snapshot_digest, "%s", digest);
    return code;
}

/* ---- steps of one task ---- */

static enum error_code run_read(struct context *context, const struct tasks_task *task,
                                struct tasks_result *out, struct error *e)
{
    struct ir_program image;
    enum error_code code = read_module(context, task, &image, e);
    if (code != ERROR_OK)
        return code;
    char *copy = mem_alloc(image.image_size);
    memcpy(copy, image.image, image.image_size);
    tasks_output_add(out, "image", "", copy, image.image_size, false);
    ir_program_release(&image);
    out->kind = "analyse";
    out->tasks = 1;
    out->wrap = has_blob(task, "b:incumbent") ? "emit" : "";
    out->state = "validating";
    out->progress = api_progress_stage_json("analyse", queue_field(task->fields, "progress"));
    return ERROR_OK;
}

/* report: of the plan that was written; NULL: none is yet */
static char *progress(const struct context *context, const char *stage, const struct search_state *state,
                      bool whole, const struct report *report)
{
    struct planner_progress progress;
    planner_job_progress(context->job, state, whole, &progress);
    if (report)
        planner_progress_end(&progress, report);
    return api_progress_json(&progress, stage);
}

/* plan.json of the best plan so far */
static enum error_code plan_so_far(const struct context *context, const struct search_state *state,
                                   char **json, struct error *e)
{
    struct report *report;
    enum error_code code = planner_job_report(context->job, state, false, &report, e);
    if (code != ERROR_OK)
        return code;
    *json = api_plan_text(context->request, report);
    report_destroy(report);
    return ERROR_OK;
}

/* what follows a snapshot, and what the job shows meanwhile */
static enum error_code follow(struct context *context, const struct tasks_task *task,
                              struct search_blob *snapshot, struct tasks_result *out, struct error *e)
{
    struct search_state *state = mem_alloc(sizeof *state);
    enum error_code code =
        search_open(planner_job_search(context->job), snapshot->bytes, snapshot->size, state, e);
    struct search_plan best;
    char hash[33], *plan = NULL;
    if (code == ERROR_OK) {
        planner_job_best(context->job, state, false, &best);
        hash128_format(best.hash, hash);
        if (strcmp(hash, context->best) != 0 || !has_blob(task, "a:plan.json"))
            code = plan_so_far(context, state, &plan, e);
    }
    if (code != ERROR_OK) {
        free(state);
        free(snapshot->bytes);
        return code;
    }
    if (plan) {
        tasks_output_add(out, "plan.json", "application/json", plan, strlen(plan), true);
        memcpy(context->best, hash, sizeof hash);
    }
    bool done = state->phase == SEARCH_DONE, network = done && planner_job_wants_network(context->job, true);
    const char *stage = done ? "emit" : state->phase == SEARCH_POLISH ? "polish" : "search";
    out->kind = network ? "network" : done ? "emit" : "rollouts";
    out->tasks = done ? 1 : state->tasks;
    out->join = "merge";
    out->wrap = "emit";
    out->state = done && !network ? "finalizing" : "running";
    out->progress = progress(context, network ? "network" : stage, state, false, NULL);
    out->rollouts = state->rollouts;
    out->dropped = state->dropped;
    tasks_output_add(out, "snapshot", "", (char *)snapshot->bytes, snapshot->size, false);
    free(state);
    return ERROR_OK;
}

static enum error_code run_analyse(struct context *context, const struct tasks_task *task,
                                   struct tasks_result *out, struct error *e)
{
    struct search_blob snapshot = {0};
    search_begin(planner_job_search(context->job), &snapshot);
    return follow(context, task, &snapshot, out, e);
}

static enum error_code run_merge(struct context *context, const struct tasks_task *task,
                                 struct tasks_result *out, struct error *e)
{
    struct search_blob next = {0}, *deltas = mem_zalloc(task->part_count + 1, sizeof *deltas);
    for (uint32_t i = 0; i < task->part_count; i++)
        deltas[i] =
            (struct search_blob){(unsigned char *)(uintptr_t)task->parts[i].bytes, task->parts[i].size};
    enum error_code code = search_merge(planner_job_search(context->job), context->snapshot.bytes,
                                        context->snapshot.size, deltas, task->part_count, &next, e);
    free(deltas);
    return code == ERROR_OK ? follow(context, task, &next, out, e) : code;
}

static enum error_code take_network(struct context *context, const struct tasks_task *task, struct error *e)
{
    struct store_view answer;
    enum error_code code = tasks_blob(task, "network", &answer, e);
    if (code != ERROR_OK)
        return code;
    code = planner_job_take_network(context->job, answer.bytes, answer.size, e);
    store_view_release(&answer);
    return code;
}

/* from the snapshot, or from the beginning of the search where there is none */
static enum error_code open_state(struct context *context, struct search_state *out, struct error *e)
{
    struct search_blob begun = {0};
    if (context->snapshot_digest[0])
        return search_open(planner_job_search(context->job), context->snapshot.bytes, context->snapshot.size,
                           out, e);
    search_begin(planner_job_search(context->job), &begun);
    enum error_code code = search_open(planner_job_search(context->job), begun.bytes, begun.size, out, e);
    free(begun.bytes);
    return code;
}

/* what the referee said, or why it said nothing */
static enum error_code add_referee(const struct context *context, const struct tasks_task *task,
                                   struct report *report, struct error *e)
{
    struct store_view said;
    struct report_referee *referee = &report->referee;
    if (!context->request->planning.referee[0])
        return ERROR_OK;
    snprintf(referee->name, sizeof referee->name, "%s", context->request->planning.referee);
    if (!has_blob(task, "b:referee")) {
        const char *stop = queue_field(task->fields, "stop");
        snprintf(referee->reason, sizeof referee->reason, "%s",
                 !has_blob(task, "b:emitted") ? "not yet asked"
                 : stop[0]                    ? "the job was to end before"
                                              : "its workers were gone for a minute");
        return ERROR_OK;
    }
    TRY(tasks_blob(task, "referee", &said, e));
    enum error_code code = api_referee_result(said.bytes, said.size, referee, e);
    store_view_release(&said);
    if (code == ERROR_OK)
        report_referee_rank(report);
    return code;
}

/* The artifacts are there; before the job ends the referee judges them. */
static void ask_referee(struct tasks_result *out)
{
    char *mark = mem_strdup("1");
    tasks_output_add(out, "emitted", "", mark, 1, false);
    out->finished = false;
    out->kind = "referee";
    out->tasks = 1;
    out->wrap = "emit";
    out->state = "finalizing"; /* as it is: a client sees states in their order */
}

/* When a search that was cut short ends, its report may take no long time either: of one that passed its
 * deadline less than queue/library_reap.lua grants, of one that had a limit of seconds a quarter of that. */
enum { LATE_EMIT_S = 2, EMIT_SHARE = 4 };

static bool emit_is_late(enum planner_share share, void *user)
{
    (void)share;
    return clock_seconds() >= *(const double *)user;
}

/* end_s: what emit_is_late compares with; borrowed while the job is finished */
static void bound_emit(struct api_request *request, const char *stop, double *end_s)
{
    double most = strcmp(stop, "deadline") == 0  ? LATE_EMIT_S
                  : strcmp(stop, "seconds") == 0 ? request->seconds / EMIT_SHARE
                                                 : 0;
    *end_s = clock_seconds() + most;
    request->planning.late = most > 0 ? emit_is_late : NULL;
    request->planning.late_user = end_s;
}

static enum error_code run_emit(struct context *context, const struct tasks_task *task,
                                struct tasks_result *out, struct error *e)
{
    struct api_artifacts artifacts = {0};
    struct planner_outcome outcome;
    struct search_state *state = mem_alloc(sizeof *state);
    const char *stop = queue_field(task->fields, "stop");
    /* emitted before: the search was at its end then, whatever stops the referee's step now */
    bool again = has_blob(task, "b:emitted"), whole = stop[0] == 0 || again;
    struct search_blob snapshot = {0}; /* borrowed */
    if (context->snapshot_digest[0])
        snapshot =
            (struct search_blob){(unsigned char *)(uintptr_t)context->snapshot.bytes, context->snapshot.size};
    enum error_code code =
        queue_field(task->fields, "b:network")[0] ? take_network(context, task, e) : ERROR_OK;
    if (code == ERROR_OK)
        code = open_state(context, state, e);
    /* past the deadline: the plan that was found is the answer, without what would take time */
    bool late = strcmp(queue_field(task->fields, "stop"), "deadline") == 0,
         proof = context->request->planning.proof;
    context->request->planning.proof = proof && !late;
    double end_s;
    bound_emit(context->request, again ? "" : stop, &end_s);
    if (code == ERROR_OK)
        code = planner_job_finish(context->job, state, &snapshot, whole, &outcome, e);
    context->request->planning.late = NULL;
    context->request->planning.proof = proof;
    if (code == ERROR_OK && proof && late) {
        snprintf(outcome.report->proof_status, sizeof outcome.report->proof_status, "not_run");
        snprintf(outcome.report->proof_reason, sizeof outcome.report->proof_reason, "deadline");
        outcome.report->cut |= REPORT_CUT_PROOF;
    }
    bool judge =
        context->request->planning.referee[0] && !again && (stop[0] == 0 || strcmp(stop, "seconds") == 0);
    if (code == ERROR_OK) {
        code = add_referee(context, task, outcome.report, e);
        if (code == ERROR_OK) {
            api_artifacts_create(context->request, &outcome, &artifacts);
            out->progress = progress(context, judge ? "referee" : "done", state, whole, outcome.report);
        }
        planner_outcome_release(&outcome);
    }
    if (code == ERROR_OK) {
        for (uint32_t i = 0; i < artifacts.count; i++) {
            struct api_artifact *artifact = &artifacts.at[i];
            tasks_output_add(out, artifact->name, artifact->media_type, artifact->bytes, artifact->size,
                             true);
            artifact->bytes = NULL;
        }
        out->finished = true;
        if (judge)
            ask_referee(out);
        out->rollouts = state->rollouts;
        out->dropped = state->dropped;
    }
    api_artifacts_release(&artifacts);
    free(state);
    return code;
}

/* ---- one of several ---- */

static bool asked_to_stop(void *user)
{
    const struct tasks_task *task = user;
    return task->stopping(task->user);
}

/* planner cfn: after the search, before the artifacts */
static enum error_code run_network(struct context *context, const struct tasks_task *task,
                                   struct tasks_result *out, struct error *e)
{
    struct search_blob answer = {0};
    struct search_state *state = mem_alloc(sizeof *state);
    enum error_code code = open_state(context, state, e);
    if (code == ERROR_OK)
        code =
            planner_job_network(context->job, state, 1, asked_to_stop, (void *)(uintptr_t)task, &answer, e);
    if (code == ERROR_OK)
        code = planner_job_take_network(context->job, answer.bytes, answer.size, e);
    if (code == ERROR_OK)
        out->progress = progress(context, "emit", state, false, NULL);
    free(state);
    if (code != ERROR_OK) {
        free(answer.bytes);
        return code;
    }
    tasks_output_add(out, "network", "", (char *)answer.bytes, answer.size, false);
    out->kind = "emit";
    out->tasks = 1;
    out->wrap = "emit";
    out->state = "finalizing";
    return ERROR_OK;
}

static enum error_code run_rollouts(struct context *context, const struct tasks_task *task,
                                    struct tasks_result *out, struct error *e)
{
    struct search_blob delta = {0};
    struct search_control control = {asked_to_stop, (void *)(uintptr_t)task};
    enum error_code code =
        search_task(planner_job_search(context->job), context->snapshot.bytes, context->snapshot.size,
                    task->index, context->session, &control, &delta, e);
    if (code != ERROR_OK)
        return code;
    tasks_output_add(out, "delta", "", (char *)delta.bytes, delta.size, false);
    /* a step of one task has no join: its only task merges as well */
    if (task->count > 1)
        return ERROR_OK;
    struct tasks_part part = {out->outputs.at[0].bytes, out->outputs.at[0].size};
    struct tasks_task merge = *task;
    struct tasks_result merged = {0};
    merge.parts = &part;
    merge.part_count = 1;
    code = run_merge(context, &merge, &merged, e);
    tasks_result_release(out);
    *out = merged;
    return code;
}

static enum error_code run(void *context, const struct tasks_task *task, struct tasks_result *out,
                           struct error *e)
{
    struct context *work = context;
    if (strcmp(task->kind, "read") == 0)
        return run_read(work, task, out, e);
    enum error_code code = need_job(work, task, e);
    if (code != ERROR_OK)
        return code;
    code = need_incumbent(work, task, e);
    if (code != ERROR_OK)
        return code;
    if (strcmp(task->kind, "analyse") == 0)
        return run_analyse(work, task, out, e);
    bool none = strcmp(task->kind, "emit") == 0 && !has_blob(task, "b:snapshot");
    code = none ? ERROR_OK : need_snapshot(work, task, e);
    if (code != ERROR_OK)
        return code;
    if (strcmp(task->kind, "rollouts") == 0)
        return run_rollouts(work, task, out, e);
    if (strcmp(task->kind, "merge") == 0)
        return run_merge(work, task, out, e);
    if (strcmp(task->kind, "network") == 0)
        return run_network(work, task, out, e);
    if (strcmp(task->kind, "emit") == 0)
        return run_emit(work, task, out, e);
    return error_set(e, ERROR_INTERNAL, "there is no task '%s'", task->kind);
}

const struct tasks_table *tasks_planner(void)
{
    static struct tasks_table table = {NULL, context_open, context_close, run, api_error_json};
    table.build = api_build();
    return &table;
}
