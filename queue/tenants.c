/* What tenants have of modules, and their weights among each other. Each call is one function of
 * queue/library_tenants.lua or a plain command. See tenants.h. */
#include "queue/tenants.h"

#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* calls function(tenant, digest [, size]) and gives whether its answer is `wanted` */
static enum error_code ask(struct queue *queue, const char *function, const char *tenant, const char *digest,
                           long long size, const char *wanted, bool *is, long long *until_ms, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, tenant);
    call_add(&call, digest);
    call_add_number(&call, size);
    enum error_code code = call_function(queue, function, &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *is = strcmp(reply_text(reply, 0), wanted) == 0;
    if (until_ms)
        *until_ms = reply_number(reply, 1);
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_module_add(struct queue *queue, const char *tenant, const char *digest,
                                 size_t size_bytes, bool *existed, long long *until_ms, struct error *e)
{
    return ask(queue, "module_add", tenant, digest, (long long)size_bytes, "exists", existed, until_ms, e);
}

static enum error_code missing(struct error *e, const char *digest)
{
    return error_set(e, ERROR_NOT_FOUND, "there is no module sha256:%s", digest);
}

enum error_code queue_module_use(struct queue *queue, const char *tenant, const char *digest,
                                 long long *until_ms, struct error *e)
{
    bool known;
    enum error_code code = ask(queue, "module_use", tenant, digest, 0, "ok", &known, until_ms, e);
    return code == ERROR_OK && !known ? missing(e, digest) : code;
}

enum error_code queue_module_drop(struct queue *queue, const char *tenant, const char *digest,
                                  struct error *e)
{
    bool known;
    enum error_code code = ask(queue, "module_drop", tenant, digest, 0, "ok", &known, NULL, e);
    return code == ERROR_OK && !known ? missing(e, digest) : code;
}

enum error_code queue_module_usage(struct queue *queue, const char *tenant, struct queue_usage *out,
                                   struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, tenant);
    enum error_code code = call_function(queue, "module_usage", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *out = (struct queue_usage){.bytes = reply_number(reply, 0), .count = reply_number(reply, 1)};
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_tenant_weigh(struct queue *queue, const char *tenant, int weight, struct error *e)
{
    char number[16];
    redisReply *reply = NULL;
    snprintf(number, sizeof number, "%d", weight);
    const char *argv[] = {"HSET", "{t}:weight", tenant, number};
    enum error_code code = call_read(queue, 4, argv, &reply, e);
    if (code == ERROR_OK)
        freeReplyObject(reply);
    return code;
}
