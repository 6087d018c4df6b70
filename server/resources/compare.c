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

static enum error_code read_ids(struct exchange *x, struct compared *c, struct error *e)
{
    char list[API_COMPARE_MAX * (JOB_NAME_MAX + 1) + 64] = "", *rest = list, *id;
    request_query(x, "jobs", list, sizeof list);
    while ((id = strsep(&rest, ",")) != NULL) {
        bool twice = false;
        char known[QUEUE_ID_SIZE];
        for (size_t i = 0; i < c->count; i++)
            twice |= strcmp(c->jobs[i].id, id) == 0;
        if (!job_resolve(x, id, known) || twice || c->count == API_COMPARE_MAX) {
            c->count = 0;
            break;
        }
        snprintf(c->jobs[c->count++].id, sizeof c->jobs[0].id, "%s", id);
    }
    return c->count >= API_COMPARE_MIN
               ? ERROR_OK
               : error_set_pointer(e, ERROR_MALFORMED, "jobs",
                                   "two to eight different job ids are needed, with commas between");
}

static enum error_code find_texts(struct exchange *x, struct compared *c, struct error *e)
{
    for (size_t i = 0; i < c->count; i++) {
        struct queue_fields job;
        struct job_artifact a;
        char id[QUEUE_ID_SIZE];
        enum error_code code = job_load(x, c->jobs[i].id, id, &job, e);
        if (code != ERROR_OK)
            return code;
        snprintf(c->jobs[i].state, sizeof c->jobs[i].state, "%s", queue_field(&job, "state"));
        bool some = job_artifact(&job, "plan.json", &a);
        if (some)
            memcpy(c->jobs[i].plan, a.digest, STORE_DIGEST_SIZE);
        if (job_artifact(&job, "report.json", &a)) {
            memcpy(c->jobs[i].report, a.digest, STORE_DIGEST_SIZE);
            some = true;
        }
        queue_fields_release(&job);
        if (!some)
            return error_set(e, ERROR_NOT_READY, "job %s is %s and has no plan yet", c->jobs[i].id,
                             c->jobs[i].state);
    }
    return ERROR_OK;
}

static enum error_code compare(struct store *store, const struct compared *c, char **json, struct error *e)
{
    struct store_view views[2 * API_COMPARE_MAX] = {0};
    struct api_compare_item items[API_COMPARE_MAX] = {0};
    enum error_code code = ERROR_OK;
    for (size_t i = 0; i < c->count && code == ERROR_OK; i++) {
        items[i].name = c->jobs[i].id;
        items[i].state = c->jobs[i].state;
        if (c->jobs[i].plan[0])
            code = store_get(store, c->jobs[i].plan, &views[2 * i], e);
        if (code == ERROR_OK && c->jobs[i].report[0])
            code = store_get(store, c->jobs[i].report, &views[2 * i + 1], e);
        items[i].plan = views[2 * i].bytes;
        items[i].plan_size = views[2 * i].size;
        items[i].report = views[2 * i + 1].bytes;
        items[i].report_size = views[2 * i + 1].size;
    }
    if (code == ERROR_OK)
        code = api_compare(items, c->count, json, e);
    for (size_t i = 0; i < 2 * c->count; i++)
        store_view_release(&views[i]);
    return code;
}

static void run(struct server *s, void *user, struct what_if_result *out)
{
    struct error e = {0};
    enum error_code code = compare(s->store, user, &out->json, &e);
    e.code = code;
    out->error = e;
}

void handle_compare(struct exchange *x)
{
    struct error e = {0};
    struct compared *c = mem_zalloc(1, sizeof *c);
    enum error_code code = read_ids(x, c, &e);
    if (code == ERROR_OK)
        code = find_texts(x, c, &e);
    if (code == ERROR_OK)
        code = what_if_begin_other(x, run, c, &e);
    if (code == ERROR_OK)
        return;
    free(c);
    e.code = code;
    reply_problem(x, &e);
}
