/* Device profiles of tenants in Redis, the last versions of each. What is in one is not looked at here. See
 * profiles.h. */
#include "queue/profiles.h"

#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum error_code queue_profile_put(struct queue *q, const char *tenant, const char *name, const char *json,
                                  long long *version, long long *was, struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    call_add(&a, tenant);
    call_add(&a, name);
    call_add(&a, json);
    call_add_number(&a, PROFILES_VERSIONS);
    call_add_number(&a, PROFILES_PER_TENANT);
    enum error_code code = call_function(q, "profile_put", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *version = reply_number(r, 0);
    *was = reply_number(r, 1);
    freeReplyObject(r);
    return *version ? ERROR_OK
                    : error_set(e, ERROR_TOO_MANY_PROFILES,
                                "there are %d profiles already; change one of them", PROFILES_PER_TENANT);
}

enum error_code queue_profile_get(struct queue *q, const char *tenant, const char *name, long long *version,
                                  char **json, struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    call_add(&a, tenant);
    call_add(&a, name);
    call_add_number(&a, *version);
    enum error_code code = call_function(q, "profile_get", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    bool found = reply_text(r, 1)[0] != 0;
    if (found) {
        *version = reply_number(r, 0);
        *json = mem_strdup(reply_text(r, 1));
    } else {
        code = *version ? error_set(e, ERROR_NOT_FOUND,
                                    "there is no version %lld of profile %.64s (any more)", *version, name)
                        : error_set(e, ERROR_NOT_FOUND, "there is no profile %.64s", name);
    }
    freeReplyObject(r);
    return code;
}

enum error_code queue_profile_list(struct queue *q, const char *tenant, struct queue_fields *out,
                                   struct error *e)
{
    char *key = mem_printf("{t}:profs:%s", tenant);
    enum error_code code = call_hash(q, key, out, e);
    free(key);
    return code;
}
