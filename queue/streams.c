/* How many event streams a tenant has open at each server. A server that has not been heard of counts for
 * nothing. See streams.h. */
#include "queue/streams.h"

#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>

enum { NUMBER = 24 };

enum error_code queue_stream_open(struct queue *q, const char *server, const char *tenant, size_t here,
                                  size_t limit, bool *room, struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    call_add(&a, server);
    call_add(&a, tenant);
    call_add_number(&a, (long long)here);
    call_add_number(&a, (long long)limit);
    enum error_code code = call_function(q, "stream_open", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *room = r->integer == 1;
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_streams_beat(struct queue *q, const char *server, const struct queue_streams *list,
                                   size_t count, struct error *e)
{
    struct call a = {0};
    redisReply *r = NULL;
    char(*numbers)[NUMBER] = mem_zalloc(count + 1, sizeof *numbers);
    call_add(&a, server);
    for (size_t i = 0; i < count; i++) {
        snprintf(numbers[i], NUMBER, "%zu", list[i].count);
        call_add(&a, list[i].tenant);
        call_add(&a, numbers[i]);
    }
    enum error_code code = call_function(q, "streams_beat", &a, &r, e);
    free(numbers);
    if (code == ERROR_OK)
        freeReplyObject(r);
    return code;
}
