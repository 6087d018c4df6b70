/* Device profiles (api/profile.h): PUT and GET /v1/profiles/{name}, and putting the one that a request
 * names in its place. A version, once given, never changes its content. */
#include "server/resources/handlers.h"
#include "server/resources/resources.h"

#include "api/profile.h"
#include "queue/profiles.h"
#include "server/http/headers.h"

static void answer(struct exchange *exchange, int status, const char *name, long long version,
                   const char *json)
{
    char etag[32], location[96];
    struct text text = {0};
    snprintf(etag, sizeof etag, "\"v%lld\"", version);
    if (status == 200 && reply_not_modified(exchange, etag, "no-cache"))
        return;
    snprintf(location, sizeof location, "/v1/profiles/%s", name);
    text_printf(&text, "{\"name\":\"%s\",\"version\":%lld,\"profile\":%s}", name, version, json);
    struct header extra[] = {{"ETag", etag}, {"Cache-Control", "no-cache"}, {"Location", location}};
    reply_json(exchange, status, &text, extra, status == 201 ? 3 : 2);
}

static enum error_code check_name(const char *name, struct error *e)
{
    return api_profile_name_valid(name)
               ? ERROR_OK
               : error_set(e, ERROR_MALFORMED,
                           "a profile's name is made of letters, digits, '.', '_' and '-', at most 63");
}

void handle_profile_put(struct exchange *exchange)
{
    struct error e = {0};
    char *json = NULL;
    long long version = 0, was = 0;
    const struct body *body = &exchange->body;
    enum error_code code = check_name(exchange->params[0], &e);
    const char *type = exchange->content_type ? exchange->content_type : "";
    if (code == ERROR_OK && (!header_is_type(type, "application/json") || exchange->gzip))
        code = error_set(&e, ERROR_MEDIA_TYPE, "a profile is sent as application/json");
    if (code == ERROR_OK)
        code = api_profile_canonical(body->memory.at ? body->memory.at : "", body->memory.size, &json, &e);
    if (code == ERROR_OK) {
        struct queue *queue = pool_take(exchange->server);
        code = queue_profile_put(queue, exchange->tenant, exchange->params[0], json, &version, &was, &e);
        pool_give(exchange->server, queue);
    }
    e.code = code;
    if (code == ERROR_OK)
        answer(exchange, was ? 200 : 201, exchange->params[0], version, json);
    else
        reply_problem(exchange, &e);
    free(json);
}

void handle_profile_get(struct exchange *exchange)
{
    struct error e = {0};
    char *json = NULL, number[16] = "", *end = number;
    long long version = 0;
    enum error_code code = check_name(exchange->params[0], &e);
    if (code == ERROR_OK && request_query(exchange, "version", number, sizeof number)) {
        version = strtoll(number, &end, 10);
        if (version < 1 || *end || number[0] < '1' || number[0] > '9')
            code = error_set_pointer(&e, ERROR_MALFORMED, "version", "a version is a number from 1 on");
    }
    if (code == ERROR_OK) {
        struct queue *queue = pool_take(exchange->server);
        code = queue_profile_get(queue, exchange->tenant, exchange->params[0], &version, &json, &e);
        pool_give(exchange->server, queue);
    }
    e.code = code;
    if (code == ERROR_OK)
        answer(exchange, 200, exchange->params[0], version, json);
    else
        reply_problem(exchange, &e);
    free(json);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct queue_field *)left)->name, ((const struct queue_field *)right)->name);
}

void handle_profile_list(struct exchange *exchange)
{
    struct error e;
    struct text text = {0};
    struct queue_fields list = {0};
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_profile_list(queue, exchange->tenant, &list, &e);
    pool_give(exchange->server, queue);
    if (code != ERROR_OK) {
        reply_problem(exchange, &e);
        return;
    }
    if (list.count)
        qsort(list.at, list.count, sizeof *list.at, by_name);
    text_add(&text, "{\"profiles\":[");
    for (size_t i = 0; i < list.count; i++)
        text_printf(&text, "%s{\"name\":\"%s\",\"version\":%s,\"href\":\"/v1/profiles/%s\"}", i ? "," : "",
                    list.at[i].name, list.at[i].value, list.at[i].name);
    text_add(&text, "]}");
    queue_fields_release(&list);
    reply_json(exchange, 200, &text, NULL, 0);
}

enum error_code profile_resolve(struct exchange *exchange, const struct api_request *request,
                                const char *json, size_t size, char **out, struct error *e)
{
    char name[API_PROFILE_NAME_SIZE], *text = NULL;
    long long version;
    *out = NULL;
    if (!request->planning.profile_ref[0])
        return ERROR_OK;
    BASE_CHECK(api_profile_ref_parse(request->planning.profile_ref, name,
                                     &version)); /* the decoder saw that it is one */
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_profile_get(queue, exchange->tenant, name, &version, &text, e);
    pool_give(exchange->server, queue);
    if (code == ERROR_NOT_FOUND)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, "/device/profile",
                                 "there is no profile %s; PUT it to /v1/profiles first",
                                 request->planning.profile_ref);
    if (code != ERROR_OK)
        return code;
    char *named = api_profile_named(text, name, version);
    code = api_request_with_profile(json, size, named, out, e);
    free(named);
    free(text);
    return code;
}
