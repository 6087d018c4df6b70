/* The planner's jobs as tasks, over api/job.h:
 *
 *   read       module text -> program image (blob `image`), in the sandboxed reader
 *   analyse    image -> first snapshot of the search (blob `snapshot`)
 *   rollouts   snapshot, index -> delta (also the rounds of the local search: search_task does both)
 *   merge      snapshot, deltas -> next snapshot, plan.json of the best so far
 *   network    snapshot -> what planner cfn found (blob `network`), where the request asks for it
 *   emit       snapshot -> artifacts
 *
 * A job that starts over (queue/library_restart.lua) has a blob `incumbent`, the plan.json of its best plan
 * so far: it is shown until the search has a better one, and competes where the search is cut short. `emit`
 * of such a job may have neither image nor snapshot: it reads the module and takes the search's beginning.
 *
 * A process that works on a job keeps its parsed program, analysis, evaluator and search: a rollouts task
 * then costs the task alone. The job's `stop` field says that the search was ended early (cancel, deadline,
 * seconds). */
#include "workers/tasks.h"

#include "api/job.h"
#include "base/hash.h"
#include "base/log.h"
#include "ir/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct context {
    struct api_request *request;
    char module[STORE_DIGEST_SIZE];
    struct ir_program image;
    struct api_job *job; /* NULL until the first task that needs it */
    struct evaluator_session *session;
    char snapshot_digest[STORE_DIGEST_SIZE];
    struct store_view snapshot;
    char best[33];                     /* hash of the plan that plan.json was last written for */
    char incumbent[STORE_DIGEST_SIZE]; /* blob that the job was last given as its incumbent */
};

static void context_close(void *user)
{
    struct context *c = user;
    evaluator_session_destroy(c->session);
    api_job_destroy(c->job);
    ir_program_release(&c->image);
    store_view_release(&c->snapshot);
    api_request_destroy(c->request);
    free(c);
}

static enum error_code context_open(const struct tasks_task *t, void **out, struct error *e)
{
    struct context *c = mem_zalloc(1, sizeof *c);
    struct store_view text;
    snprintf(c->module, sizeof c->module, "%s", queue_field(t->fields, "module"));
    enum error_code code = store_get(t->store, queue_field(t->fields, "request"), &text, e);
    if (code == ERROR_OK) {
        code = api_request_parse(text.bytes, text.size, c->module, false, &c->request, e);
        store_view_release(&text);
    }
    if (code != ERROR_OK) {
        context_close(c);
        return code;
    }
    *out = c;
    return ERROR_OK;
}

static enum error_code read_module(struct context *c, const struct tasks_task *t, struct ir_program *out,
                                   struct error *e)
{
    struct store_view text;
    enum error_code code = store_get(t->store, c->module, &text, e);
    if (code != ERROR_OK)
        return code;
    code = ir_read(text.bytes, text.size, NULL, out, e);
    store_view_release(&text);
    return code;
}

static enum error_code open_image(struct context *c, const struct tasks_task *t, struct error *e)
{
    struct store_view view;
    enum error_code code = tasks_blob(t, "image", &view, e);
    if (code != ERROR_OK)
        return code;
    code = ir_image_open(view.bytes, view.size, &c->image, e);
    if (code != ERROR_OK) /* else the program has taken the mapping over and unmaps it */
        store_view_release(&view);
    return code;
}

static bool has_blob(const struct tasks_task *t, const char *field)
{
    return queue_field(t->fields, field)[0] != 0;
}

/* the job of this process, made once; deterministic, so every process has the same */
static enum error_code need_job(struct context *c, const struct tasks_task *t, struct error *e)
{
    if (c->job)
        return ERROR_OK;
    enum error_code code = has_blob(t, "b:image") ? open_image(c, t, e) : read_module(c, t, &c->image, e);
    if (code != ERROR_OK)
        return code;
    code = api_job_create(c->request, &c->image, &c->job, e);
    if (code == ERROR_OK)
        c->session = evaluator_session_create(api_job_evaluator(c->job));
    else
        ir_program_release(&c->image);
    return code;
}

/* An incumbent that is gone or does not apply any more is none: the search will find as good a plan. */
static enum error_code need_incumbent(struct context *c, const struct tasks_task *t, struct error *e)
{
    const char *digest = queue_field(t->fields, "b:incumbent");
    struct store_view text;
    struct error why = {0};
    if (!digest[0] || strcmp(digest, c->incumbent) == 0)
        return ERROR_OK;
    enum error_code code = store_get(t->store, digest, &text, &why);
    if (code == ERROR_OK) {
        code = api_job_take_incumbent(c->job, text.bytes, text.size, &why);
        store_view_release(&text);
    }
    if (code == ERROR_IO || code == ERROR_UNAVAILABLE || code == ERROR_CANCELLED) {
        *e = why;
        return code;
    }
    if (code != ERROR_OK)
        log_event("incumbent_lost", "job", t->job, "reason", why.message, NULL);
    snprintf(c->incumbent, sizeof c->incumbent, "%s", digest);
    return ERROR_OK;
}

static enum error_code need_snapshot(struct context *c, const struct tasks_task *t, struct error *e)
{
    const char *digest = queue_field(t->fields, "b:snapshot");
    if (strcmp(digest, c->snapshot_digest) == 0)
        return ERROR_OK;
    store_view_release(&c->snapshot);
    c->snapshot = (struct store_view){0};
    c->snapshot_digest[0] = 0;
    enum error_code code = tasks_blob(t, "snapshot", &c->snapshot, e);
    if (code == ERROR_OK)
        snprintf(c->snapshot_digest, sizeof c->snapshot_digest, "%s", digest);
    return code;
}

/* ---- steps of one task ---- */

static enum error_code run_read(struct context *c, const struct tasks_task *t, struct tasks_result *out,
                                struct error *e)
{
    struct ir_program image;
    enum error_code code = read_module(c, t, &image, e);
    if (code != ERROR_OK)
        return code;
    char *copy = mem_alloc(image.image_size);
    memcpy(copy, image.image, image.image_size);
    tasks_output_add(out, "image", "", copy, image.image_size, false);
    ir_program_release(&image);
    out->kind = "analyse";
    out->tasks = 1;
    out->wrap = has_blob(t, "b:incumbent") ? "emit" : "";
    out->state = "validating";
    out->progress = api_progress_stage_json("analyse", queue_field(t->fields, "progress"));
    return ERROR_OK;
}

/* what follows a snapshot, and what the job shows meanwhile */
static enum error_code follow(struct context *c, const struct tasks_task *t, struct search_blob *snapshot,
                              struct tasks_result *out, struct error *e)
{
    struct search_state *state = mem_alloc(sizeof *state);
    enum error_code code = search_open(api_job_search(c->job), snapshot->bytes, snapshot->size, state, e);
    struct search_plan best;
    char hash[33], *plan = NULL;
    if (code == ERROR_OK) {
        api_job_best(c->job, state, false, &best);
        hash128_format(best.hash, hash);
        if (strcmp(hash, c->best) != 0 || !has_blob(t, "a:plan.json"))
            code = api_job_plan(c->job, state, false, &plan, e);
    }
    if (code != ERROR_OK) {
        free(state);
        free(snapshot->bytes);
        return code;
    }
    if (plan) {
        tasks_output_add(out, "plan.json", "application/json", plan, strlen(plan), true);
        memcpy(c->best, hash, sizeof hash);
    }
    bool done = state->phase == SEARCH_DONE, network = done && api_job_wants_network(c->job, true);
    const char *stage = done ? "emit" : state->phase == SEARCH_POLISH ? "polish" : "search";
    out->kind = network ? "network" : done ? "emit" : "rollouts";
    out->tasks = done ? 1 : state->tasks;
    out->join = "merge";
    out->wrap = "emit";
    out->state = done && !network ? "finalizing" : "running";
    out->progress = api_progress_json(c->job, network ? "network" : stage, state, false);
    out->rollouts = state->rollouts;
    out->dropped = state->dropped;
    tasks_output_add(out, "snapshot", "", (char *)snapshot->bytes, snapshot->size, false);
    free(state);
    return ERROR_OK;
}

static enum error_code run_analyse(struct context *c, const struct tasks_task *t, struct tasks_result *out,
                                   struct error *e)
{
    struct search_blob snapshot = {0};
    search_begin(api_job_search(c->job), &snapshot);
    return follow(c, t, &snapshot, out, e);
}

static enum error_code run_merge(struct context *c, const struct tasks_task *t, struct tasks_result *out,
                                 struct error *e)
{
    struct search_blob next = {0}, *deltas = mem_zalloc(t->part_count + 1, sizeof *deltas);
    for (uint32_t i = 0; i < t->part_count; i++)
        deltas[i] = (struct search_blob){(unsigned char *)(uintptr_t)t->parts[i].bytes, t->parts[i].size};
    enum error_code code = search_merge(api_job_search(c->job), c->snapshot.bytes, c->snapshot.size, deltas,
                                        t->part_count, &next, e);
    free(deltas);
    return code == ERROR_OK ? follow(c, t, &next, out, e) : code;
}

static enum error_code take_network(struct context *c, const struct tasks_task *t, struct error *e)
{
    struct store_view answer;
    enum error_code code = tasks_blob(t, "network", &answer, e);
    if (code != ERROR_OK)
        return code;
    code = api_job_take_network(c->job, answer.bytes, answer.size, e);
    store_view_release(&answer);
    return code;
}

/* from the snapshot, or from the beginning of the search where there is none */
static enum error_code open_state(struct context *c, struct search_state *out, struct error *e)
{
    struct search_blob begun = {0};
    if (c->snapshot_digest[0])
        return search_open(api_job_search(c->job), c->snapshot.bytes, c->snapshot.size, out, e);
    search_begin(api_job_search(c->job), &begun);
    enum error_code code = search_open(api_job_search(c->job), begun.bytes, begun.size, out, e);
    free(begun.bytes);
    return code;
}

static enum error_code run_emit(struct context *c, const struct tasks_task *t, struct tasks_result *out,
                                struct error *e)
{
    struct api_artifacts artifacts = {0};
    struct api_outcome outcome;
    struct search_state *state = mem_alloc(sizeof *state);
    bool whole = queue_field(t->fields, "stop")[0] == 0;
    enum error_code code = queue_field(t->fields, "b:network")[0] ? take_network(c, t, e) : ERROR_OK;
    if (code == ERROR_OK)
        code = open_state(c, state, e);
    if (code == ERROR_OK)
        code = api_job_finish(c->job, state, whole, &artifacts, &outcome, e);
    if (code == ERROR_OK) {
        for (uint32_t i = 0; i < artifacts.count; i++) {
            struct api_artifact *a = &artifacts.at[i];
            tasks_output_add(out, a->name, a->media_type, a->bytes, a->size, true);
            a->bytes = NULL;
        }
        out->finished = true;
        out->progress = api_progress_json(c->job, "done", state, whole);
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
    const struct tasks_task *t = user;
    return t->stopping(t->user);
}

/* planner cfn: after the search, before the artifacts */
static enum error_code run_network(struct context *c, const struct tasks_task *t, struct tasks_result *out,
                                   struct error *e)
{
    struct search_blob answer = {0};
    struct search_state *state = mem_alloc(sizeof *state);
    enum error_code code = open_state(c, state, e);
    if (code == ERROR_OK)
        code = api_job_network(c->job, state, 1, asked_to_stop, (void *)(uintptr_t)t, &answer, e);
    if (code == ERROR_OK)
        code = api_job_take_network(c->job, answer.bytes, answer.size, e);
    if (code == ERROR_OK)
        out->progress = api_progress_json(c->job, "emit", state, false);
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

static enum error_code run_rollouts(struct context *c, const struct tasks_task *t, struct tasks_result *out,
                                    struct error *e)
{
    struct search_blob delta = {0};
    struct search_control control = {asked_to_stop, (void *)(uintptr_t)t};
    enum error_code code = search_task(api_job_search(c->job), c->snapshot.bytes, c->snapshot.size, t->index,
                                       c->session, &control, &delta, e);
    if (code != ERROR_OK)
        return code;
    tasks_output_add(out, "delta", "", (char *)delta.bytes, delta.size, false);
    /* a step of one task has no join: its only task merges as well */
    if (t->count > 1)
        return ERROR_OK;
    struct tasks_part part = {out->outputs.at[0].bytes, out->outputs.at[0].size};
    struct tasks_task merge = *t;
    struct tasks_result merged = {0};
    merge.parts = &part;
    merge.part_count = 1;
    code = run_merge(c, &merge, &merged, e);
    tasks_result_release(out);
    *out = merged;
    return code;
}

static enum error_code run(void *context, const struct tasks_task *t, struct tasks_result *out,
                           struct error *e)
{
    struct context *c = context;
    if (strcmp(t->kind, "read") == 0)
        return run_read(c, t, out, e);
    enum error_code code = need_job(c, t, e);
    if (code != ERROR_OK)
        return code;
    code = need_incumbent(c, t, e);
    if (code != ERROR_OK)
        return code;
    if (strcmp(t->kind, "analyse") == 0)
        return run_analyse(c, t, out, e);
    bool none = strcmp(t->kind, "emit") == 0 && !has_blob(t, "b:snapshot");
    code = none ? ERROR_OK : need_snapshot(c, t, e);
    if (code != ERROR_OK)
        return code;
    if (strcmp(t->kind, "rollouts") == 0)
        return run_rollouts(c, t, out, e);
    if (strcmp(t->kind, "merge") == 0)
        return run_merge(c, t, out, e);
    if (strcmp(t->kind, "network") == 0)
        return run_network(c, t, out, e);
    if (strcmp(t->kind, "emit") == 0)
        return run_emit(c, t, out, e);
    return error_set(e, ERROR_INTERNAL, "there is no task '%s'", t->kind);
}

const struct tasks_table *tasks_planner(void)
{
    static struct tasks_table table = {NULL, context_open, context_close, run, api_error_json};
    table.build = api_build();
    return &table;
}
