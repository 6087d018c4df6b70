/* Deadlines of connections, which the HTTP library does not keep, and counters of requests. */
#ifndef TOAST_SERVER_HTTP_WATCH_H
#define TOAST_SERVER_HTTP_WATCH_H

#include "server/http/http.h"

/* ---- watch.c; functions of a `struct watched` take NULL ---- */
struct watch *watch_create(struct server *server);
void watch_destroy(struct watch *watch);
/* the library's notice that a connection began or ends; user: the server */
void watch_connection(void *user, struct MHD_Connection *connection, void **context,
                      enum MHD_ConnectionNotificationCode code);
void watch_headers(struct watched *watched, struct exchange *exchange); /* a request line came */
void watch_body(struct watched *watched,
                size_t received);          /* headers are complete; bytes of the body so far */
void watch_work(struct watched *watched);  /* a thread writes what came; the time is not the client's */
void watch_reply(struct watched *watched); /* everything is here */
void watch_idle(struct watched *watched);  /* the exchange is over */
struct exchange *watch_exchange(const struct watched *watched); /* under way on this connection, or NULL */
struct server *watch_server(const struct watched *watched);
size_t watch_started(struct watch *watch); /* connections so far */
/* connections on which bytes of a further request wait that nobody has read */
size_t watch_unread(struct watch *watch);

/* ---- metrics.c ---- */
struct metrics *metrics_create(const struct route_table *routes); /* borrowed */
void metrics_destroy(struct metrics *metrics);
/* seconds < 0: a stream, whose time is its job's. route NULL: none fitted */
void metrics_request(struct metrics *metrics, const struct route *route, int status, double seconds);
/* "# HELP" and "# TYPE"; help without its full stop */
void metrics_head(struct text *out, const char *name, const char *type, const char *help);
void metrics_write(struct metrics *metrics, struct text *out);

#endif
