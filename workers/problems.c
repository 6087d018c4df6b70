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

#include "api/job.h"
#include "api/problem.h"
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
    const struct context *c = user;
    return c->now && c->now->stopping(c->now->user);
}

static void context_close(void *user)
{
    struct context *c = user;
    if (c->begun)
        cfn_session_release(&c->session);
    cfn_best_release(&c->incumbent);
    cfn_problem_release(&c->problem);
    free(c);
}

static enum error_code context_open(const struct tasks_task *t, void **out, struct error *e)
{
    struct context *c = mem_zalloc(1, sizeof *c);
    struct store_view view;
    enum error_code code = store_get(t->store, queue_field(t->fields, "request"), &view, e);
    if (code == ERROR_OK) {
        code = api_problem_request_parse(view.bytes, view.size, &c->request, e);
        store_view_release(&view);
    }
    if (code == ERROR_OK)
        code = store_get(t->store, queue_field(t->fields, "module"), &view, e);
    if (code == ERROR_OK) {
        code = cfn_problem_read(view.bytes, view.size, &c->problem, e);
        store_view_release(&view);
    }
    if (code != ERROR_OK) {
        context_close(c);
        return code;
    }
    c->budget = (struct cfn_budget){
        .units = c->request.units, .seed = c->request.seed, .threads = 1, .cancelled = stopped, .user = c};
    *out = c;
    return ERROR_OK;
}

static enum error_code begin(struct context *c, struct error *e)
{
    if (c->begun)
        cfn_session_release(&c->session);
    c->begun = true;
    c->at[0] = 0;
    return cfn_session_begin(&c->session, &c->problem, &c->budget, e);
}

/* the session as of the job's last join */
static enum error_code need_session(struct context *c, const struct tasks_task *t, struct error *e)
{
    const char *digest = queue_field(t->fields, "b:session");
    struct store_view view;
    if (c->begun && strcmp(c->at, digest) == 0)
        return ERROR_OK;
    enum error_code code = !c->begun || c->session.over ? begin(c, e) : ERROR_OK;
    if (code != ERROR_OK)
        return code;
    code = tasks_blob(t, "session", &view, e);
    if (code != ERROR_OK)
        return code;
    code = cfn_session_read(&c->session, view.bytes, view.size, e);
    store_view_release(&view);
    if (code != ERROR_OK)
        return e->code = ERROR_INTERNAL;
    memcpy(c->at, digest, sizeof c->at);
    return ERROR_OK;
}

/* The incumbent that the job has now. One that is gone or damaged counts as none: the search will find as
 * good an answer. */
static enum error_code need_incumbent(struct context *c, const struct tasks_task *t, struct error *e)
{
    const char *digest = queue_field(t->fields, "b:incumbent");
    struct store_view view;
    struct error why = {0};
    if (strcmp(digest, c->incumbent_at) == 0)
        return ERROR_OK;
    cfn_best_release(&c->incumbent);
    c->incumbent_at[0] = 0;
    enum error_code code = digest[0] ? store_get(t->store, digest, &view, &why) : ERROR_NOT_FOUND;
    if (code == ERROR_OK) {
        code = cfn_best_read(&c->problem, view.bytes, view.size, &c->incumbent, &why);
        store_view_release(&view);
    }
    if (code == ERROR_IO || code == ERROR_UNAVAILABLE) {
        *e = why;
        return code;
    }
    if (code != ERROR_OK && digest[0])
        log_event("incumbent_lost", "job", t->job, "reason", why.message, NULL);
    snprintf(c->incumbent_at, sizeof c->incumbent_at, "%s", digest);
    return ERROR_OK;
}

/* what the job shows: the better of session and incumbent, which becomes the next incumbent when it is a
 * new one */
static enum error_code show(struct context *c, const char *stage, struct tasks_result *out, struct error *e)
{
    struct cfn_best now;
    struct text t = {0};
    enum error_code code = cfn_best_of(&c->session, &now, e);
    if (code != ERROR_OK)
        return code;
    if (cfn_best_merge(&c->incumbent, &now) && !out->finished) {
        cfn_best_write(&c->incumbent, &c->problem, &t);
        tasks_output_add(out, "incumbent", "", t.at, t.size, false);
        /* no blob's: whether this result counts is not known yet */
        snprintf(c->incumbent_at, sizeof c->incumbent_at, "?");
    }
    out->progress = api_problem_progress_json(&c->session, &c->incumbent, stage);
    return ERROR_OK;
}

/* the session after a join or at the beginning, and what comes next */
static enum error_code follow(struct context *c, struct tasks_result *out, struct error *e)
{
    struct text t = {0};
    cfn_session_write(&c->session, &t);
    c->at[0] = 0;
    tasks_output_add(out, "session", "", t.at, t.size, false);
    out->kind = c->session.over ? "solution" : "cfn";
    out->tasks = c->session.over ? 1 : CFN_WORKERS;
    out->join = "cfn-join";
    out->wrap = "solution";
    out->state = c->session.over ? "finalizing" : "running";
    out->rollouts = c->session.over ? c->session.answer.units : (uint64_t)c->session.search.position;
    return show(c, c->session.over ? "emit" : "search", out, e);
}

static enum error_code run_problem(struct context *c, struct tasks_result *out, struct error *e)
{
    enum error_code code = begin(c, e);
    if (code == ERROR_OK)
        code = cfn_session_next(&c->session, e);
    return code == ERROR_OK && !stopped(c) ? follow(c, out, e) : code;
}

static enum error_code run_phase(struct context *c, const struct tasks_task *t, struct tasks_result *out,
                                 struct error *e)
{
    struct text bytes = {0};
    if (t->index >= CFN_WORKERS || c->session.over)
        return error_set(e, ERROR_INTERNAL, "there is no phase for task %u", t->index);
    c->at[0] = 0;
    cfn_search_work(&c->session.search, (int)t->index);
    cfn_saved_write_worker(&c->session.search.worker[t->index], &bytes);
    tasks_output_add(out, "worker", "", bytes.at, bytes.size, false);
    return ERROR_OK;
}

static enum error_code run_join(struct context *c, const struct tasks_task *t, struct tasks_result *out,
                                struct error *e)
{
    if (t->part_count != CFN_WORKERS || c->session.over)
        return error_set(e, ERROR_INTERNAL, "%u parts of a phase", t->part_count);
    c->at[0] = 0;
    for (int k = 0; k < CFN_WORKERS; k++) {
        enum error_code code =
            cfn_saved_read_worker(t->parts[k].bytes, t->parts[k].size, &c->session.search.worker[k], e);
        if (code != ERROR_OK)
            return e->code = ERROR_INTERNAL;
    }
    cfn_search_join(&c->session.search);
    enum error_code code = cfn_session_next(&c->session, e);
    return code == ERROR_OK && !stopped(c) ? follow(c, out, e) : code;
}

static enum error_code run_solution(struct context *c, const struct tasks_task *t, struct tasks_result *out,
                                    struct error *e)
{
    bool whole = queue_field(t->fields, "stop")[0] == 0;
    enum error_code code = cfn_session_settle(&c->session, !whole, e);
    if (code == ERROR_OK)
        code = cfn_best_offer(&c->incumbent, &c->session, e);
    if (code != ERROR_OK)
        return code;
    c->at[0] = 0;
    char *json = api_solution_json(&c->problem, &c->session.answer, c->request.seed);
    tasks_output_add(out, "solution.json", "application/json", json, strlen(json), true);
    out->finished = true;
    out->rollouts = c->session.answer.units;
    return show(c, "done", out, e);
}

/* A job that started over and was told to end before it had a session again: what it had is its answer,
 * else what needs no search. */
static enum error_code end_without_session(struct context *c, struct error *e)
{
    if (!c->incumbent.values)
        return begin(c, e);
    if (c->begun)
        cfn_session_release(&c->session);
    c->begun = true;
    c->session = (struct cfn_session){.problem = &c->problem,
                                      .budget = &c->budget,
                                      .over = true,
                                      .cut = true,
                                      .answer = {.status = CFN_STATUS_FEASIBLE}};
    return ERROR_OK;
}

static enum error_code run_kind(struct context *c, const struct tasks_task *t, struct tasks_result *out,
                                struct error *e)
{
    enum error_code code = need_incumbent(c, t, e);
    if (code != ERROR_OK)
        return code;
    if (strcmp(t->kind, "problem") == 0)
        return run_problem(c, out, e);
    bool none = strcmp(t->kind, "solution") == 0 && !queue_field(t->fields, "b:session")[0];
    code = none ? end_without_session(c, e) : need_session(c, t, e);
    if (code != ERROR_OK)
        return code;
    if (strcmp(t->kind, "cfn") == 0)
        return run_phase(c, t, out, e);
    if (strcmp(t->kind, "cfn-join") == 0)
        return run_join(c, t, out, e);
    if (strcmp(t->kind, "solution") == 0)
        return run_solution(c, t, out, e);
    return error_set(e, ERROR_INTERNAL, "there is no task '%s'", t->kind);
}

static enum error_code run(void *context, const struct tasks_task *t, struct tasks_result *out,
                           struct error *e)
{
    struct context *c = context;
    c->now = t;
    enum error_code code = run_kind(c, t, out, e);
    if (code == ERROR_OK && stopped(c)) {
        c->at[0] = 0; /* stopped in the middle of a phase: this session must not be taken for the job's */
        code = error_set(e, ERROR_CANCELLED, "the task was told to stop");
    }
    c->now = NULL;
    if (code != ERROR_OK && c->begun) {
        cfn_session_release(&c->session);
        c->begun = false;
    }
    return code;
}

const struct tasks_table *tasks_problems(void)
{
    static struct tasks_table table = {NULL, context_open, context_close, run, api_error_json};
    table.build = api_build();
    return &table;
}
