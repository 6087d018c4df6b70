/* The bytes of requests as they come from the socket, for what the HTTP library does not tell: a NUL in a
 * header's value (it ends the value there), a line of a chunked body that ends in LF alone (it is taken), a
 * carriage return without its line feed. Such a request is refused with 400 before a handler sees it; what
 * came before it on the connection is answered. Never changes a byte. */
#ifndef TOAST_SERVER_HTTP_RAW_H
#define TOAST_SERVER_HTTP_RAW_H

#include "base/error.h"

#include <microhttpd.h>
#include <sys/types.h>

/* Who answers what is refused here (refusal.c's). Before the daemon starts. */
void raw_install(void (*refuse)(struct MHD_Connection *connection, const struct error *e));
/* The library has taken a connection; is about to close it. On the connection's thread. */
void raw_begin(int fd, struct MHD_Connection *connection);
void raw_end(int fd);
/* recv(2) that is not looked at: for whoever reads beside the library */
ssize_t raw_receive(int fd, void *buffer, size_t room, int flags);

#endif
