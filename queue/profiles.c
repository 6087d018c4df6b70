/* Device profiles of tenants in Redis, the last versions of each. What is in one is not looked at here. See
 * profiles.h. */
#include "queue/profiles.h"

#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum error_code queue_profile_put(struct queue *queue, const char *tenant, const char *name, const char *json,
                                  long long *version, long long *was, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, tenant);
    call_add(&call, name);
    call_add(&call, json);
    call_add_number(&call, PROFILES_VERSIONS);
    call_add_number(&call, PROFILES_PER_TENANT);
    enum error_code code = call_function(queue, "profile_put", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *version = reply_number(reply, 0);
    *was = reply_number(reply, 1);
    freeReplyObject(reply);
    return *version ? ERROR_OK
                    : error_set(e, ERROR_TOO_MANY_PROFILES,
                                "there are %d profiles already; change one of them", PROFILES_PER_TENANT);
}

enum error_code queue_profile_get(struct queue *queue, const char *tenant, const char *name,
                                  long long *version, char **json, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, tenant);
    call_add(&call, name);
    call_add_number(&call, *version);
    enum error_code code = call_function(queue, "profile_get", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    bool found = reply_text(reply, 1)[0] != 0;
    if (found) {
        *version = reply_number(reply, 0);
        *json = mem_strdup(reply_text(reply, 1));
    } else {
        code = *version ? error_set(e, ERROR_NOT_FOUND,
                                    "there is no version %lld of profile %.64s (any more)", *version, name)
                        : error_set(e, ERROR_NOT_FOUND, "there is no profile %.64s", name);
    }
    freeReplyObject(reply);
    return code;
}

enum error_code queue_profile_list(struct queue *queue, const char *tenant, struct queue_fields *out,
                                   struct error *e)
{
    char *key = mem_printf("{t}:profs:%s", tenant);
    enum error_code code = call_hash(queue, key, out, e);
    free(key);
    return code;
}
