/* How many event streams a tenant has open at each server. A server that has not been heard of counts for
 * nothing. See streams.h. */
#include "queue/streams.h"

#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>

enum { NUMBER = 24 };

enum error_code queue_stream_open(struct queue *queue, const char *server, const char *tenant, size_t here,
                                  size_t limit, bool *room, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, server);
    call_add(&call, tenant);
    call_add_number(&call, (long long)here);
    call_add_number(&call, (long long)limit);
    enum error_code code = call_function(queue, "stream_open", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    *room = reply->integer == 1;
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_streams_beat(struct queue *queue, const char *server, const struct queue_streams *list,
                                   size_t count, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    char(*numbers)[NUMBER] = mem_zalloc(count + 1, sizeof *numbers);
    call_add(&call, server);
    for (size_t i = 0; i < count; i++) {
        snprintf(numbers[i], NUMBER, "%zu", list[i].count);
        call_add(&call, list[i].tenant);
        call_add(&call, numbers[i]);
    }
    enum error_code code = call_function(queue, "streams_beat", &call, &reply, e);
    free(numbers);
    if (code == ERROR_OK)
        freeReplyObject(reply);
    return code;
}
