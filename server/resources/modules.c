/* Modules: blobs named by the SHA-256 of their (uncompressed) text, and the same for workers on other
 * hosts under /internal. A module is never parsed here: what is wrong in one is an error of the job that
 * reads it. */
#include "server/resources/handlers.h"
#include "server/resources/resources.h"

#include "queue/tenants.h"

#include <time.h>

/* "sha256:<hex>" or "<hex>"; NULL: neither */
static const char *digest_of(const char *name)
{
    if (strncmp(name, "sha256:", 7) == 0)
        name += 7;
    return store_digest_valid(name) ? name : NULL;
}

static void no_digest(struct exchange *x)
{
    struct error e;
    error_set(
        &e, ERROR_MALFORMED,
        "a module is named by the SHA-256 of its text: 64 lower-case hex digits, after sha256: or alone");
    reply_problem(x, &e);
}

enum error_code modules_begin(struct exchange *x, struct error *e)
{
    const char *digest = digest_of(x->params[0]);
    return digest && tenant_module_use(x, digest, NULL, e) == ERROR_OK ? ERROR_OK : tenant_room(x, e);
}

/* until_ms as the header Sunset (RFC 8594) and as RFC 3339 for JSON: when the module will be forgotten if
 * nobody names it before */
static void say_until(struct exchange *x, long long until_ms, char text[32])
{
    time_t s = (time_t)(until_ms / 1000);
    struct tm parts;
    gmtime_r(&s, &parts);
    strftime(x->sunset, sizeof x->sunset, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static void put(struct exchange *x, const char *expected)
{
    char digest[STORE_DIGEST_SIZE], location[96], until[32];
    struct error e;
    struct text t = {0};
    bool existed;
    long long until_ms = 0;
    size_t size = x->body.decoded;
    enum error_code code = body_store(x, expected, digest, &existed, &e);
    /* 200 or 201 depends on the tenant's own modules, not on what the store has */
    if (code == ERROR_OK && x->route->access != ACCESS_WORKER)
        code = tenant_module_add(x, digest, &existed, &until_ms, &e);
    if (code != ERROR_OK) {
        reply_problem(x, &e);
        return;
    }
    snprintf(location, sizeof location, "/v1/modules/%s", digest);
    text_printf(&t, "{\"module\":\"sha256:%s\",\"size_bytes\":%zu", digest, size);
    if (x->route->access != ACCESS_WORKER) {
        say_until(x, until_ms, until);
        text_printf(&t, ",\"expires_at\":\"%s\"", until);
    }
    text_add(&t, "}");
    struct header h = {"Location", location};
    reply_json(x, existed ? 200 : 201, &t, &h, 1);
}

void handle_module_post(struct exchange *x)
{
    put(x, NULL);
}

void handle_module_put(struct exchange *x)
{
    const char *digest = digest_of(x->params[0]);
    if (digest)
        put(x, digest);
    else
        no_digest(x);
}

void handle_module_get(struct exchange *x)
{
    struct error e;
    char until[32];
    long long until_ms;
    const char *digest = digest_of(x->params[0]);
    if (!digest) {
        no_digest(x);
    } else if (tenant_module_use(x, digest, &until_ms, &e) != ERROR_OK) {
        reply_problem(x, &e);
    } else {
        say_until(x, until_ms, until);
        reply_blob(x, digest, "text/plain; charset=utf-8", NULL);
    }
}

/* The tenant has the module no more; jobs that named it go on. */
void handle_module_delete(struct exchange *x)
{
    struct error e;
    const char *digest = digest_of(x->params[0]);
    if (!digest) {
        no_digest(x);
        return;
    }
    struct queue *q = pool_take(x->server);
    enum error_code code = queue_module_drop(q, x->tenant, digest, &e);
    pool_give(x->server, q);
    if (code != ERROR_OK)
        reply_problem(x, &e);
    else
        reply_empty(x, 204, NULL, 0);
}

/* ---- workers on other hosts (access/admit.c has checked their token) ---- */

void handle_blob_get(struct exchange *x)
{
    if (store_digest_valid(x->params[0]))
        reply_blob(x, x->params[0], "application/octet-stream", NULL);
    else
        no_digest(x);
}

void handle_blob_put(struct exchange *x)
{
    if (store_digest_valid(x->params[0]))
        put(x, x->params[0]);
    else
        no_digest(x);
}
