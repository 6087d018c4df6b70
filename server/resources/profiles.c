/* Device profiles (api/profile.h): PUT and GET /v1/profiles/{name}, and putting the one that a request
 * names in its place. A version, once given, never changes its content. */
#include "server/resources/handlers.h"
#include "server/resources/resources.h"

#include "api/profile.h"
#include "queue/profiles.h"

static void answer(struct exchange *x, int status, const char *name, long long version, const char *json)
{
    char etag[32], location[96];
    struct text t = {0};
    snprintf(etag, sizeof etag, "\"v%lld\"", version);
    if (status == 200 && reply_not_modified(x, etag, "no-cache"))
        return;
    snprintf(location, sizeof location, "/v1/profiles/%s", name);
    text_printf(&t, "{\"name\":\"%s\",\"version\":%lld,\"profile\":%s}", name, version, json);
    struct header extra[] = {{"ETag", etag}, {"Cache-Control", "no-cache"}, {"Location", location}};
    reply_json(x, status, &t, extra, status == 201 ? 3 : 2);
}

static enum error_code check_name(const char *name, struct error *e)
{
    return api_profile_name_valid(name)
               ? ERROR_OK
               : error_set(e, ERROR_MALFORMED,
                           "a profile's name is made of letters, digits, '.', '_' and '-', at most 63");
}

void handle_profile_put(struct exchange *x)
{
    struct error e = {0};
    char *json = NULL;
    long long version = 0, was = 0;
    const struct body *b = &x->body;
    enum error_code code = check_name(x->params[0], &e);
    if (code == ERROR_OK && (b->fd >= 0 || x->gzip))
        code = error_set(&e, ERROR_MEDIA_TYPE, "a profile is sent as application/json");
    if (code == ERROR_OK)
        code = api_profile_canonical(b->memory.at ? b->memory.at : "", b->memory.size, &json, &e);
    if (code == ERROR_OK) {
        struct queue *q = pool_take(x->server);
        code = queue_profile_put(q, x->tenant, x->params[0], json, &version, &was, &e);
        pool_give(x->server, q);
    }
    e.code = code;
    if (code == ERROR_OK)
        answer(x, was ? 200 : 201, x->params[0], version, json);
    else
        reply_problem(x, &e);
    free(json);
}

void handle_profile_get(struct exchange *x)
{
    struct error e = {0};
    char *json = NULL, number[16] = "", *end = number;
    long long version = 0;
    enum error_code code = check_name(x->params[0], &e);
    if (code == ERROR_OK && request_query(x, "version", number, sizeof number)) {
        version = strtoll(number, &end, 10);
        if (version < 1 || *end || number[0] < '1' || number[0] > '9')
            code = error_set_pointer(&e, ERROR_MALFORMED, "version", "a version is a number from 1 on");
    }
    if (code == ERROR_OK) {
        struct queue *q = pool_take(x->server);
        code = queue_profile_get(q, x->tenant, x->params[0], &version, &json, &e);
        pool_give(x->server, q);
    }
    e.code = code;
    if (code == ERROR_OK)
        answer(x, 200, x->params[0], version, json);
    else
        reply_problem(x, &e);
    free(json);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct queue_field *)a)->name, ((const struct queue_field *)b)->name);
}

void handle_profile_list(struct exchange *x)
{
    struct error e;
    struct text t = {0};
    struct queue_fields list = {0};
    struct queue *q = pool_take(x->server);
    enum error_code code = queue_profile_list(q, x->tenant, &list, &e);
    pool_give(x->server, q);
    if (code != ERROR_OK) {
        reply_problem(x, &e);
        return;
    }
    if (list.count)
        qsort(list.at, list.count, sizeof *list.at, by_name);
    text_add(&t, "{\"profiles\":[");
    for (size_t i = 0; i < list.count; i++)
        text_printf(&t, "%s{\"name\":\"%s\",\"version\":%s,\"href\":\"/v1/profiles/%s\"}", i ? "," : "",
                    list.at[i].name, list.at[i].value, list.at[i].name);
    text_add(&t, "]}");
    queue_fields_release(&list);
    reply_json(x, 200, &t, NULL, 0);
}

enum error_code profile_resolve(struct exchange *x, const struct api_request *r, const char *json,
                                size_t size, char **out, struct error *e)
{
    char name[API_PROFILE_NAME_SIZE], *text = NULL;
    long long version;
    *out = NULL;
    if (!r->profile_ref[0])
        return ERROR_OK;
    BASE_CHECK(api_profile_ref_parse(r->profile_ref, name, &version)); /* the decoder saw that it is one */
    struct queue *q = pool_take(x->server);
    enum error_code code = queue_profile_get(q, x->tenant, name, &version, &text, e);
    pool_give(x->server, q);
    if (code == ERROR_NOT_FOUND)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, "/device/profile",
                                 "there is no profile %s; PUT it to /v1/profiles first", r->profile_ref);
    if (code != ERROR_OK)
        return code;
    char *named = api_profile_named(text, name, version);
    code = api_request_with_profile(json, size, named, out, e);
    free(named);
    free(text);
    return code;
}
