/* See webhooks.h: typed calls of queue/library_webhooks.lua. */
#include "queue/webhooks.h"

#include "queue/call.h"

#include <stdio.h>

enum error_code queue_webhook_due(struct queue *queue, char id[QUEUE_ID_SIZE], struct queue_fields *fields,
                                  bool *found, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    *fields = (struct queue_fields){0};
    enum error_code code = call_function(queue, "webhook_due", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *found = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
    if (*found) {
        snprintf(id, QUEUE_ID_SIZE, "%s", reply_text(reply, 0));
        reply_fields(reply->element[1], fields);
    }
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_webhook_done(struct queue *queue, const char *id, const char *outcome, char became[16],
                                   struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, id);
    call_add(&call, outcome);
    enum error_code code = call_function(queue, "webhook_done", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    snprintf(became, 16, "%s", reply_text(reply, 0));
    freeReplyObject(reply);
    return ERROR_OK;
}
