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

static void no_digest(struct exchange *exchange)
{
    struct error e;
    error_set(
        &e, ERROR_MALFORMED,
        "a module is named by the SHA-256 of its text: 64 lower-case hex digits, after sha256: or alone");
    reply_problem(exchange, &e);
}

enum error_code modules_begin(struct exchange *exchange, struct error *e)
{
    const char *digest = digest_of(exchange->params[0]);
    return digest && tenant_module_use(exchange, digest, NULL, e) == ERROR_OK ? ERROR_OK
                                                                              : tenant_room(exchange, e);
}

/* until_ms as the header Sunset (RFC 8594) and as RFC 3339 for JSON: when the module will be forgotten if
 * nobody names it before */
static void say_until(struct exchange *exchange, long long until_ms, char text[32])
{
    time_t seconds = (time_t)(until_ms / 1000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(exchange->sunset, sizeof exchange->sunset, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static void put(struct exchange *exchange, const char *expected)
{
    char digest[STORE_DIGEST_SIZE], location[96], until[32];
    struct error e;
    struct text text = {0};
    bool existed;
    long long until_ms = 0;
    size_t size = exchange->body.decoded;
    enum error_code code = body_store(exchange, expected, digest, &existed, &e);
    /* 200 or 201 depends on the tenant's own modules, not on what the store has */
    if (code == ERROR_OK && exchange->route->access != ACCESS_WORKER)
        code = tenant_module_add(exchange, digest, &existed, &until_ms, &e);
    if (code != ERROR_OK) {
        reply_problem(exchange, &e);
        return;
    }
    snprintf(location, sizeof location, "/v1/modules/%s", digest);
    text_printf(&text, "{\"module\":\"sha256:%s\",\"size_bytes\":%zu", digest, size);
    if (exchange->route->access != ACCESS_WORKER) {
        say_until(exchange, until_ms, until);
        text_printf(&text, ",\"expires_at\":\"%s\"", until);
    }
    text_add(&text, "}");
    struct header header = {"Location", location};
    reply_json(exchange, existed ? 200 : 201, &text, &header, 1);
}

void handle_module_post(struct exchange *exchange)
{
    put(exchange, NULL);
}

void handle_module_put(struct exchange *exchange)
{
    const char *digest = digest_of(exchange->params[0]);
    if (digest)
        put(exchange, digest);
    else
        no_digest(exchange);
}

void handle_module_get(struct exchange *exchange)
{
    struct error e;
    char until[32];
    long long until_ms;
    const char *digest = digest_of(exchange->params[0]);
    if (!digest) {
        no_digest(exchange);
    } else if (tenant_module_use(exchange, digest, &until_ms, &e) != ERROR_OK) {
        reply_problem(exchange, &e);
    } else {
        say_until(exchange, until_ms, until);
        reply_blob(exchange, digest, "text/plain; charset=utf-8", NULL);
    }
}

/* The tenant has the module no more; jobs that named it go on. */
void handle_module_delete(struct exchange *exchange)
{
    struct error e;
    const char *digest = digest_of(exchange->params[0]);
    if (!digest) {
        no_digest(exchange);
        return;
    }
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_module_drop(queue, exchange->tenant, digest, &e);
    pool_give(exchange->server, queue);
    if (code != ERROR_OK)
        reply_problem(exchange, &e);
    else
        reply_empty(exchange, 204, NULL, 0);
}

/* ---- workers on other hosts (server/access/admit.c has checked their token) ---- */

void handle_blob_get(struct exchange *exchange)
{
    if (store_digest_valid(exchange->params[0]))
        reply_blob(exchange, exchange->params[0], "application/octet-stream", NULL);
    else
        no_digest(exchange);
}

void handle_blob_put(struct exchange *exchange)
{
    if (store_digest_valid(exchange->params[0]))
        put(exchange, exchange->params[0]);
    else
        no_digest(exchange);
}
