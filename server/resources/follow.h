/* Watching jobs: one thread with one connection to Redis follows the event streams of all jobs that any
 * client watches, and wakes the suspended HTTP connections that wait for them. Nothing here blocks an HTTP
 * thread.
 *
 *   a stream   gets bytes (events, a comment every 15 s) until its job has ended, its client is gone or the
 *              server ends
 *   a waiter   is answered when its job has ended or its time is over
 *
 * The library neither times suspended connections out nor notices that their clients are gone: once a second
 * we look at their sockets ourselves, and the comment every 15 s finds dead networks. Locks: follow's own
 * before the library's. */
#ifndef TOAST_SERVER_FOLLOW_H
#define TOAST_SERVER_FOLLOW_H

#include "server/resources/resources.h"

#include "queue/events.h"
#include "queue/streams.h"

enum {
    FOLLOW_STREAMS_PER_TENANT = 200, /* at all servers together */
    FOLLOW_KEEP_ALIVE_S = 15,
    FOLLOW_WAIT_MAX_S = 60
};

struct follow;
struct follow *follow_create(struct server *server);
/* ends all streams and answers all waiters; later ones end at once. Before the HTTP daemon is stopped. */
void follow_end(struct follow *follow);
void follow_destroy(struct follow *follow); /* after the daemon has stopped */
size_t follow_streams(struct follow *follow);

/* A response whose body is `head` (taken) and then every event of the place's job after its position,
 * formatted by `format`. ended: the job has ended; the body is head alone. Owned by the caller
 * (MHD_destroy_response). ERROR_TOO_MANY_STREAMS: the tenant has its share of streams, here and at other
 * servers. ERROR_UNAVAILABLE: this server has as many as it takes (server_options.event_streams). */
typedef void (*follow_format)(const struct queue_event *v, struct text *out);
enum error_code follow_stream(struct follow *follow, struct MHD_Connection *connection, const char *tenant,
                              const struct queue_place *place, bool ended, struct text *head,
                              follow_format format, struct MHD_Response **out, struct error *e) BASE_CHECKED;

/* Suspends the exchange until the place's job has ended or `seconds` are over; then x->again is called.
 * false: the server is ending, nothing was done. */
bool follow_wait(struct follow *follow, struct exchange *exchange, const struct queue_place *place,
                 int seconds);

#endif
