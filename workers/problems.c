/* Contest problems as tasks, over cfn/session.h. A phase of the search is a step of two tasks, one a logical
 * worker:
 *
 *   problem    text -> feasibility, reduction; the session between two phases (blob `session`)
 *   cfn        session, index -> that worker after the phase
 *   cfn-join   session, both workers -> the next session
 *   solution   session -> solution.json (also when stopped early: the best as of the last join)
 *
 * The best so far, and the highest bound, are also a blob of their own (`incumbent`), which outlives the
 * session when a job starts over (queue/library_restart.lua): it is shown until the search has a better one,
 * and competes at the end. `solution` of such a job may have no session.
 *
 * Phases are measured in units, so the answer does not depend on who worked; whoever dies takes a phase of
 * one worker (1 to 4 s) with it. A process that works on a job keeps its problem and reduced network. */
#include "workers/tasks.h"

#include "api/bodies.h"
#include "api/problem.h"
#include "api/request.h"
#include "base/log.h"
#include "cfn/saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct context {
    struct api_problem_request request;
    struct cfn_problem problem;
    struct cfn_budget budget;
    struct cfn_session session;
    bool begun;
    char at[STORE_DIGEST_SIZE]; /* of the blob that the session is as of; "": changed since */
    struct cfn_best incumbent;
    char incumbent_at[STORE_DIGEST_SIZE]; /* of the blob that it was read from */
    const struct tasks_task *now;         /* for the budget's `cancelled` */
};

static bool stopped(void *user)
{
    const struct context *context = user;
    return context->now && context->now->stopping(context->now->user);
}

static void context_close(void *user)
{
    struct context *context = user;
    if (context->begun)
        cfn_session_release(&context->session);
    cfn_best_release(&context->incumbent);
    cfn_problem_release(&context->problem);
    free(context);
}

static enum error_code context_open(const struct tasks_task *task, void **out, struct error *e)
{
    struct context *context = mem_zalloc(1, sizeof *context);
    struct store_view view;
    enum error_code code = store_get(task->store, queue_field(task->fields, "request"), &view, e);
    if (code == ERROR_OK) {
        code = api_problem_request_parse(view.bytes, view.size, &context->request, e);
        store_view_release(&view);
    }
    if (code == ERROR_OK)
        code = store_get(task->store, queue_field(task->fields, "module"), &view, e);
    if (code == ERROR_OK) {
        code = cfn_problem_read(view.bytes, view.size, &context->problem, e);
        store_view_release(&view);
    }
    if (code != ERROR_OK) {
        context_close(context);
        return code;
    }
    context->budget = (struct cfn_budget){.units = context->request.units,
                                          .seed = context->request.seed,
                                          .threads = 1,
                                          .cancelled = stopped,
                                          .user = context};
    *out = context;
    return ERROR_OK;
}

static enum error_code begin(struct context *context, struct error *e)
{
    if (context->begun)
        cfn_session_release(&context->session);
    context->begun = true;
    context->at[0] = 0;
    return cfn_session_begin(&context->session, &context->problem, &context->budget, e);
}

/* the session as of the job's last join */
static enum error_code need_session(struct context *context, const struct tasks_task *task, struct error *e)
{
    const char *digest = queue_field(task->fields, "b:session");
    struct store_view view;
    if (context->begun && strcmp(context->at, digest) == 0)
        return ERROR_OK;
    enum error_code code = !context->begun || context->session.over ? begin(context, e) : ERROR_OK;
    if (code != ERROR_OK)
        return code;
    code = tasks_blob(task, "session", &view, e);
    if (code != ERROR_OK)
        return code;
    code = cfn_session_read(&context->session, view.bytes, view.size, e);
    store_view_release(&view);
    if (code != ERROR_OK)
        return e->code = ERROR_INTERNAL;
    memcpy(context->at, digest, sizeof context->at);
    return ERROR_OK;
}

/* The incumbent that the job has now. One that is gone or damaged counts as none: the search will find as
 * good an answer. */
static enum error_code need_incumbent(struct context *context, const struct tasks_task *task, struct error *e)
{
    const char *digest = queue_field(task->fields, "b:incumbent");
    struct store_view view;
    struct error why = {0};
    if (strcmp(digest, context->incumbent_at) == 0)
        return ERROR_OK;
    cfn_best_release(&context->incumbent);
    context->incumbent_at[0] = 0;
    enum error_code code = digest[0] ? store_get(task->store, digest, &view, &why) : ERROR_NOT_FOUND;
    if (code == ERROR_OK) {
        code = cfn_best_read(&context->problem, view.bytes, view.size, &context->incumbent, &why);
        store_view_release(&view);
    }
    if (code == ERROR_IO || code == ERROR_UNAVAILABLE) {
        *e = why;
        return code;
    }
    if (code != ERROR_OK && digest[0])
        log_event("incumbent_lost", "job", task->job, "reason", why.message, NULL);
    snprintf(context->incumbent_at, sizeof context->incumbent_at, "%s", digest);
    return ERROR_OK;
}

/* what the job shows: the better of session and incumbent, which becomes the next incumbent when it is a
 * new one */
static enum error_code show(struct context *context, const char *stage, struct tasks_result *out,
                            struct error *e)
{
    struct cfn_best now;
    struct text text = {0};
    enum error_code code = cfn_best_of(&context->session, &now, e);
    if (code != ERROR_OK)
        return code;
    if (cfn_best_merge(&context->incumbent, &now) && !out->finished) {
        cfn_best_write(&context->incumbent, &context->problem, &text);
        tasks_output_add(out, "incumbent", "", text.at, text.size, false);
        /* no blob's: whether this result counts is not known yet */
        snprintf(context->incumbent_at, sizeof context->incumbent_at, "?");
    }
    out->progress = api_problem_progress_json(&context->session, &context->incumbent, stage);
    return ERROR_OK;
}

/* the session after a join or at the beginning, and what comes next */
static enum error_code follow(struct context *context, struct tasks_result *out, struct error *e)
{
    struct text text = {0};
    cfn_session_write(&context->session, &text);
    context->at[0] = 0;
    tasks_output_add(out, "session", "", text.at, text.size, false);
    out->kind = context->session.over ? "solution" : "cfn";
    out->tasks = context->session.over ? 1 : CFN_WORKERS;
    out->join = "cfn-join";
    out->wrap = "solution";
    out->state = context->session.over ? "finalizing" : "running";
    out->rollouts =
        context->session.over ? context->session.answer.units : (uint64_t)context->session.search.position;
    return show(context, context->session.over ? "emit" : "search", out, e);
}

static enum error_code run_problem(struct context *context, struct tasks_result *out, struct error *e)
{
    enum error_code code = begin(context, e);
    if (code == ERROR_OK)
        code = cfn_session_next(&context->session, e);
    return code == ERROR_OK && !stopped(context) ? follow(context, out, e) : code;
}

static enum error_code run_phase(struct context *context, const struct tasks_task *task,
                                 struct tasks_result *out, struct error *e)
{
    struct text bytes = {0};
    if (task->index >= CFN_WORKERS || context->session.over)
        return error_set(e, ERROR_INTERNAL, "there is no phase for task %u", task->index);
    context->at[0] = 0;
    cfn_search_work(&context->session.search, (int)task->index);
    cfn_saved_write_worker(&context->session.search.worker[task->index], &bytes);
    tasks_output_add(out, "worker", "", bytes.at, bytes.size, false);
    return ERROR_OK;
}

static enum error_code run_join(struct context *context, const struct tasks_task *task,
                                struct tasks_result *out, struct error *e)
{
    if (task->part_count != CFN_WORKERS || context->session.over)
        return error_set(e, ERROR_INTERNAL, "%u parts of a phase", task->part_count);
    context->at[0] = 0;
    for (int k = 0; k < CFN_WORKERS; k++) {
        enum error_code code = cfn_saved_read_worker(task->parts[k].bytes, task->parts[k].size,
                                                     &context->session.search.worker[k], e);
        if (code != ERROR_OK)
            return e->code = ERROR_INTERNAL;
    }
    cfn_search_join(&context->session.search);
    enum error_code code = cfn_session_next(&context->session, e);
    return code == ERROR_OK && !stopped(context) ? follow(context, out, e) : code;
}

static enum error_code run_solution(struct context *context, const struct tasks_task *task,
                                    struct tasks_result *out, struct error *e)
{
    bool whole = queue_field(task->fields, "stop")[0] == 0;
    enum error_code code = cfn_session_settle(&context->session, !whole, e);
    if (code == ERROR_OK)
        code = cfn_best_offer(&context->incumbent, &context->session, e);
    if (code != ERROR_OK)
        return code;
    context->at[0] = 0;
    char *json = api_solution_json(&context->problem, &context->session.answer, context->request.seed);
    tasks_output_add(out, "solution.json", "application/json", json, strlen(json), true);
    out->finished = true;
    out->rollouts = context->session.answer.units;
    return show(context, "done", out, e);
}

/* A job that started over and was told to end before it had a session again: what it had is its answer,
 * else what needs no search. */
static enum error_code end_without_session(struct context *context, struct error *e)
{
    if (!context->incumbent.values)
        return begin(context, e);
    if (context->begun)
        cfn_session_release(&context->session);
    context->begun = true;
    context->session = (struct cfn_session){.problem = &context->problem,
                                            .budget = &context->budget,
                                            .over = true,
                                            .cut = true,
                                            .answer = {.status = CFN_STATUS_FEASIBLE}};
    return ERROR_OK;
}

static enum error_code run_kind(struct context *context, const struct tasks_task *task,
                                struct tasks_result *out, struct error *e)
{
    enum error_code code = need_incumbent(context, task, e);
    if (code != ERROR_OK)
        return code;
    if (strcmp(task->kind, "problem") == 0)
        return run_problem(context, out, e);
    bool none = strcmp(task->kind, "solution") == 0 && !queue_field(task->fields, "b:session")[0];
    code = none ? end_without_session(context, e) : need_session(context, task, e);
    if (code != ERROR_OK)
        return code;
    if (strcmp(task->kind, "cfn") == 0)
        return run_phase(context, task, out, e);
    if (strcmp(task->kind, "cfn-join") == 0)
        return run_join(context, task, out, e);
    if (strcmp(task->kind, "solution") == 0)
        return run_solution(context, task, out, e);
    return error_set(e, ERROR_INTERNAL, "there is no task '%s'", task->kind);
}

static enum error_code run(void *context, const struct tasks_task *task, struct tasks_result *out,
                           struct error *e)
{
    struct context *work = context;
    work->now = task;
    enum error_code code = run_kind(work, task, out, e);
    if (code == ERROR_OK && stopped(work)) {
        work->at[0] = 0; /* stopped in the middle of a phase: this session must not be taken for the job's */
        code = error_set(e, ERROR_CANCELLED, "the task was told to stop");
    }
    work->now = NULL;
    if (code != ERROR_OK && work->begun) {
        cfn_session_release(&work->session);
        work->begun = false;
    }
    return code;
}

const struct tasks_table *tasks_problems(void)
{
    static struct tasks_table table = {NULL, context_open, context_close, run, api_error_json};
    table.build = api_build();
    return &table;
}
