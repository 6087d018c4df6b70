/* What all kinds of tasks share: reading a job's blobs, gathering outputs; and the table that sends a job
 * to the planner or to the solver of contest problems by its first step. See tasks.h. */
#include "workers/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum error_code tasks_blob(const struct tasks_task *t, const char *name, struct store_view *out,
                           struct error *e)
{
    char field[80];
    snprintf(field, sizeof field, "b:%s", name);
    const char *digest = queue_field(t->fields, field);
    if (!digest[0])
        return error_set(e, ERROR_INTERNAL, "the job has no blob '%s' at step %s", name, t->kind);
    return store_get(t->store, digest, out, e);
}

void tasks_output_add(struct tasks_result *r, const char *name, const char *media_type, char *bytes,
                      size_t size, bool artifact)
{
    struct tasks_output o = {.bytes = bytes, .size = size, .artifact = artifact};
    snprintf(o.name, sizeof o.name, "%s", name);
    snprintf(o.media_type, sizeof o.media_type, "%s", media_type);
    VEC_PUSH(&r->outputs, o);
}

void tasks_result_release(struct tasks_result *r)
{
    for (size_t i = 0; i < r->outputs.count; i++)
        free(r->outputs.at[i].bytes);
    VEC_FREE(&r->outputs);
    free(r->progress);
    *r = (struct tasks_result){0};
}

/* ---- both kinds of jobs ---- */

struct either {
    const struct tasks_table *table;
    void *context;
};

static enum error_code either_open(const struct tasks_task *t, void **out, struct error *e)
{
    struct either *c = mem_zalloc(1, sizeof *c);
    bool problem = strcmp(queue_field(t->fields, "first"), QUEUE_PROBLEM_KIND) == 0;
    c->table = problem ? tasks_problems() : tasks_planner();
    enum error_code code = c->table->open(t, &c->context, e);
    if (code == ERROR_OK)
        *out = c;
    else
        free(c);
    return code;
}

static void either_close(void *user)
{
    struct either *c = user;
    c->table->close(c->context);
    free(c);
}

static enum error_code either_run(void *user, const struct tasks_task *t, struct tasks_result *out,
                                  struct error *e)
{
    struct either *c = user;
    return c->table->run(c->context, t, out, e);
}

const struct tasks_table *tasks_service(void)
{
    static struct tasks_table table = {NULL, either_open, either_close, either_run, NULL};
    table.build = tasks_planner()->build;
    table.error_json = tasks_planner()->error_json;
    return &table;
}
