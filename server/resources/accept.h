/* Submissions on their way to Redis. A thread with a connection of its own sends what has come together in
 * one round trip, so that one fsync of Redis' log serves many clients (group commit), and no HTTP thread
 * waits for it: the connections of these clients sleep meanwhile. */
#ifndef TOAST_SERVER_ACCEPT_H
#define TOAST_SERVER_ACCEPT_H

#include "server/resources/resources.h"

struct acceptor;
struct acceptor *acceptor_create(struct server *server);
/* What has come is answered; later ones are refused. Before the HTTP daemon is stopped. NULL is fine. */
void acceptor_end(struct acceptor *acceptor);
void acceptor_destroy(struct acceptor *acceptor);

/* Suspends the exchange until Redis has said what becomes of `item` (borrowed until then); then x->again
 * is called. false: the server is ending, nothing was done. Any thread. */
bool acceptor_add(struct acceptor *acceptor, struct exchange *exchange, struct queue_accepting *item);

#endif
