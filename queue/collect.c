/* The queue's side of a collection of blobs: who may collect, a walk over what is referred to, and what
 * was moved meanwhile. Removes nothing itself. See collect.h. */
#include "queue/collect.h"

#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>

enum error_code queue_collect_begin(struct queue *queue, const char *token, long long every_ms, bool *begun,
                                    struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, token);
    call_add_number(&call, every_ms);
    enum error_code code = call_function(queue, "collect_begin", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *begun = reply->integer == 1;
    freeReplyObject(reply);
    return ERROR_OK;
}

static void give(const redisReply *list, bool archive, queue_digest_found found, void *user)
{
    for (size_t i = 0; list->type == REDIS_REPLY_ARRAY && i < list->elements; i++)
        found(user, reply_text(list, i), archive);
}

/* nil: the lock went to another */
static enum error_code mine(redisReply *reply, struct error *e)
{
    if (reply->type == REDIS_REPLY_ARRAY)
        return ERROR_OK;
    freeReplyObject(reply);
    return error_set(e, ERROR_CONFLICT, "another server collects");
}

enum error_code queue_collect_walk(struct queue *queue, const char *token, unsigned long long *cursor,
                                   queue_digest_found found, void *user, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    char at[24];
    snprintf(at, sizeof at, "%llu", *cursor);
    call_add(&call, token);
    call_add(&call, at);
    enum error_code code = call_function(queue, "collect_walk", &call, &reply, e);
    if (code == ERROR_OK)
        code = mine(reply, e);
    if (code != ERROR_OK)
        return code;
    *cursor = strtoull(reply_text(reply, 0), NULL, 10);
    if (reply->elements == 3) {
        give(reply->element[1], false, found, user);
        give(reply->element[2], true, found, user);
    } else {
        code = error_set(e, ERROR_INTERNAL, "the walk through the keys gave no list");
    }
    freeReplyObject(reply);
    return code;
}

enum error_code queue_collect_moved(struct queue *queue, const char *token, queue_digest_found found,
                                    void *user, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, token);
    enum error_code code = call_function(queue, "collect_moved", &call, &reply, e);
    if (code == ERROR_OK)
        code = mine(reply, e);
    if (code != ERROR_OK)
        return code;
    give(reply, false, found, user);
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_collect_end(struct queue *queue, const char *token,
                                  const struct queue_collected *collected, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, token);
    call_add(&call, collected->whole ? "1" : "0");
    call_add_number(&call, (long long)collected->kept);
    call_add_number(&call, (long long)collected->kept_bytes);
    call_add_number(&call, (long long)collected->removed);
    call_add_number(&call, (long long)collected->removed_bytes);
    enum error_code code = call_function(queue, "collect_end", &call, &reply, e);
    if (code == ERROR_OK)
        freeReplyObject(reply);
    return code;
}
