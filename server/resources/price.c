/* POST /v1/price: a module and a plan (or an expert's, or constraints) -> price and report. Nothing is
 * searched, no job is made; the computing is what_if.c's. */
#include "server/resources/handlers.h"
#include "server/resources/request_parts.h"
#include "server/resources/what_if.h"

#include "api/what_if.h"

struct pricing {
    struct api_what_if *what_if;    /* owned */
    char module[STORE_DIGEST_SIZE]; /* "": it came in the request's own JSON */
};

static enum error_code take_parts(struct exchange *x, const struct request_parts *p, void *user,
                                  struct error *e)
{
    struct pricing *out = user;
    /* the request first: a wrong one needs no module */
    enum error_code code = api_what_if_parse(p->request, p->request_size, p->plan, p->plan_size, NULL,
                                             p->module != NULL, &out->what_if, e);
    if (code == ERROR_OK && p->module)
        code = tenant_module_store(x, "module", p->module, p->module_size, out->module, e);
    return code;
}

/* puts the profile that the request names in its place */
static enum error_code resolve(struct exchange *x, struct pricing *p, struct error *e)
{
    const char *plan;
    char *json;
    size_t plan_size;
    struct api_what_if *bound = NULL;
    const char *forward = api_what_if_forward(p->what_if, &plan, &plan_size);
    enum error_code code =
        profile_resolve(x, api_what_if_request(p->what_if), forward, strlen(forward), &json, e);
    if (code != ERROR_OK || !json)
        return code;
    code = api_what_if_parse(json, strlen(json), plan, plan_size, p->module, false, &bound, e);
    free(json);
    if (code != ERROR_OK)
        return code;
    api_what_if_destroy(p->what_if);
    p->what_if = bound;
    return ERROR_OK;
}

static enum error_code start(struct exchange *x, struct pricing *p, void (*again)(struct exchange *),
                             struct error *e)
{
    enum error_code code = ERROR_OK;
    if (!p->module[0])
        code = request_module(x, api_what_if_request(p->what_if), tenant_module_named, p->module, e);
    if (code == ERROR_OK)
        code = resolve(x, p, e);
    return code == ERROR_OK ? what_if_begin(x, p->what_if, p->module, again, e) : code;
}

enum error_code what_if_begin_json(struct exchange *x, const char *json, size_t size,
                                   void (*again)(struct exchange *), struct error *e)
{
    struct pricing p = {0};
    struct request_parts parts = {.request = json, .request_size = size};
    enum error_code code = take_parts(x, &parts, &p, e);
    if (code == ERROR_OK)
        code = start(x, &p, again, e);
    api_what_if_destroy(p.what_if);
    return code;
}

void handle_price(struct exchange *x)
{
    struct pricing p = {0};
    struct error e = {0};
    enum error_code code = request_parts_read(x, true, take_parts, &p, &e);
    if (code == ERROR_OK)
        code = start(x, &p, what_if_reply, &e);
    api_what_if_destroy(p.what_if);
    if (code == ERROR_OK)
        return;
    e.code = code;
    reply_problem(x, &e);
}
