/* See referee.h: typed calls of queue/library_referee.lua. */
#include "queue/referee.h"

#include "queue/call.h"

#include <string.h>

static void add_names(struct call *call, const struct queue_referee *who)
{
    for (size_t i = 0; i < who->count; i++)
        call_add(call, who->names[i]);
}

enum error_code queue_referee_claim(struct queue *queue, const struct queue_referee *who, const char *token,
                                    struct queue_task *out, bool *found, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, who->worker);
    call_add(&call, token);
    add_names(&call, who);
    enum error_code code = call_function(queue, "referee_claim", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *found = reply_task(reply, out);
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_referee_beat(struct queue *queue, const struct queue_referee *who,
                                   const struct queue_task *task, bool *held, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, who->worker);
    call_add(&call, task->member);
    call_add(&call, task->token);
    add_names(&call, who);
    enum error_code code = call_function(queue, "referee_beat", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *held = reply->integer == 1;
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_referee_done(struct queue *queue, const struct queue_task *task, const char *blob,
                                   bool *late, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, task->member);
    call_add(&call, task->token);
    call_add(&call, blob);
    enum error_code code = call_function(queue, "referee_done", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *late = strcmp(reply_text(reply, 0), "ok") != 0;
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_referees(struct queue *queue, struct text *out, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    enum error_code code = call_function(queue, "referees", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        text_printf(out, "%s\n", reply_text(reply, i));
    freeReplyObject(reply);
    return ERROR_OK;
}
