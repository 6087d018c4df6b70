/* POST /v1/price: a module and a plan (or an expert's, or constraints) -> price and report. Nothing is
 * searched, no job is made. */
#include "server/resources/handlers.h"
#include "server/resources/what_if.h"

#include "api/what_if.h"

#include <sys/mman.h>
#include <unistd.h>

struct parts {
    const struct part *module, *request, *plan;
};

static enum error_code sort_parts(const struct part *list, size_t count, struct parts *out, struct error *e)
{
    *out = (struct parts){0};
    for (size_t i = 0; i < count; i++) {
        const struct part **slot = strcmp(list[i].name, "module") == 0    ? &out->module
                                   : strcmp(list[i].name, "request") == 0 ? &out->request
                                   : strcmp(list[i].name, "plan") == 0    ? &out->plan
                                                                          : NULL;
        if (!slot || *slot)
            return error_set(e, ERROR_INVALID_REQUEST, "the parts are module, request and plan, each once");
        *slot = &list[i];
    }
    if (out->request && out->request->size > LIMIT_JSON)
        return error_set(e, ERROR_TOO_LARGE, "the part request may have at most %d bytes", LIMIT_JSON);
    if (out->plan && out->plan->size > API_MAX_PLAN_BYTES)
        return error_set(e, ERROR_TOO_LARGE, "the part plan may have at most %d bytes", API_MAX_PLAN_BYTES);
    if (!out->request && !out->plan)
        return error_set(e, ERROR_INVALID_REQUEST, "a part request or plan (JSON) is needed");
    return ERROR_OK;
}

static enum error_code take_parts(struct exchange *x, const char *body, size_t size, struct api_what_if **w,
                                  char module[STORE_DIGEST_SIZE], struct error *e)
{
    struct part list[MULTIPART_MAX], empty = {"request", "{}", 2};
    struct parts p;
    size_t count;
    enum error_code code = multipart_parse(body, size, x->boundary, list, &count, e);
    if (code == ERROR_OK)
        code = sort_parts(list, count, &p, e);
    if (code != ERROR_OK)
        return code;
    if (!p.request)
        p.request = &empty;
    const char *plan = p.plan ? p.plan->bytes : NULL;
    size_t plan_size = p.plan ? p.plan->size : 0;
    /* the request first: a wrong one needs no module */
    code =
        api_what_if_parse(p.request->bytes, p.request->size, plan, plan_size, NULL, p.module != NULL, w, e);
    if (code == ERROR_OK && p.module)
        code = tenant_module_store(x, "module", p.module->bytes, p.module->size, module, e);
    return code;
}

static enum error_code take_body(struct exchange *x, struct api_what_if **w, char module[STORE_DIGEST_SIZE],
                                 struct error *e)
{
    struct body *b = &x->body;
    if (b->fd < 0 && !x->gzip)
        return api_what_if_parse(b->memory.at ? b->memory.at : "", b->memory.size, NULL, 0, NULL, false, w,
                                 e);
    if (b->fd < 0) {
        char *json;
        size_t size;
        enum error_code code = body_expand(b, &json, &size, e);
        if (code == ERROR_OK) {
            code = api_what_if_parse(json, size, NULL, 0, NULL, false, w, e);
            free(json);
        }
        return code;
    }
    if (b->received == 0)
        return error_set(e, ERROR_MALFORMED, "the body is empty");
    char *map = mmap(NULL, b->received, PROT_READ, MAP_PRIVATE, b->fd, 0);
    if (map == MAP_FAILED)
        return error_set(e, ERROR_IO, "the body cannot be read back");
    enum error_code code = take_parts(x, map, b->received, w, module, e);
    munmap(map, b->received);
    return code;
}

/* the digest of a module that came in the request's own JSON */
static enum error_code find_module(struct exchange *x, const struct api_request *r,
                                   char module[STORE_DIGEST_SIZE], struct error *e)
{
    if (module[0])
        return ERROR_OK;
    if (r->module_inline)
        return tenant_module_store(x, "/module/inline", r->module_inline, r->module_inline_size, module, e);
    snprintf(module, STORE_DIGEST_SIZE, "%s", r->module_digest);
    return tenant_module_named(x, module, e);
}

/* the same request with the profile that it names in it */
static enum error_code resolve(struct exchange *x, struct api_what_if **w, const char *module,
                               struct error *e)
{
    const char *plan;
    char *json;
    size_t plan_size;
    struct api_what_if *bound = NULL;
    const char *forward = api_what_if_forward(*w, &plan, &plan_size);
    enum error_code code = profile_resolve(x, api_what_if_request(*w), forward, strlen(forward), &json, e);
    if (code != ERROR_OK || !json)
        return code;
    code = api_what_if_parse(json, strlen(json), plan, plan_size, module, false, &bound, e);
    free(json);
    if (code != ERROR_OK)
        return code;
    api_what_if_destroy(*w);
    *w = bound;
    return ERROR_OK;
}

/* w is taken over where a profile had to be put in; the caller destroys it */
static enum error_code start(struct exchange *x, struct api_what_if **w, char module[STORE_DIGEST_SIZE],
                             void (*again)(struct exchange *), struct error *e)
{
    enum error_code code = find_module(x, api_what_if_request(*w), module, e);
    if (code == ERROR_OK)
        code = resolve(x, w, module, e);
    return code == ERROR_OK ? what_if_begin(x, *w, module, again, e) : code;
}

enum error_code what_if_begin_json(struct exchange *x, const char *json, size_t size,
                                   void (*again)(struct exchange *), struct error *e)
{
    struct api_what_if *w = NULL;
    char module[STORE_DIGEST_SIZE] = "";
    enum error_code code = api_what_if_parse(json, size, NULL, 0, NULL, false, &w, e);
    if (code == ERROR_OK)
        code = start(x, &w, module, again, e);
    api_what_if_destroy(w);
    return code;
}

void handle_price(struct exchange *x)
{
    struct api_what_if *w = NULL;
    struct error e = {0};
    char module[STORE_DIGEST_SIZE] = "";
    enum error_code code = take_body(x, &w, module, &e);
    if (code == ERROR_OK)
        code = start(x, &w, module, what_if_reply, &e);
    api_what_if_destroy(w);
    if (code == ERROR_OK)
        return;
    e.code = code;
    reply_problem(x, &e);
}
