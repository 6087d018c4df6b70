/* What the dashboard's forms do: one job or several cancelled, started again, deleted. The session's token
 * was checked before the form was read (server/access/admit.c); each job must be the caller's own, as
 * everywhere. */
#include "server/ui/handlers.h"
#include "server/ui/ui.h"

enum { JOBS_MAX = 200, COMPARED = 8 };

static enum error_code cancel(struct exchange *exchange, const char *id, bool discard, struct error *e)
{
    char state[32];
    bool ended;
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_cancel(queue, id, discard, state, &ended, e);
    pool_give(exchange->server, queue);
    if (code == ERROR_OK && ended && strcmp(state, "cancelled") != 0)
        code = error_set(e, ERROR_CONFLICT, "the job has ended as %s", state);
    return code;
}

static enum error_code act(struct exchange *exchange, const char *action, const char *name, struct error *e)
{
    struct queue_fields job;
    char id[QUEUE_ID_SIZE];
    enum error_code code = job_load(exchange, name, id, &job, e);
    queue_fields_release(&job);
    if (code != ERROR_OK)
        return code;
    if (strcmp(action, "cancel") == 0 || strcmp(action, "discard") == 0)
        return cancel(exchange, id, action[0] == 'd', e);
    if (strcmp(action, "retry") == 0)
        return job_retry(exchange, id, e);
    if (strcmp(action, "delete") != 0)
        return error_set_pointer(e, ERROR_MALFORMED, "action", "this is no action of a job");
    struct queue *queue = pool_take(exchange->server);
    code = queue_delete(queue, id, NULL, 0, e);
    pool_give(exchange->server, queue);
    return code;
}

/* two jobs, or up to COMPARED, side by side: a page of its own */
static void compare(struct exchange *exchange)
{
    struct text where = {0}, list = {0};
    char *id;
    size_t count = 0;
    for (; count <= COMPARED && (id = ui_field(exchange, "id", count)); count++) {
        text_printf(&list, "%s%s", count ? "," : "", id);
        free(id);
    }
    if (count < 2 || count > COMPARED) {
        ui_redirect(exchange, "/ui/jobs?action=compare");
    } else {
        text_add(&where, "/ui/compare");
        size_t at = where.size;
        ui_query(&where, "jobs", list.at);
        where.at[at] = '?';
        ui_redirect(exchange, where.at);
    }
    text_release(&list);
    text_release(&where);
}

/* several jobs: those that cannot be are counted, and the others are done */
void handle_ui_jobs_post(struct exchange *exchange)
{
    char *action = ui_field(exchange, "action", 0), *id;
    size_t done = 0, refused = 0;
    struct error e;
    struct text where = {0};
    if (!action) {
        error_set_pointer(&e, ERROR_MALFORMED, "action", "the form says no action");
        ui_problem(exchange, NULL, &e);
        return;
    }
    if (strcmp(action, "compare") == 0) {
        compare(exchange);
        free(action);
        return;
    }
    for (size_t i = 0; i < JOBS_MAX && (id = ui_field(exchange, "id", i)); i++) {
        if (act(exchange, action, id, &e) == ERROR_OK)
            done++;
        else
            refused++;
        free(id);
    }
    text_printf(&where, "/ui/jobs?done=%zu&refused=%zu", done, refused);
    ui_query(&where, "action", action);
    ui_redirect(exchange, where.at);
    text_release(&where);
    free(action);
}

void handle_ui_job_post(struct exchange *exchange)
{
    char *action = ui_field(exchange, "action", 0), where[160];
    struct error e;
    enum error_code code = action
                               ? act(exchange, action, exchange->params[0], &e)
                               : error_set_pointer(&e, ERROR_MALFORMED, "action", "the form says no action");
    if (code != ERROR_OK) {
        ui_problem(exchange, NULL, &e);
    } else {
        bool gone = strcmp(action, "delete") == 0;
        snprintf(where, sizeof where, gone ? "/ui/jobs?action=delete&done=1" : "/ui/jobs/%s",
                 exchange->params[0]);
        ui_redirect(exchange, where);
    }
    free(action);
}
