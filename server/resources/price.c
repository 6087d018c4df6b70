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

static enum error_code take_parts(struct exchange *exchange, const struct request_parts *request_parts,
                                  void *user, struct error *e)
{
    struct pricing *out = user;
    /* the request first: a wrong one needs no module */
    enum error_code code =
        api_what_if_parse(request_parts->request, request_parts->request_size, request_parts->plan,
                          request_parts->plan_size, NULL, request_parts->module != NULL, &out->what_if, e);
    if (code == ERROR_OK && request_parts->module)
        code = tenant_module_store(exchange, "module", request_parts->module, request_parts->module_size,
                                   out->module, e);
    return code;
}

/* puts the profile that the request names in its place */
static enum error_code resolve(struct exchange *exchange, struct pricing *pricing, struct error *e)
{
    const char *plan;
    char *json;
    size_t plan_size;
    struct api_what_if *bound = NULL;
    const char *forward = api_what_if_forward(pricing->what_if, &plan, &plan_size);
    enum error_code code =
        profile_resolve(exchange, api_what_if_request(pricing->what_if), forward, strlen(forward), &json, e);
    if (code != ERROR_OK || !json)
        return code;
    code = api_what_if_parse(json, strlen(json), plan, plan_size, pricing->module, false, &bound, e);
    free(json);
    if (code != ERROR_OK)
        return code;
    api_what_if_destroy(pricing->what_if);
    pricing->what_if = bound;
    return ERROR_OK;
}

static enum error_code start(struct exchange *exchange, struct pricing *pricing,
                             void (*again)(struct exchange *), struct error *e)
{
    enum error_code code = ERROR_OK;
    if (!pricing->module[0])
        code = request_module(exchange, api_what_if_request(pricing->what_if), tenant_module_named,
                              pricing->module, e);
    if (code == ERROR_OK)
        code = resolve(exchange, pricing, e);
    return code == ERROR_OK ? what_if_begin(exchange, pricing->what_if, pricing->module, again, e) : code;
}

enum error_code what_if_begin_json(struct exchange *exchange, const char *json, size_t size,
                                   void (*again)(struct exchange *), struct error *e)
{
    struct pricing pricing = {0};
    struct request_parts parts = {.request = json, .request_size = size};
    enum error_code code = take_parts(exchange, &parts, &pricing, e);
    if (code == ERROR_OK)
        code = start(exchange, &pricing, again, e);
    api_what_if_destroy(pricing.what_if);
    return code;
}

void handle_price(struct exchange *exchange)
{
    struct pricing pricing = {0};
    struct error e = {0};
    enum error_code code = request_parts_read(exchange, true, take_parts, &pricing, &e);
    if (code == ERROR_OK)
        code = start(exchange, &pricing, what_if_reply, &e);
    api_what_if_destroy(pricing.what_if);
    if (code == ERROR_OK)
        return;
    e.code = code;
    reply_problem(exchange, &e);
}
