/* Submissions on their way to Redis. A thread with a connection of its own sends what has come together in
 * one round trip, so that one fsync of Redis' log serves many clients (group commit), and no HTTP thread
 * waits for it: the connections of these clients sleep meanwhile. */
#ifndef TOAST_SERVER_ACCEPT_H
#define TOAST_SERVER_ACCEPT_H

#include "server/resources/resources.h"

struct acceptor;
struct acceptor *acceptor_create(struct server *s);
/* What has come is answered; later ones are refused. Before the HTTP daemon is stopped. NULL is fine. */
void acceptor_end(struct acceptor *a);
void acceptor_destroy(struct acceptor *a);

/* Suspends the exchange until Redis has said what becomes of `item` (borrowed until then); then x->again
 * is called. false: the server is ending, nothing was done. Any thread. */
bool acceptor_add(struct acceptor *a, struct exchange *x, struct queue_accepting *item);

#endif
