/* What tenants have of modules, and their weights among each other. Each call is one function of
 * queue/library_tenants.lua or a plain command. See tenants.h. */
#include "queue/tenants.h"

#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* calls function(tenant, digest [, size]) and gives whether its answer is `wanted` */
static enum error_code ask(struct queue *q, const char *function, const char *tenant, const char *digest,
                           long long size, const char *wanted, bool *is, long long *until_ms, struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    call_add(&a, tenant);
    call_add(&a, digest);
    call_add_number(&a, size);
    enum error_code code = call_function(q, function, &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *is = strcmp(reply_text(r, 0), wanted) == 0;
    if (until_ms)
        *until_ms = reply_number(r, 1);
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_module_add(struct queue *q, const char *tenant, const char *digest, size_t size_bytes,
                                 bool *existed, long long *until_ms, struct error *e)
{
    return ask(q, "module_add", tenant, digest, (long long)size_bytes, "exists", existed, until_ms, e);
}

static enum error_code missing(struct error *e, const char *digest)
{
    return error_set(e, ERROR_NOT_FOUND, "there is no module sha256:%s", digest);
}

enum error_code queue_module_use(struct queue *q, const char *tenant, const char *digest, long long *until_ms,
                                 struct error *e)
{
    bool known;
    enum error_code code = ask(q, "module_use", tenant, digest, 0, "ok", &known, until_ms, e);
    return code == ERROR_OK && !known ? missing(e, digest) : code;
}

enum error_code queue_module_drop(struct queue *q, const char *tenant, const char *digest, struct error *e)
{
    bool known;
    enum error_code code = ask(q, "module_drop", tenant, digest, 0, "ok", &known, NULL, e);
    return code == ERROR_OK && !known ? missing(e, digest) : code;
}

enum error_code queue_module_usage(struct queue *q, const char *tenant, struct queue_usage *out,
                                   struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    call_add(&a, tenant);
    enum error_code code = call_function(q, "module_usage", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *out = (struct queue_usage){.bytes = reply_number(r, 0), .count = reply_number(r, 1)};
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_tenant_weigh(struct queue *q, const char *tenant, int weight, struct error *e)
{
    char number[16];
    redisReply *r = NULL;
    snprintf(number, sizeof number, "%d", weight);
    const char *argv[] = {"HSET", "{t}:weight", tenant, number};
    enum error_code code = call_read(q, 4, argv, &r, e);
    if (code == ERROR_OK)
        freeReplyObject(r);
    return code;
}
