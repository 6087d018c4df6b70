/* The queue's side of a collection of blobs: who may collect, a walk over what is referred to, and what
 * was moved meanwhile. Removes nothing itself. See collect.h. */
#include "queue/collect.h"

#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>

enum error_code queue_collect_begin(struct queue *q, const char *token, long long every_ms, bool *begun,
                                    struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    call_add(&a, token);
    call_add_number(&a, every_ms);
    enum error_code code = call_function(q, "collect_begin", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *begun = r->integer == 1;
    freeReplyObject(r);
    return ERROR_OK;
}

static void give(const redisReply *list, bool archive, queue_digest_found found, void *user)
{
    for (size_t i = 0; list->type == REDIS_REPLY_ARRAY && i < list->elements; i++)
        found(user, reply_text(list, i), archive);
}

/* nil: the lock went to another */
static enum error_code mine(redisReply *r, struct error *e)
{
    if (r->type == REDIS_REPLY_ARRAY)
        return ERROR_OK;
    freeReplyObject(r);
    return error_set(e, ERROR_CONFLICT, "another server collects");
}

enum error_code queue_collect_walk(struct queue *q, const char *token, unsigned long long *cursor,
                                   queue_digest_found found, void *user, struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    char at[24];
    snprintf(at, sizeof at, "%llu", *cursor);
    call_add(&a, token);
    call_add(&a, at);
    enum error_code code = call_function(q, "collect_walk", &a, &r, e);
    if (code == ERROR_OK)
        code = mine(r, e);
    if (code != ERROR_OK)
        return code;
    *cursor = strtoull(reply_text(r, 0), NULL, 10);
    if (r->elements == 3) {
        give(r->element[1], false, found, user);
        give(r->element[2], true, found, user);
    } else {
        code = error_set(e, ERROR_INTERNAL, "the walk through the keys gave no list");
    }
    freeReplyObject(r);
    return code;
}

enum error_code queue_collect_moved(struct queue *q, const char *token, queue_digest_found found, void *user,
                                    struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    call_add(&a, token);
    enum error_code code = call_function(q, "collect_moved", &a, &r, e);
    if (code == ERROR_OK)
        code = mine(r, e);
    if (code != ERROR_OK)
        return code;
    give(r, false, found, user);
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_collect_end(struct queue *q, const char *token, const struct queue_collected *c,
                                  struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    call_add(&a, token);
    call_add(&a, c->whole ? "1" : "0");
    call_add_number(&a, (long long)c->kept);
    call_add_number(&a, (long long)c->kept_bytes);
    call_add_number(&a, (long long)c->removed);
    call_add_number(&a, (long long)c->removed_bytes);
    enum error_code code = call_function(q, "collect_end", &a, &r, e);
    if (code == ERROR_OK)
        freeReplyObject(r);
    return code;
}
