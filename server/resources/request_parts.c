/* From a body to its parts, for jobs and prices alike: expanded, mapped, sorted by name, checked for size.
 * What is in a part is the caller's to judge, and nothing outlives the call. See request_parts.h. */
#include "server/resources/request_parts.h"

#include "api/request.h"
#include "api/what_if.h"

#include <sys/mman.h>
#include <unistd.h>

typedef enum error_code take_parts(struct exchange *x, const struct request_parts *p, void *user,
                                   struct error *e);

/* the parts of the list by name: each once, none that is unknown */
static enum error_code sort_parts(const struct part *list, size_t count, bool with_plan,
                                  const struct part *by_name[3], struct error *e)
{
    static const char *const names[] = {"module", "request", "plan"};
    for (size_t i = 0; i < count; i++) {
        int k = 0, known = with_plan ? 3 : 2;
        while (k < known && strcmp(list[i].name, names[k]) != 0)
            k++;
        if (k == known)
            return error_set(e, ERROR_INVALID_REQUEST, "the parts are %s, each once; '%.64s' is none of them",
                             with_plan ? "module, request and plan" : "module and request", list[i].name);
        if (by_name[k])
            return error_set(e, ERROR_INVALID_REQUEST, "the part '%s' is there twice", names[k]);
        by_name[k] = &list[i];
    }
    return ERROR_OK;
}

static enum error_code check_parts(const struct part *request, const struct part *plan, bool with_plan,
                                   struct error *e)
{
    if (!request && !with_plan)
        return error_set(e, ERROR_INVALID_REQUEST, "the part request (JSON) is missing");
    if (request && request->size > LIMIT_JSON)
        return error_set(e, ERROR_TOO_LARGE, "the part request may have at most %d bytes", LIMIT_JSON);
    if (plan && plan->size > API_MAX_PLAN_BYTES)
        return error_set(e, ERROR_TOO_LARGE, "the part plan may have at most %d bytes", API_MAX_PLAN_BYTES);
    if (!request && !plan)
        return error_set(e, ERROR_INVALID_REQUEST, "a part request or plan (JSON) is needed");
    return ERROR_OK;
}

static enum error_code read_multipart(struct exchange *exchange, const char *body, size_t size,
                                      bool with_plan, take_parts *take, void *user, struct error *e)
{
    struct part list[MULTIPART_MAX];
    const struct part *by_name[3] = {NULL};
    size_t count;
    enum error_code code = multipart_parse(body, size, exchange->boundary, list, &count, e);
    if (code == ERROR_OK)
        code = sort_parts(list, count, with_plan, by_name, e);
    const struct part *module = by_name[0], *request = by_name[1], *plan = by_name[2];
    if (code == ERROR_OK)
        code = check_parts(request, plan, with_plan, e);
    if (code != ERROR_OK)
        return code;
    struct request_parts parts = {.request = "{}", .request_size = 2};
    if (request)
        parts.request = request->bytes, parts.request_size = request->size;
    if (plan)
        parts.plan = plan->bytes, parts.plan_size = plan->size;
    if (module)
        parts.module = module->bytes, parts.module_size = module->size;
    return take(exchange, &parts, user, e);
}

static enum error_code read_json(struct exchange *exchange, take_parts *take, void *user, struct error *e)
{
    const struct body *body = &exchange->body;
    struct request_parts parts = {.request = body->memory.at ? body->memory.at : "",
                                  .request_size = body->memory.size};
    if (!exchange->gzip)
        return take(exchange, &parts, user, e);
    char *json;
    enum error_code code = body_expand(body, &json, &parts.request_size, e);
    if (code != ERROR_OK)
        return code;
    parts.request = json;
    code = take(exchange, &parts, user, e);
    free(json);
    return code;
}

enum error_code request_parts_read(struct exchange *exchange, bool with_plan, take_parts *take, void *user,
                                   struct error *e)
{
    const struct body *body = &exchange->body;
    if (body->fd < 0)
        return read_json(exchange, take, user, e);
    if (body->received == 0)
        return error_set(e, ERROR_MALFORMED, "the body is empty");
    char *map = mmap(NULL, body->received, PROT_READ, MAP_PRIVATE, body->fd, 0);
    if (map == MAP_FAILED)
        return error_set(e, ERROR_IO, "the body cannot be read back");
    enum error_code code = read_multipart(exchange, map, body->received, with_plan, take, user, e);
    munmap(map, body->received);
    return code;
}

enum error_code request_module(struct exchange *exchange, const struct api_request *request,
                               enum error_code (*find)(struct exchange *exchange, const char *digest,
                                                       struct error *e),
                               char digest[STORE_DIGEST_SIZE], struct error *e)
{
    if (request->module_inline)
        return tenant_module_store(exchange, "/module/inline", request->module_inline,
                                   request->module_inline_size, digest, e);
    snprintf(digest, STORE_DIGEST_SIZE, "%s", request->module_digest);
    return find(exchange, digest, e);
}
