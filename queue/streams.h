/* How many event streams tenants have open at all servers of one Redis (queue/library_events.lua). Errors
 * as in queue.h. */
#ifndef TOAST_QUEUE_STREAMS_H
#define TOAST_QUEUE_STREAMS_H

#include "queue/keys.h"

/* what one server has open of one tenant's */
struct queue_streams {
    char tenant[QUEUE_TENANT_SIZE];
    size_t count;
};
/* Before a stream: `here` counts it and the tenant's others at `server` (any id of this process). *room
 * false: with those at other servers it would be more than `limit`. */
enum error_code queue_stream_open(struct queue *queue, const char *server, const char *tenant, size_t here,
                                  size_t limit, bool *room, struct error *e) BASE_CHECKED;
/* Every two seconds, of all tenants that have streams at this server; with 0 of those that had. */
enum error_code queue_streams_beat(struct queue *queue, const char *server, const struct queue_streams *list,
                                   size_t count, struct error *e) BASE_CHECKED;

#endif
