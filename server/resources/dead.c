/* POST /v1/jobs:requeue: the tenant's dead letters, jobs that took too many attempts (or, with
 * ?state=failed, that failed), start again under their ids; newest first, at most so many in one call.
 * Each one as POST /v1/jobs/{id}:retry does it: one that has changed its state meanwhile is passed over. */
#include "server/resources/handlers.h"
#include "server/resources/resources.h"

#include "base/log.h"

enum {
    REQUEUE_MOST = 100
}; /* jobs of one call: each is a call of Redis, an archived one reads a blob, too */

static enum error_code take_query(struct exchange *exchange, char state[32], long *limit, struct error *e)
{
    char number[16], *end;
    *limit = REQUEUE_MOST;
    snprintf(state, 32, "dead");
    if (request_query(exchange, "state", state, 32) && strcmp(state, "dead") != 0 &&
        strcmp(state, "failed") != 0)
        return error_set_pointer(e, ERROR_MALFORMED, "state", "dead and failed jobs can be started again");
    if (!request_query(exchange, "limit", number, sizeof number))
        return ERROR_OK;
    *limit = strtol(number, &end, 10);
    if (end == number || *end || *limit < 1 || *limit > REQUEUE_MOST)
        return error_set_pointer(e, ERROR_MALFORMED, "limit", "a limit is 1 to %d", REQUEUE_MOST);
    return ERROR_OK;
}

static enum error_code list(struct exchange *exchange, const char *state, long limit, struct queue_page *out,
                            struct error *e)
{
    struct queue_filter filter = {.tenant = exchange->tenant, .state = state};
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_list(queue, &filter, (size_t)limit, out, e);
    pool_give(exchange->server, queue);
    return code;
}

/* the limit on open jobs ends it: what was started by then is said, and `more` */
static enum error_code requeue(struct exchange *exchange, const struct queue_page *page, struct text *text,
                               bool *more, struct error *e)
{
    bool first = true;
    *more = page->more;
    for (size_t i = 0; i < page->count; i++) {
        const char *name = queue_field(&page->at[i].fields, "name");
        enum error_code code = job_retry(exchange, page->at[i].id, e);
        if (code == ERROR_TOO_MANY_JOBS && !first) {
            *more = true;
            return ERROR_OK;
        }
        if (code == ERROR_CONFLICT || code == ERROR_NOT_FOUND || code == ERROR_GONE)
            continue;
        if (code != ERROR_OK)
            return code;
        text_add(text, first ? "" : ",");
        name = name[0] ? name : page->at[i].id;
        log_json_string(text, name, strlen(name));
        first = false;
    }
    return ERROR_OK;
}

void handle_job_requeue(struct exchange *exchange)
{
    struct queue_page page = {0};
    struct text text = {0};
    struct error e = {0};
    char state[32];
    long limit;
    bool more = false;
    enum error_code code = take_query(exchange, state, &limit, &e);
    if (code == ERROR_OK)
        code = job_memory_check(exchange, &e);
    if (code == ERROR_OK)
        code = list(exchange, state, limit, &page, &e);
    text_add(&text, "{\"requeued\":[");
    if (code == ERROR_OK)
        code = requeue(exchange, &page, &text, &more, &e);
    queue_page_release(&page);
    if (code != ERROR_OK) {
        text_release(&text);
        e.code = code;
        reply_problem(exchange, &e);
        return;
    }
    text_printf(&text, "],\"more\":%s}", more ? "true" : "false");
    reply_json(exchange, 200, &text, NULL, 0);
}
