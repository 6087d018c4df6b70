/* GET /v1/compare?jobs=a,b,..: plans, prices and decisions of two to eight jobs of the caller side by
 * side. The texts are read and compared on the threads of what_if.c, never on an HTTP thread. */
#include "server/resources/handlers.h"
#include "server/resources/what_if.h"

#include "api/compare.h"
#include "server/resources/job_body.h"

struct compared {
    size_t count;
    struct {
        char id[JOB_NAME_MAX + 1], state[24], plan[STORE_DIGEST_SIZE], report[STORE_DIGEST_SIZE];
    } jobs[API_COMPARE_MAX];
};

static enum error_code read_ids(struct exchange *exchange, struct compared *compared, struct error *e)
{
    char list[API_COMPARE_MAX * (JOB_NAME_MAX + 1) + 64] = "", *rest = list, *id;
    request_query(exchange, "jobs", list, sizeof list);
    while ((id = strsep(&rest, ",")) != NULL) {
        bool twice = false;
        char known[QUEUE_ID_SIZE];
        for (size_t i = 0; i < compared->count; i++)
            twice |= strcmp(compared->jobs[i].id, id) == 0;
        if (!job_resolve(exchange, id, known) || twice || compared->count == API_COMPARE_MAX) {
            compared->count = 0;
            break;
        }
        snprintf(compared->jobs[compared->count++].id, sizeof compared->jobs[0].id, "%s", id);
    }
    return compared->count >= API_COMPARE_MIN
               ? ERROR_OK
               : error_set_pointer(e, ERROR_MALFORMED, "jobs",
                                   "two to eight different job ids are needed, with commas between");
}

static enum error_code find_texts(struct exchange *exchange, struct compared *compared, struct error *e)
{
    for (size_t i = 0; i < compared->count; i++) {
        struct queue_fields job;
        struct job_artifact artifact_row;
        char id[QUEUE_ID_SIZE];
        enum error_code code = job_load(exchange, compared->jobs[i].id, id, &job, e);
        if (code != ERROR_OK)
            return code;
        snprintf(compared->jobs[i].state, sizeof compared->jobs[i].state, "%s", queue_field(&job, "state"));
        bool some = job_artifact(&job, "plan.json", &artifact_row);
        if (some)
            memcpy(compared->jobs[i].plan, artifact_row.digest, STORE_DIGEST_SIZE);
        if (job_artifact(&job, "report.json", &artifact_row)) {
            memcpy(compared->jobs[i].report, artifact_row.digest, STORE_DIGEST_SIZE);
            some = true;
        }
        queue_fields_release(&job);
        if (!some)
            return error_set(e, ERROR_NOT_READY, "job %s is %s and has no plan yet", compared->jobs[i].id,
                             compared->jobs[i].state);
    }
    return ERROR_OK;
}

static enum error_code compare(struct store *store, const struct compared *compared, char **json,
                               struct error *e)
{
    struct store_view views[2 * API_COMPARE_MAX] = {0};
    struct api_compare_item items[API_COMPARE_MAX] = {0};
    enum error_code code = ERROR_OK;
    for (size_t i = 0; i < compared->count && code == ERROR_OK; i++) {
        items[i].name = compared->jobs[i].id;
        items[i].state = compared->jobs[i].state;
        if (compared->jobs[i].plan[0])
            code = store_get(store, compared->jobs[i].plan, &views[2 * i], e);
        if (code == ERROR_OK && compared->jobs[i].report[0])
            code = store_get(store, compared->jobs[i].report, &views[2 * i + 1], e);
        items[i].plan = views[2 * i].bytes;
        items[i].plan_size = views[2 * i].size;
        items[i].report = views[2 * i + 1].bytes;
        items[i].report_size = views[2 * i + 1].size;
    }
    if (code == ERROR_OK)
        code = api_compare(items, compared->count, json, e);
    for (size_t i = 0; i < 2 * compared->count; i++)
        store_view_release(&views[i]);
    return code;
}

static void run(struct server *server, void *user, struct what_if_result *out)
{
    struct error e = {0};
    enum error_code code = compare(server->store, user, &out->json, &e);
    e.code = code;
    out->error = e;
}

void handle_compare(struct exchange *exchange)
{
    struct error e = {0};
    struct compared *compared = mem_zalloc(1, sizeof *compared);
    enum error_code code = read_ids(exchange, compared, &e);
    if (code == ERROR_OK)
        code = find_texts(exchange, compared, &e);
    if (code == ERROR_OK)
        code = what_if_begin_other(exchange, run, compared, &e);
    if (code == ERROR_OK)
        return;
    free(compared);
    e.code = code;
    reply_problem(exchange, &e);
}
