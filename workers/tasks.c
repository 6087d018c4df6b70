/* What all kinds of tasks share: reading a job's blobs, gathering outputs; and the table that sends a job
 * to the planner or to the solver of contest problems by its first step. See tasks.h. */
#include "workers/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum error_code tasks_blob(const struct tasks_task *task, const char *name, struct store_view *out,
                           struct error *e)
{
    char field[80];
    snprintf(field, sizeof field, "b:%s", name);
    const char *digest = queue_field(task->fields, field);
    if (!digest[0])
        return error_set(e, ERROR_INTERNAL, "the job has no blob '%s' at step %s", name, task->kind);
    return store_get(task->store, digest, out, e);
}

void tasks_output_add(struct tasks_result *result, const char *name, const char *media_type, char *bytes,
                      size_t size, bool artifact)
{
    struct tasks_output output = {.bytes = bytes, .size = size, .artifact = artifact};
    snprintf(output.name, sizeof output.name, "%s", name);
    snprintf(output.media_type, sizeof output.media_type, "%s", media_type);
    VEC_PUSH(&result->outputs, output);
}

void tasks_result_release(struct tasks_result *result)
{
    for (size_t i = 0; i < result->outputs.count; i++)
        free(result->outputs.at[i].bytes);
    VEC_FREE(&result->outputs);
    free(result->progress);
    *result = (struct tasks_result){0};
}

/* ---- both kinds of jobs ---- */

struct either {
    const struct tasks_table *table;
    void *context;
};

static enum error_code either_open(const struct tasks_task *task, void **out, struct error *e)
{
    struct either *either = mem_zalloc(1, sizeof *either);
    bool problem = strcmp(queue_field(task->fields, "first"), QUEUE_PROBLEM_KIND) == 0;
    either->table = problem ? tasks_problems() : tasks_planner();
    enum error_code code = either->table->open(task, &either->context, e);
    if (code == ERROR_OK)
        *out = either;
    else
        free(either);
    return code;
}

static void either_close(void *user)
{
    struct either *either = user;
    either->table->close(either->context);
    free(either);
}

static enum error_code either_run(void *user, const struct tasks_task *task, struct tasks_result *out,
                                  struct error *e)
{
    struct either *either = user;
    return either->table->run(either->context, task, out, e);
}

const struct tasks_table *tasks_service(void)
{
    static struct tasks_table table = {NULL, either_open, either_close, either_run, NULL};
    table.build = tasks_planner()->build;
    table.error_json = tasks_planner()->error_json;
    return &table;
}
