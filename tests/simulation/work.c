/* See work.h. A snapshot is "<round> <digest>"; what a plan or a solution says is the snapshot that it was
 * made from. */
#include "work.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SNAPSHOT_SIZE = 80, RESULT_SIZE = SNAPSHOT_SIZE + 8 };

struct context {
    struct work_shape shape;
    char module[STORE_DIGEST_SIZE];
};

/* ---- the chain ---- */

static void digest_text(const char *text, char out[STORE_DIGEST_SIZE])
{
    uint8_t raw[32];
    sha256_bytes(text, strlen(text), raw);
    sha256_format(raw, out);
}

static void chain_begin(const char *module, char snapshot[SNAPSHOT_SIZE])
{
    char text[96], digest[STORE_DIGEST_SIZE];
    snprintf(text, sizeof text, "begin %s", module);
    digest_text(text, digest);
    snprintf(snapshot, SNAPSHOT_SIZE, "0 %s", digest);
}

static void chain_part(const char *snapshot, uint32_t index, char part[STORE_DIGEST_SIZE])
{
    char text[128];
    snprintf(text, sizeof text, "part %u of %s", index, snapshot);
    digest_text(text, part);
}

static void chain_merge(const char *snapshot, const char *parts, char next[SNAPSHOT_SIZE])
{
    char text[512], digest[STORE_DIGEST_SIZE];
    snprintf(text, sizeof text, "%s%s", snapshot, parts);
    digest_text(text, digest);
    snprintf(next, SNAPSHOT_SIZE, "%d %s", atoi(snapshot) + 1, digest);
}

/* other bytes than the snapshot's: one may be lost without the other */
static void chain_result(const char *snapshot, char result[RESULT_SIZE])
{
    snprintf(result, RESULT_SIZE, "result %s", snapshot);
}

const char *work_artifact(const struct work_shape *shape)
{
    return shape->problem ? "solution.json" : "plan.json";
}

void work_result(const struct work_shape *shape, const char *module, int round, char out[STORE_DIGEST_SIZE])
{
    char snapshot[SNAPSHOT_SIZE];
    chain_begin(module, snapshot);
    for (int done = 0; done < round; done++) {
        char parts[WORK_TASKS * STORE_DIGEST_SIZE] = "", part[STORE_DIGEST_SIZE], next[SNAPSHOT_SIZE];
        for (int i = 0; i < shape->tasks; i++) {
            chain_part(snapshot, (uint32_t)i, part);
            strcat(parts, part);
        }
        chain_merge(snapshot, parts, next);
        memcpy(snapshot, next, sizeof snapshot);
    }
    char text[RESULT_SIZE];
    chain_result(snapshot, text);
    digest_text(text, out);
}

/* ---- tasks ---- */

void work_request(const struct work_shape *shape, char out[64])
{
    snprintf(out, 64, "%d %d %d %d %d", shape->problem, shape->rounds, shape->tasks, shape->network,
             shape->referee);
}

static enum error_code open_job(const struct tasks_task *task, void **out, struct error *e)
{
    struct store_view view;
    struct context *context = mem_zalloc(1, sizeof *context);
    int problem, network, referee;
    enum error_code code = store_get(task->store, queue_field(task->fields, "request"), &view, e);
    if (code != ERROR_OK) {
        free(context);
        return code;
    }
    sscanf(view.bytes, "%d %d %d %d %d", &problem, &context->shape.rounds, &context->shape.tasks, &network,
           &referee);
    store_view_release(&view);
    context->shape.problem = problem;
    context->shape.network = network;
    context->shape.referee = referee;
    snprintf(context->module, sizeof context->module, "%s", queue_field(task->fields, "module"));
    *out = context;
    return ERROR_OK;
}

static void add_text(struct tasks_result *out, const char *name, const char *text, bool artifact)
{
    tasks_output_add(out, name, artifact ? "application/json" : "", mem_strdup(text), strlen(text), artifact);
}

static enum error_code read_blob(const struct tasks_task *task, const char *name, char out[SNAPSHOT_SIZE],
                                 struct error *e)
{
    struct store_view view;
    enum error_code code = tasks_blob(task, name, &view, e);
    if (code != ERROR_OK)
        return code;
    snprintf(out, SNAPSHOT_SIZE, "%.*s", (int)view.size, (const char *)view.bytes);
    store_view_release(&view);
    return ERROR_OK;
}

static const char *kept_name(const struct context *context)
{
    return context->shape.problem ? "session" : "snapshot";
}

/* what follows a snapshot */
static enum error_code follow(const struct context *context, const char *snapshot, struct tasks_result *out)
{
    const struct work_shape *shape = &context->shape;
    bool done = atoi(snapshot) >= shape->rounds, network = done && shape->network && !shape->problem;
    const char *wrap = shape->problem ? "solution" : "emit";
    char result[RESULT_SIZE];
    chain_result(snapshot, result);
    add_text(out, kept_name(context), snapshot, false);
    if (shape->problem)
        add_text(out, "incumbent", result, false);
    else
        add_text(out, "plan.json", result, true);
    out->kind = network ? "network" : done ? wrap : shape->problem ? "cfn" : "rollouts";
    out->tasks = done ? 1 : (uint32_t)shape->tasks;
    out->join = shape->problem ? "cfn-join" : "merge";
    out->wrap = wrap;
    out->state = done && !network ? "finalizing" : "running";
    out->progress = mem_strdup(shape->problem ? "{\"stage\":\"search\",\"cost\":1}"
                                              : "{\"stage\":\"search\",\"best\":{}}");
    out->rollouts = (uint64_t)atoi(snapshot) * 10;
    return ERROR_OK;
}

static enum error_code merge(const struct context *context, const struct tasks_task *task,
                             const struct tasks_part *part, uint32_t count, struct tasks_result *out,
                             struct error *e)
{
    char snapshot[SNAPSHOT_SIZE], next[SNAPSHOT_SIZE], parts[WORK_TASKS * STORE_DIGEST_SIZE] = "";
    enum error_code code = read_blob(task, kept_name(context), snapshot, e);
    if (code != ERROR_OK)
        return code;
    if (count != (uint32_t)context->shape.tasks)
        return error_set(e, ERROR_INTERNAL, "%u parts of a step", count);
    for (uint32_t i = 0; i < count; i++)
        strncat(parts, part[i].bytes, part[i].size);
    chain_merge(snapshot, parts, next);
    return follow(context, next, out);
}

static enum error_code run_part(const struct context *context, const struct tasks_task *task,
                                struct tasks_result *out, struct error *e)
{
    char snapshot[SNAPSHOT_SIZE], part[STORE_DIGEST_SIZE];
    enum error_code code = read_blob(task, kept_name(context), snapshot, e);
    if (code != ERROR_OK)
        return code;
    chain_part(snapshot, task->index, part);
    const struct tasks_part only = {part, strlen(part)};
    if (task->count == 1) /* no join: the only task merges as well */
        return merge(context, task, &only, 1, out, e);
    add_text(out, "delta", part, false);
    return ERROR_OK;
}

/* artifacts, from the snapshot, the incumbent of a job that started over, or the beginning */
static enum error_code run_end(const struct context *context, const struct tasks_task *task,
                               struct tasks_result *out, struct error *e)
{
    char snapshot[SNAPSHOT_SIZE] = "", result[RESULT_SIZE];
    struct store_view incumbent;
    const char *digest = queue_field(task->fields, "b:incumbent");
    bool kept = queue_field(task->fields, context->shape.problem ? "b:session" : "b:snapshot")[0];
    enum error_code code = kept ? read_blob(task, kept_name(context), snapshot, e) : ERROR_OK;
    if (code != ERROR_OK)
        return code;
    if (!kept)
        chain_begin(context->module, snapshot);
    chain_result(snapshot, result);
    if (!kept && digest[0] && store_get(task->store, digest, &incumbent, NULL) == ERROR_OK) {
        snprintf(result, sizeof result, "%s", (const char *)incumbent.bytes);
        store_view_release(&incumbent);
    }
    add_text(out, work_artifact(&context->shape), result, true);
    const char *stop = queue_field(task->fields, "stop");
    out->finished = !context->shape.referee || queue_field(task->fields, "b:emitted")[0] ||
                    (stop[0] && strcmp(stop, "seconds") != 0);
    out->progress = mem_strdup("{\"stage\":\"done\"}");
    if (out->finished)
        return ERROR_OK;
    add_text(out, "emitted", "1", false);
    out->kind = "referee";
    out->tasks = 1;
    out->wrap = "emit";
    out->state = "finalizing";
    return ERROR_OK;
}

static enum error_code run_single(const struct context *context, const struct tasks_task *task,
                                  struct tasks_result *out, struct error *e)
{
    char text[SNAPSHOT_SIZE];
    if (strcmp(task->kind, "analyse") == 0 || strcmp(task->kind, "problem") == 0) {
        enum error_code code = context->shape.problem ? ERROR_OK : read_blob(task, "image", text, e);
        if (code != ERROR_OK)
            return code;
        chain_begin(context->module, text);
        return follow(context, text, out);
    }
    bool first = strcmp(task->kind, "read") == 0;
    add_text(out, first ? "image" : "network", context->module, false);
    out->kind = first ? "analyse" : "emit";
    out->tasks = 1;
    out->wrap = !first || queue_field(task->fields, "b:incumbent")[0] ? "emit" : "";
    out->state = first ? "validating" : "finalizing";
    return ERROR_OK;
}

static enum error_code failure;

void work_fails(enum error_code code)
{
    failure = code;
}

static enum error_code run(void *user, const struct tasks_task *task, struct tasks_result *out,
                           struct error *e)
{
    const struct context *context = user;
    const char *kind = task->kind;
    if (task->stopping(task->user))
        return error_set(e, ERROR_CANCELLED, "stopped");
    if (failure != ERROR_OK)
        return error_set(e, failure, "simulated");
    if (strcmp(kind, "rollouts") == 0 || strcmp(kind, "cfn") == 0)
        return run_part(context, task, out, e);
    if (strcmp(kind, "merge") == 0 || strcmp(kind, "cfn-join") == 0)
        return merge(context, task, task->parts, task->part_count, out, e);
    if (strcmp(kind, "emit") == 0 || strcmp(kind, "solution") == 0)
        return run_end(context, task, out, e);
    return run_single(context, task, out, e);
}

static char *error_json(const struct error *e)
{
    return mem_printf("{\"code\":\"%s\",\"message\":\"%s\"}", error_code_text(e->code), e->message);
}

const struct tasks_table *work_table(int build)
{
    static const struct tasks_table tables[2] = {{"one", open_job, free, run, error_json},
                                                 {"two", open_job, free, run, error_json}};
    return &tables[build];
}
