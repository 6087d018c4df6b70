/* What a tenant has and may have: its own references to modules, and room for more. Equal bytes are stored
 * once, but nobody learns here what another tenant has: a module that is not the tenant's own is answered
 * like one that does not exist. */
#include "server/access/access.h"

#include "queue/tenants.h"

#include <unistd.h>

enum error_code tenant_room(struct exchange *exchange, struct error *e)
{
    const struct tenant_limits *tenant_limits = &exchange->server->access->options->limits;
    struct queue_usage usage;
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_module_usage(queue, exchange->tenant, &usage, e);
    pool_give(exchange->server, queue);
    if (code == ERROR_OK && usage.bytes >= tenant_limits->tenant_bytes)
        return error_set(
            e, ERROR_QUOTA,
            "this tenant's modules take %lld bytes of %lld; DELETE /v1/modules/{digest} gives room back",
            usage.bytes, tenant_limits->tenant_bytes);
    if (code == ERROR_OK && usage.count >= LIMIT_TENANT_MODULES)
        return error_set(e, ERROR_QUOTA,
                         "this tenant has %lld modules, the most there may be; DELETE /v1/modules/{digest} "
                         "gives room back",
                         usage.count);
    return code;
}

enum error_code tenant_module_add(struct exchange *exchange, const char *digest, bool *existed,
                                  long long *until_ms, struct error *e)
{
    long long unused;
    int fd;
    size_t size;
    enum error_code code = store_open(exchange->server->store, digest, &fd, &size, e);
    if (code != ERROR_OK)
        return code;
    close(fd);
    struct queue *queue = pool_take(exchange->server);
    code = queue_module_add(queue, exchange->tenant, digest, size, existed, until_ms ? until_ms : &unused, e);
    pool_give(exchange->server, queue);
    return code;
}

enum error_code tenant_module_store(struct exchange *exchange, const char *part, const void *bytes,
                                    size_t size, char digest[STORE_DIGEST_SIZE], struct error *e)
{
    bool existed;
    if (exchange->role <
        QUEUE_ROLE_SUBMIT) /* /v1/price is for readers, too: of modules that the tenant has */
        return error_set(e, ERROR_FORBIDDEN, "this key has the role read; sending a module needs submit");
    enum error_code code = tenant_room(exchange, e);
    if (code == ERROR_OK)
        code = body_store_module(exchange->server, part, bytes, size, digest, e);
    return code == ERROR_OK ? tenant_module_add(exchange, digest, &existed, NULL, e) : code;
}

enum error_code tenant_module_use(struct exchange *exchange, const char *digest, long long *until_ms,
                                  struct error *e)
{
    long long unused;
    struct queue *queue = pool_take(exchange->server);
    enum error_code code =
        queue_module_use(queue, exchange->tenant, digest, until_ms ? until_ms : &unused, e);
    pool_give(exchange->server, queue);
    return code;
}

enum error_code tenant_module_missing(const char *digest, struct error *e)
{
    return error_set_pointer(
        e, ERROR_INVALID_REQUEST, "/module",
        "there is no module sha256:%s; PUT it to /v1/modules first, or send it with the request", digest);
}

enum error_code tenant_module_named(struct exchange *exchange, const char *digest, struct error *e)
{
    enum error_code code = tenant_module_use(exchange, digest, NULL, e);
    if (code == ERROR_OK)
        code = store_keep(exchange->server->store, digest, e);
    return code == ERROR_NOT_FOUND ? tenant_module_missing(digest, e) : code;
}
